"""Published claims, curves and tables beside what is simulated."""
