"""Measured OpenMP task statistics of the MIR runtime: CSV, one row per task.

**Columns.** Required: ``task``, ``parent`` (0 for none), ``child_number`` (from 1), ``cpu_id``,
``exec_cycles``, ``work_cycles``, ``overhead_cycles``, ``creation_cycles``, ``create_instant``,
``exec_end_instant``; checked if present: ``num_children``; used if present: ``outline_function``
(the class of a task) and ``joins_at`` (at which wait of its parent, from 0, a task ends). Rows may
come in any order; tasks are numbered by ascending ``task``.

**What the columns mean** (docs/validation/others.md has what that follows from):

* ``exec = work + overhead``: an inner task's overhead is the creation of its children and the
  search for work while it waits, a leaf's is 0.
* ``create_instant`` is the *end* of the creation, in cycles since the parent's start. So the work
  before and between the spawns is the last child's ``create_instant`` minus the
  ``creation_cycles`` of all children.
* What the tasks of a core were active up to some end must fit between the first task's start and
  that end; so the first task started before the first leaf.

**The task graph.** All tasks, as a spawn tree in order of ``child_number``; one operation is one
cycle.

* Body: the work before and between the spawns, for a leaf all of its work. Join: the rest of the
  work. In this split children exist as early as they did. The rest includes what the task spent
  between its last spawn and the end of its wait (in Fibonacci nothing but the wait itself).
* ``creation_ops`` is ``creation_cycles``, paid by the parent for each child; for tasks without a
  parent it is 0.
* Searching (overhead beyond creation) is left out: it is for the simulated scheduler to produce.
* A task that waits several times becomes one task for each wait
  (:mod:`simsched.workload.importers._mir_phases`). `Workload.parameters` counts the tasks that are
  added. Tasks without a parent start at once, also if they belong to one parallel region after the
  other.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simsched.files.bounded import header_of, read_text
from simsched.files.errors import GraphError, nearest_hint, shown
from simsched.workload.builder import build_graph
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.importers._mir_phases import Phases, Rows
from simsched.workload.importers._naming import check_named
from simsched.workload.importers.measured import Measured, MeasuredWorkload
from simsched.workload.importers.registry import importer

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("task", "parent", "child_number", "cpu_id")
CYCLES = (
    "exec_cycles",
    "work_cycles",
    "overhead_cycles",
    "creation_cycles",
    "create_instant",
    "exec_end_instant",
)
LARGEST = 2**53


def looks_like_mir(head: bytes) -> bool:
    """Say whether the header of a file has the columns of MIR."""
    return {b"task", b"creation_cycles", b"exec_end_instant"} <= set(header_of(head)[0])


@importer("mir", suffixes=(".csv", ".csv.gz"), recognises=looks_like_mir)
def import_mir(path: Path) -> MeasuredWorkload:
    """Measured OpenMP task statistics of the MIR runtime, CSV.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    """
    table = _Table(path)
    parent = _parents(table)
    child = np.flatnonzero(parent >= 0)
    child = child[np.lexsort((table["child_number"][child], parent[child]))]
    _check_siblings(table, parent, child)
    _check_spawns(table, parent, child)
    work, creation, created = (
        table[name].astype(np.float64)
        for name in ("work_cycles", "creation_cycles", "create_instant")
    )
    rows = Rows(parent, table["child_number"], table.waits(), work, creation, created)
    phases = Phases(rows)
    class_of, class_names = table.classes("outline_function")
    graph = build_graph(
        phases.body,
        join_ops=phases.join,
        task_class=class_of[phases.row],
        class_names=class_names,
        children=phases.children,
        successors=phases.successors,
        creation_ops=phases.creation,
    )
    check_named(graph, [str(task) for task in table["task"][phases.row].tolist()], path)
    workload = Workload(
        name=path.name.partition(".")[0],
        graph=graph,
        parameters={
            "format": "mir",
            "unit_of_ops": "cycle",
            "tasks_for_further_waits": len(phases.row) - len(parent),
            "tasks_without_parent": int((parent < 0).sum()),
        },
    )
    return MeasuredWorkload(workload, _measured(table, parent, phases))


class _Table:
    """The rows of a file in the order of their tasks, as checked integers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        frame = _read_csv(path)
        for name in (*NUMBERS, *CYCLES):
            if name not in frame.columns:
                hint = nearest_hint(name, map(str, frame.columns))
                raise GraphError(f"{path}: found no column {name!r}, which is required{hint}")
        if frame.empty:
            raise GraphError(f"{path}: found no tasks, accepted at least one row")
        self.line = frame.index.to_numpy(np.int64)
        self._columns = {name: self._integers(frame[name]) for name in (*NUMBERS, *CYCLES)}
        for name in ("num_children", "joins_at"):
            if name in frame.columns:
                self._columns[name] = self._integers(frame[name])
        order = np.argsort(self["task"], kind="stable")
        self.line = self.line[order]
        self._columns = {name: values[order] for name, values in self._columns.items()}
        self._frame = frame.iloc[order]

    def __getitem__(self, column: str) -> Int64Array:
        return self._columns[column]

    def __contains__(self, column: str) -> bool:
        return column in self._columns

    def refuse(self, wrong: NDArray[np.bool_], column: str, accepted: str) -> None:
        """Raise an error for the first of the rows that are wrong, in the order of the file."""
        if not wrong.any():
            return
        row = int(np.flatnonzero(wrong)[np.argmin(self.line[wrong])])
        task, found = self["task"][row], self[column][row]
        raise GraphError(
            f"{self.path}:{self.line[row]}: task {task}: column {column!r}: "
            f"found {found}, accepted {accepted}"
        )

    def classes(self, column: str) -> tuple[Int64Array, list[str]]:
        """Return the class of each task and their names, one class if there is no such column."""
        if column not in self._frame.columns:
            return np.zeros(len(self.line), dtype=np.int64), ["task"]
        values = self._frame[column].to_numpy(dtype=str)
        names, index = np.unique(values, return_inverse=True)
        return index.astype(np.int64), [f"function {name or 'unknown'}" for name in names.tolist()]

    def waits(self) -> Int64Array:
        """Return at which wait of its parent each task ends, the first if nothing says it."""
        if "joins_at" not in self._columns:
            return np.zeros(len(self.line), dtype=np.int64)
        return self["joins_at"]

    def _integers(self, texts: pd.Series[str]) -> Int64Array:
        """Return a column as integers that are not negative."""
        import pandas as pd

        values = np.asarray(pd.to_numeric(texts, errors="coerce"), dtype=np.float64)
        good = (values >= 0) & (values <= LARGEST) & (values == np.floor(values))
        if not good.all():
            row = int(np.argmin(good))
            raise GraphError(
                f"{self.path}:{self.line[row]}: column {texts.name!r}: "
                f"found {shown(texts.iloc[row])}, accepted an integer from 0 to 2**53"
            )
        return values.astype(np.int64)


