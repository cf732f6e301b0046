"""Programs of the NUMA dataflow study: counts, widths, depth and bytes of the published sizes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload import TaskGraph, generate_workload
from simsched.workload.presets import make_workload

#: Preset: tasks (without the root), face edges, main buffer, share of the centre in a task's input.
STENCILS = [
    ("jacobi_1d_opteron64", 254_977, 499_590, 100.0),
    ("jacobi_1d_sgi192", 254_977, 499_590, 100.0),
    ("jacobi_2d_opteron64", 254_209, 966_240, 96.8),
    ("jacobi_2d_sgi192", 254_209, 983_808, 98.5),
    ("jacobi_3d_opteron64", 254_017, 1_389_824, 86.5),
    ("jacobi_3d_sgi192", 254_017, 1_366_400, 84.2),
    ("seidel_1d_opteron64", 254_977, 495_495, 100.0),
    ("seidel_1d_sgi192", 254_977, 495_495, 100.0),
    ("seidel_2d_opteron64", 254_209, 975_744, 98.5),
    ("seidel_2d_sgi192", 254_209, 971_872, 98.1),
    ("seidel_3d_opteron64", 254_017, 1_393_920, 86.5),
    # 79.5 with both faces along y; of the two blocks along y none has both.
    ("seidel_3d_sgi192", 254_081, 1_215_808, 79.75),
]
#: Preset: compute depth, largest width, average parallelism.
SEIDEL_SHAPES = [
    ("seidel_1d_opteron64", 4214, 60, 58.3),
    ("seidel_2d_opteron64", 245, 2040, 1003),
    ("seidel_2d_sgi192", 277, 1848, 887),
    ("seidel_3d_opteron64", 164, 2048, 1499),
    ("seidel_3d_sgi192", 214, 2048, 1148),
]


def of_class(graph: TaskGraph, *names: str) -> np.ndarray:
    """Return which tasks belong to some classes."""
    return np.isin(graph.task_class, [graph.class_names.index(name) for name in names])


def counts(graph: TaskGraph) -> Counter[str]:
    """Return the number of tasks of each class."""
    return Counter(np.array(graph.class_names)[graph.task_class].tolist())


def input_bytes(graph: TaskGraph, task: int) -> list[int]:
    """Return the sizes of a task's reads, in order."""
    part = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
    return [size for size in graph.read_bytes[part].tolist() if size]


def depths(graph: TaskGraph) -> np.ndarray:
    """Return the number of tasks before each one on the longest dependence path."""
    depth = np.zeros(graph.n_tasks, np.int64)
    left = graph.in_degree.copy()
    front = np.flatnonzero(left == 0)
    while len(front):
        starts, ends = graph.succ_ptr[front], graph.succ_ptr[front + 1]
        source = np.repeat(front, ends - starts)
        entries = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
        target = graph.succ[entries.astype(np.int64)] if len(entries) else np.empty(0, np.int64)
        np.maximum.at(depth, target, depth[source] + 1)
        np.subtract.at(left, target, 1)
        front = np.unique(target[left[target] == 0])
    return depth


def assert_every_task_is_created_once(graph: TaskGraph) -> None:
    graph.validate()  # two parents are refused
    assert np.flatnonzero(graph.parent < 0).tolist() == [0]
    assert graph.detached is not None
    assert graph.detached[1:].all()


@pytest.mark.parametrize(("name", "tasks", "faces", "share"), STENCILS)
def test_stencils_have_the_published_counts(
    name: str, tasks: int, faces: int, share: float
) -> None:
    graph = make_workload(name).graph
    assert_every_task_is_created_once(graph)
    assert graph.n_tasks - 1 == tasks
    assert counts(graph)["sweep"] == 245_760
    assert graph.n_edges == 61 * 4096 + faces + 4096
    pieces = 24 if name.endswith("sgi192") else 8
    assert graph.n_blocks == graph.n_edges + 4096 * pieces
    sweeps = np.flatnonzero(of_class(graph, "sweep"))
    lengths = np.diff(graph.access_ptr)[sweeps]
    interior = int(sweeps[np.argmax(lengths)])
    inputs = input_bytes(graph, interior)
    assert max(inputs) == inputs[0] == 512 * 1024
    assert 100 * inputs[0] / sum(inputs) == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize(("name", "depth", "width", "parallelism"), SEIDEL_SHAPES)
