"""Runs cases in processes of their own and makes one row of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.cases import GROWTH, Case, Growth, Size
from benchmarks.peer import Peer, run_peer
from benchmarks.policies import CompiledQueue, HookedQueue

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Row:
    """What is known about one case; the fields are those of the JSON file.

    Parameters
    ----------
    case : str
        Name.
    workers, tasks : int
        Workers, and tasks executed over all iterations.
    tasks_per_cpu_s : float
        Tasks per CPU second of the fastest run.
    cpu_s, wall_s, engine_cpu_s : float
        Its CPU seconds and wall-clock seconds in `simulate`, and the CPU seconds that the backend
        spent in iterations, the rest being validation and set-up in Python.
    peak_rss_bytes : int
        Largest resident size of the process, building of the workload included.
    makespan_s, expected_makespan_s : float
        Simulated time; None where none is expected.
    tolerance : float
        Accepted relative error of the makespan.
    events, expected_events : int
        Trace events, kept or not.
    events_recorded : bool
        Whether the expected number was recorded from a run instead of derived.
    cpu_s_runs : list of float
        CPU seconds of all runs.
    graph_tasks, graph_edges, input_bytes : int
        Tasks and edges of the workload's graphs, and the bytes of their arrays.
    bytes_per_task, engine_bytes_per_task : float
        By how much the run exceeded what was resident before it, per task of the graphs: at its
        peak, which may be in validation, and after the last iteration.
    simulated_per_cpu_s, decisions_per_cpu_s : float
        Simulated seconds, and decisions of hooks, per CPU second.
    trace_bytes : int, optional
        Size of the file with the event trace.
    same_run_tasks : int, optional
        Tasks of the run of small size that both backends were given.
    same_run_native_cpu_s, same_run_simpy_cpu_s, ratio_to_simpy : float, optional
        CPU seconds of both, and their ratio.
    simgrid_tasks, simgrid_tasks_per_cpu_s, simgrid_makespan_s : optional
        Size, speed and result of the comparison program.
    ratio_to_simgrid : float, optional
        `tasks_per_cpu_s` divided by that of the comparison program.
    missed, wrong : list of str
        Budgets that were not kept, and results that are not as expected, in words.
    """

    case: str
    workers: int
    tasks: int
    tasks_per_cpu_s: float
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int
    makespan_s: float
    expected_makespan_s: float | None
    tolerance: float
    engine_cpu_s: float
    cpu_s_runs: list[float]
    events: int
    expected_events: int | None
    events_recorded: bool
    graph_tasks: int
    graph_edges: int
    input_bytes: int
    bytes_per_task: float
    engine_bytes_per_task: float
    simulated_per_cpu_s: float
    decisions_per_cpu_s: float | None = None
    trace_bytes: int | None = None
    same_run_tasks: int | None = None
    same_run_native_cpu_s: float | None = None
    same_run_simpy_cpu_s: float | None = None
    ratio_to_simpy: float | None = None
    simgrid_tasks: int | None = None
    simgrid_tasks_per_cpu_s: float | None = None
    simgrid_makespan_s: float | None = None
    ratio_to_simgrid: float | None = None
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def error(self) -> float | None:
        """Relative difference of the makespan from the expected one."""
        if self.expected_makespan_s is None:
            return None
        return abs(self.makespan_s - self.expected_makespan_s) / self.expected_makespan_s

    def as_json(self) -> dict[str, Any]:
        """Return all fields."""
        return asdict(self)


FIELDS = tuple(item.name for item in fields(Row))


def measure_case(case: Case, *, quick: bool, repeat: int) -> Row:
    """Return the row of a case on the native backend, without any comparison.

    Parameters
    ----------
    case : Case
        The case.
    quick : bool
        Whether the small size runs; budgets are then not looked at.
    repeat : int
        How many processes run it; the fastest counts.
    """
    size = case.small if quick else case.full
    runs = [run_child(case, size, "native") for _ in range(1 if case.once else repeat)]
    best = min(runs, key=lambda run: float(run["cpu_s"]))
    cpu = best["cpu_s"]
    hooked = isinstance(case.build(case.warm).policy, CompiledQueue | HookedQueue)
    row = Row(
        case=case.name,
        workers=case.workers,
        tasks=best["tasks"],
        tasks_per_cpu_s=best["tasks"] / cpu,
        cpu_s=cpu,
        wall_s=best["wall_s"],
        peak_rss_bytes=max(run["peak_rss_bytes"] for run in runs),
        makespan_s=best["makespan_s"],
        expected_makespan_s=size.makespan_s,
        tolerance=size.tolerance,
        engine_cpu_s=best["engine_cpu_s"],
        cpu_s_runs=[run["cpu_s"] for run in runs],
        events=best["events"],
        expected_events=size.events,
        events_recorded=size.recorded,
        graph_tasks=best["graph_tasks"],
        graph_edges=best["graph_edges"],
        input_bytes=best["input_bytes"],
        bytes_per_task=max(run["run_rss_bytes"] for run in runs) / best["graph_tasks"],
        engine_bytes_per_task=best["engine_rss_bytes"] / best["graph_tasks"],
        simulated_per_cpu_s=best["makespan_s"] / cpu,
        decisions_per_cpu_s=best["tasks"] / cpu if hooked else None,
        trace_bytes=best["trace_bytes"],
    )
    row.wrong = _mistakes(case.name, size, runs)
    if not quick:
        row.missed = missed_budgets(case, row)
    return row


def compare_backends(case: Case, row: Row, repeat: int) -> None:
    """Give both backends the same run of small size and note how much faster `native` is."""
    native = [run_child(case, case.small, "native") for _ in range(repeat)]
    simpy = run_child(case, case.small, "simpy")
    row.same_run_tasks = simpy["tasks"]
    row.same_run_native_cpu_s = min(run["cpu_s"] for run in native)
    row.same_run_simpy_cpu_s = simpy["cpu_s"]
    row.ratio_to_simpy = row.same_run_simpy_cpu_s / row.same_run_native_cpu_s
    row.wrong += _mistakes(f"{case.name} (small)", case.small, [*native, simpy])
    row.missed = missed_budgets(case, row)


def compare_peer(case: Case, row: Row, peer: Peer, repeat: int) -> None:
    """Note how much faster `native` is per task than the same case in the comparison program."""
    run = run_peer(peer, case, repeat)
    if run is None:
        return
    row.simgrid_tasks, row.simgrid_makespan_s = run["tasks"], run["makespan_s"]
    row.simgrid_tasks_per_cpu_s = run["tasks"] / run["cpu_s"]
    row.ratio_to_simgrid = row.tasks_per_cpu_s / row.simgrid_tasks_per_cpu_s


def missed_budgets(case: Case, row: Row) -> list[str]:
    """Return the budgets that a row does not keep, in words."""
    missed = []
    for budget in case.budgets:
        value = getattr(row, budget.figure)
        if value is not None and not budget.is_met(value):
            missed.append(f"{case.name}: {budget.figure} is {value:.4g}, budget {budget.limit:.4g}")
    return missed


def growth(rows: list[Row]) -> list[tuple[Growth, list[float]]]:
    """Return the cost per task relative to the first case, for every comparison that was run."""
    cost = {row.case: row.cpu_s / row.tasks for row in rows}
    return [
        (item, [cost[name] / cost[item.cases[0]] for name in item.cases])
        for item in GROWTH
        if all(name in cost for name in item.cases)
    ]


def run_child(case: Case, size: Size, backend: str) -> dict[str, Any]:
    """Return what a new process has measured."""
    which = "full" if size is case.full else "small"
    command = [sys.executable, "-m", "benchmarks.child", case.name, which, backend]
    # The threads that NumPy's linear algebra starts would wait busily in the CPU time that counts.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _mistakes(what: str, size: Size, runs: list[dict[str, Any]]) -> list[str]:
    """Return how results differ from what was expected and from each other, in words."""
    found = []
    first = runs[0]
    if first["tasks"] != size.tasks:
        found.append(f"{what}: found {first['tasks']} tasks, expected {size.tasks}")
    if size.events is not None and first["events"] != size.events:
        kind = "recorded" if size.recorded else "expected"
        found.append(f"{what}: found {first['events']} trace events, {kind} {size.events}")
    if size.makespan_s is not None:
        error = abs(first["makespan_s"] - size.makespan_s) / size.makespan_s
        if error > size.tolerance:
            found.append(
                f"{what}: found makespan {first['makespan_s']!r} s, expected {size.makespan_s!r} s:"
                f" off by {error:.1e}, accepted {size.tolerance:.0e}"
            )
    for key in ("tasks", "events", "makespan_s"):
        values = sorted({run[key] for run in runs})
        if len(values) > 1:
            found.append(f"{what}: runs and backends differ in {key}: {values}")
    return found
