"""Choosing two runs and the difference of their makespans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.api import load_experiment
from simsched.experiment import compare
from simsched.experiment.cells import Cell
from simsched.experiment.compare import Difference, Side, measure_side, select_cells, with_policy
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, ModelError
from simsched.report.compare import difference_table, efficiency_table, pools_table

EXPERIMENT: dict[str, Any] = {
    "name": "two",
    "machines": ["amd_4x_opteron8380"],
    "workloads": [
        {"name": "heat", "rows": 256, "columns": 256, "leaf_bytes": 65536, "label": "HEAT"},
        {"name": "fork_join", "depth": 4, "label": "FJ"},
    ],
    "policies": ["cilk_a", "random_stealing[spawn=parent_first,steal_take=newest]"],
    "seeds": 2,
    "sweep": {"product": {"workloads.0.iterations": [1, 3]}},
}


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return Study.from_yaml(load_experiment(EXPERIMENT)).cells


def test_parts_add_up_to_the_difference(cells: list[Cell]) -> None:
    first = measure_side(select_cells(cells, "cilk_a,workload=HEAT,iterations=1"))
    second = measure_side(select_cells(cells, "cilk_a,workload=HEAT,iterations=3"))
    found = Difference(first, second)
    change = second.makespan_s - first.makespan_s
    assert change > 0
    assert sum(found.seconds.values()) == pytest.approx(change, rel=1e-9)
    assert first.seeds == (0, 1)


def test_what_rounding_leaves_of_sums_is_no_difference() -> None:
    first = Side("A", (0,), 0.3, {"compute": 0.3, "memory": 5e-17, "idle: tail": 0.0})
    second = Side(
        "B", (0,), 0.1 + 0.2, {"compute": 0.1 + 0.2 - 1e-6, "memory": 0.0, "idle: tail": 1e-6}
    )
    found = Difference(first, second)
    assert second.makespan_s != first.makespan_s
    assert found.seconds == {"compute": pytest.approx(-1e-6), "memory": 0.0, "idle: tail": 1e-6}
    assert found.document()["difference_s"] == 0.0
    table = difference_table(found)
    shown = dict(zip(*(map(str, table.columns[i].cells) for i in (0, 3)), strict=True))
    assert shown == {
        "compute": "-0.001",
        "idle": "+0.001",
        "  tail": "+0.001",
        "makespan": "0",
    }
    assert list(map(str, table.columns[4].cells)) == ["0 %", "0 %", "0 %", "0 %"]
    assert str(table.columns[3].header) == "B - A [ms]"


def test_times_below_half_a_picosecond_are_not_shown() -> None:
    # Of 40 ns a table in ns could show femtoseconds.
    first = Side("A", (0,), 40e-9, {"compute": 40e-9, "cache": 1.3e-13, "steal": 2e-12})
    second = Side("B", (0,), 40e-9, {"compute": 40e-9 - 1e-12, "cache": 2e-13, "steal": 3e-12})
    table = difference_table(Difference(first, second))
    shown = list(zip(*(map(str, column.cells) for column in table.columns), strict=True))
    assert shown == [
        ("compute", "40", "40", "-0.001", "0 %"),
        ("steal", "0.002", "0.003", "+0.001", "0 %"),
        ("makespan", "40", "40", "0", "0 %"),
    ]


def test_sides_that_say_little_are_not_explained() -> None:
    first = Side("A", (0,), 2.0, {"memory": 2.0})
    second = Side("B", (0,), 1.0, {"memory": 1.0})
    assert len(Difference(first, second).remarks) == 1
    unfit = {"misfits": ("needs jobs: found none",)}
    assert Difference(replace(first, **unfit), second).remarks == []
    assert Difference(first, replace(second, **unfit)).remarks == []


def test_what_seeds_alone_may_make_is_said_instead_of_why() -> None:
    first = Side("A", (0, 1), 1.5, {"memory": 1.5}, makespans_s={0: 1.0, 1: 2.0})
    second = Side("B", (0, 1), 1.0, {"memory": 1.0}, makespans_s={0: 0.9, 1: 1.08})
    found = Difference(first, second)  # 10 and 46 % shorter: t(0.975, 1) * 18 = 229
    assert found.remarks == []
    assert found.doubts == ["B: shorter by 28 ± 229 %, which may be none, so nothing is explained"]
    alike = replace(second, makespans_s={0: 0.7, 1: 1.4})
    assert Difference(first, alike).doubts == []
    assert Difference(first, alike).remarks[0].startswith("B is 30 % shorter than A")


def test_groups_of_parts_have_sums() -> None:
    waits = {"wait DRAM: controller": 1.0, "wait DRAM: link": 0.5, "wait HBM: link": 0.0}
    first = Side("A", (0,), 3.0, {"compute": 1.0, **waits, "idle: kept": 0.5})
    second = Side("B", (0,), 1.0, {"compute": 1.0, **dict.fromkeys(waits, 0.0)})
    table = difference_table(Difference(first, second))
    shown = dict(zip(*(map(str, table.columns[i].cells) for i in (0, 1)), strict=True))
    assert shown == {
        "compute": "1",
        "wait DRAM": "1.5",
        "  controller": "1",
        "  link": "0.5",
        "idle": "0.5",
        "  kept": "0.5",
        "makespan": "3",
    }


def test_pools_that_keep_tasks_are_listed() -> None:
    idle = {("kept", "pool deque of other domains"): 0.2, ("tail", ""): 0.4, ("kept", "x"): 1e-5}
    side = Side("A", (0,), 1.0, {"idle: kept": 0.2}, idle)
    table = pools_table(Difference(side, side))
    assert table is not None
    assert [str(cell) for cell in table.columns[1].cells] == ["pool deque of other domains"]
    nothing = Side("A", (0,), 1.0, {"compute": 1.0})
    assert pools_table(Difference(nothing, nothing)) is None


def test_a_policy_with_commas_in_brackets_is_one_word(cells: list[Cell]) -> None:
    name = "random_stealing[spawn=parent_first,steal_take=newest]"
    chosen = select_cells(cells, f"{name},workload=FJ,iterations=1,seed=1")
    assert [(cell.policy, cell.seed) for cell in chosen] == [(name, 1)]


def test_blanks_in_a_label_do_not_matter(cells: list[Cell]) -> None:
    spaced = "random_stealing[spawn=parent_first, steal_take = newest]"
    chosen = select_cells(cells, f"{spaced}, workload=FJ, iterations=1, seed=1")
    assert [cell.seed for cell in chosen] == [1]


@pytest.mark.parametrize(
    ("selector", "policy"),
    [
        ("a,b", "a,b"),
        ("a", "a"),
        ("a, seed=1", "a"),
        ("x=1", "x=1"),
        ("x=1,seed=1", "x=1"),
        ("seed=1,policy=a,b,workload=F,J=1", "a,b"),
        ("workload=F,J=1,c [/u]", "c [/u]"),
    ],
)
def test_labels_may_hold_commas_and_equals_signs(selector: str, policy: str) -> None:
    labels = ["a", "a,b", "x=1", "c [/u]"]
    data = {
        "name": "odd",
        "machines": ["amd_4x_opteron8380"],
        "workloads": [{"name": "fork_join", "depth": 2, "label": "F,J=1"}],
        "policies": [{"name": "cilk_a", "label": label} for label in labels],
        "seeds": [1],
    }
    document = load_experiment(data)
    assert with_policy(document, selector) is document
    (cell,) = select_cells(Study.from_yaml(document).cells, selector)
    assert (cell.policy, cell.workload) == (policy, "F,J=1")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("cilk_a,", "unknown policy ''"),
        ("cilk_a", "found runs with workload HEAT, FJ, accepted: one of them"),
        ("cilk_a,workload=HEAT", "iterations"),
        ("cilk,workload=HEAT", "cilk_a"),
        ("worklaod=HEAT", "'worklaod'"),
        ("cilk_a,seed=7", "'7'"),
    ],
)
def test_what_cannot_be_chosen_is_said(cells: list[Cell], selector: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        select_cells(cells, selector)
    assert message in str(caught.value)


def test_efficiencies_and_steals_have_a_table(cells: list[Cell]) -> None:
    side = measure_side(select_cells(cells, "cilk_a,workload=HEAT,iterations=1"))
    table = efficiency_table(Difference(side, side))
    assert table is not None
    shown = dict(zip(*(map(str, table.columns[i].cells) for i in (0, 1)), strict=True))
    product = [
        float(shown[f"  {name}"]) for name in ("load balance", "x serialisation", "x transfer")
    ]
    assert float(shown["parallel efficiency"]) == pytest.approx(np.prod(product), abs=0.005)
    assert int(shown["steals from other domains"]) == side.metrics["steals_remote"]
    stalls = replace(side, efficiencies={"parallel": 0.5})
    table = efficiency_table(Difference(stalls, side))
    assert table is not None
    assert [str(cell) for cell in table.columns[1].cells][:2] == ["0.500", "-"]
    nothing = Side("A", (0,), 1.0, {"compute": 1.0})
    assert efficiency_table(Difference(nothing, nothing)) is None


def test_an_efficiency_that_one_seed_lacks_is_not_known(
    cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counted as 0, so that the mean of two seeds was half of the other one's."""
    ideal = compare._ideal_ps
    monkeypatch.setattr(compare, "_ideal_ps", lambda cell: None if cell.seed else ideal(cell))
    side = measure_side(select_cells(cells, "cilk_a,workload=FJ,iterations=1"))
    assert side.seeds == (0, 1)
    assert set(side.efficiencies) == {"parallel", "load_balance", "work_time_inflation"}


def test_a_run_that_fails_is_named() -> None:
    study = Study.from_yaml(load_experiment({**EXPERIMENT, "policies": ["heft"], "seeds": [5]}))
    chosen = select_cells(study.cells, "heft,workload=FJ,iterations=1")
    with pytest.raises(ModelError) as caught:
        measure_side(chosen)
    assert str(caught.value).startswith(f"{chosen[0].label}: policy heft: found a spawn tree")
