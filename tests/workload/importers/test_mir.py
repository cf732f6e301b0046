import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simsched.engine.run import simulate
from simsched.files.errors import GraphError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.workload.importers import import_measured, import_workload

HEADER = (
    "task,parent,child_number,num_children,cpu_id,exec_cycles,work_cycles,overhead_cycles,"
    "creation_cycles,create_instant,exec_end_instant,wait_instants,outline_function,joins_at"
)
# 1 spawns 2 (on its own core) and 3; 3 spawns 4. Rows are not in order.
ROWS = [
    "3,1,2,1,7,260,250,10,40,200,900,[0;240],20,0",
    "1,0,1,2,5,500,300,200,9,0,1000,[0;450],10,0",
    "2,1,1,0,5,300,300,0,60,100,800,[0],20,0",
    "4,3,1,0,6,310,310,0,8,30,700,[0],20,0",
]


@pytest.fixture
def load(tmp_path):
    """Function that writes rows under the header and imports them."""

    def run(rows=ROWS, header=HEADER, text=None):
        path = tmp_path / "stats.csv"
        path.write_bytes(text if text is not None else "\n".join([header, *rows, ""]).encode())
        return import_measured(path)

    return run


def test_spawn_tree_and_costs(load):
    workload = load().workload
    graph = workload.graph
    assert graph.child_ptr.tolist() == [0, 2, 2, 3, 3]
    assert graph.child.tolist() == [1, 2, 3]
    assert graph.creation_ops.tolist() == [0, 60, 40, 8]
    # task 1: last spawn at 200 after 60 + 40 cycles of creation; task 3: 30 - 8
    assert graph.ops.tolist() == [[100, 300, 22, 310]]
    assert graph.join_ops.tolist() == [[200, 0, 228, 0]]
    assert graph.class_names == ("function 10", "function 20")
    assert graph.task_class.tolist() == [0, 1, 1, 1]
    assert workload.parameters["unit_of_ops"] == "cycle"
    assert workload.parameters["tasks_for_further_waits"] == 0


def test_tasks_without_children(load):
    """They were a TypeError."""
    graph = load(["1,0,1,0,5,500,500,0,9,0,1000,[0],10,0", "2,0,2,0,5,7,7,0,9,0,1007,[0],10,0"])
    assert graph.workload.graph.ops.tolist() == [[500, 7]]
    assert graph.workload.graph.child.tolist() == []


def test_children_are_in_order_of_their_numbers(load):
    rows = [
        ROWS[0].replace("3,1,2,", "3,1,1,"),
        ROWS[1],
        ROWS[2].replace("2,1,1,", "2,1,2,"),
        ROWS[3],
    ]
    assert load(rows).workload.graph.child.tolist() == [2, 1, 3]


def test_measured_record(load):
    measured = load().measured
    assert measured.cores.tolist() == [5, 6, 7]
    assert measured.task_core.tolist() == [0, 0, 2, 1]
    assert measured.creator_core.tolist() == [0, 0, 0, 2]
    assert measured.busy_cycles.tolist() == [800, 310, 260]
    assert measured.core_work_cycles.tolist() == [600, 310, 250]
    assert measured.core_creation_cycles.tolist() == [109, 0, 8]
    assert measured.total_work_cycles == 1160
    assert measured.total_creation_cycles == 117
    assert measured.parallel_start_cycles == 390
    assert measured.makespan_cycles == 610
    assert measured.spawn_start_cycles == 200, "core 5 was active for 800 cycles up to 1000"


def test_optional_columns_may_be_missing(load):
    names = HEADER.split(",")
    keep = [
        i for i, n in enumerate(names) if n not in ("num_children", "outline_function", "joins_at")
    ]
    rows = [",".join(np.array(row.split(","))[keep]) for row in ROWS]
    workload = load(rows, ",".join(np.array(names)[keep])).workload
    assert workload.graph.class_names == ("task",)
    assert workload.graph.n_tasks == 4


#: 1 (of core 5) spawns 2 at 60 to 100 and waits, 3 at 260 to 300 and 4 at 330 to 400, and waits.
WAITS = [
    "1,0,1,3,5,700,300,400,9,0,2000,[0;150;500],10,0",
    "2,1,1,0,5,100,100,0,40,100,800,[0],20,0",
    "3,1,2,0,6,100,100,0,40,300,1000,[0],20,1",
    "4,1,3,0,7,100,100,0,70,400,1100,[0],20,1",
]


