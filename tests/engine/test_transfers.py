"""Entries that travel between pools: when they leave, are nowhere, arrive, and whom that wakes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.metrics import run_metrics
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError, StalledError
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    PoolGroup,
    Preempt,
    Transfer,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
COSTS = RuntimeCosts(barrier_ps=20 * US, pop_ps=11, steal_ps=(10, 20), lock_hold_ps=7, push_ps=3)


@dataclass(frozen=True, kw_only=True)
class OwnersOnly(CentralQueue):
    """Task t is pushed to worker `instance[t]`; nobody takes from another worker's pool."""

    timer_period_s = 2e-6
    instance: tuple[int, ...] = ()
    at_us: tuple[tuple[int, Transfer | Preempt], ...] = ()
    wished: Any = None

    def __post_init__(self) -> None:
        pass

    def start(self, view: PlanView) -> list[Any]:
        return []

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            pool_groups=(PoolGroup("worker", locked=True),),
            instance_of=np.array(self.instance, np.int32),
        )

    def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
        assert view.live is not None
        now = view.live.now_ps()
        state.append((now, [view.live.queue_length(0, w) for w in range(view.n_workers)]))
        return tuple(decision for us, decision in self.at_us if us * US == now)


@dataclass(frozen=True, kw_only=True)
class Asking(OwnersOnly):
    """An idle worker sends for what `wished(worker, turn)` says."""

    timer_period_s = 0.0

    def on_idle(self, view: HookView, state: Any, worker: int) -> Transfer | None:
        state.append(worker)
        answer: Transfer | None = self.wished(worker, state.count(worker))
        return answer


def run(
    backend: str,
    policy: OwnersOnly,
    us: list[float],
    arrival_us: list[float] | None = None,
    iterations: int = 1,
) -> Run:
    arrival = np.zeros(len(us)) if arrival_us is None else np.array(arrival_us)
    graph = build_graph(np.array(us) * 1000.0, arrival_ps=(arrival * US).astype(np.int64))
    machine = make_machine(domains=1, cores_per_domain=3, costs=COSTS)
    return simulate(machine, Workload("w", graph, iterations), policy, backend=backend, events=True)


def rows(result: Run, kind: EventKind, *names: str) -> list[tuple[int, ...]]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    return list(zip(*(events[name][chosen].tolist() for name in names), strict=True))


def starts(result: Run) -> dict[int, tuple[int, int]]:
    return {
        task: (worker, time)
        for task, worker, time in rows(result, EventKind.TASK_START, "task", "worker", "time_ps")
    }


@pytest.mark.parametrize(
    ("take", "count", "moved"),
    [("oldest", 1, [1]), ("newest", 2, [4, 3]), ("oldest", 99, [1, 2, 3, 4])],
)
def test_entries_arrive_in_the_order_in_which_they_left(
    backend: str, take: str, count: int, moved: list[int]
) -> None:
    # Worker 0 executes task 0 for 20 us, tasks 1 to 4 wait behind it. At 2 us some are sent to
    # worker 1, where they arrive at 5.5 us.
    policy = OwnersOnly(
        instance=(0,) * 5, at_us=((2, Transfer(0, 0, 0, 1, count, int(3.5 * US), take)),)
    )
    result = run(backend, policy, [20, 1, 1, 1, 1])
    began = starts(result)
    landing = 5 * US + US // 2
    # The owner pays its locked pop; landing entries take no lock.
    cost = 7 + 11
    for turn, task in enumerate(moved):
        assert began[task] == (1, landing + cost + turn * (US + cost))
    assert {began[task][0] for task in range(5) if task not in moved} == {0}
    assert rows(result, EventKind.TRANSFER, "time_ps", "worker", "task", "arg0", "arg1") == [
        (2 * US, -1, -1, 0, len(moved))
    ]
    row = run_metrics(result.summary, result.machine, result.workload, result.worker_thread)
    assert (row["transfers"], row["transferred_tasks"], row["steals"]) == (1, len(moved), 0)
    ready = rows(result, EventKind.TASK_READY, "time_ps", "worker", "task", "arg1")
    assert [row for row in ready if row[0] > 0] == [(landing, -1, task, 1) for task in moved]


