"""WfFormat from 1.5 on with files that are described where they are used; values by hand."""

import json

import pytest

from simsched.files.errors import GraphError
from simsched.workload.importers import import_workload

SIZES = {"in": 10, "mid": 20, "out": 30}


def document(listed=(), at_reader=20):
    """A task of 1 s that makes mid of in, and one of 2 s that makes out of mid."""

    def file(name, size=None):
        return {"id": name, "sizeInBytes": size or SIZES[name]}

    def task(name, parents, children, read, written):
        links = {"parents": parents, "children": children}
        return {"name": name, "id": name, **links, "inputFiles": [read], "outputFiles": [written]}

    tasks = [
        task("a", [], ["b"], file("in"), file("mid")),
        task("b", ["a"], [], file("mid", at_reader), file("out")),
    ]
    runs = [{"id": "a", "runtimeInSeconds": 1}, {"id": "b", "runtimeInSeconds": 2}]
    specification = {"tasks": tasks, "files": [file(name) for name in listed]}
    workflow = {"specification": specification, "execution": {"tasks": runs}}
    return {"name": "w", "schemaVersion": "1.5", "workflow": workflow}


@pytest.fixture
def load(tmp_path):
    """Function that writes a document and imports it."""

    def run(content):
        (tmp_path / "w.json").write_text(json.dumps(content))
        return import_workload(tmp_path / "w.json")

    return run


@pytest.mark.parametrize("listed", [(), ("in", "mid"), ("in", "mid", "out")])
def test_files_may_be_described_where_they_are_used(listed, load):
    graph = load(document(listed)).graph
    assert graph.block_bytes.tolist() == [10, 20, 30]
    assert graph.succ.tolist() == [1]
    assert graph.ops.tolist() == [[1e9, 2e9]]


def test_the_size_counts_that_is_stated_where_a_file_is_written(load):
    found = load(document(at_reader=900))
    assert found.graph.block_bytes.tolist() == [10, 20, 30]
    assert found.parameters["files_of_several_sizes"] == 1


def test_files_that_are_only_named_must_be_described(load):
    content = document()
    content["workflow"]["specification"]["tasks"][0]["inputFiles"] = ["in"]
    with pytest.raises(GraphError, match=r"inputFiles\[0\]: found file 'in', accepted one of spec"):
        load(content)


def test_a_file_without_a_version_says_which_there_are(load):
    content = document()
    del content["schemaVersion"]
    with pytest.raises(GraphError, match=r"found no key 'schemaVersion', .* versions 1.0, 1.1"):
        load(content)
