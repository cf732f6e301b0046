"""Replaying measured tasks: a sample made here, and the real recording where it lies."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from simsched.errors import SimschedError
from simsched.experiment.replay import replay
from simsched.machine import load_machine

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
RECORDING = SHARED / "mir_fib_opteron48" / "task-stats.csv.gz"


@pytest.mark.validation
def test_the_fibonacci_recording_is_reproduced() -> None:
    if not RECORDING.exists():
        pytest.skip(f"needs the recording {os.path.relpath(RECORDING)}")
    found = replay(RECORDING, load_machine("opteron48"), backend="simpy")
    assert (found.tasks, found.cores) == (8192, 48)
    # 863.6e6 cycles of the parallel part at 2.1 GHz; 41.04e9 cycles of work and creation in all.
    assert found.measured.leaves_s == pytest.approx(863.6e6 / 2.1e9, rel=1e-3)
    # Cores were creating tasks for 91.0e6 cycles before the first leaf started.
    assert found.measured.makespan_s == pytest.approx(954.6e6 / 2.1e9, rel=1e-3)
    assert [run.policy for run in found.runs] == ["work_sharing", "cilk_a", "pfws"]
    for run in found.runs:
        assert len(run.core_busy_s) == 48
        assert np.all(np.diff(run.core_busy_s) >= 0)
        assert 0 < run.leaves_s < run.makespan_s
        assert abs(run.makespan_error_percent) < 15
        assert abs(run.leaves_error_percent) < 15
        # The work is the measured one, whoever does it.
        assert run.core_busy_s.sum() * 2.1e9 == pytest.approx(41.04e9, rel=0.01)
    document = found.document()
    assert document["measured"]["policy"] == "measured"
    assert document["runs"][0]["leaves_error_percent"] == found.runs[0].leaves_error_percent


def test_a_graph_without_measurements_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.dot"
    path.write_text('digraph g { a [cost="1"]; }')
    with pytest.raises(SimschedError, match=r"g\.dot"):
        replay(path, load_machine("opteron48"), backend="simpy")
