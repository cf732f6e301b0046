"""Measure the engines: ``python -m benchmarks``, or ``make bench``."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path

from benchmarks import table
from benchmarks.cases import CASES, Case
from benchmarks.rows import Row, compare_backends, measure_case

RESULTS = Path(__file__).resolve().parent / "results"


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
    print(table.heading(), flush=True)
    rows = []
    for case in cases:
        rows.append(_row(case, options))
        print(table.line(rows[-1]), flush=True)
    print("\n" + table.closing(rows, quick=options.quick, repeat=options.repeat))
    if len(cases) == len(CASES) and not options.quick:
        table.write_results(RESULTS, rows)
    return 1 if any(row.wrong for row in rows) else 0


def _row(case: Case, options: argparse.Namespace) -> Row:
    """Return the row of a case with the comparisons that are wanted."""
    row = measure_case(case, quick=options.quick, repeat=options.repeat)
    if case.compare and not options.quick and not options.no_comparison:
        compare_backends(case, row, options.repeat)
    return row


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
