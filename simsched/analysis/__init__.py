"""What follows from a trace: metrics, bounds, waterfalls, services, jobs."""
