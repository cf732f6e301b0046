"""Machines with a disk in place of memory, for programs whose data do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import simsched
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine

STORED = {"name": "toy_1fast_3slow", "set": {"storage": "500 MB/s"}}


def workflow(folder: Path) -> Path:
    """A task that writes 2 GB, more than the machine has memory, and two that read them."""
    tasks = [("A", [], [], ["f"]), ("B", ["A"], ["f"], []), ("C", ["A"], ["f"], [])]
    document = {
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": n,
                        "id": n,
                        "parents": p,
                        "children": [],
                        "inputFiles": i,
                        "outputFiles": o,
                    }
                    for n, p, i, o in tasks
                ],
                "files": [{"id": "f", "sizeInBytes": 2 * 10**9}],
            },
            "execution": {"tasks": [{"id": n, "runtimeInSeconds": 1} for n, *_ in tasks]},
        },
    }
    path = folder / "w.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("backend", ["native", "simpy"])
@pytest.mark.parametrize("policy", ["heft", "eager", "cilk"])
def test_a_workflow_larger_than_memory_runs_from_a_disk(
    policy: str, backend: str, tmp_path: Path
) -> None:
    """It was refused."""
    study = tmp_path / "study.yaml"
    content = {"name": "s", "workloads": ["w.json"], "policies": [policy], "backend": backend}
    workflow(tmp_path)
    study.write_text(json.dumps({**content, "machines": ["toy_1fast_3slow"]}))
    message = r"accepted at most 1073741824: .* set: \{storage: 500 MB/s\} they lie on a disk"
    with pytest.raises(ConfigurationError, match=message):
        simsched.run(study, jobs=1)
    study.write_text(json.dumps({**content, "machines": [STORED]}))
    (makespan,) = simsched.run(study, jobs=1).runs.makespan_s
    # 4 s to write, then two tasks that read share the disk, or read one after the other.
    assert makespan == pytest.approx(12.0, rel=0.01)


def test_what_the_disk_is() -> None:
    machine = load_machine("knl_snc4_flat", {"storage": "2 GB/s", "paths.storage.latency": "5 ms"})
    (node,) = machine.nodes
    assert (node.kind, node.bandwidth_bytes_per_s) == ("STORAGE", 2e9)
    assert {path.latency_ps for paths in machine.paths for path in paths} == {5 * 10**9}


@pytest.mark.parametrize(
    ("machine", "rate", "message"),
    [
        ("toy_1fast_3slow", "500", "set: storage: found '500', accepted: a bandwidth above zero"),
        ("toy_1fast_3slow", 500, "set: storage: found 500, accepted: a bandwidth above zero"),
        ("mirage", "1 GB/s", "set: storage: found devices with memory of their own, accepted"),
    ],
)
def test_what_is_no_disk_is_refused(machine: str, rate: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_machine(machine, {"storage": rate})
