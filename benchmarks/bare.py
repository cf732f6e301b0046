"""Times bare algorithms beside the kernel: ``python -m benchmarks.bare [--misses]``.

The kernel's part is HEAT (16 GB) on Knights Landing, replayed without Python; of it the time and
the events of the event loop count. Beside it stand a heap and a computation of rates that do
nothing else (bare.c), with as many entries and flows as in that run. What they compute is checked
in Python first. With `--misses`, ``valgrind --tool=callgrind`` simulates caches of 32 KB and 1 MB.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks import instances, instructions
from simsched.engine.native import build_config

_SOURCE = Path(__file__).resolve().with_suffix(".c")
_MASK = 2**64 - 1
_CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,8,64")
#: Arguments of a check, of both kinds and both arities.
CHECKS = (
    ("heap", 2, 100, 2_000),
    ("heap", 4, 9, 2_000),
    ("rates", 62, 2, 50),
    ("rates", 40, 9, 50),
)
#: What is timed, with the number of operations last.
ROWS = {
    "binary heap, 256 entries": ("heap", 2, 256, 2_000_000),
    "4-ary heap, 256 entries": ("heap", 4, 256, 2_000_000),
    "4-ary heap, 8 entries": ("heap", 4, 8, 2_000_000),
    "rates of 62 flows, one resource": ("rates", 62, 2, 200_000),
    "rates of 256 flows, 9 resources": ("rates", 256, 9, 50_000),
}


def draws() -> Iterator[int]:
    """Yield the program's random numbers."""
    state = 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        yield z ^ (z >> 31)


def expected_heap(n_entries: int, operations: int) -> float:
    """Return the checksum of a heap, from Python's own."""
    drawn, total = draws(), 0
    heap = [(next(drawn) >> 44, number) for number in range(n_entries)]
    heapq.heapify(heap)
    for _ in range(operations):
        time, number = heap[0]
        total = (31 * total + number) & _MASK
        heapq.heapreplace(heap, (time + (next(drawn) >> 44), number))
    return float(total >> 12)


def fair_rates(ways: list[int], n_resources: int) -> list[Fraction]:
    """Return max-min fair rates exactly: one full resource, or the cap, after the other."""
    crossed = [
        {way, n_resources - 1} if i % 3 == 0 and n_resources > 2 else {way}
        for i, way in enumerate(ways)
    ]
    rates: dict[int, Fraction] = {}
    while len(rates) < len(ways):
        level, full = Fraction(1, 4), None
        for x in range(n_resources):
            users = [i for i in range(len(ways)) if x in crossed[i]]
            rising = [i for i in users if i not in rates]
            share = (1 - sum((rates.get(i, Fraction(0)) for i in users), Fraction(0))) / max(
                len(rising), 1
            )
            if rising and share < level:
                level, full = share, x
        for i in range(len(ways)):
            if i not in rates and (full is None or full in crossed[i]):
                rates[i] = level
    return [rates[i] for i in range(len(ways))]


def expected_rates(n_flows: int, n_resources: int, changes: int) -> float:
    """Return the checksum of computations of rates, from :func:`fair_rates`."""
    drawn = draws()
    ways = [i % (n_resources - 1) for i in range(n_flows)]
    total = Fraction(0)
    for _ in range(changes):
        number = next(drawn)
        ways[(number >> 32) % n_flows] = (number & 0xFFFFFFFF) % (n_resources - 1)
        for rate in fair_rates(ways, n_resources)[:: n_flows // 4 + 1]:
            total += rate
    return float(total)


def build(folder: Path) -> Path:
    """Compile the bare algorithms with the flags of the installed kernel."""
    program = folder / "bare"
    compiler = instructions.find_compiler()
    flags = str(build_config()["flags"]).split()
    command = [compiler, *flags, "-std=c11", str(_SOURCE), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def run(*command: object) -> dict[str, Any]:
    """Return what a program prints."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    )
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def wrong_checks(program: Path) -> list[str]:
    """Return a sentence for every check that fails."""
    found = []
    for kind, first, second, n in CHECKS:
        expected = expected_heap(second, n) if kind == "heap" else expected_rates(first, second, n)
        checksum = run(program, kind, first, second, n)["checksum"]
        if not math.isclose(checksum, expected, rel_tol=1e-9):
            found.append(f"{kind} {first} {second} {n}: found {checksum!r}, expected {expected!r}")
    return found


def misses(command: list[str], folder: Path, counted: str) -> tuple[float, float]:
    """Return simulated misses of data in both caches, within a function."""
    report = folder / "callgrind"
    valgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={report}", *_CACHES]
    subprocess.run(
        [*valgrind, f"--toggle-collect={counted}", *command], capture_output=True, check=True
    )
    text = report.read_text(encoding="utf-8")
    names = re.search(r"^events: (.*)$", text, re.MULTILINE)
    totals = re.search(r"^totals: (.*)$", text, re.MULTILINE)
    assert names is not None
    assert totals is not None
    found = dict(zip(names[1].split(), map(int, totals[1].split()), strict=False))
    return found["D1mr"] + found["D1mw"], found["DLmr"] + found["DLmw"]


def measure(folder: Path, *, with_misses: bool, repeat: int = 5) -> Iterator[str]:
    """Yield the lines of the table: nanoseconds, and misses if wanted, per operation or event."""
    replay, recording, bare = instructions.build(folder), folder / "run", build(folder)
    instructions.write_run(instances.heat(3, policy="cilk_h"), recording)
    commands: dict[str, list[object]] = {"the kernel, HEAT with `cilk_h`": [replay, recording]}
    commands |= {name: [bare, *row] for name, row in ROWS.items()}
    yield "| what | ns |" + (" misses, 32 KB | misses, 1 MB |" if with_misses else "")
    yield "| --- | --- |" + (" --- | --- |" if with_misses else "")
    for name, command in commands.items():
        runs = [run(*command) for _ in range(repeat)]
        line = f"| {name} | {min(one['ns'] for one in runs):.0f} |"
        if with_misses:
            words = [str(word) for word in command]
            n, counted = runs[0].get("events", command[-1]), "counted_events"
            if command[0] == bare:
                n, counted = int(words[-1]) // 20, "main"
                words[-1] = str(n)
            near, far = misses(words, folder, counted)
            line += f" {near / n:.1f} | {far / n:.2f} |"
        yield line


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 if a program computes something wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bare")
    parser.add_argument("--misses", action="store_true", help="simulate caches, too")
    options = parser.parse_args(arguments)
    if options.misses and shutil.which("valgrind") is None:
        print("--misses: valgrind is not installed", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        try:
            wrong = wrong_checks(build(Path(name)))
            if not wrong:
                for line in measure(Path(name), with_misses=options.misses):
                    print(line, flush=True)
        except instructions.UnavailableError as reason:
            print(f"nothing is compared: {reason}", file=sys.stderr)
            return 2
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
