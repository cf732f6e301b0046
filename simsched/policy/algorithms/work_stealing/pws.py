"""Probability work stealing: near victims are more likely than far ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    SEVERAL_DOMAINS,
    AcquireStep,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    Weighted,
    param,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import SPAWN_ORDERS
from simsched.workload.graph import TaskGraph


@register("pws")
@dataclass(frozen=True, kw_only=True)
class Pws(PlacedPolicy[None]):
    """Probability work stealing (PWS): victims are drawn by the inverse of their distance.

    Parameters
    ----------
    spawn : {"child_first", "parent_first"}
        As for random stealing.

    Notes
    -----
    Thief p draws victim q with probability ``(1 / d(p, q)) / sum over r != p of 1 / d(p, r)``; a
    victim without work is not drawn again in one search. The distance d is 1 in one socket, a NUMA
    domain, and 2 otherwise. Readings: docs/sources/cab.md.

    References
    ----------
    J.-N. Quintin, F. Wagner, *Hierarchical work-stealing*, Euro-Par 2010. Q. Chen, M. Guo, Springer
    2017, section 3.2.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    spawn: str = param("child_first", choices=tuple(SPAWN_ORDERS))

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        domain = view.worker_domain
        weight = np.where(domain[:, None] == domain, 2, 1).astype(np.int32)
        np.fill_diagonal(weight, 0)
        steal = AcquireStep("worker", "anywhere", "oldest", choice=Weighted(weight))
        return Plan(
            acquire=(AcquireStep("worker", "own", "newest"), steal),
            spawn_order=SPAWN_ORDERS[self.spawn],
        )
