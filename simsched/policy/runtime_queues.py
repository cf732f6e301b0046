"""Runtimes that keep ready tasks in queues of their own and feed workers from them.

The task runtime of a machine with devices does two things that a plan cannot say: it looks through
its queues for the task that suits a worker, and a worker that drives a device asks for its next
task while the present one runs, so that the data of one are fetched while the other computes.
:class:`QueuedRuntime` keeps ready tasks in pools from which no worker takes and transfers them to
the pools of workers; what its queues are, and which task a worker gets, is up to subclasses.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from simsched.errors import ModelError
from simsched.policy.base import (
    PARENT_FIRST,
    AcquireStep,
    Placement,
    Plan,
    Pool,
    PoolGroup,
    Transfer,
    View,
    param,
)
from simsched.policy.placement import PlacedPolicy, host_nodes
from simsched.policy.schedules import worker_costs
from simsched.workload.graph import TaskGraph

OWN, QUEUED, CLAIMED = 0, 1, 2  #: pools of what workers have been given, may get, and will get
AT_ONCE_S = 1e-12  #: the shortest time after which a worker without a task can get one


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

    def pop(self, accepts: Callable[[int], bool] | None = None) -> int | None:
        """Remove and return the first task that is accepted; None when there is none."""
        for place, (_, _, task) in enumerate(self._entries):
            if accepts is None or accepts(task):
                del self._entries[place]
                return task
        return None

    def pop_smallest(self, measure: Callable[[int], int]) -> int | None:
        """Remove and return the task that measures least among the most urgent ones.

        Of several the first; the search ends where the measure is 0.
        """
        best, least = None, 0
        for place, (urgency, _, task) in enumerate(self._entries):
            if urgency != self._entries[0][0]:
                break
            size = measure(task)
            if best is None or size < least:
                best, least = place, size
            if size == 0:
                break
        return None if best is None else self._entries.pop(best)[2]


class RuntimeState:
    """What a runtime knows during a run: costs, who may ask for a task, and its queues.

    Attributes
    ----------
    order : list of int
        Workers that take part, those of devices first.
    is_device : list of bool
        Whether a worker drives a device.
    node : list of int
        Memory node of each worker.
    cost_s : list of list of float
        Expected seconds of every task on each worker; workers that are alike share a list.
    priority : list of int
        What the program says about the urgency of each task.
    held : list of int
        Tasks of each worker that it has asked for and not finished.
    is_waiting : list of bool
        Whether a worker has asked for a task in vain since it was last given one.
    place : dict of int to (int, int)
        Pool (group, instance) in which each queued task is.
    claims : dict of int to int
        Tasks that workers will get and that have not been sent to the pools that fetch their data.
    queues : Any
        What the subclass keeps.
    """

    def __init__(self, view: View, cores_per_device: int) -> None:
        n, machine = view.n_workers, view.machine
        self.node = [machine.own_node(int(d)) for d in view.worker_domain]
        self.is_device = [machine.nodes[node].kind == "GPU" for node in self.node]
        devices = [w for w in range(n) if self.is_device[w]]
        hosts = [w for w in range(n) if not self.is_device[w]]
        n_driving = min(cores_per_device * len(devices), max(0, len(hosts) - 1))
        self.order = devices + hosts[: len(hosts) - n_driving]
        self.cost_s: list[list[float]] = []
        self.priority: list[int] = []
        self.graph = view.workload.graph
        self.held = [0] * n
        self.is_waiting = [False] * n
        self.n_waiting = 0
        for worker in self.order:
            self.let_wait(worker)
        self.place: dict[int, tuple[int, int]] = {}
        self.claims: dict[int, int] = {}
        self.queues: Any = None

    def load(self, view: View, graph: TaskGraph) -> None:
        """Take over the graph that is executed next."""
        row, cost_s = worker_costs(view, graph)
        lists = cost_s.tolist()
        self.cost_s = [lists[r] for r in row.tolist()]
        self.graph = graph
        self.priority = [0] * graph.n_tasks if graph.priority is None else graph.priority.tolist()
        rows = sorted({int(row[worker]) for worker in self.order})
        stuck = np.flatnonzero(np.isinf(cost_s[rows]).all(axis=0))
        if len(stuck):
            name = graph.class_names[graph.task_class[stuck[0]]]
            raise ModelError(
                f"task {stuck[0]} of class {name!r} has no cost on any worker that takes part, "
                "accepted a cost on at least one"
            )

    def can_run(self, worker: int) -> Callable[[int], bool]:
        """Return whether a task has a cost on a worker."""
        cost_s = self.cost_s[worker]
        return lambda task: cost_s[task] != float("inf")

    def let_wait(self, worker: int) -> None:
        """Note that a worker has asked in vain."""
        self.n_waiting += not self.is_waiting[worker]
        self.is_waiting[worker] = True

    def give(self, worker: int, task: int, delay_s: float) -> Transfer:
        """Return the transfer of a task to a worker, and note it."""
        self.n_waiting -= self.is_waiting[worker]
        self.is_waiting[worker] = False
        self.held[worker] += 1
        self.claims.pop(task, None)
        return Transfer(*self.place.pop(task), OWN, worker, 1, delay_s, task=task)

    def claim(self, worker: int, task: int) -> None:
        """Let the data of a queued task be fetched for a worker that will get it."""
        self.claims[task] = worker

    def take_claims(self) -> list[Transfer]:
        """Return the transfers of claimed tasks, and note them."""
        transfers = []
        for task, worker in self.claims.items():
            transfers.append(Transfer(*self.place[task], CLAIMED, worker, 1, 0.0, task=task))
            self.place[task] = CLAIMED, worker
        self.claims.clear()
        return transfers


@dataclass(frozen=True, kw_only=True)
class QueuedRuntime(PlacedPolicy):
    """Base of runtimes that feed workers from queues of their own.

    Parameters
    ----------
    device_pipeline : int
        Tasks that a worker of a device has at a time: 1, or 2, the second one being fetched, or
        waiting with its data, while the first one computes.
    cores_per_device : int
        Cores of the host that drive each device and execute no tasks; one core always stays.

    Notes
    -----
    A worker asks for a task when it has none. One of a device with a pipeline of 2 also asks as
    soon as its only task has begun to compute. Who asks in vain is asked again, in the order of the
    workers, whenever a task becomes ready; workers of devices come first. The one whose task has
    ended asks when all that it has made ready is queued. A task that a worker has been given enters
    its pool, which fetches the data; a worker without a task gets one after a picosecond.

    Where data are copied, all of them are in the first memory of the host at the start: programs
    register what they have allocated. Elsewhere `placement` says where they are.
    """

    device_pipeline: int = param(2, low=1, high=2)
    cores_per_device: int = param(1, low=0)

    #: Whether data are fetched for the worker in whose queue a task is.
    fetches_queued: ClassVar[bool] = False

    def start(self, view: View) -> RuntimeState:
        """Return an empty runtime."""
        for graph in (view.workload.graph, view.workload.init):
            if graph is not None and len(graph.child):
                raise ModelError(
                    f"policy {self.name}: found a spawn tree in workload {view.workload.name}, "
                    "accepted dataflow graphs: tasks of this runtime create no tasks"
                )
        return RuntimeState(view, self.cores_per_device)

    def place(self, view: View, state: RuntimeState) -> Placement:
        """Return the host's memory where data are copied, else what `placement` says."""
        placed = super().place(view, state)
        if not view.machine.copies_data:
            return placed
        return replace(placed, home=np.full_like(placed.home, host_nodes(view.machine)[0]))

    def plan(self, view: View, state: RuntimeState, graph: TaskGraph) -> Plan:
        """Return a pool for each worker, filled by the runtime alone."""
        state.load(view, graph)
        self.open_queues(view, state)
        active = np.zeros(view.n_workers, bool)
        active[state.order] = True
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
            ),
            spawn_order=PARENT_FIRST,
            active_workers=active,
        )

    # -------------------------------------------------------------------------------------------
    # what subclasses decide

    def knows_priorities(self) -> bool:
        """Return whether the program tells this runtime its priorities."""
        return False

    def open_queues(self, view: View, state: RuntimeState) -> None:
        """Prepare `state.queues` for a graph."""
        raise NotImplementedError

    def enqueue(self, view: View, state: RuntimeState, task: int, pusher: int) -> int:
        """Put a ready task into a queue; return the worker whose queue it is, any if nobody's."""
        raise NotImplementedError

    def choose(self, view: View, state: RuntimeState, worker: int) -> int | None:
        """Take the task that a worker gets out of the queues; None when there is none for it."""
        raise NotImplementedError

    def note_start(self, view: View, state: RuntimeState, task: int, worker: int) -> None:
        """Note that a task begins to compute."""

    def note_end(self, view: View, state: RuntimeState, task: int, worker: int) -> None:
        """Note that a task has ended."""

    # -------------------------------------------------------------------------------------------
    # hooks

    def on_ready(
        self, view: View, state: RuntimeState, task: int, worker: int
    ) -> tuple[Pool | Transfer, ...]:
        """Queue the task, then let waiting workers ask, but not the one that ends a task."""
        state.place[task] = QUEUED, self.enqueue(view, state, task, worker)
        pool = Pool(*state.place[task])
        if state.n_waiting == 0:
            return (pool,)
        waiting = [w for w in state.order if state.is_waiting[w] and w != worker]
        return pool, *self._ask(view, state, waiting)

    def on_start(
        self, view: View, state: RuntimeState, task: int, worker: int
    ) -> tuple[Transfer, ...]:
        """Let the worker of a device ask for its next task."""
        self.note_start(view, state, task, worker)
        depth = self.device_pipeline if state.is_device[worker] else 1
        return self._ask(view, state, [worker] if state.held[worker] < depth else [])

    def on_idle(self, view: View, state: RuntimeState, worker: int) -> Transfer | None:
        """Let a worker without a task ask for one."""
        if state.held[worker] > 0:  # what it has been given has not come yet
            return None
        task = self.choose(view, state, worker)
        if task is None:
            state.let_wait(worker)
            return None
        return state.give(worker, task, AT_ONCE_S)  # claims follow with the next transfers

    def on_finish(self, view: View, state: RuntimeState, task: int, worker: int) -> None:
        """Note that a worker has one task less."""
        state.held[worker] -= 1
        self.note_end(view, state, task, worker)

    def _ask(self, view: View, state: RuntimeState, workers: Iterable[int]) -> tuple[Transfer, ...]:
        """Let workers ask for a task, one after the other."""
        given = state.take_claims()
        for worker in workers:
            task = self.choose(view, state, worker)
            given += state.take_claims()
            if task is None:
                state.let_wait(worker)
            else:
                given.append(state.give(worker, task, 0.0))
        return tuple(given)


def now_s(view: View) -> float:
    """Return the simulated time in seconds."""
    assert view.state is not None
    return view.state.now_ps() * 1e-12
