import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError, GraphError
from simsched.workload.graph_files import SUFFIXES
from simsched.workload.importers import (
    import_measured,
    import_workload,
    importer,
    importers,
    registry,
    write_graphml,
)


def test_every_format_is_found_by_walking_the_package():
    found = importers()
    assert {"dot", "graphml", "mir", "wfformat"} <= set(found)
    assert list(found) == sorted(found)
    assert all(entry.summary.endswith(".") for entry in found.values())
    assert [*found["wfformat"].parameters] == ["reference_speed", "size_unit", "task_cost"]


def test_a_taken_name_is_refused():
    importers()
    with pytest.raises(ValueError, match=r"'dot': registered twice, by simsched\."):
        importer("dot", suffixes=(".x",))(lambda path: None)


def test_unknown_format_names_the_nearest(tmp_path):
    with pytest.raises(ConfigurationError, match="unknown format 'graphm'; did you mean 'graphml'"):
        import_workload(tmp_path / "g", "graphm")


def test_unknown_option_names_the_accepted_ones(tmp_path):
    with pytest.raises(
        ConfigurationError, match="format dot: unknown option 'costs'; did you mean 'cost'"
    ):
        import_workload(tmp_path / "g.dot", costs="size")


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(GraphError, match=r"none.dot: no such file"):
        import_workload(tmp_path / "none.dot")
    with pytest.raises(GraphError, match="found a directory, accepted: a file"):
        import_workload(tmp_path)


