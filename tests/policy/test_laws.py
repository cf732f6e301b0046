"""LAWS from plan to plan, and what it keeps to on a machine."""

from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import BACKENDS, simulate
from simsched.machine.model import Machine, Path
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.numa.laws import CF, UPPER, WORKER, Laws
from simsched.policy.contract.base import CHILD_FIRST, PARENT_FIRST, Counters, Plan
from simsched.policy.parts.allocation import STRADDLES, allocate
from simsched.policy.parts.footprint import missing_bytes
from simsched.policy.parts.packing import inside
from simsched.testing import rehearse, small_machines, small_workloads
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.spawn_tree import equal_parts, first_touch_tree, grow

KIB = 1024
ITEM_BYTES = 16 * KIB
COSTS = small_machines()["two_domains"].costs
MACHINE = make_machine(
    domains=4,
    cores_per_domain=4,
    caches=[("L2", 32 * KIB, 30e9, 5_000, 1), ("L3", 128 * KIB, 20e9, 20_000, 4)],
    local_latency_ps=100_000,
    remote_latency_ps=160_000,
    link_bandwidth_bytes_per_s=4e9,
    costs=COSTS,
)


def sweep(leaves: int = 64, *, iterations: int = 6, ops: float = 1e4, halo: int = 1) -> Workload:
    """A binary tree whose leaves update one block each and read some of their neighbours'."""
    tree = grow(leaves, equal_parts(2, 2))
    bounds, blocks = np.arange(leaves + 1), np.full(leaves, ITEM_BYTES)
    own = np.arange(leaves)
    task = np.concatenate([tree.leaves, tree.leaves[1:], tree.leaves[:-1]])
    block = np.concatenate([own, own[:-1], own[1:]])
    read = np.concatenate([blocks, np.full(2 * (leaves - 1), 1024)]) * (
        np.arange(3 * leaves - 2) < (leaves if not halo else 3 * leaves)
    )
    graph = build_graph(
        np.where(tree.is_leaf, ops, 0),
        children=tree.children,
        accessed=accesses(task, block, read, 0, tree.n_tasks),
        block_bytes=blocks,
    )
    return Workload("sweep", graph, iterations, first_touch_tree(tree, bounds, blocks, 1.0))


SWEEP = sweep()
#: A rehearsal counts no misses. Without private caches sizes are what tasks touch.
TOUCHED = replace(MACHINE, caches=MACHINE.caches[1:])


def simulated(policy: str = "laws", workload: Workload = SWEEP, **options: Any) -> Run:
    return simulate(
        options.pop("machine", MACHINE),
        workload,
        make_policy(policy, options.pop("params", None)),
        backend="native",
        events=True,
        **options,
    )


def plans(workload: Workload = SWEEP, **params: Any) -> tuple[Plan, ...]:
    return rehearse(Laws(**params), TOUCHED, workload).plans


def steps(plan: Plan) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(step.group, step.where, step.take, step.when) for step in plan.acquire]


def events(run: Run, kind: EventKind, iteration: int) -> dict[str, np.ndarray]:
    assert run.trace is not None
    chosen = (run.trace.events["kind"] == kind) & (run.trace.events["iteration"] == iteration)
    return {name: column[chosen] for name, column in run.trace.events.items()}


def domain_of(machine: Machine, trace: Trace | None) -> np.ndarray:
    assert trace is not None
    return machine.core_domain[machine.thread_core[machine.place_workers()]]


ALONE = ("head_worker", "domain_inactive")


def test_triple_level_stealing() -> None:
    assert steps(plans()[-1]) == [
        ("worker", "own", "newest", ()),
        ("worker", "same_domain", "oldest", ()),
        ("upper", "own", "oldest", ALONE),
        ("cf", "own", "oldest", ALONE),
        ("cf", "other_domains", "newest", (*ALONE, "domain_supplied")),
    ]


def test_profiling_is_parent_first_and_stays_on_the_socket() -> None:
    for plan in plans()[:2]:  # the initialisation and iteration 1
        assert steps(plan) == [("upper", "own", "oldest", ())]
        assert plan.spawn_order == PARENT_FIRST
        assert plan.roots == "first"


def test_roots_are_pushed_home_and_subtrees_unfold_where_they_run() -> None:
    # 64 leaves that touch 18 KiB (16 KiB of their own): 128 KiB hold four leaves, 72 KiB, not
    # eight. So there are 16 subtrees of 7 tasks, at depth 4, below 15 tasks.
    plan, graph = plans()[2], SWEEP.graph
    group, instance, order = plan.group_of, plan.instance_of, plan.spawn_order
    assert group is not None
    assert instance is not None
    assert isinstance(order, np.ndarray)
    assert np.bincount(group, minlength=3)[[UPPER, CF, WORKER]].tolist() == [15, 16, 96]
    assert np.bincount(instance[group == CF]).tolist() == [4, 4, 4, 4]
    assert np.all(instance[group == WORKER] == -1)
    assert np.all((order == CHILD_FIRST) == (group == WORKER))
    part = allocate(graph, 4)
    upper = group == UPPER
    assert np.array_equal(instance[upper], part[upper])  # -1 where a task straddles
    assert int((part[upper] == STRADDLES).sum()) == 3


