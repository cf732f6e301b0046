"""Task Graphs For Free; values are worked out by hand."""

import pytest

from simsched.files.errors import GraphError
from simsched.workload.importers import import_workload
from simsched.workload.importers.remarks import facts

TEXT = """\
@HYPERPERIOD 300

@COMMUN_QUANT 0 {
# type    quantity
     0       83
     1       27.6
}

@TASK_GRAPH 0 {
	PERIOD 300

	TASK t0_0	TYPE 2
	TASK t0_1	TYPE 0
	TASK t0_2	TYPE 2

	ARC a0_0 	FROM t0_0  TO  t0_1 TYPE 0
	ARC a0_1 	FROM t0_0  TO  t0_2 TYPE 1

	HARD_DEADLINE d0_0 ON t0_1 AT 130
}

@TASK_GRAPH 1 {
	APERIODIC
	TASK t1_0	TYPE 1
}

@CORE 0 {
# price      area
  79.0597    0.219023
#------------------------------
# type version valid task_time
  0    0       1     10
  1    0       1     7
  2    0       1     11.5
  2    1       1     99
}

@CORE 1 {
# price      area
  72.405     0.166029
#------------------------------
# type version valid task_time
  0    0       1     8
  1    0       0     1
  2    0       1     20
}
"""


@pytest.fixture
def load(tmp_path):
    """Function that writes a text and imports it."""

    def run(text=TEXT, name="g.tgff", **options):
        (tmp_path / name).write_text(text)
        return import_workload(tmp_path / name, **options)

    return run


def test_costs_and_bytes_come_from_tables(load):
    workload = load(cost="task_time", table="CORE 0", cost_unit="us", edge_bytes="quantity")
    graph = workload.graph
    # types 2, 0, 2 and 1: 11.5, 10, 11.5 and 7 us at 1e9 operations a second
    assert graph.ops.tolist() == [[11500.0, 10000.0, 11500.0, 7000.0]]
    assert graph.succ_ptr.tolist() == [0, 2, 2, 2, 2]
    assert graph.succ.tolist() == [1, 2]
    assert graph.block_bytes.tolist() == [83, 28]
    assert graph.task_names == ("t0_0", "t0_1", "t0_2", "t1_0")
    assert graph.class_names == ("type 2", "type 0", "type 1")


def test_a_table_for_each_kind_of_processor(load):
    tables = {"cpu": "CORE 0", "gpu": "CORE 1"}
    graph = load(cost="task_time", table=tables, cost_unit="ops").graph
    assert graph.kinds == ("cpu", "gpu")
    # CORE 1 cannot execute type 1
    assert graph.ops.tolist() == [[11.5, 10, 11.5, 7], [20, 8, 20, float("inf")]]


def test_attributes_are_called_as_the_user_calls_them(load):
    one = {"cost": "task_time", "table": "CORE 0", "edge_bytes": "quantity"}
    workload = load(**one, cost_unit="us")
    assert workload.parameters["cost"] == "task_time"
    assert workload.parameters["edge_bytes"] == "quantity"
    assert "cost of a task: attribute 'task_time', 1 us is 1000 operations" in facts(workload)
    with pytest.raises(GraphError, match=r"\(the unit of the attribute 'task_time'\)"):
        load(**one)
    tables = {"cpu": "CORE 0", "gpu": "CORE 1"}
    with pytest.raises(GraphError, match="attribute 'CORE 0: task_time' and 'CORE 1: task_time'"):
        load(cost="task_time", table=tables)


@pytest.mark.parametrize("kind", ["class", "type", "cpu"])
def test_a_kind_of_processors_may_have_any_name(kind, load):
    graph = load(cost="task_time", table={kind: "CORE 0", "x": "CORE 0"}, cost_unit="ops").graph
    assert graph.kinds == (kind, "x")
    assert graph.class_names == ("type 2", "type 0", "type 1")
    assert graph.ops.tolist() == [[11.5, 10, 11.5, 7]] * 2


@pytest.mark.parametrize("column", ["bytes", "class", "u_of_edge", "node_for_adding"])
def test_a_column_may_have_any_name(column, load):
    text = TEXT.replace("quantity", column).replace("task_time", column)
    # two arcs from t0_0 to t0_1 carry 83 and 28 bytes
    text = text.replace("TO  t0_2 TYPE 1", "TO t0_1 TYPE 1")
    options = {"table": "CORE 0", "cost_unit": "ops", "edge_table": "COMMUN_QUANT 0"}
    graph = load(text, cost=column, edge_bytes=column, **options).graph
    assert graph.ops.tolist() == [[11.5, 10, 11.5, 7]]
    assert graph.block_bytes.tolist() == [111]
    assert graph.class_names == ("type 2", "type 0", "type 1")


