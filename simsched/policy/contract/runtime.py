"""Task runtimes with queues of their own, as a rule that an engine executes by itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.records import MAX_INDEX, NEVER_PS, accepts

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]

MAX_LIKE = 2**22  #: each costs memory, even if no task has it

#: who gets a task, and the part of a runtime that says how
RULES = {
    "expected_ends": "expected",
    "tree": "expected",
    "central": None,
    "drawn": "draw",
    "stealing": "theft",
    "buckets": "buckets",
}
PARTS = tuple(dict.fromkeys(part for part in RULES.values() if part))
#: groups of pools: of what workers have been given, may get, and will get, and what is being pushed
POOLS = ("own", "queued", "claimed", "pushed")
#: Ranks of those who come round at one time, the first to the last: a core that has pushed tasks or
#: goes round once more, one that has just ended a task, pushes and those that are called, a device
#: that has just ended a task, one that goes round once more.
RANKS = {"core_again": -2, "core_first": -1, "in_turn": 0, "device_last": 1, "device_again": 2}


@dataclass(frozen=True, eq=False, kw_only=True)
class Expectations:
    """What a runtime expects of tasks and copies, and how it weighs that.

    Parameters
    ----------
    cost_ps : ndarray of int64, shape (n_rows, n_tasks)
        Expected time of every task on each kind of worker; anything where it cannot execute it.
    latency_ps : ndarray of int64, shape (n_nodes, n_nodes)
        Expected time of a copy from each node to each other one, whatever its size.
    byte_ps : ndarray of float64, shape (n_nodes, n_nodes)
        Expected time of each byte more.
    alpha, beta : float
        Weights of the computation and of the transfers.
    data_aware : bool
        Whether expected transfers count.
    pops_ready : bool
        Whether a worker takes the one of its most urgent tasks of whose data it lacks least.
    most_queued : int
        Tasks that the queue of a worker holds below the one in which others wait.
    """

    cost_ps: Int64Array = field(metadata=accepts(0, shape=("rows", "tasks")))
    latency_ps: Int64Array = field(metadata=accepts(0, shape=("nodes", "nodes")))
    byte_ps: NDArray[np.float64] = field(metadata=accepts(0, shape=("nodes", "nodes")))
    alpha: float = field(default=1.0, metadata=accepts(0.0, 1e300))
    beta: float = field(default=1.0, metadata=accepts(0.0, 1e300))
    data_aware: bool = True
    pops_ready: bool = False
    most_queued: int = field(default=1, metadata=accepts(1, MAX_INDEX))


@dataclass(frozen=True, eq=False, kw_only=True)
class Draw:
    """By which weights a worker is drawn.

    Parameters
    ----------
    weight : ndarray of float64, shape (n_workers,)
        Of each worker among those that can execute a task.
    rng : numpy.random.Generator
        What is drawn from.
    """

    weight: NDArray[np.float64] = field(metadata=accepts(0, 1e300, shape=("workers",)))
    rng: np.random.Generator


@dataclass(frozen=True, eq=False, kw_only=True)
class Theft:
    """Where a worker without tasks looks for some.

    Parameters
    ----------
    victims : ndarray of int32, shape (n_workers, n_members)
        Workers at which each worker looks, one after the other.
    in_turn : bool
        Whether it begins behind its last victim.
    """

    victims: Int32Array = field(metadata=accepts(of="workers", shape=("workers", "members")))
    in_turn: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Buckets:
    """How tasks that are alike are grouped, and how what is learned of them is used.

    Parameters
    ----------
    like : ndarray of int32, shape (n_tasks,)
        Number of what each task shares with others; its two lowest bits say whether cores and
        whether devices can execute it.
    ordering_interval : int
        Tasks that become ready between two orderings of the buckets.
    min_samples : int
        Executions on a type of processor before which a bucket comes first there.
    max_taken : int
        Most tasks that a worker takes out of the buckets ahead.
    """

    like: Int32Array = field(metadata=accepts(1, MAX_LIKE, shape=("tasks",)))
    ordering_interval: int = field(metadata=accepts(1, MAX_INDEX))
    min_samples: int = field(metadata=accepts(0, MAX_INDEX))
    max_taken: int = field(metadata=accepts(1, MAX_INDEX))


@dataclass(frozen=True, eq=False, kw_only=True)
class Runtime:
    """What the fine hooks of a policy come to where they are those of a task runtime.

    The native engine executes the rule and calls none of the hooks, which say the same in Python:
    the reference engine calls these.

    Parameters
    ----------
    rule : {"expected_ends", "tree", "central", "drawn", "stealing", "buckets"}
        Who gets a task: the member that is expected to end it best, at once or when its short queue
        has room; who asks first; one that is drawn; who has made it ready, or a thief; the type of
        processor that is best for its bucket.
    members : ndarray of int32, shape (n_members,)
        Workers that take part, devices first.
    is_device : ndarray of bool, shape (n_workers,)
        Which workers drive a device.
    node : ndarray of int32, shape (n_workers,)
        Memory node of each worker.
    row : ndarray of int32, shape (n_workers,)
        Kind of each worker.
    able : ndarray of bool, shape (n_rows, n_tasks)
        Which tasks each kind of worker can execute; every task some member.
    space : ndarray of int32, shape (n_nodes,)
        Memory space of each node.
    main_space : int
        That of the host.
    by_priority : bool
        Whether queues are sorted by the program's priorities.
    pipeline : int
        Tasks that the worker of a device has at a time.
    push_ps, look_ps, fetch_ps, release_ps : int
        What it takes to push a task, to look after the copies of a memory, to ask for a datum of a
        task, and to have written a datum for the last time.
    expected : Expectations, optional
        For the rules "expected_ends" and "tree".
    draw : Draw, optional
        For the rule "drawn".
    theft : Theft, optional
        For the rule "stealing".
    buckets : Buckets, optional
        For the rule "buckets".
    """

    rule: str = field(metadata=accepts(words=tuple(RULES)))
    members: Int32Array = field(metadata=accepts(of="workers", shape=("members",)))
    is_device: NDArray[np.bool_] = field(metadata=accepts(shape=("workers",)))
    node: Int32Array = field(metadata=accepts(of="nodes", shape=("workers",)))
    row: Int32Array = field(metadata=accepts(0, shape=("workers",)))
    able: NDArray[np.bool_] = field(metadata=accepts(shape=("rows", "tasks")))
    space: Int32Array = field(metadata=accepts(0, shape=("nodes",)))
    main_space: int = field(default=0, metadata=accepts(0, MAX_INDEX))
    by_priority: bool = False
    pipeline: int = field(default=2, metadata=accepts(1, 2))
    push_ps: int = field(default=0, metadata=accepts(0, NEVER_PS))
    look_ps: int = field(default=0, metadata=accepts(0, NEVER_PS))
    fetch_ps: int = field(default=0, metadata=accepts(0, NEVER_PS))
    release_ps: int = field(default=0, metadata=accepts(0, NEVER_PS))
    expected: Expectations | None = None
    draw: Draw | None = None
    theft: Theft | None = None
    buckets: Buckets | None = None
