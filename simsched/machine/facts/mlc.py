"""Output of Intel Memory Latency Checker: latencies, idle and loaded, and bandwidths of nodes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simsched.machine.facts._lines import Lines
from simsched.machine.facts.contents import Fact, Facts, Matrix
from simsched.machine.facts.registry import fact_format

LEAST_ROWS = 4
MOST_SHARE, MOST_SLOPE, MOST_BEND = 0.9, 5.0, 0.95
FloatArray = NDArray[np.float64]
_MIX = re.compile(r"\s*(\d+):1 Reads-Writes\s*:\s*([\d.]+)")
BYTES_PER_MB = 1e6  # the tool says so itself
_TRANSFERS = {"near": ("Local Socket", "HITM"), "far": ("Remote Socket", "writer socket")}


def _is_mlc(head: bytes) -> bool:
    return b"Memory Latency Checker" in head[:4096]


@fact_format("mlc", recognises=_is_mlc)
def read_mlc(path: Path) -> Facts:
    """Return what an output of Intel Memory Latency Checker says, whatever parts it has."""
    lines = Lines(path)
    title = next((text.strip() for text in lines.lines if "Memory Latency Checker" in text), "")
    latency = _matrix(lines, "Measuring idle latencies", "idle latency in ns")
    bandwidth = _matrix(lines, "Measuring Memory Bandwidths between nodes", "bandwidth in MB/s")
    if latency is None and bandwidth is None:
        start = "Measuring idle latencies"
        raise lines.fail(
            len(lines.lines), f"found no table of latencies or bandwidths, accepted one ({start})"
        )
    if bandwidth is not None:
        scaled = tuple(tuple(v * BYTES_PER_MB for v in row) for row in bandwidth.values)
        bandwidth = Matrix(scaled, bandwidth.place)
    return Facts(
        "mlc",
        title or "Intel Memory Latency Checker",
        latency_ns=latency,
        bandwidth_bytes_per_s=bandwidth,
        write_weight=_write_weight(lines),
        transfer_ns=_transfers(lines),
        latency_growth=_growth(lines),
    )


def _growth(lines: Lines) -> Fact[tuple[float, float]] | None:
    """Return slope and bend of the latency under load, which fit the loaded latencies best.

    With a share u of the largest load, latencies are ``1 + slope u / (1 - bend u)`` times the least
    one. Loads of 90 % and more are left out: there the tool measures queues of its own.
    """
    heading = lines.find("Measuring Loaded Latencies")
    first = None if heading is None else lines.find("===", heading)
    if first is None:
        return None
    rows = []
    number = first + 1
    while len(fields := lines.fields(number)) == 3:
        rows.append([lines.number(text, number, "loaded latency") for text in fields[1:]])
        number += 1
    if len(rows) < LEAST_ROWS:
        return None
    from scipy.optimize import curve_fit

    latency, load = np.array(rows).T
    share = load / load.max()
    below = share < MOST_SHARE
    if np.count_nonzero(below) < LEAST_ROWS:
        return None

    def law(u: FloatArray, slope: float, bend: float) -> FloatArray:
        return 1.0 + slope * u / (1.0 - bend * u)

    relative = latency[below] / latency.min()
    limits = ([0.0, 0.0], [MOST_SLOPE, MOST_BEND])
    (slope, bend), _ = curve_fit(law, share[below], relative, p0=(0.3, 0.6), bounds=limits)
    return Fact((round(float(slope), 3), round(float(bend), 3)), f"line {first + 1}, below 90 %")


def _write_weight(lines: Lines) -> Fact[float] | None:
    """Return what a written byte costs: one for its fetch, and what mixes of reads and writes say.

    With r reads for a write, which the tool counts both, the peak is (r + 1) / (r + w) of that of
    reads alone, w being what a write costs in reads.
    """
    reads = lines.find("ALL Reads")
    if reads is None:
        return None
    alone = lines.number(lines.fields(reads)[-1], reads, "bandwidth in MB/s")
    found = []
    for number in range(reads + 1, min(reads + 5, len(lines.lines)) + 1):
        if match := _MIX.match(lines.lines[number - 1]):
            rate = lines.number(match[2], number, "bandwidth in MB/s")
            found.append((int(match[1]) + 1) * alone / rate - int(match[1]))
    if not found:
        return None
    weight = 1.0 + max(1.0, sum(found) / len(found))
    return Fact(round(weight, 2), f"line {reads}, mixes of reads and writes")


def _matrix(lines: Lines, start: str, what: str) -> Matrix | None:
    """Return the table between nodes that follows a heading, None without the heading."""
    heading = lines.find(start)
    if heading is None:
        return None
    header = lines.find("Numa node", heading)
    while header is not None and len(lines.fields(header)) == 2:  # the heading of the columns
        header = lines.find("Numa node", header)
    following = lines.find("Measuring", heading) or len(lines.lines) + 1
    if header is None or header > following:
        raise lines.fail(heading, f"{what}: found no table behind this line, accepted one by node")
    return lines.matrix(header + 1, lines.fields(header)[2:], what)


def _transfers(lines: Lines) -> dict[str, Fact[float]]:
    """Return latencies of lines that another core has modified, there and back, halved."""
    found: dict[str, Fact[float]] = {}
    for number, text in enumerate(lines.lines, 1):
        if text.startswith("Local Socket") and "HITM" in text:
            value = lines.number(text.split()[-1], number, "latency in ns")
            found["near"] = Fact(value / 2.0, f"line {number}")
        if text.startswith("Remote Socket") and "writer socket" in text:
            rows = [lines.fields(number + offset) for offset in range(3, 11)]
            values = [
                float(field)
                for row in rows
                for field in row[1:]
                if re.fullmatch(r"\d+\.\d+", field) and re.fullmatch(r"\d+", row[0])
            ]
            if values:
                found["far"] = Fact(sum(values) / len(values) / 2.0, f"line {number}")
    return found
