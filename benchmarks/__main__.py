"""Measure the engines: ``python -m benchmarks``, or ``make bench``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from benchmarks import document, table
from benchmarks.cases import CASES, Case
from benchmarks.peer import Peer, build_peer
from benchmarks.rows import Row, compare_backends, compare_peer, measure_case


def main(arguments: list[str] | None = None) -> int:
    """Return 1 if a makespan or a number of events is wrong, 0 otherwise."""
    options = _parse(arguments)
    cases = [case for case in CASES if any(fnmatch(case.name, name) for name in options.only)]
    if not cases:
        names = ", ".join(case.name for case in CASES)
        print(f"--only: no such case; there are {names}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    if options.repeat < 1:
        print(f"--repeat: found {options.repeat}, accepted 1 or more", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        compares = not (options.quick or options.no_comparison)
        peer = build_peer(Path(folder)) if compares else None
        rows = _run(cases, options, peer)
    print("\n" + table.closing(rows, quick=options.quick, repeat=options.repeat))
    if peer is not None:
        print(peer.note)
    if len(cases) == len(CASES) and compares:
        table.write_results(document.RESULTS, rows)
        document.update()
    return 1 if any(row.wrong for row in rows) else 0


def _run(cases: list[Case], options: argparse.Namespace, peer: Peer | None) -> list[Row]:
    """Return the rows of all cases; print each as soon as it is there."""
    print(table.heading(), flush=True)
    rows = []
    for case in cases:
        row = measure_case(case, quick=options.quick, repeat=options.repeat)
        if peer is not None:
            if case.compare:
                compare_backends(case, row, options.repeat)
            compare_peer(case, row, peer, options.repeat)
        rows.append(row)
        print(table.line(row), flush=True)
    return rows


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        default=["*"],
        metavar="CASE",
        help="cases to run; * stands for anything; results are written only when all have run",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing is compared")
    parser.add_argument("--repeat", type=int, default=3, help="processes per case, 3 by default")
    parser.add_argument(
        "--no-comparison", action="store_true", help="do not run the simpy backend or SimGrid"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
