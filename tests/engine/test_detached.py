"""Detached children: created through the spawn tree, waited for by nobody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.bounds import critical_path
from simsched.engine.run import simulate
from simsched.experiment.fingerprint import content_key
from simsched.files.errors import GraphError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.parts.loop import flatten
from simsched.trace.recording import Recording, read_recording, write_recording
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from tests.engine.invariants import trace_violations

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second


def forked(detached: list[bool], edges: tuple[tuple[int, int], ...] = ()) -> TaskGraph:
    """Return root 0 of 1 us with children 1 (2 us) and 2 (4 us) and a join of 1 us."""
    return build_graph(
        [1e3, 2e3, 4e3],
        join_ops=[1e3, 0, 0],
        children=adjacency([0, 0], [1, 2], 3),
        successors=adjacency([u for u, _ in edges], [v for _, v in edges], 3),
        detached=detached,
    )


def run(backend: str, graph: TaskGraph, policy: str, cores: int, iterations: int = 1) -> Run:
    result = simulate(
        make_machine(domains=1, cores_per_domain=cores),
        Workload("w", graph, iterations),
        CentralQueue() if policy == "central" else make_policy(policy),
        backend=backend,
        events=True,
    )
    assert trace_violations(result) == []
    return result


def ends(result: Run) -> dict[int, int]:
    """Return when each task ends."""
    assert result.trace is not None
    columns = result.trace.events
    chosen = columns["kind"] == EventKind.TASK_END
    return dict(
        zip(columns["task"][chosen].tolist(), columns["time_ps"][chosen].tolist(), strict=True)
    )


def test_a_parent_waits_for_joined_children_only(backend: str) -> None:
    # Three workers: the root is at its sync at 1 us; the joined child ends at 3 us.
    assert ends(run(backend, forked([False, False, True]), "central", 3)) == {
        0: 4 * US,
        1: 3 * US,
        2: 5 * US,
    }
    assert ends(run(backend, forked([False, False, False]), "central", 3))[0] == 6 * US


def test_a_parent_may_end_before_all_its_children(backend: str) -> None:
    result = run(backend, forked([False, True, True]), "central", 3, iterations=2)
    spans = result.summary.iteration_end_ps - result.summary.iteration_start_ps
    assert spans.tolist() == [5 * US, 5 * US]  # the iteration ends with its last task
    assert ends(run(backend, forked([False, True, True]), "central", 3))[0] == 2 * US


def test_the_continuation_after_the_last_detached_child_stays_in_the_pool(backend: str) -> None:
    # One worker dives into child 1, then into child 2, and only then goes on with the root.
    alone = run(backend, forked([False, True, True]), "random_stealing", 1)
    assert ends(alone) == {1: 3 * US, 2: 7 * US, 0: 8 * US}
    # A second worker steals the continuation each time and is done with the root at 2 us.
    both = run(backend, forked([False, True, True]), "random_stealing", 3)
    assert ends(both) == {1: 3 * US, 2: 5 * US, 0: 2 * US}


def test_suspended_while_a_joined_child_is_outstanding(backend: str) -> None:
    # The last child is detached, but child 1 is not over: the worker that ends it resumes the root.
    result = run(backend, forked([False, False, True]), "random_stealing", 2)
    assert ends(result) == {1: 3 * US, 0: 4 * US, 2: 5 * US}
    assert result.trace is not None
    assert (result.trace.events["kind"] == EventKind.TASK_SUSPEND).sum() == 1


@pytest.mark.parametrize("policy", ["central", "random_stealing"])
def test_a_detached_child_may_follow_the_end_of_its_parent(backend: str, policy: str) -> None:
    graph = forked([False, True, True], ((0, 1), (1, 2)))
    graph.validate()
    assert ends(run(backend, graph, policy, 2)) == {0: 2 * US, 1: 4 * US, 2: 8 * US}
    with pytest.raises(GraphError, match="cycle: "):
        forked([False, False, True], ((0, 1),)).validate()
    with pytest.raises(GraphError, match="cycle: "):
        forked([False, True, True], ((1, 0),)).validate()


def test_only_children_can_be_detached() -> None:
    with pytest.raises(GraphError, match="task 0: detached: found true, accepted false without a"):
        forked([True, False, False]).validate()
    with pytest.raises(GraphError, match=r"detached: found shape \(2,\), accepted \(3,\)"):
        forked([False, True]).validate()


def test_the_critical_path_ends_with_the_last_task() -> None:
    graph = forked([False, False, True])
    assert critical_path(graph, graph.ops[0], graph.join_ops[0], np.zeros(3)) == 5e3
    joined = forked([False, False, False])
    assert critical_path(joined, joined.ops[0], joined.join_ops[0], np.zeros(3)) == 6e3


def test_a_loop_keeps_what_is_not_ordered() -> None:
    def edges(graph: TaskGraph) -> int:
        flat = flatten(graph)
        flat.validate()
        return flat.n_edges

    # Body before both children and the join; the join after the children that are joined.
    assert edges(forked([False, False, False])) == 5
    assert edges(forked([False, False, True])) == 4


def test_content_and_recordings_carry_it(tmp_path: Path) -> None:
    graph, joined = forked([False, False, True]), forked([False, False, False])
    assert joined.detached is None
    assert content_key({"graph": graph}) != content_key({"graph": joined})
    columns = {name: np.zeros(0, np.int64) for name in ("time_ps", "arg0", "arg1")}
    columns |= {name: np.zeros(0, np.int32) for name in ("kind", "worker", "task", "iteration")}
    for number, one in enumerate((graph, joined)):
        workload = Workload("w", one)
        recording = Recording(
            "r", Trace(columns), one.task_class, ("task",), ("w0",), np.zeros(1, np.int32), workload
        )
        write_recording(tmp_path / f"{number}.parquet", recording)
        read = read_recording(tmp_path / f"{number}.parquet").workload
        assert read is not None
        assert np.array_equal(read.graph.is_joined, one.is_joined)
        assert (read.graph.detached is None) == (one.detached is None)
