"""Fork-join programs: a tree of spawns of given degree and depth, or a parallel loop, in phases.

With degree d, depth h and p phases:

* *Tasks.* Each phase is one complete tree, numbered in preorder. Depth 1 is a parallel loop of d
  tasks with one root; depth 0 a single task.
* *Edges.* Each phase's root starts after the root before it has ended.
* *Operations.* Leaves cost `leaf_ops` each, or are drawn around it; tasks that spawn cost
  `inner_ops` before and `join_ops` after their children.
* *Blocks.* d^h of `leaf_bytes`, none if it is 0; leaf i of every phase reads and writes block i as
  a whole.
* *Initialisation.* A tree of the same shape in which leaf i writes block i, 1 operation per 8
  bytes; none without blocks.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.workload.builder import (
    MAX_TASKS,
    Adjacency,
    accesses,
    adjacency,
    build_graph,
    check_size,
)
from simsched.workload.draws import Distribution, draw_costs, stream
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, Fraction, SizeOrZero, generator
from simsched.workload.spawn_tree import equal_parts, first_touch_tree, grow


@generator(
    "fork_join",
    small={"depth": 4, "phases": 2, "join_ops": 1e4, "leaf_bytes": 4096, "iterations": 2},
    random_if=lambda given: given["leaf_costs"] != "constant",
)
def fork_join(
    seed: int,
    *,
    degree: Annotated[int, Bounds(2, MAX_TASKS)] = 2,
    depth: Annotated[int, Bounds(0, 64)] = 8,
    phases: Count = 1,
    leaf_ops: Cost = 1e6,
    leaf_costs: Distribution = "constant",
    spread: Fraction = 0.5,
    inner_ops: Cost = 0.0,
    join_ops: Cost = 0.0,
    leaf_bytes: SizeOrZero = 0,
    iterations: Count = 1,
) -> Workload:
    """Fork-join: a complete spawn tree or a parallel loop, with work in joins, in phases.

    Parameters
    ----------
    seed : int
        Seed of the costs.
    degree : int
        Children of a task that spawns.
    depth : int
        Levels below the root; 1 makes a parallel loop.
    phases : int
        Trees that run one after the other.
    leaf_ops : float
        Mean operations of a leaf.
    leaf_costs : {"constant", "uniform", "exponential", "lognormal"}
        Distribution of the operations of leaves.
    spread : float
        Half width (uniform) or standard deviation (lognormal) relative to the mean.
    inner_ops, join_ops : float
        Operations of a task that spawns, before and after its children.
    leaf_bytes : int
        Bytes that a leaf reads and writes.
    iterations : int
        How often the graph is repeated.
    """
    most = phases * degree**depth
    check_size("fork_join", tasks=2 * most, data_bytes=2 * most * leaf_bytes)
    tree = grow(degree**depth, equal_parts(degree, 2))
    leaves, n_tasks = tree.leaves, tree.n_tasks * phases
    starts = np.arange(phases, dtype=np.int64)[:, None] * tree.n_tasks
    every_leaf = (leaves + starts).ravel()
    inner = np.tile(~tree.is_leaf, phases)
    ops = np.where(inner, inner_ops, 0.0)
    ops[every_leaf] = draw_costs(
        stream(seed, "costs"), len(every_leaf), leaf_ops, leaf_costs, spread
    )
    blocks, init, accessed = np.zeros(0, dtype=np.int64), None, None
    if leaf_bytes:
        blocks = np.full(len(leaves), leaf_bytes, dtype=np.int64)
        block = np.tile(np.arange(len(leaves), dtype=np.int64), phases)
        accessed = accesses(every_leaf, block, leaf_bytes, leaf_bytes, n_tasks)
        init = first_touch_tree(tree, tree.bounds, blocks, leaf_bytes / 8)
    graph = build_graph(
        ops,
        join_ops=np.where(inner, join_ops, 0.0),
        task_class=np.tile(tree.task_class, phases),
        class_names=("divide", "leaf"),
        children=_repeat(tree.children, phases),
        successors=adjacency(starts[:-1, 0], starts[1:, 0], n_tasks),
        accessed=accessed,
        block_bytes=blocks,
    )
    return Workload("fork_join", graph, iterations, init)


def _repeat(tree: Adjacency, times: int) -> Adjacency:
    """Return copies of a spawn tree side by side."""
    n_tasks, n_children = len(tree.ptr) - 1, len(tree.target)
    copy = np.arange(times, dtype=np.int64)[:, None]
    ptr = (tree.ptr[:-1] + copy * n_children).ravel()
    index = (tree.target + copy * n_tasks).astype(np.int32).ravel()
    return Adjacency(np.append(ptr, times * n_children), index)