def _read_csv(path: Path) -> pd.DataFrame:
    """Return a CSV file as a frame of strings, with the lines of its rows as index."""
    import pandas as pd

    text = read_text(path, GraphError)
    before = header_of(text.encode())[1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                dtype=str,
                keep_default_na=False,
                index_col=False,
                skiprows=before,
                skip_blank_lines=False,
            )
    except (ValueError, pd.errors.ParserWarning) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise GraphError(f"{path}: not CSV: {reason}") from error
    frame = frame.fillna("")
    frame.index += before + 2
    stripped = frame.apply(lambda column: column.str.strip())
    found: pd.DataFrame = frame[(stripped != "").any(axis=1)]
    return found


def _parents(table: _Table) -> Int64Array:
    """Return the row of each task's parent, -1 for none, after checking numbers row by row."""
    task, parent = table["task"], table["parent"]
    table.refuse(task == 0, "task", "1 or more; 0 stands for no task")
    table.refuse(table["cpu_id"] >= 2**31, "cpu_id", "a number below 2**31")
    again = np.concatenate(([False], task[1:] == task[:-1]))
    table.refuse(again, "task", "a number that no other row has")
    row = np.minimum(np.searchsorted(task, parent), len(task) - 1)
    table.refuse((task[row] != parent) & (parent != 0), "parent", "0 or the number of a task")
    balance = table["work_cycles"] + table["overhead_cycles"]
    table.refuse(balance != table["exec_cycles"], "exec_cycles", "work_cycles + overhead_cycles")
    late = table["exec_cycles"] > table["exec_end_instant"]
    table.refuse(late, "exec_cycles", "at most exec_end_instant")
    return np.where(parent == 0, -1, row).astype(np.int64)


