"""Programs of chares: tasks without a spawn tree, each bound to one processing element (PE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simsched.machine.model import Machine
from simsched.policy.contract.base import PlanView, Policy, S, param
from simsched.policy.parts.loop import ASSIGNMENTS
from simsched.workload.graph import BoolArray, Int32Array, TaskGraph


class Team(NamedTuple):
    """Workers of a run."""

    pe: Int32Array  # shape (n_pes,): worker of each processing element
    io: Int32Array  # shape (n_pes,): worker that fetches data for it; its own when it has no helper


def make_team(view: PlanView, io: str, pes: int) -> Team:
    """Return which workers compute and which move data.

    Processing elements are the first workers of cores, helpers second workers of the same cores:
    that of the first processing element for ``single``. Where a core that is needed has only one
    worker, every second worker helps the one before it; for ``single``, the last one helps all
    others. A worker that is alone helps itself.
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
            helper = doubled[0][1]
            order = [doubled[0][0], *(team[0] for team in teams if team is not doubled[0])]
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


@dataclass(frozen=True, kw_only=True)
class ChareProgram(Policy[S]):
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
    mapping: str = param("block", choices=ASSIGNMENTS)
    least_block_bytes: int = param(0, low=0)
    usable_share: float = param(0.96875, low=0.0, high=1.0)

    def annotated(self, graph: TaskGraph) -> BoolArray:
        """Return the blocks that are data of tasks."""
        large: BoolArray = graph.block_bytes >= self.least_block_bytes
        return large

    def room_bytes(self, machine: Machine) -> list[int]:
        """Return the bytes of each HBM node that blocks may take."""
        hbm = machine.nodes_of_kind("HBM")
        return [int(machine.nodes[node].capacity_bytes * self.usable_share) for node in hbm]
