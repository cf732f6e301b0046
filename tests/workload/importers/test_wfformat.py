import copy
import json
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError, GraphError, SimschedError
from simsched.workload.importers import import_workload
from simsched.workload.importers.remarks import doubts, facts

INSTANCES = {  # tasks, declared edges, files
    "1000genome-chameleon-2ch-100k-001": (52, 76, 64),
    "atacseq-dirt02-001": (265, 593, 775),
    "bwa-chameleon-small-001": (104, 400, 312),
    "epigenomics-chameleon-hep-4seq-100k-001": (347, 426, 435),
    "montage-chameleon-2mass-025d-001": (619, 1641, 906),
    "seismology-chameleon-100p-001": (101, 100, 304),
    "soykb-chameleon-10fastq-20ch-001": (156, 354, 321),
}


def split_document(system="Pegasus", version="1.5"):
    """split -> (left, right) -> merge; one external input, one empty file."""

    def task(name, parents, children, inputs, outputs):
        return {
            "name": name,
            "id": f"{name}_1",
            "parents": parents,
            "children": children,
            "inputFiles": inputs,
            "outputFiles": outputs,
        }

    return {
        "name": "diamond",
        "schemaVersion": version,
        "runtimeSystem": {"name": system},
        "workflow": {
            "specification": {
                "tasks": [
                    task("split", [], ["left_1", "right_1"], ["in"], ["l", "r"]),
                    task("left", ["split_1"], ["merge_1"], ["l"], ["l2"]),
                    task("right", ["split_1"], ["merge_1"], ["r"], ["r2", "empty"]),
                    task("merge", ["left_1", "right_1"], [], ["l2", "r2"], ["out"]),
                ],
                "files": [
                    {"id": name, "sizeInBytes": size}
                    for name, size in [
                        ("in", 10),
                        ("l", 20),
                        ("r", 30),
                        ("l2", 40),
                        ("r2", 50),
                        ("empty", 0),
                        ("out", 60),
                    ]
                ],
            },
            "execution": {
                "makespanInSeconds": 9,
                "tasks": [
                    {"id": f"{name}_1", "runtimeInSeconds": runtime, "coreCount": 2.0}
                    for name, runtime in [("merge", 4), ("right", 3.5), ("left", 2), ("split", 1)]
                ],
                "machines": [
                    {"nodeName": "a", "cpu": {"speedInMHz": 2000}},
                    {"nodeName": "b", "cpu": {"coreCount": 4}},
                    {"nodeName": "c"},
                    {"nodeName": "d", "cpu": {"speedInMHz": 3000}},
                ],
            },
        },
    }


def joint_document(version, system="Pegasus"):
    """The same workflow in the layout of 1.2 to 1.4; children refer to parents by name."""
    new = split_document()["workflow"]
    sizes = {f["id"]: f["sizeInBytes"] for f in new["specification"]["files"]}
    runs = {r["id"]: r["runtimeInSeconds"] for r in new["execution"]["tasks"]}
    size_key = "sizeInBytes" if version == "1.4" else "size"
    tasks = []
    for number, task in enumerate(new["specification"]["tasks"]):
        files = [{"link": "input", "name": f, size_key: sizes[f]} for f in task["inputFiles"]]
        files += [{"link": "output", "name": f, size_key: sizes[f]} for f in task["outputFiles"]]
        tasks.append(
            {
                "name": task["name"],
                "id": f"ID{number}",
                "files": files,
                "cores": 1,
                "parents": [parent.removesuffix("_1") for parent in task["parents"]],
                "runtimeInSeconds" if version == "1.4" else "runtime": runs[task["id"]],
            }
        )
    return {
        "name": "diamond",
        "schemaVersion": version,
        "wms": {"name": system},
        "workflow": {
            "jobs" if version == "1.2" else "tasks": tasks,
            "machines": [{"nodeName": "a", "cpu": {"speed": 2500}}],
        },
    }


@pytest.fixture
def load(tmp_path):
    """Function that writes a document and imports it."""

    def run(document, **options):
        path = tmp_path / "instance.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return import_workload(path, **options)

    return run


