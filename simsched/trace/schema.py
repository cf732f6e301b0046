"""The one trace schema: what engines and measured runs record.

An event is seven integers. Times are picoseconds of simulated (or measured) time since the start of
the run. The meaning of `arg0` and `arg1` depends on the kind and is the kind's gloss.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

NONE = -1  #: in a trace column: no worker or no task is concerned


class Word(IntEnum):
    """A number that stands for something, and what that is."""

    gloss: str

    def __new__(cls, number: int, gloss: str = "") -> Self:
        """Return a member; `gloss` is given where it is declared."""
        word = int.__new__(cls, number)
        word._value_ = number
        word.gloss = gloss
        return word


class EventKind(Word):
    """Kinds of trace events, with the meaning of (arg0, arg1)."""

    ITERATION_START = 0, "(number of tasks, 0)"
    ITERATION_END = 1, "(0, 0)"
    TASK_READY = 2, "(pool group, pool instance)"
    ACQUIRE = 3, "a task or continuation is taken: (group * 2**32 + instance, cost in ps)"
    STEAL = 4, "it came from a pool of another owner: (victim instance, distance class or -1)"
    TASK_START = 5, "(0, 0)"
    ACCESS = 6, "start of one access: (block, bytes that go to memory)"
    FLOW_END = 7, "a memory flow has ended: (path, bytes moved)"
    TASK_SUSPEND = 8, "at sync with children outstanding: (children outstanding, 0)"
    TASK_RESUME = 9, "the body or join resumes, after sync or after a move: (0, 0)"
    TASK_END = 10, "(0, 0)"
    PARK = 11, "the worker finds nothing and waits: (0, 0)"
    WAKE = 12, "a waiting worker is woken: (workers waiting at that moment, 0)"
    MIGRATE_START = 13, "copy of a block between nodes: (block, source * 2**32 + destination)"
    MIGRATE_END = 14, "(block, destination node)"
    FIRST_TOUCH = 15, "a block gets its home: (block, node)"
    PREEMPT = 16, "a running task is taken off its worker: (0, worker that takes it or -1)"
    TIMER = 17, "the policy's timer has fired: (0, 0)"
    SPAWN = 18, "`task` creates a child: (child, 0 child-first / 1 parent-first)"
    TRANSFER = 19, "entries leave a pool for another one: (group * 2**32 + instance, entries)"
    ALLOCATE = 20, "`task` is created and a block is allocated: (block, node)"
    FREE = 21, "`task` has ended and the memory of a block goes to a pool: (block, node)"
    EXCHANGE = 22, "two workers swap hardware threads: (one worker, the other)"
    PAGE_FAULT = 23, "an access finds marked pages: (block, pages)"
    PAGE_MOVE = 24, "the block moves to the worker that accesses it: (block, destination node)"
    DUPLICATE = 25, "the worker takes a running task to start it once more: (who executes it, 0)"
    KILL = 26, "the worker loses a task without result: (`Loss`, ps since it began it or -1)"
    ACQUIRE_ORDER = 27, "workers look for work in another order from now on: (0, 0)"
    TASK_AWAIT = 28, "before an access, for the end of another task: (that task, 0)"
    SPEED = 29, "cores have another speed from now on: (number of the change, millionths left)"
    FAILURE = 30, "the worker has failed: (0, 0)"
    PACE = 31, "the worker computes at a part of its speed from now on: (billionths of it, 0)"


class Loss(Word):
    """Why a worker loses a task without result."""

    ENDED = 0, "another one has ended the task"
    KILLED = 1, "the policy has decided it"
    FAILED = 2, "the worker has failed"


#: Columns of the event table and their dtypes.
EVENT_COLUMNS: dict[str, str] = {
    "time_ps": "int64",
    "kind": "int32",
    "worker": "int32",
    "task": "int32",
    "iteration": "int32",
    "arg0": "int64",
    "arg1": "int64",
}


@dataclass(eq=False)
class Trace:
    """Events of one run in the order in which they happened.

    Parameters
    ----------
    events : dict of str to ndarray, each of shape (n_events,)
        The columns of `EVENT_COLUMNS`.
    """

    events: dict[str, NDArray[np.int64] | NDArray[np.int32]]

    def __len__(self) -> int:
        return len(self.events["time_ps"])


@dataclass(eq=False, kw_only=True)
class RunCounters:
    """Counters of a run that are one number each.

    Parameters
    ----------
    write_back_bytes : int
        Bytes that processor caches write to memory, beyond those that missed in all levels.
    requested_bytes : int
        Bytes that tasks asked for (hits and memory together).
    migrations, migrated_bytes : int
        Blocks moved between nodes, while tasks run or between iterations.
    move_ps : int
        Time that workers spent on moves while tasks ran; a part of `worker_migrate_ps`.
    policy_ps : int
        Time between iterations that went into the policy's own work, without migrations.
    peak_bytes : int
        Largest number of bytes of blocks on all nodes together at one time, memory that waits in
        pools included: the footprint.
    recycled_blocks : int
        Allocations that a pool has served with memory that had been freed.
    page_faults : int
        Accesses to pages that a scan had marked.
    page_fault_ps : int
        Time for which accesses waited for these faults and for pages to move; a part of
        `worker_busy_ps`.
    duplicates : int
        Executions of tasks that somebody was executing already.
    kills : int
        Executions that have ended without result, duplicates that had not begun included.
    wasted_ps : int
        Time that workers spent in such executions since they began or resumed them.
    exchanges : int
        How often two workers have swapped hardware threads.
    transfers, transferred_tasks : int
        How often the policy has moved entries from one pool to another and found some, and how many
        these were.
    n_tasks, n_events : int
        Tasks ended and trace events produced (counted even when not kept).
    """

    write_back_bytes: int = 0
    requested_bytes: int = 0
    migrations: int = 0
    migrated_bytes: int = 0
    move_ps: int = 0
    policy_ps: int = 0
    peak_bytes: int = 0
    recycled_blocks: int = 0
    page_faults: int = 0
    page_fault_ps: int = 0
    duplicates: int = 0
    kills: int = 0
    wasted_ps: int = 0
    exchanges: int = 0
    transfers: int = 0
    transferred_tasks: int = 0
    n_tasks: int = 0
    n_events: int = 0


@dataclass(eq=False, kw_only=True)
class WorkerCounters:
    """Counters of one worker.

    Parameters
    ----------
    busy_ps : int
        Time inside tasks (segments).
    spawn_ps : int
        Time spent creating tasks and releasing successors.
    acquire_ps : int
        Time spent on pops and successful or failed steals, and on locks.
    migrate_ps : int
        Time spent copying blocks, or after the start of a task waiting for those that copy engines
        bring; the latter is no part of `busy_ps`.
    tasks : int
        Tasks ended.
    """

    busy_ps: int = 0
    spawn_ps: int = 0
    acquire_ps: int = 0
    migrate_ps: int = 0
    tasks: int = 0


_BY_WORKER = tuple(
    "tasks_per_worker" if item.name == "tasks" else f"worker_{item.name}"
    for item in fields(WorkerCounters)
)


def by_worker(counters: NDArray[np.int64]) -> dict[str, Any]:
    """Return the fields of a `Summary` for `WorkerCounters`, a row for each worker."""
    return dict(zip(_BY_WORKER, np.ascontiguousarray(counters.T), strict=True))


@dataclass(eq=False, kw_only=True)
class Summary(RunCounters):
    """Counters that every run records, event trace or not.

    Shapes use I iterations, W workers, D domains, N memory nodes, L cache levels, K distance
    classes. Iteration 0 is the initialisation when the workload has one.

    Parameters
    ----------
    makespan_ps : int
        End of the last iteration.
    iteration : ndarray of int32, shape (I,)
        Iteration numbers.
    iteration_start_ps, iteration_end_ps : ndarray of int64, shape (I,)
        First task may start; last task has ended (the barrier and migrations that follow are not
        included).
    worker_busy_ps, worker_spawn_ps, worker_acquire_ps, worker_migrate_ps : ndarray of int64
        Shape (W,): what `WorkerCounters` say of each worker.
    tasks_per_worker : ndarray of int64, shape (W,)
        Tasks ended by each worker.
    node_bytes : ndarray of int64, shape (I, D, N)
        Bytes moved between domain and node by task accesses, also those that the memory-side cache
        in front of the node answers.
    node_hit_bytes : ndarray of int64, shape (I, N)
        Of these, the bytes that memory-side caches answer: the node itself does not move them.
    path_bytes : ndarray of int64, shape (P,)
        Bytes that flows and copies have moved on each path of the machine (event FLOW_END), in the
        whole run.
    cache_hits, cache_misses : ndarray of int64, shape (I, D, L)
        Accesses by the cores of each domain that found all of their bytes, or not, at each level.
    cache_hit_bytes : ndarray of int64, shape (I, D, L)
        Bytes served by each cache level, transfers between its instances included.
    cache_missing_bytes : ndarray of int64, shape (I, D, L)
        Bytes wanted from each cache level that the instance of the accessing core did not hold.
    steals : ndarray of int64, shape (K,)
        Successful steals by distance class.
    failed_probes : ndarray of int64, shape (K,)
        Probes of empty pools by distance class.
    decisions, decision_ps : int
        Decisions of hooks that took time, and how much in all: `Transfer.decision_ps`.
    node_peak_bytes : ndarray of int64, shape (N,)
        Largest number of bytes of blocks on each node at any time, memory that waits in pools
        included.
    managed_bytes : ndarray of int64, shape (2,)
        Bytes that tasks asked for in blocks of pools, local (0) and remote (1), hits included.
    iteration_overhead_ps : ndarray of int64, shape (I,)
        Time after each iteration that went into the barrier, policy work and migrations.
    part_units, part_ps : ndarray of int64, shape (I, P)
        Where the policy divides the work: units that each of P parts had, and the time from the
        start of the iteration to the end of the part's last task; otherwise of shape (0, 0).
    """

    makespan_ps: int
    iteration: NDArray[np.int32]
    iteration_start_ps: NDArray[np.int64]
    iteration_end_ps: NDArray[np.int64]
    iteration_overhead_ps: NDArray[np.int64]
    worker_busy_ps: NDArray[np.int64]
    worker_spawn_ps: NDArray[np.int64]
    worker_acquire_ps: NDArray[np.int64]
    worker_migrate_ps: NDArray[np.int64]
    tasks_per_worker: NDArray[np.int64]
    node_bytes: NDArray[np.int64]
    node_hit_bytes: NDArray[np.int64]
    path_bytes: NDArray[np.int64]
    cache_hits: NDArray[np.int64]
    cache_misses: NDArray[np.int64]
    cache_hit_bytes: NDArray[np.int64]
    cache_missing_bytes: NDArray[np.int64]
    steals: NDArray[np.int64]
    failed_probes: NDArray[np.int64]
    node_peak_bytes: NDArray[np.int64]
    managed_bytes: NDArray[np.int64]
    part_units: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    part_ps: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    decisions: int = 0
    decision_ps: int = 0

    @property
    def memory_side_hit_bytes(self) -> int:
        """Bytes that memory-side caches answer."""
        return int(self.node_hit_bytes.sum())
