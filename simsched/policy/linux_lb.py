"""The queue-length balancer of Linux."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy.base import View, param
from simsched.policy.registry import register
from simsched.policy.threads import Move, Queues, ThreadScheduler


@register("linux_lb")
@dataclass(frozen=True, kw_only=True)
class LinuxBalancer(ThreadScheduler):
    """Balancing of the lengths of run queues, from near cores to far ones.

    Parameters
    ----------
    cache_hot_s : float
        Threads that have run less than so many seconds ago stay where they are ...
    failed_attempts : int
        ... unless so many rounds in a row have moved nothing to the core.

    Notes
    -----
    Every core in turn looks for the longest queue of its domain, its socket, the machine; if that
    is longer than its own by two or more, what is running included, it pulls the oldest waiting
    thread. Three against two is left alone. Running threads are not moved. Speeds of cores are not
    seen.

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    section 5.3.5.1.
    """

    cache_hot_s: float = param(5e-3, low=0.0, high=1e6)
    failed_attempts: int = param(2, low=0)

    def balance(self, view: View, state: Queues) -> list[Move]:
        """Return the pulls of one round."""
        fails = state.notes.setdefault("fails", [0] * view.n_workers)
        moves: list[Move] = []
        for core in range(view.n_workers):
            move = self._pull(view, state, core, eager=fails[core] >= self.failed_attempts)
            fails[core] = 0 if move else fails[core] + 1
            moves += move
        return moves

    def _pull(self, view: View, state: Queues, core: int, *, eager: bool) -> list[Move]:
        """Return the pull of one core, if it finds anything."""
        assert view.state is not None
        domain = view.worker_domain
        socket = view.machine.domain_socket[domain]
        everybody = range(view.n_workers)
        for level in (domain, socket, domain * 0):
            near = [other for other in everybody if level[other] == level[core] and other != core]
            busiest = max(near, key=lambda other: state.load(view, other), default=core)
            if state.load(view, busiest) < state.load(view, core) + 2:
                continue
            limit_ps = view.state.now_ps() - round(self.cache_hot_s * 1e12)
            for task in state.waiting[busiest]:
                last = state.last_ran_ps[state.thread_of(task)]
                if eager or last == 0 or last <= limit_ps:
                    return [state.move(task, busiest, core)]
        return []
