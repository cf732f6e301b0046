from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simsched.experiment.cells import Cell
from simsched.experiment.overrides import assignments
from simsched.experiment.runner import Outcome, RunOptions, run_study
from simsched.experiment.study import Study
from simsched.files.yaml_reader import Document, read_document

SMALL = """\
name: small
machines: [{name: amd_4x_opteron8380, workers: 4}]
workloads: [{name: fork_join, depth: 3}]
policies: [cilk_a, work_sharing]
seeds: 2
backend: simpy
"""


# A policy that does something drastic when it starts a run, as long as a file exists.
DRASTIC = """
import os, signal, time
from dataclasses import dataclass
from simsched.policy.contract.base import param
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

begun = []  # runs of this process

@dataclass(frozen=True, kw_only=True)
class Drastic(RandomStealing):
    marker: str = param("")
    deed: str = param("kill")

    def start(self, view):
        if self.deed == "sleep":
            open(self.marker, "a").close()
            time.sleep(10)
        begun.append(self)
        if os.path.exists(self.marker) and (self.deed != "twelfth" or len(begun) == 12):
            if self.deed in ("once", "twelfth"):
                os.unlink(self.marker)
            if self.deed == "crash":
                raise RuntimeError("a fault of the policy")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().start(view)
"""


@pytest.fixture
def small(tmp_path: Path) -> Document:
    """An experiment of four short runs."""
    return document(tmp_path, SMALL)


def document(folder: Path, text: str) -> Document:
    path = folder / "small.yaml"
    path.write_text(text)
    return read_document(path)


def plain(**changes: Any) -> dict[str, Any]:
    """The same experiment as plain data."""
    return {
        "name": "small",
        "machines": [{"name": "amd_4x_opteron8380", "workers": 4}],
        "workloads": [{"name": "fork_join", "depth": 3}],
        "policies": ["cilk_a", "work_sharing"],
        "seeds": 2,
        "backend": "simpy",
        **changes,
    }


def run_document(
    document: Document, assigned: Sequence[str] = (), chosen: Any = None, **options: Any
) -> Outcome:
    """Run an experiment with some values replaced."""
    study = Study.from_yaml(document, assignments(assigned))
    return run_study(study, RunOptions(**options), chosen)


@pytest.fixture
def make_plain() -> Any:
    return plain


def deterministic(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what depends on the machine that runs the tests."""
    left_out = {"wall_s", "peak_rss_bytes", "simulated_per_wall_s", "events_file"}
    return [{k: v for k, v in row.items() if k not in left_out} for row in rows]


def drastic(folder: Path, deed: str, **more: Any) -> dict[str, Any]:
    (folder / "drastic.py").write_text(DRASTIC)
    return {"name": f"{folder}/drastic.py", "deed": deed, "marker": f"{folder}/marker", **more}


class Impatient:
    """A listener that presses Ctrl-C after some cells."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, total: int) -> Impatient:
        return self

    def __enter__(self) -> Impatient:
        return self

    def __exit__(self, *_: object) -> None: ...

    def progressed(self, cell: Cell, part: float) -> None: ...

    def finished(self, cell: Cell) -> None:
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt
