"""Asymmetric cores: AATS, snatching and static allocation against formulas and worked examples."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine import load_machine
from simsched.machine.model import CoreGroup, Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import Rest, make_policy
from simsched.policy.contract.base import Exchange, HookView, PlanView
from simsched.policy.parts.batch_gate import GATE, gated, is_batch
from simsched.policy.parts.core_groups import (
    cut_points,
    n_candidates,
    preference,
)
from simsched.policy.parts.task_classes import History, allocate
from simsched.policy.parts.thread_swaps import Seats, SwapCost, refill_ps
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload import generate_workload
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import make_small_workload

MS = 10**9  # picoseconds
F = (9.0, 4.0, 3.0, 2.0)  # ms on the fast core; f_1 exceeds the others' times on the slow one
S = tuple(2 * f for f in F)
RANDOM_VICTIM = "rts[look_s=0.001, snatch_s=0.0005]"
KNOWN_VICTIM = "rts[look_s=0.001, snatch_s=0.0005, victim=largest]"


def uneven(*ops_per_s: float, costs: RuntimeCosts | None = None) -> Machine:
    """A machine of one domain with a core of each speed."""
    machine = make_machine(
        domains=1, cores_per_domain=len(ops_per_s), costs=costs or RuntimeCosts()
    )
    kind = machine.core_groups[0].kind
    groups = tuple(CoreGroup(f"core{i}", kind, speed, (1.0,)) for i, speed in enumerate(ops_per_s))
    return replace(
        machine, core_groups=groups, core_group=np.arange(len(ops_per_s), dtype=np.int32)
    )


def toy(order: tuple[int, ...]) -> tuple[Machine, Workload]:
    """One fast and three slow cores; the tasks of the book, which the workers get in turn."""
    graph = build_graph([F[task] * 1e6 for task in order])
    return uneven(1e9, 0.5e9, 0.5e9, 0.5e9), Workload("four", graph)


def makespan_ms(backend: str, policy: str, order: tuple[int, ...], seed: int = 0) -> float:
    machine, workload = toy(order)
    made = make_policy(policy)
    return simulate(machine, workload, made, backend=backend, seed=seed).makespan_s * 1e3


def rows(run: Run, kind: EventKind, *names: str) -> list[tuple[int, ...]]:
    assert run.trace is not None
    events = run.trace.events
    chosen = events["kind"] == kind
    return list(zip(*(events[name][chosen].tolist() for name in names), strict=True))


# The book, figures 5.1 and 5.3.


@pytest.mark.parametrize("policy", ["ideal_amc", "amc_static_alg8"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2), (2, 1, 3, 0)])
def test_the_long_task_belongs_on_the_fast_core(
    backend: str, policy: str, order: tuple[int, ...]
) -> None:
    assert makespan_ms(backend, policy, order) == pytest.approx(max(F[0], *S[1:])) == F[0]


@pytest.mark.parametrize("tasks", [24, 64])
def test_the_oracle_is_not_longer_than_the_static_allocation_nor_shorter_than_the_bound(
    tasks: int,
) -> None:
    # The main worker, which has to spawn the rest, does not get the longest task itself.
    machine = load_machine("a_8_0_0_8")
    workload = generate_workload("batch", {"tasks": tasks, "iterations": 4})
    ideal, static = (
        simulate(machine, workload, make_policy(name)) for name in ("ideal_amc", "amc_static_alg8")
    )
    longest_s = float(workload.graph.ops.max()) / 2.5e9  # on the fastest core, in each iteration
    assert 4 * longest_s <= ideal.makespan_s <= static.makespan_s
    assert ideal.makespan_s < 1.001 * 4 * longest_s


def test_a_block_of_the_sorted_row_is_executed_in_its_order(backend: str) -> None:
    # Of 6, 5, 4, 3, 2 and 1 ms the fast core gets the first two, which take it 5.5 ms. The two slow
    # ones need 5 ms for 4 + 1 and 3 + 2 ms; in the order of creation it would be 6 ms.
    lengths = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    graph = build_graph(
        [0.0] + [ms * 1e6 for ms in lengths], children=adjacency([0] * 6, range(1, 7), 7)
    )
    machine, policy = uneven(2e9, 1e9, 1e9), make_policy("amc_static_alg8")
    run = simulate(machine, Workload("batch", graph), policy, backend=backend, events=True)
    assert run.makespan_s * 1e3 == pytest.approx(5.5)
    slow = [task for worker, task in rows(run, EventKind.TASK_START, "worker", "task") if worker]
    assert slow == [4, 3, 2, 1]


def test_a_bad_allocation_takes_as_long_as_the_slow_core(backend: str) -> None:
    bad = makespan_ms(backend, "pfws", (3, 0, 1, 2))
    assert bad == pytest.approx(max(S[0], S[1], F[3], S[2])) == S[0]


def test_snatching_the_right_task_pays_the_swap_and_what_is_left(backend: str) -> None:
    swap = 0.5
    found = makespan_ms(backend, KNOWN_VICTIM, (3, 0, 1, 2))
    assert found == pytest.approx(F[3] + (S[0] - F[3]) / S[0] * F[0] + swap)
    assert found > F[0] + swap  # never as good as the right allocation
    # It helps as long as a swap costs less than this:
    assert (found < S[0]) == (swap < (S[0] - F[3]) * (1 - F[0] / S[0]))


def test_random_snatching_is_never_better_and_sometimes_worse() -> None:
    known = makespan_ms("native", KNOWN_VICTIM, (3, 0, 1, 2))
    found = [makespan_ms("native", RANDOM_VICTIM, (3, 0, 1, 2), seed) for seed in range(12)]
    assert min(found) == pytest.approx(known)
    assert max(found) > known + 0.5


def test_snatching_goes_down_the_speeds(backend: str) -> None:
    # Worker 0 ends at 1 ms and takes the task of worker 1. It then sits at half its speed, finds
    # nothing to steal either, and takes the task of worker 2 from there.
    machine = uneven(4e9, 2e9, 1e9)
    graph = build_graph([4e6, 80e6, 80e6])
    policy = make_policy("rts", {"victim": "largest", "look_s": 1e-3, "snatch_s": 0.0})
    run = simulate(machine, Workload("w", graph), policy, backend=backend, events=True)
    swaps = rows(run, EventKind.EXCHANGE, "time_ps", "arg0", "arg1")
    assert swaps[:2] == [(1 * MS, 0, 1), (1 * MS, 0, 2)]


@pytest.mark.parametrize(("failed_steals", "first_ms"), [(1, {1, 2}), (50, {2})])
def test_a_core_snatches_after_so_many_victims_without_work(
    backend: str, failed_steals: int, first_ms: set[int]
) -> None:
    # The fast core has nothing left at 1 ms. One of its two victims has a task of 1 ms to steal,
    # the other one has none: who draws that one may try the other one before it snatches, or not.
    graph = build_graph([4e6, 4e6, 80e6, 0.0, 80e6])
    policy = make_policy("rts", {"failed_steals": failed_steals, "snatch_s": 0.0})
    found = set()
    for seed in range(8):
        run = simulate(
            uneven(4e9, 1e9, 1e9),
            Workload("w", graph),
            policy,
            backend=backend,
            events=True,
            seed=seed,
        )
        found.add(rows(run, EventKind.EXCHANGE, "time_ps")[0][0] // MS)
    assert found == first_ms


@pytest.mark.parametrize(
    ("refill", "cost_us"), [("none", 0.0), ("streamed", 65.536), ("by_line", 1064.96)]
)
def test_a_snatched_task_loses_its_private_cache(refill: str, cost_us: float) -> None:
    # 512 KiB: at the 8 GB/s of a core, or 8192 lines at 130 ns over two links, from core 15 to 0.
    machine = load_machine("a_8_0_0_8")
    assert refill_ps(machine, 15, 0, refill) == round(cost_us * 1e6)
    assert refill_ps(machine, 0, 0, refill) == 0
    # Of a task that says which blocks it touches the engine knows what it misses.
    plain = build_graph([1.0])
    blocks = build_graph([1.0], accessed=accesses([0], [0], [64], 0, 1), block_bytes=[64])
    threads = machine.place_workers()
    domain = machine.core_domain[machine.thread_core[threads]]
    live: Any = SimpleNamespace(
        is_waiting=lambda w: w == 0, running_task=lambda w: 0 if w == 15 else -1
    )
    for graph, expected in ((plain, cost_us + 10), (blocks, 10)):
        rng = np.random.default_rng(0)
        view = HookView(machine, Workload("w", graph), threads, domain, rng, live=live)
        seats = Seats(view)
        (swap, *_) = seats.snatch(view, graph, max, SwapCost(1e-5, refill))
        assert swap == Exchange(0, 15, round(expected * 1e6))
        assert seats.group[[0, 15]].tolist() == [1, 0]
        assert seats.thread[[0, 15]].tolist() == [15, 0]


# Algorithms 8 and 9, table 5.5, equations 5.3 to 5.5.


def test_candidates_are_counted_as_in_the_book() -> None:
    assert n_candidates(10, 4) == 84
    assert n_candidates(200, 4) == 1_293_699
    assert [n_candidates(m, 2) for m in (2, 7, 50)] == [1, 6, 49]


def test_weaker_groups_are_helped_first() -> None:
    assert [preference(g, 3) for g in range(3)] == [[0, 1, 2], [1, 2, 0], [2, 1, 0]]


@pytest.mark.parametrize("seed", range(6))
def test_cuts_are_those_of_the_published_loop(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    items, groups = int(rng.integers(4, 11)), int(rng.integers(2, 5))
    base = -np.sort(-rng.integers(1, 60, items))
    times = base[:, None] * np.cumsum(rng.integers(1, 4, groups))[None, :].astype(float)
    size = rng.integers(1, 6, groups)
    least, best = math.inf, []
    for cuts in combinations(range(1, items), groups - 1):
        bounds = [0, *cuts, items]
        spans = [times[bounds[g] : bounds[g + 1], g].sum() / size[g] for g in range(groups)]
        if not any(span > least for span in spans):
            least, best = max(spans), list(cuts)
    assert cut_points(times, size) == best
    monkeypatch.setattr("simsched.policy.parts.core_groups.MAX_CANDIDATES", 0)
    bounds = [0, *cut_points(times, size), items]
    spans = [times[bounds[g] : bounds[g + 1], g].sum() / size[g] for g in range(groups)]
    assert max(spans) == pytest.approx(least)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["amc_static_alg8", "ideal_amc", "aats"])
def test_tasks_that_no_core_can_do_are_refused(name: str) -> None:
    kernels = make_small_workload("accelerator_mix")
    with pytest.raises(ModelError, match=r"cannot run on worker [01]: it has no cost for"):
        simulate(load_machine("k40_server"), kernels, make_policy(name), workers=4)


def test_an_allocation_that_is_perfectly_balanced_meets_theorem_5_1() -> None:
    # Two fast cores and four at half the speed: 8 + 4 ms on the fast ones, 3 x 4 and 4 x 3 halves.
    fast = np.array([8.0, 4.0, 3.0, 3.0, 3.0, 3.0])
    cuts = cut_points(np.stack((fast, 2 * fast), axis=1), [2, 4])
    assert cuts == [2]
    assert fast[:2].sum() / 2 == 2 * fast[2:].sum() / 4 == 6.0


def test_the_history_follows_its_equations() -> None:
    history = History(2, 2)
    history.finish(0, 1, 0.9, 0.4)  # the first task of a class: its own time
    assert history.time_s[0].tolist() == [0.0, 0.9]
    assert history.n[0].tolist() == [0, 1]
    history.finish(0, 0, 0.30, 1.0)
    history.finish(0, 0, 0.50, 0.8)  # equation 5.3: means of times and of ipc
    assert history.time_s[0, 0] == pytest.approx(0.40)
    assert history.ipc[0] == pytest.approx(0.9)
    # Equation 5.4: not the measured 7 s, but 0.4 s * 0.9 / 0.45; the mean of that and 0.9 s.
    history.finish(0, 1, 7.0, 0.45)
    assert history.time_s[0, 1] == pytest.approx((0.9 + 0.4 * 0.9 / 0.45) / 2)
    # It also makes ipc (0.9 * 2 + 0.45) / 3, and does not count for the weight of the next one.
    assert history.ipc[0] == pytest.approx(0.75)
    assert history.n[0].tolist() == [2, 2]
    assert not history.is_complete
    history.finish(1, 0, 0.1, 1.0)
    history.finish(1, 1, 0.3, 0.5)
    assert history.is_complete
    # Equation 5.5: t_1 * ipc / mean of 0.4 and 0.45; (1.0 * 1 + 0.5) / 2 is the other ipc.
    expected = [[0.4, 0.4 * 0.75 / 0.425], [0.1, 0.1 * 0.75 / 0.5]]
    assert history.batch_time_s() == pytest.approx(np.array(expected))


@pytest.mark.parametrize(("cycles", "ipc"), [("core", [2.0, 1.0]), ("constant", [2.0, 0.25])])
def test_instructions_are_related_to_cycles_of_the_core(
    backend: str, cycles: str, ipc: list[float]
) -> None:
    # A wide core of 2 GHz and 4e9 operations per second and one of 0.5 GHz and 0.5e9: two and one
    # operation in a cycle of their own, and 0.5 / 2 in one of the first core's.
    machine = uneven(4e9, 0.5e9)
    wide = replace(machine.core_groups[0], ops_per_cycle=2.0)
    machine = replace(machine, core_groups=(wide, *machine.core_groups[1:]))
    policy = make_policy("aats", {"cycles": cycles})
    history = simulate(machine, batches(), policy, backend=backend).state.history
    assert history._ipc_sum / history.n == pytest.approx(np.array([ipc] * 4))


def test_classes_are_sorted_by_one_task_not_by_all_of_them() -> None:
    time_s = np.array([[1.0, 2.0], [5.0, 10.0], [2.0, 4.0]])
    assert allocate(time_s, np.array([1000.0, 1.0, 1.0]), np.array([1, 1])).tolist() == [1, 0, 0]


# AATS in runs.


def batches(**parameters: object) -> Workload:
    given = {"tasks": 60, "functions": 4, "spread": 0.0, "iterations": 5, **parameters}
    return generate_workload("batch", given)


def test_a_gate_is_added_to_batches_only() -> None:
    graph = batches().graph
    assert is_batch(graph)
    assert not is_batch(generate_workload("stages", {}).graph)
    assert not is_batch(build_graph([1.0, 1.0]))
    closed = gated(graph)
    closed.validate()
    assert closed.n_tasks == graph.n_tasks + 1
    assert closed.class_names[-1] == GATE
    assert (closed.in_degree[1:-1] == 1).all()


def test_no_task_of_a_batch_starts_before_all_are_created(backend: str) -> None:
    costs = RuntimeCosts(spawn_parent_first_ps=10**6, push_ps=10, steal_ps=(100,))
    run = simulate(
        uneven(2e9, 1e9, 1e9, costs=costs),
        batches(iterations=1),
        make_policy("aats"),
        backend=backend,
        events=True,
    )
    last = max(time for (time,) in rows(run, EventKind.SPAWN, "time_ps"))
    starts = [time for time, task in rows(run, EventKind.TASK_START, "time_ps", "task") if task > 0]
    assert len(starts) == 61
    assert min(starts) >= last


def workers_of(run: Run, function: int, iteration: int) -> set[int]:
    """Return who has executed the tasks of a function in a batch."""
    graph = run.workload.graph
    found = rows(run, EventKind.TASK_START, "task", "worker", "iteration")
    return {w for t, w, i in found if graph.task_class[t] == 1 + function and i == iteration}


def test_known_classes_stay_with_their_groups_unless_others_help(backend: str) -> None:
    machine = uneven(4e9, 4e9, 1e9, 1e9)
    alone = simulate(machine, batches(), make_policy("aats_np"), backend=backend, events=True)
    heavy, light = (workers_of(alone, function, 5) for function in (0, 3))
    assert heavy <= {0, 1}
    assert light <= {2, 3}
    helped = simulate(machine, batches(), make_policy("aats"), backend=backend, events=True)
    everybody = [workers_of(helped, function, 5) for function in range(4)]
    assert any(found & {0, 1} for found in everybody)
    assert any(found & {0, 1} and found & {2, 3} for found in everybody)


def test_the_heaviest_class_of_a_group_is_taken_first_where_pools_are_ordered() -> None:
    run = simulate(uneven(4e9, 1e9), batches(), make_policy("aats_ordered_pools"), events=True)
    graph = run.workload.graph
    taken = [
        int(graph.task_class[t])
        for t, w, i in rows(run, EventKind.TASK_START, "task", "worker", "iteration")
        if i == 5 and w == 0 and 0 < t < graph.n_tasks - 1
    ]
    own = [c for c in taken if c <= 2]
    assert own == sorted(own)


def speeds_of_main(run: Run) -> list[float]:
    """Return the speed of the core on which the main task of each batch has started."""
    assert run.trace is not None
    events, found = run.trace.events, []
    thread = run.worker_thread.copy()
    columns = [events[name].tolist() for name in ("kind", "worker", "task", "arg0", "arg1")]
    for kind, worker, task, first, second in zip(*columns, strict=True):
        if kind == EventKind.EXCHANGE:
            thread[[first, second]] = thread[[second, first]]
        if kind == EventKind.TASK_START and run.workload.graph.parent[task] < 0:
            core = run.machine.thread_core[thread[worker]]
            found.append(run.machine.core_groups[run.machine.core_group[core]].ops_per_s)
    return found


@pytest.mark.parametrize("policy", ["cilk[exchange_period_s=0.001]", "cilk_a", "pfws", "rts"])
def test_main_tasks_start_on_the_fastest_core(backend: str, policy: str) -> None:
    # From the second batch on, whoever came first took the main task. The fastest core is not the
    # first one here, and the worker on it changes under cilk and rts.
    machine = uneven(1e9, 4e9, 1e9, 2e9)
    run = simulate(machine, batches(), make_policy(policy), backend=backend, events=True)
    assert speeds_of_main(run) == [4e9] * 5
    assert (run.summary.exchanges > 0) == (policy == "rts" or "exchange" in policy)
    made = make_policy("pfws", {"main": "anywhere"})
    anywhere = simulate(machine, batches(), made, backend=backend, events=True)
    assert set(speeds_of_main(anywhere)) != {4e9}


def test_the_favour_is_for_one_main_task_on_cores_of_one_kind_and_different_speeds() -> None:
    one = batches().graph
    two = build_graph(np.ones(4), children=adjacency([0, 1], [2, 3], 4))
    gpu = load_machine("e5620_m2090")
    for machine, graph, changes in (
        (uneven(1e9, 2e9), one, True),
        (uneven(1e9, 1e9), one, False),
        (uneven(1e9, 2e9), two, False),
        (uneven(1e9, 2e9), build_graph(np.ones(4)), False),
        (gpu, one, False),
    ):
        threads = machine.place_workers(None)
        domain = machine.core_domain[machine.thread_core[threads]]
        rng = np.random.default_rng(0)
        view = PlanView(machine, Workload("any", graph), threads, domain, rng)
        plan = make_policy("cilk_a").plan(view, None, graph)
        assert [group.name for group in plan.pool_groups] == ["worker", "main"][: 1 + changes]
        if changes:
            assert plan.instance_of is not None
            assert (plan.instance_of[0], set(plan.instance_of[1:].tolist())) == (1, {-1})


def test_classes_that_change_places_within_a_group_are_ordered_anew() -> None:
    # Used to wait until a class changed its group. Tasks of four classes take 4, 3, 1 and 1 on
    # the fast core and twice as long on the slow one, two of each: 14 and 8 with the cut in the
    # middle, 8 and 20 or 16 and 4 otherwise. One more of the second class that takes 7 makes its
    # mean (3 + 7) / 2 = 5, more than 4: 5 * 3 + 4 * 2 = 23 and 8 with the same cut, 15 and 24 or
    # 25 and 4 otherwise.
    machine, workload = uneven(2e9, 1e9), generate_workload("stages", {"chunks": 4})
    view = PlanView(
        machine, workload, np.arange(2), np.zeros(2, np.int32), np.random.default_rng(0)
    )
    policy = make_policy("aats_ordered_pools")
    state = policy.start(view)
    policy.plan(view, state, workload.graph)
    for place, time_s in enumerate((4.0, 3.0, 1.0, 1.0)):
        state.finished += [(place, 0, time_s, 1.0), (place, 1, 2 * time_s, 0.5)]
    (first,) = policy.on_timer(view, state)
    assert policy.on_timer(view, state) == (Rest(),)
    state.finished.append((1, 0, 7.0, 1.0))
    (second,) = policy.on_timer(view, state)
    for order, expected in ((first, [0, 1, 6, 7]), (second, [1, 0, 6, 7])):
        assert order.acquire[1].choice.rank[0, state.classes].tolist() == expected
    state.finished.append((2, 0, 1.0, 1.0))  # as expected: nothing changes
    assert policy.on_timer(view, state) == (Rest(),)


def test_pipelines_are_divided_while_they_run(backend: str) -> None:
    workload = generate_workload("stages", {"chunks": 60, "shares": "1 6 3 1"})
    run = simulate(
        uneven(4e9, 4e9, 1e9, 1e9), workload, make_policy("aats"), backend=backend, events=True
    )
    orders = rows(run, EventKind.ACQUIRE_ORDER, "time_ps")
    assert orders
    assert all(time % MS == 0 for (time,) in orders)


@pytest.mark.parametrize("workload", ["batch", "stages"])
def test_equal_cores_make_it_parent_first_stealing(backend: str, workload: str) -> None:
    small = {"tasks": 40} if workload == "batch" else {"chunks": 20}
    made = generate_workload(workload, {**small, "iterations": 2})
    machine = load_machine("a_16_0_0_0")
    runs = [
        simulate(machine, made, make_policy(name), backend=backend, events=True)
        for name in ("aats", "pfws")
    ]
    for kind in (EventKind.TASK_START, EventKind.TASK_END):
        first, second = (rows(run, kind, "time_ps", "worker", "task") for run in runs)
        assert first == second


def test_functions_that_spawn_themselves_are_stolen_child_first() -> None:
    machine = uneven(2e9, 1e9)
    queens = generate_workload("queens", {"queens": 5, "task_depth": 4, "probes": 0})
    run = simulate(machine, queens, make_policy("aats"), events=True)
    orders = {order for (order,) in rows(run, EventKind.SPAWN, "arg1")}
    assert orders == {0}


def test_fewer_functions_than_groups_are_divided_too(backend: str) -> None:
    # 7 tasks of 21 and 53 of 0.42 million operations. By cycles of its own every core needs as long
    # as the first: 37 and 6 ms. The heavy ones are for the first group, the light ones for the
    # second, and the third one, which has none, helps the second before the first.
    machine = uneven(4e9, 2e9, 1e9)
    run = simulate(machine, batches(functions=2), make_policy("aats"), backend=backend, events=True)
    found = rows(run, EventKind.TASK_START, "task", "worker", "iteration")
    ended = run.workload.graph.n_tasks - 1  # the gate
    first = {w: t for t, w, i in reversed(found) if i == 5 and 0 < t < ended}
    classes = [int(run.workload.graph.task_class[first[worker]]) for worker in range(3)]
    assert classes == [1, 2, 2]
    # A single function has one pool for all: the worker that is free takes the next task.
    single = simulate(
        machine, batches(functions=1), make_policy("aats"), backend=backend, events=True
    )
    last = [t for t, i in rows(single, EventKind.TASK_START, "task", "iteration") if i == 5]
    assert last == [0, 61, *range(1, 61)]


def test_fewer_tasks_than_groups_are_allocated(backend: str) -> None:
    # 6 and 1 million operations: 3 ms on the fast core and 1 ms on the next one; both on the fast
    # core would take 3.5 ms.
    graph = build_graph([0.0, 1e6, 6e6], children=adjacency([0, 0], [1, 2], 3))
    machine, policy = uneven(2e9, 1e9, 0.5e9), make_policy("amc_static_alg8")
    run = simulate(machine, Workload("two", graph), policy, backend=backend, events=True)
    assert dict(rows(run, EventKind.TASK_START, "task", "worker")) == {0: 0, 1: 1, 2: 0}
    assert run.makespan_s * 1e3 == pytest.approx(3.0)


def test_the_ablation_snatches_the_largest_and_less_often_than_at_random() -> None:
    machine = load_machine("a_4_0_0_12")
    found = {
        name: simulate(machine, batches(tasks=128), make_policy(name)).summary.exchanges
        for name in ("aats", "aats_ts", "rts")
    }
    assert found["aats"] == 0
    assert 0 < found["aats_ts"] < found["rts"]


# Machines.


@pytest.mark.parametrize(
    ("name", "ghz_cores"),
    [
        ("a_2_2_2_10", 19.2), ("a_4_4_4_4", 25.6), ("a_2_0_0_14", 16.2), ("a_4_0_0_12", 19.6),
        ("a_8_0_0_8", 26.4), ("a_12_0_0_4", 33.2), ("a_16_0_0_0", 40.0), ("i_8_0_0_24", 43.632),
        ("i_8_8_8_8", 53.208), ("i_16_0_0_16", 53.216), ("i_24_0_0_8", 62.8),
        ("i_32_0_0_0", 72.384),
    ],
)  # fmt: skip
def test_configurations_have_the_listed_capacity(name: str, ghz_cores: float) -> None:
    machine = load_machine(name)
    speeds = [machine.core_groups[group].ops_per_s for group in machine.core_group.tolist()]
    assert sum(speeds) / 1e9 == pytest.approx(ghz_cores)
    assert speeds[0] == max(speeds)
    assert sorted(map(str, (speeds.count(s) for s in set(speeds)))) == sorted(
        count for count in name.split("_")[1:] if count != "0"
    )
