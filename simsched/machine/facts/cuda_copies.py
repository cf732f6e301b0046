"""Rates of copies between host and devices: nvbandwidth, and two samples of CUDA.

All print GB/s of 10^9 bytes. What a device reads and writes of its own memory, the samples count
twice, as memory moves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from simsched.files.errors import ConfigurationError, shown
from simsched.machine.facts._lines import Lines
from simsched.machine.facts.contents import Fact, Facts
from simsched.machine.facts.registry import fact_format

PER_GB = 1e9
UNITS = {"GB/s": 1e9, "MB/s": 1e6}
TITLES = (b"nvbandwidth Version", b"P2P (Peer-to-Peer) GPU Bandwidth", b"[CUDA Bandwidth Test]")
IN, OUT, BETWEEN = "copy_in", "copy_out", "copy_between"
#: Titles of tables with rows and columns, the best one of each kind first.
TABLES = {
    IN: ("memcpy CE CPU(row) -> GPU(column)",),
    OUT: ("memcpy CE CPU(row) <- GPU(column)",),
    BETWEEN: (
        "Unidirectional P2P=Enabled Bandwidth",
        "memcpy CE GPU(row) -> GPU(column)",
        "memcpy CE GPU(row) <- GPU(column)",
    ),
}
#: Titles of lists of sizes and rates of one device.
LISTS = {IN: "Host to Device Bandwidth", OUT: "Device to Host Bandwidth", "own": "Device to Device"}

Rates = dict[tuple[int, int], Fact[float]]


@fact_format("cuda_copies", recognises=lambda head: any(title in head for title in TITLES))
def read_cuda_copies(path: Path) -> Facts:
    """Return what copies to, from and between devices reach, as far as the output has them."""
    lines = Lines(path)
    tables = {kind: _first_table(lines, titles) for kind, titles in TABLES.items()}
    listed = {kind: _largest(lines, title) for kind, title in LISTS.items()}
    between = {pair: rate for pair, rate in tables[BETWEEN].items() if pair[0] != pair[1]}
    own = {a: rate for (a, b), rate in tables[BETWEEN].items() if a == b} or listed["own"]
    into, out = (_best_of_rows(tables[kind]) or listed[kind] for kind in (IN, OUT))
    if not (between or own or into or out):
        raise ConfigurationError(
            f"{path}: found no table of rates, accepted one: host to device, device to host or "
            "between devices"
        )
    return Facts(
        "cuda_copies",
        "rates of copies between host and devices",
        copy_in=into,
        copy_out=out,
        copy_between=between,
        own_rate=own,
    )


def _best_of_rows(table: Rates) -> dict[int, Fact[float]]:
    """Return the best rate of each column: of the host's node that the device is near."""
    found: dict[int, Fact[float]] = {}
    for (_, device), rate in table.items():
        if device not in found or rate.value > found[device].value:
            found[device] = rate
    return found


def _first_table(lines: Lines, titles: tuple[str, ...]) -> Rates:
    for title in titles:
        start = lines.find(title)
        if start is not None:
            return dict(_table(lines, start))
    return {}


def _table(lines: Lines, title: int) -> Iterator[tuple[tuple[int, int], Fact[float]]]:
    """Yield the rates of a table below its title; ``N/A`` stands for what was not measured."""
    columns = [word for word in lines.fields(title + 1) if word != "D\\D"]
    if not columns or not all(re.fullmatch(r"[0-9]{1,4}", word) for word in columns):
        raise lines.fail(title + 1, "found no header of devices, accepted their numbers")
    number = title + 2
    while (fields := lines.fields(number)) and re.fullmatch(r"[0-9]{1,4}", fields[0]):
        if len(fields) != 1 + len(columns):
            raise lines.fail(
                number, f"found {len(fields) - 1} rates, accepted {len(columns)}, as in the header"
            )
        for column, text in zip(columns, fields[1:], strict=True):
            if text != "N/A":
                rate = lines.number(text, number, "rate in GB/s") * PER_GB
                yield (int(fields[0]), int(column)), Fact(rate, f"line {number}")
        number += 1
    if number == title + 2:
        raise lines.fail(number, "found no row of a device, accepted some")
    if "CPU(" not in lines.lines[title - 1] and number - title - 2 != len(columns):
        raise lines.fail(
            number, f"found {number - title - 2} rows, accepted {len(columns)}, one for each device"
        )


def _largest(lines: Lines, title: str) -> dict[int, Fact[float]]:
    """Return the largest rate of a list of sizes for the device named above it."""
    start = lines.find(title)
    if start is None:
        return {}
    device = 0
    for text in lines.lines[:start]:
        if match := re.match(r"\s*Device ([0-9]{1,4}):", text):
            device = int(match[1])
    unit, found = "GB/s", list[Fact[float]]()
    for number in range(start + 1, len(lines.lines) + 1):
        fields = lines.fields(number)
        if match := re.search(r"Bandwidth\((.*)\)", lines.lines[number - 1]):
            unit = match[1]
            if unit not in UNITS:
                raise lines.fail(number, f"found {shown(unit)}, accepted {' or '.join(UNITS)}")
        if len(fields) == 2 and re.fullmatch(r"[0-9]{1,18}", fields[0]):
            rate = lines.number(fields[1], number, f"rate in {unit}") * UNITS[unit]
            found.append(Fact(rate, f"line {number}"))
        elif found:
            break
    if not found:
        raise lines.fail(start, f"found no rates below {shown(title)}, accepted sizes and rates")
    return {device: max(found, key=lambda fact: fact.value)}
