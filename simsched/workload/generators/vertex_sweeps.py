"""Programs over the vertices of a partitioned random graph: a spawn tree with unevenly hot blocks.

Tasks, blocks, edges, hotness, bytes and accesses are those of
:mod:`simsched.workload.vertex_sweep`, with ranks or labels as states: L leaves make 2 L - 1 tasks,
an iteration reads ``(edge_bytes + gather_bytes) E`` and writes ``state_bytes V`` bytes. All
vertices are visited in every round, although most labels soon stay as they are: the publication
runs 200 rounds with one and the same task graph.

The published graphs have 16 GB, which is about 180 bytes per edge. PageRank has 16 M vertices with
1 to 10 edges: 2^24 vertices, 5.5 edges each, in leaves of 2 MB make 8,192 leaves of 2,048 vertices.
The others have 8 M vertices with 2 to 20 edges: 2^23 vertices with 11 edges each make 8,192 leaves
of 1,024 vertices.

References
----------
Zhao et al., ACM TACO 15(4), 2018 (docs/sources/bats.md), Tables 2 and 3 (sizes; the distribution of
degrees and the skew are not given there). Raghavan, Albert and Kumara, *Near linear time algorithm
to detect community structures in large-scale networks*, Physical Review E 76, 2007.
"""

from __future__ import annotations

from simsched.workload.registry import variant
from simsched.workload.vertex_sweep import vertex_sweep

_SMALL = {
    "vertices": 2048,
    "leaf_bytes": 300_000,
    "block_bytes": 300_000,
    "max_remote_blocks": 4,
    "iterations": 4,
}

variant(
    "pagerank",
    vertex_sweep,
    "PageRank on a partitioned random graph with unevenly hot blocks.",
    "rank",
    small={**_SMALL, "vertices": 4096},
    vertices=2**20,
    lowest_degree=1,
    highest_degree=10,
    popular_run=2048,
    ops_per_vertex=4.0,
    init_ops_per_vertex=20.0,
)

# A vertex counts the labels of its neighbours in a small table (8 operations per edge: hashing,
# probing, counting) and takes the most frequent one. Data that all sockets need are mentioned for
# the other two programs, not for this one, so that edges lead to all vertices alike by default.
variant(
    "label_propagation",
    vertex_sweep,
    "Label propagation on a partitioned random graph.",
    "vote",
    small=_SMALL,
    skew=0.0,
    ops_per_edge=8.0,
    ops_per_vertex=4.0,
)

# A vertex compares its label with those of its neighbours and keeps the smallest. It is said to
# have hot data that most tasks need, as PageRank; `skew` is therefore PageRank's.
variant(
    "connected_components",
    vertex_sweep,
    "Connected components on a partitioned random graph.",
    "relabel",
    small=_SMALL,
    skew=0.5,
    ops_per_edge=2.0,
    ops_per_vertex=2.0,
)
