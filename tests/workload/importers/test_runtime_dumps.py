"""Dumps of Taskflow and StarPU in DOT; edges are worked out by hand."""

import time

import pytest

from simsched.files.errors import GraphError
from simsched.workload.importers import import_workload

# A before B and C, both before D; B spawns b1 before b2, and b3
TASKFLOW = """digraph Taskflow {
subgraph cluster_p0x1 {
label="Taskflow: demo";
p0xa[label="A" ];
p0xa -> p0xb;
p0xa -> p0xc;
p0xb[label="B" ];
p0xb -> p0xd;
subgraph cluster_p0xb {
label="Subflow: B";
color=blue
p0xe[label="b1" ];
p0xe -> p0xf;
p0xf[label="b2" ];
p0xf -> p0xb;
p0x9[label="b3" ];
p0x9 -> p0xb;
}
p0xc[label="C" ];
p0xc -> p0xd;
p0xd[label="D" ];
}
}
"""
# 1 -> 2 by data; task 3 has tag 10, which waits for tag f of task 2; tag 11 of nobody waits for
# task 3, task 4 of tag 12 for it; a message leads from 4 to 5
STARPU = """digraph G {
  color=white
  rankdir=LR;
subgraph cluster_0 {
  color=black;
   "task_1" [ style=filled, label="potrf", fillcolor="#00ff00", fontcolor="black"]
   "task_1"->"task_2" [label="A"]
   "tag_f"->"task_2"->"tag_f" [style=dashed]
   "tag_10"->"task_3"->"tag_10" [style=dashed]
   "tag_f"->"tag_10"
   "tag_10"->"tag_11"
   "tag_11"->"tag_12"
   "tag_12"->"task_4"->"tag_12" [style=dashed]
   "task_2" [ style=filled, label="trsm", fillcolor="#00ff00"]
   "task_3" [ style=filled, label="trsm", fillcolor="#00ff00"]
   "task_4" [ href="a.c#7" ]
}
subgraph cluster_1 {
  color=black;
   "task_4"->"mpi_7_1"
   "mpi_7_1"->"task_5"
   "task_5" [ style=filled, label="gemm"]
}
subgraph cluster_2 {
  color=green;
   "worker_0_cpu" [ shape=box, style=filled, fillcolor="#00ff00", fontcolor="black"]
}
}
"""


@pytest.fixture
def load(tmp_path):
    """Function that writes a text and imports it."""

    def run(text, **options):
        (tmp_path / "dag.dot").write_text(text)
        return import_workload(tmp_path / "dag.dot", **options)

    return run


def edges(graph):
    """Return the edges by the names of their tasks."""
    names = graph.task_names
    return sorted(
        (names[u], names[v])
        for u in range(graph.n_tasks)
        for v in graph.succ[graph.succ_ptr[u] : graph.succ_ptr[u + 1]]
    )


def test_a_subflow_is_between_its_task_and_those_behind_it(load):
    graph = load(TASKFLOW, task_cost="1 ms").graph
    assert sorted(graph.task_names) == ["A", "B", "C", "D", "b1", "b2", "b3"]
    assert edges(graph) == [
        *[("A", "B"), ("A", "C"), ("B", "D"), ("B", "b1"), ("B", "b3"), ("C", "D")],
        *[("b1", "b2"), ("b2", "D"), ("b3", "D")],
    ]
    assert graph.ops.tolist() == [[1e6] * 7]


def test_a_subflow_in_a_subflow(load):
    b3 = 'p0x9[label="b3" ];\n'
    inner = 'subgraph cluster_p0x9 { label="Subflow: b3"; p0x8[label="x"]; p0x8 -> p0x9; }\n'
    graph = load(TASKFLOW.replace(b3, b3 + inner), task_cost="1 ms").graph
    assert edges(graph) == [
        *[("A", "B"), ("A", "C"), ("B", "D"), ("B", "b1"), ("B", "b3"), ("C", "D")],
        *[("b1", "b2"), ("b2", "D"), ("b3", "D"), ("b3", "x"), ("x", "D")],
    ]


def test_names_that_several_tasks_have(load):
    names = load(TASKFLOW.replace('"C"', '"D"'), task_cost="1 ms").graph.task_names
    assert {"D p0xc", "D p0xd", "A"} <= set(names)


def test_a_label_that_is_anothers_label_and_address(load):
    text = """digraph Taskflow {
        p1[label="A"]; p2[label="A"]; p3[label="A p1"]; p1 -> p2; p2 -> p3; }"""
    graph = load(text, task_cost="1 ms").graph
    assert edges(graph) == [("A p1 p1", "A p2"), ("A p2", "A p1")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'p0xc[label="C" ]',
            'p0xc[label="C" shape=diamond]',
            "'p0xc': found the condition task 'C'",
        ),
        (
            'p0xc[label="C" ]',
            'p0xc[label="C [m1]" shape=box3d]',
            r"found the module 'C \[m1\]', whos",
        ),
    ],
)
def test_what_is_no_graph_of_tasks(old, new, message, load):
    with pytest.raises(GraphError, match=message):
        load(TASKFLOW.replace(old, new), task_cost="1 ms")


def test_tags_and_messages_are_no_tasks(load):
    graph = load(
        STARPU, task_cost={"potrf": "1 ms", "trsm": "2 ms", "gemm": "3 ms", "(no name)": "0 s"}
    ).graph
    assert graph.task_names == ("task_1", "task_2", "task_3", "task_4", "task_5")
    assert edges(graph) == [
        ("task_1", "task_2"),
        ("task_2", "task_3"),
        ("task_3", "task_4"),
        ("task_4", "task_5"),
    ]
    assert graph.ops.tolist() == [[1e6, 2e6, 2e6, 0, 3e6]]


