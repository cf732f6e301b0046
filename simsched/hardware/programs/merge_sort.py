"""Merge sort of random doubles: a spawn tree with work in its leaves and joins.

With n keys:

* *Tasks.* The root covers all keys; a piece is halved until it has at most `leaf_keys`. Leaves
  (``sort``) copy their part of the input and sort it: runs of 16 keys by insertion, then by
  merging. The join of an inner task (``merge``) merges its halves, serially: the last merge, of
  all keys, leaves at most about ``log2(n) / 2`` of parallelism.
* *Blocks.* One per leaf of the input, of the sorted data and of the buffer, 8 bytes per key.
* *Bytes.* A leaf reads its input, and reads and writes its data and buffer. A join reads and
  writes all data of its halves and the buffer of the left one.
* *Operations.* Keys placed: ``n ceil(log2(n))`` in a leaf of n keys, n in a merge of n keys.
* *Initialisation.* A tree of the same shape writes all blocks.

References
----------
Cormen, Leiserson, Rivest and Stein, *Introduction to algorithms*, 3rd edition, 2009, section 27.3
(with the serial merge).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    AccessList,
    ProgramData,
    Seed,
    exact,
    hashed_units,
    refusal,
    untouched,
)
from simsched.workload.builder import overlaps
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds
from simsched.workload.spawn_tree import SpawnTree, divide_in_halves

CLASSES = ("divide", "initialise", "merge", "sort")
_DIVIDE, _INITIALISE, _MERGE, _SORT = range(4)
KEY_BYTES = 8


@program(small={"keys": 5000, "leaf_keys": 300, "iterations": 2})
def merge_sort(
    *,
    keys: Annotated[int, Bounds(1, 2**32)] = 2**21,
    leaf_keys: Annotated[int, Bounds(1, 2**32)] = 2**14,
    iterations: Annotated[int, Bounds(1, 10**6)] = 2,
    seed: Seed = 0,
) -> Program:
    """Merge sort of random doubles.

    Parameters
    ----------
    keys : int
        Number of keys.
    leaf_keys : int
        Most keys that a leaf sorts.
    iterations : int
        How often the same keys are sorted.
    seed : int
        Seed of the keys.
    """
    least = keys >> 20
    if leaf_keys < least:
        raise refusal("merge_sort", "leaf_keys", leaf_keys, f"{least} or more for {keys} keys")
    tree = divide_in_halves.grow(keys, max(leaf_keys + 1, 2))
    data = ProgramData(tree.n_tasks, tree.n_tasks)
    ends = KEY_BYTES * tree.bounds[1:]
    sorted_keys = untouched(keys, np.float64)
    blocks = tuple(
        data.add(array, ends)
        for array in (untouched(keys, np.float64), sorted_keys, untouched(keys, np.float64))
    )
    first_touch = AccessList()
    for own in blocks:
        first_touch.add(tree.leaves, own, written=data.block_bytes[own])
    size = tree.last - tree.first
    steps = size * np.ceil(np.log2(np.maximum(size, 2)))
    init = data.graph(
        np.where(tree.is_leaf, 3.0 * size, 0.0),
        first_touch,
        task_class=np.where(tree.is_leaf, _INITIALISE, _DIVIDE),
        class_names=CLASSES,
        children=tree.children,
    )
    graph = data.graph(
        np.where(tree.is_leaf, steps, 0.0),
        _accesses(tree, blocks),
        join_ops=np.where(tree.is_leaf, 0.0, size),
        task_class=np.where(tree.is_leaf, _SORT, _MERGE),
        class_names=CLASSES,
        children=tree.children,
    )
    args = _ranges(tree)
    return data.program(
        Workload("merge_sort", graph, iterations, init),
        args=args,
        init_args=args,
        functions=(frozenset({"initialise", "sort"}), frozenset({"merge"})),
        result_error=lambda: exact(sorted_keys, np.sort(hashed_units(seed, keys))),
        params=(seed,),
    )


def _ranges(tree: SpawnTree) -> Int64Array:
    """Return first key, first key of the right half and key after the last of each task."""
    middle = tree.first.copy()
    inner = np.flatnonzero(~tree.is_leaf)
    middle[inner] = tree.first[tree.children.target[tree.children.ptr[inner] + 1]]
    return np.stack((tree.first, middle, tree.last), axis=1)


def _accesses(tree: SpawnTree, blocks: tuple[Int64Array, ...]) -> AccessList:
    keys, data, buffer = blocks
    leaves = tree.leaves
    own = KEY_BYTES * np.diff(tree.bounds)
    found = AccessList()
    found.add(leaves, keys, read=own)
    found.add(leaves, data, read=own, written=own)
    found.add(leaves, buffer, read=own, written=own)
    inner = np.flatnonzero(~tree.is_leaf)
    middle = _ranges(tree)[inner, 1]
    left = overlaps(tree.first[inner], middle, tree.bounds)
    halves = overlaps(tree.first[inner], tree.last[inner], tree.bounds)
    both, moved = KEY_BYTES * halves.items, KEY_BYTES * left.items
    found.add(inner[halves.owner], data[halves.part], read=both, written=both, in_join=True)
    found.add(inner[left.owner], buffer[left.part], read=moved, written=moved, in_join=True)
    return found
