"""StarPU traces: StarVZ's CSV layout and tasks.rec."""

from __future__ import annotations

import gzip
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simsched.engine.run import simulate
from simsched.files.errors import SimschedError, TraceError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.importers import import_recording, placed_tasks, worker_busy_ps
from simsched.trace.importers._recutils import read_records
from simsched.trace.recording import read_recording, write_recording
from simsched.trace.schema import EventKind

MS = 10**9
STATES = "Nature, ResourceId, Type, Start, End, Duration, Depth, Value, Size, Params, JobId\n"
anyorder = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_times_workers_edges_and_accesses(trace_rows, as_csv, write, events_of):
    recording = import_recording(write("rec.tasks.csv", as_csv(trace_rows)))
    # Time begins with the first submission, at 0.5 ms; ends come before starts of one instant.
    assert events_of(recording) == [
        ("ITERATION_START", 0, -1, -1),
        ("TASK_START", 500_000_000, 0, 0),
        ("TASK_END", 2_500_000_000, 0, 0),
        ("TASK_START", 2_500_000_000, 0, 1),
        ("TASK_START", 2_750_000_000, 1, 2),
        ("TASK_END", 4_000_000_000, 0, 1),
        ("TASK_END", 6_500_000_000, 1, 2),
        ("ITERATION_END", 6_500_000_000, -1, -1),
    ]
    graph = recording.workload.graph
    assert graph.class_names == ("gemm", "init")
    assert graph.task_class.tolist() == [1, 0, 0]
    assert graph.succ[graph.succ_ptr[0] : graph.succ_ptr[1]].tolist() == [1, 2]
    assert graph.n_edges == 2
    assert graph.block_bytes.tolist() == [800, 200]
    assert graph.access_ptr.tolist() == [0, 1, 3, 3]  # scratch buffers are no data
    assert graph.read_bytes.tolist() == [0, 800, 200]
    assert graph.written_bytes.tolist() == [800, 0, 200]
    assert graph.ops.tolist() == [[2e6, 1.5e6, 3.75e6]]  # nanoseconds
    assert graph.arrival_ps.tolist() == [0, 0, 0]
    assert recording.details["tasks_on_no_worker"] == 1
    assert recording.details["control_records"] == 1
    assert worker_busy_ps(recording.trace, 2).tolist() == [3_500_000_000, 3_750_000_000]


def test_submission_and_ready_times(task, as_csv, write, events_of):
    rows = [
        task("0_1", 0, 2.0, 3.0, SubmitTime="1.0", ReadyTime="1.5"),
        task("0_2", 0, 4.0, 5.0, SubmitTime="2.5"),
    ]
    columns = ["JobId", "SubmitTime", "ReadyTime", "StartTime", "EndTime", "WorkerId"]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows, columns)))
    assert recording.workload.graph.arrival_ps.tolist() == [0, 1500 * 10**6]
    ready = [event for event in events_of(recording) if event[0] == "TASK_READY"]
    assert ready == [("TASK_READY", 500 * 10**6, -1, 0)]
    assert recording.details["tasks_with_ready_time"] == 1


def test_priorities_are_kept_and_decide(task, as_csv, write):
    """Largest and smallest ones, one that is none, and a run in their order on one worker."""
    stated = ["-3", "2147483647", "high", "", "7"]
    rows = [task(f"0_{i}", 0, i + 1.0, i + 2.0, Priority=each) for i, each in enumerate(stated)]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.workload.graph.priority.tolist() == [-3, 2**31 - 1, 0, 0, 7]
    (warning,) = (text for text in recording.details["warnings"] if "Priority" in text)
    assert "rec.tasks.csv:4: Priority is no whole number from -2147483647" in warning
    assert warning.endswith("1 task kept with 0")
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    run = simulate(machine, recording.workload, make_policy("prio"), events=True)
    kind, order = run.trace.events["kind"], run.trace.events["task"]
    assert order[kind == EventKind.TASK_START].tolist() == [1, 4, 2, 3, 0]


def test_a_trace_without_priorities_has_none(task, as_csv, write):
    recording = import_recording(write("rec.tasks.csv", as_csv([task("0_1", 0, 1.0, 2.0)])))
    assert recording.workload.graph.priority is None


