"""Exports of what policies do beyond taking and running tasks: every kind of event is handled."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.analysis.recordings import recording_of
from simsched.engine.run import simulate
from simsched.files.errors import SimschedError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.testing import small_workloads
from simsched.trace.exporters import export_recording
from simsched.trace.exporters._moments import MOMENTS
from simsched.trace.exporters._timeline import Activity, timeline
from simsched.trace.importers.chrome import read_chrome
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Loss
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload
from tests.engine import test_page_balancing as page_balancing
from tests.engine.instances import random_machine, random_workload
from tests.engine.test_conditions import changing
from tests.engine.test_copies import device_machine
from tests.engine.test_duplicates import COSTS, US, Deciding, Speculating, run, uneven
from tests.policy import test_asymmetric as asymmetric
from tests.policy import test_runtime_queues as runtime_queues

from .test_chrome import exported, violations
from .test_paje import Paje
from .test_timeline import busy, check_counters, trace

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


def an_unpinned_run(backend: str) -> Run:
    policy = make_policy("cilk", {"exchange_period_s": 3e-4})
    machine = make_machine(domains=2, cores_per_domain=2, dram_bandwidth_bytes_per_s=2e9)
    return simulate(machine, small_workloads()["tree"], policy, backend=backend, events=True)


def a_run_whose_order_changes(backend: str) -> Run:
    workload = generate_workload("stages", {"chunks": 60, "shares": "1 6 3 1"})
    machine = asymmetric.uneven(4e9, 4e9, 1e9, 1e9)
    return simulate(machine, workload, make_policy("aats"), backend=backend, events=True)


def a_run_whose_pages_move(backend: str) -> Run:
    hasty = page_balancing.Pinned(balancing=page_balancing.every(5e-6), workers=(0, 1, 0, 1))
    return page_balancing.run(backend, page_balancing.reads([page_balancing.SIZE] * 4), hasty)


def a_run_with_a_device(backend: str) -> Run:
    reads = [[task % 3, 3 + task % 5] for task in range(12)]
    workload = Workload("tasks", runtime_queues.graph([4.0] * 12, reads))
    policy = runtime_queues.alone("dmda")
    machine = device_machine(devices=1)
    return simulate(
        machine, workload, policy, workers=3, pinning="compact", backend=backend, events=True
    )


@pytest.mark.parametrize("backend", ["native", "simpy"])
@pytest.mark.parametrize(
    ("run_of", "kind"),
    [
        (an_unpinned_run, EventKind.EXCHANGE),
        (a_run_whose_order_changes, EventKind.ACQUIRE_ORDER),
        (a_run_whose_pages_move, EventKind.PAGE_MOVE),
    ],
)
def test_what_only_some_policies_do_is_exported(
    run_of: Callable[[str], Run], kind: EventKind, backend: str, tmp_path: Path
) -> None:
    result = run_of(backend)
    assert result.trace is not None
    assert kind in result.trace.events["kind"]
    check_exports(result, tmp_path)
    check_counters(result)


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_copies_of_engines_are_drawn(backend: str, tmp_path: Path) -> None:
    result = a_run_with_a_device(backend)
    check_exports(result, tmp_path)
    assert result.trace is not None
    events = result.trace.events
    ends = {
        phase: sorted(
            zip(
                *(events[n][events["kind"] == kind].tolist() for n in ("time_ps", "arg0")),
                strict=True,
            )
        )
        for phase, kind in (("b", EventKind.MIGRATE_START), ("e", EventKind.MIGRATE_END))
    }
    assert len(ends["b"]) == len(ends["e"]) == result.summary.migrations > 3
    drawn = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    for phase, moments in ends.items():
        own = [e for e in drawn if e["ph"] == phase]
        found = sorted((round(e["ts"] * 1e3), e["args"]["block"]) for e in own)
        assert found == [((time + 500) // 1000, block) for time, block in moments]
        assert {e["name"] for e in own} == {"copy to dram1"}
        assert sorted(e["id"] for e in own) == sorted(f"copy {i}" for i in range(len(moments)))
    # The variable in Paje: how many have begun and not ended.
    series = Paje().read(tmp_path / "x.paje").of_type
    variables = [values for (kind, _), values in series.items() if kind == "K"]
    assert len(variables) == 1
    assert max(value for _, value in variables[0]) >= 1
    for time, value in variables[0]:
        begun, ended = (sum(t <= round(time * 1e12) for t, _ in ends[phase]) for phase in "be")
        assert value == begun - ended
    # Time in tasks is time that they compute and time that they wait for copies.
    found, n = timeline(result.trace), len(result.worker_thread)
    waited = result.summary.worker_busy_ps + result.summary.worker_migrate_ps
    assert busy(found, n).tolist() == waited.tolist()
    assert result.summary.worker_migrate_ps.any()


def test_what_is_lost_is_drawn_and_not_read_as_a_task(tmp_path: Path) -> None:
    # Worker 1 overtakes worker 0, which is ten times slower; worker 2 fails in its task.
    machine = changing(uneven(0.1, 1.0, 1.0, costs=COSTS), (4, (2,), 0.0), (5, (1,), 0.5))
    policy = Deciding(owner=(0, 1, 2, 1), at_us=((3, Duplicate(0, 1)), (7, Kill(0))))
    graph = build_graph([20_000.0, 1000.0, 9000.0, 1000.0])
    result = run("native", machine, graph, policy)
    check_exports(result, tmp_path)
    check_counters(result)
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


@settings(max_examples=25)
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
    check_counters(result)
