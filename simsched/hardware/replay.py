"""Replaying a recording: the recorded graph simulated, beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.table import Table
from rich.text import Text

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, GraphError
from simsched.files.units import PER_PS
from simsched.hardware.recorded_graph import Prepared, plain_machine, prepare, schedule
from simsched.hardware.timeline import Timeline, read_timeline
from simsched.machine.model import Machine
from simsched.policy import make_policy
from simsched.policy.algorithms.static.recorded import Recorded
from simsched.policy.contract.base import Policy
from simsched.policy.contract.registry import called
from simsched.trace.recording import Recording
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.graph import Workload

#: Runs of policies that draw at random; odd, so that the median is one of them.
RUNS = 11
WAITING, RUNTIME = "waiting", "runtime"  #: states of a worker outside tasks
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replay:
    """A measured run and its simulation.

    Errors are relative: simulated minus measured, divided by measured. Where the starts of tasks
    were inferred, not measured, everything that is called measured follows from the inference.
    """

    #: The recording, the machine and the policy that were simulated.
    name: str
    machine: str
    policy: str
    #: Tasks (of all iterations), those of which the recording has start and end, workers.
    tasks: int
    placed: int
    workers: int
    #: From the first start to the last end. Only tasks that the recording places count for the
    #: first start. Of several runs the one with the median makespan stands for all, here and below.
    measured_makespan_s: float
    simulated_makespan_s: float
    makespan_error: float
    #: Makespans of the runs with seed 0, 1, ...
    run_makespans_s: tuple[float, ...]
    worker_names: tuple[str, ...]
    #: Time that each worker was inside tasks, creation of their children included.
    measured_busy_s: FloatArray
    simulated_busy_s: FloatArray
    #: Error of the sum over workers.
    busy_total_error: float
    #: Mean difference of the two distributions of busy times, both sorted (their first Wasserstein
    #: distance), divided by the measured mean. It ignores which worker is which.
    busy_distance: float
    #: Largest error of a worker, without sign; None where the policy does not keep tasks on their
    #: recorded workers.
    busy_worker_error: float | None
    #: Kendall's rank correlation (tau-b) of the starts of tasks.
    order_tau: float
    #: Tasks that workers have taken from others; None where the record has no steals at all.
    measured_steals: int | None
    simulated_steals: int
    #: Time that each worker has waited for work, and that the runtime has taken: what is neither in
    #: tasks nor waiting. Empty where the record does not say what workers did outside tasks.
    measured_states_s: dict[str, FloatArray]
    simulated_states_s: dict[str, FloatArray]
    #: What the simulation was made from, as sentences.
    used: tuple[str, ...]
    #: Whether starts are inferred: the trace does not say when tasks ran.
    inferred: bool = False
    #: What the importer of the trace wants readers to know, such as tasks that were set aside.
    warnings: tuple[str, ...] = ()

    @property
    def pairs_in_order(self) -> float:
        """Share of pairs of tasks that start in the recorded order; ties count about half."""
        return (1.0 + self.order_tau) / 2.0

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return {**plain, "pairs_in_order": self.pairs_in_order}

    def table(self) -> Table:
        """Return measured and simulated figures side by side; :attr:`used` is not in it."""
        title = f"{self.name}: {self.tasks:,} tasks on {self.workers} workers, {self.policy}"
        table = Table(title=Text(title), box=box.SIMPLE_HEAD, title_justify="left")
        table.add_column("quantity")
        for name in ("inferred" if self.inferred else "measured", "simulated", "difference"):
            table.add_column(name, justify="right")
        for cells in self._lines():
            table.add_row(*map(Text, cells))
        return table

    def _lines(self) -> list[tuple[str, str, str, str]]:
        measured, simulated = self.measured_busy_s, self.simulated_busy_s
        makespans = self.measured_makespan_s, self.simulated_makespan_s
        lines = [_compared("makespan [s]", *makespans)]
        if len(self.run_makespans_s) > 1:
            span = min(self.run_makespans_s), max(self.run_makespans_s)
            low, high = (value / self.measured_makespan_s - 1.0 for value in span)
            runs = f"  of {len(self.run_makespans_s)} runs"
            lines.append(
                (runs, "", f"{span[0]:.5g} to {span[1]:.5g}", f"{low:+.2%} to {high:+.2%}")
            )
        for name in ("min", "median", "mean", "max"):
            value = getattr(np, name)
            of = float(value(measured)), float(value(simulated))
            lines.append(_compared(f"busy per worker [s], {name}", *of))
        lines.append(("busy, mean distance when sorted", "", "", f"{self.busy_distance:.2%}"))
        if self.busy_worker_error is not None:
            lines.append(("busy, worst worker", "", "", f"{self.busy_worker_error:.2%}"))
        for state, values in self.measured_states_s.items():
            like = self.simulated_states_s[state]
            of = float(values.mean()), float(like.mean())
            lines.append(_compared(f"{state} per worker [s], mean", *of))
            if of[0] > 0.0:
                distance = f"{_mean_distance(values, like):.2%}"
                lines.append((f"{state}, mean distance when sorted", "", "", distance))
        if self.measured_steals is not None:
            lines.append(_compared("steals", self.measured_steals, self.simulated_steals))
        shown = f"{self.pairs_in_order:.2%}"
        lines.append(("pairs of tasks in recorded order", "", shown, f"tau {self.order_tau:.4f}"))
        return lines


def _plain(value: Any) -> Any:
    """Return a value with arrays as lists."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | tuple) else value


