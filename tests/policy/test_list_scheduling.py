"""Static list scheduling: published examples, a plain twin, schedules that hold in simulation."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ModelError, PolicyError
from simsched.machine.model import CoreGroup
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.list_scheduling.list_scheduling import (
    ALGORITHMS,
    PAIR_RULES,
    _critical_path,
    make_schedule,
)
from simsched.policy.contract.base import PlanView
from simsched.policy.parts.native import optimistic_costs, upward_ranks
from simsched.policy.parts.schedules import Estimates, estimate
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.presets import make_workload
from simsched.workload.registry import generate_workload
from tests.engine.test_copies import MB, device_machine

Edges = list[tuple[int, int, float]]

# Topcuoglu, Hariri, Wu 2002, figure 2 and table 1.
TOPCUOGLU_COST = [
    [14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10],
    [13, 16, 9], [7, 15, 11], [5, 11, 14], [18, 12, 20], [21, 7, 16],
]  # fmt: skip
TOPCUOGLU_EDGES: Edges = [
    (0, 1, 18), (0, 2, 12), (0, 3, 9), (0, 4, 11), (0, 5, 14), (1, 7, 19), (1, 8, 16), (2, 6, 23),
    (3, 7, 27), (3, 8, 23), (4, 8, 13), (5, 7, 15), (6, 9, 17), (7, 9, 11), (8, 9, 13),
]  # fmt: skip
# Arabnejad, Barbosa 2014, figure 1 and table 1.
ARABNEJAD_COST = [
    [22, 21, 36], [22, 18, 18], [32, 27, 43], [7, 10, 4], [29, 27, 35],
    [26, 17, 24], [14, 25, 30], [29, 23, 36], [15, 21, 8], [13, 16, 33],
]  # fmt: skip
ARABNEJAD_EDGES: Edges = [
    (0, 1, 17), (0, 2, 31), (0, 3, 29), (0, 4, 13), (0, 5, 7), (1, 7, 3), (1, 8, 30), (2, 6, 16),
    (3, 7, 11), (3, 8, 7), (4, 8, 57), (5, 7, 5), (6, 9, 9), (7, 9, 42), (8, 9, 7),
]  # fmt: skip


def estimates(cost: list[list[float]], edges: Edges) -> Estimates:
    """Every worker is of its own kind and has its own node; an edge's bytes are its time."""
    costs = np.array(cost, np.float64).T
    n_workers, n = costs.shape
    source = np.array([e[0] for e in edges], np.int64)
    target = np.array([e[1] for e in edges], np.int64)
    size = np.array([e[2] for e in edges], np.float64)
    succ_ptr, succ = adjacency(source, target, n)
    pred_ptr, pred = adjacency(target, source, n)
    workers = np.arange(n_workers, dtype=np.int32)
    return Estimates(
        n_tasks=n,
        pred_ptr=pred_ptr,
        pred=pred,
        pred_bytes=size[np.argsort(target, kind="stable")],
        succ_ptr=succ_ptr,
        succ=succ,
        succ_bytes=size[np.argsort(source, kind="stable")],
        worker_row=workers,
        worker_node=workers,
        cost_s=costs,
        latency_s=np.zeros((n_workers, n_workers)),
        byte_time_s=1.0 - np.eye(n_workers),
    )


def makespan(cost: list[list[float]], edges: Edges, algorithm: str) -> float:
    return float(make_schedule(estimates(cost, edges), algorithm)[2].max())


def test_published_upward_ranks() -> None:
    known = estimates(TOPCUOGLU_COST, TOPCUOGLU_EDGES)
    ranks = upward_ranks(known, known.mean_cost_s(), known.mean_edge_s(known.succ_bytes))
    published = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]
    assert ranks == pytest.approx(published, abs=5e-4)


def test_published_makespans() -> None:
    assert makespan(TOPCUOGLU_COST, TOPCUOGLU_EDGES, "heft") == 80
    assert makespan(TOPCUOGLU_COST, TOPCUOGLU_EDGES, "cpop") == 86
    assert makespan(ARABNEJAD_COST, ARABNEJAD_EDGES, "heft") == 133
    assert makespan(ARABNEJAD_COST, ARABNEJAD_EDGES, "peft") == 122


