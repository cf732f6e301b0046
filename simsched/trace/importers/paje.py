"""Paje traces: states of containers become tasks of workers.

**Our own files** (:mod:`simsched.trace.exporters.paje`) give back the recording: name, graph,
classes, workers, iterations, and starts and ends of tasks to the picosecond. Costs of the runtime
inside a task suspend it; steals, accesses and bandwidth are not read.

**Files of other programs.** Containers that have states are workers. A state lasts until the next
one of its container and type, or until it is popped; one that is pushed on another suspends it. A
state whose container is never destroyed and that nothing follows has no end and is set aside.

* *Which states are tasks.* Where definitions of states have a field ``JobId``, as StarPU's, those
  with a value there. Else all but those that the option `idle` names, of the one type of states
  that has any; of several types the option `state` names one.
* *Names.* Events may call a type of states and a container by alias or by name.
* *Times.* Paje does not say in which unit they are: StarPU counts milliseconds, others are told
  with the option `unit`.
* *Links* between containers with tasks are edges of the graph, as
  :mod:`~simsched.trace.importers._slice_arrows` says: from the slice that ends where the link
  starts, to the one that begins where it ends, or the ones around these moments.
* *Tracks.* Options name containers that are ordered or a device's, in the words of
  :mod:`~simsched.trace.importers._tracks`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from simsched.files.errors import TraceError, unknown_name
from simsched.files.units import PS_PER_S
from simsched.trace.embedding import MARK, values_of
from simsched.trace.importers._own_paje import own_recording
from simsched.trace.importers._paje_events import Event, PajeFile
from simsched.trace.importers._slice_arrows import Step
from simsched.trace.importers._slices import Found, Slice, Thread
from simsched.trace.importers._tracks import name_tracks, tracked_recording
from simsched.trace.importers.registry import by_head, trace_importer
from simsched.trace.recording import Recording

PS = {"s": PS_PER_S, "ms": 10**9, "us": 10**6, "ns": 10**3}
JOB = "JobId"
NO_END = "state without an end"
Place = tuple[str, str]  # container and type of states


@dataclass
class _Called:
    """Things that events call by alias or by name."""

    names: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def add(self, alias: str, name: str) -> None:
        """Add a thing; a name that several have is that of the first."""
        self.names[alias] = name
        self.aliases.setdefault(name, alias)

    def alias(self, word: str) -> str:
        """Return the alias of what is called so; an alias that is another's name stays one."""
        return word if word in self.names else self.aliases.get(word, word)


