"""What problems share that are of one machine and its workers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.engine.machine_fields import machine_fields, paths_of
from simsched.engine.run import simulate
from simsched.files.errors import GraphError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload


def test_fields_are_made_once_for_a_machine_and_its_workers() -> None:
    machine, all_of_it = make_machine(domains=2, cores_per_domain=2), np.arange(4, dtype=np.int32)
    fields = machine_fields(machine, all_of_it, ("cpu",))
    assert machine_fields(machine, all_of_it.copy(), ("cpu",)) is fields
    assert paths_of(machine, all_of_it) is fields["paths"]


def test_other_workers_kinds_and_machines_have_fields_of_their_own() -> None:
    machine, workers = make_machine(domains=2, cores_per_domain=2), np.arange(4, dtype=np.int32)
    fewer = machine_fields(machine, workers[1:], ("cpu",))
    assert len(fewer["worker_core"]) == 3
    other_kinds = machine_fields(machine, workers, ("gpu", "cpu"))
    assert other_kinds["worker_kind"].tolist() == [1] * 4
    costs = replace(machine.costs, pop_ps=7)
    assert machine_fields(replace(machine, costs=costs), workers, ("cpu",))["costs"] is costs


def test_a_run_does_not_depend_on_those_before_it(backend: str) -> None:
    graph = build_graph([1000.0] * 9)
    machine, policy = make_machine(cores_per_domain=3), make_policy("cilk_a")
    runs = [
        simulate(machine, Workload("w", graph), policy, seed=seed, backend=backend, workers=workers)
        for seed, workers in ((3, 2), (4, 3), (3, 2))
    ]
    assert runs[0].summary.makespan_ps == runs[2].summary.makespan_ps
    assert runs[0].summary.makespan_ps != runs[1].summary.makespan_ps


def test_a_graph_that_others_can_write_to_is_checked_again() -> None:
    base = np.array([[1.0, 2.0]])
    graph = build_graph([1.0, 2.0])
    memory = bytearray(base.tobytes())  # nobody can make that read-only
    graph = replace(graph, ops=np.frombuffer(memory, np.float64).reshape(1, 2))
    assert isinstance(graph, TaskGraph)
    graph.validate()
    memory[:8] = np.array([-1.0]).tobytes()
    with pytest.raises(GraphError, match="task 0"):
        graph.validate()
