"""Lower bounds are of the program: the same under every policy, and not above any makespan."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import simsched
from simsched.analysis.bounds import Bounds, lower_bounds, versions
from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.workload import Workload, generate_workload
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.sparse_rows import MatrixWorkload
from tests.engine.test_copies import device_machine

#: Programs with machines that suit them, and policies that make something else of them each.
CASES = [
    (
        "amd_4x_opteron8380",
        "fork_join[depth=4,degree=3,leaf_costs=uniform,spread=1,leaf_ops=1e6]",
        "cilk_a laws cats_numa_init openmp_static openmp_guided numalb offline_locality",
    ),
    (
        "amd_4x_opteron8380",
        "layered_random[layers=5,width=20]",
        "cilk manual_static min_min work_sharing openmp_dynamic etf",
    ),
    ("a_2_0_0_14", "batch", "ideal_amc amc_static_alg8 aats wats manual_static cilk"),
    ("knl_snc4_flat", "heat[rows=512,columns=512]", "bats cilk laws openmp_static charm_multi_io"),
    ("opteron64", "jacobi[size_x=64,block_x=16,size_y=64,block_y=16]", "dsa_opt shm_base cilk dfa"),
    ("opteron64", "kmeans[version=shared]", "dfa shm_balancenuma work_sharing"),
    (
        "mirage",
        "cholesky[tiles=5,tile_size=960,element_bytes=4,costs=measured]",
        "dmda heft min_min cpop eager",
    ),
    (
        "hannibal",
        "lu[tiles=5,tile_size=960,precision=single,costs=measured]",
        "dmdas heft max_min ws",
    ),
    (
        "k40_server",
        "accelerator_mix[queries=5,batch_s=0.05]",
        "mps spart smk spatial_qos gpu_evr priority",
    ),
    ("e5620_m2090", "divisible[chunks=2]", "work_sharing hats quick gpu_only static_split"),
    ("e5620_m2090", "spmv[scale=12,chunks=2]", "work_sharing finepar heft"),
    ("samr_cluster_slow", "wordcount[skew=0.6,slowstart=0.05]", "tarazu hadoop_fifo samr fair"),
]


@pytest.mark.parametrize(("machine", "workload", "policies"), CASES)
def test_every_policy_has_the_same_bounds(machine: str, workload: str, policies: str) -> None:
    runs = simsched.run(machine, workload, policies.split(), seeds=2, jobs=1).runs
    for _, each in runs.groupby("seed"):
        for name in ("bound_s", "bound_critical_path_s", "bound_work_s", "bound_bandwidth_s"):
            assert each[name].nunique() == 1, name
        assert 0 < each["bound_s"].iloc[0] <= each["makespan_s"].min() * (1 + 1e-9)
        assert each.sort_values("makespan_s")["makespan_over_bound"].is_monotonic_increasing


def test_order_of_a_schedule_is_no_part_of_the_bound() -> None:
    # Six independent tasks on two workers at 1e9 operations a second: 12 s of work make 6 s, the
    # first half of the tasks takes 3 s, the second one 9 s: its list is no path of the program.
    machine = make_machine(domains=1, cores_per_domain=2, ops_per_s=1e9)
    program = Workload("w", build_graph(np.array([1.0, 1, 1, 1, 4, 4]) * 1e9))
    runs = simsched.run(machine, program, ["manual_static", "heft"], jobs=1).runs
    assert runs["makespan_s"].tolist() == pytest.approx([9.0, 6.0])
    assert runs["bound_critical_path_s"].tolist() == pytest.approx([4.0, 4.0])
    assert runs["makespan_over_bound"].tolist() == pytest.approx([1.5, 1.0])


def test_part_of_a_device_is_no_part_of_the_bound() -> None:
    # Kernels that fill the device take twice as long on half of it; the program's do not.
    machine, mix = load_machine("k40_server"), generate_workload("accelerator_mix", {"queries": 3})
    run = simulate(machine, mix, make_policy("spatial_qos"))
    assert run.program is mix
    assert lower_bounds(machine, run.program, run.worker_thread) == bounds("k40_server", mix)
    gpu = mix.graph.kinds.index("gpu")
    kernels = np.isfinite(mix.graph.ops[gpu])
    assert run.workload.graph.ops[gpu, kernels].sum() > 1.5 * mix.graph.ops[gpu, kernels].sum()


def bounds(machine: str, program: Workload) -> Bounds:
    model = load_machine(machine)
    return lower_bounds(model, program, model.place_workers())


def test_loop_is_divided_anywhere() -> None:
    # Two chunks are no limit for policies that make parts of their own: 100 units of 1e6
    # operations on four cores of 1e9 operations a second take 25 ms, on one worker 100 ms.
    machine = make_machine(domains=1, cores_per_domain=4, ops_per_s=1e9)
    loop = generate_workload("divisible", {"units": 100, "chunks": 2, "cpu_ops": 1e6})
    found = lower_bounds(machine, loop, machine.place_workers())
    assert found.best_s == pytest.approx(0.025)
    found = lower_bounds(machine, loop, machine.place_workers(1))
    assert found.best_s == pytest.approx(0.1)


def test_rows_are_divided_anywhere() -> None:
    # One chunk in the program; FinePar deals rows out. A non-zero has 4 operations on a core.
    machine = make_machine(domains=1, cores_per_domain=4, ops_per_s=1e9)
    program = generate_workload("spmv", {"scale": 8, "chunks": 1})
    assert isinstance(program, MatrixWorkload)
    nonzeros = int(program.rows.nonzeros.sum())
    found = lower_bounds(machine, program, machine.place_workers())
    assert program.costs.cpu_ops == 4.0
    assert found.best_s == pytest.approx(nonzeros * 4.0 / 4e9)


def test_versions_of_a_dataflow_program() -> None:
    # Private or shared; copies into private buffers compute.
    jacobi = generate_workload("jacobi", {"size_x": 32, "block_x": 8, "sweeps": 1})
    found = list(versions(jacobi))
    assert [each.parameters["control"] for each in found] == ["sequential"] * 2
    assert {each.graph.ops.sum() for each in found} == {
        # 32 elements with 7 operations a sweep; two copies of 2 operations each in buffers
        32 * 7.0,
        32 * (7.0 + 2 * 2.0),
    }
    assert len(list(versions(generate_workload("fork_join")))) == 1


def test_versions_of_a_program_that_says_it_was_generated_by_something_unknown() -> None:
    program = replace(generate_workload("independent"), parameters={"generator": "nobody_knows"})
    assert len(list(versions(program))) == 1


def test_reduce_tasks_are_as_small_as_the_smallest() -> None:
    # Tarazu gives reduce tasks other parts; whatever the parts, one is at least of mean size.
    job = generate_workload(
        "wordcount", {"splits": 4, "reduces": 3, "skew": 0.8, "slowstart": 0.25}
    )
    (found,) = versions(job)
    before, after = job.graph.ops[0], found.graph.ops[0]
    assert after[:4].tolist() == before[:4].tolist()
    assert (after[4:] <= before[4:].min() * (1 + 1e-9)).all()
    assert after[4:].min() > 0
    # Which map tasks have ended when a reduce task starts is up to the tracker.
    assert job.graph.n_edges == 3
    assert found.graph.n_edges == 0


def test_a_class_called_reduce_for_another_processor() -> None:
    # 1e6 operations at 1 GHz, then 2e6 at 4 GHz on a device; infinite costs gave NaN.
    machine = device_machine(devices=1)
    graph = build_graph(
        [[1e6, np.inf], [np.inf, 2e6]],
        kinds=("cpu", "gpu"),
        task_class=[0, 1],
        class_names=("load", "sum.reduce"),
        successors=adjacency([0], [1], 2),
    )
    found = lower_bounds(machine, Workload("w", graph), machine.place_workers())
    assert found.critical_path_s == pytest.approx(1e-3 + 0.5e-3)


def test_a_program_that_was_changed_is_not_generated_anew() -> None:
    machine = load_machine("opteron64")
    made = generate_workload("kmeans")
    cheap = replace(made, graph=replace(made.graph, ops=made.graph.ops / 100))
    whole, part = (
        lower_bounds(machine, program, machine.place_workers()).work_s for program in (made, cheap)
    )
    assert part < whole / 50  # creating tasks costs what it did


def test_a_program_of_no_length_reaches_its_bound() -> None:
    """0 over 0 was infinite, and its deviation over the seeds a warning of NumPy."""
    machine = make_machine(domains=1, cores_per_domain=2, ops_per_s=1e9)
    program = Workload("w", build_graph(np.zeros(2), successors=adjacency([0], [1], 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = simsched.run(machine, program, ["heft", "eager"], seeds=2, jobs=1)
        table = result.table()
    runs = result.runs.set_index("policy")
    assert runs.loc["heft", "makespan_s"].tolist() == [0.0, 0.0]
    assert runs.loc["heft", "makespan_over_bound"].tolist() == [1.0, 1.0]
    # What its runtime costs is above every bound, and no number says how far.
    assert (runs.loc["eager", "makespan_s"] > 0).all()
    assert runs.loc["eager", "makespan_over_bound"].isna().all()
    assert "inf" not in str(table)
