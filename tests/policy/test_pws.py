"""Probability work stealing: how likely each victim is."""

from collections import Counter

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import Weighted, make_policy
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


def test_probabilities_of_victims() -> None:
    # 3 victims at distance 1, 12 at distance 2: shares of 1 / (3 + 6) each, and half of that.
    likely = {1: 1 / 9, 4: 1 / 18, 12: 1 / 18}
    step = rehearse(make_policy("pws"), OPTERON, LOOP).plans[0].acquire[1]
    assert isinstance(step.choice, Weighted)
    share = step.choice.weight / step.choice.weight.sum(axis=1, keepdims=True)
    assert np.all(np.diag(share) == 0)
    for victim, expected in likely.items():
        assert share[0, victim] == pytest.approx(expected)


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
