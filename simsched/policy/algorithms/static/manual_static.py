"""Manual scheduling: every thread has its own list of tasks, and nothing moves at run time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from simsched.policy import PlacedPolicy, Plan, PlanView, param, register
from simsched.policy.parts.loop import (
    ASSIGNMENTS,
    assigned,
    dependence_levels,
    flattened,
    least_of_loop,
)
from simsched.policy.parts.static_order import own_lists, tied
from simsched.workload.graph import TaskGraph, Workload


@register("manual_static")
@dataclass(frozen=True, kw_only=True)
class ManualStatic(PlacedPolicy[None]):
    """Tasks assigned to threads by the programmer, as with MPI or POSIX threads.

    Parameters
    ----------
    assignment : {"block", "cyclic"}
        Contiguous parts of the program, or single tasks in turn.

    Notes
    -----
    The spawn tree becomes a list of leaves (:func:`~simsched.policy.parts.loop.flatten`), which is
    divided once. A worker runs its own tasks in the order of its list, first those that wait for
    none, then those that wait for these, and so on; it waits for one whose data are not ready.
    Readings: docs/sources/cab.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 2.2 (manual scheduling).
    """

    assignment: str = param("block", choices=ASSIGNMENTS)

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program as lists of tasks, each waiting for the one before it in its list."""
        workload = flattened(view.workload)
        init = None if workload.init is None else self._listed(view, workload.init)
        return workload.changed(partial(self._listed, view), init=init)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        return own_lists(assigned(graph.n_tasks, view.n_workers, self.assignment))

    def _listed(self, view: PlanView, graph: TaskGraph) -> TaskGraph:
        """Return the graph with the tasks of every worker in a row."""
        owner = assigned(graph.n_tasks, view.n_workers, self.assignment)
        by_owner = np.lexsort((dependence_levels(graph), owner))
        first, second = by_owner[:-1], by_owner[1:]
        same = owner[first] == owner[second]
        return tied(graph, first[same], second[same])