def _check_siblings(table: _Table, parent: Int64Array, child: Int64Array) -> None:
    """Check that children of a task have different numbers and that none is missing."""
    number = table["child_number"][child]
    same = (parent[child][1:] == parent[child][:-1]) & (number[1:] == number[:-1])
    wrong = np.zeros(len(parent), dtype=bool)
    wrong[child[1:][same]] = True
    table.refuse(wrong, "child_number", "a number that no other child of the task has")
    if "num_children" in table:
        present = np.bincount(parent[child], minlength=len(parent))
        table.refuse(
            present != table["num_children"],
            "num_children",
            "the number of rows with this parent (rows are missing or extra)",
        )


def _check_spawns(table: _Table, parent: Int64Array, child: Int64Array) -> None:
    """Check that a task's own cycles hold the creation of its children."""
    spawner = parent[child]
    last = np.zeros(len(parent), dtype=np.int64)
    np.maximum.at(last, spawner, table["create_instant"][child])
    creation = np.zeros(len(parent), dtype=np.int64)
    np.add.at(creation, spawner, table["creation_cycles"][child])
    fits = creation <= table["overhead_cycles"]
    table.refuse(~fits, "overhead_cycles", "at least the creation_cycles of all children")
    table.refuse(
        last > table["exec_cycles"], "exec_cycles", "at least the create_instant of every child"
    )


def _measured(table: _Table, parent: Int64Array, phases: Phases) -> Measured:
    """Return what the file says about the execution; a row's last task has what it says of it."""
    cores, core = np.unique(table["cpu_id"], return_inverse=True)
    active, end = table["exec_cycles"], table["exec_end_instant"]
    order = np.lexsort((end, core))
    so_far = np.cumsum(active[order])
    first = np.concatenate(([0], np.flatnonzero(np.diff(core[order])) + 1))
    offset = (so_far - active[order])[first]
    per_core = so_far - np.repeat(offset, np.diff([*first.tolist(), len(order)]))
    is_inner = np.isin(np.arange(len(parent)), parent)
    parallel_start = int((end - active)[~is_inner].min())
    spawn_start = min(int((end[order] - per_core).min()), parallel_start)
    core32 = core.astype(np.int32)
    creator = np.where(parent >= 0, core32[parent], core32).astype(np.int32)
    added = np.zeros(len(phases.row) - len(parent))
    return Measured(
        cores=cores.astype(np.int64),
        task_core=core32[phases.row],
        exec_cycles=np.append(active, added),
        work_cycles=np.append(table["work_cycles"], added),
        creation_cycles=np.append(table["creation_cycles"], added),
        end_cycles=np.append(end, _ends_of_added(end, phases)),
        parallel_start_cycles=float(parallel_start),
        spawn_start_cycles=float(spawn_start),
        creator_core=creator[phases.row],
    )


def _ends_of_added(end: Int64Array, phases: Phases) -> Int64Array:
    """Return when the last child of each task that was added ended."""
    ends = np.zeros(len(phases.row), np.int64)
    spawner = phases.spawner[: len(end)]
    np.maximum.at(ends, spawner[spawner >= 0], end[spawner >= 0])
    return ends[len(end) :]
