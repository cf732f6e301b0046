"""Steps that wait until a domain's tasks have come: who counts, how often, and who is woken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Preempt,
)
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000
OF_WORKER, OF_DOMAIN = 0, 1
GROUPS = (PoolGroup("worker"), PoolGroup("domain", scope="domain", marks_active=True))
OWN = AcquireStep("worker", "own")
STEAL = AcquireStep("domain", "other_domains", "oldest", ("domain_supplied",))


@dataclass(frozen=True, kw_only=True)
class Sending(RandomStealing):
    """Sends tasks to pools; task 1 to the first worker's instead, if it says so."""

    name = "sending"
    steps: tuple[AcquireStep, ...] = (OWN, STEAL)
    group: tuple[int, ...] = ()
    instance: tuple[int, ...] = ()
    orders: tuple[int, ...] = ()
    redirects: bool = False
    preempts_at_ps: int = -1
    timer_period_s: float = 1e-6

    def plan(self, view: PlanView, state: object, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=self.steps,
            pool_groups=GROUPS,
            spawn_order=np.array(self.orders, np.uint8) if self.orders else PARENT_FIRST,
            group_of=np.array(self.group, np.int8),
            instance_of=np.array(self.instance, np.int32),
            roots="first",
        )

    def on_ready(self, view: HookView, state: object, task: int, worker: int) -> Pool | None:
        return Pool(OF_WORKER, 0) if task == 1 and self.redirects else None

    def on_timer(self, view: HookView, state: object) -> tuple[Preempt, ...]:
        assert view.live is not None
        return (Preempt(0),) if view.live.now_ps() == self.preempts_at_ps else ()


def starts(
    backend: str, graph: TaskGraph, policy: Sending, cores: int = 1
) -> list[tuple[int, int, int]]:
    """The task, worker and time of each start, on two domains of free operations."""
    machine = make_machine(domains=2, cores_per_domain=cores)
    workload = Workload("sent", graph)
    run = simulate(machine, workload, policy, backend=backend, events=True)
    assert run.trace is not None
    events = run.trace.events
    begun = events["kind"] == EventKind.TASK_START
    columns = (events[name][begun].tolist() for name in ("task", "worker", "time_ps"))
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("takes_own", [True, False])
def test_a_task_that_is_spawned_child_first_has_come(backend: str, takes_own: bool) -> None:
    # It was expected for ever, since it enters no pool: its domain idled, or the run stalled.
    own = AcquireStep("domain", "own", "oldest", ("head_worker", "domain_inactive"))
    policy = Sending(
        steps=(OWN, own, STEAL) if takes_own else (OWN, STEAL),
        group=(OF_WORKER, OF_DOMAIN, OF_DOMAIN, OF_DOMAIN),
        instance=(-1, 1, 0, 0),
        orders=(PARENT_FIRST, CHILD_FIRST, PARENT_FIRST, PARENT_FIRST),
    )
    graph = build_graph([0.0, 1e4, 1e4, 1e4], children=adjacency([0, 0, 0], [1, 2, 3], 4))
    last = (3, 1, 10 * US) if takes_own else (3, 1, 20 * US)
    assert starts(backend, graph, policy)[-1] == last


def test_who_may_steal_now_is_woken(backend: str) -> None:
    # Nobody looked again: task 0 was left where only the second domain may take it.
    policy = Sending(group=(OF_DOMAIN, OF_DOMAIN), instance=(0, 1), redirects=True)
    found = starts(backend, build_graph([1e4, 1e4], arrival_ps=[0, 1000]), policy)
    assert sorted(found) == [(0, 1, 1000), (1, 0, 1000)]


def test_only_conditions_of_the_step_matter(backend: str) -> None:
    # The head of the second domain executes; its other worker, which slept, steals task 2 of the
    # first domain when the last task of its own has come, whoever takes that one.
    policy = Sending(
        steps=(
            OWN,
            AcquireStep("domain", "own", "oldest", ("head_worker",)),
            AcquireStep(
                "domain", "other_domains", "oldest", ("not_head_worker", "domain_supplied")
            ),
        ),
        group=(OF_WORKER, *[OF_DOMAIN] * 4),
        instance=(0, 1, 0, 0, 1),
    )
    graph = build_graph([1e4, 1e5, 1e5, 1e5, 1.0], arrival_ps=[0, 0, 0, 0, US])
    assert (2, 3, US) in starts(backend, graph, policy, cores=2)


@pytest.mark.parametrize("preempts_at_us", [-1, 2])
def test_a_task_counts_once(backend: str, preempts_at_us: int) -> None:
    # A preempted task came twice, so that the second domain stole while it still expected task 2.
    policy = Sending(
        steps=(OWN, AcquireStep("domain", "own"), STEAL),
        group=(*[OF_DOMAIN] * 4, OF_WORKER),
        instance=(0, 1, 1, 0, 0),
        redirects=True,
        preempts_at_ps=preempts_at_us * US,
    )
    graph = build_graph([1.0, 1e4, 1e4, 2e4, 0.0], arrival_ps=[0, 0, 9 * US, 4 * US, 0])
    found = starts(backend, graph, policy)
    assert next(start for start in found if start[1] == 1) == (2, 1, 9 * US)