def _compared(name: str, measured: float, simulated: float) -> tuple[str, str, str, str]:
    """Return a row of the table with the error of a value."""
    error = f"{_error(measured, simulated):+.2%}" if measured > 0 else ""
    return name, f"{measured:.5g}", f"{simulated:.5g}", error


def replay(
    recording: Recording,
    machine: Machine | None = None,
    policy: Policy | str | None = None,
    *,
    runs: int = RUNS,
    backend: str = "native",
) -> Replay:
    """Simulate a recorded run and compare.

    Parameters
    ----------
    recording : Recording
        A run with the graph that was executed.
    machine : Machine, optional
        Where it is simulated; by default a machine with as many cores, on which tasks take what
        they took and the runtime costs nothing.
    policy : Policy or str, optional
        Who schedules, as an object or a text (``"pfws"``); by default the record itself
        (``"recorded"``): its assignment of tasks and its order on each worker.
    runs : int
        Runs with the seeds 0, 1, ..., for policies that draw at random; the record needs one.
    backend : {"native", "simpy"}
        Engine.

    Returns
    -------
    Replay
        Measured and simulated times in seconds, and relative errors.

    Raises
    ------
    ConfigurationError
        The recording has no graph, contradicts itself or does not say enough for the policy, or the
        machine has fewer hardware threads than the recording has workers.
    """
    if recording.workload is None:
        raise ConfigurationError(
            f"{recording.name}: has no task graph; accepted: a recording with the graph that ran"
        )
    if runs < 1:
        raise ConfigurationError(f"runs: found {runs}, accepted 1 or more")
    workload = recording.workload
    chosen = make_policy(policy) if isinstance(policy, str) else policy or Recorded()
    measured = read_timeline(recording.trace, workload, recording.n_workers, recording.name)
    own = isinstance(chosen, Recorded) and not chosen.worker
    if own:
        _check_recorded(recording, workload, measured, machine)
    target = plain_machine(recording.n_workers) if machine is None else machine
    prepared = prepare(recording, workload, measured, target, own=own)
    n_workers = recording.n_workers + prepared.n_slots
    if machine is None:
        target = plain_machine(n_workers)
        kinds = prepared.workload.graph.kinds
        if kinds != ("cpu",):
            raise ConfigurationError(
                f"{recording.name}: its tasks have costs on {', '.join(kinds)}; "
                "accepted with this policy: a machine with such processors"
            )
    if n_workers > target.n_threads:
        raise ConfigurationError(
            f"{recording.name}: found {recording.n_workers} workers, machine {target.name} has "
            f"{target.n_threads} hardware threads; accepted at most as many workers"
        )
    if own:
        assert isinstance(chosen, Recorded)
        chosen = schedule(measured, prepared.slots, overtake=chosen.overtake)
        runs = 1
    label = policy if isinstance(policy, str) else type(chosen).name
    with called(type(chosen), label):
        found = [
            _simulated(target, prepared, chosen, n_workers, seed, backend) for seed in range(runs)
        ]
    used = (*prepared.used, *_circumstances(recording, measured, target, chosen, own, runs))
    return _compare(recording, measured, target, label, found, used, own)


