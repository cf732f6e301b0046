"""The machines of the NUMA dataflow study against its Tables 1 and 2 and its description."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload

GIB = 2**30
LINES = 2**24  #: of 64 bytes in 1 GiB
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


@pytest.mark.parametrize(("name", "node", "read_ms", "write_ms"), TRAVERSALS)
def test_a_traversal_line_by_line_takes_the_published_time(
    name: str, node: int, read_ms: float, write_ms: float
) -> None:
    """The tables say what one line takes, 2**24 times: the latency of a path."""
    path = load_machine(name).paths[0][node]
    assert path.latency_ps * 1e-9 * LINES == pytest.approx(read_ms, rel=1e-3)
    assert path.write_latency * 1e-9 * LINES == pytest.approx(write_ms, rel=1e-3)


@pytest.mark.parametrize(("name", "in_flight"), [("opteron64", 23 / 2), ("sgi_uv2000_192", 10)])
def test_a_core_has_as_many_lines_in_flight_as_its_vendor_says(name: str, in_flight: float) -> None:
    """Opteron 6282 SE: 23 misses of the cache that two cores share. Xeon E5: 10 fill buffers."""
    for row in load_machine(name).paths:
        for path in row:
            read_s, write_s = path.latency_ps * 1e-12, path.write_latency * 1e-12
            assert path.core_cap_bytes_per_s[0] == pytest.approx(in_flight * 64 / read_s, rel=1e-3)
            assert path.write_core_cap[0] == pytest.approx(in_flight * 64 / write_s, rel=1e-3)


def test_a_stream_is_faster_than_a_line_after_the_other() -> None:
    """1 GiB read by one core of opteron64: locally 76.8 ns and 2**30 / 9.583e9 s, 112.05 ms."""
    machine = replace(load_machine("opteron64"), caches=())
    graph = build_graph([0.0], accessed=accesses([0], [0], GIB, 0, 1), block_bytes=[GIB])
    policy = make_policy("cilk", {"placement": "first_touch"})
    run = simulate(machine, Workload("stream", graph), policy, workers=1, pinning="compact")
    assert run.makespan_s * 1e3 == pytest.approx(112.05, rel=1e-4)


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
