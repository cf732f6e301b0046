"""Measured OpenMP task statistics of the MIR runtime as a recording.

Columns and what they mean are described in :mod:`simsched.workload.importers.mir`, which reads the
file and makes the graph: all tasks, as a spawn tree. What happened when:

* A leaf runs without interruption, so it started `exec_cycles` before its ``exec_end_instant``.
* An inner task is active in pieces: between its spawns, and in its wait whenever its core does not
  run another task. The file has its end and the sum of the pieces, not where they lie. So inner
  tasks have no events; they are counted as set aside. ``details["core_busy_s"]`` has the work of
  all tasks by core and the creation of their children. The search for work inside waits is not in
  it: a simulated worker that searches is idle, too.

Time begins at the latest instant at which the first task can have started; see
`simsched.workload.importers.measured.Measured`. The iteration ends when the last task, leaf or not,
has ended. Workers are the cores that ran something.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from simsched.files.errors import ConfigurationError, TraceError
from simsched.files.units import PS_PER_S, parse_frequency
from simsched.trace.importers._events import make_trace, overlapping
from simsched.trace.importers.registry import by_head, trace_importer
from simsched.trace.recording import Recording
from simsched.workload.importers import import_measured
from simsched.workload.importers.mir import looks_like_mir

LIMIT_PS = 2**62
INNER = "inner tasks: the file does not say when they were active"
OVERLAP = "leaves that start before an earlier one on the same core has ended"


@trace_importer("mir", recognises=by_head(looks_like_mir))
def import_mir_recording(path: Path, *, clock: str | None = None) -> Recording:
    """Measured OpenMP task statistics of the MIR runtime, CSV.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    clock : str
        Frequency of the cycles, with its unit: ``"2.1 GHz"``.
    """
    hertz = _hertz(path, clock)
    found = import_measured(path, format="mir")
    workload, measured = found.workload, found.measured
    leaves = workload.graph.leaves.astype(np.int64)
    # Whole cycles up to 2**53, so differences are exact.
    end = measured.end_cycles[leaves] - measured.spawn_start_cycles
    ps = PS_PER_S / hertz
    span = float(measured.end_cycles.max()) - measured.spawn_start_cycles
    if not span * ps < LIMIT_PS:
        lasts = f"found a run of {span / hertz:g} s at this clock"
        raise TraceError(f"{path}: {lasts}, accepted less than {LIMIT_PS // PS_PER_S} s")
    start_ps = np.rint((end - measured.exec_cycles[leaves]) * ps).astype(np.int64)
    end_ps = np.rint(end * ps).astype(np.int64)
    worker = measured.task_core[leaves].astype(np.int64)
    wrong = overlapping(worker, start_ps, end_ps)
    keep = ~wrong
    if wrong.all():
        raise TraceError(f"{path}: found no leaf that can be placed in time")
    counts = {INNER: workload.graph.n_tasks - len(leaves), OVERLAP: int(wrong.sum())}
    aside = {reason: count for reason, count in counts.items() if count}
    n_tasks = workload.graph.n_tasks
    speed = {"reference_speed": hertz, "reference_speed_source": "option clock"}
    return Recording(
        name=workload.name,
        trace=make_trace(
            leaves[keep],
            worker[keep],
            start_ps[keep],
            end_ps[keep],
            n_tasks=n_tasks,
            until_ps=round(span * ps),
        ),
        task_class=workload.graph.task_class,
        class_names=workload.graph.class_names,
        worker_names=tuple(f"core {core}" for core in measured.cores.tolist()),
        worker_core=measured.cores.astype(np.int32),
        workload=replace(workload, parameters={**workload.parameters, **speed}),
        details={
            "unit_of_times": "cycle",
            "clock_hz": hertz,
            "origin_cycles": measured.spawn_start_cycles,
            "first_leaf_s": (measured.parallel_start_cycles - measured.spawn_start_cycles) / hertz,
            "core_busy_s": (
                (measured.core_work_cycles + measured.core_creation_cycles) / hertz
            ).tolist(),
            "set_aside": aside,
            "warnings": [f"{path}: {reason}; {n} rows set aside" for reason, n in aside.items()],
        },
    )


def _hertz(path: Path, clock: str | None) -> float:
    if clock is None:
        raise ConfigurationError(
            f"{path}: found times in cycles; accepted with the option clock, "
            "for instance clock='2.1 GHz'"
        )
    try:
        return parse_frequency(clock)
    except ValueError as error:
        raise ConfigurationError(f"{path}: clock: {error}") from error
