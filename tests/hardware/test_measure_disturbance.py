"""What disturbs a measurement is found and said."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simsched.hardware import host as hosts
from simsched.hardware import measure as measuring
from simsched.hardware.disturbance import disturbances
from simsched.hardware.host import Host, Load, Sample, caches
from simsched.hardware.measure import measure
from simsched.hardware.measurements import Measurement
from simsched.hardware.program import Program
from simsched.hardware.runtime import execute
from simsched.trace.recording import Recording

from .fake_host import FakeHost, matrix, quick  # noqa: F401 (a fixture)
from .support import needs_linux

RUN = Measurement("f", "heat", {}, "heat", "pfws", 2, 0, 0, 1.0, 1.0)


def warnings_of(**changes: Any) -> list[str]:
    given: dict[str, Any] = {
        "loads": {},
        "probes": [],
        "overhead": None,
        "threads": 2,
        "cores": 2,
        "runs": [],
    }
    return disturbances(**{**given, **changes})


@pytest.fixture
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make workers have their cores all the time, whatever else runs here."""

    def alone(program: Program, *words: Any, **arguments: Any) -> Recording:
        recording = execute(program, *words, **arguments)
        present = recording.details["present_s"]
        share = min(1.0, 2 / len(present))
        details = {**recording.details, "cpu_s": [share * seconds for seconds in present]}
        return replace(recording, details=details)

    monkeypatch.setattr(measuring, "execute", alone)


@needs_linux
@pytest.mark.usefixtures("quick", "undisturbed")
@pytest.mark.parametrize(
    ("host", "found"),
    [
        (FakeHost(), []),
        (FakeHost(others=0.09, stolen=0.019, before=0.09, after=0.09), []),
        (FakeHost(before=0.5), ["busy host: other programs used 0.50 of 2 cores before the first"]),
        (FakeHost(others=1.5), ["busy host: other programs used 1.50 of 2 cores during the runs"]),
        (FakeHost(after=0.11), ["busy host: other programs used 0.11 of 2 cores afterwards"]),
        (FakeHost(stolen=0.03), ["busy host: the hypervisor took 0.03 of 2 cores during the runs"]),
        (FakeHost(probes=[*[1e-3] * 8, 1.3e-3]), ["unsteady host: .* took 30% longer"]),
    ],
)
def test_hosts(tmp_path: Path, host: FakeHost, found: list[str]) -> None:
    programs = [{"name": "empty", "tasks": 20}]
    given = matrix(programs=programs, workers=[1, 2, 5], repetitions=2)
    warnings = measure(given, tmp_path, host=host).warnings
    assert len(warnings) == len(found)
    assert all(re.match(text, said) for text, said in zip(found, warnings, strict=True)), warnings


@needs_linux
@pytest.mark.usefixtures("quick")
def test_more_workers_than_cores_are_not_taken_for_a_busy_host(tmp_path: Path) -> None:
    """Two workers on one of two cores have half of it each; that is somebody's doing."""
    run = replace(RUN, cpu_share=0.5, workers=4)
    assert warnings_of(runs=[run]) == []
    assert len(warnings_of(runs=[replace(run, workers=3)])) == 1
    assert len(warnings_of(runs=[run], cores=4)) == 1


@needs_linux
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("policy", ["work_sharing", "pfws"])
def test_workers_that_lack_their_cores_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    def half(program: Program, *words: Any, **arguments: Any) -> Recording:
        recording = execute(program, *words, **arguments)
        cpu = [seconds / 2 for seconds in recording.details["present_s"]]
        return replace(recording, details={**recording.details, "cpu_s": cpu})

    monkeypatch.setattr(measuring, "execute", half)
    measured = measure(matrix(policies=[policy]), tmp_path, host=FakeHost())
    assert len(measured.warnings) == 1
    assert measured.runs[0].cpu_share == pytest.approx(0.5)


@needs_linux
@pytest.mark.usefixtures("quick")
def test_a_run_that_lacked_its_cores_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter([0.5, 1.0, 0.9, 0.6, 0.96, 0.7])  # warm-up; at once; best of four

    def disturbed(program: Program, *words: Any, **arguments: Any) -> Recording:
        recording = execute(program, *words, **arguments)
        share = next(shares)
        cpu = [share * seconds for seconds in recording.details["present_s"]]
        return replace(recording, details={**recording.details, "cpu_s": cpu})

    monkeypatch.setattr(measuring, "execute", disturbed)
    monkeypatch.setattr(measuring, "MAX_REPEATS", 3)
    empty = {"name": "empty", "tasks": 20}
    chosen = matrix(programs=[empty], policies=["cilk_a"], workers=[1], warmup=1, repetitions=2)
    measured = measure(chosen, tmp_path, host=FakeHost())
    assert [run.cpu_share for run in measured.runs] == pytest.approx([1.0, 0.96])
    assert measured.about["repeated_runs"] == 3
    assert len(measured.about["speed_probe_s"]) == 2
    assert next(shares, None) is None


