"""Plots on axes that others use too: nothing is cut off, an axis has one unit and one order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import simsched
from simsched.experiment.summary import Estimate, Line
from simsched.files.errors import ConfigurationError
from simsched.report.plots import common, makespan

ONE = Estimate(1.0, 0.1, 3)
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


@pytest.mark.parametrize("name", ["makespan", "speedup", "locality"])
def test_charts_of_other_rows_cannot_share_them(name: str, short: simsched.Result) -> None:
    """The last chart once named the bars of all."""
    drawn = {
        "makespan": lambda found, ax: found.plot.makespan(ax=ax),
        "speedup": lambda found, ax: found.plot.speedup("cilk_a", ax=ax),
        "locality": lambda found, ax: found.plot.locality(ax=ax),
    }
    left, right = Figure().subplots(1, 2, sharey=True)
    short.plot.makespan(ax=left)
    with pytest.raises(ConfigurationError) as found:
        drawn[name](short["work_sharing"], right)
    assert str(found.value) == (
        "ax: found rows work_sharing where a chart that shares them has rows cilk_a, "
        "work_sharing, accepted the same rows: draw without sharey"
    )
    assert not right.has_data()
    assert [label.get_text() for label in left.get_yticklabels()] == ["cilk_a", "work_sharing"]


def test_gantt_charts_share_rows_of_the_same_machine_only(short: simsched.Result) -> None:
    other = simsched.run("intel_4x_x7560", HEAT.format(1), "cilk_a", jobs=1)
    panels = Figure().subplots(1, 3, sharey=True)
    short.plot.gantt("cilk_a", ax=panels[0])
    short.plot.gantt("work_sharing", ax=panels[1])
    with pytest.raises(
        ConfigurationError, match=r"rows domain 0 at 3\.5, .* rows domain 0 at 1\.5, "
    ):
        other.plot.gantt(ax=panels[2])


def test_makespans_and_speed_ups_name_the_points_of_a_sweep_alike() -> None:
    lines = [
        Line("m", "w", name, {"a.cv": cv}, {"makespan_s": Estimate(1.0, 0.1, 3)}, "a", ONE)
        for cv in (1, 2)
        for name in ("a", "b")
    ]
    axes = makespan(lines, Figure().add_subplot())
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["a, cv=1", "b, cv=1", "a, cv=2", "b, cv=2"]


def test_a_new_figure_keeps_the_limits_that_are_asked_for() -> None:
    axes = Figure().add_subplot()
    common.set_limits(axes, (2.0, 3.0), (4.5, -0.5))
    assert (axes.get_xlim(), axes.get_ylim()) == ((2.0, 3.0), (4.5, -0.5))
    axes.plot([2.0], [1.0])
    common.set_limits(axes, (1.0, 2.5), (7.5, -0.5))
    assert (axes.get_xlim(), axes.get_ylim()) == ((1.0, 3.0), (7.5, -0.5))
