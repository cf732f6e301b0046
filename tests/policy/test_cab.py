"""CAB: boundaries of the published examples, and who runs what, when and where."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.numa.cab import BiTierStealing
from simsched.policy.contract.base import CHILD_FIRST, PARENT_FIRST, Plan, PlanView
from simsched.policy.parts.cab_boundary import boundary_level, same_places
from simsched.policy.parts.footprint import (
    ROOT,
    UPPER,
    Tiers,
    cut_by_level,
    estimated_footprint,
    private_level,
)
from simsched.policy.parts.subgraphs import levels
from simsched.testing import rehearse
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload
from simsched.workload.spawn_tree import equal_parts, grow

MIB = 2**20
OPTERON = load_machine("amd_4x_opteron8380")
SUBTREE = 2  #: group of roots of subtrees


def heat(rows: int, columns: int, **parameters: object) -> Workload:
    return generate_workload("heat", {"rows": rows, "columns": columns, **parameters})


def view_of(machine: Machine, workload: Workload) -> PlanView:
    threads = machine.place_workers()
    return PlanView(
        machine,
        workload,
        threads,
        machine.core_domain[machine.thread_core[threads]],
        np.random.default_rng(0),
    )


def tiers(workload: Workload, policy: str = "cab_fto", **parameters: Any) -> Tiers | None:
    made = make_policy(policy, parameters)
    assert isinstance(made, BiTierStealing)
    return made.tiers(view_of(OPTERON, workload), workload.graph)


def run(workload: Workload, policy: str, machine: Machine = OPTERON, **parameters: Any) -> Run:
    return simulate(machine, workload, make_policy(policy, parameters), events=True)


def rows(run: Run, kind: EventKind) -> list[dict[str, int]]:
    assert run.trace is not None
    events = run.trace.events
    chosen = events["kind"] == kind
    return [
        dict(zip(events, values, strict=True))
        for values in zip(*(events[name][chosen].tolist() for name in events), strict=True)
    ]


def binary(n_leaves: int) -> Workload:
    """A full binary tree of tasks of one microsecond on a machine with 1e9 operations/s."""
    tree = grow(n_leaves, equal_parts(2, 2))
    return Workload("binary", build_graph(np.full(tree.n_tasks, 1e3), children=tree.children))


# ------------------------------------------------------------------------------------- boundaries


@pytest.mark.parametrize(
    ("n_rows", "columns", "level", "per_leaf", "leaves"),
    [
        (512, 512, 3, 32, 4),
        (1024, 1024, 3, 32, 8),
        (2048, 1024, 4, 32, 8),
        (2048, 2048, 5, 32, 4),
        (3072, 2048, 5, 48, 4),
        (4096, 4096, 7, 32, 2),
    ],
)
def test_equation_3_4_for_heat(
    n_rows: int, columns: int, level: int, per_leaf: int, leaves: int
) -> None:
    workload = heat(n_rows, columns, cutoff_rows=64)
    found = tiers(workload)
    assert found is not None
    assert len(found.roots) == 2 ** (level - 1)
    is_leaf = np.diff(workload.graph.child_ptr) == 0
    assert int(is_leaf.sum()) == n_rows // per_leaf
    assert set(np.bincount(found.root_of[is_leaf])[found.roots].tolist()) == {leaves}


@pytest.mark.parametrize(
    ("degree", "sockets", "data", "cache", "level"),
    [
        (2, 4, 96, 6, 5),  # the worked example
        (2, 4, 1, 6, 3),  # sockets decide
        (2, 5, 1, 6, 4),
        (4, 4, 96, 6, 3),
        (3, 2, 0, 0, 2),  # no cache
        (2, 1, 96, 6, 0),  # one socket
        (1, 4, 96, 6, 0),  # a chain
    ],
)
def test_boundary_level(degree: int, sockets: int, data: int, cache: int, level: int) -> None:
    assert boundary_level(degree, sockets, data, cache) == level


def test_the_input_of_the_worked_example_has_96_megabytes_and_eight_levels() -> None:
    graph = heat(3072, 2048, cutoff_rows=64).graph
    assert int(graph.block_bytes.sum()) == 96 * MIB
    assert len(levels(graph)) == 7  # beside level 0, the program


@pytest.mark.parametrize(("rows", "subtrees"), [(1024, 2), (2048, 4), (4096, 8), (8192, 16)])
@pytest.mark.parametrize("policy", ["cab_gto_compile", "cab_gto_profile"])
def test_subtrees_by_footprint(policy: str, rows: int, subtrees: int) -> None:
    workload = heat(rows, 512, cutoff_rows=9, block_bytes=65536)
    found = tiers(workload, policy, every_socket=False)
    assert found is not None
    assert len(found.roots) == subtrees


@pytest.mark.parametrize(
    ("policy", "parameters", "subtrees"),
    [
        ("cab_gto_profile", {"every_socket": False}, 2),  # two halves of 4 MB and a row
        ("cab_gto_profile", {}, 4),
        ("cab_gto_compile", {"input_bytes": 96 * MIB}, 16),
        ("cab_gto_compile", {"input_bytes": 6 * MIB}, None),
        ("cab_fto", {"boundary_level": 0}, None),
        ("cab_fto", {"boundary_level": 4}, 8),
        ("cab_fto", {"boundary_level": 4, "root_level": 0}, 16),
    ],
)
def test_what_moves_the_boundary(
    policy: str, parameters: dict[str, Any], subtrees: int | None
) -> None:
    workload = heat(1024, 512, cutoff_rows=9, block_bytes=65536)
    found = tiers(workload, policy, **parameters)
    assert (None if found is None else len(found.roots)) == subtrees


def test_subtrees_for_every_socket_are_of_like_size() -> None:
    # Halves of 4 MB: the left one is divided into quarters, the right one in halves.
    workload = heat(1024, 512, cutoff_rows=8, block_bytes=56 * 1024, irregular=True)
    found = tiers(workload, "cab_gto_compile")
    assert found is not None
    mib = estimated_footprint(workload.graph, 8.0)[found.roots]
    assert sorted(mib.tolist()) == [1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "workload",
    [
        Workload("flat", build_graph(np.ones(8))),
        Workload(  # the last leaf waits for the first, in another subtree
            "crossing",
            build_graph(
                np.ones(15),
                children=adjacency(np.repeat(np.arange(7), 2), np.arange(1, 15), 15),
                successors=adjacency([7], [14], 15),
            ),
        ),
    ],
)
def test_what_has_no_subtrees_is_stolen_at_random(workload: Workload) -> None:
    assert tiers(workload) is None
    expected, found = (run(workload, policy) for policy in ("cilk_a", "cab_fto"))
    assert expected.trace is not None
    assert found.trace is not None
    for name, values in expected.trace.events.items():
        assert np.array_equal(values, found.trace.events[name])


# --------------------------------------------------------------------------------------- the plan


def plans(policy: str, workload: Workload, **parameters: Any) -> tuple[Plan, ...]:
    return rehearse(make_policy(policy, parameters), OPTERON, workload).plans


def test_the_search_of_a_free_worker() -> None:
    busy = ("head_worker", "domain_inactive")
    for policy, when in (
        ("cab_fto", busy),
        ("cab_multi_subtree", ("head_worker",)),
        ("cab_all_steal", ("domain_inactive",)),
        ("cab_relaxed", ()),
    ):
        plan = plans(policy, binary(64))[0]
        assert [(step.group, step.where, step.take, step.when) for step in plan.acquire] == [
            ("worker", "own", "newest", ()),
            ("worker", "same_domain", "oldest", ()),
            ("upper", "own", "oldest", when),
            ("subtree", "own", "oldest", when),
            ("upper", "other_domains", "oldest", when),
            ("subtree", "other_domains", "oldest", when),
        ]


def test_tiers_decide_the_order_of_spawning_and_the_pool() -> None:
    plan = plans("cab_fto", binary(64))[0]
    assert isinstance(plan.spawn_order, np.ndarray)
    assert plan.group_of is not None
    # Four sockets: three tasks above the boundary, the root among them, four on it.
    pairs = Counter(zip(plan.group_of.tolist(), plan.spawn_order.tolist(), strict=True))
    assert pairs == {
        (1, PARENT_FIRST): 3,
        (2, PARENT_FIRST): 4,
        (0, CHILD_FIRST): 120,
    }


def test_profiling_comes_first_and_is_paid_for() -> None:
    workload = heat(1024, 512, cutoff_rows=9, block_bytes=65536, iterations=3)
    rehearsal = rehearse(make_policy("cab_gto_profile"), OPTERON, workload)
    init, first, second, third = rehearsal.plans
    assert third.group_of is not None
    assert second.group_of is not None
    assert np.array_equal(third.group_of, second.group_of)  # the cut is not revised
    assert init.spawn_order == CHILD_FIRST
    assert first.spawn_order == PARENT_FIRST
    assert [step.where for step in first.acquire] == ["own", "anywhere"]
    assert first.counter_group is not None
    assert first.counter_group.tolist() == list(range(255))
    assert "subtree" in [step.group for step in second.acquire]
    assert rehearsal.updates[1] is not None
    assert rehearsal.updates[1].overhead_ps == pytest.approx(255 * 2e5 / 16)


@pytest.mark.parametrize(
    ("parameters", "subtrees"),
    [
        ({"every_socket": False}, 2),
        ({}, 4),
        # Of each byte 10 / 16 operations: more than a byte is missed, but not ten.
        ({"cpu_bound_bytes_per_op": 1.0}, 4),
        ({"cpu_bound_bytes_per_op": 10.0}, 0),
    ],
)
def test_subtrees_from_counted_misses(parameters: dict[str, Any], subtrees: int) -> None:
    workload = heat(1024, 512, cutoff_rows=9, block_bytes=65536, iterations=2)
    done = run(workload, "cab_gto_profile", **parameters)
    begun = [
        event["iteration"]
        for event in rows(done, EventKind.ACQUIRE)
        if event["arg0"] >> 32 == SUBTREE
    ]
    assert begun == [2] * subtrees


@pytest.mark.parametrize(("threshold", "subtrees"), [(1.0, 4), (10.0, 0)])
def test_the_density_of_misses_is_measured_whatever_is_known_of_durations(
    threshold: float, subtrees: int
) -> None:
    # Operations were those that the policy knows: none under "blind", and no program was bound by
    # computation. The densities are those of the test before this one.
    workload = heat(1024, 512, cutoff_rows=9, block_bytes=65536, iterations=2)
    policy = make_policy(
        "cab_gto_profile", {"cpu_bound_bytes_per_op": threshold, "information": "blind"}
    )
    done = simulate(OPTERON, workload, policy, events=True)
    acquired = rows(done, EventKind.ACQUIRE)
    assert sum(event["arg0"] >> 32 == SUBTREE for event in acquired) == subtrees


def test_footprints_come_from_the_outermost_private_caches() -> None:
    assert private_level(OPTERON) == 1
    assert private_level(make_machine(domains=2)) is None
    pairs = [("L1", 100, 1e9, 1, 1), ("L2", 1000, 1e9, 1, 2)]
    assert private_level(make_machine(domains=2, caches=pairs)) == 0


def test_spawns_take_longer_when_identifiers_are_looked_up() -> None:
    spawned = {
        spawn_s: run(binary(64), "cab_fto", spawn_s=spawn_s).summary.worker_spawn_ps.sum()
        for spawn_s in (0.0, 1e-6)
    }
    assert spawned[1e-6] - spawned[0.0] == 126 * 1_000_000


# ------------------------------------------------------------------------------------ executions

EXAMPLE = Workload(
    "example",
    build_graph(np.full(8, 1e6), children=adjacency([0, 1, 1, 2, 2, 3, 3], np.arange(1, 8), 8)),
)


def test_order_between_sockets_is_parent_first_and_inside_child_first() -> None:
    # Two sockets of one core, only one of which has work early enough: t2 and t3 are the subtrees.
    machine = make_machine(domains=2, cores_per_domain=1, costs=RuntimeCosts(steal_ps=(10**15,)))
    done = run(EXAMPLE, "cab_fto", machine, boundary_level=2, root_level=0)
    spawned = [
        (event["task"], event["arg0"], event["arg1"]) for event in rows(done, EventKind.SPAWN)
    ]
    order = {child: order for _, child, order in spawned}
    assert order == {1: 1, 2: 1, 3: 1, 4: 0, 5: 0, 6: 0, 7: 0}
    alone = run(EXAMPLE, "cab_fto", make_machine(domains=1, cores_per_domain=1))
    assert [event["task"] for event in rows(alone, EventKind.TASK_START)] == [
        0,
        1,
        2,
        4,
        5,
        3,
        6,
        7,
    ]


def workers_by_subtree(done: Run, found: Tiers) -> dict[int, set[int]]:
    """Return the workers that ended tasks of each subtree."""
    workers: dict[int, set[int]] = {int(root): set() for root in found.roots}
    for event in rows(done, EventKind.TASK_END):
        root = int(found.root_of[event["task"]])
        if root >= 0:
            workers[root].add(event["worker"])
    return workers


@pytest.mark.parametrize("policy", ["cab_fto", "cab_multi_subtree", "cab_all_steal"])
def test_a_subtree_stays_in_one_socket(policy: str) -> None:
    workload = binary(256)
    done = run(workload, policy, boundary_level=5)
    found = cut_by_level(workload.graph, 5)
    sockets = [
        {worker // 4 for worker in workers} for workers in workers_by_subtree(done, found).values()
    ]
    assert all(len(socket) == 1 for socket in sockets)
    assert set.union(*sockets) == {0, 1, 2, 3}


def subtrees_at_once(done: Run, found: Tiers) -> int:
    """Return the largest number of subtrees that one socket has begun and not ended."""
    begun: Counter[int] = Counter()
    socket: dict[int, int] = {}
    largest = 0
    assert done.trace is not None
    events = done.trace.events
    columns = (events[name].tolist() for name in ("kind", "worker", "task"))
    for kind, worker, task in zip(*columns, strict=True):
        if task < 0 or found.of_task[task] != ROOT:
            continue
        if kind == EventKind.TASK_START:
            socket[task] = worker // 4
            begun[socket[task]] += 1
            largest = max(largest, begun[socket[task]])
        elif kind == EventKind.TASK_END:
            begun[socket[task]] -= 1
    return largest


def test_a_socket_works_on_one_subtree_at_a_time_unless_it_may_on_several() -> None:
    workload = binary(256)
    found = cut_by_level(workload.graph, 6)  # subtrees of eight leaves for four cores
    at_once = {
        policy: subtrees_at_once(run(workload, policy, boundary_level=6), found)
        for policy in ("cab_fto", "cab_all_steal", "cab_multi_subtree")
    }
    assert at_once["cab_fto"] == at_once["cab_all_steal"] == 1
    assert at_once["cab_multi_subtree"] > 1


def test_only_first_workers_take_tasks_between_sockets_unless_all_may() -> None:
    takers = {
        policy: {
            event["worker"]
            for event in rows(run(binary(256), policy, boundary_level=6), EventKind.ACQUIRE)
            if event["arg0"] >> 32 in (1, SUBTREE)
        }
        for policy in ("cab_fto", "cab_multi_subtree", "cab_all_steal")
    }
    assert takers["cab_fto"] <= {0, 4, 8, 12}
    assert takers["cab_multi_subtree"] <= {0, 4, 8, 12}
    assert not takers["cab_all_steal"] <= {0, 4, 8, 12}


def test_one_subtree_keeps_one_socket_busy_and_leaves_one_worker_of_each() -> None:
    # 3k x 2k: levels 1 to 7; a boundary at level 1 is the root, one at level 7 the leaves.
    workload = heat(3072, 2048, cutoff_rows=64)
    one = run(workload, "cab_fto", boundary_level=1)
    in_leaves = {
        event["worker"] for event in rows(one, EventKind.TASK_START) if event["iteration"] > 0
    }
    assert {worker // 4 for worker in in_leaves} == {0}
    last = run(workload, "cab_fto", boundary_level=7)
    in_leaves = {
        event["worker"] for event in rows(last, EventKind.TASK_START) if event["iteration"] > 0
    }
    assert in_leaves == {0, 4, 8, 12}


def test_every_iteration_begins_in_the_socket_that_ended_the_one_before() -> None:
    workload = heat(1024, 512, cutoff_rows=9, block_bytes=65536, iterations=8)
    done = run(workload, "cab_fto")
    began, ended = (
        [event["worker"] for event in rows(done, kind) if event["task"] == 0]
        for kind in (EventKind.TASK_START, EventKind.TASK_END)
    )
    heads = [worker // 4 * 4 for worker in ended]
    assert began == [0, *heads[:-1]]
    assert len(set(began)) > 1


SECOND = 10**9  # operations on the machines below


def subtrees_of_leaves(n_subtrees: int, n_leaves: int, iterations: int) -> Workload:
    """Return a root whose children spawn leaves of one second each."""
    parents = np.repeat(np.arange(1 + n_subtrees), [n_subtrees] + [n_leaves] * n_subtrees)
    n_tasks = 1 + len(parents)
    ops = np.where(np.arange(n_tasks) > n_subtrees, float(SECOND), 0.0)
    children = adjacency(parents, np.arange(1, n_tasks), n_tasks)
    return Workload("subtrees", build_graph(ops, children=children), iterations)


def test_both_relaxations_together_keep_cores_busy_and_neither_does_alone(
    backends: list[str],
) -> None:
    # By hand, for 4 subtrees of 3 leaves of 1 s on 2 sockets of 2 cores. One subtree at a time:
    # two rounds for each of a socket's two subtrees, the third leaf alone: 4 s. The same where
    # sockets may work on several but only their heads begin one: at 1 s the head takes the third
    # leaf and begins nothing, and the other core may not. All cores busy: 12 s / 4 = 3 s.
    workload = subtrees_of_leaves(4, 3, 1)
    machine = make_machine(domains=2, cores_per_domain=2)
    names = ("cab_fto", "cab_multi_subtree", "cab_all_steal", "cab_relaxed")
    for backend in backends:
        found = [
            simulate(
                machine, workload, make_policy(name, {"boundary_level": 2}), backend=backend
            ).summary.makespan_ps
            for name in names
        ]
        assert found == [4 * 10**12, 4 * 10**12, 4 * 10**12, 3 * 10**12], backend


@pytest.mark.parametrize("policy", ["cab_fto", "cab_gto_profile", "cats_numa_init"])
def test_a_task_enters_the_pool_of_the_socket_that_creates_it(policy: str, backend: str) -> None:
    # Table 3.3, for CAB and for CATS alike; the socket that creates roots is the one of their
    # parent, here the task that the program begins with.
    workload = heat(1024, 1024, cutoff_rows=64, block_bytes=512 * 1024, iterations=5)
    done = simulate(OPTERON, workload, make_policy(policy), backend=backend, events=True)
    creator = {
        (event["iteration"], event["arg0"]): event["worker"] // 4
        for event in rows(done, EventKind.SPAWN)
    }
    entered = {
        (event["iteration"], event["task"]): event["arg1"]
        for event in rows(done, EventKind.TASK_READY)
        if event["arg0"] == SUBTREE
    }
    assert len([key for key in entered if key[0] == 5]) == 4
    assert all(creator[key] == pool for key, pool in entered.items())


@pytest.mark.parametrize(("affinity", "steals"), [("none", 4), ("home_socket", 1)])
def test_subtrees_are_stolen_in_every_iteration_unless_they_have_homes(
    affinity: str, steals: int
) -> None:
    # Two sockets of one core, two subtrees of one leaf of 1 s, 4 iterations. By hand: one socket
    # creates both and the other one steals a subtree, every time; with homes the first time only.
    machine = make_machine(domains=2, cores_per_domain=1)
    policy = make_policy("cab_fto", {"boundary_level": 2, "subtree_affinity": affinity})
    done = simulate(machine, subtrees_of_leaves(2, 1, 4), policy)
    assert done.summary.makespan_ps == 4 * 10**12
    assert int(done.summary.steals.sum()) == steals


@pytest.mark.parametrize("seed", [0, 1])
def test_subtrees_return_to_their_home_from_the_initialisation_on(seed: int) -> None:
    workload = heat(1024, 1024, cutoff_rows=64, block_bytes=512 * 1024, iterations=5)
    assert workload.init is not None
    assert np.array_equal(workload.init.parent, workload.graph.parent)
    found = tiers(workload)
    assert found is not None
    policy = make_policy("cab_fto", {"subtree_affinity": "home_socket"})
    done = simulate(OPTERON, workload, policy, events=True, seed=seed)
    pools = {
        (event["iteration"], event["task"]): event["arg1"]
        for event in rows(done, EventKind.TASK_READY)
        if event["arg0"] == SUBTREE
    }
    ended = {
        (event["iteration"], event["task"]): event["worker"] // 4
        for event in rows(done, EventKind.TASK_END)
    }
    for root in found.roots.tolist():
        for iteration in range(1, 6):
            assert pools[iteration, root] == ended[iteration - 1, root]
            # One subtree for each socket: the others leave it there.
            assert ended[iteration, root] == ended[0, root]


def test_a_home_is_found_by_the_identifier_in_a_tree_of_another_shape() -> None:
    # Heat-ir: task 0_0 has four children, 0_1 two. The initialisation ends at level 2 or 3.
    fine = heat(64, 512, irregular=True, cutoff_rows=8, block_bytes=56 * 1024).graph
    coarse = heat(64, 512, irregular=True, cutoff_rows=17, block_bytes=128 * 1024).graph
    rank = np.arange(coarse.n_tasks, dtype=np.int32)

    def child(graph: TaskGraph, *path: int) -> int:
        task = 0
        for number in path:
            task = int(graph.child[graph.child_ptr[task] + number])
        return task

    roots = np.array([child(fine, 0, 2), child(fine, 1), child(fine, 1, 1, 0)], np.int32)
    found = same_places(fine, roots, coarse, rank)
    assert np.diff(coarse.child_ptr)[child(coarse, 1, 1)] == 0
    expected = [child(coarse, 0, 2), child(coarse, 1), child(coarse, 1, 1)]
    assert found[roots].tolist() == expected
    assert np.count_nonzero(found >= 0) == 3


# ------------------------------------------------------------------------------------------ bounds

FREE = make_machine(domains=4, cores_per_domain=2)


def critical_path(graph: TaskGraph, inside: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the longest chain of chosen tasks down from each task, in tasks."""
    longest = inside.astype(np.int64)
    for tasks in reversed(levels(graph)[1:]):
        parent = graph.parent[tasks]
        below = np.zeros(graph.n_tasks, np.int64)
        np.maximum.at(below, parent, longest[tasks])
        longest += below
    return longest


