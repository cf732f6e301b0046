"""Tasks that wait several times as one task for each wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.workload.builder import Adjacency, adjacency
from simsched.workload.graph import FloatArray, Int64Array


@dataclass(frozen=True)
class Rows:
    """What the rows of a file say, in the order of their tasks.

    Parameters
    ----------
    parent : ndarray of int64, shape (n_rows,)
        Row of the parent, -1 for none.
    number : ndarray of int64, shape (n_rows,)
        Place among the children of the parent.
    wait : ndarray of int64, shape (n_rows,)
        Wait of the parent that the task ends at.
    work, creation, created : ndarray of float64, shape (n_rows,)
        Own cycles, cycles of the parent for it, and cycles from the parent's start to then.
    """

    parent: Int64Array
    number: Int64Array
    wait: Int64Array
    work: FloatArray
    creation: FloatArray
    created: FloatArray


class Phases:
    """The tasks of a graph: one for each row, and before it one for each earlier wait of the row.

    The last task of a row has the row's number, the others follow all rows. All are children of the
    row's parent, each is followed by the next one. The first of them has the cost of the creation.

    Attributes
    ----------
    row : ndarray of int64, shape (n_tasks,)
        The row of each task.
    spawner : ndarray of int64, shape (n_tasks,)
        The task that spawns each one, -1 for none.
    children, successors : Adjacency
        Spawn tree and order of the tasks of a row.
    body, join, creation : ndarray of float64, shape (n_tasks,)
        Cycles before and between the spawns, after the last wait, and of the parent.
    """

    def __init__(self, rows: Rows) -> None:
        n_rows = len(rows.parent)
        child = np.flatnonzero(rows.parent >= 0)
        waits = np.stack([rows.parent[child], rows.wait[child]])
        pairs, of_child = np.unique(waits, axis=1, return_inverse=True)
        # The waits of a row are neighbours, in their order.
        follows = pairs[0][1:] == pairs[0][:-1]
        is_last = np.ones(len(pairs[0]), bool)
        is_last[:-1] = ~follows
        task = pairs[0].copy()
        task[~is_last] = n_rows + np.arange(np.count_nonzero(~is_last))
        self.row = np.concatenate([np.arange(n_rows), pairs[0][~is_last]])
        before, after = task[:-1][follows], task[1:][follows]
        self.successors = adjacency(before, after, len(self.row))
        spawner = np.full(n_rows, -1, np.int64)
        spawner[child] = task[of_child.reshape(-1)]
        self.spawner = spawner[self.row]
        self.creation = np.where(rows.parent >= 0, rows.creation, 0.0)[self.row]
        self.creation[after] = 0.0
        number = rows.number[self.row]
        self.children = self._children(number, n_rows)
        self.body, self.join = self._divided(rows, after)

    def _children(self, number: Int64Array, n_rows: int) -> Adjacency:
        """Return the spawn tree; tasks that were added come before that of their row."""
        spawned = np.flatnonzero(self.spawner >= 0)
        late = np.where(spawned < n_rows, len(self.row), spawned)
        order = np.lexsort((late, number[spawned], self.spawner[spawned]))
        return adjacency(self.spawner[spawned[order]], spawned[order], len(self.row))

    def _divided(self, rows: Rows, after: Int64Array) -> tuple[FloatArray, FloatArray]:
        """Return the cycles before and between the spawns of each task, and those of its join.

        The creation of children is none of it. What a row did between a wait and the first spawn
        after it is part of the join of its last task.
        """
        n_tasks, n_rows = len(self.row), len(rows.parent)
        own = np.flatnonzero(self.spawner[:n_rows] >= 0)
        spawner = self.spawner[own]
        begin, last = np.full(n_tasks, np.inf), np.zeros(n_tasks)
        np.minimum.at(begin, spawner, rows.created[own] - rows.creation[own])
        np.maximum.at(last, spawner, rows.created[own])
        begin[np.setdiff1d(np.arange(n_tasks), after)] = 0.0
        spent = np.bincount(spawner, weights=rows.creation[own], minlength=n_tasks)
        is_inner = np.bincount(spawner, minlength=n_tasks) > 0
        wanted = np.where(is_inner, np.maximum(last - begin - spent, 0.0), rows.work[self.row])
        left, body = rows.work.copy(), np.zeros(n_tasks)
        for task in [*range(n_rows, n_tasks), *range(n_rows)]:
            body[task] = min(wanted[task], left[self.row[task]])
            left[self.row[task]] -= body[task]
        return body, np.append(left, np.zeros(n_tasks - n_rows))
