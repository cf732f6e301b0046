"""Every registered policy on every workload family and machine, on both backends."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from simsched.engine import conformance
from simsched.engine.conformance import compare, run_conformance
from simsched.engine.run import Run, simulate
from simsched.machine import list_machines, load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import list_policies, make_policy
from simsched.workload.registry import list_workloads, make_small_workload

POLICIES = [info.name for info in list_policies()]
EVERY_KIND = "knl_snc4_flat"  # has all kinds of memory that any policy needs
machine_of = cache(load_machine)
small_workload = cache(make_small_workload)


@pytest.mark.parametrize("policy", POLICIES)
def test_backends_agree_on_every_workload_and_some_machines(policy: str) -> None:
    machines = list_machines()
    for index, item in enumerate(list_workloads(), start=POLICIES.index(policy)):
        workload = small_workload(item.name)
        for name in {EVERY_KIND, machines[index % len(machines)]}:
            machine = machine_of(name)
            workers = min(conformance.WORKERS, machine.n_threads)
            case = compare(machine, workload, make_policy(policy), workers=workers)
            assert case.difference == ""
            assert (case.events > 0) != bool(case.refused)
            if name == EVERY_KIND and case.refused:
                why = ("has no device", "no cost")
                assert len(workload.graph.child) or any(w in case.refused for w in why)
                assert len(workload.graph.child) == 0 or "found a spawn tree" in case.refused


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_backends_agree_everywhere(policy: str) -> None:
    cases = run_conformance([policy])
    assert [case for case in cases if case.difference] == []
    assert len(cases) == len(list_machines()) * len(list_workloads())


def test_a_refusal_by_both_backends_is_no_difference_and_is_told() -> None:
    machine = make_machine(domains=2)
    case = compare(machine, make_small_workload("chain"), make_policy("cilk_h"))
    assert (case.events, case.difference) == (0, "")
    assert "unknown memory kind 'HBM'" in case.refused


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def other_seed_on_native(*args: object, backend: str, seed: int, **options: object) -> Run:
        return simulate(*args, backend=backend, seed=seed + (backend == "native"), **options)  # type: ignore[arg-type]

    monkeypatch.setattr(conformance, "simulate", other_seed_on_native)
    case = compare(
        make_machine(domains=2, cores_per_domain=2),
        make_small_workload("fork_join"),
        make_policy("cilk"),
    )
    assert case.difference.startswith("event ")
    assert "simpy" in case.difference


def test_a_counter_that_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def counts_one_more(*args: object, backend: str, **options: object) -> Run:
        run = simulate(*args, backend=backend, **options)  # type: ignore[arg-type]
        return replace(
            run, summary=replace(run.summary, n_tasks=run.summary.n_tasks + (backend == "native"))
        )

    monkeypatch.setattr(conformance, "simulate", counts_one_more)
    case = compare(make_machine(), make_small_workload("chain"), make_policy("cilk"))
    assert case.difference == "summary n_tasks: simpy 24, native 25"
