"""Known makespans of the benchmark workloads, computed elsewhere in double precision.

Workloads and figures: see the descriptions in `simsched.workload.bench`, `generators.stencil2d` and
`generators.cholesky`. A picosecond clock agrees to about 1e-8.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.instances import flows
from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.workload.bench import bench_costs
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload

TOLERANCE = 1e-8


@pytest.mark.parametrize(
    ("workers", "tasks", "expected_s"),
    [(64, 100_000, 1.56468026382), (256, 100_000, 0.39188943054)],
)
def test_independent_tasks(workers: int, tasks: int, expected_s: float) -> None:
    machine = make_machine(domains=1, cores_per_domain=workers)
    run = simulate(
        machine, Workload("independent", build_graph(bench_costs(tasks))), CentralQueue()
    )
    assert run.makespan_s == pytest.approx(expected_s, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("remote", "expected_s"), [(False, 0.139051310143), (True, 0.138861209667)]
)
def test_flows_through_eight_controllers(remote: bool, expected_s: float) -> None:
    run = simulate(*flows(100_000, workers=256, remote=remote))
    assert run.makespan_s == pytest.approx(expected_s, rel=TOLERANCE)


@pytest.mark.parametrize(
    ("name", "params", "tasks", "expected_s"),
    [
        ("stencil2d", {"width": 64, "height": 64, "steps": 3}, 12_288, 0.192983206995),
        ("stencil2d", {"width": 64, "height": 64, "steps": 25}, 102_400, 1.60219877026),
        ("cholesky", {"tiles": 38}, 9_880, 0.31300626874),
        ("cholesky", {"tiles": 64}, 45_760, 1.3924538635),
        ("cholesky", {"tiles": 84}, 102_340, 3.11509565715),
    ],
)
def test_list_scheduling(
    name: str, params: dict[str, object], tasks: int, expected_s: float
) -> None:
    workload = generate_workload(name, {**params, "costs": "bench"})
    assert workload.graph.n_tasks == tasks
    machine = make_machine(domains=1, cores_per_domain=64)
    run = simulate(machine, Workload(name, workload.graph), CentralQueue())
    assert run.makespan_s == pytest.approx(expected_s, rel=TOLERANCE)


@pytest.mark.slow
def test_the_reference_knows_them_too() -> None:
    workload = generate_workload("cholesky", {"tiles": 38, "costs": "bench"})
    machine = make_machine(domains=1, cores_per_domain=64)
    run = simulate(machine, Workload("c", workload.graph), CentralQueue(), backend="simpy")
    assert run.makespan_s == pytest.approx(0.31300626874, rel=TOLERANCE)


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_iterations_are_those_of_one_graph_that_waits_for_all_between_them(backend: str) -> None:
    params = {"width": 8, "height": 8, "steps": 3, "costs": "bench"}
    graph = generate_workload("stencil2d", params).graph
    n, copies = graph.n_tasks, 5
    first, second = np.repeat(np.arange(n), np.diff(graph.succ_ptr)), graph.succ
    ends = np.flatnonzero(np.diff(graph.succ_ptr) == 0)
    begins = np.flatnonzero(np.bincount(graph.succ, minlength=n) == 0)
    one = np.concatenate([first, ends, np.full(len(begins), n)])
    other = np.concatenate([second, np.full(len(ends), n), begins + n + 1])
    offset = np.arange(copies)[:, None] * (n + 1)
    edges = np.stack([(one + offset).ravel(), (other + offset).ravel()])
    total = copies * (n + 1) - 1  # nobody waits behind the last copy
    edges = edges[:, (edges < total).all(axis=0)]
    ops = np.tile(np.append(graph.ops[0], 0.0), copies)[:total]
    whole = build_graph(ops, successors=adjacency(*edges, total))
    machine = make_machine(domains=1, cores_per_domain=16)
    runs = [
        simulate(machine, Workload("stencil", *of), CentralQueue(), backend=backend)
        for of in ((graph, copies), (whole, 1))
    ]
    # The task between copies keeps a lag (E7), which a new iteration does not.
    assert runs[0].makespan_s == pytest.approx(runs[1].makespan_s, abs=copies * 1e-12)
    assert runs[0].makespan_s > 0.06
