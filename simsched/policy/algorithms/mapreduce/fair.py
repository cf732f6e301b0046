"""Fair scheduling: a pool for each user with guaranteed slots, the rest in fair shares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from simsched.policy import HookView, Kill, param, register, seconds_to_ps
from simsched.policy.parts.mapreduce_shares import SharedPolicy, held, user_of, users, wanted_slots
from simsched.policy.parts.mapreduce_tracker import Attempt, Tracker
from simsched.workload.mapreduce_job import MAP, REDUCE


@dataclass(eq=False)
class Starving(Tracker):
    """A tracker that knows since when pools have been below their guarantee."""

    since_ps: dict[tuple[int, str], int] = field(default_factory=dict)  # by kind of task and user

    def start_iteration(self) -> None:
        """Forget who starves as well: nobody waits any more."""
        super().start_iteration()
        self.since_ps.clear()


@register("fair")
@dataclass(frozen=True, kw_only=True)
class Fair(SharedPolicy[Starving]):
    """Fair scheduling: a pool for each user with guaranteed slots, the rest in fair shares.

    Parameters
    ----------
    least_slots : int
        Slots of each kind that a pool with waiting tasks is guaranteed.
    preempt_after_s : float
        Seconds that a pool has to be below its guarantee until tasks of pools above theirs are
        killed; infinity never kills.

    Notes
    -----
    A free slot goes to a pool below its guarantee, of these and otherwise to the one with the
    smallest part of its share; inside a pool, to the job with the fewest running tasks. For a
    starving pool, tasks of the pool with the largest part of its share are killed, latest first.
    Readings: docs/sources/mapreduce.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2 (the scheduler of Facebook, in words only).
    """

    tracker = Starving

    least_slots: int = param(2, low=0)
    preempt_after_s: float = param(60.0, low=0.0, high=1e6)

    def need(self, state: Starving, kind: int, user: str) -> tuple[float, ...]:
        """Return whether the pool has its guarantee, and the part of its share that it holds."""
        count = held(state, kind)[user]
        return float(count >= self.least_slots), count / self.share(state, user)

    def job_order(self, state: Starving, kind: int, jobs: list[int]) -> list[int]:
        """Return the jobs of the neediest pool first, inside a pool by running tasks."""
        running = [int(state.tasks.job[a.task]) for a in state.running(kind)]
        names = state.tasks.names
        return sorted(
            jobs, key=lambda job: (*self.need(state, kind, names[job][0]), running.count(job), job)
        )

    def kills(self, view: HookView, state: Starving) -> tuple[Kill, ...]:
        """Return the tasks that give way to pools that have starved for too long."""
        now, chosen = view.live.now_ps(), []
        for kind in (MAP, REDUCE):
            count, wanted = held(state, kind), wanted_slots(state, kind)
            free = len(list(self.free_slots(view, state, kind)))
            for user in users(state):
                lacks = min(self.least_slots - count[user], wanted[user])
                if lacks <= 0:
                    state.since_ps.pop((kind, user), None)
                    continue
                since = state.since_ps.setdefault((kind, user), now)
                if now - since < seconds_to_ps(self.preempt_after_s):
                    continue
                state.since_ps[kind, user] = now
                chosen += self._victims(view, state, kind, user, count, lacks - free)
                free = max(0, free - lacks)
        return tuple(Kill(worker) for worker in chosen)

    def _victims(
        self, view: HookView, state: Starving, kind: int, user: str, count: Counter[str], most: int
    ) -> list[int]:
        """Return slots of other pools that a pool gets by force."""

        def excess(attempt: Attempt) -> tuple[float, int, int]:
            owner = user_of(state, attempt.task)
            return count[owner] / self.share(state, owner), attempt.sent_ps, attempt.worker

        found: list[int] = []
        for _ in range(most):
            over = [u for u in count if u != user and count[u] > self.least_slots]
            running = [
                a
                for a in state.running(kind)
                if a.worker not in found
                and view.live.running_task(a.worker) == a.task
                and user_of(state, a.task) in over
                and state.copies()[a.task] == 1
            ]
            if not running:
                break
            worst = max(running, key=excess)
            count[user_of(state, worst.task)] -= 1
            found.append(worst.worker)
        return found
