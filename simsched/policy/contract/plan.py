"""Plans: which pools there are, what enters them and in which order workers look for work.

Either backend executes a plan by itself; :mod:`simsched.policy.contract.plan_checks` says what is
wrong with one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.blocks import PageBalancing
from simsched.policy.contract.records import MAX_INDEX, NEVER_PS, accepts
from simsched.policy.contract.runtime import Runtime

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]

SCOPES = ("worker", "domain", "socket", "machine", "class")
WHERES = ("own", "same_domain", "other_domains", "anywhere")
ROOTS = ("first", "round_robin", "last")
TAKES = ("newest", "oldest")
CONDITIONS = ("head_worker", "domain_inactive", "not_head_worker", "domain_supplied")
CHILD_FIRST, PARENT_FIRST = 0, 1
MAX_COUNTER_GROUPS = 2**20  #: each costs memory, even if nothing is counted in it


@dataclass(frozen=True)
class Device:
    """What tasks occupy while they are executed: a GPU that runs several kernels at once.

    Parameters
    ----------
    name : str
        Unique in the plan.
    capacity : int
        How much fits on it at the same time, in the unit of `TaskGraph.occupancy`.
    """

    name: str
    capacity: int = field(default=1, metadata=accepts(1, MAX_INDEX))


@dataclass(frozen=True)
class PoolGroup:
    """A family of task pools: one instance per worker, domain, socket or task class, or one in all.

    Parameters
    ----------
    name : str
        Unique in the plan.
    scope : {"worker", "domain", "socket", "machine", "class"}
        What owns an instance. Instances are numbered like their owners. Pools of task classes are
        nobody's own: every worker reaches all of them, by steps that look "anywhere" and take one
        task at a time, and a task without an instance enters that of its class.
    locked : bool
        Whether every push and pop holds the pool's lock; otherwise only steals do.
    marks_active : bool
        Whether a task taken from this group keeps its worker's domain *active* until the task (with
        all its descendants) has ended; see the condition ``"domain_inactive"``.
    prefetches : bool
        Whether data are copied to the worker of an instance when a task enters it; only where data
        are copied. For tasks in the first group at once, for those in others when nothing urgent is
        left to copy.
    prefetches_by_priority : bool
        Whether the program's priorities decide what is copied first of that.
    device : str, optional
        Name of the device that a task from this group occupies from the time when it is taken until
        it has ended. What comes next on a device waits until it fits, and nothing overtakes it. All
        groups of a device have one scope, for each instance of which there is one instance of the
        device; the steps of the search that lead to them have ``where="own"`` and no conditions.
    """

    name: str
    scope: str = field(default="worker", metadata=accepts(words=SCOPES))
    locked: bool = False
    marks_active: bool = False
    prefetches: bool = False
    prefetches_by_priority: bool = True
    device: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice:
    """Base of the ways in which a step chooses one of several instances.

    Parameters
    ----------
    least : int
        An instance with fewer entries counts as empty.
    attempts : int
        How many instances the step draws at most before it fails; 0: until one is not empty. Not
        for "own". A worker whose last step fails waits, also beside tasks that its draws have
        missed, until somebody wakes it: let a step without a limit follow.
    """

    least: int = field(default=1, metadata=accepts(1, MAX_INDEX))
    attempts: int = field(default=0, metadata=accepts(0, MAX_INDEX))


@dataclass(frozen=True, eq=False, kw_only=True)
class Uniform(Choice):
    """Each draw finds every instance with the same probability, also one that was empty."""


@dataclass(frozen=True, eq=False)
class Ranked(Choice):
    """Instances are tried in an order, each once; not for "own".

    Parameters
    ----------
    rank : ndarray of int32, shape (n_workers, n_instances)
        Smaller ranks first, equal ones in uniformly random order; -1 for instances that the worker
        never tries. Narrows `where` further.
    """

    rank: Int32Array = field(metadata=accepts(-1, shape=("workers", "instances")))


@dataclass(frozen=True, eq=False)
class Weighted(Choice):
    """Instances are drawn with a probability proportional to their weight; not for "own".

    Parameters
    ----------
    weight : ndarray of int32, shape (n_workers, n_instances)
        Among those not yet tried; 0 for those that the worker never tries. The weights of a worker
        sum to less than 2**31. Narrows `where` further.
    """

    weight: Int32Array = field(metadata=accepts(0, shape=("workers", "instances")))


@dataclass(frozen=True, eq=False)
class AcquireStep:
    """One step of the search for work.

    Parameters
    ----------
    group : str
        Name of the pool group that is searched.
    where : {"own", "same_domain", "other_domains", "anywhere"}
        The worker's own instance, or one of the other instances that belong to its domain, to other
        domains, or to any.
    take : {"newest", "oldest"}
        End of the pool from which the task comes.
    when : tuple of {"head_worker", "domain_inactive", "not_head_worker", "domain_supplied"}
        Conditions that must all hold: the worker is the lowest-numbered active one of its domain;
        no task marked active is unfinished in its domain; the worker is not its domain's head; all
        tasks that `Plan.instance_of` sends to pools of its domain, in groups of scope "domain" that
        mark active, have become ready in this iteration.
    choice : Uniform, Ranked or Weighted
        Which of these instances.
    """

    group: str
    where: str = field(default="own", metadata=accepts(words=WHERES))
    take: str = field(default="newest", metadata=accepts(words=TAKES))
    when: tuple[str, ...] = field(default=(), metadata=accepts(words=CONDITIONS))
    choice: Uniform | Ranked | Weighted = Uniform()


@dataclass(frozen=True, eq=False)
class Monitor:
    """Sampling of page access bits while an iteration runs.

    Parameters
    ----------
    period_ps : int
        Length of one polling loop. A sampled page counts at most once per loop.
    sample_offset_bytes : ndarray of int64, shape (n_blocks, n_samples)
        Offset of every sampled page in its block; an access touches it when it moves more bytes
        than the offset.
    """

    period_ps: int = field(metadata=accepts(1, NEVER_PS - 1))
    sample_offset_bytes: Int64Array = field(metadata=accepts(shape=("blocks", "samples")))


@dataclass(frozen=True, eq=False)
class Plan:
    """What the engine executes by itself until the plan is replaced.

    The first pool group must have scope "worker": continuations go there.

    Parameters
    ----------
    acquire : tuple of AcquireStep
        Tried in order by a worker that looks for work.
    pool_groups : tuple of PoolGroup
        All pools.
    spawn_order : ndarray of uint8, shape (n_tasks,), or int
        For each task, how its parent creates it: `CHILD_FIRST` or `PARENT_FIRST`.
    group_of : ndarray of int8, shape (n_tasks,), optional
        Pool group that each task enters when it is ready; group 0 by default.
    instance_of : ndarray of int32, shape (n_tasks,), optional
        Pool instance; -1 (the default) is the instance of the worker that makes the task ready.
    roots : {"first", "round_robin", "last"}
        Where tasks without a parent go that have no instance: to the first active worker, to active
        workers in turn, or to the worker that ended the last task before them, which goes on with
        the program: then nobody waits at a barrier.
    active_workers : ndarray of bool, shape (n_workers,), optional
        Workers that take part; all by default.
    counter_group : ndarray of int32, shape (n_tasks,), optional
        Group under which each task's memory accesses are counted; -1 for none.
    monitor : Monitor, optional
        Page sampling.
    balancing : PageBalancing, optional
        Pages that follow accesses; none by default.
    times_tasks : bool
        Whether the time that each task has been executed is measured: `Counters.executed_ps`,
        `EngineState.executed_ps`.
    devices : tuple of Device
        Devices that pool groups name.
    awaits_successors : bool
        Whether a task is ready only when its successors have been created, too, because it has to
        know where to write. It does not wait for those that it creates itself, or through others.
    runtime : Runtime, optional
        A task runtime that moves tasks from queues of its own into the pools of workers. The native
        engine executes it and calls no fine hooks; those of the policy come to the same.
    """

    acquire: tuple[AcquireStep, ...]
    pool_groups: tuple[PoolGroup, ...] = (PoolGroup("worker"),)
    spawn_order: NDArray[np.uint8] | NDArray[np.bool_] | int = field(
        default=CHILD_FIRST, metadata=accepts(CHILD_FIRST, PARENT_FIRST, shape=("tasks",))
    )
    group_of: NDArray[np.int8] | NDArray[np.bool_] | None = field(
        default=None, metadata=accepts(of="groups", shape=("tasks",))
    )
    instance_of: Int32Array | None = field(default=None, metadata=accepts(-1, shape=("tasks",)))
    roots: str = field(default="round_robin", metadata=accepts(words=ROOTS))
    active_workers: NDArray[np.bool_] | None = field(
        default=None, metadata=accepts(shape=("workers",))
    )
    counter_group: Int32Array | None = field(
        default=None, metadata=accepts(-1, MAX_COUNTER_GROUPS - 1, shape=("tasks",))
    )
    monitor: Monitor | None = None
    balancing: PageBalancing | None = None
    times_tasks: bool = False
    devices: tuple[Device, ...] = ()
    awaits_successors: bool = False
    runtime: Runtime | None = None
