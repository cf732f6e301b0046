from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simsched.yaml_reader import Document, read_document

SMALL = """\
name: small
machines: [{name: amd_4x_opteron8380, workers: 4}]
workloads: [{name: fork_join, depth: 3}]
policies: [cilk_a, work_sharing]
seeds: 2
backend: simpy
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


@pytest.fixture
def make_plain() -> Any:
    return plain
