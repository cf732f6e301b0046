"""Costs that a program lacks for a machine's processors are found before the policy is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.processors import check_processors
from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import list_policies, make_policy
from simsched.policy.contract.base import PlanView
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload

NOT_HERE = float("inf")


def machine(*kinds: str) -> Machine:
    """Return a machine with a core of each kind in a domain of its own."""
    plain = make_machine(name="lab", domains=len(kinds), cores_per_domain=1)
    groups = tuple(replace(plain.core_groups[0], name=kind, kind=kind) for kind in kinds)
    return replace(plain, core_groups=groups, core_group=np.arange(len(kinds), dtype=np.int32))


def graph(kinds: tuple[str, ...], *ops: tuple[float, ...]) -> TaskGraph:
    """Return independent tasks of classes `a`, `b`, ... with operations by kind."""
    n = len(ops)
    return build_graph(
        np.array(ops).T.copy(), kinds=kinds, task_class=range(n), class_names=tuple("abcd"[:n])
    )


class Unasked(CentralQueue):
    """Whoever asks it anything has not looked at the costs before."""

    def prepare(self, view: PlanView) -> Workload:
        raise AssertionError("asked")


@pytest.mark.parametrize("policy", [info.name for info in list_policies() if not info.is_preset])
def test_every_policy_gets_the_same_words_about_a_kind_without_costs(policy: str) -> None:
    workload = Workload("w", graph(("cpu", "gpu"), (1.0, 1.0)))
    with pytest.raises(ModelError) as error:
        simulate(machine("cpu", "gpv"), workload, make_policy(policy))
    assert str(error.value) == (
        "workload w: costs for processor kind 'gpv' of machine lab are missing; "
        "found costs for cpu, gpu; did you mean 'gpv' by 'gpu'?"
    )


def test_costs_that_the_machine_has_are_offered() -> None:
    remedy = (
        "found costs for cpu; costs=measured takes those that have been measured on the machine"
    )
    for machine_name, workload, offered in (
        ("mirage", generate_workload("cholesky", {"tiles": 2}), True),
        ("mirage", generate_workload("independent"), False),  # no parameter `costs`
        ("mirage", Workload("w", graph(("cpu",), (1.0,))), False),  # from no generator
        ("k40_server", generate_workload("cholesky", {"tiles": 2}), False),  # no timings
    ):
        model = load_machine(machine_name)
        with pytest.raises(ModelError, match="are missing; found costs for cpu") as error:
            check_processors(model, workload, model.place_workers())
        assert str(error.value).endswith(remedy) == offered


@pytest.mark.parametrize("is_init", [False, True])
def test_a_class_without_a_worker_that_can_run_it_is_named(is_init: bool) -> None:
    kinds = ("cpu", "gpu", "fpga")
    good, bad = graph(kinds, (1.0, 1.0, 1.0)), graph(kinds, (1.0, 1.0, 1.0), (NOT_HERE, 2.0, 3.0))
    workload = Workload("w", good, init=bad) if is_init else Workload("w", bad)
    with pytest.raises(ModelError) as error:
        simulate(machine("cpu"), workload, Unasked())
    assert str(error.value) == (
        "workload w on machine lab: class 'b' has no cost for any kind of processor with workers: "
        "found costs for gpu, fpga (task 1), accepted for cpu"
    )


def test_a_join_without_a_worker_that_can_run_it_is_found() -> None:
    tree = build_graph(
        np.ones((2, 2)),
        kinds=("cpu", "gpu"),
        join_ops=np.array([[NOT_HERE, 0.0], [1.0, 0.0]]),
        task_class=[0, 1],
        class_names=("root", "leaf"),
        children=adjacency([0], [1], 2),
    )
    with pytest.raises(ModelError, match=r"class 'root' has no cost .* found costs for gpu"):
        simulate(machine("cpu"), Workload("w", tree), Unasked())


def test_an_initialisation_has_costs_for_the_same_kinds(backend: str) -> None:
    workload = Workload("w", graph(("cpu", "gpu"), (1.0, 1.0)), init=graph(("cpu",), (1.0,)))
    with pytest.raises(
        ModelError, match=r"initialisation: found costs .* cpu; accepted .*: cpu, gpu"
    ):
        simulate(machine("cpu"), workload, CentralQueue(), backend=backend)


def test_costs_for_kinds_that_the_machine_lacks_do_no_harm(backend: str) -> None:
    workload = Workload("w", graph(("gpu", "cpu"), (NOT_HERE, 1000.0), (1.0, 2000.0)))
    run = simulate(machine("cpu"), workload, CentralQueue(), backend=backend)
    assert run.makespan_s == pytest.approx(3e-6)


class Ports(CentralQueue):
    """A runtime whose port of the program runs on another processor."""

    def prepare(self, view: PlanView) -> Workload:
        return replace(view.workload, graph=graph(("fpga",), (1.0,)))


def test_what_a_policy_makes_of_a_program_has_costs_too() -> None:
    workload = Workload("w", graph(("cpu",), (1.0,)))
    with pytest.raises(ModelError, match="costs for processor kind 'cpu' of machine lab"):
        simulate(machine("cpu"), workload, Ports())