def test_costs_of_a_dump_are_given(load):
    with pytest.raises(GraphError, match="or give one cost to all tasks"):
        load(STARPU)


def test_other_graphs_with_such_names_stay_as_they_are(load):
    graph = load(
        "digraph { task_1 [w=1]; other [w=2]; task_1 -> other }", cost="w", cost_unit="ops"
    ).graph
    assert graph.class_names == ("task",)


OTHERS = """digraph {
    task_0 [cost=5]; worker_1 [cost=3]; worker_2 [cost=3]; task_9 [cost=1];
    task_0 -> {worker_1 worker_2} -> task_9 [size=8]; task_0 -> worker_1 [size=4] }"""


@pytest.mark.parametrize(
    ("options", "ops", "sizes"),
    [
        ({"cost": "cost", "cost_unit": "ops"}, [5, 3, 3, 1], []),
        ({"cost": "cost", "cost_unit": "ops", "edge_bytes": "size"}, [5, 3, 3, 1], [4, 8, 8, 8, 8]),
        ({"task_cost": "2 ops", "edge_bytes": "size"}, [2, 2, 2, 2], [4, 8, 8, 8, 8]),
        ({"task_cost": "2 ops"}, [2, 2, 2, 2], []),
    ],
)
def test_graphs_of_others_with_names_like_starpus(options, ops, sizes, load):
    """Workers of StarPU's legend have no edges, and a dump has neither costs nor bytes."""
    graph = load(OTHERS, **options).graph
    assert graph.ops.tolist() == [ops]
    assert set(edges(graph)) == {
        *[("task_0", "worker_1"), ("task_0", "worker_2")],
        *[("worker_1", "task_9"), ("worker_2", "task_9")],
    }
    assert sorted(graph.block_bytes.tolist()) == sizes


def test_a_graph_named_like_taskflows_keeps_its_nodes_where_they_have_costs(load):
    text = (
        """digraph Taskflow { a[label="A" w=1]; b[label="B" w=2]; a -> b [n=3]; a -> b [n=4]; }"""
    )
    graph = load(text, cost="w", cost_unit="ops", edge_bytes="n").graph
    assert edges(graph) == [("a", "b"), ("a", "b")]
    assert sorted(graph.block_bytes.tolist()) == [3, 4]


def test_each_of_many_tags_takes_the_same_time(load):
    """Counting the edges anew for each of them takes a quarter of a minute."""
    n = 6000
    lines = [f"task_{i} -> tag_{i}; tag_{i} -> task_{i + 1};" for i in range(n)]
    start = time.process_time()
    graph = load(f"digraph {{ {' '.join(lines)} }}", task_cost="1 ms").graph
    assert time.process_time() - start < 5
    assert (graph.n_tasks, len(graph.succ)) == (n + 1, n)


@pytest.mark.parametrize("cycle", ["", "-> tag_1"])
def test_wires_through_a_tag_are_limited(cycle, load, monkeypatch):
    """The tag of a task was replaced without counting what leads through it."""
    monkeypatch.setenv("SIMSCHED_MAX_EDGES", "20")
    before, after = ({f"task_{i}" for i in range(low, low + 5)} for low in (10, 20))
    text = f"digraph {{ {{ {' '.join(before)} }} -> tag_1 -> {{ {' '.join(after)} }} {cycle} }}"
    with pytest.raises(GraphError, match="found more than 20 edges, accepted at most 20"):
        load(text, task_cost="1 ms")


def test_wires_that_many_tags_have_in_common_are_counted(load, monkeypatch):
    """6 for each of 9 tags, each of which took the time of its own; the graph has 45 edges."""
    monkeypatch.setenv("SIMSCHED_MAX_EDGES", "52")
    tags = " ".join(f"tag_{i}" for i in range(9))
    with pytest.raises(GraphError, match="found more than 52 edges"):
        load(f"digraph {{ {{ task_1 task_2 }} -> {{ {tags} }} -> {{ task_3 task_4 task_5 }} }}")


# one -> collect -> two -> three by two channels, and two other ends
NEXTFLOW = """digraph "dag" {
  v0 [shape=point,label="",fixedsize=true,width=0.1,xlabel="Channel.of"];
  v1 [label="one"];
  v0 -> v1 [label="samples"];
  v2 [shape=circle,label="",xlabel="collect"]; v1 -> v2; v3 [label="two"]; v2 -> v3;
  v4 [label="three"]; v3 -> v4; v3 -> v4; v5 [shape=point]; v4 -> v5;
}"""


def test_channels_and_operators_of_nextflow_are_no_tasks(load):
    found = load(NEXTFLOW, task_cost={"one": "1 ms", "two": "2 ms", "three": "3 ms"})
    assert edges(found.graph) == [("one", "two"), ("two", "three")]
    assert found.graph.ops.tolist() == [[1e6, 2e6, 3e6]]


@pytest.mark.parametrize(
    ("old", "new"), [('"dag"', "other"), ('label="two"', 'label="two" shape=box'), ("point", "dot")]
)
def test_graphs_that_are_not_quite_nextflows_keep_their_nodes(old, new, load):
    found = load(NEXTFLOW.replace(old, new), task_cost="1 ms")
    assert found.graph.n_tasks == 6
