"""k-means clustering: rounds of assignment, a reduction tree and a broadcast tree.

B blocks of S points in d dimensions, k clusters, R rounds, trees of fan f with levels of
ceil(B / f), ceil(ceil(B / f) / f), ..., 1 tasks (f of at least 2).

* init(b) reads block b of the global points and memberships and writes a copy of both to
  assign(1, b).
* assign(r, b) reads points (``4 d S`` bytes) and memberships (``4 S``) of its own block from the
  round before, centres (``4 k d``) and stop flag (4) from its leaf of the broadcast tree of round r
  - 1; it writes points and memberships for the next round, partial centres (``4 k d``), counts
  (``4 k``) and changes (4) to its leaf of the reduction tree of round r.
* reduce(r, level, x) reads the partial results of its up to f children and writes its own; the one
  at the top writes centres and stop flag to the broadcast tree of round r.
* bcast(r, level, x) reads centres and stop flag and writes a copy for each child. The tree of
  round 0 distributes the initial centres.
* final(b) reads what assign(R + 1, b) would read, writes the memberships to the global array and 4
  bytes to the last task.

How many rounds it takes depends on the data; R is a parameter.

* *Tasks.* Per round B + 2 trees; beside them a broadcast tree, B init, B final, the last, one that
  creates for every 4 blocks, and the root.
* *Creation.* The creating tasks create init(b) and assign(1, b); init(b) creates assign(2, b),
  assign(r, b) creates assign(r + 2, b), final(b) in place of assign(R + 1, b). The root creates the
  trees of the first two rounds; a tree task creates the one at its place two rounds later. What the
  source says about trees ends with their shape; their creation is that of blocks.
* *Operations.* ``ops_per_distance`` per point, cluster and dimension (two loads, subtraction,
  multiplication, addition), ``copy_ops_per_value`` per value copied or added up.

In the shared version assign reads the global points, updates the global memberships, and the small
buffers are tokens.

References
----------
Drebes et al., PACT 2016 (docs/sources/dataflow.md), section 4.3 and Table 3; dependences as in the
benchmark of the OpenStream distribution, December 2015.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated

import numpy as np

from simsched.workload.builder import check_size
from simsched.workload.dataflow_program import (
    Control,
    DataflowProgram,
    Version,
    check_divisor,
    create_in_stages,
    group_creation,
)
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, generator

GROUP, TOKEN_BYTES, VALUE_BYTES = 4, 4, 4


@generator(
    "kmeans",
    small={"points": 300, "block_points": 50, "rounds": 2, "fan": 3, "global_pieces": 2},
)
def kmeans(
    *,
    points: Count = 640_000,
    block_points: Count = 10_000,
    dimensions: Count = 10,
    clusters: Count = 11,
    rounds: Count = 20,
    fan: Annotated[int, Bounds(2, 2**20)] = 8,
    ops_per_distance: Cost = 5.0,
    copy_ops_per_value: Cost = 2.0,
    global_pieces: Count = 8,
    version: Version = "private",
    control: Control = "parallel",
) -> Workload:
    """k-means clustering of blocks of points, with private buffers.

    Parameters
    ----------
    points, block_points : int
        Points in all and in a block.
    dimensions, clusters : int
        Dimensions of a point, clusters.
    rounds : int
        Rounds until convergence.
    fan : int
        Children of a task of a tree.
    ops_per_distance : float
        Operations per point, cluster and dimension.
    copy_ops_per_value : float
        Operations per value that is copied or added up.
    global_pieces : int
        Blocks of data into which each block of the global arrays is divided, so that a policy can
        interleave it.
    version : {"private", "shared"}
        Private buffers, or global arrays that are read and updated in place.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the root creates all.
    """
    check_divisor("kmeans", "block_points", block_points, "points", points)
    n = points // block_points
    levels = tree_levels(n, fan)
    check_size("kmeans", tasks=(rounds + 2) * (n + 2 * sum(levels)))
    program = DataflowProgram(version, control)
    values, members = block_points * dimensions, block_points
    position = program.array(n, values * VALUE_BYTES, global_pieces)
    membership = program.array(n, members * VALUE_BYTES, global_pieces)
    creators = group_creation(program, (n,), GROUP)
    copying = (values + members) * copy_ops_per_value if program.is_private else 0.0
    first = program.tasks("init", n, copying)
    centre_values = clusters * dimensions
    tree = _Trees(program, levels, fan, centre_values * fan * copy_ops_per_value)
    broadcasts, assigns, reductions = [tree.tasks("bcast")], [], []
    for _ in range(rounds):
        assigns.append(program.tasks("assign", n, values * clusters * ops_per_distance))
        reductions.append(tree.tasks("reduce"))
        broadcasts.append(tree.tasks("bcast"))
    final = program.tasks("final", n, members * copy_ops_per_value if program.is_private else 0.0)
    last = program.tasks("last", 1)
    stages = np.stack([first, *assigns, final])
    create_in_stages(program, creators, stages, last)
    for trees in (broadcasts, reductions):
        tree.create(trees)
    program.buffer(stages[:-1], stages[1:], values * VALUE_BYTES)
    program.buffer(stages[:-1], stages[1:], members * VALUE_BYTES)
    result = (centre_values * VALUE_BYTES, VALUE_BYTES)  # centres, stop flag
    partial = (centre_values * VALUE_BYTES, clusters * VALUE_BYTES, VALUE_BYTES)
    for number, tasks in enumerate(broadcasts):
        for below, above in tree.links(stages[number + 1], tasks):
            for size in result:
                program.buffer(above, below, size)
    for number, tasks in enumerate(reductions):
        for below, above in tree.links(stages[number + 1], tasks):
            for size in partial:
                program.buffer(below, above, size)
        for size in result:
            program.buffer(tasks[-1:], broadcasts[number + 1][-1:], size)
    program.buffer(final, np.broadcast_to(last, (n,)), TOKEN_BYTES)
    if program.is_private:
        for array in (position, membership):
            program.use(first, array, read=True)
        program.use(final, membership, written=True)
    else:
        work = np.concatenate(assigns)
        program.use(work, np.tile(position, (rounds, 1)), read=True)
        program.use(work, np.tile(membership, (rounds, 1)), read=True, written=True)
    return Workload("kmeans", program.graph())


def tree_levels(leaves: int, fan: int) -> list[int]:
    """Return the number of tasks of each level of a tree, from the leaves' parents to the top.

    >>> tree_levels(4096, 8)
    [512, 64, 8, 1]
    """
    levels = [-(-leaves // fan)]
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // fan))
    return levels


class _Trees:
    """Reduction and broadcast trees of one shape; tasks are numbered from the lowest level up."""

    def __init__(self, program: DataflowProgram, levels: list[int], fan: int, ops: float) -> None:
        self._program, self._levels, self._fan, self._ops = program, levels, fan, ops

    def tasks(self, name: str) -> Int64Array:
        """Return the tasks of a new tree."""
        return self._program.tasks(name, sum(self._levels), self._ops)

    def create(self, trees: list[Int64Array]) -> None:
        """Let the root create the first two trees, and each tree the one after the next."""
        for tasks in trees[:2]:
            self._program.create(self._program.root, tasks)
        for tasks, later in zip(trees, trees[2:], strict=False):
            self._program.create(tasks, later)

    def links(
        self, leaves: Int64Array, tree: Int64Array
    ) -> Iterator[tuple[Int64Array, Int64Array]]:
        """Yield for each level the tasks below it and the parent of each."""
        parts = [leaves, *np.split(tree, np.cumsum(self._levels)[:-1])]
        for below, above in pairwise(parts):
            yield below, above[np.arange(len(below)) // self._fan]
