"""Arrows of Chrome traces become edges; values are worked out by hand."""

import json

import pytest

from simsched.trace.importers import import_recording


def x(name, ts, dur, tid, **more):
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, **more}


def flow(ph, ts, tid, key=1, **more):
    return {"ph": ph, "cat": "c", "name": "n", "id": key, "ts": ts, "pid": 1, "tid": tid, **more}


@pytest.fixture
def load(tmp_path):
    """Function that writes events and imports them."""

    def run(*events, **options):
        (tmp_path / "t.json").write_text(json.dumps(list(events)))
        return import_recording(tmp_path / "t.json", **options)

    return run


def edges(recording):
    """Return the edges by the names of their tasks, each of which has a class of its own."""
    graph = recording.workload.graph
    names = [recording.class_names[c] for c in graph.task_class]
    return [
        (names[u], names[v])
        for u in range(graph.n_tasks)
        for v in graph.succ[graph.succ_ptr[u] : graph.succ_ptr[u + 1]]
    ]


# a 0 to 10 us on thread 1, b 12 to 15 us on thread 2, c 16 to 20 us on thread 1
SLICES = (x("a", 100, 10, 1), x("b", 112, 3, 2), x("c", 116, 4, 1))


def test_arrows_make_a_graph_of_measured_tasks(load):
    found = load(
        *SLICES,
        flow("s", 105, 1),
        flow("t", 113, 2),
        flow("f", 117, 1, bp="e"),
        flow("s", 109, 1, "0x2"),
        flow("f", 116, 1, "0x2", bp="e"),
    )
    assert edges(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    # 10, 3 and 4 us are so many thousand operations at 1e9 a second
    assert found.workload.graph.ops.tolist() == [[10_000, 3_000, 4_000]]
    assert found.details["set_aside"] == {}
    assert found.details["origin_us"] == "100"


def test_an_end_belongs_to_the_next_slice_unless_it_says_otherwise(load):
    assert edges(load(*SLICES, flow("s", 101, 1), flow("f", 110.5, 2))) == [("a", "b")]
    assert edges(load(*SLICES, flow("s", 110, 1), flow("f", 112, 2))) == [("a", "b")]
    found = load(*SLICES, flow("s", 101, 1), flow("f", 110.5, 2, bp="e"))
    assert found.workload is None
    assert found.details["set_aside"] == {"step of an arrow that no slice is around, or behind": 1}


def test_an_end_belongs_to_the_next_slice_of_whatever_category(load):
    """It went to the next task, however many other slices began before."""
    slices = x("a", 100, 10, 1, cat="task"), x("b", 120, 3, 2, cat="task")
    arrow = flow("s", 101, 1), flow("f", 112, 2)
    for other in (
        [x("launch", 115, 1, 2)],
        [{"ph": p, "ts": 115, "pid": 1, "tid": 2} for p in "BE"],
    ):
        found = load(*slices, *other, *arrow, category="task")
        assert found.workload is None
        assert found.details["set_aside"] == {
            "step of an arrow that no slice is around, or behind": 1
        }
    assert edges(load(*slices, x("launch", 125, 1, 2), *arrow, category="task")) == [("a", "b")]
    assert edges(load(*slices, x("launch", 120, 1, 2), *arrow, category="task")) == [("a", "b")]
    around = x("c", 111, 6, 2, cat="task")
    found = load(*slices, around, x("launch", 115, 1, 2), *arrow, category="task")
    assert edges(found) == [("a", "c")]


def test_an_end_before_a_slice_that_is_set_aside(load):
    """The slice overlaps another one; the arrow does not lead to the one after it."""
    late, later = x("late", 14, 9, 2), x("later", 30, 1, 2)
    found = load(x("a", 0, 5, 1), x("b", 12, 5, 2), late, later, flow("s", 1, 1), flow("f", 13, 2))
    assert edges(found) == [("a", "b")]  # it is inside b


def test_an_arrow_begins_in_the_innermost_slice(load):
    found = load(
        x("out", 0, 10, 1), x("in", 2, 3, 1), x("k", 12, 1, 2), flow("s", 3, 1), flow("f", 11, 2)
    )
    assert edges(found) == [("in", "k")]
    # the outer slice was active itself for 2 and for 5 of its 10 us
    assert found.workload.graph.ops.tolist() == [[7_000, 3_000, 1_000]]


def test_slices_bound_by_an_id(load):
    found = load(
        x("a", 0, 1, 1, bind_id="7", flow_out=True),
        x("b", 2, 1, 2, bind_id="7", flow_in=True, flow_out=True),
        x("c", 4, 1, 1, bind_id="7", flow_in=True),
        x("d", 5, 1, 1, bind_id="8"),
    )
    assert edges(found) == [("a", "b"), ("b", "c")]


def test_an_arrow_that_is_bound_begins_in_its_own_slice(load):
    out, into = {"bind_id": 7, "flow_out": True}, {"bind_id": 7, "flow_in": True}
    outer, sink = x("outer", 0, 10, 1), x("sink", 12, 1, 2, **into)
    assert edges(load(outer, x("inner", 0, 5, 1, **out), sink)) == [("inner", "sink")]
    begin = {"ph": "B", "name": "inner", "ts": 2, "pid": 1, "tid": 1, **out}
    end = {"ph": "E", "ts": 5, "pid": 1, "tid": 1}
    found = load(outer, begin, end, x("next", 11, 1, 1), sink)
    assert edges(found) == [("inner", "sink")]
    assert found.details["set_aside"] == {}


def test_slices_that_are_bound_but_no_tasks_are_set_aside(load):
    out, into = {"bind_id": 7, "flow_out": True}, {"bind_id": 7, "flow_in": True}
    found = load(
        x("source", 0, 1, 1, cat="other", **out),
        x("unrelated", 2, 1, 1, cat="task"),
        x("sink", 4, 1, 2, cat="task", **into),
        category="task",
    )
    assert found.workload is None
    assert found.details["set_aside"] == {
        "step of an arrow that is no slice, or one that is no task": 1,
        "end of an arrow that has not begun": 1,
    }


def test_several_slices_wait_for_the_one_with_the_arrow_out(load):
    out, into = {"bind_id": 7, "flow_out": True}, {"bind_id": 7, "flow_in": True}
    found = load(x("a", 0, 1, 1, **out), x("b", 2, 1, 1, **into), x("c", 4, 1, 2, **into))
    assert edges(found) == [("a", "b"), ("a", "c")]


def test_an_id_of_one_process_is_another_one_in_the_next(load):
    def step(ph, ts, pid, **id2):
        return {"ph": ph, "cat": "c", "name": "n", "ts": ts, "pid": pid, "tid": 1, "id2": id2}

    one = [{**x(name, ts, 1, 1), "pid": 1} for name, ts in (("a", 0), ("b", 6))]
    two = [{**x(name, ts, 1, 1), "pid": 2} for name, ts in (("c", 2), ("d", 4))]
    local = [(1, 0, "s"), (2, 2, "s"), (2, 4, "t"), (1, 6, "t")]
    found = load(*one, *two, *(step(ph, ts, pid, local="0x1") for pid, ts, ph in local))
    assert edges(found) == [("a", "b"), ("c", "d")]
    found = load(*one, *two, *(step(ph, ts, pid, **{"global": 1}) for pid, ts, ph in local))
    assert edges(found) == [("c", "d"), ("d", "b")]
    assert found.details["set_aside"] == {}


@pytest.mark.parametrize("key", [{}, {"id": None}, {"id2": {}}, {"id2": 3}])
def test_arrows_without_an_id_do_not_belong_together(key, load):
    def step(ph, ts, tid):
        return {"ph": ph, "ts": ts, "pid": 1, "tid": tid, "bp": "e", **key}

    found = load(*SLICES, step("s", 105, 1), step("f", 113, 2))
    assert found.workload is None
    assert found.details["set_aside"] == {"step of an arrow without an id": 2}


def test_a_bound_slice_without_an_id_is_set_aside(load):
    found = load(x("a", 0, 1, 1, bind_id=None, flow_out=True), x("b", 2, 1, 2))
    assert found.details["set_aside"] == {"step of an arrow without an id": 1}


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((flow("f", 113, 2, bp="e"),), "end of an arrow that has not begun"),
        ((flow("s", 101, 1), flow("f", 105, 1, bp="e")), "arrow inside one slice"),
        (
            (flow("s", 101, 1, "k"), flow("f", 113, 2, "l", bp="e")),
            "end of an arrow that has not b",
        ),
        ((flow("s", 116, 1), flow("f", 119, 1, bp="e")), "arrow inside one slice"),
        ((flow("s", 113, 2), flow("f", 114, 9)), "step of an arrow that no slice is around, or be"),
        ((flow("s", None, 1),), "step of an arrow without a time or a thread"),
    ],
)
def test_arrows_that_lead_nowhere_are_set_aside_and_counted(steps, reason, load):
    found = load(*SLICES, *steps)
    assert found.workload is None
    (found_reason,) = found.details["set_aside"]
    assert found_reason.startswith(reason)


def test_an_arrow_to_a_slice_that_has_started_says_nothing_about_its_start(load):
    steps = (flow("s", 9, 1), flow("f", 9.5, 2, bp="e"))
    found = load(x("a", 0, 10, 1), x("b", 8, 5, 2), x("c", 14, 1, 2), *steps)
    assert found.workload is None
    (reason,) = found.details["set_aside"]
    assert reason.startswith("arrow to a slice that had started")


def test_a_file_without_arrows_has_no_graph(load):
    assert load(*SLICES).workload is None
