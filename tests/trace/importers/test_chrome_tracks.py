"""Tracks of Chrome traces: what is inside what, what follows what; values worked out by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from simsched.files.errors import TraceError
from simsched.hardware.replay import replay
from simsched.machine.model import CoreGroup
from simsched.machine.synthetic import make_machine
from simsched.trace.importers import import_recording
from simsched.trace.schema import EventKind


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


def graph_of(recording):
    """Return tasks as (name, start, end) in microseconds, and edges between these names."""
    graph, events = recording.workload.graph, recording.trace.events
    names = [recording.class_names[c] for c in graph.task_class]
    times = [
        {t: int(at) // 10**6 for t, at, k in zip(*columns, strict=True) if k == kind}
        for kind in (EventKind.TASK_START, EventKind.TASK_END)
        for columns in [[events[c].tolist() for c in ("task", "time_ps", "kind")]]
    ]
    tasks = [(name, times[0][t], times[1][t]) for t, name in enumerate(names)]
    pairs = [
        (u, v)
        for u in range(graph.n_tasks)
        for v in graph.succ[graph.succ_ptr[u] : graph.succ_ptr[u + 1]]
    ]
    in_time = sorted(tasks, key=lambda task: (task[1:], task[0]))
    return in_time, sorted((tasks[u][:2], tasks[v][:2]) for u, v in pairs)


def call(name, ts, dur, key=None, **more):
    """A call of the CUDA runtime on the thread of the host, with the arrow out of it."""
    return [
        x(name, ts, dur, cat="cuda_runtime", **more),
        *([] if key is None else [flow("s", ts, key=key)]),
    ]


def kernel(name, ts, dur, key, stream=7, cat="kernel"):
    """What a device does on one of its streams, with the arrow into it."""
    args = {"stream": stream, "device": 0, "correlation": key}
    return [x(name, ts, dur, stream, 0, cat=cat, args=args), flow("f", ts, stream, 0, key)]


#: A step of 320 us. Of it, the thread waits from 140 for the stream, which ends at 290.
STEP = [
    x("step", 0, 320, cat="user_annotation"),
    x("linear", 10, 60, cat="cpu_op"),
    x("addmm", 20, 40, cat="cpu_op"),
    *call("launch", 30, 10, 1),
    *kernel("k1", 50, 100, 1),
    x("relu", 80, 30, cat="cpu_op"),
    *call("launch", 90, 10, 2),
    *kernel("k2", 150, 80, 2),
    *call("copy", 120, 10, 3),
    *kernel("Memcpy DtoH", 230, 60, 3, cat="gpu_memcpy"),
    *call("cudaDeviceSynchronize", 140, 160),
]


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_a_step_of_pytorch_takes_what_it_took(backend, load):
    """Order was lost and what was nested counted twice, so that 320 us became 670."""
    found = replay(load(*STEP), backend=backend)
    assert found.simulated_makespan_s == pytest.approx(320e-6, rel=1e-12)
    # The stream, with 10 us until its first kernel begins, and the thread without its wait.
    assert found.measured_busy_s.tolist() == pytest.approx([250e-6, 170e-6])
    assert found.simulated_busy_s.tolist() == pytest.approx([250e-6, 170e-6])


def test_a_device_of_half_the_speed_takes_twice_the_time(load):
    """From 40 us on kernels and the 10 us before the first one take 500, the thread 30 more."""
    found = load(*STEP)
    graph = found.workload.graph
    assert graph.kinds == ("cpu", "gpu")
    slow = replace(found.workload, graph=replace(graph, ops=graph.ops * [[1.0], [2.0]]))
    groups = tuple(CoreGroup(kind, kind, 1e12) for kind in ("cpu", "gpu"))
    pair = make_machine(domains=2, cores_per_domain=1)
    machine = replace(pair, core_groups=groups, core_group=np.arange(2, dtype=np.int32))
    assert replay(replace(found, workload=slow), machine, "heft").simulated_makespan_s == (
        pytest.approx(570e-6, rel=1e-12)
    )


def test_tasks_of_a_runtime_are_in_the_order_that_its_scheduler_chose(load):
    """Without more is said, nothing but arrows is a dependence."""
    slices = x("a", 0, 4), x("b", 5, 4), x("c", 10, 1, 2)
    arrow = flow("s", 1), flow("f", 10, 2)
    found = load(*slices, *arrow)
    assert graph_of(found)[1] == [(("a", 0), ("c", 10))]
    assert found.workload.graph.kinds == ("cpu",)
    assert graph_of(load(*slices, *arrow, ordered="1/1")) == (
        [("a", 0, 4), ("(between slices)", 4, 5), ("b", 5, 9), ("c", 10, 11)],
        [
            (("(between slices)", 4), ("b", 5)),
            (("a", 0), ("(between slices)", 4)),
            (("a", 0), ("c", 10)),
        ],
    )


def test_devices_by_name_are_streams(load):
    name = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "queue 0 "}}
    slices = [name, x("a", 0, 4), x("b", 5, 4), x("k", 0, 2, 2), x("l", 2, 1, 2)]
    assert load(*slices).workload is None
    found = load(*slices, devices="queue *")
    assert found.workload.graph.ops.tolist() == [  # of a, k, l and b, in nanoseconds
        [4000, np.inf, np.inf, 4000],
        [np.inf, 2000, 1000, np.inf],
    ]
    assert graph_of(found)[1] == [(("k", 0), ("l", 2))]
    apart = load(*slices, devices="queue 0", ordered="")
    assert graph_of(apart)[1] == []
    assert apart.workload.graph.kinds == ("cpu", "gpu")
    assert load(*slices, devices="1/1,queue 0").workload.graph.kinds == ("gpu",)


@pytest.mark.parametrize("option", ["ordered", "devices"])
def test_a_pattern_that_fits_no_track_is_an_error(option, load):
    with pytest.raises(TraceError, match=rf"option {option}: found 'stream \*', accepted .*: 1/1"):
        load(x("a", 0, 4), **{option: "1/1, stream *"})


def test_a_thread_that_launches_is_ordered(load):
    """Other threads of the same program are not."""
    host = x("f", 0, 2), x("g", 3, 2), x("other", 0, 2, 9), x("another", 3, 2, 9)
    found = load(*host, flow("s", 1), *kernel("k", 2, 1, 1))
    assert graph_of(found)[1] == [
        (("(between slices)", 2), ("g", 3)),
        (("f", 0), ("(between slices)", 2)),
        (("f", 0), ("k", 2)),
    ]


def test_a_call_goes_on_beside_the_kernel_that_it_has_launched(load):
    """The arrow was set aside: the kernel starts before the call returns."""
    found = load(*call("launch", 0, 10, 1), *kernel("k", 4, 20, 1), *call("next", 10, 5))
    assert graph_of(found) == (
        [("launch", 0, 4), ("launch", 4, 10), ("k", 4, 24), ("next", 10, 15)],
        [
            (("launch", 0), ("k", 4)),
            (("launch", 0), ("launch", 4)),
            (("launch", 4), ("next", 10)),
        ],
    )
    assert found.details["set_aside"] == {}
    assert replay(found).simulated_makespan_s == pytest.approx(24e-6)


def test_the_time_before_a_slice_counts_from_what_it_waits_for(load):
    """The kernel could start at 2, the slice on the second thread at 9 (from 12 on it does)."""
    host = [*call("launch", 0, 2, 1), *call("later", 5, 4), flow("s", 6, key=2)]
    second = x("first", 1, 2, 3, cat="cpu_op"), x("second", 12, 1, 3, cat="cpu_op")
    found = load(*host, *kernel("k", 7, 1, 1), *second, flow("f", 12, 3, key=2))
    between = [task for task in graph_of(found)[0] if task[0] == "(between slices)"]
    assert between == [
        ("(between slices)", 2, 5),
        ("(between slices)", 2, 7),
        ("(between slices)", 9, 12),
    ]
    assert replay(found).simulated_makespan_s == pytest.approx(13e-6)
    # Of the slices that begin tracks, one has started later than the trace, and no arrow says why.
    assert sorted(found.workload.graph.arrival_ps.tolist()) == [0] * 7 + [10**6]


def test_a_call_that_waits_lasts_from_the_end_of_what_it_waits_for(load):
    """Of each stream that is the last kernel that had ended; the second call has not waited."""
    found = load(
        *call("launch", 0, 1, 1),
        *call("launch", 1, 1, 2),
        *kernel("k", 1, 7, 1),
        *kernel("l", 2, 2, 2, stream=8),
        *call("cudaStreamSynchronize", 3, 6),
        *call("cudaStreamSynchronize", 9, 1),
    )
    tasks, pairs = graph_of(found)
    assert [task for task in tasks if task[0] == "cudaStreamSynchronize"] == [
        ("cudaStreamSynchronize", 8, 9),
        ("cudaStreamSynchronize", 9, 10),
    ]
    assert [u for u, v in pairs if v == ("cudaStreamSynchronize", 8)] == [
        ("(between slices)", 2),
        ("k", 1),
        ("l", 2),
    ]
    assert [u for u, v in pairs if v == ("cudaStreamSynchronize", 9)] == [
        ("cudaStreamSynchronize", 8)
    ]


def test_what_is_drawn_over_tracks_is_no_work(load):
    drawn = (
        x("step", 1, 9, 7, 0, cat="gpu_user_annotation"),
        x("Stream Sync", 1, 9, 7, 0, cat="cuda_sync"),
        x("PyTorch Profiler (0)", 0, 99, "PyTorch Profiler", "Spans", cat="Trace"),
        x("Buffer Flush", 0, 99, 0, -1, cat="overhead"),
    )
    found = load(*call("launch", 0, 2, 1), *kernel("k", 2, 1, 1), *drawn)
    assert [task[0] for task in graph_of(found)[0]] == ["launch", "k"]
    assert found.details["other_events"]["X"] == 4
    assert load(*drawn, category="gpu_user_annotation").class_names == ("step",)


def test_a_slice_that_others_cover_keeps_its_arrows(load):
    """It has one stretch without length; of what is bound to it the last one counts as its end."""
    out, into = {"bind_id": 7, "flow_out": True}, {"bind_id": 7, "flow_in": True}
    covered = x("outer", 0, 4, **out), x("a", 0, 2), x("b", 2, 2), x("k", 9, 1, 2, **into)
    assert graph_of(load(*covered, ordered="1/1")) == (
        [("outer", 0, 0), ("a", 0, 2), ("b", 2, 4), ("k", 9, 10)],
        [(("a", 0), ("b", 2)), (("outer", 0), ("a", 0)), (("outer", 0), ("k", 9))],
    )
    open_end = x("outer", 0, 5, **out), x("a", 1, 2), x("k", 9, 1, 2, **into)
    assert graph_of(load(*open_end, ordered="1/1"))[1] == [
        (("a", 1), ("outer", 3)),
        (("outer", 0), ("a", 1)),
        (("outer", 3), ("k", 9)),
    ]
    into_open = x("k", 0, 1, 2, **out), x("outer", 1, 5, **into), x("a", 2, 2)
    assert graph_of(load(*into_open, ordered="1/1"))[1] == [
        (("a", 2), ("outer", 4)),
        (("k", 0), ("outer", 1)),
        (("outer", 1), ("a", 2)),
    ]


def test_order_of_a_track_is_that_of_nesting_not_of_the_file(load):
    found = load(x("a", 0, 2), x("b", 2, 2), x("outer", 0, 4), ordered="*")
    assert graph_of(found)[1] == [(("a", 0), ("b", 2)), (("outer", 0), ("a", 0))]


def test_an_arrow_from_the_end_of_a_slice_does_not_leave_from_what_follows(load):
    ended = x("a", 0, 2), flow("s", 2), x("k", 2, 1, 2), flow("f", 2, 2), x("b", 5, 1)
    assert (("a", 0), ("k", 2)) in graph_of(load(*ended, ordered="1/1"))[1]


def test_kernels_of_other_programs_are_no_devices(load):
    assert load(x("a", 0, 2, cat="kernel", args={"cpu": 3}), x("b", 2, 1)).workload is None
