"""Scheduling for several sockets and NUMA domains."""
