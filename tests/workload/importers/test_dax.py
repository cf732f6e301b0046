"""Pegasus DAX; values are worked out by hand."""

import pytest

from simsched.files.errors import GraphError
from simsched.workload.importers import import_workload

# project 13.5 s and 14 s, fit 2.25 s; 304 bytes of region.hdr go to both, p1 and p2 to fit
SECOND = """<?xml version="1.0" encoding="UTF-8"?>
<!-- generated -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" count="1" name="montage" jobCount="3">
  <job id="ID0" namespace="Montage" name="mProject" version="1.0" runtime="13.5">
    <uses file="region.hdr" link="input" register="true" transfer="true" type="data" size="304"/>
    <uses file="p1" link="output" size="4000"/>
  </job>
  <job id="ID1" namespace="Montage" name="mProject" version="1.0" runtime="14">
    <uses file="region.hdr" link="input" size="304"/>
    <uses file="p2" link="output" size="6000"/>
  </job>
  <job id="ID2" namespace="Montage" name="mDiffFit" version="1.0" runtime="2.25">
    <uses file="p1" link="input" size="4000"/>
    <uses file="p2" link="input" size="6000"/>
    <uses file="fit.txt" link="output" size="0"/>
  </job>
  <child ref="ID2">
    <parent ref="ID0"/>
    <parent ref="ID1"/>
  </child>
</adag>
"""
# the same graph; run times in a profile and in metadata, sizes of files in three places
THIRD = """<?xml version="1.0" encoding="UTF-8"?>
<p:adag xmlns:p="http://pegasus.isi.edu/schema/DAX" version="3.6" name="montage">
  <p:file name="region.hdr"><p:metadata key="size">304</p:metadata></p:file>
  <p:executable name="mProject" installed="false"/>
  <p:job id="ID0" name="mProject"><p:argument>-X <p:file name="p1"/></p:argument>
    <p:profile namespace="pegasus" key="runtime">13.5</p:profile>
    <p:uses name="region.hdr" link="input"/>
    <p:uses name="mProject" link="input" executable="true"/>
    <p:uses name="p1" link="output" size="4000"/>
  </p:job>
  <p:job id="ID1" name="mProject">
    <p:metadata key="time">14</p:metadata>
    <p:uses name="region.hdr" link="input"/>
    <p:uses name="p2" link="output"><p:metadata key="size">6000</p:metadata></p:uses>
  </p:job>
  <p:job id="ID2" name="mDiffFit" runtime="2.25">
    <p:uses name="p1" link="INPUT"/><p:uses name="p2" link="input"/>
    <p:uses name="fit.txt" link="output"/>
    <p:uses name="log" link="checkpoint" size="5"/>
  </p:job>
  <p:child ref="ID2"><p:parent ref="ID0"/><p:parent ref="ID1"/></p:child>
</p:adag>
"""


@pytest.fixture
def load(tmp_path):
    """Function that writes a text and imports it."""

    def run(text, name="m.dax", **options):
        (tmp_path / name).write_text(text)
        return import_workload(tmp_path / name, **options)

    return run


@pytest.mark.parametrize("text", [SECOND, THIRD])
@pytest.mark.parametrize("name", ["m.dax", "m.xml", "m"])
def test_both_versions_give_the_same_graph(text, name, load):
    workload = load(text, name)
    graph = workload.graph
    assert workload.name == "montage"
    assert graph.ops.tolist() == [[13.5e9, 14e9, 2.25e9]]
    assert (graph.succ_ptr.tolist(), graph.succ.tolist()) == ([0, 1, 2, 2], [2, 2])
    assert sorted(graph.block_bytes.tolist()) == [304, 4000, 6000]
    assert graph.read_bytes.sum() == 304 + 304 + 4000 + 6000
    assert graph.written_bytes.sum() == 4000 + 6000
    assert [graph.class_names[c] for c in graph.task_class] == ["mProject", "mProject", "mDiffFit"]
    assert graph.task_names == ("ID0", "ID1", "ID2")
    about = workload.parameters
    assert about["files_of_size_zero"] == 1
    assert (about["edges_only_declared"], about["edges_only_by_files"]) == (0, 0)


def test_a_file_without_edges_follows_its_files_as_in_wfformat(load):
    workload = load(SECOND[: SECOND.index("  <child")] + "</adag>", reference_speed=2e9)
    assert workload.graph.succ.tolist() == [2, 2]
    assert workload.graph.ops.tolist() == [[27e9, 28e9, 4.5e9]]
    assert workload.parameters["edges_only_by_files"] == 2


