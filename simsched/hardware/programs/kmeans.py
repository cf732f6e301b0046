"""k-means by Lloyd's iteration: a spawn tree that reduces in its joins.

With n points in d dimensions and k centres:

* *Tasks.* The root covers all points; a piece is halved until it has at most `leaf_points`. Leaves
  (``assign``) find the nearest centre of each of their points and add the points up by centre in a
  slot of ``k (d + 1)`` numbers. The joins of inner tasks (``reduce``) add their children's slots,
  that of the root (``move``) then moves each centre to the mean of its points; one that has none
  stays. An iteration is one step of Lloyd's.
* *Blocks.* One per leaf of points, ``8 n d`` bytes in all; one of centres; one slot per task,
  rounded up to lines of 64 bytes.
* *Bytes.* A leaf reads its points and the centres and writes its slot. A join reads two slots and
  writes its own; the root's also reads that and writes the centres.
* *Operations.* Differences squared and added: ``n k d`` in a leaf of n points; additions, ``k (d +
  1)``, in a join, and as many divisions in the root's.
* *Initialisation.* A tree of the same shape draws the points, uniform in a cube, and one more task
  puts the centres at the first k points. Slots are first touched by the tasks they belong to.

The sums are added in the order that the tree gives, so that a run repeats bit for bit.

References
----------
Lloyd, *Least squares quantization in PCM*, IEEE Transactions on Information Theory 28(2), 1982.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.vq import vq

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    AccessList,
    ProgramData,
    Seed,
    hashed_units,
    largest_error,
    refusal,
    untouched,
)
from simsched.workload.builder import Adjacency
from simsched.workload.graph import Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds
from simsched.workload.spawn_tree import SpawnTree, divide_in_halves

CLASSES = ("divide", "initialise", "place", "assign", "reduce", "move")
_DIVIDE, _INITIALISE, _PLACE, _ASSIGN, _REDUCE, _MOVE = range(6)
TOLERANCE = 1e-9


@program(
    small={"points": 2000, "dimensions": 3, "centres": 5, "leaf_points": 150, "iterations": 3},
)
def kmeans(
    *,
    points: Annotated[int, Bounds(2, 2**31)] = 2**17,
    dimensions: Annotated[int, Bounds(1, 1024)] = 8,
    centres: Annotated[int, Bounds(1, 1024)] = 16,
    leaf_points: Annotated[int, Bounds(1, 2**31)] = 2**11,
    iterations: Annotated[int, Bounds(1, 10**6)] = 30,
    seed: Seed = 0,
) -> Program:
    """k-means by Lloyd's iteration on uniform points.

    Parameters
    ----------
    points, dimensions : int
        Number of points, more than `leaf_points`, and of their coordinates.
    centres : int
        Number of centres, at most the number of points.
    leaf_points : int
        Most points of a leaf.
    iterations : int
        Number of steps.
    seed : int
        Seed of the points.
    """
    least = max(1, points >> 16)
    if not least <= leaf_points < points:
        accepted = f"{least} to {points - 1} for {points} points"
        raise refusal("kmeans", "leaf_points", leaf_points, accepted)
    if centres > points:
        raise refusal("kmeans", "centres", centres, f"1 to {points} for {points} points")
    tree = divide_in_halves.grow(points, leaf_points + 1)
    slot = -(-centres * (dimensions + 1) // 8) * 8
    data = ProgramData(tree.n_tasks + 1, tree.n_tasks)
    found = untouched((centres, dimensions), np.float64)
    own = data.add(untouched((points, dimensions), np.float64), 8 * dimensions * tree.bounds[1:])
    centre_block = data.add(found)
    slots = data.add(
        untouched((tree.n_tasks, slot), np.float64),
        8 * slot * np.arange(1, tree.n_tasks + 1, dtype=np.int64),
    )
    graph = _graph(tree, centres, dimensions, data, (own, centre_block, slots))
    args = _arguments(tree)
    workload = Workload("kmeans", graph, iterations, _init(tree, data, own, centre_block))
    return data.program(
        workload,
        args=args,
        init_args=np.append(args, np.zeros((1, 3), dtype=np.int64), axis=0),
        functions=(frozenset({"initialise", "place", "assign"}), frozenset({"reduce", "move"})),
        result_error=lambda: largest_error(
            found,
            _lloyd(hashed_units(seed, points * dimensions), centres, dimensions, iterations),
            TOLERANCE,
        ),
        params=(seed, centres, dimensions, slot),
    )


def _init(
    tree: SpawnTree, data: ProgramData, own: Int64Array, centre_block: Int64Array
) -> TaskGraph:
    """Return the initialisation: a tree over the points, and a task for the centres."""
    bytes_of = data.block_bytes
    accessed = AccessList()
    accessed.add(tree.leaves, own, written=bytes_of[own])
    accessed.add(tree.n_tasks, centre_block, written=bytes_of[centre_block])
    ops = np.zeros(tree.n_tasks)
    ops[tree.leaves] = bytes_of[own] // 8
    return data.graph(
        np.append(ops, bytes_of[centre_block] // 8),
        accessed,
        task_class=np.append(np.where(tree.is_leaf, _INITIALISE, _DIVIDE), _PLACE),
        class_names=CLASSES,
        children=Adjacency(
            np.append(tree.children.ptr, tree.children.ptr[-1]), tree.children.target
        ),
    )


def _graph(
    tree: SpawnTree,
    centres: int,
    dimensions: int,
    data: ProgramData,
    blocks: tuple[Int64Array, Int64Array, Int64Array],
) -> TaskGraph:
    inner_class = np.full(tree.n_tasks, _REDUCE)
    inner_class[0] = _MOVE
    sums = centres * (dimensions + 1)
    join_ops = np.where(tree.is_leaf, 0.0, float(sums))
    join_ops[0] *= 2.0
    size = tree.last - tree.first
    return data.graph(
        np.where(tree.is_leaf, size * float(centres * dimensions), 0.0),
        _accesses(tree, 8 * sums, data.block_bytes, blocks),
        join_ops=join_ops,
        task_class=np.where(tree.is_leaf, _ASSIGN, inner_class),
        class_names=CLASSES,
        children=tree.children,
    )


def _accesses(
    tree: SpawnTree,
    sum_bytes: int,
    bytes_of: Int64Array,
    blocks: tuple[Int64Array, Int64Array, Int64Array],
) -> AccessList:
    own, centre_block, slots = blocks
    leaves, inner = tree.leaves, np.flatnonzero(~tree.is_leaf)
    left, right = _arguments(tree)[inner, 1:].T
    found = AccessList()
    found.add(leaves, centre_block, read=bytes_of[centre_block])
    found.add(leaves, own, read=bytes_of[own])
    found.add(leaves, slots[leaves], read=sum_bytes, written=sum_bytes)
    found.add(inner, slots[left], read=sum_bytes, in_join=True)
    found.add(inner, slots[right], read=sum_bytes, in_join=True)
    found.add(inner, slots[inner], read=sum_bytes * (inner == 0), written=sum_bytes, in_join=True)
    found.add(0, centre_block, written=bytes_of[centre_block], in_join=True)
    return found


def _arguments(tree: SpawnTree) -> Int64Array:
    """Return slot and points of leaves, slots of itself and of its children of other tasks."""
    own = np.arange(tree.n_tasks, dtype=np.int64)
    args = np.stack((own, tree.first, tree.last), axis=1)
    inner = np.flatnonzero(~tree.is_leaf)
    begin = tree.children.ptr[inner]
    args[inner, 1] = tree.children.target[begin]
    args[inner, 2] = tree.children.target[begin + 1]
    return args


def _lloyd(
    coordinates: NDArray[np.float64], centres: int, dimensions: int, iterations: int
) -> NDArray[np.float64]:
    """Return the centres after some steps."""
    points = coordinates.reshape(-1, dimensions)
    found = points[:centres]
    ones, order = np.ones(len(points)), np.arange(len(points) + 1)
    for _ in range(iterations):
        nearest, _ = vq(points, found)
        belongs = sparse.csr_array((ones, nearest, order), shape=(len(points), centres))
        counts = np.bincount(nearest, minlength=centres)[:, None]
        sums = np.asarray(belongs.T @ points)
        found = np.where(counts > 0, sums / np.maximum(counts, 1), found)
    return found