def test_seidel_is_a_wave(name: str, depth: int, width: int, parallelism: float) -> None:
    graph = make_workload(name).graph
    sweeps = of_class(graph, "sweep")
    level = depths(graph)[sweeps]
    widths = np.bincount(level)[1:]  # initial tasks are before all
    assert len(widths) == depth
    assert widths.max() == width
    assert widths.mean() == pytest.approx(parallelism, rel=1e-3)


def test_jacobi_is_layers() -> None:
    graph = make_workload("jacobi_3d_sgi192").graph
    assert np.bincount(depths(graph)[of_class(graph, "sweep")]).tolist() == [0, *[4096] * 60]


@pytest.mark.parametrize(
    ("name", "faces"),
    [
        ("jacobi_2d_opteron64", [512, 8192]),
        ("jacobi_3d_opteron64", [16384, 8192, 16384]),
        ("jacobi_3d_sgi192", [32768, 8192, 8192]),
        ("seidel_2d_sgi192", [4096, 1024]),
        ("seidel_3d_opteron64", [8192, 16384, 16384]),
        ("seidel_3d_sgi192", [32768, 2048, 32768]),
    ],
)
def test_faces_have_the_published_sizes(name: str, faces: list[int]) -> None:
    sizes = Counter(make_workload(name).graph.block_bytes.tolist())
    for piece in (512 * 1024, 4, 65536, 21845, 21846):  # centres, tokens, pieces of the matrix
        sizes.pop(piece, None)
    assert set(sizes) == set(faces)


def neighbours(cell: tuple[int, ...], grid: tuple[int, ...], by: int) -> list[tuple[int, ...]]:
    """Return the existing cells one step down (-1) or up (1) along each dimension."""
    found = [
        tuple(c + by if axis == k else c for axis, c in enumerate(cell)) for k in range(len(grid))
    ]
    return [c for c in found if all(0 <= x < n for x, n in zip(c, grid, strict=True))]


@pytest.mark.parametrize("name", ["jacobi", "seidel"])
@pytest.mark.parametrize("grid", [(5,), (3, 2), (2, 3, 2)])
@pytest.mark.parametrize("sweeps", [1, 2, 3])
def test_stencil_dependences_one_by_one(name: str, grid: tuple[int, ...], sweeps: int) -> None:
    """T(L, c) waits for its own block and its neighbours, of the sweeps that the method says."""
    params: dict[str, Any] = {"sweeps": sweeps}
    for axis, extent in zip("xyz", grid, strict=False):
        params |= {f"size_{axis}": 4 * extent, f"block_{axis}": 4}
    graph = generate_workload(name, params).graph
    assert_every_task_is_created_once(graph)
    cells = list(np.ndindex(*grid))
    n = len(cells)
    first = int(np.flatnonzero(of_class(graph, "initial"))[0])
    number = {
        (stage, cell): first + stage * n + i
        for stage in range(sweeps + 2)
        for i, cell in enumerate(cells)
    }
    expected = set()
    for stage in range(1, sweeps + 1):
        for cell in cells:
            task = number[stage, cell]
            low = stage if name == "seidel" else stage - 1
            expected.add((number[stage - 1, cell], task))
            expected |= {(number[low, other], task) for other in neighbours(cell, grid, -1)}
            expected |= {(number[stage - 1, other], task) for other in neighbours(cell, grid, 1)}
    last = graph.n_tasks - 1
    for cell in cells:
        expected.add((number[sweeps, cell], number[sweeps + 1, cell]))
        expected.add((number[sweeps + 1, cell], last))
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    assert set(zip(source.tolist(), graph.succ.tolist(), strict=True)) == expected
    for (stage, cell), task in number.items():
        if stage >= 2:
            assert graph.parent[task] == number[stage - 2, cell]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("jacobi", {"size_x": 2**16, "block_x": 2**12, "sweeps": 4}),
        ("seidel", {"size_x": 64, "block_x": 16, "size_y": 64, "block_y": 16, "sweeps": 4}),
        ("blur_roberts", {"size_x": 64, "size_y": 64, "block_x": 16, "block_y": 16}),
        ("bitonic", {"stages": 4, "block_elements": 64}),
        ("kmeans", {"points": 640, "block_points": 10, "rounds": 3}),
        ("cholesky_dataflow", {"tiles": 5, "tile_size": 8}),
    ],
)
def test_private_buffers_have_one_producer_and_one_consumer(
    name: str, params: dict[str, Any]
) -> None:
    graph = generate_workload(name, params).graph
    assert_every_task_is_created_once(graph)
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    edges = Counter(zip(source.tolist(), graph.succ.tolist(), strict=True))
    writer = {
        b: t for b, t, w in zip(graph.access_block, task, graph.written_bytes, strict=True) if w
    }
    found: Counter[tuple[int, int]] = Counter()
    for block, reader, read in zip(graph.access_block, task, graph.read_bytes, strict=True):
        pair = (int(writer.get(block, -1)), int(reader))
        if read and pair in edges:
            found[pair] += 1
    assert found == edges


