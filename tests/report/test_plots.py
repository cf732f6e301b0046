"""Pictures: every bar and line is drawn to one scale and inside its panel."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import simsched
from simsched.experiment.summary import Estimate, Line
from simsched.files.errors import ConfigurationError
from simsched.report.plots import (
    plot_bandwidth,
    plot_bandwidth_over_time,
    plot_comparison,
    save,
)
from simsched.report.plots.bandwidth import Used, draw_rates


def line(policy: str, makespan: float, width: float = math.nan, workload: str = "w") -> Line:
    metrics = {"makespan_s": Estimate(makespan, width, 3)}
    return Line("m", workload, policy, {}, metrics, "cilk", Estimate(10.0, 1.0, 3))


def row(policy: str, dram: list[int], hbm: list[int]) -> dict[str, Any]:
    return {
        "policy": policy,
        "seed": 0,
        "iteration_s": [0.5] * len(dram),
        "initialisation_s": 0.5,
        "iteration_dram_bytes": dram,
        "iteration_hbm_bytes": hbm,
    }


def test_comparison_has_a_panel_per_workload_and_a_bar_per_policy() -> None:
    lines = [line("cilk", 2.0, 0.1), line("bats", 0.5), line("cilk", 1e-3, workload="v")]
    figure = plot_comparison(lines, "title")
    first, second = figure.axes
    assert [bar.get_width() for bar in first.patches] == [2.0, 0.5]
    assert [label.get_text() for label in first.get_yticklabels()] == ["cilk", "bats"]
    assert second.get_xlabel() == "makespan [ms]"
    assert first.get_xlim()[1] > 2.1


@pytest.mark.parametrize(
    ("reduction", "width", "shown"),
    [
        (0.0, 0.0, "equal"),
        (0.3, 0.0, "-0.3 %"),
        (-0.3, math.nan, "+0.3 %"),
        (12.0, 0.0, "-12 %"),
        (-677.4, 0.4321, "+677.4 %"),
        (-12.3456, 4.321, "+12.3 %"),
        (-0.0123, 0.0045, "+0.0123 %"),
        (-677.4, 43.21, "+677 %"),
    ],
)
def test_changes_have_the_digits_of_their_interval(
    reduction: float, width: float, shown: str
) -> None:
    """Changes below half a percent were once `(0 %)`, and equal makespans `(-0 %)`."""
    made = Line("m", "w", "b", {}, line("b", 1.0).metrics, "a", Estimate(reduction, width, 3))
    (axes,) = plot_comparison([line("a", 1.0), made]).axes
    assert axes.texts[1].get_text() == f"1 ({shown})"


def test_makespans_have_the_digits_of_their_interval() -> None:
    (axes,) = plot_comparison([line("a", 412.3456, 0.0043), line("b", 412.3456)]).axes
    assert [text.get_text() for text in axes.texts] == [
        "412.3456 (-10.0 %)",
        "412 (-10.0 %)",
    ]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "policies",
    [
        ["dsa_opt[threshold_bytes=0,push_queue_slots=1]"],
        [
            "dsa_opt[threshold_bytes=0,push_queue_slots=999999999,scan_period_s=999999.0]",
            "dsa_opt[threshold_bytes=0,pushing=weighted,output_weight=2.0,page_bytes=1]",
            "cilk",
        ],
        ["a_policy_from_a_file_with_a_name_that_cannot_be_broken_anywhere".replace("_", "")],
    ],
)
@pytest.mark.parametrize("panels", [1, 2])
def test_long_names_of_bars_are_read_as_a_whole_and_leave_room(
    policies: list[str], panels: int, tmp_path: Path
) -> None:
    """Long names left no room: the layout was given up with a warning, names and axis cut off."""
    lines = [line(policy, 1.0, workload=f"w{i}") for i in range(panels) for policy in policies]
    figure = plot_comparison(lines, "title")
    save(figure, tmp_path / "a.png")
    figure.draw_without_rendering()  # pixels are those of the figure again, not of the file
    for axes in figure.axes:
        names = axes.get_yticklabels() or figure.axes[0].get_yticklabels()
        assert [name.get_text().replace("\n", "") for name in names] == policies
        boxes = [name.get_window_extent() for name in names]
        assert all(box.x0 >= 0 for box in boxes)
        assert all(upper.y0 >= lower.y1 for upper, lower in itertools.pairwise(boxes))
        assert axes.xaxis.label.get_window_extent().y0 >= 0
        assert axes.bbox.width >= 1.5 * figure.dpi


def test_bandwidth_panels_share_a_scale_that_holds_every_line() -> None:
    """The scale was once that of the first panel, with the lines of the others outside."""
    rows = [row("low", [10**9] * 4, [0] * 4), row("high", [0] * 4, [200 * 10**9] * 4)]
    figure = plot_bandwidth([*rows, row("low", [7, 7, 7, 7], [0] * 4)], "title")
    assert figure is not None
    assert len(figure.axes) == 2
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low == 0
        assert high > 400
    assert figure.axes[1].lines[1].get_ydata().tolist() == [400.0] * 4


@pytest.mark.parametrize(
    "rows", [[], [row("a", [0, 0], [0, 0])], [row("a", [5], [5])], [row("a", [5, 5], [5, 5])]]
)
def test_nothing_to_draw_is_no_picture(rows: list[dict[str, Any]]) -> None:
    assert plot_bandwidth(rows) is None


def test_pictures_are_complete_or_absent(tmp_path: Path) -> None:
    figure = plot_comparison([line("cilk", 1.0)])
    save(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        save(figure, tmp_path / "file" / "a.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "file"]


def test_fonts_of_pdf_files_are_true_type(tmp_path: Path) -> None:
    """Publishers refuse Type 3, which Matplotlib embeds unless it is told otherwise."""
    figure = plot_comparison([line("cilk", 1.0)])
    for name in ("a.pdf", "b.pdf"):
        save(figure, tmp_path / name)
    written = (tmp_path / "a.pdf").read_bytes()
    assert b"/FontFile2" in written
    assert b"/Type3" not in written
    assert written == (tmp_path / "b.pdf").read_bytes()


def test_pictures_have_the_format_of_their_name(tmp_path: Path) -> None:
    figure = plot_comparison([line("cilk", 1.0)])
    for name, start in (("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")):
        save(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_a_program_of_one_iteration_has_its_bandwidth_over_time() -> None:
    """It once had a line from the initialisation to the only iteration."""
    found = simsched.run(
        "knl_snc4_flat", "heat_small[iterations=1]", ["cilk", "bats"], jobs=1, seeds=2
    )
    assert plot_bandwidth(found.rows) is None
    figure = plot_bandwidth_over_time(found.cells, found.rows, "title")
    assert figure is not None
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["cilk", "bats"]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert all(axes.patches for axes in figure.axes)
    tops = [max(patch.get_data().values.max() for patch in axes.patches) for axes in figure.axes]
    assert all(axes.get_ylim()[1] >= max(tops) > 0 == axes.get_ylim()[0] for axes in figure.axes)
    several = simsched.run("opteron48", "heat_small[iterations=2]", "cilk_a", jobs=1)
    assert plot_bandwidth_over_time(several.cells, several.rows) is None
    assert plot_bandwidth(several.rows) is not None
    many = [row | {"events": 10**9} for row in found.rows]
    assert plot_bandwidth_over_time(found.cells, many) is None


def test_bars_of_policies_that_do_not_fit_are_marked():
    policies = ["work_sharing", "gpu_only", "cilk"]
    lines = simsched.run("opteron48", "fork_join[depth=4]", policies, jobs=1).lines
    assert [bool(line.misfits) for line in lines] == [False, True, False]
    figure = plot_comparison(lines)
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names[1].startswith("gpu_only [1]")
    assert names[::2] == ["work_sharing", "cilk"]
    assert figure.get_supxlabel().startswith("[1] ")
    assert not plot_comparison(lines[:1]).get_supxlabel()


@pytest.mark.parametrize(
    ("bytes_per_s", "unit", "drawn"), [(1e4, "kB/s", 10.0), (5e9, "GB/s", 5.0), (2e15, "TB/s", 2e3)]
)
def test_bandwidths_have_a_unit_that_fits(bytes_per_s: float, unit: str, drawn: float) -> None:
    bare = row("cilk", [], []) | {"iteration_s": [1.0, 1.0], "initialisation_s": 0.0}
    moved = {"iteration_dram_bytes": [bytes_per_s] * 2, "iteration_hbm_bytes": [0, 0]}
    figure = plot_bandwidth([bare | moved])
    assert figure is not None
    assert figure.get_supylabel() == f"bandwidth [{unit}]"
    assert max(figure.axes[0].lines[0].get_ydata()) == pytest.approx(drawn)


def test_what_memory_sustains_has_a_unit_of_its_own() -> None:
    used = {"DRAM": Used(np.array([1e4, 2e4]), 1e15)}
    axes = draw_rates(np.array([0.0, 1.0, 2.0]), used, Figure().add_subplot(), "kind", "")
    assert axes.get_ylabel() == "bandwidth [kB/s]"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "DRAM (sustains 1,000 TB/s)"
    ]


def test_bars_of_policies_that_do_not_fit_do_not_set_the_axis() -> None:
    lines = [line("cilk", 0.348), line("laws", 0.316), line("samr", 6.35)]
    lines[2] = replace(lines[2], misfits=("needs jobs",))
    (axes,) = plot_comparison(lines).figure.axes
    assert axes.get_xlabel() == "makespan [ms]"
    assert axes.get_xlim()[1] < 2 * 348
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([348, 316, 348])
    assert [text.get_text().split(" ")[0] for text in axes.texts] == ["348", "316", "6,350"]
    assert [text.get_text().endswith(", cut") for text in axes.texts] == [False, False, True]
    (alone,) = plot_comparison(lines[2:]).figure.axes
    assert alone.patches[0].get_width() == pytest.approx(6.35)
