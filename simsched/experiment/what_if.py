"""What a run would gain if something about it were better: simulated again with each change.

Changes are those of :mod:`simsched.experiment.alterations`. Each is simulated by itself, with the
policy asked anew, so that it places data and plans for what is changed; that is what a run on such
a machine takes, not an extrapolation of the given one. The gain is that of the makespan, paired by
seed. Beside it stands the gain that the schedule of the unchanged run predicts, with the same tasks
on the same workers in the same order (:mod:`simsched.analysis.lengths`): where the two differ, the
policy decides otherwise, or others then wait instead.

Of programs with many iterations the first ones are simulated, as many as take a few seconds with
all changes and seeds together: :func:`iterations_for`. That is counted in events, not in seconds,
so that it is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.analysis.lengths import Lengths
from simsched.analysis.schedule import Schedule
from simsched.experiment import program_alterations as _registered  # noqa: F401 (registers its sources)
from simsched.experiment.alterations import Alteration, Missing, Setting, alterations
from simsched.experiment.cell_run import repeated_run, varied_run
from simsched.experiment.cells import Cell
from simsched.experiment.frames import with_units
from simsched.experiment.inputs import GivenWorkload
from simsched.experiment.pool import Listener, available_cores
from simsched.experiment.progress import Silent
from simsched.experiment.shared_pool import SharedPool
from simsched.experiment.summary import Estimate, estimate
from simsched.files.errors import SimschedError
from simsched.files.units import PER_PS
from simsched.trace.run import Run
from simsched.trace.schema import Summary

if TYPE_CHECKING:
    import pandas as pd

UNCHANGED = Alteration("nothing", "as it is", lambda setting: setting)
#: How many events all runs together have at the most, by engine, and how many iterations a run has
#: at the least: policies change their mind after the first one.
MOST_EVENTS = {"native": 20_000_000, "simpy": 1_000_000}
LEAST_ITERATIONS = 2
#: Iterations are alike, and one is enough, if the second lasts as long as the first, to this part.
ALIKE = 0.01
#: Events of a run of which predictions are made; they are in memory then.
MOST_PREDICTED = 3_000_000
Makespans = dict[Alteration, list[int | str]]


@dataclass(frozen=True)
class Gain:
    """What one change does to the makespan."""

    what: str
    to: str
    #: Of the unchanged runs, by seed.
    before_ps: tuple[int, ...]
    #: With the change; empty where it cannot be simulated.
    after_ps: tuple[int, ...]
    #: Why it cannot.
    impossible: str = ""
    #: Of the schedules of the unchanged runs with the change; empty where none is made.
    predicted_ps: tuple[int, ...] = ()
    #: Parts of the time of which nothing is left then.
    removes: tuple[str, ...] = ()

    @property
    def gain_s(self) -> float:
        """By how much the makespan is shorter, the mean over the seeds; -inf where impossible."""
        if self.impossible:
            return -math.inf
        pairs = zip(self.before_ps, self.after_ps, strict=True)
        return sum(before - after for before, after in pairs) * PER_PS / len(self.before_ps)

    @property
    def makespan_s(self) -> Estimate:
        """Mean over the seeds with its confidence interval."""
        return estimate([after * PER_PS for after in self.after_ps])

    @property
    def shorter_percent(self) -> Estimate:
        """How much shorter the makespan is than the unchanged one of the same seed."""
        pairs = zip(self.before_ps, self.after_ps, strict=not self.impossible)
        return estimate([100.0 * (1.0 - after / before) for before, after in pairs if before])

    @property
    def predicted_percent(self) -> Estimate:
        """How much shorter the makespan is than the unchanged one, as predicted."""
        pairs = zip(self.before_ps, self.predicted_ps, strict=bool(self.predicted_ps))
        return estimate([100.0 * (1.0 - after / before) for before, after in pairs if before])

    @property
    def has_effect(self) -> bool:
        """Whether a makespan differs."""
        return self.after_ps != self.before_ps

    def row(self) -> dict[str, Any]:
        """Return the columns of a table; None for what is not known."""
        known = not self.impossible
        makespan, shorter = self.makespan_s, self.shorter_percent
        return {
            "change": self.what,
            "to": self.to,
            "makespan_s": makespan.mean if known else None,
            "makespan_s_ci95": _finite(makespan.half_width),
            "gain_s": self.gain_s if known else None,
            "shorter_percent": _finite(shorter.mean),
            "shorter_percent_ci95": _finite(shorter.half_width),
            "predicted_percent": _finite(self.predicted_percent.mean),
            "removes": ", ".join(self.removes),
            "impossible": self.impossible or None,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class WhatIf:
    """What each change does to runs that differ in nothing but their seed."""

    #: Machine, workload, policy and sweep values.
    label: str
    seeds: tuple[int, ...]
    #: Simulated ones, and those of the program.
    iterations: tuple[int, int]
    #: The unchanged runs, simulated as changed ones are.
    unchanged: Gain
    #: By descending gain.
    gains: tuple[Gain, ...]
    #: Changes that the runs have no use for.
    missing: tuple[Missing, ...]

    @property
    def drift_ps(self) -> int:
        """By how much the unchanged runs differ when they are simulated again; 0 or a bug."""
        pairs = zip(self.unchanged.before_ps, self.unchanged.after_ps, strict=True)
        return max(abs(after - before) for before, after in pairs)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each change, the unchanged runs at their rank."""
        return [gain.row() for gain in _ranked([self.unchanged, *self.gains])]

    def document(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "label": self.label,
            "seeds": list(self.seeds),
            "iterations": self.iterations[0],
            "program_iterations": self.iterations[1],
            "drift_ps": self.drift_ps,
            "changes": self.rows(),
            "missing": [vars(each) for each in self.missing],
        }


