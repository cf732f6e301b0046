"""OTF2, the traces of Score-P, through the Python package of its makers.

Every region that a location enters and leaves is a task whose class is the region's name, as in
:mod:`~simsched.trace.importers._slices`: a region inside another one suspends it. Locations are
workers, and ticks of the trace's clock are turned into picoseconds. Score-P records every function
that is instrumented; the option `regions` picks those that are tasks. Messages, collective
operations and metrics are not read, so that recordings have no graph but that of tracks which are
ordered or a device's, as :mod:`~simsched.trace.importers._tracks` has it: locations of the types
GPU and ACCELERATOR_STREAM are both, others where options name them.

The package is the extra ``simsched[otf2]``. Its library writes what it finds wrong to the standard
error; here it is one error with the library's last word.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from simsched.files.bounded import unreadable
from simsched.files.errors import ConfigurationError, TraceError
from simsched.files.limits import TASKS, TEXT_BYTES
from simsched.files.units import PS_PER_S
from simsched.trace.importers._slices import Found, Slice, Thread
from simsched.trace.importers._tracks import name_tracks, tracked_recording
from simsched.trace.importers.registry import trace_importer
from simsched.trace.recording import Recording

ANCHOR = "traces.otf2"
DEVICES = ("GPU", "ACCELERATOR_STREAM")  #: types of locations
MAGIC = b"OTF2\x00"
NO_BEGIN = "leave of a region without its enter"
NO_END = "enter of a region without its leave"
STANDARD_ERROR = 2
LITTLE_ENDIAN = b"B"
STRINGS = 46  # offset of three strings of an anchor file; a number of properties follows


def _looks_like_otf2(path: Path) -> bool:
    """Say whether a directory has an anchor file, or a file is one."""
    if path.is_dir():
        return (path / ANCHOR).is_file()
    try:
        with path.open("rb") as file:
            return MAGIC in file.read(16)
    except OSError:
        return False


@trace_importer("otf2", recognises=_looks_like_otf2)
def read_otf2(
    path: Path, *, regions: str = "*", devices: str | None = None, ordered: str | None = None
) -> Recording:
    """Score-P's OTF2, with the extra simsched[otf2].

    Parameters
    ----------
    path : Path
        The anchor file, or the directory of its traces.otf2.
    regions : str
        Patterns of the names of regions that are tasks, with commas in between.
    devices : str, optional
        Patterns of the names of locations that are a device's; by default their types say.
    ordered : str, optional
        Patterns of the names of locations on which each region waits for the one before it; by
        default those of devices.
    """
    try:
        package = import_module("otf2").reader
    except ImportError as error:
        raise ConfigurationError(
            f"{path}: needs the package otf2, which is not installed; "
            "accepted: pip install 'simsched[otf2]'"
        ) from error
    wanted = [pattern.strip() for pattern in regions.split(",")]
    found, names = Found(path, "otf2"), Counter[str]()
    anchor = path / ANCHOR if path.is_dir() else path
    _check_anchor(path, anchor)
    with _quiet(), _as_ours(path), _opened(package.Reader, anchor) as trace:
        resolution = int(trace.definitions.clock_properties.timer_resolution)
        stacks: dict[Thread, list[tuple[int, str, int]]] = {}
        most_events = _bytes_beside(anchor)
        for number, (location, event) in enumerate(trace.events):
            if number >= most_events:  # read from beyond the end of a damaged file
                raise TraceError(f"{path}: found more events than its files have bytes")
            kind = type(event).__name__
            if kind not in ("Enter", "Leave"):
                found.others[kind] += 1
                continue
            name = str(event.region.name)
            names[name] += 1
            if any(fnmatchcase(name, pattern) for pattern in wanted):
                thread = _thread(found, location)
                _take(found, number, event, stacks.setdefault(thread, []), thread, resolution)
    for stack in stacks.values():
        for number, _, _ in stack:
            found.set_aside(NO_END, number)
    if not found.slices:
        most = ", ".join(name for name, _ in names.most_common(8)) or "none"
        raise TraceError(f"{path}: found no regions {regions!r} that are tasks, accepted: {most}")
    TASKS.check(len(found.slices), path, TraceError)
    name_tracks(found, devices, ordered)
    return tracked_recording(found, [])


def _take(
    found: Found,
    number: int,
    event: Any,
    stack: list[tuple[int, str, int]],
    thread: Thread,
    resolution: int,
) -> None:
    """Take the enter or the leave of a region that is a task."""
    time = int(event.time) * PS_PER_S // resolution
    name = str(event.region.name)
    if type(event).__name__ == "Enter":
        stack.append((number, name, time))
    elif not stack or stack[-1][1] != name:
        found.set_aside(NO_BEGIN, number)
    else:
        began, _, start = stack.pop()
        found.slices.append(Slice(began, thread, name, start, time, {}))


def _thread(found: Found, location: Any) -> Thread:
    """Return the worker of a location, and keep its names."""
    group = getattr(location.group, "name", "")
    thread = (str(group), int(location._ref))
    found.threads.setdefault(thread, str(location.name))
    found.processes.setdefault(thread[0], str(group))
    if str(location.type).rpartition(".")[2] in DEVICES:
        found.devices.add(thread)
    return thread


def _check_anchor(path: Path, anchor: Path) -> None:
    """Refuse more properties than an anchor file has room for.

    The library allocates what that number asks for and only then looks for the properties: one
    wrong byte costs 15 GB.
    """
    try:
        TEXT_BYTES.check(anchor.stat().st_size, path, TraceError)
        data = anchor.read_bytes()
    except OSError as problem:
        raise TraceError(unreadable(anchor, problem)) from problem
    after = data[STRINGS:].split(b"\0", 3)[3:]
    order: Literal["little", "big"] = "little" if data[1:2] == LITTLE_ENDIAN else "big"
    stated = int.from_bytes(after[0][:4], order) if after else 0
    if stated > len(data):
        raise TraceError(
            f"{path}: not OTF2 as its library reads it: {ANCHOR} states {stated} properties in "
            f"{len(data)} bytes"
        )


def _bytes_beside(anchor: Path) -> int:
    """Return the size of an archive's files, which have no event in less than a byte."""
    inside = anchor.with_suffix("")
    files = [*anchor.parent.iterdir(), *(inside.iterdir() if inside.is_dir() else ())]
    return sum(file.stat().st_size for file in files if file.is_file())


@contextmanager
def _opened(reader: Any, anchor: Path) -> Iterator[Any]:
    """Open an archive and close it, also when its definitions are wrong.

    The package's own `open` reads these in the constructor, which leaves 4 MiB and a file open
    when it raises.
    """
    trace = reader.__new__(reader)
    trace._handle = trace._global_evt_reader_handle = None  # what its close looks at
    try:
        trace.__init__(str(anchor))
        yield trace
    finally:
        trace.close()


@contextmanager
def _as_ours(path: Path) -> Iterator[None]:
    """Turn what the package raises into an error of ours."""
    try:
        yield
    except (TraceError, MemoryError):
        raise
    except Exception as error:  # its classes have no base of their own
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise TraceError(f"{path}: not OTF2 as its library reads it: {reason}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library from writing to the standard error."""
    kept = os.dup(STANDARD_ERROR)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, STANDARD_ERROR)
        yield
    finally:
        os.dup2(kept, STANDARD_ERROR)
        os.close(nowhere)
        os.close(kept)
