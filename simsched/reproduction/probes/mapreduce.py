"""MapReduce: what formulas say of worked examples, disks of nodes, and weights that nodes learn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.policy import make_policy
from simsched.policy.algorithms.mapreduce.hadoop import speculation_order
from simsched.policy.algorithms.mapreduce.samr import Samr
from simsched.policy.contract.base import HookView, PlanView
from simsched.policy.parts.mapreduce_formulas import (
    MAP_WEIGHTS,
    REDUCE_WEIGHTS,
    lags_behind,
    longest_first,
    progress_score,
    reduce_bins,
    time_to_end,
)
from simsched.policy.parts.mapreduce_speculation import History, observed_weights
from simsched.policy.parts.mapreduce_tracker import Attempt
from simsched.reproduction.probes import machine_of, probe, workload_of
from simsched.reproduction.probes._events import each_event, events_of, run_of
from simsched.trace.schema import EventKind
from simsched.workload.mapreduce_job import MAP


@probe("node_write_rate_bytes_per_s")
def node_write_rate_bytes_per_s(*, machine: str, domain: int) -> float:
    """Return what a node writes to its disk while the other nodes of its computer do too."""
    model = machine_of(machine)
    disks = [model.own_node(d) for d in range(model.n_domains)]
    if not 0 <= domain < model.n_domains:
        raise ConfigurationError(f"domain: found {domain}, accepted 0 to {model.n_domains - 1}")
    return model.nodes[disks[domain]].bandwidth_bytes_per_s / disks.count(disks[domain])


@probe("mean_score")
def mean_score(*, scores: list[float]) -> float:
    """Return the average of progress scores."""
    return math.fsum(scores) / len(scores)


@probe("least_progress_stragglers")
def least_progress_stragglers(*, scores: list[float]) -> list[float]:
    """Return the numbers, from 1, of the tasks that least progress takes for stragglers."""
    return [float(i + 1) for i in np.flatnonzero(lags_behind(np.array(scores))).tolist()]


@probe("ends_last")
def ends_last(*, remaining_s: list[float]) -> float:
    """Return the number, from 1, of the task with the longest remaining time."""
    return float(longest_first(remaining_s, np.ones(len(remaining_s), bool), 1)[0] + 1)


@probe("first_backup")
def first_backup(*, scores: list[float], local: int) -> float:
    """Return the number, from 1, of the straggler that Hadoop backs up first on some node.

    Parameters
    ----------
    scores : list of float
        Scores of the running map tasks.
    local : int
        Number of the only task whose input the node has.
    """
    behind = np.flatnonzero(lags_behind(np.array(scores))).tolist()
    order = sorted(behind, key=lambda i: speculation_order(i + 1 == local, scores[i], i))
    return float(order[0] + 1)


@probe("remaining_over_elapsed")
def remaining_over_elapsed(*, weights: list[float], phase: int, fraction: float = 0.0) -> float:
    """Return the estimated remaining time of a task over the time it has run."""
    return time_to_end(progress_score(weights, phase, fraction), 1.0)


@probe("bins_ratio")
def bins_ratio(*, speeds: list[float], multiplier: int) -> float:
    """Return the bins of the first reduce task over those of the last one, by predicted speed."""
    bins = reduce_bins(len(speeds), multiplier, speeds)
    return bins[0] / bins[-1]


@probe("bins_per_reduce_task")
def bins_per_reduce_task(*, policy: str) -> float:
    """Return how many bins each map task makes for each reduce task."""
    return float(make_policy(policy).parameters()["bin_multiplier"])


@probe("default_phase_weights")
def default_phase_weights() -> list[float]:
    """Return the weights of the phases without a history: map task, then reduce task."""
    return [*MAP_WEIGHTS, *REDUCE_WEIGHTS]


@probe("most_backups_of_a_task")
def most_backups_of_a_task(*, policy: str, machine: str, workload: str) -> float:
    """Return how many backups of one task have been alive at the same time in a run."""
    alive: dict[int, int] = {}
    most = 0
    for kind, task in each_event(run_of(machine, workload, policy), "kind", "task"):
        if kind == EventKind.TASK_START:
            alive[task] = alive.get(task, 0) + 1
            most = max(most, alive[task] - 1)
        elif kind == EventKind.KILL:
            alive[task] -= 1
    return float(most)


@probe("same_backups")
def same_backups(*, policy: str, versus: str, machine: str, workload: str) -> float:
    """Return 1 if two policies start the same backups at the same times, 0 if they do not."""
    found = []
    for spec in (policy, versus):
        events = events_of(run_of(machine, workload, spec))
        chosen = events["kind"] == EventKind.DUPLICATE
        found.append([events[name][chosen].tolist() for name in ("time_ps", "task", "worker")])
    return float(found[0] == found[1])


@dataclass(eq=False)
class _Seen:
    """Weights recorded before the last job, and those of its tasks, by node and kind."""

    recorded: dict[tuple[int, int], tuple[float, ...]] = field(default_factory=dict)
    real: dict[tuple[int, int], list[tuple[float, ...]]] = field(default_factory=dict)


@probe("phase_weight_errors")
def phase_weight_errors(
    *, machine: str, workload: str, kind: str, parameters: dict[str, Any] | None = None
) -> list[float]:
    """Return how far the weights that SAMR has recorded are from those of the next job.

    Parameters
    ----------
    machine, workload : str
        What runs three times, the third time being compared with what the first two have recorded.
    kind : {"map", "reduce"}
        Tasks.

    Returns
    -------
    list of float
        For each node and phase the difference in percent points, against the mean of the node's
        tasks.
    """
    seen = _Seen()

    class Watched(Samr):
        """SAMR that is looked at."""

        def on_iteration(self, view: PlanView, state: History, counters: Any) -> None:
            """Note what has been recorded so far."""
            seen.recorded = {(node, of): w for (node, _, of), w in state.weights.items()}
            seen.real.clear()
            super().on_iteration(view, state, counters)

        def learn(self, view: HookView, state: History, attempt: Attempt) -> None:
            """Note what a task has shown."""
            weights = observed_weights(state, attempt, view.live.now_ps())
            if weights is not None:
                of = int(state.tasks.kind[attempt.task])
                seen.real.setdefault((attempt.node, of), []).append(weights)
            super().learn(view, state, attempt)

    built = workload_of(workload, {**(parameters or {}), "iterations": 3})
    simulate(machine_of(machine), built, Watched())
    errors: list[float] = []
    for (node, of), tasks in sorted(seen.real.items()):
        if (of == MAP) == (kind == "map") and (node, of) in seen.recorded:
            difference = np.array(seen.recorded[node, of]) - np.mean(tasks, axis=0)
            errors += (100 * np.abs(difference)).tolist()
    return errors
