"""STG, the text format of the Standard Task Graph Set of Kasahara's laboratory.

The first line has the number of tasks and, in the set with communication, the number of
processors. Then every task has a line: its number, its processing time, how many predecessors it
has, and their numbers. With communication, pairs of a predecessor and a time follow instead, one on
each of the next lines or all on the line of the task. ``#`` begins a comment.

Traps of the format:

* **Units.** Times are "unit times": the option `cost_unit` says what one is.
* **Communication** is a time on somebody's network and no amount of data. It moves bytes only with
  the option `bytes_per_unit`; otherwise its edges order tasks.
* **Dummies.** The first and the last task are dummies of no length that the number in the first
  line does not count; files of other programs count every task. Both are read, and dummies stay
  tasks.
"""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path
from typing import NamedTuple

from simsched.files.bounded import read_text
from simsched.files.errors import GraphError, shown
from simsched.names.parameters import OpsPerS
from simsched.workload.graph import Workload
from simsched.workload.importers._columns import NamedGraph, sizes
from simsched.workload.importers._foreign import Meaning, read_foreign
from simsched.workload.importers._source import number, whole
from simsched.workload.importers.registry import importer
from simsched.workload.listed import MAX_INDEX

# Possessive, as what follows a blank line may be another one: never is a blank looked at twice.
SKIPPED = rb"(?:\s|#[^\n]*+\n)*+"
HEAD = re.compile(
    SKIPPED
    + rb"\d++(?:[ \t]++\d++)?+[^\S\n]*+(?:#[^\n]*+)?+\n"
    + SKIPPED
    + rb"\d++[ \t]++[\d.]++[ \t]++0[ \t]*+\r?\n"
)
DUMMIES = 2
COMMUNICATION = "communication"


class _Row(NamedTuple):
    """The numbers of a line that is not empty."""

    line: int
    words: list[str]


