"""Replays of recordings: hand-made ones with known results, simulated ones, and real ones."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.hardware.recorded_graph import schedule
from simsched.hardware.replay import Replay, replay
from simsched.hardware.timeline import read_timeline
from simsched.machine import load_machine
from simsched.machine.model import KernelTime, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.static.recorded import Recorded
from simsched.testing import small_cases
from simsched.trace.importers import import_recording
from simsched.trace.importers._events import Steals, make_trace
from simsched.trace.recording import Recording, read_recording, write_recording
from simsched.trace.schema import EventKind, Trace
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload

MEASURED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
MS = 10**9
Span = tuple[int, int, int]  # worker, start and end in milliseconds


def recorded_run(
    spans: Sequence[Span],
    edges: Sequence[tuple[int, int]] = (),
    *,
    arrival_ms: Sequence[int] | None = None,
    transfers: Sequence[dict[str, Any]] = (),
    parameters: dict[str, object] | None = None,
    ops: Sequence[float] | None = None,
) -> Recording:
    """Return a recording of tasks 0, 1, ... without interruptions; its operations say nothing."""
    n = len(spans)
    worker, start, end = np.array(spans, np.int64).T
    first, second = np.array(edges, np.int64).reshape(-1, 2).T
    graph = build_graph(
        np.full(n, 12345.0) if ops is None else ops,
        successors=adjacency(first, second, n),
        arrival_ps=None if arrival_ms is None else np.array(arrival_ms, np.int64) * MS,
    )
    names = tuple(f"w{i}" for i in range(int(worker.max()) + 1))
    return Recording(
        "run",
        make_trace(np.arange(n), worker, start * MS, end * MS),
        graph.task_class,
        graph.class_names,
        names,
        np.full(len(names), -1, np.int32),
        Workload("run", graph, parameters=parameters or {}),
        {"transfers": list(transfers)} if transfers else {},
    )


def message(after: list[int], before: list[int], start_ms: int, end_ms: int) -> dict[str, Any]:
    times = {"start_ps": start_ms * MS, "end_ps": end_ms * MS}
    return {"after": after, "before": before, "bytes": 100, **times}


CHAIN = recorded_run([(0, 0, 3), (0, 3, 5), (0, 5, 6)], [(0, 1), (1, 2)])
DIAMOND = recorded_run(
    [(0, 0, 4), (0, 4, 10), (1, 4, 7), (1, 10, 12)], [(0, 1), (0, 2), (1, 3), (2, 3)]
)
GAP = recorded_run([(0, 0, 4), (0, 6, 10)])


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_what_the_graph_explains_is_reproduced_exactly(backend: str) -> None:
    for recording, makespan_s, busy_s in (
        (CHAIN, 0.006, [0.006]),
        (DIAMOND, 0.012, [0.010, 0.005]),
    ):
        found = replay(recording, backend=backend)
        assert found.measured_makespan_s == pytest.approx(makespan_s, rel=1e-12)
        assert found.simulated_makespan_s == found.measured_makespan_s
        assert found.makespan_error == 0.0
        assert found.simulated_busy_s.tolist() == pytest.approx(busy_s, rel=1e-12)
        assert found.measured_busy_s.tolist() == found.simulated_busy_s.tolist()
        assert (found.busy_total_error, found.busy_distance) == (0.0, 0.0)
        assert (found.busy_worker_error, found.order_tau) == (0.0, 1.0)


def test_an_idle_gap_that_nothing_explains_is_the_error() -> None:
    found = replay(GAP)
    assert found.measured_makespan_s == pytest.approx(0.010)
    assert found.simulated_makespan_s == pytest.approx(0.008)
    assert found.makespan_error == pytest.approx(-0.2)
    assert found.busy_worker_error == 0.0


def test_steals_and_states_are_compared_where_the_record_has_them() -> None:
    # Two workers; the second one waits for 4 ms, then steals task 2, which the first one made
    # ready, after 1 ms of scheduling.
    recording = recorded_run([(0, 0, 4), (0, 4, 10), (1, 5, 9)], [(0, 1), (0, 2)])
    plain = replay(recording)
    assert plain.measured_steals is None
    assert plain.measured_states_s == plain.simulated_states_s == {}
    stolen = Steals(*(np.array([value]) for value in (5 * MS, 1, 2, 0)))
    spans = (np.array(times) * MS for times in ([0, 4, 5], [4, 10, 9]))
    trace = make_trace(np.arange(3), np.array([0, 0, 1]), *spans, steals=stolen)
    states = {"w1": {"Sleeping": 0.005, "Scheduling": 0.001}}
    details = {"worker_states_s": states, "waiting_states": ["Sleeping"]}
    recording = replace(recording, trace=trace, details=details)
    found = replay(recording, policy="ws[push_s=0,look_s=0,fetch_s=0,release_s=0]")
    assert (found.measured_steals, found.simulated_steals) == (1, 1)
    measured, simulated = found.measured_states_s, found.simulated_states_s
    assert measured["waiting"].tolist() == [0.0, 0.005]
    assert measured["runtime"].tolist() == [0.0, 0.001]
    assert sorted(simulated["waiting"]) == pytest.approx([0.0, 0.006])
    assert simulated["runtime"].tolist() == [0.0, 0.0]
    console = Console(file=io.StringIO(), width=120)
    console.print(found.table())
    shown = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert "waiting per worker [s], mean 0.0025 0.003 +20.00%" in shown
    assert "steals 1 1 +0.00%" in shown
    assert json.loads(json.dumps(found.as_json()))["measured_states_s"]["runtime"] == [0.0, 0.001]


def test_a_gap_before_a_submission_is_explained() -> None:
    spans = [(0, 0, 4), (0, 6, 10)]
    assert replay(recorded_run(spans, arrival_ms=[0, 6])).makespan_error == 0.0


def test_a_worker_waits_for_its_next_task_unless_it_may_overtake() -> None:
    # Task 1 waits for task 0 of the other worker; task 2 could run at once.
    recording = recorded_run([(0, 0, 5), (1, 5, 6), (1, 6, 9)], [(0, 1)])
    found = replay(recording)
    assert found.makespan_error == 0.0
    assert found.order_tau == 1.0
    overtaking = replay(recording, policy="recorded[overtake=true]")
    assert overtaking.simulated_makespan_s == pytest.approx(0.006)
    assert overtaking.policy == "recorded[overtake=true]"
    # Starts 0, 5, 0 ms: of the three pairs one is in order, one is not, one is a tie.
    assert overtaking.order_tau == pytest.approx(0.0)
    assert overtaking.pairs_in_order == pytest.approx(0.5)
    assert "and the order" not in " ".join(overtaking.used)
    assert "and the order" in " ".join(found.used)


def test_tasks_of_no_length_keep_their_order() -> None:
    recording = recorded_run([(0, 0, 0), (0, 0, 0), (0, 0, 2), (0, 2, 2)])
    found = replay(recording)
    assert (found.makespan_error, found.order_tau) == (0.0, 1.0)


def test_the_order_of_one_instant_is_that_of_the_events() -> None:
    # Task 1 ends when task 0, of no length, starts; task 2 follows.
    recording = recorded_run([(0, 2, 2), (0, 0, 2), (0, 2, 5)])
    timeline = read_timeline(recording.trace, recording.workload, 1, "run")
    policy = schedule(timeline, (0, 1), overtake=False)
    assert policy.after == (1, -1, 0, -1, -1)
    assert policy.worker == (0, 0, 0, 1, 2)


def test_the_record_counts_more_than_what_the_graph_states() -> None:
    spans = [(0, 0, 4), (0, 4, 9)]
    recording = recorded_run(spans, parameters={"reference_speed": 1e9}, ops=[1e6, 1e6])
    assert replay(recording).makespan_error == 0.0
    assert replay(recording, policy="cilk").simulated_makespan_s == pytest.approx(0.002)


def test_sorted_busy_times_do_not_depend_on_who_is_who() -> None:
    found = replay(recorded_run([(0, 0, 1), (1, 0, 3)]), policy=Recorded(worker=(1, 0)))
    assert found.simulated_busy_s.tolist() == pytest.approx([0.003, 0.001])
    assert found.busy_distance == pytest.approx(0.0)


def test_messages_between_nodes_take_their_time() -> None:
    spans = [(0, 0, 4), (1, 9, 12)]
    without = replay(recorded_run(spans, [(0, 1)]))
    assert without.simulated_makespan_s == pytest.approx(0.007)
    with_it = replay(recorded_run(spans, [(0, 1)], transfers=[message([0], [1], 4, 9)]))
    assert with_it.makespan_error == 0.0
    assert with_it.workers == 2
    assert len(with_it.simulated_busy_s) == 2  # messages are nobody's work
    assert any("Messages between nodes: 1" in line for line in with_it.used)


def test_messages_at_the_same_time_do_not_wait_for_each_other() -> None:
    spans = [(0, 0, 4), (1, 9, 12), (2, 10, 11), (3, 12, 13)]
    sent = [message([0], [1], 4, 9), message([0], [2], 4, 10), message([2], [3], 11, 12)]
    assert replay(recorded_run(spans, transfers=sent)).makespan_error == 0.0
    # One that follows no task is sent when it was sent.
    early = [message([], [1], 2, 9)]
    assert replay(recorded_run([(0, 0, 4), (1, 9, 12)], transfers=early)).makespan_error == 0.0


def test_other_policies_schedule_the_work_that_the_graph_states() -> None:
    # Four tasks of 2 ms on two workers; the record took 6 ms because of an idle worker.
    spans = [(0, 0, 2), (0, 2, 4), (0, 4, 6), (1, 0, 2)]
    recording = recorded_run(spans, parameters={"reference_speed": 1e9}, ops=[2e6] * 4)
    found = replay(recording, policy="work_sharing")
    assert found.simulated_makespan_s == pytest.approx(0.004)
    assert found.makespan_error == pytest.approx(-1 / 3)
    assert found.busy_worker_error is None
    # Measured 6 and 2, simulated 4 and 4: each is 2 away from a mean of 4.
    assert found.busy_distance == pytest.approx(0.5)
    assert found.busy_total_error == pytest.approx(0.0)
    # On a machine of another speed tasks take what they took; the runtime's costs are added.
    costs = RuntimeCosts(pop_ps=MS // 10)
    slow = make_machine(domains=1, ops_per_s=3e8, costs=costs)
    # Each worker takes two tasks; the first is taken before the first start.
    assert replay(recording, slow, "work_sharing").simulated_makespan_s == pytest.approx(0.0041)


def test_without_a_stated_speed_tasks_take_what_they_took() -> None:
    recording = recorded_run([(0, 0, 2), (0, 2, 4), (0, 4, 6), (1, 0, 2)])
    assert replay(recording, policy="work_sharing").simulated_makespan_s == pytest.approx(0.004)


def test_a_machine_with_kernels_prices_operations() -> None:
    recording = recorded_run([(0, 0, 2), (1, 0, 2)], ops=[1e3, 3e3])
    # Two iterations, so that events alone do not say what a task takes.
    twice = replace(recording.workload, iterations=2)
    events = {k: np.concatenate([v, v]) for k, v in recording.trace.events.items()}
    n = len(recording.trace)
    events["time_ps"][n:] += 2 * MS
    events["iteration"][n:] = 1
    recording = replace(recording, workload=twice, trace=Trace(events))
    machine = make_machine(domains=1, ops_per_s=5e9)
    with pytest.raises(ConfigurationError, match="nothing says how long the operations"):
        replay(recording, machine, "cilk")
    calibrated = replace(machine, kernels={"run.task": {"cpu": KernelTime((1,), (1e-6,))}})
    found = replay(recording, calibrated, "cilk", runs=1)
    assert (found.tasks, found.placed) == (4, 4)
    assert found.simulated_makespan_s == pytest.approx(0.006)
    assert found.makespan_error == pytest.approx(0.5)


@pytest.mark.parametrize("policy", ["cilk", "pfws", "work_sharing"])
def test_a_simulated_run_is_its_own_replay(policy: str) -> None:
    costs = RuntimeCosts(
        spawn_child_first_ps=1000, spawn_parent_first_ps=2000, pop_ps=30, steal_ps=(500, 700)
    )
    machine = make_machine(domains=2, cores_per_domain=2, ops_per_s=1e9, costs=costs)
    children = [[1, 2, 3], [4, 5], [], [6, 7, 8], [], [], [], [], []]
    parent = [task for task, own in enumerate(children) for _ in own]
    graph = build_graph(
        np.linspace(1e5, 9e5, 9),
        join_ops=[1e4 if own else 0.0 for own in children],
        children=adjacency(parent, [child for own in children for child in own], 9),
        creation_ops=np.full(9, 5e3),
    )
    workload = Workload("tree", graph, 3, parameters={"reference_speed": 1e9})
    run = simulate(machine, workload, make_policy(policy), seed=3, events=True)
    recording = Recording(
        "tree",
        run.trace,
        graph.task_class,
        graph.class_names,
        ("a", "b", "c", "d"),
        np.arange(4, dtype=np.int32),
        workload,
    )
    found = replay(recording, machine, policy, runs=4)
    assert len(found.run_makespans_s) == 4
    assert found.measured_makespan_s in found.run_makespans_s
    assert found.tasks == found.placed == 27
    assert sorted(found.run_makespans_s)[1] == found.simulated_makespan_s


def test_an_initialisation_counts_nowhere() -> None:
    init = build_graph([1e6, 2e6, 4e6])
    recording = recorded_run([(0, 0, 4), (1, 0, 3)])
    shifted = {k: v.copy() for k, v in recording.trace.events.items()}
    shifted["time_ps"] += 9 * MS
    shifted["iteration"] += 1
    before = make_trace(
        *(np.array(column) for column in ([0, 1, 2], [0, 1, 1], [0, 0, 2 * MS])),
        np.array([MS, 2 * MS, 6 * MS]),
    )
    joined = {k: np.concatenate([before.events[k], v]) for k, v in shifted.items()}
    workload = replace(recording.workload, init=init)
    found = replay(replace(recording, workload=workload, trace=Trace(joined)))
    assert found.measured_makespan_s == pytest.approx(0.004)
    assert found.makespan_error == 0.0
    assert found.measured_busy_s.tolist() == pytest.approx([0.004, 0.003])
    assert any(line.startswith("Initialisation: not simulated") for line in found.used)


def test_busy_times_are_those_that_engines_count() -> None:
    seen = 0
    for case in small_cases():
        for name in ("cilk", "pfws", "bats", "recorded"):
            machine = replace(
                case.machine, costs=replace(case.machine.costs, push_ps=0, lock_hold_ps=0)
            )
            workload = replace(case.workload, init=None)
            try:
                run = simulate(
                    machine, workload, make_policy(name), workers=case.workers, events=True
                )
            except SimschedError:
                continue
            timeline = read_timeline(run.trace, run.workload, len(run.worker_thread), case.name)
            counted = run.summary.worker_busy_ps + run.summary.worker_spawn_ps
            assert timeline.busy_ps.tolist() == counted.tolist(), (case.name, name)
            assert timeline.finish_ps == run.summary.makespan_ps
            seen += 1
    assert seen > 50


def without_graph(recording: Recording) -> Recording:
    return replace(recording, workload=None)


def without_event(recording: Recording, kind: EventKind, task: int) -> Recording:
    events = recording.trace.events
    keep = ~((events["kind"] == kind) & (events["task"] == task))
    return replace(recording, trace=Trace({k: v[keep] for k, v in events.items()}))


def with_events(recording: Recording, **changed: tuple[int, int]) -> Recording:
    events = {k: v.copy() for k, v in recording.trace.events.items()}
    for column, (row, value) in changed.items():
        events[column][row] = value
    return replace(recording, trace=Trace(events))


OVERLAP = replace(
    recorded_run([(0, 0, 4), (0, 4, 8)]),
    trace=make_trace(
        np.arange(2), np.zeros(2, np.int64), np.array([0, 3 * MS]), np.array([4 * MS, 8 * MS])
    ),
)
UNPLACED = without_event(without_event(GAP, EventKind.TASK_END, 1), EventKind.TASK_START, 1)
CONTRARY = recorded_run([(0, 0, 2), (0, 2, 4)], [(1, 0)])
TWO_KINDS = replace(
    GAP,
    workload=replace(
        GAP.workload,
        graph=build_graph(np.array([[1e6, 1e6], [5e5, 5e5]]), kinds=("cpu", "cuda")),
        parameters={"reference_speed": 1e9},
    ),
)


@pytest.mark.parametrize(
    ("recording", "machine", "policy", "message"),
    [
        (without_graph(GAP), None, None, "run: has no task graph; accepted"),
        (OVERLAP, None, None, "worker 0: task 1 starts while task 0 is running"),
        (
            without_event(GAP, EventKind.TASK_END, 1),
            None,
            "cilk",
            "run: task 1 has 1 TASK_START and 0 TASK_END events",
        ),
        (without_event(GAP, EventKind.TASK_START, 0), None, None, "task 0 has 0 TASK_START and 1"),
        (UNPLACED, None, None, "policy recorded: 1 of 2 tasks have no TASK_START and TASK_END"),
        (
            DIAMOND,
            make_machine(domains=1, cores_per_domain=1),
            None,
            "run: found 2 workers, machine synthetic has 1 hardware threads",
        ),
        (CONTRARY, None, None, "the recorded order contradicts the dependences"),
        (with_events(GAP, worker=(1, 7)), None, None, "run: found worker 7, accepted 0 to 0"),
        (with_events(GAP, task=(1, 9)), None, None, "run: found task 9, accepted 0 to 1"),
        (with_events(GAP, iteration=(1, 1)), None, None, "run: found iteration 1, accepted 0 to 0"),
        (TWO_KINDS, None, "cilk", "its tasks have costs on cpu, cuda; accepted with this policy"),
        (
            replace(GAP, workload=replace(GAP.workload, iterations=2)),
            None,
            None,
            "policy recorded: found 2 iterations, accepted",
        ),
        (
            recorded_run([(0, 0, 1), (1, 2, 3)], transfers=[message([0], [1], 1, 2)]),
            make_machine(),
            None,
            "the messages between its nodes need workers of their own",
        ),
        (GAP, None, "cilkk", "unknown policy 'cilkk'"),
    ],
)
def test_bad_input_is_refused(
    recording: Recording, machine: Any, policy: str | None, message: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        replay(recording, machine, policy)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="runs: found 0, accepted 1 or more"):
        replay(GAP, runs=0)


def test_a_recording_that_contradicts_its_graph_may_be_replayed_without_its_order() -> None:
    found = replay(CONTRARY, policy=Recorded(overtake=True))
    assert found.makespan_error == 0.0
    assert found.order_tau == -1.0


def test_json_and_table(tmp_path: Path) -> None:
    write_recording(tmp_path / "run.parquet", DIAMOND)
    found = replay(read_recording(tmp_path / "run.parquet"))
    document = json.loads(json.dumps(found.as_json()))
    assert document["measured_busy_s"] == pytest.approx([0.010, 0.005])
    assert document["pairs_in_order"] == 1.0
    assert document["used"] == list(found.used)
    text = shown(found)
    assert "run: 4 tasks on 2 workers, recorded" in text
    assert "busy, worst worker" in text
    assert "runs" not in text
    several = shown(replay(DIAMOND, policy="cilk", runs=2))
    assert "of 2 runs" in several
    assert "busy, worst worker" not in several


def test_inferred_starts_are_not_called_measured() -> None:
    """They were: a file that does not say when tasks ran seemed to have been met exactly."""
    told = {"starts": "inferred (earliest)", "stated_makespan_s": 776.0, "warnings": ["a", "b"]}
    found = replay(replace(CHAIN, details=told))
    assert found.inferred
    assert found.warnings == ("a", "b")
    heading = shown(found).splitlines()[2].split()
    assert heading == ["quantity", "inferred", "simulated", "difference"]
    sentence = "Starts of tasks: inferred by the importer, not measured; the file states a makespan"
    assert f"{sentence} of 776 s." in found.used
    stated = replay(replace(CHAIN, details={"starts": "stated (executedAt)"}))
    assert not stated.inferred
    assert "measured" in shown(stated).splitlines()[2]


def shown(found: Replay) -> str:
    stream = io.StringIO()
    Console(file=stream, width=120).print(found.table())
    return stream.getvalue()


def makespans(found: Replay) -> tuple[float, float]:
    """Return the measured and the simulated makespan."""
    measured_s = found.measured_makespan_s
    return measured_s, measured_s * (1.0 + found.makespan_error)


def steals_and_waits(found: Replay) -> dict[str, tuple[float, float]]:
    """Return measured and simulated steals, and how long workers wait in all."""
    measured, simulated = found.measured_states_s, found.simulated_states_s
    waits = float(measured["waiting"].sum()), float(simulated["waiting"].sum())
    assert found.measured_steals is not None
    steals = float(found.measured_steals), float(found.simulated_steals)
    return {"steals": steals, "time that workers wait": waits}


def real(name: str) -> Path:
    path = MEASURED / name
    if not path.exists():
        pytest.skip(f"no measured data in {path}")
    return path


@pytest.mark.accuracy
@pytest.mark.validation
def test_fibonacci_on_48_cores_within_ten_percent(record: Any) -> None:
    path = real("mir_fib_opteron48/task-stats.csv.gz")
    recording = import_recording(path, clock="2.1 GHz")
    found = replay(recording, load_machine("opteron48"), "pfws")
    assert found.measured_makespan_s == pytest.approx(863.6e6 / 2.1e9, rel=1e-3)
    assert (found.tasks, found.placed, found.workers) == (8192, 4096, 48)
    record("replay of fib(45) on 48 cores", {"makespan": makespans(found)})
    assert abs(found.makespan_error) < 0.10
    # The cores do the recorded work, and share it nearly as they did.
    assert abs(found.busy_total_error) < 0.001
    assert found.busy_distance < 0.05
    used = " ".join(found.used)
    assert "Creation of each task: what its parent paid for it in the record (6.985 s" in used
    assert "steal 200/200/1000" in used


@pytest.mark.accuracy
@pytest.mark.validation
def test_three_loops_on_48_cores_within_three_percent(record: Any) -> None:
    recording = import_recording(real("mir_for_loop_opteron48/task-stats.csv.gz"), clock="2.1 GHz")
    found = replay(recording, load_machine("opteron48"), "pfws")
    record("replay of three loops on 48 cores", {"makespan": makespans(found)})
    assert found.measured_makespan_s == pytest.approx(3.013, rel=1e-3)
    assert abs(found.makespan_error) < 0.03
    assert abs(found.busy_total_error) < 0.001


@pytest.mark.accuracy
@pytest.mark.validation
def test_sparse_qr_on_ten_cores_within_five_percent(record: Any) -> None:
    recording = import_recording(real("starvz_qr"))
    found = {name: replay(recording, policy=name, runs=1) for name in ("ws", "lws")}
    rows = {name: makespans(each) for name, each in found.items()}
    record("replay of sparse QR on 10 cores", {**rows, **steals_and_waits(found["ws"])})
    assert all(abs(each.makespan_error) < 0.05 for each in found.values())
    # Each link is of a task of its own, which the thief begins within 0.1 ms.
    assert found["ws"].measured_steals == 718
    # Most of its tasks state a priority, which two of the policies go by.
    ordered = replay(recording, policy="prio", runs=1)
    assert (
        ordered.simulated_makespan_s
        != replay(recording, policy="eager", runs=1).simulated_makespan_s
    )


@pytest.mark.validation
@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_lu_on_two_nodes_within_five_percent(backend: str) -> None:
    recording = import_recording(real("starvz_lu"))
    found = replay(recording, backend=backend)
    assert (found.tasks, found.workers) == (268, 38)
    assert found.measured_makespan_s == pytest.approx(1.361, rel=1e-3)
    assert abs(found.makespan_error) < 0.05
    assert found.busy_worker_error is not None
    assert found.busy_worker_error < 0.05
    assert found.pairs_in_order > 0.95
    # Messages matter: without them the run would be far too short.
    silent = {**recording.details, "transfers": []}
    assert replay(replace(recording, details=silent)).makespan_error < -0.05


@pytest.mark.accuracy
@pytest.mark.validation
def test_both_backends_replay_the_lu_alike(record: Any) -> None:
    recording = import_recording(real("starvz_lu"))
    replays = [replay(recording, backend=name) for name in ("native", "simpy")]
    record("replay of LU on two nodes", {"makespan": makespans(replays[0])})
    documents = [found.as_json() for found in replays]
    assert documents[0] == documents[1]
