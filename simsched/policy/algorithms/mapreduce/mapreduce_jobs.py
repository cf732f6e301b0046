"""Schedulers of several MapReduce jobs: FIFO, fair shares, capacities, delay, dynamic priority."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from simsched.files.errors import ConfigurationError
from simsched.policy.contract.base import (
    HookView,
    PlanView,
    param,
    seconds_to_ps,
)
from simsched.policy.contract.executions import Kill
from simsched.policy.contract.registry import register
from simsched.policy.parts.mapreduce import MapReducePolicy, T, Tracker
from simsched.workload.mapreduce_job import MAP


@register("hadoop_fifo")
@dataclass(frozen=True, kw_only=True)
class HadoopFifo(MapReducePolicy[Tracker]):
    """Jobs in the order of their arrival, without priorities or shares.

    Notes
    -----
    A free slot gets a task of the first job that has one waiting; among its map tasks one whose
    split is on the node's disk, if there is any. No speculation.

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    section 7.2.
    """


@dataclass(frozen=True, kw_only=True)
class SharedPolicy(MapReducePolicy[T]):
    """Base of policies that divide slots among users.

    Parameters
    ----------
    shares : str
        Shares of the users, numbers separated by commas, in the order of the users' first jobs;
        from the beginning again for further ones. More shares than users are refused.
    """

    shares: str = param("1")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._numbers() or any(not 0 < share < 1e9 for share in self._numbers()):
            raise ConfigurationError(
                f"policy {type(self).name}: parameter shares: found {self.shares!r}, accepted "
                "numbers above 0, separated by commas"
            )

    def start(self, view: PlanView) -> T:
        """Return the tracker, if there is a user for every share."""
        tracker = super().start(view)
        known, given = users(tracker), len(self._numbers())
        if given > len(known):
            raise ConfigurationError(
                f"policy {type(self).name}: parameter shares: found {given} shares, accepted at "
                f"most {len(known)}, one for each user of workload {view.workload.name}"
            )
        return tracker

    def _numbers(self) -> list[float]:
        """Return the shares as numbers; none if they are not."""
        try:
            return [float(text) for text in self.shares.split(",")]
        except ValueError:
            return []

    def share(self, state: T, user: str) -> float:
        """Return the share of a user."""
        numbers = self._numbers()
        return numbers[users(state).index(user) % len(numbers)]

    def need(self, state: T, kind: int, user: str) -> tuple[float, ...]:
        """Return the key of a user; the smallest is served first: slots held over the share."""
        return (held(state, kind).get(user, 0) / self.share(state, user),)

    def job_order(self, state: T, kind: int, jobs: list[int]) -> list[int]:
        """Return the jobs of the neediest user first; of one user in the order of arrival."""
        names = state.tasks.names
        return sorted(jobs, key=lambda job: (*self.need(state, kind, names[job][0]), job))


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
    smallest part of its share; inside a pool, to the job with the fewest running tasks. A starving
    pool lets the latest started task of the pool with the largest part of its share be killed, one
    for each slot that is missing: for the guarantee or, if it has fewer, for its waiting tasks, and
    that is not free already. That pool stays at its guarantee. The killed task has not failed: it
    waits as a task that was never started, and starts over.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2 (the scheduler of Facebook, in words only).
    """

    tracker = Starving

    least_slots: int = param(2, low=0)
    preempt_after_s: float = param(60.0, low=0.0, high=1e6)

    def need(self, state: Starving, kind: int, user: str) -> tuple[float, ...]:
        """Return whether the pool has its guarantee, and the part of its share that it holds."""
        count = held(state, kind).get(user, 0)
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
        for kind in (0, 1):
            count = held(state, kind)
            wanted = wanted_slots(state, kind)
            free = sum(self._is_free(view, state, w) for ws in state.slots[kind] for w in ws)
            for user in users(state):
                lacks = min(self.least_slots - count.get(user, 0), wanted.get(user, 0))
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
        self,
        view: HookView,
        state: Starving,
        kind: int,
        user: str,
        count: dict[str, int],
        most: int,
    ) -> list[int]:
        """Return slots of other pools that a pool gets by force."""
        found: list[int] = []
        for _ in range(most):
            over = [u for u in count if u != user and count[u] > self.least_slots]
            running = [
                a
                for a in state.running(kind)
                if a.worker not in found
                and view.live.running_task(a.worker) == a.task
                and _user(state, a.task) in over
                and state.copies()[a.task] == 1
            ]
            if not running:
                break
            worst = max(
                running,
                key=lambda a: (
                    count[_user(state, a.task)] / self.share(state, _user(state, a.task)),
                    a.sent_ps,
                    a.worker,
                ),
            )
            count[_user(state, worst.task)] -= 1
            found.append(worst.worker)
        return found