def _ranked(gains: Sequence[Gain]) -> list[Gain]:
    return sorted(gains, key=lambda gain: -gain.gain_s)


def what_if(
    cells: Sequence[Cell],
    progress: Callable[[int], AbstractContextManager[Listener]] | None = None,
    iterations: int | None = None,
) -> WhatIf:
    """Simulate runs again with each change that there is.

    Parameters
    ----------
    cells : sequence of Cell
        Runs that differ in nothing but their seed, at least one.
    progress : callable, optional
        Makes a listener of progress, given the number of runs.
    iterations : int, optional
        How many iterations are simulated at the most, 1 or more; see :func:`iterations_for`.

    Returns
    -------
    WhatIf
        Ranked.

    Raises
    ------
    SimschedError
        The unchanged runs are impossible.
    """
    first = cells[0]
    known = alterations(_setting(first))
    changes = [UNCHANGED, *(each for each in known if isinstance(each, Alteration))]
    before: list[int] = []
    after: Makespans = {each: [] for each in changes}
    predicted: dict[Alteration, list[int]] = {each: [] for each in changes}
    total = len(cells) * (len(changes) + 1)
    whole = first.workload_source.build().iterations
    count = iterations_for(first, total, iterations)
    with progress(total) if progress is not None else nullcontext(Silent()) as heard:
        for cell in (_with_iterations(each, count) for each in cells):
            run = repeated_run(cell, events=False)
            before.append(run.summary.makespan_ps)
            if run.summary.n_events <= MOST_PREDICTED:
                for each, expected in predictions(cell, changes):
                    predicted[each].append(expected)
            heard.finished(cell)
            for each, makespan in _changed(cell, run, changes):
                after[each].append(makespan)
                heard.finished(cell)
    unchanged, *gains = (
        _gain(each, before, found, predicted[each]) for each, found in after.items()
    )
    if unchanged.impossible:
        raise SimschedError(f"{first.label}: simulated again: {unchanged.impossible}")
    return WhatIf(
        first.label.rpartition(" seed ")[0],
        tuple(cell.seed for cell in cells),
        (count, whole),
        unchanged,
        tuple(_ranked(gains)),
        tuple(each for each in known if isinstance(each, Missing)),
    )


def iterations_for(cell: Cell, runs: int, wanted: int | None = None) -> int:
    """Return how many iterations of a program are simulated.

    Parameters
    ----------
    cell : Cell
        A run of the program.
    runs : int
        How many runs there will be.
    wanted : int, optional
        At the most; as many as make no more than `MOST_EVENTS` events in all, but
        `LEAST_ITERATIONS`, by default.

    Returns
    -------
    int
        All that there are where the policy divides the work: it decides on iterations.
    """
    workload = cell.workload_source.build()
    whole = workload.iterations
    if workload.division is not None:
        return whole
    if wanted is not None:
        return min(wanted, whole)
    if whole <= LEAST_ITERATIONS:
        return whole
    tried = repeated_run(_with_iterations(cell, LEAST_ITERATIONS), events=False).summary
    affordable = MOST_EVENTS[cell.backend] * LEAST_ITERATIONS // (runs * tried.n_events)
    first, second = (tried.iteration_end_ps - tried.iteration_start_ps)[-LEAST_ITERATIONS:].tolist()
    least = 1 if abs(second - first) <= ALIKE * first else LEAST_ITERATIONS
    return min(whole, max(least, affordable))


def _with_iterations(cell: Cell, count: int) -> Cell:
    """Return a run of the first iterations of a program."""
    workload = cell.workload_source.build()
    if count == workload.iterations:
        return cell
    return replace(cell, workload_source=GivenWorkload(replace(workload, iterations=count), ""))


