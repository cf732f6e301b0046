"""Machines made by `make_machine`."""

import math

import pytest

from simsched.machine.caches import MemorySideCache
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine


def test_defaults_are_two_domains_with_unbounded_cores() -> None:
    machine = make_machine()
    assert (machine.n_domains, machine.n_sockets, machine.n_cores, machine.n_threads) == (
        2,
        2,
        4,
        4,
    )
    assert [(node.name, node.kind, node.domain) for node in machine.nodes] == [
        ("dram0", "DRAM", 0),
        ("dram1", "DRAM", 1),
    ]
    assert machine.links == ()
    assert all(path.core_cap_bytes_per_s == (math.inf,) for row in machine.paths for path in row)
    assert machine.core_domain.tolist() == [0, 0, 1, 1]
    assert machine.touch_order.tolist() == [[0, 1], [1, 0]]


def test_threads_are_numbered_rank_by_rank() -> None:
    machine = make_machine(domains=1, cores_per_domain=3, smt_throughput=(1.0, 1.5))
    assert machine.thread_core.tolist() == [0, 1, 2, 0, 1, 2]


def test_hbm_nodes_follow_dram_and_are_touched_last() -> None:
    machine = make_machine(domains=4, domains_per_socket=4, hbm_per_domain=True)
    assert machine.n_sockets == 1
    assert machine.nodes_of_kind("HBM") == [4, 5, 6, 7]
    assert machine.touch_order[2].tolist() == [2, 0, 1, 3, 6, 4, 5, 7]


def test_remote_paths_cross_the_link_and_weigh_more() -> None:
    machine = make_machine(
        link_bandwidth_bytes_per_s=5e9,
        remote_weight=1.25,
        local_latency_ps=3,
        remote_latency_ps=7,
        core_cap_bytes_per_s=(2e9, 3e9),
    )
    local, remote = machine.paths[0]
    assert (local.latency_ps, local.links, local.node_weight) == (3, (), 1.0)
    assert (remote.latency_ps, remote.links, remote.node_weight) == (7, (0,), 1.25)
    assert remote.core_cap_bytes_per_s == (2e9, 3e9)
    assert machine.links[0].bandwidth_bytes_per_s == 5e9


def test_caches_group_consecutive_cores() -> None:
    machine = make_machine(
        cores_per_domain=4, caches=[("L1", 1024, 64e9, 1000, 1), ("L2", 4096, 32e9, 5000, 4)]
    )
    assert [level.core_instance.tolist() for level in machine.caches] == [
        list(range(8)),
        [0] * 4 + [1] * 4,
    ]


@pytest.mark.parametrize(
    ("steal_ps", "same_core", "same_domain", "other_domain"),
    [((5, 7, 11), 5, 7, 11), ((5, 7), 5, 7, 7), ((5,), 5, 5, 5)],
)
def test_a_steal_costs_what_its_distance_says(
    steal_ps: tuple[int, ...], same_core: int, same_domain: int, other_domain: int
) -> None:
    machine = make_machine(smt_throughput=(1.0, 1.0), costs=RuntimeCosts(steal_ps=steal_ps))
    others = [4, 1, 2]  # the other thread of core 0, one of core 1, one of the other domain
    costs = [machine.steal_ps(0, other) for other in others]
    assert costs == [same_core, same_domain, other_domain]


def test_memory_side_cache_stands_before_dram_only() -> None:
    cache = MemorySideCache(1 << 20, 64, 20e9, 100, 200)
    machine = make_machine(hbm_per_domain=True, memory_side_cache=cache)
    assert [node.memory_side_cache for node in machine.nodes] == [cache, cache, None, None]


@pytest.mark.parametrize(
    "array",
    ["thread_core", "core_group", "core_domain", "domain_socket", "domain_hops", "touch_order"],
)
def test_index_arrays_are_int32(array: str) -> None:
    assert getattr(make_machine(hbm_per_domain=True), array).dtype == "int32"
