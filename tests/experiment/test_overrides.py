"""--set and sweeps: dotted keys into an experiment."""

from __future__ import annotations

from typing import Any

import pytest

from simsched.experiment.overrides import assignments, checked, edited, parse_assignment
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import Document


def changed(data: dict[str, Any], *assigned: str) -> dict[str, Any]:
    document = edited(Document(None, data), assignments(assigned))
    checked(document)
    result: dict[str, Any] = document.data
    return result


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("seeds=5", 5),
        ("seeds=[1, 2]", [1, 2]),
        ("a.b=yes it is", "yes it is"),
        ("a=2 MiB", "2 MiB"),
        ("a=false", False),
        ("a=", None),
        ("a=b=c", "b=c"),
        ("a=2001-01-01", "2001-01-01"),
    ],
)
def test_values_are_read_as_yaml(text: str, value: object) -> None:
    assert parse_assignment(text)[1] == value


def test_assignments_reach_every_part(make_plain: Any) -> None:
    data = changed(
        make_plain(),
        "seeds=5",
        "workloads.0.depth=4",
        "policies.cilk_a.placement=interleave",
        "machines.0.workers=2",
        "machines.0.set.costs.steal=[1 us, 2 us]",
    )
    assert data["seeds"] == 5
    assert data["workloads"][0]["depth"] == 4
    assert data["policies"][0] == {"name": "cilk_a", "placement": "interleave"}
    assert data["machines"][0]["workers"] == 2
    assert data["machines"][0]["set"] == {"costs.steal": ["1 us", "2 us"]}


def test_labels_with_dots_and_machines_in_files(make_plain: Any) -> None:
    """A machine file is called without directory and ending, as graph files are."""
    data = make_plain(
        machines=["my/small.yaml", {"name": "b.yml", "label": "v1.5"}],
        workloads=[{"file": "d.dot", "cost": "w"}],
        policies=["pol.py"],
    )
    keys = ["machines.small.workers=2", "machines.v1.5.workers=3"]
    keys += ["machines.v1.5.set.costs.pop=1 ns"]
    data = changed(data, *keys, "workloads.d.cost=x", "policies.pol.n=4")
    assert data["machines"] == [
        {"name": "my/small.yaml", "workers": 2},
        {"name": "b.yml", "label": "v1.5", "workers": 3, "set": {"costs.pop": "1 ns"}},
    ]
    assert data["workloads"] == [{"file": "d.dot", "cost": "x"}]
    assert data["policies"] == [{"name": "pol.py", "n": 4}]


def test_parameters_of_a_spec_are_kept(make_plain: Any) -> None:
    data = changed(make_plain(policies=["bats[sample_pages=8]"]), "policies.0.balancer=false")
    assert data["policies"][0] == {"name": "bats", "sample_pages": 8, "balancer": False}


