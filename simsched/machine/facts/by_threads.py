"""Bandwidth by threads: the output of STREAM, of likwid-bench, or a table in CSV.

Threads are taken to run on cores in their order, one on each, with data in the memory of their
domain. Programs that write count written bytes like read ones, as STREAM does.
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
_STREAM_RATE = re.compile(r"^(Copy|Triad):\s+(\S+)")
_LIKWID_RATE = re.compile(r"^MByte/s:\s+(\S+)")
_UNITS = {"gbps": 1e9, "gb/s": 1e9, "mbps": 1e6, "mb/s": 1e6, "mbyte/s": 1e6, "gbyte/s": 1e9}
_COLUMN = re.compile(r"(?:^|[_ (\[])([gm](?:b|byte)(?:ps|/s))\b", re.IGNORECASE)
_BITS = re.compile(r"[GMgm]b(ps|/s)")
_WRITES = re.compile(r"copy|triad|scale|add|stream|update|daxpy", re.IGNORECASE)
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
    # likwid-bench says which kernel it ran only where the user has noted it: loads are usual.
    writes = any(_STREAM_RATE.match(text.strip()) for text in lines.lines)
    rates = _checked(lines, found)
    return Facts(
        "stream", "bandwidth by threads", rates_bytes_per_s=rates, rates_count_writes=writes
    )


@fact_format("bandwidth_table", recognises=_is_table)
def read_table(path: Path) -> Facts:
    """Return the rates of a CSV with columns ``threads`` and one whose name ends in its unit.

    Of several such columns the first counts, before others one of loads or reads. If there is one
    of copies beside loads, it says what written bytes cost.
    """
    lines = Lines(path)
    rows = list(csv.reader(lines.lines))
    names = [name.strip() for name in rows[0]]
    lower = [name.lower() for name in names]
    by = lower.index("threads") if "threads" in lower else lower.index("cores")
    columns = [i for i, name in enumerate(names) if _COLUMN.search(name)]
    for name in names:
        if (match := _COLUMN.search(name)) and _BITS.fullmatch(match[1]):
            raise lines.fail(
                1, f"{name}: found {match[1]}, which are bits, accepted {match[1].upper()[:2]}/s"
            )
    reads = [i for i in columns if not _WRITES.search(names[i])]
    column = (reads or columns)[0]
    copies = next((i for i in columns if "copy" in lower[i]), column)
    for number, row in enumerate(rows[1:], 2):
        if row and len(row) != len(names):
            raise lines.fail(number, f"found {len(row)} columns, accepted {len(names)}")

    def rates_in(place: int) -> dict[int, Fact[float]]:
        match = _COLUMN.search(names[place])
        assert match is not None
        found: dict[int, Fact[float]] = {}
        for number, row in enumerate(rows[1:], 2):
            if row:
                threads = lines.whole(row[by], number, names[by])
                rate = lines.number(row[place], number, names[place]) * _UNITS[match[1].lower()]
                found.setdefault(threads, Fact(rate, f"line {number}"))
        if not found:
            raise lines.fail(1, "found no row, accepted at least one")
        return _checked(lines, found)

    rates = rates_in(column)
    return Facts(
        "bandwidth_table",
        "bandwidth by threads",
        rates_bytes_per_s=rates,
        rates_count_writes=not reads,
        write_weight=_weight(rates, rates_in(copies)) if reads and copies != column else None,
    )


def _weight(loads: dict[int, Fact[float]], copies: dict[int, Fact[float]]) -> Fact[float]:
    """Return what a written byte costs: of a copy of the most threads half of the bytes are."""
    most = max(loads)
    weight = 2.0 * loads[most].value / copies[most].value - 1.0
    return Fact(round(max(1.0, weight), 2), f"{loads[most].place}, loads and copies")


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
