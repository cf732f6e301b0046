"""`simsched check` says what the runs of an experiment would say before their first event."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simsched.files.errors import PolicyError, SimschedError
from simsched.report.check import check_file


def written(folder: Path, data: dict[str, Any]) -> str:
    path = folder / "x.yaml"
    path.write_text(json.dumps({"name": "x", **data}))  # JSON is YAML
    return str(path)


@pytest.mark.parametrize(
    ("machine", "workload", "policy", "message"),
    [
        ("opteron48", "fork_join", "heft", "policy heft: found a spawn tree in workload fork_join"),
        ("opteron48", "heat_small", "charm_hbm_only", "unknown memory kind 'HBM'"),
        ("opteron48", "chain", "ideal_amc[information=user]", "user_ops"),
        (
            "mirage",
            "cholesky[costs=measured,tile_size=960,element_bytes=4]",
            "dataflow",
            "places blocks from pools",
        ),
        (
            "samr_cluster_slow",
            "wordcount",
            "hadoop_fifo[map_slots=4]",
            "parameter map_slots: found 4, accepted 0 to 3",
        ),
    ],
)
def test_policies_that_do_not_fit_are_found(
    tmp_path: Path, machine: str, workload: str, policy: str, message: str
) -> None:
    data = {"machines": [machine], "workloads": [workload], "policies": ["work_sharing", policy]}
    with pytest.raises(SimschedError) as error:
        check_file(written(tmp_path, data))
    parameter = ".map_slots" if "map_slots" in policy else ""
    place = f"{tmp_path / 'x.yaml'}:1: policies[1]{parameter}: "  # all is on one line here
    assert str(error.value).startswith(f"{place}{machine} {workload} {policy} seed 0: ")
    assert message in str(error.value)


def test_every_combination_is_tried_once_and_large_programs_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    monkeypatch.setattr(
        "simsched.experiment.cell_run.rehearse",
        lambda machine, workload, policy, **_: tried.append((workload.name, policy.name)) or (),
    )
    data = {
        "machines": ["opteron48"],
        "workloads": ["chain", "independent[tasks=20001]"],
        "policies": ["offline_locality", "work_sharing"],
        "seeds": 3,
    }
    path = written(tmp_path, data)
    assert check_file(path) == ([f"{path}: experiment with 12 runs: correct"], [])
    assert tried == [("chain", "offline_locality"), ("chain", "work_sharing")]
    monkeypatch.setattr("simsched.experiment.rehearsal.REHEARSAL_S", -1.0)
    large = {"name": "heat", "rows": 2**20, "columns": 2**17, "leaf_bytes": 2**32}
    large |= {"block_bytes": 2**32, "init_leaf_bytes": 2**32}
    with pytest.raises(SimschedError, match=r"workloads\[2\]: .*bytes of data, accepted at most"):
        check_file(written(tmp_path, {**data, "workloads": [*data["workloads"], large]}))
    assert not tried[2:]  # no time for policies, but for what follows
    monkeypatch.setattr("simsched.experiment.rehearsal.CHECK_S", -1.0)
    check_file(path)


def test_a_policy_that_a_sweep_makes_unfit_has_the_place_of_its_value(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        """\
name: x
machines: samr_cluster_slow
workloads: wordcount
policies:
  - work_sharing
  - {name: hadoop_fifo, label: fifo}
sweep:
  product:
    policies.fifo.map_slots:
      - 2
      - 4
"""
    )
    with pytest.raises(SimschedError) as error:
        check_file(str(path))
    place = f"{path}:9: sweep.product.policies.fifo.map_slots: policies[1].map_slots"
    assert str(error.value).startswith(f"{place}: samr_cluster_slow ")
    assert "found 4, accepted 0 to 3" in str(error.value)


CODE = """
from dataclasses import dataclass
from simsched.policy import Policy, param, preset
from simsched.policy.parts.placement import placement
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generator

class Mine(RandomStealing):
    pass

preset("mine_oldest", RandomStealing, "Oldest first.", local_take="oldest")

@placement("mine_near")
def near(view):
    return None

@generator("mine_tasks", small={"tasks": 2})
def tasks(seed: int, *, tasks: int = 10**9):
    return Workload("mine_tasks", build_graph([1.0] * tasks))