def test_a_task_that_waits_twice_becomes_two(load):
    found = load(WAITS)
    graph, measured = found.workload.graph, found.measured
    # Task 0 (the row's) comes after task 4, which is added for its first wait.
    assert graph.child_ptr.tolist() == [0, 2, 2, 2, 2, 3]
    assert graph.child.tolist() == [2, 3, 1]
    assert graph.succ_ptr.tolist() == [0, 0, 0, 0, 0, 1]
    assert graph.succ.tolist() == [0]
    # 100 - 40 before the first spawn; 400 - 260 less 40 + 70 of creation between the others
    assert graph.ops.tolist() == [[30, 100, 100, 100, 60]]
    assert graph.join_ops.tolist() == [[210, 0, 0, 0, 0]]
    assert graph.creation_ops.tolist() == [0, 40, 40, 70, 0]
    assert graph.task_class.tolist() == [0, 1, 1, 1, 0]
    assert found.workload.parameters["tasks_for_further_waits"] == 1
    assert measured.end_cycles.tolist() == [2000, 800, 1000, 1100, 800]
    assert measured.task_core.tolist() == [0, 0, 1, 2, 0]
    assert measured.total_work_cycles == 600


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_its_loops_run_one_after_the_other(load, backend):
    workload = load(WAITS).workload
    machine = make_machine(domains=1, cores_per_domain=4, ops_per_s=1e9)
    run = simulate(machine, workload, make_policy("cilk"), backend=backend)
    # 60 + 40 and the leaf of 100; 30, then a thief creates the last leaf (70) and runs it (100),
    # while the other one is created (40) and run; 210
    assert run.makespan_s == pytest.approx(610e-9, rel=1e-12)


def test_a_task_with_a_parent_has_its_place_for_all_waits(load):
    rows = [
        "9,0,1,2,5,900,100,800,9,0,3000,[0;800],10,0",
        *(row.replace("1,0,1,3", "1,9,1,3").replace("400,9,0", "400,9,20") for row in WAITS),
        "5,9,2,0,6,100,100,0,40,300,2500,[0],20,0",
    ]
    graph = load(rows).workload.graph
    # Rows 0 to 4 are tasks 1 to 5, row 5 is task 9, task 6 is added before row 0.
    assert graph.child[graph.child_ptr[5] : graph.child_ptr[6]].tolist() == [6, 0, 4]
    assert graph.creation_ops[[6, 0]].tolist() == [9, 0]


def _with(row, column, value):
    fields = ROWS[row].split(",")
    fields[HEADER.split(",").index(column)] = str(value)
    return [*ROWS[:row], ",".join(fields), *ROWS[row + 1 :]]


@pytest.mark.parametrize(
    ("row", "column", "value", "message"),
    [
        (2, "task", 3, r":4: task 3: column 'task': found 3, accepted a number that no other row"),
        (2, "task", 0, r":4: task 0: column 'task'"),
        (2, "task", "x", r":4: column 'task': found 'x', accepted an integer from 0"),
        (0, "parent", 9, r":2: task 3: column 'parent': found 9, accepted 0 or the number of a"),
        (3, "parent", 4, "cycle of 1 task: 4 -> 4|children"),
        (0, "child_number", 1, r"column 'child_number': found 1, accepted a number that no other"),
        (
            0,
            "num_children",
            2,
            r":2: task 3: column 'num_children': found 2, accepted the number of",
        ),
        (1, "work_cycles", "nan", r":3: column 'work_cycles': found 'nan'"),
        (1, "work_cycles", "inf", r":3: column 'work_cycles': found 'inf'"),
        (1, "work_cycles", "", r":3: column 'work_cycles': found nothing"),
        (1, "work_cycles", "1.5", r":3: column 'work_cycles': found '1.5'"),
        (1, "work_cycles", -1, r":3: column 'work_cycles': found '-1'"),
        (1, "work_cycles", "9" * 30, r":3: column 'work_cycles': found '999"),
        (1, "work_cycles", 1, r":3: task 1: column 'exec_cycles': found 500, accepted work_cycles"),
        (1, "exec_end_instant", 499, r"'exec_cycles': found 500, accepted at most exec_end"),
        (
            2,
            "creation_cycles",
            170,
            r":3: task 1: column 'overhead_cycles': found 200, accepted at",
        ),
        (0, "create_instant", 501, r"'exec_cycles': found 500, accepted at least the create_inst"),
    ],
)
def test_errors_name_the_line(row, column, value, message, load, tmp_path):
    with pytest.raises(GraphError, match=message) as caught:
        load(_with(row, column, value))
    assert str(caught.value).startswith(str(tmp_path / "stats.csv"))


def test_cycle_of_parents(load):
    rows = [row.replace("3,1,2,", "3,4,1,") for row in ROWS]
    rows = [row.replace("4,3,1,0,", "4,3,1,1,").replace("1,0,1,2,", "1,0,1,1,") for row in rows]
    rows = [row.replace(",310,310,0,", ",400,310,90,") for row in rows]
    with pytest.raises(GraphError, match="found a cycle of 2 tasks"):
        load([row.replace(",40,200,", ",40,50,") for row in rows])


def test_missing_column_names_the_nearest(load):
    header = HEADER.replace("work_cycles", "work_cycle")
    with pytest.raises(GraphError, match=r"no column 'work_cycles'.*did you mean 'work_cycle'"):
        load(header=header)


