"""Heteroprio: buckets of like tasks, visited by types of processors in different orders."""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.files.units import PER_PS
from simsched.policy import HookView, PlanView, param, register
from simsched.policy.contract import runtime as contract
from simsched.policy.contract.runtime import Runtime
from simsched.policy.parts.runtime_like import (
    HOST,
    MEMORY,
    TYPES,
    Like,
    Mean,
    likes,
    take_newest,
    total,
    types_of,
)
from simsched.policy.parts.runtime_queues import QueuedRuntime
from simsched.policy.parts.runtime_state import RuntimeState

UNKNOWN_S = 1e-3  #: time and released time of what has not been executed yet
IMPOSSIBLE = 1e9  #: normalised time where a type of processor cannot execute a class


@dataclass
class Bucket:
    """Ready tasks that are alike, and what is known of such tasks."""

    tasks: list[int] = field(default_factory=list)  # the newest one last
    types: tuple[int, ...] = ()  # types of processors that can execute them
    #: for each type the measured times, and how much normalised work for it ends of tasks release
    time_s: list[Mean] = field(default_factory=lambda: [Mean(), Mean()])
    released: list[Mean] = field(default_factory=lambda: [Mean(), Mean()])
    #: shares of the executions on each type, 0 before the first
    executed: list[float] = field(default_factory=lambda: [0.0, 0.0])
    n_executed: int = 0  # executions and tasks so far, at most MEMORY
    n_pushed: int = 0
    fastest: int = HOST  # type with the smallest time
    slow_factor: float = 1.0  # how many times longer the other type takes

    def expected_s(self, kind: int) -> float:
        """Return the measured time on a type of processor, or what stands for it."""
        return self.time_s[kind].known(UNKNOWN_S)

    def work_released(self, kind: int) -> float:
        """Return the work that tasks release, or what stands for it (microseconds there)."""
        return self.released[kind].known(UNKNOWN_S * 1e6)


@dataclass
class Buckets:
    """Buckets in the order in which their tasks have been seen, and what workers have taken."""

    #: tasks that each worker has taken out of buckets, the last one first to be executed
    taken: dict[int, list[int]]
    n_workers: list[int]  # workers of each type
    in_degree: list[int]  # predecessors of each task
    like: list[Like]  # what each task shares with others of its bucket
    #: bucket of tasks that share class and types of processors
    of_like: dict[Like, Bucket] = field(default_factory=dict)
    #: share of each bucket in the tasks so far
    share: dict[Like, float] = field(default_factory=dict)
    #: buckets in the order in which each type of processor visits them
    order: list[list[Like]] = field(default_factory=lambda: [[], []])
    n_pushed: int = 0  # tasks pushed so far
    #: when the present task of each worker began
    begun_ps: dict[int, int] = field(default_factory=dict)

    def normalised(self, kind: int, bucket: Bucket) -> float:
        """Return the time of a task in units of the mean task on its fastest processor."""
        mean = total(
            self.share.get(c, 0.0) * min(b.expected_s(t) for t in b.types)
            for c, b in self.of_like.items()
        )
        return bucket.expected_s(kind) / mean if mean > 0.0 else 1.0

    def score(self, kind: int, bucket: Bucket, min_samples: int) -> float:
        """Return how urgent it is that a type of processor executes the tasks of a bucket."""
        own = self.normalised(kind, bucket)
        other = 1 - kind
        if other in bucket.types:
            gain = self.normalised(other, bucket) - own
            need = 1.0 - bucket.executed[other]
            urgency = bucket.work_released(kind) + need * bucket.work_released(other)
        else:
            gain, urgency = IMPOSSIBLE - own, bucket.work_released(kind)
        bonus = 1e8 if bucket.time_s[kind].n < min_samples else 0.0
        return (1.0 + urgency) * gain + bonus


State = RuntimeState[Buckets]