def test_sequential_control_creates_everything_from_the_root() -> None:
    for name in ("jacobi", "blur_roberts", "bitonic", "kmeans", "cholesky_dataflow"):
        parallel = generate_workload(name).graph
        graph = generate_workload(name, {"control": "sequential"}).graph
        graph.validate()
        assert "create" not in graph.class_names
        assert graph.child.tolist() == list(range(1, graph.n_tasks))
        assert counts(graph) == counts(parallel) - Counter({"create": 10**6})
        assert graph.n_edges == parallel.n_edges


def test_shared_versions_keep_tasks_and_edges() -> None:
    for name in ("jacobi", "seidel", "blur_roberts", "bitonic", "kmeans"):
        private = generate_workload(name).graph
        shared = generate_workload(name, {"version": "shared"}).graph
        shared.validate()
        np.testing.assert_array_equal(shared.succ, private.succ)
        np.testing.assert_array_equal(shared.child, private.child)
        assert shared.n_blocks < private.n_blocks
        np.testing.assert_array_equal(shared.block_bytes[:8], private.block_bytes[:8])


@pytest.mark.parametrize(
    ("name", "after"), [("jacobi", {1: 8, 2: 0, 3: 8}), ("seidel", {1: 0, 2: 0, 3: 0})]
)
def test_shared_jacobi_has_two_matrices_and_seidel_one(name: str, after: dict[int, int]) -> None:
    """Four blocks of 16 elements in two pieces of 64 bytes: block c is pieces 2 c and 2 c + 1.

    A matrix has 8 pieces, so that the second one begins with piece 8. A sweep of jacobi reads in
    the matrix into which the one before has written; seidel has only one.
    """
    params = {"size_x": 64, "block_x": 16, "sweeps": 3, "version": "shared", "global_pieces": 2}
    graph = generate_workload(name, params).graph
    assert graph.n_blocks == 8 + max(after.values())
    sweeps = np.flatnonzero(of_class(graph, "sweep")).reshape(3, 4)
    for number, tasks in enumerate(sweeps, 1):
        reads, writes = after.get(number - 1, 0), after[number]
        for c, task in enumerate(tasks.tolist()):
            part = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
            columns = graph.access_block, graph.read_bytes, graph.written_bytes
            found = list(zip(*(column[part].tolist() for column in columns), strict=True))
            faces = [2 * (c - 1) + 1] * (c > 0) + [2 * (c + 1)] * (c < 3)
            assert sorted(b for b, read, _ in found if read == 8) == [reads + f for f in faces]
            own = [2 * c, 2 * c + 1]
            assert [b for b, read, _ in found if read == 64] == [reads + p for p in own]
            assert [b for b, _, written in found if written == 64] == [writes + p for p in own]
    others = ~of_class(graph, "sweep")
    assert (np.diff(graph.access_ptr)[others] == 0).all()


