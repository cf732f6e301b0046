"""Blocked stencils in one to three dimensions as data-flow programs with private buffers.

Tasks, buffers, creation and operations: :mod:`simsched.workload.dataflow_stencil`. In `jacobi`
every block uses what its neighbours had after the sweep before: layers of independent tasks. In
`seidel` it uses what the present sweep has left of its low neighbours: a wave through the grid.

References
----------
Drebes et al., PACT 2016 (docs/sources/dataflow.md), section 4.3, Table 3 and Fig. 4; dependences
and creation as in the benchmark of the OpenStream distribution, December 2015.
"""

from __future__ import annotations

from simsched.workload.dataflow_stencil import grid_sweep
from simsched.workload.registry import variant

_SMALL = {
    "size_x": 64,
    "block_x": 16,
    "size_y": 24,
    "block_y": 8,
    "sweeps": 2,
    "global_pieces": 2,
}

variant(
    "jacobi",
    grid_sweep,
    "Jacobi iteration on blocks in one, two or three dimensions, with private buffers.",
    False,
    small=_SMALL,
)
variant(
    "seidel",
    grid_sweep,
    "Gauss-Seidel iteration on blocks in one, two or three dimensions, with private buffers.",
    True,
    small=_SMALL,
)
