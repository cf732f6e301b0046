"""Where the events of a run go while it goes on: into memory, or whatever takes them in batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simsched.trace.schema import EVENT_COLUMNS, Trace

if TYPE_CHECKING:
    from simsched.workload.graph import Workload

Column = NDArray[np.int64] | NDArray[np.int32]
Events = Mapping[str, Column]


@runtime_checkable
class EventSink(Protocol):
    """What takes the events of a run, batch by batch and in their order."""

    @property
    def capacity(self) -> int:
        """Number of events in a batch, 1 or more; only the last batch may have fewer."""

    def append(self, events: Events) -> None:
        """Take the next batch, the columns of `EVENT_COLUMNS`; an exception ends the run.

        The backend writes the next batch to the same memory: what is to be kept has to be copied.
        """


@runtime_checkable
class InformedSink(EventSink, Protocol):
    """A sink that is told what the events are about."""

    def begin(self, workload: Workload, worker_thread: NDArray[np.int32]) -> None:
        """Learn which tasks and workers a run has, before its first batch.

        The program is as the policy's runtime executes it; `worker_thread` has the hardware
        threads.
        """


class KeptEvents:
    """A sink that keeps all events in memory; a batch has `capacity`."""

    def __init__(self, capacity: int = 2**16) -> None:
        self.capacity = capacity
        self._parts: dict[str, list[NDArray[Any]]] = {
            name: [column] for name, column in make_columns(0).items()
        }

    def append(self, events: Events) -> None:
        """Take the next batch; see :meth:`EventSink.append`."""
        for name, parts in self._parts.items():
            parts.append(events[name].copy())

    def trace(self) -> Trace:
        """Return the events so far."""
        for parts in self._parts.values():  # one column after the other, to need less memory
            parts[:] = [np.concatenate(parts)]
        return Trace({name: parts[0] for name, parts in self._parts.items()})


def make_columns(capacity: int) -> dict[str, Column]:
    """Return columns for a backend to write events to; nobody else can write to them."""
    columns: dict[str, Column] = {
        name: np.empty(capacity, kind) for name, kind in EVENT_COLUMNS.items()
    }
    for column in columns.values():
        column.flags.writeable = False
    return columns


def make_sink(events: bool | EventSink) -> EventSink | None:
    """Return the sink that an `events` argument asks for: True keeps events in memory."""
    if isinstance(events, bool):
        return KeptEvents() if events else None
    if events.capacity < 1:
        raise ValueError(f"capacity of the event sink: found {events.capacity}, accepted 1 or more")
    return events