@pytest.mark.parametrize("version", ["1.2", "1.3", "1.4", "1.5", "1.6"])
def test_every_version_gives_the_same_graph(version, load):
    old = version < "1.5"
    workload = load(joint_document(version) if old else split_document(version=version))
    graph = workload.graph
    assert workload.name == "diamond"
    assert graph.ops.tolist() == [[2.5e9, 5e9, 8.75e9, 10e9]]
    assert graph.succ_ptr.tolist() == [0, 2, 3, 4, 4]
    assert graph.succ.tolist() == [1, 2, 3, 3]
    assert graph.class_names == ("split", "left", "right", "merge")
    assert sorted(graph.block_bytes.tolist()) == [10, 20, 30, 40, 50, 60]
    assert graph.read_bytes.sum() == 10 + 20 + 30 + 40 + 50
    assert graph.written_bytes.sum() == 20 + 30 + 40 + 50 + 60
    parameters = workload.parameters
    assert parameters["schema_version"] == version
    assert parameters["files_of_size_zero"] == 1
    assert parameters["tasks_with_several_cores"] == (0 if old else 4)
    assert parameters["reference_speed"] == 2.5e9
    assert "file" in parameters["reference_speed_source"]


def test_a_task_reads_its_inputs_before_it_writes(load):
    graph = load(split_document()).graph
    merge = slice(graph.access_ptr[3], graph.access_ptr[4])
    assert graph.read_bytes[merge].tolist() == [40, 50, 0]
    assert graph.written_bytes[merge].tolist() == [0, 0, 60]


@pytest.mark.parametrize(
    ("document", "unit"),
    [
        (joint_document("1.3", "Pegasus"), 1),
        (joint_document("1.3", "Makeflow"), 1000),
        (joint_document("1.2", "Nextflow"), 1000),
        (joint_document("1.4", "Pegasus"), 1),
        (joint_document("1.4", "Nextflow"), 1),
        (joint_document("1.4", "Makeflow"), 1000),
        (split_document("Makeflow"), 1000),
        (split_document("Makeflow", "1.6"), 1),
        (split_document("Nextflow"), 1),
    ],
)
def test_unit_of_sizes(document, unit, load):
    workload = load(document)
    assert max(workload.graph.block_bytes) == 60 * unit
    assert workload.parameters["size_unit"] == {1: "bytes", 1000: "kB"}[unit]
    assert max(load(document, size_unit="bytes").graph.block_bytes) == 60


def test_reference_speed(load):
    document = split_document()
    workload = load(document, reference_speed=1e6)
    assert workload.graph.ops[0, 3] == 4e6
    assert workload.parameters["reference_speed_source"] == "option"
    del document["workflow"]["execution"]["machines"]
    workload = load(document)
    assert workload.graph.ops[0, 3] == 4e9
    assert workload.parameters["reference_speed_source"].startswith("default")
    for bad in (0, -1.0, float("nan"), "fast"):
        with pytest.raises(SimschedError, match="reference_speed"):
            load(document, reference_speed=bad)
    with pytest.raises(ConfigurationError, match="size_unit: unknown value 'KB'"):
        load(document, size_unit="KB")


def test_edges_are_the_union_of_declared_ones_and_files(load):
    document = split_document()
    for task in document["workflow"]["specification"]["tasks"]:
        task["parents"] = []
        task["children"] = ["merge_1"] if task["name"] == "split" else []
    workload = load(document)
    graph = workload.graph
    assert graph.succ.tolist() == [1, 2, 3, 3, 3]
    assert workload.parameters["edges_only_declared"] == 1
    assert workload.parameters["edges_only_by_files"] == 4


