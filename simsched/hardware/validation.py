"""How far simulations are from measured runs of the same graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.hardware.kernels import class_seconds
from simsched.hardware.measurements import Measurement, MeasurementSet
from simsched.hardware.pricing import price, simulated_trace
from simsched.machine.model import Machine
from simsched.trace.recording import Recording
from simsched.trace.schema import EventKind, Trace
from simsched.trace.times import iteration_times, makespan_s, work_times
from simsched.workload.graph import Workload

if TYPE_CHECKING:
    import pandas as pd

#: Policies whose measured makespans differ by more than this must come in the same order.
CLEAR_DIFFERENCE = 0.05
_DECILES = np.linspace(0.05, 0.95, 10)


@dataclass(frozen=True)
class Figures:
    """What is compared of one run, measured or simulated; times in seconds."""

    #: From the start of iteration 1 to the end of the last one.
    makespan_s: float
    #: Length of iterations 1, 2, ; shape (n_iterations,).
    iteration_s: NDArray[np.float64]
    #: Total time in tasks of each class; shape (n_classes,).
    class_s: NDArray[np.float64]
    #: Quantiles 5 %, 15 %, ..., 95 % of the times of single tasks; NaN for classes without work;
    #: shape (n_classes, 10).
    class_deciles_s: NDArray[np.float64]
    #: Time in tasks by makespan, workers from the busiest to the least busy one.
    busy_share: NDArray[np.float64]
    #: Successful steals from iteration 1 on.
    steals: float


@dataclass(frozen=True)
class Case:
    """Measured and simulated figures of one program, policy and number of workers."""

    label: str
    policy: str
    workers: int
    #: Tasks from iteration 1 on.
    tasks: int
    #: Measured and simulated runs; all figures are medians over them.
    repetitions: int
    measured_s: float
    simulated_s: float
    #: Largest minus smallest measured makespan, divided by the median.
    measured_spread: float
    #: Median over the iterations of the relative error of their lengths, without sign.
    iteration_error: float
    #: Relative error of the total time in tasks of each class.
    class_error: dict[str, float]
    #: Mean distance of the deciles of task times, relative to the mean of the measured deciles.
    class_distribution_error: dict[str, float]
    #: Mean distance of the workers' busy shares, busiest with busiest; 0.01 is a percentage point.
    busy_share_error: float
    measured_steals: float
    simulated_steals: float

    @property
    def error(self) -> float:
        """Relative error of the makespan: positive when the simulation takes longer."""
        return self.simulated_s / self.measured_s - 1.0


@dataclass(frozen=True)
class Validation:
    """All cases of a set of measurements on a machine."""

    machine: str
    measurements: str
    #: One per program, policy and number of workers.
    cases: tuple[Case, ...]
    #: Runs that the machine's kernels come from; none of them is among the cases.
    calibrated_on: str
    #: Of the measurements.
    warnings: tuple[str, ...] = ()
    #: Host and other facts of the measurements.
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def errors(self) -> NDArray[np.float64]:
        """Relative errors of the makespans without sign; shape (n_cases,)."""
        return np.abs([case.error for case in self.cases])

    def pairs(self) -> list[tuple[Case, Case]]:
        """Return the pairs of policies that clearly differ on hardware, the faster one first."""
        found = []
        for one, other in combinations(self.cases, 2):
            if (one.label, one.workers) != (other.label, other.workers):
                continue
            fast, slow = sorted((one, other), key=lambda case: case.measured_s)
            if slow.measured_s > (1 + CLEAR_DIFFERENCE) * fast.measured_s:
                found.append((fast, slow))
        return found

    @property
    def order_agreement(self) -> float:
        """Share of the pairs of :meth:`pairs` that the simulator orders alike; 1 without pairs."""
        pairs = self.pairs()
        agreeing = [fast.simulated_s < slow.simulated_s for fast, slow in pairs]
        return float(np.mean(agreeing)) if agreeing else 1.0

    def table(self) -> pd.DataFrame:
        """Return one row per case: which it is, `measured_s`, `simulated_s`, `error_percent`.

        The spread of the measured makespans, `measured_spread_percent`, says how much of an error
        the measurement itself may be.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "program": case.label,
                "policy": case.policy,
                "workers": case.workers,
                "measured_s": case.measured_s,
                "measured_spread_percent": 100.0 * case.measured_spread,
                "simulated_s": case.simulated_s,
                "error_percent": 100.0 * case.error,
            }
            for case in self.cases
        )

    def as_json(self) -> dict[str, Any]:
        """Return figures and cases as plain data."""
        return {
            "machine": self.machine,
            "measurements": self.measurements,
            "cases": len(self.cases),
            "median_makespan_error": float(np.median(self.errors)),
            "p90_makespan_error": float(np.percentile(self.errors, 90)),
            "order_agreement": self.order_agreement,
            "order_pairs": len(self.pairs()),
            "rank_correlation": rank_correlation(self.cases),
            "median_iteration_error": _median(case.iteration_error for case in self.cases),
            "median_class_error": _median(
                abs(error) for case in self.cases for error in case.class_error.values()
            ),
            "median_class_distribution_error": _median(
                error for case in self.cases for error in case.class_distribution_error.values()
            ),
            "median_busy_share_error": _median(case.busy_share_error for case in self.cases),
            "measured_steals": sum(case.measured_steals for case in self.cases),
            "simulated_steals": sum(case.simulated_steals for case in self.cases),
            "median_measured_spread": _median(case.measured_spread for case in self.cases),
            "calibrated_on": self.calibrated_on,
            "warnings": list(self.warnings),
            "details": [asdict(case) | {"makespan_error": case.error} for case in self.cases],
        }


