"""Connected components on a partitioned random graph: every vertex takes the smallest label around.

Tasks, blocks, edges, hotness, bytes and accesses are those of
:mod:`simsched.workload.vertex_sweep`, with labels as states: L leaves make 2 L - 1 tasks, an
iteration reads ``(edge_bytes + gather_bytes) E`` and writes ``state_bytes V`` bytes.

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

from simsched.workload.registry import variant
from simsched.workload.vertex_sweep import vertex_sweep

variant(
    "connected_components",
    vertex_sweep,
    "Connected components on a partitioned random graph.",
    "relabel",
    small={
        "vertices": 2048,
        "leaf_bytes": 300_000,
        "block_bytes": 300_000,
        "max_remote_blocks": 4,
        "iterations": 4,
    },
    skew=0.5,
    ops_per_edge=2.0,
    ops_per_vertex=2.0,
)
