"""Cores that become slower, and workers that fail; every time follows from the law by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.engine.conformance import compare
from simsched.engine.run import simulate
from simsched.files.errors import (
    ConfigurationError,
    ModelError,
    SimschedError,
    StalledError,
)
from simsched.machine import load_machine
from simsched.machine.model import Change, Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import (
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Preempt,
    Transfer,
)
from simsched.policy.contract.executions import Duplicate
from simsched.trace.schema import EventKind, Loss
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

from .instances import random_machine, random_workload
from .test_awaits import with_waits
from .test_duplicates import COSTS, US, Deciding, Speculating, rows, run, uneven

ENDS = ("time_ps", "worker", "task")


def changing(machine: Machine, *changes: tuple[float, tuple[int, ...], float]) -> Machine:
    """The machine with changes at given microseconds."""
    return replace(
        machine, changes=tuple(Change(int(us * US), cores, left) for us, cores, left in changes)
    )


def test_a_task_goes_on_at_another_speed(backend: str) -> None:
    # 4 us at full speed, 4 us at a quarter, then full speed again: 5000 operations are left.
    machine = changing(uneven(1.0, 1.0), (4, (0,), 0.25), (8, (0,), 1.0))
    policy = Deciding(owner=(0, 1))
    result = run(backend, machine, build_graph([10_000.0, 10_000.0]), policy)
    assert rows(result, EventKind.TASK_END, *ENDS) == [(10 * US, 1, 1), (13 * US, 0, 0)]
    assert rows(result, EventKind.SPEED, "time_ps", "arg0", "arg1") == [
        (4 * US, 0, 250_000),
        (8 * US, 1, 1_000_000),
    ]


def test_speeds_are_parts_of_the_described_one(backend: str) -> None:
    machine = changing(uneven(2.0), (0, (0,), 0.5), (2, (0,), 0.25))
    result = run(backend, machine, build_graph([4000.0]), Deciding(owner=(0,)))
    assert result.summary.makespan_ps == 6 * US  # 2000 in 2 us, 2000 at 0.5 per ns


def test_a_flow_goes_on_as_it_was(backend: str) -> None:
    machine = make_machine(domains=1, cores_per_domain=1, dram_bandwidth_bytes_per_s=1e9)
    graph = build_graph([1000.0], accessed=accesses([0], [0], 10_000, 0, 1), block_bytes=[10_000])
    slow = changing(machine, (3, (0,), 0.1))
    assert run(backend, slow, graph, Deciding(owner=(0,))).summary.makespan_ps == 10 * US


def test_tasks_of_a_failed_worker_start_over_elsewhere(backend: str) -> None:
    class Choosing(Deciding):
        def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool:
            assert view.live is not None
            failed = [view.live.has_failed(w) for w in range(view.n_workers)]
            asked.append((task, worker, failed))
            return Pool(0, failed.index(False))

    # Worker 0 has done 4 of 5 us; a second task waits in its pool.
    asked: list[tuple[int, int, list[bool]]] = []
    machine = changing(uneven(1.0, 1.0, costs=COSTS), (4, (0,), 0.0))
    policy = Choosing(owner=(0, 0))
    result = run(backend, machine, build_graph([5000.0, 1000.0]), policy)
    assert rows(result, EventKind.FAILURE, "time_ps", "worker") == [(4 * US, 0)]
    assert rows(result, EventKind.KILL, *ENDS, "arg0", "arg1") == [
        (4 * US, 0, 0, Loss.FAILED, 4 * US)
    ]
    assert rows(result, EventKind.TASK_END, *ENDS) == [(9 * US, 1, 0), (10 * US, 1, 1)]
    assert asked[2:] == [(0, -1, [True, False]), (1, -1, [True, False])]
    assert result.summary.worker_acquire_ps.tolist() == [0, 0]
    assert (result.summary.kills, result.summary.wasted_ps) == (1, 4 * US)


def test_what_enters_the_pool_of_a_failed_worker_goes_to_an_active_one(backend: str) -> None:
    machine = changing(uneven(1.0, 1.0, 1.0), (1, (0,), 0.0))
    graph = build_graph([1000.0] * 3, arrival_ps=[2 * US, 3 * US, 4 * US])
    result = run(backend, machine, graph, Deciding(owner=(0, 0, 0)))
    assert rows(result, EventKind.TASK_END, *ENDS) == [
        (3 * US, 1, 0),
        (4 * US, 2, 1),
        (5 * US, 1, 2),
    ]


def test_a_duplicate_survives_a_failure(backend: str) -> None:
    machine = changing(uneven(1.0, 1.0), (6, (0,), 0.0))
    policy = Deciding(owner=(0,), at_us=((4, Duplicate(0, 1)), (7, Preempt(1))))
    result = run(backend, machine, build_graph([10_000.0]), policy)
    assert rows(result, EventKind.TASK_END, *ENDS) == [(14 * US, 1, 0)]
    # Ready at the start and after the preemption, not after the failure.
    assert rows(result, EventKind.TASK_READY, "time_ps") == [(0,), (7 * US,)]


def test_what_was_done_before_a_preemption_is_lost_too(backend: str) -> None:
    # Handed over at 4 us to worker 1, which fails at 6 us, and again when worker 2 still pays.
    costs = replace(COSTS, context_switch_ps=3 * US)
    machine = changing(uneven(1.0, 1.0, costs=costs), (6, (1,), 0.0))
    policy = Deciding(owner=(0,), at_us=((4, Preempt(0, 1)),))
    result = run(backend, machine, build_graph([10_000.0]), policy)
    assert rows(result, EventKind.KILL, "worker", "arg1") == [(1, -1)]
    assert rows(result, EventKind.TASK_START, "time_ps") == [(0,), (7 * US,)]
    assert result.summary.makespan_ps == 17 * US


def test_all_cores_of_a_change_fail_together(backend: str) -> None:
    # Both tasks go to worker 2, none to worker 1 that fails in the same instant.
    machine = changing(uneven(1.0, 1.0, 1.0), (4, (0, 1), 0.0))
    result = run(backend, machine, build_graph([5000.0, 5000.0]), Deciding(owner=(0, 1)))
    assert rows(result, EventKind.TASK_END, *ENDS) == [(9 * US, 2, 0), (14 * US, 2, 1)]
    assert len(rows(result, EventKind.KILL, "task")) == 2


def test_without_a_live_worker_the_run_stalls(backend: str) -> None:
    machine = changing(uneven(1.0, 1.0), (4, (0,), 0.0), (5, (1,), 0.0))
    with pytest.raises(StalledError, match="task 0 is in pool group 0 instance 1, from which no"):
        run(backend, machine, build_graph([50_000.0]), Deciding(owner=(0,)))


def test_changes_alone_keep_no_run_going(backend: str) -> None:
    machine = changing(uneven(1.0, 1.0), (4, (0,), 0.0), (10**6, (1,), 0.5))
    graph = build_graph([1000.0], arrival_ps=[5 * US])

    class Nobody(Deciding):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(acquire=(), instance_of=np.zeros(1, np.int32))

    with pytest.raises(StalledError, match="stalled at 5e-06 s"):
        run(backend, machine, graph, Nobody())


def test_workers_stay_failed_in_later_iterations(backend: str) -> None:
    machine = changing(uneven(1.0, 1.0), (1, (0,), 0.0))
    policy = Deciding(owner=(0, 1))
    workload = Workload("w", build_graph([2000.0, 3000.0]), iterations=2)
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert rows(result, EventKind.TASK_END, *ENDS) == [
        (3 * US, 1, 1),
        (5 * US, 1, 0),
        (7 * US, 1, 0),
        (10 * US, 1, 1),
    ]


def test_failures_need_tasks_that_can_start_over(backend: str) -> None:
    machine = changing(uneven(1.0), (1, (0,), 0.0))
    graph = build_graph([100.0, 100.0], children=adjacency([0], [1], 2))
    with pytest.raises(ModelError, match="found cores that fail, accepted none with tasks that"):
        run(backend, machine, graph, Deciding(owner=(0, 0)))


def test_policies_do_not_see_what_is_to_come() -> None:
    class Looking(Deciding):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            assert view.machine.changes == ()
            return super().plan(view, state, graph)

    machine = changing(uneven(1.0), (1, (0,), 0.5))
    result = run("native", machine, build_graph([2000.0]), Looking(owner=(0,)))
    assert len(result.machine.changes) == 1


FILE = """
extends: clusters_4x16
description: The same with a busy and a failing computer
sources: {guess: {kind: assumed, reference: an example}}
changes:
  - at: [2 s, guess]
    domains: [1]
    speed: [0, guess]
  - at: [1 s, guess]
    domains: [0, DOMAIN]
    speed: [SPEED, guess]
