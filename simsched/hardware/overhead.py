"""What recording every event costs, measured on this host."""

from __future__ import annotations

import statistics
from typing import Any

from simsched.hardware.program import make_program
from simsched.hardware.runtime import execute

TASK_US = 20
TASKS_PER_WORKER = 250
PAIRS = 32


def tracing_overhead(workers: int, *, pairs: int = PAIRS) -> dict[str, Any]:
    """Return by which share tracing lengthens a run of tasks of 20 us.

    `overhead` is that of the shortest run of each kind, 0.01 being 1 %: among many runs of some
    milliseconds a few are left alone. `median_of_pairs` needs a host that is quiet most of the
    time. Runs with and without trace alternate, and which is first.
    """
    tasks = TASKS_PER_WORKER * workers
    params = {"shape": "tree", "tasks": tasks, "work_ns": TASK_US * 1000}
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(pairs):
        for trace in (number % 2 == 0, number % 2 == 1):
            recording = execute(
                make_program("spin", params), workers=workers, seed=number, trace=trace
            )
            times[trace].append(sum(recording.details["iteration_s"]))
    ratios = [with_ / without for with_, without in zip(times[True], times[False], strict=True)]
    return {
        "task_us": TASK_US,
        "overhead": min(times[True]) / min(times[False]) - 1.0,
        "pairs": pairs,
        "workers": workers,
        "tasks": tasks,
        "median_of_pairs": statistics.median(ratios) - 1.0,
    }