def test_missing_rows_are_noticed(load):
    with pytest.raises(GraphError, match="'num_children': found 1, accepted the number of rows"):
        load(ROWS[:3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "empty file"),
        (HEADER.encode(), "found no tasks, accepted at least one row"),
        (f"{HEADER}\n{ROWS[0]}\n{ROWS[1]},9,9\n".encode(), "not CSV: .*line 3"),
        (f"{HEADER}\n{ROWS[1][:14]}\n".encode(), r"stats.csv:2: column 'work_cycles'"),
        (f'{HEADER}\n{ROWS[1]}\n"{ROWS[2]}\n'.encode(), "not CSV"),
        (HEADER.encode() + b"\n1,\xfe\n", r"stats.csv:2: found byte 0xfe, accepted UTF-8"),
        (gzip.compress("\n".join([HEADER, *ROWS]).encode())[:-9], "truncated gzip"),
    ],
    ids=["empty", "header", "wide", "cut", "quote", "latin", "gzip"],
)
def test_damaged_files(text, message, load):
    with pytest.raises(GraphError, match=message):
        load(text=text)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_raise_only_our_errors(data, load, accepted_or_refused):
    rows = [row.split(",") for row in ROWS]
    for _ in range(data.draw(st.integers(0, 2))):
        row = data.draw(st.sampled_from(rows))
        junk = st.one_of(st.integers(-1, 12).map(str), st.text(max_size=4), st.floats().map(str))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(junk)
    text = "\n".join([HEADER, *map(",".join, rows), ""]).encode("utf-8", "replace")
    text = text[: data.draw(st.one_of(st.just(len(text)), st.integers(0, len(text))))]
    with accepted_or_refused("stats.csv"):
        load(text=text).workload.validate()


@pytest.fixture(scope="module")
def fibonacci(measured_data):
    path = measured_data / "mir_fib_opteron48" / "task-stats.csv.gz"
    return import_measured(path), pd.read_csv(path).sort_values("task").reset_index(drop=True)


def test_published_run(fibonacci, measured_data):
    (result, frame) = fibonacci
    graph, measured = result.workload.graph, result.measured
    assert graph.n_tasks == len(frame) == 8192
    assert len(graph.leaves) == frame.leaf.sum() == 4096
    assert np.array_equal(frame.task[graph.parent[1:]], frame.parent[1:])
    assert measured.n_cores == 48
    assert measured.makespan_cycles == pytest.approx(863.6e6, rel=1e-4)
    assert measured.parallel_start_cycles == pytest.approx(436.8e6, rel=1e-4)
    assert measured.spawn_start_cycles == pytest.approx(345.8e6, rel=1e-4)
    assert measured.total_work_cycles == frame.work_cycles.sum() == 26_368_583_089
    assert measured.total_creation_cycles == frame.creation_cycles.sum() == 14_669_501_175
    assert graph.ops.sum() + graph.join_ops.sum() == frame.work_cycles.sum()
    assert graph.creation_ops.sum() == frame.creation_cycles[1:].sum()
    assert measured.busy_cycles.sum() == frame.exec_cycles.sum()
    assert measured.core_creation_cycles.sum() == frame.creation_cycles.sum()
    path = measured_data / "mir_fib_opteron48" / "task-stats.csv.gz"
    assert import_workload(path).graph.n_tasks == 8192


def test_meaning_of_the_columns_in_the_published_run(fibonacci):
    _, frame = fibonacci
    frame = frame.set_index("task", drop=False)
    inner = frame[~frame.leaf]
    children = frame[frame.parent > 0].groupby("parent")
    search = inner.overhead_cycles - children.creation_cycles.sum()
    wait = inner.wait_instants.str.extract(r";(\d+)\]")[0].astype(np.int64)
    assert (frame.exec_cycles == frame.work_cycles + frame.overhead_cycles).all()
    assert (frame.overhead_cycles[frame.leaf] == 0).all()
    assert search.min() == 640
    assert search.median() == pytest.approx(5396, abs=1)
    assert search.sum() == pytest.approx(592e6, rel=1e-3)
    assert search.nlargest(9).sum() == pytest.approx(564e6, rel=1e-3)
    assert (frame.create_instant >= frame.creation_cycles)[1:].all()
    first = frame[(frame.child_number == 1) & (frame.parent > 1)].set_index("parent")
    second = frame[frame.child_number == 2].set_index("parent")
    gap = second.create_instant - second.creation_cycles - first.create_instant
    assert gap.min() == 1313
    spare = wait - second.create_instant - search
    assert spare.min() == 16_699
    after = (inner.exec_cycles - wait)[second.index]
    assert (after > 0).all()
    assert after.median() == 1946
    assert (after >= search[second.index]).sum() == 793
    ends = frame.exec_end_instant
    assert (ends[frame.parent[1:]].to_numpy() >= ends[1:].to_numpy()).all()
