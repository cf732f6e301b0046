import gzip
import re

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError, GraphError, SimschedError
from simsched.workload.importers import _dot_syntax, import_workload, write_dot, write_graphml
from simsched.workload.importers._dot_syntax import parse_dot as parse

MAPPING = {"cost": "size", "cost_unit": "ops"}


def _write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parse_dot(text, source):
    """Return what is read of a text as NetworkX has it."""
    found = parse(text, source)
    names, (sources, targets) = found.names(), found.ends()
    graph = nx.MultiDiGraph(**found.about)
    for node, name in enumerate(names):
        graph.add_node(name, **found.of_nodes.row(node))
    for edge, (u, v) in enumerate(zip(sources, targets, strict=True)):
        graph.add_edge(names[u], names[v], **found.of_edges.row(edge))
    return graph


def test_dot_grammar():
    graph = parse_dot(
        """# preprocessor line
        digraph "my \\"graph\\"" {
          rankdir = LR; node [shape=box, size="1"] // comment
          a [size=2.5] b:port:n -> {c d} -> e [bytes=7, style]; /* long
          comment */ edge [bytes="3" color="red" + "dish"]
          a -> -4; <x <b>y</b>> -> "two
words" subgraph cluster_0 { node [size=9]; f }
          g
        }""",
        "x.dot",
    )
    assert graph.graph == {"name": 'my "graph"', "rankdir": "LR"}
    assert list(graph) == ["a", "b", "c", "d", "e", "-4", "<x <b>y</b>>", "two\nwords", "f", "g"]
    assert graph.nodes["a"]["size"] == "2.5"
    assert graph.nodes["b"] == {"shape": "box", "size": "1"}
    assert graph.nodes["f"]["size"] == "9"
    assert graph.nodes["g"]["size"] == "1"
    assert set(graph.edges()) == {
        ("b", "c"),
        ("b", "d"),
        ("c", "e"),
        ("d", "e"),
        ("a", "-4"),
        ("<x <b>y</b>>", "two\nwords"),
    }
    assert graph.edges["b", "c", 0] == {"bytes": "7", "style": "true"}
    assert graph.edges["a", "-4", 0] == {"bytes": "3", "color": "reddish"}


NAMES = (*"ab", "-4", "2.", '"a"', '"b c"', '"\\""', "<i>", "node", "edge", "subgraph", "Graph")
MARKS = (*"{};[=,:+]", "->", "--", "k=", "[k=1]", 'a [k="1", l=b c=2];', "a -> b;")
BLANKS = ("\n", "\n# x\n", "/* c */", "// d\n")
WORDS = st.sampled_from([*NAMES, *MARKS, *BLANKS])


@settings(max_examples=400)
@given(words=st.lists(WORDS, max_size=12), strict=st.booleans())
def test_statements_are_read_as_word_by_word(words, strict):
    """Those of one node or edge are read as a whole, which must not change what they mean."""

    def read():
        try:
            graph = parse_dot(" ".join(["strict " * strict + "digraph {", *words, "}"]), "x")
        except GraphError as error:
            return str(error)
        return graph.graph, list(graph.nodes(data=True)), list(graph.edges(data=True))

    at_once = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_dot_syntax, "SIMPLE", re.compile("(?!)"))
        assert at_once == read()


def test_nodes_with_commas_between_them_are_one_end_of_an_edge():
    """Graphviz has ``nodelist : node | nodelist ',' node``; such files were refused."""
    graph = parse_dot(
        "digraph g { node [ms=1] A -> {B, C:p} -> D; E, F:p:n -> D, A [w=2]; G, H [ms=3]; I }", "x"
    )
    assert list(graph) == list("ABCDEFGHI")
    assert {(u, v): data.get("w") for u, v, data in graph.edges(data=True)} == {
        **dict.fromkeys([("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")]),
        **dict.fromkeys([("E", "D"), ("E", "A"), ("F", "D"), ("F", "A")], "2"),
    }
    assert {node: data["ms"] for node, data in graph.nodes(data=True) if node in "FGHI"} == {
        "F": "1",
        "G": "3",
        "H": "3",
        "I": "1",
    }


