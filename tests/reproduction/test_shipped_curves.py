"""Shipped machines held against the memory benchmarks that were measured on the same processors."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from simsched.reproduction.curves import Compared, Point, by_machine, compare_curves

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT.parent / "shared" / "data" / "measured"
REPORT = ROOT / "docs" / "validation" / "memory.md"

pytestmark = pytest.mark.skipif(not MEASURED.is_dir(), reason="needs measurements of real machines")


def rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of measurements."""
    path = MEASURED / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from csv.DictReader(file)


def rate(
    machine: str, kernel: str, placement: str, threads: int, gb_per_s: float, used: bool
) -> Point:
    """Return a measured rate."""
    return Point(machine, kernel, placement, threads, gb_per_s, "gb_per_s", used, "")


def knl_7210() -> Iterator[Point]:
    """Yield copies on one node of MCDRAM or DDR4, in modes that are shipped."""
    modes = {"A2A": "knl_a2a", "Quad": "knl_quadrant", "SNC4": "knl_snc4"}
    for row in rows("knl_7210/stream_long.csv"):
        mode, _, memory = row["mode"].partition("-")
        if row["kernel"] == "copy":
            node = "hbm0" if memory == "flat" and row["memory"] == "MCDRAM" else "dram0"
            machine, threads = f"{modes[mode]}_{memory}", int(row["threads"])
            used = threads in (1, 2, 64, 256)
            yield rate(machine, "copy", node, threads, float(row["MBps"]) / 1e3, used)


def xeon_6548y() -> Iterator[Point]:
    """Yield reads by cores of one socket: from its own memory, the other's, and both."""
    placements = {
        "local_single": "local",
        "remote_single": "remote",
        "mixed_single": "interleaved",
    }
    for row in rows("xeon_6548y/upi_bandwidth_by_threads.csv"):
        placement, threads = placements[row["policy"]], int(row["threads"])
        used = placement != "interleaved" and threads in (1, 32)
        value = float(row["app_bandwidth_GBps"])
        yield rate("xeon_6548y", "load", placement, threads, value, used)


def by_cores(measured: str, machine: str, domain: int) -> Callable[[], Iterator[Point]]:
    """Return what yields likwid-bench's kernels; used are loads of one core and of a domain."""

    def points() -> Iterator[Point]:
        for row in rows("bandwidth_by_cores/bandwidth_by_cores.csv.gz"):
            if (row["machine"], row["level"], row["threads_per_core"]) == (measured, "MEM", "1"):
                cores, value = int(row["cores"]), float(row["bandwidth"].removesuffix(" GB/s"))
                used = row["kernel"] == "load" and cores in (1, domain)
                yield rate(machine, row["kernel"], "local", cores, value, used)

    return points


def loaded(machine: str, threads: int, curve: Sequence[tuple[float, float]]) -> Iterator[Point]:
    """Yield latencies in ns by GB/s below 90 % of the most; the first one is the idle one."""
    most = max(load for load, _ in curve)
    for load, ns in curve:
        if load < 0.9 * most and load > 0.0:
            yield Point(machine, "chase", "local", threads, ns, "ns", False, "", load)


def xeon_8360y() -> Iterator[Point]:
    """Yield latencies under load of both sockets' reads."""
    text = (MEASURED / "mlc/icelake_mlc.txt").read_text().partition("Loaded Latencies")[2]
    found = re.findall(r"^ \d{5}\t\s*([\d.]+)\t\s*([\d.]+)$", text, re.MULTILINE)
    return loaded("xeon_8360y", 72, [(float(mb) / 1e3, float(ns)) for ns, mb in found])


def xeon_6980p() -> Iterator[Point]:
    """Yield latencies under load of both sockets' reads."""
    curve = [
        (float(row["bandwidth_MBps"]) / 1e3, float(row["latency_ns"]))
        for row in rows("xeon_6980p/loaded_latency.csv")
        if row["machine"] == "xeon6980p_x2_snc3"
    ]
    return loaded("xeon_6980p_snc3", 256, curve)


def xeon_max_9480() -> Iterator[Point]:
    """Yield latencies of HBM under the load of one socket, of which 50 to 82 % are reads."""
    by_mix: dict[str, list[tuple[float, float]]] = {}
    for row in rows("mess/xeon_max_hbm.csv"):
        pair = float(row["bandwidth_mean"]), float(row["latency_mean"])
        by_mix.setdefault(row["read_pct_rounded"], []).append(pair)
    for curve in by_mix.values():
        yield from loaded("xeon_max_9480", 56, curve)


