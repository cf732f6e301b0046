"""Schedulers of threads against their formulas and against what they promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import Run, simulate
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.age_based import assign_by_age, executed_ops
from simsched.policy.camp import utility_factor
from simsched.policy.executions import Progress
from simsched.trace.schema import EventKind
from simsched.workload import make_workload
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload
from tests.policy.test_asymmetric import uneven

SECOND = {"phase_ops": 1e9}  # on a core of 1e9 operations per second
SLICES: dict[str, Any] = {"slice_s": 0.01, "balance_s": 0.05}


@pytest.fixture(params=["simpy", "native"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(
    backend: str, machine: Machine, policy: str, parameters: dict[str, Any], **threads: Any
) -> Run:
    workload = make_workload("threads", {**SECOND, **threads})
    made = make_policy(policy, {**SLICES, **parameters})
    return simulate(machine, workload, made, backend=backend, events=True)


def ends(result: Run) -> dict[int, tuple[int, float]]:
    """Return worker and time of the end of each task."""
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == EventKind.TASK_END
    columns = (events[name][chosen].tolist() for name in ("task", "worker", "time_ps"))
    return {task: (w, time * 1e-12) for task, w, time in zip(*columns, strict=True)}


def equal_cores(n: int) -> Machine:
    return make_machine(domains=1, cores_per_domain=n)


def test_threads_have_the_announced_shape() -> None:
    for barriers, edges in ((True, 2 * 25), (False, 2 * 5)):
        graph = make_workload("threads", {"threads": 5, "phases": 3, "barriers": barriers}).graph
        graph.validate()
        assert graph.n_tasks == 15
        assert len(graph.succ) == edges
    graph = make_workload("threads", {"threads": 5, "phases": 3, "critical_ops": 7.0}).graph
    graph.validate()
    assert graph.n_tasks == 30
    assert graph.class_names[5:7] == ("thread0.critical", "thread1.critical")
    # Within threads, along the critical sections of a phase, and from the last of all to a phase.
    assert len(graph.succ) == 15 + 3 * 4 + 2 * 25


def test_a_queue_shares_its_core_by_time_slices(backend: str) -> None:
    found = ends(run(backend, equal_cores(1), "linux_lb", {}, threads=2, phases=1))
    assert found[0][1] == pytest.approx(1.99)
    assert found[1][1] == pytest.approx(2.0)


def test_queue_lengths_alone_keep_to_the_bound(backend: str) -> None:
    # Three threads on two cores, T = 1: at most (T + 1) S for each stretch of S = 1 s between
    # barriers. Three against two is left alone, so one core works for 1 s on the thread that it has
    # for itself; then it is idle and takes one of the others, which have 0.5 s left.
    linux = run(backend, equal_cores(2), "linux_lb", {}, threads=3, phases=2)
    assert 2 * 1.5 <= linux.makespan_s <= 2 * 2.0
    # With as many threads on every core nobody has reason to move.
    even = run(backend, equal_cores(2), "linux_lb", {}, threads=4, phases=2)
    assert even.makespan_s == pytest.approx(4.0)


def test_balancing_speeds_uses_what_queue_lengths_leave(backend: str) -> None:
    # At best all three share two cores equally: 1.5 s for each stretch, against (T + 1) S = 2 s.
    balanced = run(backend, equal_cores(2), "speed_balancing", {}, threads=3, phases=2)
    assert 2 * 1.5 <= balanced.makespan_s < 2 * 1.75


def test_a_thread_that_has_a_core_for_itself_counts_as_fast(backend: str) -> None:
    # Thread 1 runs for 0.05 s at speed 1, the others at 1/2: it is joined by one of them although
    # it has never stopped. At the end of its first second it has not got a whole second.
    found = ends(run(backend, equal_cores(2), "speed_balancing", {}, threads=3, phases=1))
    assert all(1.2 < end_s <= 1.51 for _, end_s in found.values())


def test_an_idle_fast_core_pulls_the_only_thread_of_a_slow_one(backend: str) -> None:
    # Speeds 1/2 and, without a thread, 1: the mean is 3/4.
    machine = uneven(1e9, 2e9)
    result = run(backend, machine, "speed_balancing", {}, threads=1, phases=1, phase_ops=4e9)
    assert ends(result)[0] == (1, pytest.approx(0.05 + 3.95 / 2))
    # On equal cores nobody gains from a move.
    alone = run(backend, equal_cores(2), "speed_balancing", {}, threads=1, phases=1)
    assert alone.makespan_s == pytest.approx(1.0)
    assert ends(alone)[0][0] == 0


def test_linux_pulls_waiting_threads_from_longer_queues() -> None:
    # Threads belong to cores in turn; those of cores 0 and 1 are all that is left after 1 s.
    machine = equal_cores(4)
    workload = make_workload("threads", {"threads": 8, "phases": 1, "spread": 0.9, **SECOND})
    total_s = float(workload.graph.ops.sum()) / 1e9
    result = simulate(machine, workload, make_policy("linux_lb", SLICES))
    assert total_s / 4 <= result.makespan_s < 1.5 * total_s / 4


@pytest.mark.parametrize(
    ("speedup", "threads", "fast", "factor"),
    [(2.0, 4, 4, 2.0), (2.0, 1, 4, 2.0), (2.0, 5, 4, 0.5), (3.0, 8, 4, 3.0 / 25)],
)
def test_the_utility_factor_is_equation_5_1(
    speedup: float, threads: int, fast: int, factor: float
) -> None:
    assert utility_factor(speedup, threads, fast) == factor


def test_age_gives_the_oldest_the_fastest_core() -> None:
    perf = np.array([1.0, 4.0, 2.0])
    assert assign_by_age(np.array([5.0, 9.0, 7.0]), perf) == [0, 1, 2]
    assert assign_by_age(np.array([5.0]), perf) == [1]
    # Seven units each: targets 5, 20, 10. The first goes to core 1 (13 left), the second too (6),
    # then core 2 (3 left), core 1 again (-1): two threads and one core without threads remain.
    found = assign_by_age(np.full(5, 7.0), perf)
    assert found == [1, 1, 2, 1, 0]


def test_a_profile_puts_the_long_thread_on_the_fast_core(backend: str) -> None:
    machine = uneven(1e9, 2e9)  # thread 0 begins on the slow core
    workload = make_workload("threads", {"threads": 2, "phases": 1})
    graph = replace(workload.graph, ops=np.array([[4e9, 1e9]]))
    workload = replace(workload, graph=graph)
    policy = make_policy("age_ljfcf_profile", SLICES)
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert ends(result)[0][0] == 1
    assert result.makespan_s < 2.2


def test_progress_is_less_on_a_slow_core(backend: str) -> None:
    # Both threads have 4e9 operations to go. The one on the slow core falls behind, so that it gets
    # the fast one, and so on: both end after 8e9 / 3e9 s. By the time that they have been executed
    # they would be equal: one would end after 2 s, the other one after 3 s.
    threads = {"threads": 2, "phases": 1, "phase_ops": 4e9}
    result = run(backend, uneven(1e9, 2e9), "age_ljfcf_predict", {}, **threads)
    assert result.makespan_s == pytest.approx(8 / 3, rel=0.02)


def test_operations_of_accesses_follow_their_bytes() -> None:
    graph = build_graph(
        [8.0],
        accessed=accesses([0, 0], [0, 1], [300, 60], [0, 40], 1),
        block_bytes=[300, 100],
    )
    assert executed_ops(graph, Progress(0, 0, 0, 0.5)) == 3.0
    assert executed_ops(graph, Progress(0, 0, 1, 0.5)) == 7.0


def applications(ops: list[float], names: tuple[str, ...], stalling: int = -1) -> Workload:
    """A thread of each name; one of them reads a byte for each operation."""
    own = [] if stalling < 0 else [stalling]
    graph = build_graph(
        ops,
        task_class=range(len(ops)),
        class_names=names,
        accessed=accesses(own, [0] * len(own), [int(ops[t]) for t in own], 0, len(ops)),
        block_bytes=[int(ops[t]) for t in own],
    )
    return Workload("applications", graph)


@pytest.mark.parametrize(("upper", "core"), [(3.0, 0), (2.0, 1)])
def test_a_sequential_thread_of_medium_class_is_not_boosted(
    backend: str, upper: float, core: int
) -> None:
    # Alone in its application, the thread on the slow core gains a factor of 2. The other one is
    # of low class: it waits for its data.
    machine = make_machine(
        domains=1, cores_per_domain=2, dram_bandwidth_bytes_per_s=1e9, core_cap_bytes_per_s=1e9
    )
    plain = uneven(1e9, 2e9)
    machine = replace(machine, core_groups=plain.core_groups, core_group=plain.core_group)
    workload = applications([2e9, 4e9], ("a.main", "b.main"), stalling=1)
    policy = make_policy("camp", {**SLICES, "lower": 1.5, "upper": upper})
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert ends(result)[0][0] == core


def test_a_boosted_thread_comes_before_others_of_high_class(backend: str) -> None:
    # Three threads of high class, of which one is alone in its application: utility factors 2 and
    # 2 / (2 - 0)^2. It gets the fast core after 0.05 s and keeps it. Without a boost all share it.
    workload = applications([4e9, 8e9, 8e9], ("a.main", "b.x", "b.y"))
    end_s = []
    for ticks in (10**6, 0):
        policy = make_policy(
            "camp", {**SLICES, "upper": 0.4, "lower": 0.1, "amp_boost_ticks": ticks}
        )
        result = simulate(uneven(1e9, 2e9, 1e9), workload, policy, backend=backend, events=True)
        end_s.append(ends(result)[0][1])
    assert end_s[0] == pytest.approx(0.05 + 3.95 / 2)
    assert end_s[1] > 2.3


@pytest.mark.parametrize("upper", [3.0, 9.0])
def test_a_left_over_fast_core_takes_medium_and_low_threads(backend: str, upper: float) -> None:
    workload = applications([4e9], ("main",))
    policy = make_policy("camp", {**SLICES, "lower": upper - 2.0, "upper": upper})
    result = simulate(uneven(1e9, 2e9), workload, policy, backend=backend, events=True)
    core, end_s = ends(result)[0]
    assert core == 1
    assert end_s == pytest.approx(0.05 + 3.95 / 2)


def test_the_migration_thread_spreads_running_threads_to_an_idle_domain(backend: str) -> None:
    # Domains of two cores. After 1.02 s the threads of one have ended, on the other two run and to
    # pull there is nothing. Rounds at 1.05 and 1.1 s fail, the next one moves a running thread. One
    # thread on each domain is as even as it gets.
    workload = Workload(
        "w",
        build_graph(
            [4e9, 4e9, 1.02e9, 1.02e9], task_class=range(4), class_names=("a", "b", "c", "d")
        ),
    )
    machine = make_machine(domains=2, cores_per_domain=2)
    policy = make_policy("linux_lb", {**SLICES, "failed_attempts": 2})
    result = simulate(machine, workload, policy, backend=backend, events=True)
    found = ends(result)
    assert {found[0][0] // 2, found[1][0] // 2} == {0, 1}
    assert result.trace is not None
    resumed = result.trace.events["kind"] == EventKind.TASK_RESUME
    assert result.trace.events["time_ps"][resumed].tolist() == [pytest.approx(1.15e12)]


def test_stalling_threads_leave_the_big_core(backend: str) -> None:
    # Thread 1 stalls and begins on the big core; thread 0 computes.
    machine = make_machine(
        domains=1, cores_per_domain=2, dram_bandwidth_bytes_per_s=1e9, core_cap_bytes_per_s=1e9
    )
    plain = uneven(1e9, 4e9)
    machine = replace(machine, core_groups=plain.core_groups, core_group=plain.core_group)
    threads = {"threads": 2, "phases": 1, "phase_ops": 1e9, "stalling": 1, "phase_bytes": 10**9}
    for policy in ("bias_scheduling", "camp"):
        parameters = {"upper": 0.9, "lower": 0.8} if policy == "camp" else {}
        result = run(backend, machine, policy, parameters, **threads)
        assert ends(result)[0][0] == 1


def test_critical_sections_run_on_the_fast_core(backend: str) -> None:
    machine = uneven(1e9, 4e9, 1e9)
    threads = {"threads": 3, "phases": 2, "phase_ops": 1e8, "critical_ops": 1e8}
    graph = make_workload("threads", threads).graph
    critical = [t for t in range(graph.n_tasks) if graph.task_class[t] >= 3]
    found = {
        name: run(backend, machine, name, {}, **threads) for name in ("acs", "bis", "linux_lb")
    }
    assert {ends(found["acs"])[t][0] for t in critical} == {1}
    assert len({ends(found["linux_lb"])[t][0] for t in critical}) == 3
    helped = [ends(found["bis"])[t][0] for t in critical]
    assert 1 in helped
    assert helped != [1] * len(helped)
    assert found["acs"].makespan_s < found["linux_lb"].makespan_s


def test_a_real_configuration_runs_all_of_them() -> None:
    machine = load_machine("a_8_0_0_8")
    workload = make_workload(
        "threads", {"threads": 24, "phases": 2, "phase_ops": 5e7, "critical_ops": 1e5}
    )
    for name in ("linux_lb", "speed_balancing", "age_ljfcf", "camp", "bias_scheduling", "acs"):
        assert simulate(machine, workload, make_policy(name)).makespan_s > 0.0