def test_bitonic_has_the_published_counts() -> None:
    graph = make_workload("bitonic_opteron64").graph
    assert_every_task_is_created_once(graph)
    found = counts(graph)
    assert (found["tri"], found["ch"], found["atom"]) == (24_576, 135_168, 49_152)
    assert sum(found[name] for name in ("sort", "tri", "ch", "atom")) == 212_992
    assert graph.n_tasks - 1 == 221_697
    assert graph.n_edges - 4096 == 376_832
    level = depths(graph)
    assert level[of_class(graph, "term")].max() + 1 == 93
    widths = {name: np.bincount(level[of_class(graph, name)]).max() for name in ("ch", "atom")}
    assert widths == {"ch": 2048, "atom": 4096}


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_bitonic_sorts(stages: int) -> None:
    """Executing the network on blocks of one element sorts them; tri reverses its second block."""
    graph = generate_workload("bitonic", {"stages": stages, "block_elements": 1}).graph
    assert_every_task_is_created_once(graph)
    n = 2**stages
    rng = np.random.default_rng(stages)
    values = rng.permutation(n)
    pieces = generate_workload(
        "bitonic",
        {"stages": stages, "block_elements": 1, "version": "shared", "global_pieces": 1},
    ).graph
    depth = depths(pieces)
    for task in np.lexsort((np.arange(pieces.n_tasks), depth)):
        name = pieces.class_names[pieces.task_class[task]]
        if name in ("tri", "ch"):
            a, b = sorted(
                pieces.access_block[pieces.access_ptr[task] : pieces.access_ptr[task + 1]].tolist()
            )
            values[a], values[b] = min(values[a], values[b]), max(values[a], values[b])
    assert values.tolist() == list(range(n))


def test_blur_roberts_has_the_published_counts() -> None:
    for name, tasks, size, share in (
        ("blur_roberts_opteron64", 67_585, 256 * 1024, 98.3),
        ("blur_roberts_sgi192", 135_169, 512 * 1024, 98.4),
    ):
        graph = make_workload(name).graph
        assert_every_task_is_created_once(graph)
        assert graph.n_tasks - 1 == tasks
        roberts = np.flatnonzero(of_class(graph, "roberts"))
        inputs = max((input_bytes(graph, int(t)) for t in roberts[:2000]), key=sum)
        assert max(inputs) == size
        tokens = [x for x in inputs if x == 4]
        assert len(tokens) == 8
        data = [x for x in inputs if x != 4]
        assert 100 * size / sum(data) == pytest.approx(share, abs=0.05)


def test_blur_roberts_tokens_go_to_the_blocks_around() -> None:
    graph = generate_workload(
        "blur_roberts", {"size_x": 48, "size_y": 64, "block_x": 16, "block_y": 16}
    ).graph
    roberts = np.flatnonzero(of_class(graph, "roberts"))
    tokens = sorted(input_bytes(graph, int(t)).count(4) for t in roberts)
    assert tokens == [3] * 4 + [5] * 6 + [8] * 2


def test_kmeans_has_the_published_counts() -> None:
    workload = make_workload("kmeans_opteron64", {"rounds": 3})
    graph = workload.graph
    assert_every_task_is_created_once(graph)
    found = counts(graph)
    assert (found["assign"], found["reduce"], found["bcast"]) == (3 * 4096, 3 * 585, 4 * 585)
    assigned = np.flatnonzero(of_class(graph, "assign"))
    inputs = input_bytes(graph, int(assigned[0]))
    assert sorted(inputs) == [4, 440, 40_000, 400_000]
    assert 100 * 400_000 / sum(inputs) == pytest.approx(90.8, abs=0.05)
    reduced = np.flatnonzero(of_class(graph, "reduce"))
    assert sum(input_bytes(graph, int(reduced[0]))) == 3_904
    assert graph.ops[0][assigned[0]] == 5 * 1.1e6


