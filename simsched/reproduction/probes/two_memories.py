"""What programs and policies for two kinds of memory say without a run."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile, zip_longest

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.machine.model import Machine
from simsched.policy import make_policy
from simsched.policy.algorithms.heterogeneous_memory.charm import CharmMoving
from simsched.policy.contract.base import PlanView, view_before
from simsched.policy.parts.loop import assigned, flatten
from simsched.reproduction.probes import machine_of, probe
from simsched.workload.graph import Workload
from simsched.workload.presets import make_workload


@probe("placed_bytes")
def placed_bytes(*, machine: str, workload: str, policy: str, kind: str) -> float:
    """Return the bytes that a policy puts on memory of one kind before the run."""
    model = machine_of(machine)
    made, view = make_policy(policy), _view(model, make_workload(workload))
    view = replace(view, workload=made.prepare(view))
    home = made.place(view, made.start(view)).home
    sizes = view.workload.graph.block_bytes
    return float(sum(int(sizes[home == node].sum()) for node in model.nodes_of_kind(kind)))


@probe("concurrent_bytes")
def concurrent_bytes(*, workload: str, pes: int) -> float:
    """Return the bytes of the blocks that the first chares of all processing elements use."""
    graph = flatten(make_workload(workload).graph)
    owner = assigned(graph.n_tasks, pes, "block")
    first = np.unique(owner, return_index=True)[1]
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    used = np.unique(graph.access_block[np.isin(task, first)])
    return float(graph.block_bytes[used].sum())


@probe("admitted_tasks")
def admitted_tasks(*, machine: str, workload: str, policy: str, workers: int) -> float:
    """Return how many tasks, those of all elements in turn, have their blocks in HBM at once."""
    made = make_policy(policy)
    if not isinstance(made, CharmMoving):
        raise ConfigurationError(f"policy {policy}: accepted one that moves data")
    view = _view(machine_of(machine), make_workload(workload), workers)
    queues = made.start(replace(view, workload=made.prepare(view)))
    turns: list[list[int]] = [[] for _ in queues.team.pe]
    for task, pe in enumerate(queues.owner.tolist()):
        turns[pe].append(task)
    in_turn = (task for turn in zip_longest(*turns) for task in turn if task is not None)
    admitted = (queues.residency.admit(task) is not None for task in in_turn)
    return float(sum(takewhile(bool, admitted)))


def _view(machine: Machine, workload: Workload, workers: int | None = None) -> PlanView:
    """Return what a policy sees before a run."""
    return view_before(machine, workload, machine.place_workers(workers))
