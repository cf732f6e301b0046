"""PageRank on a partitioned random graph: a spawn tree over vertices with unevenly hot blocks.

Tasks, blocks, edges, hotness, bytes and accesses are those of
:mod:`simsched.workload.vertex_sweep`, with ranks as states: L leaves make 2 L - 1 tasks, an
iteration reads ``(edge_bytes + gather_bytes) E`` and writes ``state_bytes V`` bytes.

The published case has 16 M vertices with 1 to 10 edges in 16 GB, which is about 180 bytes per edge:
2^24 vertices, 5.5 edges each, in leaves of 2 MB make 8,192 leaves of 2,048 vertices.

References
----------
Zhao et al., *Bandwidth and Locality Aware Task-stealing for Manycore Architectures with
Bandwidth-Asymmetric Memory*, ACM TACO 15(4), 2018, Tables 2 and 3 (sizes; the distribution of
degrees and the skew are not given there).
"""

from __future__ import annotations

from simsched.workload.registry import variant
from simsched.workload.vertex_sweep import vertex_sweep

variant(
    "pagerank",
    vertex_sweep,
    "PageRank on a partitioned random graph with unevenly hot blocks.",
    "rank",
    small={
        "vertices": 4096,
        "leaf_bytes": 300_000,
        "block_bytes": 300_000,
        "max_remote_blocks": 4,
        "iterations": 4,
    },
    vertices=2**20,
    lowest_degree=1,
    highest_degree=10,
    popular_run=2048,
    ops_per_vertex=4.0,
    init_ops_per_vertex=20.0,
)
