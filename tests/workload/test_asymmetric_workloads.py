"""Batches and pipelines: counts, costs and edges against their formulas."""

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload import generate_workload
from simsched.workload.presets import make_workload


def counts_of(parameters: dict[str, object]) -> list[int]:
    graph = generate_workload("batch", parameters).graph
    graph.validate()
    return np.bincount(graph.task_class).tolist()[1:]


def test_alpha_counts_are_those_of_the_genetic_algorithm() -> None:
    for alpha, tasks in ((20, 128), (42, 128), (1, 256)):
        found = counts_of({"tasks": tasks, "functions": 4, "counts": "alpha", "alpha": alpha})
        assert found == [alpha, alpha, alpha, tasks - 3 * alpha]


@pytest.mark.parametrize(("skew", "functions"), [(0.0, 4), (0.5, 6), (1.0, 10), (4.0, 10)])
def test_heavy_functions_are_rarer_by_the_skew(skew: float, functions: int) -> None:
    found = counts_of({"tasks": 1000, "functions": functions, "skew": skew})
    assert sum(found) == 1000
    assert min(found) >= 1
    assert found == sorted(found)
    if skew == 0.0:
        assert found == [250] * 4
    if skew == 1.0:  # equal shares of the work, as far as numbers can be rounded
        costs = 2.1e7 * (1 / 50) ** (np.arange(10) / 9)
        work = (np.array(found) * costs)[4:]
        assert work.max() / work.min() < 1.1


def test_costs_fall_geometrically_within_the_published_bounds() -> None:
    graph = generate_workload("batch", {"functions": 4, "spread": 0.0}).graph
    ops = [float(graph.ops[0, graph.task_class == 1 + f][0]) for f in range(4)]
    assert ops == pytest.approx([2.1e7, 2.1e7 / 50 ** (1 / 3), 2.1e7 / 50 ** (2 / 3), 4.2e5])
    spread = generate_workload("batch", {}).graph.ops[0]
    for hz in (2.5e9, 2.262e9):  # the fastest cores of both servers
        assert spread.max() / hz < 10e-3
        assert spread[1:].min() / hz < 200e-6


def test_a_batch_is_spawned_by_its_main_task_in_the_chosen_order() -> None:
    for order, falls in (("heavy_first", True), ("heavy_last", False)):
        graph = generate_workload("batch", {"order": order, "spread": 0.0}).graph
        ops = graph.ops[0, graph.child]
        assert (np.diff(ops) <= 0).all() if falls else (np.diff(ops) >= 0).all()
    assert graph.ops[0, 0] == 0.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tasks": 29, "functions": 4, "counts": "alpha"}, "found 29, accepted 30 or more"),
        ({"tasks": 5}, "found 5, accepted 6 or more"),
        ({"light_ops": 0.0}, "light_ops: found 0"),
        ({"light_ops": 3e7}, "light_ops: found 3e\\+07"),
    ],
)
def test_impossible_batches_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        generate_workload("batch", parameters)


@pytest.mark.parametrize(("serial", "more"), [(True, 2), (False, 0)])
def test_stages_have_their_edges_and_shares(serial: bool, more: int) -> None:
    parameters = {"chunks": 30, "shares": "1 6 3", "spread": 0.0, "chunk_ops": 1000.0}
    serially = {"serial_input": serial, "serial_output": serial}
    graph = generate_workload("stages", {**parameters, **serially}).graph
    graph.validate()
    assert graph.n_tasks == 91
    assert len(graph.succ) == 30 * 2 + more * 29
    assert [graph.ops[0, t] for t in (1, 2, 3)] == [100.0, 600.0, 300.0]
    assert graph.class_names == ("main", "stage0", "stage1", "stage2")


@pytest.mark.parametrize("shares", ["", "1 x", "0 0", "1 -1", "nan 1"])
def test_shares_that_are_none_are_refused(shares: str) -> None:
    with pytest.raises(ConfigurationError, match="shares: found"):
        generate_workload("stages", {"shares": shares})


def test_published_programs_have_more_tasks_than_stated() -> None:
    for name in ("bwt", "dmc", "lzw", "md5", "sha1"):
        workload = make_workload(name)
        assert workload.graph.n_tasks - 1 > 128
        assert 4 <= len(workload.graph.class_names) - 1 <= 10
        assert workload.iterations >= 10
    assert len(make_workload("dedup").graph.class_names) - 1 == 5
    assert len(make_workload("ferret").graph.class_names) - 1 == 6