def test_what_was_made_of_sizes_and_costs_is_told(load):
    """In instances without files or with empty ones no data flow, and nothing said so."""
    document = split_document()
    assert doubts(load(document)) == []
    assert facts(load(document)) == [
        "cost of a task: run time, 1 s is 2.5e+09 operations "
        "(median clock of 2 machines in the file)",
        "edges without data: 0 of 4",
        "files of size zero, left out: 1 of 7",
        "unit of file sizes: bytes (sizeInBytes)",
    ]
    files = document["workflow"]["specification"]["files"]
    files[1]["sizeInBytes"] = 0  # l, all that goes from split to left
    assert "edges without data: 1 of 4" in facts(load(document))
    for file in files:
        file["sizeInBytes"] = 0
    assert "files of size zero, left out: 7 of 7" in facts(load(document))
    assert doubts(load(document)) == ["no edge carries data"]
    times = "unit of file sizes: kB (sizeInBytes under Makeflow in version 1.5, see option "
    scaled = load(split_document("Makeflow"))
    assert any(line.startswith(times) for line in facts(scaled))
    assert "taken times 1000" in doubts(scaled)[0]
    given = load(split_document("Makeflow"), size_unit="kB")
    assert "unit of file sizes: kB (option)" in facts(given)
    assert doubts(given) == []


def test_edges_declared_at_one_end_are_enough(load):
    document = split_document()
    for task in document["workflow"]["specification"]["tasks"]:
        task["parents"] = task["inputFiles"] = task["outputFiles"] = []
    workload = load(document)
    assert workload.graph.succ.tolist() == [1, 2, 3, 3]
    assert workload.parameters["edges_only_declared"] == 4
    assert workload.parameters["files_unused"] == 7


def test_a_file_updated_in_place_adds_no_edge(load):
    document = split_document()
    document["workflow"]["specification"]["tasks"][1]["inputFiles"].append("l2")
    graph = load(document).graph
    assert graph.n_edges == 4
    assert graph.access_ptr[2] - graph.access_ptr[1] == 3


def updates(*tasks, sizes=None):
    """A workflow of (name, parents, files read, files written); each lasts its number in s."""
    names = [name for name, *_ in tasks]
    every = dict.fromkeys(f for _, _, read, written in tasks for f in (*read, *written))
    return {
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": name,
                        "id": name,
                        "parents": list(parents),
                        "children": [],
                        "inputFiles": list(read),
                        "outputFiles": list(written),
                    }
                    for name, parents, read, written in tasks
                ],
                "files": [{"id": file, "sizeInBytes": 1000} for file in every],
            },
            "execution": {
                "tasks": [{"id": n, "runtimeInSeconds": i + 1} for i, n in enumerate(names)]
            },
        },
    }


@pytest.mark.parametrize(
    ("tasks", "edges"),
    [
        # updated by one after the other: no cycle, and no edge past the last update
        ([("A", "", "", "f"), ("B", "A", "f", "f"), ("C", "B", "f", "f")], "AB BC"),
        # read, then overwritten by a child, or by a child's child
        ([("A", "", "f", ""), ("B", "A", "", "f")], "AB"),
        ([("A", "", "f", ""), ("B", "A", "", ""), ("C", "B", "", "f")], "AB BC"),
        # updated by one who is in no order with the reader
        ([("A", "", "", "f"), ("B", "A", "f", "f"), ("C", "A", "f", "")], "AB AC"),
        ([("A", "", "", "f"), ("B", "A", "f", "f"), ("C", "A", "f", "f")], "AB AC"),
        # of two who write it the one counts that is behind the other
        ([("A", "", "", "f"), ("B", "A", "", "f"), ("C", "AB", "f", "")], "AB AC BC"),
        (
            [("A", "", "", "f"), ("B", "A", "", "f"), ("D", "B", "", ""), ("C", "AD", "f", "")],
            "AB AC BC BD DC",
        ),
        # nothing is declared: producers count wherever they stand, updates do not
        ([("C", "", "f", ""), ("A", "", "", "f"), ("B", "", "f", "f")], "AB AC"),
        ([("A", "", "", "f"), ("B", "", "", "f"), ("C", "", "f", "")], "AC BC"),
        ([("B", "", "f", "f"), ("C", "", "f", "")], "BC"),
        # declared past others
        ([("A", "", "", "f"), ("B", "A", "", ""), ("C", "B", "f", "")], "AB AC BC"),
    ],
)
def test_who_waits_for_whom_where_files_are_written_twice(tasks, edges, load):
    """Every producer was joined with every consumer: updates in place made cycles."""
    graph = load(updates(*tasks)).graph
    found = {
        graph.task_names[u] + graph.task_names[v]
        for u in range(graph.n_tasks)
        for v in graph.succ[graph.succ_ptr[u] : graph.succ_ptr[u + 1]]
    }
    assert found == set(edges.split())
    assert graph.n_edges == len(found)


