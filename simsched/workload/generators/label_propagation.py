"""Label propagation on a random graph: every vertex takes its neighbours' most frequent label.

Tasks, blocks, edges, hotness, bytes and accesses are those of
:mod:`simsched.workload.vertex_sweep`, with labels as states: L leaves make 2 L - 1 tasks, an
iteration reads ``(edge_bytes + gather_bytes) E`` and writes ``state_bytes V`` bytes.

A vertex counts the labels of its neighbours in a small table (8 operations per edge: hashing,
probing, counting) and takes the most frequent one. All vertices are visited in every round, as in
the bulk-synchronous port of the publication; that most labels soon stay as they are is not used.

The published case has 8 M vertices with 2 to 20 edges in 16 GB: 2^23 vertices with 11 edges of 180
bytes each, in leaves of 2 MB make 8,192 leaves of 1,024 vertices. Data that all sockets need are
mentioned for PageRank and connected components, not for it, so that edges lead to all vertices
alike by default; blocks are as uneven as their degrees.

References
----------
Zhao et al., *Bandwidth and Locality Aware Task-stealing for Manycore Architectures with
Bandwidth-Asymmetric Memory*, ACM TACO 15(4), 2018, Tables 2 and 3 (sizes; the distribution of
degrees and the skew are not given there).
Raghavan, Albert and Kumara, *Near linear time algorithm to detect community structures in
large-scale networks*, Physical Review E 76, 2007.
"""

from __future__ import annotations

from simsched.workload.registry import variant
from simsched.workload.vertex_sweep import vertex_sweep

variant(
    "label_propagation",
    vertex_sweep,
    "Label propagation on a partitioned random graph.",
    "vote",
    small={
        "vertices": 2048,
        "leaf_bytes": 300_000,
        "block_bytes": 300_000,
        "max_remote_blocks": 4,
        "iterations": 4,
    },
    skew=0.0,
    ops_per_edge=8.0,
    ops_per_vertex=4.0,
)