@pytest.mark.parametrize("level", [3, 4, 5, 6])
def test_the_bound_on_the_time_of_full_trees(level: int) -> None:
    # Eq. 3.15: unit tasks, no cost of scheduling, subtrees enough for all sockets.
    workload = binary(256)
    graph = workload.graph
    found = cut_by_level(graph, level)
    upper = found.of_task == UPPER
    n_sockets, n_cores = 4, 2
    path = critical_path(graph, ~upper)[found.roots]
    bound = (
        upper.sum() / n_sockets
        + (~upper).sum() / (n_sockets * n_cores)
        + path.sum() / n_sockets
        + critical_path(graph, upper).max()
        + path.max()
    )
    done = run(workload, "cab_fto", FREE, boundary_level=level)
    assert (~upper).sum() / (n_sockets * n_cores) <= done.summary.makespan_ps / 1e6 <= bound


def most_alive(done: Run) -> int:
    """Return the largest number of tasks that have been created and have not ended."""
    assert done.trace is not None
    kind = done.trace.events["kind"]
    change = (kind == EventKind.SPAWN).astype(int) - (kind == EventKind.TASK_END)
    return 1 + int(np.cumsum(change).max())


@pytest.mark.parametrize("level", [3, 4, 5, 6])
def test_the_bound_on_the_space(level: int) -> None:
    # Eq. 3.18, with a task for a frame.
    workload = binary(256)
    serial = most_alive(run(workload, "cilk_a", make_machine(domains=1, cores_per_domain=1)))
    assert serial == 9  # the depth of the tree
    space = most_alive(run(workload, "cab_fto", FREE, boundary_level=level))
    assert serial < space <= max(2 ** (level - 1), 8) * serial
