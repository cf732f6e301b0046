"""What comes before the first event of a run: the decisions of the policy, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simsched.engine.interface.problem import Problem
from simsched.engine.problem import make_problem, random_stream
from simsched.engine.processors import (
    check_processors,
    kinds_without,
    machine_of_workers,
    used_threads,
    whole_program_threads,
)
from simsched.engine.replication import check_replicas, refuse_copied
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.engine.timings import timed
from simsched.files.errors import ModelError, PolicyError
from simsched.files.units import PER_PS
from simsched.machine.model import IntArray, Machine
from simsched.policy.contract.base import Placement, PlanView, Policy, own_name, view_before
from simsched.policy.contract.blocks import check_pools
from simsched.policy.contract.records import NO_SIZES, Accepted, accepts, check, said_of, told
from simsched.workload.graph import TaskGraph, Workload

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
    #: The machine as its workers see it, with what happens to it during the run.
    machine: Machine
    #: Kinds of processors without workers, since the policy does not choose processors.
    left_out: tuple[str, ...]


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
    placed = machine.place_workers(workers, pinning)
    threads, left_out = threads_for(machine, program, policy, placed)
    machine = machine_of_workers(machine, threads)
    view = view_before(
        replace(machine, changes=()) if machine.changes else machine,  # nobody knows beforehand
        program,
        threads,
        policy=policy,
        rng=np.random.Generator(random_stream(seed, "policy")),
    )
    prepared = policy.prepare(view)
    if not isinstance(prepared, Workload):
        raise PolicyError(f"prepare: found {told(prepared)}, accepted a Workload")
    if prepared is not program:
        kept = prepared.varying is not program.varying or prepared.graph is program.graph
        if program.varying is not None and (prepared.varying is None or not kept):
            raise PolicyError(
                "prepare: found a program without what its iterations cost, accepted one that "
                "Workload.changed has made"
            )
        prepared.validate()
        check_processors(machine, prepared, threads)
        view = replace(view, workload=prepared)
    state = policy.start(view)
    with said_of("place"):
        placement = _placed(policy, view, state)
        check_placement(placement, machine, prepared.graph)
    period_s = policy.timer_period_s if policy.overrides("on_timer") else 0.0
    Accepted((float,), accepts(0.0, MAX_PERIOD_S)).check(period_s, "timer_period_s", NO_SIZES)
    if 0.0 < period_s < PER_PS:
        raise PolicyError(
            f"timer_period_s: found {period_s!r}, accepted 0 (no timer) or {PER_PS:g} to "
            f"{MAX_PERIOD_S:g}"
        )
    problem = make_problem(
        machine,
        prepared,
        placement,
        threads,
        seed=seed,
        timer_period_s=period_s,
        progress_limit_s=progress_limit_s,
    )
    return Setup(program, view, state, problem, machine, left_out)


def threads_for(
    machine: Machine, program: Workload, policy: Policy, placed: IntArray
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the hardware threads with workers, and the kinds of processors that get none.

    These are kinds that cannot execute the whole program, for a policy that does not choose
    processors.

    Parameters
    ----------
    machine, program, policy : Machine, Workload, Policy
        What is to run; refused where the workers cannot execute the program.
    placed : ndarray of int32, shape (n_workers,)
        Where workers would go.
    """
    used = used_threads(machine, program, placed)
    check_processors(machine, program, used)
    if policy.chooses_processors:
        return used, ()
    threads = whole_program_threads(machine, program, used)
    return threads, kinds_without(machine, used, threads)


def _placed(policy: Policy, view: PlanView, state: Any) -> Placement:
    """Return where the policy puts the data; what the machine lacks is said in its name."""
    try:
        return policy.place(view, state)
    except ModelError as error:
        text = str(error)
        name = own_name(type(policy))
        raise ModelError(
            text if text.startswith("policy ") else f"policy {name}: {text}"
        ) from error


def check_placement(placement: Placement, machine: Machine, graph: TaskGraph) -> None:
    """Refuse a placement whose nodes or blocks do not exist, or that the machine cannot have."""
    check(
        placement,
        Placement,
        sizes={
            "blocks": graph.n_blocks,
            "tasks": graph.n_tasks,
            "domains": machine.n_domains,
            "nodes": len(machine.nodes),
        },
    )
    for what in ("follows_writes", "follows_accesses"):
        if getattr(placement, what) is None:
            continue
        if machine.copies_data:
            refuse_copied(what, "lets blocks move to whoever uses them")
        if placement.pools is not None:
            raise PolicyError(f"{what}: found some, accepted none where blocks come from pools")
    if placement.pools is not None and machine.copies_data:
        refuse_copied("pools", "places blocks from pools")
    check_replicas(placement, machine)
    if placement.pools is not None:
        check_pools(placement.pools, placement.home, placement.touch_order, graph.block_bytes)