def test_published_schedule_of_a_graph_with_a_cost_for_each_processor(tmp_path: Path) -> None:
    """Table 1 has a column for each processor, which one option could not name.

    A unit of time is a millisecond, in which a link moves 10**6 bytes. 80 is what HEFT reckons on;
    when it is executed, copies between two processors wait for each other, and in the paper do not.
    """
    lines = [
        f"  n{i + 1} [w1={a}, w2={b}, w3={c}]" for i, (a, b, c) in enumerate(TOPCUOGLU_COST)
    ] + [f"  n{u + 1} -> n{v + 1} [data={c * 1_000_000:d}]" for u, v, c in TOPCUOGLU_EDGES]
    (tmp_path / "heft.dot").write_text("\n".join(["digraph {", *lines, "}"]))
    spec = "heft.dot[cost.p1=w1, cost.p2=w2, cost.p3=w3, cost_unit=ms, edge_bytes=data]"
    workload = make_workload(f"{tmp_path}/{spec}")
    assert workload.graph.kinds == ("p1", "p2", "p3")
    machine = make_machine(
        domains=3,
        cores_per_domain=1,
        core_cap_bytes_per_s=1e9,
        dram_bandwidth_bytes_per_s=1e12,
        remote_latency_ps=0,
    )
    machine = replace(
        machine,
        core_groups=tuple(
            CoreGroup(kind, kind, 1e9, includes_accesses=True) for kind in workload.graph.kinds
        ),
        core_group=np.arange(3, dtype=np.int32),
        in_place=np.eye(3, dtype=bool),
    )
    run = simulate(machine, workload, make_policy("heft"))
    domain = machine.core_domain[machine.thread_core[run.worker_thread]]
    view = PlanView(machine, workload, run.worker_thread, domain, np.random.default_rng(0))
    worker, _, finish = make_schedule(estimate(view, workload.graph), "heft")
    assert finish.max() == pytest.approx(0.080, rel=1e-9)
    # Figure 3a: tasks 2 and 8 on P1, 4, 6, 9 and 10 on P2, the others on P3.
    assert worker.tolist() == [2, 0, 2, 1, 2, 1, 2, 0, 1, 1]
    assert run.makespan_s >= 0.080


def random_case(seed: int) -> tuple[list[list[float]], Edges]:
    """A random graph of up to 14 tasks on 1 to 4 unequal workers."""
    rng = np.random.default_rng(seed)
    n, workers = int(rng.integers(1, 15)), int(rng.integers(1, 5))
    cost = rng.integers(1, 30, (n, workers)).astype(float).tolist()
    edges = [
        (a, b, float(rng.integers(0, 25)))
        for a in range(n)
        for b in range(a + 1, n)
        if rng.random() < 0.25
    ]
    return cost, edges


def plain_list(cost: list[list[float]], edges: Edges, order: list[int], *, by_start: bool) -> float:
    """The insertion rule as published, on sorted lists of busy intervals; returns the makespan."""
    busy: list[list[tuple[float, float]]] = [[] for _ in cost[0]]
    place: dict[int, tuple[int, float]] = {}
    for task in order:
        best = None
        for w in range(len(busy)):
            ready = max(
                (place[a][1] + (0 if place[a][0] == w else c) for a, b, c in edges if b == task),
                default=0.0,
            )
            instants = [ready, *(end for _, end in busy[w] if end >= ready)]
            start = min(
                s
                for s in instants
                if all(s + cost[task][w] <= begin or s >= end for begin, end in busy[w])
            )
            key = start if by_start else start + cost[task][w]
            if best is None or key < best[0]:
                best = (key, w, start)
        assert best is not None
        _, w, start = best
        place[task] = w, start + cost[task][w]
        busy[w].append((start, start + cost[task][w]))
    return max(end for _, end in place.values())


