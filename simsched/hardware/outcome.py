"""What goes into the task runtime and what comes out of it, in the runtime's own terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.workload.graph import TaskGraph

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PreparedGraph:
    """A graph with what the runtime needs besides.

    Parameters
    ----------
    graph : TaskGraph
        The graph.
    function : ndarray of int32, shape (n_tasks,)
        Class of each task as the program in C numbers it.
    roots : ndarray of int32, shape (n_roots,)
        Tasks that are ready at the start of an iteration.
    args : ndarray of int64, shape (n_tasks, n_args)
        Arguments of each task.
    """

    graph: TaskGraph
    function: Int32Array
    roots: Int32Array
    args: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Job:
    """A run, checked and with all names resolved; see native/runtime.h.

    Parameters
    ----------
    program : str
        Name of the program.
    arrays : tuple of ndarray
        Its data.
    params, constants : ndarray of int64 and float64
        Numbers for all tasks.
    init, graph : PreparedGraph
        Initialisation, if there is one, and iteration.
    iterations : int
        How often `graph` runs.
    cpu : ndarray of int32, shape (n_workers,)
        Core of each worker.
    group_ptr, victim_ptr, victim : ndarray of int32
        Victims of worker w: groups ``group_ptr[w]`` to ``group_ptr[w + 1] - 1`` of them, nearest
        first, group g being ``victim[victim_ptr[g] : victim_ptr[g + 1]]``.
    order, pools, own_take : int
        Spawn order (0 child first, 1 parent first), kind of pools (0 deques, 1 central queue), end
        at which owners take (0 newest, 1 oldest).
    seed : int
        Seed of the victims.
    n_records, n_expected : int
        Room for records per worker, and how many of them get memory before the run.
    """

    program: str
    arrays: tuple[NDArray[Any], ...]
    params: NDArray[np.int64]
    constants: NDArray[np.float64]
    init: PreparedGraph | None
    graph: PreparedGraph
    iterations: int
    cpu: Int32Array
    group_ptr: Int32Array
    victim_ptr: Int32Array
    victim: Int32Array
    order: int
    pools: int
    own_take: int
    seed: int
    n_records: int
    n_expected: int


@dataclass(frozen=True, eq=False)
class WorkerOutcome:
    """What one worker has recorded and counted.

    Parameters
    ----------
    records : structured ndarray, shape (n_records,)
        See native/records.h.
    lost_records : int
        Records that did not fit.
    tasks, steals, empty_probes, lost_races, idle_ticks : int
        Tasks ended, successful steals, probes of empty deques, steals that another worker won,
        and ticks between finding nothing and finding a task.
    cpu_ns, present_ns : int
        How long the thread was on a core, and how long it was there at all, in nanoseconds. Idle
        workers keep searching, so that the host took the core away in between, unless the thread
        slept on the lock of a central queue.
    events : dict of str to int
        Events that the processor has counted, those that it could count.
    events_error : str
        Why some could not be counted, empty if all were.
    """

    records: NDArray[np.void]
    lost_records: int
    tasks: int
    steals: int
    empty_probes: int
    lost_races: int
    idle_ticks: int
    cpu_ns: int
    present_ns: int
    events: dict[str, int]
    events_error: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run has recorded and counted.

    Parameters
    ----------
    iteration_ticks : ndarray of int64, shape (n_iterations, 2)
        Begin and end of each iteration, the initialisation included.
    ps_per_tick : float
        Length of a tick.
    is_tsc : bool
        Whether ticks are those of the processor's counter, or of CLOCK_MONOTONIC.
    workers : tuple of WorkerOutcome
        One per worker.
    """

    iteration_ticks: NDArray[np.int64]
    ps_per_tick: float
    is_tsc: bool
    workers: tuple[WorkerOutcome, ...]
