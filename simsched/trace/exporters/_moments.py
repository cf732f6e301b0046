"""What happens in an instant and is neither a steal nor a dependence: decisions and conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.trace.exporters._source import events_of
from simsched.trace.exporters._timeline import Columns
from simsched.trace.recording import Recording
from simsched.trace.schema import EventKind, Loss

Describe = Callable[[int, int], dict[str, Any]]


def _loss(why: int, since_ps: int) -> dict[str, Any]:
    known = why in set(Loss)
    return {"why": Loss(why).name.lower() if known else str(why), "since_ps": since_ps}


#: Kinds that are drawn, with what `arg0` and `arg1` are.
MOMENTS: dict[EventKind, Describe] = {
    EventKind.PREEMPT: lambda _, taker: {"to": taker},
    EventKind.EXCHANGE: lambda one, other: {"one": one, "other": other},
    EventKind.PAGE_MOVE: lambda block, node: {"block": block, "node": node},
    EventKind.DUPLICATE: lambda who, _: {"executed_by": who},
    EventKind.KILL: _loss,
    EventKind.ACQUIRE_ORDER: lambda _, __: {},
    EventKind.SPEED: lambda number, millionths: {"change": number, "left": millionths / 1e6},
    EventKind.FAILURE: lambda _, __: {},
    EventKind.PACE: lambda billionths, _: {"part": billionths / 1e9},
}


@dataclass(frozen=True, eq=False)
class Moments(Columns):
    """Rows of a trace of the kinds in `MOMENTS`, in order of time; -1 is nobody in particular."""

    time_ps: NDArray[np.int64]
    kind: NDArray[np.int32]
    worker: NDArray[np.int32]
    task: NDArray[np.int32]
    iteration: NDArray[np.int32]
    arg0: NDArray[np.int64]
    arg1: NDArray[np.int64]

    def name(self, row: int) -> str:
        """Return what a viewer calls a moment: the kind in words."""
        return EventKind(int(self.kind[row])).name.lower().replace("_", " ")

    def about(self, row: int) -> dict[str, Any]:
        """Return the details of a moment."""
        describe = MOMENTS[EventKind(int(self.kind[row]))]
        found = describe(int(self.arg0[row]), int(self.arg1[row]))
        task = {"task": int(self.task[row])} if self.task[row] >= 0 else {}
        return {**task, "iteration": int(self.iteration[row]), **found}


def moments_of(recording: Recording) -> Moments:
    """Return the moments of a run."""
    events = events_of(recording).events
    rows = np.flatnonzero(np.isin(events["kind"], list(MOMENTS)))
    narrow = {
        name: events[name][rows].astype(np.int32)
        for name in ("kind", "worker", "task", "iteration")
    }
    time, arg0, arg1 = (events[n][rows].astype(np.int64) for n in ("time_ps", "arg0", "arg1"))
    return Moments(time, **narrow, arg0=arg0, arg1=arg1)