@pytest.mark.parametrize("seed", range(60))
def test_heft_and_mcp_equal_their_plain_twins(seed: int) -> None:
    cost, edges = random_case(seed)
    known = estimates(cost, edges)
    ranks = upward_ranks(known, known.mean_cost_s(), known.mean_edge_s(known.succ_bytes))
    order = np.lexsort((np.arange(len(cost)), -ranks)).tolist()
    assert makespan(cost, edges, "heft") == plain_list(cost, edges, order, by_start=False)
    below = [max((ranks[b] for a, b, _ in edges if a == t), default=0.0) for t in range(len(cost))]
    order.sort(key=lambda t: (-ranks[t], -below[t], t))
    assert makespan(cost, edges, "mcp") == plain_list(cost, edges, order, by_start=True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("insertion", [True, False])
def test_schedules_keep_dependences_and_workers_do_one_thing_at_a_time(
    algorithm: str, insertion: bool
) -> None:
    for seed in range(40):
        cost, edges = random_case(seed)
        worker, start, finish = make_schedule(
            estimates(cost, edges), algorithm, insertion=insertion
        )
        for t, w in enumerate(worker.tolist()):
            assert finish[t] == start[t] + cost[t][w]
        for a, b, c in edges:
            assert start[b] >= finish[a] + (0 if worker[a] == worker[b] else c)
        for w in range(len(cost[0])):
            mine = np.flatnonzero(worker == w)
            mine = mine[np.argsort(start[mine], kind="stable")]
            assert (start[mine][1:] >= finish[mine][:-1]).all()


def test_pair_rules_choose_what_they_promise() -> None:
    # Three independent tasks on one worker each: the rules differ only in the order.
    cost = [[5.0], [1.0], [3.0]]
    starts = {rule: make_schedule(estimates(cost, []), rule)[1].tolist() for rule in ALGORITHMS}
    assert starts["min_min"] == [4.0, 0.0, 1.0]
    assert starts["max_min"] == [0.0, 8.0, 5.0]
    assert starts["etf"] == starts["dls"] == [0.0, 8.0, 5.0]  # equal starts: the highest level


def alike_case(seed: int) -> Estimates:
    """A random graph on up to 9 workers, some of which share costs and nodes; many ties."""
    rng = np.random.default_rng(seed)
    cost, edges = random_case(seed)
    n, unit = len(cost), float(rng.choice([1.0, 0.1]))
    workers, rows, nodes = (int(v) for v in rng.integers(1, [10, 4, 4]))
    known = estimates([[1.0] * nodes] * n, [(a, b, unit * c) for a, b, c in edges])
    cost_s = unit * rng.integers(0, 5, (rows, n))
    cost_s[1:][rng.random((rows - 1, n)) < 0.2] = np.inf
    return replace(
        known,
        worker_row=np.append(rng.integers(rows, size=workers - 1), 0).astype(np.int32),
        worker_node=rng.integers(nodes, size=workers).astype(np.int32),
        cost_s=cost_s,
    )


def plain_pairs(known: Estimates, rule: str) -> list[tuple[int, float, float]]:
    """The pair rules as they are described, comparing all pairs in every step."""
    typical = known.median_cost_s() if rule == "dls" else known.mean_cost_s()
    level = upward_ranks(known, typical, np.zeros(len(known.succ))).tolist()
    place: dict[int, tuple[int, float, float]] = {}
    free_at = [0.0] * len(known.worker_row)
    while len(place) < known.n_tasks:
        found = []
        for t in range(known.n_tasks):
            before = range(int(known.pred_ptr[t]), int(known.pred_ptr[t + 1]))
            if t in place or any(int(known.pred[e]) not in place for e in before):
                continue
            best = None
            for w, (row, node) in enumerate(zip(known.worker_row, known.worker_node, strict=True)):
                cost, start = float(known.cost_s[row, t]), free_at[w]
                for e in before:
                    by, _, end = place[int(known.pred[e])]
                    hop = float(known.byte_time_s[known.worker_node[by], node])
                    start = max(start, end + 0.0 + float(known.pred_bytes[e]) * hop)
                key = {"etf": start, "dls": start - level[t] - (float(typical[t]) - cost)}
                value = key.get(rule, start + cost)
                if np.isfinite(cost) and (best is None or value < best[0]):
                    best = (value, w, start, start + cost)
            assert best is not None
            second = -level[t] if rule == "etf" else 0.0
            found.append(((-best[0] if rule == "max_min" else best[0], second, t), best))
        (_, _, task), (_, worker, start, end) = min(found)
        place[task] = worker, start, end
        free_at[worker] = end
    return [place[t] for t in range(known.n_tasks)]


@pytest.mark.parametrize("rule", PAIR_RULES)
def test_pair_rules_equal_their_plain_twin_with_workers_that_are_alike(rule: str) -> None:
    for seed in range(150):
        known = alike_case(seed)
        schedule = make_schedule(known, rule)
        assert list(zip(*(column.tolist() for column in schedule), strict=True)) == plain_pairs(
            known, rule
        )


def test_schedules_that_take_long_can_be_interrupted() -> None:
    # Half a minute for 60,000 ready tasks: signals used to wait until the schedule was complete.
    known = estimates([[1.0 + t, 2.0 + t] for t in range(60_000)], [])

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    begin = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            make_schedule(known, "min_min")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begin < 10


def test_dls_prefers_the_worker_that_gains_most() -> None:
    # Worker 1 is free later for task 0, but saves more than that.
    worker, _, _ = make_schedule(estimates([[10.0, 2.0], [1.0, 1.0]], []), "dls")
    assert worker.tolist() == [1, 0]


def test_dls_compares_with_the_median() -> None:
    # Medians 40, 10 and 10. Task 0 goes to worker 0: 40 - 0 + (40 - 10) is most. Then tasks 1 and 2
    # have 10 on worker 1, so 1 gets it; 2 has 10 - 10 on workers 0 and 1 and -20 on 2. With means,
    # 30, 10 and 20, task 2 would come before 1, and all would be done after 10.
    cost = [[10.0, 40.0, 40.0], [10.0, 10.0, 10.0], [10.0, 10.0, 40.0]]
    worker, start, _ = make_schedule(estimates(cost, []), "dls")
    assert worker.tolist() == [0, 1, 0]
    assert start.tolist() == [0.0, 0.0, 10.0]
    assert makespan(TOPCUOGLU_COST, TOPCUOGLU_EDGES, "dls") == 91  # as published


def test_medians_count_workers_that_cannot_run_a_task_as_the_slowest() -> None:
    inf = float("inf")
    cost = [[3.0, inf, 1.0, inf], [2.0, 6.0, 4.0, inf], [inf, 7.0, inf, inf], [1.0, 4.0, 2.0, 9.0]]
    assert estimates(cost, []).median_cost_s().tolist() == [3.0, 5.0, 7.0, 3.0]
    # Three workers are of one kind: 1 and three times 5, 2 and three times 1.
    known = replace(
        estimates([[5.0, 1.0], [1.0, 2.0]], []), worker_row=np.array([0, 1, 0, 0], np.int32)
    )
    assert known.median_cost_s().tolist() == [5.0, 1.0]


@pytest.mark.parametrize("edges", [[(0, 1), (0, 2), (1, 2)], [(0, 2), (0, 1), (1, 2)]])
def test_the_critical_path_takes_no_shortcut(edges: list[tuple[int, int]]) -> None:
    # All are on the path 0, 1, 2 of 30; an edge from 0 to 2 used to lead past 1 if it came first.
    known = estimates([[10.0, 10.0]] * 3, [(a, b, 0.0) for a, b in edges])
    assert pinned_by_cpop(known).tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", [*range(60), 225, 240, 257])
def test_the_critical_path_is_as_long_as_the_highest_rank(seed: int) -> None:
    # Sums of ranks along the path differ in their last bits, and once led away from it.
    cost, edges = random_case(seed)
    known = estimates(cost, edges)
    mean, between = known.mean_cost_s(), known.mean_edge_s(known.succ_bytes)
    path = np.flatnonzero(pinned_by_cpop(known) >= 0)
    rank = upward_ranks(known, mean, between)
    assert len(set(pinned_by_cpop(known)[path].tolist())) == 1
    size = {(a, b): c for a, b, c in edges}  # tasks are numbered along their edges
    hops = np.array([size[a, b] for a, b in zip(path.tolist(), path[1:].tolist(), strict=False)])
    length = mean[path].sum() + known.mean_edge_s(hops).sum()
    assert length == pytest.approx(rank.max(), rel=1e-12)


def pinned_by_cpop(known: Estimates) -> np.ndarray:
    """The worker of each task on the critical path, -1 elsewhere."""
    mean, between = known.mean_cost_s(), known.mean_edge_s(known.succ_bytes)
    return _critical_path(known, mean, between, upward_ranks(known, mean, between))[1]


def test_lookahead_avoids_a_worker_that_is_far_from_the_successors() -> None:
    # By its own finish the first task goes to worker 0; its successor runs well on worker 1 only.
    cost, edges = [[4.0, 5.0], [50.0, 1.0]], [(0, 1, 20.0)]
    assert makespan(cost, edges, "heft") == 25
    assert makespan(cost, edges, "lookahead") == 6


def test_optimistic_costs_of_a_chain() -> None:
    # The successor takes 7 or 3; worker 0 would rather pay 2 for the edge and 3 than 7.
    table = optimistic_costs(estimates([[1.0, 1.0], [7.0, 3.0]], [(0, 1, 2.0)]), np.array([2.0]))
    assert table.tolist() == [[5.0, 3.0], [0.0, 0.0]]


def test_what_cannot_be_scheduled_is_said() -> None:
    with pytest.raises(PolicyError, match="cycle"):
        make_schedule(estimates([[1.0], [1.0]], [(0, 1, 0), (1, 0, 0)]), "heft")
    with pytest.raises(PolicyError, match="no worker"):
        make_schedule(estimates([[float("inf")]], []), "min_min")
    heat = generate_workload("heat", {"rows": 64, "columns": 64, "leaf_bytes": 4096})
    with pytest.raises(ModelError, match="spawn tree in workload heat"):
        simulate(make_machine(), heat, make_policy("heft"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_simulation_follows_the_schedule(algorithm: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=4)
    workload = generate_workload(
        "stencil2d", {"width": 8, "height": 8, "steps": 6, "costs": "bench"}
    )
    policy = make_policy(algorithm)
    run = simulate(machine, workload, policy)
    again = simulate(machine, workload, policy, backend="simpy")
    assert run.summary.makespan_ps == again.summary.makespan_ps
    # Without costs and data the simulated run takes what the schedule says, up to picoseconds.
    view = PlanView(
        machine,
        workload,
        run.worker_thread,
        machine.core_domain[machine.thread_core[run.worker_thread]],
        np.random.default_rng(0),
    )
    planned = make_schedule(estimate(view, workload.graph), algorithm)[2].max()
    assert run.makespan_s == pytest.approx(planned, rel=1e-9)


def free_tasks(ops: list[float], edges: list[tuple[int, int]]) -> Workload:
    """Tasks without data, some of them without operations."""
    n = len(ops)
    successors = adjacency([e[0] for e in edges], [e[1] for e in edges], n)
    return Workload("free", build_graph(ops, successors=successors))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_tasks_that_take_no_time_keep_their_dependences(algorithm: str) -> None:
    # Tasks with lower numbers used to come first of those with equal starts, also before what they
    # wait for. Here 2 and 1 take no time and precede 0, so all start at 0 and the end is 1 s.
    workload = free_tasks([1e9, 0.0, 0.0], [(2, 1), (1, 0)])
    machine = make_machine(domains=1, cores_per_domain=1)
    for backend in ("native", "simpy"):
        run = simulate(machine, workload, make_policy(algorithm), backend=backend)
        assert run.summary.makespan_ps == 10**12


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_graphs_with_many_free_tasks_run(algorithm: str) -> None:
    # On one worker nothing is copied and no task waits: the end is the sum of the work.
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 16))
        ops = (rng.integers(0, 3, n) * 1e9 * (rng.random(n) < 0.4)).tolist()
        number = rng.permutation(n).tolist()
        edges = [
            (number[a], number[b]) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.25
        ]
        machine = make_machine(domains=1, cores_per_domain=1)
        run = simulate(machine, free_tasks(ops, edges), make_policy(algorithm))
        assert run.summary.makespan_ps == round(sum(ops)) * 1000
        two = simulate(
            make_machine(domains=2, cores_per_domain=1),
            free_tasks(ops, edges),
            make_policy(algorithm),
        )
        ends = [0.0] * n  # along the edges alone
        for task in number:
            before = [ends[source] for source, target in edges if target == task]
            ends[task] = ops[task] + max(before, default=0.0)
        assert max(ends) * 1000 <= two.summary.makespan_ps <= sum(ops) * 1000


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("written_by", "copied_bytes"), [(None, 10 * MB), (2, 0), (0, 10 * MB)])
def test_devices_copy_their_input_from_the_host(
    algorithm: str, written_by: int | None, copied_bytes: int
) -> None:
    # A task that only the device can run reads a block of 10 MB: 5 us and 1 ms over the link, then
    # 1 ms of work. It used to find the block where it looked first, at no cost. An initialisation
    # is dealt out in turn, its third task to the device: what that writes is there already.
    machine = device_machine(devices=1)
    init = None
    if written_by is not None:
        init = build_graph(
            np.full((2, 3), 1e6),
            kinds=("cpu", "gpu"),
            accessed=accesses([written_by], [0], 0, 10 * MB, 3),
            block_bytes=[10 * MB],
        )
    tasks = build_graph(
        [[np.inf], [4e6]],
        kinds=("cpu", "gpu"),
        accessed=accesses([0], [0], 10 * MB, 0, 1),
        block_bytes=[10 * MB],
    )
    for backend in ("native", "simpy"):
        run = simulate(
            machine,
            Workload("tasks", tasks, init=init),
            make_policy(algorithm),
            workers=3,
            pinning="compact",
            backend=backend,
        )
        summary = run.summary
        copy_ps = 1_005_000_000 if copied_bytes else 0
        assert summary.migrated_bytes == copied_bytes
        took_ps = summary.iteration_end_ps[-1] - summary.iteration_start_ps[-1]
        assert took_ps == copy_ps + 10**9


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_copies_overlap_with_computing(algorithm: str) -> None:
    # Three tasks of 1 ms for the only worker of a device; each reads a block of its own, 5 us and
    # 1 ms over the link. The data of a task are copied while the one before it is computed.
    machine = device_machine(devices=1)
    tasks = build_graph(
        [[np.inf] * 3, [4e6] * 3],
        kinds=("cpu", "gpu"),
        accessed=accesses([0, 1, 2], [0, 1, 2], 10 * MB, 0, 3),
        block_bytes=[10 * MB] * 3,
    )
    for backend in ("native", "simpy"):
        run = simulate(
            machine,
            Workload("tasks", tasks),
            make_policy(algorithm),
            workers=3,
            pinning="compact",
            backend=backend,
        )
        assert run.summary.makespan_ps == 3 * 1_005_000_000 + 10**9


