"""The job tracker that all MapReduce policies share: slots, heartbeats, placement, attempts.

A node is a domain of the machine; its workers are its slots, the first ones for map tasks, the
others for reduce tasks. Ready tasks wait in one pool that nobody searches. At every heartbeat the
tracker looks at the free slots and sends a task to each, or starts a backup of a running one:
which, is what policies differ in. Reduce tasks of a job that starts them early may be sent when any
of its map tasks have ended, as many as the job says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    Counters,
    HookView,
    Placement,
    Plan,
    PlanView,
    Policy,
    Pool,
    PoolGroup,
    Transfer,
    Wake,
    param,
    seconds_to_ps,
)
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.parts.mapreduce_waiting import CountedWorkload, Waiting, without_slowstart
from simsched.policy.parts.placement import first_touch
from simsched.workload.graph import Int32Array, TaskGraph, Workload
from simsched.workload.mapreduce_job import MAP, REDUCE, JobTasks

Decision = Duplicate | Kill | Transfer

OWN, WAITING = 0, 1  #: pool groups: of a slot; of the tracker
PS = 1e-12
HADOOP_MAP_SLOTS = 2  #: default of ``mapred.tasktracker.map.tasks.maximum``


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
    #: memory nodes that hold the input of each task; empty for tasks without
    replicas: list[tuple[int, ...]]
    #: shape (n_tasks,): number of map tasks of its job that end before each task may start, beyond
    #: what edges say
    early_maps: Int32Array
    #: tasks that may start and that nobody executes
    waiting: Waiting = field(default_factory=Waiting)
    #: by job, reduce tasks that may not start yet
    held: dict[int, list[int]] = field(default_factory=dict)
    #: number of tasks that have ended, by kind and job
    n_ended: dict[tuple[int, int], int] = field(default_factory=dict)
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
        return not self.replicas[task] or self.storage[node] in self.replicas[task]

    def n_slots(self, kind: int) -> int:
        return sum(len(workers) for workers in self.slots[kind])

    def running(self, kind: int) -> list[Attempt]:
        """Return the attempts at tasks of a kind, by worker."""
        of_kind = self.tasks.kind
        return [a for _, a in sorted(self.attempts.items()) if of_kind[a.task] == kind]

    def copies(self) -> dict[int, int]:
        """Return how many attempts each running task has."""
        counts: dict[int, int] = {}
        for attempt in self.attempts.values():
            counts[attempt.task] = counts.get(attempt.task, 0) + 1
        return counts

    def wait(self, task: int) -> bool:
        """Let a ready task wait for a slot; return whether it may start, or is held back."""
        job = int(self.tasks.job[task])
        if self.early_maps[task] > self.n_ended.get((MAP, job), 0):
            self.held.setdefault(job, []).append(task)
            return False
        self.waiting.add(int(self.tasks.kind[task]), job, task)
        return True

    def end(self, task: int) -> None:
        """Count a task that has ended; reduce tasks that have waited for it may start."""
        kind, job = int(self.tasks.kind[task]), int(self.tasks.job[task])
        self.n_ended[kind, job] = self.n_ended.get((kind, job), 0) + 1
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


T = TypeVar("T", bound=Tracker)


@dataclass(frozen=True, kw_only=True)
class MapReducePolicy(Policy[T]):
    """Base of the MapReduce policies.

    Parameters
    ----------
    map_slots : int
        Slots for map tasks on each node, fewer than it has workers: the others are slots for reduce
        tasks. By default, 0, two as in Hadoop; a node with no more than two workers then uses all
        for both. Programs without either kind of tasks use all workers for the other.
    replication : int
        Copies of each split, on different disks drawn at random. With fewer disks each has one: as
        in HDFS, a block may have fewer replicas than wanted.
    heartbeat_s : float
        Time in seconds between two requests of a node for work.
    tasks_per_heartbeat : int
        Most tasks that a node gets at a request, of both kinds together: one in Hadoop 0.19.
    """

    tracker: ClassVar[type[Tracker]] = Tracker  #: the class T

    map_slots: int = param(0, low=0)
    replication: int = param(3, low=1)
    heartbeat_s: float = param(3.0, low=1e-3, high=1e6)
    tasks_per_heartbeat: int = param(1, low=1)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.heartbeat_s

    # -------------------------------------------------------------------------------------------
    # before the run

    def prepare(self, view: PlanView) -> Workload:
        """Return the program whose reduce tasks the tracker counts map tasks for."""
        return without_slowstart(view.workload)

    @staticmethod
    def least(workload: Workload) -> Iterator[Workload]:
        """Yield the program in which reduce tasks start after any of the map tasks."""
        yield without_slowstart(workload)

    def start(self, view: PlanView) -> T:
        """Return the tracker; where splits are does not depend on the policy."""
        graph = view.workload.graph
        tasks = JobTasks(graph)
        domains = np.unique(view.worker_domain).tolist()
        members = [np.flatnonzero(view.worker_domain == d).tolist() for d in domains]
        if (tasks.kind == REDUCE).any() and (tasks.kind == MAP).any():
            n_maps = self._map_slots(min(len(m) for m in members))
            of_maps = [m[:n_maps] for m in members]
            of_reduces = [m[n_maps:] or m for m in members]
        else:
            of_maps = of_reduces = members
        storage = [view.machine.own_node(d) for d in domains]
        replicas = self._replicas(view, tasks, storage)
        early = np.zeros(graph.n_tasks, np.int32)
        if isinstance(view.workload, CountedWorkload):
            early = view.workload.early_maps
        return cast(T, self.tracker(tasks, (of_maps, of_reduces), storage, replicas, early))

    def _map_slots(self, fewest: int) -> int:
        """Return the number of map slots, given the slots of the smallest node."""
        if self.map_slots >= max(1, fewest):
            most = f"0 to {fewest - 1}" if fewest > 1 else "0"
            raise ConfigurationError(
                f"policy {self.name}: parameter map_slots: found {self.map_slots}, accepted "
                f"{most}: a node has {fewest} slots, and reduce tasks need one; 0 stands for two, "
                "or for all slots for both kinds where there are no more"
            )
        return self.map_slots or HADOOP_MAP_SLOTS

    def _replicas(
        self, view: PlanView, tasks: JobTasks, storage: list[int]
    ) -> list[tuple[int, ...]]:
        disks = sorted(set(storage))
        rng = np.random.default_rng(view.rng.integers(2**63))
        count = min(self.replication, len(disks))
        of_block = {
            int(block): tuple(disks[i] for i in rng.choice(len(disks), count, replace=False))
            for block in np.flatnonzero(tasks.is_input).tolist()
        }
        return [of_block.get(int(block), ()) for block in tasks.input_block.tolist()]

    def place(self, view: PlanView, state: T) -> Placement:
        """Return splits where they were stored, all other blocks where they are written."""
        graph = view.workload.graph
        home = np.full(graph.n_blocks, -1, np.int32)
        for task, disks in enumerate(state.replicas):
            if disks:
                home[state.tasks.input_block[task]] = disks[0]
        if view.workload.init is not None:
            return first_touch(view)
        others = np.full((graph.n_blocks, max(1, self.replication - 1)), -1, np.int32)
        for task, disks in enumerate(state.replicas):
            if disks:
                others[state.tasks.input_block[task], : len(disks) - 1] = disks[1:]
        return Placement(
            home,
            view.machine.touch_order,
            follows_writes=~state.tasks.is_input,
            follows_accesses=state.tasks.is_private,
            replicas=others,
        )

    def plan(self, view: PlanView, state: T, graph: TaskGraph) -> Plan:
        """Return a pool per slot and the tracker's; the initialisation is dealt out."""
        state.is_tracking = tracked = graph is view.workload.graph
        return Plan(
            acquire=(AcquireStep("slot", "own", "oldest"),),
            pool_groups=(PoolGroup("slot"), PoolGroup("tracker", scope="machine")),
            spawn_order=PARENT_FIRST,
            group_of=np.full(graph.n_tasks, WAITING if tracked else OWN, np.int8),
        )

    def on_iteration(self, view: PlanView, state: T, counters: Counters) -> None:
        state.start_iteration()

    # -------------------------------------------------------------------------------------------
    # what happens in the cluster

    def on_ready(self, view: HookView, state: T, task: int, worker: int) -> Pool | None:
        """Let a task wait for a heartbeat; when nobody does anything, it is sent out at once."""
        if not state.is_tracking:
            return None
        for slot in [w for w, attempt in state.attempts.items() if attempt.task == task]:
            del state.attempts[slot]
        if task in state.killed:
            state.killed.remove(task)
        elif task in state.started:
            state.failed[task] = None
        if state.wait(task) and self._is_quiet(view, state):
            kind = int(state.tasks.kind[task])
            slots = [(n, w) for n, ws in enumerate(state.slots[kind]) for w in ws]
            free = [(n, w) for n, w in slots if self._is_free(view, state, w)]
            free.sort(key=lambda place: not state.is_local(task, place[0]))
            if free:
                self._send(view, state, task, *free[0])
                return Pool(OWN, free[0][1])
        return Pool(WAITING, 0)

    def on_idle(self, view: HookView, state: T, worker: int) -> Wake | None:
        """Let the tracker look at once when nobody does anything and no heartbeat would follow."""
        if not state.is_tracking or not state.waiting or not self._is_quiet(view, state, worker):
            return None
        return Wake(view.live.now_ps())

    def on_wake(self, view: HookView, state: T, tag: int) -> tuple[Decision, ...]:
        """Return a task for some slot if still nobody does anything."""
        if not state.waiting or not self._is_quiet(view, state):
            return ()
        state.memo.clear()
        decision = next(self._fill(view, state), None)
        if isinstance(decision, Transfer):
            return (decision,)
        task = next(t for kind in (MAP, REDUCE) for t in state.waiting.of_kind(kind))
        for node, slots in enumerate(state.slots[int(state.tasks.kind[task])]):
            for slot in slots:
                if self._is_free(view, state, slot):
                    return (self._send(view, state, task, node, slot),)
        return ()

    def on_finish(self, view: HookView, state: T, task: int, worker: int) -> None:
        """Forget all attempts at a task that has ended; learn from the successful one."""
        if not state.is_tracking:
            return
        state.memo.clear()
        won = state.attempts.get(worker)
        if won is not None and won.task == task:
            state.done[won.node] += 1
            began_ps = won.entered_ps[0] if won.entered_ps else won.sent_ps
            state.ended[task] = (view.live.now_ps() - began_ps) * PS
            self.learn(view, state, won)
        for slot in [w for w, attempt in state.attempts.items() if attempt.task == task]:
            del state.attempts[slot]
        state.end(task)

    def on_timer(self, view: HookView, state: T) -> tuple[Decision, ...]:
        """Return what the free slots get; reports of the trackers come first."""
        if not state.is_tracking:
            return ()
        now = view.live.now_ps()
        period_ps = seconds_to_ps(self.heartbeat_s)
        is_heartbeat = now >= max(state.next_heartbeat_ps, period_ps)
        self.report(view, state, in_full=is_heartbeat)
        if not is_heartbeat:
            return ()
        state.next_heartbeat_ps = (now // period_ps + 1) * period_ps
        state.heartbeats += 1
        kills = self.kills(view, state)
        state.killed.update(state.attempts[kill.worker].task for kill in kills)
        return (*kills, *self._fill(view, state))

    def report(self, view: HookView, state: T, *, in_full: bool) -> None:
        """Take over the progress of all attempts; unless in full, only when phases have begun."""
        live = view.live
        now = live.now_ps()
        state.memo.clear()
        for slot in [w for w in state.attempts if live.has_failed(w)]:
            del state.attempts[slot]  # others may go on with the task
        for worker, attempt in state.attempts.items():
            seen = live.progress(worker)
            if seen is None or seen.task != attempt.task:
                continue
            ends = state.tasks.phase_ends[attempt.task]
            if not in_full and attempt.entered_ps and seen.phase < ends[attempt.phase]:
                continue
            phase, attempt.fraction = state.tasks.phase(attempt.task, seen.phase, seen.fraction)
            if not attempt.entered_ps:
                attempt.entered_ps.append(seen.began_ps)
            while len(attempt.entered_ps) <= phase:
                attempt.entered_ps.append(now)
            attempt.phase = phase

    # -------------------------------------------------------------------------------------------
    # what policies choose

    def pick(self, view: HookView, state: T, node: int, kind: int) -> int | None:
        """Return a waiting task for a free slot: failed ones first, then by job, local ones first.

        The order of jobs is that of :meth:`job_order`.
        """
        for task in state.failed:
            if state.tasks.kind[task] == kind:
                return task
        for job in self.job_order(state, kind, state.waiting.jobs[kind]):
            waiting = state.waiting.of_job(kind, job)
            found = self.pick_of_job(state, node, kind, job, waiting)
            if found is not None:
                return found
        return None

    def job_order(self, state: T, kind: int, jobs: list[int]) -> list[int]:
        """Return the jobs in the order in which they are served; that of arrival by default."""
        return jobs

    def pick_of_job(
        self, state: T, node: int, kind: int, job: int, waiting: Collection[int]
    ) -> int | None:
        """Return a waiting task of one job for a node: a local one if there is one."""
        local = next((t for t in waiting if state.is_local(t, node)), None)
        return next(iter(waiting)) if local is None else local

    def back_up(self, view: HookView, state: T, node: int, kind: int) -> Attempt | None:
        """Return a running attempt that a free slot of a node starts once more; None by default."""
        return None

    def kills(self, view: HookView, state: T) -> tuple[Kill, ...]:
        """Return the slots that lose their tasks at a heartbeat; none by default."""
        return ()

    def learn(self, view: HookView, state: T, attempt: Attempt) -> None:
        """Observe a successful attempt."""

    # -------------------------------------------------------------------------------------------
    # free slots

    def _fill(self, view: HookView, state: T) -> Iterator[Decision]:
        """Yield what the free slots get, node by node, another node being first every time."""
        for turn in range(state.n_nodes):
            node = (turn + state.heartbeats) % state.n_nodes
            yield from islice(self._fill_node(view, state, node), self.tasks_per_heartbeat)

    def _fill_node(self, view: HookView, state: T, node: int) -> Iterator[Decision]:
        """Yield what the free slots of a node get, those for map tasks first.

        A node asks once, whatever number of slots it has. Backups are for slots for whose kind
        nothing waits: as in Hadoop, a backup of a map task comes before a reduce task.
        """
        live = view.live
        for kind in (MAP, REDUCE):
            is_refused = False
            for slot in state.slots[kind][node]:
                if not self._is_free(view, state, slot):
                    continue
                if state.waiting.jobs[kind]:
                    task = None if is_refused else self.pick(view, state, node, kind)
                    is_refused = task is None
                    if task is not None:
                        yield self._send(view, state, task, node, slot)
                    continue
                attempt = self.back_up(view, state, node, kind)
                if attempt is not None and live.running_task(attempt.worker) == attempt.task:
                    state.attempts[slot] = Attempt(
                        attempt.task, slot, node, live.now_ps(), is_backup=True
                    )
                    yield Duplicate(attempt.worker, slot)

    def _send(self, view: HookView, state: T, task: int, node: int, slot: int) -> Transfer:
        """Note that a task is on its way to a slot and return the decision."""
        kind, job = int(state.tasks.kind[task]), int(state.tasks.job[task])
        state.waiting.remove(kind, job, task)
        state.failed.pop(task, None)
        state.started.add(task)
        state.attempts[slot] = Attempt(task, slot, node, view.live.now_ps())
        return Transfer(WAITING, 0, OWN, slot, 1, 0, task=task)

    def _is_free(self, view: HookView, state: T, slot: int) -> bool:
        """Return whether a slot can get a task; whatever it has lost or suspended is forgotten."""
        live = view.live
        if not live.is_waiting(slot):
            return False
        attempt = state.attempts.get(slot)
        if attempt is not None and attempt.sent_ps < live.now_ps():
            del state.attempts[slot]
        return slot not in state.attempts

    def _is_quiet(self, view: HookView, state: T, asker: int = -1) -> bool:
        """Return whether nobody executes anything and nothing is on its way."""
        live = view.live
        on_way = any(a.sent_ps == live.now_ps() for a in state.attempts.values())
        others = (w for w in range(view.n_workers) if w != asker)
        return not on_way and all(live.is_waiting(w) or live.has_failed(w) for w in others)
