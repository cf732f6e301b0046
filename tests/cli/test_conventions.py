"""What all commands have in common: help with examples, --json, --quiet, near misses."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer.main

from simsched.api import load_experiment
from simsched.cli.app import app
from simsched.experiment.overrides import assignments
from simsched.experiment.study import Study

from .conftest import Command


def leaves(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that does something, with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, (*words, name))
        else:
            yield (*words, name), command


ROOT = typer.main.get_command(app)
COMMANDS = dict(leaves(ROOT))
#: Its output is a JSON document anyway, or HTML or a shell.
WITHOUT_JSON = {("schema",)}


def options(command: Any) -> set[str]:
    return {word for parameter in command.params for word in parameter.opts}


def help_of(simsched: Command, *words: str) -> str:
    code, output, messages = simsched(*words, "--help")
    assert (code, messages) == (0, "")
    return output


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_json_and_quiet_everywhere(words: tuple[str, ...]) -> None:
    found = options(COMMANDS[words])
    assert {"--quiet", "-q"} <= found
    assert "--json" in found or words in WITHOUT_JSON


@pytest.mark.parametrize("words", [(), ("show",), *COMMANDS], ids=" ".join)
def test_help_has_examples_that_are_accepted(simsched: Command, words: tuple[str, ...]) -> None:
    text = help_of(simsched, *words)
    assert max(map(len, text.splitlines())) <= 100
    _, _, after = text.partition("Examples:\n")
    examples = re.findall(r"(?m)^ +simsched (.*)$", after.split("\n\n")[0])
    assert examples
    for example in examples:
        given = shlex.split(example.partition(" > ")[0])
        if given[0] == "COMMAND":
            continue
        assert tuple(given[: len(words)]) == words
        path = next(path for path in COMMANDS if tuple(given[: len(path)]) == path)
        COMMANDS[path].make_context("simsched", given[len(path) :])


def test_examples_name_what_ships(simsched: Command) -> None:
    text = "".join(help_of(simsched, *words) for words in COMMANDS)
    lines = [line for line in text.splitlines() if line.lstrip().startswith("simsched ")]
    pattern = r"(?:--|show )(policy|machine|workload) (\w+(?!\.)\b|'\w+(?!\.)\b[^']*')"  # no files
    named = set(re.findall(pattern, "\n".join(lines)))
    assert len(named) > 8
    document = load_experiment("quickstart")
    for what, name in named:
        plural = {"policy": "policies"}.get(what, f"{what}s")
        words = {"policies": ["cilk"], plural: [name.strip("'")]}
        assert Study.from_words(document, **words).cells


def test_examples_of_run_are_correct(simsched: Command) -> None:
    found = re.findall(r"(?m)^ +simsched run (quickstart.*)$", help_of(simsched, "run"))
    assert len(found) > 2
    for example in found:
        words = shlex.split(example.partition(" > ")[0])
        values = dict(pairwise(words))
        document = load_experiment("quickstart")
        names = {"machines": [values.get("--machine")], "policies": [values.get("--policy")]}
        chosen = {k: v for k, v in names.items() if v != [None]}
        sets = [after for word, after in pairwise(words) if word == "--set"]
        assert Study.from_words(document, assignments(sets), **chosen).cells


def test_the_list_of_commands_is_not_cut_off(simsched: Command) -> None:
    text = help_of(simsched)
    listed = text.partition("Commands:")[2].partition("Examples:")[0]
    assert "..." not in listed
    for words in COMMANDS:
        assert re.search(rf"(?m)^  {words[0]}\s+\S", listed)


def test_exit_codes_are_in_the_help(simsched: Command) -> None:
    found = re.findall(r"(?m)^    (\d+) ", help_of(simsched))
    assert found == ["0", "1", "2", "130"]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "machine", "toy_1fast_3slow"),
        ("show", "workload", "fork_join[depth=2]"),
        ("show", "policy", "cilk_a[placement=interleave]"),
        ("check", "small.yaml"),
        ("export", "fork_join[depth=2]", "g.dot"),
        ("list", "placements"),
    ],
)
def test_json_is_one_document(simsched: Command, experiment: Path, words: tuple[str, ...]) -> None:
    code, output, messages = simsched(*words, "--json", "--quiet")
    assert (code, messages) == (0, "")
    assert json.loads(output)


def test_json_of_a_policy_and_of_a_workload(simsched: Command) -> None:
    document = json.loads(simsched("show", "policy", "bats_nb[sample_pages=8]", "--json")[1])
    values = {item["name"]: item["value"] for item in document["parameters"]}
    assert (values["balancer"], values["sample_pages"]) == (False, 8)
    assert all(item["description"] for item in document["parameters"])
    document = json.loads(simsched("show", "workload", "fork_join[depth=2]", "--json")[1])
    assert document["iteration"]["tasks"] == 7
    assert all(item["description"] for item in document["parameters"])


def test_json_of_a_machine(simsched: Command) -> None:
    document = json.loads(simsched("show", "machine", "knl_snc4_flat", "--json")[1])
    assert (document["cores"], document["domains"], len(document["nodes"])) == (64, 4, 8)
    assert sum(group["cores"] for group in document["core_groups"]) == 64


def test_quiet_leaves_warnings_out(simsched: Command, tmp_path: Path) -> None:
    machine = Path(__file__).resolve().parents[2] / "machines" / "toy_1fast_3slow.yaml"
    text = machine.read_text().replace(
        "sources:\n", "sources:\n  spare: {kind: assumed, reference: x}\n"
    )
    (tmp_path / "m.yaml").write_text(text)
    _, output, messages = simsched("check", "m.yaml")
    assert "sources.spare: not used" in messages
    assert simsched("check", "m.yaml", "--quiet") == (0, output, "")
    found = json.loads(simsched("check", "m.yaml", "--json", "-q")[1])
    assert any("sources.spare" in warning for warning in found["warnings"])


def test_other_machines_workloads_and_policies_by_name(simsched: Command, experiment: Path) -> None:
    words = ("-m", "toy_1fast_3slow", "-w", "fork_join[depth=2]", "-p", "cilk", "-p", "pfws")
    code, output, messages = simsched("run", experiment, *words, "--json", "-j", 1)
    assert code == 0, messages
    runs = json.loads(output)["runs"]
    assert {run["machine"] for run in runs} == {"toy_1fast_3slow"}
    assert {run["workload"] for run in runs} == {"fork_join[depth=2]"}
    assert [run["policy"] for run in runs] == ["cilk", "cilk", "pfws", "pfws"]


def test_what_the_chosen_ones_lack_is_left_out(simsched: Command, tmp_path: Path) -> None:
    # Its baseline is cilk, one of its metrics is about HBM.
    words = ("quickstart", "-m", "toy_1fast_3slow", "-w", "fork_join[depth=2]", "-p", "pfws")
    code, output, messages = simsched("run", *words, "--set", "seeds=1", "--json", "-j", 1)
    assert code == 0, messages
    (line,) = json.loads(output)["comparison"]
    assert line["baseline"] == "pfws"
    assert "hbm_percent" not in line
    assert "iteration_last_s" in line


def test_a_task_graph_file_as_workload(simsched: Command, experiment: Path) -> None:
    assert simsched("export", "fork_join[depth=2]", "g.graphml")[0] == 0
    code, output, messages = simsched("run", experiment, "-w", "g.graphml", "--json", "-j", 1)
    assert code == 0, messages
    assert {run["workload"] for run in json.loads(output)["runs"]} == {"g"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rum",), "unknown command 'rum'; did you mean 'run'? accepted: "),
        (("show", "machines"), "unknown command 'machines'; did you mean 'machine'?"),
        (("run", "EXPERIMENT", "--quite"), "unknown option '--quite'; did you mean '--quiet'?"),
        (("list", "police"), "unknown kind 'police'; did you mean 'policies'?"),
        (("run", "quickstrat"), "unknown experiment 'quickstrat'; did you mean 'quickstart'?"),
        (("run", "EXPERIMENT", "-m", "opteron46"), "--machine: unknown machine 'opteron46'; did"),
        (
            ("run", "EXPERIMENT", "-p", "cylk"),
            "--policy: unknown policy 'cylk'; did you mean 'cilk",
        ),
        (("run", "EXPERIMENT", "-p", "bats[sample=8]"), "did you mean 'sample_pages'?"),
        (
            ("run", "EXPERIMENT", "-p", "bats[x"),
            "--policy: policy 'bats[x': character 7: found the",
        ),
        (("run", "EXPERIMENT", "-w", "heat_smal"), "unknown workload 'heat_smal'; did you mean 'h"),
        (
            ("run", "EXPERIMENT", "-w", "heat[row=8]"),
            "--workload: workload heat: unknown parameter ",
        ),
        (("run", "EXPERIMENT", "-w", "g.dot"), "g.dot: no such file"),
        (("run", "EXPERIMENT", "--set", "policis=1"), "unknown key 'policis'; did you mean 'polic"),
        (("run", "EXPERIMENT", "--set", "machines.0.set.costs.stel=1 us"), "'costs.steal'?"),
        (("run", "EXPERIMENT", "--set", "machines.0.pinning=scater"), "did you mean 'scatter'?"),
        (("measure", "mesure_small"), "'mesure_small'; did you mean 'measure_small'?"),
        (("reproduce", "knl_hmb"), "'knl_hmb'; did you mean 'knl_hbm'?"),
        (("reproduce", "knl_hbm", "--claim", "bats_m0"), "did you mean 'bats_m"),
        (("compare", "cilk_a", "work_sharin", "-e", "EXPERIMENT"), "did you mean 'work_sharing'?"),
        (("compare", "polcy=cilk_a", "cilk_a", "-e", "EXPERIMENT"), "did you mean 'policy'?"),
        (("export", "heat_small", "g.dot", "--to", "dott"), "did you mean 'dot'?"),
        (("import", "EXPERIMENT", "--format", "starvs"), "did you mean 'starvz'?"),
        (("validate", "task-stats.csv", "--policy", "pfw"), "'pfw'; did you mean 'pfws'?"),
        (("references", "r.csv", "--machine", "mirag"), "--machine: unknown machine 'mirag'; did"),
        (("references", "r.csv", "--program", "choleski"), "did you mean 'cholesky'?"),
    ],
)
def test_near_misses(
    simsched: Command, experiment: Path, words: tuple[str, ...], message: str
) -> None:
    Path("r.csv").write_text(
        "machine,policy,tiles_per_side,makespan_ms\nmirage,dmda,2,1.0\n", encoding="utf-8"
    )
    named = [str(experiment) if word == "EXPERIMENT" else word for word in words]
    code, output, messages = simsched(*named)
    assert (code, output) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1


def test_long_lists_of_names_are_cut(simsched: Command) -> None:
    message = simsched("show", "policy", "batz")[2]
    assert "accepted: bats, " in message
    assert re.search(r" and \d+ more$", message.rstrip())
    assert len(message) < 400


def test_a_remark_stands_below_the_results(simsched: Command, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "name: e\nremark: Mind the gap.\nmachines: [{name: opteron48, workers: 2}]\n"
        "workloads: [{name: fork_join, depth: 2}]\npolicies: [cilk]\n"
    )
    code, output, _ = simsched("run", "e.yaml", "-j", 1)
    assert code == 0
    assert output.index("cilk") < output.index("Mind the gap.") < output.index("1 run simulated")
    assert "Mind the gap." not in simsched("run", "e.yaml", "-j", 1, "--quiet")[1]
    assert json.loads(simsched("run", "e.yaml", "-q", "--json")[1])["remark"] == "Mind the gap."