def test_files_that_need_each_other_are_a_cycle(load):
    with pytest.raises(GraphError, match="found a cycle of 2 tasks: A -> B -> A"):
        load(updates(("A", "", "g", "f"), ("B", "", "f", "g")))


def test_thousands_of_updates_of_one_file_in_seconds(load):
    n = 3000
    names = [f"t{i}" for i in range(n)]
    tasks = [(name, names[max(i - 1, 0) : i], "f", "f") for i, name in enumerate(names)]
    begin = time.perf_counter()
    assert load(updates(*tasks)).graph.n_edges == n - 1
    assert time.perf_counter() - begin < 20, "guards against cubic time only"


def test_the_size_where_a_file_is_written_counts(load):
    """It was the largest of all, and nothing said so."""
    document = joint_document("1.3")
    sizes = {"l": {"split": 100, "left": 900}, "r": {"split": 0, "right": 70}}
    for task in document["workflow"]["tasks"]:
        for file in task["files"]:
            file["size"] = sizes.get(file["name"], {}).get(task["name"], file["size"])
    workload = load(document)
    assert sorted(workload.graph.block_bytes.tolist()) == [10, 40, 50, 60, 70, 100]
    assert workload.parameters["files_of_several_sizes"] == 2
    assert doubts(workload) == [
        "2 of 7 files have several sizes; those count that are stated where the files are written"
    ]


def test_sizes_are_rounded(load):
    """0.069 kB are 69 bytes: the product of the two numbers is above, and was rounded up."""
    document = joint_document("1.3", "Makeflow")
    for task in document["workflow"]["tasks"]:
        for file in task["files"]:
            file["size"] = {"l": 0.069, "r": 1e-12, "in": 2e3}.get(file["name"], 1)
    blocks = load(document).graph.block_bytes.tolist()
    assert sorted(blocks) == [69, 1000, 1000, 1000, 1000, 2_000_000]


@pytest.mark.parametrize("version", ["1.3", "1.5"])
def test_a_workflow_that_was_not_executed_takes_given_costs(version, load):
    document = joint_document("1.3") if version == "1.3" else split_document()
    if version == "1.3":
        for task in document["workflow"]["tasks"]:
            del task["runtime"]
    else:
        del document["workflow"]["execution"]
    with pytest.raises(GraphError, match=r"task 'split': found no run time, accepted .*task_cost"):
        load(document)
    costs = {"split": "1 ms", "left": "5 ops", "right": "0 s", "merge": "2 ops"}
    graph = load(document, task_cost=costs, reference_speed=1e6).graph
    assert graph.ops.tolist() == [[1000.0, 5.0, 0.0, 2.0]]
    with pytest.raises(ConfigurationError, match=r"option task_cost\.merge: missing"):
        load(document, task_cost={name: costs[name] for name in ("split", "left", "right")})
    assert "cost of 4 of 4 tasks: 1 s (task_cost)" in facts(load(document, task_cost="1 s"))


@pytest.mark.parametrize(
    ("name", "edges", "ops", "blocks"),
    [
        ("wf_file_updated_in_place/chain.json", 2, 6e9, [1000]),
        ("wf_file_updated_in_place/overwrite.json", 1, 3e9, [1000]),
        ("wf_file_updated_in_place/late_writer.json", 2, 6e9, [1000]),
        ("wf_sizes_contradict/sizes.json", 1, 2e9, [100]),
    ],
)
def test_files_of_users(name, edges, ops, blocks, cases):
    graph = import_workload(cases / name).graph
    assert (graph.n_edges, graph.ops.sum(), graph.block_bytes.tolist()) == (edges, ops, blocks)


def test_programs_and_scripts_as_classes(load):
    document = split_document()
    runs = document["workflow"]["execution"]["tasks"]
    runs[0]["command"] = {"program": "/usr/bin/paste"}
    runs[1]["command"] = runs[2]["command"] = {"program": "worker.py"}
    runs[3]["command"] = {"program": "set -e\nsplit x"}
    assert load(document).graph.class_names == ("split", "worker.py", "paste")


def _at(document, path):
    for key in path:
        document = document[key]
    return document


