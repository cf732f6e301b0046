"""What the runtime executes, in which order, and what it records of it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.hardware import preparation, runtime
from simsched.hardware.mode import Mode
from simsched.hardware.program import Program, make_program
from simsched.hardware.runtime import execute
from simsched.machine.synthetic import make_machine
from simsched.trace.recording import Recording, read_recording, write_recording
from simsched.trace.schema import EVENT_COLUMNS, NONE, EventKind
from simsched.workload.graph import TaskGraph
from tests.engine.invariants import execution_violations

from .support import MODES, mode_name, needs_linux, policy_of, random_program

pytestmark = needs_linux

WORKERS = (1, 2, 3, 8)


def graphs(program: Program) -> list[tuple[int, TaskGraph]]:
    """Return the iterations of a program with their numbers."""
    workload = program.workload
    init = [] if workload.init is None else [(0, workload.init)]
    return init + [(i + 1, workload.graph) for i in range(workload.iterations)]


def column(recording: Recording, name: str, *kinds: EventKind) -> np.ndarray:
    events = recording.trace.events
    return events[name][np.isin(events["kind"], kinds)]


def check_counts(program: Program, recording: Recording) -> None:
    """Compare the numbers of events with those that follow from the graph."""
    kinds = Counter(recording.trace.events["kind"].tolist())
    executed = [graph for _, graph in graphs(program)]
    n_tasks = sum(graph.n_tasks for graph in executed)
    assert kinds[EventKind.TASK_START] == kinds[EventKind.TASK_END] == n_tasks
    assert kinds[EventKind.SPAWN] == sum(len(graph.child) for graph in executed)
    assert kinds[EventKind.TASK_READY] == kinds[EventKind.ACQUIRE]
    assert kinds[EventKind.ITERATION_START] == kinds[EventKind.ITERATION_END] == len(executed)
    assert kinds[EventKind.STEAL] == sum(recording.details["steals"])
    assert sum(recording.details["tasks"]) == n_tasks
    assert recording.details["lost_events"] == 0
    assert len(recording.details["iteration_s"]) == len(executed)
    assert recording.trace.events["time_ps"][0] == 0
    ends = {number: 0 for number, _ in graphs(program)}
    iteration = column(recording, "iteration", EventKind.TASK_END)
    for number, time in zip(
        iteration, column(recording, "time_ps", EventKind.TASK_END), strict=True
    ):
        ends[int(number)] = max(ends[int(number)], int(time))
    assert column(recording, "time_ps", EventKind.ITERATION_END).tolist() == list(ends.values())


def check_pools(recording: Recording) -> None:
    """A task is taken from where it was pushed, not before, and once."""
    events = recording.trace.events
    where: dict[int, int] = {}
    idle = dict.fromkeys(range(recording.n_workers), True)
    rows = zip(*(events[name].tolist() for name in EVENT_COLUMNS), strict=True)
    for _, kind, worker, task, _, arg0, arg1 in rows:
        if kind == EventKind.TASK_READY:
            assert task not in where
            where[task] = arg1
        elif kind == EventKind.ACQUIRE:
            assert where.pop(task) == arg0
            assert not idle[worker]
        elif kind == EventKind.STEAL:
            assert arg0 != worker
        elif kind in (EventKind.PARK, EventKind.WAKE):
            assert idle[worker] == (kind == EventKind.WAKE)
            idle[worker] = not idle[worker]
    assert where == {}


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_random_graphs(mode: Mode) -> None:
    for seed in range(32):
        program = random_program(seed, arg=1000 * (seed % 3))
        recording = execute(program, mode, workers=WORKERS[seed % 4], seed=seed)
        assert execution_violations(recording.trace, recording.workload) == []
        check_counts(program, recording)
        check_pools(recording)


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_spawn_order_is_the_one_asked_for(mode: Mode) -> None:
    program = make_program("empty", {"shape": "tree", "tasks": 15})
    recording = execute(program, mode, workers=2)
    flags = column(recording, "arg1", EventKind.SPAWN)
    assert set(flags.tolist()) == {0 if mode.order == "child_first" else 1}


def replayable() -> list[Mode]:
    """Return the modes that the simulator has."""
    deques = [mode for mode in MODES if mode.pools == "deques"]
    return [*deques, Mode(order="parent_first", pools="central")]


@pytest.mark.parametrize("mode", replayable(), ids=mode_name)
def test_one_worker_does_everything_in_the_order_of_the_simulator(mode: Mode) -> None:
    kinds = (
        EventKind.TASK_READY,
        EventKind.ACQUIRE,
        EventKind.TASK_START,
        EventKind.TASK_SUSPEND,
        EventKind.TASK_RESUME,
        EventKind.TASK_END,
        EventKind.SPAWN,
        EventKind.ITERATION_START,
        EventKind.ITERATION_END,
    )
    for seed in range(20):
        program = random_program(seed)
        measured = execute(program, mode, workers=1)
        machine = make_machine(domains=1, cores_per_domain=1)
        run = simulate(machine, program.workload, policy_of(mode), events=True)
        assert run.trace is not None
        simulated = run.trace.events
        chosen = np.isin(simulated["kind"], kinds)
        for name in ("kind", "task", "iteration"):
            assert column(measured, name, *kinds).tolist() == simulated[name][chosen].tolist()


@pytest.mark.parametrize("mode", replayable(), ids=mode_name)
def test_several_workers_do_as_much_as_in_the_simulator(mode: Mode) -> None:
    program = random_program(2, arg=2000)
    measured = execute(program, mode, workers=4)
    machine = make_machine(domains=1, cores_per_domain=4)
    run = simulate(machine, program.workload, policy_of(mode), events=True)
    assert run.trace is not None
    for kind in (EventKind.TASK_START, EventKind.TASK_END, EventKind.SPAWN):
        simulated = np.count_nonzero(run.trace.events["kind"] == kind)
        assert len(column(measured, "kind", kind)) == simulated
    assert sum(measured.details["tasks"]) == run.summary.n_tasks


def test_thieves_take_the_oldest() -> None:
    # One worker spawns everything; the other only ever steals, in the order of the pushes.
    program = make_program("spin", {"shape": "loop", "tasks": 400, "work_ns": 5000})
    recording = execute(program, Mode(order="parent_first"), workers=2)
    spawner = int(column(recording, "worker", EventKind.SPAWN)[0])
    stolen = column(recording, "task", EventKind.STEAL)
    thief = column(recording, "worker", EventKind.STEAL)
    taken = stolen[(thief != spawner) & (stolen > 0)]
    assert taken.tolist() == sorted(taken.tolist())


def test_tasks_that_are_ready_are_dealt_out() -> None:
    program = make_program("empty", {"shape": "independent", "tasks": 7})
    recording = execute(program, workers=3)
    ready = recording.trace.events["kind"] == EventKind.TASK_READY
    assert column(recording, "arg1", EventKind.TASK_READY).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert set(recording.trace.events["worker"][ready].tolist()) == {NONE}
    central = execute(program, Mode(pools="central"), workers=3)
    assert set(column(central, "arg1", EventKind.TASK_READY).tolist()) == {0}
    order = column(central, "task", EventKind.TASK_READY)
    assert order.tolist() == list(range(7))


def test_without_trace_there_are_iterations_and_counters() -> None:
    program = random_program(3, arg=100)
    recording = execute(program, workers=2, trace=False)
    kinds = set(recording.trace.events["kind"].tolist())
    assert EventKind.TASK_START not in kinds
    n_iterations = len(graphs(program))
    assert len(column(recording, "kind", EventKind.ITERATION_END)) == n_iterations
    assert sum(recording.details["tasks"]) == sum(g.n_tasks for _, g in graphs(program))
    assert np.all(np.diff(recording.trace.events["time_ps"]) >= 0)


def test_what_does_not_fit_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    program = make_program("empty", {"shape": "tree", "tasks": 100})
    full = execute(program, workers=1)
    monkeypatch.setattr(runtime, "record_bound", lambda program: 50)
    cut = execute(program, workers=1)
    assert cut.details["lost_events"] > 0
    made_up = len(column(full, "kind", EventKind.ITERATION_START, EventKind.ITERATION_END)) + 1
    assert len(cut.trace) < len(full.trace) - made_up


def test_the_bound_of_records_holds_where_everything_happens() -> None:
    program = make_program("empty", {"shape": "loop", "tasks": 300, "iterations": 3})
    for mode in MODES:
        recording = execute(program, mode, workers=2)
        assert recording.details["lost_events"] == 0
        most = max(np.bincount(recording.trace.events["worker"] + 1, minlength=3)[1:])
        assert most <= 2 * preparation.record_bound(program)


def test_recordings_say_how_they_were_made_and_can_be_kept(tmp_path) -> None:
    program = random_program(5)
    recording = execute(program, Mode(pools="central"), workers=2, seed=7)
    details = recording.details
    assert details["mode"]["pools"] == "central"
    assert details["seed"] == 7
    assert details["clock"] in {"tsc", "clock_monotonic"}
    assert details["host"]["hardware_threads"] >= 1
    assert len(details["idle_s"]) == len(details["steals"]) == recording.n_workers == 2
    assert all(seconds >= 0 for seconds in details["idle_s"])
    counted = details["processor_events"][0]
    assert counted or details["processor_events_error"]
    write_recording(tmp_path / "run.parquet", recording)
    again = read_recording(tmp_path / "run.parquet")
    for name in EVENT_COLUMNS:
        assert np.array_equal(again.trace.events[name], recording.trace.events[name])
    assert again.details == details
    assert again.worker_core.tolist() == recording.worker_core.tolist()


def test_workers_that_share_a_core_share_its_time() -> None:
    program = make_program("spin", {"tasks": 400, "work_ns": 100_000})
    details = execute(program, workers=4, cores=[runtime.allowed_cores()[0]]).details
    pairs = list(zip(details["cpu_s"], details["present_s"], strict=True))
    assert len(pairs) == 4
    # The clocks of threads and of the host may differ a little.
    assert all(0 < cpu <= 1.01 * present for cpu, present in pairs)
    assert sum(details["cpu_s"]) <= 1.01 * max(details["present_s"])
    assert 1.01 * max(details["present_s"]) >= sum(details["iteration_s"])


def test_workers_are_pinned_in_turn() -> None:
    cores = runtime.allowed_cores()
    program = make_program("empty", {"tasks": 10})
    recording = execute(program, workers=2 * len(cores) + 1)
    assert recording.worker_core.tolist() == [*cores, *cores, cores[0]]
    one = execute(program, cores=[cores[-1]])
    assert one.worker_core.tolist() == [cores[-1]]


def test_workers_steal_from_all_others() -> None:
    found: set[tuple[int, int]] = set()
    for seed in range(100):
        program = make_program("spin", {"shape": "tree", "tasks": 1000, "work_ns": 20_000})
        recording = execute(program, workers=3, seed=seed)
        pairs = (column(recording, name, EventKind.STEAL) for name in ("worker", "arg0"))
        found |= set(zip(*(values.tolist() for values in pairs), strict=True))
        if len(found) == 6:
            break
    assert found == {(thief, victim) for thief in range(3) for victim in range(3)} - {
        (worker, worker) for worker in range(3)
    }
