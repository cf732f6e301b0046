"""Costs on processors for which only the machine has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.engine.kernel_costs import with_kernels
from simsched.engine.run import simulate
from simsched.files.errors import GraphError, ModelError
from simsched.machine import load_machine
from simsched.machine.model import CoreGroup, KernelTime, Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.presets import make_workload


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


FORMULAS = {
    "cholesky": {"potrf": (1 / 3, 0.02), "trsm": (1, 0.55), "syrk": (1, 0.9), "gemm": (2, 1)},
    "lu": {"getrf": (2 / 3, 0.01), "trsm_ll": (1, 0.55), "trsm_ru": (1, 0.55), "gemm": (2, 1)},
    "qr": {"geqrt": (4 / 3, 0.01), "unmqr": (2, 0.45), "tsqrt": (2, 0.01), "tsmqr": (4, 0.45)},
}


@pytest.mark.parametrize("program", FORMULAS)
def test_dense_programs_have_costs_on_every_device(program: str) -> None:
    machine = replace(load_machine("epyc_7543_a100"), kernels={})
    workload = make_workload(f"{program}[tiles=3, tile_size=10, efficiency=0.8]")
    costed = with_kernels(machine, workload)
    graph = costed.graph
    assert graph.kinds == ("cpu", "gpu")
    for task in range(graph.n_tasks):
        cubes, part = FORMULAS[program][graph.class_names[graph.task_class[task]]]
        on_cpu, on_gpu = graph.ops[:, task].tolist()
        assert on_cpu == pytest.approx(cubes * 10**3)
        assert on_gpu == pytest.approx(cubes * 10**3 / (part * 0.8))
    assert costed.init is not None
    assert costed.init.kinds == graph.kinds
    assert np.isinf(costed.init.ops[1]).all()


@pytest.mark.parametrize("program", FORMULAS)
@pytest.mark.parametrize("name", ["epyc_7543_a100", "e5620_m2090"])
def test_heft_uses_the_device(program: str, name: str) -> None:
    machine = replace(load_machine(name), kernels={})
    workload = make_workload(f"{program}[tiles=5, tile_size=512]")
    run = simulate(machine, workload, make_policy("heft"), events=True)
    assert run.trace is not None
    events = run.trace.events
    started = (events["kind"] == EventKind.TASK_START) & (events["iteration"] == 1)
    kinds = {
        machine.core_groups[machine.thread_group[run.worker_thread[worker]]].kind
        for worker in events["worker"][started].tolist()
    }
    assert "gpu" in kinds


def test_what_a_machine_states_comes_before_the_formula() -> None:
    machine = load_machine("epyc_7543_a100")
    graph = with_kernels(machine, make_workload("cholesky[tiles=3, tile_size=10]")).graph
    on_gpu = graph.ops[1]
    assert np.isinf(on_gpu[graph.task_class == graph.class_names.index("potrf")]).all()
    gemm = on_gpu[graph.task_class == graph.class_names.index("gemm")]
    assert gemm == pytest.approx(2000 * 0.057e-12 * 1.41e9 * 13824)


def test_devices_can_be_left_alone() -> None:
    machine = replace(load_machine("epyc_7543_a100"), kernels={})
    for spec in ("cholesky[tiles=3, efficiency=0]", "cholesky[tiles=3, costs=bench]", "chain"):
        workload = make_workload(spec)
        assert with_kernels(machine, workload) is workload
    # Codelets have been measured there: operations are times.
    workload = make_workload("cholesky[tiles=3]")
    assert with_kernels(load_machine("mirage"), workload) is workload


def test_an_efficiency_above_one_is_refused() -> None:
    graph = build_graph([1.0], device_efficiency=[1.5])
    with pytest.raises(GraphError, match=r"device_efficiency: found \[1.5\], accepted 0 to 1"):
        graph.validate()


def test_values_of_classes_follow_them_into_another_table() -> None:
    graph = build_graph(
        [1.0, 2.0, 3.0],
        task_class=[0, 1, 0],
        class_names=("a", "b"),
        device_efficiency=[0.25, 0.5],
        codelets=("ca", "cb"),
    ).with_classes(("b", "new", "a"))
    graph.validate()
    assert [graph.class_names[c] for c in graph.task_class] == ["a", "b", "a"]
    assert graph.device_efficiency is not None
    assert graph.device_efficiency.tolist() == [0.5, 0.0, 0.25]
    assert graph.codelets == ("cb", "", "ca")
