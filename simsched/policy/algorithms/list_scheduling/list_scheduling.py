"""Classical static list schedulers: task, worker and order are fixed before the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.files.errors import ModelError
from simsched.policy import (
    PARENT_FIRST,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    param,
    preset,
    register,
)
from simsched.policy.parts.native import (
    optimistic_costs,
    schedule_list,
    schedule_pairs,
    upward_ranks,
)
from simsched.policy.parts.schedules import Estimates, estimate, in_turn
from simsched.policy.parts.static_order import ScheduledWorkload, own_lists, scheduled
from simsched.workload.graph import FloatArray, Int32Array, TaskGraph, Workload

EARLIEST_FINISH, EARLIEST_START, LOOKAHEAD = 0, 1, 2
PAIR_RULES = {"etf": 0, "dls": 1, "min_min": 2, "max_min": 3}
ALGORITHMS = ("heft", "peft", "cpop", "mcp", "lookahead", *PAIR_RULES)

Schedule = tuple[Int32Array, FloatArray, FloatArray]


@register("list_scheduling")
@dataclass(frozen=True, kw_only=True)
class ListScheduling(PlacedPolicy[None]):
    """Static list scheduling with estimated costs.

    Parameters
    ----------
    algorithm : {"heft", "peft", "cpop", "mcp", "lookahead", "etf", "dls", "min_min", "max_min"}
        How the schedule is made.
    insertion : bool
        Whether a task may be put into a gap between two others; the published rule of heft, peft,
        cpop, mcp and lookahead, not used by the others.

    Notes
    -----
    The rule of each algorithm is in :func:`make_schedule`, what is known of tasks in
    :func:`simsched.policy.parts.schedules.estimate`. Programs with a spawn tree are refused.
    Readings: docs/sources/list-scheduling.md.

    References
    ----------
    H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002 (heft, cpop). H. Arabnejad, J. G.
    Barbosa, IEEE TPDS 25(3), 2014 (peft). L. F. Bittencourt, R. Sakellariou, E. R. M. Madeira, PDP
    2010 (lookahead). M.-Y. Wu, D. D. Gajski, IEEE TPDS 1(3), 1990 (mcp). J.-J. Hwang et al., SIAM
    J. Comput. 18(2), 1989 (etf). G. C. Sih, E. A. Lee, IEEE TPDS 4(2), 1993 (dls). O. H. Ibarra, C.
    E. Kim, J. ACM 24(2), 1977 (min_min, max_min).
    """

    chooses_processors: ClassVar[bool] = True

    algorithm: str = param("heft", choices=ALGORITHMS)
    insertion: bool = param(True)

    def prepare(self, view: PlanView) -> Workload:
        if len(view.workload.graph.child):
            raise ModelError(
                f"policy {self.name}: found a spawn tree in workload {view.workload.name}, "
                "accepted dataflow graphs: what a parent spawns is not known before it runs"
            )
        estimates = estimate(view, view.workload.graph)
        schedule = make_schedule(estimates, self.algorithm, insertion=self.insertion)
        n_tasks, n_edges = estimates.n_tasks, len(estimates.succ)
        below = upward_ranks(estimates, np.ones(n_tasks), np.zeros(n_edges))
        ahead = view.machine.copies_data
        return scheduled(view.workload, *schedule, below, fetches_ahead=ahead)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        program = view.workload
        if graph is not program.init and isinstance(program, ScheduledWorkload):
            worker = program.worker
        else:
            worker = in_turn(view, graph)
        pools = (PoolGroup("worker", prefetches=view.machine.copies_data),)
        return own_lists(worker, pool_groups=pools, spawn_order=PARENT_FIRST)


def make_schedule(estimates: Estimates, algorithm: str, *, insertion: bool = True) -> Schedule:
    """Return a static schedule.

    With w the mean cost of a task over all workers, c the mean time of an edge over all pairs of
    different workers, and EFT (EST) the earliest finish (start) of a ready task on a worker:

    * heft: falling upward rank ``w + max(c + rank of the successor)``; the worker with the smallest
      EFT.
    * lookahead: as heft, but the worker after which the successors, placed one by one in the order
      of their edges by EFT, would be done first.
    * peft: optimistic cost table ``OCT(t, p) = max over successors of min over workers q of (OCT +
      cost on q + c unless p and q share a node)``; falling mean OCT; the smallest EFT + OCT.
    * cpop: falling sum of upward and downward rank; tasks of the critical path (from the entry task
      with the largest sum on, always the successor from which c + rank is largest) on the worker
      that runs all of them fastest; others by EFT.
    * mcp: the latest possible start rises; ties go to the task with the successor that must start
      earliest; the worker with the smallest EST.
    * etf: the pair of ready task and worker with the smallest EST; ties to the higher static level
      (upward rank without edges). dls: the pair with the largest ``level - EST + (m - cost)``; m,
      also in the level, is the median cost over all workers.
    * min_min and max_min: of all ready tasks that with the smallest (largest) of the smallest EFTs.

    Remaining ties go to the lower worker, then to the lower task. etf, dls, min_min and max_min
    compare all ready tasks for every task that they place: a second for 10,000 that are independent
    on 64 workers that are alike, three on eight nodes, four times that for twice as many.
    """
    mean = estimates.mean_cost_s()
    if algorithm in PAIR_RULES:
        typical = estimates.median_cost_s() if algorithm == "dls" else mean
        level = upward_ranks(estimates, typical, np.zeros(len(estimates.succ)))
        return schedule_pairs(estimates, level, typical, rule=PAIR_RULES[algorithm])
    edge = estimates.mean_edge_s(estimates.succ_bytes)
    tail = pinned = None
    choice = EARLIEST_FINISH
    if algorithm == "peft":
        tail = optimistic_costs(estimates, edge)
        priority = sum(tail.T, start=np.zeros(estimates.n_tasks)) / tail.shape[1]
    else:
        priority = upward_ranks(estimates, mean, edge)
    if algorithm == "cpop":
        priority, pinned = _critical_path(estimates, mean, edge, priority)
    elif algorithm == "mcp":
        priority, choice = _latest_starts(estimates, priority), EARLIEST_START
    elif algorithm == "lookahead":
        choice = LOOKAHEAD
    return schedule_list(
        estimates, priority, choice=choice, insertion=insertion, tail_s=tail, pinned=pinned
    )


def _critical_path(
    estimates: Estimates, mean: FloatArray, edge: FloatArray, upward: FloatArray
) -> tuple[FloatArray, Int32Array]:
    """Return CPOP's priorities, and the worker of the tasks on the critical path, -1 elsewhere."""
    back = estimates.reversed()
    downward = upward_ranks(back, mean, back.mean_edge_s(back.succ_bytes)) - mean
    priority = upward + downward
    pinned = np.full(estimates.n_tasks, -1, np.int32)
    if estimates.n_tasks == 0:
        return priority, pinned
    entries = np.flatnonzero(np.diff(estimates.pred_ptr) == 0)
    task = int(entries[np.argmax(priority[entries])])
    path = [task]
    while True:
        first, last = estimates.succ_ptr[task], estimates.succ_ptr[task + 1]
        if first == last:
            break
        # Sums of both ranks are equal all along the path, but in arithmetic that rounds, and also
        # where an edge leaves out tasks of it; what remains to the end says where it goes on.
        following = estimates.succ[first:last]
        remaining = edge[first:last] + upward[following]
        task = int(following[remaining == remaining.max()].min())
        path.append(task)
    total = sum(estimates.cost_s[:, path].T, start=np.zeros(len(estimates.cost_s)))
    total = total[estimates.worker_row]
    if np.isfinite(total).any():
        pinned[path] = int(np.argmin(total))
    return priority, pinned


