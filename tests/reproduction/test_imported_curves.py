"""Machines that are imported from two rows of a table, held against their whole curves."""

from __future__ import annotations

import csv
import gzip
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simsched.machine.facts import described
from simsched.reproduction.curves import Compared, Point, by_machine, compare_curves

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT.parent / "shared" / "data" / "measured" / "bandwidth_by_cores"
REPORT = ROOT / "docs" / "validation" / "memory.md"

pytestmark = pytest.mark.skipif(not MEASURED.is_dir(), reason="needs measurements of real machines")


def numactl(sockets: int, domains: int, cores: int) -> str:
    """Return what the system says of sockets with some domains each, of some cores each."""
    n = sockets * domains
    lines = [f"available: {n} nodes (0-{n - 1})"]
    for node in range(n):
        cpus = " ".join(str(node * cores + core) for core in range(cores))
        lines += [f"node {node} cpus: {cpus}", f"node {node} size: 65536 MB"]
    lines += ["node distances:", "node " + " ".join(map(str, range(n)))]
    for one in range(n):
        far = (
            10 if one == other else 12 if one // domains == other // domains else 21
            for other in range(n)
        )
        lines.append(f"{one}: " + " ".join(map(str, far)))
    return "\n".join(lines) + "\n"


def measured() -> dict[str, dict[tuple[str, int], float]]:
    """Return GB/s of each machine by kernel and cores, with one thread on each core."""
    with gzip.open(MEASURED / "bandwidth_by_cores.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["level"] == "MEM"]
    found: dict[str, dict[tuple[str, int], float]] = {}
    for row in rows:
        if row["threads_per_core"] == "1":
            rate = float(row["bandwidth"].removesuffix(" GB/s"))
            found.setdefault(row["machine"], {})[row["kernel"], int(row["cores"])] = rate
    return found


def imported(folder: Path) -> Iterator[tuple[str, list[Compared]]]:
    """Yield each machine, made from loads and copies of one core and of one domain."""
    with (MEASURED / "machines.csv").open() as file:
        layout = {row["machine"]: row for row in csv.DictReader(file)}
    for name, rates in measured().items():
        cores = int(layout[name]["cores_per_numa"])
        used = (1, cores)
        system, table = folder / f"{name}.numactl", folder / f"{name}.csv"
        system.write_text(numactl(2, int(layout[name]["numa_per_socket"]), cores))
        given = [f"{n},{rates['load', n]},{rates['copy', n]}\n" for n in used]
        table.write_text("cores,load_GBps,copy_GBps\n" + "".join(given))
        machine = folder / f"{name}.yaml"
        machine.write_text(described([system, table]).text)
        points = [
            Point(
                *(str(machine), kernel, "local", n, rate, "gb_per_s"),
                is_used=kernel in ("load", "copy") and n in used,
                where="",
            )
            for (kernel, n), rate in rates.items()
        ]
        yield name, list(compare_curves(points))


@pytest.mark.accuracy
def test_machines_from_two_rows_predict_their_curves(tmp_path: Path, record: Any) -> None:
    stated = dict(re.findall(r"^\| (\w[\w.-]+) \| (4 \| .*) \|$", REPORT.read_text(), re.MULTILINE))
    errors: list[float] = []
    compared: dict[str, list[Compared]] = {}
    for name, rows in imported(tmp_path):
        (line,) = by_machine(rows)
        compared[name] = rows
        errors += [abs(row.error_percent or 0.0) for row in rows if not row.point.is_used]
        keys = ("median_error_percent", "p90_error_percent", "yardstick_median_error_percent")
        figures = [str(line["used"]), str(line["predicted"]), *(f"{line[k]:.1f} %" for k in keys)]
        assert stated[name.partition("_")[0] + "_" + name.partition("_")[2]] == " | ".join(figures)
    record.curves("memory bandwidth of imported machines", compared)
    assert len(stated) == 8
    assert statistics.median(errors) <= 4.0
    assert np.percentile(errors, 90) <= 10.0
