"""Short runs whose every start and end follows from docs/semantics.md by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import (
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    Policy,
    PoolGroup,
    Preempt,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
COSTS = RuntimeCosts(
    pop_ps=1000,
    steal_probe_ps=(1, 31, 7),
    steal_ps=(10, 20, 50),
    lock_hold_ps=7,
    context_switch_ps=2000,
)


def run(
    backend: str,
    machine: Machine,
    graph: TaskGraph,
    policy: Policy | None = None,
    iterations: int = 1,
    **options: Any,
) -> Run:
    workload = Workload("w", graph, iterations)
    chosen = policy or CentralQueue()
    return simulate(machine, workload, chosen, backend=backend, events=True, **options)


def events(result: Run, kind: EventKind, *names: str) -> list[tuple[int, ...]]:
    assert result.trace is not None
    columns = result.trace.events
    chosen = columns["kind"] == kind
    return list(zip(*(columns[name][chosen].tolist() for name in names), strict=True))


def one_domain(cores: int, **options: Any) -> Machine:
    return make_machine(domains=1, cores_per_domain=cores, **options)


def reader(n_bytes: int, ops: float = 0.0) -> TaskGraph:
    """One task that reads one block."""
    return build_graph([ops], accessed=accesses([0], [0], n_bytes, 0, 1), block_bytes=[n_bytes])


# -------------------------------------------------------------------------------------------
# time


@pytest.mark.parametrize("by", ["computation", "flow"])
def test_rounding_to_picoseconds_does_not_add_up(backend: str, by: str) -> None:
    # 1000 times a third of a nanosecond, one after the other.
    n = 1000
    chain = adjacency(range(n - 1), range(1, n), n)
    if by == "computation":
        graph = build_graph(np.ones(n), successors=chain)
    else:
        read = accesses(range(n), [0] * n, 1, 0, n)
        graph = build_graph(np.zeros(n), successors=chain, accessed=read, block_bytes=[1])
    machine = one_domain(1, ops_per_s=3e9, dram_bandwidth_bytes_per_s=3e9)
    assert run(backend, machine, graph).summary.makespan_ps == 333_334


def test_of_two_ends_in_one_picosecond_the_later_one_counts(backend: str) -> None:
    # Each of 1000 tasks computes for 333.5 ps and reads for 333.33 ps.
    n = 1000
    graph = build_graph(
        np.full(n, 333.5),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(range(n), [0] * n, 1, 0, n),
        block_bytes=[1],
    )
    machine = one_domain(1, ops_per_s=1e12, dram_bandwidth_bytes_per_s=3e9)
    assert abs(run(backend, machine, graph).summary.makespan_ps - 333_500) <= 1


def test_arrivals_are_waited_for(backend: str) -> None:
    graph = build_graph([1000.0, 1000.0], arrival_ps=[0, 5 * US])
    result = run(backend, one_domain(1), graph, iterations=2)
    assert events(result, EventKind.TASK_START, "time_ps", "task") == [
        (0, 0),
        (5 * US, 1),
        (6 * US, 0),
        (11 * US, 1),
    ]


# -------------------------------------------------------------------------------------------
# cores and memory


def test_a_siblings_end_changes_a_flows_cap(backend: str) -> None:
    machine = one_domain(1, smt_throughput=(1.0, 1.0), core_cap_bytes_per_s=(3e9, 4e9))
    graph = build_graph([0.0, 1e6], accessed=accesses([0], [0], 10**7, 0, 2), block_bytes=[10**7])
    # The computation takes 2 ms at half speed; meanwhile 4 MB arrive at 2 GB/s, then 6 at 3 GB/s.
    result = run(backend, machine, graph)
    assert events(result, EventKind.TASK_END, "time_ps", "task") == [
        (2000 * US, 1),
        (4000 * US, 0),
    ]


def test_a_full_node_sends_first_touch_to_the_next_one(backend: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=1, dram_capacity_bytes=1000)

    def touched(sizes: list[int]) -> list[tuple[int, ...]]:
        n = len(sizes)
        graph = build_graph(
            np.zeros(n), accessed=accesses(range(n), range(n), sizes, 0, n), block_bytes=sizes
        )
        result = run(backend, machine, graph, workers=1)
        return events(result, EventKind.FIRST_TOUCH, "arg0", "arg1")

    assert touched([600, 600, 400]) == [(0, 0), (1, 1), (2, 0)]
    with pytest.raises(ModelError, match="block 2 of 600 bytes finds no room"):
        touched([600, 600, 600])


def test_a_cache_keeps_what_a_smaller_access_leaves_out(backend: str) -> None:
    graph = build_graph(
        np.zeros(3),
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses(range(3), [0, 0, 0], [5000, 1000, 5000], 0, 3),
        block_bytes=[5000],
    )
    machine = one_domain(1, caches=[("L1", 10_000, 100e9, 0, 1)])
    summary = run(backend, machine, graph).summary
    assert summary.cache_hit_bytes.sum() == 6000
    assert summary.requested_bytes - summary.node_bytes.sum() == 6000


def test_an_access_of_no_bytes_touches_and_takes_its_share_of_the_operations(backend: str) -> None:
    graph = build_graph(
        [3000.0], accessed=accesses([0, 0, 0], [0, 1, 2], 0, 0, 1), block_bytes=[0, 64, 64]
    )
    result = run(backend, one_domain(1, local_latency_ps=500), graph)
    assert [t for (t,) in events(result, EventKind.ACCESS, "time_ps")] == [0, US, 2 * US]
    assert len(events(result, EventKind.FIRST_TOUCH, "arg0")) == 3
    assert result.summary.makespan_ps == 3 * US


# -------------------------------------------------------------------------------------------
# the search for work


def test_a_thief_pays_the_steal_and_an_owner_the_pop(backend: str) -> None:
    policy = make_policy("random_stealing", {"roots": "first"})
    result = run(backend, one_domain(2, costs=COSTS), build_graph([1000.0, 1000.0]), policy)
    # Both tasks lie with worker 0; it takes the newest, the thief the oldest.
    assert events(result, EventKind.TASK_START, "time_ps", "worker", "task") == [
        (20, 1, 0),
        (1000, 0, 1),
    ]
    assert events(result, EventKind.STEAL, "worker", "arg0", "arg1") == [(1, 0, 1)]


def test_a_remote_thief_pays_for_the_distance(backend: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=1, costs=COSTS)
    policy = make_policy("random_stealing", {"roots": "first"})
    result = run(backend, machine, build_graph([1000.0, 1000.0]), policy)
    assert events(result, EventKind.TASK_START, "time_ps", "worker") == [(50, 1), (1000, 0)]


def test_thieves_wait_for_the_victims_lock(backend: str) -> None:
    policy = make_policy("random_stealing", {"roots": "first"})
    machine = one_domain(3, costs=replace(COSTS, steal_probe_ps=(0,)))
    result = run(backend, machine, build_graph([1000.0] * 3), policy)
    stolen = [t for t, w in events(result, EventKind.TASK_START, "time_ps", "worker") if w > 0]
    assert stolen == [20, 27]


def test_a_child_with_unfinished_predecessors_is_not_started_by_its_parent(backend: str) -> None:
    # The thief of the continuation creates task 2, which has to wait for its sibling.
    graph = build_graph(
        [0.0, 5000.0, 1000.0],
        children=adjacency([0, 0], [1, 2], 3),
        successors=adjacency([1], [2], 3),
    )
    result = run(backend, one_domain(2), graph, make_policy("cilk"))
    assert len(events(result, EventKind.STEAL, "task")) == 1
    assert events(result, EventKind.SPAWN, "time_ps", "arg0", "arg1") == [(0, 1, 0), (0, 2, 1)]
    assert events(result, EventKind.TASK_START, "time_ps", "task")[1:] == [(0, 1), (5 * US, 2)]


def test_creating_a_child_costs_time_at_the_present_speed(backend: str) -> None:
    # Two busy threads of one core have half of its speed each.
    machine = one_domain(1, smt_throughput=(1.0, 1.0))
    graph = build_graph(
        [1e3, 0.0, 10_000.0], children=adjacency([0], [1], 3), creation_ops=[9e9, 3000.0, 9e9]
    )
    result = run(backend, machine, graph, make_policy("cilk"))
    assert events(result, EventKind.TASK_START, "time_ps", "task") == [(0, 0), (0, 2), (8 * US, 1)]
    assert result.summary.worker_spawn_ps.sum() == 6 * US


class ProbesFirst(CentralQueue):
    """Other pools of the domain are tried before the central queue."""

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "same_domain", "oldest"), AcquireStep("all", "own")),
            pool_groups=(PoolGroup("worker"), PoolGroup("all", "machine")),
            group_of=np.ones(graph.n_tasks, np.int8),
        )


@pytest.mark.parametrize(("workers", "probes_ps"), [(1, 0), (2, 15), (3, 10)])
def test_searching_workers_share_the_failed_probes(
    backend: str, workers: int, probes_ps: int
) -> None:
    # One failed probe at distance 1 costs 31 ps, divided by the workers that were waiting.
    result = run(backend, one_domain(workers, costs=COSTS), build_graph([1.0]), ProbesFirst())
    assert events(result, EventKind.TASK_START, "time_ps") == [(probes_ps + 1000,)]
    assert result.summary.failed_probes.sum() == (workers > 1)


@dataclass(frozen=True, kw_only=True)
class Conditional(CentralQueue):
    """Tasks without a parent wait in a pool of the domain that is taken from on a condition."""

    when: str = "domain_inactive"
    active: tuple[bool, ...] = (True, True, True, True)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker"),
                AcquireStep("worker", "anywhere", "oldest"),
                AcquireStep("roots", "own", "oldest", (self.when,) if self.when else ()),
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("roots", "domain", marks_active=True)),
            group_of=(graph.parent < 0).astype(np.int8),
            active_workers=np.array(self.active),
            spawn_order=1,
        )


def test_a_domain_is_active_until_the_descendants_have_ended(backend: str) -> None:
    # Two roots with two children of 1 us each: four workers could run all children at once.
    graph = build_graph(
        [0.0, 0.0, 1e3, 1e3, 1e3, 1e3], children=adjacency([0, 0, 1, 1], [2, 3, 4, 5], 6)
    )
    free = run(backend, one_domain(4), graph, Conditional(when=""))
    alone = run(backend, one_domain(4), graph, Conditional())
    assert free.summary.makespan_ps == US
    assert alone.summary.makespan_ps == 2 * US
    assert events(alone, EventKind.TASK_START, "time_ps", "task")[3] == (US, 1)


@pytest.mark.parametrize("head", [0, 2])
def test_only_the_first_active_worker_of_a_domain_is_its_head(backend: str, head: int) -> None:
    active = tuple(worker >= head for worker in range(4))
    policy = Conditional(when="head_worker", active=active)
    result = run(backend, one_domain(4), build_graph([1000.0] * 3), policy)
    assert events(result, EventKind.TASK_START, "time_ps", "worker") == [
        (0, head),
        (US, head),
        (2 * US, head),
    ]


# -------------------------------------------------------------------------------------------
# preemption


@dataclass(frozen=True, kw_only=True)
class Mover(CentralQueue):
    """Preempts the only running task once, after 1 us, for a waiting worker or for the pool."""

    timer_period_s = 1e-6
    hand_over: bool = True

    def start(self, view: PlanView) -> list[int]:
        return []

    def on_timer(self, view: HookView, state: list[int]) -> tuple[Preempt, ...]:
        assert view.live is not None
        running = [w for w in range(view.n_workers) if view.live.running_task(w) >= 0]
        if state or not running:
            return ()
        state.append(running[0])
        waiting = [w for w in range(view.n_workers) if view.live.is_waiting(w)]
        return (Preempt(running[0], waiting[0] if self.hand_over else None),)


def join_only(ops: float) -> TaskGraph:
    return build_graph([0.0, 0.0], join_ops=[ops, 0.0], children=adjacency([0], [1], 2))


@pytest.mark.parametrize(
    ("graph", "alone_ps"),
    [
        (build_graph([10_000.0]), 10 * US),
        (join_only(10_000.0), 10 * US),
        (reader(10**6), 100 * US + 700),
        (reader(10**6, 200_000.0), 200 * US),
    ],
    ids=["body", "join", "flow", "flow and computation"],
)
def test_a_moved_task_continues_where_it_was(backend: str, graph: TaskGraph, alone_ps: int) -> None:
    machine = one_domain(2, costs=COSTS, local_latency_ps=700)
    result = run(backend, machine, graph, Mover())
    begin = events(result, EventKind.TASK_START, "time_ps")[-1][0]
    # The latency is paid once; the new worker pays a context switch and a steal at distance 1.
    assert result.summary.makespan_ps == begin + alone_ps + 2000 + 20
    ((time, victim, taker),) = events(result, EventKind.PREEMPT, "time_ps", "worker", "arg1")
    assert (time, {victim, taker}) == (US, {0, 1})
    assert events(result, EventKind.TASK_END, "worker")[-1] == (taker,)


def test_a_task_that_is_moved_while_it_waits_for_its_latency_waits_for_the_rest(
    backend: str,
) -> None:
    # The flow ends after 0.5 us, the task 2 us later.
    machine = one_domain(2, costs=replace(COSTS, pop_ps=0), local_latency_ps=2 * US)
    result = run(backend, machine, reader(5000), Mover())
    assert result.summary.makespan_ps == 2_500_000 + 2000 + 20


def test_a_moved_task_goes_on_with_its_other_accesses(backend: str) -> None:
    graph = build_graph(
        [0.0], accessed=accesses([0, 0], [0, 1], 10**6, 0, 1), block_bytes=[10**6] * 2
    )
    result = run(backend, one_domain(2, costs=replace(COSTS, pop_ps=0)), graph, Mover())
    assert result.summary.makespan_ps == 200 * US + 2000 + 20
    assert len(events(result, EventKind.FLOW_END, "arg0")) == 2


class PinnedMover(Mover):
    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        own = np.arange(graph.n_tasks, dtype=np.int32)
        return Plan(acquire=(AcquireStep("worker"),), instance_of=own)


def test_a_moved_task_runs_at_the_speed_of_its_new_core(backend: str) -> None:
    machine = one_domain(2, smt_throughput=(1.0, 1.0), costs=replace(COSTS, pop_ps=0))
    graph = build_graph([10_000.0, 10_000.0])
    options = {"workers": 3, "pinning": "compact"}
    result = run(backend, machine, graph, PinnedMover(), **options)
    # Both have done 500 operations after 1 us; task 1 shares its core until the switch is paid.
    assert events(result, EventKind.TASK_END, "time_ps", "worker", "task") == [
        (US + 2000 + 9_499_000, 1, 1),
        (US + 2000 + 20 + 9_500_000, 2, 0),
    ]


def test_a_task_put_back_is_continued_by_who_takes_it(backend: str) -> None:
    graph = build_graph([10_000.0])
    policy = Mover(hand_over=False)
    alone = run(backend, one_domain(1, costs=COSTS), graph, policy)
    # Pop, run, switch, pop again.
    assert alone.summary.makespan_ps == 1000 + 10 * US + 2000 + 1000
    # The other worker is woken and takes it after its own pop.
    both = run(backend, one_domain(2, costs=COSTS), graph, policy)
    assert both.summary.makespan_ps == 1000 + 10 * US + 1000


class Snatcher(CentralQueue):
    """A worker that finds nothing takes over the running task, once."""

    def start(self, view: PlanView) -> list[int]:
        return []

    def on_idle(self, view: HookView, state: list[int], worker: int) -> Preempt | None:
        assert view.live is not None
        running = [w for w in range(view.n_workers) if view.live.running_task(w) >= 0]
        if state or not running:
            return None
        state.append(worker)
        return Preempt(running[0], worker)


def test_an_idle_worker_snatches_across_domains(backend: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=1, costs=COSTS)
    result = run(backend, machine, build_graph([1000.0, 10_000.0]), Snatcher())
    assert result.summary.makespan_ps == 1000 + 10 * US + 2000 + 50
    ends = events(result, EventKind.TASK_END, "worker", "task")
    assert [task for _, task in ends] == [0, 1]
    assert ends[0][0] == ends[1][0]


class Marked(CentralQueue):
    """Tasks with an even number come from a pool that marks; the others need an inactive domain."""

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker", "same_domain", "oldest"),
                AcquireStep("marked", "own", "oldest"),
                AcquireStep("late", "own", "oldest", ("domain_inactive",)),
            ),
            pool_groups=(
                PoolGroup("worker"),
                PoolGroup("marked", "domain", marks_active=True),
                PoolGroup("late", "domain"),
            ),
            group_of=(1 + np.arange(graph.n_tasks) % 2).astype(np.int8),
        )


def test_all_workers_of_a_domain_that_becomes_inactive_look_for_work(backend: str) -> None:
    machine = one_domain(2, costs=RuntimeCosts(steal_probe_ps=(1, 31, 7)))
    result = run(backend, machine, build_graph([10_000.0, 1e3, 0.0, 1e3]), Marked())
    ends = {task: t for t, task in events(result, EventKind.TASK_END, "time_ps", "task")}
    starts = events(result, EventKind.TASK_START, "time_ps", "task")
    # Each pays the whole probe of its sibling's empty pool.
    assert starts[2:] == [(ends[0] + 31, 1), (ends[0] + 31, 3)]


class MarkedMover(Marked, Mover):
    """Both at once."""


def test_a_task_that_is_taken_twice_keeps_its_domain_active_once(backend: str) -> None:
    graph = build_graph([10_000.0, 1000.0])
    result = run(backend, one_domain(2), graph, MarkedMover(hand_over=False))
    assert len(events(result, EventKind.PREEMPT, "task")) == 1
    assert events(result, EventKind.TASK_START, "time_ps", "task") == [(0, 0), (10 * US, 1)]
