"""Shipped presets load, and wrong preset files are refused with their line."""

from pathlib import Path

import pytest

from simsched.errors import ConfigurationError
from simsched.workload.presets import list_presets, load_preset, resolve_workload


@pytest.mark.parametrize("name", list_presets())
def test_every_preset_gives_a_valid_workload(name: str) -> None:
    preset = load_preset(name)
    workload = resolve_workload(name)
    workload.validate()
    assert workload.name == name
    assert workload.parameters["generator"] == preset.generator


@pytest.mark.parametrize(
    ("name", "tasks", "leaves"), [("heat_1024x512", 255, 128), ("heat_ir_1024x512", 513, 330)]
)
def test_multi_socket_presets_have_the_published_trees(name: str, tasks: int, leaves: int) -> None:
    workload = resolve_workload(name)
    graph = workload.graph
    assert (graph.n_tasks, len(graph.leaves), graph.n_blocks) == (tasks, leaves, leaves)
    assert graph.block_bytes.sum() == 8 * 2**20
    assert workload.iterations == 200


# Leaves of at most 8 rows, megabytes of all blocks.
ITERATIVE = [
    *((f"{name}_8096x1024", 1024, 132.6) for name in ("heat", "sor", "stencil9")),
    *((f"{name}_8096x4096", 1024, 530.6) for name in ("heat", "sor", "stencil9")),
    *((f"{name}_8096x64x64", 1024, 530.6) for name in ("stencil6", "stencil25")),
    *((f"{name}_8096x128x128", 1024, 2122.3) for name in ("stencil6", "stencil25")),
    ("ge_2048", 256, 33.6),
    ("ge_8192", 1024, 536.9),
    ("ge_1024", 128, 8.4),
    ("sor_1024x512", 128, 8.4),
]


@pytest.mark.parametrize(("name", "leaves", "megabytes"), ITERATIVE)
def test_presets_of_iterative_programs_on_numa_machines(
    name: str, leaves: int, megabytes: float
) -> None:
    workload = resolve_workload(name)
    assert len(workload.graph.leaves) == leaves
    assert workload.graph.block_bytes.sum() / 1e6 == pytest.approx(megabytes, rel=3e-3)
    assert workload.iterations == (400 if name.startswith("sor") else 200)


@pytest.mark.parametrize("name", ["heat_1024x1024", "sor_1024x1024"])
def test_presets_with_leaves_of_fewer_than_64_rows(name: str) -> None:
    workload = resolve_workload(name)
    assert len(workload.graph.leaves) == workload.graph.n_blocks == 32
    assert workload.graph.block_bytes.sum() == 16 * 2**20
    large = resolve_workload(name, {"rows": 3072, "columns": 2048}).graph
    assert len(large.leaves) == 64  # of 48 rows


def test_parameters_of_a_preset_can_be_overridden() -> None:
    workload = resolve_workload("heat_small", {"iterations": 3, "leaf_bytes": "4 MiB"})
    assert workload.iterations == 3
    assert len(workload.graph.leaves) == 256


def test_generators_and_files_are_resolved_too(tmp_path: Path) -> None:
    assert resolve_workload("chain", {"tasks": 4}).graph.n_tasks == 4
    path = tmp_path / "mine.yaml"
    path.write_text("generator: chain\ndescription: d\nsource: s\nparameters: {tasks: 7}\n")
    workload = resolve_workload(path)
    assert (workload.name, workload.graph.n_tasks) == ("mine", 7)


def test_an_unknown_name_lists_presets_and_generators() -> None:
    with pytest.raises(ConfigurationError, match="unknown workload 'heat_16g'; did you mean") as e:
        resolve_workload("heat_16g")
    assert "heat_16gb_one_row" in str(e.value)
    assert "threads" in str(e.value)  # a generator
    with pytest.raises(ConfigurationError, match="unknown workload preset 'heat'"):
        load_preset("heat")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("generator: heet\ndescription: d\nsource: s\n", 1, "did you mean 'heat'"),
        (
            "generator: heat\ndescription: d\nsource: s\nparameters:\n  rows: 4\n  colums: 5\n",
            6,
            "did you mean 'columns'",
        ),
        (
            "generator: heat\ndescription: d\nsource: s\nparameters:\n  leaf_bytes: 2 Mb\n",
            5,
            "found '2 Mb', accepted",
        ),
        ("generator: heat\ndescription: d\nsource: s\nparameter: {}\n", 4, "'parameters'"),
    ],
)
def test_a_wrong_preset_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        resolve_workload(path)
    assert f"{path}:{line}" in str(caught.value)
    assert message in str(caught.value)
