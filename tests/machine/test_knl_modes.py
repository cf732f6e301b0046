"""Cluster and memory modes of Knights Landing, and the node of the Charm++ study."""

import pytest

from simsched.machine import load_machine

GIB = 2**30


def test_the_node_of_the_charm_study_has_the_published_figures() -> None:
    machine = load_machine("knl_a2a_flat_charm")
    assert (machine.n_domains, machine.n_cores, machine.n_threads) == (1, 68, 272)
    assert machine.caches[1].core_instance.max() + 1 == 34  # tiles
    ddr4, mcdram = machine.nodes
    assert (ddr4.kind, ddr4.capacity_bytes) == ("DRAM", 96 * GIB)
    assert (mcdram.kind, mcdram.capacity_bytes) == ("HBM", 16 * GIB)
    assert ddr4.capacity_bytes == 6 * mcdram.capacity_bytes
    assert mcdram.bandwidth_bytes_per_s == pytest.approx(4 * ddr4.bandwidth_bytes_per_s)
    assert machine.paths[0][1].latency_ps < 1.25 * machine.paths[0][0].latency_ps


def test_its_cache_mode_has_the_same_cores_and_no_second_node() -> None:
    flat, cached = load_machine("knl_a2a_flat_charm"), load_machine("knl_a2a_cache_charm")
    (node,) = cached.nodes
    side = node.memory_side_cache
    assert side is not None
    assert side.capacity_bytes == flat.nodes[1].capacity_bytes
    assert cached.core_groups == flat.core_groups
    assert cached.costs == flat.costs


@pytest.mark.parametrize("memory", ["flat", "cache"])
def test_hemisphere_lies_between_quadrant_and_all_to_all(memory: str) -> None:
    latencies = [
        [path.latency_ps for path in load_machine(f"knl_{mode}_{memory}").paths[0]]
        for mode in ("quadrant", "hemisphere", "a2a")
    ]
    assert latencies == sorted(latencies)
    assert len({tuple(values) for values in latencies}) == 3


@pytest.mark.parametrize("memory", ["flat", "cache"])
def test_sub_numa_clusters_divide_the_same_memory(memory: str) -> None:
    whole, halves, quarters = (
        load_machine(f"knl_{mode}_{memory}") for mode in ("a2a", "snc2", "snc4")
    )
    assert [m.n_domains for m in (whole, halves, quarters)] == [1, 2, 4]
    for kind in {node.kind for node in whole.nodes}:
        capacity = {
            sum(n.capacity_bytes for n in m.nodes if n.kind == kind)
            for m in (whole, halves, quarters)
        }
        bandwidth = {
            sum(n.bandwidth_bytes_per_s for n in m.nodes if n.kind == kind)
            for m in (whole, halves, quarters)
        }
        assert len(capacity) == len(bandwidth) == 1
    assert len({m.n_threads for m in (whole, halves, quarters)}) == 1


def test_hybrid_mode_uses_the_fast_memory_once() -> None:
    flat, hybrid = load_machine("knl_a2a_flat"), load_machine("knl_a2a_hybrid")
    dram, hbm = hybrid.nodes
    side = dram.memory_side_cache
    assert side is not None
    assert side.capacity_bytes + hbm.capacity_bytes == flat.nodes[1].capacity_bytes
    fast = side.bandwidth_bytes_per_s + hbm.bandwidth_bytes_per_s
    assert fast <= flat.nodes[1].bandwidth_bytes_per_s