def _median(values: Any) -> float | None:
    """Return the median, None without values."""
    found = list(values)
    return float(np.median(found)) if found else None


def rank_correlation(cases: Sequence[Case]) -> float | None:
    """Return Kendall's tau of measured and simulated makespans of the policies.

    Concordant minus discordant pairs of policies of the same program and workers, by all of them;
    policies that take exactly as long count as neither. None when there are no pairs.
    """
    score = []
    for one, other in combinations(cases, 2):
        if (one.label, one.workers) == (other.label, other.workers):
            measured = np.sign(one.measured_s - other.measured_s)
            score.append(float(measured * np.sign(one.simulated_s - other.simulated_s)))
    return float(np.mean(score)) if score else None


def validate_measurements(measured: MeasurementSet, machine: Machine) -> Validation:
    """Simulate every measured run and compare; refuse those that the machine was calibrated on."""
    if not measured.runs:
        raise ConfigurationError(f"{measured.directory}: found no runs, accepted: at least one")
    calibrated_on = machine.sources.get("sources.kernels", "")
    refuse_shared_runs(measured.runs, machine.name, calibrated_on)
    cases = tuple(_compare(measured, runs, machine) for runs in measured.cells().values())
    return Validation(
        machine.name, measured.name, cases, calibrated_on, measured.warnings, measured.about
    )


def refuse_shared_runs(runs: Sequence[Measurement], machine: str, calibrated_on: str) -> None:
    """Raise if a program was calibrated with the same parameters."""
    for run in runs:
        if run.spec in calibrated_on:
            raise ConfigurationError(
                f"machine {machine}: calibrated on {run.spec}, found among the measurements, "
                "accepted: other parameters"
            )


def _compare(measured: MeasurementSet, runs: list[Measurement], machine: Machine) -> Case:
    first = runs[0]
    if first.workers > machine.n_threads:
        raise ConfigurationError(
            f"machine {machine.name}: {first.label} was measured with {first.workers} workers, "
            f"accepted: at most {machine.n_threads}"
        )
    real, simulated = [], []
    workload: Workload | None = None
    for run in runs:
        recording = measured.recording(run)
        workload = _workload(recording)
        real.append(figures(recording.trace, workload, run.workers))
        priced = price(workload, machine)
        trace = simulated_trace(priced, machine, run.policy, workers=run.workers, seed=run.seed)
        simulated.append(figures(trace, workload, run.workers))
    assert workload is not None
    return _case(first, workload, real, simulated)


def _workload(recording: Recording) -> Workload:
    if recording.workload is None:
        raise ConfigurationError(f"{recording.name}: found no graph, accepted: runs with one")
    return recording.workload


def figures(trace: Trace, workload: Workload, n_workers: int) -> Figures:
    """Return what is compared of a run."""
    spans = [span for number, span in iteration_times(trace).items() if number > 0]
    times = work_times(trace)
    times = times.of_iterations(times.iteration > 0)
    makespan = makespan_s(trace)
    events = trace.events
    steals = (events["kind"] == EventKind.STEAL) & (events["iteration"] > 0)
    task, seconds = times.by_task()
    task_class = workload.graph.task_class[task]
    worked = workload.graph.ops[0] + workload.graph.join_ops[0] > 0
    deciles = [
        np.quantile(seconds[(task_class == c) & worked[task]], _DECILES)
        if np.any((task_class == c) & worked[task])
        else np.full(len(_DECILES), np.nan)
        for c in range(len(workload.graph.class_names))
    ]
    return Figures(
        makespan,
        np.array([end - begin for begin, end in spans]),
        class_seconds(trace, workload),
        np.array(deciles),
        np.sort(times.by_worker(n_workers))[::-1] / makespan,
        float(np.count_nonzero(steals)),
    )


def _case(
    run: Measurement, workload: Workload, real: list[Figures], simulated: list[Figures]
) -> Case:
    """Return medians over the repetitions and their differences."""

    def middle(runs: list[Figures], name: str) -> Any:
        return np.median([getattr(each, name) for each in runs], axis=0)

    measured_s = float(middle(real, "makespan_s"))
    iterations, simulated_iterations = middle(real, "iteration_s"), middle(simulated, "iteration_s")
    total, simulated_total = middle(real, "class_s"), middle(simulated, "class_s")
    deciles, simulated_deciles = (middle(each, "class_deciles_s") for each in (real, simulated))
    names = workload.graph.class_names
    shown = [c for c in range(len(names)) if not np.isnan(deciles[c]).any()]
    return Case(
        run.label,
        run.policy,
        run.workers,
        tasks=workload.graph.n_tasks * workload.iterations,
        repetitions=len(real),
        measured_s=measured_s,
        simulated_s=float(middle(simulated, "makespan_s")),
        measured_spread=float(np.ptp([each.makespan_s for each in real])) / measured_s,
        iteration_error=float(np.median(np.abs(simulated_iterations / iterations - 1.0))),
        class_error={names[c]: float(simulated_total[c] / total[c] - 1.0) for c in shown},
        class_distribution_error={
            names[c]: float(np.mean(np.abs(simulated_deciles[c] - deciles[c])))
            / float(np.mean(deciles[c]))
            for c in shown
        },
        busy_share_error=float(
            np.mean(np.abs(middle(simulated, "busy_share") - middle(real, "busy_share")))
        ),
        measured_steals=float(middle(real, "steals")),
        simulated_steals=float(middle(simulated, "steals")),
    )