def _check_recorded(
    recording: Recording, workload: Workload, measured: Timeline, machine: Machine | None
) -> None:
    """Raise an error unless the recording says enough to be repeated."""
    name = recording.name
    if workload.iterations > 1:
        raise ConfigurationError(
            f"{name}: policy recorded: found {workload.iterations} iterations, "
            "accepted a graph that runs once, or another policy"
        )
    if not measured.placed.all():
        missing = int((~measured.placed).sum())
        raise ConfigurationError(
            f"{name}: policy recorded: {missing} of {len(measured.placed)} tasks have no "
            "TASK_START and TASK_END; accepted a recording that places all of them, or another "
            "policy"
        )
    if machine is not None and recording.details.get("transfers"):
        raise ConfigurationError(
            f"{name}: policy recorded: the messages between its nodes need workers of their own; "
            "accepted no machine"
        )


def _simulated(
    machine: Machine,
    prepared: Prepared,
    policy: Policy,
    n_workers: int,
    seed: int,
    backend: str,
) -> tuple[Run, Timeline]:
    try:
        run = simulate(
            machine,
            prepared.workload,
            policy,
            workers=n_workers,
            seed=seed,
            backend=backend,
            events=True,
        )
    except GraphError as error:
        if not isinstance(policy, Recorded):
            raise
        raise ConfigurationError(
            f"{prepared.workload.name}: the recorded order contradicts the dependences of the "
            f"graph ({error}); accepted: recorded[overtake=true], or another policy"
        ) from error
    assert run.trace is not None
    return run, read_timeline(run.trace, prepared.workload, n_workers, prepared.workload.name)


