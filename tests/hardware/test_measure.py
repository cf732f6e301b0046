"""Measuring a matrix: what runs in which order, what is kept, and what an interruption leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import simsched
from simsched.files.errors import ConfigurationError, HardwareError
from simsched.hardware import measure as measuring
from simsched.hardware.measure import (
    Interrupted,
    cells_of,
    measure,
    measure_alternately,
    number_of_runs,
    round_robin,
)
from simsched.hardware.measurements import INDEX, MeasurementSet, read_measurements
from simsched.hardware.mode import Mode
from simsched.hardware.overhead import tracing_overhead
from simsched.hardware.program import Program
from simsched.hardware.runtime import execute
from simsched.report.measurements import document_of, overhead_line, summarise
from simsched.trace.recording import Recording
from simsched.trace.schema import EventKind

from .fake_host import FakeHost, matrix, quick  # noqa: F401 (a fixture)
from .support import needs_linux

pytestmark = [needs_linux, pytest.mark.usefixtures("quick")]


def watch(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], None]) -> list[dict[str, Any]]:
    """Note the arguments of every run, and call `before` with its number."""
    seen: list[dict[str, Any]] = []

    def watched(program: Program, mode: Mode, **arguments: Any) -> Recording:
        before(len(seen))
        seen.append({"program": program, "mode": mode, **arguments})
        return execute(program, mode, **arguments)

    monkeypatch.setattr(measuring, "execute", watched)
    return seen


def nothing(number: int) -> None:
    del number


def test_every_cell_runs_in_every_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, nothing)
    steps: list[None] = []
    given = matrix(repetitions=2, warmup=2, seed=7)
    measured = measure(given, tmp_path, host=FakeHost(), progress=lambda: steps.append(None))
    own = [("deques", 1), ("deques", 2), ("central", 1), ("central", 2)]
    ran = [(each["program"].name, each["mode"].pools, each["workers"]) for each in seen]
    # Rounds -2 to 1: the cells of a program take turns at being its first.
    assert ran == [
        (program, *each)
        for first in (2, 3, 0, 1)
        for program in ("empty", "heat")
        for each in own[first:] + own[:first]
    ]
    assert [each["seed"] for each in seen] == [7] * 8 + [7] * 8 + [7] * 8 + [8] * 8
    assert len(steps) == number_of_runs(given) == 32
    # Pages stay where the first run has touched them, so no run sees another's arrays.
    programs = [each["program"] for each in seen]
    arrays = {id(array) for program in programs for array in program.arrays}
    assert len(arrays) == sum(len(program.arrays) for program in programs)
    cells = [(cell.label, cell.policy, cell.workers) for cell in cells_of(given, 1)]
    turned = [*cells[1:4], cells[0], *cells[5:], cells[4]]
    assert [run.cell for run in measured.runs] == cells + turned
    assert [run.repetition for run in measured.runs] == [0] * 8 + [1] * 8
    assert [run.seed for run in measured.runs] == [7] * 8 + [8] * 8


def test_a_round_of_each_matrix_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, nothing)
    one = matrix(name="one", policies=["cilk_a"], workers=[1], warmup=0, repetitions=3)
    two = matrix(name="two", policies=["cilk_a"], workers=[2], warmup=1, repetitions=1)
    found = measure_alternately([(one, tmp_path / "a"), (two, tmp_path / "b")], host=FakeHost())
    # Rounds: one, two (warm-up), one, two, one; two programs each.
    assert [each["workers"] for each in seen] == [1, 1, 2, 2, 1, 1, 2, 2, 1, 1]
    assert [each.name for each in found] == ["one", "two"]
    assert [len(read_measurements(tmp_path / name).runs) for name in "ab"] == [6, 2]


@pytest.mark.parametrize("rounds", [[1], [10, 26], [26, 10], [3, 3, 7]])
def test_rounds_of_each_matrix_are_spread_over_the_whole(rounds: list[int]) -> None:
    order = round_robin(rounds)
    assert [order.count(number) for number in range(len(rounds))] == rounds
    for number, count in enumerate(rounds):
        for done in range(len(order) + 1):
            share = done * count / len(order)
            assert abs(order[:done].count(number) - share) <= 1


@pytest.mark.parametrize(
    ("ended", "kept"),
    [
        (0, {}),
        (2, {"one": 2}),  # nothing of the second
        (3, {"one": 2, "two": 1}),  # in the first round of the second
        (5, {"one": 3, "two": 2}),  # in the second round of the first
    ],
)
def test_an_interruption_keeps_what_has_ended_of_each_matrix(
    ended: int, kept: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(number: int) -> None:
        if number == ended:
            raise KeyboardInterrupt

    watch(monkeypatch, stop)
    folder = tmp_path / "sets"
    small = [
        (matrix(name=name, policies=["cilk_a"], workers=[1], warmup=0), folder / name)
        for name in ("one", "two")
    ]
    message = f"interrupted; {ended} of 8 runs are kept" + (f" in {folder}" if kept else "")
    with pytest.raises(Interrupted, match=f"^{message}$"):
        measure_alternately(small, host=FakeHost())
    found = {path.name: len(read_measurements(path).runs) for path in folder.glob("*")}
    assert found == kept
    assert folder.exists() == bool(kept)


def test_a_directory_that_cannot_be_made_leaves_none_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    one, two = tmp_path / "sets" / "one", tmp_path / "file" / "two"
    with pytest.raises(ConfigurationError, match="file"):
        measure_alternately([(matrix(), one), (matrix(), two)], host=FakeHost())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_sets_can_be_read_again(tmp_path: Path) -> None:
    measured = measure(matrix(), tmp_path / "deep" / "set", host=FakeHost())
    again = read_measurements(tmp_path / "deep" / "set")
    assert again == measured
    assert len(again.runs) == len(again.about["counters"]) == len(again.about["speed_probe_s"])
    files = sorted(path.name for path in again.directory.iterdir())
    assert files == sorted([INDEX, *(run.file for run in again.runs)])
    for run in again.runs:
        recording = again.recording(run)
        assert recording.name == run.program
        assert recording.n_workers == run.workers
        assert recording.details["seed"] == run.seed
        assert recording.details["measurement"]["policy"] == run.policy
        assert recording.workload is not None
        has_init = recording.workload.init is not None
        assert run.makespan_s == sum(recording.details["iteration_s"][has_init:])
        assert len(recording.details["iteration_s"][has_init:]) == recording.workload.iterations
        kinds = set(recording.trace.events["kind"].tolist())
        assert {EventKind.TASK_START, EventKind.TASK_END, EventKind.ACQUIRE} <= kinds
        cpu, present = recording.details["cpu_s"], recording.details["present_s"]
        assert run.cpu_share == pytest.approx(sum(cpu) / sum(present))
        assert 0 < run.cpu_share < 1.01


def test_sets_say_how_they_were_made(tmp_path: Path) -> None:
    given = matrix(description="why", warmup=1)
    host = FakeHost(probes=[*[9e-3] * 8, 2e-3, 1e-3])  # those of the warm-up do not count
    about = measure(given, tmp_path, host=host).about
    assert about["description"] == "why"
    assert about["simsched"] == simsched.__version__
    assert about["host"] == {"name": "fake"}
    assert about["matrix"]["programs"][1]["parameters"]["rows"] == 32
    assert about["started"].endswith("+00:00")
    assert about["duration_s"] > 0
    assert about["speed_probe_s"] == [2e-3] + 15 * [1e-3]
    assert len(about["counters"]) == 16
    assert about["counters"][0]["tasks"] == 20
    assert about["tracing_overhead"]["overhead"] == 0.004
    events = about["processor_events"]
    assert events["counted"] or events["error"]
    assert about["load"]["during"]["watched_s"] == 16


def test_workers_are_all_cores_by_default(tmp_path: Path) -> None:
    programs = [{"name": "empty", "tasks": 20}]
    given = matrix(programs=programs, policies=["pfws"], workers=[1], repetitions=1)
    given = given.model_copy(update={"workers": []})
    measured = measure(given, tmp_path, host=FakeHost())
    assert [run.workers for run in measured.runs] == [2]


def test_wrong_results_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = measuring.make_program
    seen = watch(monkeypatch, nothing)
    for warmup in (0, 1):
        for error in (1.5, float("nan")):
            wrong = {"check": lambda error=error: error}
            monkeypatch.setattr(
                measuring, "make_program", lambda *args, wrong=wrong: replace(make(*args), **wrong)
            )
            with pytest.raises(HardwareError, match=r"program empty \(empty, \w+, \d workers\)"):
                measure(matrix(warmup=warmup), tmp_path / "set", host=FakeHost())
            assert not (tmp_path / "set").exists()
    assert len(seen) == 4  # each time the first run has told


def test_measurements_are_not_overwritten_unasked(tmp_path: Path) -> None:
    first = measure(matrix(repetitions=2), tmp_path, host=FakeHost())
    (tmp_path / "mine.txt").touch()
    with pytest.raises(ConfigurationError, match="found a file, accepted: a name that is"):
        measure(matrix(), tmp_path, host=FakeHost())
    assert read_measurements(tmp_path) == first
    measured = measure(matrix(repetitions=1), tmp_path, host=FakeHost(), overwrite=True)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {INDEX, "mine.txt", *(run.file for run in measured.runs)}


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_interruption_keeps_what_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    if overwrite:
        measure(matrix(repetitions=3), tmp_path, host=FakeHost())

    def stop(number: int) -> None:
        if number == 8 + 8 + 3:
            raise KeyboardInterrupt

    watch(monkeypatch, stop)
    with pytest.raises(Interrupted, match="interrupted; 11 of 16 runs are kept in /"):
        measure(matrix(warmup=1), tmp_path, host=FakeHost(), overwrite=overwrite)
    measured = read_measurements(tmp_path)
    assert len(measured.runs) == len(measured.about["counters"]) == 11
    assert "incomplete: 11 of 16 runs" in measured.warnings
    assert all(measured.recording(run).n_tasks for run in measured.runs)
    assert len(list(tmp_path.iterdir())) == 12


def test_an_interrupted_warm_up_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(number: int) -> None:
        if number >= 5:
            raise KeyboardInterrupt

    old = measure(matrix(repetitions=1), tmp_path / "old", host=FakeHost())
    watch(monkeypatch, stop)
    for name in ("new", "old"):
        with pytest.raises(Interrupted, match=r"interrupted; 0 of 16 runs are kept$"):
            measure(matrix(), tmp_path / name, host=FakeHost(), overwrite=name == "old")
    assert not (tmp_path / "new").exists()
    assert read_measurements(tmp_path / "old") == old


def test_the_index_is_there_after_every_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is killed cannot write anything any more."""
    found: list[int] = []

    def look(number: int) -> None:
        there = (tmp_path / INDEX).exists()
        found.append(len(read_measurements(tmp_path).runs) if there else 0)

    watch(monkeypatch, look)
    measure(matrix(warmup=0, repetitions=3), tmp_path, host=FakeHost())
    assert found == [0] * 8 + [8] * 8 + [16] * 8


