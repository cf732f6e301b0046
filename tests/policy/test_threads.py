"""Schedulers of threads against their formulas and against what they promise."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.asymmetric.age_based import assign_by_age, executed_ops
from simsched.policy.algorithms.asymmetric.camp import speedups, utility_factor
from simsched.policy.contract.base import PlanView, Transfer
from simsched.policy.contract.executions import Progress
from simsched.policy.parts.core_groups import CoreGroups, core_groups
from simsched.policy.parts.thread_balancing import even_out
from simsched.policy.parts.threads import Queues
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload import generate_workload
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload
from tests.policy.test_asymmetric import uneven

SECOND = {"phase_ops": 1e9}  # on a core of 1e9 operations per second
SLICES: dict[str, Any] = {"slice_s": 0.01, "balance_s": 0.05}


def run(
    backend: str, machine: Machine, policy: str, parameters: dict[str, Any], **threads: Any
) -> Run:
    workload = generate_workload("threads", {**SECOND, **threads})
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
        graph = generate_workload(
            "threads", {"threads": 5, "phases": 3, "barriers": barriers}
        ).graph
        graph.validate()
        assert graph.n_tasks == 15
        assert len(graph.succ) == edges
    graph = generate_workload("threads", {"threads": 5, "phases": 3, "critical_ops": 7.0}).graph
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
    workload = generate_workload("threads", {"threads": 8, "phases": 1, "spread": 0.9, **SECOND})
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
    workload = generate_workload("threads", {"threads": 2, "phases": 1})
    graph = replace(workload.graph, ops=np.array([[4e9, 1e9]]))
    workload = replace(workload, graph=graph)
    policy = make_policy("age_ljfcf_profile", SLICES)
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert ends(result)[0][0] == 1
    assert result.makespan_s < 2.2


RARELY = {"slice_s": 0.01, "balance_s": 100.0}


def uneven_threads(ops: list[float], iterations: int = 1) -> Workload:
    """Threads with one stretch each."""
    workload = generate_workload("threads", {"threads": len(ops), "phases": 1})
    return Workload("w", replace(workload.graph, ops=np.array([ops])), iterations)


@pytest.mark.parametrize("iterations", [1, 2])
def test_a_new_thread_and_an_idle_core_have_threads_reassigned(
    backend: str, iterations: int
) -> None:
    # Without waiting for a period, the long thread gets the fast core, 2 s, and then this takes the
    # other one, which has 1e9 of 3e9 operations to go.
    policy = make_policy("age_ljfcf_profile", RARELY)
    workload = uneven_threads([4e9, 3e9], iterations)
    result = simulate(uneven(1e9, 2e9), workload, policy, backend=backend)
    assert result.makespan_s == pytest.approx(iterations * 2.5)


def test_other_threads_follow_at_the_end_of_the_time_slice(backend: str) -> None:
    # The second thread is longer, but the first one is on the fast core when it is created. After
    # a slice that makes way: 0.01 s, then 4e9 operations at 2e9 per second.
    policy = make_policy("age_ljfcf_profile", RARELY)
    result = simulate(uneven(1e9, 2e9), uneven_threads([1e9, 4e9]), policy, backend=backend)
    assert result.makespan_s == pytest.approx(0.01 + 2.0)


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


def stalling_machine(*speeds: float) -> Machine:
    """Cores of some speeds that all read 1e9 bytes per second together."""
    plain = uneven(*speeds)
    machine = make_machine(
        domains=1,
        cores_per_domain=len(speeds),
        dram_bandwidth_bytes_per_s=1e9,
        core_cap_bytes_per_s=1e9,
    )
    return replace(machine, core_groups=plain.core_groups, core_group=plain.core_group)


@pytest.mark.parametrize(("upper", "core"), [(3.0, 0), (2.0, 1)])
def test_a_sequential_thread_of_medium_class_is_not_boosted(
    backend: str, upper: float, core: int
) -> None:
    # Alone in its application, the thread on the slow core gains a factor of 2. The other one is
    # of low class: it waits for its data.
    machine = stalling_machine(1e9, 2e9)
    workload = applications([2e9, 4e9], ("a.main", "b.main"), stalling=1)
    policy = make_policy("camp", {**SLICES, "lower": 1.5, "upper": upper})
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert ends(result)[0][0] == core


def test_a_boosted_thread_comes_before_others_of_high_class(backend: str) -> None:
    # Three threads of high class, of which one is soon alone in its application: utility factors 2
    # and 2 / (2 - 0)^2. It gets the fast core after 0.05 s and keeps it. Without a boost all share.
    workload = applications([4e9, 8e9, 8e9, 1.0], ("a.main", "b.x", "b.y", "a.ends"))
    end_s = []
    for ticks in (10**6, 0):
        policy = make_policy(
            "camp", {**SLICES, "upper": 0.4, "lower": 0.1, "amp_boost_ticks": ticks}
        )
        result = simulate(uneven(1e9, 2e9, 1e9), workload, policy, backend=backend, events=True)
        end_s.append(ends(result)[0][1])
    assert end_s[0] == pytest.approx(0.05 + 3.95 / 2)
    assert end_s[1] > 2.3


def test_a_program_of_one_thread_is_not_boosted(backend: str) -> None:
    # Two programs of high class share the fast core: 6e9 operations at 3e9 per second. The one on
    # the fast core would keep it with a boost, and the other one would end after 1.5 + 0.75 s.
    workload = applications([3e9, 3e9], ("a.main", "b.main"))
    result = simulate(uneven(1e9, 2e9), workload, make_policy("camp", SLICES), backend=backend)
    assert result.makespan_s == pytest.approx(2.0, rel=0.03)


def test_the_utility_factor_has_the_mean_speedup_of_an_application(backend: str) -> None:
    # The first thread gains a factor of 2, the second one, stalling, of 1. As one application they
    # are of medium class with a factor of 1.5, for two fast cores, and stay where they are.
    machine = stalling_machine(1e9, 2e9, 2e9)
    policy = make_policy("camp", {**SLICES, "lower": 1.1, "upper": 1.9})
    for other, core in (("b.y", 0), ("a.y", 1)):
        workload = applications([1e9, 4e9, 9e9], ("b.x", other, "c.z"), stalling=1)
        result = simulate(machine, workload, policy, backend=backend, events=True)
        assert ends(result)[0][0] == core


def test_speedups_are_those_that_the_policy_knows_of() -> None:
    # 4e9 operations and 1e9 bytes: 4 and 2 s of computing, 1 s of memory. One operation, which the
    # blind policy takes for the cost, is nothing beside that.
    machine = stalling_machine(1e9, 2e9)
    graph = build_graph([4e9], accessed=accesses([0], [0], [10**9], 0, 1), block_bytes=[10**9])
    places = machine.place_workers()
    domains = machine.core_domain[machine.thread_core[places]]
    for information, factor, stalled in (("exact", 2.0, 0.0), ("blind", 1.0, 1.0)):
        view = PlanView(
            machine,
            Workload("w", graph),
            places,
            domains,
            np.random.default_rng(0),
            information=information,
        )
        found = speedups(view, core_groups(view))
        assert [float(column[0]) for column in found] == pytest.approx([factor, stalled])


def test_the_lower_threshold_is_not_above_the_upper_one() -> None:
    with pytest.raises(ConfigurationError) as found:
        make_policy("camp", {"lower": 2.0, "upper": 1.0})
    assert str(found.value) == (
        "policy camp: parameter lower: found 2 with upper 1, accepted at most upper"
    )
    make_policy("camp", {"lower": 2.0, "upper": 2.0})


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


def test_linux_balances_the_sums_of_groups(backend: str) -> None:
    # Two threads on each core of one domain and one on each of the other, sums of 4 and 2: one
    # thread has to move at the first round, and no queue is shorter by two than any other.
    machine = make_machine(domains=2, cores_per_domain=2)
    threads = {"threads": 6, "phases": 1, "phase_ops": 2e8}
    result = run(backend, machine, "linux_lb", {}, **threads)
    assert result.trace is not None
    events = result.trace.events
    moved = (events["kind"] == EventKind.TRANSFER) & (events["time_ps"] <= 15 * 10**10)
    assert events["time_ps"][moved].tolist() == [5 * 10**10]
    assert events["arg0"][moved].tolist() == [0]  # from the first core


def test_a_thread_that_wakes_goes_to_an_idle_big_core_first(backend: str) -> None:
    # Thread 2 belongs to the small core 2, the threads of both big cores end after 0.1 s of their
    # 0.2 s. Its second stretch begins on one of them, at 0.2 s, and takes half as long.
    machine = uneven(2e9, 2e9, 1e9)
    threads = {"threads": 3, "phases": 2, "barriers": False, "phase_ops": 2e8}
    workload = generate_workload("threads", threads)
    graph = replace(workload.graph, ops=np.array([[2e8, 2e8, 2e8, 0.0, 0.0, 2e8]]))
    policy = make_policy("bias_scheduling", {"slice_s": 0.01, "balance_s": 100.0})
    result = simulate(machine, Workload("w", graph), policy, backend=backend, events=True)
    assert ends(result)[5] == (0, pytest.approx(0.3))


def test_stalling_threads_leave_the_big_core(backend: str) -> None:
    # Thread 1 stalls and begins on the big core; thread 0 computes.
    machine = stalling_machine(1e9, 4e9)
    workload = applications([1e9, 1e9], ("a.main", "b.main"), stalling=1)
    for policy in ("bias_scheduling", "camp"):
        result = simulate(
            machine, workload, make_policy(policy, SLICES), backend=backend, events=True
        )
        assert ends(result)[0][0] == 1


@pytest.mark.parametrize("policy", ["bias_scheduling", "camp"])
def test_no_thread_waits_beside_idle_cores(backend: str, policy: str) -> None:
    # Threads 0 and 4 share core 0. At 0.1 s the cores of the others are idle; each of the two has
    # then run for 0.05 s.
    workload = applications([4e9, 1e8, 1e8, 1e8, 4e9], ("a", "b", "c", "d", "e"))
    result = simulate(equal_cores(4), workload, make_policy(policy, SLICES), backend=backend)
    assert result.makespan_s == pytest.approx(0.1 + 3.95)


def test_an_idle_big_core_takes_any_thread_of_a_small_one(backend: str) -> None:
    # It stalls, but the big core comes first.
    machine = stalling_machine(1e9, 4e9)
    workload = applications([2e9], ("a",), stalling=0)
    policy = make_policy("bias_scheduling", SLICES)
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert ends(result)[0][0] == 1


class AllBusy:
    """Cores that all run something and have not failed."""

    def has_failed(self, core: int) -> bool:
        return False

    def is_waiting(self, core: int) -> bool:
        return False


def test_balancing_evens_out_loads_with_the_threads_that_suit() -> None:
    # Core 0 is fast, 1 is slow. Loads by number are 1 and 4, then 2 and 3; by speed they are 1 / 2
    # and 4, then 1 and 3, then 3 / 2 and 2: one more would be 2 on the fast core, as before.
    speed = np.array([2.0, 1.0])
    groups = CoreGroups(np.array([0, 1], np.int32), np.array([1, 1], np.int32), speed, speed)
    view: Any = SimpleNamespace(n_workers=2, live=AllBusy())
    for capacity, expected in ((np.ones(2), [4]), (speed, [4, 3])):
        state = Queues(
            groups=groups,
            thread=np.arange(5),
            is_critical=np.zeros(5, np.bool_),
            home=[0, 1, 1, 1, 1],
            waiting=[[], [2, 4, 3]],
            last_ran_ps=[0] * 5,
            moves=[0] * 5,
            task_class=np.arange(5, dtype=np.int32),
        )
        moves = even_out(view, state, capacity, lambda task, source, target: float(task))
        assert [move.task for move in moves if isinstance(move, Transfer)] == expected
        assert state.waiting == [expected, [t for t in (2, 4, 3) if t not in expected]]


def test_critical_sections_run_on_the_fast_core(backend: str) -> None:
    machine = uneven(1e9, 4e9, 1e9)
    threads = {"threads": 3, "phases": 2, "phase_ops": 1e8, "critical_ops": 1e8}
    graph = generate_workload("threads", threads).graph
    critical = [t for t in range(graph.n_tasks) if graph.task_class[t] >= 3]
    found = {name: run(backend, machine, name, {}, **threads) for name in ("acs", "linux_lb")}
    assert {ends(found["acs"])[t][0] for t in critical} == {1}
    assert len({ends(found["linux_lb"])[t][0] for t in critical}) == 3
    assert found["acs"].makespan_s < found["linux_lb"].makespan_s


def test_sections_are_critical_for_which_threads_have_waited(backend: str) -> None:
    # Four threads reach their sections at 1.5 s, none of which has been waited for. The first one
    # stays on its core, for 1 s, in which three threads wait; then each takes 0.5 s on the fast
    # core, the last one, too, for which nobody waits any more.
    machine = uneven(1e9, 1e9, 1e9, 1e9, 2e9)
    threads = {"threads": 4, "phases": 1, "phase_ops": 1.5e9, "critical_ops": 1e9}
    found = run(backend, machine, "bis", {}, **threads)
    assert [ends(found)[task][0] for task in (1, 3, 5, 7)] == [0, 4, 4, 4]
    assert found.makespan_s == pytest.approx(4.0)


def test_a_real_configuration_runs_all_of_them() -> None:
    machine = load_machine("a_8_0_0_8")
    workload = generate_workload(
        "threads", {"threads": 24, "phases": 2, "phase_ops": 5e7, "critical_ops": 1e5}
    )
    for name in ("linux_lb", "speed_balancing", "age_ljfcf", "camp", "bias_scheduling", "acs"):
        assert simulate(machine, workload, make_policy(name)).makespan_s > 0.0
