"""Paje traces, our own and of other programs; values of the latter are worked out by hand."""

import base64
import json
import re

import numpy as np
import pytest

from simsched.analysis.recordings import recording_of
from simsched.engine.run import simulate
from simsched.files.errors import SimschedError, TraceError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.exporters import export_recording
from simsched.trace.importers import import_recording
from simsched.workload.registry import generate_workload
from tests.trace.exporters.runs import random_run, small_recording, task_times

HEAD = """\
%EventDef PajeDefineContainerType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 2
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineEntityValue 3
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 4
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 5
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajeSetState 6
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePushState 7
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 8
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeStartLink 9
% Time date
% Type string
% Container string
% Value string
% StartContainer string
% Key string
%EndEventDef
%EventDef PajeEndLink 10
% Time date
% Type string
% Container string
% Value string
% EndContainer string
% Key string
%EndEventDef
"""
JOBS = """\
%EventDef PajeSetState 20
% Time date
% Container string
% Type string
% Value string
% Size string
% JobId string
%EndEventDef
"""
TYPES = """\
# a comment
1 M 0 "machine"
1 W M "worker"
2 S W "activity"
3 i S "Idle"
3 p S "potrf"
4 0 m M 0 "host"
4 0 w0 W m "CPU 0"
4 0 w1 W m "CPU 1"
"""
# potrf 0.5 to 2 on CPU 0, then trsm to 3; gemm 3 to 5 on CPU 1, which follows trsm
SETS = """\
6 0.0 S w0 i
6 0.0 S w1 i
6 0.5 S w0 p
6 2.0 S w0 "trsm a"
9 3.0 L m v w0 k1
10 3.0 L m v w1 k1
6 3.0 S w0 i
6 3.0 S w1 gemm
6 5.0 S w1 i
5 6.0 W w0
5 6.0 W w1
"""


@pytest.fixture
def load(tmp_path):
    """Function that writes a text and imports it."""

    def run(text, **options):
        (tmp_path / "t.paje").write_text(text)
        return import_recording(tmp_path / "t.paje", **options)

    return run


def runs(recording):
    """Return class, worker, start and end in ms of each task."""
    return sorted(
        (name, recording.worker_names[worker], round(start / 1e9, 9), round(end / 1e9, 9))
        for name, worker, _, start, end in task_times(recording).values()
    )


@pytest.mark.parametrize(("unit", "ms"), [("s", 1000.0), ("ms", 1.0), ("us", 1e-3)])
def test_states_are_tasks_and_links_edges(unit, ms, load):
    found = load(HEAD + TYPES + SETS, unit=unit)
    # times count from the start of the first task
    assert runs(found) == [
        ("gemm", "CPU 1", 2.5 * ms, round(4.5 * ms, 9)),
        ("potrf", "CPU 0", 0.0, 1.5 * ms),
        ("trsm a", "CPU 0", 1.5 * ms, 2.5 * ms),
    ]
    graph = found.workload.graph
    names = [found.class_names[c] for c in graph.task_class]
    assert names == ["potrf", "trsm a", "gemm"]
    assert (graph.succ_ptr.tolist(), graph.succ.tolist()) == ([0, 0, 1, 1], [2])
    assert graph.ops[0].tolist() == [1.5e6 * ms, 1e6 * ms, 2e6 * ms]
    assert float(found.details["origin_s"]) == 0.5 * ms / 1000
    assert found.details["set_aside"] == {}


def test_containers_are_ordered_or_a_devices_where_options_say_so(load):
    """The link alone leads from trsm to gemm."""
    found = load(HEAD + TYPES + SETS, unit="ms", ordered="CPU 0", devices="*1")
    graph = found.workload.graph
    assert (graph.succ_ptr.tolist(), graph.succ.tolist()) == ([0, 1, 2, 2], [1, 2])
    assert graph.kinds == ("cpu", "gpu")
    assert graph.ops.tolist() == [[1.5e6, 1e6, np.inf], [np.inf, np.inf, 2e6]]
    with pytest.raises(TraceError, match=r"option ordered: found 'x', accepted .*: CPU 0, CPU 1"):
        load(HEAD + TYPES + SETS, unit="ms", ordered="x")


def test_only_states_with_jobs_are_starpus_tasks_and_times_are_ms(load):
    text = HEAD + JOBS + TYPES
    text += "6 0 S w0 Overhead\n20 1.5 w0 S p 100 j_1\n6 2.25 S w0 Callback\n5 9 W w0\n"
    assert runs(load(text)) == [("potrf", "CPU 0", 0.0, 0.75)]