def _latest_starts(estimates: Estimates, upward: FloatArray) -> FloatArray:
    """Return priorities that rise as the latest start of a task and of its successors falls."""
    below = np.zeros(estimates.n_tasks)
    source = np.repeat(np.arange(estimates.n_tasks), np.diff(estimates.succ_ptr))
    np.maximum.at(below, source, upward[estimates.succ])
    order = np.lexsort((np.arange(estimates.n_tasks), -below, -upward))
    priority = np.empty(estimates.n_tasks)
    priority[order] = -np.arange(estimates.n_tasks, dtype=np.float64)
    return priority


_TITLES = {
    "heft": "Heterogeneous earliest finish time: falling upward ranks, smallest finish.",
    "peft": "Predict earliest finish time: HEFT with an optimistic cost table.",
    "cpop": "Critical path on a processor: the critical path on one worker, others by finish.",
    "mcp": "Modified critical path: latest possible starts first, smallest start.",
    "lookahead": "HEFT that judges workers by when the successors would be done.",
    "etf": "Earliest task first: the ready task and worker with the smallest start.",
    "dls": "Dynamic level scheduling: static level less start plus gain of the worker.",
    "min_min": "Of all ready tasks that which can finish first.",
    "max_min": "Of all ready tasks that whose earliest finish is last.",
}
for _name, _title in _TITLES.items():
    preset(_name, ListScheduling, _title, algorithm=_name)