def test_counters_show_what_tasks_touch_when_caches_are_cold() -> None:
    run = simulated("laws_static", replace(SWEEP, init=None))
    ready = events(run, EventKind.TASK_READY, 2)
    assert int((ready["arg0"] == CF).sum()) == 16
    # The private caches hold two blocks and keep some of them from one iteration to the next.
    warm = simulated("laws_static")
    ready = events(warm, EventKind.TASK_READY, 2)
    assert 4 <= int((ready["arg0"] == CF).sum()) <= 16


def test_private_caches_are_those_of_one_core() -> None:
    found = missing_bytes(counters(np.array([[1, 2], [3, 4]])), MACHINE)
    assert found is not None
    assert found.tolist() == [1, 3]
    assert missing_bytes(counters(np.empty((2, 0))), replace(MACHINE, caches=())) is None


def counters(missing: np.ndarray) -> Counters:
    """Measurements of nothing but misses."""
    none = np.empty(0, np.int64)
    values = dict.fromkeys((f.name for f in fields(Counters)), none)
    return Counters(**{**values, "group_missing_bytes": missing})  # type: ignore[arg-type]


@pytest.mark.parametrize(("cache_bytes", "subtrees"), [(142 * KIB, 16), (144 * KIB, 8)])
def test_shared_data_count_once_per_task(cache_bytes: int, subtrees: int) -> None:
    # Eight leaves: 8 * 18 KiB = 144 KiB in eight tasks, though only 130 KiB of data.
    group = plans(shared_cache_bytes=cache_bytes)[2].group_of
    assert group is not None
    assert int((group == CF).sum()) == subtrees


def test_without_caches_the_part_of_a_socket_is_one_subtree() -> None:
    found = rehearse(Laws(), replace(MACHINE, caches=()), SWEEP).plans[2].group_of
    assert found is not None
    assert int((found == CF).sum()) == 4


def test_a_program_that_computes_runs_under_random_stealing() -> None:
    random = [("worker", "own", "newest", ()), ("worker", "anywhere", "oldest", ())]
    # 18 KiB are 288 lines: fewer than one miss per 1000 operations from 288,001 operations on.
    assert steps(plans(sweep(ops=3e5))[-1]) == random
    assert steps(plans(sweep(ops=2.5e5))[-1]) != random
    assert steps(plans(sweep(ops=3e5), cpu_bound_misses_per_operation=0.0)[-1]) != random


def test_one_iteration_is_packed_by_the_size_of_the_input() -> None:
    # 64 blocks of 16 KiB are 1 MiB: an eighth of it fits 128 KiB.
    init, only = plans(sweep(iterations=1))
    assert steps(init) == [("upper", "own", "oldest", ())]
    assert only.group_of is not None
    assert int((only.group_of == CF).sum()) == 8


def test_without_packing_every_task_goes_home() -> None:
    plan = plans(packing="none")[-1]
    assert steps(plan) == [
        ("upper", "own", "oldest", ()),
        ("upper", "other_domains", "newest", ()),
    ]
    assert plan.spawn_order == PARENT_FIRST
    assert plan.instance_of is not None
    assert np.array_equal(plan.instance_of, allocate(SWEEP.graph, 4))


def test_programs_without_spawns_are_not_packed() -> None:
    every = np.arange(64)
    loose = build_graph(
        np.full(64, 1e4),  # a miss in 156 operations: not bound by computation
        accessed=accesses(every, every, 4096, 0, 64),
        block_bytes=np.full(64, 4096),
    )
    done = simulated("laws", Workload("loose", loose, iterations=4))
    finish = events(done, EventKind.TASK_END, 4)
    assert len(np.unique(finish["worker"])) == done.summary.worker_busy_ps.size


