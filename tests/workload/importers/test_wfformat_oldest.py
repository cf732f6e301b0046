"""WfFormat 1.0 and 1.1: `jobs`, names with the number in them, arguments without a command."""

import json

import pytest

from simsched.trace.importers import import_recording
from simsched.workload.importers import import_workload


def oldest(version, system):
    """Two alignments of 4 and 2.5 s, then a sort of 1.5 s; a stage-in job is a job like others."""

    def job(name, runtime, parents, files, **more):
        files = [{"link": link, "name": file, "size": size} for link, file, size in files]
        return {
            "name": name,
            "type": "compute",
            "runtime": runtime,
            "parents": parents,
            "files": files,
            "arguments": ["-t", "2"],
            "machine": "node-1",
            **more,
        }

    return {
        "name": "soykb",
        "schemaVersion": version,
        "wms": {"name": system, "version": "4.9.3"},
        "workflow": {
            "makespan": 7,
            "executedAt": "20200406T193030",
            "machines": [{"nodeName": "node-1", "cpu": {"count": 48, "speed": 1200}}],
            "jobs": [
                job("stage_in_ID0000001", 1, [], [], type="transfer"),
                job("align_ID0000002", 4, ["stage_in_ID0000001"], [("output", "a", 700)]),
                job("align_ID0000003", 2.5, ["stage_in_ID0000001"], [("output", "b", 300)]),
                job(
                    "sort_ID0000004",
                    1.5,
                    ["align_ID0000002", "align_ID0000003"],
                    [("input", "a", 700), ("input", "b", 300), ("output", "c", 1000)],
                    avgCPU=176.8,
                ),
            ],
        },
    }


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize(("system", "unit"), [("Pegasus", 1), ("Makeflow", 1000)])
def test_jobs_with_their_runtimes_and_files(version, system, unit, tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(oldest(version, system)))
    workload = import_workload(path)
    graph = workload.graph
    # 1, 4, 2.5 and 1.5 s at the 1200 MHz that the machine states
    assert graph.ops.tolist() == [[1.2e9, 4.8e9, 3e9, 1.8e9]]
    assert graph.succ_ptr.tolist() == [0, 2, 3, 4, 4]
    assert graph.succ.tolist() == [1, 2, 3, 3]
    # the schema says kB, Pegasus writes bytes
    assert graph.block_bytes.tolist() == [700 * unit, 300 * unit, 1000 * unit]
    assert graph.read_bytes.sum() == graph.written_bytes.sum() / 2 == 1000 * unit
    assert [graph.class_names[c] for c in graph.task_class] == [
        "stage_in",
        "align",
        "align",
        "sort",
    ]
    assert workload.parameters["tasks_with_several_cores"] == 1
    assert workload.parameters["edges_without_bytes"] == 2


def test_the_run_of_an_old_file(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(oldest("1.0", "Pegasus")))
    recording = import_recording(path, starts="earliest")
    assert recording.worker_names == ("node-1/0", "node-1/1")
    assert recording.details["stated_makespan_s"] == 7
    # stage_in 0 to 1 s, align 1 to 5 s, sort 5 to 6.5 s
    assert int(recording.trace.events["time_ps"].max()) == 6_500_000_000_000
