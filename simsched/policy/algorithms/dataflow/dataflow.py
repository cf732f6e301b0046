"""Dataflow run-time for NUMA machines: hierarchical stealing, work pushing, deferred allocation."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy import (
    PARENT_FIRST,
    HookView,
    Placement,
    Plan,
    PlanView,
    Policy,
    Pool,
    PoolGroup,
    Transfer,
    param,
    preset,
    register,
)
from simsched.policy.contract.blocks import THREAD_GROUPS, system_pages
from simsched.policy.parts.dataflow_buffers import ALLOCATIONS, block_pools, find_buffers
from simsched.policy.parts.dataflow_pushing import PUSHINGS, Pushing, write_read_ratio
from simsched.policy.parts.dataflow_stealing import STEALINGS, search_order
from simsched.policy.parts.dataflow_versions import least_versions
from simsched.policy.parts.placement import interleave
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.variants import variant

DEQUE, SLOT, PUSHED = 0, 1, 2
POOL_GROUPS = (PoolGroup("deque"), PoolGroup("slot"), PoolGroup("pushed"))
MIGRATIONS = ("off", "balancenuma")
CONTROLS = ("parallel", "sequential")
#: Pushing that can be combined with each allocation.
LEGAL = {
    "immediate": PUSHINGS,
    "deferred": ("none", "input_only"),
    "dependence_aware": ("none", "original", "input_only"),
    "interleaved_static": ("none",),
}


@dataclass
class DataflowState:
    """What a run remembers: Algorithm 1 for the present graph, and each worker's push queue."""

    pushing: Pushing | None = None
    pushed: list[list[int]] = field(default_factory=list)


