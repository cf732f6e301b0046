"""Heat: trees, blocks and bytes against published counts and row-by-row enumerations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError
from simsched.workload import TaskGraph, generate_workload
from simsched.workload.presets import make_workload
from simsched.workload.spawn_tree import SpawnTree, equal_parts, grow, unbalanced


def subtree_sizes(graph: TaskGraph) -> np.ndarray:
    """Return the number of tasks below and including each task; parents precede children."""
    sizes = np.ones(graph.n_tasks, dtype=np.int64)
    for task in range(graph.n_tasks - 1, 0, -1):
        sizes[graph.parent[task]] += sizes[task]
    return sizes


def recursive_tree(rows: int, cutoff: int, *, irregular: bool) -> list[tuple[int, int, int]]:
    """Return (first, last, level) of every call in the order of a serial execution."""
    calls: list[tuple[int, int, int]] = []

    def heat(s: int, e: int, level: int) -> None:
        calls.append((s, e, level))
        if e - s >= cutoff:
            mid = (s + e) // 2
            (heat2 if irregular else heat)(s, mid, level + 1)
            heat(mid, e, level + 1)

    def heat2(s: int, e: int, level: int) -> None:
        calls.append((s, e, level))
        if e - s >= cutoff:
            q = (e - s) // 4
            heat(s, s + q, level + 1)
            heat(s + q, s + 2 * q, level + 1)
            heat2(s + 2 * q, s + 3 * q, level + 1)
            heat(s + 3 * q, e, level + 1)

    heat(0, rows, 0)
    return calls


# Rows; regular with cut-off 8 and 9; irregular with 8, levels of its leaves with the root at 1.
PUBLISHED = [
    (1024, (511, 256), (255, 128), (513, 330), (6, 9)),
    (2048, (1023, 512), (511, 256), (1023, 658), (6, 10)),
    (4096, (2047, 1024), (1023, 512), (2047, 1316), (7, 11)),
    (8192, (4095, 2048), (2047, 1024), (4097, 2634), (7, 12)),
]


@pytest.mark.parametrize(("rows", "eight", "nine", "irregular", "levels"), PUBLISHED)
def test_tasks_leaves_and_levels_of_the_published_trees(
    rows: int,
    eight: tuple[int, int],
    nine: tuple[int, int],
    irregular: tuple[int, int],
    levels: tuple[int, int],
) -> None:
    for parameters, counts in (
        ({"cutoff_rows": 8}, eight),
        ({"cutoff_rows": 9}, nine),
        ({"cutoff_rows": 8, "irregular": True}, irregular),
    ):
        graph = generate_workload("heat", {"rows": rows, **parameters}).graph
        assert (graph.n_tasks, len(graph.leaves)) == counts
    tree = grow(rows, unbalanced(8))
    depth = tree.level[tree.leaves] + 1
    assert (depth.min(), depth.max()) == levels
    assert set((tree.last - tree.first)[tree.leaves].tolist()) == {2, 4}


@pytest.mark.parametrize(
    ("rows", "irregular", "expected"),
    [
        (1024, False, {4: 2}),
        (8192, False, {4: 16}),
        (1024, True, {4: 2}),
        (2048, True, {2: 4, 4: 2}),
        (4096, True, {2: 4, 4: 6}),
        (8192, True, {2: 8, 4: 12}),
    ],
)
def test_subtrees_that_fit_a_cache_of_6_mb(
    rows: int, irregular: bool, expected: dict[int, int]
) -> None:
    tree = grow(rows, unbalanced(8) if irregular else equal_parts(2, 8))
    size = (tree.last - tree.first) * 512 * 16
    parent = np.full(tree.n_tasks, -1)
    parent[tree.children.target] = np.repeat(np.arange(tree.n_tasks), np.diff(tree.children.ptr))
    fits = (size <= 6 * 2**20) & (parent >= 0) & (size[parent] > 6 * 2**20)
    sizes, counts = np.unique(size[fits] // 2**20, return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == expected


@given(st.integers(1, 400), st.integers(4, 40), st.booleans())
def test_trees_are_those_of_the_recursive_program(rows: int, cutoff: int, irregular: bool) -> None:
    tree = grow(rows, unbalanced(cutoff) if irregular else equal_parts(2, cutoff))
    found = list(zip(tree.first.tolist(), tree.last.tolist(), tree.level.tolist(), strict=True))
    assert found == recursive_tree(rows, cutoff, irregular=irregular)
    check_children(tree)


def check_children(tree: SpawnTree) -> None:
    """Check that children tile their parent in order and that leaves tile the items in order."""
    for task in range(tree.n_tasks):
        children = tree.children.target[tree.children.ptr[task] : tree.children.ptr[task + 1]]
        if len(children):
            assert tree.first[children[0]] == tree.first[task]
            assert tree.last[children[-1]] == tree.last[task]
            assert (tree.first[children[1:]] == tree.last[children[:-1]]).all()
            assert (tree.level[children] == tree.level[task] + 1).all()
    leaves = tree.leaves
    assert tree.first[leaves].tolist() == tree.bounds[:-1].tolist()
    assert tree.last[leaves].tolist() == tree.bounds[1:].tolist()


def test_the_published_16_gb_case_has_8192_leaves_and_blocks() -> None:
    workload = make_workload("heat_16gb_coarse")
    workload.validate()
    graph, init = workload.graph, workload.init
    assert init is not None
    assert workload.iterations == 200
    assert (graph.n_tasks, len(graph.leaves), graph.n_blocks) == (16383, 8192, 2 * 8192)
    assert set(graph.block_bytes.tolist()) == {28 * 4096 * 8}
    assert graph.block_bytes.sum() == 14 * 2**30
    assert init.n_tasks == 16383
    assert init.written_bytes.tolist() == graph.block_bytes.tolist()
    assert init.access_block.tolist() == [n for b in range(8192) for n in (b, 8192 + b)]
    one_copy = 229376 * 4096 * 8
    assert graph.written_bytes.sum() == one_copy
    assert graph.read_bytes.sum() == 2 * one_copy + 2 * 8191 * 4096 * 8
    assert graph.n_accesses == 4 * 8192 - 2


def test_leaves_of_one_row_make_2048_smallest_subtrees_of_160_tasks() -> None:
    workload = make_workload("heat_16gb")
    graph = workload.graph
    assert (graph.n_tasks, len(graph.leaves)) == (458751, 229376)
    sizes = subtree_sizes(graph)
    big = np.flatnonzero(sizes >= 160)
    smallest = np.setdiff1d(big, graph.parent[big])
    assert len(smallest) == 2048
    assert set(sizes[smallest].tolist()) == {223}
    big = np.flatnonzero(sizes >= 640)
    assert len(np.setdiff1d(big, graph.parent[big])) == 512
    assert workload.init is not None
    assert len(workload.init.leaves) == 8192
    workload.validate()


PARAMETERS = st.fixed_dictionaries(
    {
        "rows": st.integers(1, 120),
        "columns": st.integers(1, 3),
        "cutoff_rows": st.integers(4, 30),
        "block_bytes": st.integers(1, 2000),
        "halo_rows": st.integers(0, 5),
        "copies": st.integers(1, 2),
        "write_allocate": st.booleans(),
        "irregular": st.booleans(),
    }
)


@settings(max_examples=60)
@given(PARAMETERS)
def test_bytes_are_those_counted_row_by_row(parameters: dict[str, int]) -> None:
    workload = generate_workload("heat", parameters)
    workload.validate()
    graph, rows = workload.graph, parameters["rows"]
    line = parameters["columns"] * 8
    n_pieces = graph.n_blocks // parameters["copies"]
    heights = graph.block_bytes[:n_pieces] // line
    assert heights.sum() == rows
    block_of = np.repeat(np.arange(n_pieces), heights)
    calls = recursive_tree(rows, parameters["cutoff_rows"], irregular=bool(parameters["irregular"]))
    halo = parameters["halo_rows"]
    allocate = parameters["write_allocate"] and parameters["copies"] == 2
    for task, (first, last, _) in enumerate(calls):
        expected: dict[tuple[int, int], list[int]] = {}  # by piece of rows and copy
        if last - first < parameters["cutoff_rows"]:
            for row in range(max(first - halo, 0), min(last + halo, rows)):
                own, piece = first <= row < last, int(block_of[row])
                expected.setdefault((piece, 0), [0, 0])[0] += line
                if own:
                    entry = expected.setdefault((piece, parameters["copies"] - 1), [0, 0])
                    entry[0] += line * allocate
                    entry[1] += line
        part = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        blocks = [piece + copy * n_pieces for piece, copy in sorted(expected)]
        assert graph.access_block[part].tolist() == blocks
        found = zip(graph.read_bytes[part], graph.written_bytes[part], strict=True)
        assert [list(pair) for pair in found] == [expected[b] for b in sorted(expected)]
    assert graph.written_bytes.sum() == rows * line


@given(st.integers(1, 200), st.integers(16, 1000), st.integers(16, 1000))
def test_initialisation_writes_each_block_exactly(rows: int, block: int, leaf: int) -> None:
    parameters = {"rows": rows, "columns": 1, "block_bytes": block, "init_leaf_bytes": leaf}
    workload = generate_workload("heat", parameters)
    assert workload.init is not None
    workload.validate()
    written = np.bincount(
        workload.init.access_block,
        weights=workload.init.written_bytes,
        minlength=workload.graph.n_blocks,
    )
    assert written.tolist() == workload.graph.block_bytes.tolist()


def test_operations_are_in_the_leaves_and_in_joins_when_asked() -> None:
    graph = generate_workload(
        "heat", {"rows": 100, "columns": 7, "cutoff_rows": 10, "ops_per_element": 3, "inner_ops": 2}
    ).graph
    leaf = np.diff(graph.child_ptr) == 0
    assert graph.ops[0, leaf].sum() == 100 * 7 * 3
    assert set(graph.ops[0, ~leaf]) == {2.0}
    assert set(graph.join_ops[0, ~leaf]) == {2.0}
    assert not graph.join_ops[0, leaf].any()
    assert [graph.class_names[c] for c in graph.task_class[leaf]] == ["sweep"] * int(leaf.sum())


def test_an_irregular_tree_refuses_cut_offs_that_leave_empty_quarters() -> None:
    with pytest.raises(ConfigurationError, match="cutoff_rows: found 3, accepted 4 or more"):
        generate_workload("heat", {"irregular": True, "cutoff_rows": 3})


def test_more_tasks_than_can_be_numbered_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="found at least 2147483647 leaves"):
        generate_workload("heat", {"rows": 2**31 - 1, "columns": 1, "cutoff_rows": 2})