@dataclass
class _States:
    """What a trace holds: types, values and containers, and the states that are going on."""

    file: PajeFile
    found: Found
    ps: int
    tasks: frozenset[str]
    idle: frozenset[str]
    types: _Called
    only: frozenset[str]
    names: dict[str, str] = field(default_factory=dict)
    containers: _Called = field(default_factory=_Called)
    stacks: dict[Place, list[tuple[Event, int]]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


@trace_importer("paje", recognises=by_head(lambda head: b"%EventDef" in head))
def read_paje(
    path: Path,
    *,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    state: str | None = None,
    idle: str = "idle",
    devices: str = "",
    ordered: str = "",
) -> Recording:
    """Paje traces, simsched's own, of StarPU or of another program.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    unit : {"s", "ms", "us", "ns"}, optional
        What times of other programs count; StarPU's are ms.
    state : str, optional
        Name of the type of states that are tasks; has to be given where several have values.
    idle : str
        Names of states that are no tasks, with commas in between; in either case.
    devices : str
        Patterns of the names of containers whose tasks need a processor of kind gpu.
    ordered : str
        Patterns of the names of containers on which each task waits for the one before it.
    """
    file = PajeFile(path)
    embedded = values_of((line for line in file.lines if line.startswith(MARK)), str(path))
    if embedded:
        return own_recording(path, file, embedded)
    events = list(file.events())
    with_jobs = frozenset(
        number for number, entry in file.definitions.items() if JOB in entry.fields
    )
    if unit is None and not with_jobs:
        raise TraceError(
            f"{path}: option unit: missing, accepted: {', '.join(PS)}; the format does not say "
            "what times count"
        )
    found = Found(path, "paje")
    found.aside.what, found.aside.place = "line", "{}:{}"
    types = _Called()
    for event in events:
        if event.name == "PajeDefineStateType":
            types.add(event.value("Alias", "Name"), event.value("Name", "Alias"))
    states = _States(
        file,
        found,
        PS[unit or "ms"],
        with_jobs,
        frozenset(name.strip().lower() for name in idle.split(",")),
        types,
        _only_type(path, events, types, state, bool(with_jobs)),
    )
    for event in events:
        _take(states, event)
    for stack in states.stacks.values():
        for event, _ in stack:
            if _is_task(states, event):
                found.set_aside(NO_END, event.line)
    if file.cut_off:
        found.aside.note(f"{path}: the file is cut off; the lines before its end are read")
    if not found.slices:
        raise TraceError(f"{path}: found no states that are tasks, accepted at least one")
    workers = {piece.thread for piece in found.slices}
    links = [step for step in states.steps if step.thread in workers]
    name_tracks(found, devices, ordered)
    recording = tracked_recording(found, links)
    origin = str(Decimal(found.origin) / PS_PER_S)
    return replace(recording, details={**recording.details, "origin_s": origin})


def _only_type(
    path: Path, events: list[Event], types: _Called, state: str | None, has_jobs: bool
) -> frozenset[str]:
    """Return the aliases of the types of states that are tasks; none where jobs tell them."""
    if state is None and has_jobs:
        return frozenset()
    if state is None:
        called = (e.value("Type") for e in events if e.name in ("PajeSetState", "PajePushState"))
        used = dict.fromkeys(map(types.alias, called))
        if len(used) > 1:
            names = ", ".join(dict.fromkeys(types.names.get(alias, alias) for alias in used))
            raise TraceError(f"{path}: option state: missing, accepted a type of states: {names}")
        return frozenset(used)
    chosen = frozenset(alias for alias, name in types.names.items() if state in (alias, name))
    if not chosen:
        found = unknown_name("type of states", state, types.names.values())
        raise TraceError(f"{path}: option state: {found}")
    return chosen


def _take(states: _States, event: Event) -> None:
    """Take one event."""
    name = event.name
    if name in ("PajeDefineEntityValue", "PajeDefineStateType", "PajeDefineContainerType"):
        states.names[event.value("Alias", "Name")] = event.value("Name", "Alias")
    elif name == "PajeCreateContainer":
        alias = event.values.get("Alias") or event.value("Name")
        states.containers.add(alias, event.value("Name", "Alias"))
        thread = (0, alias)
        states.found.threads[thread] = states.containers.names[alias]
        states.found.order[thread] = len(states.found.order)
    elif name in ("PajeSetState", "PajePushState", "PajePopState", "PajeResetState"):
        place = (
            states.containers.alias(event.value("Container")),
            states.types.alias(event.value("Type")),
        )
        _change(states, event, place)
    elif name == "PajeDestroyContainer":
        gone = states.containers.alias(event.value("Name", "Container"))
        for place, stack in states.stacks.items():
            if place[0] == gone:
                _end(states, stack, event.time_ps(states.ps), all_of_them=True)
    elif name in ("PajeStartLink", "PajeEndLink"):
        _link(states, event)
    elif not name.startswith("PajeDefine"):
        states.found.others[name] += 1


def _change(states: _States, event: Event, place: Place) -> None:
    """Begin and end states of a container."""
    if states.only and place[1] not in states.only:
        return
    time, stack = event.time_ps(states.ps), states.stacks.setdefault(place, [])
    if event.name == "PajePopState":
        _end(states, stack, time, all_of_them=False)
        return
    if event.name != "PajePushState":
        _end(states, stack, time, all_of_them=True)
    if event.name != "PajeResetState":
        stack.append((event, time))


def _end(states: _States, stack: list[tuple[Event, int]], time: int, *, all_of_them: bool) -> None:
    """End the last state, or all that are going on."""
    while stack:
        began, start = stack.pop()
        if time < start:
            raise TraceError(f"{began.where}: found a state that ends before it starts")
        if _is_task(states, began):
            thread: Thread = (0, states.containers.alias(began.value("Container")))
            name = _name(states, began)
            states.found.slices.append(Slice(began.line, thread, name, start, time, {}))
        if not all_of_them:
            return


def _is_task(states: _States, event: Event) -> bool:
    """Say whether a state is a task."""
    if states.tasks and not states.only:
        return bool(event.values.get(JOB))
    return _name(states, event).lower() not in states.idle


def _name(states: _States, event: Event) -> str:
    """Return what a state is called."""
    value = event.value("Value")
    return states.names.get(value, value) or "(no name)"


def _link(states: _States, event: Event) -> None:
    """Take the start or the end of a link."""
    starts = event.name == "PajeStartLink"
    container = states.containers.alias(event.value("StartContainer" if starts else "EndContainer"))
    key: Any = (event.value("Type"), event.value("Key"))
    time = event.time_ps(states.ps)
    phase = "s" if starts else "f"
    states.steps.append(Step(event.line, phase, key, (0, container), time, at_end=starts))