@pytest.mark.parametrize(("task", "moved"), [(1, [1]), (3, [3]), (4, [4]), (0, [])])
def test_a_named_entry_leaves_from_wherever_it_is(
    backend: str, task: int, moved: list[int]
) -> None:
    # Task 0 is running, so that no pool holds it.
    policy = OwnersOnly(instance=(0,) * 5, at_us=((2, Transfer(0, 0, 0, 1, 9, 1 * US, task=task)),))
    result = run(backend, policy, [20, 1, 1, 1, 1])
    began = starts(result)
    assert [t for t in range(5) if began[t][0] == 1] == moved
    stayed = [t for t in range(5) if t not in moved]
    assert sorted(stayed, key=lambda t: began[t][1]) == stayed
    assert [row[0] for row in rows(result, EventKind.TRANSFER, "arg1")] == [len(moved)]
    counted = result.summary.transfers, result.summary.transferred_tasks
    assert counted == (len(moved), len(moved))  # one that finds nothing is none


@pytest.mark.parametrize(("task", "stolen"), [(None, [(2 * US, 2, 1, 0, 1)]), (0, [])])
def test_a_transfer_of_a_thief_is_a_steal(
    backend: str, task: int | None, stolen: list[tuple[int, ...]]
) -> None:
    # Of two entries the first one is named. Task 0 is running, so nothing leaves.
    transfer = Transfer(0, 0, 0, 1, 2, 1 * US, task=task, thief=2)
    policy = OwnersOnly(instance=(0,) * 5, at_us=((2, transfer),))
    result = run(backend, policy, [20, 1, 1, 1, 1])
    columns = ("time_ps", "worker", "task", "arg0", "arg1")
    assert rows(result, EventKind.STEAL, *columns) == stolen
    row = run_metrics(result.summary, result.machine, result.workload, result.worker_thread)
    assert (row["steals"], row["steals_same_domain"]) == (len(stolen),) * 2


def test_nobody_steals_from_a_pool_that_belongs_to_no_worker(backend: str) -> None:
    transfer = Transfer(1, 0, 0, 1, 1, 1 * US, thief=1)

    class Shared(OwnersOnly):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            groups = (PoolGroup("worker"), PoolGroup("rest", "domain"))
            own = AcquireStep("worker", "own", "oldest")
            return replace(super().plan(view, state, graph), acquire=(own,), pool_groups=groups)

    with pytest.raises(PolicyError, match=r"thief: found 1 for a pool of a domain, accepted one"):
        run(backend, Shared(instance=(0,) * 2, at_us=((2, transfer),)), [20, 1])


