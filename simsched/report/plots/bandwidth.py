"""Bandwidth in use over time, beside what memory and links sustain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from simsched.analysis.metrics import memory_kinds
from simsched.engine.ways import ways_of
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.units import PER_PS
from simsched.machine.model import Machine
from simsched.report.plots.common import (
    add_legend,
    axes_for,
    finish,
    rate_axis,
    rate_scale,
    run_name,
    set_limits,
    time_axis,
    time_scale,
)
from simsched.report.plots.looks import looks
from simsched.report.plots.titles import set_xlabel
from simsched.report.tables import number
from simsched.trace.flows import CACHE_OF, Ways, copies_of, flows_of, passing
from simsched.trace.run import Run

BINS = 200
OFF_SCALE = 3.0  #: sustained bandwidth above so many times the highest use is only said
MOST_LINKS = 12  #: those that carry most are drawn

Grouping = Literal["kind", "node", "link"]


@dataclass(frozen=True, eq=False)
class Used:
    """Bandwidth in use: bytes per second in each bin, and what is sustained.

    `of` is the name of what a memory-side cache is in front of.
    """

    bytes_per_s: NDArray[np.float64]
    sustained: float
    of: str | None = None


def rates(run: Run, by: str, bins: int) -> tuple[NDArray[np.float64], dict[str, Used]]:
    """Return the bandwidth in use by memory kind, by node or by link.

    These are the edges of equal time bins in seconds, and by name the mean of each bin. What
    memory-side caches answer is apart from what comes from the nodes behind them.
    """
    if run.trace is None or not len(run.trace):
        raise ConfigurationError("run: found no event trace, accepted a run with its events")
    if by not in get_args(Grouping):
        raise ConfigurationError(f"by: {unknown_name('grouping', by, get_args(Grouping))}")
    if bins < 1:
        raise ConfigurationError(f"bins: found {bins}, accepted 1 or more")
    machine, time = run.machine, run.trace.events["time_ps"]
    if by == "link" and not machine.links:
        raise ConfigurationError(
            f"by: found 'link' and machine {machine.name}, which has no links, accepted: kind, node"
        )
    ways = ways_of(machine, run.worker_thread)
    flows = flows_of(run.trace)
    flows = flows.beside(copies_of(run.trace, ways, run.workload.graph.block_bytes))
    first, last = int(time[0]), int(time[-1])
    edges = np.linspace(first, max(last, first + 1), bins + 1)
    paths, passed = passing(flows, ways, edges)
    width = float(edges[-1] - edges[0]) / bins * PER_PS
    used = {
        name: Used(weights[paths] @ passed / width, sustained, of)
        for name, weights, sustained, of in _series(machine, ways, by)
    }
    return edges * PER_PS, used


def _series(
    machine: Machine, ways: Ways, by: str
) -> Iterator[tuple[str, NDArray[np.float64], float, str | None]]:
    """Yield name, bytes by path for a byte, what is sustained, and what a cache is in front of."""
    if by == "link":
        begin = ways.names.index(machine.links[0].name, ways.n_nodes)
        for index in range(begin, begin + len(machine.links)):
            yield ways.names[index], ways.weights(index), float(ways.bytes_per_s[index]), None
        return
    groups = {kind: [*nodes] for kind, nodes in memory_kinds(machine).items()}
    if by == "node":
        groups = {node.name: [index] for index, node in enumerate(machine.nodes)}
    for name, members in groups.items():
        moved = np.sum([ways.moved(node) for node in members], axis=0)
        yield name, moved, float(ways.bytes_per_s[members].sum()), None
    for name, members in groups.items():
        caches = [cache for node in members if (cache := ways.cache_of(node)) is not None]
        if caches:
            hits = np.sum([ways.answered(node) for node in members], axis=0)
            yield CACHE_OF.format(name), hits, float(ways.bytes_per_s[caches].sum()), name


def bandwidth(
    run: Run,
    ax: Axes | None = None,
    *,
    by: Grouping = "kind",
    bins: int = BINS,
    title: str | None = None,
) -> Axes:
    """Draw the bandwidth in use over time; dashed lines are what memory or links sustain.

    What memory-side caches answer is a dotted line of its own; hits in processor caches, and what
    these pass on to each other, are not drawn.

    Parameters
    ----------
    run : Run
        A run with its events.
    ax : Axes, optional
        Where to draw; a new figure by default.
    by : {"kind", "node", "link"}
        One line per memory kind, per memory node, or per link: of many links those that carry most.
    bins : int
        Number of time bins; a point is the mean over one.
    title : str, optional
        What the run is called.

    Returns
    -------
    Axes
        With one line per kind, node or link, bytes per second over seconds.

    Raises
    ------
    ConfigurationError
        The run has no events, the machine has no links, or `by` or `bins` is not accepted.
    """
    found = rates(run, by, bins)
    return draw_rates(*found, axes_for(ax, 8.0, 3.4), by, title or run_name(run))


def draw_rates(
    edges: NDArray[np.float64], used: dict[str, Used], axes: Axes, by: Grouping, title: str
) -> Axes:
    """Draw what `rates` has found for a grouping as :func:`bandwidth` does; return the axes."""
    left_out = 0
    if by == "link":
        used, left_out = _busiest(used)
    factor, unit = time_axis(axes, float(edges[-1]))
    set_limits(axes, (float(edges[0]) / factor, float(edges[-1]) / factor))
    top = max((float(each.bytes_per_s.max(initial=0.0)) for each in used.values()), default=0.0)
    scale, scale_name = rate_axis(axes, top)
    look = looks(used)
    for name, each in used.items():
        behind = look[each.of or name]
        sustained, sustained_name = rate_scale(each.sustained)
        axes.stairs(
            each.bytes_per_s / scale,
            edges / factor,
            color=behind.colour,
            linestyle=behind.dashes if each.of is None else behind.dots,
            label=f"{name} (sustains {number(each.sustained / sustained)} {sustained_name})",
            linewidth=1.3,
        )
        if by == "kind" and each.sustained <= OFF_SCALE * top:
            axes.axhline(each.sustained / scale, color=behind.colour, linestyle="--", linewidth=0.9)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel(f"bandwidth [{scale_name}]", fontsize=9)
    wide, small = time_scale(float(edges[1] - edges[0]))
    note = (
        f"means over {(edges[1] - edges[0]) / wide:.3g} {small}; "
        "the bytes of an access are spread over its time"
    )
    if left_out:
        note += f"; {left_out} links that carry less are left out"
    set_xlabel(axes, f"time [{unit}]\n{note}")
    add_legend(axes)
    return finish(axes, title)


def _busiest(used: Mapping[str, Used]) -> tuple[dict[str, Used], int]:
    """Return the links that carry most, in their order, and how many others carry something."""
    carried = {name: float(each.bytes_per_s.sum()) for name, each in used.items()}
    busy = [name for name in sorted(carried, key=lambda name: -carried[name]) if carried[name] > 0]
    kept = set(busy[:MOST_LINKS])
    return {name: used[name] for name in used if name in kept}, len(busy) - len(kept)