LINKS = "Nature, Container, Type, Start, End, Duration, Size, Origin, Dest, Key, Tag\n"


def link(key: str, tag: str, start: str, end: str, kind: str = "MPI communication") -> str:
    return f"Link, root, {kind}, {start}, {end}, 1.0, 640, 0_mpict, 1_mpict, {key}, {tag}\n"


def test_messages_between_nodes(task, as_csv, write):
    sync = {"JobId": "0_2", "Name": "_starpu_sync_task", "DependsOn": "0_1"}
    rows = [
        task("0_1", 0, 1.0, 2.0),
        sync,
        task("1_3", 0, 5.5, 6.0, MPIRank="1"),
        task("1_4", 1, 7.0, 8.0, MPIRank="1"),
    ]
    write("run/rec.tasks.csv", as_csv(rows))
    # 0_1, StarPU's own 0_2, message 0 with tag 7, then 1_3 and 1_4; message 1 leads nowhere.
    dag = "0_2,mpi_7_0\nmpi_7_0,1_9\n1_9,1_3\nmpi_7_0,1_4\n0_1,mpi_8_1\nmpi_5_2,1_4\n"
    directory = write("run/dag.csv", "Dependent,JobId\n" + dag).parent
    before = import_recording(directory)
    assert "transfers" not in before.details
    # Without the files with the messages a run of several nodes is shorter than it was.
    assert any("2 MPI ranks without paje.link.csv of" in w for w in warnings_of(before))
    alone = warnings_of(import_recording(directory / "rec.tasks.csv"))
    assert any("2 MPI ranks without dag.csv and paje.link.csv of" in w for w in alone)
    links = link("mpicom_1", "8", "2.5", "3.0") + link("mpicom_0", "7", "2.25", "5.25")
    links += link("mpicom_2", "5", "0.75", "0.5") + link("x_1", "8", "2.5", "3.0", "Work steal")
    write("run/paje.link.csv.gz", LINKS + links)
    recording = import_recording(directory)
    # Time begins with the first submission, at 0.5 ms.
    (found,) = recording.details["transfers"]
    assert found == {
        "after": [0],
        "before": [1, 2],
        "start_ps": 1750 * 10**6,
        "end_ps": 4750 * 10**6,
        "bytes": 640,
    }
    assert recording.details["set_aside"] == {
        "a message without times or size": 1,
        "the steal is not between two workers": 1,
    }
    assert any("1 of 2 messages are waited for by no task" in w for w in warnings_of(recording))
    assert not any("MPI ranks" in w for w in warnings_of(recording))
    # The dependence itself is in the graph, with and without the messages.
    for each in (before, recording):
        graph = each.workload.graph
        assert graph.succ[graph.succ_ptr[0] : graph.succ_ptr[1]].tolist() == [1, 2]


