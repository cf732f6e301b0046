"""Bandwidth by threads: the output of STREAM, of likwid-bench, or a table in CSV.

Threads are taken to run on the cores of one domain, one on each, with data in its own memory.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from simsched.machine.facts._lines import Lines
from simsched.machine.facts.contents import Fact, Facts
from simsched.machine.facts.registry import fact_format

_THREADS = re.compile(
    r"(?:Number of Threads (?:counted|requested)\s*=\s*|Using )(\d+)(?: threads| work groups)?",
    re.IGNORECASE,
)
_STREAM_RATE = re.compile(r"^(Copy|Triad):\s+([\d.]+)")
_LIKWID_RATE = re.compile(r"^MByte/s:\s+([\d.]+)")
_UNITS = {"gbps": 1e9, "gb/s": 1e9, "mbps": 1e6, "mb/s": 1e6, "mbyte/s": 1e6, "gbyte/s": 1e9}
_COLUMN = re.compile(r"(?:^|[_ (\[])(gbps|gb/s|mbps|mb/s|mbyte/s|gbyte/s)\b", re.IGNORECASE)
#: Factor of more than which a rate is no memory's.
ODD_RATE, ODD_THREAD_RATE = 20e12, 1e12


def _is_stream(head: bytes) -> bool:
    return b"STREAM version" in head or (b"MByte/s:" in head and b"likwid" in head.lower())


def _is_table(head: bytes) -> bool:
    first = head.partition(b"\n")[0].decode("utf-8", "replace").lower()
    names = [name.strip() for name in first.split(",")]
    has_threads = bool({"threads", "cores"} & set(names))
    return len(names) > 1 and has_threads and _COLUMN.search(first) is not None


@fact_format("stream", recognises=_is_stream)
def read_stream(path: Path) -> Facts:
    """Return the rates of one or several runs of STREAM (Copy) or likwid-bench."""
    lines = Lines(path)
    found: dict[int, Fact[float]] = {}
    threads = 1
    for number, text in enumerate(lines.lines, 1):
        if match := _THREADS.search(text):
            threads = int(match[1])
        rate = _STREAM_RATE.match(text.strip())
        if rate is not None and rate[1] == "Copy":
            value = lines.number(rate[2], number, "rate in MB/s") * 1e6
            found[threads] = Fact(value, f"line {number}")
        elif match := _LIKWID_RATE.match(text.strip()):
            value = lines.number(match[1], number, "rate in MB/s") * 1e6
            found[threads] = Fact(value, f"line {number}")
    if not found:
        raise lines.fail(len(lines.lines), "found no rate, accepted lines with Copy: or MByte/s:")
    return Facts("stream", "bandwidth by threads", rates_bytes_per_s=_checked(lines, found))


@fact_format("bandwidth_table", recognises=_is_table)
def read_table(path: Path) -> Facts:
    """Return the rates of a CSV with columns ``threads`` and one whose name ends in its unit.

    Of several such columns the first counts.
    """
    lines = Lines(path)
    rows = list(csv.reader(lines.lines))
    names = [name.strip() for name in rows[0]]
    lower = [name.lower() for name in names]
    by = lower.index("threads") if "threads" in lower else lower.index("cores")
    column = next(i for i, name in enumerate(names) if _COLUMN.search(name))
    match = _COLUMN.search(names[column])
    assert match is not None
    found: dict[int, Fact[float]] = {}
    for number, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(names):
            raise lines.fail(number, f"found {len(row)} columns, accepted {len(names)}")
        threads = int(lines.number(row[by], number, names[by]))
        rate = lines.number(row[column], number, names[column]) * _UNITS[match[1].lower()]
        found.setdefault(threads, Fact(rate, f"line {number}"))
    if not found:
        raise lines.fail(1, "found no row, accepted at least one")
    rates = _checked(lines, found)
    return Facts("bandwidth_table", "bandwidth by threads", rates_bytes_per_s=rates)


def _checked(lines: Lines, found: dict[int, Fact[float]]) -> dict[int, Fact[float]]:
    """Refuse rates that no memory has: a table whose unit is another one."""
    for threads, fact in found.items():
        if fact.value > min(ODD_RATE, ODD_THREAD_RATE * threads):
            line = int(fact.place.removeprefix("line "))
            raise lines.fail(
                line,
                f"found {fact.value / 1e9:g} GB/s with {threads} threads, accepted up to "
                f"{min(ODD_RATE, ODD_THREAD_RATE * threads) / 1e9:g}; is the unit another one?",
            )
    return found
