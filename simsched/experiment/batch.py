"""Cells on their way to a worker process: machines, workloads and policies travel once.

They are the same objects there for the cells of all batches, so that what engines keep of them
lasts.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from simsched.experiment.cells import Cell
from simsched.files.errors import ConfigurationError
from simsched.names.loading import imports_watched

MOST_PARTS = 64  #: that a worker keeps, and more only while it has cells of them


@dataclass(frozen=True)
class Batch:
    """Cells, pickled."""

    #: Whether parts of earlier batches are not needed any more.
    forget: bool
    #: Those that earlier batches have not had.
    parts: bytes
    #: In place of each part is its number.
    cells: bytes


class Packer:
    """Packs the cells for one process."""

    def __init__(self) -> None:
        self._parts: list[Any] = []  # kept, since their addresses tell them apart
        self._numbers: dict[int, int] = {}

    def packed(self, cells: Sequence[Cell]) -> Batch:
        """Return cells as the process takes them, after all batches before."""
        forget = len(self._parts) > MOST_PARTS
        if forget:
            self._parts, self._numbers = [], {}
        before = len(self._parts)
        for cell in cells:
            for part in (cell.machine_model, cell.workload_source, cell.policy_model):
                if self._numbers.setdefault(id(part), len(self._parts)) == len(self._parts):
                    self._parts.append(part)
        file = BytesIO()
        _Pickler(file, self._numbers).dump(list(cells))
        return Batch(
            forget, pickle.dumps(self._parts[before:], pickle.HIGHEST_PROTOCOL), file.getvalue()
        )


class Unpacker:
    """Unpacks the cells that one packer has packed."""

    def __init__(self) -> None:
        self._parts: list[Any] = []

    def cells(self, batch: Batch) -> list[Cell]:
        """Return the cells of the next batch, if the code of their policies is here."""
        if batch.forget:
            self._parts = []
        self._parts += unpacked(batch.parts)
        cells: list[Cell] = unpacked(batch.cells, self._parts)
        return cells


class _Pickler(pickle.Pickler):
    def __init__(self, file: BytesIO, numbers: Mapping[int, int]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._numbers = numbers

    def persistent_id(self, thing: Any) -> int | None:
        return self._numbers.get(id(thing))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BytesIO, parts: Sequence[Any]) -> None:
        super().__init__(file)
        self._parts = parts

    def persistent_load(self, number: int) -> Any:
        return self._parts[number]


def unpacked(data: bytes, parts: Sequence[Any] = ()) -> Any:
    """Return what another process has pickled, if the code of its policies is here."""
    try:
        # What a module registers is its own, as where the cell comes from.
        with imports_watched(of_user=True):
            return _Unpickler(BytesIO(data), parts).load()
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"a worker process cannot load a policy: {error}") from error
