"""Choosing two runs and the difference of their makespans."""

from __future__ import annotations

from typing import Any

import pytest

from simsched.api import load_experiment
from simsched.experiment.cells import Cell
from simsched.experiment.compare import Difference, Side, measure_side, select_cells
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError
from simsched.report.compare import difference_table

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
    first = Side("A", (0,), 0.3, {"compute": 0.3, "memory": 5e-17, "idle": 0.0})
    second = Side("B", (0,), 0.1 + 0.2, {"compute": 0.1 + 0.2 - 1e-6, "memory": 0.0, "idle": 1e-6})
    found = Difference(first, second)
    assert second.makespan_s != first.makespan_s
    assert found.seconds == {"compute": pytest.approx(-1e-6), "memory": 0.0, "idle": 1e-6}
    assert found.document()["difference_s"] == 0.0
    table = difference_table(found)
    shown = dict(zip(*(map(str, table.columns[i].cells) for i in (0, 3)), strict=True))
    assert shown == {"compute": "-1e-06", "idle": "+1e-06", "makespan": "0"}
    assert list(map(str, table.columns[4].cells)) == ["-0.0 %", "+0.0 %", "0 %"]


def test_a_policy_with_commas_in_brackets_is_one_word(cells: list[Cell]) -> None:
    name = "random_stealing[spawn=parent_first,steal_take=newest]"
    chosen = select_cells(cells, f"{name},workload=FJ,iterations=1,seed=1")
    assert [(cell.policy, cell.seed) for cell in chosen] == [(name, 1)]


def test_blanks_in_a_label_do_not_matter(cells: list[Cell]) -> None:
    spaced = "random_stealing[spawn=parent_first, steal_take = newest]"
    chosen = select_cells(cells, f"{spaced}, workload=FJ, iterations=1, seed=1")
    assert [cell.seed for cell in chosen] == [1]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
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
