"""simsched: simulate task schedulers on machines with heterogeneous memory."""

__version__ = "0.1.0"