def phases(*, crossing: bool) -> Workload:
    """Two trees of 16 leaves in a row; with `crossing` leaves of the second one wait, too."""
    edges = [(1, 32)] + [(leaf, leaf + 31) for leaf in range(16, 32) if crossing]
    parent = [0, 0] + [1 + i // 2 for i in range(30)] + [32 + i // 2 for i in range(30)]
    child = [1, 32, *range(2, 32), *range(33, 63)]
    source, target = np.array(edges).T
    leaves = np.append(np.arange(16, 32), np.arange(47, 63))
    graph = build_graph(
        np.where(np.isin(np.arange(63), leaves), 1e4, 0.0),
        children=adjacency(np.array(parent), np.array(child), 63),
        successors=adjacency(source, target, 63),
        accessed=accesses(leaves, np.tile(np.arange(16), 2), ITEM_BYTES, 0, 63),
        block_bytes=np.full(16, ITEM_BYTES),
    )
    return Workload("phases", graph, 4)


@pytest.mark.parametrize("crossing", [False, True])
def test_phases_are_packed_unless_a_subtree_waits_for_another(crossing: bool) -> None:
    # The second tree as a whole waits for the first; its subtrees then need nothing else. Where
    # every leaf waits for one of the first tree, a socket could wait for tasks behind its subtree.
    plan = plans(phases(crossing=crossing))[1]
    assert isinstance(plan.group_of, np.ndarray)
    assert bool((plan.group_of == CF).any()) is not crossing
    for backend in BACKENDS:
        done = simulate(MACHINE, phases(crossing=crossing), make_policy("laws"), backend=backend)
        assert done.summary.makespan_ps > 0


def test_only_the_tuned_variant_changes_its_packing() -> None:
    assert len({id(plan) for plan in plans(packing="tuned")}) > 3
    assert len({id(plan) for plan in plans(packing="static")}) == 3
    assert len({id(plan) for plan in plans(packing="none")}) == 3


def test_reading_counters_takes_time_on_all_workers() -> None:
    updates = rehearse(Laws(profile_s=1e-6), MACHINE, SWEEP).updates
    assert updates[0] is None
    assert updates[1] is not None
    assert updates[1].overhead_ps == pytest.approx(127 * 1e6 / 16)


def test_profiling_executes_every_task_on_the_socket_of_its_data() -> None:
    run = simulated()
    domain = domain_of(MACHINE, run.trace)
    part = allocate(SWEEP.graph, 4)
    for iteration in (0, 1):
        ended = events(run, EventKind.TASK_START, iteration)
        home = part[ended["task"]]
        allocated = home != STRADDLES
        assert np.array_equal(domain[ended["worker"]][allocated], home[allocated])
        assert not len(events(run, EventKind.STEAL, iteration)["task"])
    touched = events(run, EventKind.FIRST_TOUCH, 0)
    assert np.array_equal(touched["arg1"], touched["arg0"] * 4 // 64)


def unbalanced_sweep() -> Workload:
    """The sweep with a first quarter that computes ten times as long as the others."""
    graph = SWEEP.graph
    slow = np.isin(np.arange(graph.n_tasks), graph.leaves[:16])
    return replace(SWEEP, graph=replace(graph, ops=graph.ops * np.where(slow, 10.0, 1.0)))


@pytest.mark.parametrize("policy", ["laws", "laws_static"])
def test_a_socket_never_runs_tasks_of_two_subtrees(policy: str) -> None:
    workload = unbalanced_sweep()
    run = simulated(policy, workload)
    domain = domain_of(MACHINE, run.trace)
    stolen = 0
    for iteration in range(2, 7):
        ready = events(run, EventKind.TASK_READY, iteration)
        roots = np.zeros(workload.graph.n_tasks, bool)
        roots[ready["task"][ready["arg0"] == CF]] = True
        check_alone(workload.graph, roots, run, iteration, domain)
        steals = events(run, EventKind.STEAL, iteration)
        crossing = domain[steals["worker"]] != np.where(
            steals["arg1"] < 2, domain[steals["worker"]], -1
        )
        # Whatever crosses sockets is a whole subtree or lies above all subtrees.
        assert not np.any(inside(workload.graph, roots)[steals["task"][crossing]])
        stolen += int(roots[steals["task"][crossing]].sum())
    assert stolen > 0


def test_a_socket_waits_for_its_own_subtrees() -> None:
    # Each socket has one subtree, of which the first arrives before the others.
    run = simulated("laws_static", params={"shared_cache_bytes": 512 * KIB})
    domain = domain_of(MACHINE, run.trace)
    early, seen = 0, 0
    for iteration in range(2, 7):
        ready = events(run, EventKind.TASK_READY, iteration)
        is_root = ready["arg0"] == CF
        seen += int(is_root.sum())
        roots, home, time_ps = (ready[c][is_root] for c in ("task", "arg1", "time_ps"))
        steals = events(run, EventKind.STEAL, iteration)
        for worker, task, stolen_ps in zip(
            steals["worker"], steals["task"], steals["time_ps"], strict=True
        ):
            if task in roots:
                early += int(np.sum((home == domain[worker]) & (time_ps > stolen_ps)))
    assert seen == 4 * 5
    assert early == 0


def check_alone(
    graph: TaskGraph, roots: np.ndarray, run: Run, iteration: int, domain: np.ndarray
) -> None:
    """Check that the subtrees of a socket follow each other."""
    root_of = np.where(roots, np.arange(graph.n_tasks), -1)
    for task in range(graph.n_tasks):
        if root_of[task] < 0 and graph.parent[task] >= 0:
            root_of[task] = root_of[graph.parent[task]]
    started = events(run, EventKind.TASK_START, iteration)
    ended = events(run, EventKind.TASK_END, iteration)
    begin = dict(zip(started["task"].tolist(), started["time_ps"].tolist(), strict=True))
    end = dict(zip(ended["task"].tolist(), ended["time_ps"].tolist(), strict=True))
    home = dict(zip(started["task"].tolist(), domain[started["worker"]].tolist(), strict=True))
    assert roots.any()
    for socket in range(4):
        spans = sorted(
            (begin[r], end[r]) for r in np.flatnonzero(roots).tolist() if home[r] == socket
        )
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
    for task in begin:
        if root_of[task] >= 0:
            assert home[task] == home[int(root_of[task])]


@pytest.mark.parametrize("policy", ["laws", "laws_nc", "laws_static"])
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("machine", ["one_domain", "two_domains", "four_domains_hbm"])
def test_nothing_stalls(machine: str, workers: int, policy: str) -> None:
    chosen = small_machines()[machine]
    for workload in small_workloads().values():
        if workers <= chosen.n_threads:
            simulated(policy, workload, machine=chosen, workers=workers)


V_LOCAL, V_REMOTE, N_SOCKETS = 8e9, 4e9, 4


def two_speeds() -> Machine:
    """Four sockets whose only cost is the time of data: V_l from the own node, V_r from others."""
    machine = make_machine(domains=N_SOCKETS, cores_per_domain=4, dram_bandwidth_bytes_per_s=1e15)
    paths = tuple(
        tuple(Path(0, (V_LOCAL if d == n else V_REMOTE,)) for n in range(N_SOCKETS))
        for d in range(N_SOCKETS)
    )
    return replace(machine, paths=paths)


def leaf_s(run: Run, workload: Workload, iteration: int) -> np.ndarray:
    """Return the time of each leaf's data."""
    started, ended = (
        events(run, kind, iteration) for kind in (EventKind.TASK_START, EventKind.TASK_END)
    )
    span = np.zeros(workload.graph.n_tasks)
    np.add.at(span, ended["task"], ended["time_ps"])
    np.subtract.at(span, started["task"], started["time_ps"])
    return span[workload.graph.leaves] * 1e-12


@pytest.mark.parametrize("policy", ["laws", "laws_nc", "laws_static"])
def test_data_of_a_leaf_take_no_longer_than_its_own_locally_and_its_boundary_remotely(
    policy: str,
) -> None:
    # Equation 4 of the paper: T_L <= S / V_l + B / V_r.
    workload = sweep(ops=0.0)
    run = simulated(policy, workload, machine=two_speeds(), params={"spawn_s": 0.0})
    bound = ITEM_BYTES / V_LOCAL + 2 * 1024 / V_REMOTE
    for iteration in range(1, 7):
        taken = leaf_s(run, workload, iteration)
        assert taken.max() <= bound * (1 + 1e-6)
        assert taken.min() >= ITEM_BYTES / V_LOCAL


def test_random_stealing_finds_data_local_once_in_m_times() -> None:
    # Equations 3 and 5: mean T_R = (S + B) (1 / (M V_l) + (M - 1) / (M V_r)), and
    # T_R - T_L >= (1 / (M V_r) - 1 / (M V_l)) ((M - 1) S - B).
    # A few steals near the top decide who gets what, hence the number of iterations; where data
    # are local leaves are shorter, and so a little more than 1 / M of them are local.
    workload = sweep(leaves=512, ops=0.0, iterations=60)
    own, boundary = ITEM_BYTES, 2 * 1024

    def mean_s(policy: str, machine: Machine) -> float:
        run = simulate(machine, workload, make_policy(policy), events=True, seed=3)
        times = [leaf_s(run, workload, i)[1:-1].mean() for i in range(2, 61)]
        return float(np.mean(times))

    laws = mean_s("laws_nc", two_speeds())
    random = mean_s("cilk", replace(two_speeds(), costs=COSTS))
    expected = (own + boundary) * (
        1 / (N_SOCKETS * V_LOCAL) + (N_SOCKETS - 1) / (N_SOCKETS * V_REMOTE)
    )
    assert random == pytest.approx(expected, rel=0.05)
    gain = (1 / V_REMOTE - 1 / V_LOCAL) / N_SOCKETS * ((N_SOCKETS - 1) * own - boundary)
    assert random - laws >= 0.9 * gain
    ratio = Fraction(1 + (N_SOCKETS - 1) * 2, N_SOCKETS)  # V_l / V_r = 2
    assert random / laws == pytest.approx(float(ratio), rel=0.06)
