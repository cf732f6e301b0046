"""Paje, for ViTE: states of workers, links between them, bandwidth as variables.

A container for the machine holds one per worker and one per memory node. Times are seconds with
twelve decimals, which is what a trace knows.
"""

from __future__ import annotations

import colorsys
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import PS_PER_S
from simsched.names.parameters import Count, Whole
from simsched.trace.embedding import comments
from simsched.trace.exporters._arrows import Arrows, drawn_arrows
from simsched.trace.exporters._bandwidth import node_bandwidth
from simsched.trace.exporters._classes import Classes, TaskNames
from simsched.trace.exporters._copies import engine_copies
from simsched.trace.exporters._moments import MOMENTS, moments_of
from simsched.trace.exporters._source import events_of
from simsched.trace.exporters._text import Lines, formatted, merged, write_pieces
from simsched.trace.exporters._timeline import Activity, Intervals, Timeline, timeline
from simsched.trace.exporters.registry import exporter
from simsched.trace.recording import Recording, recording_metadata
from simsched.trace.schema import EventKind

_IDLE, _RUNTIME = -1, -2  # values of states: class numbers, idle, or -2 less the activity
#: What fields hold that are no strings.
FIELD_TYPES = {"Time": "date", "Color": "color"}
DEFINITIONS = (
    "PajeDefineContainerType Alias Type Name",
    "PajeDefineStateType Alias Type Name",
    "PajeDefineVariableType Alias Type Name Color",
    "PajeDefineLinkType Alias Type StartContainerType EndContainerType Name",
    "PajeDefineEntityValue Alias Type Name Color",
    "PajeCreateContainer Time Alias Type Container Name",
    "PajeDestroyContainer Time Type Name",
    "PajeSetState Time Type Container Value",
    "PajeSetState Time Type Container Value Task Iteration",
    "PajeStartLink Time Type Container Value StartContainer Key",
    "PajeEndLink Time Type Container Value EndContainer Key",
    "PajeSetVariable Time Type Container Value:double",
    "PajeDefineEventType Alias Type Name Color",
    "PajeNewEvent Time Type Container Value Details",
    "PajeSetState Time Type Container Value Task Iteration TaskName",
)
(
    CONTAINER_TYPE,
    STATE_TYPE,
    VARIABLE_TYPE,
    LINK_TYPE,
    ENTITY_VALUE,
    CREATE,
    DESTROY,
    SET_STATE,
    SET_TASK,
    START_LINK,
    END_LINK,
    SET_VARIABLE,
    EVENT_TYPE,
    NEW_EVENT,
    SET_NAMED,  # defined only where tasks have names
) = range(len(DEFINITIONS))
RUNTIME: dict[Activity, str] = {
    each: each.name.lower() for each in Activity if each != Activity.TASK
}
RUNTIME[Activity.MIGRATE] = "copy"
Int64Array = NDArray[np.int64]


@exporter("paje", suffixes=(".paje", ".paje.trace", ".trace"))
def export_paje(
    recording: Recording, path: Path, *, dependences: Whole = 100_000, bins: Count = 500
) -> list[str]:
    """Paje: states of workers, steals, dependences and bandwidth in ViTE.

    Parameters
    ----------
    recording : Recording
        The run.
    path : Path
        Where to; compressed when the name ends in ``.gz``, which ViTE does not read.
    dependences : int
        Largest number of links between tasks; the first ones by iteration and start of the
        successor are drawn.
    bins : int
        Number of values of each bandwidth.
    """
    found = timeline(recording.trace)
    stolen, wanted, remarks = drawn_arrows(recording, found, dependences)
    write_pieces(path, _document(recording, found, (stolen, wanted), bins, remarks))
    return remarks


def _document(
    recording: Recording,
    found: Timeline,
    links: tuple[Arrows, Arrows],
    bins: int,
    remarks: list[str],
) -> Iterator[str]:
    classes = Classes(recording)
    edges, series = node_bandwidth(recording, bins)
    called = TaskNames(recording.workload)
    yield _header(classes.names, called.known)  # first: readers know the format by it
    for remark in remarks:
        yield f"# {remark}\n"
    yield from comments({**recording_metadata(recording), "timeline": _beside(recording, found)})
    copies = engine_copies(recording)
    nodes = list(dict.fromkeys([*series, *(copies.names[n] for n in np.unique(copies.node))]))
    yield _containers(recording, nodes)
    sources = [_states(found.intervals, classes, called)]
    number = 0
    for kind, arrows in zip("SD", links, strict=True):
        sources += _links(arrows, kind, number)
        number += len(arrows)
    sources.append(_moments(recording))
    sources += [
        _variable("B", edges, np.append(rates, 0), nodes.index(name))
        for name, rates in series.items()
    ]
    sources += [
        _variable("K", *copies.under_way(node), nodes.index(copies.names[node]))
        for node in np.unique(copies.node).tolist()
    ]
    for lines in merged(sources):
        yield "".join(lines)
    end = _seconds(max([found.end_ps, *(int(s.time.max()) for s in sources if len(s.time))]))
    for worker in range(recording.n_workers):
        yield f"{DESTROY} {end} W W{worker}\n"
    for node in range(len(nodes)):
        yield f"{DESTROY} {end} N N{node}\n"
    yield f"{DESTROY} {end} M M\n"


