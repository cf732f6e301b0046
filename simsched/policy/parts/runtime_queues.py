"""Runtimes that keep ready tasks in queues of their own and feed workers from them.

The task runtime of a machine with devices does two things that a plan cannot say: it looks through
its queues for the task that suits a worker, and a worker that drives a device asks for its next
task while the present one runs, so that the data of one are fetched while the other computes.
:class:`QueuedRuntime` keeps ready tasks in pools from which no worker takes and transfers them to
the pools of workers; what its queues are, whom a new task is announced to, and which task a worker
gets, is up to subclasses. It is woken when a task has been pushed or a worker has come round.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from simsched.files.errors import ModelError
from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    Counters,
    HookView,
    Placement,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Transfer,
    Wake,
    param,
    seconds_to_ps,
)
from simsched.policy.parts.placement import PlacedPolicy, host_nodes
from simsched.policy.parts.schedules import worker_rows
from simsched.workload.graph import TaskGraph

#: pools of what workers have been given, may get, and will get, and of what is being pushed
OWN, QUEUED, CLAIMED, PUSHED = 0, 1, 2, 3
PUSH_DONE = -1  #: tag of the wake when a task has been pushed; else it is the worker that asks
#: Ranks of wakes, the first to the last: a core that has pushed tasks or goes round once more, one
#: that has just ended a task, pushes and those that are called, a device that has just ended a
#: task, one that goes round once more.
CORE_AGAIN, CORE_FIRST, IN_TURN, DEVICE_LAST, DEVICE_AGAIN = range(-2, 3)
AGAIN = {CORE_FIRST: CORE_AGAIN, DEVICE_LAST: DEVICE_AGAIN}  #: ranks of those that go round again


class TaskQueue:
    """Ready tasks, most urgent first, of equal ones the one that came first."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, int]] = []  # (-priority, number, task)
        self._n_pushed = 0

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, task: int, priority: int = 0) -> None:
        """Add a task behind those that are as urgent."""
        insort(self._entries, (-priority, self._n_pushed, task))
        self._n_pushed += 1

    def pop(
        self, accepts: Callable[[int], bool] | None = None, *, newest: bool = False
    ) -> int | None:
        """Remove and return the first task that is accepted; None when there is none.

        With `newest` the one that came last of those that are as urgent.
        """
        found = None
        for place, (urgency, _, task) in enumerate(self._entries):
            if found is not None and urgency != self._entries[found][0]:
                break
            if accepts is None or accepts(task):
                found = place
                if not newest:
                    break
        return None if found is None else self._entries.pop(found)[2]

    def pop_smallest(self, measure: Callable[[int], tuple[int, int, int]]) -> int | None:
        """Remove and return the task that measures least among the most urgent ones.

        Of several the first; the search ends where the measure is 0.
        """
        best, least = None, (0, 0, 0)
        for place, (urgency, _, task) in enumerate(self._entries):
            if urgency != self._entries[0][0]:
                break
            size = measure(task)
            if best is None or size < least:
                best, least = place, size
            if size == (0, 0, 0):
                break
        return None if best is None else self._entries.pop(best)[2]


class Costs(NamedTuple):
    """What the runtime takes, as the parameters of the same names say in seconds."""

    push_ps: int
    look_ps: int
    fetch_ps: int
    release_ps: int


Q = TypeVar("Q")