CURVES = {
    "Xeon Phi 7210, copy": knl_7210,
    "2 x Xeon Gold 6548Y+, load": xeon_6548y,
    "EPYC 7451, five kernels": by_cores("Zen_EPYC-7451", "epyc_7451", 6),
    "A64FX, five kernels": by_cores("A64FX_qpace4", "a64fx", 12),
    "2 x Xeon 8360Y, latency": xeon_8360y,
    "2 x Xeon 6980P, latency": xeon_6980p,
    "2 x Xeon Max 9480, latency": xeon_max_9480,
}


TASKS = """\
extends: xeon_8360y
description: two sockets of 16 cores, and what tasks cost under a runtime
sources:
  fib: {{kind: measured, reference: "fib(32) by 7,049,155 calls, ConorWilliams/libfork"}}
sockets:
  - {{count: [2, fib], domains: [1, fib], cores: {{icelake: [16, fib]}}}}
caches: {{}}
costs:
  spawn_child_first: [{spawn} ns, "fib: two threads, less a continuation for two calls"]
  spawn_parent_first: [{spawn} ns, fib]
  pop: [10 ns, assumed]
  lock_hold: [{lock} ns, "fib: two threads, a push and a pop for each call"]
  steal_probe: [[50 ns, 50 ns, 120 ns], "assumed: as imported machines have it"]
  steal: [[100 ns, 100 ns, 240 ns], "assumed: as imported machines have it"]
"""
#: By runtime: name in the measurements, policy, threads used, ns of a spawn and of a lock.
RUNTIMES = {
    "libfork, lazy": ("fib_libfork<lazy_pool, numa_strategy::seq>", "cilk", 2, 12.0, 0.0),
    "libfork, busy": ("fib_libfork<busy_pool, numa_strategy::seq>", "cilk", 2, 6.5, 0.0),
    "Taskflow": ("fib_taskflow", "work_sharing", 2, 0.0, 71.5),
    "GNU OpenMP": ("fib_omp", "cilk", 2, 266.0, 0.0),
}


@pytest.mark.accuracy
@pytest.mark.parametrize("name", RUNTIMES)
def test_trees_of_tasks_beside_measurements(name: str, tmp_path: Path, record: Any) -> None:
    benchmark, policy, used, spawn, lock = RUNTIMES[name]
    machine = tmp_path / "runtime.yaml"
    machine.write_text(TASKS.format(spawn=spawn, lock=lock), encoding="utf-8")
    points = [
        Point(str(machine), "fib32", policy, n, float(row["real_time"]), "ms", n == used, "")
        for row in rows("task_overhead/lovelace_fib.csv")
        if row["benchmark"] == benchmark and row["aggregate"] == "median"
        for n in [int(row["threads"])]
    ]
    compared = list(compare_curves(points))
    record.curves(f"fib(32), {name}", {name: compared})
    (line,) = by_machine(compared)
    figures = [f"{line[key]:.1f} %" for key in ("median_error_percent", "p90_error_percent")]
    (stated,) = (
        text.strip("| \n").split(" | ")
        for text in REPORT.read_text().splitlines()
        if text.startswith(f"| {name} | ")
    )
    assert stated == [name, f"`{policy}`", str(line["used"]), str(line["predicted"]), *figures]


def by_label(compared: Sequence[Compared]) -> dict[str, list[Compared]]:
    """Return the points of a benchmark by machine."""
    found: dict[str, list[Compared]] = {}
    for row in compared:
        found.setdefault(row.point.machine, []).append(row)
    return found


@pytest.mark.accuracy
@pytest.mark.parametrize("name", CURVES)
def test_shipped_machines_beside_measurements(name: str, record: Any) -> None:
    stated = [
        line.strip("| \n").split(" | ")
        for line in REPORT.read_text().splitlines()
        if line.startswith(f"| {name} | ")
    ]
    compared = list(compare_curves(list(CURVES[name]())))
    found = []
    for line in by_machine(compared):
        errors = (
            line["median_error_percent"],
            line["p90_error_percent"],
            line["yardstick_median_error_percent"],
        )
        figures = ("" if error is None else f"{error:.1f} %" for error in errors)
        counts = str(line["used"]), str(line["predicted"])
        found.append([name, f"`{line['machine']}`", *counts, *figures])
    assert [row.problem for row in compared if row.problem] == []
    record.curves(f"memory of {name}", by_label(compared))
    assert stated == [[cell for cell in row if cell] for row in found]
