"""Scheduling by task sharing known from an earlier run: groups that fit each level of caches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from simsched.files.errors import PolicyError
from simsched.policy import PlacedPolicy, Plan, PlanView, param, register
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.loop import flattened, least_of_loop
from simsched.policy.parts.sharing import (
    between_groups,
    fitting_groups,
    maximum_spanning_order,
    sharing_graph,
    touched_bytes,
)
from simsched.policy.parts.static_order import ScheduledWorkload, own_lists
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Int64Array, TaskGraph, Workload


@register("offline_locality")
@dataclass(frozen=True, kw_only=True)
class OfflineLocality(PlacedPolicy[None]):
    """Recursive scheduling of task groups that share data, from the profile of an earlier run.

    Parameters
    ----------
    most_sharers : int
        Of a block that more tasks touch, only neighbours in the order of tasks count as sharing it.

    Notes
    -----
    What tasks touch and how long they compute is known from an earlier run, which is not simulated.
    At every level of caches tasks are divided into groups that fit, ordered so that each shares
    most with those before, and dealt out in contiguous parts of equal work. Readings:
    docs/sources/laws.md.

    References
    ----------
    R. M. Yoo, C. J. Hughes, C. Kim, Y.-K. Chen, C. Kozyrakis, *Locality-aware task management for
    unstructured parallelism: a quantitative limit study*, SPAA 2013. Q. Chen, M. Guo, Springer
    2017, section 4.3.7.
    """

    most_sharers: int = param(64, low=2)

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        flat = flattened(view.workload)
        lists = _Scheduler(view, flat.graph, self.most_sharers).lists()
        order = np.concatenate([np.array(tasks, np.int64) for tasks in lists])
        worker_of = np.repeat(np.arange(len(lists)), [len(tasks) for tasks in lists])
        if flat.graph.n_edges == 0:
            flat = flat.changed(partial(reordered, order=order), init=flat.init)
        else:
            worker_of = worker_of[np.argsort(order)]
        return ScheduledWorkload(
            flat.name,
            flat.graph,
            flat.iterations,
            flat.init,
            flat.parameters,
            worker_of.astype(np.int32),
            varying=flat.varying,
        )

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        """Return the lists of the workers; random stealing for the initialisation."""
        if graph is view.workload.init:
            return stealing_plan()
        if not isinstance(view.workload, ScheduledWorkload):
            raise PolicyError("offline_locality: plan: the program has not been prepared")
        return own_lists(view.workload.worker)


class _Scheduler:
    """Division of the tasks of one graph among the caches of one machine."""

    def __init__(self, view: PlanView, graph: TaskGraph, most_sharers: int) -> None:
        self.graph = graph
        self.caches = view.machine.caches[::-1]
        self.core = view.machine.thread_core[view.worker_thread]
        self.shared = sharing_graph(graph, most_sharers)
        self.touched = touched_bytes(graph)
        work = view.estimated_ops(graph).min(axis=0) + graph.join_ops.min(axis=0)
        self.weight = np.where(np.isfinite(work), work, 0.0)
        if not self.weight.any():
            self.weight = np.ones(graph.n_tasks)
        self.list_of: list[list[int]] = [[] for _ in range(view.n_workers)]

    def lists(self) -> list[list[int]]:
        """Return the tasks of each worker in order."""
        self._divide(np.arange(self.graph.n_tasks), 0, list(range(len(self.list_of))))
        return self.list_of

    def _divide(self, tasks: Int64Array, level: int, workers: list[int]) -> None:
        """Give tasks to the workers that share a cache, level 0 being the whole machine."""
        if level == len(self.caches):
            chain = self._in_order([tasks[i : i + 1] for i in range(len(tasks))])
            for worker, part in zip(workers, self._shares(chain, [1] * len(workers)), strict=True):
                self.list_of[worker] += [int(group[0]) for group in part]
            return
        cache = self.caches[level]
        instance = cache.core_instance[self.core[workers]]
        units = [
            [w for w, i in zip(workers, instance, strict=True) if i == u]
            for u in dict.fromkeys(instance.tolist())
        ]
        groups = fitting_groups(
            self.graph,
            self.shared,
            self.touched,
            tasks,
            self.weight,
            cache.capacity_bytes,
            len(units),
        )
        shares = self._shares(self._in_order(groups), [len(unit) for unit in units])
        for unit, part in zip(units, shares, strict=True):
            for group in part:
                self._divide(group, level + 1, unit)

    def _in_order(self, groups: list[Int64Array]) -> list[Int64Array]:
        """Return groups in the order in which they share most with those before."""
        if len(groups) < 2:
            return groups
        return [groups[i] for i in maximum_spanning_order(between_groups(self.shared, groups))]

    def _shares(self, groups: list[Int64Array], sizes: list[int]) -> list[list[Int64Array]]:
        """Return contiguous parts of a list of groups with work in proportion to `sizes`."""
        work = np.array([float(self.weight[group].sum()) for group in groups])
        middle = np.cumsum(work) - work / 2
        bounds = np.cumsum(sizes)[:-1] / sum(sizes) * work.sum()
        owner = np.searchsorted(bounds, middle, side="right")
        return [
            [group for group, o in zip(groups, owner.tolist(), strict=True) if o == unit]
            for unit in range(len(sizes))
        ]


def reordered(graph: TaskGraph, order: Int64Array) -> TaskGraph:
    """Return a graph without a spawn tree or edges with its tasks in another order."""
    new = np.empty(graph.n_tasks, np.int64)
    new[order] = np.arange(graph.n_tasks)
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    accessed = accesses(
        new[task], graph.access_block, graph.read_bytes, graph.written_bytes, graph.n_tasks
    )
    none = np.empty(0, np.int64)
    built = build_graph(
        graph.ops[:, order],
        kinds=graph.kinds,
        task_class=graph.task_class[order],
        class_names=graph.class_names,
        successors=adjacency(none, none, graph.n_tasks),
        accessed=accessed,
        block_bytes=graph.block_bytes,
        alternate_block=graph.alternate_block,
        arrival_ps=graph.arrival_ps[order],
        task_names=None if graph.task_names is None else [graph.task_names[i] for i in order],
    )
    return replace(built, creation_ops=graph.creation_ops[order])
