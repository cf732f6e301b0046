"""Machines and measured costs from what other runtimes have sampled."""

from simsched.machine.importers.starpu_bus import Bus, read_bus
from simsched.machine.importers.starpu_codelets import CostTable, TaskCost, read_codelet
from simsched.machine.importers.starpu_sampling import (
    Sampling,
    is_sampling,
    machine_yaml,
    read_sampling,
)

__all__ = [
    "Bus",
    "CostTable",
    "Sampling",
    "TaskCost",
    "is_sampling",
    "machine_yaml",
    "read_bus",
    "read_codelet",
    "read_sampling",
]
