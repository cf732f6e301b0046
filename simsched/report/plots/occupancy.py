"""What workers do when, as bars or added up in cells of rows and time bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.engine.run import Run
from simsched.errors import ConfigurationError
from simsched.trace.exporters._timeline import Activity, timeline
from simsched.trace.schema import EventKind
from simsched.workload.graph import TaskGraph

Int64Array = NDArray[np.int64]
RUNTIME = "runtime, copies"  #: creating, taking and releasing tasks, copying blocks


@dataclass(frozen=True, eq=False)
class Bars:
    """Intervals in which workers are busy; those of a worker do not overlap.

    Parameters
    ----------
    worker : ndarray of int64, shape (n,)
        Who.
    layer : ndarray of int64, shape (n,)
        Index into `layers`.
    start_ps, end_ps : ndarray of int64, shape (n,)
        When.
    layers : tuple of str
        Task classes, then `RUNTIME`.
    n_tasks : int
        Tasks that begin in the intervals.
    span_ps : tuple of int
        Begin and end of the time that is looked at.
    iteration_ps : ndarray of int64, shape (i,)
        Beginnings of iterations.
    """

    worker: Int64Array
    layer: Int64Array
    start_ps: Int64Array
    end_ps: Int64Array
    layers: tuple[str, ...]
    n_tasks: int
    span_ps: tuple[int, int]
    iteration_ps: Int64Array

    def __len__(self) -> int:
        return len(self.worker)


def busy_bars(run: Run, start_s: float | None = None, end_s: float | None = None) -> Bars:
    """Return the busy intervals of a run.

    Parameters
    ----------
    run : Run
        A run with its events.
    start_s, end_s : float, optional
        Time to look at, in seconds; the whole trace by default.

    Raises
    ------
    ConfigurationError
        The run has no events, or the time is empty.
    """
    if run.trace is None or not len(run.trace):
        raise ConfigurationError("run: found no event trace, accepted a run with its events")
    events = run.trace.events
    begin = int(events["time_ps"][0]) if start_s is None else round(start_s * 1e12)
    end = int(events["time_ps"][-1]) if end_s is None else round(end_s * 1e12)
    if end <= begin:
        raise ConfigurationError(
            f"time: found {begin * 1e-12} s to {end * 1e-12} s, accepted a time that is not empty"
        )
    line = timeline(run.trace, ordered=False).intervals
    kept = np.flatnonzero(
        (line.start_ps < end) & (line.end_ps > begin) & (line.end_ps > line.start_ps)
    )
    names = _class_names(run)
    task = line.task[kept].astype(np.int64)
    classes = _classes(run, names, task, line.iteration[kept])
    layer = np.where(line.activity[kept] == Activity.TASK, classes, len(names))
    begun = (line.activity == Activity.TASK) & line.first
    n_tasks = int((begun & (line.start_ps >= begin) & (line.start_ps < end)).sum())
    starts = events["time_ps"][events["kind"] == EventKind.ITERATION_START]
    bars = Bars(
        line.worker[kept].astype(np.int64),
        layer.astype(np.int64),
        np.clip(line.start_ps[kept], begin, end),
        np.clip(line.end_ps[kept], begin, end),
        (*names, RUNTIME),
        n_tasks,
        (begin, end),
        starts[(starts > begin) & (starts < end)].astype(np.int64),
    )
    return _without_inside(bars, line.inside[kept])


def _class_names(run: Run) -> list[str]:
    """Return the task classes of the iterations, then those that only the initialisation has."""
    graphs = filter(None, (run.workload.graph, run.workload.init))
    return list(dict.fromkeys(name for graph in graphs for name in graph.class_names))


def _classes(
    run: Run, names: list[str], task: Int64Array, iteration: NDArray[np.int32]
) -> Int64Array:
    """Return the class of each task, an index into `names`."""

    def of(graph: TaskGraph) -> Int64Array:
        place = np.array([names.index(name) for name in graph.class_names], np.int64)
        found: Int64Array = place[graph.task_class[np.clip(task, 0, graph.n_tasks - 1)]]
        return found

    init = run.workload.init
    later = of(run.workload.graph)
    return later if init is None else np.where(iteration == 0, of(init), later)


def _without_inside(bars: Bars, inside: NDArray[np.bool_]) -> Bars:
    """Cut stretches in tasks where something else lies inside them."""
    if not inside.any():
        return bars
    order = np.lexsort((inside, bars.start_ps, bars.worker))
    worker, layer, start, end, within = (
        column[order] for column in (bars.worker, bars.layer, bars.start_ps, bars.end_ps, inside)
    )
    # Every interval inside ends the piece of the stretch before it and begins the next piece.
    outer = np.maximum.accumulate(np.where(within, -1, np.arange(len(worker))))
    rows = np.flatnonzero(within)
    following = np.append(start[1:], 0)
    next_inside = np.append(within[1:], False)
    outer_end = end[outer]
    piece_end = np.where(next_inside, following, outer_end)
    kept_end = np.where(within, end, np.minimum(end, piece_end))
    parts = (
        np.concatenate([worker, worker[rows]]),
        np.concatenate([layer, layer[outer[rows]]]),
        np.concatenate([start, end[rows]]),
        np.concatenate([kept_end, piece_end[rows]]),
    )
    some = parts[3] > parts[2]
    return Bars(
        parts[0][some],
        parts[1][some],
        parts[2][some],
        parts[3][some],
        bars.layers,
        bars.n_tasks,
        bars.span_ps,
        bars.iteration_ps,
    )


def rows_of(run: Run, most: int) -> tuple[NDArray[np.int64], int]:
    """Return the row of each worker, and how many workers share one.

    Parameters
    ----------
    run : Run
        The run.
    most : int
        Rows, about; workers of different domains never share one.

    Returns
    -------
    tuple of ndarray of int64, shape (n_workers,), and int
    """
    domain = run.machine.core_domain[run.machine.thread_core[run.worker_thread]]
    share = -(-len(domain) // most)
    starts = np.append(True, domain[1:] != domain[:-1])
    begin = np.maximum.accumulate(np.where(starts, np.arange(len(domain)), 0))
    fresh = (np.arange(len(domain)) - begin) % share == 0
    return np.cumsum(fresh) - 1, share


def occupancy(
    bars: Bars, row_of: NDArray[np.int64], edges_ps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the busy time in each row, time bin and layer.

    Parameters
    ----------
    bars : Bars
        What is added up.
    row_of : ndarray of int64, shape (n_workers,)
        Row of each worker.
    edges_ps : ndarray of float64, shape (bins + 1,)
        Edges of equal bins from the begin to the end of `bars.span_ps`, in picoseconds.

    Returns
    -------
    ndarray of float64, shape (n_rows, bins, n_layers)
        Picoseconds; their sum is that of all bars.
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