def test_dot_with_strict_merges_edges():
    assert parse_dot("strict digraph { a -> b; a -> b }", "x").number_of_edges() == 1
    assert parse_dot("digraph { a -> b; a -> b }", "x").number_of_edges() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph {\n a -> ;\n}", r":2: found ';', accepted a node"),
        ("digraph {\n a -> b\n", r":3: found the end of the file"),
        ('digraph {\n\n a [size="3] }', r":3: found a string that does not end"),
        ("digraph { a [size=<b> > }", "found '>'|found"),
        ("digraph { <a ", "HTML string that does not end"),
        ("digraph { a -- b }", "found '--', accepted -> in"),
        ("digraph { a [size=] }", r":1: found '\]', accepted a name"),
        ("digraph {} digraph {}", "accepted the end of the file after one graph"),
        ("flowchart {}", "found 'flowchart', accepted graph or digraph"),
        ("digraph { a, -> b }", "found '->', accepted a node behind the comma"),
        ("digraph { a, {b} -> c }", "found '{', accepted a node behind the comma"),
        ("digraph { a ! }", "found '! }', accepted DOT"),
        ("digraph " + "{" * 300, "nested subgraphs"),
        ("digraph { a = b + }", "accepted a string after +"),
    ],
)
def test_malformed_dot_names_file_and_line(text, message, tmp_path):
    path = _write(tmp_path / "bad.dot", text)
    with pytest.raises(GraphError, match=message) as caught:
        import_workload(path, **MAPPING)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    "number", ["1.5e3", "1e6", "2E+3", "-1e-6", "1.2.3", "0x10", "3ms", ".5e1"]
)
def test_a_number_that_is_not_one_of_dot_is_refused(number):
    """It was cut off: the grammar makes two words of it, 1e6 was read as 1.

    Numerals of https://graphviz.org/doc/info/lang.html: [-]?(.[0-9]+ | [0-9]+(.[0-9]*)?).
    """
    with pytest.raises(
        GraphError, match=r"^x:2: found '.*', accepted a number of digits"
    ) as caught:
        parse_dot(f"digraph {{\n a [w={number}] }}", "x")
    assert repr(number) in str(caught.value)
    assert parse_dot(f'digraph {{ a [w="{number}"] }}', "x").nodes["a"]["w"] == number


def test_numbers_of_dot_end_at_marks_and_arrows():
    graph = parse_dot("digraph{1->2;-.5->3.[w=4.]1->.25/**/}", "x")
    assert list(graph) == ["1", "2", "-.5", "3.", ".25"]
    assert graph.edges["-.5", "3.", 0] == {"w": "4."}
    assert parse_dot("graph{1--2}", "x").number_of_edges() == 1


def test_foreign_dot(tmp_path):
    text = 'digraph daggen { 1 [size="1e9", alpha="0.2"] 2 [size=5] 1 -> 2 [size="2048"] }'
    workload = import_workload(_write(tmp_path / "d.dot", text), edge_bytes="size", **MAPPING)
    assert workload.graph.ops.tolist() == [[1e9, 5.0]]
    assert workload.graph.block_bytes.tolist() == [2048]
    assert workload.name == "daggen"


def test_edge_to_an_undeclared_node_is_refused(tmp_path):
    path = _write(tmp_path / "d.dot", "digraph { a [size=1]; a -> ghost }")
    with pytest.raises(GraphError, match="edge 'a' -> 'ghost': node 'ghost': found no attr"):
        import_workload(path, **MAPPING)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<graphml>\n<graph", r"bad.graphml:2: column \d+: not XML"),
        ("<html></html>", "found 0 graphs, accepted one"),
        ("<graphml xmlns='http://graphml.graphdrawing.org/xmlns'/>", "found 0 graphs"),
        (
            "<graphml xmlns='http://graphml.graphdrawing.org/xmlns'><graph edgedefault='directed'>"
            "<node id='a'><data key='k'>1</data></node></graph></graphml>",
            "not GraphML as NetworkX reads it: .*no key k",
        ),
        ("", "found an empty file"),
        ("  \n", "found an empty file"),
        (b"<graphml>\n\xff</graphml>", "bad.graphml:2: found byte 0xff, accepted UTF-8"),
        (gzip.compress(b"<graphml/>" * 99, mtime=0)[:-20], "truncated gzip"),
    ],
)
def test_malformed_graphml(text, message, tmp_path):
    path = _write(tmp_path / "bad.graphml", text)
    with pytest.raises(GraphError, match=message):
        import_workload(path, **MAPPING)


def test_foreign_graphml_and_content_recognition(tmp_path):
    graph = nx.DiGraph([(0, 1)])
    nx.set_node_attributes(graph, 2.0, "duration")
    nx.write_graphml(graph, tmp_path / "graph.xml")
    path = tmp_path / "graph.xml"
    workload = import_workload(path, cost="duration", cost_unit="us", reference_speed=1e6)
    assert workload.graph.ops.tolist() == [[2.0, 2.0]]


def test_undirected_graphml_is_refused(tmp_path):
    nx.write_graphml(nx.path_graph(3), tmp_path / "g.graphml")
    with pytest.raises(GraphError, match="undirected"):
        import_workload(tmp_path / "g.graphml", **MAPPING)


def test_peers_read_our_files(generate_workload, tmp_path):
    workload = generate_workload(7)
    write_graphml(workload, tmp_path / "g.graphml")
    graph = nx.read_graphml(tmp_path / "g.graphml")
    tasks = workload.graph.n_tasks + workload.init.n_tasks
    assert graph.is_directed()
    assert len(graph) == tasks
    assert sum(data["ops_cpu"] for _, data in graph.nodes(data=True)) == pytest.approx(
        workload.graph.ops[0].sum() + workload.init.ops[0].sum()
    )


