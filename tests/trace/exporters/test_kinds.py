"""Exports of what policies do beyond taking and running tasks: every kind of event is handled."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.engine.run import Run, simulate
from simsched.errors import SimschedError
from simsched.policy.executions import Duplicate, Kill
from simsched.trace.exporters import export_recording, recording_of
from simsched.trace.exporters._moments import MOMENTS
from simsched.trace.exporters._timeline import Activity, timeline
from simsched.trace.importers.chrome import read_chrome
from simsched.trace.schema import EventKind, Loss
from simsched.workload.builder import build_graph
from tests.engine.instances import random_machine, random_workload
from tests.engine.test_conditions import changing
from tests.engine.test_duplicates import COSTS, US, Deciding, Speculating, run, uneven

from .test_chrome import exported, violations
from .test_paje import Paje
from .test_timeline import check_counters, trace

START, END, KILL = EventKind.TASK_START, EventKind.TASK_END, EventKind.KILL


def spans(*rows: tuple[int, ...]) -> list[tuple[str, int, int, int]]:
    """Activity, worker, start and end of the intervals that events make."""
    found = timeline(trace(*rows))
    assert found.set_aside == {}
    data = found.intervals
    columns = (data.worker.tolist(), data.start_ps.tolist(), data.end_ps.tolist())
    return [(Activity(a).name, *row) for a, *row in zip(data.activity, *columns, strict=True)]


def test_a_duplicate_and_the_execution_that_it_overtakes() -> None:
    assert spans(
        (0, START, 0, 0, 0, 0),
        (10, EventKind.DUPLICATE, 1, 0, 0, 0),
        (14, START, 1, 0, 0, 0),
        (30, END, 1, 0, 0, 0),
        (30, KILL, 0, 0, Loss.ENDED, 30),
        (35, EventKind.PARK, 0, -1, 0, 0),
    ) == [
        ("TASK", 0, 0, 30),
        ("DUPLICATE", 1, 10, 14),
        ("TASK", 1, 14, 30),
        ("SWITCH", 0, 30, 35),
    ]


def test_a_duplicate_that_never_starts() -> None:
    assert spans(
        (0, START, 0, 0, 0, 0),
        (10, EventKind.DUPLICATE, 1, 0, 0, 0),
        (12, END, 0, 0, 0, 0),
        (12, KILL, 1, 0, Loss.ENDED, -1),
        (17, EventKind.PARK, 1, -1, 0, 0),
    ) == [("TASK", 0, 0, 12), ("DUPLICATE", 1, 10, 12), ("SWITCH", 1, 12, 17)]


def test_a_worker_that_fails_pays_nothing_any_more() -> None:
    assert spans(
        (0, START, 0, 0, 0, 0),
        (3, EventKind.ACQUIRE, 1, 1, 0, 10),
        (5, EventKind.FAILURE, 0, -1, 0, 0),
        (5, KILL, 0, 0, Loss.FAILED, 5),
        (6, EventKind.FAILURE, 1, -1, 0, 0),
        (90, EventKind.TIMER, -1, -1, 0, 0),
    ) == [("TASK", 0, 0, 5), ("POP", 1, 3, 6)]


def check_exports(result: Run, folder: Path) -> None:
    """Write all formats and check them against their rules."""
    recording = recording_of(result)
    document = exported(recording, folder / "x.json")
    assert violations(document) == []
    instants = Counter(e["name"] for e in document["traceEvents"] if e["ph"] == "i")
    assert result.trace is not None
    kinds = Counter(result.trace.events["kind"].tolist())
    wanted = {kind.name.lower().replace("_", " "): kinds[kind] for kind in MOMENTS if kinds[kind]}
    assert instants == wanted
    export_recording(recording, folder / "x.paje")
    found = Paje().read(folder / "x.paje")
    assert Counter(found.names[value] for value in found.moments) == wanted
    export_recording(recording, folder / "x.graphml")
    nodes = nx.read_graphml(folder / "x.graphml").nodes(data=True)
    assert all(node["start_ps"] <= node["end_ps"] for _, node in nodes if "end_ps" in node)
    assert sum("end_ps" in node for _, node in nodes) >= result.workload.graph.n_tasks
    check_counters(result)


def test_what_is_lost_is_drawn_and_not_read_as_a_task(tmp_path: Path) -> None:
    # Worker 1 overtakes worker 0, which is ten times slower; worker 2 fails in its task.
    machine = changing(uneven(0.1, 1.0, 1.0, costs=COSTS), (4, (2,), 0.0), (5, (1,), 0.5))
    policy = Deciding(owner=(0, 1, 2, 1), at_us=((3, Duplicate(0, 1)), (7, Kill(0))))
    graph = build_graph([20_000.0, 1000.0, 9000.0, 1000.0])
    result = run("native", machine, graph, policy)
    check_exports(result, tmp_path)
    back = read_chrome(tmp_path / "x.json")
    assert result.trace is not None
    lost = int((result.trace.events["kind"] == KILL).sum())
    assert lost >= 2
    assert 1 <= back.details["set_aside"]["execution of a task that was lost"] <= lost
    kinds = back.trace.events["kind"].tolist()
    assert kinds.count(END) == kinds.count(START) == graph.n_tasks
    ends = {
        int(task): (int(time), f"core {worker}, thread 0")
        for time, task, worker in zip(
            *(
                result.trace.events[name][result.trace.events["kind"] == END]
                for name in ("time_ps", "task", "worker")
            ),
            strict=True,
        )
    }
    for name, node in nx.read_graphml(tmp_path / "x.graphml").nodes(data=True):
        assert (node["end_ps"], node["worker"]) == ends[int(name)]
        assert node["start_ps"] < node["end_ps"]
    assert max(time for time, _ in ends.values()) > 4 * US


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_random_duplicates_kills_and_preemptions(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    try:
        result = simulate(
            random_machine(seed),
            replace(random_workload(seed + 1), init=None),
            Speculating(choice=seed),
            events=True,
        )
    except SimschedError:
        return
    check_exports(result, tmp_path_factory.mktemp("random"))
