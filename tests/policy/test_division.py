"""Dividing policies on a server with a GPU: closed forms, ladders, rules of Algorithm 10."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.analysis.metrics import run_metrics
from simsched.engine.conformance import compare
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, ModelError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.divided_work.hats import share_variance
from simsched.policy.parts.division import with_unmeasured
from simsched.trace.run import Run
from simsched.workload.graph import Workload
from simsched.workload.presets import make_workload
from simsched.workload.registry import generate_workload

NAMES = ["hats", "quick", "split", "static_split", "static_profile_db", "static_code_model"]
NAMES += ["cpu_only", "gpu_only"]
MACHINE = load_machine("e5620_m2090")
CPU, GPU = 2.4e9, 512 * 1.3e9  #: operations per second


def loop(
    units: int = 65536, *, cpu_s: float = 1e-6, gpu_s: float = 2.5e-7, **more: object
) -> Workload:
    """Return a loop with seconds per iteration on a thread and on the device."""
    costs = {"cpu_ops": cpu_s * CPU, "gpu_ops": gpu_s * GPU, "saturation_units": 0.0}
    sizes = {"input_bytes": 0, "output_bytes": 0}
    return generate_workload("divisible", {"units": units, **costs, **sizes, **more})


def steps(run: Run) -> list[int]:
    return run.summary.part_units.sum(axis=1).tolist()


def run(policy: str, workload: Workload, machine: Machine = MACHINE, **params: object) -> Run:
    return simulate(machine, workload, make_policy(policy, params))


def free(machine: Machine = MACHINE) -> Machine:
    """Return the machine without costs of launches."""
    return replace(machine, costs=replace(machine.costs, kernel_launch_ps=0, pop_ps=0, push_ps=0))


def test_the_machine_has_the_figures_of_its_sources() -> None:
    assert (MACHINE.n_cores, MACHINE.n_threads, MACHINE.n_sockets) == (5, 9, 2)
    assert MACHINE.kinds == ("cpu", "gpu")
    assert [group.ops_per_s for group in MACHINE.core_groups] == [CPU, GPU]
    assert [(n.kind, n.capacity_bytes // 2**30) for n in MACHINE.nodes] == [
        ("DRAM", 24),
        ("GPU", 6),
    ]
    path = MACHINE.paths[1][0]
    assert (path.latency_ps, len(path.links)) == (5_000_000, 1)
    assert MACHINE.links[path.links[0]].bandwidth_bytes_per_s == 5.5e9
    assert MACHINE.costs.kernel_launch_ps == 10_000_000


def test_the_time_of_a_device_follows_from_launch_copies_and_kernel() -> None:
    workload = loop(10_000, saturation_units=100, input_bytes=1000, output_bytes=200)
    found = run("gpu_only", workload).summary
    copies = 2 * 5e-6 + 10_000 * 1200 / 5.5e9
    kernel = 10e-6 + (10_000 + 100) * 2.5e-7
    runtime = 3 * 50e-9 + 2 * 50e-9  # three tasks are popped, two pushed
    assert found.part_ps[0, 1] * 1e-12 == pytest.approx(copies + kernel + runtime, rel=1e-6)
    assert found.part_units.tolist() == [[0, 10_000]]


def test_a_step_waits_for_the_slower_side() -> None:
    found = run("static_split", loop(8000), share=0.75).summary
    assert found.part_units.tolist() == [[2000, 6000]]
    assert found.part_ps[0, 0] * 1e-12 == pytest.approx(2000e-6, rel=1e-3)
    assert found.part_ps[0, 1] * 1e-12 == pytest.approx(1500e-6 + 10e-6, rel=1e-3)
    assert found.makespan_ps == found.part_ps.max()


def test_threads_share_the_part_of_the_processor() -> None:
    one = run("cpu_only", loop(8000))
    four = run("cpu_only", loop(8000), threads=4)
    every = run("cpu_only", loop(8000), threads=0)
    assert one.makespan_s == pytest.approx(8000e-6, rel=1e-4)
    assert four.makespan_s == pytest.approx(2000e-6, rel=1e-4)
    assert every.makespan_s == four.makespan_s
    assert np.count_nonzero(four.summary.tasks_per_worker) == 5  # the device has empty tasks


def test_the_first_steps_are_those_of_the_example() -> None:
    found = run("hats", loop(gpu_s=1e-7, saturation_units=2000)).summary.part_units
    assert found[0].tolist() == [256, 256]
    assert found[:2].sum(axis=1).tolist() == [512, 1024]
    assert 65536 - int(found[0].sum()) == 65024


def test_profiling_that_never_settles_follows_the_ladder() -> None:
    found = run("hats", loop(), variance_threshold=0.0)
    assert steps(found) == [512, 1024, 2048, 4096, 8192, 16384, 65536 - 63 * 512]
    profiled = np.cumsum(steps(found))[:-1] / 65536 * 100
    assert profiled.round(2).tolist() == [0.78, 2.34, 5.47, 11.72, 24.22, 49.22]


def test_an_exact_first_division_settles_at_once() -> None:
    workload = loop(gpu_s=1e-6)
    found = run("hats", workload, free())
    assert steps(found) == [512, 65024]


def test_the_variance_rule_is_one_of_a_percent() -> None:
    for difference, below in ((0.0100 * 0.999, True), (0.0100 * 1.001, False)):
        new, old = np.array([0.5 - difference, 0.5 + difference]), np.array([0.5, 0.5])
        assert (share_variance(new, old) < 5e-5) == below


def test_quick_divides_by_the_speeds_of_its_profile() -> None:
    found = run("quick", loop(gpu_s=2.5e-7), free())
    first, second = found.summary.part_units.tolist()
    assert first == [256, 256]
    time = found.summary.part_ps[0]
    share = time[0] / (time[0] + time[1])  # equal numbers: speeds are as 1 / time
    assert second[1] == round(65024 * share)


def test_split_follows_every_chunk() -> None:
    found = run("split", loop(10_000))
    assert steps(found) == [1024] * 9 + [784]
    share = found.summary.part_units[:, 1] / found.summary.part_units.sum(axis=1)
    assert share[0] == 0.5
    assert share[-1] == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("hats", [512, 1024, 2048, 61952]),
        ("quick", [512, 65024]),
        ("split", [1024] * 64),
    ],
)
def test_later_invocations_are_profiled_again(name: str, later: list[int]) -> None:
    found = run(name, loop(gpu_s=1e-7, iterations=2)).summary.part_units
    first = len(steps(run(name, loop(gpu_s=1e-7))))
    assert found[first:].sum(axis=1).tolist() == later
    assert found[first, 1] / found[first].sum() == pytest.approx(0.5, abs=1e-3)


def test_costs_for_a_processor_that_takes_part_must_be_known() -> None:
    group = MACHINE.core_groups[1]
    other = replace(MACHINE, core_groups=(MACHINE.core_groups[0], replace(group, kind="fpga")))
    for name, workload in (("hats", loop()), ("finepar", generate_workload("spmv", {"scale": 6}))):
        with pytest.raises(ModelError, match="costs for processor kind 'fpga' of machine"):
            simulate(other, workload, make_policy(name))


def test_numbers_of_synchronisations() -> None:
    counts = {name: len(steps(run(name, loop()))) for name in ("static_split", "quick", "split")}
    assert counts == {"static_split": 1, "quick": 2, "split": 64}


def test_models_choose_the_share() -> None:
    workload = loop(saturation_units=20_000, input_bytes=1000)
    model = run("static_code_model", workload).summary.part_units[0]
    assert model[1] / model.sum() == pytest.approx(0.8, abs=1e-3)
    database = run("static_profile_db", workload).summary
    n = 32768
    device = 20e-6 + n * 1000 / 5.5e9 + (n + 20_000) * 2.5e-7
    share = (n / device) / (n / device + 1e6)
    assert database.part_units[0, 1] / 65536 == pytest.approx(share, abs=1e-3)


def test_a_device_without_work_costs_nothing_and_keeps_its_speed() -> None:
    found = run("quick", loop(), initial_share=0.0).summary
    assert found.part_units[:, 1].tolist() == [0, 0]
    assert found.part_ps[0, 1] < 1e6  # three empty tasks


SLOW_GPU = {"cpu_s": 1e-3, "gpu_s": 4e-3}
SLOW_CPU = {"cpu_s": 4e-3, "gpu_s": 1e-3}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # 160 / 128 is one unit, of which one side would have nothing and count as one without
        # speed: the other did the whole loop. Each needs one. Shares are then 4 to 1.
        ("quick", [[1, 1], [126, 32]]),
        ("hats", [[1, 1], [3, 1], [123, 31]]),
    ],
)
def test_every_side_is_measured_before_shares_follow(
    policy: str, expected: list[list[int]]
) -> None:
    found = run(policy, loop(160, **SLOW_GPU), free()).summary
    assert found.part_units.tolist() == expected
    assert compare(free(), loop(160, **SLOW_GPU), make_policy(policy)).difference == ""


def test_chunks_of_a_unit_go_to_one_side_after_the_other_first() -> None:
    found = run("split", loop(40, **SLOW_GPU), free(), chunk_units=1).summary.part_units.tolist()
    assert found == [[0, 1]] + [[1, 0]] * 39
    # A processor that is slower is known from one unit, too, in each invocation.
    twice = loop(40, iterations=2, **SLOW_CPU)
    found = run("split", twice, free(), chunk_units=1).summary.part_units.tolist()
    assert found == ([[0, 1], [1, 0]] + [[0, 1]] * 38) * 2


def test_units_to_measure_come_from_parts_that_can_spare_them() -> None:
    everybody, first = np.array([True, True, True]), np.array([True, False, False])
    for units, unmeasured, expected in (
        ([0, 2, 5], everybody, [1, 2, 4]),
        ([0, 0, 2], everybody, [1, 0, 1]),  # no third unit
        ([0, 1, 1], first, [1, 0, 1]),
        ([0, 0, 1], ~first, [0, 0, 1]),  # who needs it keeps its last one
    ):
        assert with_unmeasured(np.array(units), unmeasured).tolist() == expected


def test_noise_of_the_timer_disturbs_shares_and_is_seeded() -> None:
    noisy = [run("hats", loop(), timer_noise=0.2).summary.part_units.tolist() for _ in range(2)]
    assert noisy[0] == noisy[1]
    assert noisy[0] != run("hats", loop()).summary.part_units.tolist()


def test_metrics_of_a_division() -> None:
    found = run("quick", loop())
    row = run_metrics(found.summary, found.machine, found.workload, found.worker_thread)
    times = found.summary.part_ps
    assert row["profiled_percent"] == pytest.approx(100 / 128)
    expected = abs(times[1, 0] - times[1, 1]) / times[1].max()
    assert row["imbalance_degree"] == pytest.approx(expected)
    total = times.sum(axis=0)
    assert row["imbalance_degree_sum"] == pytest.approx(abs(total[0] - total[1]) / total.max())
    share = found.summary.part_units[:, 1] / found.summary.part_units.sum(axis=1)
    assert row["iteration_partition_variance"] == pytest.approx([(share[1] - share[0]) ** 2 / 2])
    assert row["makespan_over_bound"] >= 1.0
    one = run("cpu_only", loop())
    row = run_metrics(one.summary, one.machine, one.workload, one.worker_thread)
    assert (row["profiling_steps"], row["profiled_percent"]) == (0.0, 0.0)


def degrees(run: Run) -> tuple[float, float]:
    row = run_metrics(run.summary, run.machine, run.workload, run.worker_thread)
    return row["imbalance_degree"], row["imbalance_degree_sum"]


def test_a_side_without_work_is_out_of_balance() -> None:
    # Eq. 6.5 with a time of 0 is T / T = 1, which used to be 0, perfect.
    for policy in ("cpu_only", "gpu_only"):
        assert degrees(run(policy, loop())) == (1.0, 1.0)
    # One unit on the GPU and 39 on the processor, whose last unit is alone in its step.
    last, whole = degrees(run("split", loop(40, **SLOW_GPU), free(), chunk_units=1))
    assert (last, whole) == (1.0, pytest.approx((39 - 4) / 39))
    host = make_machine()  # no other side
    assert degrees(simulate(host, loop(40), make_policy("cpu_only"))) == (0.0, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_backends_agree(name: str) -> None:
    workload = loop(4000, input_bytes=100, saturation_units=300)
    assert compare(MACHINE, workload, make_policy(name)).difference == ""


def test_a_machine_without_the_side_that_is_asked_for() -> None:
    host = make_machine()
    with pytest.raises(ModelError, match="machine synthetic has no device for gpu_only"):
        simulate(host, loop(), make_policy("gpu_only"))
    assert steps(simulate(host, loop(4000), make_policy("hats")))[0] == 31


def test_parts_that_differ_are_no_loop() -> None:
    workload = loop()
    assert workload.division is not None
    unequal = workload.division.unit_ops.copy()
    unequal[0, 0] += 1
    wrong = replace(workload, division=replace(workload.division, unit_ops=unequal))
    with pytest.raises(ModelError, match="found parts that differ, accepted a loop"):
        simulate(MACHINE, wrong, make_policy("hats"))


def test_two_devices_share_by_their_speeds() -> None:
    from simsched.policy.parts.division import device_shares, rounded
    from simsched.policy.parts.division_steps import Sides

    shares = device_shares(Sides((0,), (1, 2)), 0.5)
    assert shares.tolist() == [0.5, 0.25, 0.25]
    assert rounded(shares, 10).tolist() == [4, 3, 3]


@pytest.mark.parametrize(
    ("name", "units", "chunks_of_split"),
    [
        ("cg_rows", 16384, 16),
        ("jacobi_rows", 16384, 16),
        ("mc_pricing", 2**26, 65536),
        ("mm_elements", 2**20, 1024),
        ("nbody_bodies", 16384, 16),
        ("nns_queries", 16384, 16),
    ],
)
def test_published_programs(name: str, units: int, chunks_of_split: int) -> None:
    workload = make_workload(name)
    assert workload.division is not None
    assert workload.division.units == units == 1024 * chunks_of_split
    hats = run("hats", workload)
    quick = run("quick", workload)
    assert hats.makespan_s < quick.makespan_s
    # Settled after at most five steps, not before.
    assert 2 <= len(steps(hats)) - 1 <= 5
    row = run_metrics(hats.summary, MACHINE, hats.workload, hats.worker_thread)
    variance = row["iteration_partition_variance"]
    assert variance[-1] < 5e-5 <= variance[-2]


@pytest.mark.parametrize("key", ["cpu_ops", "gpu_ops"])
def test_costs_whose_sum_is_no_number_are_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{key}: found 1e\+308, accepted .* 0 to 1e\+18"):
        generate_workload("divisible", {key: 1e308})
    largest = {key: 1e18, "units": 2**50, "saturation_units": 2.0**50}
    whole = generate_workload("divisible", {**largest, "input_bytes": 0, "output_bytes": 0})
    assert np.isfinite(whole.graph.ops).all()
