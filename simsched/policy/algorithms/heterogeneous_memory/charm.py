"""The memory-heterogeneity-aware Charm++ runtime: prefetch, eviction and its baselines.

Every policy here runs a program as chares: tasks without a spawn tree, each bound to one processing
element (PE), executed first in, first out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simsched.machine.model import Machine
from simsched.policy.algorithms.static.openmp import static_chunks
from simsched.policy.contract.base import (
    AcquireStep,
    Placement,
    Plan,
    Policy,
    PoolGroup,
    View,
    param,
)
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.charm_moves import COMPUTE, FETCH, MoveCost, MovingWorkload, with_moves
from simsched.policy.parts.loop import flatten, flattened
from simsched.policy.parts.placement import host_nodes, placement_rule
from simsched.policy.parts.residency import Residency, plan_residency
from simsched.workload.graph import TaskGraph, Workload

Int32Array = NDArray[np.int32]
MAPPINGS = ("block", "cyclic")


class Team(NamedTuple):
    """Workers of a run.

    Parameters
    ----------
    pe : ndarray of int32, shape (n_pes,)
        Worker of each processing element.
    io : ndarray of int32, shape (n_pes,)
        Worker that fetches data for it; its own when it has no helper.
    """

    pe: Int32Array
    io: Int32Array


def make_team(view: View, io: str, pes: int) -> Team:
    """Return which workers compute and which move data.

    Parameters
    ----------
    view : View
        Workers with their threads.
    io : {"none", "single", "multi"}
        Nobody, one worker for all, or one worker per processing element moves data.
    pes : int
        Largest number of processing elements; 0 for all.

    Notes
    -----
    Processing elements are the first workers of cores. Helpers are second workers of the same
    cores: that of the first processing element for ``single``. Where a core that is needed has only
    one worker, workers are paired instead: every second one helps the one before it; for
    ``single``, the last one helps all others. A worker that is alone helps itself.
    """
    cores = view.machine.thread_core[view.worker_thread].tolist()
    of_core: dict[int, list[int]] = {}
    for worker, core in enumerate(cores):
        of_core.setdefault(core, []).append(worker)
    teams = list(of_core.values())
    limit = pes or len(cores)
    if io == "none":
        first = np.array([team[0] for team in teams[:limit]], np.int32)
        return Team(first, first)
    doubled = [team for team in teams if len(team) > 1]
    if io == "single":
        if doubled:
            helper, others = doubled[0][1], teams
            order = [doubled[0][0], *(team[0] for team in others if team is not doubled[0])]
        else:
            workers = [team[0] for team in teams]
            helper, order = workers[-1], workers[:-1] or workers
        first = np.sort(np.array(order[:limit], np.int32))
        return Team(first, np.full(len(first), helper, np.int32))
    if doubled and len(doubled) >= min(limit, len(teams)):
        pairs = [(team[0], team[1]) for team in doubled[:limit]]
    else:
        workers = list(range(len(cores)))
        pairs = list(zip(workers[::2], [*workers[1::2], workers[-1]], strict=False))[:limit]
    return Team(*(np.array(column, np.int32) for column in zip(*pairs, strict=True)))


def map_chares(n_tasks: int, n_pes: int, mapping: str) -> Int32Array:
    """Return the processing element of each task.

    Parameters
    ----------
    n_tasks, n_pes : int
        Tasks, and processing elements that they are divided among.
    mapping : {"block", "cyclic"}
        Contiguous parts, or single tasks in turn.

    Examples
    --------
    >>> map_chares(5, 2, "block").tolist(), map_chares(5, 2, "cyclic").tolist()
    ([0, 0, 0, 1, 1], [0, 1, 0, 1, 0])
    """
    if mapping == "block":
        return static_chunks(n_tasks, n_pes)
    return np.arange(n_tasks, dtype=np.int32) % np.int32(n_pes)


@dataclass(frozen=True, kw_only=True)
class _ChareProgram(Policy):
    """Base of the policies that run chares.

    Parameters
    ----------
    pes : int
        Largest number of processing elements, one per core; 0 for all cores that have workers.
    mapping : {"block", "cyclic"}
        How chares are mapped to processing elements: contiguous parts (the default of chare
        arrays), or single ones in turn.
    least_block_bytes : int
        Smaller blocks (messages) are not what the programmer annotates as data of a task: they stay
        in DDR4.
    usable_share : float
        Part of HBM that blocks may take; the rest holds the system and the runtime.
    """

    pes: int = param(0, low=0)
    mapping: str = param("block", choices=MAPPINGS)
    least_block_bytes: int = param(0, low=0)
    usable_share: float = param(0.96875, low=0.0, high=1.0)

    def _annotated(self, graph: TaskGraph) -> NDArray[np.bool_]:
        """Return the blocks that are data of tasks."""
        large: NDArray[np.bool_] = graph.block_bytes >= self.least_block_bytes
        return large

    def _room(self, machine: Machine) -> list[int]:
        """Return the bytes of each HBM node that blocks may take."""
        hbm = machine.nodes_of_kind("HBM")
        return [int(machine.nodes[node].capacity_bytes * self.usable_share) for node in hbm]


@register("charm_naive")
@dataclass(frozen=True, kw_only=True)
class CharmNaive(_ChareProgram):
    """Chares whose blocks stay where they were allocated: HBM first, then DDR4.

    Parameters
    ----------
    allocation : {"hbm_first", "ddr4", "cached_ddr4", "hbm"}
        Blocks go to HBM in their order until the next one does not fit, all others to DDR4; or all
        to DDR4; or all to DDR4 behind a memory-side cache, an error if there is none; or all to
        HBM, an error if they do not fit.

    Notes
    -----
    Nothing moves (``numactl --preferred``). Workers that share a core with a processing element do
    nothing. A spawn tree is run as a loop over its leaves
    (:func:`simsched.policy.parts.loop.flatten`). About 15 GB of a 16 GB HBM were used in the
    publication; `usable_share` is 15.5 GB of 16 GB.

    In cache mode (``charm_cache_mode``, left out in the publication) nothing but DDR4 is visible to
    software, and the machine caches it.

    References
    ----------
    K. Chandrasekar, X. Ni, L. V. Kale, *A Memory Heterogeneity-Aware Runtime System for
    bandwidth-sensitive HPC applications*, IPDPS Workshops 2017, sections I, IV-B and V.
    """

    allocation: str = param("hbm_first", choices=("hbm_first", "ddr4", "cached_ddr4", "hbm"))

    def prepare(self, view: View) -> Workload:
        """Return the program as independent chares."""
        return flattened(view.workload)

    def place(self, view: View, state: Any) -> Placement:
        """Return which blocks are in HBM; the others are where they are first touched in DDR4."""
        graph = view.workload.graph
        behind_cache = self.allocation == "cached_ddr4"
        rest = placement_rule("cached_dram" if behind_cache else "all_dram")(view)
        home = rest.home.copy()
        if self.allocation in ("ddr4", "cached_ddr4"):
            return rest
        hbm = view.machine.nodes_of_kind("HBM")
        wanted = np.flatnonzero(self._annotated(graph))
        sizes = graph.block_bytes[wanted]
        rooms = self._room(view.machine)
        if self.allocation == "hbm":
            home[wanted] = hbm[-1]  # what fits nowhere: the engine's check names this node
            rooms = [view.machine.nodes[node].capacity_bytes for node in hbm]
        for node, room in zip(hbm, rooms, strict=True):
            fits = int(np.searchsorted(np.cumsum(sizes), room, side="right"))
            home[wanted[:fits]] = node
            wanted, sizes = wanted[fits:], sizes[fits:]
        return Placement(home, rest.touch_order)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return the fixed assignment of chares."""
        team = make_team(view, "none", self.pes)
        owner = map_chares(graph.n_tasks, len(team.pe), self.mapping)
        return Plan(
            acquire=(AcquireStep("run", "own", "oldest"),),
            pool_groups=(PoolGroup("run"),),
            instance_of=team.pe[owner],
            active_workers=_active(view, team.pe),
        )


