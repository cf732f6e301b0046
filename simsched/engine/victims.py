"""Candidates of steps with ranks or weights, listed for each worker in the order of the law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.plan import RANKED, UNIFORM, WEIGHTED, VictimLists
from simsched.policy.contract.base import Choice, Plan, Ranked, Uniform, Weighted

IntArray = NDArray[np.integer[Any]]
Int32Array = NDArray[np.int32]

CODES: dict[type[Choice], int] = {Uniform: UNIFORM, Ranked: RANKED, Weighted: WEIGHTED}


@dataclass(frozen=True, eq=False)
class Homes:
    """What belongs where."""

    worker_domain: IntArray
    #: For each scope, the instance that belongs to each worker; -1 for none.
    own: dict[str, IntArray]
    #: For each scope, the (first) domain of each instance.
    domain: dict[str, IntArray]


def list_victims(plan: Plan, homes: Homes, active: NDArray[np.bool_]) -> VictimLists:
    """Return the candidates of all steps that have ranks or weights, among active workers."""
    scopes = {group.name: group.scope for group in plan.pool_groups}
    choice, lists = [], []
    lengths = [np.zeros(0, np.int64)]
    instances, values = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for step in plan.acquire:
        way = step.choice
        choice.append(CODES[type(way)])
        lists.append(len(lengths) - 1 if isinstance(way, Ranked | Weighted) else -1)
        if isinstance(way, Ranked | Weighted):
            length, instance, value = _list(way, step.where, scopes[step.group], homes, active)
            lengths.append(length)
            instances.append(instance)
            values.append(value)
    return VictimLists(
        step_choice=np.array(choice, np.int32),
        step_list=np.array(lists, np.int32),
        list_ptr=np.concatenate(([0], np.cumsum(np.concatenate(lengths)))).astype(np.int64),
        list_instance=np.concatenate(instances).astype(np.int32),
        list_value=np.concatenate(values).astype(np.int32),
    )


def _list(
    choice: Ranked | Weighted, where: str, scope: str, homes: Homes, active: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Int32Array, Int32Array]:
    """Return number of candidates per worker, candidates, values of one step."""
    domain = homes.domain[scope]
    is_ranked = isinstance(choice, Ranked)
    given = choice.rank if isinstance(choice, Ranked) else choice.weight
    workers = np.arange(len(given))
    is_candidate = given >= 0 if is_ranked else given > 0
    has_own = homes.own[scope] >= 0
    is_candidate[workers[has_own], homes.own[scope][has_own]] = False
    is_near = homes.worker_domain[:, None] == domain[None, :]
    if where != "anywhere":
        is_candidate &= is_near if where == "same_domain" else ~is_near
    if scope == "worker":
        is_candidate &= active.astype(bool)
    order = np.broadcast_to(np.lexsort((np.arange(len(domain)), domain)), given.shape)
    if is_ranked:
        ranks = np.take_along_axis(given, order, axis=1)
        order = np.take_along_axis(order, np.argsort(ranks, axis=1, kind="stable"), axis=1)
    kept = np.take_along_axis(is_candidate, order, axis=1)
    return (
        kept.sum(axis=1),
        order[kept].astype(np.int32),
        np.take_along_axis(given, order, axis=1)[kept].astype(np.int32),
    )
