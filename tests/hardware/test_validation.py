"""Validation against runs whose right answers are known, because a simulation has made them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simsched.cli.app import main
from simsched.files.errors import ConfigurationError
from simsched.hardware.measurements import INDEX, read_measurements, write_measurements
from simsched.hardware.validation import (
    Case,
    Validation,
    rank_correlation,
    validate_measurements,
)

from .simulated_host import HOST, host, measure_on, with_kernels


def test_a_perfect_model_has_no_error(tmp_path: Path) -> None:
    machine = host(tmp_path)
    measured = measure_on(machine, tmp_path, repetitions=2)
    found = validate_measurements(read_measurements(tmp_path), machine)
    assert found.measurements == measured.name
    assert len(found.cases) == 2 * 3 * 2
    assert np.all(found.errors == 0.0)
    document = found.as_json()
    for name in (
        "median_makespan_error", "p90_makespan_error", "median_iteration_error",
        "median_class_error", "median_class_distribution_error", "median_busy_share_error",
    ):  # fmt: skip
        assert document[name] == 0.0, name
    assert document["order_agreement"] == 1.0
    assert document["rank_correlation"] > 0.8  # equal makespans count as neither
    assert document["measured_steals"] == document["simulated_steals"] > 0


def test_kernels_that_are_too_slow_show_as_error(tmp_path: Path) -> None:
    machine = with_kernels(host(tmp_path), 20.0)  # so much that accesses do not matter
    measured = measure_on(machine, tmp_path)
    found = validate_measurements(measured, with_kernels(machine, 1.1))
    for case in found.cases:
        assert case.class_error == pytest.approx(dict.fromkeys(case.class_error, 0.1), abs=1e-6)
        assert case.class_distribution_error == pytest.approx(
            dict.fromkeys(case.class_error, 0.1), abs=1e-6
        )
        assert 0.08 < case.error < 0.105
        assert case.tasks > 0


def case(policy: str, measured: float, simulated: float, label: str = "p") -> Case:
    return Case(
        label, policy, 2, 1, 1, measured, simulated, 0.0, 0.0, {}, {}, 0.0, 0.0, 0.0
    )  # fmt: skip


def test_only_clear_differences_count_for_the_order() -> None:
    cases = (
        case("a", 1.0, 1.0),
        case("b", 1.04, 0.9),  # 4 %: not clear, and against c 5.8 %
        case("c", 1.10, 1.2),
        case("d", 9.0, 0.1, label="other"),
    )
    found = Validation("m", "s", cases, "")
    assert [(fast.policy, slow.policy) for fast, slow in found.pairs()] == [("a", "c"), ("b", "c")]
    assert found.order_agreement == 1.0
    wrong = replace(found, cases=(*cases[:2], case("c", 1.10, 0.95)))
    assert wrong.order_agreement == 0.5
    # a-b discordant, a-c and b-c concordant.
    assert rank_correlation(cases) == pytest.approx(1 / 3)
    assert rank_correlation(cases[:1]) is None


def test_errors_are_relative_to_the_measurement() -> None:
    found = Validation("m", "s", (case("a", 2.0, 1.0), case("b", 2.0, 3.0)), "")
    assert [each.error for each in found.cases] == [-0.5, 0.5]
    assert found.as_json()["median_makespan_error"] == 0.5


def test_the_same_runs_for_calibration_are_refused(tmp_path: Path) -> None:
    measured = measure_on(host(tmp_path), tmp_path)
    spec = measured.runs[0].spec
    assert spec == "heat[columns=48, iterations=3, leaf_rows=5, rows=61]"
    machine = replace(host(tmp_path), sources={"sources.kernels": f"measured on {spec}"})
    with pytest.raises(ConfigurationError, match="calibrated on heat"):
        validate_measurements(measured, machine)
    # Defaults of heat, written out, make no other run.
    first = measured.runs[0]
    same = replace(first, params={**first.params, "seed": 0, "irregular": False})
    with pytest.raises(ConfigurationError, match="calibrated on heat"):
        validate_measurements(replace(measured, runs=(same,)), machine)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure_on(host(tmp_path), tmp_path)
    arguments = ["validate", str(tmp_path), "--machine", str(tmp_path / "host.yaml")]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cases"] == 12
    assert document["median_makespan_error"] == 0.0
    assert "heat[rows=9]" in document["calibrated_on"]
    assert main([*arguments, "-o", str(tmp_path / "report")]) == 0
    text = capsys.readouterr().out
    assert "12 cases: error of the makespan 0.0% (median)" in text
    report = (tmp_path / "report" / "validation.md").read_text()
    assert report.count("\n| heat | ") == 6
    assert '"host": "none"' in report
    assert (tmp_path / "report" / "validation.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: (path / INDEX).unlink(), "measurements.json"),
        (lambda path: (path / INDEX).write_text("{"), "no JSON document"),
        (lambda path: (path / INDEX).write_text("{}"), "format: accepted 1"),
        (lambda path: (path / "3.parquet").unlink(), "3.parquet"),
        (lambda path: (path / "3.parquet").write_bytes(b"PAR1"), "3.parquet"),
        (lambda path: (path / "host.yaml").write_text(HOST.replace("matmul.m", "m.m")), "kernel"),
    ],
)
def test_broken_sets_are_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: object, message: str
) -> None:
    measure_on(host(tmp_path), tmp_path)
    assert callable(change)
    change(tmp_path)
    assert main(["validate", str(tmp_path), "-m", str(tmp_path / "host.yaml")]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_entries_of_an_index_are_checked(tmp_path: Path) -> None:
    measured = measure_on(host(tmp_path), tmp_path)
    for change, message in (
        ({"file": "../0.parquet"}, "a file of the set"),
        ({"makespan_s": 0.0}, "greater than 0"),
    ):
        write_measurements(replace(measured, runs=(replace(measured.runs[0], **change),)))
        with pytest.raises(ConfigurationError, match=message):
            read_measurements(tmp_path)
    write_measurements(replace(measured, runs=()))
    with pytest.raises(ConfigurationError, match="no runs"):
        validate_measurements(read_measurements(tmp_path), host(tmp_path))


def test_one_recording_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure_on(host(tmp_path), tmp_path)
    one = str(tmp_path / "3.parquet")
    machine = ["-m", str(tmp_path / "host.yaml"), "--policy", "cilk_a", "--runs", "2"]
    assert main(["validate", one, *machine, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["run_makespans_s"]) == 2
    assert main(["validate", one, *machine]) == 0
    assert "used: " in capsys.readouterr().out


def test_one_recording_is_replayed_under_several_policies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measure_on(host(tmp_path), tmp_path)
    words = ["validate", str(tmp_path / "3.parquet"), "-m", str(tmp_path / "host.yaml")]
    words += ["-p", "cilk_a", "-p", "task_sharing", "--runs", "1"]
    assert main([*words, "--json"]) == 0
    replays = json.loads(capsys.readouterr().out)["replays"]
    assert [found["policy"] for found in replays] == ["cilk_a", "task_sharing"]
    assert replays[0]["measured_makespan_s"] == replays[1]["measured_makespan_s"]
    assert replays[0]["simulated_makespan_s"] != replays[1]["simulated_makespan_s"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.index("workers, cilk_a") < text.index("workers, task_sharing")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{set}", "--policy", "cilk_a", "-m", "{set}/host.yaml"], "--policy: found with a set"),
        (["{set}", "--runs", "3", "-m", "{set}/host.yaml"], "--runs: found with a set"),
        (["{set}/3.parquet", "-p", "cilk_a", "-p", "pfw"], "did you mean 'pfws'?"),
        (["{set}"], "--machine: missing"),
        (["{set}/3.parquet", "-o", "x"], "--output: found with one run"),
        (["{set}/3.parquet", "--set", "a=b"], "--set: found with a recording"),
        (["{set}/none.parquet"], "none.parquet"),
        (["{set}", "-m", "{set}/none.yaml"], "none.yaml"),
    ],
)
def test_options_that_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    measure_on(host(tmp_path), tmp_path)
    words = [word.replace("{set}", str(tmp_path)) for word in arguments]
    assert main(["validate", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