@needs_linux
@pytest.mark.usefixtures("quick")
def test_a_run_on_slow_cores_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The warm-up is the fastest; then 9 % slower, which is accepted; then the fastest of four.
    probes = [1.0, 1.09, 1.3, 1.5, 1.2, 1.4]
    monkeypatch.setattr(measuring, "_cpu_share", lambda recording: 1.0)
    monkeypatch.setattr(measuring, "MAX_REPEATS", 3)
    empty = {"name": "empty", "tasks": 20}
    chosen = matrix(programs=[empty], policies=["cilk_a"], workers=[1], warmup=1, repetitions=2)
    measured = measure(chosen, tmp_path, host=FakeHost(probes=probes))
    assert measured.about["speed_probe_s"] == [1.09, 1.2]
    assert measured.about["repeated_runs"] == 3


def test_the_worst_run_is_named() -> None:
    runs = [replace(RUN, cpu_share=share, repetition=i) for i, share in enumerate((1.0, 0.6, 0.9))]
    assert warnings_of(runs=runs) == [
        "busy host: in 2 of 3 runs the workers had their cores for less than 97% of the time, "
        "at worst 60% (heat, pfws, workers 2, repetition 1)"
    ]
    assert warnings_of(runs=[replace(RUN, cpu_share=0.97)]) == []


def test_one_slow_probe_of_ten_is_an_accident() -> None:
    assert warnings_of(probes=[1.0] * 9 + [5.0]) == []
    assert len(warnings_of(probes=[1.0] * 8 + [5.0, 5.0])) == 1
    assert warnings_of(probes=[1.0, 1.09]) == []
    assert len(warnings_of(probes=[1.0, 1.11])) == 1


def test_expensive_tracing_is_said() -> None:
    assert warnings_of(overhead={"overhead": 0.02, "task_us": 20}) == []
    assert warnings_of(overhead={"overhead": 0.031, "task_us": 20}) == [
        "tracing overhead: 3.1% of tasks of 20 us, accepted 2%"
    ]


def test_what_others_may_use_does_not_grow_without_limit() -> None:
    loads = {"during": Load(10.0, 6.0, 0.0)}
    assert warnings_of(loads=loads, threads=100) == [
        "busy host: other programs used 0.60 of 100 cores during the runs"
    ]
    assert warnings_of(loads={"during": Load(10.0, 4.0, 0.0)}, threads=100) == []


def test_loads_are_differences_of_samples() -> None:
    load = Sample(10.0, 100.0, 5.0, 50.0).until(Sample(12.0, 105.0, 5.5, 52.0))
    assert load == Load(2.0, 3.0, 0.5)
    assert (load.others_cores, load.stolen_cores) == (1.5, 0.25)
    # Ticks make the time of others negative in one run and too much in the next.
    assert load + Load(1.0, -3.5, 0.0) == Load(3.0, -0.5, 0.5)
    assert (load + Load(1.0, -3.5, 0.0)).others_cores == 0.0
    assert Load(0.0, 1.0, 1.0).others_cores == 0.0


def test_the_clocks_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    monkeypatch.setattr(hosts, "STAT", stat)
    monkeypatch.setattr(hosts.os, "sysconf", {"SC_CLK_TCK": 100}.__getitem__)
    stat.write_text("cpu  100 20 3 9999 9999 400 50 700 80 80\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    sample = Host().sample()
    assert (sample.busy_s, sample.stolen_s) == (5.73, 7.0)
    # Without them nobody is accused.
    stat.unlink()
    before = Host().sample()
    sum(range(10**6))
    assert before.until(Host().sample()).others_s == 0.0


@needs_linux
def test_this_host() -> None:
    host = Host()
    assert host.probe() > 0
    assert host.idle_load(0.01).elapsed_s > 0
    about = host.describe()
    assert about["hardware_threads"] >= 1
    assert about["memory_bytes"] > 2**20
    assert set(about["allowed_threads"]) == set(host.cores)


def test_caches_are_read_as_the_system_describes_them(tmp_path: Path) -> None:
    for number, size in enumerate(("48K", "2048K")):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        (folder / "size").write_text(f"{size}\n")
        (folder / "level").write_text(f"{number + 1}\n")
    found = caches(tmp_path)
    assert [(each["level"], each["size"], each["type"]) for each in found] == [
        ("1", "48K", ""),
        ("2", "2048K", ""),
    ]
    assert caches(tmp_path / "nowhere") == []
