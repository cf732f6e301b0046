"""Task graphs: their arrays, generators, presets and checks."""

from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generator, list_workloads, make_workload

__all__ = ["TaskGraph", "Workload", "generator", "list_workloads", "make_workload"]