def test_the_original_is_not_changed(make_plain: Any) -> None:
    data = make_plain()
    changed(data, "workloads.0.depth=4")
    assert data == make_plain()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workers=3", "--set workers=3: unknown key 'workers'.*; in machines there is 'workers'"),
        ("seedz=3", "--set seedz=3: unknown key 'seedz'; did you mean 'seeds'"),
        ("seeds", "accepted KEY=VALUE"),
        ("=3", "accepted KEY=VALUE"),
        ("seeds=[", "the value is not YAML"),
        ("seeds.x=1", "seeds: found a single value"),
        ("policies.cilk_b.x=1", "unknown entry 'cilk_b'; did you mean 'cilk_a'"),
        ("policies.7.x=1", "policies: unknown entry '7'"),
        ("seeds=-1", "--set seeds=-1: seeds: found -1"),
        ("machines.0.worker=1", "unknown key 'worker'; did you mean 'workers'"),
        ("metrics.9=a", "metrics: found a single value|found position '9'"),
    ],
)
def test_what_is_wrong_is_named(make_plain: Any, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        changed(make_plain(), text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("swept", "text"),
    [
        ("product", "workloads.fork_join.depth=4"),
        ("zip", "workloads.0.depth=banana"),  # the position means the same entry as the label
    ],
)
def test_a_value_that_the_sweep_replaces_is_refused(make_plain: Any, swept: str, text: str) -> None:
    """It was ignored without a word: every point of the sweep has a depth of its own."""
    data = make_plain(sweep={swept: {"workloads.fork_join.depth": [2, 3]}})
    key = rf"sweep\.{swept}\.workloads\.fork_join\.depth"
    with pytest.raises(ConfigurationError, match=rf"--set {text}: found a value that .*{key} sets"):
        changed(data, text)


def test_an_entry_is_replaced_around_what_is_swept(make_plain: Any) -> None:
    data = make_plain(sweep={"product": {"workloads.fork_join.depth": [2, 3]}})
    assert changed(data, "workloads.fork_join.degree=3")["workloads"][0]["degree"] == 3
    whole = "workloads.fork_join={name: fork_join, degree: 4}"
    assert changed(data, whole)["workloads"][0] == {"name": "fork_join", "degree": 4}


def test_other_values_are_swept(make_plain: Any) -> None:
    data = make_plain(sweep={"product": {"workloads.fork_join.depth": [2, 3]}})
    other = changed(data, "sweep.product.workloads.fork_join.depth=[4]")
    assert other["sweep"] == {"product": {"workloads.fork_join.depth": [4]}}
    off = changed(data, "workloads.0.depth=4", "sweep=null")
    assert off["workloads"][0]["depth"] == 4


def test_a_sweep_is_added_by_its_dotted_key(make_plain: Any) -> None:
    data = changed(make_plain(), "sweep.product.workloads.fork_join.depth=[2, 3]")
    assert data["sweep"] == {"product": {"workloads.fork_join.depth": [2, 3]}}


@pytest.mark.parametrize(
    ("assigned", "left"),
    [
        ("seeds=[4]", "Mind the gap."),
        ("metrics=[steals]", "Mind the gap."),
        ("policies=[bats]", None),
        ("machines.*.workers=2", None),
        ("workloads.0.rows=64", None),
        ("sweep.product.machines.0.workers=[1, 2]", None),
    ],
)
def test_what_is_said_of_other_runs_is_left_out(
    make_plain: Any, assigned: str, left: str | None
) -> None:
    said = {"description": "Of two.", "remark": "Mind the gap."}
    assert changed({**make_plain(), **said}, assigned).get("remark") == left
    own = changed({**make_plain(), **said}, "remark=Mine.", assigned)
    assert own["remark"] == "Mine."
    assert ("description" in own) == (left is not None)


@pytest.mark.parametrize(
    ("assigned", "metrics", "baseline"),
    [
        (["machines=[opteron48]"], ["makespan_s"], "cilk"),
        (["machines.0.name=opteron48"], ["makespan_s"], "cilk"),
        (["machines=[opteron48]", "policies=[laws, cats]"], ["makespan_s"], "laws"),
        (["policies=[laws, cilk]"], ["makespan_s", "hbm_percent"], "cilk"),
        (["policies=[laws, cats]", "baseline=cats"], ["makespan_s", "hbm_percent"], "cats"),
        (["machines.knl_snc4_flat.workers=8"], ["makespan_s", "hbm_percent"], "cilk"),
    ],
)
def test_what_hangs_on_other_machines_and_policies_is_left_out(
    assigned: list[str], metrics: list[str], baseline: str
) -> None:
    data = {
        "name": "x",
        "machines": ["knl_snc4_flat"],
        "workloads": ["heat_small"],
        "policies": ["laws", "cilk"],
        "baseline": "cilk",
        "metrics": ["makespan_s", "hbm_percent"],
    }
    if "machines.0.name=opteron48" in assigned:
        data["machines"] = [{"name": "knl_snc4_flat"}]
    study = Study.from_yaml(Document(None, data), assignments(assigned))
    assert study.experiment.metrics == metrics
    assert study.experiment.baseline in (baseline, None)
    assert study.experiment.baseline or baseline == "laws"


@pytest.mark.parametrize(
    ("assigned", "message"),
    [
        (["machines=[opteron48]", "metrics=[hbm_percent]"], "unknown metric 'hbm_percent'"),
        (["policies=[laws]", "baseline=cilk"], "unknown policy label 'cilk'"),
    ],
)
def test_what_is_asked_for_is_not_left_out(assigned: list[str], message: str) -> None:
    data = {"name": "x", "machines": ["knl_snc4_flat"], "workloads": ["heat_small"]}
    document = Document(None, {**data, "policies": ["cilk"]})
    with pytest.raises(ConfigurationError, match=message):
        Study.from_yaml(document, assignments(assigned))
