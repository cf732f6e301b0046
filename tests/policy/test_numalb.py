"""Greedy balancing of load and NUMA-weighted communication."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.numa.numalb import balance
from simsched.policy.parts.communication import block_writer, messages, numa_factors
from simsched.testing import small_workloads
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

TWO_SOCKETS = np.array([0, 0, 1, 1], np.int32)
FACTOR = np.array([[1.0, 2.0], [2.0, 1.0]])


def pairs(n: int, *between: tuple[int, int, int]) -> csr_array:
    weights = np.zeros((n, n))
    for a, b, count in between:
        weights[a, b] = weights[b, a] = count
    return csr_array(weights)


def test_without_messages_the_longest_task_goes_to_the_least_loaded_worker() -> None:
    times = np.array([1.0, 5.0, 4.0, 3.0, 3.0, 2.0])
    # 5 -> 0, 4 -> 1, 3 -> 2, 3 -> 3; then 2 to worker 2 (3), and 1 to worker 3 (3).
    found = balance(times, np.zeros(6, np.int32), TWO_SOCKETS, pairs(6), FACTOR, 1.0)
    assert found.tolist() == [3, 0, 1, 2, 3, 2]


def test_messages_pull_tasks_to_the_socket_of_their_partners() -> None:
    # Task 1 (second) would go to worker 1 by load; its partner 2 is on the other socket.
    times, start = np.array([4.0, 3.0, 0.0]), np.array([0, 0, 2], np.int32)
    found = balance(times, start, TWO_SOCKETS, pairs(3, (1, 2, 1)), FACTOR, 1.0)
    assert found.tolist()[:2] == [0, 2]


def test_the_weight_of_messages_against_load() -> None:
    # Worker 0 (socket 0) already has 5 s, worker 1 (socket 1) nothing; the partner of task 1 is
    # task 0. On socket 0: 5 - w; on socket 1: 2 w.  They are equal at w = 5 / 3.
    times, start = np.array([5.0, 1.0]), np.array([0, 0], np.int32)
    sockets = np.array([0, 1], np.int32)
    for weight, expected in ((1.6, 1), (1.7, 0)):
        found = balance(times, start, sockets, pairs(2, (0, 1, 1)), FACTOR, weight)
        assert found.tolist() == [0, expected]


def test_messages_are_edges_and_data_written_by_others() -> None:
    graph = build_graph(
        np.ones(4),
        successors=adjacency(np.array([0]), np.array([3]), 4),
        accessed=accesses(
            np.array([0, 1, 2, 2]), np.array([0, 0, 0, 1]), 8, np.array([8, 0, 0, 0]), 4
        ),
        block_bytes=[64, 64],
    )
    assert block_writer(graph).tolist() == [0, -1]
    expected = np.zeros((4, 4))
    expected[0, [1, 2, 3]] = 1  # sent by task 0; the others send nothing back
    assert messages(graph).toarray().tolist() == expected.tolist()


def test_numa_factors_are_latencies_by_the_local_one() -> None:
    machine = load_machine("amd_4x_opteron8380")
    # A square of sockets 0-1-3-2: 100 ns, 110 ns over one hop, 130 ns over two.
    assert numa_factors(machine)[0].tolist() == pytest.approx([1.0, 1.1, 1.1, 1.3])
    assert numa_factors(make_machine(domains=2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def uneven(iterations: int) -> Workload:
    """Sixteen independent tasks with a block each, the first four ten times as long."""
    n = 16
    graph = build_graph(
        np.where(np.arange(n) < 4, 1e7, 1e6),
        accessed=accesses(np.arange(n), np.arange(n), 0, 4096, n),
        block_bytes=np.full(n, 4096),
    )
    return Workload("uneven", graph, iterations)


MACHINE = make_machine(domains=2, cores_per_domain=2, costs=None)


def run(iterations: int, **params: object) -> Run:
    policy = make_policy("numalb", {"period_iterations": 2, "choice_s_per_pair": 0.0, **params})
    return simulate(MACHINE, uneven(iterations), policy, events=True)


def test_balancing_happens_every_period_only() -> None:
    found = run(6).summary
    length = (found.iteration_end_ps - found.iteration_start_ps) * 1e-12
    # Contiguous parts: worker 0 has all long tasks, 40 ms. Then 10 ms and 3 ms each.
    assert length[:2] == pytest.approx([0.04, 0.04], rel=0.01)
    assert length[2:] == pytest.approx([0.013] * 4, rel=0.01)


def test_data_follow_their_tasks() -> None:
    moving, staying = run(4), run(4, migrate_data=False)
    assert staying.summary.migrations == 0
    assert moving.summary.migrations > 0
    assert moving.trace is not None
    events = moving.trace.events
    ended = events["kind"] == EventKind.MIGRATE_END
    home = np.arange(16) // 8
    home[events["arg0"][ended]] = events["arg1"][ended]
    last = (events["kind"] == EventKind.TASK_END) & (events["iteration"] == 4)
    socket = MACHINE.core_domain[MACHINE.thread_core[MACHINE.place_workers()]]
    assert np.array_equal(home[events["task"][last]], socket[events["worker"][last]])


def test_balancing_takes_time() -> None:
    params = {"period_iterations": 1, "choice_s_per_pair": 1e-3, "migrate_data": False}
    found = simulate(MACHINE, uneven(2), make_policy("numalb", params)).summary
    assert int(found.iteration_overhead_ps.sum()) == 16 * 4 * 10**9


def test_trees_become_loops() -> None:
    tree = small_workloads()["tree"]
    found = simulate(MACHINE, tree, make_policy("numalb"))
    leaves = len(tree.graph.leaves)
    assert tree.init is not None
    assert found.summary.n_tasks == leaves * tree.iterations + len(tree.init.leaves)