@register("capacity")
@dataclass(frozen=True, kw_only=True)
class Capacity(SharedPolicy[Tracker]):
    """Capacity scheduling: a queue for each user with guaranteed slots that are lent when idle.

    Notes
    -----
    `shares` are the capacities. A free slot goes to the queue that uses the smallest part of its
    capacity, so that what a queue does not use is lent to others and returns to it as tasks end;
    nothing is killed. Inside a queue, jobs in the order of arrival.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2 (in words only).
    """


@dataclass(eq=False)
class Accounts(Tracker):
    """A tracker that knows what users have spent."""

    spent: dict[str, float] = field(default_factory=dict)  # by user


@register("dynamic_priority")
@dataclass(frozen=True, kw_only=True)
class DynamicPriority(SharedPolicy[Accounts]):
    """Dynamic priority: users pay for slots; who offers more gets more, until the budget is spent.

    Parameters
    ----------
    budget : float
        What each user has to spend.

    Notes
    -----
    The source says only that users steer their share by a budget. Here `shares` are what each user
    offers per slot and second: slots are divided in proportion to the offers, and every heartbeat
    charges a user the offer for each slot that he holds. Who has spent his budget is served when
    nobody else wants the slot.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2. T. Sandholm, K. Lai, *Dynamic proportional share
    scheduling in Hadoop*, JSSPP 2010.
    """

    tracker = Accounts

    budget: float = param(1e6, low=0.0)

    def kills(self, view: HookView, state: Accounts) -> tuple[Kill, ...]:
        """Charge the users for a heartbeat; nothing is killed."""
        for kind in (0, 1):
            for user, count in held(state, kind).items():
                cost = count * self.share(state, user) * self.heartbeat_s
                state.spent[user] = state.spent.get(user, 0.0) + cost
        return ()

    def need(self, state: Accounts, kind: int, user: str) -> tuple[float, ...]:
        """Return whether the budget is spent, and the part of the share that the user holds."""
        is_broke = state.spent.get(user, 0.0) >= self.budget
        return float(is_broke), held(state, kind).get(user, 0) / self.share(state, user)


@dataclass(eq=False)
class Skipping(Tracker):
    """A tracker that knows how often jobs have been passed over."""

    skips: dict[int, int] = field(default_factory=dict)  # by job

    def start_iteration(self) -> None:
        """Forget the counters as well: other jobs begin."""
        super().start_iteration()
        self.skips.clear()


@register("delay")
@dataclass(frozen=True, kw_only=True)
class Delay(MapReducePolicy[Skipping]):
    """Delay scheduling: a job without local work for the asking node lets the next job go first.

    Parameters
    ----------
    most_skips : int
        D, the number of requests without a local task at which a job gets one that is not local: it
        has been passed over D - 1 times then, so that 0 and 1 never wait. The source names such a
        guard without a number; the default is the number of nodes of the cluster that it measures.

    Notes
    -----
    Jobs in the order of arrival. A map task whose split is on the node's disk is launched;
    otherwise the job's counter goes up, once for the request of a node however many slots are free
    there, and when it has reached D a task that is not local is launched. Launching a local map
    task sets the counter back; reduce tasks are local nowhere and have no part in it.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2. M. Zaharia et al., *Delay scheduling: a simple
    technique for achieving locality and fairness in cluster scheduling*, EuroSys 2010.
    """

    tracker = Skipping

    most_skips: int = param(8, low=0)

    def pick_of_job(
        self, state: Skipping, node: int, kind: int, job: int, waiting: Collection[int]
    ) -> int | None:
        """Return a local task, any task at the D-th request without one, or none."""
        if kind != MAP:
            return next(iter(waiting))
        local = next((t for t in waiting if state.is_local(t, node)), None)
        if local is not None:
            state.skips[job] = 0
            return local
        state.skips[job] = state.skips.get(job, 0) + 1
        return next(iter(waiting)) if state.skips[job] >= self.most_skips else None


def users(state: Tracker) -> list[str]:
    """Return the users in the order of their first jobs."""
    return list(dict.fromkeys(user for user, _ in state.tasks.names))


def _user(state: Tracker, task: int) -> str:
    """Return whose task it is."""
    return state.tasks.names[int(state.tasks.job[task])][0]


def held(state: Tracker, kind: int) -> dict[str, int]:
    """Return how many slots of a kind each user holds."""
    counts: dict[str, int] = {}
    for attempt in state.running(kind):
        user = _user(state, attempt.task)
        counts[user] = counts.get(user, 0) + 1
    return counts


def wanted_slots(state: Tracker, kind: int) -> dict[str, int]:
    """Return how many tasks of a kind each user has waiting."""
    counts: dict[str, int] = {}
    for job in state.waiting.jobs[kind]:
        user = state.tasks.names[job][0]
        counts[user] = counts.get(user, 0) + len(state.waiting.of_job(kind, job))
    return counts
