"""Tables: units in the heads, four digits, the measured run first."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from simsched.cli.output import say
from simsched.experiment.summary import Estimate, Line
from simsched.report.tables import (
    comparison_table,
    fit_notes,
    number,
    scaled,
    with_interval,
)
from simsched.report.terminal import plain_table, printed

HOSTILE = "c [/u] [red]x[/] :x:"  # as the label of a policy may be


def text(table: Table) -> str:
    console = Console(file=StringIO(), width=160)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def line(policy: str, makespan: float, reduction: float, machine: str = "m") -> Line:
    metrics = {
        "makespan_s": Estimate(makespan, makespan / 100, 3),
        "dram_bytes_per_s": Estimate(85e9, math.nan, 1),
    }
    return Line(machine, "w", policy, {}, metrics, "cilk", Estimate(reduction, 0.5, 3))


@pytest.mark.parametrize(
    ("name", "value", "title", "factor"),
    [
        ("makespan_s", 0.05, "makespan [ms]", 1e-3),
        ("makespan_s", 5.0, "makespan [s]", 1.0),
        ("makespan_s", 0.0, "makespan [s]", 1.0),
        ("local_bytes", 5e12, "local [TB]", 1e12),
        ("dram_bytes_per_s", 85e9, "dram [GB/s]", 1e9),
        ("remote_percent", 75.0, "remote [%]", 1.0),
        ("makespan_over_bound", 1.2, "makespan over bound", 1.0),
    ],
)
def test_units(name: str, value: float, title: str, factor: float) -> None:
    assert scaled(name, [value, math.nan]) == (title, factor)


def test_numbers_and_intervals() -> None:
    assert number(1234567.0) == "1,234,567"
    assert number(math.inf) == "inf"
    assert with_interval(Estimate(0.0512, 0.00123, 3), 1e-3) == "51.2 ± 1.2"
    assert with_interval(Estimate(3.0, math.nan, 1)) == "3"
    assert with_interval(Estimate(3582.0, 248.0, 3)) == "3,580 ± 250"
    assert with_interval(Estimate(3.0, 0.0, 3)) == "3 ± 0"


@pytest.mark.parametrize(
    ("mean", "half_width", "shown"),
    [
        (412.34567, 0.0043, "412.3457 ± 0.0043"),
        (412.34567, 43.21, "412 ± 43"),
        (1234567.0, 45678.0, "1,235,000 ± 46,000"),
        (0.03, 2.4, "0.0 ± 2.4"),
        (-0.03, 2.4, "0.0 ± 2.4"),
        (7.0, 0.0996, "7.00 ± 0.10"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (412.3456789, 1.1e-6, "412.3457 ± 0.0001"),  # no narrower than what is said of the mean
        (0.3, 1e-17, "0.3 ± 0"),
        (math.inf, math.nan, "inf"),
    ],
)
def test_the_interval_decides_the_digits(mean: float, half_width: float, shown: str) -> None:
    """Means had four digits beside intervals of any width: 412 ± 0.0043."""
    assert with_interval(Estimate(mean, half_width, 3)) == shown


def test_comparison_has_one_line_per_policy_and_no_reduction_for_the_baseline() -> None:
    output = text(comparison_table([line("cilk", 2.0, 0.0), line("bats", 0.5, 75.0)]))
    assert "makespan [s]" in output
    assert "dram [GB/s]" in output
    rows = [row.split() for row in output.splitlines() if row.strip().startswith("w ")]
    assert rows[0] == ["w", "cilk", "2.000", "±", "0.020", "85"]
    assert rows[1] == ["w", "bats", "0.5000", "±", "0.0050", "85", "75.00", "±", "0.50"]
    assert "machine" not in output


def test_machines_are_told_apart_when_there_are_several() -> None:
    output = text(comparison_table([line("cilk", 2.0, 0.0, "a"), line("cilk", 1.0, 0.0, "b")]))
    assert "machine" in output


def test_runs_that_say_little_are_marked_and_explained() -> None:
    needy = "needs MapReduce jobs: found none"
    lines = [
        line("cilk", 1.0, 0.0),
        replace(line("samr", 2.0, -100.0), misfits=(needy,)),
        replace(line("late", 2.0, -100.0), misfits=(needy,), same_as="samr", tasks=3291),
    ]
    rows = [row.split() for row in text(comparison_table(lines)).splitlines()]
    assert ["w", "samr", "[1]"] in [row[:3] for row in rows]
    assert ["w", "late", "[1]", "[2]"] in [row[:4] for row in rows]
    assert fit_notes(lines) == [f"[1] {needy}", "[2] same 3,291 decisions as samr"]
    assert fit_notes(lines[:1]) == []


def test_what_users_write_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A label such as ``c [/u]`` in a title was a traceback, ``[placement=x]`` was left out."""
    table = plain_table([HOSTILE], [[HOSTILE]], left=[HOSTILE], title=HOSTILE)
    assert text(table).count(HOSTILE) == 3
    assert printed(80, HOSTILE, table).count(HOSTILE) == 4
    say(HOSTILE, table)
    assert capsys.readouterr().out.count(HOSTILE) == 4
