"""Tasks that are alike for a runtime, and what it learns of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from simsched.policy.parts.runtime_state import Q, RuntimeState
from simsched.workload.graph import Int32Array

HOST, DEVICE = 0, 1
TYPES = (HOST, DEVICE)  #: of processors
MEMORY = 256  #: most samples that a running mean remembers

#: Number of what tasks share: four times their class, 1 more if cores and 2 more if devices can
#: execute them.
Like = int


@dataclass
class Mean:
    """A running mean whose samples count for less as more come, but never less than a bound."""

    value: float = 0.0
    n: int = 0

    def known(self, otherwise: float) -> float:
        """Return the mean, or what stands for it without samples."""
        return self.value if self.n else otherwise

    def add(self, sample: float) -> None:
        """Take in a sample."""
        self.n = min(self.n + 1, MEMORY)
        self.value += (sample - self.value) / self.n


def likes(state: RuntimeState[Q]) -> Int32Array:
    """Return what each task shares with others: its class, and who can execute it."""
    able = np.zeros((len(TYPES), state.graph.n_tasks), bool)
    for kind in TYPES:
        rows = state.row[[w for w in state.order if state.is_device[w] == kind]]
        able[kind] = state.able_rows[np.unique(rows)].any(axis=0)
    numbers: Int32Array = 4 * state.graph.task_class + able[HOST] + 2 * able[DEVICE]
    return numbers.astype(np.int32)


def types_of(like: Like) -> tuple[int, ...]:
    """Return the types of processors that can execute such tasks."""
    return tuple(kind for kind in TYPES if like >> kind & 1)


def total(values: Iterable[float]) -> float:
    """Return a sum that is rounded after each addition; sum() is not from Python 3.12 on."""
    found = 0.0
    for value in values:
        found += value
    return found


def take_newest(tasks: list[int], accepts: Callable[[int], bool]) -> int | None:
    """Remove and return the last task that is accepted; None when there is none."""
    for place in reversed(range(len(tasks))):
        if accepts(tasks[place]):
            return tasks.pop(place)
    return None
