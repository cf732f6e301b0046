"""The machines of the NUMA dataflow study against its Tables 1 and 2 and its description."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import Placement, PlanView
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload

GIB = 2**30
#: Machine, node of the buffer as seen from node 0, time in ms to read and to write 1 GiB.
TRAVERSALS = [
    ("opteron64", 0, 1288.5, 2256.9),
    ("opteron64", 1, 2328.4, 2717.6),
    ("opteron64", 2, 2781.4, 3934.6),
    ("opteron64", 3, 5601.6, 5601.3),
    ("sgi_uv2000_192", 0, 934.82, 1307.4),
    ("sgi_uv2000_192", 1, 4563.1, 5282.38),
    ("sgi_uv2000_192", 2, 5820.48, 6473.38),
    ("sgi_uv2000_192", 10, 6991.24, 7673.14),
]
OPTERON_DISTANCES = """
10 16 16 22 16 22 16 22
16 10 22 16 22 16 22 16
16 22 10 16 16 22 16 22
22 16 16 10 22 16 22 16
16 22 16 22 10 16 16 22
22 16 22 16 16 10 22 16
16 22 16 22 16 22 10 16
22 16 22 16 22 16 16 10
"""


@dataclass(frozen=True, kw_only=True)
class DataOnOneNode(RandomStealing):
    """Random stealing with all data on one node."""

    node: int = 0

    def place(self, view: PlanView, state: Any) -> Placement:
        home = np.full(view.workload.graph.n_blocks, self.node, np.int32)
        return Placement(home, view.machine.touch_order)


@pytest.mark.parametrize(("name", "node", "read_ms", "write_ms"), TRAVERSALS)
def test_a_traversal_takes_the_published_time(
    name: str, node: int, read_ms: float, write_ms: float
) -> None:
    machine = load_machine(name)
    for read, written, expected_ms in ((GIB, 0, read_ms), (0, GIB, write_ms)):
        graph = build_graph([0.0], accessed=accesses([0], [0], read, written, 1), block_bytes=[GIB])
        run = simulate(
            replace(machine, caches=()),
            Workload("traversal", graph),
            DataOnOneNode(node=node),
            workers=1,
            pinning="compact",
        )
        assert run.makespan_s * 1e3 == pytest.approx(expected_ms, rel=2e-4)


def test_opteron64_has_the_published_shape_and_distances() -> None:
    machine = load_machine("opteron64")
    assert (machine.n_sockets, machine.n_domains, machine.n_cores) == (4, 8, 64)
    assert sum(node.capacity_bytes for node in machine.nodes) == 64 * GIB
    distance = np.array([row.split() for row in OPTERON_DISTANCES.strip().split("\n")], int)
    np.testing.assert_array_equal(machine.domain_hops, (distance - 10) // 6)
    latencies = [Counter(path.latency_ps for path in row) for row in machine.paths]
    assert latencies == [Counter({76_800: 1, 138_800: 1, 165_800: 3, 333_900: 3})] * 8
    assert [np.bincount(level.core_instance).max() for level in machine.caches] == [1, 2, 8]


def test_sgi_uv2000_has_the_published_shape_and_peers() -> None:
    machine = load_machine("sgi_uv2000_192")
    assert (machine.n_sockets, machine.n_domains, machine.n_cores) == (12, 24, 192)
    assert sum(node.capacity_bytes for node in machine.nodes) == 756 * GIB
    peers = [np.bincount(row).tolist() for row in machine.domain_hops]
    assert peers[:16] == [[1, 1, 12, 10]] * 16
    assert peers[16:] == [[1, 1, 10, 12]] * 8
    blades = machine.domain_hops[::2, ::2]
    np.testing.assert_array_equal(np.flatnonzero(blades[0] == 2), [1, 2, 3, 4, 6, 8])
    np.testing.assert_array_equal(np.flatnonzero(blades[11] == 2), [3, 7, 8, 9, 10])


def test_interleaved_accesses_cost_what_the_tables_say() -> None:
    """Mean over all nodes, relative to local: 2.79 and 1.86; 6.47 and 5.13; 6.58 and 5.21."""
    for name, domain, read, write in (
        ("opteron64", 0, 2.79, 1.86),
        ("sgi_uv2000_192", 0, 6.47, 5.13),
        ("sgi_uv2000_192", 23, 6.58, 5.21),
    ):
        row = load_machine(name).paths[domain]
        reads = [1 / path.core_cap_bytes_per_s[0] for path in row]
        writes = [1 / path.write_core_cap[0] for path in row]
        assert np.mean(reads) / min(reads) == pytest.approx(read, abs=0.006)
        assert np.mean(writes) / min(writes) == pytest.approx(write, abs=0.006)
