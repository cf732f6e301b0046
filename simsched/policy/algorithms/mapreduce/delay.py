"""Delay scheduling: jobs wait for nodes that hold their data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from simsched.policy import param, register
from simsched.policy.parts.mapreduce import MapReducePolicy
from simsched.policy.parts.mapreduce_tracker import Tracker
from simsched.workload.mapreduce_job import MAP


@dataclass(eq=False)
class Skipping(Tracker):
    """A tracker that knows how often jobs have been passed over."""

    skips: Counter[int] = field(default_factory=Counter)  # by job

    def start_iteration(self) -> None:
        """Forget the counters as well: other jobs begin."""
        super().start_iteration()
        self.skips.clear()


@register("delay")
@dataclass(frozen=True, kw_only=True)
class Delay(MapReducePolicy[Skipping]):
    """Delay scheduling: a job without local work for the asking node lets the next job go first.

    Parameters
    ----------
    most_skips : int
        D, the number of requests without a local task at which a job gets one that is not local; 0
        and 1 never wait.

    Notes
    -----
    Jobs in the order of arrival. A map task whose split is on the node's disk is launched;
    otherwise the job's counter goes up, once for the request of a node, and when it has reached D
    any task is launched. A local map task sets the counter back. Reduce tasks are local nowhere.
    Readings: docs/sources/mapreduce.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2. M. Zaharia et al., *Delay scheduling: a simple
    technique for achieving locality and fairness in cluster scheduling*, EuroSys 2010.
    """

    tracker = Skipping

    most_skips: int = param(8, low=0)

    def pick_of_job(self, state: Skipping, node: int, kind: int, job: int) -> int | None:
        """Return a local task, any task at the D-th request without one, or none."""
        if kind != MAP:
            return state.waiting.first(kind, job)
        local = state.waiting.first_local(kind, job, node)
        if local is not None:
            state.skips[job] = 0
            return local
        state.skips[job] += 1
        return state.waiting.first(kind, job) if state.skips[job] >= self.most_skips else None
