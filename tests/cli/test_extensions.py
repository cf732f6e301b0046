"""What users add: generators, importers and policies in files of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simsched.files.limits import POLICY_FILES
from simsched.trace.importers import registry as trace_registry
from simsched.trace.importers import trace_importer
from simsched.workload import registry


@pytest.fixture(autouse=True)
def _registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what a test registers."""
    for known in (registry.generators, trace_registry._importers):
        monkeypatch.setattr(known, "_entries", known.all())


def test_exceptions_of_generators_and_importers_end_with_exit_code_2(
    simsched: Any, tmp_path: Path
) -> None:
    """Exit code 1 and a traceback would say that simsched is broken."""

    @registry.generator("raising")
    def raising(seed: int) -> Any:
        """Raises."""
        raise KeyError("x")

    @trace_importer("raising", recognises=lambda path: path.suffix == ".raising")
    def reading(path: Path) -> Any:
        """Raises."""
        raise KeyError("x")

    (tmp_path / "t.raising").write_text("x")
    for words, name in (
        (("show", "workload", "raising"), "raising"),
        (("run", "quickstart", "-w", "raising"), "raising"),
        (("import", tmp_path / "t.raising"), "reading"),
    ):
        code, output, messages = simsched(*words)
        assert (code, output) == (2, "")
        assert messages.count("\n") == 1
        assert f"{__file__}:" in messages
        assert messages.endswith(f": {name}: KeyError: 'x'\n")


PAIR = """
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import Count, generator

@generator("test_many")
def many(seed: int, *, tasks: Count = 3):
    \"\"\"Independent tasks.\"\"\"
    return Workload("test_many", build_graph([1e6] * tasks))

@generator("test_one")
def one(seed: int):
    \"\"\"One task.\"\"\"
    return Workload("test_one", build_graph([1e6]))
"""


def test_a_workload_in_a_file_is_shown_run_and_exported(simsched: Any, tmp_path: Path) -> None:
    (tmp_path / "pair.py").write_text(PAIR)
    code, output, _ = simsched("show", "workload", "pair.py:test_many[tasks=5]")
    assert code == 0
    assert "tasks = 5  (a whole number, 1 to" in output
    assert "5 tasks (5 without children)" in output
    code, output, _ = simsched("show", "workload", "pair.py:test_one", "--json")
    assert json.loads(output)["generator"] == "test_one"
    words = ["run", "quickstart", "-m", "opteron48", "-p", "cilk_a", "-q", "--json", "--jobs", "2"]
    words += ["--set", "seeds=2", "-w", "./pair.py:test_many[tasks=5]", "-w", "pair.py:test_one"]
    code, output, _ = simsched(*words)
    assert code == 0
    runs = json.loads(output)["runs"]
    assert {(run["workload"], run["tasks"]) for run in runs} == {
        ("test_many[tasks=5]", 5),
        ("test_one", 1),
    }
    assert simsched("export", "pair.py:test_many", "many.graphml")[0] == 0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("pair.py", PAIR, "found more than one workload, accepted pair.py:NAME with ['test_many'"),
        ("pair.py:test_on", PAIR, "unknown workload 'test_on'; did you mean 'test_one'?"),
        ("pair.py", "x = 1\n", "found no workload, accepted a function below @simsched."),
        ("pair.py", "x = y\n", "pair.py, line 1: NameError: name 'y' is not defined"),
        ("pair.py", "raise SystemExit\n", "accepted: a file that defines a workload"),
        ("pair.py", None, "pair.py: no such file"),
        ("pair.py:test_many[task=3]", PAIR, "workload test_many: unknown parameter 'task'"),
    ],
)
def test_what_can_be_wrong_with_a_workload_in_a_file(
    simsched: Any, tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "pair.py").write_text(text)
    for words in (("show", "workload", name), ("run", "quickstart", "-w", name)):
        code, output, messages = simsched(*words)
        assert (code, output) == (2, "")
        assert message in messages
        assert messages.count("\n") == 1


def test_workloads_in_files_can_be_forbidden(
    simsched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pair.py").write_text("raise SystemExit('executed')")
    monkeypatch.setenv(POLICY_FILES, "no")
    code, _, messages = simsched("show", "workload", "pair.py")
    assert code == 2
    assert "workload 'pair.py': found a file, accepted the name of a workload" in messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "from simsched.policy import Policy\nclass Bare(Policy):\n    pass\n",
            ": class Bare has no method place, accepted: def place(self, view, state)",
        ),
        (
            "from simsched.policy import PlacedPolicy as P\nclass Bare(P):\n  pass\n",
            ": class Bare has no method plan, accepted: def plan(self, view, state, graph)",
        ),
    ],
)
def test_a_method_that_is_missing_is_named(
    simsched: Any, tmp_path: Path, text: str, message: str
) -> None:
    """The engine used to blame what a hook had returned; nothing was returned."""
    (tmp_path / "mine.py").write_text(text)
    words = ("-m", "opteron48", "-w", "chain[tasks=3]", "--set", "seeds=1", "--jobs", "1")
    code, _, messages = simsched("run", "quickstart", "-q", *words, "-p", "mine.py")
    assert code == 2
    assert messages.endswith(f"policy mine: {tmp_path / 'mine.py'}{message}\n")


def test_a_policy_that_does_not_fit_is_called_as_it_was_typed(simsched: Any) -> None:
    """It was called by its class, unpinned_stealing, and by an option that nobody had given."""
    words = ("-m", "opteron48", "-p", "cilk_a", "-p", "cilk[placement=membind_hbm]")
    code, _, messages = simsched("run", "quickstart", *words)
    assert code == 2
    expected = "simsched: error: --policy: policy cilk: parameter placement: 'membind_hbm' does not"
    assert messages.startswith(expected)