class RuntimeState(Generic[Q]):
    """What a runtime knows during a run: who can run what and ask for a task, and its queues."""

    queues: Q  #: what `open_queues` makes

    def __init__(self, view: PlanView, cores_per_device: int, costs: Costs) -> None:
        self.costs = costs
        n, machine = view.n_workers, view.machine
        self.node = [machine.own_node(int(d)) for d in view.worker_domain]
        self.is_device = [machine.nodes[node].kind == "GPU" for node in self.node]
        devices = [w for w in range(n) if self.is_device[w]]
        hosts = [w for w in range(n) if not self.is_device[w]]
        # One core drives a device, however many workers share it.
        n_devices = len({self.node[worker] for worker in devices})
        n_driving = min(cores_per_device * n_devices, max(0, len(hosts) - 1))
        self.order = devices + hosts[: len(hosts) - n_driving]
        self.able: list[list[bool]] = []
        self.priority: list[int] = []
        self.n_accesses: list[int] = []
        self.graph = view.workload.graph
        self.held = [0] * n
        self.is_waiting = [False] * n
        self.is_coming = [False] * n
        self.rank = [IN_TURN] * n
        self.is_called = [False] * n
        self.n_pushing = [0] * n
        self.releasing: list[set[int]] = [set() for _ in range(n)]
        self.n_releasing = [0] * n
        self.of_program = (0, 0)
        self.pushes: list[tuple[int, int, int, int]] = []
        self.n_pushes = 0
        self.place: dict[int, tuple[int, int]] = {}
        self.claims: dict[int, int] = {}
        self.begin()

    def begin(self) -> None:
        """Let all workers sleep, as they do when an iteration begins."""
        for worker in self.order:
            self.is_waiting[worker], self.is_coming[worker] = True, False
            self.is_called[worker] = False
            self.n_pushing[worker] = self.n_releasing[worker] = 0

    def load(self, view: PlanView, graph: TaskGraph) -> None:
        """Take over the graph that is executed next."""
        groups, row = worker_rows(view)
        able = np.isfinite(graph.ops[[graph.kinds.index(group.kind) for group in groups]])
        lists = able.tolist()
        self.able = [lists[r] for r in row.tolist()]
        self.graph = graph
        self.priority = [0] * graph.n_tasks if graph.priority is None else graph.priority.tolist()
        self.n_accesses = (graph.join_access - graph.access_ptr[:-1]).tolist()
        rows = sorted({int(row[worker]) for worker in self.order})
        stuck = np.flatnonzero(~able[rows].any(axis=0))
        if len(stuck):
            name = graph.class_names[graph.task_class[stuck[0]]]
            raise ModelError(
                f"task {stuck[0]} of class {name!r} has no cost on any worker that takes part, "
                "accepted a cost on at least one"
            )

    def can_run(self, worker: int) -> Callable[[int], bool]:
        """Return whether a task has a cost on a worker."""
        return self.able[worker].__getitem__

    def first_to_wake(self, task: int) -> list[int]:
        """Return the first device that sleeps, otherwise all cores, if they can execute a task."""
        able = [w for w in self.order if self.can_run(w)(task)]
        for worker in able:
            if self.is_device[worker] and self.is_waiting[worker] and not self.is_coming[worker]:
                return [worker]
        return [w for w in able if not self.is_device[w]]

    def push(self, task: int, worker: int, now_ps: int) -> int:
        """Note a push by a worker, -1 for the program; return when it is done."""
        if worker >= 0:
            self.n_pushing[worker] += 1
            n_pushing = self.n_pushing[worker]
        else:
            since, n_pushing = self.of_program
            n_pushing = n_pushing + 1 if since == now_ps else 1
            self.of_program = now_ps, n_pushing
        at_ps = now_ps + n_pushing * self.costs.push_ps
        heappush(self.pushes, (at_ps, self.n_pushes, task, worker))
        self.n_pushes += 1
        self.place[task] = PUSHED, self.order[0]
        return at_ps

    def take_pushed(self, now_ps: int) -> list[tuple[int, int]]:
        """Return what different workers have pushed by now, one task of each at most."""
        pushed: list[tuple[int, int]] = []
        while self.pushes and self.pushes[0][0] <= now_ps:
            _, _, task, pusher = self.pushes[0]
            if any(pusher == other for _, other in pushed):
                break
            heappop(self.pushes)
            pushed.append((task, pusher))
        return pushed

    def release(self, task: int, worker: int) -> None:
        """Note what a worker's task has written for the last time."""
        graph = self.graph
        if graph.access_final is None:
            return
        span = slice(int(graph.access_ptr[task]), int(graph.join_access[task]))
        self.releasing[worker] = set(graph.access_block[span][graph.access_final[span]].tolist())
        self.n_releasing[worker] = len(self.releasing[worker])

    def give(self, worker: int, task: int) -> Transfer:
        """Return the transfer of a task to a worker, and note it."""
        self.is_waiting[worker] = False
        self.held[worker] += 1
        self.claims.pop(task, None)
        delay_ps = self.n_accesses[task] * self.costs.fetch_ps
        return Transfer(*self.place.pop(task), OWN, worker, 1, delay_ps, task=task)

    def claim(self, worker: int, task: int) -> None:
        """Let the data of a queued task be fetched for a worker that will get it."""
        self.claims[task] = worker

    def take_claims(self) -> list[Transfer]:
        """Return the transfers of claimed tasks, and note them."""
        transfers = []
        for task, worker in self.claims.items():
            transfers.append(Transfer(*self.place[task], CLAIMED, worker, 1, 0, task=task))
            self.place[task] = CLAIMED, worker
        self.claims.clear()
        return transfers