def test_a_state_that_is_pushed_suspends_the_one_below(load):
    text = HEAD + TYPES + "7 1 S w0 a\n7 2 S w0 b\n8 3 S w0\n8 5 S w0\n"
    found = load(text, unit="ms")
    assert runs(found) == [("a", "CPU 0", 0.0, 4.0), ("b", "CPU 0", 1.0, 2.0)]
    assert found.workload is None


def test_states_that_are_no_tasks_are_named(load):
    found = load(HEAD + TYPES + SETS, unit="s", idle="idle, GEMM")
    assert found.class_names == ("potrf", "trsm a")
    assert found.workload is None


def test_of_several_types_of_states_one_is_named(load):
    text = HEAD + TYPES + '2 T W "thread"\n6 0 T w0 running\n' + SETS
    with pytest.raises(TraceError, match=r"option state: missing, accepted .*: thread, activity"):
        load(text, unit="s")
    assert load(text, unit="s", state="activity").n_tasks == 3
    with pytest.raises(TraceError, match="unknown type of states 'activ'; did you mean 'activity'"):
        load(text, unit="s", state="activ")


@pytest.mark.parametrize("options", [{}, {"state": "activity"}, {"state": "S"}])
def test_types_and_containers_are_called_by_alias_or_by_name(options, load):
    text, by_alias = HEAD + TYPES, load(HEAD + TYPES + SETS, unit="s")
    for number, line in enumerate(SETS.splitlines()):
        if number % 2:
            line = line.replace(" S ", " activity ").replace(" w0", ' "CPU 0"')
            line = line.replace(" w1", ' "CPU 1"')
        text += line + "\n"
    assert " activity " in text
    found = load(text, unit="s", **options)
    assert runs(found) == runs(by_alias)
    assert found.workload.graph.succ.tolist() == [2]


def test_types_of_one_name_are_all_named_by_it(load):
    text = HEAD + TYPES + '2 T W "activity"\n2 U W "thread"\n' + SETS
    text += "6 6 U w0 on\n6 7 T w0 late\n6 8 T w0 i\n6 9 U w0 off\n5 9 W w0\n"
    with pytest.raises(TraceError, match=r"accepted a type of states: activity, thread \("):
        load(text, unit="s")
    assert load(text, unit="s", state="activity").class_names == ("potrf", "trsm a", "gemm", "late")
    assert load(text, unit="s", state="T").class_names == ("late",)


