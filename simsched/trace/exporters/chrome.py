"""Chrome Trace Event JSON, for Perfetto (ui.perfetto.dev) and chrome://tracing.

Workers are threads, one process per NUMA domain; a process of its own has the iterations and the
bandwidth of the memory nodes. Times are microseconds with three decimals: all moments are rounded
to nanoseconds first and lengths are differences of rounded moments, so that intervals that touch
still touch and nested ones stay nested.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.names.parameters import Count, Whole
from simsched.trace.embedding import texts_of
from simsched.trace.exporters._arrows import Arrows, drawn_arrows
from simsched.trace.exporters._bandwidth import node_bandwidth
from simsched.trace.exporters._classes import Classes, TaskNames
from simsched.trace.exporters._copies import engine_copies
from simsched.trace.exporters._moments import moments_of
from simsched.trace.exporters._source import detail, events_of
from simsched.trace.exporters._text import Lines, formatted, merged, write_pieces
from simsched.trace.exporters._timeline import Activity, Intervals, Timeline, timeline
from simsched.trace.exporters.registry import exporter
from simsched.trace.recording import GRAPH, Recording, recording_metadata
from simsched.trace.schema import EventKind

FORMAT = 1
RUN_PID = 1  #: process of what belongs to no worker; domains follow
PS_PER_NS = 1000
PARTS = ("middle", "last", "first", "whole", "lost")
LOST = 4
Int64Array = NDArray[np.int64]


@exporter("chrome", suffixes=(".json", ".json.gz"))
def export_chrome(
    recording: Recording, path: Path, *, dependences: Whole = 100_000, bins: Count = 500
) -> list[str]:
    """Chrome Trace Event JSON: workers, steals, dependences and bandwidth in Perfetto.

    Parameters
    ----------
    recording : Recording
        The run.
    path : Path
        Where to; compressed when the name ends in ``.gz``.
    dependences : int
        Largest number of arrows between tasks; the first ones by iteration and start of the
        successor are drawn.
    bins : int
        Number of values of each bandwidth.
    """
    found = timeline(recording.trace)
    stolen, wanted, remarks = drawn_arrows(recording, found, dependences)
    drawn = (found.intervals.end_ps > found.intervals.start_ps) | (
        found.intervals.activity == Activity.TASK
    )
    slices = _Slices(found.intervals.chosen(drawn))
    flows = [
        _bound(stolen, slices, same_source=False),
        _bound(wanted, slices, same_source=True),
    ]
    for what, count in (
        ("steals are not drawn: the victim did nothing before", len(stolen) - flows[0].count),
        ("dependences are not drawn: a task takes no time", len(wanted) - flows[1].count),
    ):
        if count:
            remarks.append(f"{count} {what}")
    write_pieces(path, _document(recording, found, slices, flows, bins, remarks))
    return remarks


def _round_ns(time_ps: Int64Array) -> Int64Array:
    """Return picoseconds as nanoseconds, halves upwards."""
    return (time_ps + PS_PER_NS // 2) // PS_PER_NS


def _microseconds(time_ns: Int64Array) -> NDArray[np.float64]:
    """Return doubles that give back the nanoseconds, whether readers round or cut them off."""
    values: NDArray[np.float64] = time_ns / 1000.0
    short = (values * 1000.0).astype(np.int64) < time_ns
    values[short] = np.nextafter(values[short], np.inf)
    return values


class _Slices:
    """Intervals in nanoseconds, and which of them holds a moment of a worker."""

    def __init__(self, intervals: Intervals) -> None:
        self.intervals = intervals
        self.start = _round_ns(intervals.start_ps)
        self.end = _round_ns(intervals.end_ps)
        self._first: dict[int, Int64Array] = {}
        rows = np.flatnonzero((self.end > self.start) & ~intervals.inside)
        worker = intervals.worker[rows]
        order = np.lexsort((rows, worker))
        rows, worker = rows[order], worker[order]
        bounds = np.flatnonzero(np.diff(worker, prepend=-1))
        for low, high in pairwise(np.append(bounds, len(rows)).tolist()):
            self._first[int(worker[low])] = rows[low:high]

    def at(self, worker: NDArray[np.int32], time_ns: Int64Array) -> Int64Array:
        """Return the last interval that has begun on each worker, -1 where there is none."""
        found = np.full(len(worker), -1, np.int64)
        for number, rows in self._first.items():
            asked = np.flatnonzero(worker == number)
            place = np.searchsorted(self.start[rows], time_ns[asked], side="right") - 1
            found[asked] = np.where(place >= 0, rows[np.maximum(place, 0)], -1)
        return found


@dataclass(frozen=True, eq=False)
class _Flows:
    """Arrows whose ends lie inside intervals that are drawn."""

    arrows: Arrows
    source_ns: Int64Array
    target_ns: Int64Array

    @property
    def count(self) -> int:
        return len(self.arrows)


def _bound(arrows: Arrows, slices: _Slices, *, same_source: bool) -> _Flows:
    """Return the arrows that can be bound to intervals.

    A viewer binds each end to the interval around it and drops an end without one. A moment after
    the end of the interval before is moved to the last nanosecond of that interval.
    """
    source = _round_ns(arrows.source_ps) - same_source
    target = _round_ns(arrows.target_ps)
    if not len(slices.intervals):
        nothing = arrows.chosen(np.zeros(len(arrows), bool))
        return _Flows(nothing, source[:0], target[:0])
    tasks, iterations = slices.intervals.task, slices.intervals.iteration
    begin, end = slices.at(arrows.source_worker, source), slices.at(arrows.target_worker, target)
    kept = (begin >= 0) & (end >= 0) & (slices.end[end] > target)
    kept &= (tasks[end] == arrows.target_task) & (iterations[end] == arrows.iteration)
    if same_source:
        kept &= (tasks[begin] == arrows.source_task) & (iterations[begin] == arrows.iteration)
    source = np.minimum(source, slices.end[begin] - 1)
    return _Flows(arrows.chosen(kept), source[kept], target[kept])


def _document(
    recording: Recording,
    found: Timeline,
    slices: _Slices,
    flows: list[_Flows],
    bins: int,
    remarks: list[str],
) -> Iterator[str]:
    classes, metadata = Classes(recording), recording_metadata(recording)
    about = {
        "format": FORMAT,
        "name": recording.name,
        "worker_names": list(recording.worker_names),
        "worker_core": recording.worker_core.tolist(),
        "class_names": list(classes.names),
        "tasks": recording.n_tasks,
        "initialisation_tasks": classes.n_init_tasks,
        "end_ps": found.end_ps,
        "remarks": remarks,
        "details": recording.details,
        "embedded": texts_of(metadata) if GRAPH in metadata else {},
    }
    other = json.dumps({"simsched": about}, default=str)
    # A unit of "ns" would make some readers take the times themselves for nanoseconds.
    yield f'{{"otherData":{other},\n"displayTimeUnit":"ms",\n"traceEvents":[\n'
    pids = _pids(recording)
    yield ",\n".join(json.dumps(event) for event in _metadata(recording, pids))
    sources = [
        _iterations(recording, found.end_ps),
        _slice_source(slices, classes, TaskNames(recording.workload), pids),
        *(
            _flow_source(flow, name, number, pids, end)
            for name, number, flow in (
                ("steal", 1, flows[0]),
                ("dependence", 1 + flows[0].count, flows[1]),
            )
            for end in (False, True)
        ),
        *_copies(recording),
        _moments(recording, pids),
        _counters(recording, bins),
    ]
    for lines in merged(sources):
        yield ",\n" + ",\n".join(lines)
    yield "\n]}\n"


def _pids(recording: Recording) -> NDArray[np.int64]:
    domain = detail(recording, "worker_domain", int)
    if domain is None or len(domain) != recording.n_workers:
        domain = [0] * recording.n_workers
    pids: NDArray[np.int64] = np.asarray(domain, np.int64) + RUN_PID + 1
    return pids


def _metadata(recording: Recording, pids: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    """Yield names and order of processes and threads; thread w + 1 is worker w."""
    known = "worker_domain" in recording.details
    processes = [(RUN_PID, recording.name)]
    processes += [
        (pid, f"domain {pid - RUN_PID - 1}" if known else "workers")
        for pid in np.unique(pids).tolist()
    ]
    threads = [(RUN_PID, recording.n_workers + 1, "iterations")]
    named = zip(pids.tolist(), recording.worker_names, strict=True)
    threads += [(pid, worker + 1, name) for worker, (pid, name) in enumerate(named)]
    for order, (pid, name) in enumerate(processes):
        top = {"ph": "M", "pid": pid, "tid": 0}
        yield {**top, "name": "process_name", "args": {"name": name}}
        yield {**top, "name": "process_sort_index", "args": {"sort_index": order}}
    for pid, tid, name in threads:
        top = {"ph": "M", "pid": pid, "tid": tid}
        yield {**top, "name": "thread_name", "args": {"name": name}}
        yield {**top, "name": "thread_sort_index", "args": {"sort_index": tid}}


def _iterations(recording: Recording, end_ps: int) -> Lines:
    events = events_of(recording).events
    starts = np.flatnonzero(events["kind"] == EventKind.ITERATION_START)
    ends = np.flatnonzero(events["kind"] == EventKind.ITERATION_END)
    last = np.append(events["time_ps"][ends], end_ps)[np.searchsorted(ends, starts)]
    time, number = events["time_ps"][starts], events["iteration"][starts]
    start, end = _round_ns(time.astype(np.int64)), _round_ns(last.astype(np.int64))
    tid = recording.n_workers + 1
    top = f'{{"ph":"X","cat":"iteration","pid":{RUN_PID},"tid":{tid},"name":"iteration '
    return formatted(
        start,
        (number, _microseconds(start), _microseconds(end - start)),
        lambda n, ts, dur: f'{top}{n}","ts":{ts!r},"dur":{dur!r},"args":{{"iteration":{n}}}}}',
    )


def _slice_source(
    slices: _Slices, classes: Classes, called: TaskNames, pids: NDArray[np.int64]
) -> Lines:
    data = slices.intervals
    titles = [json.dumps(name) for name in classes.names]

    def lines(rows: Int64Array) -> list[str]:
        chosen = data.chosen(rows)
        is_task = chosen.activity == Activity.TASK
        numbers = np.where(is_task, 0, -1).astype(np.int32)
        numbers[is_task] = classes.of(chosen.task[is_task], chosen.iteration[is_task])
        start = slices.start[rows]
        own = [""] * len(rows)
        if called.known:
            names = called.of(chosen.task, chosen.iteration).tolist()
            own = [f'"task_name":{json.dumps(name)},' if name else "" for name in names]
        columns = (
            own,
            chosen.activity.tolist(),
            numbers.tolist(),
            pids[chosen.worker].tolist(),
            (chosen.worker + 1).tolist(),
            _microseconds(start).tolist(),
            _microseconds(slices.end[rows] - start).tolist(),
            chosen.task.tolist(),
            chosen.iteration.tolist(),
            np.where(chosen.lost, LOST, 2 * chosen.first + chosen.last).tolist(),
            chosen.arg.tolist(),
            chosen.extra.tolist(),
        )
        texts = []
        for named, kind, number, pid, tid, ts, dur, task, iteration, ends, arg, extra in zip(
            *columns, strict=True
        ):
            place = f'"pid":{pid},"tid":{tid},"ts":{ts!r},"dur":{dur!r},"args":{{'
            if kind == Activity.TASK:
                name = titles[number]
                texts.append(
                    f'{{"ph":"X","cat":"task","name":{name},{place}"task":{task},{named}'
                    f'"class":{name},"iteration":{iteration},"bytes":{extra},"part":"{PARTS[ends]}"}}}}'
                )
                continue
            top, details = _DESCRIPTIONS[kind]
            about = "" if kind == Activity.MIGRATE else f'"task":{task},'
            more = details.format(arg=arg, extra=extra)
            texts.append(f'{{"ph":"X",{top},{place}{about}"iteration":{iteration}{more}}}}}')
        return texts

    return Lines(slices.start, lines)


_DESCRIPTIONS = {
    Activity.SPAWN: ('"cat":"runtime","name":"spawn"', ',"child":{arg}'),
    Activity.POP: ('"cat":"runtime","name":"pop"', ',"group":{arg}'),
    Activity.STEAL: ('"cat":"runtime","name":"steal"', ',"victim":{arg},"distance":{extra}'),
    Activity.RELEASE: ('"cat":"runtime","name":"release"', ""),
    Activity.SWITCH: ('"cat":"runtime","name":"switch"', ""),
    Activity.TAKE: ('"cat":"runtime","name":"take"', ""),
    Activity.DUPLICATE: ('"cat":"runtime","name":"duplicate"', ',"executed_by":{arg}'),
    Activity.MIGRATE: ('"cat":"migration","name":"copy"', ',"block":{arg},"node":{extra}'),
}


def _flow_source(
    flows: _Flows, name: str, number: int, pids: NDArray[np.int64], end: bool
) -> Lines:
    """Return the beginnings or the ends of arrows; `number` is the identity of the first."""
    worker = flows.arrows.target_worker if end else flows.arrows.source_worker
    time = flows.target_ns if end else flows.source_ns
    phase = '"ph":"f","bp":"e"' if end else '"ph":"s"'
    top = f'{{{phase},"cat":"{name}","name":"{name}"'
    return formatted(
        time,
        (number + np.arange(flows.count), pids[worker], worker + 1, _microseconds(time)),
        lambda identity, pid, tid, ts: (
            f'{top},"id":{identity},"pid":{pid},"tid":{tid},"ts":{ts!r}}}'
        ),
    )


def _copies(recording: Recording) -> list[Lines]:
    """Return the beginnings and the ends of copies that engines make; they may overlap."""
    found = engine_copies(recording)
    names = [json.dumps(f"copy to {name}") for name in found.names]
    place = f'"pid":{RUN_PID},"tid":{recording.n_workers + 1}'

    def lines(phase: str, time: Int64Array) -> Lines:
        return formatted(
            time,
            (np.arange(len(time)), found.node, found.block, _microseconds(time)),
            lambda row, node, block, ts: (
                f'{{"ph":"{phase}","cat":"copy","id":"copy {row}","name":{names[node]},{place},'
                f'"ts":{ts!r},"args":{{"block":{block}}}}}'
            ),
        )

    return [lines("b", _round_ns(found.start_ps)), lines("e", _round_ns(found.end_ps))]


def _moments(recording: Recording, pids: NDArray[np.int64]) -> Lines:
    """Return decisions of the policy and changes of conditions as instants."""
    found = moments_of(recording)
    time = _round_ns(found.time_ps)
    everywhere = f'"s":"p","pid":{RUN_PID},"tid":{recording.n_workers + 1}'

    def line(row: int, worker: int, ts: float) -> str:
        own = f'"s":"t","pid":{pids[worker]},"tid":{worker + 1}'
        return (
            f'{{"ph":"i","cat":"moment","name":"{found.name(row)}",'
            f'{everywhere if worker < 0 else own},"ts":{ts!r},'
            f'"args":{json.dumps(found.about(row))}}}'
        )

    return formatted(time, (np.arange(len(time)), found.worker, _microseconds(time)), line)


def _counters(recording: Recording, bins: int) -> Lines:
    """Return the bandwidth of each memory node where it changes, in bytes per second."""
    edges, series = node_bandwidth(recording, bins)
    time: list[Int64Array] = []
    value: list[Int64Array] = []
    name: list[str] = []
    for node, rates in series.items():
        steps = np.append(rates, 0)
        changes = np.flatnonzero(np.diff(steps, prepend=-1))
        time.append(_round_ns(edges[changes]))
        value.append(steps[changes])
        name += [json.dumps(f"bandwidth {node}")] * len(changes)
    times = np.concatenate(time) if time else np.zeros(0, np.int64)
    values = np.concatenate(value) if value else times

    return formatted(
        times,
        (np.arange(len(times)), values, _microseconds(times)),
        lambda row, rate, ts: (
            f'{{"ph":"C","name":{name[row]},"pid":{RUN_PID},"tid":0,"ts":{ts!r},'
            f'"args":{{"bytes_per_s":{rate}}}}}'
        ),
    )
