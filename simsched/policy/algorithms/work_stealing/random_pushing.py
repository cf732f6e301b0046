"""Random pushing: tasks leave workers that generate too many."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import HookView, Plan, PlanView, Transfer, param, register
from simsched.policy.parts.clusters import OWN, ClusterPolicy, Clusters
from simsched.workload.graph import TaskGraph


@register("random_pushing")
@dataclass(frozen=True, kw_only=True)
class RandomPushing(ClusterPolicy):
    """Random pushing (RP): whoever generates many tasks sends some away; nobody steals.

    Parameters
    ----------
    threshold : int
        Length of the own queue above which tasks are pushed.
    most_in_flight : int
        Tasks of one worker that may be on their way at a time.

    Notes
    -----
    A worker that has generated a task (spawned it, or ended the last one for which it waited) and
    whose queue, with this task, is longer than the threshold sends its oldest task to a uniformly
    random other worker, inside or outside its cluster, and goes on. One with an empty queue waits.
    Readings: docs/sources/laws.md.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, *Efficient load balancing for wide-area
    divide-and-conquer applications*, PPoPP 2001. Q. Chen, M. Guo, Springer 2017, section 4.3.1.
    """

    threshold: int = param(1, low=0)
    most_in_flight: int = param(4, low=1)

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
        return self._plan(OWN)

    def on_ready(
        self, view: HookView, state: Clusters, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        """Return the push of a worker whose queue a new task makes too long."""
        live, sender = view.live, max(worker, 0)
        too_long = live.queue_length(0, sender) + 1 > self.threshold
        if view.n_workers == 1 or not too_long:
            return None
        if state.in_flight(sender, live.now_ps()) >= self.most_in_flight:
            return None
        peer = (sender + 1 + int(view.rng.integers(view.n_workers - 1))) % view.n_workers
        return (self._send(view, state, sender, sender, peer),)
