"""Spawn trees of recursive programs, noted call by call as the program would run on one worker.

Tasks are numbered in preorder: a task, then the subtrees of its children in spawn order. A task
that spawns, waits and spawns again (a sync in the middle of its body) creates all its children
before it waits; those after a sync start when those between it and the one before have ended, which
dataflow edges say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from simsched.workload.builder import adjacency, build_graph, listed_accesses
from simsched.workload.graph import TaskGraph


class CallTree:
    """A recursive program's calls, in the order of a serial run.

    >>> tree = CallTree(("main", "work"))
    >>> main = tree.call(None, 0)
    >>> first = tree.call(main, 1, ops=5.0)
    >>> tree.sync(main)
    >>> second = tree.call(main, 1, ops=7.0)
    >>> graph = tree.graph()
    >>> graph.succ[graph.succ_ptr[first] : graph.succ_ptr[first + 1]].tolist() == [second]
    True
    """

    def __init__(self, class_names: tuple[str, ...]) -> None:
        self.class_names = class_names
        self._kind: list[int] = []
        self._parent: list[int] = []
        self._ops: list[float] = []
        self._join_ops: list[float] = []
        self._before: dict[int, list[int]] = {}
        self._since: dict[int, list[int]] = {}
        self._edges: list[tuple[int, int]] = []
        self._accesses: list[tuple[int, int, int, int, int]] = []

    @property
    def n_tasks(self) -> int:
        """Number of calls so far."""
        return len(self._kind)

    def call(self, caller: int | None, kind: int, ops: float = 0.0, join_ops: float = 0.0) -> int:
        """Add a call of the kind `class_names[kind]`, by nobody or a caller; return its task."""
        task = len(self._kind)
        self._kind.append(kind)
        self._ops.append(ops)
        self._join_ops.append(join_ops)
        self._parent.append(-1 if caller is None else caller)
        if caller is not None:
            self._since.setdefault(caller, []).append(task)
            self._edges.extend((earlier, task) for earlier in self._before.get(caller, ()))
        return task

    def sync(self, task: int) -> None:
        """Let the children that a task spawns from now on wait for those it has spawned."""
        since = self._since.pop(task, None)
        if since is not None:
            self._before[task] = since

    def access(
        self, task: int, block: int, read_bytes: int, written_bytes: int, *, in_join: bool = False
    ) -> None:
        """Add an access of a task."""
        self._accesses.append((task, block, read_bytes, written_bytes, int(in_join)))

    def graph(self, block_bytes: ArrayLike = ()) -> TaskGraph:
        """Return the task graph."""
        n_tasks = self.n_tasks
        parent = np.array(self._parent, dtype=np.int64)
        spawned = np.flatnonzero(parent >= 0)
        source, target = np.array(self._edges, dtype=np.int64).reshape(-1, 2).T
        return build_graph(
            self._ops,
            join_ops=self._join_ops,
            task_class=self._kind,
            class_names=self.class_names,
            children=adjacency(parent[spawned], spawned, n_tasks),
            successors=adjacency(source, target, n_tasks),
            accessed=listed_accesses(self._accesses, n_tasks),
            block_bytes=block_bytes,
        )
