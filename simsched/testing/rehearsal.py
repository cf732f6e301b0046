"""Taking a policy through a run without an engine: decisions are checked, nothing is simulated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.division import Account
from simsched.engine.problem import random_stream
from simsched.engine.setup import check_placement
from simsched.machine.model import Machine
from simsched.policy.contract.base import (
    Counters,
    Placement,
    Plan,
    PlanView,
    Policy,
    Update,
    view_before,
)
from simsched.policy.contract.plan_checks import check_update, validate_plan
from simsched.policy.contract.records import said_of
from simsched.workload.graph import TaskGraph, Workload


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The decisions of a policy.

    Parameters
    ----------
    workload : Workload
        The program as the policy runs it.
    placement : Placement
        Homes of the blocks.
    plans : tuple of Plan
        The plan of every iteration, in order.
    updates : tuple of Update or None
        What followed every iteration except the last.
    divisions : tuple of ndarray of int64, each of shape (n_parts,)
        Units of the parts in every iteration, where the policy divides the work.
    """

    workload: Workload
    placement: Placement
    plans: tuple[Plan, ...]
    updates: tuple[Update | None, ...]
    divisions: tuple[NDArray[np.int64], ...] = ()


def rehearse(
    policy: Policy,
    machine: Machine,
    workload: Workload,
    *,
    workers: int | None = None,
    seed: int = 0,
) -> Rehearsal:
    """Return the decisions of a policy when every iteration measures random counters.

    Parameters
    ----------
    policy, machine, workload : Policy, Machine, Workload
        What would run.
    workers : int, optional
        Number of workers; by default one per hardware thread.
    seed : int
        Seed of the policy's random stream and of the counters.

    Returns
    -------
    Rehearsal
        Placement, plan and updates, in the order of the iterations.

    Raises
    ------
    SimschedError
        When a decision is not allowed.
    """
    rng = np.random.Generator(random_stream(seed, "policy"))
    view = view_before(machine, workload, machine.place_workers(workers), policy=policy, rng=rng)
    program = policy.prepare(view)
    program.validate()
    view = replace(view, workload=program)
    state = policy.start(view)
    placement = policy.place(view, state)
    with said_of("place"):
        check_placement(placement, machine, program.graph)
    if program.division is not None and policy.overrides("divide"):
        return _rehearse_division(policy, view, state, placement, seed)
    graphs = [] if program.init is None else [program.init]
    graphs += [program.graph] * program.iterations
    dice = np.random.Generator(random_stream(seed, "counters"))
    home = _touched(placement, dice)
    plans: list[Plan] = []
    updates: list[Update | None] = []
    planned: TaskGraph | None = None
    for turn, graph in enumerate(graphs):
        if planned is not graph:
            plans.append(policy.plan(view, state, graph))
            planned = graph
        elif len(plans) == turn:
            plans.append(plans[-1])
        plan = plans[turn]
        with said_of("plan"):
            instances = _instances(machine, view.n_workers, graphs)
            validate_plan(plan, graph, instances, view.n_workers, len(machine.nodes))
        if turn == len(graphs) - 1:
            break
        number = turn if program.init is not None else turn + 1
        measured = _counters(number, graph, plan, view, home, dice)
        update = policy.on_iteration(view, state, measured)
        updates.append(update)
        if update is not None:
            with said_of("on_iteration"):
                check_update(update, len(machine.nodes), program.graph.n_blocks)
            home[update.move_block] = update.move_node
            if update.plan is not None:
                plans.append(update.plan)
                planned = program.graph
    return Rehearsal(program, placement, tuple(plans), tuple(updates))


def _rehearse_division(
    policy: Policy, view: PlanView, state: Any, placement: Placement, seed: int
) -> Rehearsal:
    """Return the decisions of a policy that divides the work of a program."""
    program, division = view.workload, view.workload.division
    assert division is not None
    dice = np.random.Generator(random_stream(seed, "counters"))
    home, account = _touched(placement, dice), Account(program.graph, division, program.iterations)
    plan = policy.plan(view, state, program.graph)
    plans, updates, divisions = [plan], [], []
    counters: Counters | None = None
    while True:
        instances = _instances(view.machine, view.n_workers, [program.graph])
        with said_of("plan"):
            n_nodes = len(view.machine.nodes)
            validate_plan(plan, program.graph, instances, view.n_workers, n_nodes)
        account.give(policy.divide(view, state, account.begin(), counters))
        divisions.append(account.units[-1])
        if account.is_done:
            break
        measured = _counters(len(divisions), program.graph, plan, view, home, dice)
        times = dice.uniform(1e-4, 1e-3, division.n_parts)
        counters = replace(measured, part_units=divisions[-1], part_s=times)
        update = policy.on_iteration(view, state, counters)
        updates.append(update)
        if update is not None:
            with said_of("on_iteration"):
                check_update(update, len(view.machine.nodes), program.graph.n_blocks)
            plan = plan if update.plan is None else update.plan
        plans.append(plan)
    return Rehearsal(program, placement, tuple(plans), tuple(updates), tuple(divisions))


def _instances(machine: Machine, n_workers: int, graphs: list[TaskGraph]) -> dict[str, int]:
    """Return the number of pool instances of each scope."""
    return {
        "worker": n_workers,
        "domain": machine.n_domains,
        "socket": machine.n_sockets,
        "machine": 1,
        "class": max(1, *(len(graph.class_names) for graph in graphs)),
    }


def _touched(
    placement: Placement, dice: np.random.Generator
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Return homes in which first touch has happened somewhere."""
    home = placement.home.copy()
    free = np.flatnonzero(home < 0)
    first = np.unique(placement.touch_order[:, 0]) if len(free) else np.zeros(1, np.int32)
    home[free] = dice.choice(first, len(free))
    return home


def _counters(
    number: int,
    graph: TaskGraph,
    plan: Plan,
    view: PlanView,
    home: np.ndarray[tuple[int, ...], np.dtype[np.int32]],
    dice: np.random.Generator,
) -> Counters:
    """Return random measurements of the right shapes."""
    groups = 0 if plan.counter_group is None else int(plan.counter_group.max(initial=-1)) + 1
    n_samples = 0 if plan.monitor is None else plan.monitor.sample_offset_bytes.shape[1]
    used = np.zeros(len(view.machine.nodes), np.int64)
    np.add.at(used, home, graph.block_bytes)
    return Counters(
        iteration=number,
        duration_s=1e-3,
        group_bytes=dice.integers(0, 10**6, (groups, len(view.memory_kinds), 2)),
        group_missing_bytes=dice.integers(0, 10**6, (groups, len(view.machine.caches))),
        samples=dice.integers(0, 20, (graph.n_blocks, n_samples)),
        block_home=home.copy(),
        node_used_bytes=used,
        executed_by=dice.integers(0, view.n_workers, graph.n_tasks).astype(np.int32),
        executed_ps=dice.integers(0, 10**6, graph.n_tasks if plan.times_tasks else 0),
    )
