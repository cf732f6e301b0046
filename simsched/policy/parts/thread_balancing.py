"""Balancing of the queues of threads, as an operating system does it below other rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simsched.policy.contract.base import HookView
from simsched.policy.parts.threads import Move, Queues
from simsched.workload.graph import FloatArray


def even_out(
    view: HookView,
    state: Queues,
    capacity: FloatArray,
    suits: Callable[[int, int, int], float],
) -> list[Move]:
    """Return moves of waiting threads from the busiest core to the idlest until that gains nothing.

    A move gains if the idlest core has no thread at all, or if its load is then still below what
    the busiest core had. Threads that run stay, and a thread moves once.
    """
    live = view.live
    cores = [core for core in range(view.n_workers) if not live.has_failed(core)]
    load = [state.load(view, core) for core in range(view.n_workers)]
    group = state.groups.of_worker
    left = {core: list(state.waiting[core]) for core in cores}  # of each queue, not yet moved
    moves: list[Move] = []
    while True:
        crowded = [core for core in cores if left[core] and load[core] > 1]
        if not crowded:
            return moves
        source = max(crowded, key=lambda c: float(load[c] / capacity[c]))
        target = min(cores, key=lambda c: (float(load[c] / capacity[c]), int(group[c])))
        after = (load[target] + 1) / capacity[target]
        if load[target] > 0 and after >= load[source] / capacity[source]:
            return moves
        task = max(left[source], key=lambda t: suits(t, source, target))
        left[source].remove(task)
        moves.append(state.move(task, source, target))
        load[source] -= 1
        load[target] += 1


def idle_fast_cores(view: HookView, state: Queues) -> list[int]:
    """Return the fastest cores that have no thread and have not been promised one."""
    fast = np.flatnonzero(state.groups.of_worker == 0).tolist()
    return [core for core in fast if view.live.is_waiting(core) and not state.waiting[core]]