SPEC, RUN = ("workflow", "specification"), ("workflow", "execution")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("schemaVersion",),
            "0.9",
            "schemaVersion: found '0.9', accepted one of the versions 1.0, ",
        ),
        (("schemaVersion",), None, "found no key 'schemaVersion'"),
        (("workflow",), None, "top level: found no key 'workflow'"),
        (("workflow",), [], "workflow: found a list, accepted an object"),
        ((*SPEC, "tasks"), {}, "workflow.specification.tasks: found an object, accepted a list"),
        ((*SPEC, "tasks"), [], "found no tasks|which the specification does not have"),
        ((*SPEC, "tasks", 1, "id"), None, r"tasks\[1\]: found no key 'id'"),
        ((*SPEC, "tasks", 1, "id"), "split_1", r"tasks\[1\]: found task 'split_1' a second"),
        ((*SPEC, "tasks", 1, "parents"), None, r"tasks\[1\]: found no key 'parents'"),
        (
            (*SPEC, "tasks", 1, "parents"),
            ["nobody"],
            r"parents\[0\]: found 'nobody', accepted the id",
        ),
        ((*SPEC, "tasks", 1, "parents"), ["left_1"], "a cycle of 1 task: left_1 -> left_1"),
        ((*SPEC, "tasks", 0, "parents"), ["merge_1"], "found a cycle of 3 tasks: .*merge_1"),
        ((*SPEC, "tasks", 1, "inputFiles"), ["ghost"], r"inputFiles\[0\]: found file 'ghost'"),
        ((*SPEC, "files", 2, "id"), "l", r"files\[2\]: found file 'l' a second time"),
        (
            (*SPEC, "files", 2, "sizeInBytes"),
            -1,
            r"files\[2\].sizeInBytes: found -1, accepted a fi",
        ),
        ((*SPEC, "files", 2, "sizeInBytes"), "9", "sizeInBytes: found '9', accepted a number"),
        ((*SPEC, "files", 2, "sizeInBytes"), 1e300, "accepted a file of at most"),
        ((*RUN, "tasks", 1, "runtimeInSeconds"), None, "task 'right': found no run time"),
        ((*RUN, "tasks", 1, "runtimeInSeconds"), float("nan"), "runtimeInSeconds: found nan"),
        ((*RUN, "tasks", 1, "runtimeInSeconds"), -2, "runtimeInSeconds: found -2, accepted"),
        ((*RUN, "tasks", 1, "runtimeInSeconds"), 1e305, "ops: found inf, accepted a finite"),
        ((*RUN, "tasks", 1, "runtimeInSeconds"), 10**400, "found an integer of more than 40 dig"),
        ((*RUN, "tasks", 1, "runtimeInSeconds"), True, "runtimeInSeconds: found True"),
        ((*RUN, "tasks", 1, "id"), "other", "found no run time|does not have"),
        ((*RUN, "tasks", 1, "id"), "left_1", "found task 'left_1' a second time"),
        ((*RUN, "machines", 0, "cpu"), 3, r"machines\[0\].cpu: found 3, accepted an object"),
    ],
)
def test_errors_name_the_place(path, value, message, load, tmp_path):
    document = split_document()
    if value is None:
        del _at(document, path[:-1])[path[-1]]
    else:
        _at(document, path[:-1])[path[-1]] = value
    with pytest.raises(GraphError, match=message) as caught:
        load(document)
    assert str(caught.value).startswith(str(tmp_path / "instance.json"))


def test_missing_run_time_in_old_versions_names_the_task(load):
    document = joint_document("1.3")
    del document["workflow"]["tasks"][2]["runtime"]
    with pytest.raises(GraphError, match=r"tasks\[2\]: task 'right': found no run time, accepted"):
        load(document)


def test_ambiguous_names_cannot_be_referred_to(load):
    document = joint_document("1.3")
    document["workflow"]["tasks"][1]["name"] = "right"
    with pytest.raises(GraphError, match=r"parents\[\d\]: found '(left|right)', accepted the id"):
        load(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"schemaVersion": "1.5",\n "workflow": {"speci',
            r":2: column \d+: not JSON: .*truncated",
        ),
        ("[1, 2]", "top level: found a list, accepted an object"),
        ("[" * 100000, "not usable JSON"),
        ('{"schemaVersion": ' + "9" * 5000 + "}", "not usable JSON|versions"),
        ("", "found an empty file"),
    ],
)
def test_text_that_is_not_a_document(text, message, load):
    with pytest.raises(GraphError, match=message) as caught:
        load(text, format="wfformat")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", INSTANCES)
