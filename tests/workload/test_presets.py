"""Shipped presets load, and wrong preset files are refused with their line."""

from pathlib import Path

import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload.presets import list_presets, load_preset, make_workload


@pytest.mark.parametrize("name", list_presets())
def test_every_preset_gives_a_valid_workload(name: str) -> None:
    preset = load_preset(name)
    workload = make_workload(name)
    workload.validate()
    assert workload.name == name
    assert workload.parameters["generator"] == preset.generator


@pytest.mark.parametrize(
    ("name", "tasks", "leaves"), [("heat_1024x512", 255, 128), ("heat_ir_1024x512", 513, 330)]
)
def test_multi_socket_presets_have_the_published_trees(name: str, tasks: int, leaves: int) -> None:
    workload = make_workload(name)
    graph = workload.graph
    assert (graph.n_tasks, len(graph.leaves), graph.n_blocks) == (tasks, leaves, 2 * leaves)
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
    *((f"{name}_8192x512", 1024, 67.1) for name in ("heat", "sor")),
    ("heat_2048x512", 256, 16.8),
    ("stencil6_1024x64x64", 128, 67.1),
    ("stencil6_16384x64x64", 2048, 1073.7),
    ("stencil9_2048x4096", 256, 134.2),
    ("stencil9_32768x4096", 4096, 2147.5),
]


def sweeps(name: str) -> int:
    """200, each of them two half sweeps of the SOR of LAWS, whose rows are longer than 512."""
    return 400 if name.startswith("sor") and not name.endswith("x512") else 200


@pytest.mark.parametrize(("name", "leaves", "megabytes"), ITERATIVE)
def test_presets_of_iterative_programs_on_numa_machines(
    name: str, leaves: int, megabytes: float
) -> None:
    workload = make_workload(name)
    assert (workload.graph.n_tasks, len(workload.graph.leaves)) == (2 * leaves - 1, leaves)
    assert workload.graph.block_bytes.sum() / 1e6 == pytest.approx(megabytes, rel=3e-3)
    assert name.startswith("ge_") or workload.iterations == sweeps(name)


def algorithm_3(rows: int, threshold: int, branches: int = 2) -> tuple[int, int]:
    """Tasks and leaves of Chen and Guo, Springer 2017, Algorithm 3, line by line.

    Halves go to the second procedure and to the first; of quarters, the third goes to the second.
    """
    if rows < threshold:
        return 1, 1
    half, quarter = rows // 2, rows // 4
    if branches == 2:
        parts = [(half, 4), (rows - half, 2)]
    else:
        parts = [(quarter, 2), (quarter, 2), (quarter, 4), (rows - 3 * quarter, 2)]
    found = [algorithm_3(part, threshold, kind) for part, kind in parts]
    return 1 + sum(tasks for tasks, _ in found), sum(leaves for _, leaves in found)


@pytest.mark.parametrize("shape", ["", "_ir"])
@pytest.mark.parametrize(("size", "steps"), [(1024, 200), (2048, 2047), (8192, 200)])
def test_presets_of_eliminations_do_the_work_of_their_first_steps(
    size: int, steps: int, shape: str
) -> None:
    workload = make_workload(f"ge{shape}_{size}")
    first_steps = 2 * sum((size - step) ** 2 for step in range(steps))  # multiply and subtract
    assert workload.iterations * workload.graph.ops.sum() == pytest.approx(first_steps, rel=1e-2)


# Rows of fewer than 9 (LAWS) or 8 (CAB) are leaves; megabytes as for the regular programs.
IRREGULAR = [
    *((f"{name}_ir_8096x1024", 8096, 9, 132.6) for name in ("heat", "sor", "stencil9")),
    *((f"{name}_ir_8096x4096", 8096, 9, 530.6) for name in ("heat", "sor", "stencil9")),
    *((f"{name}_ir_8096x64x64", 8096, 9, 530.6) for name in ("stencil6", "stencil25")),
    *((f"{name}_ir_8096x128x128", 8096, 9, 2122.3) for name in ("stencil6", "stencil25")),
    ("ge_ir_2048", 2048, 9, 33.6),
    ("ge_ir_8192", 8192, 9, 536.9),
    ("ge_ir_1024", 1024, 8, 8.4),
    ("sor_ir_1024x512", 1024, 8, 8.4),
    *((f"{name}_ir_8192x512", 8192, 8, 67.1) for name in ("heat", "sor")),
    ("heat_ir_1024x1024", 1024, 9, 16.8),
    ("heat_ir_16384x1024", 16384, 9, 268.4),
    ("sor_ir_2048x4096", 2048, 9, 134.2),
    ("sor_ir_32768x4096", 32768, 9, 2147.5),
]


