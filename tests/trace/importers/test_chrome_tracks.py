"""Tracks of Chrome traces: what is inside what, what follows what; values worked out by hand."""

import json

import pytest

from simsched.hardware.replay import replay
from simsched.trace.importers import import_recording


def x(name, ts, dur, tid=1, pid=1, **more):
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def flow(ph, ts, tid=1, pid=1, key=1):
    """A step of an arrow as Kineto writes them."""
    step = {"ph": ph, "cat": "ac2g", "name": "ac2g", "id": key, "ts": ts, "pid": pid, "tid": tid}
    return step if ph == "s" else {**step, "bp": "e"}


@pytest.fixture
def load(tmp_path):
    """Function that writes events and imports them."""

    def run(*events, **options):
        (tmp_path / "t.json").write_text(json.dumps({"traceEvents": list(events)}))
        return import_recording(tmp_path / "t.json", **options)

    return run


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_a_replay_counts_no_time_twice(backend, load):
    """A slice and the one inside it took 13 us of a thread that was busy for 10."""
    nested = x("outer", 0, 10), x("inner", 2, 3)
    found = replay(load(*nested, x("k", 12, 1, 2), flow("s", 3), flow("f", 12, 2)), backend=backend)
    assert found.simulated_busy_s.tolist() == pytest.approx([10e-6, 1e-6])
    assert found.simulated_makespan_s == pytest.approx(11e-6)