def test_published_instances(name, measured_data):
    path = measured_data / "wfinstances" / f"{name}.json"
    document = json.loads(path.read_text())
    tasks, edges, files = INSTANCES[name]
    specification = document["workflow"]["specification"]
    runs = document["workflow"]["execution"]["tasks"]
    assert len(specification["tasks"]) == tasks
    workload = import_workload(path, reference_speed=1e6)
    graph = workload.graph
    assert (graph.n_tasks, graph.n_edges) == (tasks, edges)
    assert edges == sum(len(task["children"]) for task in specification["tasks"])
    assert workload.parameters["files"] == files
    assert graph.n_blocks + workload.parameters["files_of_size_zero"] == files
    assert workload.parameters["edges_only_declared"] == 0
    assert workload.parameters["edges_only_by_files"] == 0
    assert graph.ops.sum() == pytest.approx(1e6 * sum(run["runtimeInSeconds"] for run in runs))
    unit = 1000 if name.startswith("bwa") else 1
    assert graph.block_bytes.sum() == unit * sum(f["sizeInBytes"] for f in specification["files"])


def test_makeflow_sizes_are_kilobytes_by_the_written_bytes_of_the_tasks(measured_data):
    path = measured_data / "wfinstances" / "bwa-chameleon-small-001.json"
    workload = import_workload(path)
    runs = json.loads(path.read_text())["workflow"]["execution"]["tasks"]
    graph = workload.graph
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    written = np.bincount(task, weights=graph.written_bytes, minlength=graph.n_tasks)
    counted = np.array([run["writtenBytes"] for run in runs], dtype=float)
    assert workload.parameters["size_unit"] == "kB"
    assert 0.3 < np.median(written / counted) < 3


def test_ten_thousand_tasks_in_seconds(load):
    n = 10_000
    tasks, files, runs = [], [], []
    for i in range(n):
        parents = [f"t{p}" for p in {i // 2, i // 3} if p < i]
        tasks.append(
            {
                "name": f"work_{i}",
                "id": f"t{i}",
                "parents": parents,
                "children": [],
                "inputFiles": [f"f{p[1:]}" for p in parents],
                "outputFiles": [f"f{i}"],
            }
        )
        files.append({"id": f"f{i}", "sizeInBytes": i + 1})
        runs.append({"id": f"t{i}", "runtimeInSeconds": 1.5, "command": {"program": "p"}})
    document = json.dumps(
        {
            "name": "large",
            "schemaVersion": "1.5",
            "runtimeSystem": {"name": "Pegasus"},
            "workflow": {
                "specification": {"tasks": tasks, "files": files},
                "execution": {"tasks": runs},
            },
        }
    )
    begin = time.perf_counter()
    graph = load(document).graph
    assert graph.n_tasks == graph.n_blocks == n
    assert graph.n_edges == sum(len(task["parents"]) for task in tasks)
    assert time.perf_counter() - begin < 20, "guards against quadratic time only"


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=3),
    st.just({}),
    st.just("split_1"),
    st.just("1.5"),
)


def _places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from _places(inner, (*path, key))


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_documents_raise_only_our_errors(data, load, accepted_or_refused):
    version = data.draw(st.sampled_from(["1.2", "1.3", "1.4", "1.5", "1.6"]))
    document = joint_document(version) if version < "1.5" else split_document(version=version)
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([p for p in _places(document) if p]))
        parent = _at(document, path[:-1])
        if data.draw(st.booleans()):
            parent[path[-1]] = data.draw(JUNK)
        else:
            del parent[path[-1]]
        if not document:
            break
    text = json.dumps(document)
    cut = data.draw(st.one_of(st.just(len(text)), st.integers(0, len(text))))
    with accepted_or_refused("instance.json"):
        load(text[:cut]).validate()
