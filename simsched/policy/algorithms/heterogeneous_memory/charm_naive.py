"""Chares whose blocks stay where they were allocated: the baselines of Charm++ on two memories."""

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
from simsched.policy.parts.loop import assigned, flattened, least_of_loop
from simsched.workload.graph import TaskGraph, Workload


@register("charm_naive")
@dataclass(frozen=True, kw_only=True)
class CharmNaive(ChareProgram[None]):
    """Chares whose blocks stay where they were allocated: HBM first, then DDR4.

    Parameters
    ----------
    allocation : {"hbm_first", "ddr4", "cached_ddr4", "hbm"}
        Blocks go to HBM in their order until the next one does not fit, all others to DDR4; or all
        to DDR4; or all to DDR4 behind a memory-side cache, an error if there is none; or all to
        HBM, an error if they do not fit.

    Notes
    -----
    Nothing moves. Tasks run first in, first out on their processing element. Readings:
    docs/sources/charm.md.

    References
    ----------
    K. Chandrasekar, X. Ni, L. V. Kale, *A Memory Heterogeneity-Aware Runtime System for
    bandwidth-sensitive HPC applications*, IPDPS Workshops 2017, sections I, IV-B and V.
    """

    allocation: str = param("hbm_first", choices=("hbm_first", "ddr4", "cached_ddr4", "hbm"))

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        return flattened(view.workload)

    def place(self, view: PlanView, state: None) -> Placement:
        """Return which blocks are in HBM; the others are where they are first touched in DDR4."""
        graph = view.workload.graph
        behind_cache = self.allocation == "cached_ddr4"
        rest = placement_rule("cached_dram" if behind_cache else "all_dram")(view)
        home = rest.home.copy()
        if self.allocation in ("ddr4", "cached_ddr4"):
            return rest
        hbm = view.machine.nodes_of_kind("HBM")
        wanted = np.flatnonzero(self.annotated(graph))
        sizes = graph.block_bytes[wanted]
        rooms = self.room_bytes(view.machine)
        if self.allocation == "hbm":
            home[wanted] = hbm[-1]  # what fits nowhere: the engine's check names this node
            rooms = [view.machine.nodes[node].capacity_bytes for node in hbm]
        for node, room in zip(hbm, rooms, strict=True):
            fits = int(np.searchsorted(np.cumsum(sizes), room, side="right"))
            home[wanted[:fits]] = node
            wanted, sizes = wanted[fits:], sizes[fits:]
        return Placement(home, rest.touch_order)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        team = make_team(view, "none", self.pes)
        owner = assigned(graph.n_tasks, len(team.pe), self.mapping)
        return Plan(
            acquire=(AcquireStep("run", "own", "oldest"),),
            pool_groups=(PoolGroup("run"),),
            instance_of=team.pe[owner],
            active_workers=np.isin(np.arange(view.n_workers), team.pe),
        )


preset("charm_ddr4_only", CharmNaive, "Chares with all blocks in DDR4.", allocation="ddr4")
preset("charm_hbm_only", CharmNaive, "Chares with all blocks in HBM.", allocation="hbm")
preset(
    "charm_cache_mode",
    CharmNaive,
    "Chares on a machine whose HBM is a memory-side cache, all blocks behind it.",
    allocation="cached_ddr4",
)
