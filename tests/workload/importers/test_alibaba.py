"""Batch jobs of Alibaba's cluster trace; values are worked out by hand."""

import pytest

from simsched.files.errors import ConfigurationError, GraphError
from simsched.workload.importers import import_workload
from simsched.workload.importers.remarks import facts

HEADER = "task_name,instance_num,job_name,task_type,status,start_time,end_time,plan_cpu,plan_mem\n"
# j_1: M1 of 10 s and M2 of 4 s before R3_2_1 of 6 s; j_2: 30 s later, M1 and one that waits for
# nobody
ROWS = """\
M1,40,j_1,1,Terminated,100,110,100.0,0.5
M2,2,j_1,1,Terminated,100,104,50.0,0.5
R3_2_1,1,j_1,1,Terminated,110,116,200.0,0.5
M1,1,j_2,1,Terminated,130,131,100.0,0.2
task_Mjk1,3,j_2,3,Terminated,130,137,100.0,0.2
"""


@pytest.fixture
def load(tmp_path):
    """Function that writes rows and imports them."""

    def run(text, name="batch_task.csv", **options):
        (tmp_path / name).write_text(text)
        return import_workload(tmp_path / name, **options)

    return run


@pytest.mark.parametrize("header", ["", HEADER, "\n \n" + HEADER])
def test_jobs_arrive_as_they_did(header, load):
    workload = load(header + ROWS)
    graph = workload.graph
    assert graph.ops.tolist() == [[10e9, 4e9, 6e9, 1e9, 7e9]]
    assert graph.succ_ptr.tolist() == [0, 1, 2, 2, 2, 2]
    assert graph.succ.tolist() == [2, 2]
    # j_2 starts 30 s after j_1
    assert graph.arrival_ps.tolist() == [0, 0, 0, 30 * 10**12, 30 * 10**12]
    assert graph.task_names == ("j_1/M1", "j_1/M2", "j_1/R3_2_1", "j_2/M1", "j_2/task_Mjk1")
    assert [graph.class_names[c] for c in graph.task_class] == ["M", "M", "R", "M", "task"]
    assert graph.n_blocks == 0
    about = workload.parameters
    assert (about["jobs"], about["instances"], about["tasks_with_several_cores"]) == (2, 47, 1)


def test_one_job_arrives_at_once(load):
    graph = load(ROWS, job="j_2", reference_speed=2e9).graph
    assert graph.ops.tolist() == [[2e9, 14e9]]
    assert graph.arrival_ps.tolist() == [0, 0]
    assert graph.task_names == ("M1", "task_Mjk1")


def test_names_with_stages_and_numbers_that_no_task_has(load):
    rows = "M1_Stg2,1,j_9,1,Terminated,5,6,100,1\nJ4_1_3_Stg7,1,j_9,1,Terminated,6,8,100,1\n"
    workload = load(rows)
    assert workload.graph.succ.tolist() == [1]
    assert workload.parameters["dependences_on_absent_tasks"] == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("M1,1,j_3,1,Running,131,,100,1", "jobs with a task that has not terminated"),
        ("M1,1,j_3,1,Terminated,131,0,100,1", "jobs with a task whose times are missing or contr"),
        ("M1,1,j_3,1,Terminated,131,130,100,1", "jobs with a task whose times are missing or con"),
        ("M1,1,j_3,1,Terminated,,130,100,1", "jobs with a task whose times are missing or contr"),
        ("R2,1,j_3,1,Terminated,1,2,100,1", "jobs with two tasks of one number or name"),
        ("R1_1,1,j_3,1,Terminated,1,2,100,1", "jobs whose tasks wait for each other"),
        (
            "R1_3,1,j_3,1,Terminated,1,2,100,1\nR3_1,1,j_3,1,Terminated,1,2,100,1",
            "jobs whose tasks wait for each other",
        ),
    ],
)
def test_jobs_that_are_not_whole_are_left_out_and_counted(row, reason, load):
    rows = f"{ROWS}M2,1,j_3,1,Terminated,140,141,100,1\n{row}\n"
    workload = load(rows)
    assert workload.graph.n_tasks == 5
    (found,) = workload.parameters["left_out"].items()
    assert found[0].startswith(reason)
    assert found[1] == 1
    assert f"left out: {found[0]}: 1" in facts(workload)
    with pytest.raises(GraphError, match=f"job j_3: left out: {reason}"):
        load(rows, job="j_3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROWS + "M1,1,j_3\n", "6: found 3 fields, accepted 9: task_name"),
        (ROWS + "M1,1,j_3,1,Terminated,x,2,1,1\n", "6: task 'M1': time: found 'x'"),
        (ROWS + "M1,y,j_3,1,Terminated,1,2,1,1\n", "6: task 'M1': instance_num: found 'y'"),
        (ROWS + ",1,j_3,1,Terminated,1,2,1,1\n", "6: found '.*accepted a task"),
        ("R1_1,1,j_1,1,Terminated,1,2,1,1\n", "no whole job, .*1 jobs whose tasks wait for each"),
        (ROWS + HEADER, "6: task 'task_name': time: found 'start_time'"),
        ("M1,1,j_1,1,Failed,1,2,1,1\n", "found no whole job, accepted at least one"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, message, load):
    with pytest.raises(GraphError, match=message):
        load(text)


def test_tasks_of_two_jobs_that_are_written_alike(load):
    rows = ("b,1,j_1/a", 3), ("a/b,1,j_1", 5)
    text = "".join(f"{row},1,Terminated,10,{10 + length},100,1\n" for row, length in rows)
    graph = load(text, format="alibaba").graph
    assert graph.ops.tolist() == [[3e9, 5e9]]
    assert graph.task_names == ("j_1/a/b", "j_1/a/b")


def test_an_unknown_job_names_the_nearest(load):
    with pytest.raises(ConfigurationError, match="found no job 'j_11'; did you mean 'j_1'"):
        load(ROWS, job="j_11")