@register("dataflow")
@dataclass(frozen=True, kw_only=True)
class Dataflow(Policy[DataflowState]):
    """Dataflow run-time with task-private buffers, one choice per axis.

    Parameters
    ----------
    stealing : {"random", "hierarchical"}
        Victims: any other worker, or nearer ones first.
    pushing : {"none", "original", "input_only", "output_only", "weighted"}
        Where a task that becomes ready goes: nowhere, to the node of its largest input, or to that
        from which its inputs, its outputs or both are reached at the least cost.
    allocation : {"immediate", "deferred", "dependence_aware", "interleaved_static"}
        Node of an input buffer: its consumer's creator's, its producer's, or that of the producer's
        largest input; or there are no buffers, only global arrays on all nodes.
    page_migration : {"off", "balancenuma"}
        Whether the operating system moves pages to the node that accesses them.
    scan_period_s, page_bytes, faults_to_move, thread_group : float, int, int, str
        Of page migration; see :class:`~simsched.policy.contract.blocks.PageBalancing`.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the first task creates all.
    threshold_bytes : int
        Tasks with fewer bytes in the buffers considered are not pushed.
    input_weight, output_weight : float
        Weights of bytes with `weighted`; 0 of outputs is the machine's ratio of writes to reads.
    push_queue_slots : int
        Slots of a worker's push queue, of which one stays empty. A task for a full queue is kept.

    Notes
    -----
    A task that a worker keeps goes to its slot and displaces what is there to the deque. A worker
    imports its push queue when it looks for work. A task is ready when its producers have ended and
    its consumers have been created. Readings: docs/sources/dataflow.md.

    References
    ----------
    A. Drebes et al., *Scalable Task Parallelism for NUMA*, PACT 2016, sections 2-3, Algorithm 1. A.
    Drebes et al., ACM TACO 11(3), 2014 (`original`, `dependence_aware`). OpenStream run-time, 2015.
    """

    stealing: str = param("hierarchical", choices=STEALINGS)
    pushing: str = param("none", choices=PUSHINGS)
    allocation: str = param("immediate", choices=ALLOCATIONS)
    page_migration: str = param("off", choices=MIGRATIONS)
    scan_period_s: float = param(1.0, low=1e-6, high=1e6)
    page_bytes: int = param(4096, low=1)
    faults_to_move: int = param(2, low=1)
    thread_group: str = param("start", choices=THREAD_GROUPS)
    control: str = param("parallel", choices=CONTROLS)
    threshold_bytes: int = param(64 * 1024, low=0)
    input_weight: float = param(1.0, low=0.0, high=1e6)
    output_weight: float = param(0.0, low=0.0, high=1e6)
    push_queue_slots: int = param(128, low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        legal = LEGAL[self.allocation]
        if self.pushing not in legal:
            raise ConfigurationError(
                f"policy {type(self).name}: parameter pushing: found {self.pushing!r} with "
                f"allocation {self.allocation!r}, accepted {', '.join(legal)}"
            )
        if self.page_migration != "off" and self.allocation != "interleaved_static":
            raise ConfigurationError(
                f"policy {type(self).name}: parameter page_migration: found "
                f"{self.page_migration!r} with allocation {self.allocation!r}, accepted off"
            )

    def prepare(self, view: PlanView) -> Workload:
        version = "shared" if self.allocation == "interleaved_static" else "private"
        return variant(view.workload, version=version, control=self.control)

    least = staticmethod(least_versions)

    def start(self, view: PlanView) -> DataflowState:
        return DataflowState(pushed=[[] for _ in range(view.n_workers)])

    def place(self, view: PlanView, state: DataflowState) -> Placement:
        """Return global arrays interleaved, buffers to be allocated."""
        spread = interleave(view)
        if self.allocation == "interleaved_static":
            return spread
        buffers = find_buffers(view.workload.graph)
        home = np.where(buffers.is_buffer, -1, spread.home).astype(np.int32)
        pools = block_pools(view.workload.graph, buffers, self.allocation)
        return Placement(home, spread.touch_order, pools)

    def fits(self, view: PlanView) -> tuple[str, ...]:
        graph = view.workload.graph
        if self.allocation == "interleaved_static":
            return super().fits(view)
        if not find_buffers(graph).is_buffer.any():
            return (
                *super().fits(view),
                "needs blocks that one task writes for another one to read: found none",
            )
        pushing = self._pushing(view, graph)
        if pushing is None or pushing.pushes:
            return super().fits(view)
        return (
            *super().fits(view),
            f"pushes no task: found none that has buffers of {self.threshold_bytes} bytes",
        )

    def plan(self, view: PlanView, state: DataflowState, graph: TaskGraph) -> Plan:
        """Return the search order; tasks are created by their parents and wait in pools."""
        state.pushing = self._pushing(view, graph)
        return Plan(
            acquire=search_order(self.stealing, view),
            pool_groups=POOL_GROUPS,
            spawn_order=PARENT_FIRST,
            roots="first",
            awaits_successors=True,
            balancing=None
            if self.page_migration == "off" or graph is view.workload.init
            else system_pages(
                view.machine,
                self.scan_period_s,
                self.page_bytes,
                self.faults_to_move,
                self.thread_group,
            ),
        )

    def on_ready(
        self, view: HookView, state: DataflowState, task: int, worker: int
    ) -> Pool | tuple[Pool | Transfer, ...] | None:
        """Activate a task: push it to another node, or keep it."""
        if worker < 0:
            return None
        if state.pushing is not None:
            target = state.pushing.target(view, task, worker)
            if target is not None and len(state.pushed[target]) < self.push_queue_slots - 1:
                state.pushed[target].append(task)
                return Pool(PUSHED, target)
        slot = Pool(SLOT, worker)
        if view.live.queue_length(SLOT, worker) == 0:
            return slot
        return slot, Transfer(SLOT, worker, DEQUE, worker, 1, 0, "oldest")

    def on_start(
        self, view: HookView, state: DataflowState, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        """Import what had been pushed when the worker looked: all but the task that it executes."""
        queue = state.pushed[worker]
        if task not in queue:
            return None
        before = queue.index(task)
        state.pushed[worker] = queue[before + 1 :]
        displaced = Transfer(SLOT, worker, DEQUE, worker, 1, 0, "oldest")
        if before == 0:
            return (displaced,)
        return displaced, Transfer(PUSHED, worker, DEQUE, worker, before, 0, "oldest")

    def _pushing(self, view: PlanView, graph: TaskGraph) -> Pushing | None:
        """Return Algorithm 1 for a graph, None without pushing."""
        if self.pushing == "none":
            return None
        return Pushing(
            view,
            graph,
            find_buffers(graph),
            kind=self.pushing,
            input_weight=self.input_weight,
            output_weight=self.output_weight or write_read_ratio(view.machine),
            threshold_bytes=self.threshold_bytes,
        )


preset("dsa_base", Dataflow, "Hierarchical stealing, buffers on the creator's node.")
_PUSHING = "Enhanced work pushing towards"
for _name, _summary, _pushing in (
    ("ewp_input_only", f"{_PUSHING} inputs.", "input_only"),
    ("ewp_output_only", f"{_PUSHING} outputs.", "output_only"),
    ("ewp_weighted", f"{_PUSHING} inputs and outputs, writes weighing more.", "weighted"),
    ("work_pushing_original", "Work pushing to the node of the largest input.", "original"),
):
    preset(_name, Dataflow, _summary, pushing=_pushing)
for _name, _summary in (
    ("dfa", "Deferred allocation: buffers on the node of their producer."),
    ("deferred_allocation", "Deferred allocation under its full name (dfa)."),
):
    preset(_name, Dataflow, _summary, allocation="deferred")
preset(
    "dsa_opt",
    Dataflow,
    "Deferred allocation and work pushing towards inputs.",
    pushing="input_only",
    allocation="deferred",
)
preset(
    "dependence_aware_allocation",
    Dataflow,
    "Buffers where their producer is expected to run, work pushing to the largest input.",
    pushing="original",
    allocation="dependence_aware",
)
preset(
    "shm_base",
    Dataflow,
    "Hierarchical stealing on global arrays that are interleaved over all nodes.",
    allocation="interleaved_static",
)
preset(
    "shm_balancenuma",
    Dataflow,
    "Interleaved global arrays with page migration by the operating system.",
    allocation="interleaved_static",
    page_migration="balancenuma",
)
