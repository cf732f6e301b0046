"""Many runs are what each is alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simsched
from simsched import Workload, load_machine, make_policy, simulate, simulate_many
from simsched.analysis.metrics import run_metrics
from simsched.engine import common, tallies
from simsched.files.errors import SimschedError, StalledError
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import Plan
from simsched.workload import generate_workload
from simsched.workload.registry import make_small_workload
from tests.engine.test_common import told

MACHINES = [load_machine(name) for name in ("amd_4x_opteron8380", "knl_a2a_cache")]
PROGRAMS = [make_small_workload(name) for name in ("heat", "fork_join", "mergesort")]
#: The kernel alone; between iterations; hooks.
POLICIES = {
    name: make_policy(name)
    for name in ("cilk_a", "work_sharing", "pfws", "bats", "shm_balancenuma", "tatl", "linux_lb")
}


@settings(max_examples=25)
@given(
    machine=st.sampled_from(MACHINES),
    program=st.sampled_from(PROGRAMS),
    labels=st.lists(st.sampled_from(sorted(POLICIES)), min_size=1, max_size=3, unique=True),
    seeds=st.lists(st.integers(0, 2**40), min_size=1, max_size=4),
    workers=st.integers(1, 9),
    backend=st.sampled_from(["native", "simpy"]),
    kept=st.booleans(),
)
def test_each_run_is_what_it_is_alone(
    machine: Any,
    program: Workload,
    labels: list[str],
    seeds: list[int],
    workers: int,
    backend: str,
    kept: bool,
) -> None:
    policies = {label: POLICIES[label] for label in labels}
    common._kept.cache_clear()
    refused = ""
    try:
        alone = [
            simulate(machine, program, policy, seed=seed, workers=workers, backend=backend)
            for policy in policies.values()
            for seed in seeds
        ]
    except SimschedError as error:
        refused = str(error)
    if refused:
        runs = simulate_many(machine, program, policies, seeds, workers=workers, backend=backend)
        for ask in (runs.frame, lambda: list(runs)):
            with pytest.raises(SimschedError) as found:
                ask()
            assert str(found.value).endswith(refused)
        return
    if not kept:
        common._kept.cache_clear()
    runs = simulate_many(machine, program, policies, seeds, workers=workers, backend=backend)
    assert len(runs) == len(alone)
    frame = runs.frame()
    assert frame[["policy", "seed"]].values.tolist() == [[p, s] for p in labels for s in seeds]
    for run, other, (_, row) in zip(alone, runs, frame.iterrows(), strict=True):
        assert told(run) == told(other)
        metrics = run_metrics(run.summary, run.machine, run.workload, run.worker_thread)
        for name in frame.columns[2:]:
            assert row[name] == metrics[name], name


@pytest.mark.parametrize("name", ["heat", "fork_join", "cholesky", "jacobi", "mergesort"])
@pytest.mark.parametrize("label", ["cilk_a", "work_sharing", "pfws", "tbb"])
def test_totals_of_the_kernel_are_those_of_summaries(label: str, name: str) -> None:
    """Of programs whose iterations use other blocks in turn, too."""
    program, policy, seeds = make_small_workload(name), make_policy(label), range(7)
    alone = [simulate(MACHINES[0], program, policy, workers=5, seed=seed) for seed in seeds]
    assert common.common_to(MACHINES[0], program, policy, 5, "scatter").settled(86400.0)
    rows = [*tallies.tallies(MACHINES[0], program, policy, seeds, workers=5)]
    assert [len(some) for some in rows] == [7]
    assert (rows[0] == [tallies.tally(run.summary) for run in alone]).all()


def test_the_kernel_makes_them_together(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = tallies.simulate
    monkeypatch.setattr(
        tallies, "simulate", lambda *given, **more: calls.append(1) or real(*given, **more)
    )
    program = generate_workload("fork_join", {"depth": 4})
    runs = simulate_many(MACHINES[0], program, ["cilk_a", "pfws"], 200, workers=3)
    assert calls == []
    assert len(runs.frame()) == 400
    assert len(calls) == 2  # the first of each


def test_they_wait_until_somebody_asks() -> None:
    runs = iter(simulate_many("amd_4x_opteron8380", PROGRAMS[0], "cilk_a", range(10**6)))
    assert [next(runs).seed for _ in range(3)] == [0, 1, 2]


@dataclass(frozen=True, kw_only=True)
class Sulking(RandomStealing):
    """Refuses to plan for some seeds, which it tells by what it draws."""

    def plan(self, view: Any, state: Any, graph: Any) -> Plan:
        if view.rng.random() < 0.3:
            raise simsched.SimschedError("not today")
        return super().plan(view, state, graph)


def test_an_error_says_of_which_run_it_is() -> None:
    runs = simulate_many(MACHINES[0], PROGRAMS[1], {"mine": Sulking()}, 50, workers=3)
    with pytest.raises(SimschedError, match=r"mine seed \d+: not today") as one:
        runs.frame()
    with pytest.raises(SimschedError) as other:
        list(runs)
    assert str(one.value) == str(other.value)


def test_a_run_that_fails_among_others_is_named() -> None:
    """Of some seeds the longest time without an end of a task is above the limit."""
    program, policy = PROGRAMS[0], POLICIES["cilk_a"]

    def fails(seed: int, limit_s: float) -> bool:
        try:
            simulate(MACHINES[0], program, policy, seed=seed, workers=3, progress_limit_s=limit_s)
        except StalledError:
            return True
        return False

    makespan_s = simulate(MACHINES[0], program, policy, workers=3).makespan_s
    for limit_s in makespan_s * np.geomspace(0.01, 1.0, 60):
        failing = [seed for seed in range(20) if fails(seed, limit_s)]
        if failing and failing[0] > 2:
            break
    else:
        pytest.fail("no limit tells seeds apart")
    runs = simulate_many(
        MACHINES[0], program, policy, 20, workers=3, progress_limit_s=float(limit_s)
    )
    for ask in (runs.frame, lambda: list(runs)):
        with pytest.raises(StalledError, match=f"cilk_a seed {failing[0]}: "):
            ask()


def test_a_random_program_is_another_for_each_seed() -> None:
    program = "batch[tasks=60, order=random]"
    runs = simulate_many(MACHINES[0], program, "work_sharing", [3, 3, 4], workers=3)
    programs = [run.program.graph for run in runs]
    assert (programs[0].ops == programs[1].ops).all()
    assert (programs[0].ops != programs[2].ops).any()
    spans = runs.frame().makespan_s
    assert spans[0] == spans[1] == pytest.approx(next(iter(runs)).makespan_s)
    assert spans[0] != spans[2]


def test_columns_have_units() -> None:
    frame = simulate_many(MACHINES[0], PROGRAMS[0], "bats", 2).frame()
    assert frame.attrs["units"]["makespan_s"] == "s"
    assert list(frame.policy.cat.categories) == ["bats"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"machine": "knl"}, "knl"),
        ({"machine": MACHINES}, "machine: found 2, accepted one"),
        ({"workload": ["heat", "lu"]}, "workload"),
        ({"workload": 3}, "workload: found"),
        ({"policies": []}, "policy: found none"),
        ({"policies": ["cilk_a", "cilk_a"]}, "twice"),
        ({"policies": "clik"}, "clik"),
        ({"seeds": 0}, "seeds: found 0, accepted a whole number"),
        ({"seeds": []}, "seeds: found none"),
        ({"seeds": [0, -1]}, r"seeds\[1\]: found -1"),
        ({"seeds": [0.5]}, r"seeds\[0\]: found 0.5"),
        ({"seeds": "many"}, "seeds: found 'many'"),
        ({"seeds": True}, "seeds: found True"),
        ({"backend": "fast"}, "fast"),
        ({"workers": 0}, "workers"),
        ({"pinning": "close"}, "close"),
        ({"progress_limit_s": math.nan}, "progress_limit_s"),
    ],
)
def test_bad_input_is_one_message(changed: dict[str, Any], message: str) -> None:
    arguments = {
        "machine": "amd_4x_opteron8380",
        "workload": "fork_join[depth=3]",
        "policies": "cilk_a",
        "seeds": 2,
        **changed,
    }
    first = [arguments.pop(name) for name in ("machine", "workload", "policies", "seeds")]
    with pytest.raises(SimschedError, match=message) as found:
        simulate_many(*first, **arguments)
    assert "\n" not in str(found.value)
