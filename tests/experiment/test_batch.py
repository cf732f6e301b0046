"""Cells that travel to a process are there what they were, and share what they shared."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from simsched.experiment import batch
from simsched.experiment.batch import Packer, Unpacker, unpacked
from simsched.experiment.cells import Cell
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import Document

from .conftest import plain

CELLS = Study.from_yaml(Document(None, plain(workloads=["fork_join", "chain"], seeds=5))).cells


def parts(cell: Cell) -> tuple[int, int, int]:
    return id(cell.machine_model), id(cell.workload_source), id(cell.policy_model)


def numbered(cells: list[Cell]) -> list[tuple[int, ...]]:
    """Return which of the parts of each cell are the same, by numbers in order of appearance."""
    numbers: dict[int, int] = {}
    return [tuple(numbers.setdefault(p, len(numbers)) for p in parts(cell)) for cell in cells]


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("most", [0, 2, 64])
def test_batches_are_the_cells(monkeypatch: pytest.MonkeyPatch, size: int, most: int) -> None:
    monkeypatch.setattr(batch, "MOST_PARTS", most)
    packer, unpacker, found = Packer(), Unpacker(), []
    for begin in range(0, len(CELLS), size):
        packed = packer.packed(CELLS[begin : begin + size])
        found += unpacker.cells(pickle.loads(pickle.dumps(packed)))
    for cell, other in zip(found, CELLS, strict=True):
        assert (cell.key, cell.label, cell.seed) == (other.key, other.label, other.seed)
        assert cell.policy_model == other.policy_model
        assert cell.workload_source == other.workload_source
        assert cell.machine_model.name == other.machine_model.name
    if most == 64:
        assert numbered(found) == numbered(CELLS)


def test_parts_travel_once() -> None:
    packer = Packer()
    first, second = packer.packed(CELLS[:2]), packer.packed(CELLS[:2])
    assert len(second.parts) < 20 < len(first.parts)
    assert len(second.cells) < 1500


def test_a_policy_that_is_not_there_is_named() -> None:
    data = pickle.dumps(replace)
    gone: Any = data.replace(b"replace", b"replaec")
    with pytest.raises(ConfigurationError, match=r"cannot load a policy: .*replaec"):
        unpacked(gone)
