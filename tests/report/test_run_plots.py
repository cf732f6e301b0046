"""Plots of results: areas, sums and ratios that must come out."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import simsched
from simsched.experiment.compare import Difference, Side
from simsched.files.errors import ConfigurationError
from simsched.report.plots import draw_differences, locality, speedup, waterfall
from simsched.report.plots.bandwidth import bandwidth, rates

HEAT = "heat[rows=128,columns=128,leaf_bytes=8 KiB,iterations=2]"


@pytest.fixture(scope="module")
def result() -> simsched.Result:
    return simsched.run(
        "amd_4x_opteron8380", HEAT, ["cilk_a", "work_sharing"], seeds=2, jobs=1, name="plots"
    )


@pytest.mark.parametrize("by", ["kind", "node"])
def test_the_area_below_bandwidth_is_the_bytes_moved(result: simsched.Result, by: str) -> None:
    run = result.simulate("cilk_a")
    edges, used = rates(run, by, 50)
    moved = sum(float((each.bytes_per_s * np.diff(edges)).sum()) for each in used.values())
    assert moved == pytest.approx(float(run.summary.node_bytes.sum()), rel=1e-6)
    assert sum(each.sustained for each in used.values()) == pytest.approx(
        sum(node.bandwidth_bytes_per_s for node in run.machine.nodes)
    )
    if by == "node":
        per_node = run.summary.node_bytes.sum(axis=(0, 1))
        found = [float((each.bytes_per_s * np.diff(edges)).sum()) for each in used.values()]
        assert found == pytest.approx(per_node.tolist(), rel=1e-6)


def test_hits_in_memory_side_caches_are_apart_from_the_memory_behind() -> None:
    run = simsched.run("knl_snc4_cache", HEAT, ["cilk_a"], jobs=1, name="hits").simulate()
    hits, everything = run.summary.node_hit_bytes.sum(), run.summary.node_bytes.sum()
    assert 0 < hits < everything
    edges, used = rates(run, "kind", 200)
    area = {name: (each.bytes_per_s * np.diff(edges)).sum() for name, each in used.items()}
    expected = {"DRAM": everything - hits, "cache of DRAM": hits}
    assert area == pytest.approx(expected, rel=1e-3)
    assert used["DRAM"].bytes_per_s.max() <= used["DRAM"].sustained * 1.001
    labels = [text.get_text() for text in bandwidth(run).get_legend().get_texts()]
    assert [label.split(" (")[0] for label in labels] == ["DRAM", "cache of DRAM"]


def test_bandwidth_says_what_it_is_the_mean_of(result: simsched.Result) -> None:
    axes = bandwidth(result.simulate(), Figure().add_subplot())
    assert "means over" in axes.get_xlabel()
    assert axes.get_ylabel() == "bandwidth [GB/s]"
    with pytest.raises(ConfigurationError, match="unknown grouping 'nod'; did you mean 'node'"):
        result.plot.bandwidth(by="nod")  # type: ignore[arg-type]


def row(policy: str, seed: int, makespan: float, **more: object) -> dict[str, object]:
    identity = {"machine": "m", "workload": "w", "policy": policy, "seed": seed}
    return identity | {"makespan_s": makespan} | more


def test_locality_shares_are_of_all_bytes_and_seeds_are_added() -> None:
    moved = {"local_dram_bytes": 10, "remote_dram_bytes": 30, "local_hbm_bytes": 60}
    other = {"local_dram_bytes": 0, "remote_dram_bytes": 0, "local_hbm_bytes": 100}
    rows = [row("a", 0, 1.0, **moved), row("a", 1, 1.0, **other), row("b", 0, 1.0, **moved)]
    axes = locality(rows, Figure().add_subplot())
    widths = np.array([[bar.get_width() for bar in group] for group in axes.containers])
    assert widths.tolist() == [[5.0, 10.0], [15.0, 30.0], [80.0, 60.0]]
    assert widths.sum(axis=0).tolist() == [100.0, 100.0]
    assert [label.get_text().split("\n")[0] for label in axes.get_yticklabels()] == ["a", "b"]
    with pytest.raises(ConfigurationError, match="found no run that moves bytes"):
        locality([row("a", 0, 1.0)], Figure().add_subplot())


def test_speed_up_is_the_mean_of_ratios_seed_by_seed() -> None:
    rows = [row("a", 0, 2.0), row("a", 1, 6.0), row("b", 0, 1.0), row("b", 1, 2.0)]
    axes = speedup(rows, "a", Figure().add_subplot())
    assert [bar.get_width() for bar in axes.containers[1]] == [1.0, 2.5]
    with pytest.raises(ConfigurationError, match="unknown policy 'c'"):
        speedup(rows, "c", Figure().add_subplot())


def test_speed_up_over_a_swept_key_is_a_line_against_the_baseline_at_the_same_point() -> None:
    rows = [
        row(policy, 0, makespan, **{"sweep.machines.0.workers": workers})
        for workers, first, second in ((1, 8.0, 8.0), (2, 4.0, 2.0))
        for policy, makespan in (("a", first), ("b", second))
    ]
    axes = speedup(rows, "a", Figure().add_subplot())
    lines = {line.get_label(): line for line in axes.get_lines()}
    found = [axes.containers[i][0].get_ydata().tolist() for i in range(2)]
    assert found == [[1.0, 1.0], [1.0, 2.0]]
    assert axes.containers[1][0].get_xdata().tolist() == [1.0, 2.0]
    assert axes.get_xlabel() == "sweep.machines.0.workers"
    assert lines


def test_waterfall_steps_lead_from_one_makespan_to_the_other() -> None:
    first = Side("A", (0,), 10.0, {"compute": 6.0, "idle": 4.0})
    second = Side("B", (0,), 7.0, {"compute": 6.5, "idle": 0.497, "steal": 0.003})
    axes = waterfall(Difference(first, second), Figure().add_subplot())
    bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
    assert bars[0] == (0.0, 10.0)
    assert bars[-1] == (0.0, 7.0)
    steps = bars[1:-1]
    assert [round(width, 6) for _, width in steps] == [0.5, -3.503, 0.003]
    for (left, width), (start, _) in zip(steps, [*steps[1:], (7.0, 0.0)], strict=True):
        assert left + width == pytest.approx(start)
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["A", "compute", "idle", "1 smaller parts", "B"]


def test_waterfalls_beside_each_other_have_the_same_rows_and_axis() -> None:
    first = Side("m w A", (0,), 10.0, {"compute": 6.0, "idle": 4.0})
    second = Side("m w B", (0,), 9.6, {"compute": 6.0, "idle": 3.598, "steal": 0.002})
    third = Side("m w C", (0,), 9.2, {"compute": 6.2, "idle": 3.0})
    figure = draw_differences([Difference(first, each) for each in (second, third)])
    figure.draw_without_rendering()
    left, right = figure.axes
    rows = ["A", "compute", "idle", "1 smaller parts", "B"]
    assert [text.get_text() for text in left.get_yticklabels()] == rows
    assert not right.get_yticklabels()
    assert right.get_yticks().tolist() == left.get_yticks().tolist()
    for axes in (left, right):
        # Levels are 10.2 at most and 9.2 at least; the axis begins as far below that.
        assert axes.get_xlim() == pytest.approx((8.2, 8.2 + 2.0 * 1.12))
    widths = [[round(bar.get_width(), 6) for bar in axes.patches] for axes in (left, right)]
    assert widths == [[10.0, 0.0, -0.402, 0.002, 9.6], [10.0, 0.2, -1.0, 0.0, 9.2]]
    assert [text.get_text() for text in left.texts] == ["10", "0", "-0.402", "+0.002", "9.6"]
    titles = [axes.get_title(loc="left").replace("\xa0", " ") for axes in (left, right)]
    assert titles == ["B: B (4.0 % less time)", "B: C (8.0 % less time)"]
    assert figure.get_suptitle() == "m w, A: A"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rounding", [0.0, 1e-15])
def test_runs_that_take_as_long_are_seen_from_zero_on(rounding: float) -> None:
    """The axis once began where both ended, of which Matplotlib warned."""
    first = Side("A", (0,), 10.0, {"compute": 6.0, "idle": 4.0})
    second = Side("B", (0,), 10.0, {"compute": 6.0, "idle": 4.0 + rounding})
    axes = waterfall(Difference(first, second), Figure().add_subplot())
    assert axes.get_xlim() == (0.0, pytest.approx(11.2))


def test_waterfall_of_simulated_runs_adds_up(result: simsched.Result) -> None:
    found = result.plot.difference("work_sharing")
    change = found.second.makespan_s - found.first.makespan_s
    assert sum(found.seconds.values()) == pytest.approx(change, rel=1e-9, abs=1e-15)
    rows = result.runs.groupby("policy").makespan_s.mean()
    assert found.first.makespan_s == pytest.approx(rows["cilk_a"])
    assert found.second.makespan_s == pytest.approx(rows["work_sharing"])
    other = result["cilk_a"].plot.difference(result["work_sharing"])
    assert other.seconds == found.seconds


def test_a_waterfall_says_which_result_has_several_kinds_of_runs(result: simsched.Result) -> None:
    with pytest.raises(ConfigurationError) as found:
        result["cilk_a"].plot.waterfall(result)
    assert str(found.value) == (
        "waterfall: B, a result of plots: found runs with policy cilk_a, work_sharing, accepted: "
        "one of them, such as policy=cilk_a"
    )


def test_a_waterfall_of_no_policy_has_those_that_differ_most() -> None:
    policies = ["cilk_a", "work_sharing", "manual_static"]
    found = simsched.run("amd_4x_opteron8380", "heat[rows=512]", policies, jobs=1)
    axes = found.plot.waterfall()
    # The shortest one comes first.
    titles = [each.get_title(loc="left").partition(" (")[0] for each in axes]
    assert titles == ["B: manual_static", "B: work_sharing"]
    alone = Figure().add_subplot()
    assert found.plot.waterfall(ax=alone) is alone
    assert "manual_static" in alone.get_title(loc="left")
    with pytest.raises(ConfigurationError, match="found 0 machines and workloads whose policies"):
        found["cilk_a"].plot.waterfall()


def test_every_plot_draws_where_it_is_told_to(result: simsched.Result) -> None:
    figure = Figure()
    axes = figure.subplots(2, 3).flat
    plot = result.plot
    drawn = [
        plot.gantt("work_sharing", ax=axes[0], iterations=1),
        plot.bandwidth(ax=axes[1], iterations=(1, 2)),
        plot.locality(ax=axes[2]),
        plot.speedup(ax=axes[3]),
        plot.makespan(ax=axes[4]),
        plot.waterfall("work_sharing", ax=axes[5]),
    ]
    assert drawn == list(axes)
    assert all(each.get_title(loc="left") for each in drawn)
