"""OpenMP ports: the program as a parallel loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from simsched.policy import (
    AcquireStep,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    param,
    preset,
    register,
)
from simsched.policy.parts.loop import ASSIGNMENTS, assigned, flattened, least_of_loop
from simsched.policy.parts.static_order import own_lists, tied
from simsched.workload.graph import BoolArray, Int64Array, TaskGraph, Workload


def guided_chunks(n_items: int, n_workers: int, chunk: int) -> Int64Array:
    """Return where the chunks of a guided schedule begin.

    A chunk has ``max(ceil(r / n_workers), chunk)`` items, r being those that nobody has taken yet.
    So chunks do not depend on who takes them.

    >>> guided_chunks(20, 4, 1).tolist()
    [0, 5, 9, 12, 14, 16, 17, 18, 19]
    """
    begins, taken = [], 0
    while taken < n_items:
        begins.append(taken)
        taken += max(-(-(n_items - taken) // n_workers), chunk)
    return np.array(begins, np.int64)


@register("openmp_static")
@dataclass(frozen=True, kw_only=True)
class OpenmpStatic(PlacedPolicy[None]):
    """Parallel loop over the leaves of the program with a fixed assignment of leaves to workers.

    Parameters
    ----------
    schedule : {"block", "cyclic"}
        Contiguous parts of the loop (``schedule(static)``), or single items in turn
        (``schedule(static, 1)``).

    Notes
    -----
    A spawn tree becomes a loop over its leaves (:func:`~simsched.policy.parts.loop.flatten`). A
    worker runs its own items only, in the order in which they become ready. Readings:
    docs/sources/bats.md.

    References
    ----------
    OpenMP Application Programming Interface 4.0, section 2.7.1 (loop construct, static schedule).
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, section 9 (the OpenMP baseline).
    """

    schedule: str = param("block", choices=ASSIGNMENTS)

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        return flattened(view.workload)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        return own_lists(assigned(graph.n_tasks, view.n_workers, self.schedule))


def _begins(graph: TaskGraph) -> BoolArray:
    """Return which items begin a chunk: all, unless each item waits at most for the one before."""
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    if not np.all(source == graph.succ - 1):
        return np.ones(graph.n_tasks, bool)
    begins: BoolArray = graph.in_degree == 0
    return begins


@register("openmp_dynamic")
@dataclass(frozen=True, kw_only=True)
class OpenmpDynamic(PlacedPolicy[None]):
    """Parallel loop over the leaves of the program whose workers take chunks as they become free.

    Parameters
    ----------
    schedule : {"dynamic", "guided"}
        Chunks of `chunk` items (``schedule(dynamic, chunk)``), or of the share of one worker in
        what is left of the loop (``schedule(guided, chunk)``).
    chunk : int
        Items of a chunk, or the least number of them.

    Notes
    -----
    The program becomes a loop as for :class:`OpenmpStatic`. Workers take chunks in the order of the
    loop, under one lock, and run their items one after the other; items that wait for others are
    taken one by one as they become ready. Readings: docs/sources/bats.md.

    References
    ----------
    OpenMP Application Programming Interface 4.0, section 2.7.1 (loop construct, dynamic and guided
    schedules). GNU libgomp for the size of guided chunks, which the specification leaves open.
    """

    schedule: str = param("dynamic", choices=("dynamic", "guided"))
    chunk: int = param(1, low=1)

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        workload = flattened(view.workload)
        init = None if workload.init is None else self._in_chunks(view, workload.init)
        return workload.changed(partial(self._in_chunks, view), init=init)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "oldest"),
                AcquireStep("loop", "own", "oldest"),
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("loop", scope="machine", locked=True)),
            group_of=_begins(graph).astype(np.int8),
        )

    def _in_chunks(self, view: PlanView, graph: TaskGraph) -> TaskGraph:
        """Return a loop in which every item of a chunk waits for the one before."""
        if graph.n_edges > 0:
            return graph
        begins = (
            np.arange(0, graph.n_tasks, self.chunk)
            if self.schedule == "dynamic"
            else guided_chunks(graph.n_tasks, view.n_workers, self.chunk)
        )
        follows = np.setdiff1d(np.arange(graph.n_tasks), begins)
        return tied(graph, follows - 1, follows)


preset(
    "openmp_guided",
    OpenmpDynamic,
    "OpenMP guided: chunks in proportion to what is left of the loop.",
    schedule="guided",
)
preset(
    "openmp_static_h",
    OpenmpStatic,
    "OpenMP static with all data on HBM nodes.",
    placement="membind_hbm",
)