def test_jobs_without_a_run_time_take_given_costs(load):
    text = SECOND.replace(' runtime="13.5"', "").replace(' runtime="14"', "")
    with pytest.raises(GraphError, match=r"m.dax:4: <job id>: task 'mProject': found no run time"):
        load(text)
    ops = load(text, task_cost={"mProject": "3 s"}).graph.ops
    assert ops.tolist() == [[3e9, 3e9, 2.25e9]]


def test_where_a_file_is_written_its_size_counts(load):
    workload = load(SECOND.replace('"p1" link="input" size="4000"', '"p1" link="input" size="9"'))
    assert sorted(workload.graph.block_bytes.tolist()) == [304, 4000, 6000]
    assert workload.parameters["files_of_several_sizes"] == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"13.5"', '"-1"', r"m.dax:4: <job runtime>: found '-1', accepted a finite number"),
        ('size="4000"/>', 'size="4 kB"/>', r"6: <uses size>: found '4 kB', accepted a finite"),
        ('size="4000"/>', 'size="1e999"/>', r"6: <uses size>: found '1e999'"),
        (
            'size="4000"/>',
            'size="1e30"/>',
            r"6: <uses size>: found '1e30', accepted a file of at m",
        ),
        ('parent ref="ID0"', 'parent ref="ID9"', r"18: <parent ref>: found 'ID9', accepted the id"),
        ('child ref="ID2"', 'child ref="ID9"', r"17: <child ref>: found 'ID9', accepted the id of"),
        (
            "<parent ref",
            "<parent rev",
            r"18: <parent>: found no attribute 'ref', which is required",
        ),
        (
            'link="output"',
            'link="out"',
            r"6: <uses link>: found 'out', accepted one of input, outp",
        ),
        ('id="ID1"', 'id="ID0"', r"8: <job id>: found task 'ID0' a second time, the first is <job"),
        ('parent ref="ID0"', 'parent ref="ID2"', "found a cycle of 1 task: ID2 -> ID2"),
        ("</adag>", "", r"m.dax:22: column 0: not XML: no element found"),
        ("<adag ", "<dag ", r"not XML: mismatched tag"),
        (
            "<!-- generated -->",
            '<!DOCTYPE a [<!ENTITY b "c">]>',
            "2: found a declaration of the doc",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old, new, message, load):
    with pytest.raises(GraphError, match=message):
        load(SECOND.replace(old, new, 1))


@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "utf-7", "UTF-16", "foo"])
def test_a_declared_encoding_says_nothing_about_text_that_is_utf_8(encoding, load):
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    workload = load(head + '<adag name="Ü"><job id="1" name="größe €" runtime="2"/></adag>')
    assert (workload.name, workload.graph.task_names) == ("Ü", ("größe €",))


def test_other_xml_is_refused(load):
    with pytest.raises(GraphError, match=r"m.dax:1: found <a>, accepted <adag>, the root of a DAX"):
        load("<a/>")
    with pytest.raises(GraphError, match="found no tasks"):
        load("<adag/>")
    with pytest.raises(GraphError, match="found more than 100 nested elements"):
        load("<adag>" + "<x>" * 200)


def test_edges_may_stand_before_their_jobs(load):
    """All that is in a file is read element by element: what it names may come later."""
    begin, end = SECOND.index("  <child"), SECOND.index("</adag>")
    edges, job = SECOND[begin:end], SECOND.index("  <job")
    moved = load(SECOND[:job] + edges + SECOND[job:begin] + "</adag>").graph
    assert (moved.succ_ptr.tolist(), moved.succ.tolist()) == ([0, 1, 2, 2], [2, 2])
    assert moved.task_names == ("ID0", "ID1", "ID2")


def test_what_is_no_xml_is_said_first(load):
    """The job before has a mistake too, but a file that was cut off is best known as such."""
    with pytest.raises(GraphError, match=r"m.dax:21: column 0: not XML: no element found"):
        load(SECOND.replace('"13.5"', '"-1"').replace("</adag>\n", ""))


def test_many_lines_before_a_mistake(load):
    """Documents are parsed in pieces; line and element are those of the whole."""
    jobs = "".join(f'<job id="{i}" name="ß{i}" runtime="1"/>\n' for i in range(3000))
    assert load(f"<adag>\n{jobs}</adag>").graph.n_tasks == 3000
    with pytest.raises(GraphError, match=r"m.dax:3002: <job runtime>: found 'x'"):
        load(f'<adag>\n{jobs}<job id="a" name="b" runtime="x"/>\n</adag>')
