"""Probability work stealing: near victims are more likely than far ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.algorithms.work_stealing.random_stealing import SPAWN_ORDERS
from simsched.policy.contract.base import AcquireStep, Plan, View, param
from simsched.policy.contract.registry import register
from simsched.policy.parts.placement import PlacedPolicy
from simsched.workload.graph import TaskGraph

LARGEST_SUM = 2**31 - 1  #: of the weights of one thief


def inverse_weights(distance: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return whole numbers in proportion to the inverse of distances, 0 on the diagonal.

    Parameters
    ----------
    distance : ndarray of int, shape (n, n)
        Distances, at least 1 off the diagonal.

    Notes
    -----
    Shares of the least common multiple of all distances are exact. It grows faster than 2 to the
    power of the longest distance; where a thief's weights would sum to 2**31 or more, they are
    rounded shares of ``(2**31 - 1) // n``, off by a few billionths.

    Examples
    --------
    >>> inverse_weights(np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])).tolist()
    [[0, 6, 3], [6, 0, 2], [3, 2, 0]]
    """
    away = ~np.eye(len(distance), dtype=bool)
    multiple = math.lcm(*np.unique(distance[away]).tolist())
    weights = np.zeros(distance.shape, np.int64)
    if multiple <= LARGEST_SUM:
        weights[away] = multiple // distance[away]
    if multiple > LARGEST_SUM or weights.sum(axis=1).max() > LARGEST_SUM:
        unit = LARGEST_SUM // len(distance)
        weights[away] = (2 * unit + distance[away]) // (2 * distance[away])
    return weights.astype(np.int32)


@register("pws")
@dataclass(frozen=True, kw_only=True)
class Pws(PlacedPolicy):
    """Probability work stealing (PWS): victims are drawn by the inverse of their distance.

    Parameters
    ----------
    distance : {"sockets", "hops"}
        Distance of two workers: 1 in one socket and 2 otherwise, or 1 and the hops between their
        sockets.
    spawn : {"child_first", "parent_first"}
        As for random stealing.

    Notes
    -----
    Thief p draws victim q with probability ``(1 / d(p, q)) / sum over r != p of 1 / d(p, r)``; a
    victim without work is not drawn again in one search. Owners take their newest task, thieves the
    oldest. The unit of distance and the spawn order are not published. The sockets are the NUMA
    domains.

    References
    ----------
    J.-N. Quintin, F. Wagner, *Hierarchical work-stealing*, Euro-Par 2010. Q. Chen, M. Guo, *Task
    Scheduling for Multi-core and Parallel Architectures*, Springer 2017, section 3.2.
    """

    distance: str = param("sockets", choices=("sockets", "hops"))
    spawn: str = param("child_first", choices=tuple(SPAWN_ORDERS))

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return one and the same plan for every graph."""
        domain = view.worker_domain
        hops = view.machine.domain_hops[np.ix_(domain, domain)].astype(np.int64)
        away = hops if self.distance == "hops" else (domain[:, None] != domain).astype(np.int64)
        steal = AcquireStep("worker", "anywhere", "oldest", weight=inverse_weights(1 + away))
        return Plan(
            acquire=(AcquireStep("worker", "own", "newest"), steal),
            spawn_order=SPAWN_ORDERS[self.spawn],
        )
