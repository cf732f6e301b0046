"""Running machines, workloads and policies that exist as objects, without a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import simsched
from simsched.files.errors import ConfigurationError, GraphError, ModelError, SimschedError
from simsched.policy import CHILD_FIRST, AcquireStep, PlacedPolicy, Plan, param
from simsched.workload.graph import TaskGraph

MACHINE, WORKLOAD = "amd_4x_opteron8380", "fork_join[depth=3]"


@dataclass(frozen=True, kw_only=True)
class Mine(PlacedPolicy):
    """Steals from anybody."""

    take: str = param("oldest", choices=("newest", "oldest"))
    patience: int = param(1, low=1, high=9)

    def plan(self, view: Any, state: Any, graph: TaskGraph) -> Plan:
        steps = (AcquireStep("worker", "own"), AcquireStep("worker", "anywhere", self.take))
        return Plan(acquire=steps, spawn_order=CHILD_FIRST)


def run(policy: Any, machine: Any = MACHINE, workload: Any = WORKLOAD, **more: Any) -> Any:
    return simsched.run(machine, workload, policy, jobs=1, **more)


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_a_class_that_nobody_has_registered_runs(backend: str) -> None:
    result = run([Mine, Mine(take="newest"), "cilk_a"], backend=backend, seeds=2)
    assert result.policies == ["Mine", "Mine[take=newest]", "cilk_a"]
    assert list(result.runs["tasks"]) == [15] * 6
    assert set(result.runs["backend"]) == {backend}
    assert list(result.runs["policy.take"])[::2][:2] == ["oldest", "newest"]


def test_objects_give_the_rows_that_names_give() -> None:
    named = run("bats[sample_pages=8]", "knl_snc4_flat", "heat[rows=64,columns=64]", seeds=1)
    made = run(
        simsched.policies.bats(sample_pages=8),
        simsched.machines.knl_snc4_flat,
        simsched.workloads.heat(rows=64, columns=64),
    )
    for name in ("makespan_s", "events", "memory_bytes"):
        assert named.rows[0][name] == made.rows[0][name]
    assert made.policies == ["bats[sample_pages=8]"]


def test_an_experiment_in_a_file_gives_the_same_keys(make_plain: Any, tmp_path: Path) -> None:
    data = make_plain(backend="native")
    stored = simsched.run(data, output=tmp_path / "a", jobs=1)
    policies = ["cilk_a", "work_sharing"]
    result = run(policies, workers=4, seeds=2, output=tmp_path / "a")
    assert [row["key"] for row in result.rows] == [row["key"] for row in stored.rows]
    assert (result.outcome.computed, result.outcome.reused) == (0, 4)


def test_nothing_is_left_on_disk_without_an_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("cilk_a")
    assert (result.outcome.output, result.outcome.parquet, result.summary) == (None, None, None)
    assert list(tmp_path.iterdir()) == []
    assert result.document()["output"]["directory"] is None


def test_what_is_given_an_output_is_stored(tmp_path: Path) -> None:
    result = run("cilk_a", output=tmp_path / "mine", events=True, name="my study")
    assert (tmp_path / "mine" / "runs.parquet").exists()
    assert Path(result.rows[0]["events_file"]).exists()
    assert result.experiment.name == "my_study"
    assert simsched.results(tmp_path)["experiment"].tolist() == ["mine"]


def test_code_from_a_cell_is_run_again_and_not_taken_from_the_store(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "Mine": Mine}
    text = "class Own(Mine):\n def plan(self, view, state, graph):\n"
    exec(text + "  return super(Own, self).plan(view, state, graph)", names)
    Own = names["Own"]  # noqa: N806
    first = run([Own(), "cilk_a"], output=tmp_path / "x")
    assert (first.outcome.computed, first.outcome.reused) == (2, 0)
    again = run([Own(), "cilk_a"], output=tmp_path / "x")
    assert (again.outcome.computed, again.outcome.reused) == (1, 1)


def test_several_of_each_and_labels() -> None:
    result = run(
        {"a": "cilk_a", "b": Mine()},
        machine=[MACHINE, "toy_1fast_3slow"],
        workload={"small": simsched.workloads.fork_join(depth=2), "large": WORKLOAD},
        baseline="b",
    )
    assert len(result) == 8
    assert result.policies == ["a", "b"]
    assert set(result.runs["workload"]) == {"small", "large"}
    assert result.baseline == "b"
    table = result.table()
    assert (table[table.policy == "b"].reduction_percent == 0).all()


def test_an_entry_of_a_file_is_passed_as_a_mapping() -> None:
    """Its keys were once taken for labels: a workload was called `name`."""
    result = run(
        [{"name": "cilk_a"}, {"name": "cilk_dram", "label": "help"}],
        {"name": MACHINE, "workers": 2},
        {"name": "fork_join", "depth": 2},
    )
    assert result.policies == ["cilk_a", "help"]
    assert result.runs[["workload", "tasks"]].values.tolist() == [["fork_join", 7]] * 2
    assert {cell.workers for cell in result.cells} == {2}
    with pytest.raises(ConfigurationError, match="unknown parameter 'dept'; did you mean 'depth'"):
        run("cilk_a", workload={"name": "fork_join", "dept": 2})


def test_files_are_called_without_directory_and_ending(tmp_path: Path) -> None:
    text = "digraph { a [size=3]; b [size=2]; a -> b }"
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my.graph.dot").write_text(text)
    one, two = (
        f"{tmp_path}/{folder}/my.graph.dot[cost=size, cost_unit=ops]" for folder in ("one", "two")
    )
    assert set(run("cilk_a", workload=one).runs["workload"]) == {
        "my.graph[cost=size,cost_unit=ops]"
    }
    assert run("cilk_a", workload=[one, two]).runs["workload"].tolist() == [one, two]


def test_catalogue_entries_need_no_call() -> None:
    result = run(simsched.policies.cilk_h, "knl_snc4_flat", simsched.workloads.fork_join)
    assert result.policies == ["cilk_h"]
    assert result.runs["workload"].tolist() == ["fork_join"]


def test_a_workload_by_name_follows_the_seed_and_an_object_does_not() -> None:
    by_name = run("cilk_a", workload="layered_random", seeds=2)
    fixed = run("cilk_a", workload=simsched.workloads.layered_random(), seeds=2)
    assert len({cell.workload_source.content for cell in by_name.cells}) == 2
    assert len({cell.workload_source.content for cell in fixed.cells}) == 1


def test_several_processes_take_objects_and_local_classes_stay_here() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Local(Mine):
        """A class that no other process can import."""

    machine = replace(simsched.machines.amd_4x_opteron8380, name="mine")
    workload = simsched.workloads.fork_join(depth=3)
    far = simsched.run(machine, workload, ["cilk_a", "work_sharing"], jobs=2)
    near = simsched.run(machine, workload, ["cilk_a", "work_sharing", Local], jobs=2)
    assert far.runs["makespan_s"].tolist() == near.runs["makespan_s"].tolist()[:2]
    assert near.policies[2] == "Local"


def test_sweep_makes_every_combination() -> None:
    found = simsched.sweep(Mine(placement="interleave"), take=["oldest", "newest"], patience=[1, 2])
    assert [(p.take, p.patience) for p in found] == [
        ("oldest", 1),
        ("oldest", 2),
        ("newest", 1),
        ("newest", 2),
    ]
    assert {policy.placement for policy in found} == {"interleave"}
    frame = run(found).runs
    assert frame[["policy.take", "policy.patience"]].values.tolist() == [
        ["oldest", 1],
        ["oldest", 2],
        ["newest", 1],
        ["newest", 2],
    ]
    with pytest.raises(ConfigurationError, match="'tak'; did you mean 'take'"):
        simsched.sweep(Mine, tak=["newest"])


class Undecorated(PlacedPolicy):
    take: str = param("oldest")


@pytest.mark.parametrize(
    ("policy", "more", "message"),
    [
        ("cilk_", {}, "unknown policy 'cilk_'; did you mean"),
        (3, {}, "policy: found 3 of type int, accepted an object or class derived from"),
        ([], {}, "policy: found none, accepted at least one"),
        (["cilk_a", "cilk_a"], {}, "policy: found 'cilk_a' twice, accepted: different labels"),
        (Undecorated, {}, "parameter take: found class Undecorated without a decorator"),
        ("cilk_a", {"machine": "opteron46"}, "unknown machine 'opteron46'; did you mean"),
        ("cilk_a", {"machine": 3}, "machine: found 3 of type int"),
        ("cilk_a", {"workload": "fork_jion"}, "unknown workload 'fork_jion'; did you mean"),
        ("cilk_a", {"workload": 2.5}, "workload: found 2.5 of type float"),
        ("cilk_a", {"workload": Path("no.json")}, "no.json: no such file"),
        ("cilk_a", {"seeds": 0}, "seeds: found 0"),
        ("cilk_a", {"workers": 99}, "workers: found 99"),
        ("cilk_a", {"pinning": "tight"}, "pinning: found 'tight', accepted: 'scatter' or"),
        ("cilk_a", {"backend": "nativ"}, "backend: unknown value 'nativ'|backend: found 'nativ'"),
        ("cilk_a", {"metrics": ["makespam_s"]}, "unknown metric 'makespam_s'; did you mean"),
        ("cilk_a", {"baseline": "cilk"}, "unknown policy label 'cilk'"),
        (
            Mine,
            {"set": {"policies.Mine.take": "newest"}},
            "found an object as policies.0, accepted",
        ),
        (Mine, {"set": ["policies=cilk_a"]}, "found an object as policies.0, accepted"),
        ("cilk_a", {"set": {"seed": 3}}, "--set seed=3: unknown key 'seed'; did you mean 'seeds'"),
        ("cilk_a", {"events": True}, "run: events: accepted only with output"),
        (None, {}, "run: found no policy"),
    ],
)
def test_bad_input(policy: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(SimschedError, match=message):
        run(policy, **more)


def test_files_and_objects_take_the_same_options(make_plain: Any, tmp_path: Path) -> None:
    common = {"seeds": [3], "baseline": "work_sharing", "metrics": ["steals"], "workers": 2}
    policies = ["cilk_a", "work_sharing"]
    filed = simsched.run(make_plain(), **common, backend="native", name="a b", output=tmp_path)
    passed = run(policies, **common, backend="native", name="a b")
    assert [row["key"] for row in filed.rows] == [row["key"] for row in passed.rows]
    assert filed.experiment.name == passed.experiment.name == "a_b"
    assert filed.baseline == passed.baseline == "work_sharing"
    assert list(filed.lines[0].metrics) == list(passed.lines[0].metrics) == ["makespan_s", "steals"]


def test_names_that_are_passed_are_changed_and_swept_as_in_files() -> None:
    swept = {"sweep.product.policies.cilk_a.steal_take": ["oldest", "newest"]}
    result = run(["cilk_a", Mine], set={**swept, "workloads.0.depth": 2})
    assert set(result.runs["tasks"]) == {7}
    taken = result["cilk_a"].runs["sweep.policies.cilk_a.steal_take"]
    assert taken.tolist() == ["oldest", "newest"]


def test_a_graph_that_cannot_be_executed_and_data_that_do_not_fit() -> None:
    workload = simsched.workloads.fork_join(depth=2)
    graph = replace(workload.graph, ops=-workload.graph.ops)
    with pytest.raises(GraphError):
        run("cilk_a", workload=graph)
    machine = simsched.machines.toy_1fast_3slow
    tight = replace(machine, nodes=tuple(replace(n, capacity_bytes=1) for n in machine.nodes))
    with pytest.raises((ConfigurationError, ModelError), match="accepted at most"):
        run("cilk_a", tight, "heat[rows=64,columns=64]")


def test_a_networkx_graph_is_not_a_workload_yet():
    import networkx as nx

    graph = nx.DiGraph([("a", "b")])
    for given in (graph, [graph], {"mine": graph}):
        with pytest.raises(ConfigurationError, match=r"importers\.from_networkx returns the Workl"):
            simsched.run("opteron48", given, "cilk")


def test_a_metric_of_memory_that_no_machine_has_says_so():
    for name, part in (("hbm_percent", "memory of kind HBM"), ("l3_hits", "a cache L3")):
        with pytest.raises(ConfigurationError, match=f"no machine of the experiment has {part}"):
            simsched.run("samr_cluster_slow", "fork_join[depth=2]", "cilk", metrics=[name])
