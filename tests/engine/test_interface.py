"""The description of what engines are given, and what follows from it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simsched.engine.interface.problem import Paths, Pooling, Problem
from simsched.engine.interface.table import array, interface, length, struct_of
from simsched.engine.native import NativeBackend
from simsched.machine.model import RuntimeCosts
from tests.engine.test_native_binding import Hooks, prepare, small_graph

ROOT = Path(__file__).resolve().parents[2]


def test_generated_files_are_what_the_description_says() -> None:
    command = [sys.executable, "tools/interface.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_sizes_are_those_of_the_arrays() -> None:
    problem, plan = prepare(small_graph(6), domains=3, cores_per_domain=2)
    assert (problem.n_workers, problem.n_cores, problem.n_domains) == (6, 6, 3)
    assert (problem.n_blocks, problem.n_allowed) == (6, 3)
    assert problem.n_distances == 3  # the same core, the same domain, another one
    assert problem.paths.n_paths == len(problem.paths.latency_ps)
    assert (plan.order.n_steps, plan.n_groups, plan.n_samples) == (2, 1, 0)
    assert plan.order.victims.n_lists == 0
    wider = replace(problem, worker_core=np.arange(9, dtype=np.int32))
    assert (wider.n_workers, wider.n_cores) == (9, 9)


def test_a_pool_of_blocks_has_a_row_per_task_and_one_more() -> None:
    none = np.zeros(0, np.int32)
    rows = np.zeros(5, np.int64)
    empty = dict.fromkeys(("size_class", "allocate_near"), none)
    pooling = Pooling(**empty, allocate_ptr=rows, allocate=none, release_ptr=rows, release=none)
    assert pooling.n_tasks == 4


def test_a_description_knows_types_of_annotations() -> None:
    members = {one.name: one for one in struct_of(Problem).members}
    assert members["worker_core"].c_type == "int32_t"
    assert members["block_bytes"].c_type == "int64_t"
    assert members["worker_rate"].c_type == "double"
    assert members["timer_period_ps"].c_type == "int64_t"
    assert members["n_smt"].c_type == "int32_t"
    assert members["paths"].cls is Paths
    assert members["pooling"].optional
    assert not members["paths"].optional


def test_classes_with_a_description_are_frozen_and_take_names_only() -> None:
    @interface("ssk_example_t")
    class Example:
        """An example."""

        n_things = length("things")
        things: np.ndarray[tuple[int], np.dtype[np.int32]] = array("n_things")

    example = Example(things=np.zeros(3, np.int32))
    assert example.n_things == 3
    with pytest.raises(AttributeError):
        example.things = np.zeros(4, np.int32)  # type: ignore[misc]
    with pytest.raises(TypeError):
        Example(np.zeros(3, np.int32))  # type: ignore[misc]
    with pytest.raises(TypeError):
        Example()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("n_smt", 0, "Problem.n_smt: found 0, accepted 1 to 2147483647"),
        ("n_smt", 2**31, "Problem.n_smt: found 2147483648, accepted 1 to 2147483647"),
        ("n_classes", 2**20 + 1, "Problem: n_classes is malformed"),
        ("transfer_level", 99, "Problem: transfer_level is malformed"),
        ("transfer_level", -2, "Problem.transfer_level: found -2, accepted -1 to 2147483647"),
        ("timer_period_ps", 2**62, "Problem: timer_period_ps is malformed"),
        ("costs", RuntimeCosts(pop_ps=-1), "RuntimeCosts.pop_ps: found -1, accepted 0 to"),
        ("costs", RuntimeCosts(pop_ps=2**52 + 1), "Problem: pop_ps is malformed"),
        ("costs", RuntimeCosts(steal_ps=()), "Problem: n_steal is malformed"),
        (
            "touch_order",
            np.zeros(3, np.int32),
            "Problem.touch_order: accepted an array with two axes",
        ),
    ],
)
def test_numbers_out_of_range_are_refused(name: str, bad: object, message: str) -> None:
    problem, _ = prepare(small_graph())
    with pytest.raises(ValueError, match=message):
        NativeBackend(replace(problem, **{name: bad}), Hooks(), events=False)
