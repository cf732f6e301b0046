"""Known makespans of the benchmark workloads, computed elsewhere in double precision.

Workloads and figures: see the descriptions in `simsched.workload.bench`, `generators.stencil2d` and
`generators.cholesky`. A picosecond clock agrees to about 1e-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy.base import AcquireStep, Placement, Plan, Policy, PoolGroup, View
from simsched.workload.bench import bench_costs, bench_flows
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import make_workload

from .plans import CentralQueue

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


@dataclass(frozen=True, kw_only=True)
class FirstTasksFixed(Policy):
    """Task i < P goes to the worker that the benchmark calls i, the others to whoever is free.

    The benchmark's worker i uses controller i mod 8; here workers are numbered domain by domain.
    """

    def place(self, view: View, state: Any) -> Placement:
        home = np.asarray(view.workload.parameters["home"], np.int32)
        return Placement(home, view.machine.touch_order)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        n, workers = graph.n_tasks, view.n_workers
        instance = np.full(n, -1, np.int32)
        i = np.arange(min(workers, n))
        instance[i] = (i % 8) * (workers // 8) + i // 8
        group = np.ones(n, np.int8)
        group[i] = 0
        return Plan(
            acquire=(AcquireStep("worker"), AcquireStep("all", "own", "oldest")),
            pool_groups=(PoolGroup("worker"), PoolGroup("all", "machine")),
            group_of=group,
            instance_of=instance,
        )


@pytest.mark.parametrize(
    ("remote", "expected_s"), [(False, 0.139051310143), (True, 0.138861209667)]
)
def test_flows_through_eight_controllers(remote: bool, expected_s: float) -> None:
    tasks, workers = 100_000, 256
    drawn = bench_flows(tasks, remote=remote)
    machine = make_machine(
        domains=8,
        cores_per_domain=workers // 8,
        dram_bandwidth_bytes_per_s=90e9,
        dram_capacity_bytes=10**15,
        core_cap_bytes_per_s=None if remote else 12e9,
        link_bandwidth_bytes_per_s=360e9 if remote else None,
    )
    every = np.arange(tasks)
    if remote:
        size = drawn.size_bytes.astype(np.int64)
        scale = 1
    else:  # fractional bytes: count in millionths, with bandwidths to match
        scale = 10**6
        size = np.rint(drawn.size_bytes * scale).astype(np.int64)
        machine = make_machine(
            domains=8,
            cores_per_domain=workers // 8,
            dram_bandwidth_bytes_per_s=90e9 * scale,
            dram_capacity_bytes=10**18,
            core_cap_bytes_per_s=12e9 * scale,
        )
    graph = build_graph(
        np.zeros(tasks), accessed=accesses(every, every, size, 0, tasks), block_bytes=size
    )
    workload = Workload("flows", graph, parameters={"home": drawn.controller})
    run = simulate(machine, workload, FirstTasksFixed())
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
    workload = make_workload(name, {**params, "costs": "bench"})
    assert workload.graph.n_tasks == tasks
    machine = make_machine(domains=1, cores_per_domain=64)
    run = simulate(machine, Workload(name, workload.graph), CentralQueue())
    assert run.makespan_s == pytest.approx(expected_s, rel=TOLERANCE)


@pytest.mark.slow
def test_the_reference_knows_them_too() -> None:
    workload = make_workload("cholesky", {"tiles": 38, "costs": "bench"})
    machine = make_machine(domains=1, cores_per_domain=64)
    run = simulate(machine, Workload("c", workload.graph), CentralQueue(), backend="simpy")
    assert run.makespan_s == pytest.approx(0.31300626874, rel=TOLERANCE)
