"""Rates of flows: weighted max-min fairness and capacities, for random sets of flows."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.engine.interface.problem import Problem
from simsched.engine.reference.sharing import NEVER, Sharing
from simsched.engine.run import simulate
from simsched.files.errors import SimschedError

from .instances import HookPolicy, RandomPolicy, random_machine, random_workload

SLACK = 1 + 1e-9
Loads = list[list[tuple[int, float]]]


def sharing(
    loads: Loads,
    caps: list[float],
    capacity: list[float],
    curve: list[float],
    gradual: list[bool] | None = None,
) -> Sharing:
    """Paths with one class each; the curve belongs to resource 0."""
    ptr = np.cumsum([0, *(len(load) for load in loads)])
    flat = [entry for load in loads for entry in load]
    paths = SimpleNamespace(
        latency_ps=np.zeros(len(loads), np.int64),
        cap=np.array(caps)[:, None],
        resource_ptr=ptr,
        resource=np.array([resource for resource, _ in flat], int),
        weight=np.array([weight for _, weight in flat]),
    )
    problem: Any = SimpleNamespace(
        paths=paths,
        resource_capacity=np.array(capacity),
        curve_ptr=np.array([0, *[len(curve)] * len(capacity)]),
        curve=np.array(curve),
        resource_gradual=None if gradual is None else np.array(gradual),
        latency_slope=None,
        latency_bend=None,
    )
    return Sharing(cast(Problem, problem))


def broken_rules(shared: Sharing) -> list[str]:
    """Return what is wrong with the rates of the flows that are running."""
    classes = shared._classes
    rates = shared.fair_rates()
    used: dict[int, float] = defaultdict(float)
    crossing: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for index, rate in sorted(rates.items()):
        for resource, weight in classes[index].loads:
            used[resource] += len(classes[index].keys) * weight * rate
            crossing[resource].append((index, len(classes[index].keys) * weight))
    limit = {resource: shared.capacity(resource, here) for resource, here in crossing.items()}
    found = [f"resource {r} is overloaded" for r in used if used[r] > limit[r] * SLACK]
    if rates.keys() != {index for index, cls in enumerate(classes) if cls.keys}:
        found.append("not every flow has a rate")
    for index, rate in rates.items():
        cls = classes[index]
        if rate > cls.cap:
            found.append(f"class {index} exceeds its cap")
        # Max-min: it could only rise at the cost of a flow that is not faster.
        stopped = rate >= cls.cap / SLACK or any(
            used[r] >= limit[r] / SLACK
            and all(
                rates[other] <= rate * SLACK
                for other in rates
                if any(r == crossed for crossed, _ in classes[other].loads)
            )
            for r, _ in cls.loads
        )
        if not stopped:
            found.append(f"class {index} could be faster")
    return found


@settings(max_examples=300)
@given(st.integers(0, 2**32))
def test_rates_are_max_min_fair_and_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_resources, n_classes = int(rng.integers(1, 5)), int(rng.integers(1, 8))
    loads: Loads = []
    for _ in range(n_classes):
        crossed = np.flatnonzero(rng.integers(0, 2, n_resources) > 0)
        crossed = crossed if len(crossed) else np.zeros(1, int)
        loads.append([(r, float(rng.choice([1.0, 1.25, 0.7]))) for r in crossed.tolist()])
    shared = sharing(
        loads,
        rng.choice([np.inf, 0.001, 0.002, 0.0005], n_classes).tolist(),
        rng.choice([0.01, 0.003, 0.0007], n_resources).tolist(),
        [0.004, 0.006, 0.005] if rng.integers(2) else [],
        (rng.integers(0, 2, n_resources) > 0).tolist(),
    )
    for worker, index in enumerate(rng.integers(0, n_classes, int(rng.integers(1, 20))).tolist()):
        shared.start(worker, index, 1000.0, 0, 0.0)
    assert broken_rules(shared) == []


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.integers(0, 2**32), st.booleans())
def test_no_resource_exceeds_its_capacity_at_any_time(
    machine: int, workload: int, policy: int, hooks: bool
) -> None:
    found: list[str] = []
    original = Sharing.update_rates

    def update_and_check(self: Sharing, now: int, lag: float) -> None:
        found.extend(broken_rules(self))
        original(self, now, lag)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sharing, "update_rates", update_and_check)
        try:
            chosen = (HookPolicy if hooks else RandomPolicy)(choice=policy)
            simulate(random_machine(machine), random_workload(workload), chosen, backend="simpy")
        except SimschedError:
            pass  # memory too small: what ran until then has been checked
    assert found == []


def test_capped_flows_leave_the_rest_to_others() -> None:
    # 10 units for one flow capped at 1 and two others, of which one weighs double: 9 / 3 each.
    shared = sharing([[(0, 1.0)], [(0, 1.0)], [(0, 2.0)]], [1.0, 9.0, 9.0], [10.0], [])
    for worker in range(3):
        shared.start(worker, worker, 1.0, 0, 0.0)
    assert shared.fair_rates() == {0: 1.0, 1: 3.0, 2: 3.0}


def test_what_flows_could_draw_decides_what_a_gradual_resource_sustains() -> None:
    # 3 + 1 could be drawn of a ceiling of 4, so all of it is 4 / 2^(1/4): the small flow has its
    # unit, and the large one the rest.
    shared = sharing([[(0, 1.0)], [(0, 1.0)]], [3.0, 1.0], [4.0], [], [True])
    for worker in range(2):
        shared.start(worker, worker, 1.0, 0, 0.0)
    assert shared.fair_rates() == pytest.approx({0: 4.0 / 2**0.25 - 1.0, 1: 1.0})


def test_flows_without_a_limit_get_the_ceiling() -> None:
    for cap in (np.inf, 1e200):
        shared = sharing([[(0, 1.0)]], [cap], [4.0], [], [True])
        shared.start(0, 0, 1.0, 0, 0.0)
        assert shared.fair_rates() == {0: 4.0}


def test_flows_of_a_class_share_one_clock() -> None:
    shared = sharing([[(0, 1.0)]], [np.inf], [2.0], [])
    shared.start(7, 0, 100.0, 0, 0.0)
    assert shared.next_end(0) == (NEVER, 7)
    shared.update_rates(0, 0.0)
    assert shared.next_end(0) == (50, 7)
    # At 20 ps 60 bytes are left; a second flow halves the rate.
    shared.start(3, 0, 30.0, 20, 0.0)
    assert shared.is_stale()
    shared.update_rates(20, 0.0)
    assert not shared.is_stale()
    assert shared.next_end(20) == (50, 3)
    assert shared.stop(3, 50, 0.0) == 0.0
    shared.update_rates(50, 0.0)
    assert shared.next_end(50) == (65, 7)
    assert shared.stop(7, 60, 0.0) == 10.0
    assert shared.next_end(60) is None
