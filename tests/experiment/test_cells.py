"""Cells: what is combined, what is checked beforehand, and what their keys depend on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simsched.api import load_experiment
from simsched.experiment.cells import Cell
from simsched.experiment.inputs import check_fits, with_costs
from simsched.experiment.rehearsal import check_runs
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, ModelError, SimschedError
from simsched.files.yaml_reader import Document
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.workload.builder import adjacency, build_graph, first_touch_loop
from simsched.workload.graph import Workload

GRAPH = 'digraph g {{ a [cost="{cost}"]; b [cost="2"]; a -> b; }}'


def cells(data: dict[str, Any], folder: Path | None = None) -> list[Cell]:
    path = None if folder is None else folder / "x.yaml"
    return Study.from_yaml(Document(path, data)).cells


def check(data: dict[str, Any]) -> None:
    check_runs(Study.from_yaml(Document(None, data)))


def test_policies_in_files_lie_beside_the_experiment_or_in_the_working_directory(
    make_plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines and workloads of an experiment were found from elsewhere, its policies were not."""
    text = (
        "from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing\n"
        "class {}(RandomStealing):\n    pass\n"
    )
    for folder, name in (("mine", "Mine"), ("here", "Here")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder}.py").write_text(text.format(name))
    (tmp_path / "here" / "mine.py").write_text(text.format("Other"))
    monkeypatch.chdir(tmp_path / "here")
    found = cells(make_plain(policies=["./mine.py:Mine", "here.py"]), tmp_path / "mine")
    assert {type(cell.policy_model).__name__ for cell in found} == {"Mine", "Here"}
    with pytest.raises(ConfigurationError, match=r"mine/nowhere\.py: no such file"):
        cells(make_plain(policies=["nowhere.py"]), tmp_path / "mine")


def test_cells_are_the_product_in_a_fixed_order(make_plain: Any) -> None:
    found = cells(make_plain())
    assert [(cell.policy, cell.seed) for cell in found] == [
        ("cilk_a", 0),
        ("cilk_a", 1),
        ("work_sharing", 0),
        ("work_sharing", 1),
    ]
    assert len({cell.key for cell in found}) == 4


def test_product_sweep_keeps_labels_and_adds_dimensions(make_plain: Any) -> None:
    sweep = {"product": {"workloads.0.depth": [2, 3], "machines.0.workers": [1, 2]}}
    found = cells(make_plain(sweep=sweep, seeds=1, policies=["cilk_a"]))
    assert [cell.sweep for cell in found] == [
        {"workloads.0.depth": d, "machines.0.workers": w} for d in (2, 3) for w in (1, 2)
    ]
    assert {cell.workload for cell in found} == {"fork_join"}
    assert [cell.workers for cell in found] == [1, 2, 1, 2]


def test_zip_sweep_goes_in_step(make_plain: Any) -> None:
    sweep = {"zip": {"workloads.0.depth": [2, 3], "machines.0.workers": [1, 2]}}
    found = cells(make_plain(sweep=sweep, seeds=1, policies=["cilk_a"]))
    assert [tuple(cell.sweep.values()) for cell in found] == [(2, 1), (3, 2)]


@pytest.mark.parametrize(
    ("workload", "key", "message"),
    [
        # "did you mean 'tasks'" pointed at the tasks of line 3.
        ("{name: chain, tasks: 5, label: c}", "task", "workload chain: unknown parameter 'task'"),
        (
            "{file: g.dot, label: c, cost: w, cost_unit: s}",
            "cst",
            "format dot: unknown option 'cst'",
        ),
        ("{name: chain, label: c}", "tasks", "parameter 'tasks'|tasks:"),
    ],
)
def test_a_wrong_parameter_in_a_sweep_is_found_there(
    tmp_path: Path, workload: str, key: str, message: str
) -> None:
    (tmp_path / "g.dot").write_text("digraph { a [w=1] }")
    lines = [
        "name: x",
        "machines: [toy_1fast_3slow]",
        f"workloads: [{workload}]",
        "policies: [cilk_a]",
    ]
    lines += [f"sweep: {{product: {{workloads.c.{key}: [-5]}}}}"]
    (tmp_path / "z.yaml").write_text("\n".join(lines))
    where = rf"z\.yaml:5: sweep\.product\.workloads\.c\.{key}: workloads\[0\]\.{key}: .*({message})"
    with pytest.raises(SimschedError, match=where):
        check_runs(Study.from_yaml(load_experiment(tmp_path / "z.yaml")))


