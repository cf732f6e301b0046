"""Faults of the surroundings: policies that raise, memory that ends, keys that belong together."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import Command
from .test_bad_input import ROOT, Refused, refused, write

__all__ = ["refused"]

HOOKS = {
    "plan": "raise KeyError('boom')",
    "on_iteration": "raise RuntimeError('boom')",
    "on_ready": "raise SystemExit('boom')",
}
POLICY = '''\
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing


class Mine(RandomStealing):
    """A policy with a fault."""

    def {hook}(self, *arguments):
        {body}
'''


def policy(folder: Path, hook: str, body: str) -> Path:
    path = folder / "mine.py"
    path.write_text(POLICY.format(hook=hook, body=body))
    workload = "[{name: heat, rows: 64, columns: 64, iterations: 2}]"
    return write(folder, lines={"policies": "[mine.py]", "workloads": workload})


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("backend", ["simpy", "native"])
def test_a_hook_that_raises(refused: Refused, tmp_path: Path, hook: str, backend: str) -> None:
    path = policy(tmp_path, hook, HOOKS[hook])
    message = refused("run", path, "-j", 1, "-q", "--backend", backend)
    assert re.search(rf"policy \S+: .*mine\.py:8: {hook}: \w+: .*boom", message), message


def test_a_hook_that_returns_nonsense(refused: Refused, tmp_path: Path) -> None:
    path = policy(tmp_path, "on_ready", "return 'nonsense'")
    message = refused("run", path, "-j", 1, "-q", "--backend", "simpy")
    assert re.search(r"mine seed 0: policy \S+: on_ready: found '.*', accepted a Pool", message), (
        message
    )


def test_a_policy_file_that_ends_the_program(refused: Refused, tmp_path: Path) -> None:
    path = write(tmp_path, lines={"policies": "[mine.py]"})
    (tmp_path / "mine.py").write_text("raise SystemExit(3)\n")
    message = refused("run", path)
    assert re.search(r"bad\.yaml:4: policies\[0\]: \S*mine\.py: found a file that ends", message)


@pytest.mark.parametrize("where", ["simsched.experiment.inputs.generate_workload", "simulate"])
def test_memory_that_ends(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    target = where if "." in where else f"simsched.experiment.cell_run.{where}"
    monkeypatch.setattr("simsched.experiment.inputs._built", {})
    monkeypatch.setattr(target, fail)
    message = refused("run", write(tmp_path), "-j", 1, "-q")
    assert "found more than the memory of this computer" in message


def test_the_place_of_a_wrong_value_is_the_option_that_set_it(
    refused: Refused, tmp_path: Path
) -> None:
    path = write(tmp_path)
    for option, rest in (
        ("workloads.heat.rows=x", r"workloads\[0\]\.rows: .*found 'x'"),
        ("metrics=[foo]", r"metrics\[0\]: unknown metric 'foo'"),
        ("policies=[cilk, batz]", r"policies\[1\]: unknown policy 'batz'"),
        ("machines.0.set.costs.steal=1 m", r"machines\[0\]\.set\.costs\.steal: .*found '1 m'"),
    ):
        message = refused("run", path, "--set", option)
        assert re.search(rf"error: --set {re.escape(option)}: {rest}", message), message


def test_the_place_of_a_wrong_swept_value_is_the_sweep(refused: Refused, tmp_path: Path) -> None:
    path = write(tmp_path, lines={"sweep": "{product: {workloads.heat.rows: [64, x]}}"})
    message = refused("run", path)
    assert re.search(r"bad\.yaml:5: sweep\.product\.workloads\.heat\.rows: .*found 'x'", message)


def test_a_graph_file_names_its_iterations_and_missing_files(
    refused: Refused, tmp_path: Path
) -> None:
    (tmp_path / "g.dot").write_text("digraph g { a [c=1]; }")
    takes = "cost: c, cost_unit: ops, iterations: 1000000000000"
    path = write(tmp_path, lines={"workloads": f"[{{file: g.dot, {takes}}}]"})
    assert "accepted a whole number, 1 to 2147483647" in refused("run", path)
    assert "none.json: no such file" in refused("export", "none.json", "g.graphml")


@pytest.mark.parametrize("words", [(), ("show",)])
def test_a_group_of_commands_alone_prints_its_help(
    simsched: Command, words: tuple[str, ...]
) -> None:
    code, output, messages = simsched(*words)
    assert (code, output) == (2, "")
    assert messages.startswith("Usage: simsched")
    assert messages.count("\n") > 5


def test_an_unknown_command_names_the_known_ones(refused: Refused) -> None:
    assert "unknown command 'chek'; did you mean 'check'? accepted: " in refused("chek")
    assert "see simsched list --help" in refused("list")


def test_every_command_of_the_guide_exists(simsched: Command) -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    documented = set(re.findall(r"^\| `simsched ([\w-]+)", text, re.MULTILINE))
    code, output, _ = simsched("--help")
    assert code == 0
    assert documented == set(re.findall(r"^  ([a-z][a-z-]*)  ", output, re.MULTILINE)) - {"file"}


def test_a_policy_file_is_shown(simsched: Command, tmp_path: Path) -> None:
    policy(tmp_path, "on_timer", "return None")
    code, output, _ = simsched("show", "policy", "./mine.py")
    assert code == 0
    assert "A policy with a fault." in output
    assert "placement = " in output


def test_the_baseline_can_be_replaced_with_the_policies(simsched: Command, tmp_path: Path) -> None:
    path = write(tmp_path, lines={"baseline": "cilk"})
    for options in (
        ("policies=[pfws]", "baseline=pfws"),
        ("baseline=pfws", "policies=[pfws]"),
    ):
        words = [word for option in options for word in ("--set", option)]
        code, output, messages = simsched("run", path, "-j", 1, "--json", "-q", *words)
        assert code == 0, messages
        assert {run["policy"] for run in json.loads(output)["runs"]} == {"pfws"}


def test_the_machine_of_the_guide_and_its_message(
    simsched: Command, refused: Refused, tmp_path: Path
) -> None:
    guide = (ROOT / "docs" / "adding-a-machine.md").read_text()
    text = guide.split("```yaml\n")[1].split("```")[0]
    path = tmp_path / "my_server.yaml"
    path.write_text(text)
    assert simsched("check", "my_server.yaml")[0] == 0
    path.write_text(text.replace("    bandwidth: [38 GB/s", "    bandwith: [38 GB/s"))
    shown = guide.rstrip().splitlines()[-2].removesuffix("...")
    assert shown in refused("check", "my_server.yaml")
