"""Titles and labels of plots: no wider than their axes, wherever these end up."""

from __future__ import annotations

import itertools
import pickle

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

import simsched
from simsched.experiment.summary import Estimate, Line
from simsched.report.plots import plot_bandwidth, plot_comparison
from simsched.report.plots.common import finish
from simsched.report.plots.titles import broken

ONE = Estimate(1.0, 0.1, 3)
LONG = (
    "layered_random[layers=12,edge_probability=0.25] on amd_4x_opteron8380, "
    "random_stealing[spawn=parent_first], seed 0"
)


def title(axes: object) -> Text:
    """Return the title at the left of axes."""
    (found,) = (
        child
        for child in axes.get_children()  # type: ignore[attr-defined]
        if isinstance(child, Text) and child.get_text() == axes.get_title(loc="left") != ""  # type: ignore[attr-defined]
    )
    return found


@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_titles_of_neighbours_do_not_overlap(layout: str | None, columns: int) -> None:
    """Titles had lines of 90 characters, which reached into the next panels."""
    figure = Figure(figsize=(14.0, 4.0), layout=layout)
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, columns, squeeze=False)[0]
    for axes in panels:
        axes.set_yticks([0, 1], ["a name that takes room", "b"])
        finish(axes, LONG)
    figure.draw_without_rendering()
    for axes in panels:
        drawn = title(axes)
        assert drawn.get_window_extent().width <= axes.bbox.width
        assert "".join(drawn.get_text().split()) == "".join(LONG.split())
        assert (columns == 1) == (drawn.get_text().count("\n") == 0)


def test_a_title_is_inside_the_figure_that_makes_room_for_it() -> None:
    figure = Figure(figsize=(4.0, 2.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_yticks([0], ["a name that takes very much room"])
    finish(axes, LONG)
    figure.draw_without_rendering()
    assert title(axes).get_text().count("\n") > 3
    assert title(axes).get_window_extent().y1 <= figure.bbox.y1


def test_titles_follow_the_size_of_a_figure() -> None:
    figure = Figure(figsize=(3.0, 3.0))
    FigureCanvasAgg(figure)
    axes = finish(figure.add_subplot(), LONG)
    assert axes.get_title(loc="left") == LONG
    figure.draw_without_rendering()
    assert "\n" in axes.get_title(loc="left")
    figure.set_size_inches(20.0, 3.0)
    again = pickle.loads(pickle.dumps(figure))
    FigureCanvasAgg(again)
    again.draw_without_rendering()
    assert again.axes[0].get_title(loc="left") == LONG


def test_a_title_of_the_caller_stays() -> None:
    figure = Figure(figsize=(3.0, 3.0))
    FigureCanvasAgg(figure)
    axes = finish(figure.add_subplot(), LONG)
    figure.draw_without_rendering()
    axes.set_title("mine, " * 20, loc="left")
    figure.draw_without_rendering()
    assert axes.get_title(loc="left") == "mine, " * 20


def test_lines_break_at_spaces_and_inside_words_only_where_they_must() -> None:
    def fits(line: str) -> bool:
        return len(line) <= 12

    assert broken("one two three\nfour", fits) == "one two\nthree\nfour"
    assert broken("on heat[rows=8,columns=8] ok", fits) == "on\nheat[rows=8,\ncolumns=8]\nok"
    assert broken("immeasurably_long name", fits) == "immeasurably_\nlong name"
    assert broken("immeasurable name", fits) == "immeasurable\nname"
    assert broken("", fits) == ""


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    """A title of a waterfall ended in "(12.1" and "% more time)"."""

    def lines(text: str, most: int) -> list[str]:
        return broken(text, lambda line: len(line) <= most).replace("\xa0", " ").split("\n")

    assert lines("B: bats (12.1 % more time)", 13) == ["B: bats", "(12.1 % more", "time)"]
    assert lines("axis begins at 1.5 us, not 0", 18) == ["axis begins at", "1.5 us, not 0"]
    assert lines("up to 70 GB/s of 90", 12) == ["up to", "70 GB/s of", "90"]
    assert lines("a share of 4 workers", 12) == ["a share of 4", "workers"]  # no unit


def test_plots_of_a_result_have_such_titles() -> None:
    result = simsched.run(
        "amd_4x_opteron8380", "fork_join[depth=3]", ["cilk_a", "work_sharing"], jobs=1
    )
    figure = Figure(figsize=(16.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 4)
    result.plot.gantt(ax=panels[0])
    result.plot.waterfall("work_sharing", ax=panels[1])
    result.plot.speedup(ax=panels[2])
    result.plot.makespan(ax=panels[3])
    figure.draw_without_rendering()
    for axes in panels:
        assert title(axes).get_window_extent().width <= axes.bbox.width


@pytest.mark.parametrize("kind", ["gantt", "bandwidth", "speedup", "locality", "makespan"])
def test_labels_of_neighbours_do_not_overlap(kind: str) -> None:
    """Below four charts of one figure, their labels lay one over the other."""
    result = simsched.run("amd_4x_opteron8380", "heat[rows=64,columns=64]", "cilk_a", jobs=1)
    figure = Figure(figsize=(12.0, 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3)
    for axes in panels:
        getattr(result.plot, kind)(ax=axes)
    figure.draw_without_rendering()
    labels = [axes.xaxis.label.get_window_extent() for axes in panels]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(labels))
    assert all(label.y0 >= 0.0 for label in labels)


def test_panels_of_the_command_line_have_such_titles() -> None:
    def line(workload: str) -> Line:
        return Line("m", workload, "cilk", {}, {"makespan_s": ONE}, "cilk", ONE)

    times, moved = [0.5, 0.5, 0.5], [7, 7, 7]
    row = {"iteration_s": times, "initialisation_s": 0.5, "iteration_dram_bytes": moved}
    rows = [row | {"policy": f"{LONG} {number}", "seed": 0} for number in range(3)]
    for figure in (plot_comparison([line(LONG), line(LONG + "1")]), plot_bandwidth(rows)):
        assert figure is not None
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()
        for axes in figure.axes:
            assert title(axes).get_window_extent().width <= axes.bbox.width
