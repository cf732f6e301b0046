"""Comparisons of several machines and workloads: a panel each, and a matrix of all."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

from simsched.experiment.summary import Estimate, Line
from simsched.files.errors import ConfigurationError
from simsched.report.plots import draw_matrix, links, makespan, matrix, plot_comparison, speedup
from simsched.report.plots.facets import rows_of_panels
from simsched.report.plots.matrix import MAX_COLUMNS


def line(machine: str, workload: str, policy: str, reduction: float, width: float) -> Line:
    metrics = {"makespan_s": Estimate(1.0 - reduction / 100, 0.01, 3)}
    change = Estimate(reduction, width, 3)
    return Line(machine, workload, policy, {}, metrics, "cilk", change)


def lines(machines: int, workloads: int, policies: int) -> list[Line]:
    names = ["cilk", *(f"p{index}" for index in range(1, policies))]
    return [
        line(f"m{machine}", f"w{workload}", name, 10.0 * index, 1.0)
        for machine, workload in itertools.product(range(machines), range(workloads))
        for index, name in enumerate(names)
    ]


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("machines", "workloads", "shape"),
    [(2, 3, [3, 3]), (3, 2, [2, 2, 2]), (2, 5, [2] * 5), (1, 5, [3, 2]), (4, 1, [3, 1])],
)
def test_panels_are_laid_out_by_machine_and_workload(
    machines: int, workloads: int, shape: list[int]
) -> None:
    """Machines and workloads were once mixed, three in a row."""
    places = [(f"m{m}", f"w{w}") for m in range(machines) for w in range(workloads)]
    rows = rows_of_panels(places)
    assert [len(row) for row in rows] == shape
    assert sorted(itertools.chain(*rows)) == sorted(places)
    if min(machines, workloads) > 1:
        assert all(min(len(set(kind)) for kind in zip(*row, strict=True)) == 1 for row in rows)


def test_bars_of_36_runs_are_on_six_axes_with_names_at_the_left() -> None:
    figure = plot_comparison(lines(2, 3, 6))
    assert [len(axes.patches) for axes in figure.axes] == [6] * 6
    assert figure.axes[1].get_title(loc="left") == "w1 on m0"
    figure.draw_without_rendering()
    shown = [axes.yaxis.get_tick_params()["labelleft"] for axes in figure.axes]
    assert shown == [True, False, False] * 2
    for axes in figure.axes:
        ends = [text.get_window_extent().x1 for text in axes.texts]
        assert max(ends) <= figure.bbox.x1


def test_axes_of_one_place_and_panels_of_several() -> None:
    several = makespan(lines(2, 2, 3))
    assert [len(axes.patches) for axes in several] == [3] * 4
    assert isinstance(makespan(lines(1, 1, 3)), Axes)
    given = plt.figure().add_subplot()
    assert makespan(lines(2, 2, 3), given) is given
    assert len(given.patches) == 12


def test_speedups_have_panels_with_one_scale() -> None:
    rows = [
        {"machine": "m", "workload": work, "policy": policy, "seed": 0, "makespan_s": time}
        for work, policy, time in (("a", "x", 4.0), ("a", "y", 1.0), ("b", "x", 1.0), ("b", "y", 2))
    ]
    panels = speedup(rows, "x")
    assert [axes.get_title(loc="left") for axes in panels] == ["a", "b"]
    assert [[bar.get_width() for bar in axes.patches] for axes in panels] == [[1, 4], [1, 0.5]]
    assert len({axes.get_xlim() for axes in panels}) == 1


def test_a_matrix_shows_what_changes_clearly() -> None:
    found = [
        line("m", work, policy, reduction, width)
        for work, reduction, width in (("a", 50.0, 1.0), ("b", -2.0, 5.0), ("c", -100.0, math.nan))
        for policy, reduction, width in (("cilk", 0.0, 0.0), ("bats", reduction, width))
    ]
    axes = matrix(found, plt.figure().add_subplot())
    assert [text.get_text() for text in axes.texts] == ["0", "-50", "0", "+2.0", "0", "+100"]
    bold = [text.get_weight() for text in axes.texts]
    assert bold == ["normal", "bold", "bold", "normal", "bold", "normal"]
    blue, white, red = (axes.patches[index].get_facecolor()[:3] for index in (1, 3, 5))
    assert blue[2] > blue[0]
    assert white == (1.0, 1.0, 1.0)
    assert red[0] > red[2]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "c"]


def test_cells_of_policies_that_do_not_fit_are_marked_and_grey() -> None:
    found = [
        each
        for work in "abc"
        for each in (
            line("m", work, "cilk", 0.0, 0.0),
            replace(line("m", work, "alike", 0.0, 0.0), same_as="cilk", tasks=7),
            replace(line("m", work, "samr", 80.0, 1.0), misfits=("needs jobs",)),
        )
    ]
    figure = draw_matrix(found)
    assert figure is not None
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts[:3]] == ["0", "0 [1]", "-80 [2]"]
    # The shortest is not the winner: it says nothing of its policy.
    assert [text.get_weight() for text in axes.texts[:3]] == ["bold", "bold", "normal"]
    red, green, blue = axes.patches[2].get_facecolor()[:3]
    assert red == green == blue < 1.0
    assert figure.get_supxlabel() == "[1] same 7 decisions as cilk; [2] needs jobs"
    assert "grey" in axes.get_xlabel()
    assert "grey" not in matrix(found[:2], plt.figure().add_subplot()).get_xlabel()


def test_a_matrix_is_drawn_where_it_says_more_than_bars() -> None:
    assert draw_matrix(lines(1, 3, 2)) is not None
    assert draw_matrix(lines(2, 2, 3)) is not None
    assert draw_matrix(lines(1, 2, 6)) is None
    assert draw_matrix(lines(1, 3, 1)) is None
    assert draw_matrix([]) is None
    with pytest.raises(ConfigurationError, match=f"accepted up to 80 and {MAX_COLUMNS}"):
        matrix(lines(1, 1, MAX_COLUMNS + 1))


def test_links_are_shown_with_the_mean_of_their_use() -> None:
    def run(policy: str, seed: int, percent: list[float]) -> dict[str, Any]:
        what = {"machine": "m", "workload": "w", "policy": policy, "seed": seed}
        return what | {"link_name": ["a", "b"], "link_percent": percent}

    rows = [run("x", 0, [10.0, 0.0]), run("x", 1, [30.0, 0.0]), run("y", 0, [99.5, 0.25])]
    axes = links(rows, plt.figure().add_subplot())
    assert [text.get_text() for text in axes.texts] == ["20", "99.5", "0.0", "0.2"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    with pytest.raises(ConfigurationError, match="found no machine with links"):
        links([rows[0] | {"link_name": [], "link_percent": []}])
