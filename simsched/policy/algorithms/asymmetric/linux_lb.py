"""The queue-length balancer of Linux."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import HookView, PlanView, Preempt, param, register, seconds_to_ps
from simsched.policy.parts.threads import Move, Queues, ThreadScheduler
from simsched.workload.graph import Int64Array


@register("linux_lb")
@dataclass(frozen=True, kw_only=True)
class LinuxBalancer(ThreadScheduler):
    """Balancing of the lengths of run queues, from near cores to far ones.

    Parameters
    ----------
    cache_hot_s : float
        Threads that have run less than so many seconds ago stay where they are ...
    failed_attempts : int
        ... unless so many rounds in a row have found too many threads elsewhere and have moved none
        to the core. After as many, threads that run are moved to idle cores, too.

    Notes
    -----
    Every core in turn compares its own group of cores with the busiest one: cores of its domain,
    domains of its socket, sockets of the machine. Where a thread less there and one more here is
    not less than the load here, it pulls the oldest thread that waits there from the longest queue.
    Readings: docs/sources/aats.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 5.3.5.1.
    """

    cache_hot_s: float = param(5e-3, low=0.0, high=1e6)
    failed_attempts: int = param(2, low=0)

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        """Return the pulls of one round, and what the migration thread moves."""
        fails = state.notes.setdefault("fails", [0] * view.n_workers)
        load = np.array([state.load(view, core) for core in range(view.n_workers)])
        moves: list[Move] = []
        for core in range(view.n_workers):
            eager = fails[core] >= self.failed_attempts
            crowded = crowded_cores(view, load, core)
            move = self._pull(view, state, crowded, core, eager=eager)
            if not move and eager and load[core] == 0:
                stopped = {move.worker for move in moves if isinstance(move, Preempt)}
                move = _push(view, state, [c for c in crowded if c not in stopped], core)
            if move:
                load[_source(move[0])] -= 1
                load[core] += 1
            moves += move
            fails[core] = fails[core] + 1 if crowded and not move else 0
        return moves

    def rests(self, view: HookView, state: Queues) -> bool:
        """Return whether no core waits for more rounds in vain, or for threads to cool down."""
        return all(n == 0 or n > self.failed_attempts for n in state.notes["fails"])

    def _pull(
        self, view: HookView, state: Queues, crowded: list[int], core: int, *, eager: bool
    ) -> list[Move]:
        """Return the pull of one core from the first queue in which it finds anything."""
        limit_ps = view.live.now_ps() - seconds_to_ps(self.cache_hot_s)
        for busiest in crowded:
            for task in state.waiting[busiest]:
                last = state.last_ran_ps[state.thread_of(task)]
                if eager or last == 0 or last <= limit_ps:
                    return [state.move(task, busiest, core)]
        return []


def _source(move: Move) -> int:
    """Return the core that a move takes a thread from."""
    return move.worker if isinstance(move, Preempt) else move.instance


def crowded_cores(view: PlanView, load: Int64Array, core: int) -> list[int]:
    """Return the cores from which one pulls: of the busiest group of each level, nearest first.

    Of a group the longest queues come first. Groups are compared by threads per core; one is left
    out if it has, after giving a thread away, fewer than the core's own then has, and so are its
    cores that have no more threads than the one that pulls.
    """
    domain = view.worker_domain
    socket = view.machine.domain_socket[domain]
    found: list[int] = []
    for level, part in ((domain, np.arange(len(load))), (socket, domain), (domain * 0, socket)):
        inside = np.flatnonzero(level == level[core])
        groups = [inside[part[inside] == p] for p in np.unique(part[inside])]
        busiest = max(groups, key=lambda cores: float(load[cores].mean()))
        own = inside[part[inside] == part[core]]
        after = (load[busiest].sum() - 1) / len(busiest)
        if part[busiest[0]] != part[core] and after >= (load[own].sum() + 1) / len(own):
            longest = busiest[np.argsort(-load[busiest], kind="stable")]
            found += [c for c in longest.tolist() if load[c] > load[core]]
    return found


def _push(view: HookView, state: Queues, crowded: list[int], core: int) -> list[Move]:
    """Return the move of the thread that runs on the first of crowded cores that run one."""
    live = view.live
    for source in crowded:
        task = live.running_task(source)
        if task >= 0:
            state.last_ran_ps[state.thread_of(task)] = live.now_ps()
            state.note_move(state.thread_of(task), core)
            return [Preempt(source)]
    return []
