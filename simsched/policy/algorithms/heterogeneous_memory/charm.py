"""The memory-heterogeneity-aware Charm++ runtime: blocks are fetched into HBM and evicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    SEVERAL_MEMORIES,
    AcquireStep,
    Counters,
    HookView,
    Move,
    Need,
    Placement,
    Plan,
    PlanView,
    PoolGroup,
    Transfer,
    param,
    placement_rule,
    preset,
    register,
    seconds_to_ps,
)
from simsched.policy.parts.chare_queues import RUN, WAIT, ChareQueues
from simsched.policy.parts.chares import ChareProgram, make_team
from simsched.policy.parts.host_memory import host_nodes, room_of
from simsched.policy.parts.loop import assigned, flattened, least_of_loop
from simsched.policy.parts.residency import Residency, blocks_of_tasks
from simsched.workload.graph import Int32Array, TaskGraph, Workload


@register("charm_multi_io")
@dataclass(frozen=True, kw_only=True)
class CharmMoving(ChareProgram[ChareQueues]):
    """Chares whose blocks are fetched into HBM before they run and evicted when nobody needs them.

    Parameters
    ----------
    io : {"multi", "single", "none"}
        Who fetches: one helper per processing element (asynchronous), one helper for all, or the
        processing elements themselves between chares (synchronous).
    allocation_s_per_page : float
        Time in seconds that allocating and releasing buffers takes for every page moved; 0 for a
        pool of buffers.
    move_overhead_s : float
        Time in seconds of the block locks and the signals of one move.

    Notes
    -----
    A chare that is ready enters the wait queue of its processing element. Who fetches for that
    element admits the oldest chare whose blocks find room in HBM, copies what is missing, and puts
    it into the run queue. When a chare ends, its element evicts the blocks that no admitted chare
    needs. Queues and room: :class:`~simsched.policy.parts.chare_queues.ChareQueues`; readings:
    docs/sources/charm.md.

    References
    ----------
    K. Chandrasekar, X. Ni, L. V. Kale, *A Memory Heterogeneity-Aware Runtime System for
    bandwidth-sensitive HPC applications*, IPDPS Workshops 2017, section IV.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_MEMORIES,)

    io: str = param("multi", choices=("multi", "single", "none"))
    allocation_s_per_page: float = param(2.5e-7, low=0.0, high=1e6, is_cost=True)
    move_overhead_s: float = param(1e-6, low=0.0, high=1e6, is_cost=True)

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        return flattened(view.workload)

    def start(self, view: PlanView) -> ChareQueues:
        """Return empty queues and empty HBM."""
        machine, graph = view.machine, view.workload.graph
        team = make_team(view, self.io, self.pes)
        hbm = machine.nodes_of_kind("HBM")
        room = dict(zip(hbm, self.room_bytes(machine), strict=True))
        needed = blocks_of_tasks(graph, self.annotated(graph))
        pages = -(-graph.block_bytes // machine.nodes[host_nodes(machine)[0]].page_bytes)
        cost_ps = [
            seconds_to_ps(self.move_overhead_s + self.allocation_s_per_page * n)
            for n in pages.tolist()
        ]
        return ChareQueues(
            team=team,
            owner=self._owners(view, graph),
            residency=Residency(needed, graph.block_bytes.tolist(), room),
            cost_ps=cost_ps,
        )

    def place(self, view: PlanView, state: ChareQueues) -> Placement:
        """Return blocks in DDR4: where they are first touched, or where their first user is."""
        rest = placement_rule("all_dram")(view)
        home, machine, init = rest.home.copy(), view.machine, view.workload.init
        touched = np.zeros(0, np.int32) if init is None else init.access_block
        room = room_of(machine)
        fresh = (home < 0) & ~np.isin(np.arange(len(home)), touched)
        fresh &= self.annotated(view.workload.graph)
        users = [*state.owner.tolist(), 0]  # what no chare uses in iteration 1 goes to element 0
        used = [*state.residency.needed, np.flatnonzero(fresh).tolist()]
        for pe, blocks in zip(users, used, strict=True):
            order = rest.touch_order[view.worker_domain[state.team.pe[pe]]].tolist()
            for block in blocks:
                if fresh[block]:
                    size, fresh[block] = int(view.workload.graph.block_bytes[block]), False
                    home[block] = next((node for node in order if room[node] >= size), order[-1])
                    room[home[block]] -= size
        return Placement(home, rest.touch_order)

    def plan(self, view: PlanView, state: ChareQueues, graph: TaskGraph) -> Plan:
        team, owner = state.team, self._owners(view, graph)
        state.is_running = graph is view.workload.graph
        waits = np.full(graph.n_tasks, WAIT if state.is_running else RUN, np.int8)
        return Plan(
            acquire=(AcquireStep("run", "own", "oldest"),),
            pool_groups=(PoolGroup("run", locked=True), PoolGroup("wait", locked=True)),
            group_of=waits,
            instance_of=team.pe[owner],
            active_workers=np.isin(np.arange(view.n_workers), np.concatenate(team)),
        )

    def on_iteration(self, view: PlanView, state: ChareQueues, counters: Counters) -> None:
        """Take over which blocks chares access in the next iteration."""
        graph = view.workload.graph_of(counters.iteration + 1)
        state.residency.change(blocks_of_tasks(graph, self.annotated(graph)))

    def on_ready(
        self, view: HookView, state: ChareQueues, task: int, worker: int
    ) -> tuple[Transfer | Move, ...] | None:
        """Append a chare to the wait queue of its element; wake who fetches for it."""
        return tuple(state.arrive(task, view.live.block_home)) if state.is_running else None

    def on_finish(
        self, view: HookView, state: ChareQueues, task: int, worker: int
    ) -> tuple[Transfer | Move, ...] | None:
        """Let the element evict what nobody needs any more."""
        return tuple(state.end(task, worker)) if state.is_running else None

    def on_wake(self, view: HookView, state: ChareQueues, tag: int) -> tuple[Transfer | Move, ...]:
        """Go on when a worker has moved a block."""
        return tuple(state.moved(tag))

    def _owners(self, view: PlanView, graph: TaskGraph) -> Int32Array:
        """Return the processing element of each chare."""
        return assigned(graph.n_tasks, len(make_team(view, self.io, self.pes).pe), self.mapping)


preset("charm_single_io", CharmMoving, "Prefetch by one helper for all.", io="single")
preset(
    "charm_multi_noio",
    CharmMoving,
    "Prefetch by the processing elements themselves, between chares.",
    io="none",
)
