"""Duplicates of running tasks, kills and progress; every time follows from the law by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.policies import CentralQueue
from simsched.analysis.metrics import run_metrics
from simsched.analysis.waterfall import time_parts
from simsched.engine.conformance import compare
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError, SimschedError
from simsched.machine.model import CoreGroup, Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, HookView, Plan, PlanView, Pool, Preempt
from simsched.policy.contract.executions import Duplicate, Kill, Progress
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Loss
from simsched.trace.times import work_times
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from tests.engine.invariants import trace_violations

from .instances import RandomPolicy, random_machine, random_workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second


@dataclass(frozen=True, kw_only=True)
class Deciding(CentralQueue):
    """Task t belongs to worker `owner[t]`; at given microseconds something is decided or seen."""

    timer_period_s = 1e-6
    owner: tuple[int, ...] = ()
    at_us: tuple[tuple[int, Any], ...] = ()
    seen: Any = None

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            instance_of=np.array(self.owner, np.int32),
        )

    def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
        assert view.live is not None
        if self.seen is not None:
            self.seen[view.live.now_ps()] = [view.live.progress(w) for w in range(view.n_workers)]
        return tuple(d for us, d in self.at_us if us * US == view.live.now_ps())


def run(backend: str, machine: Machine, graph: TaskGraph, policy: Any) -> Run:
    result = simulate(machine, Workload("w", graph), policy, backend=backend, events=True)
    assert trace_violations(result) == []
    return result


def rows(result: Run, kind: EventKind, *names: str) -> list[tuple[int, ...]]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    return list(zip(*(events[name][chosen].tolist() for name in names), strict=True))


def uneven(*speeds: float, costs: RuntimeCosts | None = None) -> Machine:
    """One domain with a core of each speed in operations per ns."""
    machine = make_machine(domains=1, cores_per_domain=len(speeds), costs=costs or RuntimeCosts())
    kind = machine.core_groups[0].kind
    groups = tuple(CoreGroup(f"g{i}", kind, s * 1e9, (1.0,)) for i, s in enumerate(speeds))
    return replace(machine, core_groups=groups, core_group=np.arange(len(speeds), dtype=np.int32))


COSTS = RuntimeCosts(context_switch_ps=300, steal_ps=(10, 20))


def test_the_duplicate_on_a_faster_core_ends_the_task(backend: str) -> None:
    # 10000 operations at 0.5 per ns end at 20 us; the duplicate begins at 4 us + 20 ps at 1 per ns.
    policy = Deciding(owner=(0,), at_us=((4, Duplicate(0, 1)),))
    result = run(backend, uneven(0.5, 1.0, costs=COSTS), build_graph([10_000.0]), policy)
    assert rows(result, EventKind.DUPLICATE, "time_ps", "worker", "task", "arg0") == [
        (4 * US, 1, 0, 0)
    ]
    assert rows(result, EventKind.TASK_START, "time_ps", "worker") == [(0, 0), (4 * US + 20, 1)]
    assert rows(result, EventKind.TASK_END, "time_ps", "worker") == [(14 * US + 20, 1)]
    assert rows(result, EventKind.KILL, "time_ps", "worker", "task", "arg0", "arg1") == [
        (14 * US + 20, 0, 0, Loss.ENDED, 14 * US + 20)
    ]
    summary = result.summary
    assert (summary.duplicates, summary.kills, summary.wasted_ps) == (1, 1, 14 * US + 20)
    assert summary.worker_busy_ps.tolist() == [14 * US + 20, 10 * US]
    assert summary.tasks_per_worker.tolist() == [0, 1]
    metrics = run_metrics(summary, result.machine, result.workload, result.worker_thread)
    assert metrics["wasted_s"] == pytest.approx(14.00002e-6)
    assert (metrics["duplicates"], metrics["kills"]) == (1, 1)


def test_the_original_wins_and_the_loser_goes_on_to_other_work(backend: str) -> None:
    # The original ends at 10 us; the loser has got a task of its own at 6 us, which it takes after
    # the switch of 300 ps.
    graph = build_graph([10_000.0, 1000.0], arrival_ps=[0, 6 * US])
    policy = Deciding(owner=(0, 1), at_us=((4, Duplicate(0, 1)),))
    result = run(backend, uneven(1.0, 1.0, costs=COSTS), graph, policy)
    assert rows(result, EventKind.TASK_END, "time_ps", "worker", "task") == [
        (10 * US, 0, 0),
        (11 * US + 300, 1, 1),
    ]
    assert result.summary.wasted_ps == 6 * US - 20
    assert result.summary.worker_acquire_ps.tolist() == [0, 320]


def test_a_duplicate_that_has_not_begun_is_killed_too(backend: str) -> None:
    costs = RuntimeCosts(context_switch_ps=300, steal_ps=(3 * US,))
    policy = Deciding(owner=(0,), at_us=((8, Duplicate(0, 1)), (9, Duplicate(0, 2))))
    result = run(backend, uneven(1.0, 1.0, 1.0, costs=costs), build_graph([10_000.0]), policy)
    assert rows(result, EventKind.TASK_START, "worker") == [(0,)]
    assert rows(result, EventKind.KILL, "time_ps", "worker", "arg1") == [
        (10 * US, 1, -1),
        (10 * US, 2, -1),
    ]
    # What was paid until then and the switch; the run ends before that is over.
    assert result.summary.worker_acquire_ps.tolist() == [0, 2 * US + 300, US + 300]
    assert (result.summary.duplicates, result.summary.wasted_ps) == (2, 0)


def test_of_two_that_end_together_the_lower_worker_is_first(backend: str) -> None:
    # The duplicate does in 6 us what the original does in 10.
    policy = Deciding(owner=(1,), at_us=((4, Duplicate(1, 0)),))
    machine = uneven(10 / 6, 1.0)
    result = run(backend, machine, build_graph([10_000.0]), policy)
    assert rows(result, EventKind.TASK_END, "time_ps", "worker") == [(10 * US, 0)]


def test_a_flow_of_the_loser_stops(backend: str) -> None:
    # 10 kB at 1 GB/s: alone for 4 us, then two flows of 0.5 GB/s each. The first has 6000 bytes
    # left, 12 us; then the third task, which waits for the first, has the node for itself.
    machine = make_machine(domains=1, cores_per_domain=2, dram_bandwidth_bytes_per_s=1e9)
    graph = build_graph(
        [0.0, 0.0],
        successors=adjacency([0], [1], 2),
        accessed=accesses([0, 1], [0, 1], [10_000, 2000], 0, 2),
        block_bytes=[10_000, 2000],
    )
    policy = Deciding(owner=(0, 0), at_us=((4, Duplicate(0, 1)),))
    result = run(backend, machine, graph, policy)
    assert rows(result, EventKind.TASK_END, "time_ps", "worker", "task") == [
        (16 * US, 0, 0),
        (18 * US, 0, 1),
    ]
    assert len(rows(result, EventKind.FLOW_END, "task")) == 2


def test_an_idle_worker_starts_a_duplicate(backend: str) -> None:
    class Asking(Deciding):
        timer_period_s = 0.0

        def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
            return ()

        def on_idle(self, view: HookView, state: Any, worker: int) -> Duplicate | None:
            assert view.live is not None
            other = 1 - worker
            return Duplicate(other, worker) if view.live.progress(other) else None

    # Worker 1 is done at 2 us and needs 5 us for what worker 0 does in 20.
    graph = build_graph([10_000.0, 4000.0])
    result = run(backend, uneven(0.5, 2.0, costs=COSTS), graph, Asking(owner=(0, 1)))
    assert rows(result, EventKind.TASK_END, "time_ps", "worker", "task") == [
        (2 * US, 1, 1),
        (7 * US + 20, 1, 0),
    ]


def test_a_killed_task_starts_over(backend: str) -> None:
    # Killed at 4 us; the worker takes it again after the switch and is done 10 us later.
    policy = Deciding(owner=(0,), at_us=((4, Kill(0)),))
    result = run(backend, uneven(1.0, costs=COSTS), build_graph([10_000.0]), policy)
    assert rows(result, EventKind.KILL, "time_ps", "arg0", "arg1") == [
        (4 * US, Loss.KILLED, 4 * US)
    ]
    assert rows(result, EventKind.TASK_START, "time_ps") == [(0,), (4 * US + 300,)]
    assert result.summary.makespan_ps == 14 * US + 300
    assert result.summary.worker_busy_ps.tolist() == [14 * US]


def test_a_killed_task_enters_the_pool_that_on_ready_names(backend: str) -> None:
    asked = []

    class Choosing(Deciding):
        def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool:
            asked.append((task, worker))
            return Pool(0, len(asked) - 1)

    result = run(
        backend,
        uneven(1.0, 2.0, costs=COSTS),
        build_graph([10_000.0]),
        Choosing(owner=(0,), at_us=((4, Kill(0)),)),
    )
    assert asked == [(0, -1), (0, 0)]
    assert rows(result, EventKind.TASK_END, "time_ps", "worker") == [(9 * US, 1)]


def test_a_killed_original_leaves_its_duplicate(backend: str) -> None:
    policy = Deciding(owner=(0,), at_us=((4, Duplicate(0, 1)), (6, Kill(0)), (8, Preempt(1, 0))))
    result = run(backend, uneven(1.0, 1.0), build_graph([10_000.0]), policy)
    assert rows(result, EventKind.TASK_READY, "time_ps") == [(0,)]
    # Only one execution is left at 8 us: it may be moved, with 4 of 10 us done.
    assert rows(result, EventKind.TASK_END, "time_ps", "worker") == [(14 * US, 0)]
    assert result.summary.wasted_ps == 6 * US


def test_progress_by_bytes_and_operations(backend: str) -> None:
    # Two accesses of 4000 and 6000 bytes at 1 GB/s with 8000 operations at 2 per ns: the flows
    # take longer. Then a task without accesses, and one whose operations take longer than its flow.
    machine = uneven(2.0)
    machine = replace(
        machine, nodes=tuple(replace(n, bandwidth_bytes_per_s=1e9) for n in machine.nodes)
    )
    graph = build_graph(
        [8000.0, 4000.0, 20_000.0],
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses([0, 0, 2], [0, 1, 1], [4000, 6000, 1000], 0, 3),
        block_bytes=[4000, 6000],
    )
    seen: dict[int, list[Progress | None]] = {}
    run(backend, machine, graph, Deciding(owner=(0, 0, 0), seen=seen))
    assert seen[US] == [Progress(0, 0, 0, 0.25)]
    assert seen[3 * US] == [Progress(0, 0, 0, 0.75)]
    assert seen[7 * US] == [Progress(0, 0, 1, 0.5)]
    assert seen[11 * US] == [Progress(1, 10 * US, 0, 0.5)]
    assert seen[17 * US] == [Progress(2, 12 * US, 0, 0.5)]


def test_progress_after_a_move_and_without_a_task(backend: str) -> None:
    seen: dict[int, list[Progress | None]] = {}
    policy = Deciding(owner=(0,), at_us=((5, Preempt(0, 1)),), seen=seen)
    run(backend, uneven(1.0, 1.0), build_graph([10_000.0]), policy)
    assert seen[4 * US] == [Progress(0, 0, 0, 0.4), None]
    assert seen[8 * US] == [None, Progress(0, 5 * US, 0, 0.8)]


def test_bytes_found_in_a_cache_count_as_done(backend: str) -> None:
    machine = make_machine(
        domains=1,
        cores_per_domain=1,
        dram_bandwidth_bytes_per_s=1e9,
        caches=[("L1", 8000, float("inf"), 0, 1)],
    )
    graph = build_graph(
        [0.0, 0.0],
        successors=adjacency([0], [1], 2),
        accessed=accesses([0, 1], [0, 0], [2000, 8000], 0, 2),
        block_bytes=[8000],
    )
    seen: dict[int, list[Progress | None]] = {}
    run(backend, machine, graph, Deciding(owner=(0, 0), seen=seen))
    assert seen[4 * US] == [Progress(1, 2 * US, 0, 0.5)]  # 2000 found, 2000 of 6000 read


TREE = build_graph([5000.0, 5000.0], children=adjacency([0], [1], 2))


@pytest.mark.parametrize(
    ("graph", "decisions", "message"),
    [
        (TREE, [Kill(0)], "on_timer: task 0 spawns others, it cannot start over"),
        (TREE, [Duplicate(0, 1)], "on_timer: task 0 spawns others, it cannot start over"),
        (None, [Kill(1)], "on_timer: worker 1 is not executing a task"),
        (None, [Kill(7)], "on_timer: Kill: worker: found 7, accepted 0 to 1"),
        (None, [Duplicate(1, 1)], "on_timer: worker 1 is not executing a task"),
        (None, [Duplicate(0, 0)], "on_timer: worker 0 cannot take a task: it is not waiting"),
        (None, [Duplicate(0, -1)], "on_timer: Duplicate: to: found -1, accepted 0 to 1"),
        (
            None,
            [Duplicate(0, 1), Preempt(0)],
            "on_timer: task 0 is executed by several workers",
        ),
    ],
)
def test_decisions_that_cannot_be_are_refused(
    backend: str, graph: TaskGraph | None, decisions: list[Any], message: str
) -> None:
    graph = build_graph([10_000.0]) if graph is None else graph
    policy = Deciding(owner=(0,) * graph.n_tasks, at_us=tuple((2, d) for d in decisions))
    with pytest.raises(PolicyError, match=message):
        run(backend, uneven(1.0, 1.0), graph, policy)


def test_an_idle_worker_cannot_kill(backend: str) -> None:
    class Asking(Deciding):
        def on_idle(self, view: HookView, state: Any, worker: int) -> Any:
            return Kill(0)

    with pytest.raises(
        PolicyError, match=r"on_idle: .*accepted Preempt, Duplicate, Transfer or Wake"
    ):
        run(backend, uneven(1.0), build_graph([5000.0]), Asking(owner=(0,)))


@dataclass(frozen=True, kw_only=True)
class Speculating(RandomPolicy):
    """Random plans; at random leaves are duplicated, killed or moved, and progress is compared."""

    timer_period_s = 3e-6

    def on_finish(self, view: HookView, state: Any, task: int, worker: int) -> None:
        assert view.live is not None
        for other in range(view.n_workers):
            seen = view.live.progress(other)
            if seen is not None:
                assert seen.task != task  # all other executions are gone
                assert 0.0 <= seen.fraction <= 1.0
                state.integers(1 + int(seen.fraction * 1e6) + seen.phase + seen.began_ps % 1000)

    def on_idle(self, view: HookView, state: Any, worker: int) -> Any:
        return self._pick(view, state, worker) if state.integers(3) == 0 else None

    def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
        assert view.live is not None
        waiting = [w for w in range(view.n_workers) if view.live.is_waiting(w)]
        decisions = []
        if waiting and state.integers(2):
            decisions.append(self._pick(view, state, waiting[0]))
        elif state.integers(3) == 0:
            decisions.append(self._pick(view, state, None))
        return tuple(d for d in decisions if d is not None)

    @staticmethod
    def _pick(view: HookView, state: Any, to: int | None) -> Any:
        assert view.live is not None
        graph = view.workload.graph
        leaf = np.diff(graph.child_ptr) == 0
        running = [(w, view.live.running_task(w)) for w in range(view.n_workers)]
        leaves = [w for w, task in running if task >= 0 and leaf[task]]
        if not leaves or view.live.now_ps() > 300 * US:
            return None
        victim = leaves[int(state.integers(len(leaves)))]
        return Kill(victim) if to is None else Duplicate(victim, to)


SEEDS = st.integers(0, 2**32)


@settings(max_examples=25)
@given(SEEDS, SEEDS, SEEDS)
def test_backends_agree_on_random_instances(machine: int, workload: int, policy: int) -> None:
    program = replace(random_workload(workload), init=None)
    case = compare(random_machine(machine), program, Speculating(choice=policy), seed=policy % 1000)
    assert case.difference == ""


@settings(max_examples=25)
@given(SEEDS, SEEDS, SEEDS)
def test_traces_are_sound(machine: int, workload: int, policy: int) -> None:
    program = replace(random_workload(workload), init=None)
    try:
        result = simulate(random_machine(machine), program, Speculating(choice=policy), events=True)
    except SimschedError:
        return  # memory too small
    assert trace_violations(result) == []
    assert result.trace is not None
    parts = time_parts(result)
    assert sum(parts.seconds.values()) == pytest.approx(parts.makespan_s, rel=1e-6, abs=1e-12)
    assert len(work_times(result.trace).seconds) >= program.graph.n_tasks
