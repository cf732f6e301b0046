"""Efficiencies by their POP names, and ready tasks over time; all by hand."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from simsched.analysis.efficiency import FREE_BYTES_PER_S, efficiencies, ideal_machine
from simsched.analysis.lack import lack_of_tasks
from simsched.analysis.waterfall import time_parts
from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.run import Run
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload
from tests.analysis.test_idle import OneSteals
from tests.analysis.test_waterfall import reading
from tests.engine.test_duplicates import US, Deciding, uneven


def found(machine: Machine, workload: Workload, policy: Any) -> dict[str, float]:
    run = simulate(machine, workload, policy, events=True)
    ideal = simulate(ideal_machine(machine), workload, policy)
    values = asdict(efficiencies(run.summary, ideal.summary.makespan_ps, time_parts(run).seconds))
    product = values["load_balance"] * values["serialisation"] * values["transfer"]
    assert product == pytest.approx(values["parallel"])
    return values


def test_a_worker_that_has_less_to_do_is_bad_load_balance() -> None:
    workload = Workload("w", build_graph([8000.0, 4000.0]))
    assert found(uneven(1.0, 1.0), workload, Deciding(owner=(0, 1))) == pytest.approx(
        {
            "parallel": 0.75,
            "load_balance": 0.75,
            "serialisation": 1.0,
            "transfer": 1.0,
            "work_time_inflation": 1.0,
        }
    )


def test_workers_that_wait_for_each_other_are_serialised() -> None:
    graph = build_graph([4000.0, 4000.0], successors=adjacency([0], [1], 2))
    values = found(uneven(1.0, 1.0), Workload("w", graph), Deciding(owner=(0, 1)))
    assert values["load_balance"] == 1.0
    assert values["serialisation"] == 0.5
    assert values["transfer"] == 1.0


def test_what_a_steal_takes_is_transfer() -> None:
    # 1 us, then 9 us on either worker: one of them pays 5 us for its steal.
    machine = uneven(1.0, 1.0, costs=RuntimeCosts(steal_ps=(5 * US,)))
    graph = build_graph([1000.0, 9000.0, 9000.0], successors=adjacency([0, 0], [1, 2], 3))
    values = found(machine, Workload("w", graph), OneSteals(owner=(0, 0, 0)))
    assert values["transfer"] == pytest.approx(10 / 15)
    assert values["serialisation"] == pytest.approx(1.0)
    assert values["load_balance"] == pytest.approx(9.5 / 10)


def test_tasks_that_share_a_controller_take_longer() -> None:
    machine = make_machine(domains=1, cores_per_domain=2, core_cap_bytes_per_s=10e9)
    values = found(machine, reading(4), make_policy("work_sharing"))
    assert values["parallel"] == pytest.approx(1.0)
    assert values["work_time_inflation"] == pytest.approx(2.0)


def test_copies_take_no_time_on_the_ideal_machine_and_kernels_are_launched() -> None:
    machine = load_machine("attila")
    ideal = ideal_machine(machine)
    assert {link.bandwidth_bytes_per_s for link in ideal.links} == {FREE_BYTES_PER_S}
    assert ideal.costs == RuntimeCosts(
        kernel_launch_ps=machine.costs.kernel_launch_ps,
        hotness_sample_ps=machine.costs.hotness_sample_ps,
        counter_read_ps=machine.costs.counter_read_ps,
        device_chunk_bytes=machine.costs.device_chunk_bytes,
    )


def test_a_run_of_no_length_is_efficient() -> None:
    workload = Workload("w", build_graph([0.0]))
    assert set(found(uneven(1.0), workload, Deciding(owner=(0,))).values()) == {1.0}


@pytest.fixture(scope="module")
def unequal() -> Run:
    """Worker 0 has tasks of 2 and 4 us, worker 1 one of 1 us, from the start on."""
    graph = build_graph([2000.0, 4000.0, 1000.0])
    policy = Deciding(owner=(0, 0, 1))
    return simulate(uneven(1.0, 1.0), Workload("w", graph), policy, events=True)


def test_ready_tasks_and_idle_workers_are_means_over_bins(unequal: Run) -> None:
    lack = lack_of_tasks(unequal, 3)
    assert (lack.edges_ps / US).tolist() == [0, 2, 4, 6]
    assert lack.ready == pytest.approx([1, 0, 0])
    assert lack.idle == pytest.approx([0.5, 1, 1])


def test_bins_of_any_number_have_the_same_sum(unequal: Run) -> None:
    for bins in (1, 7, 100):
        lack = lack_of_tasks(unequal, bins)
        assert float(lack.idle @ np.diff(lack.edges_ps)) == pytest.approx(5 * US)
        assert float(lack.ready @ np.diff(lack.edges_ps)) == pytest.approx(2 * US)


def test_a_run_without_trace_is_refused(unequal: Run) -> None:
    with pytest.raises(ValueError, match="no event trace"):
        lack_of_tasks(replace(unequal, trace=None), 1)