@dataclass(frozen=True, kw_only=True)
class QueuedRuntime(PlacedPolicy[RuntimeState[Q]]):
    """Base of runtimes that feed workers from queues of their own.

    Parameters
    ----------
    device_pipeline : int
        Tasks that a worker of a device has at a time: 1, or 2, the second one being fetched, or
        waiting with its data, while the first one computes.
    cores_per_device : int
        Cores of the host that drive each device, for all of its workers, and execute no tasks; one
        core always stays.
    push_s : float
        What it costs a worker to push a task that it has made ready, in seconds.
    look_s : float
        How long a worker that has been called, or has ended a task, looks after the copies of one
        memory before it asks for a task, in seconds; cores look after one memory, workers of
        devices after the device's and the host's.
    fetch_s : float
        What it costs a worker to ask for one of the data of a task that it has been given, in
        seconds.
    release_s : float
        What it costs the worker that has written a datum for the last time, in seconds.

    Notes
    -----
    A worker that has ended a task pushes what that has made ready, one after the other, then comes
    round and asks for a task. One of a device with a pipeline of 2 also asks when its only task has
    begun to compute. Who asks in vain sleeps until a push calls it. Of those that ask at the same
    time a device called by another one comes first, then who has been called first; of cores that
    have just ended a task those that have pushed some come first, or have asked before. A task that
    a worker has been given enters its pool, which fetches the data. Where data are copied, all of
    them are in the first memory of the host at the start. Readings: docs/sources/starpu.md.

    References
    ----------
    StarPU 1.4, src/core/sched_policy.c, src/core/workers.c (``starpu_wake_worker_relax_light``),
    src/datawizard/datawizard.c, src/drivers/cuda/driver_cuda.c and src/drivers/cpu/driver_cpu.c.
    """

    device_pipeline: int = param(2, low=1, high=2)
    cores_per_device: int = param(1, low=0)
    push_s: float = param(1e-6, low=0.0, high=1e6)
    look_s: float = param(1e-6, low=0.0, high=1e6)
    fetch_s: float = param(1e-6, low=0.0, high=1e6)
    release_s: float = param(3e-6, low=0.0, high=1e6)

    #: Whether data are fetched for the worker in whose queue a task is.
    fetches_queued: ClassVar[bool] = False

    def start(self, view: PlanView) -> RuntimeState[Q]:
        for graph in (view.workload.graph, view.workload.init):
            if graph is not None and len(graph.child):
                raise ModelError(
                    f"policy {self.name}: found a spawn tree in workload {view.workload.name}, "
                    "accepted dataflow graphs: tasks of this runtime create no tasks"
                )
        costs_s = self.push_s, self.look_s, self.fetch_s, self.release_s
        return RuntimeState(view, self.cores_per_device, Costs(*map(seconds_to_ps, costs_s)))

    def place(self, view: PlanView, state: RuntimeState[Q]) -> Placement:
        """Return the host's memory where data are copied, else what `placement` says."""
        placed = super().place(view, state)
        if not view.machine.copies_data:
            return placed
        return replace(placed, home=np.full_like(placed.home, host_nodes(view.machine)[0]))

    def plan(self, view: PlanView, state: RuntimeState[Q], graph: TaskGraph) -> Plan:
        """Return a pool for each worker, filled by the runtime alone."""
        state.load(view, graph)
        self.open_queues(view, state)
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            pool_groups=(
                PoolGroup("worker", prefetches=True),
                PoolGroup(
                    "queued",
                    prefetches=self.fetches_queued,
                    prefetches_by_priority=self.knows_priorities(),
                ),
                PoolGroup("claimed", prefetches=True, prefetches_by_priority=False),
                PoolGroup("pushed"),
            ),
            spawn_order=PARENT_FIRST,
            active_workers=np.isin(np.arange(view.n_workers), state.order),
        )

    # -------------------------------------------------------------------------------------------
    # what subclasses decide

    def knows_priorities(self) -> bool:
        """Return whether the program tells this runtime its priorities."""
        return False

    def open_queues(self, view: PlanView, state: RuntimeState[Q]) -> None:
        """Prepare `state.queues` for a graph."""
        raise NotImplementedError

    def decide(self, view: HookView, state: RuntimeState[Q], pushed: list[tuple[int, int]]) -> None:
        """Prepare the queueing of tasks that different workers push at the same time."""

    def enqueue(self, view: HookView, state: RuntimeState[Q], task: int, pusher: int) -> int:
        """Put a ready task into a queue; return the worker whose queue it is, any if nobody's."""
        raise NotImplementedError

    def choose(self, view: HookView, state: RuntimeState[Q], worker: int) -> int | None:
        """Take the task that a worker gets out of the queues; None when there is none for it."""
        raise NotImplementedError

    def announced_to(self, state: RuntimeState[Q], task: int, owner: int) -> list[int]:
        """Return whom the push of a task into a worker's queue calls, in order; by default all."""
        return state.order

    def note_start(self, view: HookView, state: RuntimeState[Q], task: int, worker: int) -> None:
        """Note that a task begins to compute."""

    def note_end(self, view: HookView, state: RuntimeState[Q], task: int, worker: int) -> None:
        """Note that a task has ended."""

    # -------------------------------------------------------------------------------------------
    # hooks

    def on_iteration(self, view: PlanView, state: RuntimeState[Q], counters: Counters) -> None:
        """Begin anew with workers that sleep."""
        state.begin()

    def on_ready(
        self, view: HookView, state: RuntimeState[Q], task: int, worker: int
    ) -> tuple[Pool | Wake, ...]:
        """Let the push of the task begin."""
        at_ps = state.push(task, worker, view.live.now_ps())
        return Pool(*state.place[task]), Wake(at_ps, PUSH_DONE)

    def on_start(
        self, view: HookView, state: RuntimeState[Q], task: int, worker: int
    ) -> tuple[Wake, ...]:
        """Let the worker of a device come round for its next task."""
        self.note_start(view, state, task, worker)
        if not state.is_device[worker] or state.held[worker] >= self.device_pipeline:
            return ()
        return self._come_round(view, state, worker, self._pushed_ps(view, state, worker))

    def on_idle(self, view: HookView, state: RuntimeState[Q], worker: int) -> Wake | None:
        """Let a worker that has ended a task come round for another one."""
        if state.held[worker] > 0 or state.is_waiting[worker] or state.is_coming[worker]:
            return None
        # A core comes before those that its last push calls, a device after them.
        at_ps = self._pushed_ps(view, state, worker)
        rank = CORE_AGAIN if at_ps > view.live.now_ps() else CORE_FIRST
        rank = DEVICE_LAST if state.is_device[worker] else rank
        return self._come_round(view, state, worker, at_ps, rank)[0]

    def on_wake(
        self, view: HookView, state: RuntimeState[Q], tag: int
    ) -> tuple[Transfer | Wake, ...]:
        """Queue what has been pushed by now, or let a worker that has come round ask for a task."""
        if tag != PUSH_DONE:
            return self._ask(view, state, tag)
        given: list[Transfer | Wake] = []
        while pushed := state.take_pushed(view.live.now_ps()):
            self.decide(view, state, pushed)
            for task, pusher in pushed:
                given += self._queue(view, state, task, pusher)
        return tuple(given)

    def _queue(
        self, view: HookView, state: RuntimeState[Q], task: int, pusher: int
    ) -> list[Transfer | Wake]:
        """Queue a task that has been pushed, and call whom this is announced to."""
        owner = self.enqueue(view, state, task, pusher)
        given: list[Transfer | Wake] = [
            Transfer(*state.place[task], QUEUED, owner, 1, 0, task=task)
        ]
        state.place[task] = QUEUED, owner
        given += state.take_claims()
        for worker in self.announced_to(state, task, owner):
            if state.is_coming[worker]:
                state.is_called[worker] = True
            elif state.is_waiting[worker]:
                given += self._come_round(view, state, worker, view.live.now_ps())
        return given

    def on_finish(self, view: HookView, state: RuntimeState[Q], task: int, worker: int) -> None:
        state.held[worker] -= 1
        state.n_pushing[worker] = 0
        state.release(task, worker)
        state.is_waiting[worker] = False
        self.note_end(view, state, task, worker)

    def _pushed_ps(self, view: HookView, state: RuntimeState[Q], worker: int) -> int:
        """Return when a worker has pushed what it has made ready."""
        n_pushing, state.n_pushing[worker] = state.n_pushing[worker], 0
        n_releasing, state.n_releasing[worker] = state.n_releasing[worker], 0
        costs = state.costs
        return view.live.now_ps() + n_pushing * costs.push_ps + n_releasing * costs.release_ps

    def _come_round(
        self, view: HookView, state: RuntimeState[Q], worker: int, from_ps: int, rank: int = IN_TURN
    ) -> tuple[Wake, ...]:
        """Let a worker look after copies from a time on, and then ask for a task."""
        if state.is_coming[worker]:
            return ()
        state.is_coming[worker], state.is_called[worker], state.rank[worker] = True, False, rank
        n_memories = 2 if state.is_device[worker] else 1
        at_ps = from_ps + n_memories * state.costs.look_ps
        # What takes no time comes in turn: a worker's own push before it asks.
        return (Wake(at_ps, worker, rank if at_ps > view.live.now_ps() else IN_TURN),)

    def _ask(
        self, view: HookView, state: RuntimeState[Q], worker: int
    ) -> tuple[Transfer | Wake, ...]:
        """Let a worker ask for a task; without one it sleeps unless it has been called."""
        state.is_coming[worker] = False
        if state.held[worker] >= (self.device_pipeline if state.is_device[worker] else 1):
            return ()
        task = self.choose(view, state, worker)
        claims = state.take_claims()
        if task is not None:
            return *claims, state.give(worker, task)
        if state.is_called[worker]:
            rank = AGAIN.get(state.rank[worker], state.rank[worker])
            return *claims, *self._come_round(view, state, worker, view.live.now_ps(), rank)
        state.is_waiting[worker] = True
        return tuple(claims)
