"""Cells that wait for a worker, in an order in which workloads are seldom built twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from simsched.experiment.cells import Cell


class WaitingCells:
    """Cells that wait, by workload.

    A worker keeps the workload that it has built last. It is given cells with that workload as long
    as there are any, then cells of a workload that nobody has begun, and in the end cells of the
    workload with the most cells left.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._groups: dict[str, deque[Cell]] = {}
        self._number = 0
        for cell in cells:
            self._groups.setdefault(cell.workload_source.content, deque()).append(cell)
            self._number += 1
        self._untouched = deque(self._groups)

    def take(self, last: str | None = None) -> Cell:
        """Remove and return a cell for a worker, which has built the workload `last`."""
        return self.take_several(last, 1)[0]

    def take_several(self, last: str | None, most: int) -> list[Cell]:
        """Remove and return cells, one or more, workload by workload as :meth:`take` would."""
        cells: list[Cell] = []
        while not cells or (self and len(cells) < most):
            content = last if last in self._groups else self._another()
            group = self._groups[content]
            taken = [group.popleft() for _ in range(min(max(1, most - len(cells)), len(group)))]
            if not group:
                del self._groups[content]
            self._number -= len(taken)
            cells += taken
        return cells

    def __len__(self) -> int:
        return self._number

    def _another(self) -> str:
        while self._untouched:
            content = self._untouched.popleft()
            if content in self._groups:
                return content
        # Few are left here: the workloads that some worker is at.
        return max(self._groups, key=lambda content: len(self._groups[content]))

    def put_back(self, cell: Cell) -> None:
        """Add a cell that has to be run again."""
        self._groups.setdefault(cell.workload_source.content, deque()).appendleft(cell)
        self._number += 1