@pytest.mark.parametrize(("name", "rows", "threshold", "megabytes"), IRREGULAR)
def test_irregular_presets_have_the_published_trees(
    name: str, rows: int, threshold: int, megabytes: float
) -> None:
    workload = make_workload(name)
    tasks, leaves = algorithm_3(rows, threshold)
    assert (workload.graph.n_tasks, len(workload.graph.leaves)) == (tasks, leaves)
    assert workload.graph.block_bytes.sum() / 1e6 == pytest.approx(megabytes, rel=3e-3)
    assert name.startswith("ge_") or workload.iterations == sweeps(name)


# Chen and Guo, Springer 2017, Fig. 3.20-3.23: tasks and leaves of 512 columns, threshold 8.
@pytest.mark.parametrize("name", ["heat_ir_1024x512", "sor_ir_1024x512"])
@pytest.mark.parametrize(
    ("rows", "tasks", "leaves"),
    [(1024, 513, 330), (2048, 1023, 658), (4096, 2047, 1316), (8192, 4097, 2634)],
)
def test_irregular_trees_grow_as_published(name: str, rows: int, tasks: int, leaves: int) -> None:
    graph = make_workload(name, {"rows": rows, "iterations": 1}).graph
    assert (graph.n_tasks, len(graph.leaves)) == (tasks, leaves) == algorithm_3(rows, 8)


# Size, megabytes, level of the leaves (the root's is 1), rows of a leaf.
FULL_TREES = [
    ("512x512", 4, 5, 32),
    ("1024x1024", 16, 6, 32),
    ("3072x2048", 96, 7, 48),
    ("4096x4096", 256, 8, 32),
]


@pytest.mark.parametrize(
    ("name", "megabytes", "level", "leaf_rows"),
    [
        *((f"heat_{size}", *tree) for size, *tree in FULL_TREES),
        *((f"sor_{size}", *tree) for size, *tree in FULL_TREES if size != "3072x2048"),
    ],
)
def test_presets_with_leaves_of_fewer_than_64_rows(
    name: str, megabytes: int, level: int, leaf_rows: int
) -> None:
    workload = make_workload(name)
    graph, leaves = workload.graph, 2 ** (level - 1)
    assert (graph.n_tasks, len(graph.leaves), graph.n_blocks) == (2**level - 1, leaves, 2 * leaves)
    assert graph.block_bytes.tolist() == [megabytes * 2**20 // (2 * leaves)] * (2 * leaves)
    assert leaves * leaf_rows == int(name.split("_")[1].split("x")[0])
    assert workload.iterations == (20 if name.startswith("sor") else 10)  # SOR in two colours


#: Presets of other sizes of a sweep, and the preset whose program they are.
OTHER_SIZES = {
    **{f"heat_{size}x512": "heat_1024x512" for size in (2048, 8192)},
    "heat_ir_8192x512": "heat_ir_1024x512",
    "sor_8192x512": "sor_1024x512",
    "sor_ir_8192x512": "sor_ir_1024x512",
    **{f"heat_ir_{rows}x1024": "heat_ir_8096x1024" for rows in (1024, 16384)},
    **{f"stencil6_{rows}x64x64": "stencil6_8096x64x64" for rows in (1024, 16384)},
    **{f"sor_ir_{rows}x4096": "sor_ir_8096x4096" for rows in (2048, 32768)},
    **{f"stencil9_{rows}x4096": "stencil9_8096x4096" for rows in (2048, 32768)},
    **{f"{name}_{size}gb": f"{name}_16gb" for name in ("heat", "pagerank") for size in (2, 22)},
}


@pytest.mark.parametrize(("name", "base"), OTHER_SIZES.items())
def test_presets_of_a_sweep_differ_in_one_size(name: str, base: str) -> None:
    """As their sources say: in rows, planes or vertices, nothing else."""
    preset, like = load_preset(name), load_preset(base)
    assert base in preset.source
    assert preset.generator == like.generator
    differing = dict(preset.parameters.items() ^ like.parameters.items())
    assert len(differing) == 1
    assert set(differing) <= {"rows", "vertices"}


def test_parameters_of_a_preset_can_be_overridden() -> None:
    workload = make_workload("heat_small", {"iterations": 3, "leaf_bytes": "4 MiB"})
    assert workload.iterations == 3
    assert len(workload.graph.leaves) == 256


def test_generators_and_files_are_resolved_too(tmp_path: Path) -> None:
    assert make_workload("chain", {"tasks": 4}).graph.n_tasks == 4
    path = tmp_path / "mine.yaml"
    path.write_text("generator: chain\ndescription: d\nsource: s\nparameters: {tasks: 7}\n")
    workload = make_workload(path)
    assert (workload.name, workload.graph.n_tasks) == ("mine", 7)


def test_an_unknown_name_lists_presets_and_generators() -> None:
    with pytest.raises(ConfigurationError, match="unknown workload 'heat_16g'; did you mean") as e:
        make_workload("heat_16g")
    assert "heat_16gb_coarse" in str(e.value)
    assert ", heat, " in str(e.value)  # a generator
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
        make_workload(path)
    assert f"{path}:{line}" in str(caught.value)
    assert message in str(caught.value)
