"""One run of an experiment again, with its events, and these as tidy frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.analysis.idle import idle_causes
from simsched.analysis.lack import lack_of_tasks
from simsched.analysis.path import critical_path
from simsched.analysis.recordings import recording_of
from simsched.experiment.cell_run import repeated_run
from simsched.experiment.cells import Cell
from simsched.experiment.frames import with_units
from simsched.files.errors import ConfigurationError
from simsched.files.units import PER_PS
from simsched.trace.exporters._classes import Classes, TaskNames
from simsched.trace.exporters._timeline import Activity, timeline
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.trace.sink import Events, KeptEvents

if TYPE_CHECKING:
    import pandas as pd

#: More events are not kept: 40 bytes each, twice that for a moment.
MAX_EVENTS = 50_000_000


class _SomeIterations(KeptEvents):
    """A sink that keeps the events of some iterations."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self._first, self._last = first, last

    def append(self, events: Events) -> None:
        """Take the next batch; see :meth:`simsched.trace.sink.EventSink.append`."""
        number = events["iteration"]
        chosen = (number >= self._first) & (number <= self._last)
        if chosen.any():
            super().append({name: column[chosen] for name, column in events.items()})


def simulate_cell(
    cell: Cell, row: Mapping[str, Any], iterations: int | tuple[int, int] | None = None
) -> Run:
    """Simulate a cell again and keep the events of all or some iterations in memory.

    `row` is its result, with the number of events; `iterations` are the only one, or the first and
    the last one. More than `MAX_EVENTS` events are refused.
    """
    first, last = _range(iterations, len(row["iteration_s"]), row)
    share = (last - first + 1) / max(1, len(row["iteration_s"]))
    expected = round(row["events"] * min(1.0, share))
    if expected > MAX_EVENTS:
        raise ConfigurationError(
            f"{cell.label}: found about {expected:,} events, accepted up to {MAX_EVENTS:,} in "
            "memory; choose some iterations, such as iterations=(1, 3)"
        )
    sink = _SomeIterations(first, last)
    return replace(repeated_run(cell, sink), trace=sink.trace())


def _range(
    iterations: int | tuple[int, int] | None, count: int, row: Mapping[str, Any]
) -> tuple[int, int]:
    """Return the first and the last iteration that is asked for."""
    lowest = 0 if row["initialisation_s"] > 0.0 else 1
    highest = lowest + count - 1
    if iterations is None:
        return 0, max(highest, 1)
    first, last = (iterations, iterations) if isinstance(iterations, int) else iterations
    if not lowest <= first <= last <= highest:
        raise ConfigurationError(
            f"iterations: found {first} to {last}, accepted {lowest} to {highest}"
        )
    return first, last


def tasks_frame(run: Run) -> pd.DataFrame:
    """Return one row per stretch in which a worker is in a task: :meth:`simsched.Result.tasks`."""
    import pandas as pd

    assert run.trace is not None
    found = timeline(run.trace).intervals
    found = found.chosen(found.activity == Activity.TASK)
    classes = Classes(recording_of(run))
    names = np.array(classes.names, object)[classes.of(found.task, found.iteration)]
    domain = run.machine.thread_domain[run.worker_thread]
    called = TaskNames(run.workload)
    named = {"task_name": called.of(found.task, found.iteration)} if called.known else {}
    frame = pd.DataFrame(
        {
            "iteration": found.iteration,
            "task": found.task,
            **named,
            "task_class": pd.Categorical(names),
            "worker": found.worker,
            "domain": domain[found.worker],
            "start_s": found.start_ps * PER_PS,
            "end_s": found.end_ps * PER_PS,
            "duration_s": (found.end_ps - found.start_ps) * PER_PS,
            "memory_bytes": found.extra,
            "begins": found.first,
            "ends": found.last,
        }
    )
    return with_units(frame)


def events_frame(run: Run) -> pd.DataFrame:
    """Return one row per event; kinds are categories by name."""
    import pandas as pd

    assert run.trace is not None
    names = pd.Index([kind.name.lower() for kind in EventKind])
    columns: dict[str, Any] = dict(run.trace.events)
    columns["kind"] = pd.Categorical.from_codes(columns["kind"], categories=names)
    return with_units(pd.DataFrame(columns))


def idle_frame(run: Run) -> pd.DataFrame:
    """Return one row per worker and cause of its idle time: :meth:`simsched.Result.idle`."""
    import pandas as pd

    domain = run.machine.thread_domain[run.worker_thread].tolist()
    rows = [
        {
            "worker": worker,
            "domain": domain[worker],
            "cause": cause,
            "detail": detail,
            "idle_ps": int(time),
            "idle_s": int(time) * PER_PS,
        }
        for (cause, detail), times in idle_causes(run).ps.items()
        for worker, time in enumerate(times.tolist())
        if time
    ]
    columns = ["worker", "domain", "cause", "detail", "idle_ps", "idle_s"]
    return with_units(pd.DataFrame(rows, columns=columns))


def path_frame(run: Run) -> pd.DataFrame:
    """Return one row per piece of the path: :meth:`simsched.Result.critical_path`."""
    import pandas as pd

    path = critical_path(run)
    classes = Classes(recording_of(run))
    names = np.array([*classes.names, ""], object)
    known = path.task >= 0
    place = np.full(len(path.task), len(classes.names))
    place[known] = classes.of(path.task[known], path.iteration[known])
    called = TaskNames(run.workload)
    named = {}
    if called.known:
        text = np.full(len(path.task), "", object)
        text[known] = called.of(path.task[known], path.iteration[known])
        named = {"task_name": text}
    frame = pd.DataFrame(
        {
            "iteration": path.iteration,
            "activity": path.activity,
            "task": path.task,
            **named,
            "task_class": names[place],
            "worker": path.worker,
            "start_s": path.start_ps * PER_PS,
            "end_s": path.end_ps * PER_PS,
            "duration_s": (path.end_ps - path.start_ps) * PER_PS,
        }
    )
    return with_units(frame)


def lack_frame(run: Run, bins: int) -> pd.DataFrame:
    """Return one row per bin of time: :meth:`simsched.Result.ready_tasks`."""
    import pandas as pd

    lack = lack_of_tasks(run, bins)
    return with_units(
        pd.DataFrame(
            {
                "start_s": lack.edges_ps[:-1] * PER_PS,
                "end_s": lack.edges_ps[1:] * PER_PS,
                "ready_tasks": lack.ready,
                "idle_workers": lack.idle,
            }
        )
    )
