"""The worked examples of chapter 7 of Chen and Guo (2017), and the formulas behind them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simsched.policy.parts.mapreduce_formulas import (
    MAP_WEIGHTS,
    REDUCE_WEIGHTS,
    lags_behind,
    longest_first,
    most_stragglers,
    percentile,
    progress_rate,
    progress_score,
    reduce_bins,
    slow_nodes,
    slow_tasks,
    time_to_end,
    update_weights,
)

SIX = np.array([0.7, 0.5, 0.9, 0.9, 0.9, 0.9])
REMAINING_S = [100.0, 30.0, 10.0, 10.0, 10.0, 10.0]

fractions = st.floats(0.0, 1.0)


def test_six_tasks_least_progress_flags_the_second_one() -> None:
    assert math.fsum(SIX) / 6 == pytest.approx(0.8, abs=1e-15)
    assert np.flatnonzero(lags_behind(SIX)).tolist() == [1]


def test_six_tasks_the_first_one_ends_last() -> None:
    assert longest_first(REMAINING_S, np.ones(6, bool), 1) == [0]


def test_a_score_of_exactly_a_fifth_less_lags_behind() -> None:
    # The average is 0.8, so 0.6 is on the threshold.
    scores = np.array([0.6, 0.8, 0.9, 0.9])
    assert lags_behind(scores).tolist() == [True, False, False, False]


def test_twice_and_ten_times_slower_tasks_are_both_stragglers() -> None:
    # Average 80 %: 0.4 and 0.08 are both more than a fifth behind.
    others = (0.8 * 12 - 0.4 - 0.08) / 10
    scores = np.array([0.4, 0.08] + [others] * 10)
    assert np.flatnonzero(lags_behind(scores)).tolist() == [0, 1]


def test_remaining_time_after_the_copy_phase() -> None:
    late = time_to_end(progress_score(REDUCE_WEIGHTS, 1, 0.0), 1.0)
    samr = time_to_end(progress_score((0.6, 0.2, 0.2), 1, 0.0), 1.0)
    assert late == pytest.approx(2.0, rel=1e-15)
    assert samr == pytest.approx(0.4 / 0.6, rel=1e-15)
    assert round(samr, 2) == 0.67


def test_weights_of_hadoop() -> None:
    assert MAP_WEIGHTS == (1, 0)
    assert REDUCE_WEIGHTS == (1 / 3, 1 / 3, 1 / 3)
    assert progress_score(MAP_WEIGHTS, 1, 0.3) == 1.0
    assert [progress_score(REDUCE_WEIGHTS, k, 0.5) for k in range(3)] == pytest.approx(
        [1 / 6, 1 / 2, 5 / 6]
    )


def test_scores_with_the_weights_of_a_node() -> None:
    assert progress_score((0.8, 0.2), 0, 0.5) == pytest.approx(0.4)
    assert progress_score((0.8, 0.2), 1, 0.5) == pytest.approx(0.9)
    assert progress_score((0.6, 0.2, 0.2), 2, 0.5) == pytest.approx(0.9)


def test_bins_follow_the_speed_of_the_nodes() -> None:
    # Two reduce tasks, one on a node three times as fast, four bins for each reduce task.
    fast, slow = reduce_bins(2, 4, [3.0, 1.0])
    assert fast == 3 * slow
    assert fast + slow == 4 * 2


@given(st.integers(1, 12), st.integers(1, 9), st.data())
def test_all_bins_are_given_out(n: int, multiplier: int, data: st.DataObject) -> None:
    factors = data.draw(st.lists(st.floats(0.1, 10.0), min_size=n, max_size=n))
    bins = reduce_bins(n, multiplier, factors)
    assert sum(bins) == n * multiplier
    exact = [n * multiplier * f / math.fsum(factors) for f in factors]
    assert all(abs(b - e) < 1 + 1e-9 for b, e in zip(bins, exact, strict=True))


@given(st.lists(fractions, min_size=3, max_size=3), fractions)
def test_updated_weights_keep_their_sum(raw: list[float], history: float) -> None:
    total = math.fsum(raw) + 1e-3
    old = [value / total for value in raw]
    new = update_weights(old, REDUCE_WEIGHTS, history)
    assert math.fsum(new) == pytest.approx(history * math.fsum(old) + (1 - history))


def test_history_weight_of_one_freezes_and_of_zero_follows() -> None:
    assert update_weights((0.8, 0.2), (0.5, 0.5), 1.0) == (0.8, 0.2)
    assert update_weights((0.8, 0.2), (0.5, 0.5), 0.0) == (0.5, 0.5)


def test_a_task_on_the_margin_is_not_slow() -> None:
    assert slow_tasks(np.array([0.75, 1.25]), 0.25).tolist() == [False, False]
    assert slow_tasks(np.array([0.7, 1.3]), 0.25).tolist() == [True, False]


@pytest.mark.parametrize(
    ("running", "cap", "most"), [(10, 0.2, 2), (11, 0.2, 3), (1, 0.2, 1), (5, 0.0, 0)]
)
def test_bound_of_stragglers(running: int, cap: float, most: int) -> None:
    assert most_stragglers(running, cap) == most


def test_of_many_slow_tasks_those_that_end_last_are_stragglers() -> None:
    slow = np.array([True, True, False, True])
    assert longest_first([5.0, 9.0, 99.0, 9.0], slow, 2) == [1, 3]
    assert longest_first([5.0, 9.0, 99.0, 9.0], slow, 9) == [1, 3, 0]


def test_at_most_a_share_of_the_nodes_is_slow() -> None:
    rates = np.array([0.1, 0.2, 0.3, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert np.flatnonzero(slow_nodes(rates, 0.2, 0.3)).tolist() == [0, 1]
    assert np.flatnonzero(slow_nodes(rates, 0.2, 1.0)).tolist() == [0, 1, 2]
    assert not slow_nodes(np.full(4, np.nan), 0.2, 1.0).any()


def test_without_the_margins_of_samr_its_ranking_is_that_of_late() -> None:
    # HP of 100 % keeps the weights of Hadoop; then both rank by the same remaining times.
    phases, ages = [(0, 0.5), (1, 0.1), (2, 0.7), (0, 0.9)], [10.0, 20.0, 30.0, 15.0]
    weights = update_weights(REDUCE_WEIGHTS, (0.6, 0.2, 0.2), 1.0)
    samr = [time_to_end(progress_score(weights, *p), t) for p, t in zip(phases, ages, strict=True)]
    late = [
        time_to_end(progress_score(REDUCE_WEIGHTS, *p), t)
        for p, t in zip(phases, ages, strict=True)
    ]
    assert samr == late
    everybody = np.ones(4, bool)
    assert longest_first(samr, everybody, 4) == longest_first(late, everybody, 4)


def test_nothing_is_known_of_a_task_that_has_just_begun() -> None:
    assert progress_rate(0.0, 0.0) == 0.0
    assert time_to_end(0.0, 5.0) == math.inf
    assert percentile([], 25.0) == -math.inf
    assert not lags_behind(np.zeros(0)).any()
    assert not slow_tasks(np.zeros(0), 0.3).any()