def test_sweeping_one_policy_leaves_the_others_keys_alone(make_plain: Any) -> None:
    sweep = {"product": {"policies.cilk_a.placement": ["first_touch", "interleave"]}}
    found = cells(make_plain(sweep=sweep, seeds=1))
    assert [cell.policy for cell in found] == ["cilk_a", "work_sharing"] * 2
    assert found[1].key == found[3].key
    assert found[0].key != found[2].key


def test_a_fixed_workload_seed_gives_every_run_the_same_graph(make_plain: Any) -> None:
    random = {"name": "layered_random"}
    own = cells(make_plain(workloads=[random]))
    fixed = cells(make_plain(workloads=[{**random, "seed": 3}]))
    assert len({cell.workload_source.content for cell in own}) == 2
    assert len({cell.workload_source.content for cell in fixed}) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"machines": ["knl_snc4_flt"]}, "machines\\[0\\]: unknown machine.*'knl_snc4_flat'"),
        ({"policies": ["cilk_z"]}, "policies\\[0\\]: unknown policy 'cilk_z'; did you mean"),
        ({"policies": ["bats[sample_page=1]"]}, "policies\\[0\\].sample_page: .*'sample_pages'"),
        (
            {"policies": ["bats[sample_pages=0]"]},
            "sample_pages: found 0, accepted a whole number, 1 to",
        ),
        ({"workloads": ["heet_small"]}, "workloads\\[0\\]: unknown workload.*'heat_small'"),
        (
            {"workloads": [{"name": "heat", "row": 5}]},
            "workloads\\[0\\].row: .*did you mean 'rows'",
        ),
        ({"workloads": [{"name": "heat", "rows": -5}]}, "rows: found -5"),
        ({"workloads": ["montage.json"]}, "montage.json: no such file"),
        ({"workloads": [{"file": "no.dot"}]}, "no.dot: no such file"),
        ({"machines": [{"name": "opteron48", "workers": 49}]}, "workers: found 49, accepted 1"),
        (
            {"machines": [{"name": "opteron48", "set": {"costs.stea": "1 ns"}}]},
            "unknown key 'costs.stea'; did you mean 'costs.steal'",
        ),
        (
            {"machines": [{"name": "opteron48", "set": {"costs.pop": "1 GB"}}]},
            "costs.pop: found '1 GB'",
        ),
        (
            {"machines": [{"name": "mirage", "set": {"costs.device_chunk": "1 us"}}]},
            "costs.device_chunk: found '1 us'",
        ),
        ({"sweep": {"product": {"seeds": [1, 2]}}}, "below machines, workloads or policies"),
        ({"sweep": {"product": {"workloads.0.dept": [1]}}}, "workloads\\[0\\].dept"),
    ],
)
def test_everything_wrong_is_found_before_the_first_run(
    make_plain: Any, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SimschedError, match=message):
        check(make_plain(**changes))


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        (("policies.cilk_a.steal_take", "policies.0.steal_take"), True),
        (("policies.cilk_a.steal_take", "policies.0"), True),
        (("policies.0", "policies.cilk_a.steal_take"), False),
        (("policies.cilk_a.steal_take", "policies.work_sharing.placement"), False),
    ],
)
def test_no_swept_value_replaces_another(
    make_plain: Any, keys: tuple[str, str], refused: bool
) -> None:
    values: dict[str, list[Any]] = {
        "policies.0": ["cilk_a", {"name": "cilk_a", "spawn": "parent_first"}],
        "policies.work_sharing.placement": ["first_touch", "interleave"],
    }
    product = {key: values.get(key, ["oldest", "newest"]) for key in keys}
    plain = make_plain(policies=["cilk_a", "work_sharing"], seeds=1, sweep={"product": product})
    if refused:
        message = rf"sweep\.product\.{keys[1]}: found a value that .*{keys[0]} sets"
        with pytest.raises(SimschedError, match=message):
            check(plain)
    else:
        check(plain)


