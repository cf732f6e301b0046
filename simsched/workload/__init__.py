"""Task graphs: their arrays, generators, presets and checks."""

from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload, generator, list_workloads

__all__ = ["TaskGraph", "Workload", "generate_workload", "generator", "list_workloads"]
