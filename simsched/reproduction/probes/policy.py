"""What policies say before a run: parameters, boundary levels, subtrees, pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy import Policy, make_policy
from simsched.policy.algorithms.heterogeneous_memory.bats import Bats
from simsched.policy.algorithms.numa.cab import BiTierStealing
from simsched.policy.contract.base import PlanView, view_before
from simsched.policy.parts.bats_balancer import NEVER, Areas
from simsched.policy.parts.cab_boundary import boundary_level as level_by_equation
from simsched.policy.parts.cab_boundary import root_degree
from simsched.policy.parts.footprint import cut_by_level, input_bytes, shared_cache_bytes
from simsched.policy.parts.subgraphs import group_tasks
from simsched.reproduction.probes import chosen, machine_of, number_of, probe, workload_of


@probe("policy_parameter")
def policy_parameter(*, policy: str, name: str) -> float:
    """Return a parameter of a policy, or of a preset of one, that is a number."""
    return number_of("parameter", name, make_policy(policy).parameters())


@probe("boundary_level")
def boundary_level(
    *, machine: str, workload: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return the level at which CAB cuts a workload's spawn tree on a machine, by its equation."""
    model, graph = machine_of(machine), workload_of(workload, parameters).graph
    domains = np.unique(model.core_domain)
    cache = shared_cache_bytes(model, domains)
    return float(level_by_equation(root_degree(graph), len(domains), input_bytes(graph), cache))


@probe("subtrees_at_level")
def subtrees_at_level(
    *, workload: str, level: int, parameters: dict[str, Any] | None = None
) -> float:
    """Return how many subtrees begin at a level of a spawn tree, whose root has level 1."""
    return float(len(cut_by_level(workload_of(workload, parameters).graph, level).roots))


@probe("cab_subtrees")
def cab_subtrees(
    *, policy: str, machine: str, workload: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return how many subtrees CAB distributes over the sockets; 1 where it does not cut the tree.

    Parameters
    ----------
    policy : str
        A variant of CAB, with parameters as in ``cab_gto_profile[every_socket=false]``;
        where it profiles, the exact footprint is used.
    """
    model = make_policy(policy)
    if not isinstance(model, BiTierStealing):
        raise ConfigurationError(f"policy: found {policy!r}, accepted: a variant of cab")
    view = _view(machine, workload, parameters, model)
    tiers = model.tiers(view, view.workload.graph)
    return 1.0 if tiers is None else float(len(tiers.roots))


@probe("bats_count")
def bats_count(
    *, policy: str, machine: str, workload: str, what: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return how many pages, sampled pages or subgraphs BATS has to do with.

    Parameters
    ----------
    policy : str
        BATS or a variant of it.
    what : {"pages", "areas", "sampled_pages", "subgraphs", "disabled_workers"}
        What is counted; disabled are the workers that monitor in iteration 1.
    """
    model = make_policy(policy)
    if not isinstance(model, Bats):
        raise ConfigurationError(f"policy: found {policy!r}, accepted: a variant of bats")
    view = _view(machine, workload, parameters, model)
    plan = model.plan(view, model.start(view), view.workload.graph)
    offsets = np.zeros(0) if plan.monitor is None else plan.monitor.sample_offset_bytes
    found = {
        "pages": int(Areas(view).pages.sum()),
        "areas": len(Areas(view).pages),
        "sampled_pages": int((offsets < NEVER).sum()),
        "subgraphs": group_tasks(view.workload.graph, model.least_tasks(view)).n_subgraphs,
        "disabled_workers": 0 if plan.active_workers is None else int((~plan.active_workers).sum()),
    }
    return float(chosen("what", what, found))


def _view(
    machine: str, workload: str, parameters: dict[str, Any] | None, policy: Policy
) -> PlanView:
    """Return what a policy knows of a run with one worker per hardware thread."""
    view = view_before(machine_of(machine), workload_of(workload, parameters), policy=policy)
    return replace(view, workload=policy.prepare(view))
