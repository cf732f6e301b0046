"""Three calls that do what the commands do: measure, calibrate, validate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simsched
from simsched.files.errors import ConfigurationError
from simsched.hardware import session
from simsched.hardware.measurements import read_measurements
from simsched.policy import make_policy
from tests.hardware.calibrations import calibration, small
from tests.hardware.simulated_host import host, measure_on, with_kernels
from tests.hardware.support import needs_linux

pytestmark = needs_linux


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Measure nothing of the host; return with what it would have been asked for."""
    calls: list[dict[str, object]] = []

    def calibrate_machine(cores=None, *, quick=False):
        calls.append({"cores": cores, "quick": quick})
        return replace(calibration(small()), warnings=("host: busy",))

    monkeypatch.setattr(session, "calibrate_machine", calibrate_machine)
    return calls


def test_programs_are_measured_and_shown(tmp_path: Path) -> None:
    found = simsched.measure(
        ["spin[tasks=4, work_ns=1000]", {"name": "heat", "rows": 64, "label": "small"}],
        ["cilk_a", "pfws"],
        workers=1,
        repetitions=2,
        warmup=0,
        output=tmp_path / "set",
    )
    table = found.table()
    cells = [(program, policy) for program in ("spin", "small") for policy in ("cilk_a", "pfws")]
    for _, turn in table.groupby("repetition"):
        assert sorted(zip(turn["program"], turn["policy"], strict=True)) == sorted(cells)
    assert set(table["workers"]) == {1}
    assert set(table["repetition"]) == {0, 1}
    assert table["makespan_s"].tolist() == [run.makespan_s for run in found.runs]
    assert (tmp_path / "set" / found.runs[0].file).exists()
    with pytest.raises(ConfigurationError, match="found a file, accepted: a name that is"):
        simsched.measure("spin", output=tmp_path / "set")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"programs": "spinn"}, "unknown program 'spinn'; did you mean 'spin'"),
        ({"programs": []}, "programs: found an empty list"),
        ({"policies": "bats"}, "policies: policy bats: the task runtime cannot schedule"),
        ({"workers": 0}, "workers: found 0"),
        ({"workers": np.array([1, 0])}, r"workers\[1\]: found 0"),
        ({"programs": 5}, "programs: found 5, accepted: a list"),
        ({"policies": make_policy("cilk_a")}, "policies: found .*, accepted: a list"),
        (
            {"programs": ["spin", "heat[leaf_rows=1, irregular=true]"]},
            r"programs\[1\]: program heat: leaf_rows: found 1, accepted \d+ or more",
        ),
        ({"programs": Path("m.yaml"), "seed": 1}, "seed: found with the file m.yaml"),
        ({"programs": Path("m.yaml"), "policies": "pfws"}, "policies: found with the file m.yaml"),
        ({"repetitions": 0}, "repetitions: found 0"),
    ],
)
def test_what_cannot_be_measured(tmp_path: Path, changes: dict, message: str) -> None:
    given = {"programs": "spin", "output": tmp_path / "set"} | changes
    with pytest.raises(ConfigurationError, match=message):
        simsched.measure(given.pop("programs"), **given)
    assert list(tmp_path.iterdir()) == []


def test_a_measurement_is_called_like_its_directory_whatever_that_is(tmp_path: Path) -> None:
    folder = tmp_path / "my results"
    given = {"workers": np.int64(1), "repetitions": 1, "warmup": 0}
    found = simsched.measure("spin[tasks=1]", output=folder, **given)  # type: ignore[arg-type]
    assert found.name == "my results"
    assert read_measurements(folder).name == "my results"


def test_the_host_becomes_a_machine_with_the_kernels_of_measured_runs(
    tmp_path: Path, asked: list[dict[str, object]]
) -> None:
    machine = host(tmp_path)
    whole = measure_on(machine, tmp_path)
    alone = replace(
        whole, runs=tuple(run for run in whole.runs if run.workers == 1), warnings=("runs: busy",)
    )
    found = simsched.calibrate(tmp_path / "here.yaml", alone, cores=(0, 1), quick=True)
    assert asked == [{"cores": [0, 1], "quick": True}]
    assert found.machine.n_cores == 2
    assert set(found.machine.kernels) == set(machine.kernels) == {k.name for k in found.kernels}
    assert found.warnings == ("host: busy", "runs: busy")
    assert simsched.load_machine(found.path).kernels == found.machine.kernels
    with pytest.raises(ConfigurationError, match=r"calibrated on heat\["):
        simsched.validate(whole, found)
    values = found.table().set_index("value")
    assert values.measured["pop"] == "13 ns"
    assert values.spread_percent["pop"] == pytest.approx(3.0)
    assert '<td style="text-align:left">host: busy</td>' in found._repr_html_()
    assert "latency in" not in found._repr_html_()
    assert "2 cores, 4 kernels, 2 warnings" in repr(found)


def test_without_runs_there_are_no_kernels(tmp_path: Path, asked: list[dict[str, object]]) -> None:
    assert simsched.calibrate(tmp_path / "here.yaml").machine.kernels == {}
    assert asked == [{"cores": None, "quick": False}]


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, asked: list[dict[str, object]]
) -> None:
    with pytest.raises(ConfigurationError, match=r"calibrate: output: found '.*here\.txt'"):
        simsched.calibrate(tmp_path / "here.txt")
    assert asked == []


def test_errors_are_those_of_the_kernels(tmp_path: Path) -> None:
    machine = host(tmp_path)
    measured = measure_on(machine, tmp_path)
    exact = simsched.validate(measured, machine).table()
    # Also in another session, from what is on disk.
    assert simsched.validate(str(tmp_path), tmp_path / "host.yaml").table().equals(exact)
    assert len(exact) == len(measured.cells())
    assert exact["error_percent"].abs().max() < 1e-6
    assert exact["measured_s"].tolist() == pytest.approx(exact["simulated_s"].tolist())
    slow = simsched.validate(measured, with_kernels(machine, 2.0)).table()
    assert slow["error_percent"].min() > 1.0
    ratio = slow["simulated_s"] / slow["measured_s"]
    assert slow["error_percent"].to_numpy() == pytest.approx((100 * (ratio - 1)).to_numpy())
