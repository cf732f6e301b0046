"""`simsched check` says what the runs of an experiment would say before their first event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simsched.errors import SimschedError
from simsched.experiment.check import check_file


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
    assert str(error.value).startswith(f"{tmp_path / 'x.yaml'}: ")
    assert message in str(error.value)


def test_every_combination_is_tried_once_and_large_programs_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    monkeypatch.setattr(
        "simsched.experiment.cell_run.rehearse",
        lambda machine, workload, policy, **_: tried.append((workload.name, policy.name)),
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
    monkeypatch.setattr("simsched.experiment.check.CHECK_S", -1.0)
    check_file(path)
    assert tried[2:] == [("chain", "offline_locality")]  # time is up after the first one