def _setting(cell: Cell) -> Setting:
    return Setting(cell.machine_model, cell.workload_source.build(), cell.workers)


def _changed(
    cell: Cell, run: Run, changes: Sequence[Alteration]
) -> Iterator[tuple[Alteration, int | str]]:
    """Yield each change with the makespan, or with why there is none; several run at a time.

    `run` is the unchanged one.
    """
    pool = ThreadPoolExecutor(available_cores())
    try:
        setting = _setting(cell)
        unused = pool.submit(unused_changes, run, setting, changes, partial(_varied, cell))
        others = [each for each in changes if not each.unused(run)]
        made = zip(others, pool.map(partial(_makespan, cell, setting), others), strict=True)
        yield from made
        without = unused.result()
        yield from ((each, run.summary.makespan_ps) for each in without)
        left = [each for each in changes if each not in {*others, *without}]
        yield from zip(left, pool.map(partial(_makespan, cell, setting), left), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)


def _makespan(cell: Cell, setting: Setting, change: Alteration) -> int | str:
    """Return the makespan with a change, or why there is none."""
    try:
        return _varied(cell, change.made(setting)).summary.makespan_ps
    except SimschedError as error:
        return str(error)


def _varied(cell: Cell, made: Setting) -> Run:
    """Return the run of what a change has made of a cell."""
    return varied_run(
        replace(
            cell,
            machine_model=made.machine,
            workload_source=GivenWorkload(made.workload, ""),
            workers=made.workers,
            policy_model=SharedPool(of=cell.policy_model) if made.shared else cell.policy_model,
        )
    )


def predictions(cell: Cell, changes: Sequence[Alteration]) -> Iterator[tuple[Alteration, int]]:
    """Yield changes with the makespans that the schedule of the unchanged run predicts.

    There is none for other workers, for what cannot be done to the program as the policy's runtime
    executes it, and for tasks with data that others execute.
    """
    run = repeated_run(cell, events=True)
    schedule = Schedule(run)
    lengths = Lengths(run, schedule)
    known, cases = [], []
    setting = Setting(run.machine, run.workload, cell.workers)
    has_data = run.workload.init is not None or len(run.workload.graph.access_block) > 0
    for change in changes:
        with suppress(SimschedError):
            made = change.made(setting)
            if made.workers == setting.workers and not (made.shared and has_data):
                cases.append(lengths.case(made.machine, made.workload, shared=made.shared))
                known.append(change)
    for change, makespan in zip(known, schedule.makespans_ps(cases).tolist(), strict=True):
        yield change, round(makespan)


def _gain(
    change: Alteration,
    before: Sequence[int],
    found: Sequence[int | str],
    predicted: Sequence[int],
) -> Gain:
    """Return what a change does; one run that is impossible makes it so."""
    wrong = next((each for each in found if isinstance(each, str)), "")
    after = tuple(each for each in found if isinstance(each, int)) if not wrong else ()
    all_of = tuple(predicted) if len(predicted) == len(before) else ()
    return Gain(change.what, change.to, tuple(before), after, wrong, all_of, change.removes)


def what_if_frame(found: WhatIf) -> pd.DataFrame:
    """Return one row per change: :meth:`simsched.Result.what_if`."""
    import pandas as pd

    frame = with_units(pd.DataFrame(found.rows()))
    frame.attrs |= {
        "drift_ps": found.drift_ps,
        "iterations": found.iterations,
        "missing": {each.what: each.why for each in found.missing},
    }
    return frame


def unused_changes(
    run: Run,
    setting: Setting,
    changes: Sequence[Alteration],
    simulated: Callable[[Setting], Run],
) -> list[Alteration]:
    """Return changes that leave everything about a run as it is.

    Those of what its counters show as unused are made all at once: the engine has the last word.
    Where any counter of any worker, or any decision, is another one then, none of them counts.

    Parameters
    ----------
    run : Run
        The unchanged run.
    setting : Setting
        What it has simulated.
    changes : sequence of Alteration
        All of them.
    simulated : callable
        Returns the run of a changed setting.
    """
    found = [each for each in changes if each.unused(run)]
    if len(found) < 2:
        return []
    try:
        together = simulated(reduce(lambda made, each: each.made(made), found, setting))
    except SimschedError:
        return []
    return found if _same(run, together) else []


def _same(run: Run, other: Run) -> bool:
    """Return whether two runs have the same decisions and the same counters."""
    return run.decisions == other.decisions and all(
        np.array_equal(getattr(run.summary, item.name), getattr(other.summary, item.name))
        for item in fields(Summary)
    )
