"""Connected components of an undirected random graph, by spreading the smallest label.

See :mod:`simsched.hardware.programs._vertices` for tasks, blocks, bytes and operations; leaves are
``spread``. The first label of a vertex is its number. In a round every vertex takes the smallest
among its own and its neighbours' labels, all at the same time, until no label changes; then two
vertices have the same label exactly if they are connected. A label advances by one edge per round,
so the number of rounds is at most the longest of all shortest paths.

Every round visits every edge: which tasks have nothing left to change depends on the data, and the
task graph does not.

References
----------
Shiloach and Vishkin, *An O(log n) parallel connectivity algorithm*, Journal of Algorithms 3, 1982
(the usual starting point; hooks trees and jumps pointers, which is left out here). Slota,
Rajamanickam and Madduri, *BFS and coloring-based parallel algorithms for strongly connected
components and related problems*, IPDPS 2014 (spreading of labels).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, checked
from simsched.hardware.programs._counted import exact, refusal
from simsched.hardware.programs._vertices import (
    Edges,
    PartVertices,
    PulledGraph,
    Rounds,
    Skew,
    VertexProgram,
    Vertices,
    divide_vertices,
    pulled,
    random_edges,
)
from simsched.workload.registry import Bounds, Count


@program(
    "connected_components",
    small={"vertices": 3000, "part_vertices": 200, "popular_run": 50},
)
@checked
def connected_components(
    *,
    vertices: Vertices = 2**19,
    degree: Annotated[float, Bounds(0, 1000)] = 2.0,
    skew: Skew = 0.5,
    popular_run: Count = 1024,
    part_vertices: PartVertices = 2**13,
    iterations: Rounds | None = None,
    seed: Seed = 0,
) -> Program:
    """Labels of connected components, by spreading the smallest.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    degree : float
        Half the mean number of neighbours.
    skew : float
        Exponent of the popularity of vertices, 0 to 0.9.
    popular_run : int
        Vertices of consecutive popularity that lie side by side.
    part_vertices : int
        Most vertices of a leaf.
    iterations : int, optional
        Number of rounds; as many as it takes, and one more that changes nothing, by default.
    seed : int
        Seed of the graph.
    """
    tree = divide_vertices("connected_components", vertices, part_vertices)
    edges = random_edges(seed, vertices, degree, 0, skew, popular_run).both_ways()
    graph = pulled(edges, vertices)
    needed = _rounds_needed(graph)
    rounds = needed + 1 if iterations is None else iterations
    if rounds < needed:
        accepted = f"{needed} or more for this graph"
        raise refusal("connected_components", "iterations", rounds, accepted)
    spread = VertexProgram(
        "connected_components",
        "spread",
        tree,
        graph,
        np.arange(vertices, dtype=np.int32),
        np.int32,
    )
    return spread.program(
        rounds,
        result_error=lambda found: exact(found, _smallest_labels(edges, vertices)),
    )


def _rounds_needed(graph: PulledGraph) -> int:
    """Return the number of rounds after which no label changes any more."""
    label = np.arange(len(graph.degree), dtype=np.int64)
    joined = np.flatnonzero(graph.degree)
    rounds = 0
    while len(joined):
        around = np.minimum.reduceat(label[graph.origin], graph.ptr[joined])
        smaller = np.minimum(label[joined], around)
        if np.array_equal(smaller, label[joined]):
            break
        label[joined] = smaller
        rounds += 1
    return rounds


def _smallest_labels(edges: Edges, vertices: int) -> NDArray[np.int64]:
    """Return the smallest vertex of each vertex's component."""
    ones = np.ones(len(edges.origin), dtype=np.int32)
    matrix = sparse.coo_array((ones, (edges.target, edges.origin)), shape=(vertices, vertices))
    count, component = csgraph.connected_components(matrix, directed=False)
    smallest = np.full(count, vertices, dtype=np.int64)
    np.minimum.at(smallest, component, np.arange(vertices))
    return smallest[component]
