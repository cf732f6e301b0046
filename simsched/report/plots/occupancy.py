"""What workers do when, as bars or added up in cells of rows and time bins."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.recordings import recording_of
from simsched.files.errors import ConfigurationError
from simsched.files.units import PER_PS
from simsched.trace.exporters._classes import Classes
from simsched.trace.exporters._timeline import Activity, timeline
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace

Int64Array = NDArray[np.int64]
RUNTIME = "runtime, copies"  #: creating, taking and releasing tasks, copying blocks


@dataclass(frozen=True, eq=False)
class Bars:
    """Intervals in which workers are busy; those of a worker do not overlap."""

    #: Of each interval; shape (n,), as `layer`, `start_ps` and `end_ps`.
    worker: Int64Array
    #: Index into `layers`.
    layer: Int64Array
    start_ps: Int64Array
    end_ps: Int64Array
    #: Task classes, then `RUNTIME`.
    layers: tuple[str, ...]
    #: Tasks that begin in the intervals.
    n_tasks: int
    #: Begin and end of the time that is looked at.
    span_ps: tuple[int, int]
    #: Beginnings of iterations.
    iteration_ps: Int64Array

    def __len__(self) -> int:
        return len(self.worker)


def busy_bars(run: Run, start_s: float | None = None, end_s: float | None = None) -> Bars:
    """Return the busy intervals of a run; they are found once and kept as long as the run is."""
    if run.trace is None or not len(run.trace):
        raise ConfigurationError("run: found no event trace, accepted a run with its events")
    time = run.trace.events["time_ps"]
    begin = int(time[0]) if start_s is None else round(start_s * 1e12)
    end = int(time[-1]) if end_s is None else round(end_s * 1e12)
    if end <= begin:
        raise ConfigurationError(
            f"time: found {begin * PER_PS} s to {end * PER_PS} s, accepted a time that is not empty"
        )
    whole = _whole.get(run)
    if whole is None:
        whole = _whole[run] = _all_bars(run, run.trace)
    return whole.between(begin, end)


@dataclass(frozen=True, eq=False)
class _Whole:
    """All bars of a run, in the order of :class:`Bars`, and when its tasks begin."""

    worker: NDArray[np.int32]
    layer: NDArray[np.int32]
    start_ps: Int64Array
    end_ps: Int64Array
    layers: tuple[str, ...]
    task_ps: Int64Array
    iteration_ps: Int64Array

    def between(self, begin: int, end: int) -> Bars:
        """Return what lies in a time; bars that reach out of it are cut."""
        kept = np.flatnonzero((self.start_ps < end) & (self.end_ps > begin))
        begun = (self.task_ps >= begin) & (self.task_ps < end)
        iterations = self.iteration_ps
        return Bars(
            self.worker[kept].astype(np.int64),
            self.layer[kept].astype(np.int64),
            np.clip(self.start_ps[kept], begin, end),
            np.clip(self.end_ps[kept], begin, end),
            self.layers,
            int(np.count_nonzero(begun)),
            (begin, end),
            iterations[(iterations > begin) & (iterations < end)],
        )


#: Bars of the runs that are in memory: to find them takes seconds for a million tasks, and whoever
#: looks closer at a chart draws it again and again.
_whole: WeakKeyDictionary[Run, _Whole] = WeakKeyDictionary()


def _all_bars(run: Run, trace: Trace) -> _Whole:
    line = timeline(trace, ordered=False).intervals
    kept = np.flatnonzero(line.end_ps > line.start_ps)
    classes = Classes(recording_of(run))
    layer = np.where(
        line.activity[kept] == Activity.TASK,
        classes.of(line.task[kept], line.iteration[kept]),
        len(classes.names),
    )
    columns = (
        line.worker[kept],
        layer.astype(np.int32),
        line.start_ps[kept],
        line.end_ps[kept],
    )
    kind, time = trace.events["kind"], trace.events["time_ps"]
    return _Whole(
        *_without_inside(*columns, line.inside[kept]),
        (*classes.names, RUNTIME),
        line.start_ps[(line.activity == Activity.TASK) & line.first],
        time[kind == EventKind.ITERATION_START].astype(np.int64),
    )


def _without_inside(
    worker: NDArray[np.int32],
    layer: NDArray[np.int32],
    start: Int64Array,
    end: Int64Array,
    inside: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int32], Int64Array, Int64Array]:
    """Cut stretches in tasks where something else lies inside them; return the columns."""
    if not inside.any():
        return worker, layer, start, end
    order = np.lexsort((inside, start, worker))
    worker, layer, start, end = worker[order], layer[order], start[order], end[order]
    within = inside[order]
    # Every interval inside ends the piece of the stretch before it and begins the next piece.
    outer = np.maximum.accumulate(np.where(within, -1, np.arange(len(worker))))
    rows = np.flatnonzero(within)
    following = np.append(start[1:], 0)
    next_inside = np.append(within[1:], False)
    outer_end = end[outer]
    piece_end = np.where(next_inside, following, outer_end)
    kept_end = np.where(within, end, np.minimum(end, piece_end))
    first = np.concatenate([start, end[rows]])
    last = np.concatenate([kept_end, piece_end[rows]])
    some = last > first
    return (
        np.concatenate([worker, worker[rows]])[some],
        np.concatenate([layer, layer[outer[rows]]])[some],
        first[some],
        last[some],
    )


def rows_of(run: Run, most: int) -> tuple[NDArray[np.int64], int]:
    """Return the row of each worker, `most` about, each in one domain, and how many share one."""
    domain = run.machine.thread_domain[run.worker_thread]
    share = -(-len(domain) // most)
    starts = np.append(True, domain[1:] != domain[:-1])
    begin = np.maximum.accumulate(np.where(starts, np.arange(len(domain)), 0))
    fresh = (np.arange(len(domain)) - begin) % share == 0
    return np.cumsum(fresh) - 1, share


def occupancy(
    bars: Bars, row_of: NDArray[np.int64], edges_ps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the busy time in ps in each row, time bin and layer; shape (n_rows, bins, n_layers).

    `row_of` is the row of each worker; bins are equal and divide `bars.span_ps`.
    """
    n_rows, bins, n_layers = int(row_of.max()) + 1, len(edges_ps) - 1, len(bars.layers)
    width = (edges_ps[-1] - edges_ps[0]) / bins
    start, end = bars.start_ps - edges_ps[0], bars.end_ps - edges_ps[0]
    first = np.clip((start / width).astype(np.int64), 0, bins - 1)
    last = np.clip((end / width).astype(np.int64), first, bins - 1)
    one = first == last
    cell = (row_of[bars.worker] * n_layers + bars.layer) * bins
    shape = n_rows * n_layers * bins

    def added(where: Int64Array, amount: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(where, weights=amount, minlength=shape)[:shape].astype(np.float64)

    head = np.where(one, end - start, (first + 1) * width - start)
    total = added(cell + first, head)
    long = np.flatnonzero(~one)
    total += added((cell + last)[long], (end - last * width)[long])
    # What lies between the first and the last bin of a bar covers whole bins.
    full = long[last[long] > first[long] + 1]
    steps = np.bincount((cell + first)[full] + 1, minlength=shape + 1)
    steps -= np.bincount((cell + last)[full], minlength=shape + 1)
    total += np.cumsum(steps)[:shape] * width
    result: NDArray[np.float64] = total.reshape(n_rows, n_layers, bins).transpose(0, 2, 1)
    return result
