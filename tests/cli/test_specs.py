"""Specs of policies and workloads wherever a name is accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simsched.experiment.compare import with_policy
from simsched.experiment.overrides import assignments, checked, edited, parse_assignment
from simsched.experiment.schema import Experiment, labels
from simsched.files.yaml_reader import Document, validate
from simsched.hardware.measure_schema import Matrix
from simsched.workload.presets import make_workload

from .conftest import Command

DATA: dict[str, Any] = {
    "name": "small",
    "machines": [{"name": "amd_4x_opteron8380", "workers": 2}],
    "workloads": ["fork_join[depth=2]", "fork_join[depth=3]"],
    "policies": ["cilk_a", "cilk_a[placement=interleave]"],
    "backend": "simpy",
}


def changed(*assigned: str) -> Experiment:
    return checked(edited(Document(None, DATA), assignments(assigned)))


def test_experiments_have_specs_of_workloads_and_policies() -> None:
    found = validate(DATA, Experiment)
    assert labels(found.workloads) == ["fork_join[depth=2]", "fork_join[depth=3]"]
    assert [entry.parameters for entry in found.workloads] == [{"depth": 2}, {"depth": 3}]
    assert labels(found.policies) == ["cilk_a", "cilk_a[placement=interleave]"]


def test_a_label_of_its_own_wins() -> None:
    data = {**DATA, "workloads": [{"name": "heat[rows=64]", "columns": 32, "label": "small"}]}
    (entry,) = validate(data, Experiment).workloads
    assert (entry.name, entry.label) == ("heat", "small")
    assert entry.parameters == {"rows": 64, "columns": 32}


def test_labels_with_brackets_are_keys() -> None:
    key = "policies.cilk_a[placement=interleave].spawn"
    assert parse_assignment(f"{key}=parent_first") == (key, "parent_first")
    found = changed(f"{key}=parent_first", "workloads.fork_join[depth=3].depth=4")
    assert found.policies[1].parameters == {"placement": "interleave", "spawn": "parent_first"}
    assert found.workloads[1].parameters == {"depth": 4}


def test_measured_programs_have_specs() -> None:
    data = {"name": "x", "programs": ["heat[rows=64, columns=64]"], "policies": "cilk_a"}
    (entry,) = validate(data, Matrix).programs
    assert (entry.name, entry.parameters) == ("heat", {"rows": 64, "columns": 64})


def test_workloads_by_spec() -> None:
    workload = make_workload("fork_join[depth=2]", {"degree": 3})
    assert workload.parameters["depth"] == 2
    assert workload.parameters["degree"] == 3
    assert make_workload("heat_small[iterations=2]").name == "heat_small"


def test_a_sweep_over_specs(simsched: Command, tmp_path: Path) -> None:
    specs = ["work_sharing", "cilk_a[placement=interleave]"]
    sweep = {"product": {"policies.1": specs, "workloads.0": ["fork_join[depth=1]"]}}
    (tmp_path / "s.yaml").write_text(json.dumps({**DATA, "policies": [*"ab"], "sweep": sweep}))
    code, output, messages = simsched(
        "run", "s.yaml", "--json", "-j", 1, "--set", "policies.0=cilk"
    )
    assert code == 0, messages
    runs = json.loads(output)["runs"]
    assert {run["policy"] for run in runs} == {"cilk", *specs}
    assert {run["sweep.policies.1"] for run in runs} == set(specs)


def test_show_and_export_take_specs(simsched: Command) -> None:
    assert "depth = 2" in simsched("show", "workload", "fork_join[depth=2]")[1]
    assert "sample_pages = 8" in simsched("show", "policy", "bats_nb[sample_pages=8]")[1]
    assert "balancer = False" in simsched("show", "policy", "bats_nb[sample_pages=8]")[1]
    assert simsched("export", "fork_join[depth=2]", "g.graphml")[0] == 0
    assert "7 tasks" in simsched("check", "g.graphml")[1]


def test_compare_takes_policies_that_the_experiment_lacks(
    simsched: Command, experiment: Path
) -> None:
    words = ("compare", "cilk_a", "cilk_a[placement=interleave]", "-e", experiment, "--json")
    code, output, messages = simsched(*words)
    assert code == 0, messages
    assert json.loads(output)["second"]["label"].endswith(" cilk_a[placement=interleave]")
    document = with_policy(Document(None, DATA), "policy=pfws,seed=0")
    assert document.data["policies"][2] == {"name": "pfws", "label": "pfws"}
    assert with_policy(Document(None, DATA), "cilk_a").data == DATA


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "policy", "bats[sample_pages=8"), "character 20: found the end, accepted ',' or"),
        (("show", "policy", "bats[sample_page=8]"), "did you mean 'sample_pages'"),
        (("show", "policy", "batz[sample_pages=8]"), "did you mean 'bats'"),
        (("show", "workload", "heat[rows]"), "workload 'heat[rows]': character 10: found ']'"),
        (("show", "workload", "heat[row=8]"), "did you mean 'rows'"),
        (("export", "heat[rows=8]]", "g.dot"), "character 13: found ']', accepted the end"),
        (("compare", "cilk_a", "pfws[x=1]", "-e", "EXPERIMENT"), "unknown parameter 'x'"),
        (("compare", "cilk_a", "pfws[", "-e", "EXPERIMENT"), "character 6: found the end"),
        (("compare", "cilk_a", "cilk_b", "-e", "EXPERIMENT"), "did you mean 'cilk_a'"),
        (
            ("run", "EXPERIMENT", "--set", "workloads=heat[rows=8"),
            "workloads: workload 'heat[rows=8': character 12",
        ),
        (("run", "EXPERIMENT", "--set", "policies.0=pfws]"), "policies[0]: policy 'pfws]': char"),
    ],
)
def test_errors_point_at_the_character(
    simsched: Command, experiment: Path, words: tuple[str, ...], message: str
) -> None:
    named = [str(experiment) if word == "EXPERIMENT" else word for word in words]
    code, output, messages = simsched(*named)
    assert (code, output) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1


OWN = """\
generator: fork_join
description: A small tree.
source: nowhere
parameters: {depth: 3}
"""


def test_a_preset_of_ones_own_is_a_workload_everywhere(simsched: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN)
    run = ["run", "quickstart", "-m", "opteron48", "-p", "cilk", "-j", "1", "--set", "seeds=1"]
    run += ["--set", "metrics=[tasks]", "--output", "results", "--quiet"]
    for name in ("mine.yaml", "./mine.yaml", str(tmp_path / "mine.yaml"), "mine.yaml[depth=4]"):
        code, output, messages = simsched(*run, "--workload", name)
        assert (code, messages) == (0, "")
        (line,) = [line.split() for line in output.splitlines() if "cilk" in line][1:]
        assert line[:2] == ["mine", "cilk"] if "[" not in name else line[1] == "cilk"
        assert line[-1] == ("31" if "[" in name else "15")
    code, output, _ = simsched("show", "workload", "mine.yaml")
    assert (code, "A small tree." in output, "preset of: fork_join" in output) == (0, True, True)
    assert simsched("export", "mine.yaml", "mine.graphml")[0] == 0
    words = ["conformance", "-w", "mine.yaml", "-p", "cilk_a", "-m", "toy_1fast_3slow", "--quiet"]
    assert simsched(*words)[0] == 0
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/own.yaml").write_text(OWN)
    (tmp_path / "deep/x.yaml").write_text(
        "name: x\nmachines: opteron48\npolicies: cilk_a\n"
        "workloads: [own.yaml, {file: own.yaml, label: b, depth: 2}]\n"
    )
    code, output, messages = simsched("run", "deep/x.yaml", "-j", "1", "--quiet")
    assert (code, messages) == (0, "")
    assert " own " in output
    code, output, messages = simsched(*run, "--workload", "none.yaml")
    assert (code, output) == (2, "")
    assert "none.yaml: no such file" in messages
    (tmp_path / "bad.yaml").write_text(OWN.replace("fork_join", "fork_joint"))
    assert "did you mean 'fork_join'" in simsched(*run, "--workload", "bad.yaml")[2]
    assert "unknown parameter 'dept'" in simsched(*run, "-w", "mine.yaml[dept=2]")[2]
