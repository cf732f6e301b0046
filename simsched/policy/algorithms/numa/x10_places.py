"""X10: places with work stealing inside each of them, and tasks sent to where their data are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    PARENT_FIRST,
    SEVERAL_DOMAINS,
    AcquireStep,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    register,
)
from simsched.policy.algorithms.numa.laws import socket_of
from simsched.policy.parts.allocation import STRADDLES, allocate
from simsched.workload.graph import TaskGraph

WORKER, ARRIVED = 0, 1  #: pool groups: deques of workers, what has been sent to a place


@register("x10_places")
@dataclass(frozen=True, kw_only=True)
class X10Places(PlacedPolicy[None]):
    """Places as in X10: a task stays in its place, whose workers steal from each other only.

    Notes
    -----
    A place is a NUMA domain with workers. The program divides its data evenly among places and
    sends the topmost tasks of each part there (``at (p) async``); other tasks belong to the place
    of the task that spawns them (``async``). A worker goes on with the parent, takes the newest
    task of its deque, then the oldest one of a random worker of its place, then what has been sent
    to the place. Readings: docs/sources/cab.md.

    References
    ----------
    P. Charles et al., *X10: an object-oriented approach to non-uniform cluster computing*, OOPSLA
    2005, section 3 (places, activities). X10's runtime, ``x10.runtime/src-x10/x10/runtime/
    Worker.x10`` of https://github.com/x10-lang/x10 (deques). Q. Chen, M. Guo, Springer 2017,
    section 2.3.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        sockets = np.unique(view.worker_domain).astype(np.int32)
        part = allocate(graph, len(sockets))
        above = np.where(graph.parent >= 0, part[graph.parent], STRADDLES)
        is_sent = (part != STRADDLES) & (above == STRADDLES)
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "newest"),
                AcquireStep("worker", "same_domain", "oldest"),
                AcquireStep("arrived", "own", "oldest"),
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("arrived", scope="domain", locked=True)),
            spawn_order=PARENT_FIRST,
            group_of=np.where(is_sent, ARRIVED, WORKER).astype(np.int8),
            instance_of=np.where(is_sent, socket_of(part, sockets), -1).astype(np.int32),
            roots="first",
        )
