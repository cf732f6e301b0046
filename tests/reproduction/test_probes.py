"""Probes: what machines, task graphs and policies say without a run."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from simsched.files.errors import SimschedError
from simsched.reproduction import probes
from simsched.reproduction.probes import ask, probe

KNL = {"machine": "knl_snc4_flat"}
OPTERON = {"machine": "amd_4x_opteron8380"}
MIB = 2**20
#: Chen and Guo 2017, section 3.8.1.2: Heat on 3072 x 2048 doubles.
HEAT = {"rows": 3072, "columns": 2048}
TREE = [-1, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        # Zhao et al., TACO 15(4), 2018, sections 2 and 9.
        ("machine_count", {**KNL, "what": "sockets"}, 4),
        ("machine_count", {**KNL, "what": "threads_per_socket"}, 64),
        ("machine_count", {**KNL, "what": "nodes", "kind": "HBM"}, 4),
        ("node_bandwidth_bytes_per_s", {**KNL, "kind": "HBM", "peak": True}, 96e9),
        ("node_bandwidth_bytes_per_s", {**KNL, "kind": "DRAM", "peak": True}, 22.5e9),
        ("bandwidth_ratio", {**KNL, "kind": "HBM", "base": "DRAM", "peak": True}, 96 / 22.5),
        ("node_capacity_bytes", {**KNL, "kind": "HBM"}, 4 * 2**30),
        ("node_capacity_bytes", {**KNL, "kind": "HBM", "total": True}, 16 * 2**30),
        ("page_bytes", {**KNL, "kind": "DRAM"}, 4096),
        ("policy_parameter", {"policy": "bats", "name": "sample_pages"}, 4),
        ("workload_count", {"workload": "heat_16gb", "what": "iterations"}, 200),
        (
            "bats_count",
            {**KNL, "policy": "bats", "workload": "heat_16gb", "what": "disabled_workers"},
            4,
        ),
        # Chen and Guo 2017, chapter 3.
        ("cache_capacity_bytes", {**OPTERON, "level": "L3"}, 6 * MIB),
        ("cache_cores", {**OPTERON, "level": "L3"}, 4),
        ("workload_bytes", {"workload": "heat", "what": "data", "parameters": HEAT}, 96 * MIB),
        ("workload_count", {"workload": "heat", "what": "leaves", "parameters": {**HEAT,
         "cutoff_rows": 64}}, 64),
        ("boundary_level", {**OPTERON, "workload": "heat", "parameters": HEAT}, 5),
        ("tree_levels", {"workload": "heat", "root_level": 1,
         "parameters": {**HEAT, "cutoff_rows": 64}}, 8),
        ("cab_subtrees", {**OPTERON, "policy": "cab_gto_profile[every_socket=false]",
         "workload": "heat", "parameters": {"rows": 1024, "columns": 512, "cutoff_rows": 8}}, 2),
        ("cab_subtrees", {**OPTERON, "policy": "cab_gto_profile", "workload": "heat",
         "parameters": {"rows": 8192, "columns": 512, "cutoff_rows": 8, "irregular": True}}, 20),
        ("subtrees_at_level", {"workload": "fork_join", "level": 2, "parameters": {"depth": 3}}, 2),
        ("subtrees_at_level", {"workload": "fork_join", "level": 3, "parameters": {"depth": 3}}, 4),
        ("execution_order", {"policy": "cilk", "parents": TREE}, "t0 t1 t2 t4 t5 t3 t6 t7"),
        ("execution_order", {"policy": "pfws", "parents": TREE}, "t0 t1 t2 t3 t4 t5 t6 t7"),
        # Drebes et al., PACT 2016, Table 1.
        ("traversal_time_s", {"machine": "opteron64", "domain": 0, "node": 0}, 1.2885),
        ("traversal_time_s", {"machine": "opteron64", "domain": 0, "node": 0, "write": True},
         2.2569),
        ("traversal_ratio", {"machine": "opteron64", "domain": 0, "node": 1, "base": 0}, 1.81),
    ],
)  # fmt: skip
def test_a_probe_says_what_the_source_says(
    name: str, arguments: dict[str, Any], answer: float | str
) -> None:
    found = ask(name, arguments)
    assert found == (answer if isinstance(answer, str) else pytest.approx(answer, rel=2e-3))


def test_levels_of_a_spawn_tree() -> None:
    assert ask("workload_count", {"workload": "fork_join", "what": "levels",
                                  "parameters": {"depth": 3}}) == 4  # fmt: skip


def test_data_that_must_be_in_hbm_and_do_not_fit_cannot_run() -> None:
    parameters = {"rows": 45_000, "columns": 32_768}
    large = {**KNL, "workload": "heat_16gb_coarse", "parameters": parameters}
    assert ask("can_run", {**large, "policy": "cilk_h"}) == 0
    small = {**KNL, "workload": "heat_small"}
    assert ask("can_run", {**small, "policy": "cilk_h"}) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("node_capacity_bytes", {**KNL, "kind": "HBN"}, "unknown memory kind 'HBN'; did you mean"),
        ("cache_capacity_bytes", {**OPTERON, "level": "L4"}, "unknown cache level 'L4'; did you"),
        ("runtime_cost_s", {**OPTERON, "cost": "spwan"}, "unknown cost 'spwan'"),
        ("workload_count", {"workload": "heat", "what": "task"}, "did you mean 'tasks'"),
        ("policy_parameter", {"policy": "bats", "name": "balancr"}, "did you mean 'balancer'"),
        ("cab_subtrees", {**OPTERON, "policy": "cilk", "workload": "heat"}, "found 'cilk'"),
        ("execution_order", {"policy": "cilk", "parents": [3]}, "found [3], accepted: whole"),
        ("traversal_time_s", {**KNL, "domain": 9, "node": 0}, "domain: found 9, accepted: 0 to 3"),
    ],
)
def test_wrong_arguments_are_named(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SimschedError) as caught:
        ask(name, arguments)
    assert message in str(caught.value)


def test_every_probe_is_documented_and_answers_to_its_keywords() -> None:
    found = probes.probes()
    assert len(found) > 10
    for name, summary in found.items():
        assert summary.startswith("Return "), name
        assert inspect.getdoc(probes._probes.find(name).function)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match=r"'machine_count': registered twice, by simsched\."):

        @probe("machine_count")
        def other(*, machine: str) -> float:
            return len(machine)


def test_parameters_are_keywords_of_plain_types() -> None:
    with pytest.raises(ValueError, match="parameter machine"):

        @probe("other")
        def other(machine: str) -> float:
            return len(machine)


def test_a_task_that_changes_its_pool_waits_once() -> None:
    """A kept task displaces another one to the deque; workers are parked only without tasks."""
    of_tree = {"workload": "fork_join", "policy": "dsa_base", "parameters": {"depth": 6}}
    assert ask("idle_while_ready_percent", {"machine": "toy_1fast_3slow", **of_tree}) == 0.0
