"""What a job tracker knows during a run: slots, attempts, what waits and what has ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from simsched.policy.parts.mapreduce_waiting import Waiting
from simsched.workload.graph import Int32Array
from simsched.workload.mapreduce_job import MAP, JobTasks


@dataclass(eq=False)
class Attempt:
    """An execution of a task on a slot, as its tracker reports it."""

    task: int  # what runs where
    worker: int
    node: int
    sent_ps: int  # when the tracker has sent it there
    is_backup: bool = False  # whether somebody was executing the task already
    phase: int = 0  # phase at the last report and the part of it that was done
    fraction: float = 0.0
    entered_ps: list[int] = field(default_factory=list)  # when each phase was first seen


@dataclass(eq=False)
class Tracker:
    """What the job tracker knows during a run."""

    tasks: JobTasks  # the program
    slots: tuple[list[list[int]], list[list[int]]]  # workers by kind of slot and node
    storage: list[int]  # memory node of each node
    #: nodes whose disks hold the input of each task; empty for tasks without
    replicas: list[tuple[int, ...]]
    #: shape (n_tasks,): number of map tasks of its job that end before each task may start, beyond
    #: what edges say
    early_maps: Int32Array
    #: tasks that may start and that nobody executes
    waiting: Waiting = field(default_factory=Waiting)
    #: by job, reduce tasks that may not start yet
    held: dict[int, list[int]] = field(default_factory=dict)
    #: number of tasks that have ended, by kind and job
    n_ended: Counter[tuple[int, int]] = field(default_factory=Counter)
    #: by worker, whatever has been sent to it and has not ended
    attempts: dict[int, Attempt] = field(default_factory=dict)
    #: waiting tasks that have been executed without success, in the order of coming back
    failed: dict[int, None] = field(default_factory=dict)
    #: tasks that the policy has killed and that have not come back yet: these have not failed
    killed: set[int] = field(default_factory=set)
    started: set[int] = field(default_factory=set)  # tasks that were sent to a slot
    done: list[int] = field(default_factory=list)  # number of tasks that each node has ended
    #: seconds that the successful attempt at each ended task took
    ended: dict[int, float] = field(default_factory=dict)
    is_tracking: bool = False  # whether the jobs run; not during the initialisation
    #: what policies have worked out from the reports of this heartbeat
    memo: dict[object, Any] = field(default_factory=dict)
    next_heartbeat_ps: int = 0  # time of the next heartbeat; number of those so far
    heartbeats: int = 0

    def __post_init__(self) -> None:
        self.done = [0] * self.n_nodes

    @property
    def n_nodes(self) -> int:
        return len(self.storage)

    def is_local(self, task: int, node: int) -> bool:
        """Return whether a node holds the input of a task, or the task has none."""
        return not self.replicas[task] or node in self.replicas[task]

    def running(self, kind: int) -> list[Attempt]:
        """Return the attempts at tasks of a kind, by worker."""
        of_kind = self.tasks.kind
        return [a for _, a in sorted(self.attempts.items()) if of_kind[a.task] == kind]

    def copies(self) -> Counter[int]:
        """Return how many attempts each running task has."""
        return Counter(attempt.task for attempt in self.attempts.values())

    def forget(self, task: int) -> None:
        """Forget the attempts at a task."""
        self.attempts = {w: a for w, a in self.attempts.items() if a.task != task}

    def wait(self, task: int) -> bool:
        """Let a ready task wait for a slot; return whether it may start, or is held back."""
        job = int(self.tasks.job[task])
        if self.early_maps[task] > self.n_ended[MAP, job]:
            self.held.setdefault(job, []).append(task)
            return False
        self.waiting.add(int(self.tasks.kind[task]), job, task, self.replicas[task])
        return True

    def end(self, task: int) -> None:
        """Count a task that has ended; reduce tasks that have waited for it may start."""
        kind, job = int(self.tasks.kind[task]), int(self.tasks.job[task])
        self.n_ended[kind, job] += 1
        self.killed.discard(task)
        for reduce in self.held.pop(job, ()):
            self.wait(reduce)

    def start_iteration(self) -> None:
        """Forget what belongs to the jobs that have ended."""
        self.waiting.clear()
        self.held.clear()
        self.n_ended.clear()
        self.killed.clear()
        self.attempts.clear()
        self.failed.clear()
        self.started.clear()
        self.ended.clear()
        self.done = [0] * self.n_nodes
