"""What a runtime with queues of its own knows during a run: who waits, what is on its way."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from simsched.files.errors import ModelError
from simsched.policy.contract.base import PlanView, Transfer, Wake
from simsched.policy.contract.runtime import POOLS, RANKS
from simsched.policy.parts.schedules import worker_rows
from simsched.workload.graph import TaskGraph

OWN, QUEUED, CLAIMED, PUSHED = range(len(POOLS))
CORE_AGAIN, CORE_FIRST, IN_TURN, DEVICE_LAST, DEVICE_AGAIN = RANKS.values()
AGAIN = {CORE_FIRST: CORE_AGAIN, DEVICE_LAST: DEVICE_AGAIN}  #: ranks of those that go round again


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
        self.is_device = [machine.nodes[node].has_driver for node in self.node]
        devices = [w for w in range(n) if self.is_device[w]]
        hosts = [w for w in range(n) if not self.is_device[w]]
        # One core drives a device, however many workers share it.
        n_devices = len({self.node[worker] for worker in devices})
        n_driving = min(cores_per_device * n_devices, max(0, len(hosts) - 1))
        self.order = devices + hosts[: len(hosts) - n_driving]
        self.able: list[list[bool]] = []
        #: what each kind of worker can execute, and the kind of each
        self.able_rows, self.row = np.empty((0, 0), np.bool_), np.empty(0, np.int32)
        self.priority: list[int] = []
        self.n_accesses: list[int] = []
        self.graph, self.is_open = view.workload.graph, False
        self.held = [0] * n
        self.rank = [IN_TURN] * n
        self.releasing: list[set[int]] = [set() for _ in range(n)]
        self.of_program = (0, 0)
        self.pushes: list[tuple[int, int, int, int]] = []
        self.n_pushes = 0
        self.place: dict[int, tuple[int, int]] = {}
        #: queued tasks whose data are fetched for the worker that will get them
        self.claims: dict[int, int] = {}
        #: tasks that have come into the queue of a worker, which is called
        self.assigned: dict[int, int] = {}
        #: the task that the worker which asks has found in the queue of another one
        self.stolen: int | None = None
        self.begin()

    def begin(self) -> None:
        """Let all workers sleep, as they do when an iteration begins."""
        n = len(self.node)
        self.is_waiting = [worker in self.order for worker in range(n)]
        self.is_coming, self.is_called = [False] * n, [False] * n
        self.n_pushing, self.n_releasing = [0] * n, [0] * n

    def load(self, view: PlanView, graph: TaskGraph) -> None:
        """Take over the graph that is executed next."""
        groups, row = worker_rows(view)
        able = np.isfinite(graph.ops[[graph.kinds.index(group.kind) for group in groups]])
        self.able_rows, self.row = able, row
        self.releasing = [set() for _ in row]
        self.graph, self.is_open = graph, False
        rows = sorted({int(row[worker]) for worker in self.order})
        stuck = np.flatnonzero(~able[rows].any(axis=0))
        if len(stuck):
            name = graph.class_names[graph.task_class[stuck[0]]]
            raise ModelError(
                f"task {stuck[0]} of class {name!r} has no cost on any worker that takes part, "
                "accepted a cost on at least one"
            )

    def open(self) -> None:
        """Prepare for hooks: what they look up is in lists, which are faster than arrays there."""
        graph, lists = self.graph, self.able_rows.tolist()
        self.able = [lists[r] for r in self.row.tolist()]
        self.priority = [0] * graph.n_tasks if graph.priority is None else graph.priority.tolist()
        self.n_accesses = (graph.join_access - graph.access_ptr[:-1]).tolist()
        self.is_open = True

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
        self.assigned.pop(task, None)
        delay_ps = self.n_accesses[task] * self.costs.fetch_ps
        thief = worker if task == self.stolen else None
        self.stolen = None
        return Transfer(*self.place.pop(task), OWN, worker, 1, delay_ps, task=task, thief=thief)

    def take_claims(self) -> list[Transfer]:
        """Return the transfers of claimed tasks, and note them."""
        transfers = [self.move(task, CLAIMED, worker) for task, worker in self.claims.items()]
        self.claims.clear()
        return transfers

    def move(self, task: int, group: int, worker: int) -> Transfer:
        """Return the transfer of a task to another pool, and note it."""
        source, self.place[task] = self.place[task], (group, worker)
        return Transfer(*source, group, worker, 1, 0, task=task)

    def pushed_ps(self, worker: int, now_ps: int) -> int:
        """Return when a worker has pushed what it has made ready."""
        n_pushing, self.n_pushing[worker] = self.n_pushing[worker], 0
        n_releasing, self.n_releasing[worker] = self.n_releasing[worker], 0
        return now_ps + n_pushing * self.costs.push_ps + n_releasing * self.costs.release_ps

    def come_round(
        self, worker: int, now_ps: int, from_ps: int, rank: int = IN_TURN
    ) -> tuple[Wake, ...]:
        """Let a worker look after copies from a time on, and then ask for a task."""
        if self.is_coming[worker]:
            return ()
        self.is_coming[worker], self.is_called[worker], self.rank[worker] = True, False, rank
        n_memories = 2 if self.is_device[worker] else 1
        at_ps = from_ps + n_memories * self.costs.look_ps
        # What takes no time comes in turn: a worker's own push before it asks.
        return (Wake(at_ps, worker, rank if at_ps > now_ps else IN_TURN),)
