"""Costs on processors for which only the machine has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.engine.kernel_costs import with_kernels
from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine.model import CoreGroup, KernelTime, Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload


def machine_with(kernels: dict[str, dict[str, KernelTime]]) -> Machine:
    """One domain of a core, one of a device that does 4 operations per ns."""
    machine = make_machine(domains=2, cores_per_domain=1)
    groups = (machine.core_groups[0], CoreGroup("device", "gpu", 4e9))
    group = np.array([0, 1], np.int32)
    return replace(machine, core_groups=groups, core_group=group, kernels=kernels)


PROGRAM = Workload(
    "mix",
    build_graph([1000.0, 2000.0], task_class=[0, 1], class_names=("small", "large")),
)


def test_operations_take_what_the_machine_states_on_other_processors() -> None:
    half_ns = KernelTime((1,), (0.5e-9,))
    graph = with_kernels(machine_with({"mix.large": {"gpu": half_ns}}), PROGRAM).graph
    assert graph.kinds == ("cpu", "gpu")
    assert graph.ops[0].tolist() == [1000.0, 2000.0]
    assert graph.ops[1].tolist() == [np.inf, pytest.approx(4000.0)]


def test_programs_of_which_the_machine_knows_nothing_stay_as_they_are() -> None:
    half_ns = KernelTime((1,), (0.5e-9,))
    for kernels in ({}, {"other.large": {"gpu": half_ns}}, {"mix.large": {"cpu": half_ns}}):
        assert with_kernels(machine_with(kernels), PROGRAM) is PROGRAM
    with pytest.raises(ModelError, match="costs for processor kind 'gpu' of machine"):
        simulate(machine_with({}), PROGRAM, make_policy("cilk"))


def test_policies_that_know_no_processors_have_workers_where_all_can_run() -> None:
    half_ns = KernelTime((1,), (0.5e-9,))
    some = machine_with({"mix.large": {"gpu": half_ns}})
    both = machine_with({f"mix.{name}": {"gpu": half_ns} for name in ("small", "large")})
    for machine, policy, workers in (
        (some, "cilk", 1),
        (some, "heft", 2),
        (both, "cilk", 2),
    ):
        run = simulate(machine, PROGRAM, make_policy(policy))
        assert len(run.worker_thread) == workers
