"""simsched calibrate: its options, what it prints and writes; measuring itself is tested apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import simsched.hardware.calibrate as module
from simsched.hardware.measurements import write_measurements
from simsched.machine import load_machine
from tests.hardware.calibrations import calibration, small
from tests.hardware.simulated_host import host, measure_on
from tests.hardware.support import needs_linux

pytestmark = needs_linux


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Measure nothing; return with what it would have been asked for."""
    from simsched.hardware.calibrate_costs import Check

    calls: list[dict[str, object]] = []
    check = Check("child_first, deques", "loop", 20e-9, 22e-9, is_fitted=False)
    found = replace(calibration(small()), checks=(check,), warnings=("host: busy",))

    def calibrate(cores=None, *, quick=False, progress=None):
        calls.append({"cores": cores, "quick": quick})
        progress("nothing")
        return found

    monkeypatch.setattr(module, "calibrate_machine", calibrate)
    return calls


def test_a_table_and_a_machine(simsched, asked):
    code, output, messages = simsched("calibrate", "--no-kernels", "-o", "host.yaml")
    assert code == 0
    assert asked == [{"cores": None, "quick": False}]
    assert "triad node 0, threads 2" in output
    assert "15 GB/s" in output  # as triad counts: 20 GB/s move
    assert "3.0%" in output
    assert "+10.0%" in output
    assert "predict this run" in output
    assert "took 12.0 s; spread: " in output
    assert output.endswith("host.yaml\n")
    assert messages == "simsched: warning: host: busy\n"
    assert load_machine(Path("host.yaml")).n_cores == 2
    assert simsched("check", "host.yaml")[::2] == (0, "")


def test_without_a_file_nothing_is_written(simsched, asked, tmp_path):
    assert simsched("calibrate", "--no-kernels", "--quick", "--cores", "0-2,5", "--quiet")[2] == ""
    assert asked == [{"cores": [0, 1, 2, 5], "quick": True}]
    assert list(tmp_path.iterdir()) == []


def test_json(simsched, asked):
    code, output, _ = simsched("calibrate", "--no-kernels", "--json", "-o", "host.yml")
    document = json.loads(output)
    assert code == 0
    assert document["file"] == "host.yml"
    assert Path("host.yml").exists()
    assert document["duration_s"] == 12.0
    assert document["warnings"] == ["host: busy"]
    values = {value["name"]: value for value in document["values"]}
    assert values["pop"]["value"] == 13e-9
    assert values["pop"]["unit"] == "s"
    assert values["pop"]["spread"] == 0.03
    assert document["checks"][0]["charged_s"] == 22e-9


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "host.txt"), "--output: found 'host.txt', accepted: a name that ends in .yaml"),
        (("-o", "nowhere/host.yaml"), "nowhere/host.yaml: cannot be written: No such file"),
        (("-o", "folder.yaml"), "folder.yaml: cannot be written: it is a directory"),
        (("--cores", "one"), "--cores: found 'one', accepted: numbers and ranges such as 0-3,8"),
        (("--cores", "0-"), "--cores: found '0-', accepted: numbers and ranges such as 0-3,8"),
    ],
)
def test_refused_before_anything_is_measured(simsched, asked, tmp_path, words, message):
    (tmp_path / "folder.yaml").mkdir()
    code, output, messages = simsched("calibrate", "--no-kernels", *words)
    assert code == 2
    assert output == ""
    assert message in messages
    assert asked == []
    assert [path.name for path in tmp_path.iterdir()] == ["folder.yaml"]


def test_cores_that_may_not_be_used(simsched, tmp_path):
    code, _, messages = simsched(
        "calibrate", "--no-kernels", "--cores", "1000000", "-o", "host.yaml"
    )
    assert list(tmp_path.iterdir()) == []
    assert code == 2
    assert "cores: found [1000000], accepted [" in messages


def test_kernels_of_measured_runs(simsched, asked, tmp_path):
    machine = host(tmp_path)
    whole = measure_on(machine, tmp_path)
    alone = replace(whole, runs=tuple(run for run in whole.runs if run.workers == 1))
    write_measurements(alone)
    code, output, _ = simsched("calibrate", "--runs", str(tmp_path), "-o", "host2.yaml")
    assert code == 0
    assert "matmul.multiply" in output
    found = load_machine(Path("host2.yaml"))
    assert set(found.kernels) == set(machine.kernels)
    assert (
        "heat[columns=48, iterations=3, leaf_rows=5, rows=61]" in found.sources["sources.kernels"]
    )
    write_measurements(whole)
    code, output, messages = simsched("calibrate", "--runs", str(tmp_path))
    assert (code, output) == (2, "")
    assert "accepted: runs with one worker" in messages


def test_kernels_are_measured_by_default(simsched, asked, tmp_path, monkeypatch):
    def measure(matrix, directory):
        assert matrix.name == "calibration"
        whole = measure_on(host(directory), directory)
        return replace(whole, runs=tuple(run for run in whole.runs if run.workers == 1))

    monkeypatch.setattr("simsched.hardware.measure.measure", measure)
    code, output, _ = simsched("calibrate", "--json", "-o", "host.yaml")
    assert code == 0
    assert set(json.loads(output)["kernels"]) == set(load_machine(Path("host.yaml")).kernels)
