"""CAB-GTO: subtrees of any spawn tree that fit the shared caches; CATS is its earlier name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy import Counters, Plan, PlanView, Update, param, preset, register, seconds_to_ps
from simsched.policy.algorithms.numa.cab import BiTierStealing, CabState
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.footprint import (
    UPPER,
    Tiers,
    cut_at,
    cut_by_footprint,
    estimated_footprint,
    exact_footprint,
    private_level,
)
from simsched.policy.parts.subgraphs import subtree_sums
from simsched.workload.graph import TaskGraph


def cut_to_caches(
    graph: TaskGraph,
    footprint: NDArray[Any],
    n_sockets: int,
    cache_bytes: int,
    *,
    every_socket: bool,
) -> Tiers | None:
    """Return the cut into subtrees that fit a shared cache, None if that is the whole tree."""
    if cache_bytes == 0:
        return None
    tiers = cut_by_footprint(graph, footprint, cache_bytes)
    if not (tiers.of_task == UPPER).any():
        return None
    n_children = np.diff(graph.child_ptr)
    while every_socket and len(tiers.roots) < n_sockets:
        divisible = tiers.roots[n_children[tiers.roots] > 0]
        if len(divisible) == 0:
            break
        large = divisible[footprint[divisible] > footprint[divisible].max() / 2]
        begins = np.isin(graph.parent, large)
        begins[np.setdiff1d(tiers.roots, large)] = True
        tiers = cut_at(graph, begins)
    return tiers


@register("cab_gto_compile")
@dataclass(frozen=True, kw_only=True)
class CabGtoCompile(BiTierStealing):
    """CAB for any tree of a program that runs once: footprints follow from the size of the input.

    Parameters
    ----------
    every_socket : bool
        Whether large subtrees are divided until there are as many as sockets
        (:func:`cut_to_caches`).

    Notes
    -----
    Readings: docs/sources/cab.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 3.3 and 3.4.2, Eq. 3.5.
    """

    every_socket: bool = param(True)

    def cut(
        self, graph: TaskGraph, footprint: NDArray[Any] | None, n_sockets: int, cache_bytes: int
    ) -> Tiers | None:
        estimated = estimated_footprint(graph, self.data_bytes(graph))
        return cut_to_caches(
            graph, estimated, n_sockets, cache_bytes, every_socket=self.every_socket
        )


@register("cab_gto_profile")
@dataclass(frozen=True, kw_only=True)
class CabGtoProfile(BiTierStealing):
    """CAB for any tree of an iterative program: footprints are measured in iteration 1.

    Parameters
    ----------
    every_socket : bool
        As for :class:`CabGtoCompile`.
    cpu_bound_bytes_per_op : float
        A program that missed fewer bytes per executed operation in iteration 1, both as counted, is
        left to random stealing.
    profile_s : float
        Time in seconds that each task takes longer in iteration 1, for reading counters and keeping
        the result.

    Notes
    -----
    The footprint of a task is what its subtree missed in the private caches. Readings:
    docs/sources/cab.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 3.3, 3.4.2 and 3.5, Eq. 3.6.
    """

    every_socket: bool = param(True)
    cpu_bound_bytes_per_op: float = param(0.0, low=0.0)
    spawn_s: float = param(1e-7, low=0.0, high=1e6, is_cost=True)
    profile_s: float = param(2e-7, low=0.0, high=1e6, is_cost=True)

    def plan(self, view: PlanView, state: CabState, graph: TaskGraph) -> Plan:
        """Return random stealing, parent first and with counts per task in iteration 1."""
        if graph is view.workload.init:
            return stealing_plan()
        plan = stealing_plan("parent_first", local_take="oldest")
        return replace(plan, counter_group=np.arange(graph.n_tasks, dtype=np.int32))

    def on_iteration(self, view: PlanView, state: CabState, counters: Counters) -> Update | None:
        """Return the bi-tier plan after profiling, then where subtrees belong."""
        if counters.iteration != 1:
            return super().on_iteration(view, state, counters)
        graph = view.workload.graph
        state.tiers = self._profiled(view, graph, counters)
        overhead_s = self.profile_s * graph.n_tasks / view.n_workers
        return Update(plan=self.bi_tier(graph, state.tiers), overhead_ps=seconds_to_ps(overhead_s))

    def _profiled(self, view: PlanView, graph: TaskGraph, counters: Counters) -> Tiers | None:
        """Return the cut that follows from what iteration 1 has measured."""
        if not view.machine.caches:
            return None
        own = counters.group_missing_bytes[:, private_level(view.machine) or 0]
        # Retired instructions are counted like the misses: no information mode hides them.
        executed = view.workload.graph_of(counters.iteration)
        ops = executed.ops.min(axis=0) + executed.join_ops.min(axis=0)
        if own.sum() < self.cpu_bound_bytes_per_op * ops.sum():
            return None
        return self.tiers(view, graph, subtree_sums(graph, own))

    def cut(
        self, graph: TaskGraph, footprint: NDArray[Any] | None, n_sockets: int, cache_bytes: int
    ) -> Tiers | None:
        """Return the cut by measured footprints, by exact ones where nothing has been measured."""
        size = exact_footprint(graph) if footprint is None else footprint
        return cut_to_caches(graph, size, n_sockets, cache_bytes, every_socket=self.every_socket)


preset(
    "cats",
    CabGtoProfile,
    "CAB for any tree of an iterative program: cab_gto_profile under its earlier name. Data are "
    "where the program's own initialisation touches them; cats_numa_init spreads them.",
)
