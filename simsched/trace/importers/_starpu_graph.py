"""Task graphs from what StarPU records of dependencies, handles and durations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from simsched.files.errors import GraphError, TraceError
from simsched.files.limits import EDGES
from simsched.files.units import plural
from simsched.trace.importers._recutils import read_records
from simsched.trace.importers._rows import SetAside
from simsched.workload.builder import Accesses, listed_accesses
from simsched.workload.graph import FloatArray
from simsched.workload.importers._source import whole

SPEED = 1e9  #: operations per second that turn measured durations into operations
ARCHITECTURE = re.compile(r"[a-z]+")
MODE = re.compile(r"[RWSXC]+(-mpi)?")
SCRATCH = (False, False)
READS, WRITES = ("R", "X", "C"), ("W", "X", "C")


def contract(
    pairs: Iterable[tuple[str, str]], kept: dict[str, int], present: set[str], source: Path
) -> tuple[list[tuple[int, int]], int]:
    """Return dependencies between kept tasks, through those that are not kept.

    Pairs are predecessor and successor, `kept` has the numbers of kept tasks by name, `present` all
    names that have a row. Edges are ascending, each once; with them comes how many names are
    mentioned as predecessors but have no row and are nobody's successor.
    """
    before: dict[str, list[str]] = {}
    sources: set[str] = set()
    for first, second in pairs:
        before.setdefault(second, []).append(first)
        sources.add(first)
    loose = sum(name not in present and name not in before for name in sources)
    reach = _Reach(source)
    edges: set[tuple[int, int]] = set()
    most = EDGES.value
    for name, number in kept.items():
        for task in _reaching(name, before, kept, reach, source):
            edges.add((task, number))
        if len(edges) > most:
            EDGES.refuse(None, source, TraceError)
    return sorted(edges), loose


class _Reach(dict[str, frozenset[int]]):
    """Kept tasks that come before each task that is not kept; limited as edges are."""

    def __init__(self, source: Path) -> None:
        self.source, self.room = source, EDGES.value

    def keep(self, name: str, tasks: frozenset[int]) -> None:
        """Remember the tasks before a task."""
        self.room -= len(tasks)
        if self.room < 0:
            EDGES.refuse(None, self.source, TraceError)
        self[name] = tasks


def _reaching(
    name: str,
    before: dict[str, list[str]],
    kept: dict[str, int],
    reach: _Reach,
    source: Path,
) -> frozenset[int]:
    """Return the kept tasks that come before a task, with nothing kept between."""
    result: frozenset[int] = frozenset()
    stack = [(name, iter(before.get(name, ())))]
    active = {name}
    while stack:
        top, waiting = stack[-1]
        deeper = next((p for p in waiting if p not in kept and p not in reach), None)
        if deeper is not None:
            if deeper in active:
                raise TraceError(f"{source}: found a cycle of dependencies through {deeper!r}")
            stack.append((deeper, iter(before.get(deeper, ()))))
            active.add(deeper)
            continue
        found: set[int] = set()
        for predecessor in before.get(top, ()):
            number = kept.get(predecessor)
            found |= reach[predecessor] if number is None else {number}
        result = frozenset(found)
        if top != name:
            reach.keep(top, result)
        stack.pop()
        active.discard(top)
    return result


def handle_accesses(
    rows: pd.DataFrame, name: str, aside: SetAside
) -> tuple[list[int], Accesses, int]:
    """Return blocks and accesses from the columns ``Handles``, ``Modes`` and ``Sizes``.

    The size of a block in bytes is the largest that any task states, and handles of several sizes
    are noted; scratch buffers are no data and are counted. `aside` receives tasks whose three lists
    differ in length or that have a mode or size that is none.
    """
    sizes: dict[tuple[str, str], int] = {}  # of handles, in the order of their first use
    found: list[tuple[int, tuple[str, str], int, tuple[bool, bool]]] = []
    wrong: list[int] = []
    several: dict[tuple[str, str], int] = {}  # handles of several sizes, with a line that says so
    scratch = 0
    columns = (rows[c].tolist() for c in ("rank", "Handles", "Modes", "Sizes", "line"))
    for task, (rank, handles, modes, amounts, line) in enumerate(zip(*columns, strict=True)):
        uses = list(map(_use, modes.split()))
        listed, amount_of = handles.split(), [_bytes(text) for text in amounts.split()]
        known = None not in amount_of and None not in uses
        if not known or not len(listed) == len(uses) == len(amount_of):
            wrong.append(line)
            continue
        for handle, use, amount in zip(listed, uses, amount_of, strict=True):
            if use == SCRATCH or use is None:
                scratch += 1
                continue
            key, size = (rank, handle), int(amount or 0)
            if sizes.setdefault(key, size) != size:
                several.setdefault(key, line)
                sizes[key] = max(sizes[key], size)
            found.append((task, key, size, use))
    if wrong:
        reason = "Handles, Modes and Sizes do not match; the task is kept without its accesses"
        first = f"{name}:{min(wrong)}"
        aside.note(f"{first}: {reason}; {plural(len(wrong), 'task')}")
    if several:
        first = f"{name}:{min(several.values())}"
        count = f"{len(several)} of {len(sizes)} handles"
        aside.note(f"{first}: {count} have several sizes; their blocks have the largest")
    block = {key: i for i, key in enumerate(key for key, size in sizes.items() if size)}
    accessed = [
        (task, block[key], size * reads, size * writes, 0)
        for task, key, size, (reads, writes) in found
        if key in block
    ]
    return [sizes[key] for key in block], listed_accesses(accessed, len(rows)), scratch


def _bytes(text: str) -> int | None:
    """Return a size, None where a text is none."""
    if text.isdecimal():
        return int(text) if len(text) < 16 else None
    try:
        return whole(text, "", most=10**15)
    except GraphError:
        return None


@cache
def _use(mode: str) -> tuple[bool, bool] | None:
    """Return whether a mode reads and writes, `SCRATCH` for neither, None if it is no mode."""
    if not MODE.fullmatch(mode):
        return None
    if mode.startswith("S"):
        return SCRATCH
    return any(c in mode for c in READS), any(c in mode for c in WRITES)


@dataclass
class Timings:
    """Mean durations of a performance model."""

    #: By model, processor kind and footprint; averaged over equal processors, weighted by samples.
    mean_us: dict[tuple[str, str, str], float]

    @classmethod
    def read(cls, path: Path, aside: SetAside) -> Timings:
        """Return the ``timing`` records of a file that ``starpu_perfmodel_recdump`` has written."""
        total: dict[tuple[str, str, str], float] = {}
        samples: dict[tuple[str, str, str], float] = {}
        wrong: list[int] = []
        for record in read_records(path):
            if record.kind != "timing":
                continue
            given = record.fields
            kind = ARCHITECTURE.match(given.get("Architecture", ""))
            mean, count = _number(given.get("Mean")), _number(given.get("Samples"))
            if kind is None or not record.ended or not mean > 0 or not count >= 1:
                wrong.append(record.line)
                continue
            key = (given.get("Model", ""), kind[0], given.get("Footprint", ""))
            total[key] = total.get(key, 0.0) + mean * count
            samples[key] = samples.get(key, 0.0) + count
        reason = "timing without a mean, samples or architecture"
        aside.rows(path, np.array(wrong, dtype=np.int64), reason)
        return cls({key: total[key] / samples[key] for key in total})


def operations(
    rows: pd.DataFrame, kinds: tuple[str, ...], timings: Timings
) -> tuple[FloatArray, dict[str, int]]:
    """Return operations of each task on each processor kind, and where they come from.

    On the kind that ran the task: the measured duration. On another kind: the model's mean for the
    codelet and footprint; else the mean of what the trace has of the same name and footprint on
    that kind; else infinity, the task cannot run there.
    """
    ops = np.full((len(kinds), len(rows)), np.inf)
    counts = {"ops_measured": len(rows), "ops_from_model": 0, "ops_from_like_tasks": 0}
    counts["ops_unknown"] = 0
    own = rows["kind"].map({kind: i for i, kind in enumerate(kinds)}).to_numpy(np.int64)
    ops[own, np.arange(len(rows))] = rows["duration_s"].to_numpy() * SPEED
    if len(kinds) == 1:
        return ops, counts
    like = rows.groupby(["Name", "Footprint", "kind"])["duration_s"].mean().to_dict()
    listed = list(zip(rows["Name"], rows["Model"], rows["Footprint"], strict=True))
    for row, kind in enumerate(kinds):
        for task in np.flatnonzero(own != row).tolist():
            name, model, footprint = listed[task]
            mean_us = timings.mean_us.get((model or name, kind, footprint))
            if mean_us is not None:
                ops[row, task] = mean_us * 1e-6 * SPEED
                counts["ops_from_model"] += 1
            elif (name, footprint, kind) in like:
                ops[row, task] = like[name, footprint, kind] * SPEED
                counts["ops_from_like_tasks"] += 1
            else:
                counts["ops_unknown"] += 1
    return ops, counts


def _number(text: str | None) -> float:
    """Return a number, NaN if it is none."""
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