def test_a_disk_that_is_full_costs_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = measuring.write_recording

    def full(path: Path, recording: Recording) -> None:
        if path.name.startswith("0005"):
            raise ConfigurationError(f"{path}: cannot be written: no space left")
        write(path, recording)

    monkeypatch.setattr(measuring, "write_recording", full)
    with pytest.raises(ConfigurationError, match="no space left"):
        measure(matrix(), tmp_path, host=FakeHost())
    measured = read_measurements(tmp_path)
    about = measured.about
    assert len(measured.runs) == len(about["counters"]) == len(about["speed_probe_s"]) == 5


def test_summaries(tmp_path: Path) -> None:
    measured = measure(matrix(repetitions=3), tmp_path, host=FakeHost())
    times = {0: 4e-3, 1: 2e-3, 2: 3e-3}
    shares = {0: 0.9, 1: 0.8, 2: 1.0}
    runs = tuple(
        replace(run, makespan_s=times[run.repetition], cpu_share=shares[run.repetition])
        for run in measured.runs
    )
    counters = [
        {"tasks": 20, "steals": run.repetition, "idle_share": 0.1 * run.repetition} for run in runs
    ]
    changed = MeasurementSet(tmp_path, "small", runs, {"counters": counters})
    cell = summarise(changed)[3]
    assert (cell.label, cell.policy, cell.workers, cell.runs) == ("empty", "work_sharing", 2, 3)
    assert cell.makespan_s == 3e-3
    assert cell.spread_percent == pytest.approx(100 * 2 / 3)
    assert (cell.tasks, cell.steals) == (20, 1)
    assert cell.idle_percent == pytest.approx(10)
    assert cell.cpu_percent == pytest.approx(80)
    document = json.loads(json.dumps(document_of(measured), allow_nan=False))
    assert len(document["cells"]) == 8
    assert len(document["runs"]) == 24


def test_the_overhead_of_tracing_compares_the_best_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = tracing_overhead(1, pairs=2)
    assert (found["task_us"], found["pairs"], found["tasks"]) == (20, 2, 250)

    order: list[bool] = []
    times = {True: iter([5.0, 2.2, 9.0, 4.0]), False: iter([2.0, 3.0, 3.0, 8.0])}

    def timed(program: Program, *, workers: int, seed: int, trace: bool) -> Any:
        assert program.args.tolist() == [[20_000]] * 500
        order.append(trace)
        details = {"iteration_s": [next(times[trace])]}
        return type("Recording", (), {"details": details})

    monkeypatch.setattr("simsched.hardware.overhead.execute", timed)
    found = tracing_overhead(2, pairs=4)
    assert order == [True, False, False, True] * 2
    assert found["overhead"] == pytest.approx(0.1)
    # Ratios 5/2, 2.2/3, 9/3, 4/8.
    assert found["median_of_pairs"] == pytest.approx((2.5 + 2.2 / 3) / 2 - 1)
    assert overhead_line(found) == "tracing lengthens tasks of 20 us by 10.00% (4 pairs of runs)"
