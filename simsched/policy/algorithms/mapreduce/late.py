"""LATE: the running task with the longest approximate time to end is started once more."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import HookView, PlanView, param, register
from simsched.policy.parts.mapreduce_formulas import percentile
from simsched.policy.parts.mapreduce_speculation import History, SpeculativePolicy
from simsched.policy.parts.mapreduce_tracker import Attempt
from simsched.workload.mapreduce_job import MAP, REDUCE


@register("late")
@dataclass(frozen=True, kw_only=True)
class Late(SpeculativePolicy[History]):
    """Longest approximate time to end.

    Parameters
    ----------
    speculative_cap : float
        Most backups at a time, as a part of all slots.
    slow_node_percent : float
        Nodes whose total progress is below this percentile of all nodes get no backups.
    slow_task_percent : float
        Tasks whose progress rate is below this percentile of the running ones of their kind and job
        may be backed up.

    Notes
    -----
    A free slot for which nothing waits gets no backup if ``speculative_cap`` of the slots run some
    already, or if the node's progress, the sum of the scores of its ended and running tasks, is
    below the threshold. Otherwise it gets the slow task without a backup that has the longest
    remaining time (equation 7.6). Readings: docs/sources/mapreduce.md.

    References
    ----------
    M. Zaharia et al., *Improving MapReduce performance in heterogeneous environments*, OSDI 2008.
    Q. Chen, M. Guo, Springer 2017, section 7.2.4, equations 7.1, 7.5 and 7.6.
    """

    speculative_cap: float = param(0.1, low=0.0, high=1.0)
    slow_node_percent: float = param(25.0, low=0.0, high=100.0)
    slow_task_percent: float = param(25.0, low=0.0, high=100.0)

    def back_up(self, view: HookView, state: History, node: int, kind: int) -> Attempt | None:
        """Return the slow task with the longest remaining time, if backups are allowed here."""
        backups = sum(a.is_backup for a in state.attempts.values())
        slots = len({w for kind_ in (MAP, REDUCE) for ws in state.slots[kind_] for w in ws})
        if backups >= self.speculative_cap * slots or self._is_slow(view, state, node):
            return None
        if kind not in state.memo:
            state.memo[kind] = self.slow_tasks(view, state, kind)
        return next(
            (a for a in state.memo[kind] if self.may_back_up(view, state, a, node)),
            None,
        )

    def slow_tasks(self, view: HookView, state: History, kind: int) -> list[Attempt]:
        """Return the tasks of a kind below the threshold, longest remaining time first."""
        slow: list[Attempt] = []
        for job, running in self.judged_by_job(view, state, kind):
            rates = [self.rate(view, state, a) for a in running]
            limit = percentile(rates + self.rates_ended(state, kind, job), self.slow_task_percent)
            slow += [a for a, rate in zip(running, rates, strict=True) if rate < limit]
        return sorted(slow, key=lambda a: (-self.remaining_s(view, state, a), a.worker))

    def _is_slow(self, view: PlanView, state: History, node: int) -> bool:
        """Return whether a node has made less progress than the threshold."""
        if "slow" not in state.memo:
            progress = [float(done) for done in state.done]
            for attempt in state.attempts.values():
                progress[attempt.node] += self.score(state, attempt)
            limit = percentile(progress, self.slow_node_percent)
            state.memo["slow"] = [value < limit for value in progress]
        return bool(state.memo["slow"][node])
