"""What comes before the first event of a run: the decisions of the policy, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simsched.engine.backend import RestartableBackend
from simsched.engine.common import Answer, Ground, Planned, common_to, own_arrays
from simsched.engine.interface.decisions import HOOKS as DECIDED
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.plans import resolve_plan
from simsched.engine.problem import check_capacity, make_problem, random_stream, run_streams
from simsched.engine.processors import check_processors
from simsched.engine.replication import check_replicas, refuse_copied
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.files.errors import ModelError, PolicyError
from simsched.files.units import PER_PS
from simsched.machine.model import Machine
from simsched.policy.contract.base import (
    HOOKS,
    AcquireOrder,
    Placement,
    Plan,
    PlanView,
    Policy,
    own_name,
    view_before,
)
from simsched.policy.contract.blocks import check_pools
from simsched.policy.contract.records import NO_SIZES, Accepted, accepts, check, said_of, told
from simsched.policy.parts.shipped import is_shipped
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
    #: What runs like this one have in common, where that is kept.
    ground: Ground | None = None
    #: Whether its policy has answered before, and cannot answer otherwise.
    is_settled: bool = False
    #: Native engines that have finished a run, ready for the next one.
    engines: list[RestartableBackend] = field(default_factory=list)

    def planned(self, policy: Policy, graph: TaskGraph) -> tuple[Plan, ResolvedPlan]:
        """Return what the policy plans for a graph, also as arrays."""
        if self.is_settled:
            assert self.ground is not None
            known = self.ground.planned[graph]
            return known.given, known.resolved
        with said_of("plan"):
            plan = policy.plan(self.view, self.state, graph)
            resolved = self.resolved(plan, graph)
            refuse_idle(policy, plan)
            return plan, resolved

    def settle(self, policy: Policy, seed: int) -> None:
        """Note a run that is over, if all others will be like it, but for what engines draw.

        The contract lets policies draw from their view and remember what `start` has returned. One
        that has not drawn, and is not called while its programs run, answers the same again. Who
        writes a policy may break the contract; the package's own do not.
        """
        if self.ground is None or self.is_settled or self._calls(policy):
            return
        drawn = self.view.rng.bit_generator.state != random_stream(seed, "policy").state
        if not drawn and is_shipped(policy):
            self.ground.settled = replace(self, is_settled=True)

    def _calls(self, policy: Policy) -> bool:
        """Return whether the policy is called while the program runs."""
        program = self.view.workload
        left_out = set() if program.iterations > 1 or program.init else {"on_iteration"}
        left_out |= set() if program.division else {"divide"}
        return any(policy.overrides(name) for name in ("divide", *HOOKS) if name not in left_out)

    def resolved(self, plan: Plan, graph: TaskGraph) -> ResolvedPlan:
        """Return a plan for a graph as arrays; refuse one that does not fit it or the machine."""
        if self.ground is None:
            return resolve_plan(plan, graph, self.problem)
        known = self.ground.planned.get(graph)
        if known is None or not known.answer.is_again(plan):
            resolved = own_arrays(resolve_plan(plan, graph, self.problem))  # a plan that is right
            known = Planned(plan, Answer(plan), resolved)
            self.ground.planned[graph] = known
        return known.resolved


def refuse_idle(policy: Policy, plan: Plan) -> None:
    """Refuse a correct plan under which nobody takes a task, unless a hook can change that."""
    changing = (hook for hook, decisions in DECIDED.items() if AcquireOrder in decisions)
    if plan.acquire or plan.runtime is not None or any(map(policy.overrides, changing)):
        return
    raise PolicyError("acquire: found no step, accepted at least one: nobody takes a task")


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
    common = common_to(machine, workload, policy, workers, pinning)
    settled: Setup | None = common.settled(progress_limit_s)
    if settled is not None:
        return replace(settled, problem=settled.problem.drawing(**run_streams(seed)))
    machine, program, threads = common.machine, common.program, common.threads
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
        known = common.ground_of(prepared, placement)
        if known is None:
            check_placement(placement, machine, prepared.graph)
    period_s = policy.timer_period_s if policy.overrides("on_timer") else 0.0
    Accepted((float,), accepts(0.0, MAX_PERIOD_S)).check(period_s, "timer_period_s", NO_SIZES)
    if 0.0 < period_s < PER_PS:
        raise PolicyError(
            f"timer_period_s: found {period_s!r}, accepted 0 (no timer) or {PER_PS:g} to "
            f"{MAX_PERIOD_S:g}"
        )
    times = {"timer_period_s": period_s, "progress_limit_s": progress_limit_s}
    if known is not None and known.times == times:
        problem = replace(known.problem, **run_streams(seed))
    else:
        check_capacity(machine, prepared, placement)
        problem = make_problem(machine, prepared, placement, threads, seed=seed, **times)
        known = common.keep(prepared, placement, times, problem)
    return Setup(program, view, state, problem, machine, common.left_out, known)


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
