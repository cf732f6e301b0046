"""Known makespans of the benchmark workloads, computed elsewhere in double precision.

Workloads and figures: see the descriptions in `simsched.workload.bench`, `generators.stencil2d` and
`generators.cholesky`. A picosecond clock agrees to about 1e-8.
"""

from __future__ import annotations

import pytest

from benchmarks.instances import flows
from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.workload.bench import bench_costs
from simsched.workload.builder import build_graph
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
