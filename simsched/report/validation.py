"""A validation as table, plot and Markdown report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from simsched.files.atomic import make_directory, write_text
from simsched.hardware.validation import CLEAR_DIFFERENCE, Case, Validation
from simsched.report.markdown import table
from simsched.report.plots import COLOURS, save
from simsched.report.plots.looks import looks
from simsched.report.terminal import plain_table

#: What is known about measurements that has an entry per run, or is in the table already.
#: What a validation writes into a directory.
FILES = ("validation.json", "validation.png", "validation.md")
_PER_RUN = {"counters", "speed_probe_s", "matrix"}

COLUMNS = (
    "program",
    "policy",
    "workers",
    "tasks",
    "measured [ms]",
    "spread",
    "simulated [ms]",
    "error",
    "iterations",
    "classes",
    "busy share",
    "steals",
    "simulated",
)


def validation_table(validation: Validation) -> Table:
    """Return one row per case."""
    return plain_table(
        COLUMNS, map(_cells, validation.cases), left=("program", "policy"), pad_edge=False
    )


def _cells(case: Case) -> tuple[str, ...]:
    worst = max((abs(error) for error in case.class_error.values()), default=0.0)
    return (
        case.label,
        case.policy,
        str(case.workers),
        f"{case.tasks:,}",
        f"{case.measured_s * 1e3:.3f}",
        f"{case.measured_spread:.1%}",
        f"{case.simulated_s * 1e3:.3f}",
        f"{case.error:+.1%}",
        f"{case.iteration_error:.1%}",
        f"{worst:.1%}",
        f"{case.busy_share_error:.3f}",
        f"{case.measured_steals:g}",
        f"{case.simulated_steals:g}",
    )


def summary_lines(validation: Validation) -> list[str]:
    """Return the figures of the whole as sentences."""
    found = validation.as_json()
    tau = found["rank_correlation"]
    lines = [
        f"{found['cases']} cases: error of the makespan {found['median_makespan_error']:.1%} "
        f"(median), {found['p90_makespan_error']:.1%} (90th percentile); measured runs spread by "
        f"{found['median_measured_spread']:.1%}",
        f"order of policies: {found['order_pairs']} pairs differ by more than "
        f"{CLEAR_DIFFERENCE:.0%} on hardware, {found['order_agreement']:.0%} of them are ordered "
        f"alike; rank correlation of all pairs {'-' if tau is None else f'{tau:.2f}'}",
        f"medians: iterations {_percent(found['median_iteration_error'])}, time in task classes "
        f"{_percent(found['median_class_error'])}, their distributions "
        f"{_percent(found['median_class_distribution_error'])}, busy share of workers "
        f"{_percent(found['median_busy_share_error'])} of the makespan; steals "
        f"{found['measured_steals']:g} measured, {found['simulated_steals']:g} simulated",
        f"calibrated on other runs: {validation.calibrated_on or 'the machine does not say which'}",
    ]
    wrong = [pair for pair in validation.pairs() if pair[0].simulated_s >= pair[1].simulated_s]
    lines += [
        f"ordered differently: {fast.label} with {fast.workers} workers: {fast.policy} is faster "
        f"than {slow.policy} by {slow.measured_s / fast.measured_s - 1:.1%}, simulated "
        f"{slow.simulated_s / fast.simulated_s - 1:+.1%}"
        for fast, slow in wrong
    ]
    return lines


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def plot_validation(validation: Validation) -> Figure:
    """Return measured against simulated makespans, and the sorted errors."""
    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    scatter, sorted_errors = figure.subplots(1, 2)
    for policy, look in looks(case.policy for case in validation.cases).items():
        mine = [case for case in validation.cases if case.policy == policy]
        scatter.loglog(
            [case.measured_s * 1e3 for case in mine],
            [case.simulated_s * 1e3 for case in mine],
            look.marker,
            color=look.colour,
            alpha=0.7,
            label=policy,
        )
    low, high = (f(case.measured_s * 1e3 for case in validation.cases) for f in (min, max))
    ends = np.array([low / 1.2, high * 1.2])
    scatter.plot(ends, ends, color="#555555", linewidth=0.8)
    for factor in (0.9, 1.1):
        scatter.plot(ends, ends * factor, color="#555555", linewidth=0.6, linestyle=":")
    scatter.set_xlabel("measured makespan [ms]")
    scatter.set_ylabel("simulated makespan [ms]; dotted: 10 %")
    scatter.legend()
    errors = 100.0 * np.sort(validation.errors)
    share = 100.0 * (np.arange(len(errors)) + 1) / len(errors)
    sorted_errors.step(errors, share, where="post", color=COLOURS[0])
    for percent in (50, 90):
        sorted_errors.axhline(percent, color="#555555", linewidth=0.6, linestyle=":")
    sorted_errors.set_xlim(left=0)
    sorted_errors.set_xlabel("error of the makespan, without sign [%]")
    sorted_errors.set_ylabel("cases with at most this error [%]")
    figure.suptitle(f"{validation.measurements} on {validation.machine}")
    return figure


def markdown(validation: Validation) -> str:
    """Return the report as Markdown."""
    parts = [
        f"# Validation: {validation.measurements} on {validation.machine}",
        "\n".join(f"* {line}" for line in summary_lines(validation)),
        "![measured and simulated makespans](validation.png)",
        "\n".join(table(COLUMNS, map(_cells, validation.cases))),
        "Figures are medians over the repetitions. *spread*: largest minus smallest measured "
        "makespan by the median; *iterations*: median error of their lengths; *classes*: largest "
        "error of the time in tasks of a class; *busy share*: mean difference of the share of the "
        "makespan that workers spend in tasks; *steals*: measured and simulated.",
    ]
    if validation.warnings:
        parts.append("\n".join(["Warnings:", "", *(f"* {text}" for text in validation.warnings)]))
    parts.append("## Host and measurements\n\n" + _facts(validation.about))
    return "\n\n".join(parts) + "\n"


def _facts(about: dict[str, Any]) -> str:
    """Return plain data as a code block, without lists of one entry per run."""
    shown = {key: value for key, value in about.items() if key not in _PER_RUN}
    return "```json\n" + json.dumps(shown, indent=1, default=str) + "\n```"


def write_report(validation: Validation, directory: Path) -> list[Path]:
    """Write `FILES`; return their paths."""
    make_directory(directory)
    paths = [directory / name for name in FILES]
    document = validation.as_json() | {"about": validation.about}
    write_text(paths[0], json.dumps(document, indent=1, default=str) + "\n")
    save(plot_validation(validation), paths[1])
    write_text(paths[2], markdown(validation))
    return paths
