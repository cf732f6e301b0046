"""What goes into the task runtime and what comes out of it, in the runtime's own terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.mode import Mode
from simsched.hardware.program import Program
from simsched.workload.graph import Int32Array, TaskGraph


@dataclass(frozen=True, eq=False)
class PreparedGraph:
    """A graph with what the runtime needs besides."""

    graph: TaskGraph
    #: Class of each task as the program in C numbers it; shape (n_tasks,).
    function: Int32Array
    #: Tasks that are ready at the start of an iteration; shape (n_roots,).
    roots: Int32Array
    #: Arguments of each task; shape (n_tasks, n_args).
    args: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Job:
    """A run, checked; see native/runtime.h."""

    program: Program
    init: PreparedGraph | None
    graph: PreparedGraph
    mode: Mode
    #: Core of each worker; shape (n_workers,).
    cpu: Int32Array
    seed: int
    n_records: int
    n_expected: int


@dataclass(frozen=True, eq=False)
class WorkerOutcome:
    """What one worker has recorded and counted."""

    #: See native/records.h; shape (n_records,).
    records: NDArray[np.void]
    lost_records: int
    #: Steals are successful ones, lost races those that another worker won; a worker is idle from
    #: finding nothing to finding a task.
    tasks: int
    steals: int
    empty_probes: int
    lost_races: int
    idle_ticks: int
    #: How long the thread was on a core, and how long it was there at all, in nanoseconds. Idle
    #: workers keep searching, so that the host took the core away in between, unless the thread
    #: slept on the lock of a central queue.
    cpu_ns: int
    present_ns: int
    events: dict[str, int]
    events_error: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run has recorded and counted."""

    #: Begin and end of each iteration, the initialisation included; shape (n_iterations, 2).
    iteration_ticks: NDArray[np.int64]
    ps_per_tick: float
    #: Whether ticks are those of the processor's counter, or of CLOCK_MONOTONIC.
    is_tsc: bool
    workers: tuple[WorkerOutcome, ...]