@register("heteroprio")
@dataclass(frozen=True, kw_only=True)
class Heteroprio(QueuedRuntime[Buckets]):
    """Buckets of like tasks; each type of processor visits those first for which it is best.

    Parameters
    ----------
    ordering_interval : int
        Tasks that become ready between two orderings of the buckets.
    min_samples : int
        Executions on a type of processor before which a bucket comes first there.
    max_taken : int
        Most tasks that a worker takes out of the buckets ahead.

    Notes
    -----
    Tasks of a bucket share their class and the types of processors, cores or devices, that can
    execute them. A worker first fills its own queue up to `max_taken` tasks (to one if there are
    fewer tasks than workers) from the buckets in the order of its type, newest tasks first, then
    executes the task that it took last. With nothing there it takes the task that the next worker
    of its type took last. A type that is slower by a factor f takes from a bucket only while this
    holds at least f tasks per processor of the other.

    Orders and factors are learned in the run: with t the mean measured time, normalised by the mean
    task on its best type, p the share of executions on a type, and U what the ends of a task
    release on a type, the sum over successors of p t / (number of predecessors), the score of a
    bucket on a type is ``(1 + U(own) + (1 - p(other)) U(other)) (t(other) - t(own))``
    (``URT_DOT_DIFF_4``). Readings: docs/sources/starpu.md.

    References
    ----------
    StarPU 1.4, src/sched_policies/heteroprio.c. E. Agullo et al., *Task-based FMM for heterogeneous
    architectures*, Concurrency and Computation 28(9), 2016. C. Flint, L. Paillat, B. Bramas,
    *Automated prioritizing heuristics for parallel task graph scheduling in heterogeneous
    computing*, PeerJ Computer Science 8, 2022.
    """

    ordering_interval: int = param(32, low=1)
    min_samples: int = param(16, low=0)
    max_taken: int = param(2, low=1)

    def open_queues(self, view: PlanView, state: State) -> None:
        n_devices = sum(state.is_device[w] for w in state.order)
        state.queues = Buckets(
            taken={worker: [] for worker in state.order},
            n_workers=[len(state.order) - n_devices, n_devices],
            in_degree=state.graph.in_degree.tolist(),
            like=likes(state).tolist(),
        )

    def rule(self, view: PlanView, state: State) -> Runtime:
        buckets = contract.Buckets(
            like=likes(state),
            ordering_interval=self.ordering_interval,
            min_samples=self.min_samples,
            max_taken=self.max_taken,
        )
        return self.stated(view, state, "buckets", buckets=buckets)

    def enqueue(self, view: HookView, state: State, task: int, pusher: int) -> int:
        """Put the task into its bucket and learn from it."""
        buckets = state.queues
        bucket = self._bucket(buckets, task)
        if buckets.n_pushed % self.ordering_interval == 0:
            for kind in TYPES:
                able = [c for c, b in buckets.of_like.items() if kind in b.types]
                able.sort(key=lambda c: -buckets.score(kind, buckets.of_like[c], self.min_samples))
                buckets.order[kind] = able
        buckets.n_pushed += 1
        self._learn_push(state, task, bucket)
        for known in buckets.of_like.values():
            times = [known.expected_s(kind) for kind in TYPES]
            known.fastest = min(known.types, key=lambda kind: times[kind])
            known.slow_factor = times[1 - known.fastest] / max(times[known.fastest], 1e-15)
        bucket.tasks.append(task)
        return state.order[0]

    def announced_to(self, state: State, task: int, owner: int) -> list[int]:
        return state.first_to_wake(task)

    def _bucket(self, buckets: Buckets, task: int) -> Bucket:
        """Return the bucket of a task, the last one of its types of processors if it is new."""
        like = buckets.like[task]
        if like not in buckets.of_like:
            buckets.of_like[like] = Bucket(types=types_of(like))
            for kind in types_of(like):
                buckets.order[kind].append(like)
        return buckets.of_like[like]

    def _learn_push(self, state: State, task: int, bucket: Bucket) -> None:
        """Take a ready task into the shares of buckets and into what tasks of its own release."""
        buckets = state.queues
        bucket.n_pushed = min(bucket.n_pushed + 1, MEMORY)
        n_pushed = sum(b.n_pushed for b in buckets.of_like.values())
        like = buckets.like[task]
        buckets.share[like] = buckets.share.get(like, 0.0) + 1.0 / n_pushed
        scale = total(buckets.share.values())
        buckets.share = {c: share / scale for c, share in buckets.share.items()}
        span = slice(int(state.graph.succ_ptr[task]), int(state.graph.succ_ptr[task + 1]))
        released = [0.0, 0.0]
        for successor in state.graph.succ[span].tolist():
            after = self._bucket(buckets, successor)
            for kind in TYPES:
                if after.executed[kind] > 0.0:
                    work = after.executed[kind] * buckets.normalised(kind, after)
                    released[kind] += work / buckets.in_degree[successor]
        for kind in TYPES:
            bucket.released[kind].add(released[kind])

    def choose(self, view: HookView, state: State, worker: int) -> int | None:
        """Fill the worker's queue from the buckets; take from it, or from another worker's."""
        buckets = state.queues
        kind, own = int(state.is_device[worker]), buckets.taken[worker]
        order, able = buckets.order[kind], state.can_run(worker)
        left = sum(len(buckets.of_like[c].tasks) for c in order)
        number = min(self.max_taken - len(own), left)
        if left < len(state.order):
            number = min(number, 0 if own else 1)
        before = len(own)
        for bucket in (buckets.of_like[c] for c in order):
            while number > 0 and self._may_take(buckets, kind, bucket):
                newest = take_newest(bucket.tasks, able)
                if newest is None:
                    break
                own.append(newest)
                number -= 1
        if own:
            task = own.pop()
            for taken in own[before:]:
                state.claims[taken] = worker
            return task
        place = state.order.index(worker)
        for other in state.order[place + 1 :] + state.order[:place]:
            if state.is_device[other] == state.is_device[worker]:
                found = take_newest(buckets.taken[other], able)
                if found is not None:
                    state.stolen = found
                    return found
        return None

    def _may_take(self, buckets: Buckets, kind: int, bucket: Bucket) -> bool:
        """Return whether a type of processor may take a task out of a bucket."""
        if not bucket.tasks:
            return False
        if bucket.fastest in (HOST, kind):
            return True
        return len(bucket.tasks) / buckets.n_workers[bucket.fastest] >= bucket.slow_factor

    def note_start(self, view: HookView, state: State, task: int, worker: int) -> None:
        state.queues.begun_ps[worker] = view.live.now_ps()

    def note_end(self, view: HookView, state: State, task: int, worker: int) -> None:
        """Learn how long the task has taken, and where."""
        buckets = state.queues
        bucket, kind = self._bucket(buckets, task), int(state.is_device[worker])
        bucket.n_executed = min(bucket.n_executed + 1, MEMORY)
        bucket.executed[kind] += 1.0 / max(1, bucket.n_executed - 1)
        scale = total(bucket.executed)
        bucket.executed = [share / scale for share in bucket.executed]
        bucket.time_s[kind].add((view.live.now_ps() - buckets.begun_ps[worker]) * PER_PS)
