"""The smallest granularity of tasks at which a policy keeps workers busy (METG).

A program's tasks are made longer or shorter by one factor: their operations, and the bytes of
blocks that they update in place. What they get from others and hand on stays as it is, as do all
costs of the runtime. For every factor there is a run, with

* the *efficiency*: the time that this work takes at the peak rate of all workers together, over the
  makespan. The peak is that of the operations or of the bandwidth, whichever is the limit
  (:func:`simsched.analysis.bounds.iteration_bounds`);
* the *granularity*: workers times makespan over tasks, what a task costs on average with all that
  is lost.

The minimum effective task granularity METG(e) is the smallest granularity with an efficiency of at
least e, and the task's own work there is its efficiency times that.

Notes
-----
Granularities half a decade apart are tried from 10 us of work per task on, down to an efficiency of
an eighth of what is asked for, and up until it no longer grows; then the interval below the
smallest sufficient one is halved, on a logarithmic scale, to 1 %.

References
----------
E. Slaughter et al., *Task Bench: a parameterized benchmark for evaluating parallel runtime
performance*, SC 2020, section IV (METG).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from simsched.analysis.bounds import Capability, capability, iteration_bounds
from simsched.engine.timings import timed
from simsched.experiment.cell_run import named, varied_run
from simsched.experiment.cells import Cell
from simsched.experiment.inputs import GivenWorkload
from simsched.files.errors import ConfigurationError
from simsched.files.units import PER_PS
from simsched.workload.graph import TaskGraph, Workload

#: Work per task in seconds that is tried: half a decade apart, from the smallest one on.
TRIED_S = tuple(1e-9 * 10.0 ** (step / 2) for step in range(21))
FIRST = 8  #: of these, 10 us
#: Below this part of the efficiency that is asked for, finer tasks are not tried.
LOW = 1 / 8
#: From this efficiency on, or where it grows by less than this part, coarser ones are not tried.
HIGH, FLAT = 0.95, 0.01
PRECISION = 1.01  #: ratio of granularities
#: An efficiency that falls by more than this with coarser tasks is not rounding.
FALL = 0.01
MAX_BYTES = 2.0**60


@dataclass(frozen=True)
class Trial:
    """One run with tasks of some length."""

    #: Work of a task at the peak rate, on average.
    task_s: float
    #: What a task takes of all workers' time, on average.
    granularity_s: float
    efficiency: float


@dataclass(frozen=True)
class Metg:
    """What was found for one policy, program, machine and number of workers."""

    cell: Cell
    workers: int
    #: The efficiency that is asked for.
    target: float
    #: By ascending work per task.
    trials: tuple[Trial, ...]

    @cached_property
    def smallest(self) -> Trial | None:
        """The finest of the trials that are efficient enough; None where none is."""
        return next((trial for trial in self.trials if trial.efficiency >= self.target), None)

    @property
    def is_bound(self) -> bool:
        """Whether the finest tasks that were tried are efficient enough: METG is at most theirs."""
        return self.smallest is self.trials[0]

    @property
    def is_monotone(self) -> bool:
        """Whether coarser tasks were never less efficient."""
        return all(b.efficiency > a.efficiency - FALL for a, b in pairwise(self.trials))

    def row(self) -> dict[str, Any]:
        """Return what was found as a row of a table."""
        found = self.smallest
        return {
            **_identity(self.cell, self.workers),
            "target_efficiency": self.target,
            "metg_s": None if found is None else found.granularity_s,
            "task_s": None if found is None else found.task_s,
            "efficiency": None if found is None else found.efficiency,
            "at_most": self.is_bound,
            "best_efficiency": max(trial.efficiency for trial in self.trials),
            "monotone": self.is_monotone,
            "runs": len(self.trials),
        }

    def curve(self) -> list[dict[str, Any]]:
        """Return a row for each trial."""
        return [{**_identity(self.cell, self.workers), **vars(trial)} for trial in self.trials]


def _identity(cell: Cell, workers: int) -> dict[str, Any]:
    return {
        "machine": cell.machine,
        "workload": cell.workload,
        "policy": cell.policy,
        **{f"sweep.{key}": value for key, value in cell.sweep.items()},
        "workers": workers,
        "seed": cell.seed,
        "backend": cell.backend,
    }


def with_workers(cells: Sequence[Cell], counts: Sequence[int]) -> list[Cell]:
    """Return cells with each number of workers, without any with those that they have."""
    if not counts:
        return list(cells)
    for cell in cells:
        for count in counts:
            cell.machine_model.place_workers(count, cell.pinning)
    return [replace(cell, workers=count) for cell in cells for count in counts]


def find_metg(cell: Cell, target: float = 0.5) -> Metg:
    """Return the smallest granularity at which a cell's policy is efficient enough.

    Parameters
    ----------
    cell : Cell
        Machine, workers, policy, seed, and the program whose tasks are made longer or shorter.
    target : float
        Efficiency, more than 0 and less than 1.

    Returns
    -------
    Metg
        With all trials.

    Raises
    ------
    SimschedError
        A run is impossible, or the program has no tasks to make longer.
    """
    with named(cell):
        program = _Program(cell)
        trials = _search(program.trial, target)
    return Metg(cell, program.workers, target, trials)


def _search(trial: Callable[[float], Trial], target: float) -> tuple[Trial, ...]:
    """Return the trials that lead to the smallest task that is efficient enough."""
    found: dict[float, Trial] = {}

    def tried(task_s: float) -> Trial:
        return found.setdefault(task_s, found.get(task_s) or trial(task_s))

    for task_s in reversed(TRIED_S[: FIRST + 1]):
        if tried(task_s).efficiency < target * LOW:
            break
    before = found[TRIED_S[FIRST]].efficiency
    for task_s in TRIED_S[FIRST + 1 :]:
        now = tried(task_s).efficiency
        if now >= HIGH or now < before * (1 + FLAT):
            break
        before = now
    lengths = sorted(found)
    enough = [at for at, length in enumerate(lengths) if found[length].efficiency >= target]
    if enough and enough[0] > 0:
        low, high = lengths[enough[0] - 1], lengths[enough[0]]
        while high > low * PRECISION:
            middle = (low * high) ** 0.5
            if tried(middle).efficiency >= target:
                high = middle
            else:
                low = middle
    return tuple(found[length] for length in sorted(found))


@dataclass
class _Program:
    """A program whose tasks can be made longer or shorter."""

    cell: Cell
    workers: int = 0
    _whole: Workload = field(init=False, repr=False)
    _base_s: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        whole = timed(self.cell.machine_model, self.cell.workload_source.build())
        if whole.division is not None:
            raise ConfigurationError("found work that policies divide, accepted: tasks")
        # Durations from the machine are in the operations now.
        self._whole = whole.changed(
            lambda graph: replace(graph, codelets=None),
            init=whole.init and replace(whole.init, codelets=None),
        )
        threads = self.cell.machine_model.place_workers(self.cell.workers, self.cell.pinning)
        able = capability(self.cell.machine_model, threads)
        self._base_s = _peak_s(self._whole, able) * len(threads) / _tasks(self._whole)
        if not self._base_s > 0.0:
            raise ConfigurationError("found tasks without work, accepted: some that has a length")

    def trial(self, task_s: float) -> Trial:
        """Return a run in which tasks have that much work on average."""
        factor = task_s / self._base_s
        program = self._whole.changed(
            lambda graph: _grown(graph, factor),
            init=self._whole.init and _grown(self._whole.init, factor),
        )
        cell = replace(self.cell, workload_source=GivenWorkload(program, ""))
        run = varied_run(cell)
        self.workers = len(run.worker_thread)
        peak_s = _peak_s(program, capability(run.machine, run.worker_thread))
        per_task = self.workers / _tasks(program)
        makespan_s = run.summary.makespan_ps * PER_PS
        return Trial(peak_s * per_task, makespan_s * per_task, peak_s / makespan_s)


def _parts(program: Workload) -> Iterator[tuple[TaskGraph, int]]:
    """Yield what a program executes, and how often."""
    yield program.graph, program.iterations
    if program.init is not None:
        yield program.init, 1


def _tasks(program: Workload) -> int:
    return sum(graph.n_tasks * times for graph, times in _parts(program))


def _peak_s(program: Workload, able: Capability) -> float:
    """Return the time that a program's own work takes at the peak rate."""
    return sum(
        times * max(iteration_bounds(_own_work(graph), able)[1:])
        for graph, times in _parts(program)
    )


def _in_place(graph: TaskGraph) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which accesses update their block."""
    return (graph.read_bytes > 0) & (graph.written_bytes > 0)


def _own_work(graph: TaskGraph) -> TaskGraph:
    """Return a graph without what tasks get from others and hand on."""
    own = _in_place(graph)
    return replace(
        graph,
        read_bytes=np.where(own, graph.read_bytes, 0),
        written_bytes=np.where(own, graph.written_bytes, 0),
    )


def _grown(graph: TaskGraph, factor: float) -> TaskGraph:
    """Return a graph with tasks that do so many times as much."""
    own = _in_place(graph)

    def bytes_of(moved: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Any:
        wanted = np.clip(np.rint(moved * factor), 1.0, MAX_BYTES)
        return np.where(own, wanted.astype(np.int64), moved)

    return replace(
        graph,
        ops=graph.ops * factor,
        join_ops=graph.join_ops * factor,
        read_bytes=bytes_of(graph.read_bytes),
        written_bytes=bytes_of(graph.written_bytes),
    )
