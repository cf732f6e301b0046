"""Every registered policy on every workload family and machine, on both backends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from zlib import crc32

import pytest

from simsched.engine import conformance
from simsched.engine.conformance import Case, compare, run_conformance
from simsched.engine.run import simulate
from simsched.machine import list_machines, load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import list_policies, make_policy, policy_info
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import HookView
from simsched.policy.contract.decisions import Transfer
from simsched.trace.run import Run
from simsched.workload.registry import list_workloads, make_small_workload

POLICIES = [info.name for info in list_policies()]
RUNS_OF_PRESET = 4  # in the quick test; the slow one runs everything everywhere
CLASS_STEP = 3  # odd: every second run is on EVERY_KIND
LONG_S = 0.002  # clusters with slow disks take minutes for what others do in milliseconds
EVERY_KIND = "knl_snc4_hybrid"  # has all kinds of memory that any policy needs
machine_of = cache(load_machine)
small_workload = cache(make_small_workload)


def assert_agreement(case: Case) -> None:
    assert case.difference == ""
    assert (case.events > 0) + bool(case.refused) + bool(case.left_out) == 1
    if case.machine == EVERY_KIND and case.refused:
        is_tree = len(small_workload(case.workload).graph.child) > 0
        accepted = ("found a spawn tree",) if is_tree else ("has no device", "no cost")
        assert any(reason in case.refused for reason in accepted)


@pytest.mark.parametrize("policy", POLICIES)
def test_backends_agree_on_workloads_and_machines_in_turn(policy: str) -> None:
    """A class runs every third workload, a preset the first that it accepts; both from its turn."""
    machines, workloads = list_machines(), list_workloads()
    turn = crc32(policy.encode())  # not its place in the list, which others change
    is_preset, run = policy_info(policy).is_preset, 0
    for index in range(0, len(workloads), 1 if is_preset else CLASS_STEP):
        other = machines[(turn + index // 2) % len(machines)]
        machine = machine_of(EVERY_KIND if (turn + index) % 2 else other)
        workload = small_workload(workloads[(turn + index) % len(workloads)].name)
        workers = min(conformance.WORKERS, machine.n_threads)
        chosen = make_policy(policy)
        if (
            conformance.least_seconds(machine, workload) > LONG_S
            or conformance.looks(machine, workload, chosen) > conformance.MAX_LOOKS
        ):
            continue
        case = compare(machine, workload, chosen, workers=workers)
        assert_agreement(case)
        run += not case.refused
        if is_preset and run == RUNS_OF_PRESET:
            break


@pytest.mark.slow
@pytest.mark.timeout(3600)  # threads that change places often take the reference minutes
@pytest.mark.parametrize("policy", POLICIES)
def test_backends_agree_everywhere(policy: str) -> None:
    cases = run_conformance([policy])
    assert [case for case in cases if case.difference] == []
    for case in cases:
        assert_agreement(case)
    assert len(cases) == len(conformance.families()) * len(list_workloads())
    assert {case.machine for case in cases} == set(list_machines())


def test_machines_that_are_alike_are_a_family() -> None:
    families = [[machine.name for machine in family] for family in conformance.families()]
    assert sorted(name for family in families for name in family) == list_machines()
    (flat,) = [family for family in families if "knl_snc4_flat" in family]
    assert "xeon_max_9480_flat" in flat  # both have domains, and two kinds of memory
    assert not {"knl_snc4_cache", "knl_snc4_hybrid", "knl_a2a_flat", "opteron48"} & set(flat)
    # Devices to which tiles are copied, and those that use the data where they are.
    assert not any({"mirage", "k40_server"} <= set(family) for family in families)


def test_members_of_a_family_of_machines_take_turns() -> None:
    found = {}
    for policy in ("cilk", "cilk_a"):
        found[policy] = [(w.name, m.name) for m, w, _ in conformance.cases([policy])]
        assert {machine for _, machine in found[policy]} == set(list_machines())
        assert len(found[policy]) == len(conformance.families()) * len(list_workloads())
    assert found["cilk"] != found["cilk_a"]
    assert found["cilk"] == [(w.name, m.name) for m, w, _ in conformance.cases(["cilk"])]


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


def test_what_does_not_get_on_is_given_up_by_both() -> None:
    """A task takes 1 s to start there, and a slice of the scheduler is 4 ms."""
    policy = make_policy("age_ljfcf_predict")
    case = compare(load_machine("samr_cluster_fast"), small_workload("batch"), policy, workers=8)
    assert (case.events, case.difference) == (0, "")
    assert "no task ends for 80 s" in case.refused


@dataclass(frozen=True, kw_only=True)
class Asking(RandomStealing):
    """A worker without work asks an empty pool, which answers after 20 us, and asks again."""

    def on_idle(self, view: HookView, state: object, worker: int) -> Transfer:
        """Return a transfer of nothing."""
        return Transfer(0, worker, 0, worker, 1, 20_000_000)


def test_hooks_that_go_on_for_ever_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a timer nor simulated time without progress tells: tasks end, calls go on."""
    machine, workload = make_machine(domains=1, cores_per_domain=2), make_small_workload("chain")
    whole = compare(machine, workload, Asking(), workers=2)
    assert (whole.refused, whole.left_out, whole.difference) == ("", "", "")
    monkeypatch.setattr(conformance, "MAX_CALLS", 1)
    case = compare(machine, workload, Asking(), workers=2)
    assert (case.events, case.refused, case.difference) == (0, "", "")
    assert case.left_out == "hooks are called more than 1 times"


def test_cases_are_named_as_on_the_command_line() -> None:
    names = ["cilk[placement=interleave]"], ["chain[tasks=3]", "cholesky_small", "chain"]
    found = list(conformance.cases(*names, ["toy_1fast_3slow"]))
    assert conformance.number_of_cases(*names, ["toy_1fast_3slow"]) == len(found) == 3
    assert {machine.name for machine, _, _ in found} == {"toy_1fast_3slow"}
    # Of the small chain there are 12 tasks and 2 iterations; a preset is what its file says.
    assert [(w.graph.n_tasks, w.iterations) for _, w, _ in found[::2]] == [(3, 2), (12, 2)]
    assert found[1][1].name == "cholesky_small"
    assert found[0][2].parameters()["placement"] == "interleave"
    assert conformance.number_of_cases() == len(POLICIES) * len(conformance.families()) * len(
        list_workloads()
    )
