"""What a policy's own work at every spawn costs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from simsched.policy.contract.base import PlanView
from simsched.workload.graph import TaskGraph, Workload


def slower_spawns(view: PlanView, spawn_s: float) -> Workload:
    """Return a program each of whose spawns takes longer; the initialisation stays as it is.

    The time is turned into operations at the speed of the first worker's core, of which
    hyperthreads that work at the same time have a part each: it is that of a thread which has its
    core alone.
    """
    workload = view.workload
    if spawn_s == 0.0:
        return workload
    group = view.machine.core_groups[view.machine.thread_group[view.worker_thread[0]]]
    slower = partial(_slower, spawn_ops=spawn_s * group.ops_per_s)
    return workload.changed(slower, init=workload.init)


def _slower(graph: TaskGraph, spawn_ops: float) -> TaskGraph:
    return replace(graph, creation_ops=graph.creation_ops + spawn_ops)
