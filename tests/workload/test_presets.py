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
    assert "layered_random" in str(e.value)
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
