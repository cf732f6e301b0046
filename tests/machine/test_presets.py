"""The shipped machines, compared with the figures of their sources."""

import numpy as np
import pytest

from simsched.machine import check_machine, list_machines, load_machine
from simsched.machine.model import Machine
from simsched.machine.schema import PathRule

GIB = 2**30
NAMES = [
    "amd_4x_opteron8380",
    "intel_4x_x7560",
    "knl_a2a_cache",
    "knl_a2a_flat",
    "knl_quadrant_cache",
    "knl_quadrant_flat",
    "knl_snc4_cache",
    "knl_snc4_flat",
    "opteron48",
    "opteron64",
    "sgi_uv2000_192",
]


def _shape(machine: Machine) -> tuple[int, int, int, int]:
    return machine.n_sockets, machine.n_domains, machine.n_cores, machine.n_threads


def test_list_holds_the_documented_machines() -> None:
    assert set(NAMES) <= set(list_machines())
    assert list_machines() == sorted(list_machines())


@pytest.mark.parametrize("name", list_machines())
def test_shipped_machine_is_sound(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert check_machine(name) == []
    assert len(machine.paths) == machine.n_domains
    assert all(len(row) == len(machine.nodes) for row in machine.paths)
    assert all(path.links == () for row in machine.paths for path in row) == (not machine.links)
    assert sorted(machine.thread_core.tolist()) == sorted(
        core
        for core, group in enumerate(machine.core_group.tolist())
        for _ in machine.core_groups[group].smt_throughput
    )
    for row in machine.touch_order.tolist():
        assert sorted(row) == list(range(len(machine.nodes)))


@pytest.mark.parametrize("name", list_machines())
def test_every_value_names_a_declared_source(name: str) -> None:
    sources = load_machine(name).sources
    declared = {key.removeprefix("sources.") for key in sources if key.startswith("sources.")}
    values = {key: text for key, text in sources.items() if not key.startswith("sources.")}
    assert len(values) > 20
    assert {text.split()[0].rstrip(":,") for text in values.values()} <= declared


@pytest.mark.parametrize("name", list_machines())
def test_what_is_fitted_names_the_claims_used(name: str) -> None:
    fitted = [text for text in load_machine(name).sources.values() if "calibrated:" in text]
    assert all("calibrated on the claims of" in text for text in fitted)


def test_knl_snc4_flat_has_the_published_figures() -> None:
    machine = load_machine("knl_snc4_flat")
    assert _shape(machine) == (4, 4, 64, 256)
    assert [node.kind for node in machine.nodes] == ["DRAM"] * 4 + ["HBM"] * 4
    assert [node.domain for node in machine.nodes] == [0, 1, 2, 3] * 2
    # One node alone gets half of the package; with the other one of its controller a quarter.
    assert {node.bandwidth_bytes_per_s for node in machine.nodes[:4]} == {34.5e9}
    assert [node.controller for node in machine.nodes[:4]] == [0, 0, 1, 1]
    assert {each.bandwidth_bytes_per_s for each in machine.controllers} == {35.5e9}
    assert {node.peak_bandwidth_bytes_per_s for node in machine.nodes[:4]} == {22.5e9}
    assert {node.bandwidth_bytes_per_s for node in machine.nodes[4:]} == {96e9}
    assert {node.capacity_bytes for node in machine.nodes[:4]} == {32 * GIB}
    assert {node.capacity_bytes for node in machine.nodes[4:]} == {4 * GIB}
    assert {node.page_bytes for node in machine.nodes} == {4096}
    assert machine.core_groups[0].ops_per_s == 8 * 1.3e9
    assert len(machine.core_groups[0].smt_throughput) == 4


def test_knl_snc4_flat_paths() -> None:
    paths = load_machine("knl_snc4_flat").paths
    assert (paths[1][1].latency_ps, paths[1][5].latency_ps) == (145_000, 160_000)
    assert round(paths[0][4].latency_ps / paths[0][0].latency_ps, 1) == 1.1
    assert {
        row[node].node_weight for d, row in enumerate(paths) for node in range(4) if node != d
    } == {1.09}
    assert {row[4 + n].node_weight for d, row in enumerate(paths) for n in range(4) if n != d} == {
        1.05
    }
    assert {paths[d][n].node_weight for d in range(4) for n in (d, d + 4)} == {1.0}
    # One thread alone, and each of two or more on a tile.
    for nodes, caps in ((range(4), (12.2e9, 8.5e9)), (range(4, 8), (11.5e9, 9e9))):
        for row in paths:
            for node in nodes:
                table = row[node].core_cap_bytes_per_s
                assert table[0] == caps[0]
                assert [table[k] / (k + 1) for k in range(1, 8)] == pytest.approx([caps[1]] * 7)


def test_a_rule_caps_cores_or_threads() -> None:
    caps = {"core_cap": ["1 GB/s", "a"], "thread_cap": ["1 GB/s", "a"]}
    with pytest.raises(ValueError, match="found beside core_cap"):
        PathRule.model_validate(caps)


def test_knl_first_touch_never_prefers_hbm() -> None:
    order = load_machine("knl_snc4_flat").touch_order.tolist()
    assert order == [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [1, 0, 2, 3, 5, 4, 6, 7],
        [2, 0, 1, 3, 6, 4, 5, 7],
        [3, 0, 1, 2, 7, 4, 5, 6],
    ]


def test_knl_caches_and_costs() -> None:
    machine = load_machine("knl_snc4_flat")
    first, second = machine.caches
    assert (first.capacity_bytes, second.capacity_bytes) == (32 * 1024, 1024 * 1024)
    assert second.core_instance.tolist() == [core // 2 for core in range(64)]
    assert (first.latency_ps, second.latency_ps) == (3080, 13080)
    assert machine.costs.page_migration_ps == 1_500_000
    assert machine.costs.hotness_sample_ps == 3_000_000
    assert machine.costs.steal_probe_ps == (25_000, 80_000, 100_000)
    assert machine.costs.steal_ps == (300_000, 500_000, 1_000_000)


@pytest.mark.parametrize(
    ("mode", "hbm", "cache"), [("a2a", 353e9, 222e9), ("quadrant", 400e9, 249e9)]
)
def test_knl_modes_without_domains(mode: str, hbm: float, cache: float) -> None:
    flat = load_machine(f"knl_{mode}_flat")
    assert _shape(flat) == (1, 1, 64, 256)
    assert [(n.kind, n.bandwidth_bytes_per_s, n.capacity_bytes) for n in flat.nodes] == [
        ("DRAM", 71e9, 128 * GIB),
        ("HBM", hbm, 16 * GIB),
    ]
    cached = load_machine(f"knl_{mode}_cache")
    (node,) = cached.nodes
    assert (node.bandwidth_bytes_per_s, node.capacity_bytes) == (71e9, 128 * GIB)
    side = node.memory_side_cache
    assert side is not None
    assert side.capacity_bytes == 16 * GIB
    assert side.bandwidth_bytes_per_s == cache
    assert 3_000 <= side.hit_latency_ps - flat.paths[0][1].latency_ps <= 4_000
    assert side.miss_latency_ps >= 270_000
    assert cached.costs == flat.costs == load_machine("knl_snc4_flat").costs


def test_knl_snc4_cache_splits_the_cache_over_the_domains() -> None:
    whole = load_machine("knl_a2a_cache").nodes[0].memory_side_cache
    machine = load_machine("knl_snc4_cache")
    assert _shape(machine) == (4, 4, 64, 256)
    assert machine.kinds == ("cpu",)
    assert [node.kind for node in machine.nodes] == ["DRAM"] * 4
    for node in machine.nodes:
        side = node.memory_side_cache
        assert whole is not None
        assert side is not None
        assert side.capacity_bytes * 4 == whole.capacity_bytes
        assert side.bandwidth_bytes_per_s * 4 == pytest.approx(
            whole.bandwidth_bytes_per_s, rel=0.06
        )


def test_opteron8380_has_the_published_figures() -> None:
    machine = load_machine("amd_4x_opteron8380")
    assert _shape(machine) == (4, 4, 16, 16)
    assert machine.core_groups[0].ops_per_s == 2.5e9
    assert [(c.name, c.capacity_bytes // 1024) for c in machine.caches] == [
        ("L1", 64),
        ("L2", 512),
        ("L3", 6144),
    ]
    assert machine.caches[2].core_instance.tolist() == machine.core_domain.tolist()
    assert sum(node.capacity_bytes for node in machine.nodes) == 16 * GIB
    assert {node.bandwidth_bytes_per_s for node in machine.nodes} == {10e9}
    costs = machine.costs
    assert (costs.spawn_child_first_ps, costs.spawn_parent_first_ps) == (20_000, 50_000)
    assert costs.steal_ps[1:] == (200_000, 1_000_000)
    assert costs.steal_probe_ps[1:] == (100_000, 300_000)


def test_opteron8380_links_form_an_evenly_loaded_square() -> None:
    machine = load_machine("amd_4x_opteron8380")
    assert machine.domain_hops.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]
    latencies = np.array([[path.latency_ps for path in row] for row in machine.paths])
    assert np.array_equal(latencies, np.array([100_000, 110_000, 130_000])[machine.domain_hops])
    crossed = [link for row in machine.paths for path in row for link in path.links]
    assert machine.links[0].name == "probes"  # crossed by all of the 16 paths
    assert np.bincount(crossed).tolist() == [16] + [2] * 8
    assert [len(path.links) for path in machine.paths[0]] == [1, 2, 2, 3]
    near = machine.links[machine.paths[0][1].links[1]]
    assert near.name == "ht1>0"  # data comes from the node's socket


def test_x7560_has_the_published_figures() -> None:
    machine = load_machine("intel_4x_x7560")
    assert _shape(machine) == (4, 4, 32, 32)
    assert machine.core_groups[0].ops_per_s == 2.262e9
    assert [(c.name, c.capacity_bytes // 1024) for c in machine.caches] == [
        ("L1", 32),
        ("L2", 256),
        ("L3", 24 * 1024),
    ]
    assert machine.caches[2].core_instance.tolist() == machine.core_domain.tolist()
    assert sum(node.capacity_bytes for node in machine.nodes) == 64 * GIB
    assert (machine.domain_hops == 1 - np.eye(4)).all()
    for domain, row in enumerate(machine.paths):
        assert [path.latency_ps for path in row] == [
            160_000 if node == domain else 232_000 for node in range(4)
        ]
        assert [len(path.links) for path in row] == [int(node != domain) for node in range(4)]
    assert len(machine.links) == 12


def test_opteron48_matches_the_measured_machine() -> None:
    machine = load_machine("opteron48")
    assert _shape(machine) == (4, 8, 48, 48)
    assert machine.core_groups[0].ops_per_s == 2.1e9
    distances = np.array([10, 16, 22])[machine.domain_hops]
    assert distances.tolist() == [
        [10, 16, 16, 22, 16, 22, 16, 22],
        [16, 10, 22, 16, 22, 16, 22, 16],
        [16, 22, 10, 16, 16, 22, 16, 22],
        [22, 16, 16, 10, 22, 16, 22, 16],
        [16, 22, 16, 22, 10, 16, 16, 22],
        [22, 16, 22, 16, 16, 10, 22, 16],
        [16, 22, 16, 22, 16, 22, 10, 16],
        [22, 16, 22, 16, 22, 16, 16, 10],
    ]
    assert [path.latency_ps for path in machine.paths[0][:4]] == [76_800, 138_800, 165_800, 333_900]
    assert machine.caches[2].core_instance.tolist() == machine.core_domain.tolist()
