"""How long tasks took and workers were busy, from any trace, simulated or measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import PER_PS
from simsched.trace.schema import EventKind, Trace

#: Events that begin a stretch of work of a task, and that end one.
OPENING = (EventKind.TASK_START, EventKind.TASK_RESUME)
CLOSING = (
    EventKind.SPAWN,
    EventKind.TASK_SUSPEND,
    EventKind.TASK_END,
    EventKind.PREEMPT,
    EventKind.KILL,
)


@dataclass(frozen=True)
class WorkTimes:
    """Time that workers spent in bodies and joins; spawning and searching are not part of it.

    One entry per stretch of work: a task has several when it spawns or is moved.
    """

    iteration: NDArray[np.int32]
    task: NDArray[np.int32]
    worker: NDArray[np.int32]
    seconds: NDArray[np.float64]

    def of_iterations(self, chosen: NDArray[np.bool_]) -> WorkTimes:
        """Return some of the entries."""
        return WorkTimes(
            self.iteration[chosen], self.task[chosen], self.worker[chosen], self.seconds[chosen]
        )

    def by_task(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the tasks of all iterations, (iteration, task) ascending, with their times."""
        key = self.iteration.astype(np.int64) << 32 | self.task
        unique, inverse = np.unique(key, return_inverse=True)
        seconds = np.zeros(len(unique))
        np.add.at(seconds, inverse, self.seconds)
        return (unique & 0xFFFFFFFF).astype(np.int32), seconds

    def by_worker(self, n_workers: int) -> NDArray[np.float64]:
        """Return the time of every worker; shape (n_workers,)."""
        seconds = np.zeros(n_workers)
        np.add.at(seconds, self.worker, self.seconds)
        return seconds


def work_times(trace: Trace) -> WorkTimes:
    """Return the stretches of work of a trace.

    A stretch begins when a worker starts or resumes a task and ends with what the worker does next:
    it spawns a child, suspends or ends the task, or loses it.
    """
    events = trace.events
    order = np.flatnonzero(np.isin(events["kind"], [*OPENING, *CLOSING]))
    order = order[np.argsort(events["worker"][order], kind="stable")]
    kind, worker = events["kind"][order], events["worker"][order]
    begin = np.flatnonzero(
        np.isin(kind[:-1], OPENING) & np.isin(kind[1:], CLOSING) & (worker[:-1] == worker[1:])
    )
    time = events["time_ps"][order]
    return WorkTimes(
        iteration=events["iteration"][order][begin].astype(np.int32),
        task=events["task"][order][begin].astype(np.int32),
        worker=worker[begin].astype(np.int32),
        seconds=(time[begin + 1] - time[begin]).astype(np.float64) * PER_PS,
    )


def iteration_times(trace: Trace) -> dict[int, tuple[float, float]]:
    """Return when each iteration began and ended, in seconds, by number; 0 is initialisation."""
    events = trace.events
    found: dict[int, tuple[float, float]] = {}
    starts = np.flatnonzero(events["kind"] == EventKind.ITERATION_START)
    ends = np.flatnonzero(events["kind"] == EventKind.ITERATION_END)
    for begin, end in zip(starts, ends, strict=True):
        number = int(events["iteration"][begin])
        found[number] = (
            float(events["time_ps"][begin]) * PER_PS,
            float(events["time_ps"][end]) * PER_PS,
        )
    return found


def makespan_s(trace: Trace) -> float:
    """Return the time from the start of iteration 1 to the end of the last one.

    The initialisation is left out: on hardware it takes page faults, which are not modelled.
    """
    spans = [span for number, span in iteration_times(trace).items() if number > 0]
    return spans[-1][1] - spans[0][0]
