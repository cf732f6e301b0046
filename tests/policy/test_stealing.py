"""Orders of execution under stealing, sharing and loops."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.parts.loop import static_chunks
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph, first_touch_loop
from simsched.workload.graph import Workload

#: t0 starts t1, which spawns t2 and t3; t2 spawns t4 and t5, t3 spawns t6 and t7.
EXAMPLE = Workload(
    "example",
    build_graph(np.full(8, 1e6), children=adjacency([0, 1, 1, 2, 2, 3, 3], np.arange(1, 8), 8)),
)


def run(policy: str, workload: Workload, workers: int, params: Any = None, **machine: Any) -> Run:
    return simulate(
        make_machine(**machine),
        workload,
        make_policy(policy, params),
        workers=workers,
        backend="simpy",
        events=True,
    )


def column(run: Run, kind: EventKind, name: str) -> list[int]:
    assert run.trace is not None
    events = run.trace.events
    return events[name][events["kind"] == kind].tolist()


@pytest.mark.parametrize(
    ("policy", "params", "order"),
    [
        ("cilk", {}, [0, 1, 2, 4, 5, 3, 6, 7]),
        ("pfws", {}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ("pfws", {"local_take": "newest"}, [0, 1, 3, 7, 6, 2, 5, 4]),
        ("random_ws_parent_first", {}, [0, 1, 3, 7, 6, 2, 5, 4]),
        ("tbb", {}, [0, 1, 3, 7, 6, 2, 5, 4]),
        ("tpl", {}, [0, 1, 3, 7, 6, 2, 5, 4]),
        ("java_fork_join", {}, [0, 1, 3, 7, 6, 2, 5, 4]),
        ("x10_places", {}, [0, 1, 3, 7, 6, 2, 5, 4]),
        ("work_sharing", {}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ("work_sharing", {"take": "newest"}, [0, 1, 3, 7, 6, 2, 5, 4]),
        ("bats", {}, [0, 1, 2, 4, 5, 3, 6, 7]),
    ],
)
def test_order_of_a_single_worker(policy: str, params: dict[str, Any], order: list[int]) -> None:
    assert column(run(policy, EXAMPLE, 1, params), EventKind.TASK_START, "task") == order


def test_a_thief_takes_the_oldest_continuation() -> None:
    # Two workers: while the first is in t4, the second steals the continuation of t1, the oldest.
    events = run("cilk", EXAMPLE, 2, domains=1)
    assert column(events, EventKind.STEAL, "task")[0] == 1


def test_every_push_and_pop_of_work_sharing_waits_for_the_lock() -> None:
    costs = RuntimeCosts(lock_hold_ps=1_000_000)
    flat = Workload("flat", build_graph(np.full(8, 1e-6)))
    crowd = run("work_sharing", flat, 4, domains=1, cores_per_domain=4, costs=costs)
    alone = run("cilk", flat, 4, domains=1, cores_per_domain=4, costs=costs)
    # Eight pops one after the other, however many workers there are.
    assert crowd.summary.makespan_ps >= 8_000_000
    assert alone.summary.makespan_ps < 2_000_000


def test_flat_programs_are_dealt_out_or_start_on_one_worker() -> None:
    flat = Workload("flat", build_graph(np.full(8, 1e6)))
    assert column(run("cilk", flat, 4), EventKind.STEAL, "task") == []
    first = run("random_stealing", flat, 4, {"roots": "first"})
    assert len(column(first, EventKind.STEAL, "task")) >= 3


@pytest.mark.parametrize(
    ("policy", "of_second"), [("tpl", [1, 2]), ("java_fork_join", [1, 2]), ("tbb", [0, 4])]
)
def test_what_the_program_submits_waits_for_all_and_comes_before_stealing(
    policy: str, of_second: list[int], backends: list[str]
) -> None:
    # Task 0 spawns 3 and 4; 1 and 2 are submitted by the program; all but 0 take 1 s. Two workers.
    # With a queue the first one has 0, 4 (its newest) and 3, the second one 1 and 2. Without one
    # all are the first worker's, which begins with the newest, 2; the second one steals the oldest,
    # 0, and goes on with 4 while the first one has 1; one of them ends with 3.
    ops = np.array([0.0, 1e9, 1e9, 1e9, 1e9])
    submitted = Workload("submitted", build_graph(ops, children=adjacency([0, 0], [3, 4], 5)))
    for backend in backends:
        done = simulate(
            make_machine(domains=1),
            submitted,
            make_policy(policy),
            workers=2,
            backend=backend,
            events=True,
        )
        assert done.summary.makespan_ps == 2 * 10**12
        worker = column(done, EventKind.TASK_START, "worker")
        task = column(done, EventKind.TASK_START, "task")
        mine = [t for t, w in zip(task, worker, strict=True) if w == 1]
        assert mine[: len(of_second)] == of_second, backend


def test_places_of_x10_keep_their_tasks(backends: list[str]) -> None:
    # Two places of one core: 3 s of leaves in the first half of the data, 1 s in the second. By
    # hand: 3 s, since nothing is stolen from another place; random stealing takes 2 s.
    ops = np.array([0.0, 0.0, 0.0, 1e9, 1e9, 1e9, 1e9])
    children = adjacency([0, 0, 1, 1, 1, 2], np.arange(1, 7), 7)
    workload = Workload("uneven", build_graph(ops, children=children))
    machine = make_machine(domains=2, cores_per_domain=1)
    for backend in backends:
        took = [
            simulate(machine, workload, make_policy(name), backend=backend).summary.makespan_ps
            for name in ("x10_places", "tbb")
        ]
        assert took == [3 * 10**12, 2 * 10**12], backend


def test_static_chunks_differ_by_at_most_one() -> None:
    assert static_chunks(10, 4).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert static_chunks(2, 4).tolist() == [0, 1]
    assert static_chunks(0, 4).tolist() == []


@pytest.mark.parametrize(
    ("schedule", "owners"), [("block", [0, 0, 1, 1, 2, 2, 3, 3]), ("cyclic", [0, 1, 2, 3] * 2)]
)
def test_static_loops_have_fixed_owners(schedule: str, owners: list[int]) -> None:
    flat = Workload("flat", build_graph(np.linspace(1e6, 9e6, 8)))
    done = run("openmp_static", flat, 4, {"schedule": schedule})
    ended = dict(
        zip(
            column(done, EventKind.TASK_END, "task"),
            column(done, EventKind.TASK_END, "worker"),
            strict=True,
        )
    )
    assert [ended[task] for task in range(8)] == owners


def test_the_loops_initialisation_puts_data_where_they_are_used() -> None:
    blocks = np.full(16, 4096)
    graph = build_graph(
        np.ones(16),
        accessed=accesses(np.arange(16), np.arange(16), 4096, 0, 16),
        block_bytes=blocks,
    )
    workload = Workload("loop", graph, iterations=2, init=first_touch_loop(blocks, 1.0))
    done = run("openmp_static", workload, 4)
    local = done.summary.node_bytes[:, [0, 1], [0, 1]]
    assert local.sum() == done.summary.node_bytes.sum() > 0


def test_the_loop_has_the_leaves_only() -> None:
    done = run("openmp_static", EXAMPLE, 2)
    assert done.workload.name == "example"
    # Without any access, all bodies count as work.
    assert Counter(column(done, EventKind.TASK_END, "task")) == Counter(range(8))
    assert column(done, EventKind.SPAWN, "task") == []
