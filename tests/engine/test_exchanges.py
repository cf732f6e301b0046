"""Workers that swap hardware threads; every time follows from the law by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import ModelError, PolicyError
from simsched.machine.model import Change, CoreGroup, Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireStep,
    Exchange,
    HookView,
    Plan,
    PlanView,
    Ranked,
    Uniform,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second


@dataclass(frozen=True, kw_only=True)
class Moving(CentralQueue):
    """Task t belongs to worker `owner[t]`; threads are swapped at given microseconds."""

    timer_period_s = 1e-6
    chooses_processors = True  # `owner` does
    owner: tuple[int, ...] = ()
    at_us: tuple[tuple[int, Any], ...] = ()
    steps: tuple[AcquireStep, ...] = (AcquireStep("worker", "own", "oldest"),)

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(acquire=self.steps, instance_of=np.array(self.owner, np.int32))

    def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
        assert view.live is not None
        return tuple(d for us, d in self.at_us if us * US == view.live.now_ps())


def run(backend: str, machine: Machine, graph: TaskGraph, policy: Moving) -> Run:
    workload = Workload("w", graph)
    return simulate(machine, workload, policy, backend=backend, events=True)


def times(result: Run, kind: EventKind) -> dict[int, tuple[int, int]]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    columns = (events[name][chosen].tolist() for name in ("task", "worker", "time_ps"))
    return {task: (worker, time) for task, worker, time in zip(*columns, strict=True)}


def two_speeds() -> Machine:
    """Two domains of one core; the second computes at 0.5 operations per ns instead of 1."""
    machine = make_machine(domains=2, cores_per_domain=1)
    kind = machine.core_groups[0].kind
    groups = (*machine.core_groups, CoreGroup("little", kind, 0.5e9, (1.0,)))
    return replace(machine, core_groups=groups, core_group=np.array([0, 1], np.int32))


def test_a_task_goes_on_at_the_speed_of_the_other_core(backend: str) -> None:
    # 4000 of 10000 operations are done at 4 us; the other 6000 take 12 us.
    policy = Moving(owner=(0,), at_us=((4, Exchange(0, 1)),))
    result = run(backend, two_speeds(), build_graph([10_000.0]), policy)
    assert times(result, EventKind.TASK_END)[0] == (0, 16 * US)
    # Back again after 2500 operations in 5 us: 3500 at full speed.
    policy = Moving(owner=(0,), at_us=((4, Exchange(0, 1)), (9, Exchange(1, 0))))
    result = run(backend, two_speeds(), build_graph([10_000.0]), policy)
    assert times(result, EventKind.TASK_END)[0] == (0, 12_500_000)
    assert result.trace is not None
    events = result.trace.events
    rows = events["kind"] == EventKind.EXCHANGE
    assert events["time_ps"][rows].tolist() == [4 * US, 9 * US]
    assert list(zip(events["arg0"][rows], events["arg1"][rows], strict=True)) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_nobody_goes_to_a_core_that_has_failed(backend: str, pair: tuple[int, int]) -> None:
    machine = replace(two_speeds(), changes=(Change(3 * US, (1,), 0.0),))
    policy = Moving(owner=(0,), at_us=((4, Exchange(*pair)),))
    result = run(backend, machine, build_graph([10_000.0]), policy)
    assert times(result, EventKind.TASK_END)[0] == (0, 10 * US)
    assert result.trace is not None
    assert not (result.trace.events["kind"] == EventKind.EXCHANGE).any()  # none has taken place
    assert result.summary.exchanges == 0


def test_two_running_tasks_swap_their_speeds(backend: str) -> None:
    policy = Moving(owner=(0, 1), at_us=((5, Exchange(1, 0)),))
    result = run(backend, two_speeds(), build_graph([10_000.0, 10_000.0]), policy)
    # Worker 0 has 5000 left and does them at 0.5; worker 1 has 7500 left and does them at 1.
    ended = times(result, EventKind.TASK_END)
    assert ended == {1: (1, 12_500_000), 0: (0, 15 * US)}


def test_a_flow_goes_on_over_the_way_of_the_other_domain(backend: str) -> None:
    # 10 kB at 1 GB/s from the own node, from 4 us on at 0.5 GB/s over the link; the second task
    # reads its block from its new neighbour.
    machine = make_machine(
        domains=2,
        cores_per_domain=1,
        dram_bandwidth_bytes_per_s=1e9,
        link_bandwidth_bytes_per_s=0.5e9,
    )
    graph = build_graph(
        [0.0, 0.0],
        successors=adjacency([0], [1], 2),
        accessed=accesses([0, 1], [0, 1], [10_000, 2000], 0, 2),
        block_bytes=[10_000, 2000],
    )
    policy = Moving(owner=(0, 0), at_us=((4, Exchange(0, 1)),))
    result = run(backend, machine, graph, policy)
    assert times(result, EventKind.TASK_END) == {0: (0, 16 * US), 1: (0, 18 * US)}
    # Counted where the access began; first touch by the second task is in the new domain.
    assert result.summary.node_bytes.tolist() == [[[10_000, 0], [0, 2000]]]


def test_caches_stay_behind(backend: str) -> None:
    # Three tasks of worker 0 read one block of 5 kB at 1 GB/s; a hit takes no time. The first has
    # it in its cache at 5 us; the second begins at 10 us on the other core; the third is back.
    machine = make_machine(
        domains=1,
        cores_per_domain=2,
        dram_bandwidth_bytes_per_s=1e9,
        caches=[("L1", 8000, float("inf"), 0, 1)],
    )
    graph = build_graph(
        [0.0, 5000.0, 0.0, 0.0],
        successors=adjacency([0, 1, 2], [1, 2, 3], 4),
        accessed=accesses([0, 2, 3], [0, 0, 0], 5000, 0, 4),
        block_bytes=[5000],
    )
    still = Moving(owner=(0,) * 4)
    assert run(backend, machine, graph, still).makespan_s == pytest.approx(10e-6)
    moved = Moving(owner=(0,) * 4, at_us=((7, Exchange(0, 1)), (12, Exchange(0, 1))))
    result = run(backend, machine, graph, moved)
    assert times(result, EventKind.TASK_END)[3] == (0, 15 * US)
    assert result.summary.cache_hits.sum() == 1
    assert result.summary.cache_misses.sum() == 2


def test_the_others_of_both_cores_notice(backend: str) -> None:
    # Two threads of a core compute at 0.65 each. Workers 0 and 1 share the first core, 2 has the
    # second one for itself; at 4 us worker 1 swaps with the idle worker 3.
    machine = make_machine(domains=1, cores_per_domain=2, smt_throughput=(1.0, 1.3))
    assert machine.thread_core[machine.place_workers()].tolist() == [0, 0, 1, 1]
    owner = (0, 2, 1)
    policy = Moving(owner=owner, at_us=((4, Exchange(1, 3)),))
    result = run(backend, machine, build_graph([10_000.0] * 3), policy)
    ended = dict(times(result, EventKind.TASK_END).values())
    # Worker 0: 2600 at 0.65, 7400 alone. Worker 2: 4000 alone, 6000 at 0.65. Worker 1: 2600 and as
    # long as worker 2 computes at 0.65, the rest alone.
    assert ended[0] == 4 * US + 7_400_000
    assert ended[2] == 4 * US + 9_230_770
    assert ended[1] == pytest.approx(4 * US + 9_230_770 + 1_400_000, abs=2)


def test_pools_stay_and_distances_change(backend: str) -> None:
    costs = RuntimeCosts(steal_ps=(10, 20, 50))
    machine = make_machine(domains=2, cores_per_domain=2, costs=costs)
    rank = np.full((4, 4), -1, np.int32)
    rank[0, 1] = 0
    steps = (
        AcquireStep("worker", "same_domain", "oldest", choice=Ranked(rank)),
        AcquireStep("worker", "own", "oldest", choice=Uniform(least=2)),
    )
    graph = build_graph([5000.0], arrival_ps=[3 * US])
    for swaps, cost in ((), 20), (((1, Exchange(1, 2)),), 50), (((1, Exchange(0, 1)),), 20):
        policy = Moving(owner=(1,), at_us=swaps, steps=steps)
        result = run(backend, machine, graph, policy)
        assert times(result, EventKind.TASK_START)[0] == (0, 3 * US + cost)


def test_a_core_that_cannot_run_a_task_says_so(backend: str) -> None:
    machine = two_speeds()
    groups = (machine.core_groups[0], replace(machine.core_groups[1], kind="gpu"))
    machine = replace(machine, core_groups=groups)
    graph = build_graph([5000.0, 5000.0], successors=adjacency([0], [1], 2))
    ops = np.array([[5000.0, 5000.0], [5000.0, np.inf]])
    graph = replace(graph, ops=ops, join_ops=np.zeros((2, 2)), kinds=("cpu", "gpu"))
    graph = replace(graph, kinds=(machine.core_groups[0].kind, "gpu"))
    policy = Moving(owner=(0, 0), at_us=((2, Exchange(0, 1)),))
    with pytest.raises(ModelError, match=r"task 1 cannot run on worker 0.*'gpu'"):
        run(backend, machine, graph, policy)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Exchange(0, 0), "on_timer: Exchange: other: found 0, accepted another worker"),
        (Exchange(0, 2), "on_timer: Exchange: other: found 2, accepted 0 to 1"),
        (Exchange(-1, 1), "on_timer: Exchange: worker: found -1, accepted 0 to 1"),
    ],
)
def test_exchanges_that_cannot_be_are_refused(
    backend: str, decision: Exchange, message: str
) -> None:
    policy = Moving(owner=(0,), at_us=((2, decision),))
    with pytest.raises(PolicyError, match=message):
        run(backend, two_speeds(), build_graph([5000.0]), policy)


def test_idle_workers_do_not_swap(backend: str) -> None:
    class Asking(Moving):
        def on_idle(self, view: HookView, state: Any, worker: int) -> Any:
            return Exchange(0, 1)

    with pytest.raises(
        PolicyError, match=r"on_idle: .*accepted Preempt, Duplicate, Transfer or Wake"
    ):
        run(backend, two_speeds(), build_graph([5000.0]), Asking(owner=(0,)))
