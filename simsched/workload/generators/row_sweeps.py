"""Workloads that sweep over the rows of a grid: heat, SOR, stencils and convolution."""

from __future__ import annotations

from simsched.workload.registry import generator
from simsched.workload.row_sweep import row_sweep
from simsched.workload.stencils import STENCILS

for _row in STENCILS:
    globals()[_row.name] = generator(_row.name, small=_row.small)(
        _row.of(row_sweep, _row.name, module=__name__)
    )
