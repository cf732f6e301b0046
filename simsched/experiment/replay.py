"""Replaying a measured task graph: the simulated run beside what happened on hardware."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.run import Run, simulate
from simsched.experiment.blame import explained
from simsched.machine.model import Machine
from simsched.policy import policy_from_spec
from simsched.trace.metrics import run_metrics
from simsched.trace.schema import EventKind
from simsched.workload.importers import Measured, import_measured

#: Work sharing, child-first stealing, parent-first stealing.
DEFAULT_POLICIES = ("work_sharing", "cilk_a", "pfws")
DEFAULT_MACHINE = "opteron48"


@dataclass(frozen=True)
class Distribution:
    """Busy times of the cores in seconds."""

    min_s: float
    median_s: float
    mean_s: float
    max_s: float

    @classmethod
    def of(cls, seconds: NDArray[np.float64]) -> Distribution:
        """Return the distribution of some values."""
        return cls(
            float(seconds.min()),
            float(np.median(seconds)),
            float(seconds.mean()),
            float(seconds.max()),
        )


@dataclass(frozen=True, eq=False)
class Replayed:
    """One simulated run of a measured graph, or the measured run itself.

    Parameters
    ----------
    policy : str
        Policy, ``"measured"`` for the hardware run.
    makespan_s : float
        From the first creation of a task to the end of the last one.
    leaves_s : float
        From the start of the first leaf to the end of the last task.
    makespan_error_percent, leaves_error_percent : float
        Differences from the measured run.
    busy : Distribution
        Time that each core was inside tasks or created them.
    core_busy_s : ndarray of float64, shape (n_cores,)
        The same per core, ascending.
    row : dict
        All metrics of a simulated run; empty for the measured one.
    """

    policy: str
    makespan_s: float
    leaves_s: float
    makespan_error_percent: float
    leaves_error_percent: float
    busy: Distribution
    core_busy_s: NDArray[np.float64]
    row: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Replay:
    """A measured run and its replays.

    Parameters
    ----------
    source : str
        The file.
    machine : str
        Simulated machine.
    tasks : int
        Number of tasks.
    cores : int
        Cores that executed something in the measured run; as many workers are simulated.
    measured : Replayed
        What happened on hardware.
    runs : list of Replayed
        What is simulated.
    """

    source: str
    machine: str
    tasks: int
    cores: int
    measured: Replayed
    runs: list[Replayed]

    def document(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "source": self.source,
            "machine": self.machine,
            "tasks": self.tasks,
            "cores": self.cores,
            "measured": _plain(self.measured),
            "runs": [{**run.row, **_plain(run)} for run in self.runs],
        }


def _plain(run: Replayed) -> dict[str, Any]:
    """Return a run as plain data."""
    return {
        "policy": run.policy,
        "makespan_s": run.makespan_s,
        "leaves_s": run.leaves_s,
        "makespan_error_percent": run.makespan_error_percent,
        "leaves_error_percent": run.leaves_error_percent,
        "busy_min_s": run.busy.min_s,
        "busy_median_s": run.busy.median_s,
        "busy_mean_s": run.busy.mean_s,
        "busy_max_s": run.busy.max_s,
        "core_busy_s": run.core_busy_s.tolist(),
    }


def replay(
    path: Path,
    machine: Machine,
    policies: Sequence[str] = DEFAULT_POLICIES,
    *,
    seed: int = 0,
    backend: str = "native",
    progress: Callable[[str], None] | None = None,
) -> Replay:
    """Simulate a measured task graph under some policies.

    Parameters
    ----------
    path : Path
        File with measurements of a run.
    machine : Machine
        Machine like the one that was measured; its cores' speed converts cycles into seconds.
    policies : sequence of str
        Policy specs.
    seed : int
        Seed of all runs.
    backend : {"native", "simpy"}
        Engine.
    progress : callable, optional
        Called with every policy before its run.

    Raises
    ------
    SimschedError
        The file cannot be read or has no measurements, or a run is impossible.
    """
    chosen = [(spec, policy_from_spec(spec)) for spec in policies]
    found = import_measured(path)
    ops_per_s = machine.core_groups[0].ops_per_s
    reference = _measured(found.measured, ops_per_s)
    workers = min(found.measured.n_cores, machine.n_threads)
    runs = []
    for spec, policy in chosen:
        if progress is not None:
            progress(spec)
        with explained(policy):
            run = simulate(
                machine,
                found.workload,
                policy,
                workers=workers,
                seed=seed,
                backend=backend,
                events=True,
            )
        row: dict[str, Any] = {
            "machine": machine.name,
            "workload": found.workload.name,
            "policy": spec,
        }
        row |= {"backend": backend, "seed": seed}
        row |= run_metrics(run.summary, run.machine, run.workload, run.worker_thread)
        runs.append(_simulated(spec, run, reference, row))
    tasks = found.workload.graph.n_tasks
    return Replay(str(path), machine.name, tasks, found.measured.n_cores, reference, runs)


def _measured(measured: Measured, ops_per_s: float) -> Replayed:
    """Return the measured run in seconds."""
    busy = np.sort(measured.busy_cycles) / ops_per_s
    makespan = (float(measured.end_cycles.max()) - measured.spawn_start_cycles) / ops_per_s
    leaves = measured.makespan_cycles / ops_per_s
    return Replayed("measured", makespan, leaves, 0.0, 0.0, Distribution.of(busy), busy, {})


def _simulated(spec: str, run: Run, reference: Replayed, row: dict[str, Any]) -> Replayed:
    """Return a simulated run beside the measured one."""
    summary = run.summary
    busy = np.sort(summary.worker_busy_ps + summary.worker_spawn_ps) * 1e-12
    makespan = summary.makespan_ps * 1e-12
    leaves = makespan - _first_leaf_ps(run) * 1e-12
    return Replayed(
        spec,
        makespan,
        leaves,
        100.0 * (makespan / reference.makespan_s - 1.0),
        100.0 * (leaves / reference.leaves_s - 1.0),
        Distribution.of(busy),
        busy,
        row,
    )


def _first_leaf_ps(run: Run) -> int:
    """Return when the first task without children starts."""
    assert run.trace is not None
    events = run.trace.events
    starts = events["kind"] == EventKind.TASK_START
    is_leaf = np.diff(run.workload.graph.child_ptr) == 0
    return int(events["time_ps"][starts][is_leaf[events["task"][starts]]].min())
