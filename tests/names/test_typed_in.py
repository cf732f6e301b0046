"""What is typed into a notebook runs in its process and is never taken from the store."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from simsched.names.typed_in import has_file, parts_of, was_read

#: What cells of a notebook may hold; `shapes` is a module in a file.
CELLS = """
import functools
from pathlib import Path

import simsched
from shapes import factory, shaped
from simsched.experiment.inputs import workload_source
from simsched.experiment.pool import is_portable
from simsched.experiment.schema import WorkloadEntry
from simsched.policy import preset
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.workload.builder import build_graph
from simsched.workload.generators.fork_join import fork_join
from simsched.workload.graph import Workload
from simsched.workload.registry import generator, variant

def typed(seed, number):
    return Workload("typed", build_graph([1e6] * number))

def cell(tasks):
    exec(compile(f"variant('own', shaped, 'Own.', functools.partial(typed, number={tasks}))",
                 "cell", "exec"), globals())

variant("bound", shaped, "Of a file, bound to what is typed.", typed)
generator("made")(factory(typed))
generator("named")(fork_join)

@generator("wrapping")
@functools.wraps(fork_join)
def wrapping(seed, **given):
    return fork_join(seed, **given)

preset("oldest", RandomStealing, "Shipped, with typed parameters.", local_take="oldest")
"""
#: Tasks of each: a binary tree of depth 8 has 2^9 - 1.
EXPECTED = {"bound": 4, "made": 5, "named": 511, "wrapping": 511}
ENDING = f"""
for name, tasks in {EXPECTED!r}.items():
    found = simsched.run("opteron48", name, ["cilk_a", "oldest"], jobs=2, output="kept").rows
    assert [row["tasks"] for row in found] == [tasks, tasks], (name, found)
    source = workload_source(WorkloadEntry(name=name), Path())
    assert not source.portable, name
    assert not source.in_files, name
for tasks in (2, 3):  # the cell is executed again after a change
    cell(tasks)
    found = simsched.run("opteron48", "own", "cilk_a").rows
    assert found[0]["tasks"] == tasks
print("done")
"""
SHAPES = """
def shaped(name, helper, seed, *, tasks: int = 4):
    return helper(seed, number=tasks) if not hasattr(helper, "keywords") else helper(seed)

def factory(helper):
    def made(seed: int, *, tasks: int = 5):
        '''Some tasks.'''
        return helper(seed, tasks)
    return made
"""


@pytest.mark.parametrize("how", ["argument", "input"])
def test_typed_workloads_run_in_the_process_that_knows_them(tmp_path: Path, how: str) -> None:
    """Worker processes said that the workload is unknown: its function is in a file there, too."""
    (tmp_path / "shapes.py").write_text(SHAPES)
    program = CELLS + ENDING
    command = [sys.executable, *(["-c", program] if how == "argument" else ["-"])]
    text = program if how == "input" else ""
    path = {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, cwd=tmp_path, env=path
    )
    assert done.stdout == "done\n", done.stderr


def test_a_program_in_a_file_is_not_typed_in(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(SHAPES)
    ending = "".join(
        f"source = workload_source(WorkloadEntry(name={name!r}), Path())\n"
        "assert source.in_files and not source.portable\n"
        for name in EXPECTED
    )
    (tmp_path / "program.py").write_text(CELLS + ending)
    subprocess.run([sys.executable, "program.py"], check=True, cwd=tmp_path)


def test_parts_are_what_is_wrapped_and_bound() -> None:
    def outer(helper: Any) -> Any:
        def inner(value: Any = parts_of, *, other: Any = (was_read, 2)) -> Any:
            return helper, value, other, inner

        return inner

    inner = outer(has_file)
    assert parts_of(inner) == [inner, parts_of, was_read, 2, has_file]
    assert parts_of("text") == ["text"]


def test_code_of_modules_without_a_file_is_typed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    made = types.ModuleType("made_here")
    monkeypatch.setitem(sys.modules, "made_here", made)
    exec("class Own:\n    def run(self):\n        pass\ndef run():\n    pass", vars(made))
    assert not has_file(vars(made)["Own"])
    assert not has_file(vars(made)["run"])
    assert all(map(has_file, (int, Path, parts_of, test_parts_are_what_is_wrapped_and_bound, 3)))
