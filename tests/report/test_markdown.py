"""The tables in docs/ are those of the registries, and cells cannot break a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.analysis.columns import COLUMNS
from simsched.machine import list_machines
from simsched.policy.contract.registry import list_policies
from simsched.report.markdown import document, table
from simsched.report.show.kinds import describe_kind
from simsched.workload.presets import list_presets
from simsched.workload.registry import list_workloads

DOCS = Path(__file__).parents[2] / "docs"
NAMES = {
    "machines": lambda: list_machines(),
    "policies": lambda: [info.name for info in list_policies()],
    "workloads": lambda: [*list_presets(), *(item.name for item in list_workloads())],
    "metrics": lambda: [name for group in COLUMNS.values() for name in group],
}


@pytest.mark.parametrize(
    "kind",
    [  # for that of workloads every preset is built
        pytest.param(kind, marks=[pytest.mark.slow] if kind == "workloads" else [])
        for kind in NAMES
    ],
)
def test_the_document_is_that_of_the_registry(kind: str) -> None:
    made = document(describe_kind(kind, full=True))
    kept = (DOCS / f"{kind}.md").read_text(encoding="utf-8")
    assert kept.splitlines() == made.splitlines(), "make docs-tables writes what there is now"
    assert kept == made


@pytest.mark.parametrize("kind", NAMES)
def test_every_name_has_one_row_per_kind(kind: str) -> None:
    lines = (DOCS / f"{kind}.md").read_text(encoding="utf-8").splitlines()
    first = [line.split("|")[1].strip() for line in lines if line.startswith("| `")]
    assert sorted(first) == sorted(f"`{name}`" for name in NAMES[kind]())


def test_every_row_has_the_cells_of_its_head() -> None:
    for kind in NAMES:
        lines = (DOCS / f"{kind}.md").read_text(encoding="utf-8").splitlines()
        width = 0
        for above, line in zip(["", *lines], lines, strict=False):
            if line.startswith("|"):
                cells = line.replace("\\|", "").count("|")
                width = width if above.startswith("|") else cells
                assert cells == width, line


def test_cells_are_one_line_and_keep_their_bars() -> None:
    lines = table(["a", "b"], [["one\n  two", 1234567], ["x|y", 0]])
    assert lines == ["| a | b |", "| --- | ---: |", "| one two | 1,234,567 |", "| x\\|y | 0 |"]
