"""The Standard Task Graph Set; values are worked out by hand."""

import time
import warnings

import pytest

from simsched.files.errors import ConfigurationError, GraphError
from simsched.workload.importers import import_workload
from simsched.workload.importers.stg import HEAD

# 0 and 5 are dummies; 1 -> 3, 2 -> 3, 2 -> 4
PLAIN = """\
          4
          0          0          0
          1          3          1          0
          2          4          1          0
          3          2          2          1          2
          4          5          1          2
          5          0          2          3          4
#
# Standard Task Graph Set Project
#   Tasks             : 4 (+dummy tasks : 2)
"""
# the same graph with communication of 7 and 9 from 2 to 3 and 4; every task is counted
SPOKEN = """\
# with communication
6 2
0 0 0
1 3 1
  0 0
2 4 1
  0 0
3 2 2
  1 0
  2 7
4 5 1
  2 9
5 0 2
  3 0
  4 0
"""
INLINE = "6 2\n0 0 0\n1 3 1 0 0\n2 4 1 0 0\n3 2 2 1 0 2 7\n4 5 1 2 9\n5 0 2 3 0 4 0\n"


@pytest.fixture
def load(tmp_path):
    """Function that writes a text and imports it."""

    def run(text, name="rand0000.stg", **options):
        (tmp_path / name).write_text(text)
        return import_workload(tmp_path / name, **options)

    return run


@pytest.mark.parametrize("text", [PLAIN, SPOKEN, INLINE])
def test_tasks_times_and_predecessors(text, load):
    workload = load(text, cost_unit="ms")
    graph = workload.graph
    # 3 ms at 1e9 operations a second are 3e6 operations
    assert graph.ops.tolist() == [[0, 3e6, 4e6, 2e6, 5e6, 0]]
    assert graph.succ_ptr.tolist() == [0, 2, 3, 5, 6, 7, 7]
    assert graph.succ.tolist() == [1, 2, 3, 3, 4, 5, 5]
    assert graph.n_blocks == 0
    assert graph.task_names == ("0", "1", "2", "3", "4", "5")
    assert workload.name == "rand0000"
    assert workload.parameters["edges_with_communication"] == (0 if text == PLAIN else 7)


@pytest.mark.parametrize("text", [SPOKEN, INLINE])
def test_communication_moves_bytes_where_it_is_said_how_many(text, load):
    graph = load(text, cost_unit="s", reference_speed=2e9, bytes_per_unit=1000).graph
    assert graph.ops.tolist() == [[0, 6e9, 8e9, 4e9, 10e9, 0]]
    assert graph.block_bytes.tolist() == [7000, 9000]
    assert graph.written_bytes.sum() == graph.read_bytes.sum() == 16000
    assert load(text, cost_unit="ops", bytes_per_unit=0.25).graph.block_bytes.tolist() == [2, 2]


def test_the_format_is_told_by_content(load):
    assert load(PLAIN, "graph", cost_unit="ops").parameters["format"] == "stg"
    assert load("# comment\n" + INLINE, "graph", cost_unit="ops").graph.n_tasks == 6
    spaced = "\n\n#\n" + INLINE.replace("6 2\n", "6 2  # six\r\n \n# tasks\n\n", 1)
    assert load(spaced, "graph", cost_unit="ops").graph.n_tasks == 6


@pytest.mark.parametrize("begin", [b"", b"5", b"5\n#"])
def test_blank_lines_are_looked_at_once(begin):
    """A search that goes back over them takes half a minute."""
    start = time.process_time()
    assert HEAD.match(begin + b"\n" * 60_000 + b"x") is None
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            PLAIN.replace("         4\n  ", "         9\n  ", 1),
            "g.stg:1: found 6 tasks, accepted the",
        ),
        (
            PLAIN.replace("          5          0  ", "          4          0  "),
            "7: found task 4 a",
        ),
        (PLAIN.replace("1          2\n", "1          8\n"), "5: task 3: predecessor: found 8"),
        (
            SPOKEN.replace("  2 9", "  2 -9"),
            r"12: task 4: communication: found '-9', accepted a fi",
        ),
        (SPOKEN.replace("  2 9", "  2"), "12: found '2', accepted a predecessor of task 4"),
        (SPOKEN.replace("  4 0\n", ""), "14: found the end of the file, accepted 2 predecessors"),
        (INLINE.replace("1 2 9", "1 2 9 9"), "6: task 4: found 3 numbers .*accepted 1, or 2"),
        (INLINE.replace("4 5", "4 x"), "6: task 4: time: found 'x'"),
        (INLINE.replace("4 5 1 2 9", "4 5"), "6: found '4 5', accepted a task"),
        (INLINE.replace("6 2", "6 2 1"), "1: found 3 numbers"),
        (INLINE.replace("1 3 1 0 0", "1 3 1 3 0"), "cycle of 2 tasks: 3 -> 1 -> 3"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, message, load):
    with pytest.raises(GraphError, match=message):
        load(text, "g.stg", cost_unit="ops")


def test_units_are_never_guessed(load):
    with pytest.raises(GraphError, match="cost_unit: missing, accepted: ops, s, ms"):
        load(PLAIN)
    with pytest.raises(GraphError, match="bytes_per_unit: found with a file that states no comm"):
        load(PLAIN, cost_unit="s", bytes_per_unit=8)
    with pytest.raises(ConfigurationError, match="format stg: unknown option 'edge_bytes'"):
        load(PLAIN, cost_unit="s", edge_bytes="x")


def test_communication_beyond_floats_is_refused_without_a_warning(load):
    with warnings.catch_warnings():  # as a program that takes them for errors
        warnings.simplefilter("error")
        with pytest.raises(GraphError, match="bytes: found inf"):
            load(SPOKEN, cost_unit="s", bytes_per_unit=1e308)
