"""Programs over the vertices of a partitioned random graph: a spawn tree with unevenly hot blocks.

Tasks, blocks, edges, hotness, bytes and accesses are those of
:mod:`simsched.workload.vertex_sweep`, with ranks or labels as states.

References
----------
Zhao et al., ACM TACO 15(4), 2018 (docs/sources/bats.md). Raghavan, Albert and Kumara, *Near linear
time algorithm to detect community structures in large-scale networks*, Physical Review E 76, 2007.
"""

from __future__ import annotations

from simsched.workload.registry import variant
from simsched.workload.vertex_sweep import vertex_sweep

_SMALL = {
    "vertices": 2048,
    "leaf_bytes": 300_000,
    "block_bytes": 300_000,
    "max_remote_blocks": 4,
    "iterations": 2,
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
# probing, counting) and takes the most frequent one.
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

# A vertex compares its label with those of its neighbours and keeps the smallest.
variant(
    "connected_components",
    vertex_sweep,
    "Connected components on a partitioned random graph.",
    "relabel",
    small=_SMALL,
)
