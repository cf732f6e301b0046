"""What is only a question of whether something runs, or in which order: runs without numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, ModelError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.reproduction.probes import machine_of, probe, workload_of
from simsched.reproduction.probes._events import events_of
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload


@probe("can_run")
def can_run(
    *, machine: str, workload: str, policy: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return 1 if a policy can run one iteration of a workload on a machine, 0 if it cannot."""
    model, scheduler = machine_of(machine), make_policy(policy)
    built = workload_of(workload, {**(parameters or {}), "iterations": 1})
    try:
        simulate(model, built, scheduler)
    except ModelError:
        return 0.0
    return 1.0


@probe("execution_order")
def execution_order(*, policy: str, parents: list[int]) -> str:
    """Return the order in which a single worker starts the tasks of a spawn tree.

    Parameters
    ----------
    parents : list of int
        Parent of each task; -1 for those that have none.

    Returns
    -------
    str
        Names such as ``t0 t1 t2``; task `i` is named ``t<i>``.
    """
    count = len(parents)
    wrong = [item for item in parents if type(item) is not int or not -1 <= item < count]
    if wrong or not parents:
        accepted = f"whole numbers, -1 to {count - 1}"
        raise ConfigurationError(f"parents: found {parents!r}, accepted: {accepted}")
    children = [task for task, parent in enumerate(parents) if parent >= 0]
    tree = adjacency([parents[task] for task in children], children, count)
    workload = Workload("tree", build_graph(np.full(count, 1e6), children=tree))
    run = simulate(
        make_machine(), workload, make_policy(policy), workers=1, backend="simpy", events=True
    )
    events = events_of(run)
    order = events["task"][events["kind"] == EventKind.TASK_START]
    return " ".join(f"t{task}" for task in order.tolist())
