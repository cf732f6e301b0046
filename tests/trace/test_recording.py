from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.recordings import recording_of
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.parquet import write_events
from simsched.trace.recording import Recording, read_recording, write_recording
from simsched.workload.registry import generate_workload, make_small_workload

COSTS = ("tile", "measured")


@pytest.mark.parametrize("name", ["heat", "cholesky", "stencil2d"])
def test_a_recording_survives_its_file(name: str, tmp_path: Path) -> None:
    workload = make_small_workload(name)
    run = simulate(make_machine(), workload, CentralQueue(), events=True)
    assert run.trace is not None
    n_workers = len(run.worker_thread)
    recording = Recording(
        "a run",
        run.trace,
        workload.graph.task_class,
        workload.graph.class_names,
        tuple(f"worker {i}" for i in range(n_workers)),
        np.arange(n_workers, dtype=np.int32),
        workload,
        {"policy": "central queue", "seed": 0},
    )
    path = tmp_path / "run.parquet"
    write_recording(path, recording)
    found = read_recording(path)
    assert found.name == "a run"
    assert found.details == recording.details
    assert found.worker_names == recording.worker_names
    assert found.workload is not None
    assert found.workload.iterations == workload.iterations
    for column, values in run.trace.events.items():
        assert np.array_equal(found.trace.events[column], values)
    for field in ("ops", "child", "succ", "access_block", "read_bytes", "block_bytes"):
        assert np.array_equal(getattr(found.workload.graph, field), getattr(workload.graph, field))
    assert found.workload.graph.class_names == workload.graph.class_names


def test_names_of_codelets_survive(tmp_path: Path) -> None:
    plain, measured = (generate_workload("cholesky", {"tiles": 3, "costs": c}) for c in COSTS)
    run = simulate(make_machine(), plain, CentralQueue(), events=True)
    path = tmp_path / "run.parquet"
    write_recording(path, replace(recording_of(run), workload=measured))
    found = read_recording(path).workload
    assert found is not None
    assert measured.graph.codelets is not None
    assert found.graph.codelets == measured.graph.codelets
    assert found.graph.class_names == measured.graph.class_names
    assert found.graph.is_fixed


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    run = simulate(make_machine(), make_small_workload("heat"), CentralQueue(), events=True)
    assert run.trace is not None
    write_events(path, run.trace)
    with pytest.raises(ConfigurationError, match="not a recording"):
        read_recording(path)
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(ConfigurationError, match=str(path)):
        read_recording(path)


def test_a_run_is_shown_in_five_lines() -> None:
    machine, heat = load_machine("toy_1fast_3slow"), make_small_workload("heat")
    for events in (False, True):
        run = simulate(machine, heat, make_policy("cilk"), events=events)
        lines = repr(run).splitlines()
        assert len(lines) == 5
        assert lines[0] == "<Run heat on toy_1fast_3slow under cilk"
        counted = f"in {heat.iterations} iterations after an initialisation"
        assert lines[2].split(None, 2)[2] == counted
        assert ("not kept" in lines[4]) is not events
