"""Steals and dependences as arrows from one worker to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.trace.exporters._timeline import Activity, Columns, Intervals, Timeline
from simsched.trace.recording import Recording
from simsched.workload.graph import TaskGraph

Int64Array = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrows(Columns):
    """Arrows between moments on workers; none goes back in time.

    For a steal both tasks are the stolen one.
    """

    source_worker: NDArray[np.int32]
    source_ps: Int64Array
    source_task: NDArray[np.int32]
    target_worker: NDArray[np.int32]
    target_ps: Int64Array
    target_task: NDArray[np.int32]
    iteration: NDArray[np.int32]


def steal_arrows(intervals: Intervals, n_workers: int) -> Arrows:
    """Return arrows from victims to thieves, for steals from pools that belong to a worker."""
    from_worker = (intervals.arg >= 0) & (intervals.arg < n_workers)
    rows = intervals.chosen((intervals.activity == Activity.STEAL) & from_worker)
    return Arrows(
        rows.arg.astype(np.int32),
        rows.start_ps,
        rows.task,
        rows.worker,
        rows.start_ps,
        rows.task,
        rows.iteration,
    )


def dependence_arrows(recording: Recording, intervals: Intervals, limit: int) -> tuple[Arrows, int]:
    """Return arrows from the ends of tasks to the starts of their successors, and how many exist.

    The first ones by iteration and start of the successor are drawn, up to the limit; a recording
    without a graph has none.
    """
    stretches = intervals.chosen(intervals.activity == Activity.TASK)
    parts: list[Arrows] = []
    total = 0
    for number in np.unique(stretches.iteration).tolist():
        graph = _graph(recording, number)
        if graph is None or graph.n_edges == 0:
            continue
        found = _of_iteration(graph, stretches.chosen(stretches.iteration == number), number)
        room = max(0, limit - total)
        total += len(found)
        if room:
            order = np.argsort(found.target_ps, kind="stable")[:room]
            parts.append(found.chosen(order))
    if not parts:
        return steal_arrows(intervals, 0), total
    return Arrows.joined(parts), total


def drawn_arrows(
    recording: Recording, found: Timeline, dependences: int
) -> tuple[Arrows, Arrows, list[str]]:
    """Return the steals and dependences that a picture of a run shows, and what it leaves out.

    At most `dependences` dependences are drawn.
    """
    wanted, total = dependence_arrows(recording, found.intervals, dependences)
    stolen = steal_arrows(found.intervals, recording.n_workers)
    n_steals = int(np.count_nonzero(found.intervals.activity == Activity.STEAL))
    remarks = [f"{count} {what}" for what, count in found.set_aside.items()]
    if len(wanted) < total:
        remarks.append(f"the first {len(wanted)} of {total} dependences are drawn")
    if n_steals > len(stolen):
        remarks.append(
            f"{n_steals - len(stolen)} steals are not drawn: they are from pools that belong to no "
            "worker"
        )
    return stolen, wanted, remarks


def _graph(recording: Recording, iteration: int) -> TaskGraph | None:
    """Return the graph of an iteration."""
    if recording.workload is None:
        return None
    init = recording.workload.init
    return init if iteration == 0 and init is not None else recording.workload.graph


def _of_iteration(graph: TaskGraph, stretches: Intervals, number: int) -> Arrows:
    """Return the dependences of one iteration whose two tasks were both executed."""
    ended = np.full(graph.n_tasks, -1, np.int64)
    began = ended.copy()
    ended[stretches.task[stretches.last]] = np.flatnonzero(stretches.last)
    first = stretches.first & ~stretches.lost
    began[stretches.task[first]] = np.flatnonzero(first)
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    u, v = ended[source], began[graph.succ]
    known = (u >= 0) & (v >= 0)
    known[known] = stretches.end_ps[u[known]] <= stretches.start_ps[v[known]]
    u, v = u[known], v[known]
    return Arrows(
        stretches.worker[u],
        stretches.end_ps[u],
        stretches.task[u],
        stretches.worker[v],
        stretches.start_ps[v],
        stretches.task[v],
        np.full(len(u), number, np.int32),
    )