def _compare(
    recording: Recording,
    measured: Timeline,
    machine: Machine,
    policy: str,
    found: list[tuple[Run, Timeline]],
    used: tuple[str, ...],
    own: bool,
) -> Replay:
    placed = measured.placed
    n_tasks = len(placed)
    makespans = [_makespan_s(timeline, placed) for _, timeline in found]
    middle = int(np.argsort(makespans, kind="stable")[(len(makespans) - 1) // 2])
    run, simulated = found[middle]
    stated = recording.details.get("core_busy_s", [])
    busy = measured.busy_ps.astype(np.float64) * PER_PS
    if len(stated) == recording.n_workers:
        busy = np.asarray(stated, dtype=np.float64)
    like = simulated.busy_ps[: recording.n_workers].astype(np.float64) * PER_PS
    starts = measured.start_ps[placed], simulated.start_ps[:n_tasks][placed]
    makespan = _makespan_s(measured, placed)
    states = _recorded_states(recording)
    assert run.trace is not None
    steals = _steals(recording.trace, recording.workload)
    return Replay(
        name=recording.name,
        machine=machine.name,
        policy=policy,
        tasks=n_tasks,
        placed=int(placed.sum()),
        workers=recording.n_workers,
        measured_makespan_s=makespan,
        simulated_makespan_s=makespans[middle],
        makespan_error=_error(makespan, makespans[middle]),
        run_makespans_s=tuple(makespans),
        worker_names=recording.worker_names,
        measured_busy_s=busy,
        simulated_busy_s=like,
        busy_total_error=_error(float(busy.sum()), float(like.sum())),
        busy_distance=_mean_distance(busy, like),
        busy_worker_error=max(map(abs, map(_error, busy, like))) if own else None,
        order_tau=_rank_correlation(*starts),
        measured_steals=steals or None,
        simulated_steals=_steals(run.trace, None),
        measured_states_s=states,
        simulated_states_s=_simulated_states(run, makespans[middle], like) if states else {},
        used=used,
        inferred=recording.inferred,
        warnings=recording.warnings,
    )


def _steals(trace: Trace, workload: Workload | None) -> int:
    """Return how many steals a trace has after the initialisation of its workload."""
    events = trace.events
    stolen = events["kind"] == EventKind.STEAL
    if workload is not None and workload.init is not None:
        stolen &= events["iteration"] > 0
    return int(np.count_nonzero(stolen))


def _recorded_states(recording: Recording) -> dict[str, FloatArray]:
    """Return what workers did outside tasks, as the record says; nothing if it does not."""
    stated = recording.details.get("worker_states_s")
    if not isinstance(stated, dict) or not stated:
        return {}
    waits = recording.details.get("waiting_states", [])
    found = {WAITING: np.zeros(recording.n_workers), RUNTIME: np.zeros(recording.n_workers)}
    for number, worker in enumerate(recording.worker_names):
        for state, seconds in stated.get(worker, {}).items():
            found[WAITING if state in waits else RUNTIME][number] += seconds
    return found


def _simulated_states(run: Run, makespan_s: float, busy_s: FloatArray) -> dict[str, FloatArray]:
    """Return what simulated workers did outside tasks; the costs of the machine are the runtime."""
    summary = run.summary
    costs = summary.worker_acquire_ps + summary.worker_migrate_ps
    runtime = costs[: len(busy_s)].astype(np.float64) * PER_PS
    return {WAITING: np.maximum(makespan_s - busy_s - runtime, 0.0), RUNTIME: runtime}


def _makespan_s(timeline: Timeline, placed: NDArray[np.bool_]) -> float:
    """Return the time from the first start of the tasks that count to the end of the run."""
    starts = timeline.start_ps[: len(placed)][placed]
    return (timeline.finish_ps - int(starts.min())) * PER_PS


def _error(measured: float, simulated: float) -> float:
    """Return the relative error of a value; 0 for two zeros."""
    if measured == simulated:
        return 0.0
    return simulated / measured - 1.0 if measured else float("inf")


def _mean_distance(measured: FloatArray, simulated: FloatArray) -> float:
    """Return the mean difference of two sorted samples over the mean of the first."""
    mean = float(measured.mean())
    distance = float(np.abs(np.sort(measured) - np.sort(simulated)).mean())
    return _error(mean, mean + distance)


def _rank_correlation(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return Kendall's tau of two orders; 1 where one of them has no order."""
    if len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
        return 1.0
    from scipy.stats import kendalltau  # takes longer to load than all of the rest

    return float(kendalltau(first, second).statistic)


def _circumstances(
    recording: Recording,
    measured: Timeline,
    machine: Machine,
    policy: Policy,
    own: bool,
    runs: int,
) -> list[str]:
    """Return sentences on everything but the work of the tasks."""
    assert recording.workload is not None
    graph = recording.workload.graph
    found = []
    if recording.inferred:
        stated = recording.details.get("stated_makespan_s")
        beside = "" if stated is None else f"; the file states a makespan of {stated:.5g} s"
        found.append(f"Starts of tasks: inferred by the importer, not measured{beside}.")
    if graph.n_edges:
        found.append(f"Dependences: those of the graph ({graph.n_edges}).")
    if graph.arrival_ps.any():
        last = float(graph.arrival_ps.max()) * PER_PS
        found.append(
            f"Submission of tasks: when they were submitted (the last after {last:.4g} s)."
        )
    if own:
        found.append(
            "Given by the record, not predicted: the worker of each task"
            f"{'' if getattr(policy, 'overtake', False) else ' and the order on each worker'}."
        )
    else:
        params = ", ".join(f"{key} {value}" for key, value in policy.parameters().items())
        found.append(
            f"Policy: {type(policy).name} ({params}); runs with seeds 0 to {runs - 1}, the one "
            "with the median makespan counts."
        )
        if recording.details.get("transfers"):
            found.append("Messages between nodes: not simulated.")
    found.append(_cost_sentence(machine))
    unplaced = int((~measured.placed).sum())
    if unplaced:
        found.append(
            f"{unplaced} tasks without times in the record are simulated like the others; "
            "order and first start are compared for the rest."
        )
    return found


def _cost_sentence(machine: Machine) -> str:
    """Say what the runtime costs on a machine."""
    stated = []
    for each in fields(machine.costs):
        # One cost, or costs by distance.
        values = np.atleast_1d(getattr(machine.costs, each.name))
        if each.name.endswith("_ps") and values.any():
            nanoseconds = "/".join(f"{value * 1e-3:g}" for value in values)
            stated.append(f"{each.name.removesuffix('_ps')} {nanoseconds}")
    what = f"of machine {machine.name}: {', '.join(stated)} [ns]" if stated else "none"
    return f"Costs of the runtime {what}."
