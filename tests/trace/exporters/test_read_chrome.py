"""Chrome traces of other programs, and files that are damaged in every way we know."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import SimschedError, TraceError
from simsched.trace.exporters import export_recording
from simsched.trace.exporters._timeline import Activity, timeline
from simsched.trace.importers import import_recording, worker_busy_ps
from simsched.trace.importers.chrome import read_chrome
from simsched.trace.recording import Recording
from simsched.trace.schema import EventKind

from .runs import small_recording, task_times

Event = dict[str, Any]


def x(name: str, ts: Any, dur: Any, tid: Any = 1, **more: Any) -> Event:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, **more}


def pair(ph: str, ts: Any, name: str | None = None, tid: Any = 1) -> Event:
    event = {"ph": ph, "ts": ts, "pid": 1, "tid": tid}
    return event if name is None else {**event, "name": name}


def without(key: str) -> Event:
    return {k: v for k, v in x("a", 0, 1).items() if k != key}


def written(tmp_path: Path, events: Any) -> Path:
    path = tmp_path / "t.json"
    path.write_text(events if isinstance(events, str) else json.dumps(events))
    return path


def stretches(recording: Recording) -> list[tuple[int, str, int, int]]:
    """(Worker, class, start, end) of all stretches, in nanoseconds."""
    found = timeline(recording.trace)
    assert found.set_aside == {}
    rows = found.intervals.chosen(found.intervals.activity == Activity.TASK)
    names = [recording.class_names[c] for c in recording.task_class[rows.task]]
    times = (rows.start_ps // 1000).tolist(), (rows.end_ps // 1000).tolist()
    return sorted(zip(rows.worker.tolist(), names, *times, strict=True))


def read(tmp_path: Path, events: Any, **options: Any) -> Recording:
    return import_recording(written(tmp_path, events), "chrome", **options)


@pytest.mark.parametrize("form", ["array", "object", "open array", "trailing comma", "members"])
def test_all_forms_of_the_container(form: str, tmp_path: Path) -> None:
    events = json.dumps([x("a", 1, 2), x("b", 4, 1)])
    text = {
        "array": events,
        "object": f'{{"traceEvents": {events}}}',
        "open array": events[:-1],
        "trailing comma": events[:-1] + ",\n",
        "members": f'{{"a": [1, {{}}], "traceEvents": {events}, "displayTimeUnit": "ns"}}',
    }[form]
    recording = read(tmp_path, text)
    assert stretches(recording) == [(0, "a", 0, 2000), (0, "b", 3000, 4000)]
    assert recording.details["warnings"] == []
    assert recording.details["origin_us"] == "1"


@pytest.mark.parametrize(
    "ts", [[1, 4], [1.0, 4.0], ["1", "4.000"], [1e0, "4e0"], [1700000000000001, 1700000000000004]]
)
def test_times_are_numbers_or_text_that_spells_them(ts: list[Any], tmp_path: Path) -> None:
    recording = read(tmp_path, [x("a", ts[0], 2), x("b", ts[1], "1")])
    assert stretches(recording) == [(0, "a", 0, 2000), (0, "b", 3000, 4000)]


def test_large_times_keep_their_digits(tmp_path: Path) -> None:
    text = '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1700000000000000.123,"dur":0.001},'
    text += '{"ph":"X","name":"b","pid":1,"tid":1,"ts":1700000000000000.125,"dur":0.001}]'
    assert stretches(read(tmp_path, text)) == [(0, "a", 0, 1), (0, "b", 2, 3)]


def test_pairs_of_begin_and_end(tmp_path: Path) -> None:
    events = [
        pair("B", 0, "a"),
        pair("B", 2, "b"),
        pair("E", 3),
        pair("E", 5, "a"),
        pair("B", 1, "c", 2),
        pair("E", 9, None, 2),
    ]
    assert stretches(read(tmp_path, events)) == [
        (0, "a", 0, 2000),
        (0, "a", 3000, 5000),
        (0, "b", 2000, 3000),
        (1, "c", 1000, 9000),
    ]


def test_pairs_of_other_categories_end_where_they_do(tmp_path: Path) -> None:
    """The end of the inner pair was taken for that of the outer one."""
    events = [
        {**pair("B", 0, "a"), "cat": "task"},
        {**pair("B", 2, "b"), "cat": "other"},
        pair("E", 3),
        pair("E", 9),
        {**pair("B", 10, "c"), "cat": "other"},
        {**pair("E", 11, "d"), "cat": "other"},
    ]
    recording = read(tmp_path, events, category="task")
    assert stretches(recording) == [(0, "a", 0, 9000)]
    assert recording.details["set_aside"] == {}
    assert recording.details["other_events"] == {"B": 2, "E": 2}


def test_a_slice_inside_another_suspends_it(tmp_path: Path) -> None:
    events = [x("in", 4, 2), x("deep", 5, 1), x("out", 0, 10), x("in", 8, 2), x("next", 10, 1)]
    recording = read(tmp_path, events)
    assert recording.n_tasks == 5
    assert recording.class_names == ("out", "in", "deep", "next")
    assert stretches(recording) == [
        (0, "deep", 5000, 6000),
        (0, "in", 4000, 5000),
        (0, "in", 6000, 6000),
        (0, "in", 8000, 10000),
        (0, "next", 10000, 11000),
        (0, "out", 0, 4000),
        (0, "out", 6000, 8000),
        (0, "out", 10000, 10000),
    ]
    assert task_times(recording)[0, 0][3:] == (0, 10_000_000)


def test_the_time_of_a_worker_in_nested_slices_counts_once(tmp_path: Path) -> None:
    """A worker was busy for longer than the whole trace."""
    recording = read(tmp_path, [x("in", 4, 2), x("deep", 5, 1), x("out", 0, 10), x("b", 2, 3, 2)])
    assert worker_busy_ps(recording.trace, 2).tolist() == [10_000_000, 3_000_000]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=50)
def test_nested_slices_conserve_time(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = random.Random(seed)
    events: list[Event] = []

    def fill(tid: int, low: int, high: int, depth: int) -> None:
        """Put slices one after the other, and others inside them, some without length."""
        at = low
        while at <= high and rng.random() < 0.8:
            start = rng.randint(at, high)
            end = rng.randint(start, high)
            events.append(x(rng.choice("abc"), start, end - start, tid))
            if depth and end > start:
                fill(tid, start, end, depth - 1)
            at = end + (end == start)

    for tid in range(3):
        fill(tid, 0, 60, 2)
    if not events:
        return
    rng.shuffle(events)
    recording = read(tmp_path_factory.mktemp("nested"), events)
    assert recording.details["set_aside"] == {}
    assert recording.n_tasks == len(events)
    covered: dict[int, set[int]] = {}
    for event in events:
        units = range(event["ts"], event["ts"] + event["dur"])
        covered.setdefault(event["tid"], set()).update(units)
    busy = sum(e - s for _, _, s, e in stretches(recording))
    assert busy == 1000 * sum(len(units) for units in covered.values())


def test_workers_are_named_and_sorted(tmp_path: Path) -> None:
    def named(kind: str, tid: Any, value: Any, pid: int = 1) -> Event:
        key = "sort_index" if kind.endswith("index") else "name"
        return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {key: value}}

    events = [
        named("process_name", 0, "proc"),
        named("thread_name", 10, "ten"),
        named("thread_name", 2, "same"),
        named("thread_name", 3, "same"),
        named("thread_sort_index", 10, -1),
        *(x("a", 0, 1, tid) for tid in (2, 3, 10, "text", 4)),
    ]
    recording = read(tmp_path, events)
    assert recording.worker_names == (
        "ten",
        "proc/same (1/2)",
        "proc/same (1/3)",
        "1/4",
        "1/text",
    )
    assert recording.worker_core.tolist() == [-1] * 5


def test_other_events_are_counted_and_categories_chosen(tmp_path: Path) -> None:
    events = [
        {"ph": "C", "name": "c", "ts": 0, "pid": 1, "args": {"v": 1}},
        {"ph": "s", "name": "f", "ts": 0, "pid": 1, "tid": 1, "id": 1},
        x("a", 0, 1, cat="one,two"),
        x("b", 2, 1, cat="three"),
    ]
    recording = read(tmp_path, events, category="two")
    assert recording.class_names == ("a",)
    assert recording.details["other_events"] == {"C": 1, "X": 1, "s": 1}


SET_ASIDE = [
    ([x("a", 0, None)], "X without dur"),
    ([{k: v for k, v in x("a", 0, 1).items() if k != "dur"}], "X without dur"),
    ([x("a", 5, -1)], "X with a dur below 0"),
    ([pair("E", 3)], "E without its B"),
    ([pair("B", 3, "b")], "B without its E"),
    ([pair("B", 1, "b"), pair("E", 2, "c"), pair("E", 3, "b")], "E without its B"),
    ([x("a", 9, 5), x("b", 12, 5)], "slice that begins inside another one of its thread"),
]


@pytest.mark.parametrize(("events", "reason"), SET_ASIDE)
def test_what_cannot_be_placed_is_set_aside(
    events: list[Event], reason: str, tmp_path: Path
) -> None:
    recording = read(tmp_path, [x("good", 20, 1, 7), *events])
    # The good one, and of the others all but one: a pair is two events.
    assert recording.n_tasks == (2 if len(events) == 3 else len(events))
    (counted,) = recording.details["set_aside"].items()
    assert counted[0].startswith(reason)
    assert counted[1] == 1
    (warning,) = recording.details["warnings"]
    place = f"{tmp_path / 't.json'}: event {min(2, len(events))}: {reason}"
    assert warning.startswith(place)
    assert warning.endswith("; 1 event set aside")


ODD = [
    (7, "entry that is no object"),
    (without("ph"), "event without a phase"),
    (x("a", 0, 1, ph=5), "event without a phase"),
    *((without(key), "slice whose pid or tid is no whole") for key in ("pid", "tid")),
    *((x("a", 0, 1, tid), "slice whose pid or tid is no whole") for tid in (True, 2.5, [1])),
    (without("ts"), "slice whose ts is no number of microseconds"),
    *(
        (x("a", ts, 1), "slice whose ts is no number of microseconds")
        for ts in ("soon", True, "nan", "1e30", None, float("nan"))
    ),
    (x("a", 0, [1]), "X without dur, or with one that is no number"),
    (x("a", 0, float("inf")), "X without dur, or with one that is no number"),
    (x(3, 0, 1), "slice whose name is no text"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("event", "reason"), ODD)
def test_one_odd_event_does_not_set_the_others_aside(
    event: Any, reason: str, tmp_path: Path
) -> None:
    """One of them made the whole file an error."""
    recording = read(tmp_path, [x("good", 0, 3, 7), event, x("good", 3, 3, 7)])
    assert stretches(recording) == [(0, "good", 0, 3000), (0, "good", 3000, 6000)]
    ((counted, count),) = recording.details["set_aside"].items()
    assert counted.startswith(reason)
    assert count == 1
    assert f"event 1: {counted}; 1 event set aside" in recording.details["warnings"][0]


def test_what_can_be_read_of_odd_events_is_read(tmp_path: Path) -> None:
    """Names that are missing, whole numbers with a point, and NaN beside what is read."""
    events = [
        x("", 10, 5, 3.0),
        {**without("name"), "ts": 20},
        x("a", 30, 5, 3, args={"bandwidth": float("nan"), "peak": float("inf")}),
        {"ph": "M", "name": "thread_name", "pid": 1.0, "tid": 3.0, "args": {"name": "three"}},
        {**pair("B", 40, ""), "tid": 3},
        {**pair("E", 41), "tid": 3},
    ]
    recording = read(tmp_path, {"displayTimeUnit": "s", "traceEvents": events})
    assert recording.details["set_aside"] == {}
    assert recording.worker_names == ("1/1", "three")
    assert recording.class_names == ("(no name)", "a")
    assert len(stretches(recording)) == 4
    (warning,) = recording.details["warnings"]
    assert "displayTimeUnit: found 's', accepted ms or ns; times are read as micros" in warning


def test_what_ends_comes_before_what_begins_in_the_same_instant(tmp_path: Path) -> None:
    recording = read(tmp_path, [x("after", 5, 5, 1), x("point", 5, 0, 3), x("before", 0, 5, 2)])
    events = recording.trace.events
    kinds = [EventKind(kind).name for kind in events["kind"].tolist()]
    names = [recording.class_names[recording.task_class[t]] for t in events["task"].tolist()[1:-1]]
    assert list(zip(kinds[1:-1], names, strict=True)) == [
        ("TASK_START", "before"),
        ("TASK_END", "before"),
        ("TASK_START", "after"),
        ("TASK_START", "point"),
        ("TASK_END", "point"),
        ("TASK_END", "after"),
    ]
    assert (kinds[0], kinds[-1]) == ("ITERATION_START", "ITERATION_END")


def test_a_clock_that_goes_backwards_is_said(tmp_path: Path) -> None:
    events = [pair("B", 10, "b"), pair("E", 12), pair("B", 0, "a"), pair("E", 10)]
    recording = read(tmp_path, events)
    assert stretches(recording) == [(0, "a", 0, 10000), (0, "b", 10000, 12000)]
    (warning,) = recording.details["warnings"]
    assert "t.json: event 2: the clock of thread 1/1 goes backwards; 1 times" in warning


def test_an_end_before_its_beginning(tmp_path: Path) -> None:
    recording = read(tmp_path, [x("good", 0, 1), pair("B", 10, "b"), pair("E", 5)])
    assert recording.details["set_aside"] == {"B without its E": 1, "E without its B": 1}


ERRORS = [
    ([], "found no slices that are tasks"),
    ('{"traceEvents": []}', "found no slices that are tasks"),
    ("", "found an empty file"),
    ("  \n", "found an empty file"),
    ("{}", "traceEvents: missing"),
    ('{"traceEvents": 3}', "traceEvents: missing"),
    ("3", "found '3' at the beginning, accepted an array of events"),
    ("nonsense", "found 'nonsense' at the beginning"),
    ([7, without("ts")], "at least one; 1 set aside: entry that is no object; 1 set aside: slice"),
    ('[{"ph": "C"},\n{"ph" "X"}]', "2: column 7: event 1: not JSON: Expecting ':'"),
    ([x("a", 0, 1), x("b", 10**14, 1)], "s apart"),
    ("[" * 100_000, "nested too deeply"),
]


@pytest.mark.parametrize(("events", "message"), ERRORS)
def test_wrong_files_are_errors_that_name_file_and_event(
    events: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(TraceError, match=re.escape(message)) as caught:
        read_chrome(written(tmp_path, events))
    assert str(caught.value).startswith(f"{tmp_path / 't.json'}:")


def test_every_way_to_cut_off_a_file(tmp_path: Path) -> None:
    events = [x("a", 0.5, 1), x('b\\"\u00e9', 2, 1e-1, args={"k": [True, None, -1.5]})]
    for whole in (json.dumps(events), json.dumps({"traceEvents": events, "x": "y"})):
        first = whole.index("}, ") + 1
        for cut in range(first, len(whole)):
            recording = read(tmp_path, whole[:cut])
            assert recording.n_tasks in (1, 2)
            told = any("cut off" in text for text in recording.details["warnings"])
            # An array may lack its bracket: then nothing tells that it is not complete.
            between_events = whole[0] == "[" and whole[:cut].rstrip().endswith(("}", ","))
            if recording.n_tasks == 1:
                assert told or between_events, whole[:cut]
            elif whole[0] == "{":
                assert told, whole[:cut]


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(json.dumps([x("a", 0, 1)] * 50).encode())[:-20])
    with pytest.raises(TraceError, match=r"t\.json\.gz: found damaged or truncated gzip data"):
        read_chrome(path)


def test_the_format_is_recognised(tmp_path: Path) -> None:
    path = written(tmp_path, [x("a", 0, 1)])
    assert import_recording(path).details["format"] == "chrome"
    export_recording(small_recording("heat"), tmp_path / "own.json")
    assert import_recording(tmp_path / "own.json").details["format"] == "chrome"


HEADER = "x" * 80_000


@pytest.mark.parametrize(
    "text",
    [
        '{"schemaVersion": 1, "traceEvents": [EVENT]}',
        '{"schemaVersion": "1.4", "traceEvents": [EVENT]}',
        '{"traceEvents": [EVENT], "args": {"workflow": "x", "traceEvents": 1}}',
        '{"traceName": "workflow", "distributedInfo": {"workflow": {}}, "traceEvents": [EVENT]}',
        f'{{"deviceProperties": ["{HEADER}", {{"workflow": {{}}}}], "traceEvents": [EVENT]}}',
        f'{{"schemaVersion": 1, "a": "{HEADER}\\"", "b": [[]], "traceEvents": [EVENT]}}',
        f'\n[{{"args": {{"workflow": "{HEADER}"}}, "ph": "I"}}, EVENT]',
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_format_is_told_by_the_top_level(text: str, packed: bool, tmp_path: Path) -> None:
    """PyTorch writes a schemaVersion, and what the devices are before all events."""
    event = json.dumps(x("op", 0, 10, args={"workflow": "x", "schemaVersion": "1.4"}))
    data = text.replace("EVENT", event).encode()
    path = tmp_path / ("t.json.gz" if packed else "t.json")
    path.write_bytes(gzip.compress(data) if packed else b"\xef\xbb\xbf" + data)
    recording = import_recording(path)
    assert recording.details["format"] == "chrome"
    assert recording.n_tasks == 1
    assert int(recording.trace.events["time_ps"].max()) == 10 * 10**6


def test_the_events_of_a_workflow_do_not_make_it_a_chrome_trace(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": HEADER, "workflow": {"traceEvents": []}, "schemaVersion": "1.5"})
    with pytest.raises(SimschedError, match="workflow: found no key 'specification'"):
        import_recording(path)
    other = written(tmp_path, {"a": HEADER, "b": {"traceEvents": [], "workflow": {}}})
    with pytest.raises(TraceError, match="contents of no known format"):
        import_recording(other)


@pytest.mark.parametrize(
    ("name", "tasks", "span_us", "aside"),
    [
        ("kineto_schema_version/trace.json", 1, 10, 0),
        ("kineto_schema_version/word_workflow.json", 1, 10, 0),
        ("chrome_long_head/head.json", 1, 10, 0),
        ("chrome_one_odd_event/empty_name.json", 2, 7, 0),
        ("chrome_one_odd_event/no_tid.json", 1, 4, 1),
    ],
)
def test_files_of_users(name: str, tasks: int, span_us: int, aside: int, cases: Path) -> None:
    recording = import_recording(cases / name)
    assert recording.details["format"] == "chrome"
    assert recording.n_tasks == tasks
    assert int(recording.trace.events["time_ps"].max()) == span_us * 10**6
    assert sum(recording.details["set_aside"].values()) == aside


def own(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    path = tmp_path / "own.json"
    export_recording(small_recording("cholesky"), path)
    return path, json.loads(path.read_text())


def test_our_own_file_cut_off_keeps_whole_tasks(tmp_path: Path) -> None:
    path, _ = own(tmp_path)
    expected = task_times(read_chrome(path))
    text = path.read_text()
    path.write_text(text[: len(text) * 2 // 3])
    found = read_chrome(path)
    got = task_times(found)
    assert 0 < len(got) < len(expected)
    assert all(expected[key] == value for key, value in got.items())
    assert any("cut off" in warning for warning in found.details["warnings"])


def test_our_own_file_shuffled_is_the_same(tmp_path: Path) -> None:
    path, document = own(tmp_path)
    expected = read_chrome(path)
    random.Random(3).shuffle(document["traceEvents"])
    path.write_text(json.dumps(document))
    found = read_chrome(path)
    assert task_times(found) == task_times(expected)
    assert np.array_equal(found.trace.events["time_ps"], expected.trace.events["time_ps"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tid": 99}, "tid: found 99, accepted 1 to 6"),
        ({"name": "gem"}, "name: found 'gem', accepted a class: "),
        ({"args": {}}, "args: iteration: found nothing, accepted an integer"),
        ({"args": {"iteration": 1, "task": 10**6}}, "args: task: found 1000000, accepted"),
    ],
)
def test_our_own_file_with_wrong_events(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path, document = own(tmp_path)
    number = next(
        i for i, e in enumerate(document["traceEvents"]) if e.get("cat") == "task" and i > 100
    )
    document["traceEvents"][number].update(change)
    path.write_text(json.dumps(document))
    with pytest.raises(TraceError, match=re.escape(f"{path}: event {number}: {message}")):
        read_chrome(path)


def test_our_own_file_without_a_part_of_a_task(tmp_path: Path) -> None:
    path, document = own(tmp_path)
    events = document["traceEvents"]
    last = max(i for i, e in enumerate(events) if e.get("cat") == "task")
    events[last]["args"]["part"] = "first"
    path.write_text(json.dumps(document))
    found = read_chrome(path)
    reason = "slice of a task whose beginning or end is not in the file"
    assert found.details["set_aside"] == {reason: 1}
