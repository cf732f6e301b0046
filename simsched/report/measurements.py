"""Measured runs as a table and as one document."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

import simsched
from simsched.hardware.measurements import MeasurementSet
from simsched.report.tables import number, scaled
from simsched.report.terminal import plain_table, with_sections


@dataclass(frozen=True)
class CellSummary:
    """What the repetitions of one cell have in common; medians unless said otherwise."""

    label: str
    policy: str
    workers: int
    #: Number of repetitions.
    runs: int
    makespan_s: float
    #: Longest less shortest makespan, in percent of the median.
    spread_percent: float
    #: Those of the initialisation are counted, too.
    tasks: float
    steals: float
    #: Part of their time in which workers had no task.
    idle_percent: float
    #: Lowest part of their time in which workers had a core.
    cpu_percent: float


def summarise(measured: MeasurementSet) -> list[CellSummary]:
    """Return one summary per cell, in the order of their first runs."""
    counters = dict(
        zip((run.file for run in measured.runs), measured.about["counters"], strict=True)
    )
    found = []
    for (label, policy, workers), runs in measured.cells().items():
        times = [run.makespan_s for run in runs]
        middle = statistics.median(times)
        counted = {
            name: statistics.median(counters[run.file][name] for run in runs)
            for name in ("tasks", "steals", "idle_share")
        }
        found.append(
            CellSummary(
                label,
                policy,
                workers,
                runs=len(runs),
                makespan_s=middle,
                spread_percent=100.0 * (max(times) - min(times)) / middle,
                tasks=counted["tasks"],
                steals=counted["steals"],
                idle_percent=100.0 * counted["idle_share"],
                cpu_percent=100.0 * min(run.cpu_share for run in runs),
            )
        )
    return found


def cells_table(measured: MeasurementSet) -> Table:
    """Return the cells of a set as a table."""
    cells = summarise(measured)
    head, factor = scaled("makespan_s", [cell.makespan_s for cell in cells])
    rows = [
        (
            cell.label,
            cell.policy,
            str(cell.workers),
            str(cell.runs),
            number(cell.makespan_s / factor),
            f"{cell.spread_percent:.1f}",
            number(cell.tasks),
            number(cell.steals),
            f"{cell.idle_percent:.1f}",
            f"{cell.cpu_percent:.1f}",
        )
        for cell in cells
    ]
    words = ("program", "policy")
    numbers = ("workers", "runs", head, "spread [%]", "tasks", "steals", "idle [%]", "CPU [%]")
    table = plain_table((*words, *numbers), rows, left=words, fold=("policy",), whole=("program",))
    return with_sections(table, [cell.label for cell in cells])


def overhead_line(overhead: Mapping[str, Any]) -> str:
    """Return what tracing costs, as one line."""
    return (
        f"tracing lengthens tasks of {overhead['task_us']} us by {overhead['overhead']:.2%} "
        f"({overhead['pairs']} pairs of runs)"
    )


def document_of(measured: MeasurementSet) -> dict[str, Any]:
    """Return a set as one JSON document (plain data)."""
    return {
        "name": measured.name,
        "directory": str(measured.directory),
        "version": simsched.__version__,
        "cells": [asdict(cell) for cell in summarise(measured)],
        "runs": [asdict(run) for run in measured.runs],
        "warnings": list(measured.warnings),
        "about": measured.about,
    }
