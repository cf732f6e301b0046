"""Data-flow programs on NUMA machines."""
