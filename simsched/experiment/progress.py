"""Progress on standard error: a bar with an estimate on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import math
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from simsched.experiment.cells import Cell

PLAIN_EVERY_S = 10.0


class Silent:
    """A listener that says nothing."""

    def progressed(self, cell: Cell, part: float) -> None:
        """Say nothing."""

    def finished(self, cell: Cell) -> None:
        """Say nothing."""


class ProgressBar:
    """A listener that shows how many runs are done and how long the rest will take."""

    def __init__(self, total: int, console: Console, verb: str = "simulating") -> None:
        self.total = total
        self.console = console
        self.verb = verb
        self.done = 0
        self._parts: dict[str, float] = {}
        self._begin = self._said = time.monotonic()
        self._fancy = console.is_terminal and not console.is_dumb_terminal
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        if self._fancy and self.total:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[count]} runs"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
                console=self.console,
                transient=True,
            )
            self._task = self._bar.add_task(self.verb, total=1.0, count=f"0/{self.total}", left="")
            try:
                self._bar.start()
            except BaseException:  # Ctrl-C too: nobody else would show the cursor again
                self._bar.stop()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def progressed(self, cell: Cell, part: float) -> None:
        """Note that a cell is done in part."""
        self._parts[cell.key] = part
        self._show()

    def finished(self, cell: Cell) -> None:
        """Note that a cell is done."""
        self._parts.pop(cell.key, None)
        self.advanced()

    def advanced(self) -> None:
        """Note that one more run is done."""
        self.done += 1
        self._show()

    def remaining_s(self) -> float | None:
        """Return the estimated time until everything is done, None when nothing is known yet."""
        part = self.part()
        elapsed = time.monotonic() - self._begin
        return elapsed * (1 - part) / part if part > 0 else None

    def part(self) -> float:
        """Return the part of all runs that is done, from 0 to 1."""
        return min(1.0, (self.done + sum(self._parts.values())) / max(1, self.total))

    def _show(self) -> None:
        left = self.remaining_s()
        text = "" if left is None else f"about {duration(left)} left"
        if self._bar is not None:
            count = f"{self.done}/{self.total}"
            self._bar.update(self._task, completed=self.part(), count=count, left=text)
            return
        now = time.monotonic()
        if not self._fancy and now - self._said >= PLAIN_EVERY_S and self.done < self.total:
            self._said = now
            self.console.print(f"{self.done}/{self.total} runs, {text}")


def duration(seconds: float) -> str:
    """Return a duration as people write it.

    >>> duration(7.2), duration(75), duration(7300)
    ('8 s', '1 min 15 s', '2 h 1 min')
    """
    whole = math.ceil(seconds - 1e-6)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
