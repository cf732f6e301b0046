"""Where blocks live."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simsched.engine.problem import check_capacity
from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import Placement, PlanView
from simsched.policy.parts.placement import list_placements, placement, placement_rule
from simsched.policy.parts.placement_by_share import leaf_of_block, range_starts
from simsched.workload.builder import accesses, adjacency, build_graph, first_touch_loop
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import make_small_workload
from tests.engine.test_copies import MB, device_machine

KNL = {
    "domains": 4,
    "hbm_per_domain": True,
    "dram_bandwidth_bytes_per_s": 22.5e9,
    "hbm_bandwidth_bytes_per_s": 96e9,
}


def view_of(machine: Machine, blocks: Any, init: TaskGraph | None = None) -> PlanView:
    sizes = np.asarray(blocks, np.int64)
    workload = Workload("w", build_graph([1.0], block_bytes=sizes), init=init)
    threads = machine.place_workers()
    domain = machine.core_domain[machine.thread_core[threads]]
    return PlanView(machine, workload, threads, domain, np.random.default_rng(0))


def place(name: str, machine: Machine, blocks: Any, init: TaskGraph | None = None) -> Placement:
    return placement_rule(name)(view_of(machine, blocks, init))


def test_the_published_ranges() -> None:
    starts = range_starts([22.5] * 4 + [96.0] * 4, 8192)
    assert starts == [0, 389, 778, 1167, 1556, 3215, 4874, 6533]


@given(st.lists(st.floats(0.1, 1e12), min_size=1, max_size=8), st.integers(0, 10**6))
def test_ranges_cover_every_leaf_in_proportion(shares: list[float], n: int) -> None:
    ends = [*range_starts(shares, n), n]
    assert ends[0] == 0
    for share, start, end in zip(shares, ends, ends[1:], strict=False):
        exact = Fraction(share) * n / sum(map(Fraction, shares))
        assert abs(end - start - exact) < 1


def test_exact_boundaries_are_not_shifted_by_rounding() -> None:
    # 0.1 + 0.2 > 0.3 in floating point.
    assert range_starts([0.1] * 10, 1000) == list(range(0, 1000, 100))


def test_weighted_gives_each_node_one_part() -> None:
    home = place("weighted", make_machine(**KNL), np.full(8192, 4096)).home
    assert np.all(np.diff(home) >= 0)
    assert np.bincount(home).tolist() == [389] * 4 + [1659] * 4


def test_even_gives_each_node_the_same() -> None:
    home = place("even", make_machine(**KNL), np.full(64, 4096)).home
    assert home.tolist() == np.repeat(np.arange(8), 8).tolist()


def test_weighted_follows_the_leaves_of_the_initialisation() -> None:
    machine = make_machine(domains=2)
    sizes = np.full(4, 100)
    # Blocks are touched in the order 3, 1, 0, 2.
    init = build_graph(
        np.ones(4), accessed=accesses(np.arange(4), [3, 1, 0, 2], 0, 100, 4), block_bytes=sizes
    )
    assert leaf_of_block(init).tolist() == [2, 1, 3, 0]
    assert place("weighted", machine, sizes, init).home.tolist() == [1, 0, 1, 0]


def test_leaves_are_counted_in_the_order_of_the_tree() -> None:
    # The root is task 3 with children 2 (a leaf, block 1) and 0; 0 has the leaf 1 (block 0).
    init = build_graph(
        np.ones(4),
        children=adjacency([3, 3, 0], [2, 0, 1], 4),
        accessed=accesses([1, 2], [0, 1], 0, 100, 4),
        block_bytes=[100, 100],
    )
    assert leaf_of_block(init).tolist() == [1, 0]


def test_two_arrays_touched_by_the_same_leaf_stay_together() -> None:
    sizes = np.full(8, 100)
    init = build_graph(
        np.ones(4),
        accessed=accesses(np.tile(np.arange(4), 2), np.arange(8), 0, 100, 4),
        block_bytes=sizes,
    )
    home = place("weighted", make_machine(domains=2), sizes, init).home
    assert home.tolist() == [0, 0, 1, 1] * 2


def test_blocks_that_no_leaf_touches_are_divided_by_index() -> None:
    sizes = np.full(8, 100)
    init = build_graph(np.ones(2), accessed=accesses([0, 1], [0, 1], 0, 100, 2), block_bytes=sizes)
    home = place("weighted", make_machine(domains=2), sizes, init).home
    assert home.tolist() == [0, 1, 0, 0, 0, 1, 1, 1]


def test_what_does_not_fit_into_hbm_goes_to_dram_in_proportion() -> None:
    machine = make_machine(**KNL, hbm_capacity_bytes=100 * 1000)
    home = place("weighted", machine, np.full(8192, 100)).home
    count = np.bincount(home, minlength=8)
    assert count[4:].tolist() == [1000] * 4
    # 389 of their own, and a quarter each of the excess of 4 * 659.
    assert count[:4].tolist() == [389 + 659] * 4


def test_excess_leaves_out_dram_nodes_that_are_full() -> None:
    machine = make_machine(**KNL, hbm_capacity_bytes=100 * 1000)
    small = replace(machine.nodes[0], capacity_bytes=100 * 400)
    machine = replace(machine, nodes=(small, *machine.nodes[1:]))
    home = place("weighted", machine, np.full(8192, 100)).home
    count = np.bincount(home, minlength=8)
    assert count[0] == 400
    assert count[4:].tolist() == [1000] * 4
    assert count[1:4].sum() == 8192 - 4400


def test_too_much_for_all_nodes_is_the_engines_error() -> None:
    machine = make_machine(dram_capacity_bytes=1000)
    for name in ("weighted", "even", "interleave"):
        view = view_of(machine, np.full(30, 100))
        with pytest.raises(ModelError, match="bytes placed, accepted at most 1000"):
            check_capacity(machine, view.workload, placement_rule(name)(view))


def test_first_touch_keeps_the_systems_order() -> None:
    machine = make_machine(**KNL)
    found = place("first_touch", machine, [100])
    assert found.home.tolist() == [-1]
    assert np.array_equal(found.touch_order, machine.touch_order)


def test_all_dram_never_spills_into_hbm() -> None:
    assert place("all_dram", make_machine(**KNL), [100]).touch_order.tolist() == [
        [0, 1, 2, 3],
        [1, 0, 2, 3],
        [2, 0, 1, 3],
        [3, 0, 1, 2],
    ]


def test_membind_hbm_takes_the_nearest_hbm_node_first() -> None:
    found = place("membind_hbm", make_machine(**KNL), [100])
    assert found.touch_order[2].tolist() == [6, 4, 5, 7]


def test_membind_hbm_refuses_more_than_hbm_holds() -> None:
    machine = make_machine(**KNL, hbm_capacity_bytes=1000)
    view = view_of(machine, np.full(41, 100))
    with pytest.raises(ModelError, match="found 4100 bytes for first touch, accepted at most 4000"):
        check_capacity(machine, view.workload, placement_rule("membind_hbm")(view))


def test_membind_nvm_uses_no_other_memory() -> None:
    machine = make_machine(**KNL)
    nodes = [replace(node, kind="NVM") if node.kind == "HBM" else node for node in machine.nodes]
    found = place("membind_nvm", replace(machine, nodes=tuple(nodes)), [100])
    assert found.touch_order[2].tolist() == [6, 4, 5, 7]
    with pytest.raises(ModelError, match="memory kind 'NVM'"):
        place("membind_nvm", machine, [100])


def test_membind_hbm_needs_hbm() -> None:
    with pytest.raises(ModelError, match="memory kind 'HBM'"):
        place("membind_hbm", make_machine(), [100])


def test_cached_dram_is_what_lies_behind_a_memory_side_cache() -> None:
    hybrid = load_machine("knl_snc4_hybrid")
    assert set(place("cached_dram", hybrid, [100]).touch_order.ravel()) == {0, 1, 2, 3}
    with pytest.raises(ModelError, match="no memory node has a memory-side cache"):
        place("cached_dram", load_machine("knl_snc4_flat"), [100])


@pytest.mark.parametrize("policy", ["cilk_c", "laws_c", "charm_cache_mode"])
def test_policies_for_cache_mode_need_such_a_cache(policy: str) -> None:
    workload = make_small_workload("heat")
    message = "machine knl_a2a_flat: no memory node has a memory-side cache"
    with pytest.raises(ModelError, match=message):
        simulate(load_machine("knl_a2a_flat"), workload, make_policy(policy), workers=4)
    for mode in ("cache", "hybrid"):
        simulate(load_machine(f"knl_a2a_{mode}"), workload, make_policy(policy), workers=4)


@pytest.mark.parametrize(("name", "family"), [("cilk_h", "random_stealing"), ("laws_h", "laws")])
def test_the_policy_and_parameter_that_need_hbm_are_named(name: str, family: str) -> None:
    expected = (
        f"policy {family}: parameter placement: 'membind_hbm' does not fit: machine synthetic: "
        "unknown memory kind 'HBM'; accepted: DRAM"
    )
    with pytest.raises(ModelError, match=expected):
        make_policy(name).place(view_of(make_machine(), [100]), None)


def test_prefer_hbm_spills_to_dram() -> None:
    found = place("prefer_hbm", make_machine(**KNL), [100])
    assert found.touch_order[1].tolist() == [5, 4, 6, 7, 1, 0, 2, 3]


def test_interleave_deals_out_in_turn() -> None:
    home = place("interleave", make_machine(domains=3), np.full(7, 100)).home
    assert home.tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_interleave_leaves_out_full_nodes() -> None:
    machine = make_machine(domains=3)
    small = replace(machine.nodes[1], capacity_bytes=100)
    machine = replace(machine, nodes=(machine.nodes[0], small, machine.nodes[2]))
    home = place("interleave", machine, np.full(7, 100)).home
    assert home.tolist() == [0, 1, 2, 0, 2, 0, 2]


def test_device_memory_is_never_used() -> None:
    machine = make_machine(domains=2, hbm_per_domain=True)
    nodes = [replace(node, has_driver=node.kind == "HBM") for node in machine.nodes]
    machine = replace(machine, nodes=tuple(nodes))
    for name in ("first_touch", "interleave", "weighted", "even"):
        found = place(name, machine, np.full(40, 100))
        assert set(found.home.tolist()) <= {-1, 0, 1}
        if found.home[0] < 0:
            assert found.touch_order.tolist() == [[0, 1], [1, 0]]


def test_every_placement_is_described_and_works_without_blocks() -> None:
    for name, description in list_placements().items():
        assert description.endswith(".")
        machine = "samr_cluster_slow" if name.endswith("nvm") else "knl_snc4_hybrid"
        assert len(place(name, load_machine(machine), []).home) == 0


def test_a_taken_name_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'even': registered twice, by simsched\..*even and by tests\."
    ):
        placement("even")(lambda view: Placement(view, view))


def test_the_initialisation_loop_places_like_the_block_index() -> None:
    sizes = np.full(100, 100)
    machine = make_machine(**KNL)
    with_init = place("weighted", machine, sizes, first_touch_loop(sizes, 1.0)).home
    assert np.array_equal(with_init, place("weighted", machine, sizes).home)


def test_copied_data_are_in_the_hosts_memory_at_the_start() -> None:
    # 7 blocks of 10 MB: 4 fit into the first of two nodes of the host, none into the device's.
    machine = device_machine(devices=2, capacity_bytes=45 * MB)
    nodes = [replace(node, capacity_bytes=45 * MB) for node in machine.nodes]
    nodes[1] = replace(nodes[1], kind="DRAM", has_driver=False)
    two = replace(machine, nodes=tuple(nodes))
    blocks = np.full(7, 10 * MB)
    for name in ("first_touch", "all_dram"):
        assert place(name, two, blocks).home.tolist() == [0, 0, 0, 0, 1, 1, 1]
        assert place(name, machine, blocks).home.tolist() == [0] * 7
    # Each block goes into the first node where it has room, smaller ones also behind larger ones.
    uneven = np.array([10, 40, 15, 20, 5]) * MB
    assert place("first_touch", two, uneven).home.tolist() == [0, 1, 0, 0, 1]
    assert place("first_touch", make_machine(), blocks).home.tolist() == [-1] * 7
