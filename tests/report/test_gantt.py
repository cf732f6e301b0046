"""Gantt charts: what is drawn is the time that workers are busy, one by one or added up."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.report.plots import occupancy as occupancy_module
from simsched.report.plots.gantt import gantt
from simsched.report.plots.occupancy import Bars, busy_bars, occupancy, rows_of
from simsched.trace.exporters._timeline import Timeline, timeline
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.presets import make_workload


def simulated(workload: str = "heat[rows=128,columns=128,leaf_bytes=8 KiB,iterations=2]") -> Run:
    return simulate(
        load_machine("amd_4x_opteron8380"),
        make_workload(workload),
        make_policy("cilk_a"),
        events=True,
    )


@pytest.fixture(scope="module")
def run() -> Run:
    return simulated()


def in_tasks_ps(run: Run, bars: Bars) -> list[int]:
    """Time of every worker in tasks, as the bars have it."""
    chosen = bars.layer < len(bars.layers) - 1
    length = (bars.end_ps - bars.start_ps)[chosen]
    n = len(run.worker_thread)
    return np.bincount(bars.worker[chosen], weights=length, minlength=n).astype(int).tolist()


def test_bars_cover_the_busy_time_that_the_kernel_has_counted(run: Run) -> None:
    bars = busy_bars(run)
    assert in_tasks_ps(run, bars) == run.summary.worker_busy_ps.tolist()
    graph, init = run.workload.graph, run.workload.init
    assert init is not None
    assert bars.n_tasks == init.n_tasks + 2 * graph.n_tasks
    assert {"initialise", "sweep"} <= set(bars.layers)


def test_the_critical_path_is_a_line_from_the_start_to_the_end(run: Run) -> None:
    axes = gantt(run)
    (line,) = [each for each in axes.lines if each.get_color() == "black"]
    x = np.asarray(line.get_xdata())
    factor = run.makespan_s / x[-1]
    assert factor in (1.0, pytest.approx(1e-3), pytest.approx(1e-6))
    assert x[0] == pytest.approx(0.0, abs=x[-1] / 100)
    assert (np.diff(x) >= -1e-9 * x[-1]).all()
    legend = axes.get_legend()
    assert legend is not None
    assert "critical path" in [text.get_text() for text in legend.get_texts()]
    assert not [
        each for each in gantt(run, critical_path=False).lines if each.get_color() == "black"
    ]


def test_children_created_inside_a_task_are_runtime_not_task() -> None:
    machine = load_machine("amd_4x_opteron8380")
    workload = make_workload("fork_join[depth=6]")
    run = simulate(machine, workload, make_policy("work_sharing"), workers=3, events=True)
    assert in_tasks_ps(run, busy_bars(run)) == run.summary.worker_busy_ps.tolist()
    assert run.summary.worker_spawn_ps.sum() > 0


def test_bars_of_a_worker_do_not_overlap(run: Run) -> None:
    bars = busy_bars(run)
    order = np.lexsort((bars.start_ps, bars.worker))
    worker, start, end = (c[order] for c in (bars.worker, bars.start_ps, bars.end_ps))
    same = worker[1:] == worker[:-1]
    assert (start[1:] >= end[:-1])[same].all()


@pytest.mark.parametrize("bins", [1, 7, 1000])
def test_adding_up_loses_no_time(run: Run, bins: int) -> None:
    bars = busy_bars(run)
    row_of, share = rows_of(run, 5)
    edges = np.linspace(*bars.span_ps, bins + 1)
    cells = occupancy(bars, row_of, edges)
    assert cells.shape == (int(row_of.max()) + 1, bins, len(bars.layers))
    length = (bars.end_ps - bars.start_ps).astype(float)
    by_layer = np.bincount(bars.layer, weights=length, minlength=len(bars.layers))
    assert cells.sum(axis=(0, 1)) == pytest.approx(by_layer, rel=1e-9)
    by_row = np.bincount(row_of[bars.worker], weights=length)
    assert cells.sum(axis=(1, 2)) == pytest.approx(by_row, rel=1e-9)
    assert cells.min() >= -1e-3
    assert cells.sum(axis=2).max() <= (edges[1] - edges[0]) * share * (1 + 1e-9)


def test_a_bar_over_several_bins_is_divided_among_them() -> None:
    made = [np.array([value], np.int64) for value in (0, 0, 5, 35)]
    bars = Bars(*made, ("task", "runtime"), 1, (0, 40), np.zeros(0, np.int64))
    cells = occupancy(bars, np.zeros(1, np.int64), np.linspace(0, 40, 5))
    assert cells[0, :, 0].tolist() == [5.0, 10.0, 10.0, 5.0]


def test_rows_do_not_mix_domains(run: Run) -> None:
    row_of, share = rows_of(run, 3)
    domain = run.machine.core_domain[run.machine.thread_core[run.worker_thread]]
    assert share == 6  # 16 workers in at most 3 rows; domains have four
    assert len(set(zip(row_of.tolist(), domain.tolist(), strict=True))) == len(set(row_of)) == 4


def area(axes: object) -> float:
    """Area of all bars in the units of the axes."""
    paths = axes.collections[0].get_paths()  # type: ignore[attr-defined]
    return sum(float(np.ptp(p.vertices[:, 0]) * np.ptp(p.vertices[:, 1])) for p in paths)


def test_single_bars_have_the_area_of_the_time(run: Run) -> None:
    axes = gantt(run, Figure().add_subplot(), max_bars=10**6)
    bars = busy_bars(run)
    seconds = float((bars.end_ps - bars.start_ps).sum()) * 1e-12
    unit = {"time [s]": 1.0, "time [ms]": 1e-3, "time [us]": 1e-6}[axes.get_xlabel().split("\n")[0]]
    assert area(axes) * unit == pytest.approx(seconds * 0.84)  # bars are 0.84 rows high
    assert "every interval is drawn" in axes.get_xlabel()
    assert axes.get_title(loc="left") == "heat on amd_4x_opteron8380, cilk_a, seed 0"


def test_many_bars_are_added_up_and_the_figure_says_so(run: Run) -> None:
    axes = gantt(run, Figure().add_subplot(), max_bars=10)
    assert not axes.collections
    bars = busy_bars(run)
    assert f"{bars.n_tasks:,} tasks, {len(bars):,} intervals" in axes.get_xlabel()
    image = np.asarray(axes.images[0].get_array())
    assert image.shape == (16, 800, 3)
    legend = axes.get_legend()
    assert legend is not None
    assert "idle" in [text.get_text() for text in legend.get_texts()]


def test_time_can_be_chosen(run: Run) -> None:
    bars = busy_bars(run)
    middle = bars.span_ps[1] / 2 * 1e-12
    parts = [busy_bars(run, end_s=middle), busy_bars(run, start_s=middle)]
    whole = (bars.end_ps - bars.start_ps).sum()
    assert sum((p.end_ps - p.start_ps).sum() for p in parts) == whole
    with pytest.raises(ConfigurationError, match="accepted a time that is not empty"):
        gantt(run, Figure().add_subplot(), start_s=2.0, end_s=1.0)


def test_a_part_of_time_is_what_lies_in_it_of_the_whole() -> None:
    """Bars are cut where tasks create children inside them, and where the time begins and ends."""
    machine = load_machine("amd_4x_opteron8380")
    workload = make_workload("fork_join[depth=6]")
    run = simulate(machine, workload, make_policy("work_sharing"), workers=3, events=True)
    whole = busy_bars(run)
    begin, end = whole.span_ps[1] // 3, whole.span_ps[1] // 2
    part = busy_bars(run, begin * 1e-12, end * 1e-12)
    expected = sorted(
        (worker, layer, max(first, begin), min(last, end))
        for worker, layer, first, last in zip(
            whole.worker.tolist(),
            whole.layer.tolist(),
            whole.start_ps.tolist(),
            whole.end_ps.tolist(),
            strict=True,
        )
        if first < end and last > begin
    )
    columns = (part.worker, part.layer, part.start_ps, part.end_ps)
    assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert run.trace is not None
    events = run.trace.events
    begins = events["time_ps"][events["kind"] == EventKind.TASK_START]
    assert part.n_tasks == ((begins >= begin) & (begins < end)).sum() > 0


def test_bars_are_found_once_and_kept_as_long_as_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever zoomed in a run of a million tasks waited for seconds each time."""
    found = []

    def counted(*args: Any, **kwargs: Any) -> Timeline:
        found.append(args)
        return timeline(*args, **kwargs)

    monkeypatch.setattr(occupancy_module, "timeline", counted)
    run = simulated()
    half = busy_bars(run).span_ps[1] * 0.5e-12
    gantt(run, Figure().add_subplot(), start_s=half)
    gantt(run, Figure().add_subplot(), end_s=half)
    assert len(found) == 1
    busy_bars(simulated())
    assert len(found) == 2
    found.clear()
    gone = weakref.ref(run)
    del run
    gc.collect()
    assert gone() is None


def test_more_classes_than_colours_are_one(run: Run) -> None:
    workload = make_workload("layered_random")
    drawn = simulate(
        load_machine("amd_4x_opteron8380"), workload, make_policy("cilk_a"), events=True
    )
    axes = gantt(drawn, Figure().add_subplot())
    legend = axes.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) <= 9


def test_a_run_without_events_is_refused(run: Run) -> None:
    bare = simulate(run.machine, run.workload, run.policy)
    with pytest.raises(ConfigurationError, match="found no event trace"):
        gantt(bare, Figure().add_subplot())
