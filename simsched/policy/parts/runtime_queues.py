"""Runtimes that keep ready tasks in queues of their own and feed workers from them.

The task runtime of a machine with devices does two things that a plan cannot say: it looks through
its queues for the task that suits a worker, and a worker that drives a device asks for its next
task while the present one runs, so that the data of one are fetched while the other computes.
:class:`QueuedRuntime` keeps ready tasks in pools from which no worker takes and transfers them to
the pools of workers. It is woken when a task has been pushed or a worker has come round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import isfunction, unwrap
from typing import Any, ClassVar

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
from simsched.policy.contract.runtime import Runtime
from simsched.policy.parts.host_memory import host_nodes
from simsched.policy.parts.placement import PlacedPolicy
from simsched.policy.parts.runtime_state import (
    AGAIN,
    CORE_AGAIN,
    CORE_FIRST,
    DEVICE_LAST,
    QUEUED,
    Costs,
    Q,
    RuntimeState,
)
from simsched.workload.graph import TaskGraph

PUSH_DONE = -1  #: tag of the wake when a task has been pushed; else it is the worker that asks


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
        memory before it asks for a task, in seconds; workers of devices look after two.
    fetch_s : float
        What it costs a worker to ask for a datum of a task that it has been given, in seconds.
    release_s : float
        What it costs the worker that has written a datum for the last time, in seconds.

    Notes
    -----
    A worker that has ended a task pushes what that has made ready, one after the other, then comes
    round and asks for a task. One of a device with a pipeline of 2 also asks when its only task has
    begun to compute, unless the driver waits for that one. Who asks in vain sleeps until a push
    calls it. Of those that ask at the same time a device called by another one comes first, then
    who has been called first; of cores that have just ended a task those that have pushed some come
    first, or have asked before. A task that a worker has been given enters its pool, which fetches
    the data. Where data are copied, all of them are in the first memory of the host at the start.
    Readings: docs/sources/starpu.md.

    References
    ----------
    StarPU 1.4, src/core/sched_policy.c, src/core/workers.c (``starpu_wake_worker_relax_light``),
    src/datawizard/datawizard.c, src/drivers/cuda/driver_cuda.c and src/drivers/cpu/driver_cpu.c.
    """

    chooses_processors: ClassVar[bool] = True

    device_pipeline: int = param(2, low=1, high=2)
    cores_per_device: int = param(1, low=0)
    push_s: float = param(1e-6, low=0.0, high=1e6, is_cost=True)
    look_s: float = param(1e-6, low=0.0, high=1e6, is_cost=True)
    fetch_s: float = param(1e-6, low=0.0, high=1e6, is_cost=True)
    release_s: float = param(3e-6, low=0.0, high=1e6, is_cost=True)

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
        """Return the host's only memory where data are copied, else what `placement` says."""
        placed = super().place(view, state)
        hosts = host_nodes(view.machine)
        if not view.machine.copies_data or len(hosts) > 1:
            return placed
        return replace(placed, home=np.full_like(placed.home, hosts[0]))

    def plan(self, view: PlanView, state: RuntimeState[Q], graph: TaskGraph) -> Plan:
        """Return a pool for each worker, filled by the runtime alone."""
        state.load(view, graph)
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
            runtime=self._stated(view, state),
        )

    def _stated(self, view: PlanView, state: RuntimeState[Q]) -> Runtime | None:
        """Return the rule, if it says what the methods of this class do.

        A class that changes a method of the one that states the rule has hooks of its own.
        """
        stating = next(cls for cls in type(self).__mro__ if "rule" in vars(cls))
        methods = {name for cls in stating.__mro__ for name in vars(cls) if name[:2] != "__"}
        for name in methods:
            said = getattr(stating, name)
            if isfunction(said) and unwrap(getattr(type(self), name)) is not said:
                return None
        return None if self.overrides("divide") else self.rule(view, state)

    def rule(self, view: PlanView, state: RuntimeState[Q]) -> Runtime | None:
        """Return what the hooks come to, for engines that execute it; None: they call the hooks."""
        return None

    def stated(self, view: PlanView, state: RuntimeState[Q], rule: str, **parts: Any) -> Runtime:
        """Return a rule with what all runtimes have in common."""
        machine, costs = view.machine, state.costs
        return Runtime(
            rule=rule,
            members=np.array(state.order, np.int32),
            is_device=np.array(state.is_device),
            node=np.array(state.node, np.int32),
            row=state.row,
            able=state.able_rows,
            space=machine.node_space.astype(np.int32),
            main_space=int(machine.node_space[host_nodes(machine)[0]]),
            pipeline=self.device_pipeline,
            push_ps=costs.push_ps,
            look_ps=costs.look_ps,
            fetch_ps=costs.fetch_ps,
            release_ps=costs.release_ps,
            **parts,
        )

    # -------------------------------------------------------------------------------------------
    # what subclasses decide

    def knows_priorities(self) -> bool:
        """Return whether the program tells this runtime its priorities."""
        return False

    def open_queues(self, view: PlanView, state: RuntimeState[Q]) -> None:
        """Prepare `state.queues` for the graph of `state`, when the first hook is called."""
        raise NotImplementedError

    def decide(self, view: HookView, state: RuntimeState[Q], pushed: list[tuple[int, int]]) -> None:
        """Prepare the queueing of tasks that different workers push at the same time."""

    def enqueue(self, view: HookView, state: RuntimeState[Q], task: int, pusher: int) -> int | None:
        """Put a ready task into a queue; return the worker whose queue it is, any if nobody's.

        None when the task waits, or is among those that are `state.assigned`.
        """
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
        state.begin()

    def on_ready(
        self, view: HookView, state: RuntimeState[Q], task: int, worker: int
    ) -> tuple[Pool | Wake, ...]:
        """Let the push of the task begin; it is the first thing that happens in a run."""
        if not state.is_open:
            state.open()
            self.open_queues(view, state)
        at_ps = state.push(task, worker, view.live.now_ps())
        return Pool(*state.place[task]), Wake(at_ps, PUSH_DONE)

    def on_start(
        self, view: HookView, state: RuntimeState[Q], task: int, worker: int
    ) -> tuple[Wake, ...]:
        """Let the worker of a device come round for its next task."""
        self.note_start(view, state, task, worker)
        synchronous = state.graph.synchronous
        is_free = state.is_device[worker] and state.held[worker] < self.device_pipeline
        if not is_free or (synchronous is not None and synchronous[task]):
            return ()
        now_ps = view.live.now_ps()
        return state.come_round(worker, now_ps, state.pushed_ps(worker, now_ps))

    def on_idle(self, view: HookView, state: RuntimeState[Q], worker: int) -> Wake | None:
        """Let a worker that has ended a task come round for another one."""
        if state.held[worker] > 0 or state.is_waiting[worker] or state.is_coming[worker]:
            return None
        # A core comes before those that its last push calls, a device after them.
        now_ps = view.live.now_ps()
        at_ps = state.pushed_ps(worker, now_ps)
        rank = CORE_AGAIN if at_ps > now_ps else CORE_FIRST
        rank = DEVICE_LAST if state.is_device[worker] else rank
        return state.come_round(worker, now_ps, at_ps, rank)[0]

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
        if owner is None:
            return self._announce_assigned(view, state)
        given: list[Transfer | Wake] = [state.move(task, QUEUED, owner), *state.take_claims()]
        for worker in self.announced_to(state, task, owner):
            given += self._call(view, state, worker)
        return given

    def _announce_assigned(self, view: HookView, state: RuntimeState[Q]) -> list[Transfer | Wake]:
        """Move tasks to the queues that they have come into, and call the workers of these."""
        assigned, state.assigned = state.assigned, {}
        given: list[Transfer | Wake] = []
        for task, worker in assigned.items():
            given += [state.move(task, QUEUED, worker), *self._call(view, state, worker)]
        return given

    def _call(self, view: HookView, state: RuntimeState[Q], worker: int) -> tuple[Wake, ...]:
        """Let a worker come round if it sleeps, or once more if it is about to ask."""
        if state.is_coming[worker]:
            state.is_called[worker] = True
        elif state.is_waiting[worker]:
            return state.come_round(worker, view.live.now_ps(), view.live.now_ps())
        return ()

    def on_finish(self, view: HookView, state: RuntimeState[Q], task: int, worker: int) -> None:
        state.held[worker] -= 1
        state.n_pushing[worker] = 0
        state.release(task, worker)
        state.is_waiting[worker] = False
        self.note_end(view, state, task, worker)

    def _ask(
        self, view: HookView, state: RuntimeState[Q], worker: int
    ) -> tuple[Transfer | Wake, ...]:
        """Let a worker ask for a task; without one it sleeps unless it has been called.

        What drives a device also prepares its copies, and asks afterwards.
        """
        until_ps = view.live.driver_until_ps(state.node[worker])
        if until_ps > view.live.now_ps():
            return (Wake(until_ps, worker, state.rank[worker]),)
        state.is_coming[worker] = False
        if state.held[worker] >= (self.device_pipeline if state.is_device[worker] else 1):
            return ()
        task = self.choose(view, state, worker)
        claims: list[Transfer | Wake] = [*state.take_claims()]
        if task is not None:
            own = state.give(worker, task)
            return *claims, own, *self._announce_assigned(view, state)
        claims += self._announce_assigned(view, state)
        if state.is_called[worker]:
            rank = AGAIN.get(state.rank[worker], state.rank[worker])
            now_ps = view.live.now_ps()
            return *claims, *state.come_round(worker, now_ps, now_ps, rank)
        state.is_waiting[worker] = True
        return tuple(claims)