class _Lines:
    """The lines of a file that hold numbers, from the first to the last."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.last = path, 0
        self.rows: deque[_Row] = deque()
        for line, content in enumerate(text.splitlines(), 1):
            words = content.partition("#")[0].split()
            if words:
                self.rows.append(_Row(line, words))
                self.last = line

    def take(self, what: str) -> _Row:
        """Return the next line."""
        if not self.rows:
            raise GraphError(f"{self.path}:{self.last}: found the end of the file, accepted {what}")
        return self.rows.popleft()

    def where(self, row: _Row, what: str) -> str:
        """Return how a message names a number of a line."""
        return f"{self.path}:{row.line}: {what}"


def _looks_like_stg(head: bytes) -> bool:
    """Say whether a file begins with a number of tasks and a task without predecessors."""
    return HEAD.match(head) is not None


@importer("stg", suffixes=(".stg", ".stg.gz"), recognises=_looks_like_stg)
def import_stg(
    path: Path,
    *,
    cost_unit: str | None = None,
    reference_speed: OpsPerS | None = None,
    bytes_per_unit: float | None = None,
) -> Workload:
    """Graphs of the Standard Task Graph Set, with and without communication.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    cost_unit : {"ops", "s", "ms", "us", "ns"}
        What one unit time is; has to be given.
    reference_speed : float or str, optional
        Operations per second that turn times into operations, 10**9 by default; only with a unit of
        time.
    bytes_per_unit : float, optional
        Bytes that one unit time of communication moves; without it edges move nothing.
    """
    graph = _graph(_Lines(path, read_text(path, GraphError)))
    edges = graph.edges(str(path))
    spoken = sum(value is not None for value in edges.values(COMMUNICATION))
    if bytes_per_unit is not None:
        where = f"{path}: option bytes_per_unit"
        if not spoken:
            raise GraphError(f"{where}: found with a file that states no communication")
        factor = number(bytes_per_unit, where)
        moved = [value * factor for value in edges.values(COMMUNICATION, 0.0)]
        found = sizes(moved, lambda i: f"{edges.where(i)}: bytes")
        graph.of_edges.entries["bytes"] = range(len(moved)), found.tolist()
    workload = read_foreign(
        graph,
        Meaning(
            cost="time",
            cost_unit=cost_unit,
            reference_speed=reference_speed,
            edge_bytes=None if bytes_per_unit is None else "bytes",
        ),
        str(path),
    )
    del workload.parameters["edge_bytes"]  # no option of this format
    if spoken:
        workload.parameters.update(bytes_per_unit=bytes_per_unit)
    workload.parameters.update(format="stg", edges_with_communication=spoken)
    return workload


def _graph(lines: _Lines) -> NamedGraph:
    """Return the tasks with their times, and the edges with their communication if it is stated."""
    first = lines.take("the number of tasks")
    if len(first.words) > 2:
        raise GraphError(
            f"{lines.path}:{first.line}: found {len(first.words)} numbers, accepted the number of "
            "tasks and possibly that of processors"
        )
    stated = whole(first.words[0], lines.where(first, "number of tasks"), most=MAX_INDEX)
    graph = NamedGraph(lines.path.name.partition(".")[0], several=False)
    edges: list[tuple[_Row, int, int, float | None]] = []
    while lines.rows:
        row = lines.take("a task")
        task, before = _task(lines, row, graph)
        edges += [(at, predecessor, task, cost) for at, predecessor, cost in before]
    if len(graph) not in (stated, stated + DUMMIES):
        raise GraphError(
            f"{lines.path}:{first.line}: found {len(graph)} tasks, accepted the stated {stated}, "
            f"or {stated + DUMMIES} with the two dummies"
        )
    for row, predecessor, task, cost in edges:
        if predecessor not in graph.index:
            where = lines.where(row, f"task {task}: predecessor")
            raise GraphError(f"{where}: found {predecessor}, accepted the number of a task")
        about = None if cost is None else {COMMUNICATION: cost}
        graph.edge(graph.index[predecessor], graph.index[task], about)
    return graph


def _task(
    lines: _Lines, row: _Row, graph: NamedGraph
) -> tuple[int, list[tuple[_Row, int, float | None]]]:
    """Add the task of a line; return its number and, each with its line, its predecessors."""
    if len(row.words) < 3:
        raise GraphError(
            f"{lines.path}:{row.line}: found {shown(' '.join(row.words))}, accepted a task: its "
            "number, its time and how many predecessors it has"
        )
    task = whole(row.words[0], lines.where(row, "number of the task"), most=MAX_INDEX)
    if task in graph.index:
        raise GraphError(f"{lines.path}:{row.line}: found task {task} a second time")
    graph.node(task, {"time": number(row.words[1], lines.where(row, f"task {task}: time"))})
    count = whole(row.words[2], lines.where(row, f"task {task}: predecessors"), most=MAX_INDEX)
    rest = row.words[3:]
    pairs: list[tuple[_Row, list[str]]]
    if not rest and count:
        taken = [lines.take(f"{count} predecessors of task {task}") for _ in range(count)]
        pairs = [(at, at.words) for at in taken]
        wrong = next((at for at in taken if len(at.words) != 2), None)
        if wrong is not None:
            raise GraphError(
                f"{lines.path}:{wrong.line}: found {shown(' '.join(wrong.words))}, accepted a "
                f"predecessor of task {task} and the time of their communication"
            )
    elif len(rest) == count:
        pairs = [(row, [word]) for word in rest]
    elif len(rest) == 2 * count:
        pairs = [(row, rest[i : i + 2]) for i in range(0, len(rest), 2)]
    else:
        raise GraphError(
            f"{lines.path}:{row.line}: task {task}: found {len(rest)} numbers behind the number of "
            f"predecessors, accepted {count}, or {2 * count} with communication"
        )
    return task, [
        (
            at,
            whole(words[0], lines.where(at, f"task {task}: predecessor"), most=MAX_INDEX),
            number(words[1], lines.where(at, f"task {task}: communication"))
            if len(words) == 2
            else None,
        )
        for at, words in pairs
    ]
