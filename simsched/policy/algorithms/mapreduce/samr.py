"""SAMR (HAT): phase weights from each node's history, two tests for stragglers, two for nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy import HookView, PlanView, param, register
from simsched.policy.parts.mapreduce_formulas import (
    longest_first,
    most_stragglers,
    slow_nodes,
    slow_tasks,
)
from simsched.policy.parts.mapreduce_history import Recorded, read_history
from simsched.policy.parts.mapreduce_speculation import History, SpeculativePolicy
from simsched.policy.parts.mapreduce_tracker import Attempt
from simsched.workload.mapreduce_job import MAP, REDUCE


@register("samr")
@dataclass(frozen=True, kw_only=True)
class Samr(SpeculativePolicy[History]):
    """Self-adaptive MapReduce: history-based progress, map-slow and reduce-slow nodes.

    Parameters
    ----------
    task_cap : float
        A straggler's rate is less than 1 less this, times the average of its kind in its job.
    node_cap : float
        A slow node's mean rate is less than 1 less this, times the mean over the nodes.
    slow_node_share : float
        SN_Cap: at most this part of the nodes is map slow, and as many reduce slow.
    straggler_cap : float
        Strag_Cap: at most this part of the running tasks are stragglers.
    history : str
        File with the weights that the nodes have kept from earlier jobs of the same applications,
        as :func:`~simsched.policy.parts.mapreduce_history.write_history` leaves it
        (docs/python-api.md); none by default.

    Notes
    -----
    Every node keeps its weights by application and updates them when it has ended a task (equation
    7.8). Stragglers are tasks that are both slow (equation 7.11) and among the ``straggler_cap *
    running tasks`` slow tasks with the longest remaining time (Algorithm 11). A free slot of a node
    that is not slow in a job (equation 7.12) gets the straggler of its kind with the longest
    remaining time (Algorithm 12). Readings: docs/sources/mapreduce.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 7.3 and 7.4, algorithms 11 and 12. Q. Chen et al.,
    *HAT: history-based auto-tuning MapReduce in heterogeneous environments*, J. Supercomputing
    64(3), 2013.
    """

    tuned_weights: bool = param(True)
    task_cap: float = param(0.3, low=0.0, high=1.0)
    node_cap: float = param(0.2, low=0.0, high=1.0)
    slow_node_share: float = param(0.3, low=0.0, high=1.0)
    straggler_cap: float = param(0.2, low=0.0, high=1.0)
    history: str = param("", is_file=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"policy {self.name}: parameter history"
        if self.history and not self.tuned_weights:
            raise ConfigurationError(
                f"{where}: found {self.history!r}, accepted none without tuned_weights"
            )
        try:
            _ = self.recorded
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from error

    @cached_property
    def recorded(self) -> Recorded | None:
        """What the file says; None without one."""
        return read_history(self.history) if self.history else None

    def start(self, view: PlanView) -> History:
        """Return the tracker with the weights of earlier jobs."""
        state = super().start(view)
        if self.recorded is not None:
            known = [application for _, application in state.tasks.names]
            state.weights.update(self.recorded.weights(known, state.n_nodes))
        return state

    def stragglers(self, view: HookView, state: History) -> list[Attempt]:
        """Return the stragglers of both kinds, longest remaining time first."""
        running: list[Attempt] = []
        slow: list[bool] = []
        for kind in (MAP, REDUCE):
            for job, mine in self.judged_by_job(view, state, kind):
                rates = [self.rate(view, state, a) for a in mine]
                rates += self.rates_ended(state, kind, job)
                running += mine
                slow += slow_tasks(np.array(rates), self.task_cap).tolist()[: len(mine)]
        remaining = [self.remaining_s(view, state, a) for a in running]
        most = most_stragglers(running_tasks(state), self.straggler_cap)
        return [running[i] for i in longest_first(remaining, np.array(slow, bool), most)]

    def back_up(self, view: HookView, state: History, node: int, kind: int) -> Attempt | None:
        """Return the straggler of a kind that ends last, of the jobs for which the node is fast."""
        backups = sum(a.is_backup for a in state.attempts.values())
        if backups >= most_stragglers(running_tasks(state), self.straggler_cap):
            return None
        if "stragglers" not in state.memo:
            state.memo["stragglers"] = self.stragglers(view, state)
        return next(
            (
                a
                for a in state.memo["stragglers"]
                if state.tasks.kind[a.task] == kind
                and not self.is_slow(view, state, node, kind, int(state.tasks.job[a.task]))
                and self.may_back_up(view, state, a, node)
            ),
            None,
        )

    def is_slow(self, view: HookView, state: History, node: int, kind: int, job: int) -> bool:
        """Return whether a node is map slow or reduce slow in a job (equation 7.12)."""
        if (kind, job) not in state.memo:
            rates = np.full(state.n_nodes, np.nan)
            of_kind = self.reported(view, state, kind)
            running = [a for a in of_kind if state.tasks.job[a.task] == job]
            for other in range(state.n_nodes):
                mine = [self.rate(view, state, a) for a in running if a.node == other]
                if mine:
                    rates[other] = sum(mine) / len(mine)
            state.memo[kind, job] = slow_nodes(rates, self.node_cap, self.slow_node_share)
        return bool(state.memo[kind, job][node])


def running_tasks(state: History) -> int:
    """Return the number of tasks that run, those with a backup once."""
    return len({attempt.task for attempt in state.attempts.values()})
