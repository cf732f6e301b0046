"""The memory-heterogeneity-aware Charm++ runtime: blocks are fetched into HBM and evicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import (
    AcquireStep,
    Placement,
    Plan,
    PlanView,
    PoolGroup,
    param,
    placement_rule,
    preset,
    register,
)
from simsched.policy.parts.chares import ChareProgram, make_team
from simsched.policy.parts.charm_moves import COMPUTE, FETCH, MoveCost, MovingWorkload, with_moves
from simsched.policy.parts.host_memory import host_nodes
from simsched.policy.parts.loop import assigned, flatten, least_of_loop
from simsched.policy.parts.residency import Residency, plan_residency
from simsched.workload.graph import Int32Array, TaskGraph, Workload


@register("charm_multi_io")
@dataclass(frozen=True, kw_only=True)
class CharmMoving(ChareProgram):
    """Chares whose blocks are fetched into HBM before they run and evicted when nobody needs them.

    Parameters
    ----------
    io : {"multi", "single", "none"}
        Who fetches: one helper per processing element (asynchronous), one helper for all, or the
        processing elements themselves between chares (synchronous).
    copy_chunk_bytes : int
        A copy reads and writes this many bytes in turn; at least twice the largest cache is used.
    allocation_s_per_page : float
        Time in seconds that allocating and releasing buffers takes for every page moved; 0 for a
        pool of buffers.
    move_overhead_s : float
        Time in seconds of the block locks and the signals of one move.

    Notes
    -----
    A chare is admitted when all its blocks find room in HBM, which
    :func:`~simsched.policy.parts.residency.plan_residency` plans; moves are tasks
    (:func:`~simsched.policy.parts.charm_moves.with_moves`). Readings: docs/sources/charm.md.

    References
    ----------
    K. Chandrasekar, X. Ni, L. V. Kale, *A Memory Heterogeneity-Aware Runtime System for
    bandwidth-sensitive HPC applications*, IPDPS Workshops 2017, section IV.
    """

    io: str = param("multi", choices=("multi", "single", "none"))
    copy_chunk_bytes: int = param(2 * 2**20, low=1)
    allocation_s_per_page: float = param(2.5e-7, low=0.0, high=1e6)
    move_overhead_s: float = param(1e-6, low=0.0, high=1e6, is_cost=True)

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        graph = flatten(view.workload.graph)
        plan, owner = self.residency(view, graph)
        return with_moves(view.workload, graph, plan, owner, self._cost(view))

    def residency(self, view: PlanView, graph: TaskGraph) -> tuple[Residency, Int32Array]:
        """Return which blocks are in HBM when, and the processing element of each task."""
        machine = view.machine
        owner = assigned(graph.n_tasks, len(make_team(view, self.io, self.pes).pe), self.mapping)
        moved = self.annotated(graph)
        largest = max(int(graph.block_bytes[moved].max(initial=1)), 1)
        room = self.room_bytes(machine)
        total = room[0] if len(room) == 1 else sum(node // largest * largest for node in room)
        return plan_residency(graph, moved, owner, total), owner

    def place(self, view: PlanView, state: None) -> Placement:
        """Return blocks in DDR4 and buffers in HBM."""
        workload = _moving(view.workload)
        rest = placement_rule("all_dram")(view)
        home = rest.home.copy()
        hbm, room = view.machine.nodes_of_kind("HBM"), self.room_bytes(view.machine)
        for block in range(workload.n_blocks, workload.graph.n_blocks):
            emptiest = int(np.argmax(room))
            home[block] = hbm[emptiest]
            room[emptiest] -= int(workload.graph.block_bytes[block])
        return Placement(home, rest.touch_order)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        team = make_team(view, self.io, self.pes)
        workload = _moving(view.workload)
        if graph is workload.graph:
            pe, moves = workload.pe, workload.role != COMPUTE
            worker = np.where(workload.role == FETCH, team.io[pe], team.pe[pe])
        else:
            pe = assigned(graph.n_tasks, len(team.pe), self.mapping)
            moves, worker = np.zeros(graph.n_tasks, bool), team.pe[pe]
        return Plan(
            acquire=(AcquireStep("move", "own", "oldest"), AcquireStep("run", "own", "oldest")),
            pool_groups=(
                PoolGroup("run", locked=True),
                PoolGroup("move", locked=True),
            ),
            group_of=moves.astype(np.int8),
            instance_of=worker.astype(np.int32),
            active_workers=np.isin(np.arange(view.n_workers), np.concatenate(team)),
        )

    def _cost(self, view: PlanView) -> MoveCost:
        """Return what moves cost on a machine."""
        machine = view.machine
        speed = {group.kind: group.ops_per_s for group in reversed(machine.core_groups)}
        caches = [cache.capacity_bytes for cache in machine.caches]
        return MoveCost(
            self.allocation_s_per_page,
            self.move_overhead_s,
            machine.nodes[host_nodes(machine)[0]].page_bytes,
            max(self.copy_chunk_bytes, 2 * max(caches, default=0)),
            np.array([speed.get(kind, 0.0) for kind in view.workload.graph.kinds]),
        )


def _moving(workload: Workload) -> MovingWorkload:
    """Return the program as `CharmMoving.prepare` has made it."""
    assert isinstance(workload, MovingWorkload)
    return workload


preset("charm_single_io", CharmMoving, "Prefetch by one helper for all.", io="single")
preset(
    "charm_multi_noio",
    CharmMoving,
    "Prefetch by the processing elements themselves, between chares.",
    io="none",
)
