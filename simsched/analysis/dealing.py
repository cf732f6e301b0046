"""What a recorded run would take if its tasks went to whoever is free first.

Tasks last as long as they have, on cores of another speed in proportion. A task is ready when it is
created, which its parent does after as much of its own work as it has, when its predecessors have
ended, and when it arrives. Who has no task takes a ready one; tasks that wait for their children
are gone on with before others begin.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.workload.graph import TaskGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_CREATED, _LEFT, _ENDED = range(3)


@dataclass(frozen=True, eq=False)
class Dealt:
    """The tasks of one iteration; arrays by task."""

    graph: TaskGraph
    #: What each does before it waits for its children, and then.
    body_ps: FloatArray
    join_ps: FloatArray
    #: After how much of its parent's work each is created; how long after the start it arrives.
    created_ps: FloatArray
    arrival_ps: FloatArray
    #: Which comes first of those that are ready; None for that which has been ready for longest.
    rank: IntArray | None
    #: Who takes it: workers of one group.
    group: IntArray
    #: Speed of the core that has executed it.
    speed: FloatArray


@dataclass(eq=False)
class _State:
    """What is so at a time."""

    dealt: Dealt
    free: list[list[int]]
    speeds: FloatArray
    events: list[tuple[float, int, int, int, int]] = field(default_factory=list)
    ready: list[list[tuple[Any, ...]]] = field(default_factory=list)
    suspended: set[int] = field(default_factory=set)
    n: int = 0  # how much has happened so far
    end_ps: float = 0.0

    def __post_init__(self) -> None:
        graph = self.dealt.graph
        joined = graph.is_joined[graph.child]
        parents = np.repeat(np.arange(graph.n_tasks), np.diff(graph.child_ptr))
        created = np.bincount(graph.child, minlength=graph.n_tasks)
        needed = created + np.bincount(graph.succ, minlength=graph.n_tasks)
        self.pending = needed.tolist()
        self.left = np.bincount(parents[joined], minlength=graph.n_tasks).tolist()
        self.parent = np.where(graph.is_joined, graph.parent, -1).tolist()
        self.ready = [[] for _ in self.free]

    def happens(self, time_ps: float, kind: int, task: int, worker: int = -1) -> None:
        self.n += 1
        heapq.heappush(self.events, (time_ps, self.n, kind, task, worker))

    def is_ready(self, task: int, *, goes_on: bool = False) -> None:
        """Put a task where those wait that nobody executes."""
        dealt = self.dealt
        self.n += 1
        order = self.n if dealt.rank is None else int(dealt.rank[task])
        key = (not goes_on, order, task)
        heapq.heappush(self.ready[int(dealt.group[task])], key)

    def give(self, now_ps: float) -> None:
        """Let workers without a task take those that are ready."""
        dealt = self.dealt
        for ready, free in zip(self.ready, self.free, strict=True):
            while ready and free:
                begins, _, task = heapq.heappop(ready)
                worker = heapq.heappop(free)
                slower = float(dealt.speed[task] / self.speeds[worker])
                if not begins:
                    self.happens(now_ps + dealt.join_ps[task] * slower, _ENDED, task, worker)
                    continue
                graph = dealt.graph
                for child in graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]:
                    made = now_ps + float(dealt.created_ps[child]) * slower
                    self.happens(made, _CREATED, int(child))
                self.happens(now_ps + dealt.body_ps[task] * slower, _LEFT, task, worker)

    def satisfy(self, task: int) -> None:
        """Note that something has happened that a task waits for."""
        self.pending[task] -= 1
        if self.pending[task] == 0:
            self.is_ready(task)

    def end(self, task: int, now_ps: float) -> None:
        """Let a task end."""
        self.end_ps = max(self.end_ps, now_ps)
        graph = self.dealt.graph
        for after in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]].tolist():
            self.satisfy(after)
        above = self.parent[task]
        if above >= 0:
            self.left[above] -= 1
            if not self.left[above] and above in self.suspended:
                self.is_ready(above, goes_on=True)

    def leave(self, task: int, worker: int, now_ps: float, group: int) -> None:
        """Let a worker have done the body of a task: it ends, goes on, or waits for children."""
        if self.left[task]:
            self.suspended.add(task)
        elif self.dealt.join_ps[task] > 0.0:
            slower = float(self.dealt.speed[task] / self.speeds[worker])
            self.happens(now_ps + self.dealt.join_ps[task] * slower, _ENDED, task, worker)
            return
        else:
            self.end(task, now_ps)
        heapq.heappush(self.free[group], worker)


def length_ps(dealt: Dealt, workers: Sequence[Sequence[int]], speeds: FloatArray) -> float:
    """Return how long an iteration takes.

    Parameters
    ----------
    dealt : Dealt
        Its tasks.
    workers : sequence of sequences of int
        The workers of each group, ascending.
    speeds : ndarray of float, shape (n_workers,)
        Of their cores.
    """
    state = _State(dealt, [list(each) for each in workers], speeds)
    roots = np.flatnonzero(np.array(state.pending) == 0).tolist()
    for task in roots:
        state.pending[task] = 1
        state.happens(float(dealt.arrival_ps[task]), _CREATED, task)
    while state.events:
        now, _, kind, task, worker = heapq.heappop(state.events)
        if kind == _CREATED:
            state.satisfy(task)
        else:
            group = int(dealt.group[task])
            if kind == _LEFT:
                state.leave(task, worker, now, group)
            else:
                state.end(task, now)
                heapq.heappush(state.free[group], worker)
        if not state.events or state.events[0][0] > now:
            state.give(now)
    return state.end_ps
