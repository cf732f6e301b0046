"""Merge sort as a divide-and-conquer spawn tree whose joins merge.

With N items and L leaves:

* *Tasks.* The root covers all items. Division in halves until a piece has at most `leaf_items`
  gives 2 L - 1 tasks, with L = 2^k when N = 2^k n and `leaf_items` is n; the irregular tree is
  :func:`~simsched.workload.spawn_tree.unbalanced`.
* *Blocks.* One per leaf, or per `block_items` items: its items and as much of a second array.
* *Bytes.* A leaf of n items of e bytes reads ``n e`` bytes, then writes them: it sorts in its
  cache. A join of n items reads ``n e`` and writes ``n e`` bytes, from one array to the other,
  block by block in the order of items; `write_allocate` reads ``n e`` more.
* *Operations.* ``ops_per_item`` per comparison, with its moves: ``n log2 n`` comparisons in a leaf
  of n items, at least n, and ``n log2 d`` in the join of a task with n items and d children.
* *Initialisation.* Leaves write all bytes of the blocks they cover.

With `merge` "none", joins do nothing and only leaves touch data, as a scheduler may assume that
plans with the data of leaves.

References
----------
Knuth, *The Art of Computer Programming*, volume 3, section 5.2.4. Book of docs/sources, chapter 3
(program ``Mergesort``, of 1024 x 1024 integers; more is not said).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from simsched.workload.builder import (
    Accesses,
    Overlaps,
    accesses,
    build_graph,
    check_size,
    overlaps,
)
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Cost, Count, Size, generator
from simsched.workload.row_sweep import cutoff_above
from simsched.workload.spawn_tree import (
    SpawnTree,
    divide_in_halves,
    divide_unevenly,
    first_touch_tree,
)

_LEVELS = 40  # an allowance for the levels of joins


@generator("mergesort", small={"items": 4096, "leaf_items": 256, "iterations": 2})
def mergesort(
    *,
    items: Count = 1 << 20,
    element_bytes: Size = 4,
    irregular: bool = False,
    leaf_items: Count = 1024,
    block_items: Count | None = None,
    merge: Literal["serial", "none"] = "serial",
    write_allocate: bool = True,
    ops_per_item: Cost = 4.0,
    init_ops_per_item: Cost = 2.0,
    iterations: Count = 1,
) -> Workload:
    """Merge sort: leaves sort, joins merge, regular or irregular.

    Parameters
    ----------
    items : int
        Number of items N.
    element_bytes : int
        Bytes of one item.
    irregular : bool
        Divide unevenly instead of in halves.
    leaf_items : int
        Most items of a leaf; at least 3 when irregular.
    block_items : int, optional
        Most items of a block; a block per leaf by default.
    merge : {"serial", "none"}
        Joins merge what their children have sorted, one worker each, or do nothing.
    write_allocate : bool
        Whether stores of a join first read what they overwrite, as cached stores do.
    ops_per_item, init_ops_per_item : float
        Operations per comparison and its moves; of the initialisation per item of both arrays.
    iterations : int
        How often the array is sorted.
    """
    check_size("mergesort", data_bytes=3 * _LEVELS * items * element_bytes)
    division = divide_unevenly if irregular else divide_in_halves
    tree = division.grow(items, cutoff_above("mergesort", division, "leaf_items", leaf_items))
    blocks = tree
    if block_items is not None:
        cutoff = cutoff_above("mergesort", division, "block_items", block_items)
        blocks = division.grow(items, cutoff)
    sizes = np.diff(blocks.bounds) * (2 * element_bytes)
    merges = merge == "serial"
    join_reads = element_bytes * (2 if write_allocate else 1)
    n_items = (tree.last - tree.first).astype(np.float64)
    sorting = n_items * np.maximum(np.log2(np.maximum(n_items, 1.0)), 1.0)
    merging = n_items * np.log2(np.maximum(np.diff(tree.children.ptr), 1))
    graph = build_graph(
        np.where(tree.is_leaf, sorting * ops_per_item, 0.0),
        join_ops=merging * (ops_per_item if merges else 0.0),
        task_class=tree.task_class,
        class_names=("merge", "sort"),
        children=tree.children,
        accessed=_accesses(tree, blocks.bounds, element_bytes, join_reads, merges=merges),
        block_bytes=sizes,
    )
    init = first_touch_tree(blocks, blocks.bounds, sizes, 2 * init_ops_per_item)
    return Workload("mergesort", graph, iterations, init)


def _accesses(
    tree: SpawnTree, bounds: Int64Array, element_bytes: int, join_reads: int, *, merges: bool
) -> Accesses:
    """Return the accesses of leaves and, if they merge, of joins, which read more per item."""
    task = np.arange(tree.n_tasks) if merges else tree.leaves
    touched: Overlaps = overlaps(tree.first[task], tree.last[task], bounds)
    owner = task[touched.owner]
    in_join = ~tree.is_leaf[owner]
    read = touched.items * np.where(in_join, join_reads, element_bytes)
    written = touched.items * element_bytes
    # Leaves update a part of a block, which one access with both would count twice.
    copies = np.where(in_join, 1, 2)
    part, last = np.repeat(touched.part, copies), np.cumsum(copies) - 1
    reads, writes = np.zeros((2, len(part)), np.int64)
    reads[last - (copies - 1)] = read
    writes[last] = written
    return accesses(
        np.repeat(owner, copies),
        part,
        reads,
        writes,
        tree.n_tasks,
        in_join=np.repeat(in_join, copies),
    )
