"""Coarse-grained division of a sparse matrix: consecutive rows for each side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    DEVICE,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    param,
    register,
)
from simsched.policy.parts.central_queue import central_queue
from simsched.policy.parts.division_steps import sides_of
from simsched.policy.parts.sparse_division import MATRIX_ROWS, any_rows, divided_rows
from simsched.policy.parts.static_order import ScheduledWorkload, own_lists
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.sparse_rows import MatrixWorkload


@register("row_split")
@dataclass(frozen=True, kw_only=True)
class RowSplit(PlacedPolicy[None]):
    """The first rows of a sparse matrix for the GPU, the others for the processor.

    Parameters
    ----------
    share : float
        Part of the non-zeros that the GPU gets.
    threads : int
        Threads that share the processor's rows; 0 for one per core.

    Notes
    -----
    Rows go where they lie in the matrix, whatever their length: what FinePar is compared with, best
    swept over `share`.

    References
    ----------
    F. Zhang et al., *FinePar: irregularity-aware fine-grained workload partitioning on integrated
    architectures*, CGO 2017 (coarse-grained partitioning).
    """

    needs: ClassVar[tuple[Need, ...]] = (MATRIX_ROWS, DEVICE)

    chooses_processors: ClassVar[bool] = True

    share: float = param(0.5, low=0.0, high=1.0)
    threads: int = param(0, low=0)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program with its rows divided; others as they are."""
        program, sides = view.workload, sides_of(view, self.threads)
        if not isinstance(program, MatrixWorkload):
            return program
        before = np.cumsum(program.rows.nonzeros)
        on_gpu = before <= self.share * float(before[-1])
        if not sides.devices or not sides.cpu:
            on_gpu[:] = bool(sides.devices)
        return divided_rows(view, sides, program, on_gpu)

    @staticmethod
    def least(workload: Workload) -> Iterable[Workload]:
        return (any_rows(workload) if isinstance(workload, MatrixWorkload) else workload,)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        program = view.workload
        if not isinstance(program, ScheduledWorkload):
            return central_queue(graph)
        return own_lists(program.worker)
