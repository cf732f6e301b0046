"""Threads that are pinned to cores: each task on the worker that its number says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.policy.base import PARENT_FIRST, AcquireStep, Plan, View, param
from simsched.policy.placement import PlacedPolicy
from simsched.policy.registry import register
from simsched.workload.graph import TaskGraph


@register("pinned_threads")
@dataclass(frozen=True, kw_only=True)
class PinnedThreads(PlacedPolicy):
    """Fixed assignment of tasks to workers, as by a program that pins its threads.

    Notes
    -----
    The i-th task of each class runs on worker i modulo the number of workers; within a worker the
    oldest ready task comes first. Nobody steals.

    References
    ----------
    A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA*, PACT
    2016, section 6.1 (the synthetic benchmark of page migration).
    """

    placement: str = param("interleave")

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return the assignment; a worker takes only its own tasks."""
        order = np.argsort(graph.task_class, kind="stable")
        counts = np.bincount(graph.task_class, minlength=len(graph.class_names))
        begin = np.repeat(np.cumsum(counts) - counts, counts)
        worker = np.empty(graph.n_tasks, np.int32)
        worker[order] = (np.arange(graph.n_tasks) - begin) % view.n_workers
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            spawn_order=PARENT_FIRST,
            instance_of=worker,
        )