def test_content_that_fits_nothing(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(GraphError, match=r"no known format; accepted .*dot, graphml, mir"):
        import_workload(path)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("g.dot", "digraph {", " (taken for dot by its ending)"),
        ("g", "digraph {", " (taken for dot by its contents)"),
        ("g.json", '{"workflow": {}}', " (taken for wfformat by its contents)"),
        ("g.xml", "<graphml", " (taken for graphml by its contents)"),
    ],
)
def test_a_message_names_the_format_that_nobody_has_named(name, text, told, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(GraphError) as caught:
        import_workload(path)
    assert str(caught.value).endswith(told)
    with pytest.raises(GraphError) as caught:
        import_workload(path, "dot")
    assert "taken for" not in str(caught.value)


@pytest.mark.parametrize("empty", [b"", b" \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_called_empty(empty, tmp_path):
    (tmp_path / "graph").write_bytes(empty)
    with pytest.raises(GraphError, match=r"graph: found an empty file$"):
        import_workload(tmp_path / "graph")


@pytest.mark.parametrize("rest", [b"", b"\xff" * 30])
def test_damaged_gzip_is_not_called_empty(rest, tmp_path):
    header = gzip.compress(b"digraph {}")[:10]
    (tmp_path / "graph").write_bytes(header + rest)
    with pytest.raises(GraphError, match="contents of no known format"):
        import_workload(tmp_path / "graph")


def test_a_mark_of_the_byte_order_hides_no_format(tmp_path):
    """Spreadsheets put it before UTF-8."""
    (tmp_path / "graph").write_bytes(b"\xef\xbb\xbfdigraph { a [w=2] }")
    graph = import_workload(tmp_path / "graph", cost="w", cost_unit="ops").graph
    assert graph.ops.tolist() == [[2.0]]


SEEDS = Path(__file__).parents[2] / "robustness" / "seeds"
OF_SEEDS = {
    **{name: {"cost": "w", "cost_unit": "us"} for name in ("dot", "graphml", "node_link")},
    "dot_dump": {"task_cost": "1 ms"},
    "stg": {"cost_unit": "us"},
    "tgff": {"cost": "time", "cost_unit": "us"},
}


@pytest.mark.parametrize("name", ["alibaba", "dax", "mir", "wfformat", *OF_SEEDS])
@pytest.mark.parametrize("before", ["\n", "\r\n \t\r\n", "\ufeff\n"])
def test_blank_lines_at_the_beginning_hide_no_format(before, name, tmp_path):
    """That of MIR was told by the first line, and a declaration of XML had to be there."""
    path = min((SEEDS / name).iterdir())
    copy = tmp_path / path.name
    copy.write_bytes(before.encode() + path.read_bytes())
    expected, found = (import_workload(file, **OF_SEEDS.get(name, {})) for file in (path, copy))
    assert found.graph.ops.tolist() == expected.graph.ops.tolist()
    assert found.graph.succ.tolist() == expected.graph.succ.tolist()


MIR = "task,parent,child_number,cpu_id,exec_cycles,work_cycles,overhead_cycles,creation_cycles"
MIR += ",create_instant,exec_end_instant"


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("t.dax", '\n\n<?xml version="1.0"?>\n<adag>\n<job/></adag>', "t.dax:5: <job>"),
        ("t.dax", "\n\n<adag>\n<job></adag>", "t.dax:4: column 7"),
        ("t.graphml", "\n\n<graphml>\n<graph></graphml>", "t.graphml:4: column 9"),
        ("t.csv", f"\n\n{MIR}\n\n1,0,x,1,1,1,1,1,1,1", "t.csv:5: column 'child_number'"),
    ],
)
def test_messages_count_blank_lines(name, text, place, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(GraphError) as caught:
        import_workload(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / place))


@pytest.mark.parametrize(
    "before", ["// by a tool\n", "/* strict\n" + "*" * 70_000 + " */ ", "# 1\n\n", "\nSTRICT "]
)
def test_comments_before_a_graph_hide_no_format(before, tmp_path):
    (tmp_path / "graph").write_text(before + 'digraph"g"{ a [w=2] }')
    graph = import_workload(tmp_path / "graph", cost="w", cost_unit="ops").graph
    assert graph.ops.tolist() == [[2.0]]


@pytest.mark.parametrize("suffix", [".graphml", ".xml", "", ".GraphML", ".graphml.gz"])
def test_compressed_files_and_odd_suffixes(suffix, generate_workload, assert_same, tmp_path):
    workload = generate_workload(11)
    write_graphml(workload, tmp_path / "plain")
    path = tmp_path / f"graph{suffix}"
    path.write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    assert_same(workload, import_workload(path))


def test_shared_suffix_is_decided_by_content(monkeypatch, tmp_path, generate_workload):
    workload = generate_workload(1)
    importers()
    monkeypatch.setattr(registry._importers, "_entries", registry.importers())
    importer("other", suffixes=(".json",), recognises=lambda head: b"other" in head)(
        lambda path: workload
    )
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"other": 1}))
    assert import_workload(path) is workload
    path.write_text(json.dumps({"schemaVersion": "9"}))
    with pytest.raises(GraphError, match="schemaVersion"):
        import_workload(path)
    path.write_text(json.dumps({"schemaVersion": "1.5", "other": 1}))
    with pytest.raises(
        GraphError, match="contents that fit other, wfformat; accepted with an expl"
    ):
        import_workload(path)


def test_a_graph_without_measurements_cannot_be_replayed(generate_workload, tmp_path):
    write_graphml(generate_workload(1), tmp_path / "g.graphml")
    with pytest.raises(GraphError, match="without measurements"):
        import_measured(tmp_path / "g.graphml")


def test_what_an_importer_returns_is_validated(monkeypatch, tmp_path, generate_workload):
    sound = generate_workload(1)
    workload = replace(sound, graph=replace(sound.graph, ops=-1 - sound.graph.ops))
    importers()
    monkeypatch.setattr(registry._importers, "_entries", registry.importers())
    importer("broken", suffixes=(".broken",))(lambda path: workload)
    with pytest.raises(GraphError, match=r"x\.broken: task 0: ops on cpu: found -1"):
        import_workload(tmp_path / "x.broken")


def test_a_file_is_a_workload_by_the_endings_of_every_format():
    endings = {end.removesuffix(".gz") for found in importers().values() for end in found.suffixes}
    assert endings <= set(SUFFIXES)
