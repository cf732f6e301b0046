"""Layered random dataflow graph.

With L layers of w tasks and edge probability q; task i of layer l has the number ``l w + i``:

* *Edges.* Each of the w^2 pairs of a task and one of the layer above is an edge with probability q,
  independently; a task of layers 1 .. L - 1 that drew none starts after one drawn uniformly.
  Pairs are visited by geometric skips, so that the cost is that of the edges, not of the pairs.
  Successors of a task ascend.
* *Operations.* `mean_ops` each, or drawn around it.
* *Blocks.* One of `output_bytes` per task, none if that is 0.
* *Bytes.* A task reads the block of each predecessor and writes its own.
"""

from __future__ import annotations

import numpy as np

from simsched.workload.builder import accesses, adjacency, build_graph, check_size
from simsched.workload.draws import Distribution, draw_costs, stream
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Cost, Count, Fraction, SizeOrZero, generator


@generator(
    "layered_random",
    small={"layers": 5, "width": 8, "edge_probability": 0.2, "iterations": 2},
)
def layered_random(
    seed: int,
    *,
    layers: Count = 10,
    width: Count = 100,
    edge_probability: Fraction = 0.03,
    mean_ops: Cost = 1e6,
    costs: Distribution = "uniform",
    spread: Fraction = 0.5,
    output_bytes: SizeOrZero = 65536,
    iterations: Count = 1,
) -> Workload:
    """Layered random dataflow graph with random costs.

    Parameters
    ----------
    seed : int
        Seed of edges and costs.
    layers, width : int
        Number of layers and tasks in each.
    edge_probability : float
        Probability of an edge between a task and one of the next layer.
    mean_ops : float
        Mean operations of a task.
    costs : {"uniform", "constant", "exponential", "lognormal"}
        Distribution of the operations.
    spread : float
        Half width (uniform) or standard deviation (lognormal) relative to the mean.
    output_bytes : int
        Size of the block that each task writes and its successors read.
    iterations : int
        How often the graph is repeated.
    """
    n_tasks = layers * width
    edges = n_tasks * (width * edge_probability + 1.0)
    check_size(
        "layered_random", tasks=n_tasks, edges=edges, data_bytes=(edges + n_tasks) * output_bytes
    )
    source, target = _edges(seed, layers, width, edge_probability)
    ops = draw_costs(stream(seed, "costs"), n_tasks, mean_ops, costs, spread)
    successors = adjacency(source, target, n_tasks)
    if not output_bytes:
        graph = build_graph(ops, successors=successors)
        return Workload("layered_random", graph, iterations)
    every = np.arange(n_tasks, dtype=np.int64)
    is_output = np.arange(len(source) + n_tasks) >= len(source)
    graph = build_graph(
        ops,
        successors=successors,
        accessed=accesses(
            np.concatenate((target, every)),
            np.concatenate((source, every)),
            np.where(is_output, 0, output_bytes),
            np.where(is_output, output_bytes, 0),
            n_tasks,
        ),
        block_bytes=np.full(n_tasks, output_bytes, dtype=np.int64),
    )
    return Workload("layered_random", graph, iterations)


def _edges(seed: int, layers: int, width: int, probability: float) -> tuple[Int64Array, Int64Array]:
    """Return the edges by ascending target, and by ascending source for each target."""
    pairs = _chosen(stream(seed, "edges"), (layers - 1) * width * width, probability)
    target, place = np.divmod(pairs, width)  # target counts from layer 1
    drawn = np.bincount(target, minlength=(layers - 1) * width)
    alone = np.flatnonzero(drawn == 0)
    target = np.concatenate((target, alone))
    place = np.concatenate((place, stream(seed, "lone tasks").integers(width, size=len(alone))))
    order = np.argsort(target, kind="stable")
    target, place = target[order], place[order]
    return target // width * width + place, target + width


def _chosen(random: np.random.Generator, count: int, probability: float) -> Int64Array:
    """Return which of `count` trials succeed, ascending."""
    if probability == 0.0 or count == 0:
        return np.zeros(0, dtype=np.int64)
    if probability == 1.0:
        return np.arange(count, dtype=np.int64)
    found: list[Int64Array] = []
    last = -1
    while last < count:
        left = (count - last) * probability
        gaps = random.geometric(probability, size=int(left + 4.0 * left**0.5) + 16)
        steps = last + np.cumsum(np.minimum(gaps, count + 1))
        found.append(steps[steps < count])
        last = int(steps[-1])
    return np.concatenate(found)
