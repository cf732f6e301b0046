"""Connected components on a partitioned random graph: every vertex takes the smallest label around.

Tasks, blocks, edges, hotness, bytes and accesses are those of
:mod:`simsched.workload.vertex_sweep`, with labels as states: L leaves make 2 L - 1 tasks, an
iteration reads ``(edge_bytes + gather_bytes) E`` and writes ``label_bytes V`` bytes.

A vertex compares its label with those of its neighbours and keeps the smallest. All vertices are
visited in every round, although those that have the final label need not be: the publication runs
200 rounds with one and the same task graph.

The published case has 8 M vertices with 2 to 20 edges in 16 GB: 2^23 vertices with 11 edges of 180
bytes each, in leaves of 2 MB make 8,192 leaves of 1,024 vertices. It is said to have hot data that
most tasks need, as PageRank; `skew` is therefore PageRank's.

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
    "connected_components",
    small={
        "vertices": 2048,
        "leaf_bytes": 300_000,
        "block_bytes": 300_000,
        "max_remote_blocks": 4,
        "iterations": 4,
    },
)
def connected_components(
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
    label_bytes: Size = 8,
    gather_bytes: Size = 64,
    leaf_bytes: Size = 2 * MIB,
    block_bytes: Size = 2 * MIB,
    max_remote_blocks: Annotated[int, Bounds(1, 4096)] = 15,
    ops_per_edge: Cost = 2.0,
    ops_per_vertex: Cost = 2.0,
    init_ops_per_vertex: Cost = 40.0,
    iterations: Count = 1,
) -> Workload:
    """Return rounds of connected components on a partitioned random graph.

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
    edge_bytes, label_bytes : int
        Bytes of an edge object and of a label.
    gather_bytes : int
        Bytes moved to read the label at the other end of an edge, a cache line by default.
    leaf_bytes, block_bytes : int
        Largest leaf and block, in expected bytes.
    max_remote_blocks : int
        Most blocks that a leaf gathers from.
    ops_per_edge, ops_per_vertex, init_ops_per_vertex : float
        Operations of a round and of the initialisation.
    iterations : int
        Number of iterations.
    """
    sweep = VertexSweep(
        name="connected_components",
        leaf_class="relabel",
        degrees=degrees,
        lowest_degree=lowest_degree,
        highest_degree=highest_degree,
        degree_exponent=degree_exponent,
        skew=skew,
        popular_run=popular_run,
        edge_bytes=edge_bytes,
        state_bytes=label_bytes,
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
