"""Latencies of a contended line between pairs of hardware threads, one way, in nanoseconds.

The form is a CSV without header: row i has the latency to thread j in column j. What is on and
above the diagonal may be missing.
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

from simsched.machine.facts._lines import Lines
from simsched.machine.facts.contents import Facts, Matrix
from simsched.machine.facts.registry import fact_format

_ROW = re.compile(rb"[\d.,eE+\-\s]*")


def _is_matrix(head: bytes) -> bool:
    first = [line.strip() for line in head.splitlines()[:3]]
    if len(first) < 2 or not all(_ROW.fullmatch(line) for line in first):
        return False
    return first[0].count(b",") >= 1 and first[0].count(b",") == first[1].count(b",")


@fact_format("core_to_core", recognises=_is_matrix)
def read_core_to_core(path: Path) -> Facts:
    """Return the latencies of a lower triangle, or of a whole matrix."""
    lines = Lines(path)
    rows = [row for row in csv.reader(lines.lines) if row]
    n = len(rows)
    values = []
    for number, row in enumerate(rows, 1):
        if len(row) != n:
            raise lines.fail(number, f"found {len(row)} columns, accepted {n}, as many as rows")
        cells = [text.strip() for text in row]
        values.append(
            tuple(
                lines.number(text, number, f"column {column}") if text else math.nan
                for column, text in enumerate(cells)
            )
        )
        missing = [j for j in range(number - 1) if not cells[j]]
        if missing:
            raise lines.fail(number, f"column {missing[0]}: missing, accepted a latency in ns")
    whole = tuple(tuple(values[max(i, j)][min(i, j)] for j in range(n)) for i in range(n))
    return Facts("core_to_core", "core-to-core latency", one_way_ns=Matrix(whole, "line 1"))
