"""Tiled QR factorisation: counts, bytes, and order."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from simsched.workload.generators.qr import CLASSES
from simsched.workload.presets import make_workload


@pytest.mark.parametrize("tiles", [1, 2, 3, 7])
def test_tasks_and_operations_have_their_closed_form(tiles: int) -> None:
    size = 6
    graph = make_workload(f"qr[tiles={tiles}, tile_size={size}]").graph
    assert graph.n_tasks == tiles * (tiles + 1) * (2 * tiles + 1) // 6
    counts = np.bincount(graph.task_class, minlength=4).tolist()
    pairs = tiles * (tiles - 1) // 2
    squares = (tiles - 1) * tiles * (2 * tiles - 1) // 6
    assert counts == [tiles, pairs, pairs, squares]
    # 4/3 n^3 operations of a dense QR, and of the tiles' kernels what the triangle saves not.
    cubes = 4 / 3 * tiles + 2 * pairs + 2 * pairs + 4 * squares
    assert graph.ops.sum() == pytest.approx(cubes * size**3)


def test_the_matrix_is_stored_once() -> None:
    workload = make_workload("qr[tiles=3, tile_size=10, inner_block=2, element_bytes=8]")
    sizes = workload.graph.block_bytes
    assert sizes[:12].sum() == 30 * 30 * 8
    assert sizes[12:].tolist() == [10 * 2 * 8] * 6
    assert workload.init is not None
    assert workload.init.n_tasks == 12
    assert workload.init.written_bytes.tolist() == sizes[:12].tolist()


def test_reflectors_are_applied_in_order() -> None:
    graph = make_workload("qr[tiles=3, tile_size=4]").graph
    names = [CLASSES[kind] for kind in graph.task_class]
    expected = ["geqrt", "unmqr", "unmqr", *["tsqrt", "tsmqr", "tsmqr"] * 2]
    expected += ["geqrt", "unmqr", "tsqrt", "tsmqr", "geqrt"]
    assert names == expected
    edges = nx.DiGraph()
    for task in range(graph.n_tasks):
        for successor in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]].tolist():
            edges.add_edge(task, successor)
    reached = nx.transitive_closure(edges)
    # unmqr(0, 1) and tsqrt(1, 0) both follow geqrt(0) and not each other: one reads the reflectors
    # of tile (0, 0), the other one changes its triangle.
    assert reached.has_edge(0, 1)
    assert reached.has_edge(0, 3)
    assert not reached.has_edge(1, 3)
    assert not reached.has_edge(3, 1)
    # tsmqr(1, 0, 1) changes tile (0, 1) after unmqr(0, 1), with the reflectors of tsqrt(1, 0).
    assert reached.has_edge(1, 4)
    assert reached.has_edge(3, 4)
    # geqrt(1) follows both eliminations of column 0 only by tile (1, 1): tsmqr(1, 0, 1).
    assert edges.has_edge(4, 9)
    assert not edges.has_edge(7, 9)
    assert list(reached.predecessors(13)) != []