def test_a_state_without_an_end_is_set_aside(load):
    found = load(HEAD + TYPES + SETS.replace("5 6.0 W w1\n", "") + "6 7 S w1 late\n", unit="s")
    assert found.n_tasks == 3
    assert found.details["set_aside"] == {"state without an end": 1}
    assert "t.paje:80" in found.details["warnings"][0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("6 0.5 S w0 p", "6 x S w0 p", "t.paje:72: Time: found 'x', accepted a number"),
        ("6 0.5 S w0 p", "6 nan S w0 p", "t.paje:72: Time: found 'nan'"),
        (
            "6 0.5 S w0 p",
            "6 0.5 S",
            "t.paje:72: PajeSetState: found 2 values, accepted 4",
        ),
        ("6 0.5 S w0 p", "99 0.5 S w0 p", "t.paje:72: found the event '99', which is not defi"),
        ("6 2.0 S w0", "6 0.1 S w0", "t.paje:72: found a state that ends before it starts"),
        ("%EventDef PajeSetState 6", "%EventDef PajeSetState", "t.paje:28: found 'EventDef PajeSe"),
        (
            "% Value string\n%EndEventDef\n%EventDef PajeP",
            "%EndEventDef\n%EventDef PajeP",
            "68: .*Value",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old, new, message, load):
    with pytest.raises(TraceError, match=message):
        load((HEAD + TYPES + SETS).replace(old, new), unit="s")


def test_units_are_never_guessed(load):
    with pytest.raises(TraceError, match="option unit: missing, accepted: s, ms, us, ns"):
        load(HEAD + TYPES + SETS)


@pytest.mark.parametrize("seed", range(8))
def test_random_runs_of_our_own_come_back(seed, tmp_path):
    run = random_run(seed, "native")
    if run is None:
        pytest.skip("the machine's memory is too small")
    recording = recording_of(run)
    export_recording(recording, tmp_path / "t.paje")
    again = import_recording(tmp_path / "t.paje")
    assert task_times(again) == task_times(recording)
    assert again.worker_names == recording.worker_names
    assert again.name == recording.name
    assert again.workload.iterations == recording.workload.iterations


def test_the_program_of_our_own_files_comes_back(tmp_path):
    recording = small_recording("cholesky")
    export_recording(recording, tmp_path / "t.paje")
    again = import_recording(tmp_path / "t.paje")
    assert task_times(again) == task_times(recording)
    for name in ("ops", "succ", "access_block", "read_bytes", "task_class", "block_bytes"):
        assert np.array_equal(
            getattr(again.workload.graph, name), getattr(recording.workload.graph, name)
        )


def test_a_large_program_of_our_own_files_does_not_hide_their_format(tmp_path):
    """Where the comments come first, 95 KB of them stand before the first definition."""
    workload = generate_workload("fork_join", {"depth": 10})
    recording = recording_of(simulate(make_machine(), workload, make_policy("cilk"), events=True))
    assert recording.n_tasks == 2047
    export_recording(recording, tmp_path / "t.paje")
    text = (tmp_path / "t.paje").read_text()
    assert sum(len(line) for line in text.splitlines() if line.startswith("#")) > 65536
    assert task_times(import_recording(tmp_path / "t.paje")) == task_times(recording)


def test_times_are_rounded_to_a_picosecond_in_all_files(load, tmp_path):
    found = load(HEAD + TYPES + "6 0 S w0 a\n6 1.0000000000016 S w0 i\n", unit="s")
    assert [end for *_, end in task_times(found).values()] == [10**12 + 2]
    export_recording(small_recording(), tmp_path / "t.paje")
    text = (tmp_path / "t.paje").read_text()
    line, time = re.search(r"^(8 (\S+) S W\d+) C", text, re.MULTILINE).groups()
    (tmp_path / "t.paje").write_text(text.replace(line, line.replace(time, time + "6")))
    times = task_times(import_recording(tmp_path / "t.paje")).values()
    assert round(float(time) * 1e12) + 1 in [start for *_, start, _ in times]


def with_timeline(text, **members):
    """Return an own file whose comments say something else beside states."""
    lines = text.splitlines()
    old = "".join(line.split()[2] for line in lines if line.startswith("#= timeline "))
    data = json.dumps({**json.loads(base64.b64decode(old)), **members}).encode()
    kept = [line for line in lines if not line.startswith("#= timeline ")]
    return "\n".join([*kept, f"#= timeline {base64.b64encode(data).decode()}", ""])


@pytest.mark.parametrize(
    ("member", "row", "message"),
    [
        ("iterations", [0, 2, 0, 35], r"timeline: iterations\[0\]: kind: found 2, accepted 0 or 1"),
        (
            "iterations",
            [0, 0, -1, 35],
            r"iterations\[0\]: found iteration -1 of 35 tasks, accepted",
        ),
        (
            "iterations",
            [0, 0, 2**31, 35],
            "found iteration 2147483648 of 35 tasks, accepted 0 to 2",
        ),
        ("iterations", [0, 0, 0, -1], "found iteration 0 of -1 tasks, accepted 0 to 2147483647"),
        ("instants", [0, 0, 0, 2**31, 0], "found task 0 of iteration 2147483648, accepted tasks 0"),
    ],
)
def test_numbers_of_our_own_files_that_are_out_of_range(member, row, message, tmp_path):
    export_recording(small_recording(), tmp_path / "t.paje")
    text = with_timeline((tmp_path / "t.paje").read_text(), **{member: [row]})
    (tmp_path / "t.paje").write_text(text)
    with pytest.raises(TraceError, match=message):
        import_recording(tmp_path / "t.paje")


def test_our_own_file_of_nothing(tmp_path):
    export_recording(small_recording(), tmp_path / "t.paje")
    text = (tmp_path / "t.paje").read_text()
    text = with_timeline(text, iterations=[], instants=[], lost=[])
    lines = [line for line in text.splitlines() if line[:1] in "#%"]
    (tmp_path / "t.paje").write_text("\n".join(lines))
    with pytest.raises(TraceError, match="found no iterations and no tasks, accepted at least one"):
        import_recording(tmp_path / "t.paje")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("#= timeline ", "#= timeline !", "not base 64"),
        ("#= timeline ", "#= time ", "comments: timeline: not JSON"),
        ("#= recording ", "#= record ", "found no description of a run"),
        (" S W0 C", " S W99 C", "found worker 99, accepted 0 to "),
    ],
)
def test_our_own_files_that_are_damaged(old, new, message, tmp_path):
    export_recording(small_recording(), tmp_path / "t.paje")
    text = (tmp_path / "t.paje").read_text()
    assert old in text
    (tmp_path / "t.paje").write_text(text.replace(old, new))
    with pytest.raises(SimschedError, match=message):
        import_recording(tmp_path / "t.paje")
