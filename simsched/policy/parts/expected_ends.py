"""Runtimes that give a task to the worker that is expected to end it best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from simsched.files.units import PS_PER_S
from simsched.policy.contract.base import PlanView, param
from simsched.policy.contract.records import NEVER_PS
from simsched.policy.contract.runtime import Expectations
from simsched.policy.parts.runtime_queues import QueuedRuntime
from simsched.policy.parts.runtime_state import Q, RuntimeState
from simsched.policy.parts.schedules import worker_costs
from simsched.policy.parts.transfer_model import TransferModel
from simsched.workload.graph import Int32Array, Int64Array, TaskGraph

MOST_PS = NEVER_PS // 2  #: that a task is expected to take


@dataclass(frozen=True, kw_only=True)
class ExpectedEnds(QueuedRuntime[Q]):
    """Base of runtimes that know how long tasks and copies are expected to take.

    Parameters
    ----------
    alpha, beta : float
        Weights of the computation and of the transfers.
    bus_slowdown : float
        Transfers are expected to take this times the number of devices as long as alone, in
        proportion to their bytes; 0 ignores bytes.

    Notes
    -----
    The fitness is that of ``dmda``. Data are fetched as soon as a worker has been chosen.
    """

    alpha: float = param(1.0, low=0.0)
    beta: float = param(1.0, low=0.0)
    bus_slowdown: float = param(2.0, low=0.0)

    fetches_queued: ClassVar[bool] = True

    def transfer_model(self, view: PlanView, state: RuntimeState[Q]) -> TransferModel:
        """Return what copies are expected to take on a bus that all devices share."""
        n_devices = len({state.node[w] for w in state.order if state.is_device[w]})
        return TransferModel(view.machine, self.bus_slowdown * max(1, n_devices))

    def expectations(self, view: PlanView, state: RuntimeState[Q], **further: Any) -> Expectations:
        """Return what is expected, as rules have it."""
        _, cost_ps = costs_by_row(view, state.graph)
        latency_ps, byte_ps = self.transfer_model(view, state).expectations()
        return Expectations(
            cost_ps=cost_ps,
            latency_ps=latency_ps,
            byte_ps=byte_ps,
            alpha=self.alpha,
            beta=self.beta,
            **further,
        )

    def fittest(
        self,
        state: RuntimeState[Q],
        task: int,
        now: int,
        cost_ps: list[list[int]],
        end_ps: Callable[[int], int],
        copy_ps: Callable[[int], int],
    ) -> tuple[int, int]:
        """Return the worker with the smallest fitness, and the time of copies.

        `end_ps` tells when a worker is expected to have ended what it has, `copy_ps` how long the
        copies to a node take.
        """
        penalty: dict[int, int] = {}
        ends: list[tuple[int, int, int]] = []
        for worker in state.order:
            if not state.able[worker][task]:
                continue
            node = state.node[worker]
            if node not in penalty:
                penalty[node] = copy_ps(node)
            begin = max(end_ps(worker), now + penalty[node])
            ends.append((worker, begin + cost_ps[worker][task], penalty[node]))
        earliest = min(end for _, end, _ in ends)
        worker, _, cost = min(ends, key=lambda e: self.alpha * (e[1] - earliest) + self.beta * e[2])
        return worker, cost


def costs_by_worker(view: PlanView, graph: TaskGraph) -> list[list[int]]:
    """Return the expected time of every task on each worker, in picoseconds."""
    row, cost_ps = costs_by_row(view, graph)
    lists = cost_ps.tolist()
    return [lists[r] for r in row.tolist()]


def costs_by_row(view: PlanView, graph: TaskGraph) -> tuple[Int32Array, Int64Array]:
    """Return the row of each worker, and the expected picoseconds of every task in each row."""
    row, cost_s = worker_costs(view, graph)
    cost_ps = np.rint(np.where(np.isfinite(cost_s), cost_s, 0.0) * PS_PER_S)
    return row, np.minimum(cost_ps, MOST_PS).astype(np.int64)
