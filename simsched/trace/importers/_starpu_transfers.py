"""Links of a StarPU run: messages between nodes, with the tasks that they join, and steals.

StarVZ has a message twice. In ``dag.csv`` it is a job ``mpi_TAG_N`` between those of its sender and
those of its receiver; in ``paje.link.csv`` it is the link ``mpicom_N`` of the same ``Tag``, with
the times of sending and arrival in milliseconds and its size in bytes.

A steal is a link of no length from its victim, ``Origin``, to the thief, ``Dest``. Which task it
takes is not said; it is the one that the thief begins next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from simsched.trace.importers._rows import LINE, SetAside, numbers, read_rows
from simsched.trace.importers._starpu_graph import contract

COLUMNS = ("Type", "Start", "End", "Size", "Key", "Tag")
ENDS = ("Origin", "Dest")
MESSAGE, STEAL = "MPI communication", "Work steal"
KEY = "mpicom_"
PS_PER_MS = 1e9


@dataclass(frozen=True)
class Message:
    """A message between two nodes: when it was sent and had arrived."""

    start_ms: float
    end_ms: float
    size_bytes: int


@dataclass(frozen=True)
class StealLink:
    """A steal: when, by whom and from whom, by the names of workers, and the line that says so."""

    line: int
    time_ms: float
    thief: str
    victim: str


def read_links(path: Path, aside: SetAside) -> tuple[dict[str, Message], list[StealLink]]:
    """Return the messages of ``paje.link.csv`` by their names in ``dag.csv``, and the steals.

    Links of other types are left out; messages without times or size, and steals without a time,
    are set aside.
    """
    rows = read_rows(path, COLUMNS, ENDS, aside)
    for name in ("Start", "End", "Size"):
        rows[name] = numbers(rows[name])
    is_message = (rows["Type"] == MESSAGE) & rows["Key"].str.startswith(KEY)
    messages = _messages(path, rows[is_message], aside)
    steals = rows[rows["Type"] == STEAL]
    steals = aside.without(path, steals, steals["Start"].isna(), "a steal without a time")
    columns = (steals[name].tolist() for name in (LINE, "Start", "Dest", "Origin"))
    return messages, [StealLink(*row) for row in zip(*columns, strict=True)]


def _messages(path: Path, rows: pd.DataFrame, aside: SetAside) -> dict[str, Message]:
    """Return messages by the names that ``dag.csv`` gives them."""
    wrong = ~((rows["End"] >= rows["Start"]) & (rows["Size"] >= 0))
    rows = aside.without(path, rows, wrong, "a message without times or size")
    columns = (rows[name].tolist() for name in ("Tag", "Key", "Start", "End", "Size"))
    return {
        f"mpi_{tag}_{key.removeprefix(KEY)}": Message(start, end, int(size))
        for tag, key, start, end, size in zip(*columns, strict=True)
    }


def transfers(
    messages: dict[str, Message],
    pairs: Iterable[tuple[str, str]],
    kept: dict[str, int],
    present: set[str],
    origin_ps: int,
    source: Path,
) -> list[dict[str, Any]]:
    """Return the messages with the tasks that they follow and precede, in order of their start.

    They are entries of ``Recording.details["transfers"]``: ``after`` and ``before`` (tasks),
    ``start_ps``, ``end_ps``, ``bytes``. A message that no task waits for is left out. For the
    arguments see :func:`~simsched.trace.importers._starpu_graph.contract`; `origin_ps` is when the
    recording begins.
    """
    number = {name: len(kept) + i for i, name in enumerate(messages)}
    edges, _ = contract(pairs, kept | number, present, source)
    after: dict[int, list[int]] = {index: [] for index in number.values()}
    before: dict[int, list[int]] = {index: [] for index in number.values()}
    for first, second in edges:
        if second in after and first < len(kept):
            after[second].append(first)
        if first in before and second < len(kept):
            before[first].append(second)
    found = [
        {
            "after": after[index],
            "before": before[index],
            "start_ps": round(messages[name].start_ms * PS_PER_MS) - origin_ps,
            "end_ps": round(messages[name].end_ms * PS_PER_MS) - origin_ps,
            "bytes": messages[name].size_bytes,
        }
        for name, index in number.items()
        if before[index]
    ]
    return sorted(found, key=lambda each: (each["start_ps"], each["end_ps"], each["before"]))
