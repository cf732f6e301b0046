"""The first commands of a new user: init, schema, doctor."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from simsched.experiment import doctor
from simsched.files.yaml_reader import read_document

from .conftest import Command


def test_the_starter_runs_as_it_is(simsched: Command, tmp_path: Path) -> None:
    code, output, messages = simsched("init", "study")
    assert code == 0
    assert output.splitlines() == ["study/experiment.yaml", "study/experiment.schema.json"]
    assert messages == "simsched: next: simsched run study/experiment.yaml\n"
    assert sorted(path.name for path in Path("study").iterdir()) == [
        "experiment.schema.json",
        "experiment.yaml",
    ]
    assert "18 runs: correct" in simsched("check", "study/experiment.yaml")[1]
    words = ("-w", "fork_join[depth=3]", "--set", "seeds=1", "-j", 1, "--quiet")
    code, output, messages = simsched("run", "study/experiment.yaml", *words)
    assert (code, messages) == (0, "")
    assert "laws" in output


@pytest.mark.slow
def test_the_sweep_of_the_starter_is_correct_too(simsched: Command) -> None:
    assert simsched("init", "--quiet")[2] == ""
    text = Path("experiment.yaml").read_text()
    assert text.count("# sweep:") == 1
    head, _, tail = text.partition("# sweep:\n")
    lines = [line.removeprefix("# ") for line in tail.splitlines()]
    Path("experiment.yaml").write_text("\n".join([head, "sweep:", *lines]))
    code, output, messages = simsched("check", "experiment.yaml")
    assert code == 0, messages
    assert "36 runs: correct" in output


@pytest.mark.parametrize("name", ["experiment.yaml", "experiment.schema.json"])
def test_nothing_is_overwritten(simsched: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    code, output, messages = simsched("init")
    assert (code, output) == (2, "")
    assert messages == f"simsched: error: {name}: found a file, accepted: a name that is free\n"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_place_where_no_directory_can_be(simsched: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, output, messages = simsched("init", "file/study")
    assert (code, output) == (2, "")
    assert "file/study: cannot be created: " in messages


@pytest.mark.slow
def test_init_as_json(simsched: Command) -> None:
    code, output, messages = simsched("init", "a", "--json")
    assert (code, messages) == (0, "")
    assert json.loads(output) == {"files": ["a/experiment.yaml", "a/experiment.schema.json"]}


def test_schemas_are_printed_or_written(simsched: Command) -> None:
    code, output, messages = simsched("schema")
    assert (code, messages) == (0, "")
    assert json.loads(output)["title"] == "Experiment"
    assert simsched("schema", "machine", "-o", "m.json") == (0, "m.json\n", "")
    assert json.loads(Path("m.json").read_text())["title"] == "MachineFile"
    code, output, messages = simsched("schema", "machines")
    assert (code, output) == (2, "")
    assert "unknown kind of file 'machines'; did you mean 'machine'?" in messages


def test_the_starter_names_the_schema_beside_it(simsched: Command) -> None:
    assert simsched("init")[0] == 0
    first = Path("experiment.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=experiment.schema.json"
    assert json.loads(Path("experiment.schema.json").read_text()) == json.loads(
        simsched("schema", "experiment")[1]
    )
    assert read_document(Path("experiment.yaml")).data["name"] == "starter"


def test_a_healthy_installation(simsched: Command) -> None:
    code, output, messages = simsched("doctor", "--json")
    assert (code, messages) == (0, "")
    document = json.loads(output)
    assert document["broken"] is False
    found = {(item["area"], item["name"]): item["found"] for item in document["findings"]}
    assert found["dependencies", "numpy"] == metadata.version("numpy")
    assert found["kernel", "version"] == document["version"]
    assert found["kernel", "backends"].startswith("agree on ")
    assert {area for area, _ in found} == {
        "program", "dependencies", "kernel", "data", "host", "counters", "places"
    }  # fmt: skip


def test_what_is_broken_is_named_and_costs_the_exit_code(
    simsched: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.metadata, "requires", lambda _: ["numpy>=99.5", "no_such_thing>=1"])
    for name in ("_kernel", "_host", "_counters", "_program"):
        monkeypatch.setattr(doctor, name, lambda: iter(()))

    def fails() -> None:
        raise RuntimeError("no data")

    monkeypatch.setattr(doctor, "_data", fails)
    code, output, _ = simsched("doctor", "--quiet")
    assert code == 1
    assert output.splitlines() == [
        "dependencies",
        f"! numpy: {metadata.version('numpy')}, accepted 99.5 or newer (pip install 'numpy>=99.5')",
        "! no_such_thing: not installed (pip install 'no_such_thing>=1')",
        "data",
        "! examination: RuntimeError: no data (install simsched again)",
    ]
    assert simsched("doctor")[1].splitlines()[-1] == "3 broken"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    finding = doctor._writable("results", tmp_path / "missing", "broken", "make it")
    assert (finding.status, finding.advice) == ("broken", "make it")
    assert "missing: cannot be written: " in finding.found
    assert doctor._writable("results", tmp_path, "broken", "make it").status == "ok"
    assert list(tmp_path.iterdir()) == []


def test_the_time_that_a_container_gets(tmp_path: Path) -> None:
    assert doctor._quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert doctor._quota(tmp_path) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert doctor._quota(tmp_path) is None
