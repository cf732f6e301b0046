"""Multi-threaded shepherds: one stack of tasks per socket, whole batches stolen between sockets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simsched.policy import (
    PARENT_FIRST,
    SEVERAL_DOMAINS,
    AcquireStep,
    HookView,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    Transfer,
    param,
    preset,
    register,
)
from simsched.policy.contract.base import EngineState
from simsched.workload.graph import Int64Array, TaskGraph

SHEPHERD = 1  #: pool group of the sockets' queues


@dataclass(eq=False)
class MtsState:
    """Who steals and who waits."""

    members: dict[int, list[int]]  # workers of each socket, ascending
    #: workers that have begun a task and not been without one since
    working: set[int] = field(default_factory=set)
    #: when the last steal of each socket is over
    stealing_until_ps: dict[int, int] = field(default_factory=dict)


@register("mts")
@dataclass(frozen=True, kw_only=True)
class Mts(PlacedPolicy[MtsState]):
    """Multi-threaded shepherds (MTS): workers of a socket share one last-in first-out queue.

    Parameters
    ----------
    victim : {"random", "nearest"}
        Whether a thief tries other sockets in random order or the nearest ones first.
    thief : {"first_worker", "head_worker"}
        Who steals for a socket whose queue is empty: the worker that notices first, or the first
        worker of the socket.
    batch : int
        Most tasks that are stolen at a time; 0 for one for every worker of a socket.

    Notes
    -----
    Workers take the newest task of their socket's queue, which stays close to the serial order. The
    first one that finds it empty becomes the thief and takes the oldest tasks of another socket's
    queue; the others wait meanwhile. A thief that has found nothing goes on looking. Readings:
    docs/sources/cab.md.

    References
    ----------
    S. L. Olivier, A. K. Porterfield, K. B. Wheeler, M. Spiegel, J. F. Prins, *OpenMP task
    scheduling strategies for multicore NUMA systems*, IJHPCA 26(2), 2012. Q. Chen, M. Guo, Springer
    2017, section 3.2.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    victim: str = param("random", choices=("random", "nearest"))
    thief: str = param("first_worker", choices=("first_worker", "head_worker"))
    batch: int = param(0, low=0, high=2**31 - 1)

    def start(self, view: PlanView) -> MtsState:
        sockets = np.unique(view.worker_domain).tolist()
        return MtsState({d: np.flatnonzero(view.worker_domain == d).tolist() for d in sockets})

    def plan(self, view: PlanView, state: MtsState, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("shepherd", "own", "newest"),),
            pool_groups=(PoolGroup("worker"), PoolGroup("shepherd", scope="domain", locked=True)),
            spawn_order=PARENT_FIRST,
            group_of=np.full(graph.n_tasks, SHEPHERD, np.int8),
        )

    def on_idle(self, view: HookView, state: MtsState, worker: int) -> Transfer | None:
        """Return the steal of a worker that is the first one to find its socket's queue empty."""
        state.working.discard(worker)
        if worker != self._thief(view, state, int(view.worker_domain[worker]), worker):
            return None
        return self._steal(view, state, worker, self._spare(view, state), 1)

    def on_start(
        self, view: HookView, state: MtsState, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        """Note that a worker has work; return the steals of what it has left in the queue."""
        state.working.add(worker)
        if len(state.working) == view.n_workers:
            return None  # nobody looks for work: the usual case, spared the look at all queues
        return self._noticed(view, state, self._spare(view, state))

    def on_ready(
        self, view: HookView, state: MtsState, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        """Return the steal of a new task that nobody of its socket is about to take."""
        live = view.live
        if worker < 0:  # an iteration begins, or a task arrives: its pool is not known yet
            state.working = {other for other in state.working if not live.is_waiting(other)}
            return None
        if len(state.working) == view.n_workers:
            return None
        socket = int(view.worker_domain[worker])
        spare = self._spare(view, state)
        is_awaited = any(live.is_waiting(other) for other in state.members[socket])
        spare[socket] += 0 if is_awaited else 1
        return self._noticed(view, state, spare)

    def on_landing(
        self, view: HookView, state: MtsState, group: int, instance: int
    ) -> tuple[Transfer, ...] | None:
        """Note the end of a socket's steal; return those of sockets that still have no work."""
        del state.stealing_until_ps[instance]
        return self._noticed(view, state, self._spare(view, state))

    def _thief(self, view: HookView, state: MtsState, socket: int, asking: int = -1) -> int | None:
        """Return who looks for work elsewhere for a socket, None while nobody does."""
        live = view.live
        if state.stealing_until_ps.get(socket, -1) >= live.now_ps():
            return None
        members = state.members[socket]
        able = members[:1] if self.thief == "head_worker" else members
        return next((w for w in able if w == asking or live.is_waiting(w)), None)

    def _spare(self, view: HookView, state: MtsState) -> dict[int, int]:
        """Return for each socket the queued tasks that none of its workers is about to take."""
        live = view.live
        return {
            socket: live.queue_length(SHEPHERD, socket)
            - sum(self._is_about_to_take(state, live, worker) for worker in members)
            for socket, members in state.members.items()
        }

    def _is_about_to_take(self, state: MtsState, live: EngineState, worker: int) -> bool:
        """Return whether a worker has been woken and has not begun a task since."""
        is_free = worker not in state.working and not live.is_waiting(worker)
        return is_free and not live.has_failed(worker)

    def _noticed(
        self, view: HookView, state: MtsState, spare: dict[int, int]
    ) -> tuple[Transfer, ...] | None:
        """Return the steals of sockets whose thieves find something, in random order."""
        if max(spare.values()) <= 0:
            return None
        thieves = [self._thief(view, state, socket) for socket in state.members]
        looking = [thief for thief in thieves if thief is not None]
        if len(looking) > 1:
            looking = [looking[place] for place in view.rng.permutation(len(looking)).tolist()]
        found = [self._steal(view, state, thief, spare, len(looking)) for thief in looking]
        return tuple(steal for steal in found if steal is not None)

    def _steal(
        self, view: HookView, state: MtsState, thief: int, spare: dict[int, int], n_looking: int
    ) -> Transfer | None:
        """Return the steal of a thief, None where it finds nothing; what it takes is not spare."""
        own, costs = int(view.worker_domain[thief]), view.machine.costs
        probes_ps = 0
        for victim in self._victims(view, state, own) if max(spare.values()) > 0 else ():
            away = 1 + int(view.machine.domain_hops[own, victim])
            if spare[victim] <= 0:
                probes_ps += _at(costs.steal_probe_ps, away)
                continue
            count = min(self.batch or max(map(len, state.members.values())), spare[victim])
            spare[victim] -= count
            cost_ps = _at(costs.steal_ps, away) + (count - 1) * costs.push_ps
            delay_ps = max(1, probes_ps // n_looking + cost_ps)
            state.stealing_until_ps[own] = view.live.now_ps() + delay_ps
            return Transfer(SHEPHERD, victim, SHEPHERD, own, count, delay_ps, "oldest")
        return None

    def _victims(self, view: PlanView, state: MtsState, own: int) -> list[int]:
        """Return other sockets in the order in which a thief looks at them."""
        others = [socket for socket in state.members if socket != own]
        order: Int64Array = view.rng.permutation(len(others))
        drawn = [others[place] for place in order.tolist()]
        if self.victim == "nearest":
            drawn.sort(key=lambda socket: int(view.machine.domain_hops[own, socket]))
        return drawn


def _at(costs_ps: tuple[int, ...], distance: int) -> int:
    """Return the cost of a distance class; the last one holds beyond."""
    return costs_ps[min(distance, len(costs_ps) - 1)]


preset("mts_random", Mts, "MTS that steals from sockets in random order.")
preset(
    "mts_nearest", Mts, "MTS that steals from the nearest socket that has work.", victim="nearest"
)
preset(
    "chip_representative_steal",
    Mts,
    "MTS in which one worker of a socket steals for all of them.",
    thief="head_worker",
)