def test_steals_are_of_the_task_that_the_thief_begins_next(task, as_csv, write):
    rows = [task("0_1", 0, 1.0, 3.0), task("0_2", 1, 2.0, 4.0), task("0_3", 1, 4.0, 5.0)]
    write("run/rec.tasks.csv", as_csv(rows))
    state = "State, {}, Worker State, {}, {}, 1.0, 0.0, gemm, 1, x, {}\n"
    named = (("0_CPU0", 1.0, 3.0, "0_1"), ("0_CPU1", 2.0, 4.0, "0_2"), ("0_CPU1", 4.0, 5.0, "0_3"))
    write("run/paje.worker_state.csv", STATES + "".join(state.format(*row) for row in named))
    steal = "Link, p, Work steal, {}, {}, 0.0, 0, {}, {}, steal_0, \n"
    given = (
        ("1.5", "0_CPU0", "0_CPU1"),
        ("4.0", "0_CPU0", "0_CPU1"),
        ("4.5", "0_CPU0", "0_CPU1"),  # it begins nothing any more
        ("2.0", "0_CPU0", "0_CPU7"),
        ("x", "0_CPU0", "0_CPU1"),
    )
    links = LINKS + "".join(steal.format(at, at, *ends) for at, *ends in given)
    recording = import_recording(write("run/paje.link.csv", links).parent)
    events = recording.trace.events
    stolen = events["kind"] == EventKind.STEAL
    found = [events[name][stolen].tolist() for name in ("time_ps", "worker", "task", "arg0")]
    assert found == [[MS, 7 * MS // 2], [1, 1], [1, 2], [0, 0]]
    assert events["arg1"][stolen].tolist() == [-1, -1]  # how far away the victim is
    assert recording.details["set_aside"] == {
        "a steal without a time": 1,
        "the steal is before the run, or no task of the thief follows": 1,
        "the steal is not between two workers": 1,
    }


def warnings_of(recording):
    return recording.details["warnings"]


def test_directory_with_states_dag_and_platform(task, as_csv, write, content):
    rows = [
        task("0_1", 3, 1.0, 2.0),
        task("0_2", 0, 3.0, 4.0, MemoryNode="1"),
        task("0_4", 3, 2.0, 9.0, Footprint="cafe"),
    ]
    write("run/rec.tasks.csv.gz", as_csv(rows))
    write("run/dag.csv", "Dependent,JobId\n0_1,mpi_0_0\nmpi_0_0,0_2\n,0_1\n")
    write(
        "run/paje.worker_state.csv",
        STATES
        + "State, 0_CPU0, Worker State, 1.0, 2.0, 1.0, 0.0, gemm, 1, x, 0_1\n"
        + "State, 0_CPU0, Worker State, 2.0, 9.0, 7.0, 0.0, gemm, 1, x, 0_4\n"
        + "State, 0_CUDA0_0, Worker State, 3.0, 4.0, 1.0, 0.0, gemm, 1, x, 0_2\n"
        + "State, 0_CPU1, Worker State, 0.5, 9.0, 8.5, 0.0, Sleeping\n",
    )
    path = write(
        "run/platform_file.rec",
        "%rec: timing\n\nModel: gemm\nArchitecture: cuda0\nFootprint: beef\nMean: 2.5e2\n"
        "Stddev: 1\nSamples: 10\n\n",
    ).parent
    recording = import_recording(path)
    assert recording.worker_names == ("0_CPU0", "0_CPU1", "0_CUDA0_0")
    graph = recording.workload.graph
    assert graph.kinds == ("cpu", "cuda")
    # Tasks 0_1, 0_4, 0_2. On CUDA: the model's 250 us, nothing known of that size, measured 1 ms.
    assert graph.ops.tolist() == [[1e6, 7e6, 1e6], [250e3, np.inf, 1e6]]
    parameters = recording.workload.parameters
    assert (parameters["ops_from_model"], parameters["ops_from_like_tasks"]) == (1, 1)
    assert parameters["ops_unknown"] == 1
    assert graph.succ_ptr.tolist() == [0, 1, 1, 1]
    assert graph.succ.tolist() == [2]
    # From the first start, at 1 ms, to the last end.
    assert recording.details["worker_states_s"] == {"0_CPU1": {"Sleeping": 0.008}}
    assert recording.details["waiting_states"] == ["Idle", "Sleeping"]
    assert recording.details["warnings"] == []
    (path / "rec.tasks.csv.gz").unlink()
    alone = import_recording(path)
    assert alone.worker_names == recording.worker_names
    assert content(alone)["time_ps"] == [
        t - MS // 2 if t else t for t in content(recording)["time_ps"]
    ]


def test_states_that_disagree_with_tasks_are_told(task, as_csv, write):
    write("run/rec.tasks.csv", as_csv([task("0_1", 0, 1.0, 2.0)]))
    line = "State, 0_CPU0, Worker State, 1.0, 2.5, 1.5, 0.0, gemm, 1, x, 0_1\n"
    path = write("run/paje.worker_state.csv", STATES + line).parent
    (warning,) = import_recording(path).details["warnings"]
    assert "paje.worker_state.csv: 1 tasks have other times than in rec.tasks.csv" in warning


@st.composite
def runs(draw):
    """Tasks one after the other on a few workers, with dependencies on earlier ones."""
    free = [1.0] * draw(st.integers(1, 3))
    rows = []
    for number in range(draw(st.integers(1, 8))):
        worker = draw(st.integers(0, len(free) - 1))
        start = free[worker] + draw(st.sampled_from([0.0, 0.25]))
        free[worker] = start + draw(st.sampled_from([0.0, 0.5, 1.125]))
        before = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        rows.append((number, worker, start, free[worker], sorted(before)))
    return rows


@anyorder
@given(run=runs(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(run, seed, task, as_csv, as_rec, write, content):
    rows = [
        task(
            f"0_{number}",
            worker,
            start,
            end,
            DependsOn=" ".join(f"0_{b}" for b in before),
            Handles=f"h{number % 3}",
            Modes="RW",
            Sizes="64",
        )
        for number, worker, start, end, before in run
    ]
    expected = import_recording(write("a.csv", as_csv(rows)))
    assert placed_tasks(expected.trace) == len(rows)
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    for path in (
        write("b.csv", as_csv(shuffled)),
        write("b.csv.gz", as_csv(shuffled)),
        write("b.rec", as_rec(shuffled)),
    ):
        assert content(import_recording(path)) == content(expected)
    per_task = {}
    for kind, time, worker, number in zip(
        *(expected.trace.events[c].tolist() for c in ("kind", "time_ps", "worker", "task")),
        strict=True,
    ):
        per_task.setdefault(number, []).append((kind, time, worker))
    assert sum(len(per_task[i]) for i in range(len(rows))) == 2 * len(rows)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"StartTime": "soon"}, "StartTime is not a time in milliseconds"),
        ({"EndTime": "5 ms"}, "EndTime is not a time in milliseconds"),
        ({"EndTime": "nan"}, "EndTime is not a time in milliseconds"),
        ({"EndTime": "inf"}, "EndTime is not a time in milliseconds"),
        ({"EndTime": "1e300"}, "EndTime is not a time in milliseconds"),
        ({"EndTime": ""}, "EndTime is not a time in milliseconds"),
        ({"SubmitTime": "x"}, "SubmitTime is not a time in milliseconds"),
        ({"EndTime": "3.100000"}, "EndTime is before StartTime"),
        ({"WorkerId": ""}, "the task has no WorkerId"),
        ({"JobId": ""}, "the task has no JobId"),
        ({"WorkerId": "0"}, "starts before an earlier one on the same worker has ended"),
    ],
)
def test_rows_that_cannot_be_are_set_aside_and_counted(change, reason, trace_rows, as_csv, write):
    rows = [*trace_rows[:4], trace_rows[4] | change]
    path = write("rec.tasks.csv", as_csv(rows))
    recording = import_recording(path)
    assert recording.n_tasks == 2
    ((found, count),) = recording.details["set_aside"].items()
    assert (reason in found, count) == (True, 1)
    assert any(w.startswith(f"{path}:6: ") and found in w for w in recording.details["warnings"])


