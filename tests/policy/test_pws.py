"""Probability work stealing: how likely each victim is."""

from collections import Counter

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.work_stealing.pws import inverse_weights
from simsched.testing import rehearse
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload

OPTERON = load_machine("amd_4x_opteron8380")
LOOP = Workload(
    "loop",
    build_graph(
        np.random.default_rng(0).uniform(0, 1e6, 800),
    ),
    iterations=20,
)


@pytest.mark.parametrize(
    ("distance", "likely"),
    [
        # 3 victims at distance 1, 12 at distance 2: shares of 1 / (3 + 6) each, and half of that.
        ("sockets", {1: 1 / 9, 4: 1 / 18, 12: 1 / 18}),
        # 3 at 1, 8 at 2, 4 at 3: the sum is 3 + 4 + 4 / 3.
        ("hops", {1: 3 / 25, 4: 3 / 50, 12: 1 / 25}),
    ],
)
def test_probabilities_of_victims(distance: str, likely: dict[int, float]) -> None:
    step = rehearse(make_policy("pws", {"distance": distance}), OPTERON, LOOP).plans[0].acquire[1]
    assert step.weight is not None
    share = step.weight / step.weight.sum(axis=1, keepdims=True)
    assert np.all(np.diag(share) == 0)
    for victim, expected in likely.items():
        assert share[0, victim] == pytest.approx(expected)


def test_distances_without_a_common_multiple_keep_their_proportions() -> None:
    distance = np.array([[0, 4, 6], [4, 0, 5], [6, 5, 0]])
    weights = inverse_weights(distance)
    away = ~np.eye(3, dtype=bool)
    assert len(set((weights * distance)[away].tolist())) == 1


@pytest.mark.parametrize(("sockets", "per_socket"), [(60, 1), (40, 6)])
def test_weights_of_long_paths_fit_and_keep_their_proportions(
    sockets: int, per_socket: int
) -> None:
    # Rings with paths of up to 30 and 20 hops: the least common multiple of 1 to 31 does not fit
    # into 32 bits, that of 1 to 21 does, but not the sum of its shares.
    socket = np.arange(sockets * per_socket) // per_socket
    apart = np.abs(socket[:, None] - socket)
    distance = 1 + np.minimum(apart, sockets - apart)
    weights = inverse_weights(distance)
    inverse = 1.0 / distance
    np.fill_diagonal(inverse, 0.0)
    total = weights.sum(axis=1, dtype=np.int64)
    assert total.max() < 2**31
    assert weights / total[:, None] == pytest.approx(
        inverse / inverse.sum(axis=1, keepdims=True), rel=1e-5
    )
    assert np.array_equal(weights, weights.T)


def test_near_victims_are_robbed_more_often() -> None:
    def near(policy: str) -> float:
        done = simulate(
            OPTERON, LOOP, make_policy(policy, {"placement": "interleave"}), events=True
        )
        assert done.trace is not None
        events = done.trace.events
        steals = events["kind"] == EventKind.STEAL
        classes = Counter(events["arg1"][steals].tolist())
        return classes[1] / sum(classes.values())

    # Of 15 victims 3 are near: a fifth at random, a third by their distance.
    assert near("cilk_a") == pytest.approx(1 / 5, abs=0.05)
    assert near("pws") == pytest.approx(1 / 3, abs=0.05)