"""


def test_a_python_file_is_loaded_and_what_it_defines_is_made(tmp_path: Path) -> None:
    """It was taken for a task graph of no known format."""
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    contents = "policies Mine, mine_oldest; workload mine_tasks; placement mine_near"
    assert check_file(str(path)) == ([f"{path}: {contents}: correct"], [])
    assert check_file(f"{path}:Mine")[0] == [f"{path}: policy Mine: correct"]
    assert check_file(f"{path}:mine_tasks[tasks=3]")[0] == [f"{path}: workload mine_tasks: correct"]


def test_policies_that_a_function_makes_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "made.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from simsched.policy import AcquireStep, PlacedPolicy, Plan, register\n"
        "def make(name, take):\n"
        "    @register(name)\n"
        "    @dataclass(frozen=True, kw_only=True)\n"
        "    class Made(PlacedPolicy):\n"
        "        def plan(self, view, state, graph):\n"
        "            return Plan(acquire=(AcquireStep('worker', 'own', take),))\n"
        "make('eager', 'newest')\n"
        "make('patient', 'oldest')\n"
    )
    assert check_file(str(path))[0] == [f"{path}: policies eager, patient: correct"]
    assert check_file(f"{path}:patient")[0] == [f"{path}: policy patient: correct"]


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        (
            ":mine",
            "",
            "unknown name 'mine'; did you mean 'Mine'? accepted: Mine, mine_near, mine_o",
        ),
        ("[tasks=3]", "", "mine.py: found parameters, accepted them for one of ['Mine', 'mine_ne"),
        (
            ":mine_tasks[tusks=3]",
            "",
            "workload mine_tasks: unknown parameter 'tusks'; did you mean 'task",
        ),
        (
            ":Mine[local_take=old]",
            "",
            "mine.py:Mine: parameter local_take: unknown value 'old'; did you",
        ),
        ("", "class Bare(Policy):\n    pass\n", "mine.py:22: class Bare has no method place, acce"),
        ("", "x = y\n", "mine.py, line 22: NameError: name 'y' is not defined"),
        ("", "@generator('bad')\ndef bad(seed):\n    return 1 / seed\n", "mine.py:24: bad: Zero"),
    ],
)
def test_what_can_be_wrong_with_a_python_file(
    tmp_path: Path, name: str, more: str, message: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(CODE + more)
    with pytest.raises(SimschedError) as error:
        check_file(f"{path}{name}")
    assert str(path) in str(error.value) or "workload mine_tasks" in str(error.value)
    assert message in str(error.value)


def test_a_python_file_without_anything_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    with pytest.raises(SimschedError, match="found no policy, workload or placement, accepted: a "):
        check_file(str(path))
    with pytest.raises(SimschedError, match=r"none\.py: no such file"):
        check_file(str(tmp_path / "none.py"))


WRONG = """
from dataclasses import dataclass
from simsched.policy import AcquireStep, PlacedPolicy, Plan

@dataclass(frozen=True, kw_only=True)
class Wrong(PlacedPolicy[None]):
    def plan(self, view, state, graph):
        return Plan(acquire=(AcquireStep("worker"), AcquireStep("wrker")))

@dataclass(frozen=True, kw_only=True)
class Crashing(PlacedPolicy[None]):
    def plan(self, view, state, graph):
        return Plan(acquire=(AcquireStep(graph.no_such_array),))

@dataclass(frozen=True, kw_only=True)
class Choosy(PlacedPolicy[None]):
    def plan(self, view, state, graph):
        if view.machine.n_domains < 4:
            raise ValueError("too few domains")
        return Plan(acquire=(AcquireStep("worker"),))
"""


def test_what_a_policy_plans_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(WRONG)
    wrong = f"{path}: policy Wrong: plan: acquire[1]: unknown pool group 'wrker'; did you mean"
    with pytest.raises(PolicyError, match=re.escape(wrong)):
        check_file(f"{path}:Wrong")
    crash = f"policy Crashing: {path}:13: plan: AttributeError"
    with pytest.raises(PolicyError, match=re.escape(crash)):
        check_file(f"{path}:Crashing")
    assert check_file(f"{path}:Choosy") == ([f"{path}: policy Choosy: correct"], [])


def test_a_policy_whose_workers_take_nothing_is_refused(tmp_path: Path) -> None:
    """It passed; its runs ended as stalled."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from simsched.policy import PlacedPolicy, Plan\n\n\nclass Idle(PlacedPolicy):\n"
        '    """Takes nothing."""\n\n    def plan(self, view, state, graph):\n'
        "        return Plan(acquire=())\n"
    )
    with pytest.raises(PolicyError, match=r"mine\.py: .*acquire: found no step, accepted at least"):
        check_file(str(path))
