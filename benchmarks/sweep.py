"""Measures how well sweeps use the cores: ``python -m benchmarks.sweep [--cells N] [--repeat N]``.

One experiment of N cells of a few tenths of a second each runs as one job, then as two jobs, whole
commands with start and table. Two commands of one job with half of the cells each, started
together, show what the machine itself makes of two processes: they have nothing to do with each
other but the machine's memory and clock. The three are repeated in turn and the fastest count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXPERIMENT = """\
name: cells
description: Cells that compute for a few tenths of a second.
machines: [knl_snc4_flat]
workloads: [{{name: heat_16gb_coarse, label: heat, iterations: 30}}]
policies: [cilk_a]
seeds: [{seeds}]
baseline: cilk_a
metrics: [makespan_s]
"""


def main(arguments: list[str] | None = None) -> int:
    """Print the times and the efficiency."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("--cells", type=int, default=200, metavar="N")
    parser.add_argument("--repeat", type=int, default=2, metavar="N")
    options = parser.parse_args(arguments)
    if options.cells < 2 or options.repeat < 1:
        print("--cells: accepted 2 or more; --repeat: accepted 1 or more", file=sys.stderr)
        return 2
    seeds = list(range(options.cells))
    times: dict[str, list[float]] = {"one": [], "two": [], "apart": []}
    for _ in range(options.repeat):
        times["one"].append(_seconds([(seeds, 1)]))
        times["two"].append(_seconds([(seeds, 2)]))
        times["apart"].append(_seconds([(seeds[::2], 1), (seeds[1::2], 1)]))
    one, two, apart = (min(times[key]) for key in ("one", "two", "apart"))
    print(f"{options.cells} cells, one job: {one:.1f} s, {one / options.cells:.3f} s per cell")
    print(f"two jobs: {two:.1f} s, {one / (2 * two):.1%} of two cores")
    print(f"two commands of one job: {apart:.1f} s, {one / (2 * apart):.1%} of two cores")
    return 0


def _seconds(parts: list[tuple[list[int], int]]) -> float:
    """Return how long commands for the given seeds and jobs take when they start together."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = []
        for number, (seeds, jobs) in enumerate(parts):
            file = folder / f"cells{number}.yaml"
            text = EXPERIMENT.format(seeds=", ".join(map(str, seeds)))
            file.write_text(text, encoding="utf-8")
            command = [sys.executable, "-m", "simsched", "run", str(file), "--quiet"]
            commands.append([*command, "--jobs", str(jobs), "--output", str(folder / str(number))])
        begin = time.perf_counter()
        running = [
            subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.DEVNULL)
            for command in commands
        ]
        codes = [process.wait() for process in running]
        seconds = time.perf_counter() - begin
    if any(codes):
        raise SystemExit(f"a command ended with exit code {max(codes)}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
