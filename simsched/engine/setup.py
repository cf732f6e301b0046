"""What comes before the first event of a run: the decisions of the policy, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simsched.engine.interface.problem import Problem
from simsched.engine.plans import resolve_plan
from simsched.engine.problem import make_problem, random_stream
from simsched.engine.processors import check_processors
from simsched.engine.replication import check_replicas, refuse_copied
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.engine.timings import timed
from simsched.files.errors import ModelError, PolicyError
from simsched.machine.model import Machine
from simsched.policy.contract.base import Placement, PlanView, Policy, view_before
from simsched.policy.contract.blocks import check_pools
from simsched.workload.graph import Workload

MAX_PERIOD_S = 1e6  #: of a timer


@dataclass(frozen=True, eq=False)
class Setup:
    """A run that can begin."""

    #: The program as the policy was given it, with the machine's timings.
    program: Workload
    #: What the policy sees; its workload is the program as the policy's runtime runs it.
    view: PlanView
    #: What the policy remembers.
    state: Any
    problem: Problem


def set_up(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    *,
    workers: int | None = None,
    pinning: str = "scatter",
    seed: int = 0,
    progress_limit_s: float = PROGRESS_LIMIT_S,
) -> Setup:
    """Ask the policy for everything that it decides before the run, and check it."""
    workload.validate()
    program = timed(machine, workload)
    threads = machine.place_workers(workers, pinning)
    check_processors(machine, program, threads)
    view = view_before(
        replace(machine, changes=()),  # nobody knows beforehand
        program,
        threads,
        policy=policy,
        rng=np.random.Generator(random_stream(seed, "policy")),
    )
    prepared = policy.prepare(view)
    if prepared is not program:
        prepared.validate()
        check_processors(machine, prepared, threads)
        view = replace(view, workload=prepared)
    state = policy.start(view)
    placement = _checked_placement(_placed(policy, view, state), machine, prepared)
    period_s = policy.timer_period_s if policy.overrides("on_timer") else 0.0
    if not 0.0 <= period_s <= MAX_PERIOD_S:
        raise PolicyError(f"timer_period_s: found {period_s}, accepted 0 to {MAX_PERIOD_S:g}")
    problem = make_problem(
        machine,
        prepared,
        placement,
        threads,
        seed=seed,
        timer_period_s=period_s,
        progress_limit_s=progress_limit_s,
    )
    return Setup(program, view, state, problem)


def rehearse(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    *,
    workers: int | None = None,
    pinning: str = "scatter",
    seed: int = 0,
) -> None:
    """Do everything that comes before the first event of a run, so that what is wrong is found."""
    setup = set_up(machine, workload, policy, workers=workers, pinning=pinning, seed=seed)
    executed = setup.view.workload
    first = executed.graph if executed.init is None else executed.init
    resolve_plan(policy.plan(setup.view, setup.state, first), first, setup.problem)


def _placed(policy: Policy, view: PlanView, state: Any) -> Placement:
    """Return where the policy puts the data; what the machine lacks is said in its name."""
    try:
        return policy.place(view, state)
    except ModelError as error:
        name = policy.name or type(policy).__name__
        told = str(error)
        raise ModelError(
            told if told.startswith("policy ") else f"policy {name}: {told}"
        ) from error


def _checked_placement(placement: Placement, machine: Machine, workload: Workload) -> Placement:
    """Return the placement if its nodes and blocks exist."""
    n_nodes, n_blocks = len(machine.nodes), workload.graph.n_blocks
    if len(placement.home) != n_blocks or placement.touch_order.shape[0] != machine.n_domains:
        raise PolicyError(
            f"placement: found {len(placement.home)} homes and {placement.touch_order.shape[0]} "
            f"touch orders, accepted {n_blocks} (blocks) and {machine.n_domains} (domains)"
        )
    for what, nodes, lowest in (
        ("home", placement.home, -1),
        ("touch_order", placement.touch_order, 0),
    ):
        if nodes.size and not (nodes.min() >= lowest and nodes.max() < n_nodes):
            raise PolicyError(f"placement: {what}: accepted nodes {lowest} to {n_nodes - 1}")
    for what in ("follows_writes", "follows_accesses"):
        moving = getattr(placement, what)
        if moving is None:
            continue
        if machine.copies_data:
            refuse_copied(f"lets blocks move to whoever uses them (placement: {what})")
        if len(moving) != n_blocks or placement.pools is not None:
            pools = "none" if placement.pools is None else "some"
            raise PolicyError(
                f"placement: {what}: found {len(moving)} values and {pools} of the blocks in "
                f"pools, accepted {n_blocks} (blocks) and none"
            )
    if placement.pools is not None and machine.copies_data:
        refuse_copied("places blocks from pools (placement: pools)")
    check_replicas(placement, machine)
    if placement.pools is not None:
        graph = workload.graph
        check_pools(
            placement.pools,
            placement.home,
            placement.touch_order,
            graph.block_bytes,
            graph.n_tasks,
        )
    return placement
