"""PageRank by pulling, on a random graph whose in-degrees follow a power law.

See :mod:`simsched.hardware.programs._vertices` for tasks, blocks, bytes and operations; leaves are
``rank``. With damping d, V vertices and out-degrees ``o``, a round computes ``r[v] = (1 - d) / V +
d * sum(r[u] / o[u])`` over all edges from u to v. Each vertex has at least one outgoing edge, so
that the ranks add up to 1. Vertices with many edges make their leaves long, hence the irregularity.

The generator of the same name in :mod:`simsched.workload.generators.pagerank` draws its accesses
from distributions; here the edges exist.

References
----------
Page, Brin, Motwani and Winograd, *The PageRank citation ranking: bringing order to the Web*,
Stanford InfoLab technical report 1999-66. Beamer, Asanović and Patterson, *The GAP benchmark
suite*, arXiv:1508.03619, 2015 (pulling).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, checked
from simsched.hardware.programs._counted import largest_error
from simsched.hardware.programs._vertices import (
    Edges,
    PartVertices,
    Rounds,
    Skew,
    VertexProgram,
    Vertices,
    divide_vertices,
    pulled,
    random_edges,
)
from simsched.workload.registry import Bounds, Count, Fraction

TOLERANCE = 1e-11


@program(
    "pagerank",
    small={"vertices": 3000, "part_vertices": 200, "popular_run": 50, "iterations": 3},
)
@checked
def pagerank(
    *,
    vertices: Vertices = 2**18,
    degree: Annotated[float, Bounds(1, 1000)] = 16.0,
    skew: Skew = 0.6,
    popular_run: Count = 1024,
    part_vertices: PartVertices = 2**12,
    damping: Fraction = 0.85,
    iterations: Rounds = 20,
    seed: Seed = 0,
) -> Program:
    """PageRank by pulling, on a random graph.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    degree : float
        Mean number of outgoing edges, at least 1.
    skew : float
        Exponent of the popularity of vertices, 0 to 0.9.
    popular_run : int
        Vertices of consecutive popularity that lie side by side.
    part_vertices : int
        Most vertices of a leaf.
    damping : float
        Probability of following an edge.
    iterations : int
        Number of rounds.
    seed : int
        Seed of the graph.
    """
    tree = divide_vertices("pagerank", vertices, part_vertices)
    edges = random_edges(seed, vertices, degree, 1, skew, popular_run)
    out_degree = np.bincount(edges.origin, minlength=vertices)
    program = VertexProgram(
        "pagerank",
        "rank",
        tree,
        pulled(edges, vertices),
        out_degree.astype(np.int32),
        np.float64,
    )

    def result_error(share: NDArray[np.float64]) -> float:
        wanted = _power_iteration(edges, out_degree, damping, iterations)
        return largest_error(share * out_degree, wanted, TOLERANCE)

    return program.program(
        iterations,
        result_error=result_error,
        constants=(1.0 / vertices, (1.0 - damping) / vertices, damping),
    )


def _power_iteration(
    edges: Edges, out_degree: NDArray[np.int64], damping: float, iterations: int
) -> NDArray[np.float64]:
    """Return the ranks by multiplying with the transition matrix."""
    vertices = len(out_degree)
    chance = 1.0 / out_degree[edges.origin]
    matrix = sparse.csr_array((chance, (edges.target, edges.origin)), shape=(vertices, vertices))
    ranks = np.full(vertices, 1.0 / vertices)
    for _ in range(iterations):
        ranks = (1.0 - damping) / vertices + damping * (matrix @ ranks)
    return ranks