@register("charm_multi_io")
@dataclass(frozen=True, kw_only=True)
class CharmMoving(_ChareProgram):
    """Chares whose blocks are fetched into HBM before they run and evicted when nobody needs them.

    Parameters
    ----------
    io : {"multi", "single", "none"}
        Who fetches: one helper per processing element (asynchronous), one helper for all, or the
        processing elements themselves between chares (synchronous).
    write_back : {"all", "written"}
        Whether an eviction copies every block back or only blocks that were written meanwhile.
    copy_chunk_bytes : int
        A copy reads and writes this many bytes in turn; at least twice the largest cache is used.
    allocation_s_per_page : float
        Time in seconds that allocating and releasing buffers takes for every page moved; 0 for a
        pool of buffers.
    move_overhead_s : float
        Time in seconds of the block locks and the signals of one move.
    queue_locks : bool
        Whether wait and run queues are locked for every access.

    Notes
    -----
    A move is ``numa_alloc_onnode``, ``memcpy`` and ``numa_free``; all data are in DDR4 at the start
    of an iteration. Chares wait in the queue of their processing element, first in, first out, and
    are admitted as long as all their blocks find room in HBM. A block has a counter of admitted
    chares that need it. After a chare its processing element evicts the blocks whose counter is 0;
    the room goes to the queues in turn.

    Since chares are bound and queues are first in, first out, who gets which room is planned before
    the run (:func:`~simsched.policy.parts.residency.plan_residency`) under the assumption
    that chares end in the order of admission; moves are tasks of the program that depend on chares
    and on each other (:func:`~simsched.policy.parts.charm_moves.with_moves`). A processing element
    prefers moves to chares. Helpers are second hardware threads of the same cores
    (:func:`make_team`), which share the core's speed and bandwidth. A copy reads and then writes,
    so that one thread moves about half of what it can stream, as measured for ``memcpy``.

    Interpretations: the counter is increased at admission, not on arrival in a queue. Waiting
    chares of all queues take turns, so that none waits for ever. An eviction copies a block back
    also when it was only read. When all chares of an iteration have ended everything has been
    evicted.

    References
    ----------
    K. Chandrasekar, X. Ni, L. V. Kale, *A Memory Heterogeneity-Aware Runtime System for
    bandwidth-sensitive HPC applications*, IPDPS Workshops 2017, section IV (part of its text on one
    helper is missing in the copy that was read; that policy is reconstructed).
    """

    io: str = param("multi", choices=("multi", "single", "none"))
    write_back: str = param("all", choices=("all", "written"))
    copy_chunk_bytes: int = param(2 * 2**20, low=1)
    allocation_s_per_page: float = param(2.5e-7, low=0.0, high=1e6)
    move_overhead_s: float = param(1e-6, low=0.0, high=1e6)
    queue_locks: bool = param(True)

    def prepare(self, view: View) -> Workload:
        """Return the program with its moves."""
        graph = flatten(view.workload.graph)
        plan, owner = self.residency(view, graph)
        return with_moves(
            view.workload, graph, plan, owner, self._cost(view), write_back=self.write_back
        )

    def residency(self, view: View, graph: TaskGraph) -> tuple[Residency, Int32Array]:
        """Return which blocks are in HBM when, and the processing element of each task.

        Parameters
        ----------
        view : View
            Machine and workers.
        graph : TaskGraph
            An iteration without spawn tree.

        Raises
        ------
        ModelError
            The machine has no HBM, or too little for a task.
        """
        machine = view.machine
        owner = map_chares(graph.n_tasks, len(make_team(view, self.io, self.pes).pe), self.mapping)
        moved = self._annotated(graph)
        largest = max(int(graph.block_bytes[moved].max(initial=1)), 1)
        room = self._room(machine)
        total = room[0] if len(room) == 1 else sum(node // largest * largest for node in room)
        return plan_residency(graph, moved, owner, total), owner

    def place(self, view: View, state: Any) -> Placement:
        """Return blocks in DDR4 and buffers in HBM."""
        workload = _moving(view.workload)
        rest = placement_rule("all_dram")(view)
        home = rest.home.copy()
        hbm, room = view.machine.nodes_of_kind("HBM"), self._room(view.machine)
        for block in range(workload.n_blocks, workload.graph.n_blocks):
            emptiest = int(np.argmax(room))
            home[block] = hbm[emptiest]
            room[emptiest] -= int(workload.graph.block_bytes[block])
        return Placement(home, rest.touch_order)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return who computes, fetches and evicts."""
        team = make_team(view, self.io, self.pes)
        workload = _moving(view.workload)
        if graph is workload.graph:
            pe, moves = workload.pe, workload.role != COMPUTE
            worker = np.where(workload.role == FETCH, team.io[pe], team.pe[pe])
        else:
            pe = map_chares(graph.n_tasks, len(team.pe), self.mapping)
            moves, worker = np.zeros(graph.n_tasks, bool), team.pe[pe]
        return Plan(
            acquire=(AcquireStep("move", "own", "oldest"), AcquireStep("run", "own", "oldest")),
            pool_groups=(
                PoolGroup("run", locked=self.queue_locks),
                PoolGroup("move", locked=self.queue_locks),
            ),
            group_of=moves.astype(np.int8),
            instance_of=worker.astype(np.int32),
            active_workers=_active(view, np.concatenate(team)),
        )

    def _cost(self, view: View) -> MoveCost:
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


def _active(view: View, workers: Int32Array) -> NDArray[np.bool_]:
    """Return which workers take part."""
    active = np.zeros(view.n_workers, bool)
    active[workers] = True
    return active


preset("charm_ddr4_only", CharmNaive, "Chares with all blocks in DDR4.", allocation="ddr4")
preset("charm_hbm_only", CharmNaive, "Chares with all blocks in HBM.", allocation="hbm")
preset(
    "charm_cache_mode",
    CharmNaive,
    "Chares on a machine whose HBM is a memory-side cache, all blocks behind it.",
    allocation="cached_ddr4",
)
preset("charm_single_io", CharmMoving, "Prefetch by one helper for all.", io="single")
preset(
    "charm_multi_noio",
    CharmMoving,
    "Prefetch by the processing elements themselves, between chares.",
    io="none",
)
