"""Tasks that are alike for a runtime, and what it learns of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simsched.policy.parts.runtime_state import Q, RuntimeState

HOST, DEVICE = 0, 1
TYPES = (HOST, DEVICE)  #: of processors
MEMORY = 256  #: most samples that a running mean remembers

Like = tuple[int, tuple[int, ...]]  #: class of tasks, and types of processors that can run them


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


def likes(state: RuntimeState[Q]) -> list[Like]:
    """Return the class of every task, and the types of processors that can execute it."""
    able = np.zeros((len(TYPES), state.graph.n_tasks), bool)
    rows = {(int(state.is_device[w]), id(state.able[w])): state.able[w] for w in state.order}
    for (kind, _), can_run in rows.items():
        able[kind] |= can_run
    types: list[tuple[int, ...]] = [(), (HOST,), (DEVICE,), TYPES]
    return [
        (name, types[of])
        for name, of in zip(
            state.graph.task_class.tolist(), (able[HOST] + 2 * able[DEVICE]).tolist(), strict=True
        )
    ]


def take_newest(tasks: list[int], accepts: Callable[[int], bool]) -> int | None:
    """Remove and return the last task that is accepted; None when there is none."""
    for place in reversed(range(len(tasks))):
        if accepts(tasks[place]):
            return tasks.pop(place)
    return None
