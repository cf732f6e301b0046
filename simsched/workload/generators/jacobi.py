"""Jacobi iteration in one, two or three dimensions as a data-flow program with private buffers.

In it every block uses what its neighbours had after the sweep before: layers of independent tasks.
Tasks, buffers, creation and operations: :mod:`simsched.workload.dataflow_stencil`.

References
----------
A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA*, PACT
2016, section 4.3, Table 3 and Fig. 4; dependences and creation as in the benchmark of the
OpenStream distribution, December 2015.
"""

from __future__ import annotations

from simsched.workload.dataflow_stencil import grid_sweep
from simsched.workload.registry import variant

variant(
    "jacobi",
    grid_sweep,
    "Jacobi iteration on blocks in one, two or three dimensions, with private buffers.",
    False,
    small={
        "size_x": 64,
        "block_x": 16,
        "size_y": 24,
        "block_y": 8,
        "sweeps": 3,
        "global_pieces": 2,
    },
)
