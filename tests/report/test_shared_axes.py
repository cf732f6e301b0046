"""Plots on axes that others use too: nothing is cut off, an axis has one unit and one order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import simsched
from simsched.report.plots import common

HEAT = "heat[rows=128,columns=128,leaf_bytes=8 KiB,iterations={}]"


@pytest.fixture(scope="module")
def short() -> simsched.Result:
    return result(HEAT.format(1))


@pytest.fixture(scope="module")
def long() -> simsched.Result:
    return result(HEAT.format(40))


def result(workload: str) -> simsched.Result:
    return simsched.run("amd_4x_opteron8380", workload, ["cilk_a", "work_sharing"], jobs=1)


DRAWN: dict[str, Callable[[simsched.Result, Axes], Axes]] = {
    "gantt": lambda found, ax: found.plot.gantt("cilk_a", ax=ax),
    "bandwidth": lambda found, ax: found.plot.bandwidth("cilk_a", ax=ax),
    "makespan": lambda found, ax: found.plot.makespan(ax=ax),
    "waterfall": lambda found, ax: found.plot.waterfall("work_sharing", ax=ax),
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", DRAWN)
def test_the_longer_of_two_runs_is_shown_whole(
    name: str, first: int, short: simsched.Result, long: simsched.Result
) -> None:
    pair = [short, long]
    assert long.runs.makespan_s.min() > 5 * short.runs.makespan_s.max()
    upper, lower = Figure().subplots(2, 1, sharex=True)
    DRAWN[name](pair[first], upper)
    DRAWN[name](pair[1 - first], lower)
    units = {axes.get_xlabel().partition("[")[2].partition("]")[0] for axes in (upper, lower)}
    (unit,) = units
    factor = {"s": 1.0, "ms": 1e-3, "us": 1e-6}[unit]
    longest = long["cilk_a"].runs.makespan_s.max()
    assert upper.get_xlim()[0] == 0.0
    assert upper.get_xlim()[1] * factor >= longest
    for axes, found in ((upper, pair[first]), (lower, pair[1 - first])):
        if name == "gantt":
            made = found["cilk_a"].runs.makespan_s.max()
            assert drawn_end_s(axes, factor) == pytest.approx(made, rel=0.02)


def drawn_end_s(axes: Axes, factor: float) -> float:
    """Return when the last bar or cell of a Gantt chart ends, in seconds."""
    ends = [float(item.get_extent()[1]) for item in axes.images]
    ends += [float(np.max(p.vertices[:, 0])) for c in axes.collections for p in c.get_paths()]
    return max(ends) * factor


def test_two_runs_on_one_axes_are_both_shown(short: simsched.Result, long: simsched.Result) -> None:
    axes = Figure().add_subplot()
    long.plot.bandwidth("cilk_a", ax=axes)
    before = axes.get_xlim()
    short.plot.bandwidth("cilk_a", ax=axes)
    assert axes.get_xlim() == before


def test_rows_have_one_order_however_many_charts_share_them(short: simsched.Result) -> None:
    # A chart that turned the axis round again would name the bars of its neighbours wrongly.
    panels = Figure().subplots(1, 3, sharey=True)
    short.plot.makespan(ax=panels[0])
    short.plot.speedup(ax=panels[1])
    short.plot.locality(ax=panels[2])
    assert panels[0].yaxis.get_inverted()
    names = [label.get_text().split("\n")[0] for label in panels[0].get_yticklabels()]
    assert names == ["cilk_a", "work_sharing"]
    widths = [bar.get_width() for bar in panels[0].patches]
    makespans = short.runs.set_index("policy").makespan_s[["cilk_a", "work_sharing"]]
    assert widths[0] / widths[1] == pytest.approx(makespans.iloc[0] / makespans.iloc[1])


def test_a_new_figure_keeps_the_limits_that_are_asked_for() -> None:
    axes = Figure().add_subplot()
    common.set_limits(axes, (2.0, 3.0), (4.5, -0.5))
    assert (axes.get_xlim(), axes.get_ylim()) == ((2.0, 3.0), (4.5, -0.5))
    axes.plot([2.0], [1.0])
    common.set_limits(axes, (1.0, 2.5), (7.5, -0.5))
    assert (axes.get_xlim(), axes.get_ylim()) == ((1.0, 3.0), (7.5, -0.5))
