"""Dataflow run-time for NUMA machines: hierarchical stealing, work pushing, deferred allocation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.machine.model import Machine
from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    Placement,
    Plan,
    Policy,
    Pool,
    PoolGroup,
    Transfer,
    View,
    param,
)
from simsched.policy.contract.blocks import THREAD_GROUPS, system_pages
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.dataflow_buffers import (
    ALLOCATIONS,
    block_pools,
    find_buffers,
)
from simsched.policy.parts.dataflow_pushing import PUSHINGS, Pushing
from simsched.policy.parts.placement import interleave
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generated, generator_of

DEQUE, SLOT, PUSHED = 0, 1, 2
POOL_GROUPS = (PoolGroup("deque"), PoolGroup("slot"), PoolGroup("pushed"))
STEALINGS = ("random", "hierarchical")
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
    """What a run remembers.

    Parameters
    ----------
    pushing : Pushing or None
        Algorithm 1 for the present graph.
    pushed : list of list of int
        Per worker, the tasks in its push queue, oldest first.
    """

    pushing: Pushing | None = None
    pushed: list[list[int]] = field(default_factory=list)


@register("dataflow")
@dataclass(frozen=True, kw_only=True)
class Dataflow(Policy):
    """Dataflow run-time with task-private buffers, one choice per axis.

    Parameters
    ----------
    stealing : {"random", "hierarchical"}
        Victims: any other worker, or nearer ones first.
    pushing : {"none", "original", "input_only", "output_only", "weighted"}
        Whether a task that becomes ready goes to the worker that made it ready, to the node of its
        largest input, or to the node from which its inputs, outputs or both are reached at the
        least cost.
    allocation : {"immediate", "deferred", "dependence_aware", "interleaved_static"}
        Input buffers are allocated when their consumer is created, on the creator's node; when
        their producer starts, on its node; when their consumer is created, on the node where the
        producer's largest input is; or there are no buffers, only global arrays spread over all
        nodes.
    page_migration : {"off", "balancenuma"}
        Whether the operating system moves pages to the node that accesses them.
    scan_period_s, page_bytes, faults_to_move, thread_group : float, int, int, str
        Of page migration; see :class:`~simsched.policy.contract.blocks.PageBalancing`.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the first task creates all.
    threshold_bytes : int
        Tasks with fewer bytes in the buffers considered are not pushed.
    input_weight : float
        Weight of an input byte with `weighted`.
    output_weight : float
        Weight of an output byte with `weighted`; 0 takes the ratio of a local write to a local read
        on the machine.
    tracked_bytes : int
        Smallest buffer whose node is known.
    push_queue_slots : int
        Slots of a worker's push queue, of which one stays empty. A task for a full queue is kept.

    Notes
    -----
    *Activation* (Algorithm 1). With D_in, D_out the buffers considered, s_tot their bytes and
    data[j] the weighted bytes on node j, buffers without a node or smaller than `tracked_bytes`
    left out, a task with s_tot of at least the threshold is handed to a random worker of the node i
    with the smallest ``sum over j of data[j] * distance(i, j)``, the distances being those of the
    operating system. The local node wins ties, others are broken at random. Stolen tasks are not
    considered again.

    *Queues.* Each worker has a deque, of which others steal the oldest task, a slot and a push
    queue, which nobody else can reach. A task that the worker keeps goes to the slot and displaces
    what is there to the deque. A worker that looks for work imports its push queue into the slot,
    one task after the other: the last one is executed, those before it, and what the slot held,
    are in the deque from then on. Then come the slot and the newest task of the deque. A push costs
    what it costs into any pool of the machine (`push`); the lines that it takes to another node are
    not charged.

    *Hierarchical stealing.* Workers that share the smallest shared cache, then those of the domain,
    until one has work, where the run-time draws twice among the pair and eight times among the
    die, so that it may miss what is there. Then it makes one attempt each at every hop distance,
    nearer ones first, and one at the whole machine, and repeats such rounds until it finds
    something. The first round is like that here; those after it are one draw, in which a victim h
    hops away has a weight of ``1 / workers at h hops + 1 / all workers``.

    *Versions of the program.* `interleaved_static` runs the version of the workload with shared
    arrays, `sequential` the one whose root creates all tasks, if the workload has them. Global
    arrays are interleaved over all nodes in every version. A task does not wait for the creation of
    its consumers, unless the program has an edge for it.

    *Page migration.* During initialisation the pages stay where they are interleaved. The study
    scans the whole address space as often as the kernel is willing to, which is once a second:
    `task_scan_min` of Linux 4.3 takes no less where a scan covers more than 2560 MB. That the
    period grows while most accesses are local is not modelled. Pages are of 4 KiB by default, as
    forced in the study for one of its variants. The filter is that of Linux; the workers are a
    group from the beginning, since they share the pages of the run-time (deques, task frames)
    while the data are initialised. `faults_to_move` 1 with `thread_group` none is the mechanism as
    the study sums it up: pages move at every remote fault.

    *Legal combinations.* With `deferred` outputs have no node yet when a task is activated, so only
    `none` and `input_only` go with it; with `interleaved_static` nothing is known of data, so only
    `none`.

    References
    ----------
    A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA: A
    Uniform Abstraction for Coordinated Scheduling and Memory Management*, PACT 2016, sections 2 and
    3, Algorithm 1. A. Drebes, K. Heydemann, N. Drach, A. Pop, A. Cohen, *Topology-Aware and
    Dependence-Aware Scheduling and Memory Allocation for Task-Parallel Languages*, ACM TACO 11(3),
    2014 (`original`, `dependence_aware`). Attempts, threshold, slot and queue sizes: OpenStream
    run-time, December 2015.
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
    tracked_bytes: int = param(10_000, low=0)
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

    def prepare(self, view: View) -> Workload:
        """Return the version of the program that this run-time executes."""
        version = "shared" if self.allocation == "interleaved_static" else "private"
        return variant(view.workload, version=version, control=self.control)

    def start(self, view: View) -> DataflowState:
        """Return empty push queues."""
        return DataflowState(pushed=[[] for _ in range(view.n_workers)])

    def place(self, view: View, state: Any) -> Placement:
        """Return global arrays interleaved, buffers to be allocated."""
        spread = interleave(view)
        if self.allocation == "interleaved_static":
            return spread
        buffers = find_buffers(view.workload.graph)
        home = np.where(buffers.is_buffer, -1, spread.home).astype(np.int32)
        pools = block_pools(view.workload.graph, buffers, self.allocation, self.tracked_bytes)
        return Placement(home, spread.touch_order, pools)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return the search order; tasks are created by their parents and wait in pools."""
        state.pushing = self._pushing(view, graph)
        return Plan(
            acquire=search_order(self.stealing, view),
            pool_groups=POOL_GROUPS,
            spawn_order=PARENT_FIRST,
            roots="first",
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
        self, view: View, state: Any, task: int, worker: int
    ) -> Pool | tuple[Pool | Transfer, ...] | None:
        """Activate a task: push it to another node, or keep it."""
        if worker < 0:
            return None
        assert view.state is not None
        if state.pushing is not None:
            target = state.pushing.target(view, task, worker)
            if target is not None and len(state.pushed[target]) < self.push_queue_slots - 1:
                state.pushed[target].append(task)
                return Pool(PUSHED, target)
        slot = Pool(SLOT, worker)
        if view.state.queue_length(SLOT, worker) == 0:
            return slot
        return slot, Transfer(SLOT, worker, DEQUE, worker, 1, 0.0, "oldest")

    def on_start(
        self, view: View, state: Any, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        """Import what had been pushed when the worker looked: all but the task that it executes."""
        queue = state.pushed[worker]
        if task not in queue:
            return None
        before = queue.index(task)
        state.pushed[worker] = queue[before + 1 :]
        displaced = Transfer(SLOT, worker, DEQUE, worker, 1, 0.0, "oldest")
        if before == 0:
            return (displaced,)
        return displaced, Transfer(PUSHED, worker, DEQUE, worker, before, 0.0, "oldest")

    def _pushing(self, view: View, graph: TaskGraph) -> Pushing | None:
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
            tracked_bytes=self.tracked_bytes,
        )


def variant(workload: Workload, **wanted: str) -> Workload:
    """Return another version of a generated workload.

    Parameters
    ----------
    workload : Workload
        The workload.
    **wanted : str
        Parameters of its generator; those that it does not have are left out.
    """
    maker = generator_of(workload)
    if maker is None:
        return workload
    known = maker.parameters
    changes = {
        key: value
        for key, value in wanted.items()
        if key in known and workload.parameters.get(key) != value
    }
    if not changes:
        return workload
    given = {key: value for key, value in workload.parameters.items() if key in known}
    seed = workload.parameters.get("seed", 0)
    made = generated(maker, {**given, **changes}, seed if isinstance(seed, int) else 0)
    return replace(made, name=workload.name)


def write_read_ratio(machine: Machine) -> float:
    """Return how many times longer a local write takes than a local read, at least 1."""
    path = next(
        path
        for node, path in zip(machine.nodes, machine.paths[0], strict=True)
        if node.domain in (0, None)
    )
    read, write = path.core_cap_bytes_per_s[0], path.write_core_cap[0]
    return max(1.0, read / write) if np.isfinite(read) and np.isfinite(write) else 1.0


def search_order(stealing: str, view: View) -> tuple[AcquireStep, ...]:
    """Return how a worker looks for work."""
    own = (
        AcquireStep("pushed", "own", "newest"),
        AcquireStep("slot", "own", "newest"),
        AcquireStep("deque", "own", "newest"),
    )
    if stealing == "random":
        return (*own, AcquireStep("deque", "anywhere", "oldest"))
    hops = view.machine.domain_hops[view.worker_domain][:, view.worker_domain]
    first_round = [
        AcquireStep(
            "deque",
            "other_domains",
            "oldest",
            rank=np.where(hops == distance, 0, -1).astype(np.int32),
            attempts=1,
        )
        for distance in np.unique(hops[hops > 0]).tolist()
    ]
    return (
        *own,
        AcquireStep("deque", "same_domain", "oldest", rank=near_ranks(view)),
        *first_round,
        AcquireStep("deque", "anywhere", "oldest", attempts=1),
        AcquireStep("deque", "other_domains", "oldest", weight=far_weights(view)),
    )


def near_ranks(view: View) -> NDArray[np.int32]:
    """Return 0 for workers that share the smallest shared cache, 1 for others of the domain.

    Shape (n_workers, n_workers); -1 elsewhere.
    """
    domain = view.worker_domain
    rank = np.where(domain[:, None] == domain[None, :], 1, -1).astype(np.int32)
    core = view.machine.thread_core[view.worker_thread]
    for level in view.machine.caches:
        instance = level.core_instance[core]
        together = (instance[:, None] == instance[None, :]) & (rank >= 0)
        if together.sum() > len(core):
            rank[together] = 0
            break
    return rank


def far_weights(view: View) -> NDArray[np.int32]:
    """Return how often workers of other domains are tried after the first round.

    Shape (n_workers, n_workers). Per round one attempt at each hop distance and one at the whole
    machine: ``1 / n_h + 1 / n`` for each of the n_h workers h hops away, of n workers, in units of
    a millionth.
    """
    domain, n = view.worker_domain, view.n_workers
    hops = view.machine.domain_hops[domain][:, domain]
    weight = np.zeros((n, n), np.int32)
    for row in range(n):
        counts = np.bincount(hops[row])
        share = np.round(1e6 / np.maximum(counts, 1) + 1e6 / n).astype(np.int32)
        weight[row] = share[hops[row]]
    weight[domain[:, None] == domain[None, :]] = 0
    return weight


preset("dsa_base", Dataflow, "Hierarchical stealing, buffers on the creator's node.")
preset(
    "ewp_input_only",
    Dataflow,
    "Enhanced work pushing towards inputs.",
    pushing="input_only",
)
preset(
    "ewp_output_only",
    Dataflow,
    "Enhanced work pushing towards outputs.",
    pushing="output_only",
)
preset(
    "ewp_weighted",
    Dataflow,
    "Enhanced work pushing towards inputs and outputs, writes weighing more.",
    pushing="weighted",
)
preset(
    "work_pushing_original",
    Dataflow,
    "Work pushing to the node of the largest input.",
    pushing="original",
)
preset(
    "dfa",
    Dataflow,
    "Deferred allocation: buffers on the node of their producer.",
    allocation="deferred",
)
preset(
    "deferred_allocation",
    Dataflow,
    "Deferred allocation under its full name (dfa).",
    allocation="deferred",
)
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