def test_kmeans_rounds_follow_each_other() -> None:
    graph = generate_workload("kmeans", {"points": 640, "block_points": 10, "rounds": 4}).graph
    level = depths(graph)
    assigns = level[of_class(graph, "assign")].reshape(4, 64)
    steps = 1 + 2 * 2  # two levels of 8 and 1 tasks, up and down
    assert np.diff(assigns, axis=0).tolist() == [[steps] * 64] * 3


def test_cholesky_has_the_published_counts() -> None:
    graph = make_workload("cholesky_8192_opteron64").graph
    assert_every_task_is_created_once(graph)
    found = counts(graph)
    kernels = [found[name] for name in ("potrf", "trsm", "syrk", "gemm")]
    assert kernels == [32, 496, 496, 4960]
    # One proxy per task and tile that it reads: 496 trsm, 496 syrk, twice 4960 gemm.
    assert (found["proxy"], found["final"], found["create"]) == (10_912, 528, 32)
    assert Counter(graph.block_bytes.tolist()) == {
        524_288: 496 + 4960 + 528 + 10_912,
        65_536: 2 * 528 * 8,
        4: 1,
    }


@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 7])
def test_cholesky_has_the_counts_of_its_formulas(tiles: int) -> None:
    """Sums over columns, which the docstring of the generator has in closed form."""
    params = {"tiles": tiles, "tile_size": 4, "element_bytes": 8, "global_pieces": 1}
    graph = generate_workload("cholesky_dataflow", params).graph
    left = [tiles - 1 - j for j in range(tiles)]  # rows below the diagonal, by column
    updates = sum(j * (m + 1) for j, m in enumerate(left))
    solved = sum(m + 1 for m in left)
    # potrf has m readers (trsm); each of m trsm has m - 1 (gemm) and one (syrk).
    proxies = sum(m + m * m for m in left)
    assert graph.n_tasks == updates + 2 * solved + proxies + tiles + 2
    assert graph.n_edges == updates + solved + proxies + 1
    w = tiles
    assert proxies == (w - 1) * w * (w + 1) // 3
    assert 6 * updates == (w - 1) * w * (w + 1)
    assert graph.block_bytes.sum() == 128 * (w * w * (w + 1) // 2 + w * (w + 1)) + 4
    per_task = Counter(
        int(graph.access_ptr[t + 1] - graph.access_ptr[t])
        for t in np.flatnonzero(of_class(graph, "proxy"))
    )
    assert per_task == ({2: proxies} if proxies else {})


class Cholesky:
    """Numbers of the tasks of a small factorisation, by what they do."""

    def __init__(self, graph: TaskGraph, tiles: int) -> None:
        lower = [(i, j) for i in range(tiles) for j in range(i + 1)]
        keys: dict[str, list[tuple[int, ...]]] = {
            "potrf": [(j, j) for j in range(tiles)],
            "trsm": [(i, j) for i, j in lower if i > j],
            "syrk": [(i, i, k) for i in range(tiles) for k in range(i)],
            "gemm": [(i, j, k) for i, j in lower if i > j for k in range(j)],
            "final": lower,
            "create": [(j,) for j in range(tiles)],
        }
        numbers = {
            name: dict(zip(of, np.flatnonzero(of_class(graph, name)).tolist(), strict=True))
            for name, of in keys.items()
        }
        self.solved = numbers["potrf"] | numbers["trsm"]
        self.update = numbers["syrk"] | numbers["gemm"]
        self.final = numbers["final"]
        self.creator = numbers["create"]
        self.last = int(np.flatnonzero(of_class(graph, "last"))[0])

    def readers(self) -> list[tuple[tuple[int, int], int]]:
        """Return every solved tile with every task that needs it, from the right-looking loops."""
        tiles = len(self.creator)
        found = []
        for k in range(tiles):
            for i in range(k + 1, tiles):
                found.append(((k, k), self.solved[i, k]))
                for j in range(k + 1, i):
                    found += [((i, k), self.update[i, j, k]), ((j, k), self.update[i, j, k])]
                found.append(((i, k), self.update[i, i, k]))
        return found


def test_cholesky_dependences_one_by_one() -> None:
    """Chains of updates and a copy per consumer of a tile."""
    tiles = 6
    graph = generate_workload("cholesky_dataflow", {"tiles": tiles, "tile_size": 4}).graph
    named = Cholesky(graph, tiles)
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    edges = set(zip(source.tolist(), graph.succ.tolist(), strict=True))
    assert len(edges) == graph.n_edges
    proxies = np.flatnonzero(of_class(graph, "proxy")).tolist()
    reader = {p: t for p, t in edges if p in set(proxies)}
    blocks = {
        t: graph.access_block[graph.access_ptr[t] : graph.access_ptr[t + 1]].tolist()
        for t in range(graph.n_tasks)
    }
    copied = {}
    for tile, final in named.final.items():
        pieces = blocks[final][1:9]  # after its input
        for p in proxies:
            if blocks[p][:-1] == pieces:  # before its output
                copied[p] = tile
                assert graph.parent[p] == final
    assert sorted((copied[p], reader[p]) for p in proxies) == sorted(named.readers())
    expected = {(p, reader[p]) for p in proxies}
    expected.add((named.final[tiles - 1, tiles - 1], named.last))
    for (i, j), solved in named.solved.items():
        expected.add((solved, named.final[i, j]))
        chain = [*(named.update[i, j, k] for k in range(j)), solved]
        expected |= set(pairwise(chain))
        for k, task in enumerate(chain[:-1]):
            creator = named.update[i, j, k - 2] if k >= 2 else named.creator[j,]
            assert graph.parent[task] == creator
        assert graph.parent[solved] == graph.parent[named.final[i, j]] == named.creator[j,]
        place = 8 * (i * (i + 1) // 2 + j)
        assert blocks[chain[0]][:8] == list(range(place, place + 8))  # of the given matrix
        assert all(min(blocks[task]) >= 8 * len(named.final) for task in chain[1:])
    assert edges == expected


def test_page_migration_puts_buffers_on_nodes_in_turn() -> None:
    graph = generate_workload("page_migration", {"traversals": 1}).graph
    graph.validate()
    assert (graph.n_tasks, graph.n_blocks) == (8 * 65, 8 * 64 * 32)
    assert graph.block_bytes.sum() == 32 * 2**30
    traverse = np.flatnonzero(of_class(graph, "traverse")).reshape(8, 64)
    for change in (0, 3):
        for thread in (0, 5, 63):
            task = traverse[change, thread]
            blocks = graph.access_block[graph.access_ptr[task] : graph.access_ptr[task + 1]]
            assert set((blocks % 8).tolist()) == {thread % 8}
            assert len(set(blocks.tolist())) == 32
    assert len(np.unique(graph.access_block)) == graph.n_blocks


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("jacobi", {"size_x": 10, "block_x": 3}, "block_x: found 3, accepted a divisor"),
        ("jacobi", {"size_y": 8}, "size_y and block_y: accepted both or none"),
        ("seidel", {"size_z": 8, "block_z": 4}, "size_z: accepted only with size_y"),
        ("blur_roberts", {"size_x": 10, "block_x": 3}, "block_x: found 3"),
        ("kmeans", {"points": 10, "block_points": 3}, "block_points: found 3"),
        ("kmeans", {"fan": 1}, "fan"),
        ("page_migration", {"piece_bytes": 3}, "piece_bytes: found 3"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        generate_workload(name, params)
