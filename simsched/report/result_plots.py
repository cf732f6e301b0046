"""Plots of results; they return Matplotlib's `Axes`, on which a notebook can go on drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from simsched.experiment.compare import Difference, chosen_cells, measure_side, select_cells
from simsched.files.errors import ConfigurationError
from simsched.report.result_data import ResultData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simsched.report.plots.facets import Panels


class Plots:
    """Plots of a result.

    Every plot draws on `ax`, or on a new figure. Plots of a single run take the first one, or the
    first that `which` describes (see ``result[which]``); their titles name it. The run is simulated
    again, because events are not kept. They show the time from `start_s` to `end_s`, in seconds,
    and one of the `iterations`, or those from the first to the second.

    Axes that share their vertical axis (`sharey`) must have the same rows; others raise
    ConfigurationError.
    """

    def __init__(self, result: ResultData) -> None:
        self._result = result

    def __repr__(self) -> str:
        names = [name for name in vars(Plots) if not name.startswith("_")]
        return f"<plots of {self._result.experiment.name}: {', '.join(names)}>"

    def gantt(
        self,
        which: str = "",
        *,
        ax: Axes | None = None,
        iterations: int | tuple[int, int] | None = None,
        start_s: float | None = None,
        end_s: float | None = None,
    ) -> Axes:
        """Draw what every worker does when.

        Up to 4000 intervals are drawn one by one. More are added up in cells of some workers and
        some time, and the text below says so: the colour of a cell is that of the task class with
        most time in it, its strength is the share of the time in which the workers are busy. Where
        intervals are drawn one by one, a black line from worker to worker is the critical path
        (:meth:`simsched.Result.critical_path`).
        """
        from simsched.report.plots import gantt

        run = self._result.simulate(which, iterations=iterations)
        return gantt(run, ax, start_s=start_s, end_s=end_s, title=self._name(which))

    def bandwidth(
        self,
        which: str = "",
        *,
        ax: Axes | None = None,
        by: Literal["kind", "node", "link"] = "kind",
        bins: int = 200,
        iterations: int | tuple[int, int] | None = None,
    ) -> Axes:
        """Draw the bandwidth in use over time beside what memory or links sustain.

        There is one line per memory kind, memory node or link; it is the mean over each of `bins`
        bins of time, so that no byte is lost.
        """
        from simsched.report.plots import bandwidth

        run = self._result.simulate(which, iterations=iterations)
        return bandwidth(run, ax, by=by, bins=bins, title=self._name(which))

    def _name(self, which: str) -> str:
        """Return what titles call the run that `which` means."""
        cell = chosen_cells(self._result.cells, which)[0]
        swept = "".join(f", {key}={value}" for key, value in cell.sweep.items())
        return f"{cell.workload} on {cell.machine}, {cell.policy}{swept}, seed {cell.seed}"

    def links(self, *, ax: Axes | None = None) -> Axes:
        """Draw the share of their bandwidth that links carry, by policy, means over seeds."""
        from simsched.report.plots import links

        return links(self._result.rows, ax)

    def locality(self, *, ax: Axes | None = None) -> Axes:
        """Draw the share of bytes from the own domain and from others, by memory kind."""
        from simsched.report.plots import locality

        return locality(self._result.rows, ax)

    def speedup(
        self, baseline: str | None = None, *, x: str | None = None, ax: Axes | None = None
    ) -> Axes | Panels:
        """Draw how many times as fast as a baseline runs are, with 95 % confidence intervals.

        The baseline is the experiment's by default. With `x`, a column of :attr:`Result.runs` with
        numbers, there are lines over it instead of bars: ``policy.sample_pages``, for instance, or
        a swept key, which is the default where there is just one. Bars of several machines and
        workloads have a panel each, unless `ax` is given; these are an array of axes.
        """
        from simsched.experiment.frames import parameters_of
        from simsched.report.plots import speedup

        result = self._result
        rows = [
            row | parameters
            for row, parameters in zip(result.rows, parameters_of(result.rows), strict=True)
        ]
        return speedup(rows, baseline or result.baseline, ax, x=x, others=result.others)

    def makespan(self, *, ax: Axes | None = None) -> Axes | Panels:
        """Draw the makespan of every policy, with 95 % confidence intervals over seeds.

        Several machines and workloads have a panel each, unless `ax` is given; these are an array
        of axes.
        """
        from simsched.report.plots import makespan

        return makespan(self._result.lines, ax)

    def matrix(self, *, ax: Axes | None = None) -> Axes:
        """Draw all policies by machine and workload: a cell for the change against the baseline."""
        from simsched.report.plots import matrix

        return matrix(self._result.lines, ax)

    def waterfall(
        self, other: ResultData | str | None = None, *, ax: Axes | None = None
    ) -> Axes | Panels:
        """Draw what makes the difference between the makespans of two policies, part by part.

        A is this result, or its baseline when it has several policies; B is `other`, a result or
        what chooses its runs from this one. Runs of each differ in nothing but their seed. All
        seeds are simulated again; the steps are means over them and add up to the difference. Parts
        are explained in docs/comparing.md.

        Without `other` it is for each of up to three policies: the shortest one, and those that
        differ most from the baseline. Several have a panel each, an array of axes; with `ax` it is
        the shortest one.
        """
        from simsched.report.plots import waterfall, waterfalls
        from simsched.report.plots.common import new_figure
        from simsched.report.result_pictures import compared, measured

        if other is not None:
            return waterfall(self.difference(other), ax)
        places = [*compared(self._result)]
        if len(places) != 1:
            raise ConfigurationError(
                f"waterfall: found {len(places)} machines and workloads whose policies can be "
                "compared, accepted one: choose it, such as result['workload=NAME']"
            )
        found = measured(places[0][: None if ax is None else 2])
        if len(found) == 1:
            return waterfall(found[0], ax)
        return waterfalls(new_figure(), found)

    def difference(self, other: ResultData | str) -> Difference:
        """Return what :meth:`waterfall` draws, in seconds of the mean worker."""
        result = self._result
        own = result.cells
        if len(result.policies) > 1:
            own = [cell for cell in own if cell.policy == result.baseline]
        if isinstance(other, str):
            theirs = select_cells(result.cells, other)
        else:
            where = f"waterfall: B, a result of {other.experiment.name}"
            theirs = select_cells(other.cells, "", where)
        if not own or not theirs:
            raise ConfigurationError("waterfall: found no runs, accepted at least one on each side")
        own = select_cells(own, "", f"waterfall: A, a result of {result.experiment.name}")
        return Difference(measure_side(own), measure_side(theirs))