def test_dependencies_lead_through_tasks_that_are_set_aside(task, as_csv, write):
    rows = [
        task("0_1", 0, 1.0, 2.0),
        task("0_2", 0, 3.0, 2.0, DependsOn="0_1"),
        task("0_3", 0, 4.0, 5.0, DependsOn="0_2 0_7"),
    ]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.workload.graph.succ_ptr.tolist() == [0, 1, 1]
    assert any(
        "1 jobs that others depend on have no row" in w for w in recording.details["warnings"]
    )


def test_a_run_that_breaks_its_dependencies_is_told(task, as_csv, write):
    rows = [task("0_1", 0, 1.0, 2.0), task("0_2", 1, 1.5, 3.0, DependsOn="0_1")]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.workload.parameters["edges_not_kept_by_the_run"] == 1
    assert any("1 of 1 dependencies were not kept" in w for w in recording.details["warnings"])


def test_repeated_rows(trace_rows, as_csv, write):
    twice = import_recording(write("a.csv", as_csv([*trace_rows, trace_rows[3]])))
    assert twice.details["set_aside"] == {"the row repeats another one": 1}
    path = write("b.csv", as_csv([*trace_rows, trace_rows[3] | {"EndTime": "4.250000"}]))
    with pytest.raises(TraceError, match=r"b\.csv:7: found job '0_3' a second time.* line 5"):
        import_recording(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found an empty file"),
        ("JobId,StartTime,EndTime,WorkerId\n", "found no task that was executed"),
        ("JobId,StartTime,EndTime\n0_1,1,2\n", r":1: found no column 'WorkerId'"),
        ("JobId,StartTme,EndTime,WorkerId\n", r":1: .*'StartTime'.*did you mean 'StartTme'"),
        ("JobId,StartTime,EndTime,WorkerId\n0_1,1,2,0\n0_2,1,2,0,7\n", "line 3, saw 5"),
        ("JobId,StartTime,EndTime,WorkerId\n0_1,1,2,0,9\n", ":2: found more fields"),
        (
            "JobId,StartTime,EndTime,WorkerId\n0_1,2,1,0\n",
            "found no task that was executed; 1 rows set aside; .*:2: EndTime is before StartTime",
        ),
        (
            "JobId,StartTime,EndTime,WorkerId,DependsOn\n0_1,1,2,0,0_2\n0_2,,,,0_3\n0_3,,,,0_2\n",
            "found a cycle of dependencies through '0_",
        ),
        (
            "JobId,StartTime,EndTime,WorkerId,DependsOn\n0_1,1,2,0,0_2\n0_2,3,4,0,0_1\n",
            "found a cycle of 2 tasks: 0_",
        ),
    ],
)
def test_traces_that_are_refused(text, message, write):
    path = write("rec.tasks.csv", text)
    with pytest.raises(SimschedError, match=message) as raised:
        import_recording(path, "starvz")
    assert str(path) in str(raised.value)


