"""What a measured run says beside its task graph: the reference that a replay is held against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simsched.workload.graph import FloatArray, Int32Array, Int64Array, Workload


@dataclass(frozen=True, eq=False)
class Measured:
    """Who executed which task of a measured run, and for how long.

    All times are processor cycles from the start of the program; a simulated core of the same clock
    executes one operation of the imported graph per cycle. Tasks are in the order of the graph,
    cores in the order of `cores`.

    Parameters
    ----------
    cores : ndarray of int64, shape (n_cores,)
        The system's numbers of the cores that executed something, ascending.
    task_core : ndarray of int32, shape (n_tasks,)
        Core that executed each task, an index into `cores`.
    exec_cycles : ndarray of float64, shape (n_tasks,)
        Cycles in which the task itself was active: its work, the creation of its children and the
        part of its wait that its core did not spend in other tasks.
    work_cycles : ndarray of float64, shape (n_tasks,)
        The task's own work within `exec_cycles`.
    creation_cycles : ndarray of float64, shape (n_tasks,)
        What the parent spent on creating the task; part of the parent's `exec_cycles`.
    end_cycles : ndarray of float64, shape (n_tasks,)
        When the task ended.
    parallel_start_cycles : float
        Start of the part that `makespan_cycles` covers.
    spawn_start_cycles : float
        Latest instant at which the first task can have started, not later than
        `parallel_start_cycles`.
    creator_core : ndarray of int32, shape (n_tasks,)
        Core that created each task, an index into `cores`; the task's own for tasks without a
        parent.
    """

    cores: Int64Array
    task_core: Int32Array
    exec_cycles: FloatArray
    work_cycles: FloatArray
    creation_cycles: FloatArray
    end_cycles: FloatArray
    parallel_start_cycles: float
    spawn_start_cycles: float
    creator_core: Int32Array

    @property
    def n_cores(self) -> int:
        """Number of cores that executed something."""
        return len(self.cores)

    @property
    def makespan_cycles(self) -> float:
        """From `parallel_start_cycles` to the end of the last task."""
        return float(self.end_cycles.max()) - self.parallel_start_cycles

    @property
    def total_work_cycles(self) -> float:
        """Work of all tasks."""
        return float(self.work_cycles.sum())

    @property
    def total_creation_cycles(self) -> float:
        """Creation of all tasks, those without a parent included."""
        return float(self.creation_cycles.sum())

    @cached_property
    def busy_cycles(self) -> FloatArray:
        """Cycles in which each core was inside some task; shape (n_cores,)."""
        return self._per_core(self.task_core, self.exec_cycles)

    @cached_property
    def core_work_cycles(self) -> FloatArray:
        """Work done by each core; shape (n_cores,)."""
        return self._per_core(self.task_core, self.work_cycles)

    @cached_property
    def core_creation_cycles(self) -> FloatArray:
        """Creation of tasks paid by each core; shape (n_cores,)."""
        return self._per_core(self.creator_core, self.creation_cycles)

    def _per_core(self, core: Int32Array, cycles: FloatArray) -> FloatArray:
        """Return per-task cycles added up by core."""
        summed = np.bincount(core, weights=cycles, minlength=self.n_cores)
        return summed.astype(np.float64)


@dataclass(frozen=True, eq=False)
class MeasuredWorkload:
    """A workload with the measurements it comes from.

    Parameters
    ----------
    workload : Workload
        What can be simulated.
    measured : Measured
        What happened on hardware.
    """

    workload: Workload
    measured: Measured