def test_on_their_way_entries_are_in_no_pool(backend: str) -> None:
    seen: list[Any] = []

    class Watched(OwnersOnly):
        def start(self, view: PlanView) -> list[Any]:
            return seen

    policy = Watched(instance=(0,) * 4, at_us=((2, Transfer(0, 0, 0, 0, 2, 5 * US)),))
    result = run(backend, policy, [9, 1, 1, 1])
    lengths = {now // US: queues[0] for now, queues in seen}
    assert [lengths[us] for us in (2, 4, 6, 8)] == [3, 1, 1, 3]
    # They come back behind the one that stayed.
    began = starts(result)
    assert sorted(began, key=lambda task: began[task][1]) == [0, 3, 1, 2]


def test_transfers_of_one_instant_land_in_the_order_of_the_decisions(backend: str) -> None:
    # All land at 6 us; the third, decided at 4 us, has the highest number.
    policy = OwnersOnly(
        instance=(0,) * 4,
        at_us=(
            (2, Transfer(0, 0, 0, 1, 1, 4 * US, "newest")),
            (2, Transfer(0, 0, 0, 1, 1, 4 * US)),
            (4, Transfer(0, 0, 0, 1, 1, 2 * US)),
        ),
    )
    began = starts(run(backend, policy, [20, 1, 1, 1]))
    assert sorted((1, 2, 3), key=lambda task: began[task][1]) == [3, 1, 2]
    assert {began[task][0] for task in (1, 2, 3)} == {1}


def test_an_idle_worker_asks_again_when_the_answer_brings_nothing(backend: str) -> None:
    # Worker 1 asks worker 2, which never has anything, then worker 0, at 3 us, and gets task 2.
    def wished(worker: int, turn: int) -> Transfer | None:
        if worker != 1:
            return None
        return Transfer(0, 2 if turn == 1 else 0, 0, 1, 1, 2 * US, "newest")

    policy = Asking(instance=(0, 1, 0), wished=wished)
    result = run(backend, policy, [50, 1, 1], [0, 0, 0])
    idle = US + 7 + 11
    assert rows(result, EventKind.TRANSFER, "time_ps", "worker", "arg0", "arg1")[:2] == [
        (idle, 1, 2, 0),
        (idle + 2 * US, 1, 0, 1),
    ]
    assert starts(result)[2] == (1, idle + 4 * US + 7 + 11)
    woken = rows(result, EventKind.WAKE, "time_ps", "worker", "arg0")
    assert (idle + 2 * US, 1, 1) in woken


def test_empty_answers_do_not_keep_a_run_alive(backend: str) -> None:
    # Task 1 waits in a pool that belongs to an inactive worker.
    class OneActive(Asking):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(
                acquire=(AcquireStep("worker", "own"),),
                instance_of=np.array([0, 2], np.int32),
                active_workers=np.array([True, True, False]),
            )

    policy = OneActive(wished=lambda worker, turn: Transfer(0, 1, 0, 0, 1, 1 * US))
    with pytest.raises(StalledError, match="task 1 is in pool group 0 instance 2"):
        run(backend, policy, [5, 5])


def test_an_unanswered_request_ends_with_the_iteration(backend: str) -> None:
    # Worker 1 asks at 1, 4 and 7 us; tasks end at 8 us, the barrier is over at 28 us.
    policy = Asking(
        instance=(0, 1),
        wished=lambda worker, turn: Transfer(0, 2, 0, 1, 1, 3 * US) if worker == 1 else None,
    )
    result = run(backend, policy, [8, 1], iterations=2)
    asked = [time // US for (time,) in rows(result, EventKind.TRANSFER, "time_ps")]
    assert asked == [1, 4, 7, 29, 32, 35]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Transfer(0, 3, 0, 1, 1, 1 * US), "on_timer: Transfer: instance: found 3, accepted 0 to 2"),
        (Transfer(0, 0, 0, 1, 1, 1 * US, task=99), "Transfer: task: found 99, accepted 0 to 0"),
        (Transfer(0, 0, 0, 1, 1, 1 * US, task=-3), "Transfer: task: found -3, accepted 0 to 0"),
        (Transfer(0, 0, 1, 0, 1, 1 * US), "on_timer: Transfer: to_group: found 1, accepted 0 to 0"),
        (Transfer(0, 0, 0, 1, 0, 1 * US), "Transfer: count: found 0, accepted 1 to"),
        (
            Transfer(0, 0, 0, 1, 1, -1),
            "Transfer: delay_ps: found -1, accepted 0 to 4611686018427387904",
        ),
        (
            Transfer(0, 0, 0, 1, 1, 10**20),
            "delay_ps: found 1.*0, accepted 0 to 4611686018427387904",
        ),
        (Transfer(0, 0, 0, 1, 1, 1e-6), "delay_ps: found 1e-06, accepted an integer"),
        (Transfer(0, 0, 0, 1, 1, 1 * US, "old"), "on_timer: Transfer: .*'old'.*oldest"),
        ((0, 0), r"on_timer: found \(0, 0\), accepted Preempt, Duplicate, Kill, Exchange"),
    ],
)
def test_transfers_that_cannot_be_are_refused(backend: str, decision: Any, message: str) -> None:
    policy = OwnersOnly(instance=(0,), at_us=((2, decision),))
    with pytest.raises(PolicyError, match=message):
        run(backend, policy, [5])


def test_idle_workers_send_to_pools_that_exist(backend: str) -> None:
    policy = Asking(instance=(0,), wished=lambda worker, turn: Transfer(0, 0, 0, 9, 1, 1 * US))
    with pytest.raises(
        PolicyError, match="on_idle: Transfer: to_instance: found 9, accepted 0 to 2"
    ):
        run(backend, policy, [5])