def test_a_cut_last_line_is_set_aside(trace_rows, as_csv, write):
    path = write("rec.tasks.csv", as_csv(trace_rows)[:-10])
    recording = import_recording(path)
    assert recording.n_tasks == 2
    assert recording.details["set_aside"] == {"the last line has no end: the file is cut off": 1}


def test_cut_compressed_data_name_the_last_line(trace_rows, as_csv, tmp_path):
    noise = random.Random(1)
    extra = [
        row | {"JobId": f"0_{i}", "Tag": str(noise.random()), "WorkerId": str(i)}
        for i, row in enumerate([trace_rows[0]] * 3000)
    ]
    path = tmp_path / "rec.tasks.csv.gz"
    whole = gzip.compress(as_csv(extra).encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        TraceError, match=r"rec\.tasks\.csv\.gz:\d{3,4}: found damaged or truncated"
    ):
        import_recording(path, "starvz")


@anyorder
@given(share=st.floats(0, 1), kind=st.sampled_from(["csv", "rec"]))
def test_files_cut_anywhere_are_refused_or_warned_of(
    share, kind, trace_rows, as_csv, as_rec, write
):
    text = as_csv(trace_rows) if kind == "csv" else as_rec(trace_rows)
    whole = import_recording(write(f"whole.{kind}", text))
    part = text[: int(share * len(text))]
    path = write(f"part.{kind}", part)
    try:
        found = import_recording(path, "starvz" if kind == "csv" else "tasks_rec")
    except SimschedError as error:
        if str(path) not in str(error):
            raise
        return
    # What is left is a subset of the tasks, with their full times.
    ends = set(whole.trace.events["time_ps"].tolist())
    assert set(found.trace.events["time_ps"].tolist()) <= ends
    at_a_row = part == text or part.endswith("\n\n" if kind == "rec" else "\n")
    assert at_a_row or found.details["warnings"]


def test_handles_that_do_not_match_are_told(task, as_csv, write):
    rows = [
        task("0_1", 0, 1.0, 2.0, Handles="aa bb", Modes="R", Sizes="8 8"),
        task("0_2", 0, 3.0, 4.0, Handles="aa", Modes="Q", Sizes="8"),
        task("0_3", 0, 5.0, 6.0, Handles="aa", Modes="R", Sizes="8 kB".replace(" ", "")),
        task("0_4", 0, 7.0, 8.0, Handles="aa", Modes="R", Sizes="8"),
    ]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.workload.graph.access_ptr.tolist() == [0, 0, 0, 0, 1]
    assert any(
        ":2: Handles, Modes and Sizes do not match" in w and "3 tasks" in w
        for w in recording.details["warnings"]
    )


