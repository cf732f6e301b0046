"""LAWS: locality-aware work stealing on several sockets, with its ablations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    SEVERAL_DOMAINS,
    TAKES,
    AcquireStep,
    Counters,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    Update,
    param,
    preset,
    register,
    seconds_to_ps,
)
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.allocation import allocate
from simsched.policy.parts.footprint import (
    estimated_footprint,
    input_bytes,
    missing_bytes,
    shared_cache_bytes,
    task_bytes,
)
from simsched.policy.parts.packing import Tuner, initial_roots, inside, separable
from simsched.policy.parts.spawn_cost import slower_spawns
from simsched.policy.parts.subgraphs import subtree_sums
from simsched.workload.graph import BoolArray, Int32Array, Int64Array, TaskGraph, Workload

WORKER, UPPER, CF = 0, 1, 2  #: pool groups: local pools, tasks above the roots, roots
POOL_GROUPS = (
    PoolGroup("worker"),
    PoolGroup("upper", scope="domain", locked=True),
    PoolGroup("cf", scope="domain", locked=True, marks_active=True),
)
HEAD_OF_IDLE_SOCKET = ("head_worker", "domain_inactive")
PACKINGS = ("tuned", "static", "none")
LINE_BYTES = 64  #: of a cache line


@dataclass(eq=False)
class LawsState:
    """What LAWS remembers during a run."""

    sockets: Int32Array  # NUMA domains that have workers, in the order of the parts of the data
    part: Int32Array  # shape (n_tasks,): part of the data that each task of an iteration works on
    #: search for the best packing; from the end of the profiling iteration
    tuner: Tuner | None = None


@register("laws")
@dataclass(frozen=True, kw_only=True)
class Laws(PlacedPolicy[LawsState]):
    """Locality-aware work stealing (LAWS).

    Parameters
    ----------
    packing : {"tuned", "static", "none"}
        Subtrees whose size is tuned, those of the first packing, or none: tasks only go to the
        sockets of their data.
    shared_cache_bytes : int
        Capacity of a socket's shared cache; 0 stands for the machine's outermost caches.
    steal_take : {"newest", "oldest"}
        End of another socket's pool from which whole subtrees are stolen.
    profile_s, spawn_s : float
        Time in seconds that each task takes longer in iteration 1, and each spawn throughout.
    cpu_bound_misses_per_operation : float
        A program most of whose tasks have fewer cache misses runs under random stealing.

    Notes
    -----
    The sockets are the NUMA domains that have workers. Readings: docs/sources/laws.md.

    References
    ----------
    Q. Chen, M. Guo, H. Guan, *LAWS*, ICS 2014, sections 3-4. Q. Chen, M. Guo, Springer 2017,
    sections 4.4-4.9 and 4.10.6.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    packing: str = param("tuned", choices=PACKINGS)
    shared_cache_bytes: int = param(0, low=0)
    steal_take: str = param("newest", choices=TAKES)
    profile_s: float = param(2e-7, low=0.0, high=1e6, is_cost=True)
    spawn_s: float = param(1e-7, low=0.0, high=1e6, is_cost=True)
    cpu_bound_misses_per_operation: float = param(1e-3, low=0.0)

    def start(self, view: PlanView) -> LawsState:
        """Return the allocation of tasks to sockets."""
        sockets = np.unique(view.worker_domain).astype(np.int32)
        return LawsState(sockets, allocate(view.workload.graph, len(sockets)))

    def prepare(self, view: PlanView) -> Workload:
        return slower_spawns(view, self.spawn_s)

    def plan(self, view: PlanView, state: LawsState, graph: TaskGraph) -> Plan:
        """Return the plan that keeps tasks on the sockets of their data, for `graph`."""
        if graph is not view.workload.init and view.workload.iterations == 1:
            size = estimated_footprint(graph, input_bytes(graph))
            return self._packed(view, state, size)
        if graph is view.workload.init:
            return profiling_plan(allocate(graph, len(state.sockets)), state.sockets)
        plan = profiling_plan(state.part, state.sockets)
        return replace(plan, counter_group=np.arange(graph.n_tasks, dtype=np.int32))

    def on_iteration(self, view: PlanView, state: LawsState, counters: Counters) -> Update | None:
        """Return the first packing after the profiling iteration, then what tuning tries next."""
        if counters.iteration == 0:
            return None
        graph = view.workload.graph
        if counters.iteration == 1:
            return Update(
                plan=self._profiled(view, state, counters),
                overhead_ps=seconds_to_ps(self.profile_s * graph.n_tasks / view.n_workers),
            )
        if state.tuner is None or state.tuner.is_done:
            return None
        before = state.tuner.roots
        state.tuner.record(counters.duration_s)
        if state.tuner.roots is before:
            return None
        return Update(plan=self._stealing(graph, state, state.tuner.roots))

    def _profiled(self, view: PlanView, state: LawsState, counters: Counters) -> Plan:
        """Return the plan for iteration 2."""
        graph = view.workload.graph_of(counters.iteration)
        own = missing_bytes(counters, view.machine)
        if own is None:  # no counters of private caches
            own = task_bytes(graph)
        if self._is_cpu_bound(graph, own):
            return stealing_plan()
        return self._packed(view, state, subtree_sums(graph, own))

    def _is_cpu_bound(self, graph: TaskGraph, own_bytes: Int64Array) -> bool:
        """Return whether most tasks miss less often than the threshold."""
        ops = graph.ops.min(axis=0) + graph.join_ops.min(axis=0)
        works = ops > 0
        misses = own_bytes / LINE_BYTES
        is_cpu_bound = misses[works] < self.cpu_bound_misses_per_operation * ops[works]
        return 2 * int(is_cpu_bound.sum()) > int(works.sum())

    def _packed(self, view: PlanView, state: LawsState, size: NDArray[np.generic]) -> Plan:
        """Return the plan for the first packing."""
        graph = view.workload.graph
        if self.packing == "none" or not len(graph.child):
            return self._at_home(state)
        capacity = self.shared_cache_bytes or shared_cache_bytes(view.machine, state.sockets)
        roots = initial_roots(graph, state.part, size, capacity or float(size.max()))
        if not separable(graph, roots):
            return self._at_home(state)
        if self.packing == "tuned":
            state.tuner = Tuner(graph, state.part, roots)
        return self._stealing(graph, state, roots)

    def _at_home(self, state: LawsState) -> Plan:
        """Return the plan that sends each task to the socket of its data, where none is packed."""
        plan = profiling_plan(state.part, state.sockets)
        steal = AcquireStep("upper", "other_domains", self.steal_take)
        return replace(plan, acquire=(*plan.acquire, steal))

    def _stealing(self, graph: TaskGraph, state: LawsState, roots: BoolArray) -> Plan:
        """Return the plan of triple-level stealing for a packing."""
        local = inside(graph, roots)
        instance = socket_of(state.part, state.sockets)
        instance[local] = -1
        alone = HEAD_OF_IDLE_SOCKET
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "newest"),
                AcquireStep("worker", "same_domain", "oldest"),
                AcquireStep("upper", "own", "oldest", alone),
                AcquireStep("cf", "own", "oldest", alone),
                AcquireStep("cf", "other_domains", self.steal_take, (*alone, "domain_supplied")),
            ),
            pool_groups=POOL_GROUPS,
            spawn_order=np.where(local, CHILD_FIRST, PARENT_FIRST).astype(np.uint8),
            group_of=np.where(local, WORKER, np.where(roots, CF, UPPER)).astype(np.int8),
            instance_of=instance,
            roots="first",
        )


def profiling_plan(part: Int32Array, sockets: Int32Array) -> Plan:
    """Return the plan in which sockets execute their own tasks only, spawned parent first."""
    return Plan(
        acquire=(AcquireStep("upper", "own", "oldest"),),
        pool_groups=POOL_GROUPS,
        spawn_order=PARENT_FIRST,
        group_of=np.full(len(part), UPPER, np.int8),
        instance_of=socket_of(part, sockets),
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
preset("laws_interleave", Laws, "LAWS with data dealt out to all nodes.", placement="interleave")
preset(
    "laws_c",
    Laws,
    "LAWS on a machine whose HBM is a memory-side cache, data behind it.",
    placement="cached_dram",
)