def starts(run: Run) -> list[list[int]]:
    """Return the tasks of each worker in the order of their starts."""
    assert run.trace is not None
    events = run.trace.events
    begun = events["kind"] == EventKind.TASK_START
    worker, task = events["worker"][begun], events["task"][begun]
    return [task[worker == w].tolist() for w in range(len(run.worker_thread))]


@pytest.mark.parametrize("seed", range(20))
def test_workers_that_fetch_ahead_keep_the_order_of_the_schedule(seed: int) -> None:
    # Tasks that one task makes ready at the same time are the ones that could overtake each other,
    # those that take no time in particular.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    ops = rng.integers(0, 4, (2, n)) * 1e6
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.15]
    number = rng.permutation(n)
    source = number[[a for a, b in edges]].tolist() if edges else []
    target = number[[b for a, b in edges]].tolist() if edges else []
    blocks = rng.integers(0, 10, n)
    graph = build_graph(
        ops,
        kinds=("cpu", "gpu"),
        successors=adjacency(source, target, n),
        accessed=accesses(np.arange(n), blocks, 5 * MB, 5 * MB, n),
        block_bytes=[10 * MB] * 10,
        arrival_ps=rng.integers(0, 3, n) * 2 * 10**9 if seed % 2 else None,
    )
    algorithm = ALGORITHMS[seed % len(ALGORITHMS)]
    machine, policy = device_machine(capacity_bytes=60 * MB), make_policy(algorithm)
    run, again = (
        simulate(machine, Workload("tasks", graph), policy, backend=backend, events=True)
        for backend in ("native", "simpy")
    )
    view = PlanView(
        machine,
        Workload("tasks", graph),
        run.worker_thread,
        machine.core_domain[machine.thread_core[run.worker_thread]],
        np.random.default_rng(0),
    )
    planned = estimate(view, graph)
    worker, start, finish = make_schedule(planned, algorithm)
    below = upward_ranks(planned, np.ones(n), np.zeros(len(edges)))
    order = np.lexsort((np.arange(n), -below, finish, start))
    expected = [order[worker[order] == w].tolist() for w in range(len(run.worker_thread))]
    assert starts(run) == starts(again) == expected