"""


def machine_of(path: Path, domain: str, speed: str) -> Machine:
    path.write_text(FILE.replace("DOMAIN", domain).replace("SPEED", speed))
    return load_machine(str(path))


def test_machine_files_have_changes(tmp_path: Path) -> None:
    machine = machine_of(tmp_path / "m.yaml", "2", "0.3")
    cores = [np.flatnonzero(machine.core_domain == d).tolist() for d in range(3)]
    assert machine.changes == (
        Change(10**12, (*cores[0], *cores[2]), 0.3),
        Change(2 * 10**12, tuple(cores[1]), 0.0),
    )
    assert machine.sources["changes[0].speed"] == "guess"


@pytest.mark.parametrize(
    ("domain", "speed", "message"),
    [
        ("99", "0.3", r"changes\[1\].domains\[1\]: found 99, accepted 0 to 3"),
        ("2", "1.5", r"changes\[1\].speed"),
        ("2", "-1", r"changes\[1\].speed"),
    ],
)
def test_changes_that_cannot_be_are_refused(
    tmp_path: Path, domain: str, speed: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        machine_of(tmp_path / "m.yaml", domain, speed)


def flat(seed: int) -> Workload:
    """A random program whose tasks spawn nothing, with waits now and then."""
    rng = np.random.default_rng(seed)
    program = random_workload(seed)
    while len(program.graph.child):
        seed += 1
        program = random_workload(seed)
    return replace(with_waits(program, seed) if rng.integers(2) else program, init=None)


def with_changes(machine: Machine, seed: int) -> Machine:
    rng = np.random.default_rng(seed)
    changes = []
    for _ in range(int(rng.integers(1, 7))):
        cores = np.flatnonzero(rng.integers(0, 2, machine.n_cores)).tolist()
        at = int(rng.integers(0, 60 * US))
        changes.append(Change(at, tuple(cores), float(rng.choice([0.0, 0.1, 0.7, 1.0]))))
    return replace(machine, changes=tuple(sorted(changes, key=lambda c: c.at_ps)))


SEEDS = st.integers(0, 2**32)


@settings(max_examples=25)
@given(SEEDS, SEEDS, SEEDS)
def test_backends_agree_on_random_instances(machine: int, workload: int, policy: int) -> None:
    case = compare(
        with_changes(random_machine(machine), policy),
        flat(workload),
        Speculating(choice=policy),
        seed=policy % 1000,
    )
    assert case.difference == ""


def test_random_instances_do_fail() -> None:
    """Guards the test above: some of its workers fail in the middle of tasks."""
    losses = 0
    for seed in range(60):
        try:
            done = simulate(
                with_changes(random_machine(seed), seed),
                flat(seed),
                Speculating(choice=seed),
                events=True,
            )
        except SimschedError:
            continue
        found = rows(done, EventKind.KILL, "arg0")
        losses += sum(1 for (loss,) in found if loss == Loss.FAILED)
    assert losses > 5


def test_an_idle_worker_fails_quietly(backend: str) -> None:
    steps = (AcquireStep("worker", "own", "oldest"), AcquireStep("worker", "anywhere", "oldest"))

    class Stealing(Deciding):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return replace(super().plan(view, state, graph), acquire=steps)

    machine = changing(uneven(1.0, 1.0), (4, (1,), 0.0))
    graph = build_graph([6000.0, 1000.0, 1000.0], arrival_ps=[0, 5 * US, 5 * US])
    result = run(backend, machine, graph, Stealing(owner=(0, 0, 0)))
    assert rows(result, EventKind.TASK_END, "worker") == [(0,)] * 3
    assert rows(result, EventKind.KILL, "task") == []


@dataclass(frozen=True, kw_only=True)
class Moving(Deciding):
    """Sends all that the first worker has to the second one when task 2 comes back."""

    def on_ready(
        self, view: HookView, state: Any, task: int, worker: int
    ) -> tuple[Pool | Transfer, ...] | None:
        assert view.live is not None
        if task != 2 or view.live.now_ps() == 0:
            return None
        return (Transfer(0, 0, 0, 1, 100, 0),)


def test_what_a_failed_worker_had_may_go_elsewhere_while_it_is_pushed(backend: str) -> None:
    # The pool that was being emptied was taken from beyond its end.
    machine = changing(uneven(1.0, 1.0), (1, (0,), 0.0))
    result = run(backend, machine, build_graph(np.full(6, 10_000.0)), Moving(owner=(0,) * 6))
    assert sorted(row[0] for row in rows(result, EventKind.TASK_END, "task")) == list(range(6))


@pytest.mark.parametrize("failing", range(2))
def test_a_call_of_a_worker_that_fails_is_passed_on(backend: str, failing: int) -> None:
    class Shared(Deciding):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(
                acquire=(AcquireStep("shared", "own", "oldest"),),
                pool_groups=(PoolGroup("worker"), PoolGroup("shared", "machine")),
                group_of=np.ones(graph.n_tasks, np.int8),
            )

    # A task ends at 1 us; that its worker pays for the push of the next one takes until 5 us, and a
    # worker fails at 3 us. Whoever is called to the pool, somebody executes the second task.
    costs = replace(COSTS, push_ps=4 * US)
    machine = changing(uneven(1.0, 1.0, costs=costs), (3, (failing,), 0.0))
    graph = build_graph([1000.0, 1000.0], successors=adjacency([0], [1], 2))
    ends = {
        simulate(
            machine, Workload("w", graph), Shared(owner=(0, 0)), backend=backend, seed=seed
        ).summary.makespan_ps
        for seed in range(12)
    }
    # Taken by the other one at once, or when the first one fails; or by the first one at 5 us.
    assert ends == {2 * US, 4 * US, 6 * US}


@pytest.mark.parametrize("name", ["eager", "ws", "dmdas", "heteroprio", "modular_heft"])
def test_task_runtimes_refuse_cores_that_fail(backend: str, name: str) -> None:
    machine = changing(uneven(1.0, 1.0), (3, (0,), 0.0))
    workload = Workload("w", build_graph([3000.0] * 6))
    with pytest.raises(ModelError, match="found cores that fail, accepted none under a task"):
        simulate(machine, workload, make_policy(name), backend=backend)


#: Two domains of two workers each; nothing costs anything but a push.
PAIRS = make_machine(
    domains=2, cores_per_domain=2, ops_per_s=1e9, costs=replace(COSTS, push_ps=4 * US)
)


@pytest.mark.parametrize("name", ["single_thread", "controlled_pdf"])
def test_workers_without_anybody_to_take_over_are_not_let_fail(backend: str, name: str) -> None:
    workload = Workload("w", build_graph([3000.0] * 6))
    machine = changing(PAIRS, (3, (0,), 0.0), (4, (1,), 0.0))
    with pytest.raises(ModelError, match=r"all (1|2) whose workers the policy lets"):
        simulate(machine, workload, make_policy(name), backend=backend)
    machine = changing(PAIRS, (4, (1,), 0.0))
    result = simulate(machine, workload, make_policy(name), backend=backend)
    assert result.summary.n_tasks == 6


@dataclass(frozen=True, kw_only=True)
class Led(Deciding):
    """Task t is sent to domain `owner[t]`, whose head takes it when the domain is inactive."""

    marks: bool = False

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("home", "own", "oldest", ("head_worker", "domain_inactive")),),
            pool_groups=(PoolGroup("worker"), PoolGroup("home", "domain", marks_active=self.marks)),
            group_of=np.ones(graph.n_tasks, np.int8),
            instance_of=np.array(self.owner, np.int32),
        )


def test_a_domain_without_workers_leaves_its_tasks_to_others(backend: str) -> None:
    # Worker 1 becomes head at 1 us and takes task 1, behind which task 0 has come. Domain 1 gets
    # both at 2 us, what was lost first. Task 2 is sent to domain 0 when nobody is left there.
    graph = build_graph([10_000.0] * 3, arrival_ps=[0, 0, 40 * US])
    machine = changing(PAIRS, (1, (0,), 0.0), (2, (1,), 0.0))
    result = run(backend, machine, graph, Led(owner=(0, 0, 0)))
    assert rows(result, EventKind.TASK_END, *ENDS) == [
        (12 * US, 2, 1),
        (22 * US, 2, 0),
        (50 * US, 2, 2),
    ]


def test_a_task_that_starts_over_keeps_no_domain_active(backend: str) -> None:
    # It was in its own way: the next head may take it only when the domain is inactive.
    machine = changing(PAIRS, (1, (0,), 0.0))
    result = run(backend, machine, build_graph([10_000.0]), Led(owner=(0,), marks=True))
    assert rows(result, EventKind.TASK_END, *ENDS) == [(11 * US, 1, 0)]


def test_who_becomes_head_looks_for_work(backend: str) -> None:
    # At 3 us worker 0 pays for the push of task 1, and nobody is called to task 2 by a push.
    machine = changing(PAIRS, (3, (0,), 0.0))
    graph = build_graph([1000.0] * 3, successors=adjacency([0], [1], 3))
    result = run(backend, machine, graph, Led(owner=(0, 1, 0)))
    assert rows(result, EventKind.TASK_END, *ENDS) == [
        (1 * US, 0, 0),
        (2 * US, 2, 1),
        (4 * US, 1, 2),
    ]
