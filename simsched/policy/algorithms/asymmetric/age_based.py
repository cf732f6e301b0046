"""Age-based scheduling of threads: the longest job to the fastest core first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    SEVERAL_SPEEDS,
    Counters,
    HookView,
    Need,
    Plan,
    PlanView,
    Preempt,
    Progress,
    Rest,
    Transfer,
    param,
    preset,
    register,
)
from simsched.policy.parts.threads import Move, Queues, ThreadScheduler, running_tasks
from simsched.workload.graph import FloatArray, TaskGraph


def assign_by_age(remaining: FloatArray, core_perf: FloatArray) -> list[int]:
    """Return the core of each thread (algorithm 7).

    Threads with more left come first; ties go to the lower thread. With no more threads than cores
    each gets a core of its own, the faster ones first. Otherwise each goes to the core that lacks
    most of its share of the work, until as many are left as there are cores without a thread: these
    are matched one to one, in the order of threads and of the speeds of cores.

    >>> assign_by_age(np.array([1.0, 3.0, 2.0]), np.array([1.0, 2.0, 1.0])).index(1)
    1
    """
    order = np.argsort(-remaining, kind="stable").tolist()
    by_speed = np.argsort(-core_perf, kind="stable").tolist()
    core_of = [0] * len(remaining)
    if len(order) <= len(core_perf):
        for thread, core in zip(order, by_speed, strict=False):
            core_of[thread] = core
        return core_of
    deficit = remaining.sum() / core_perf.sum() * core_perf
    empty = set(range(len(core_perf)))
    for place, thread in enumerate(order):
        if len(order) - place <= len(empty):
            free = [core for core in by_speed if core in empty]
            for rest, core in zip(order[place:], free, strict=False):
                core_of[rest] = core
            break
        core = int(deficit.argmax())
        core_of[thread] = core
        deficit[core] -= remaining[thread]
        empty.discard(core)
    return core_of


@register("age_ljfcf")
@dataclass(frozen=True, kw_only=True)
class AgeBased(ThreadScheduler):
    """Threads that have longest to go to their next milestone run on the fastest cores.

    Parameters
    ----------
    remaining : {"predict", "profile"}
        How what remains is known: the same, very large distance for all threads less their progress
        since the last milestone, or the lengths that a profile has found.
    distance_s : float
        The very large distance in seconds, with `predict`.

    Notes
    -----
    A milestone is the end of a stretch between barriers. Cores are chosen anew at every round of
    balancing, for a new thread and for an idle core (:func:`assign_by_age`). Readings:
    docs/sources/aats.md.

    References
    ----------
    N. B. Lakshminarayana, J. Lee, H. Kim, *Age based scheduling for asymmetric multiprocessors*, SC
    2009. Q. Chen, M. Guo, Springer 2017, section 5.3.4, algorithm 7.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    remaining: str = param("predict", choices=("predict", "profile"))
    distance_s: float = param(1e3, low=1e-6, high=1e6)

    def plan(self, view: PlanView, state: Queues, graph: TaskGraph) -> Plan:
        """Return queues of cores; nothing has been executed yet."""
        self._forget(state)
        if self.remaining == "profile" and graph is view.workload.graph:
            state.notes["ops"] = view.estimated_ops(graph)[0]
        return super().plan(view, state, graph)

    def on_iteration(self, view: PlanView, state: Queues, counters: Counters) -> None:
        self._forget(state)

    @staticmethod
    def _forget(state: Queues) -> None:
        """Let no thread have been created."""
        state.notes["done_s"] = {}
        state.notes["created"] = set()

    def queue_of(self, view: HookView, state: Queues, task: int) -> int:
        """Return the core of a task's thread; a new one gets a core."""
        thread = state.thread_of(task)
        if thread not in state.notes["created"]:
            state.notes["created"].add(thread)
            state.notes["due"] = True
            place = self._places(view, state)
            # It is nowhere yet.
            state.home[thread] = self._allocation(state, [*place, task])[task]
        return super().queue_of(view, state, task)

    def on_idle(self, view: HookView, state: Queues, worker: int) -> Preempt | Transfer | None:
        """Return what an idle core sends for."""
        if not state.is_used or view.machine.copies_data or state.waiting[worker]:
            return None
        return self._send_for(view, state, worker)

    def _send_for(self, view: HookView, state: Queues, worker: int) -> Preempt | Transfer | None:
        """Return the move of the longest thread that is to run on an idle core."""
        group = state.groups.of_worker
        place = self._places(view, state)
        able = {
            task: core
            for task, core in place.items()
            if task in state.waiting[core] or group[core] > group[worker]
        }
        if not able:
            return None
        state.notes["due"] = True
        self._read_counters(view, state)
        core_of = self._allocation(state, list(place))
        mine = [task for task in able if core_of[task] == worker]
        if not mine:
            return None
        task = max(mine, key=lambda t: self._left(state, t))
        if task in state.waiting[able[task]]:
            return state.move(task, able[task], worker)
        state.note_move(state.thread_of(task), worker)
        return Preempt(able[task], worker)

    def on_timer(self, view: HookView, state: Queues) -> tuple[Move | Rest, ...]:
        """Read the counters of all cores; return moves and ends of time slices."""
        if state.is_used:
            self._read_counters(view, state)
        return super().on_timer(view, state)

    def is_due(self, state: Queues) -> bool:
        """Return whether the period is over, a thread is new or a core has become idle."""
        asked = bool(state.notes.pop("due", False))
        return super().is_due(state) or asked

    def rests(self, view: HookView, state: Queues) -> bool:
        """Return whether one thread is left at most: of several, progress changes the order."""
        return super().is_due(state) and len(self._places(view, state)) <= 1

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        place = self._places(view, state)
        core_of = self._allocation(state, list(place))
        return [
            self.relocate(view, state, task, place[task], core_of[task])
            for task in sorted(place)
            if core_of[task] != place[task]
        ]

    def _read_counters(self, view: HookView, state: Queues) -> None:
        """Note what the threads that run have executed."""
        live = view.live
        for core in range(view.n_workers):
            seen = live.progress(core)
            if seen is not None:
                done = executed_ops(view.workload.graph, seen) / state.groups.ops_per_s[0]
                state.notes["done_s"][seen.task] = float(done)

    def _places(self, view: HookView, state: Queues) -> dict[int, int]:
        """Return the core on which each thread waits or runs, by its task."""
        place = {task: core for core, queue in enumerate(state.waiting) for task in queue}
        return place | {task: core for core, task in running_tasks(view).items()}

    def _allocation(self, state: Queues, present: list[int]) -> dict[int, int]:
        """Return the core that each thread is to have, by its task."""
        if not present:
            return {}
        tasks = sorted(present)
        left = np.array([self._left(state, task) for task in tasks])
        perf = state.groups.ops_per_s[state.groups.of_worker]
        return dict(zip(tasks, assign_by_age(left, perf), strict=True))

    def _left(self, state: Queues, task: int) -> float:
        """Return what remains of a task, in seconds of the fastest core."""
        done_s = float(state.notes["done_s"].get(task, 0.0))
        if self.remaining == "predict":
            return max(0.0, self.distance_s - done_s)
        ops = float(state.notes["ops"][task])
        if not np.isfinite(ops):
            return self.distance_s
        return max(0.0, ops / float(state.groups.ops_per_s[0]) - done_s)


def executed_ops(graph: TaskGraph, seen: Progress) -> float:
    """Return the executed operations of a body; those of an access follow its bytes."""
    ops = float(graph.ops[0, seen.task])
    first, end = int(graph.access_ptr[seen.task]), int(graph.join_access[seen.task])
    if not np.isfinite(ops):
        return 0.0
    if end - first <= 1:
        return ops * seen.fraction
    moved = (graph.read_bytes[first:end] + graph.written_bytes[first:end]).astype(np.float64)
    share = moved / moved.sum() if moved.any() else np.full(end - first, 1.0 / (end - first))
    if graph.access_share is not None:
        share = graph.access_share[first:end]
    if seen.phase >= end - first:  # its join
        return ops
    return ops * float(share[: seen.phase].sum() + share[seen.phase] * seen.fraction)


preset(
    "age_ljfcf_predict",
    AgeBased,
    "Age-based scheduling that knows only the progress of threads.",
    remaining="predict",
)
preset(
    "age_ljfcf_profile",
    AgeBased,
    "Age-based scheduling with the lengths of a profile.",
    remaining="profile",
)
