"""Dynamic and guided loop schedules."""

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.static.openmp import guided_chunks
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload


def run(workload: Workload, policy: str, workers: int, **params: object) -> Run:
    machine = make_machine(
        domains=1, cores_per_domain=workers, costs=RuntimeCosts(lock_hold_ps=1_000_000)
    )
    return simulate(machine, workload, make_policy(policy, params), events=True)


def taken(done: Run) -> list[int]:
    """Return the items that workers took from the loop, in order."""
    assert done.trace is not None
    events = done.trace.events
    chosen = (events["kind"] == EventKind.ACQUIRE) & (events["arg0"] >> 32 == 1)
    return events["task"][chosen].tolist()


def sizes(begins: np.ndarray, n_items: int) -> list[int]:
    return np.diff(np.append(begins, n_items)).tolist()


def test_sizes_of_chunks() -> None:
    assert sizes(guided_chunks(100, 4, 1), 100) == [25, 19, 14, 11, 8, 6, 5, 3, 3, 2, 1, 1, 1, 1]
    assert sizes(guided_chunks(100, 4, 10), 100) == [25, 19, 14, 11, 10, 10, 10, 1]
    assert sizes(guided_chunks(3, 4, 1), 3) == [1, 1, 1]
    assert sizes(guided_chunks(0, 4, 1), 0) == []


@pytest.mark.parametrize(
    ("policy", "params", "chunks"),
    [
        ("openmp_dynamic", {}, list(range(20))),
        ("openmp_dynamic", {"chunk": 8}, [0, 8, 16]),
        ("openmp_guided", {}, [0, 5, 9, 12, 14, 16, 17, 18, 19]),
        ("openmp_guided", {"chunk": 4}, [0, 5, 9, 13, 17]),
    ],
)
def test_chunks_are_taken_in_the_order_of_the_loop(
    policy: str, params: dict[str, object], chunks: list[int]
) -> None:
    done = run(Workload("loop", build_graph(np.full(20, 1e6))), policy, 4, **params)
    assert taken(done) == chunks


def test_the_items_of_a_chunk_stay_on_one_worker_in_order() -> None:
    done = run(Workload("loop", build_graph(np.linspace(9e6, 1e6, 20))), "openmp_guided", 4)
    assert done.trace is not None
    events = done.trace.events
    starts = events["kind"] == EventKind.TASK_START
    worker = dict(
        zip(events["task"][starts].tolist(), events["worker"][starts].tolist(), strict=True)
    )
    for first, last in ((0, 5), (5, 9), (9, 12), (12, 14), (14, 16)):
        assert len({worker[item] for item in range(first, last)}) == 1


def test_free_workers_take_what_others_are_too_slow_for() -> None:
    # One item as long as all others: it is alone with its worker, 19 remain for the other one.
    loop = Workload("uneven", build_graph(np.append(19e6, np.full(19, 1e6))))
    spans = {
        policy: run(loop, policy, 2).summary.makespan_ps
        for policy in ("openmp_static", "openmp_dynamic")
    }
    assert spans["openmp_dynamic"] < 1.01 * 19e9 < 1.3 * 19e9 < spans["openmp_static"]


def test_every_chunk_takes_the_lock() -> None:
    loop = Workload("short", build_graph(np.full(64, 1.0)))
    single, fours = (run(loop, "openmp_dynamic", 4, chunk=chunk).summary for chunk in (1, 4))
    assert single.makespan_ps >= 64e6
    assert 16e6 <= fours.makespan_ps < 18e6


@pytest.mark.parametrize("policy", ["openmp_dynamic", "openmp_guided"])
def test_a_loop_with_dependences_is_taken_item_by_item(policy: str) -> None:
    graph = build_graph(np.full(4, 1e6), successors=adjacency([3], [0], 4))
    assert taken(run(Workload("backwards", graph), policy, 2, chunk=4)) == [1, 2, 3, 0]
