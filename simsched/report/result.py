"""The results of an experiment as notebooks have them: tidy frames, plots, a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simsched
from simsched.experiment import frames
from simsched.experiment.compare import select_cells
from simsched.experiment.single_run import (
    events_frame,
    idle_frame,
    lack_frame,
    path_frame,
    tasks_frame,
)
from simsched.experiment.summary import Line
from simsched.experiment.what_if import what_if, what_if_frame
from simsched.files.units import plural
from simsched.names.parameters import Bounds, Parameter
from simsched.report.description import Description, Table
from simsched.report.html import html
from simsched.report.json_document import finite, pieces
from simsched.report.result_data import ResultData
from simsched.report.result_plots import Plots

if TYPE_CHECKING:
    import pandas as pd

#: Longer comparisons are cut in notebooks.
MAX_LINES = 60
_BINS = Parameter("bins", int, 100, Bounds(1))
_ITERATIONS = Parameter("iterations", int, None, Bounds(1), optional=True)


class Result(ResultData):
    """The results of an experiment.

    ``result["bats"]`` or ``result["policy=bats,seed=0"]`` are the results of some of the runs;
    :attr:`plot` draws.

    See :class:`~simsched.report.result_data.ResultData` for its fields.

    Examples
    --------
    >>> import simsched
    >>> result = simsched.run("experiments/quickstart.yaml")  # doctest: +SKIP
    >>> result.table()  # doctest: +SKIP
    >>> result["bats"].plot.gantt()  # doctest: +SKIP
    """

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: which it is, then its metrics, with units in the names of columns.

        Policy parameters that are not the same in all runs are columns ``policy.NAME``, swept keys
        ``sweep.KEY``. ``runs.attrs["units"]`` has the units by column.
        """
        return frames.runs_frame(self.rows)

    @property
    def iterations(self) -> pd.DataFrame:
        """One row per iteration of every run: `iteration` (0 initialises), `duration_s`, bytes.

        Bytes are by memory kind and, `local_bytes` and `remote_bytes`, by distance.
        """
        return frames.frame_of(self.rows, frames.iterations)

    @property
    def links(self) -> pd.DataFrame:
        """One row per link of every run's machine: `carried_bytes` and `used_percent`."""
        return frames.frame_of(self.rows, frames.links)

    @property
    def workers(self) -> pd.DataFrame:
        """One row per worker of every run: `busy_s`, `acquire_s` and `idle_s`."""
        return frames.frame_of(self.rows, frames.workers)

    @property
    def jobs(self) -> pd.DataFrame:
        """One row per MapReduce job of every run: `user`, `application`, `response_s` and others.

        `arrival_s`, `maps_end_s` and `end_s` are times of the run, `maps` and `local_maps` counts;
        `job` and `iteration` say which it is. ``jobs.groupby(["policy", "user"]).response_s`` is
        the way to numbers per user.
        """
        return frames.frame_of(self.rows, frames.jobs)

    @property
    def services(self) -> pd.DataFrame:
        """One row per service of every run on a shared accelerator: latencies of its queries."""
        return frames.frame_of(self.rows, frames.services)

    @property
    def plot(self) -> Plots:
        """Plots: `makespan`, `speedup`, `matrix`, `gantt`, `bandwidth`, `links` and others."""
        return Plots(self)

    def table(self) -> pd.DataFrame:
        """Return the comparison: means over seeds with half widths of 95 % confidence intervals.

        Returns
        -------
        DataFrame
            Columns `machine`, `workload`, swept keys, `policy`, `runs`, for every metric its mean
            and `<metric>_ci95`, and `reduction_percent` with `reduction_percent_ci95`: how much
            shorter the makespan is than the baseline's.
        """
        import pandas as pd

        return frames.with_units(pd.DataFrame([flat(line) for line in self.lines]))

    def _ipython_key_completions_(self) -> list[str]:
        """Return what completes ``result["``."""
        keys = ("machine", "workload", "policy", "seed")
        pairs = [f"{key}={getattr(cell, key)}" for key in keys for cell in self.cells]
        return list(dict.fromkeys([*self.policies, *pairs]))

    def tasks(
        self, which: str = "", *, iterations: int | tuple[int, int] | None = None
    ) -> pd.DataFrame:
        """Return when tasks of one run were executed where.

        Parameters
        ----------
        which, iterations : str and int or tuple of int, optional
            See :meth:`simulate`.

        Returns
        -------
        DataFrame
            One row per stretch in a task (several where it spawns, waits or is moved): `iteration`,
            `task`, `task_name` (only of programs whose tasks have names, as in the graphs of other
            programs), `task_class`, `worker`, `domain`, `start_s`, `end_s`, `duration_s`,
            `memory_bytes` (that its accesses began to move to or from memory), `begins`, `ends`.
        """
        return tasks_frame(self.simulate(which, iterations=iterations))

    def events(
        self, which: str = "", *, iterations: int | tuple[int, int] | None = None
    ) -> pd.DataFrame:
        """Return the events of one run.

        Parameters
        ----------
        which, iterations : str and int or tuple of int, optional
            See :meth:`simulate`.

        Returns
        -------
        DataFrame
            One row per event in order of time: `time_ps`, `kind` (a category of names), `worker`,
            `task`, `iteration`, `arg0`, `arg1`; docs/semantics.md says what they mean.
        """
        return events_frame(self.simulate(which, iterations=iterations))

    def idle(self, which: str = "") -> pd.DataFrame:
        """Return why the workers of one run were idle.

        Parameters
        ----------
        which : str, optional
            See :meth:`simulate`.

        Returns
        -------
        DataFrame
            One row per worker and cause: `worker`, `domain`, `cause`, `detail`, `idle_ps`,
            `idle_s`. All rows of a worker add up to its idle time; docs/comparing.md explains
            causes.
        """
        return idle_frame(self.simulate(which))

    def critical_path(
        self, which: str = "", *, iterations: int | tuple[int, int] | None = None
    ) -> pd.DataFrame:
        """Return the chain of tasks and waits that the makespan of one run consists of.

        Parameters
        ----------
        which, iterations : str and int or tuple of int, optional
            See :meth:`simulate`.

        Returns
        -------
        DataFrame
            One row per piece in order of time, without gaps: `iteration`, `activity` (what goes on,
            explained in docs/comparing.md), `task` and `worker` (-1 for none), `task_name` (only of
            programs whose tasks have names), `task_class`, `start_s`, `end_s`, `duration_s`.
        """
        return path_frame(self.simulate(which, iterations=iterations))

    def ready_tasks(self, which: str = "", *, bins: int = 100) -> pd.DataFrame:
        """Return how many tasks were ready and how many workers idle over the time of one run.

        Parameters
        ----------
        which : str, optional
            See :meth:`simulate`.
        bins : int
            Number of equal bins of time, 1 or more.

        Returns
        -------
        DataFrame
            One row per bin: `start_s`, `end_s`, and the means `ready_tasks` (in pools) and
            `idle_workers`. Workers that are idle while nothing is ready lack parallelism.
        """
        return lack_frame(self.simulate(which), _BINS.checked(bins, "ready_tasks: bins"))

    def what_if(self, which: str = "", *, iterations: int | None = None) -> pd.DataFrame:
        """Return what some runs would gain from faster resources and cheaper parts.

        They are simulated again with each change by itself; docs/what-if.md explains them.

        Parameters
        ----------
        which : str, optional
            Runs as for ``result[which]``, which differ in nothing but their seed.
        iterations : int, optional
            Simulate the first ones only, 1 or more; by default as many as take a few seconds.

        Returns
        -------
        DataFrame
            One row per change by descending gain: `change`, `to`, `makespan_s`, `gain_s`,
            `shorter_percent`, the half widths `makespan_s_ci95` and `shorter_percent_ci95` of 95 %
            confidence intervals, `predicted_percent`, what the schedules of the unchanged runs say
            of `shorter_percent`, `removes`, the parts of the time of which nothing is left, and
            `impossible`, why it cannot be simulated. The unchanged runs are a row, ``nothing``.
            ``attrs["drift_ps"]`` is by how much these differ from the given ones,
            ``attrs["iterations"]`` how many iterations are simulated and how many there are,
            ``attrs["missing"]`` which changes do not apply, and why.
        """
        count = _ITERATIONS.checked(iterations, "what_if: iterations")
        return what_if_frame(what_if(select_cells(self.cells, which, "result"), iterations=count))

    def text(self) -> str:
        """Return the comparison as the command line prints it.

        Returns
        -------
        str
            Several lines, without colours and however long.
        """
        from simsched.report.claims import claim_tables
        from simsched.report.tables import comparison_table, cost_notes, fit_notes
        from simsched.report.terminal import UNBROKEN, printed

        notes = [*self.remarks, *fit_notes(self.lines)]
        notes += cost_notes((cell.policy, cell.policy_model) for cell in self.cells)
        table = comparison_table(self.lines)
        return printed(UNBROKEN, table, *notes, *claim_tables(self.claims))

    def report(
        self, path: str | Path, *, figures: Sequence[str] = (), width: str | None = None
    ) -> Path:
        """Write the report as HTML, or its figures alone as PDF.

        The report has comparison, plots, parameters and how to repeat it; the figures have a page
        each, to be put into a paper.

        Parameters
        ----------
        path : str or Path
            The file, ending in ``.html`` or ``.pdf``; it is replaced.
        figures : sequence of str, optional
            Kinds of figures to have, all by default: ``makespan``, ``matrix``, ``waterfall``,
            ``bandwidth``, ``bandwidth_over_time``.
        width : str, optional
            Width of the pages of a PDF, such as ``85 mm``, ``3.5 in`` or ``single_column``; by
            default each is as wide as its figure asks for.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        SimschedError
            Another ending, no runs, no such figure, text that cannot be read at this width, or the
            file cannot be written.
        """
        from simsched.report.result_report import write_report

        write_report(self, Path(path), figures=figures, width=width)
        return Path(path)

    def __repr__(self) -> str:
        return f"<Result {self.experiment.name}: {_counted(self)}>"

    def _repr_html_(self) -> str:
        """Return a summary for Jupyter: what was run, the comparison, where it is stored."""
        from simsched.report.tables import comparison_cells, cost_notes, fit_notes

        head, rows = comparison_cells(self.lines[:MAX_LINES])
        left_out, notes = len(self.lines) - MAX_LINES, []
        if left_out > 0:
            notes.append(f"{left_out} more lines: .table()")
        if any("±" in cell for row in rows for cell in row):
            notes.append("± is the half width of the 95 % confidence interval over seeds.")
        notes += [*self.remarks, *fit_notes(self.lines[:MAX_LINES])]
        notes += cost_notes((cell.policy, cell.policy_model) for cell in self.cells)
        if self.claims:
            held = sum(verdict.holds is True for verdict in self.claims)
            notes.append(f"{held} of {len(self.claims)} published claims about it hold.")
        table = Table([dict(zip(head, row, strict=True)) for row in rows], notes=notes)
        title = f"{self.experiment.name}: {_counted(self)}"
        return html(Description(title, self.experiment.description, tables=[table]))

    def document(self) -> dict[str, Any]:
        """Return the results as one JSON document (plain data, no NaN).

        Returns
        -------
        dict of str to object
            Units are in the names of the keys.
        """
        document: dict[str, Any] = finite(self._plain())
        return document

    def pieces(self) -> Iterator[str]:
        """Return the text of the same document, of which only a part takes memory at a time.

        Returns
        -------
        iterator of str
            Without line breaks.
        """
        return pieces(self._plain())

    def _plain(self) -> dict[str, Any]:
        from simsched.report.claims import plain_claim

        outcome = self.outcome
        return {
            "experiment": self.experiment.name,
            "description": self.experiment.description,
            "remark": self.experiment.remark,
            "version": simsched.__version__,
            "runs": self.rows,
            "comparison": [flat(line) for line in self.lines],
            "remarks": self.remarks,
            "claims": [plain_claim(verdict) for verdict in self.claims],
            "computed": outcome.computed,
            "reused": outcome.reused,
            "elapsed_s": outcome.elapsed_s,
            "output": {
                "directory": _text(outcome.output),
                "parquet": _text(outcome.parquet),
                "pictures": [str(path) for path in self.pictures],
                "summary": _text(self.summary),
            },
        }


def _counted(result: Result) -> str:
    parts = []
    for one, many in (("machine", ""), ("workload", ""), ("policy", "policies")):
        parts.append(plural(len({getattr(cell, one) for cell in result.cells}), one, many))
    return f"{plural(len(result.rows), 'run')} of {', '.join(parts)}"


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def flat(line: Line) -> dict[str, Any]:
    """Return a line of the comparison as one row."""
    row: dict[str, Any] = {"machine": line.machine, "workload": line.workload, **line.sweep}
    row |= {"policy": line.policy, "runs": line.metrics["makespan_s"].count}
    for name, value in line.metrics.items():
        row |= {name: value.mean, f"{name}_ci95": value.half_width}
    row |= {"misfits": [*line.misfits], "same_as": line.same_as or None}
    row["baseline"] = line.baseline
    row["reduction_percent"] = line.reduction_percent.mean
    row["reduction_percent_ci95"] = line.reduction_percent.half_width
    return row