def test_handles_of_several_sizes_are_told(task, as_csv, write):
    """The largest was taken without a word."""
    rows = [
        task("0_1", 0, 1.0, 2.0, Handles="aa bb", Modes="W W", Sizes="100 8.0e+00"),
        task("0_2", 0, 3.0, 4.0, Handles="aa bb", Modes="R R", Sizes="9e2 8"),
    ]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.workload.graph.block_bytes.tolist() == [900, 8]
    (warning,) = (w for w in recording.details["warnings"] if "several sizes" in w)
    assert warning.endswith(
        "rec.tasks.csv:3: 1 of 2 handles have several sizes; their blocks have the largest"
    )


def test_equal_handles_of_two_ranks_are_two_blocks(task, as_csv, write):
    access = {"Handles": "aa", "Modes": "R", "Sizes": "8"}
    rows = [
        task("0_1", 0, 1.0, 2.0, **access),
        task("1_1", 0, 1.0, 2.0, MPIRank="1", **access),
    ]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.workload.graph.n_blocks == 2
    assert recording.worker_names == ("0_worker0", "1_worker0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JobId: 0_1\nwhat is this\n\n", r"tasks\.rec:2: found 'what is this'"),
        ("JobId: 0_1\nName: x\n\n", "found no record with the field 'StartTime'"),
        ("", "found no task that was executed"),
        ("JobId: 0_1\nStartTime: 1\nEndTime: 2\nWorkerId: 0\n", "not ended by an empty line"),
        ("JobId: 0_1\n\n+ 2\n\n", r"tasks\.rec:3: found '\+ 2'"),
        ("+ 2\nJobId: 0_1\n\n", r"tasks\.rec:1: found '\+ 2'"),
    ],
)
def test_records_that_are_refused(text, message, write):
    with pytest.raises(TraceError, match=message):
        import_recording(write("tasks.rec", text), "tasks_rec")


@pytest.mark.parametrize("before", [0, 3, 5000])
def test_bytes_that_are_no_text_are_named_with_their_line(before, tmp_path):
    path = tmp_path / "tasks.rec"
    path.write_bytes(b"JobId: 0_1\n" * before + b"Name: \xff\n\n")
    with pytest.raises(TraceError, match=rf"tasks\.rec:{before + 1}: found bytes"):
        import_recording(path, "tasks_rec")


def test_a_record_that_is_cut_in_its_first_line_is_there(write):
    *_, last = read_records(write("tasks.rec", "JobId: 0_1\n\nJob"))
    assert (last.line, last.ended) == (3, False)


def test_lines_that_go_on(write):
    times = "StartTime: 1\nEndTime: 2\nWorkerId: 0\n"
    text = (
        f"%rec: task\n%doc: one\n+ two\n\nName: a\n+ b\n%rec: task\nName: c\nJobId: 0_1\n{times}\n"
    )
    records = list(read_records(write("tasks.rec", text)))
    assert [(record.kind, record.fields["Name"]) for record in records] == [
        ("task", "a\nb"),
        ("task", "c"),
    ]


def test_kinds_of_processors_of_records(task, as_rec, write):
    rows = [task("0_1", 0, 1.0, 2.0, MemoryNode="1"), task("0_2", 1, 1.0, 2.0)]
    path = write("tasks.rec", as_rec(rows))
    blind = import_recording(path)
    assert blind.workload.graph.kinds == ("cpu", "node1")
    assert any("2 workers have no stated processor kind" in w for w in blind.details["warnings"])
    write(
        "perfmodel.rec",
        "%rec: memory_workers\n\nMemoryNode: 0\nName: NUMA 0\nWorkers: 1\n\n"
        "MemoryNode: 1\nName: CUDA 0\nWorkers: 0\n\n",
    )
    told = import_recording(path)
    assert told.workload.graph.kinds == ("cpu", "cuda")
    assert told.details["warnings"] == []


