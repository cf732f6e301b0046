"""The Python interface: three lines for a notebook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import simsched
from simsched.experiment.cells import Cell
from simsched.experiment.progress import Silent
from simsched.experiment.runner import Interrupted
from simsched.experiment.store import Store
from simsched.files.errors import ConfigurationError


@pytest.fixture
def result(make_plain: Any, tmp_path: Path) -> simsched.Result:
    data = make_plain(workloads=[{"name": "heat", "rows": 64, "columns": 64}])
    return simsched.run(data, output=tmp_path / "out", jobs=1, set={"workloads.0.iterations": 3})


def test_three_lines(result: simsched.Result) -> None:
    table = result.table()
    assert list(table["policy"]) == ["cilk_a", "work_sharing"]
    assert list(table["runs"]) == [2, 2]
    assert table["makespan_s"].min() > 0
    assert (table["makespan_s_ci95"] >= 0).all()
    assert len(result.runs) == 4
    assert set(result.runs["iterations"]) == {3}


def test_a_result_has_rows_and_knows_its_policies(result: simsched.Result) -> None:
    rows = list(result)
    assert len(rows) == len(result)
    assert {row["policy"] for row in rows} == set(result.policies)
    assert result.policies[0] in result
    assert "nosuch" not in result
    assert 0 not in result


def test_files_are_where_the_result_says(result: simsched.Result) -> None:
    assert result.outcome.parquet.exists()
    assert [path.name for path in result.pictures] == ["comparison.png", "bandwidth.png"]
    for path in result.pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
    document = json.loads(result.summary.read_text())
    assert document == result.document()
    assert not list(result.outcome.output.glob("**/*.tmp"))


def test_the_document_has_what_other_programs_need(result: simsched.Result) -> None:
    document = result.document()
    wanted = ("machine", "workload", "policy", "backend", "seed", "tasks", "makespan_s", "wall_s")
    for row in document["runs"]:
        assert set(wanted) < row.keys()
        assert row["peak_rss_bytes"] > 0
    assert document["version"] == simsched.__version__
    assert document["claims"] == []
    assert document["comparison"][0]["reduction_percent"] == 0


def test_rich_display(result: simsched.Result) -> None:
    assert "<table" in result._repr_html_()
    assert "work_sharing" in result.text()


def test_unknown_experiments_are_named_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="'quickstrt'; did you mean 'quickstart'"):
        simsched.run("quickstrt")


def test_every_public_name_resolves_and_the_stub_agrees() -> None:
    for name in simsched.__all__:
        assert getattr(simsched, name) is not None
    assert dir(simsched) == sorted(simsched.__all__)
    stub = Path(simsched.__file__).with_suffix(".pyi").read_text()
    assert all(f'"{name}"' in stub for name in simsched.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        simsched.nothing  # noqa: B018  (the access is the test)


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = ("numpy", "pandas", "pydantic")
    code = f"import simsched, sys; print([name for name in {heavy} if name in sys.modules])"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"


class Impatient(Silent):
    """Interrupts when the first run has ended."""

    def __init__(self, total: int) -> None:
        self.total = total

    def __enter__(self) -> Impatient:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def finished(self, cell: Cell) -> None:
        raise KeyboardInterrupt


def test_an_interruption_names_a_directory_only_where_one_stays(tmp_path: Path) -> None:
    """It named a directory that had been removed meanwhile."""
    things = "amd_4x_opteron8380", "fork_join[depth=3]", ["cilk_a", "work_sharing"]
    with pytest.raises(Interrupted) as caught:
        simsched.run(*things, jobs=1, progress=Impatient)
    assert str(caught.value) == "interrupted; without output=DIRECTORY no run is stored"
    assert caught.value.output is None
    out = tmp_path / "out"
    with pytest.raises(Interrupted) as caught:
        simsched.run(*things, jobs=1, progress=Impatient, output=out)
    assert str(caught.value) == f"interrupted; 1 of 2 runs are stored in {out}"
    assert len(Store(out / "cells").keys()) == 1
