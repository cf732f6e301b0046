"""Every registered policy on every workload family and machine, on both backends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simsched.engine import conformance
from simsched.engine.conformance import compare, run_conformance
from simsched.engine.run import Run, simulate
from simsched.machine import list_machines, load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import list_policies, make_policy
from simsched.workload.registry import list_workloads, make_small_workload


@pytest.mark.parametrize("policy", [info.name for info in list_policies()])
def test_backends_agree(policy: str) -> None:
    cases = run_conformance([policy])
    assert [case for case in cases if case.difference] == []
    assert len(cases) == len(list_machines()) * len(list_workloads())
    # Where a policy needs a kind of memory that the machine lacks, both backends must say so.
    kinds = {node.kind for node in load_machine("knl_snc4_flat").nodes}
    assert kinds == {"DRAM", "HBM"}
    assert all(case.events > 0 for case in cases if case.machine == "knl_snc4_flat")


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
