"""LAWS: locality-aware work stealing on several sockets, with its ablations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simsched.machine.model import Machine
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    TAKES,
    AcquireStep,
    Counters,
    Plan,
    PoolGroup,
    Update,
    View,
    param,
)
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.allocation import STRADDLES, allocate
from simsched.policy.parts.footprint import (
    estimated_footprint,
    exact_footprint,
    input_bytes,
    shared_cache_bytes,
    task_bytes,
)
from simsched.policy.parts.packing import TIES, Tuner, initial_roots, inside
from simsched.policy.parts.placement import PlacedPolicy
from simsched.policy.parts.spawn_cost import slower_spawns
from simsched.policy.parts.subgraphs import subtree_sums
from simsched.workload.graph import TaskGraph, Workload

BoolArray = NDArray[np.bool_]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]

WORKER, UPPER, CF = 0, 1, 2  #: pool groups: local pools, tasks above the roots, roots
POOL_GROUPS = (
    PoolGroup("worker"),
    PoolGroup("upper", scope="domain", locked=True),
    PoolGroup("cf", scope="domain", locked=True, marks_active=True),
)
HEAD_OF_IDLE_SOCKET = ("head_worker", "domain_inactive")
STEALS_WHEN = ("supplied", "empty")
PACKINGS = ("tuned", "static", "none")
SOIDS = ("pmc", "touched", "exact")


@dataclass(eq=False)
class LawsState:
    """What LAWS remembers during a run.

    Parameters
    ----------
    sockets : ndarray of int32
        NUMA domains that have workers, in the order of the parts of the data.
    part : ndarray of int32, shape (n_tasks,)
        Part of the data that each task of an iteration works on.
    tuner : Tuner, optional
        Search for the best packing; from the end of the profiling iteration.
    """

    sockets: Int32Array
    part: Int32Array
    tuner: Tuner | None = None


@register("laws")
@dataclass(frozen=True, kw_only=True)
class Laws(PlacedPolicy):
    """Locality-aware work stealing (LAWS).

    Parameters
    ----------
    packing : {"tuned", "static", "none"}
        Cache-friendly subtrees whose size is tuned while the program runs, those of the first
        packing throughout, or none: tasks are only allocated to the sockets of their data.
    unpacked : {"socket_pool", "worker_pools"}
        Without packing: whether all tasks of a socket share one pool, or only its topmost ones.
    soid : {"pmc", "touched", "exact"}
        What the size of the data of a subtree is taken from: the misses of the last private caches
        that hardware counters show in iteration 1 for each of its tasks, added up; the bytes that
        each task touches, added up; or all bytes that the subtree involves, shared ones once.
    shared_cache_bytes : int
        Capacity of a socket's shared cache; 0 stands for the machine's outermost caches.
    tie : {"accept", "stop"}
        Whether subtrees go on growing after an iteration exactly as long as the best one (the
        paper) or not (the book).
    steal_take : {"newest", "oldest"}
        End of another socket's pool from which whole subtrees are stolen. Pools of the own socket
        are taken from the other, oldest, end.
    steal_above : bool
        Whether other sockets also steal tasks above the roots, when they find no root.
    steals_when : {"supplied", "empty"}
        When a socket without a subtree steals: once all of its own in the iteration have arrived,
        or whenever its pool is empty, also while they are on their way.
    begins : {"first", "last"}
        Socket to whose pool the root of the tree goes from iteration 2 on: the first one, or the
        one that ended the iteration before.
    profile_s : float
        Time in seconds that each task takes longer in iteration 1, for reading counters.
    spawn_s : float
        Time in seconds that each spawn takes longer, for looking up the tier of the child.
    cpu_bound_misses_per_operation : float
        A task with fewer cache misses per operation is CPU-bound; so is a program most of whose
        tasks are. It then runs under random stealing.
    line_bytes : int
        Size of a cache line.

    Notes
    -----
    *Sockets* are the NUMA domains that have workers. Data are divided among them in equal parts,
    and a task belongs to the socket whose part contains its range
    (:func:`~simsched.policy.parts.allocation.allocate`).

    *Initialisation and iteration 1* spawn parent first into the pools of the tasks' sockets. All
    workers of a socket take tasks from its pool, the oldest first, and from nowhere else, so that
    first touch puts the data on the right nodes. Afterwards data sizes are added up from the leaves
    to the top, and the time to read counters is charged, divided among the workers. The private
    caches are those of the outermost level whose instances serve one core each.

    *From iteration 2 on* tasks down to the roots of cache-friendly (CF) subtrees are spawned parent
    first into the pools of their sockets, tasks inside child first into the pool of the worker. A
    worker takes the newest task of its own pool, then the oldest of a random one of its socket. The
    first worker of a socket that has no CF subtree unfinished also takes the oldest task above the
    roots, then the oldest root of its socket, then, if all roots of its socket have arrived, a root
    of another socket (with `steal_above` also a task above the roots). A socket therefore never
    works on two subtrees at a time.

    *Tuning* tries one packing per iteration (:class:`~simsched.policy.parts.packing.Tuner`); a
    decision itself takes no time.

    *Without packing* (LAWS-NC, and graphs with dataflow edges or without spawns, to which subtrees
    do not apply) tasks go to the sockets of their data as in iteration 1, but a worker whose
    socket's pool is empty steals from those of others. With ``unpacked="worker_pools"`` only the
    topmost tasks of each socket do so, and cannot be stolen; tasks inside are spawned child first
    into the pools of workers, and a worker that finds nothing in its socket steals from workers of
    others. How LAWS-NC schedules inside a socket is not published.

    *A single iteration* cannot be profiled: data sizes are then those that the compiler derives
    from the size of the input, and the program is not checked for being CPU-bound.

    Interpretations. Tasks that cross the border of two sockets are not allocated; they enter the
    pool of the socket that spawns them, the root that of the first socket. Tasks above the roots
    have a pool of their own beside that of the roots, because they do not keep a socket from
    beginning a subtree. What sockets steal is called an entire subtree, hence only roots by
    default: a socket that unfolds the top of the tree for others while its own part is on its way
    loses that part to thieves. So does one that steals another's root in that microsecond: the
    papers let a socket steal when its pool is empty, a later one of the authors' when all that it
    had is complete (BATS), which is the default. A scheduler knows how many roots it sends to a
    socket, since it has decided on them before. Without caches there is nothing to fit, and the
    part of a socket is one subtree. Tasks without operations are neither CPU-bound nor
    memory-bound. Instructions are operations, and the threshold is not published. Where a machine
    has no private caches, sizes are those that tasks touch.

    References
    ----------
    Q. Chen, M. Guo, H. Guan, *LAWS: Locality-Aware Work-Stealing for Multi-socket Multi-core
    Architectures*, ICS 2014, sections 3-4. Q. Chen, M. Guo, *Task Scheduling for Multi-core and
    Parallel Architectures*, Springer 2017, sections 4.4-4.9 and 4.10.6.
    """

    packing: str = param("tuned", choices=PACKINGS)
    unpacked: str = param("socket_pool", choices=("socket_pool", "worker_pools"))
    soid: str = param("pmc", choices=SOIDS)
    shared_cache_bytes: int = param(0, low=0)
    tie: str = param("accept", choices=TIES)
    steal_take: str = param("newest", choices=TAKES)
    steal_above: bool = param(False)
    steals_when: str = param("supplied", choices=STEALS_WHEN)
    begins: str = param("first", choices=("first", "last"))
    profile_s: float = param(2e-7, low=0.0, high=1e6)
    spawn_s: float = param(1e-7, low=0.0, high=1e6)
    cpu_bound_misses_per_operation: float = param(1e-3, low=0.0)
    line_bytes: int = param(64, low=1)

    def start(self, view: View) -> LawsState:
        """Return the allocation of tasks to sockets."""
        sockets = np.unique(view.worker_domain).astype(np.int32)
        return LawsState(sockets, allocate(view.workload.graph, len(sockets)))

    def prepare(self, view: View) -> Workload:
        """Return the program with what a spawn costs more."""
        return slower_spawns(view, self.spawn_s)

    def plan(self, view: View, state: LawsState, graph: TaskGraph) -> Plan:
        """Return the plan that keeps tasks on the sockets of their data, for `graph`."""
        if graph is not view.workload.init and view.workload.iterations == 1:
            size = estimated_footprint(graph, input_bytes(graph))
            return self._packed(view, state, size)
        if graph is view.workload.init:
            return profiling_plan(allocate(graph, len(state.sockets)), state.sockets)
        plan = profiling_plan(state.part, state.sockets)
        return replace(plan, counter_group=np.arange(graph.n_tasks, dtype=np.int32))

    def on_iteration(self, view: View, state: LawsState, counters: Counters) -> Update | None:
        """Return the first packing after the profiling iteration, then what tuning tries next."""
        if counters.iteration == 0:
            return None
        graph = view.workload.graph
        if counters.iteration == 1:
            return Update(
                plan=self._profiled(view, state, counters),
                overhead_s=self.profile_s * graph.n_tasks / view.n_workers,
            )
        if state.tuner is None or state.tuner.is_done:
            return None
        before = state.tuner.roots
        state.tuner.record(counters.duration_s)
        if state.tuner.roots is before:
            return None
        return Update(plan=self._stealing(graph, state, state.tuner.roots))

    def _profiled(self, view: View, state: LawsState, counters: Counters) -> Plan:
        """Return the plan for iteration 2."""
        graph = view.workload.graph
        own = missing_bytes(counters, view.machine) if self.soid == "pmc" else None
        if own is None:
            own = task_bytes(graph)
        if self._is_cpu_bound(graph, own):
            return stealing_plan()
        size = exact_footprint(graph) if self.soid == "exact" else subtree_sums(graph, own)
        return self._packed(view, state, size)

    def _is_cpu_bound(self, graph: TaskGraph, own_bytes: Int64Array) -> bool:
        """Return whether most tasks miss less often than the threshold."""
        ops = graph.ops.min(axis=0) + graph.join_ops.min(axis=0)
        works = ops > 0
        misses = own_bytes / self.line_bytes
        is_cpu_bound = misses[works] < self.cpu_bound_misses_per_operation * ops[works]
        return 2 * int(is_cpu_bound.sum()) > int(works.sum())

    def _packed(self, view: View, state: LawsState, size: NDArray[np.generic]) -> Plan:
        """Return the plan for the first packing."""
        graph = view.workload.graph
        if self.packing == "none" or graph.n_edges or not len(graph.child):
            if self.unpacked == "worker_pools" and not graph.n_edges:
                return topmost_plan(graph, state.part, state.sockets)
            return home_plan(state.part, state.sockets, self.steal_take)
        capacity = self.shared_cache_bytes or shared_cache_bytes(view.machine, state.sockets)
        roots = initial_roots(graph, state.part, size, capacity or float(size.max()))
        if self.packing == "tuned":
            state.tuner = Tuner(graph, state.part, roots, self.tie)
        return self._stealing(graph, state, roots)

    def _stealing(self, graph: TaskGraph, state: LawsState, roots: BoolArray) -> Plan:
        """Return the plan of triple-level stealing for a packing."""
        return subtree_plan(
            graph,
            state.part,
            state.sockets,
            roots,
            steal_take=self.steal_take,
            steal_above=self.steal_above,
            steals_when=self.steals_when,
            begins=self.begins,
        )


def missing_bytes(counters: Counters, machine: Machine) -> Int64Array | None:
    """Return the bytes that missed the last private caches, per counter group.

    Returns
    -------
    ndarray of int64, shape (n_groups,), or None
        None on a machine without private caches.
    """
    private = [
        level
        for level, cache in enumerate(machine.caches)
        if np.bincount(cache.core_instance).max() == 1
    ]
    return counters.group_missing_bytes[:, private[-1]] if private else None


def profiling_plan(part: Int32Array, sockets: Int32Array) -> Plan:
    """Return the plan in which sockets execute their own tasks only, spawned parent first.

    Parameters
    ----------
    part : ndarray of int32, shape (n_tasks,)
        Part of the data of each task; `STRADDLES` stays where it is spawned.
    sockets : ndarray of int32
        NUMA domain of each part.
    """
    return Plan(
        acquire=(AcquireStep("upper", "own", "oldest"),),
        pool_groups=POOL_GROUPS,
        spawn_order=PARENT_FIRST,
        group_of=np.full(len(part), UPPER, np.int8),
        instance_of=socket_of(part, sockets),
        roots="first",
    )


def subtree_plan(
    graph: TaskGraph,
    part: Int32Array,
    sockets: Int32Array,
    roots: BoolArray,
    *,
    steal_take: str,
    steal_above: bool,
    steals_when: str,
    begins: str,
) -> Plan:
    """Return the plan of triple-level stealing.

    Parameters
    ----------
    graph : TaskGraph
        Any graph.
    part, sockets : ndarray of int32
        As for :func:`profiling_plan`.
    roots : ndarray of bool, shape (n_tasks,)
        Roots of cache-friendly subtrees.
    steal_take : {"newest", "oldest"}
        End of another socket's pool from which whole subtrees are stolen.
    steal_above : bool
        Whether tasks above the roots are stolen too.
    steals_when : {"supplied", "empty"}
        Whether a socket steals only when all its own roots have arrived.
    begins : {"first", "last"}
        Socket to whose pool the root of the tree goes: the first one, or the one that ended last.
    """
    local = inside(graph, roots)
    instance = socket_of(part, sockets)
    instance[local] = -1
    alone = HEAD_OF_IDLE_SOCKET
    done = (*alone, "domain_supplied") if steals_when == "supplied" else alone
    return Plan(
        acquire=(
            AcquireStep("worker", "own", "newest"),
            AcquireStep("worker", "same_domain", "oldest"),
            AcquireStep("upper", "own", "oldest", alone),
            AcquireStep("cf", "own", "oldest", alone),
            AcquireStep("cf", "other_domains", steal_take, done),
        )
        + (AcquireStep("upper", "other_domains", steal_take, done),) * steal_above,
        pool_groups=POOL_GROUPS,
        spawn_order=np.where(local, CHILD_FIRST, PARENT_FIRST).astype(np.uint8),
        group_of=np.where(local, WORKER, np.where(roots, CF, UPPER)).astype(np.int8),
        instance_of=instance,
        roots=begins,
    )


def home_plan(part: Int32Array, sockets: Int32Array, steal_take: str) -> Plan:
    """Return the plan that sends each task to the socket of its data; the rest is first come.

    Parameters
    ----------
    part, sockets : ndarray of int32
        As for :func:`profiling_plan`.
    steal_take : {"newest", "oldest"}
        End of another socket's pool from which an empty socket steals.
    """
    plan = profiling_plan(part, sockets)
    return replace(plan, acquire=(*plan.acquire, AcquireStep("upper", "other_domains", steal_take)))


def topmost_plan(graph: TaskGraph, part: Int32Array, sockets: Int32Array) -> Plan:
    """Return the plan that sends the topmost tasks to the sockets of their data.

    Parameters
    ----------
    graph : TaskGraph
        Any graph.
    part, sockets : ndarray of int32
        As for :func:`profiling_plan`.
    """
    topmost = (part != STRADDLES) & ((graph.parent < 0) | (part[graph.parent] == STRADDLES))
    local = inside(graph, topmost)
    instance = socket_of(part, sockets)
    instance[local] = -1
    return Plan(
        acquire=(
            AcquireStep("worker", "own", "newest"),
            AcquireStep("worker", "same_domain", "oldest"),
            AcquireStep("upper", "own", "oldest"),
            AcquireStep("worker", "other_domains", "oldest"),
        ),
        pool_groups=POOL_GROUPS,
        spawn_order=np.where(local, CHILD_FIRST, PARENT_FIRST).astype(np.uint8),
        group_of=np.where(local, WORKER, UPPER).astype(np.int8),
        instance_of=instance,
        roots="first",
    )


def socket_of(part: Int32Array, sockets: Int32Array) -> Int32Array:
    """Return the NUMA domain of each part, -1 for `STRADDLES`; a new array."""
    return np.append(sockets, np.int32(-1))[part]


preset(
    "laws_nc",
    Laws,
    "LAWS without cache-friendly subtrees: tasks only go to the sockets of their data.",
    packing="none",
)
preset("laws_static", Laws, "LAWS with its first packing throughout.", packing="static")
preset("laws_dram", Laws, "LAWS with all data on DRAM nodes.", placement="all_dram")
preset("laws_h", Laws, "LAWS with all data on HBM nodes.", placement="membind_hbm")
preset(
    "laws_interleave",
    Laws,
    "LAWS with data dealt out to all nodes.",
    placement="interleave",
)
preset(
    "laws_c",
    Laws,
    "LAWS on a machine whose HBM is a memory-side cache, data behind it.",
    placement="cached_dram",
)
