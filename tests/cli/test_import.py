"""simsched import."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simsched.machine import load_machine
from simsched.trace.recording import read_recording

from .conftest import Command

TRACE = (
    "JobId,Name,StartTime,EndTime,WorkerId,DependsOn\n0_1,a,1,2,0,\n0_2,b,2,5,1,0_1\n0_3,b,9,8,1,\n"
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "rec.tasks.csv"
    path.write_text(TRACE)
    return path


@pytest.fixture
def sampling(tmp_path: Path) -> Path:
    bus = tmp_path / "sampling" / "bus"
    bus.mkdir(parents=True)
    (bus / "box.config").write_text("2 # Number of CPUs\n1 # Number of CUDA devices\n")
    (bus / "box.bandwidth").write_text("0 6000\n5000 0\n")
    (bus / "box.latency").write_text("0 9\n10 0\n")
    (bus / "box.affinity").write_text("0 0 1\n")
    return bus.parent


def test_a_trace_becomes_a_recording(simsched, trace):
    code, output, messages = simsched("import", trace, "-o", "run.parquet")
    assert code == 0
    assert "tasks 2 (2 placed in time), classes 2, workers 2" in output
    assert "span 4 ms, busy 4 ms (50.0% of all workers), busiest 0_worker1 3 ms" in output
    assert "rows set aside 1\n  1: EndTime is before StartTime\nrun.parquet\n" in output
    warning = f"simsched: warning: {trace}:4: EndTime is before StartTime; 1 row set aside"
    assert warning in messages
    assert read_recording(Path("run.parquet")).n_tasks == 2


def test_events_that_are_no_tasks_are_counted(simsched, tmp_path):
    """A trace whose spans are asynchronous seemed to have one slice and nothing else."""
    span = {"name": "a", "cat": "c", "id": 1, "pid": 1, "tid": 1}
    events = [{**span, "ph": ph, "ts": ts} for ph, ts in (("b", 1), ("e", 5), ("i", 6))]
    events.append({"ph": "X", "name": "x", "ts": 1, "dur": 2, "pid": 1, "tid": 1})
    (tmp_path / "t.json").write_text(json.dumps(events))
    code, output, _ = simsched("import", "t.json")
    assert code == 0
    assert "events that are no tasks 3: 1 b, 1 e, 1 i\nrows set aside 0\n" in output


def test_a_sampling_becomes_a_machine(simsched, sampling):
    code, output, messages = simsched(
        "import", sampling, "-o", "box.yaml", "--set", "reserve_drivers=yes"
    )
    assert code == 0
    assert "sampling of box: 2 cores, devices 1 cuda" in output
    assert "found no codelets/45: no costs" in messages
    assert load_machine(Path("box.yaml")).n_cores == 2
    assert simsched("check", "box.yaml")[0] == 0
    assert not Path("box.costs.parquet").exists()


def test_costs_are_written_beside_the_machine(simsched, sampling):
    codelets = sampling / "codelets" / "45"
    codelets.mkdir(parents=True)
    (codelets / "k.box").write_text(
        "45\n1\n1\n0\n0\n1\n1\n1\n0 0\nnan\n0\n"
        "# hash size flops mean (us) dev (us) sum sum2 n\nf 8 0 2 0 4 8 2\n"
    )
    assert simsched("import", sampling, "-o", "box.yaml")[0] == 0
    (row,) = pq.read_table("box.costs.parquet").to_pylist()
    assert (row["codelet"], row["processor"], row["mean_us"], row["samples"]) == ("k", "cpu0", 2, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.csv",), "nowhere.csv: no such file"),
        (
            ("EMPTY",),
            "empty: found contents of no known format; accepted with an explicit format: "
            "bandwidth_table, chrome, core_to_core, cuda_copies, hwloc, lscpu, mir, mlc, numactl, "
            "nvidia_topo, otf2, paje, simgrid, starpu_sampling, starvz, stream, tasks_rec, "
            "wfformat",
        ),
        (
            ("TRACE", "--format", "starvs"),
            "--format: unknown format 'starvs'; did you mean 'starvz'",
        ),
        (
            ("TRACE", "-o", "run.csv"),
            "--output: found 'run.csv', accepted: a name that ends in .parquet",
        ),
        (("TRACE", "--set", "clock"), "--set: found 'clock', accepted NAME=VALUE"),
        (("TRACE", "--set", "clock=1 GHz"), "format starvz: unknown option 'clock'"),
        (("SAMPLING", "-o", "box.parquet"), "accepted: a name that ends in .yaml or .yml"),
        (("SAMPLING", "--set", "machine=bix"), "unknown machine 'bix'; did you mean 'box'"),
        (
            ("SAMPLING", "--set", "per_device=2"),
            "option per_device: found '2', accepted true or false",
        ),
        (
            ("SAMPLING", "--set", "divices=cuda"),
            "format starpu_sampling: unknown option 'divices'",
        ),
    ],
)
def test_wrong_words_are_told(words, message, simsched, trace, sampling, tmp_path):
    places = {"TRACE": trace, "SAMPLING": sampling, "EMPTY": tmp_path / "empty"}
    places["EMPTY"].mkdir()
    code, output, messages = simsched("import", *(places.get(word, word) for word in words))
    assert (code, output) == (2, "")
    assert message in messages
    assert "Traceback" not in messages
    assert not list(Path().glob("*.parquet"))


@pytest.mark.parametrize(("name", "form"), [("g.dot", "dot"), ("g", "dot"), ("g.xml", "graphml")])
def test_a_task_graph_is_no_trace(name: str, form: str, simsched: Command, tmp_path: Path) -> None:
    (tmp_path / name).write_text("digraph { a -> b }" if form == "dot" else "<graphml/>")
    code, output, errors = simsched("import", name)
    assert (code, output) == (2, "")
    assert f"{name}: found a task graph ({form}), accepted a trace; task graphs are" in errors


def test_files_that_are_there_are_not_replaced_unasked(simsched, trace, sampling):
    """A machine file is meant to be edited."""
    for source, output in ((trace, "run.parquet"), (sampling, "box.yaml")):
        assert simsched("import", source, "-o", output)[0] == 0
        before = Path(output).read_bytes()
        code, printed, messages = simsched("import", source, "-o", output)
        assert (code, printed) == (2, "")
        wanted = f"{output}: found a file, accepted: a name that is free, or --overwrite"
        assert wanted in messages
        assert simsched("import", source, "-o", output, "--overwrite")[0] == 0
        assert Path(output).read_bytes() == before
    Path("new.costs.parquet").write_text("mine")
    assert "new.costs.parquet: found a file" in simsched("import", sampling, "-o", "new.yaml")[2]
    assert simsched("import", trace, "-o", "new.parquet")[0] == 0
