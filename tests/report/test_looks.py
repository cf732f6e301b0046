"""No two series of a figure look alike, however many there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import simsched
from simsched.experiment.metg import Metg, Trial
from simsched.experiment.study import Study
from simsched.machine.synthetic import make_machine
from simsched.report.plots.bandwidth import bandwidth
from simsched.report.plots.comparison import makespan
from simsched.report.plots.metg import plot_metg
from simsched.report.plots.speedup import speedup
from tests.report.test_plots import line
from tests.report.test_run_plots import row


def looks_of_bars(axes: Axes) -> list[tuple[Any, ...]]:
    return [(bar.get_facecolor(), bar.get_hatch()) for bar in axes.patches]


def looks_of_lines(lines: Any) -> list[tuple[Any, ...]]:
    """Return colour and pattern of dashes, in which all of them are to differ, markers or not."""
    return [(each.get_color(), str(each._dash_pattern)) for each in lines]


def test_bars_of_120_policies_differ() -> None:
    """This many the comparison draws; the first eight, which the colours suffice for, are plain."""
    found = looks_of_bars(makespan([line(f"p{number}", 1.0 + number) for number in range(120)]))
    assert len(set(found)) == len(found) == 120
    assert [hatch for _, hatch in found[:9]] == [None] * 8 + ["///"]


def test_bars_of_a_speed_up_differ() -> None:
    rows = [row(f"p{number}", 0, 1.0) for number in range(20)]
    found = looks_of_bars(speedup(rows, "p0", Figure().add_subplot()))
    assert len(set(found)) == len(found) == 20


def test_lines_of_a_speed_up_differ() -> None:
    rows = [
        row(f"p{number}", 0, 1.0, **{"sweep.machines.0.workers": workers})
        for number in range(40)
        for workers in (1, 2)
    ]
    axes = speedup(rows, "p0", Figure().add_subplot())
    lines = [container[0] for container in axes.containers]
    assert len(set(looks_of_lines(lines))) == len(lines) == 40
    assert len({each.get_marker() for each in lines[:8]}) == 8  # without colours, too


def test_lines_of_efficiency_differ_by_policy_and_by_workers() -> None:
    (cell,) = Study.from_objects("epyc_7451", "chain", "cilk").cells
    trials = (Trial(1e-6, 1e-6, 0.4), Trial(1e-3, 1e-3, 0.9))
    found = [
        Metg(replace(cell, policy=f"p{number}"), workers, 0.5, trials)
        for number in range(12)
        for workers in (1, 2, 4, 8, 16, 32)
    ]
    efficiencies, by_workers = plot_metg(found).axes
    marked = [
        (*look, each.get_marker())
        for each, look in zip(
            efficiencies.lines[:-1], looks_of_lines(efficiencies.lines), strict=False
        )
    ]
    assert len(set(marked)) == len(marked) == 72
    assert len(set(looks_of_lines(by_workers.lines))) == 12


def test_lines_of_bandwidth_differ() -> None:
    """Sixteen nodes, twice as many as there are colours."""
    machine = make_machine(domains=16, cores_per_domain=1)
    run = simsched.run(machine, "independent[tasks=64]", ["work_sharing"], name="n").simulate()
    lines = bandwidth(run, Figure().add_subplot(), by="node").patches
    found = {(each.get_edgecolor(), str(each._dash_pattern)) for each in lines}
    assert len(found) == len(lines) == 16
