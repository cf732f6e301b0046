"""The job tracker that all MapReduce policies share: heartbeats, free slots, attempts.

Ready tasks wait in one pool that nobody searches. At every heartbeat the tracker looks at the free
slots and sends a task to each, or starts a backup of a running one: which, is what policies differ
in. Reduce tasks of a job that starts them early may be sent when any of its map tasks have ended,
as many as the job says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import filterfalse, islice

from simsched.files.units import PER_PS
from simsched.policy.contract.base import (
    Counters,
    HookView,
    PlanView,
    Pool,
    Transfer,
    Wake,
    param,
    seconds_to_ps,
)
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.parts.mapreduce_cluster import OWN, WAITING, MapReduceCluster, T
from simsched.policy.parts.mapreduce_tracker import Attempt
from simsched.workload.mapreduce_job import MAP, REDUCE

Decision = Duplicate | Kill | Transfer


@dataclass(frozen=True, kw_only=True)
class MapReducePolicy(MapReduceCluster[T]):
    """Base of the MapReduce policies.

    Parameters
    ----------
    heartbeat_s : float
        Time in seconds between two requests of a node for work.
    tasks_per_heartbeat : int
        Most tasks that a node gets at a request, of both kinds together: one in Hadoop 0.19.
    """

    heartbeat_s: float = param(3.0, low=1e-3, high=1e6)
    tasks_per_heartbeat: int = param(1, low=1)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.heartbeat_s

    def on_iteration(self, view: PlanView, state: T, counters: Counters) -> None:
        state.start_iteration()

    # -------------------------------------------------------------------------------------------
    # what happens in the cluster

    def on_ready(self, view: HookView, state: T, task: int, worker: int) -> Pool | None:
        """Let a task wait for a heartbeat; when nobody does anything, it is sent out at once."""
        if not state.is_tracking:
            return None
        state.forget(task)
        if task in state.killed:
            state.killed.remove(task)
        elif task in state.started:
            state.failed[task] = None
        if state.wait(task) and self._is_quiet(view, state):
            kind = int(state.tasks.kind[task])
            free = list(self.free_slots(view, state, kind))
            if free:
                node, slot = min(free, key=lambda place: not state.is_local(task, place[0]))
                self._send(view, state, task, node, slot)
                return Pool(OWN, slot)
        return Pool(WAITING, 0)

    def on_idle(self, view: HookView, state: T, worker: int) -> Wake | None:
        """Let the tracker look at once when nobody does anything and no heartbeat would follow."""
        if not state.is_tracking or not state.waiting:
            return None
        state.attempts.pop(worker, None)  # taken, and suspended in no time perhaps
        return Wake(view.live.now_ps()) if self._is_quiet(view, state, worker) else None

    def on_wake(self, view: HookView, state: T, tag: int) -> tuple[Decision, ...]:
        """Return a task for some slot if still nobody does anything."""
        if not state.waiting or not self._is_quiet(view, state):
            return ()
        state.memo.clear()
        decision = next(self._fill(view, state), None)
        if isinstance(decision, Transfer):
            return (decision,)
        task = next(t for kind in (MAP, REDUCE) for t in state.waiting.of_kind(kind))
        place = next(self.free_slots(view, state, int(state.tasks.kind[task])), None)
        return () if place is None else (self._send(view, state, task, *place),)

    def on_finish(self, view: HookView, state: T, task: int, worker: int) -> None:
        """Forget all attempts at a task that has ended; learn from the successful one."""
        if not state.is_tracking:
            return
        state.memo.clear()
        won = state.attempts.get(worker)
        if won is not None and won.task == task:
            state.done[won.node] += 1
            began_ps = won.entered_ps[0] if won.entered_ps else won.sent_ps
            state.ended[task] = (view.live.now_ps() - began_ps) * PER_PS
            self.learn(view, state, won)
        state.forget(task)
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
        # Others may go on with the task.
        state.attempts = {w: a for w, a in state.attempts.items() if not live.has_failed(w)}
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
        for job in self.job_order(state, kind, state.waiting.jobs(kind)):
            found = self.pick_of_job(state, node, kind, job)
            if found is not None:
                return found
        return None

    def job_order(self, state: T, kind: int, jobs: list[int]) -> list[int]:
        """Return the jobs in the order in which they are served; that of arrival by default."""
        return jobs

    def pick_of_job(self, state: T, node: int, kind: int, job: int) -> int | None:
        """Return a waiting task of one job, which has some, for a node: a local one if any is."""
        local = state.waiting.first_local(kind, job, node)
        return state.waiting.first(kind, job) if local is None else local

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
                if state.waiting.tasks[kind]:
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

    def free_slots(self, view: HookView, state: T, kind: int) -> Iterator[tuple[int, int]]:
        """Yield node and worker of each free slot for a kind of task."""
        for node, slots in enumerate(state.slots[kind]):
            yield from ((node, slot) for slot in slots if self._is_free(view, state, slot))

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
        rest = filterfalse(live.is_waiting, range(view.n_workers))  # fast: asked at every task
        return not on_way and all(w == asker or live.has_failed(w) for w in rest)