def test_a_recording_survives_its_file(trace_rows, as_csv, write, content, tmp_path):
    recording = import_recording(write("rec.tasks.csv", as_csv(trace_rows)))
    write_recording(tmp_path / "a.parquet", recording)
    found = read_recording(tmp_path / "a.parquet")
    assert content(found) == content(recording)
    assert found.details == recording.details


def test_workers_and_jobs_are_ordered_by_number(task, as_csv, write):
    rows = [task(f"0_{n}", n, 1.0, 2.0) for n in (10, 9, 2)]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.worker_names == ("0_worker2", "0_worker9", "0_worker10")
    assert recording.trace.events["task"].tolist() == [-1, 0, 1, 2, 0, 1, 2, -1]


def test_tasks_of_no_length_end_before_the_next_starts(task, as_csv, write, events_of):
    rows = [
        task("0_1", 0, 1.0, 2.0),
        task("0_3", 0, 2.0, 2.0),
        task("0_2", 0, 2.0, 3.0),
    ]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    assert recording.details["set_aside"] == {}
    order = [(kind, number) for kind, _, _, number in events_of(recording)[1:-1]]
    assert order == [
        ("TASK_START", 0),
        ("TASK_END", 0),
        ("TASK_START", 2),
        ("TASK_END", 2),
        ("TASK_START", 1),
        ("TASK_END", 1),
    ]


@pytest.mark.validation
def test_the_published_lu(measured_data):
    recording = import_recording(measured_data / "starvz_lu")
    assert (recording.n_tasks, recording.n_workers) == (268, 38)
    assert recording.details["set_aside"] == {}
    assert recording.details["warnings"] == []
    graph = recording.workload.graph
    assert dict(zip(graph.class_names, np.bincount(graph.task_class).tolist(), strict=True)) == {
        "dgemm": 140,
        "dgetrf_nopiv": 8,
        "dplrnt": 64,
        "dtrsm": 56,
    }
    # No successor starts before its predecessors have ended: dependencies are the right way round.
    assert graph.n_edges == 540
    assert recording.workload.parameters["edges_not_kept_by_the_run"] == 0
    # The trace is simulated: durations are means of a model (us), dgemm's one on each node.
    means = {5076.19, 25733.44, 35262.22, 57702.77, 58349.76}
    assert set(np.round(graph.ops[0] / 1e3, 2).tolist()) == means
    busy = worker_busy_ps(recording.trace, 38)
    assert busy.sum() == round(graph.ops.sum() * 1e3)
    both = import_recording(measured_data / "starvz_lu" / "rec.tasks.csv.gz")
    assert both.trace.events["time_ps"].tolist() == recording.trace.events["time_ps"].tolist()


def test_jobs_with_numbers_of_any_length_are_ordered(task, as_csv, write):
    names = ["0_9", "0_10", f"0_{'9' * 5000}", f"0_1{'0' * 5000}"]
    rows = [task(name, worker, 1.0, 2.0) for worker, name in enumerate(reversed(names))]
    recording = import_recording(write("rec.tasks.csv", as_csv(rows)))
    worker = recording.trace.events["worker"][recording.trace.events["kind"] == 5]
    task_of = recording.trace.events["task"][recording.trace.events["kind"] == 5]
    # Workers are numbered from the last name to the first; tasks in the order of their names.
    assert dict(zip(task_of.tolist(), worker.tolist(), strict=True)) == {0: 3, 1: 2, 2: 1, 3: 0}


def test_jobs_given_many_times_do_not_multiply(task, as_csv, write):
    write("t/rec.tasks.csv", as_csv([task("0_1", 0, 1.0, 2.0)] * 3000))
    state = "State,0_CPU0,Worker State,1.0,2.0,1,1,gemm,0,0_1,beef,1\n"
    header = "Nature,ResourceId,Type,Start,End,Duration,Depth,Value,Size,JobId,Footprint,Order\n"
    path = write("t/paje.worker_state.csv", header + state * 3000).parent
    tracemalloc.start()
    recording = import_recording(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert recording.details["set_aside"] == {"the row repeats another one": 2999}
    assert peak < 100e6  # nine million pairs would take more
