"""Cluster and memory modes of Knights Landing, and the node of the Charm++ study."""

import pytest

from simsched.machine import load_machine

GIB = 2**30
MEMORY_MODES = ["flat", "cache", "hybrid"]


def test_the_node_of_the_charm_study_has_the_published_figures() -> None:
    machine = load_machine("knl_a2a_flat_charm")
    assert (machine.n_domains, machine.n_cores, machine.n_threads) == (1, 68, 272)
    assert machine.caches[1].core_instance.max() + 1 == 34  # tiles
    ddr4, mcdram = machine.nodes
    assert (ddr4.kind, ddr4.capacity_bytes) == ("DRAM", 96 * GIB)
    assert (mcdram.kind, mcdram.capacity_bytes) == ("HBM", 16 * GIB)
    assert ddr4.capacity_bytes == 6 * mcdram.capacity_bytes
    # Triads, one of whose three words is written, are four times as fast.
    triad = 3 / (2 + machine.paths[0][0].write_weight) * ddr4.bandwidth_bytes_per_s
    assert triad == pytest.approx(88.4e9, rel=1e-3)
    assert mcdram.bandwidth_bytes_per_s == pytest.approx(4 * triad, rel=1e-3)
    assert machine.paths[0][1].latency_ps < 1.25 * machine.paths[0][0].latency_ps


def test_its_cache_mode_has_the_same_cores_and_no_second_node() -> None:
    flat, cached = load_machine("knl_a2a_flat_charm"), load_machine("knl_a2a_cache_charm")
    (node,) = cached.nodes
    side = node.memory_side_cache
    assert side is not None
    assert side.capacity_bytes == flat.nodes[1].capacity_bytes
    assert cached.core_groups == flat.core_groups
    assert cached.costs == flat.costs
    # Behind the cache is the same DDR4, where a written byte weighs as much.
    assert node.bandwidth_bytes_per_s == flat.nodes[0].bandwidth_bytes_per_s
    assert cached.paths[0][0].write_weight == flat.paths[0][0].write_weight


@pytest.mark.parametrize("memory", MEMORY_MODES)
def test_hemisphere_lies_between_quadrant_and_all_to_all(memory: str) -> None:
    latencies = [
        [path.latency_ps for path in load_machine(f"knl_{mode}_{memory}").paths[0]]
        for mode in ("quadrant", "hemisphere", "a2a")
    ]
    assert latencies == sorted(latencies)
    assert len({tuple(values) for values in latencies}) == 3


@pytest.mark.parametrize("memory", MEMORY_MODES)
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
        assert len(capacity) == 1
    assert len({m.n_threads for m in (whole, halves, quarters)}) == 1


@pytest.mark.parametrize("clusters", ["a2a", "hemisphere", "quadrant", "snc2", "snc4"])
def test_hybrid_mode_uses_the_fast_memory_once(clusters: str) -> None:
    flat, hybrid = load_machine(f"knl_{clusters}_flat"), load_machine(f"knl_{clusters}_hybrid")
    cached = load_machine(f"knl_{clusters}_cache")
    assert [node.kind for node in hybrid.nodes] == [node.kind for node in flat.nodes]
    fast = [hybrid.nodes[i] for i in hybrid.nodes_of_kind("HBM")]
    sides = [hybrid.nodes[i].memory_side_cache for i in hybrid.nodes_of_kind("DRAM")]
    for hbm, side, whole in zip(fast, sides, cached.nodes, strict=True):
        assert side is not None
        assert whole.memory_side_cache is not None
        assert (
            side.capacity_bytes == hbm.capacity_bytes == whole.memory_side_cache.capacity_bytes / 2
        )
        assert side.hit_latency_ps == whole.memory_side_cache.hit_latency_ps
    node = flat.nodes[flat.nodes_of_kind("HBM")[0]]
    for hbm, side in zip(fast, sides, strict=True):
        assert side is not None
        assert side.capacity_bytes + hbm.capacity_bytes == node.capacity_bytes
        used = side.bandwidth_bytes_per_s + hbm.bandwidth_bytes_per_s
        assert used <= node.bandwidth_bytes_per_s
    assert [hybrid.paths[0][i].latency_ps for i in range(len(hybrid.nodes))] == [
        path.latency_ps for path in flat.paths[0]
    ]
