"""State of the tasks of one iteration."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.engine.reference.segments import Remaining, Segment
from simsched.engine.stall import ENDED, NOT_STARTED
from simsched.trace.schema import NONE
from simsched.workload.graph import TaskGraph


@dataclass
class Tasks:
    """State of the tasks of one iteration."""

    graph: TaskGraph
    held: NDArray[np.int32]  # tasks that wait for the creation of another one, once for each
    #: unfinished predecessors, tasks whose creation is waited for, 1 until created
    pending: list[int] = field(init=False)
    outstanding: list[int] = field(init=False)  # joined children that have not ended
    next_child: list[int] = field(init=False)
    started: list[int] = field(init=False)
    executed_by: list[int] = field(init=False)
    executed_ps: list[int] = field(init=False)
    n_ended: int = 0
    joining: set[int] = field(default_factory=set)
    suspended: set[int] = field(default_factory=set)
    saved: dict[int, Segment] = field(default_factory=dict)  # preempted segments
    remaining: dict[int, Remaining] = field(default_factory=dict)
    end_number: dict[int, int] = field(default_factory=dict)  # order of the ends so far
    marked_domain: dict[int, int] = field(default_factory=dict)  # domain that the task keeps active

    def __post_init__(self) -> None:
        n = self.graph.n_tasks
        awaited = np.bincount(self.held, minlength=n)
        self.pending = (self.graph.in_degree + 1 + awaited).tolist()
        self.outstanding = self.graph.n_joined_children.tolist()
        self.next_child = [0] * n
        self.started = [NOT_STARTED] * n
        self.executed_by = [NONE] * n
        self.executed_ps = [0] * n

    def is_leaf(self, task: int) -> bool:
        """Return whether a task spawns nothing."""
        return bool(self.graph.child_ptr[task] == self.graph.child_ptr[task + 1])

    def end(self, task: int, worker: int) -> int | None:
        """Note the end of a task; return the parent that waits for it."""
        self.started[task] = ENDED
        self.end_number[task] = self.n_ended
        self.executed_by[task] = worker
        self.n_ended += 1
        if not self.graph.is_joined[task]:
            return None
        parent = int(self.graph.parent[task])
        self.outstanding[parent] -= 1
        return parent
