"""Sweeps over the vertices of a partitioned random graph by the leaves of a spawn tree.

Shared by PageRank, label propagation and connected components, which differ in what a vertex keeps
and what it computes. The graph is never stored; what its tasks read and write is drawn from the
distribution that a random graph with independent edges implies. With V vertices, E edges, edge
objects of a bytes, states (ranks, labels) of r bytes:

* *Tasks.* The root covers all vertices; a piece is halved until its expected size is at most
  `leaf_bytes`.
* *Blocks.* As leaves, with `block_bytes`. A block holds its vertices' edges and two states per
  vertex, which swap roles: ``a * edges + 2 r * vertices`` bytes.
* *Degrees.* Independent for each vertex: uniform in [lowest, highest]; or a power law in the same
  range, P(d) proportional to d^-degree_exponent; or constant, the rounded mean of the range.
* *Hotness.* An edge leads to the vertex of popularity rank k = 1 .. V with probability proportional
  to k^-skew; `skew` 0 is uniform. Vertices of consecutive rank lie side by side in runs of
  `popular_run`, the runs in random order: 1 scatters popular vertices (and evens out the blocks), V
  sorts all vertices. A block's hotness is the sum over its vertices.
* *Bytes.* A leaf reads its edges (``a`` bytes each), reads `gather_bytes` for each edge from the
  block it leads to, and writes a state per vertex.
* *Accesses.* A leaf with n edges would touch almost every block. Its gathers are kept in at most
  `max_remote_blocks` accesses without losing a byte: blocks so hot that they exceed an equal share
  of what is left get their own number of edges, jointly multinomial, as the random graph would have
  it. The others are gathered in s equal slots. Slot j of a leaf stands for the j-th of s strata of
  equal probability of the colder blocks, and leads to one of them, drawn so that over all leaves
  every stratum is covered evenly (Latin hypercube). A block's expected bytes are exact for each
  leaf, and its total differs from the expectation by a few slots. Accesses of one task to one block
  are merged; blocks ascend.
* *Operations.* `ops_per_edge` and `ops_per_vertex`, in the leaves.
* *Initialisation.* A tree that divides until each leaf is one block writes all bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import Accesses, build_graph, check_size, merge_accesses, overlaps
from simsched.workload.draws import stream
from simsched.workload.graph import FloatArray, Int64Array, Workload
from simsched.workload.registry import MIB, Bounds, Cost, Count, Size
from simsched.workload.spawn_tree import SpawnTree, divide_in_halves, first_touch_tree

Degrees = Literal["uniform", "power_law", "constant"]
_CHUNK = 2**20


def vertex_sweep(
    name: str,
    leaf_class: str,
    seed: int,
    *,
    vertices: Count = 2**19,
    degrees: Degrees = "uniform",
    lowest_degree: Annotated[int, Bounds(0, 10**6)] = 2,
    highest_degree: Annotated[int, Bounds(1, 10**6)] = 20,
    degree_exponent: Annotated[float, Bounds(0, 10)] = 2.0,
    skew: Annotated[float, Bounds(0, 10)] = 0.5,
    popular_run: Count = 1024,
    edge_bytes: Size = 180,
    state_bytes: Size = 8,
    gather_bytes: Size = 64,
    leaf_bytes: Size = 2 * MIB,
    block_bytes: Size = 2 * MIB,
    max_remote_blocks: Annotated[int, Bounds(1, 4096)] = 15,
    ops_per_edge: Cost = 2.0,
    ops_per_vertex: Cost = 2.0,
    init_ops_per_vertex: Cost = 40.0,
    iterations: Count = 1,
) -> Workload:
    """Return a program that visits every vertex of a random graph in each of its iterations.

    Parameters
    ----------
    name : str
        Name of the workload.
    leaf_class : str
        Task class of the leaves.
    seed : int
        Seed of degrees, hotness and edges.
    vertices : int
        Number of vertices.
    degrees : {"uniform", "power_law", "constant"}
        Distribution of the number of edges per vertex.
    lowest_degree, highest_degree : int
        Its range.
    degree_exponent : float
        Exponent of the power law; unused otherwise.
    skew : float
        Exponent of the popularity of vertices; 0 makes all equally popular.
    popular_run : int
        Vertices of consecutive popularity that lie side by side.
    edge_bytes, state_bytes : int
        Bytes of an edge object and of a vertex's state: its rank or label.
    gather_bytes : int
        Bytes moved to read the state at the other end of an edge, a cache line by default.
    leaf_bytes, block_bytes : int
        Largest leaf and block, in expected bytes.
    max_remote_blocks : int
        Most blocks that a leaf gathers from.
    ops_per_edge, ops_per_vertex, init_ops_per_vertex : float
        Operations of an iteration and of the initialisation.
    iterations : int
        Number of iterations.
    """
    chance = _degree_distribution(name, degrees, lowest_degree, highest_degree, degree_exponent)
    mean = float(chance @ np.arange(lowest_degree, highest_degree + 1))
    vertex_bytes = mean * edge_bytes + 2 * state_bytes
    largest = highest_degree * (edge_bytes + gather_bytes) + 2 * state_bytes
    check_size(name, data_bytes=vertices * largest)
    tree, blocks = (
        divide_in_halves.grow(vertices, divide_in_halves.cutoff(limit, vertex_bytes))
        for limit in (leaf_bytes, block_bytes)
    )
    parts = _draw_edges(stream(seed, "degrees"), tree, blocks, chance, lowest_degree)
    hotness = _hotness(stream(seed, "hotness"), blocks.bounds, skew, popular_run)
    sizes = edge_bytes * parts.edges(blocks.bounds[:-1], blocks.bounds[1:])
    sizes += 2 * state_bytes * np.diff(blocks.bounds)
    gathers = _gathers(stream(seed, "edges"), parts, hotness, max_remote_blocks)
    work = ops_per_vertex * (tree.last - tree.first)
    work += ops_per_edge * parts.edges(tree.first, tree.last)
    graph = build_graph(
        np.where(tree.is_leaf, work, 0.0),
        task_class=tree.task_class,
        class_names=("divide", leaf_class),
        children=tree.children,
        accessed=_accesses(parts, gathers, edge_bytes, state_bytes, gather_bytes),
        block_bytes=sizes,
    )
    init = first_touch_tree(blocks, blocks.bounds, sizes, init_ops_per_vertex)
    return Workload(name, graph, iterations, init)


def _degree_distribution(
    name: str, degrees: Degrees, lowest: int, highest: int, exponent: float
) -> FloatArray:
    """Return the probability of each degree from the lowest to the highest."""
    if highest < lowest or (degrees == "power_law" and lowest == 0):
        raise ConfigurationError(
            f"workload {name}: lowest_degree: found {lowest}, accepted "
            f"{int(degrees == 'power_law')} to highest_degree, which is {highest}"
        )
    degree = np.arange(lowest, highest + 1, dtype=np.float64)
    if degrees == "power_law":
        weight = degree**-exponent
    elif degrees == "uniform":
        weight = np.ones_like(degree)
    else:
        weight = (degree == (lowest + highest + 1) // 2).astype(np.float64)
    share: FloatArray = weight / weight.sum()
    return share


@dataclass(frozen=True)
class _Partition:
    """Vertices divided into leaves and blocks, with the edges drawn for every piece of either."""

    tree: SpawnTree
    blocks: SpawnTree
    cuts: Int64Array
    edges_before: Int64Array

    def edges(self, first: Int64Array, last: Int64Array) -> Int64Array:
        """Return the edges of vertices `first` to `last` - 1, which must be borders of pieces."""
        before = self.edges_before
        return before[np.searchsorted(self.cuts, last)] - before[np.searchsorted(self.cuts, first)]


def _draw_edges(
    random: np.random.Generator,
    tree: SpawnTree,
    blocks: SpawnTree,
    chance: FloatArray,
    lowest: int,
) -> _Partition:
    """Return the pieces with their edges, one degree drawn per vertex; degrees are not kept."""
    cuts = np.union1d(tree.bounds, blocks.bounds)
    cumulative = np.cumsum(chance)
    cumulative[-1] = 1.0
    before = np.zeros(len(cuts), dtype=np.int64)
    total, vertices = 0, int(cuts[-1])
    for start in range(0, vertices, _CHUNK):
        stop = min(start + _CHUNK, vertices)
        drawn = lowest + np.searchsorted(cumulative, random.random(stop - start), side="right")
        running = total + np.cumsum(drawn)
        inside = slice(*np.searchsorted(cuts, (start + 1, stop + 1)))
        before[inside] = running[cuts[inside] - start - 1]
        total = int(running[-1])
    return _Partition(tree, blocks, cuts, before)


def _hotness(random: np.random.Generator, bounds: Int64Array, skew: float, run: int) -> FloatArray:
    """Return the probability that an edge leads to each block."""
    held = np.diff(bounds)
    weight = held.astype(np.float64)
    if skew > 0.0:
        block = np.repeat(np.arange(len(held), dtype=np.int32), held)
        runs = -(-len(block) // run)
        block = np.append(block, np.full(runs * run - len(block), -1, dtype=np.int32))
        block = block.reshape(runs, run)[random.permutation(runs)].ravel()
        block = block[block >= 0]  # the block of each vertex, by popularity
        weight[:] = 0.0
        for start in range(0, len(block), _CHUNK):
            part = block[start : start + _CHUNK]
            popularity = np.arange(start + 1, start + 1 + len(part), dtype=np.float64) ** -skew
            weight += np.bincount(part, weights=popularity, minlength=len(held))
    share: FloatArray = weight / weight.sum()
    return share


def _gathers(
    random: np.random.Generator, parts: _Partition, hotness: FloatArray, limit: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return leaf (by rank), block and number of edges of each gather."""
    leaves = parts.tree.leaves
    edges = parts.edges(parts.tree.first[leaves], parts.tree.last[leaves])
    order = np.argsort(-hotness, kind="stable")
    n_hot = _count_hot(hotness[order], limit)
    hot, cold = order[:n_hot], np.sort(order[n_hot:])
    chance = np.append(hotness[hot], 0.0)
    chance[-1] = max(0.0, 1.0 - float(chance.sum()))
    if len(cold) == 0:
        chance = chance[:-1] / chance.sum()
    counts = random.multinomial(edges, chance)
    blocks = np.tile(hot, (len(leaves), 1))
    if len(cold):
        slots = limit - n_hot
        slot = np.arange(slots, dtype=np.int64)
        places = np.tile(np.arange(len(leaves), dtype=np.float64), (slots, 1))
        places = random.permuted(places, axis=1).T + random.random((len(leaves), slots))
        cumulative = np.cumsum(hotness[cold])
        position = (slot + places / len(leaves)) / slots * cumulative[-1]
        found = np.searchsorted(cumulative, position, side="right")
        blocks = np.hstack((blocks, cold[np.minimum(found, len(cold) - 1)]))
        rest = counts[:, -1:]
        counts = np.hstack((counts[:, :-1], rest * (slot + 1) // slots - rest * slot // slots))
    leaf, column = np.nonzero(counts)
    return leaf, blocks[leaf, column], counts[leaf, column]


def _count_hot(descending: FloatArray, limit: int) -> int:
    """Return how many blocks are hot: above an equal share of what is left for the slots."""
    left = 1.0
    for count, probability in enumerate(descending[: limit - 1].tolist()):
        if probability < left / (limit - count):
            return count
        left -= probability
    # All slots but one are hot; the last is a block of its own only if nothing else is left.
    return len(descending) if len(descending) <= limit else limit - 1


def _accesses(
    parts: _Partition,
    gathers: tuple[Int64Array, Int64Array, Int64Array],
    edge_bytes: int,
    state_bytes: int,
    gather_bytes: int,
) -> Accesses:
    """Return the accesses of the leaves: own edges and states, and gathers."""
    tree, bounds = parts.tree, parts.blocks.bounds
    leaves = tree.leaves
    own = overlaps(tree.first[leaves], tree.last[leaves], bounds)
    leaf, block, edges = gathers
    read = edge_bytes * parts.edges(own.first, own.first + own.items), gather_bytes * edges
    return merge_accesses(
        leaves[np.concatenate((own.owner, leaf))],
        np.concatenate((own.part, block)),
        np.concatenate(read),
        np.concatenate((state_bytes * own.items, np.zeros_like(edges))),
        tree.n_tasks,
    )