def _beside(recording: Recording, found: Timeline) -> str:
    """Return what states do not say: iterations, stretches that were lost, and instants of tasks.

    The latter are stretches without length, and starts and ends of those that a cost of the runtime
    covers.
    """
    rows = found.intervals.chosen(found.intervals.activity == Activity.TASK)
    lost = rows.chosen(rows.lost)
    long = rows.end_ps > rows.start_ps
    inside = found.intervals.chosen(
        found.intervals.inside & (found.intervals.end_ps > found.intervals.start_ps)
    )
    covered_start = long & _same_moment(rows, rows.start_ps, inside, inside.start_ps)
    covered_end = long & _same_moment(rows, rows.end_ps, inside, inside.end_ps)
    instant = Intervals.joined([rows.chosen(~long | covered_start), rows.chosen(covered_end)])
    moments = np.concatenate(
        [rows.start_ps[~long | covered_start], rows.end_ps[covered_end]]
    ).tolist()
    events = events_of(recording).events
    kinds = (EventKind.ITERATION_START, EventKind.ITERATION_END)
    marks = np.flatnonzero(np.isin(events["kind"], kinds))
    columns = ("time_ps", "kind", "iteration", "arg0")
    about = {
        "iterations": list(zip(*(events[name][marks].tolist() for name in columns), strict=True)),
        "instants": list(
            zip(
                moments,
                instant.worker.tolist(),
                instant.task.tolist(),
                instant.iteration.tolist(),
                instant.lost.astype(int).tolist(),
                strict=True,
            )
        ),
        "lost": list(zip(lost.worker.tolist(), lost.start_ps.tolist(), strict=True)),
    }
    return json.dumps(about)


def _same_moment(
    rows: Intervals, moment: Int64Array, others: Intervals, other_moment: Int64Array
) -> NDArray[np.bool_]:
    """Return for which rows there is another one of that moment on the same worker."""
    known = set(zip(others.worker.tolist(), other_moment.tolist(), strict=True))
    pairs = zip(rows.worker.tolist(), moment.tolist(), strict=True)
    return np.array([pair in known for pair in pairs], bool)


def _seconds(time_ps: int) -> str:
    """Return a time in seconds, exactly."""
    return f"{time_ps // PS_PER_S}.{time_ps % PS_PER_S:012d}"


def _quoted(text: str) -> str:
    """Return a string as the format has it; it has no way to write quotes and line ends."""
    return '"' + " ".join(text.replace('"', "'").split()) + '"'


def _header(class_names: tuple[str, ...], has_names: bool) -> str:
    """Return the definitions of events, types and values."""
    lines = []
    for number, definition in enumerate(DEFINITIONS):
        if number == SET_NAMED and not has_names:
            continue
        name, *fields = definition.split()
        lines.append(f"%EventDef {name} {number}")
        for field, _, holds in (field.partition(":") for field in fields):
            lines.append(f"% {field} {holds or FIELD_TYPES.get(field, 'string')}")
        lines.append("%EndEventDef")
    lines += [
        f'{CONTAINER_TYPE} M 0 "machine"',
        f'{CONTAINER_TYPE} W M "worker"',
        f'{CONTAINER_TYPE} N M "memory node"',
        f'{STATE_TYPE} S W "activity"',
        f'{VARIABLE_TYPE} B N "bandwidth in B/s" "0.2 0.4 0.8"',
        f'{VARIABLE_TYPE} K N "copies under way to it" "0.2 0.6 0.3"',
        f'{EVENT_TYPE} EW W "moment" "0.8 0.1 0.1"',
        f'{EVENT_TYPE} EM M "moment of the machine" "0.8 0.1 0.1"',
        f'{LINK_TYPE} LS M W W "steal"',
        f'{LINK_TYPE} LD M W W "dependence"',
        f'{ENTITY_VALUE} I S "idle" "0.9 0.9 0.9"',
        f'{ENTITY_VALUE} VS LS "steal" "0.8 0.1 0.1"',
        f'{ENTITY_VALUE} VD LD "dependence" "0.3 0.3 0.3"',
    ]
    lines += [f'{ENTITY_VALUE} R{a} S "{name}" "0.4 0.4 0.4"' for a, name in RUNTIME.items()]
    for moment in MOMENTS:
        name = moment.name.lower().replace("_", " ")
        for where in "WM":
            lines.append(f'{ENTITY_VALUE} E{where}{moment:d} E{where} "{name}" "0.8 0.1 0.1"')
    for number, name in enumerate(class_names):
        hue = (number * 0.618) % 1.0  # neighbours far apart
        color = " ".join(f"{part:.3f}" for part in colorsys.hsv_to_rgb(hue, 0.6, 0.85))
        lines.append(f'{ENTITY_VALUE} C{number} S {_quoted(name)} "{color}"')
    return "\n".join(lines) + "\n"