def test_pydot_reads_our_files(generate_workload, assert_same, tmp_path):
    pytest.importorskip("pydot", reason="pydot is not installed")
    from simsched.workload.importers import from_networkx

    workload = generate_workload(7)
    write_dot(workload, tmp_path / "g.dot")
    assert_same(workload, from_networkx(nx.nx_pydot.read_dot(tmp_path / "g.dot")))


@pytest.mark.parametrize("write", [write_graphml, write_dot])
def test_unwritable_place(write, generate_workload, tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write(generate_workload(1), tmp_path / "missing" / "g.out")
    assert list(tmp_path.iterdir()) == []


def test_name_that_xml_cannot_hold(generate_workload, tmp_path):
    from dataclasses import replace

    workload = replace(generate_workload(2), name="a\x00b")
    with pytest.raises(SimschedError, match="cannot be written as GraphML"):
        write_graphml(workload, tmp_path / "g.graphml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("write", "suffix"), [(write_graphml, ".graphml"), (write_dot, ".dot")])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_raise_only_our_errors(
    data, write, suffix, generate_workload, accepted_or_refused, tmp_path
):
    path = tmp_path / f"mutated{suffix}"
    write(generate_workload(9, n_tasks=6), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(["flip", "cut", "insert", "drop"]))
        if kind == "flip":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "cut":
            del content[at + 1 :]
        elif kind == "insert":
            content[at:at] = data.draw(st.sampled_from([b'"', b"\\", b"<", b"{", b"-", b"9" * 30]))
        else:
            del content[at : at + data.draw(st.integers(1, 30))]
        content = content or bytearray(b" ")
    path.write_bytes(bytes(content))
    with accepted_or_refused(str(path)):
        import_workload(path)


def test_a_node_given_twice_is_refused(tmp_path):
    """NetworkX would let the second one replace the first and lose a task."""
    node = '<node id="a"><data key="s">1</data></node>'
    text = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="s" for="node" attr.name="size" attr.type="double"/>'
        f'<graph edgedefault="directed">{node}{node}</graph></graphml>'
    )
    with pytest.raises(GraphError, match=r"d\.graphml: node 'a': found twice, accepted: an id"):
        import_workload(_write(tmp_path / "d.graphml", text), **MAPPING)


KEYS = """
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="node" attr.name="size" attr.type="double"><default>4</default></key>
<key id="c" for="node" attr.name="class" attr.type="string"><default/></key>
<key id="b" for="edge" attr.name="bytes" attr.type="int"><default>70</default></key>
<key id="n" attr.name="name" attr.type="string"><default>chain</default></key>
<graph edgedefault="directed">
<node id="a"><data key="w">2</data></node><node id="b"/><node id="c"/>
<edge source="a" target="b"/><edge source="b" target="c"><data key="b">5</data></edge>
"""


def test_defaults_of_graphml_keys_are_attributes(tmp_path):
    """NetworkX reads them and applies none: node b was refused as one that is not declared.

    A key without `for` is for everything, graph, nodes and edges.
    """
    path = _write(tmp_path / "d.graphml", KEYS + "</graph></graphml>")
    workload = import_workload(path, edge_bytes="bytes", **MAPPING)
    assert workload.name == "chain"
    assert workload.graph.ops.tolist() == [[2.0, 4.0, 4.0]]
    assert workload.graph.block_bytes.tolist() == [70, 5]
    with pytest.raises(GraphError, match="node 'a': attribute 'class': found nothing"):
        import_workload(path, task_class="class", **MAPPING)  # an empty default is empty


def test_defaults_make_no_nodes(tmp_path):
    edge = '<edge source="c" target="ghost"/></graph></graphml>'
    with pytest.raises(GraphError, match="edge 'c' -> 'ghost': node 'ghost': found no attributes"):
        import_workload(_write(tmp_path / "d.graphml", KEYS + edge), **MAPPING)


@pytest.mark.parametrize("kind", ["double", "float", "int", "long", "boolean"])
@pytest.mark.parametrize("default", ["<default/>", "<default></default>", "<default> \n</default>"])
def test_an_empty_default_is_no_number(kind, default, tmp_path):
    """The reader failed on it, in words of Python, even where nothing takes the default.

    Where something does, the attribute is missing there.
    """
    text = KEYS.replace("<default>70</default>", default).replace('"int"', f'"{kind}"')
    path = _write(tmp_path / "d.graphml", text.replace(">5<", ">1<") + "</graph></graphml>")
    assert import_workload(path, **MAPPING).graph.ops.tolist() == [[2.0, 4.0, 4.0]]
    if kind == "boolean":
        with pytest.raises(GraphError, match="edge 'b' -> 'c': attribute 'bytes': found True"):
            import_workload(path, edge_bytes="bytes", **MAPPING)
    else:
        workload = import_workload(path, edge_bytes="bytes", **MAPPING)
        assert workload.graph.block_bytes.tolist() == [1]
