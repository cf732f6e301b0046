"""PageRank on a partitioned random graph: a spawn tree over vertices with unevenly hot blocks.

Tasks, blocks, edges, hotness, bytes and accesses are those of
:mod:`simsched.workload.vertex_sweep`, with ranks as states: L leaves make 2 L - 1 tasks, an
iteration reads ``(edge_bytes + gather_bytes) E`` and writes ``rank_bytes V`` bytes.

The published case has 16 M vertices with 1 to 10 edges in 16 GB, which is about 180 bytes per edge:
2^24 vertices, 5.5 edges each, in leaves of 2 MB make 8,192 leaves of 2,048 vertices.

References
----------
Zhao et al., *Bandwidth and Locality Aware Task-stealing for Manycore Architectures with
Bandwidth-Asymmetric Memory*, ACM TACO 15(4), 2018, Tables 2 and 3 (sizes; the distribution of
degrees and the skew are not given there).
"""

from __future__ import annotations

from typing import Annotated

from simsched.workload.graph import Workload
from simsched.workload.registry import MIB, Bounds, Cost, Count, Size, generator
from simsched.workload.vertex_sweep import Degrees, VertexSweep


@generator(
    "pagerank",
    small={
        "vertices": 4096,
        "leaf_bytes": 300_000,
        "block_bytes": 300_000,
        "max_remote_blocks": 4,
        "iterations": 4,
    },
)
def pagerank(
    seed: int,
    *,
    vertices: Count = 2**20,
    degrees: Degrees = "uniform",
    lowest_degree: Annotated[int, Bounds(0, 10**6)] = 1,
    highest_degree: Annotated[int, Bounds(1, 10**6)] = 10,
    degree_exponent: Annotated[float, Bounds(0, 10)] = 2.0,
    skew: Annotated[float, Bounds(0, 10)] = 0.5,
    popular_run: Count = 2048,
    edge_bytes: Size = 180,
    rank_bytes: Size = 8,
    gather_bytes: Size = 64,
    leaf_bytes: Size = 2 * MIB,
    block_bytes: Size = 2 * MIB,
    max_remote_blocks: Annotated[int, Bounds(1, 4096)] = 15,
    ops_per_edge: Cost = 2.0,
    ops_per_vertex: Cost = 4.0,
    init_ops_per_vertex: Cost = 20.0,
    iterations: Count = 1,
) -> Workload:
    """PageRank on a partitioned random graph with unevenly hot blocks.

    Parameters
    ----------
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
    edge_bytes, rank_bytes : int
        Bytes of an edge object and of a rank.
    gather_bytes : int
        Bytes moved to read the rank at the other end of an edge, a cache line by default.
    leaf_bytes, block_bytes : int
        Largest leaf and block, in expected bytes.
    max_remote_blocks : int
        Most blocks that a leaf gathers from.
    ops_per_edge, ops_per_vertex, init_ops_per_vertex : float
        Operations of an iteration and of the initialisation.
    iterations : int
        Number of iterations.
    """
    sweep = VertexSweep(
        name="pagerank",
        leaf_class="rank",
        degrees=degrees,
        lowest_degree=lowest_degree,
        highest_degree=highest_degree,
        degree_exponent=degree_exponent,
        skew=skew,
        popular_run=popular_run,
        edge_bytes=edge_bytes,
        state_bytes=rank_bytes,
        gather_bytes=gather_bytes,
        max_remote_blocks=max_remote_blocks,
        ops_per_edge=ops_per_edge,
        ops_per_vertex=ops_per_vertex,
    )
    return sweep.workload(
        seed,
        vertices,
        leaf_bytes=leaf_bytes,
        block_bytes=block_bytes,
        init_ops_per_vertex=init_ops_per_vertex,
        iterations=iterations,
    )
