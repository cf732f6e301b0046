"""Parts of a makespan where workers change their core, its speed or their pace; all by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.waterfall import group_of, time_parts
from simsched.engine.run import simulate
from simsched.machine.model import Change, CoreGroup, Machine
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireStep,
    Exchange,
    HookView,
    Pace,
    Plan,
    PlanView,
    Preempt,
)
from simsched.policy.contract.executions import Kill
from simsched.testing.battery import BACKENDS
from simsched.trace.run import Run
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
KB = 1000  # bytes that take a microsecond at 1e9 per second

pytestmark = pytest.mark.parametrize("backend", BACKENDS)


@dataclass(frozen=True, kw_only=True)
class Deciding(CentralQueue):
    """Task t belongs to worker `owner[t]`; decisions fall at given microseconds."""

    timer_period_s = 1e-6
    owner: tuple[int, ...] = (0,)
    at_us: tuple[tuple[int, Any], ...] = ()

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        step = AcquireStep("worker", "own", "oldest")
        return Plan(acquire=(step,), instance_of=np.array(self.owner, np.int32))

    def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
        assert view.live is not None
        return tuple(d for us, d in self.at_us if us * US == view.live.now_ps())


def cores(*speeds: float, caches: Any = (), kinds: tuple[str, ...] = ()) -> Machine:
    """One domain with a core of each speed in operations per ns, and memory of 1 GB/s for each."""
    machine = make_machine(
        domains=1,
        cores_per_domain=len(speeds),
        dram_bandwidth_bytes_per_s=16e9,
        core_cap_bytes_per_s=1e9,
        caches=caches,
    )
    named = kinds or (machine.core_groups[0].kind,) * len(speeds)
    groups = tuple(
        CoreGroup(f"g{i}", kind, s * 1e9, (1.0,))
        for i, (kind, s) in enumerate(zip(named, speeds, strict=True))
    )
    return replace(machine, core_groups=groups, core_group=np.arange(len(speeds), dtype=np.int32))


def changing(machine: Machine, *changes: tuple[float, tuple[int, ...], float]) -> Machine:
    """The machine with changes at given microseconds."""
    return replace(machine, changes=tuple(Change(int(us * US), c, left) for us, c, left in changes))


def program(*tasks: tuple[float, tuple[int, ...]]) -> TaskGraph:
    """Independent tasks with operations, and kilobytes that each of their accesses reads."""
    sizes = [size * KB for _, reads in tasks for size in reads]
    owner = [task for task, (_, reads) in enumerate(tasks) for _ in reads]
    number = np.arange(len(sizes))
    return build_graph(
        [ops for ops, _ in tasks],
        accessed=accesses(owner, number, sizes, 0, len(tasks)),
        block_bytes=sizes,
    )


def run(backend: str, machine: Machine, graph: TaskGraph, policy: Deciding | None = None) -> Run:
    policy = policy or Deciding(owner=(0,) * graph.n_tasks)
    return simulate(machine, Workload("w", graph), policy, backend=backend, events=True)


def sums_us(result: Run) -> dict[str, float]:
    """Microseconds of all workers in each part, or group of parts, that is not empty."""
    parts, n = time_parts(result), len(result.worker_thread)
    assert sum(parts.seconds.values()) == pytest.approx(parts.makespan_s, rel=1e-9)
    if not result.machine.caches:
        assert parts.seconds["cache"] == 0.0
    found: dict[str, float] = {}
    for name, value in parts.seconds.items():
        found[group_of(name)] = found.get(group_of(name), 0.0) + value * n * 1e6
    return {name: value for name, value in found.items() if abs(value) > 1e-6}


def about(**parts: float) -> Any:
    return pytest.approx(parts, rel=1e-6)


# -------------------------------------------------------------------------------------------------
# cores change their speed


def test_operations_on_a_slowed_core_are_computation(backend: str) -> None:
    # 4000 of 10000 operations in 4 us, the other 6000 at half speed in 12 us; 15 kB take 15 us.
    machine = changing(cores(1.0), (4, (0,), 0.5))
    assert sums_us(run(backend, machine, program((10_000, (15,))))) == about(compute=16)


def test_speeds_are_followed_from_segment_to_segment(backend: str) -> None:
    # Two accesses of 4 kB with 3000 operations each; the speed is 1, from 1 us on 0.5, from 9 us
    # on 0.25: the first takes 1 + 4 us, the second 4 us for 2000 operations and 4 us for 1000.
    machine = changing(cores(1.0), (1, (0,), 0.5), (9, (0,), 0.25))
    assert sums_us(run(backend, machine, program((6000, (4, 4))))) == about(compute=13)


def test_waiting_for_memory_is_what_slow_operations_leave(backend: str) -> None:
    # 2000 operations: 1 us at full speed, then 1000 at a quarter in 4 us; 40 kB take 40 us.
    machine = changing(cores(1.0), (1, (0,), 0.25))
    assert sums_us(run(backend, machine, program((2000, (40,))))) == about(compute=5, memory=35)


def test_hits_in_caches_stay_what_they_are_on_a_slowed_core(backend: str) -> None:
    # At half speed from the start, each iteration computes 20 us. The first reads 10 kB in 10 us
    # meanwhile; in the second the core stands still for a hit at 5 kB/us, 2 us.
    cache = ("L2", 64 * KB, 5e9, 0, 1, 0.0, 0, 0.0, 0.0)  # nothing of a hit is overlapped
    machine = changing(cores(1.0, caches=[cache]), (0, (0,), 0.5))
    workload = Workload("w", program((10_000, (10,))), iterations=2)
    result = simulate(machine, workload, Deciding(), backend=backend, events=True)
    assert sums_us(result) == about(compute=40, cache=2)


def test_speeds_hold_in_the_iterations_that_follow(backend: str) -> None:
    # Core 1 becomes slow in the second iteration, at 4 us. Worker 1 reads for 3 us and computes for
    # 2 us, then 1 + 2 us, then 4 us; worker 0 for 2 us in each, and waits for the other.
    machine = changing(cores(1.0, 1.0), (4, (1,), 0.5))
    workload = Workload("w", program((2000, (2,)), (2000, (3,))), iterations=3)
    policy = Deciding(owner=(0, 1))
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert sums_us(result) == about(compute=9 + 6, memory=1, idle=1 + 1 + 2)


# -------------------------------------------------------------------------------------------------
# workers swap threads


def test_operations_on_the_core_of_another_are_computation(backend: str) -> None:
    # 4000 operations in 4 us, then 6000 at half speed; with the way back at 9 us 2500 until then.
    machine, graph = cores(1.0, 0.5), program((10_000, (12,)))
    policy = Deciding(at_us=((4, Exchange(0, 1)),))
    assert sums_us(run(backend, machine, graph, policy)) == about(compute=16, idle=16)
    policy = Deciding(at_us=((4, Exchange(0, 1)), (9, Exchange(1, 0))))
    assert sums_us(run(backend, machine, graph, policy)) == about(compute=12.5, idle=12.5)


def test_what_begins_after_a_swap_has_the_speed_of_the_new_core(backend: str) -> None:
    # Worker 0 swaps at 2 us: 1000 of 3000 operations are left, 2 us; then 40 kB in 40 us beside
    # 5000 operations at half speed, 10 us. Worker 1 is never busy.
    policy = Deciding(owner=(0, 0), at_us=((2, Exchange(0, 1)),))
    result = run(backend, cores(1.0, 0.5), program((3000, (1,)), (5000, (40,))), policy)
    assert sums_us(result) == about(compute=14, memory=30, idle=44)


def test_both_workers_of_a_swap_are_followed(backend: str) -> None:
    # At 5 us worker 0 has 5000 of 10000 left, 10 us; worker 1 has 7500 left, 7.5 us.
    policy = Deciding(owner=(0, 1), at_us=((5, Exchange(1, 0)),))
    result = run(backend, cores(1.0, 0.5), program((10_000, (14,)), (10_000, (12,))), policy)
    assert sums_us(result) == about(compute=15 + 12.5, idle=2.5)


def test_speeds_stay_with_cores_in_a_swap(backend: str) -> None:
    # Core 0 at a quarter from 2 us on, core 1 at a half from 6 us on. Worker 0 is on core 0 until
    # 4 us (2000 + 500), then on core 1 (2000 until 6 us, then 0.5): 5500 left take 11 us.
    machine = changing(cores(1.0, 1.0), (2, (0,), 0.25), (6, (1,), 0.5))
    policy = Deciding(at_us=((4, Exchange(0, 1)),))
    result = run(backend, machine, program((10_000, (16,))), policy)
    assert sums_us(result) == about(compute=17, idle=17)


def test_the_cost_of_a_swap_is_not_waiting_for_caches(backend: str) -> None:
    # As above, 16 us, and 3 us longer.
    policy = Deciding(at_us=((4, Exchange(0, 1, 3_000_000)),))
    result = run(backend, cores(1.0, 0.5), program((10_000, (15,))), policy)
    assert sums_us(result) == about(compute=19, idle=19)


def test_the_cost_of_a_swap_is_not_waiting_for_hits(backend: str) -> None:
    # The second iteration begins at 10 us and finds its 10 kB in the cache of worker 0, 2 us; it
    # goes over to the other core at 15 us, after 3000 of 10000 operations, and waits for 30 us.
    cache = ("L2", 64 * KB, 5e9, 0, 1, 0.0, 0, 0.0, 0.0)
    policy = Deciding(at_us=((15, Exchange(0, 1, 30_000_000)),))
    workload = Workload("w", program((10_000, (10,))), iterations=2)
    machine = cores(1.0, 1.0, caches=[cache])
    result = simulate(machine, workload, policy, backend=backend, events=True)
    assert result.summary.makespan_ps == 52 * US
    assert sums_us(result) == about(compute=10 + 10 + 30, cache=2, idle=52)


def test_operations_are_those_of_the_core_on_which_a_body_begins(backend: str) -> None:
    # Task 0 costs 4000 on kind "a", 1000 on kind "b": 2000 in each of two segments. The first has
    # done 1000 before the swap and takes 3 us, the second begins on the other core and takes 4 us.
    # Task 1 begins there: 4000 in 8 us instead of 1000 on "a". Reads take 2, 2 and 6 us.
    machine = cores(1.0, 0.5, kinds=("a", "b"))
    graph = replace(
        program((0, (2, 2)), (0, (6,))),
        kinds=("a", "b"),
        ops=np.array([[4000.0, 1000.0], [1000.0, 4000.0]]),
        join_ops=np.zeros((2, 2)),
    )
    policy = Deciding(owner=(0, 0), at_us=((1, Exchange(0, 1)),))
    assert sums_us(run(backend, machine, graph, policy)) == about(compute=15, idle=15)


def three_on_two_cores() -> tuple[Machine, int, int, int]:
    """Cores of two threads that share 1 op/ns and 1 GB/s: two workers on one, one on the other."""
    machine = make_machine(
        domains=1,
        cores_per_domain=2,
        smt_throughput=(1.0, 1.0),
        dram_bandwidth_bytes_per_s=16e9,
        core_cap_bytes_per_s=(1e9, 1e9),
    )
    core = machine.thread_core[machine.place_workers(3)]
    alone = int(np.flatnonzero(np.bincount(core)[core] == 1)[0])
    one, other = (worker for worker in range(3) if worker != alone)
    return machine, one, other, alone


def test_a_core_is_shared_with_those_who_are_on_it(backend: str) -> None:
    # One swaps with who is alone at 5 us. One: 2500 of 8500, the rest in 6 us; other: 5500 in
    # 11 us; alone: 5000 of 8000, the rest in 6 us; its 7 kB take 5 us and 4 us at half the rate.
    machine, one, other, alone = three_on_two_cores()
    policy = Deciding(owner=(one, other, alone), at_us=((5, Exchange(one, alone)),))
    workload = Workload("w", program((8500, (5,)), (5500, (5,)), (8000, (7,))))
    result = simulate(machine, workload, policy, workers=3, backend=backend, events=True)
    assert result.summary.makespan_ps == 11 * US
    assert sums_us(result) == about(compute=33)


def test_the_rate_of_memory_is_that_of_the_present_core(backend: str) -> None:
    # The one that was alone moves to the busy other at 1 us: 1000 of 2000 operations are left, 2
    # us; then it reads 20 kB at half of the core's rate, 40 us, which is no waiting for others.
    # The other does 1000 of 30000 operations alone, 21000 in 42 us, and the last 8000 alone.
    machine, one, other, alone = three_on_two_cores()
    policy = Deciding(owner=(other, alone, alone), at_us=((1, Exchange(one, alone)),))
    workload = Workload("w", program((30_000, ()), (2000, (1,)), (0, (20,))))
    result = simulate(machine, workload, policy, workers=3, backend=backend, events=True)
    assert result.summary.makespan_ps == 51 * US
    assert sums_us(result) == about(compute=51 + 3, memory=40, idle=51 + 8)


# -------------------------------------------------------------------------------------------------
# paces


def test_operations_at_a_lower_pace_are_computation(backend: str) -> None:
    # Twice 5000 operations and 6 us of reading: 4000 in 4 us and 1000 in 2 us, then 10 us at half
    # pace.
    policy, graph = Deciding(at_us=((4, Pace(0, 0.5)),)), program((10_000, (6, 6)))
    assert sums_us(run(backend, cores(1.0), graph, policy)) == about(compute=16)
    # Back at 10 us, after 2000 of the second 5000: the other 3000 in 3 us.
    policy = Deciding(at_us=((4, Pace(0, 0.5)), (10, Pace(0, 1.0))))
    assert sums_us(run(backend, cores(1.0), graph, policy)) == about(compute=13)


def test_a_pace_does_not_end_the_waiting_for_memory(backend: str) -> None:
    # 4000 operations: 3 us at full speed, 4 us at a quarter; the bytes take 40 us whatever it is.
    policy = Deciding(at_us=((3, Pace(0, 0.25)), (20, Pace(0, 1.0))))
    result = run(backend, cores(1.0), program((4000, (40,))), policy)
    assert sums_us(result) == about(compute=7, memory=33)


def test_paces_stay_with_workers_in_a_swap(backend: str) -> None:
    # Half a pace from 2 us on, half a core from 4 us on: 2000 + 1000, then 7000 at a quarter, the
    # last 5000 of them in a segment of their own.
    policy = Deciding(at_us=((2, Pace(0, 0.5)), (4, Exchange(0, 1))))
    result = run(backend, cores(1.0, 0.5), program((10_000, (12, 12))), policy)
    assert sums_us(result) == about(compute=32, idle=32)


# -------------------------------------------------------------------------------------------------
# what is lost, and shares of operations


def test_bytes_that_a_preempted_task_waited_for_are_memory(backend: str) -> None:
    # 1000 operations and 10 kB; taken off at 4 us, after 3 us of waiting. What the other worker
    # still reads, 6 us, is not known from the trace and counts as computation.
    policy = Deciding(at_us=((4, Preempt(0, 1)),))
    result = run(backend, cores(1.0, 1.0), program((1000, (10,))), policy)
    assert sums_us(result) == about(compute=1 + 6, memory=3, idle=10)


def test_bytes_that_a_killed_task_waited_for_are_memory(backend: str) -> None:
    # Killed at 4 us, it starts over: 1000 operations and 10 kB again.
    policy = Deciding(at_us=((4, Kill(0)),))
    result = run(backend, cores(1.0), program((1000, (10,))), policy)
    assert sums_us(result) == about(compute=1 + 1, memory=3 + 9)


def test_operations_are_shared_as_the_graph_says(backend: str) -> None:
    # 10 and 2 us of operations beside two reads of 6 us: the second waits for 4 us.
    graph = replace(program((12_000, (6, 6))), access_share=np.array([10 / 12, 2 / 12]))
    assert sums_us(run(backend, cores(1.0), graph)) == about(compute=12, memory=4)
