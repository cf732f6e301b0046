"""Recorded schedules: every task on the worker that ran it, in the order in which it ran."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.files.errors import PolicyError
from simsched.policy import PARENT_FIRST, PlacedPolicy, Plan, PlanView, param, register
from simsched.policy.parts.loop import assigned
from simsched.policy.parts.static_order import own_lists, tied
from simsched.workload.graph import Int64Array, TaskGraph, Workload


@register("recorded")
@dataclass(frozen=True, kw_only=True)
class Recorded(PlacedPolicy[None]):
    """Replays a recorded assignment of tasks to workers and the order on each worker.

    Parameters
    ----------
    worker : tuple of int
        Worker of each task, -1 for the worker that makes it ready. Without any, tasks are dealt out
        to the workers in turn, in the order of their numbers.
    after : tuple of int
        For each task the task of the same worker that has to end before it starts, -1 for none.
    overtake : bool
        Whether a worker whose next task is not ready takes a later one that is: then `after` is
        ignored, and a worker takes its tasks in the order in which they become ready.

    Notes
    -----
    Each worker takes from its own pool only. :func:`simsched.hardware.replay.replay` fills in both
    from a recording. Readings: docs/sources/list-scheduling.md.

    References
    ----------
    None: the schedule is that of the record.
    """

    worker: tuple[int, ...] = param(())
    after: tuple[int, ...] = param(())
    overtake: bool = param(False)

    def prepare(self, view: PlanView) -> Workload:
        workload = view.workload
        graph = workload.graph
        for name, values in (("worker", self.worker), ("after", self.after)):
            if values and len(values) != graph.n_tasks:
                raise PolicyError(
                    f"policy {self.name}: {name}: found {len(values)} entries, "
                    f"accepted {graph.n_tasks} (tasks of {workload.name})"
                )
        if self.overtake or not self.after:
            return workload
        after = np.asarray(self.after, np.int64)
        return workload.changed(lambda each: _tied(each, after), init=workload.init)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        worker = np.asarray(self.worker, np.int32)
        if not self.worker or graph is view.workload.init:
            worker = assigned(graph.n_tasks, view.n_workers, "cyclic")
        return own_lists(worker, spawn_order=PARENT_FIRST)


def _tied(graph: TaskGraph, after: Int64Array) -> TaskGraph:
    """Return the graph with an edge to each task from the one that it has to follow."""
    wrong = np.flatnonzero((after < -1) | (after >= graph.n_tasks))
    if len(wrong):
        task = int(wrong[0])
        raise PolicyError(
            f"policy recorded: after: task {task}: found {int(after[task])}, "
            f"accepted -1 to {graph.n_tasks - 1}"
        )
    second = np.flatnonzero(after >= 0)
    return tied(graph, after[second], second)
