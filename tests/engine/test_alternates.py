"""Blocks that change places after every iteration."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import GraphError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.parts.batch_gate import gated
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers.networkx_graph import from_networkx, to_networkx
from simsched.workload.registry import generate_workload

BACKENDS = ["native", "simpy"]


def jacobi(**changed: object) -> TaskGraph:
    """Return a task that reads a block of 800 bytes and 100 of a constant, and writes another."""
    given = {"block_bytes": [800, 800, 100], "alternate_block": [1, 0, 2], **changed}
    return build_graph(
        [1000.0],
        accessed=accesses([0, 0, 0], [0, 2, 1], [800, 100, 0], [0, 0, 800], 1),
        **given,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_one_iteration_writes_the_next_one_reads(backend: str) -> None:
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    workload = Workload("jacobi", jacobi(), iterations=4)
    run = simulate(machine, workload, make_policy("cilk"), backend=backend, events=True)
    events = run.trace.events
    block = events["arg0"][events["kind"] == EventKind.ACCESS]
    assert block.tolist() == [0, 2, 1, 1, 2, 0, 0, 2, 1, 1, 2, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"alternate_block": [1, 0]}, r"alternate_block: found shape \(2,\), accepted \(3,\)"),
        ({"alternate_block": [1, 0, 3]}, "block 2: alternate_block: found 3, accepted 0 to 2"),
        ({"alternate_block": [1, 0, -1]}, "block 2: alternate_block: found -1, accepted 0 to 2"),
        ({"alternate_block": [1, 2, 0]}, "block 0: alternate_block: found 1, whose own is 2"),
        ({"block_bytes": [800, 801, 9]}, "block 0: alternate_block: found block 1 of 801 bytes"),
    ],
)
def test_blocks_that_cannot_change_places_are_refused(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(GraphError, match=message):
        jacobi(**given).validate()


def test_they_survive_networkx() -> None:
    workload = generate_workload("heat", {"rows": 16, "columns": 8, "iterations": 2})
    graph = from_networkx(to_networkx(workload)).graph
    assert graph.alternate_block.tolist() == workload.graph.alternate_block.tolist()
    assert np.array_equal(graph.in_iteration(1).access_block, workload.graph.access_block)
    plain = generate_workload("heat", {"rows": 16, "columns": 8, "copies": 1})
    assert from_networkx(to_networkx(plain)).graph.alternate_block is None


@pytest.mark.parametrize("policy", ["openmp_static", "offline_locality"])
def test_they_survive_plans_that_change_the_graph(policy: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=2, ops_per_s=1e9)
    workload = generate_workload(
        "heat", {"rows": 32, "columns": 8, "iterations": 3, "cutoff_rows": 4}
    )
    run = simulate(machine, workload, make_policy(policy), events=True)
    events = run.trace.events
    access = events["kind"] == EventKind.ACCESS
    first, second = (
        set(events["arg0"][access & (events["iteration"] == number)][0:3].tolist())
        for number in (1, 2)
    )
    assert first != second


def test_they_survive_a_gate() -> None:
    graph = generate_workload("heat", {"rows": 32, "columns": 8}).graph
    assert gated(graph).alternate_block.tolist() == graph.alternate_block.tolist()
