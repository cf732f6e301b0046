"""Six-point stencil of a volume, swept by a divide-and-conquer spawn tree.

Trees and bytes are those of :mod:`~simsched.workload.generators.heat`, the rows being planes of
`lines` times `columns` elements. With X planes of P bytes in each copy, L leaves and h halo planes,
none of them beyond the neighbouring leaf, a sweep writes ``X P`` bytes and reads ``(X + 2 h (L -
1)) P``, plus ``X P`` with `write_allocate` and two copies. A block holds its planes of all copies.

References
----------
Chen, Guo and Guan, *LAWS: Locality-aware work-stealing for multi-socket multi-core architectures*,
ICS 2014 (programs ``6P`` and ``6P-ir``); Chen and Guo, *Task Scheduling for Multi-core and
Parallel Architectures*, Springer 2017, chapter 4.
"""

from __future__ import annotations

from simsched.workload.registry import variant
from simsched.workload.row_sweep import volume_sweep

variant(
    "stencil6",
    volume_sweep,
    "Six-point stencil: a volume swept plane by plane, regular or irregular.",
    small={"rows": 64, "lines": 8, "columns": 16, "iterations": 7},
    halo_rows=1,
    ops_per_element=6.0,  # 5 additions and 1 multiplication
)