def test_one_graph_of_several(load):
    graph = load(graph=1, cost="task_time", table="CORE 0", cost_unit="ops").graph
    assert (graph.ops.tolist(), graph.task_names) == ([[7]], ("t1_0",))
    with pytest.raises(GraphError, match="option graph: found 2, accepted: 0, 1"):
        load(graph=2, task_cost="1 ms")


def test_graphs_without_tables_take_given_costs(load):
    graph = load(TEXT[: TEXT.index("@CORE 0")], "graph", task_cost="1 ms").graph
    assert graph.ops.tolist() == [[1e6] * 4]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (("", ""), {}, r"option cost: missing, accepted: a column .*task_time"),
        (("", ""), {"cost": "task_tme"}, "no table with a column 'task_tme'.*mean 'task_time'"),
        (("", ""), {"cost": "task_time"}, "option table: missing, accepted .*CORE 0, CORE 1"),
        (("", ""), {"cost": "task_time", "table": "CORE 7"}, "table: found 'CORE 7', accepted a"),
        (
            ("", ""),
            {"cost": "task_time", "table": "CORE 1"},
            "task t1_0: found type 1, of which no",
        ),
        (("", ""), {"table": "CORE 1"}, "option table: found without the option cost"),
        (("", ""), {"task_cost": "1 s", "edge_table": "x"}, "edge_table: found without the option"),
        (("", ""), {"cost": "task_time", "table": "CORE 0"}, "cost_unit: missing, accepted: ops"),
        (
            ("11.5", "x"),
            {"cost": "task_time", "table": "CORE 0"},
            "34: CORE 0: task_time: found 'x'",
        ),
        (("11.5", ""), {}, "34: found 3 values, accepted 4: type, version, valid, task_time"),
        (
            ("FROM t0_0  TO  t0_1", "FROM t0_0 TO t9"),
            {"task_cost": "1 s"},
            "16: arc: found task 't9",
        ),
        (("TASK t0_1	TYPE 0", "TASK t0_0 TYPE 0"), {}, "13: found task 't0_0' a second time"),
        (
            ("TASK t0_1	TYPE 0", "TASK t0_1"),
            {},
            "13: found 'TASK t0_1', accepted TASK name TYPE",
        ),
        (
            ("TO  t0_1 TYPE 0", "TO t0_1 TYPE 5"),
            {"task_cost": "1 s", "edge_bytes": "quantity"},
            "^[^:]*g.tgff:16: arc: found type 5, of which no valid row has 'quantity'",
        ),
        (("@TASK_GRAPH 1 {", "@TASK_GRAPH 0 {"), {}, "22: found TASK_GRAPH 0 a second time"),
        (("@CORE 1 {", "@CORE 0 {"), {}, "38: found CORE 0 a second time"),
        (("@CORE 1 {", "CORE 1 {"), {}, "38: found 'CORE 1 {', accepted a block"),
        (("TYPE 2", "TYPE two"), {}, "12: task t0_0: type: found 'two'"),
        (("20\n}", "20"), {}, "found the end of the file in CORE 1, accepted }"),
    ],
)
def test_what_is_wrong_is_said(change, options, message, load):
    with pytest.raises(GraphError, match=message):
        load(TEXT.replace(*change, 1), **options)


def test_the_format_is_told_by_content(load):
    assert load(name="graph", task_cost="1 ms").parameters["format"] == "tgff"


def test_blocks_and_columns_that_only_look_alike(load):
    """A block whose name begins like that of graphs, and a table that names its columns twice."""
    text = (
        TEXT.replace("@CORE 1 {", "@TASK_GRAPHS 1 {") + "@PE 0 {\n# type x\n 0 1\n# type a b c\n}\n"
    )
    graph = load(text, cost="task_time", table="CORE 0", cost_unit="ops").graph
    assert graph.ops.tolist() == [[11.5, 10, 11.5, 7]]
    with pytest.raises(GraphError, match="task t0_0: found type 2, of which no valid row has 'c'"):
        load(text, cost="c", cost_unit="ops")