def test_only_workloads_of_runs_that_are_missing_are_built(
    make_plain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = 2**32
    too_large = {"name": "heat", "rows": 2**20, "columns": 2**17}
    too_large |= {"leaf_bytes": large, "block_bytes": large, "init_leaf_bytes": large}
    planned = Study.from_yaml(Document(None, make_plain(workloads=["fork_join", too_large])))
    good = {cell.key for cell in planned.cells if cell.workload == "fork_join"}
    check_runs(planned, good)
    with pytest.raises(SimschedError, match=r"workloads\[1\]: .*bytes of data, accepted at most"):
        check_runs(planned)
    monkeypatch.setattr("simsched.experiment.rehearsal.CHECK_S", -1.0)
    check_runs(planned)  # time is up after the first one


@pytest.mark.parametrize(
    ("machine", "workload", "message"),
    [
        ("k40_server", "independent", "kind 'gpu' of machine k40_server are missing; found costs"),
        ("opteron48", "cholesky[costs=measured]", "opteron48 has none"),
        (
            "mirage",
            "cholesky[tiles=4]",
            "found costs for cpu; costs=measured takes those that have been measured",
        ),
        # Double-precision tiles of 960 x 960 elements have not been measured.
        (
            "mirage",
            "cholesky[tiles=4,tile_size=960,costs=measured]",
            "found no timing for 7372800 bytes of data",
        ),
    ],
)
def test_programs_that_a_machine_cannot_execute_are_found_before_the_first_run(
    make_plain: Any, machine: str, workload: str, message: str
) -> None:
    data = make_plain(machines=[machine], workloads=[workload])
    with pytest.raises(ModelError, match=rf"workloads\[0\](\.tile_size)?: workload .*{message}"):
        check(data)


def test_every_number_of_workers_is_checked(make_plain: Any) -> None:
    # A single worker is on a core; kernels run on devices only.
    mix = "accelerator_mix[queries=2,batch_s=0.01]"
    machines = [
        {"name": "k40_server", "label": "all"},
        {"name": "k40_server", "label": "one", "workers": 1},
    ]
    check(make_plain(machines=machines[:1], workloads=[mix]))
    with pytest.raises(ModelError, match="no cost for any kind of processor with workers"):
        check(make_plain(machines=machines, workloads=[mix]))


def test_a_workload_that_was_changed_meanwhile_is_not_run(make_plain: Any, tmp_path: Path) -> None:
    data = make_plain(workloads=[{"file": "g.dot", "cost": "cost", "cost_unit": "ops"}])
    (tmp_path / "g.dot").write_text(GRAPH.format(cost=1))
    cell = cells(data, tmp_path)[0]
    (tmp_path / "g.dot").write_text(GRAPH.format(cost=3))
    with pytest.raises(ConfigurationError, match=r"g\.dot: found another content than when"):
        cell.workload_source.build()


def test_buffers_of_tasks_that_are_created_in_flight_need_not_fit_together() -> None:
    machine = make_machine(domains=1, dram_capacity_bytes=1000)
    two = {"children": adjacency([0], [1], 2), "block_bytes": [600, 600]}
    detached = build_graph([1.0, 1.0], detached=[False, True], **two)
    check_fits(machine, Workload("w", detached))
    joined = build_graph([1.0, 1.0], **two)
    with pytest.raises(ConfigurationError, match="found 1200 bytes of data, accepted at most 1000"):
        check_fits(machine, Workload("w", joined))
    # What the initialisation touches has to be there, whatever the tasks are like.
    init = first_touch_loop(np.array([600, 600]), 0.0)
    with pytest.raises(ConfigurationError, match="found 1200 bytes of data"):
        check_fits(machine, Workload("w", detached, init=init))


def test_costs_are_times_and_one_is_a_size() -> None:
    machine = with_costs(
        load_machine("mirage"),
        {"costs.device_chunk": "8 MiB", "costs.device_allocation": "5 us"},
    )
    assert machine.costs.device_chunk_bytes == 8 * 2**20
    assert machine.costs.device_allocation_ps == 5_000_000


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("cilk_c", r"policies\[1\]: .*cached_dram.*knl_snc4_flat: no memory node has a"),
        ("laws_h[placement=cached_dram]", r"policies\[1\]"),
    ],
)
def test_memory_that_a_machine_lacks_is_told_before_anything_runs(
    policy: str, message: str
) -> None:
    machines = ["knl_snc4_cache", "knl_snc4_flat"]
    experiment = {"name": "m", "machines": machines, "workloads": ["heat_small"]}
    with pytest.raises(ModelError, match=message):
        Study.from_yaml(load_experiment({**experiment, "policies": ["cilk", policy]}))
    Study.from_yaml(load_experiment({**experiment, "policies": ["cilk", "bats"]}))
