"""Tarazu: map tasks and shuffle balanced by communication, reduce tasks by predicted speed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from simsched.policy import HookView, PlanView, param, preset, register
from simsched.policy.algorithms.mapreduce.hadoop import HadoopDefault
from simsched.policy.parts.mapreduce_formulas import reduce_bins
from simsched.policy.parts.mapreduce_sizes import node_speeds, scaled, smallest_reduces
from simsched.policy.parts.mapreduce_speculation import History
from simsched.policy.parts.mapreduce_tracker import Attempt, Tracker
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import MAP, REDUCE, JobTasks


@dataclass(eq=False)
class Balance(History):
    """A tracker that watches the shuffle."""

    #: map tasks computed but not delivered, and computed, at the end of the last period
    lag: int = 0
    computed: int = 0
    grown: int = 0  # periods in a row in which the lag has grown
    stealing: bool = True  # whether nodes may take map tasks whose data others have
    map_s: dict[int, list[float]] = field(default_factory=dict)  # times of ended map tasks by node
    #: local map tasks that each node has started since its last remote one
    local_run: Counter[int] = field(default_factory=Counter)

    def mean_map_s(self) -> dict[int, float]:
        """Return the mean time of map tasks of each node that has ended some."""
        return {node: sum(times) / len(times) for node, times in self.map_s.items()}

    def start_iteration(self) -> None:
        """Forget the shuffle of the jobs that have ended as well."""
        super().start_iteration()
        self.lag = self.computed = self.grown = 0
        self.stealing = True


@register("tarazu")
@dataclass(frozen=True, kw_only=True)
class Tarazu(HadoopDefault[Balance]):
    """Communication-aware balancing of map tasks (CALB, CAS) and predictive balancing of reduces.

    Parameters
    ----------
    calb : bool
        Whether nodes stop taking remote map tasks while the shuffle is critical.
    cas : bool
        Whether remote map tasks are interleaved with local ones from the beginning, as many as the
        ratio of speeds says; otherwise a node takes them when it has no local one left.
    plb : bool
        Whether reduce tasks get bins in proportion to the speed of their node.
    growing_periods : int
        Periods in a row in which the lag has to grow until stealing stops; a period ends with the
        end of a map task.
    shuffle_threshold : float
        Nodes may steal while the lag is at most this part of the map tasks; by default that which
        Hadoop takes for worth starting a shuffle.
    bin_multiplier : int
        Bins that map tasks make for each reduce task.

    Notes
    -----
    The lag of the shuffle is the number of map tasks computed but not delivered: once it has grown,
    nodes run local map tasks only, backups included, until it is below the threshold. With `cas` a
    node that is faster by the ratio r (equation 7.7) than the slowest one with remote tasks takes
    one of these after every ``(r + 1) / (r - 1)`` local ones. With `plb` reduce tasks belong to
    nodes in turn, with bins in proportion to their speeds (reduceSkewFactor). Backups are those of
    Hadoop. Readings: docs/sources/mapreduce.md.

    References
    ----------
    F. Ahmad et al., *Tarazu: optimizing MapReduce on heterogeneous clusters*, ASPLOS 2012. Q. Chen,
    M. Guo, Springer 2017, section 7.2.5.
    """

    tracker = Balance

    calb: bool = param(True)
    cas: bool = param(True)
    plb: bool = param(True)
    growing_periods: int = param(2, low=1)
    shuffle_threshold: float = param(0.05, low=0.0, high=1.0)
    bin_multiplier: int = param(4, low=1)

    # -------------------------------------------------------------------------------------------
    # reduce tasks by speed

    def prepare(self, view: PlanView) -> Workload:
        """Return the program whose reduce tasks have the sizes that PLB gives them."""
        workload = super().prepare(view)
        tasks = JobTasks(workload.graph)
        if not self.plb or not (tasks.kind == REDUCE).any():
            return workload
        factor = np.ones(len(tasks.kind))
        nodes = reduce_nodes(view, tasks)
        for job in range(tasks.n_jobs):
            mine = np.flatnonzero((tasks.job == job) & (tasks.kind == REDUCE))
            if len(mine):
                speeds = node_speeds(view, tasks.graph, mine)
                share = [speeds[nodes[task]] for task in mine.tolist()]
                bins = reduce_bins(len(mine), self.bin_multiplier, share)
                factor[mine] = np.array(bins) / self.bin_multiplier
        return replace(workload, graph=scaled(tasks, factor))

    @staticmethod
    def least(workload: Workload) -> Iterator[Workload]:
        """Yield programs whose reduce tasks have any parts of their job's data."""
        for tracked in HadoopDefault.least(workload):
            yield replace(tracked, graph=smallest_reduces(tracked.graph))

    def pick(self, view: HookView, state: Balance, node: int, kind: int) -> int | None:
        """Return a waiting task; reduce tasks go to the node whose speed has sized them.

        Those that have failed come first, wherever they run.
        """
        if kind == REDUCE and self.plb:
            if "nodes" not in state.memo:
                state.memo["nodes"] = reduce_nodes(view, state.tasks)
            nodes = state.memo["nodes"]
            reduces = list(state.waiting.of_kind(REDUCE))
            failed = (t for t in state.failed if state.tasks.kind[t] == REDUCE)
            mine = (t for t in reduces if nodes[t] == node)
            others = (t for t in reduces if has_left(view, state, nodes[t]))
            return next(chain(failed, mine, others), None)
        return super().pick(view, state, node, kind)

    # -------------------------------------------------------------------------------------------
    # map tasks and shuffle

    def pick_of_job(self, state: Balance, node: int, kind: int, job: int) -> int | None:
        """Return a local map task, or a remote one when the balance allows and wants it."""
        if kind != MAP:
            return state.waiting.first(kind, job)
        local = state.waiting.first_local(kind, job, node)
        if self._may_steal(state) and (local is None or self.cas):
            waiting = state.waiting.of_job(kind, job)
            remote = [t for t in waiting if not state.is_local(t, node)]
            slowest, found = self._from_slowest(state, remote) if remote else (0.0, None)
            if remote and (local is None or self._is_turn(state, node, slowest)):
                state.local_run[node] = 0
                return found
        if local is not None:
            state.local_run[node] += 1
        return local

    def may_run(self, state: Balance, task: int, node: int) -> bool:
        """Return whether a node may get a backup: without stealing, of local map tasks only."""
        is_map = state.tasks.kind[task] == MAP
        return not is_map or self._may_steal(state) or state.is_local(task, node)

    def _may_steal(self, state: Balance) -> bool:
        """Return whether nodes may take map tasks whose data others have."""
        return state.stealing or not self.calb

    def _is_turn(self, state: Balance, node: int, slowest_s: float) -> bool:
        """Return whether a node has run enough local tasks to take one of a slower node."""
        own_s = state.mean_map_s().get(node, math.inf)
        if slowest_s <= own_s:
            return False
        # (r + 1) / (r - 1) with r of equation 7.7
        return state.local_run[node] >= math.ceil((slowest_s + own_s) / (slowest_s - own_s))

    @staticmethod
    def _from_slowest(state: Balance, remote: list[int]) -> tuple[float, int]:
        """Return the longest mean time of nodes that hold waiting tasks, and a task of that one."""
        means = state.mean_map_s()
        slowness = {
            task: max((means.get(n, 0.0) for n in state.replicas[task]), default=0.0)
            for task in remote
        }
        found = max(remote, key=lambda task: (slowness[task], -task))
        return slowness[found], found

    def learn(self, view: HookView, state: Balance, attempt: Attempt) -> None:
        super().learn(view, state, attempt)
        if state.tasks.kind[attempt.task] == MAP:
            state.map_s.setdefault(attempt.node, []).append(state.ended[attempt.task])

    def report(self, view: HookView, state: Balance, *, in_full: bool) -> None:
        """Look at the shuffle as well."""
        super().report(view, state, in_full=in_full)
        if not in_full:
            return
        computed, delivered = outputs(state)
        maps = int(state.tasks.counts[MAP, jobs_with_outputs(state)].sum())
        self.note_lag(state, abs(sum(computed) - sum(delivered)), sum(computed), maps)
        if not state.running(MAP):
            state.stealing, state.grown = True, 0

    def note_lag(self, state: Balance, lag: int, computed: int, maps: int) -> None:
        """Decide whether map tasks may be stolen; a period ends if more of them are computed."""
        if computed != state.computed:
            state.grown = state.grown + 1 if lag > state.lag else 0
            state.lag, state.computed = lag, computed
        if lag <= self.shuffle_threshold * maps:
            state.stealing = True
        elif state.grown >= self.growing_periods:
            state.stealing = False


