"""Hadoop's own scheduler: backups by least progress, and its ablations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import HookView, param, preset, register
from simsched.policy.parts.mapreduce_formulas import PROGRESS_GAP, lags_behind
from simsched.policy.parts.mapreduce_speculation import H, SpeculativePolicy
from simsched.policy.parts.mapreduce_tracker import Attempt


@register("hadoop_default")
@dataclass(frozen=True, kw_only=True)
class HadoopDefault(SpeculativePolicy[H]):
    """Hadoop with least progress: who is a fifth behind the average is started once more.

    Parameters
    ----------
    speculative : bool
        Whether there are backup tasks.
    progress_gap : float
        A straggler's score is at most the average less this.

    Notes
    -----
    A free slot gets a failed task, else a waiting one, for map tasks one whose split is on the
    node's disk first, else a backup of a straggler (equation 7.4). Averages are over the running
    tasks of one kind in one job. Readings: docs/sources/mapreduce.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 7.2.1 and 7.2.3. Lag and number of backups: constants
    of Hadoop 0.19.
    """

    speculative: bool = param(True)
    progress_gap: float = param(PROGRESS_GAP, low=0.0, high=1.0)

    def stragglers(self, view: HookView, state: H, kind: int) -> list[Attempt]:
        """Return the stragglers of a kind, by job, then by worker."""
        found: list[Attempt] = []
        for job, mine in self.judged_by_job(view, state, kind):
            scores = [self.score(state, a) for a in mine]
            ended = 0
            if self.average_over == "all":
                of_job = (state.tasks.job == job) & (state.tasks.kind == kind)
                ended = sum(bool(of_job[task]) for task in state.ended)
            behind = lags_behind(np.array(scores + [1.0] * ended), self.progress_gap)
            found += [a for a, is_behind in zip(mine, behind.tolist(), strict=False) if is_behind]
        return found

    def back_up(self, view: HookView, state: H, node: int, kind: int) -> Attempt | None:
        """Return a straggler, a local one first."""
        if not self.speculative:
            return None
        if kind not in state.memo:
            state.memo[kind] = self.stragglers(view, state, kind)
        found = [
            a
            for a in state.memo[kind]
            if self.may_run(state, a.task, node) and self.may_back_up(view, state, a, node)
        ]
        return min(
            found,
            key=lambda a: speculation_order(
                state.is_local(a.task, node), self.score(state, a), a.worker
            ),
            default=None,
        )

    def may_run(self, state: H, task: int, node: int) -> bool:
        """Return whether a node may get a backup of a task; always here."""
        return True


def speculation_order(is_local: bool, score: float, index: int) -> tuple[bool, float, int]:
    """Return the key by which Hadoop ranks stragglers, the smallest first: local ones, then scores.

    >>> speculation_order(True, 0.4, 1) < speculation_order(False, 0.08, 2)
    True
    """
    return not is_local, score, index


preset("least_progress", HadoopDefault, "Hadoop with least progress, by what it does.")
preset("hadoop_ns", HadoopDefault, "Hadoop without backup tasks.", speculative=False)
preset(
    "hadoop_wt",
    HadoopDefault,
    "Hadoop with the tuned phase weights of SAMR.",
    tuned_weights=True,
)
