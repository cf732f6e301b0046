"""Both backends do the same, event for event, and what they do is sound."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simsched.analysis.bounds import lower_bounds, traffic_bound_s
from simsched.engine.conformance import compare
from simsched.engine.run import simulate
from simsched.files.errors import SimschedError
from tests.engine.invariants import trace_violations

from .instances import HookPolicy, RandomPolicy, WakingPolicy, random_machine, random_workload

SEEDS = st.integers(0, 2**32)
POLICIES = st.sampled_from([RandomPolicy, HookPolicy, WakingPolicy])
EXAMPLES = settings(max_examples=100)


@EXAMPLES
@given(SEEDS, SEEDS, SEEDS, POLICIES)
def test_backends_agree_on_random_instances(
    machine: int, workload: int, policy: int, made: type[RandomPolicy]
) -> None:
    case = compare(
        random_machine(machine),
        random_workload(workload),
        made(choice=policy),
        seed=policy % 1000,
    )
    assert case.difference == ""


@EXAMPLES
# One slice of a cache has room for all of an access.
@example(machine=33554433, workload=17492, policy=386, made=RandomPolicy)
@given(SEEDS, SEEDS, SEEDS, POLICIES)
def test_traces_are_sound(
    machine: int, workload: int, policy: int, made: type[RandomPolicy]
) -> None:
    chosen = made(choice=policy)
    try:
        run = simulate(
            random_machine(machine),
            random_workload(workload),
            chosen,
            backend="native",
            events=True,
        )
    except SimschedError:
        return  # memory too small: the other test checks that both say so
    assert trace_violations(run) == []
    limit = run.makespan_s * (1 + 1e-9)
    assert lower_bounds(run.machine, run.program, run.worker_thread).best_s <= limit
    assert traffic_bound_s(run.summary, run.machine, moved=made is not RandomPolicy) <= limit


@pytest.mark.parametrize("backend", ["simpy", "native"])
def test_same_seed_same_trace(backend: str) -> None:
    traces = [
        simulate(
            random_machine(5),
            random_workload(11),
            RandomPolicy(choice=3),
            seed=8,
            backend=backend,
            events=True,
        ).trace
        for _ in range(2)
    ]
    assert traces[0] is not None
    assert traces[1] is not None
    for name, column in traces[0].events.items():
        assert column.tolist() == traces[1].events[name].tolist()
