"""Classes of tasks: which there are, what they have cost, which group of cores gets which."""

from __future__ import annotations

import numpy as np

from simsched.policy.parts.batch_gate import GATE
from simsched.policy.parts.core_groups import cut_points
from simsched.policy.parts.subgraphs import main_tasks
from simsched.workload.graph import (
    BoolArray,
    FloatArray,
    Int32Array,
    Int64Array,
    TaskGraph,
    Workload,
)


class History:
    """What the tasks of each class have cost on the cores of each group.

    On the fastest group the estimate t_1 is the mean of measured times (equation 5.3), on group i
    the mean of ``t_1 * ipc / ipc_task``; every task changes ipc, but only those on the fastest
    group count for its weight (equation 5.4). Readings: docs/sources/aats.md.
    """

    def __init__(self, n_classes: int, n_groups: int) -> None:
        self.n = np.zeros((n_classes, n_groups), np.int64)
        self.time_s = np.zeros((n_classes, n_groups))
        self.ipc = np.zeros(n_classes)
        self._ipc_sum = np.zeros((n_classes, n_groups))

    def finish(self, task_class: int, group: int, time_s: float, ipc: float) -> None:
        """Note a task that has ended on a core of a group."""
        c, n, n_fast = task_class, int(self.n[task_class, group]), int(self.n[task_class, 0])
        estimate = time_s
        if group > 0 and n_fast > 0:
            estimate = float(self.time_s[c, 0] * self.ipc[c] / ipc)
        self.ipc[c] = (self.ipc[c] * n_fast + ipc) / (n_fast + 1)
        self.time_s[c, group] = (self.time_s[c, group] * n + estimate) / (n + 1)
        self._ipc_sum[c, group] += ipc
        self.n[c, group] = n + 1

    @property
    def is_complete(self) -> bool:
        """Whether every class has been seen on every group."""
        return bool((self.n > 0).all())

    def batch_time_s(self) -> FloatArray:
        """Return the estimates for batches: ``t_1 * ipc / mean ipc on the group`` (equation 5.5).

        Only for a history that is complete.
        """
        table: FloatArray = (self.time_s[:, 0] * self.ipc)[:, None] * (self.n / self._ipc_sum)
        table[:, 0] = self.time_s[:, 0]
        return table


def allocate(time_s: FloatArray, n_tasks: FloatArray, size: Int32Array) -> Int32Array:
    """Return the group of each class.

    Classes are sorted by the time of one task on the fastest group, and cut into blocks
    (:func:`~simsched.policy.parts.core_groups.cut_points`), the heaviest one for the fastest group.
    """
    order = np.argsort(-time_s[:, 0], kind="stable")
    cuts = cut_points((time_s * n_tasks[:, None])[order], size)
    group = np.zeros(len(order), np.int32)
    for number, cut in enumerate(cuts, 1):
        group[order[cut:]] = number
    return group


def in_pools(graph: TaskGraph) -> BoolArray:
    """Return which tasks enter pools of classes: all but main tasks and the gate of a batch."""
    gate = graph.class_names.index(GATE) if GATE in graph.class_names else len(graph.class_names)
    pooled: BoolArray = ~main_tasks(graph) & (graph.task_class != gate)
    return pooled


def is_recursive(graph: TaskGraph) -> bool:
    """Return whether a function spawns tasks of the same function."""
    spawned = graph.parent >= 0
    return bool((graph.task_class[spawned] == graph.task_class[graph.parent[spawned]]).any())


def n_pools(workload: Workload) -> int:
    """Return the number of pools of a group with one for each class."""
    graphs = (workload.graph, workload.init or workload.graph)
    return max(1, *(len(graph.class_names) for graph in graphs))


def ranks_of_classes(group: Int32Array, wanted: list[int], within: Int32Array | None) -> Int64Array:
    """Return the rank of each class for a core that wants those of groups in an order.

    Classes of groups that it does not want have -1. `within` has the places of classes in a group;
    None for equal ranks.
    """
    place = np.full(max(*wanted, int(group.max())) + 1, -1)
    place[wanted] = np.arange(len(wanted))
    rank: Int64Array = place[group]
    return rank if within is None else np.where(rank < 0, -1, rank * len(group) + within)
