"""Measures studies of small programs: ``python -m benchmarks.studies [--runs N]``.

A row is what one of many runs that differ in their seed takes in the mean: a call of
:func:`simsched.simulate`, a row of :func:`simsched.simulate_many` without what the kernel takes,
and a stored run of :func:`simsched.run`, in this process and in two. A few runs come before, so
that loading modules is not counted. Where all leaves of a tree take 1 ms
on equal cores without runtime costs, random stealing is greedy: it takes at least the work over the
workers, and at most a leaf more. A mistake ends with exit code 1, a missed budget is named.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import simsched
from benchmarks.instances import equal_cores
from simsched.engine import run as engine_run
from simsched.engine.native import NativeBackend
from simsched.policy.contract.registry import make_policy
from simsched.workload.registry import generate_workload

WORKERS, DEPTH, LEAF_S = 64, 8, 1e-3
TASKS, WORK_S = 2 ** (DEPTH + 1) - 1, 2**DEPTH * LEAF_S
WARM = 10  #: runs before

#: Makespan and number of tasks of a run.
Told = tuple[float, int]


@dataclass(frozen=True)
class Study:
    """One row.

    Parameters
    ----------
    name : str
        Unique.
    runs : callable
        Makes so many runs and yields what each has come to.
    budget_ms : float
        Milliseconds of wall-clock time for a run.
    beyond : Kernel, optional
        Whose time is left out.
    """

    name: str
    runs: Callable[[int], Iterator[Told]]
    budget_ms: float
    beyond: Kernel | None = None


class Kernel:
    """Makes the runs of `simulate_many`, and notes the time that the kernel has taken for them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def runs(self, count: int) -> Iterator[Told]:
        """Yield what rows of `simulate_many` come to."""
        workload = generate_workload("fork_join", {"depth": DEPTH})
        many = simsched.simulate_many(equal_cores(WORKERS), workload, "random_stealing", count)
        self.seconds = 0.0
        with patch.object(engine_run, "make_backend", self._made):
            frame = many.frame()
        yield from zip(frame.makespan_s.tolist(), frame.tasks.tolist(), strict=True)

    def _made(self, name: str, *given: Any, **more: Any) -> NativeBackend:
        """Return a native engine that is timed."""
        assert name == "native"
        kernel = self

        class Timed(NativeBackend):
            def tallies(self, *given: Any) -> Any:
                begin = time.perf_counter()
                rows = super().tallies(*given)
                kernel.seconds += time.perf_counter() - begin
                return rows

        return Timed(*given, **more)


def simulated(count: int) -> Iterator[Told]:
    """Yield what calls of `simulate` come to."""
    machine, policy = equal_cores(WORKERS), make_policy("random_stealing")
    workload = generate_workload("fork_join", {"depth": DEPTH})
    for seed in range(count):
        run = simsched.simulate(machine, workload, policy, seed=seed)
        yield run.makespan_s, run.summary.n_tasks


def stored(jobs: int) -> Callable[[int], Iterator[Told]]:
    """Return what yields the runs of a study in some processes."""

    def runs(count: int) -> Iterator[Told]:
        workload = generate_workload("fork_join", {"depth": DEPTH})
        with tempfile.TemporaryDirectory() as folder:
            things = equal_cores(WORKERS), workload, ["random_stealing"]
            found = simsched.run(*things, seeds=count, jobs=jobs, output=folder)
        yield from ((row["makespan_s"], row["tasks"]) for row in found.outcome.rows)

    return runs


KERNEL = Kernel()
STUDIES = (
    Study("simulate", simulated, 0.3),
    Study("many", KERNEL.runs, 0.1, KERNEL),
    Study("run", stored(1), 1.0),
    Study("run-2", stored(2), 1 / 1.5),
)


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each row; return 1 if an answer is wrong, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, metavar="N", help="2000 by default")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="the fastest counts")
    options = parser.parse_args(arguments)
    mistakes = 0
    for study in STUDIES:
        times = []
        for _ in range(options.repeat):
            list(study.runs(WARM))
            begin = time.perf_counter()
            found = list(study.runs(options.runs))
            left_out = 0.0 if study.beyond is None else study.beyond.seconds
            times.append((time.perf_counter() - begin - left_out) * 1e3 / options.runs)
            mistakes += len(found) != options.runs or not all(map(is_right, found))
        missed = "  missed" if min(times) > study.budget_ms else ""
        print(f"{study.name:10} {min(times):7.3f} ms a run of {study.budget_ms:.3f}{missed}")
    if mistakes:
        print("WRONG: runs with other tasks, or outside of the bounds of greedy schedules")
    return 1 if mistakes else 0


def is_right(told: Told) -> bool:
    """Return whether a run has executed all tasks within the bounds of greedy schedules."""
    makespan_s, tasks = told
    least_s, rounding_s = WORK_S / WORKERS, 1e-9
    return bool(tasks == TASKS and -rounding_s < makespan_s - least_s < LEAF_S + rounding_s)


if __name__ == "__main__":
    raise SystemExit(main())
