"""Threads that are pinned to cores: each task on the worker that its number says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import (
    PARENT_FIRST,
    PlacedPolicy,
    Plan,
    PlanView,
    param,
    preset,
    register,
)
from simsched.policy.contract.blocks import THREAD_GROUPS, system_pages
from simsched.policy.parts.static_order import own_lists
from simsched.workload.builder import ranks
from simsched.workload.graph import TaskGraph


@register("pinned_threads")
@dataclass(frozen=True, kw_only=True)
class PinnedThreads(PlacedPolicy[None]):
    """Fixed assignment of tasks to workers, as by a program that pins its threads.

    Parameters
    ----------
    page_migration : {"off", "balancenuma"}
        Whether the operating system moves pages to the node that accesses them.
    scan_period_s, page_bytes, faults_to_move, thread_group : float, int, int, str
        Of page migration; see :class:`~simsched.policy.contract.blocks.PageBalancing`. By default
        the filter is that of Linux, for threads that share no pages until the tasks do;
        `faults_to_move` 1 with `thread_group` none moves pages at every remote fault.

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
    page_migration: str = param("off", choices=("off", "balancenuma"))
    scan_period_s: float = param(1.0, low=1e-6, high=1e6)
    page_bytes: int = param(4096, low=1)
    faults_to_move: int = param(2, low=1)
    thread_group: str = param("sharing", choices=THREAD_GROUPS)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        order = np.argsort(graph.task_class, kind="stable")
        counts = np.bincount(graph.task_class, minlength=len(graph.class_names))
        worker = np.empty(graph.n_tasks, np.int32)
        worker[order] = ranks(counts) % view.n_workers
        return own_lists(
            worker,
            spawn_order=PARENT_FIRST,
            balancing=None
            if self.page_migration == "off" or graph is view.workload.init
            else system_pages(
                view.machine,
                self.scan_period_s,
                self.page_bytes,
                self.faults_to_move,
                self.thread_group,
            ),
        )


preset(
    "balancenuma",
    PinnedThreads,
    "Pinned threads with page migration by the operating system, pages of 4 KiB.",
    page_migration="balancenuma",
)
preset(
    "balancenuma_huge",
    PinnedThreads,
    "Pinned threads with page migration by the operating system, pages of 2 MiB.",
    page_migration="balancenuma",
    page_bytes=2 * 2**20,
)