preset("calb", Tarazu, "Tarazu's communication-aware load balancing alone.", cas=False, plb=False)
preset("cas", Tarazu, "Tarazu's communication-aware scheduling alone.", calb=False, plb=False)
preset("plb", Tarazu, "Tarazu's predictive load balancing alone.", calb=False, cas=False)


def jobs_with_outputs(state: Tracker) -> list[int]:
    """Return the jobs of which map tasks have ended, ascending."""
    return sorted(job for kind, job in state.n_ended if kind == MAP)


def outputs(state: Tracker) -> tuple[list[int], list[int]]:
    """Return how many map tasks of each job have ended, and how many outputs are delivered."""
    copied: dict[int, dict[int, float]] = {}  # by job and reduce task that runs
    for attempt in state.running(REDUCE):
        if attempt.entered_ps:
            part = min(1.0, attempt.fraction) if attempt.phase == 0 else 1.0
            of_job = copied.setdefault(int(state.tasks.job[attempt.task]), {})
            of_job[attempt.task] = max(part, of_job.get(attempt.task, 0.0))
    jobs = jobs_with_outputs(state)
    computed = [state.n_ended[MAP, job] for job in jobs]
    delivered = []
    for job, most in zip(jobs, computed, strict=True):
        maps, reduces = state.tasks.counts[:, job].tolist()
        parts = [1.0] * state.n_ended[REDUCE, job] + list(copied.get(job, {}).values())
        mean = math.fsum(parts) / len(parts) if parts else float(reduces == 0)
        delivered.append(min(most, round(mean * maps)))
    return computed, delivered


def has_left(view: HookView, state: Tracker, node: int) -> bool:
    """Return whether all reduce slots of a node have failed: it asks for nothing any more."""
    return all(map(view.live.has_failed, state.slots[REDUCE][node]))


def reduce_nodes(view: PlanView, tasks: JobTasks) -> dict[int, int]:
    """Return the node of each reduce task: in each job, nodes take turns."""
    n_nodes = len(np.unique(view.worker_domain))
    nodes: dict[int, int] = {}
    for job in range(tasks.n_jobs):
        mine = np.flatnonzero((tasks.job == job) & (tasks.kind == REDUCE)).tolist()
        nodes |= {task: place % n_nodes for place, task in enumerate(mine)}
    return nodes
