"""TGFF, the text that Task Graphs For Free generates.

Blocks ``@TASK_GRAPH 0 { ... }`` have tasks (``TASK t0_0 TYPE 2``) and arcs
(``ARC a0_0 FROM t0_0 TO t0_1 TYPE 3``). Other blocks are tables, whose columns a comment names: a
row per type of task or arc.

Traps of the format:

* **Costs** are in no task but in a table, usually one for each kind of processor (``@CORE 0``,
  ``@PE 0``, ``@PROC 0``): the options `cost` and `table` name column and table. Where the column
  ``valid`` is 0 the processor cannot execute the type.
* **Units** are nobody's: `cost_unit` says what a cost is; the column that `edge_bytes` names holds
  bytes.
* **Several graphs** in a file are one program, or `graph` picks one. Periods and deadlines are not
  kept: each graph is executed once.
* Of several versions of a type the first one counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.files.bounded import read_text
from simsched.files.errors import GraphError, nearest_hint, shown
from simsched.workload.graph import Workload
from simsched.workload.importers._columns import NamedGraph
from simsched.workload.importers._foreign import ONLY_KIND, Meaning, Speed, read_foreign
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._source import number, size, whole
from simsched.workload.importers.registry import importer
from simsched.workload.listed import MAX_INDEX

BLOCK = re.compile(r"@(\w+)\s+(\d+)\s*\{")
VALUE = re.compile(r"@\w+\s+[-+.\deE]+")
TASK = re.compile(r"TASK\s+(\S+)\s+TYPE\s+(\S+)(?:\s.*)?")
ARC = re.compile(r"ARC\s+(\S+)\s+FROM\s+(\S+)\s+TO\s+(\S+)\s+TYPE\s+(\S+)(?:\s.*)?")
GRAPH = "TASK_GRAPH"
KEY, VALID = "type", "valid"
CLASS = "class of the task"  # no column is called so, as names of columns have no blanks
Table = str | Mapping[str, str]


@dataclass
class _Table:
    """The rows of a block that are about types, and where each stands."""

    columns: list[str] = field(default_factory=list)
    rows: dict[int, tuple[int, dict[str, str]]] = field(default_factory=dict)


@dataclass
class _Document:
    """What a file holds."""

    path: Path
    #: type and number of the graph of each task by name
    tasks: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: line, ends, type and number of the graph of each arc
    arcs: list[tuple[int, str, str, int, int]] = field(default_factory=list)
    tables: dict[str, _Table] = field(default_factory=dict)
    graphs: list[int] = field(default_factory=list)


def _looks_like_tgff(head: bytes) -> bool:
    """Say whether the beginning of a file has a block of TGFF."""
    return re.search(rb"^@(?:TASK_GRAPH\s+\d+\s*\{|HYPERPERIOD\s)", head, re.MULTILINE) is not None


@importer("tgff", suffixes=(".tgff", ".tgff.gz"), recognises=_looks_like_tgff)
def import_tgff(
    path: Path,
    *,
    cost: str | None = None,
    table: Table | None = None,
    cost_unit: str | None = None,
    reference_speed: Speed | None = None,
    edge_bytes: str | None = None,
    edge_table: str | None = None,
    task_cost: TaskCost | None = None,
    graph: int | None = None,
) -> Workload:
    """Task Graphs For Free: graphs and tables of costs by type.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    cost : str, optional
        Column with the cost of a type of tasks.
    table : str or mapping of str to str, optional
        Its table, such as "CORE 0"; a mapping has one for each kind of processor. By default the
        only one with that column.
    cost_unit, reference_speed, task_cost
        As for :func:`~simsched.workload.importers.from_networkx`; classes are called "type 2".
    edge_bytes : str, optional
        Column with the bytes of a type of arcs; without it edges move nothing.
    edge_table : str, optional
        Its table, such as "COMMUN_QUANT 0"; by default the only one with that column.
    graph : int, optional
        Number of the only graph that is read.
    """
    document = _read(path)
    if graph is not None and graph not in document.graphs:
        accepted = ", ".join(map(str, document.graphs)) or "none"
        raise GraphError(f"{path}: option graph: found {graph}, accepted: {accepted}")
    if cost is None and table is not None:
        raise GraphError(f"{path}: option table: found without the option cost")
    if edge_bytes is None and edge_table is not None:
        raise GraphError(f"{path}: option edge_table: found without the option edge_bytes")
    found = NamedGraph(path.name.partition(".")[0], several=False)
    several = isinstance(table, Mapping)
    tables = dict(table) if isinstance(table, Mapping) else {ONLY_KIND: table}
    # Attributes are called like what the user has named, as messages name them.
    named = (
        {} if cost is None else {k: f"{t}: {cost}" if several else cost for k, t in tables.items()}
    )
    costs = {named[k]: _column(document, cost, tables[k], "table", several) for k in named}
    for name, (kind, owner) in document.tasks.items():
        if graph in (None, owner):
            where = f"{path}: task {name}"
            found.node(name, {k: _value(where, kind, costs[k], cost) for k in costs})
            found.node(name, {CLASS: f"type {kind}"})
    _add_arcs(found, document, graph, edge_bytes, edge_table)
    if cost is None and task_cost is None:
        columns = dict.fromkeys(c for t in document.tables.values() for c in t.columns)
        raise GraphError(
            f"{path}: option cost: missing, accepted: a column of a table with the cost of each "
            f"type ({', '.join(columns) or 'the file has no tables'}), or the option task_cost"
        )
    meaning = Meaning(
        cost=named if several else cost,
        cost_unit=cost_unit,
        reference_speed=reference_speed,
        edge_bytes=edge_bytes,
        task_class=CLASS,
        task_cost=task_cost,
    )
    workload = read_foreign(found, meaning, str(path))
    del workload.parameters["task_class"]  # no option of this format
    workload.parameters.update(format="tgff", table=table, graph=graph)
    return workload


def _add_arcs(
    found: NamedGraph,
    document: _Document,
    graph: int | None,
    column: str | None,
    table: str | None,
) -> None:
    """Add the edges of the tasks that are there; two arcs between the same tasks add up."""
    sizes = _column(document, column, table, "edge_table")
    moved: Counter[tuple[str, str]] = Counter()
    for line, source, target, kind, owner in document.arcs:
        if graph not in (None, owner):
            continue
        where = f"{document.path}:{line}: arc"
        for end in (source, target):
            if end not in found.index:
                hint = nearest_hint(end, found.index)
                raise GraphError(f"{where}: found task {shown(end)}, accepted one above{hint}")
        about = None
        if column is not None:
            moved[source, target] += size(_value(where, kind, sizes, column), where)
            about = {column: moved[source, target]}
        found.edge(found.index[source], found.index[target], about)


def _column(
    document: _Document, column: str | None, name: str | None, option: str, several: bool = False
) -> dict[int, Any] | None:
    """Return the place and value of each type in a column, None if no column is named."""
    if column is None:
        return None
    having = [key for key, table in document.tables.items() if column in table.columns]
    if not having:
        columns = dict.fromkeys(c for t in document.tables.values() for c in t.columns)
        raise GraphError(
            f"{document.path}: found no table with a column {shown(column)}, accepted: "
            f"{', '.join(columns) or 'none'}{nearest_hint(column, columns)}"
        )
    if name is None and len(having) == 1:
        name = having[0]
    if name not in having:
        given = "missing" if name is None else f"found {shown(name)}"
        raise GraphError(
            f"{document.path}: option {option}: {given}, accepted a table with the column "
            f"{column!r}: {', '.join(having)}"
        )
    table = document.tables[name]
    return {
        kind: (
            f"{document.path}:{line}: {name}: {column}",
            "inf" if _is_zero(row.get(VALID, "1")) else row[column],
        )
        for kind, (line, row) in table.rows.items()
        if column in row and (several or not _is_zero(row.get(VALID, "1")))
    }


def _value(where: str, kind: int, values: Any, column: str | None) -> float:
    """Return the number that a type has in a column."""
    if kind not in values:
        raise GraphError(f"{where}: found type {kind}, of which no valid row has {column!r}")
    place, text = values[kind]
    return number(text, place, infinite=text == "inf")


def _is_zero(text: str) -> bool:
    """Say whether a text is the number 0."""
    try:
        return math.isclose(float(text), 0.0, abs_tol=1e-9)
    except ValueError:
        return False


def _read(path: Path) -> _Document:
    """Return what a file holds."""
    document, block, table = _Document(path), "", _Table()
    for line, content in enumerate(read_text(path, GraphError).splitlines(), 1):
        text, mark, comment = (part.strip() for part in content.partition("#"))
        where = f"{path}:{line}"
        if not block:
            if text and VALUE.fullmatch(text) is None:
                block, table = _begin(document, where, text)
        elif text == "}":
            block = ""
        elif block.partition(" ")[0] == GRAPH:
            _read_graph_line(document, where, line, text)
        elif mark and not text and comment.split()[:1] == [KEY]:
            table.columns = comment.split()
        elif text and table.columns:
            _read_row(table, where, line, text.split())
    if block:
        raise GraphError(f"{path}: found the end of the file in {block}, accepted }}")
    if not document.tasks:
        raise GraphError(f"{path}: found no tasks, accepted at least one")
    return document


def _begin(document: _Document, where: str, text: str) -> tuple[str, _Table]:
    """Begin a block; return its name, and its table if it is one."""
    match, table = BLOCK.fullmatch(text), _Table()
    if match is None:
        raise GraphError(f"{where}: found {shown(text)}, accepted a block, @NAME NUMBER {{")
    name = f"{match[1]} {match[2]}"
    graph = whole(match[2], where, most=MAX_INDEX) if match[1] == GRAPH else None
    if name in document.tables or graph in document.graphs:
        raise GraphError(f"{where}: found {name} a second time")
    if graph is not None:
        document.graphs.append(graph)
    else:
        document.tables[name] = table
    return name, table


def _read_graph_line(document: _Document, where: str, line: int, text: str) -> None:
    """Read a task or an arc; periods and deadlines are not used."""
    owner = document.graphs[-1]
    task, arc = TASK.fullmatch(text), ARC.fullmatch(text)
    if task is not None:
        if task[1] in document.tasks:
            raise GraphError(f"{where}: found task {task[1]!r} a second time")
        kind = whole(task[2], f"{where}: task {task[1]}: type", most=MAX_INDEX)
        document.tasks[task[1]] = kind, owner
    elif arc is not None:
        kind = whole(arc[4], f"{where}: arc {arc[1]}: type", most=MAX_INDEX)
        document.arcs.append((line, arc[2], arc[3], kind, owner))
    elif text.split()[:1] in (["TASK"], ["ARC"]):
        raise GraphError(
            f"{where}: found {shown(text)}, accepted TASK name TYPE n or ARC name FROM task TO "
            "task TYPE n"
        )


def _read_row(table: _Table, where: str, line: int, words: list[str]) -> None:
    """Read the row of a type; the first one counts."""
    if len(words) != len(table.columns):
        raise GraphError(
            f"{where}: found {len(words)} values, accepted {len(table.columns)}: "
            f"{', '.join(table.columns)}"
        )
    kind = whole(words[0], f"{where}: {KEY}", most=MAX_INDEX)
    table.rows.setdefault(kind, (line, dict(zip(table.columns, words, strict=True))))
