"""Bounds that hold for every schedule in which nobody idles while there is work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.analysis.bounds import critical_path
from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

POLICIES = ("cilk", "pfws", "work_sharing", "random_stealing")
SEEDS = st.integers(0, 2**32)


def random_tree(seed: int) -> TaskGraph:
    """A spawn tree with joins; times are whole numbers of nanoseconds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 80))
    parent = np.array([int(rng.integers(max(0, t - 6), t)) for t in range(1, n)], int)
    has_children = np.isin(np.arange(n), parent)
    return build_graph(
        rng.integers(0, 1000, n).astype(float),
        join_ops=np.where(has_children, rng.integers(0, 300, n), 0).astype(float),
        children=adjacency(parent, np.arange(1, n), n),
    )


def makespan_ns(graph: TaskGraph, policy: str, workers: int, backend: str, seed: int = 0) -> float:
    machine = make_machine(domains=1, cores_per_domain=workers)
    run = simulate(
        machine, Workload("w", graph), make_policy(policy), backend=backend, seed=seed % 997
    )
    return run.summary.makespan_ps / 1000


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 9), st.sampled_from(POLICIES))
def test_stealing_without_costs_keeps_the_greedy_bound(
    seed: int, workers: int, policy: str
) -> None:
    """T_P <= T_1 / P + T_inf (Graham 1969; Blumofe and Leiserson 1999 without costs)."""
    graph = random_tree(seed)
    work = float(graph.ops.sum() + graph.join_ops.sum())
    span = critical_path(graph, graph.ops[0], graph.join_ops[0], graph.creation_ops)
    for backend in ("simpy", "native"):
        time = makespan_ns(graph, policy, workers, backend, seed)
        assert max(work / workers, span) <= time + 1e-9
        assert time <= work / workers + span + 1e-9


@pytest.mark.parametrize("policy", [*POLICIES, "bats", "openmp_static"])
def test_one_worker_takes_the_sum_whatever_the_policy(backend: str, policy: str) -> None:
    for seed in range(5):
        graph = random_tree(seed)
        work = float(graph.ops.sum() + graph.join_ops.sum())
        assert makespan_ns(graph, policy, 1, backend) == work
