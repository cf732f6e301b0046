"""Hotness and algorithm 1, checked against examples worked out by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simsched.policy.parts.traffic import (
    balanced_traffic,
    choose_moves,
    hotness,
    node_traffic,
    sample_pages,
)

PLENTY = 10**9


def moves(
    hot: Sequence[float],
    home: Sequence[int],
    bandwidth: Sequence[float],
    *,
    room: Sequence[int] | None = None,
) -> list[tuple[int, int]]:
    blocks, nodes = choose_moves(
        np.array(hot, float),
        np.array(home, np.int32),
        bandwidth,
        [PLENTY] * len(bandwidth) if room is None else room,
        np.full(len(hot), 100),
    )
    return list(zip(blocks.tolist(), nodes.tolist(), strict=True))


def test_hotness_scales_the_mean_of_the_samples() -> None:
    touched = np.array([1 + 2 + 1, 0, 4 * 5])
    assert hotness(touched, np.array([512, 512, 100]), 4).tolist() == [512.0, 0.0, 500.0]


def test_traffic_and_its_balance() -> None:
    traffic = node_traffic(np.array([3.0, 4.0, 5.0, 9.0]), np.array([0, 1, 0, -1], np.int32), 3)
    assert traffic.tolist() == [8.0, 4.0, 0.0]
    assert balanced_traffic(traffic, [1.0, 2.0, 1.0]).tolist() == [3.0, 6.0, 3.0]


# Node 0 has 8 of 12 units of traffic, node 1 has 4, node 2 none; all should have 4.
HOT = [5.0, 2.0, 1.0, 4.0]
HOME = [0, 0, 0, 1]


def test_the_balance_does_not_depend_on_how_numpy_adds_up() -> None:
    # Added from left to right, or in eight partial sums, the ones would be lost.
    traffic = np.array([1e16, *[1.0] * 16])
    assert balanced_traffic(traffic, [1.0] + [0.0] * 16)[0] == 1e16 + 16


def test_the_hottest_block_that_fits_both_sides_moves_first() -> None:
    # Excess 4 on node 0, request 4 on node 2: 5 is too hot, then 2 (leaving 2 and 2), then 1.
    assert moves(HOT, HOME, [1.0, 1.0, 1.0]) == [(1, 2), (2, 2)]


def test_a_block_must_be_colder_than_the_excess_not_equal_to_it() -> None:
    # Excess 2 and request 2: nothing below 2.
    assert moves([2.0, 2.0, 2.0, 2.0], [0, 0, 0, 1], [1.0, 1.0]) == []


def test_the_emptiest_node_is_filled_first_from_the_most_congested() -> None:
    # Traffic 10, 9, 5, 0 of 24, balance 6: excess 4, 3, -1, -6.
    hot = [3.0, 7.0, 2.5, 6.5, 5.0]
    home = [0, 0, 1, 1, 2]
    assert moves(hot, home, [1.0] * 4) == [(0, 3), (2, 3)]


def test_ties_go_to_the_lower_index() -> None:
    hot = [1.0, 1.0, 1.0, 1.0]
    # Traffic 4, 0, 0, balance 4/3: both empty nodes ask for 4/3, the last ranked first.
    assert moves(hot, [0, 0, 0, 0], [1.0] * 3) == [(0, 2), (1, 1)]


def test_blocks_that_nobody_accesses_stay() -> None:
    assert moves([0.0, 0.0, 1.0, 6.0], [0, 0, 0, 0], [1.0, 1.0]) == [(2, 1)]


def test_full_nodes_take_nothing() -> None:
    assert moves(HOT, HOME, [1.0] * 3, room=[0, 0, 0]) == []
    assert moves(HOT, HOME, [1.0] * 3, room=[0, 0, 100]) == [(1, 2)]


def test_nodes_without_bandwidth_and_blocks_without_a_home_are_left_alone() -> None:
    assert moves([3.0, 1.0, 1.0], [-1, -1, -1], [1.0, 1.0]) == []
    found = moves([1.0] * 8, [0] * 8, [1.0, 1.0, 0.0])
    assert {node for _, node in found} == {1}


def test_every_under_utilised_node_is_filled() -> None:
    # An even start on 4 DRAM and 4 HBM nodes: the DRAM nodes are overloaded, the HBM nodes are not.
    bandwidth = [22.5] * 4 + [96.0] * 4
    home = np.repeat(np.arange(8), 100).tolist()
    hot = [1.0] * 800
    spread = np.bincount([node for _, node in moves(hot, home, bandwidth)], minlength=8)
    # Balance is 800 * 96 / 474 = 162.03 on each HBM node: 62 blocks each while there is excess.
    assert spread[:4].tolist() == [0, 0, 0, 0]
    assert 59 <= spread[4:].min() <= spread[4:].max() == 62


def test_one_under_utilised_node_is_filled_too() -> None:
    assert moves(HOT[:3], [0, 0, 0], [1.0, 1.0]) != []


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), min_size=1, max_size=40),
    st.lists(st.integers(1, 9), min_size=5, max_size=5),
)
def test_moves_never_make_the_balance_worse(
    blocks: list[tuple[int, int]], bandwidth: list[int]
) -> None:
    hot = np.array([h for h, _ in blocks], float)
    home = np.array([n for _, n in blocks], np.int32)
    found = moves(hot.tolist(), home.tolist(), bandwidth)
    assert len({block for block, _ in found}) == len(found)
    before = node_traffic(hot, home, 5)
    for block, node in found:
        home[block] = node
    after = node_traffic(hot, home, 5)
    target = balanced_traffic(before, bandwidth)
    assert np.all(np.abs(after - target) <= np.abs(before - target) + 1e-9)
    assert np.all((after >= target) == (before >= target))


def test_samples_are_different_pages_when_there_are_enough() -> None:
    pages = np.array([1, 2, 3, 4, 5, 512])
    chosen = sample_pages(pages, 4, np.random.default_rng(1))
    assert chosen.shape == (6, 4)
    assert [len(set(row)) for row in chosen.tolist()] == [1, 2, 3, 4, 4, 4]
    assert np.all((chosen >= 0) & (chosen < pages[:, None]))


def test_samples_are_uniform() -> None:
    chosen = sample_pages(np.full(20_000, 8), 4, np.random.default_rng(2))
    counts = np.bincount(chosen.ravel(), minlength=8)
    assert np.all(np.abs(counts - 10_000) < 300)


@pytest.mark.timeout(30)
def test_the_time_to_sample_grows_with_the_number_of_samples() -> None:
    # Every draw was compared with all before it, which took minutes here instead of seconds.
    chosen = sample_pages(np.full(50, 160_000), 80_000, np.random.default_rng(3))
    assert all(len(set(row)) == 80_000 for row in chosen.tolist())


def test_samples_follow_floyds_rule() -> None:
    # 3 of 5 pages from the generator's own draws below 3, 4 and 5.
    for seed in range(20):
        dice, expected = np.random.default_rng(seed), []
        for last in (2, 3, 4):
            page = int(dice.integers(0, last + 1))
            expected.append(last if page in expected else page)
        found = sample_pages(np.array([5]), 3, np.random.default_rng(seed))
        assert found.tolist() == [expected]


@pytest.mark.parametrize("n_samples", [1, 4, 9])
def test_no_blocks_no_samples(n_samples: int) -> None:
    assert sample_pages(np.zeros(0, np.int64), n_samples, np.random.default_rng(0)).shape == (
        0,
        n_samples,
    )