def _containers(recording: Recording, nodes: list[str]) -> str:
    """Return the creation of machine, workers and nodes; all workers begin idle."""
    start = _seconds(0)
    lines = [f"{CREATE} {start} M M 0 {_quoted(recording.name)}"]
    for worker, name in enumerate(recording.worker_names):
        lines.append(f"{CREATE} {start} W{worker} W M {_quoted(name)}")
    for number, name in enumerate(nodes):
        lines.append(f"{CREATE} {start} N{number} N M {_quoted(name)}")
    lines += [f"{SET_STATE} {start} S W{w} I" for w in range(recording.n_workers)]
    return "\n".join(lines) + "\n"


def _states(intervals: Intervals, classes: Classes, called: TaskNames) -> Lines:
    """Return the changes of state; of several at one instant only the last one remains."""
    rows = intervals.chosen(intervals.end_ps > intervals.start_ps)
    n = len(rows)
    is_task = rows.activity == Activity.TASK
    value = _RUNTIME - rows.activity.astype(np.int32)
    value[is_task] = classes.of(rows.task[is_task], rows.iteration[is_task])
    # Where an interval ends, what it lies inside goes on; mostly that is nothing.
    order = np.lexsort((rows.inside, rows.event, rows.worker))
    place = np.arange(n)
    outer = np.maximum.accumulate(np.where(rows.inside[order], 0, place))
    around = np.empty(n, np.int64)
    around[order] = order[outer]
    goes_on = rows.inside & (rows.end_ps < rows.end_ps[around])
    owner = np.concatenate([np.where(goes_on, around, -1), place])
    time = np.concatenate([rows.end_ps, rows.start_ps])
    worker = np.tile(rows.worker, 2)
    order = np.lexsort((np.tile(place, 2), np.repeat([0, 1], n), time, worker))
    same = np.append(np.diff(worker[order]) == 0, False) & np.append(
        np.diff(time[order]) == 0, False
    )
    order = order[~same[: len(order)]]
    order = order[np.argsort(time[order], kind="stable")]
    time, worker, owner = time[order], worker[order], owner[order]

    set_task = SET_NAMED if called.known else SET_TASK

    def write(chosen: Int64Array) -> list[str]:
        whose = owner[chosen]
        names = [""] * len(whose)
        if called.known:
            texts = called.of(rows.task[whose], rows.iteration[whose])
            names = [f" {_quoted(text)}" for text in texts.tolist()]
        columns = (
            time[chosen].tolist(),
            worker[chosen].tolist(),
            np.where(whose < 0, _IDLE, value[whose]).tolist(),
            rows.task[whose].tolist(),
            rows.iteration[whose].tolist(),
            names,
        )
        return [
            f"{SET_STATE} {_seconds(t)} S W{w} I\n"
            if v == _IDLE
            else f"{set_task} {_seconds(t)} S W{w} "
            f"{f'C{v}' if v >= 0 else f'R{_RUNTIME - v}'} {task} {iteration}{name}\n"
            for t, w, v, task, iteration, name in zip(*columns, strict=True)
        ]

    return Lines(time, write)


def _links(arrows: Arrows, kind: str, first: int) -> list[Lines]:
    """Return the beginnings and the ends of links; keys count from `first`."""

    def lines(event: int, worker: NDArray[np.int32], time: Int64Array) -> Lines:
        return formatted(
            time,
            (time, worker, first + np.arange(len(time))),
            lambda t, w, key: f"{event} {_seconds(t)} L{kind} M V{kind} W{w} {key}\n",
        )

    return [
        lines(START_LINK, arrows.source_worker, arrows.source_ps),
        lines(END_LINK, arrows.target_worker, arrows.target_ps),
    ]


def _moments(recording: Recording) -> Lines:
    """Return decisions of the policy and changes of conditions as events."""
    found = moments_of(recording)

    def line(row: int, time: int, worker: int, kind: int) -> str:
        where, container = ("M", "M") if worker < 0 else ("W", f"W{worker}")
        about = " ".join(f"{key}={value}" for key, value in found.about(row).items())
        place = f"{_seconds(time)} E{where} {container} E{where}{kind}"
        return f"{NEW_EVENT} {place} {_quoted(about)}\n"

    columns = (np.arange(len(found)), found.time_ps, found.worker, found.kind)
    return formatted(found.time_ps, columns, line)


def _variable(kind: str, time: Int64Array, values: Int64Array, node: int) -> Lines:
    """Return a variable of a node, which changes at some times."""
    place = f"{kind} N{node}"
    return formatted(
        time, (time, values), lambda t, value: f"{SET_VARIABLE} {_seconds(t)} {place} {value}\n"
    )
