"""The record of how near the present model comes: one file, and a page of tables made of it.

A section has a row for each figure: what is measured and what is simulated. Rows that differ behind
``" | "`` alone are of policies that one would compare. A section of texts has verdicts on claims.
A test that computes rows compares them with the file, or, under ``--renew-accuracy``, puts them
there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np

from simsched.files.atomic import write_text
from simsched.report.markdown import table
from simsched.reproduction.curves import Compared
from simsched.reproduction.schema import KINDS

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "validation" / "accuracy.json"
PAGE = RECORD.with_suffix(".md")
DIGITS = 5  #: significant ones that are kept
APART = 0.05  #: least difference of policies whose order counts

Figure = tuple[float, float]
Section = Mapping[str, Figure] | Mapping[str, str]


def predicted(label: str, compared: Iterable[Compared]) -> dict[str, Figure]:
    """Return rows of the points of curves that no machine was made from."""
    found = {}
    for row in compared:
        point = row.point
        if not point.is_used:
            load = "" if point.load is None else f" at {point.load:g} GB/s"
            name = f"{label}: {point.kernel} {point.placement} {point.threads}{load}"
            found[name] = (point.value, row.simulated or 0.0)
    return found


def kept(section: Section) -> dict[str, list[float] | str]:
    """Return rows as the file holds them: sorted and rounded."""
    return {
        name: row if isinstance(row, str) else [float(f"{value:.{DIGITS}g}") for value in row]
        for name, row in sorted(section.items())
    }


def read() -> dict[str, dict[str, list[float] | str]]:
    """Return the sections of the file."""
    found: dict[str, dict[str, list[float] | str]] = json.loads(RECORD.read_text("utf-8"))
    return found


def renew(name: str, section: Section) -> None:
    """Replace a section of the file, and the page."""
    record = dict(sorted({**read(), name: kept(section)}.items()))
    sections = (
        json.dumps(name, ensure_ascii=False) + ": {\n" + ",\n".join(_lines(rows)) + "\n}"
        for name, rows in record.items()
    )
    write_text(RECORD, "{\n" + ",\n".join(sections) + "\n}\n")
    write_text(PAGE, page(record))


def _lines(rows: Mapping[str, object]) -> Iterator[str]:
    for name, row in rows.items():
        yield f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(row, ensure_ascii=False)}"


def differences(name: str, section: Section) -> list[str]:
    """Return how rows differ from those in the file, a line each."""
    now, before = kept(section), read().get(name, {})
    return [
        f"{name}: {row}: recorded {before.get(row, 'nothing')}, found {now.get(row, 'nothing')}"
        for row in sorted(now.keys() | before.keys())
        if now.get(row) != before.get(row)
    ]


def page(record: Mapping[str, Mapping[str, list[float] | str]]) -> str:
    """Return the tables of all sections."""
    measured, claims = [], []
    for name, rows in record.items():
        figures = {key: row for key, row in rows.items() if not isinstance(row, str)}
        if figures:
            measured.append([name, *_sums(figures)])
        else:
            claims.append([name, *_counts([str(row) for row in rows.values()])])
    lines = [
        "# How near the present model comes",
        "",
        "Simulated figures beside measured ones, and published claims. `accuracy.json` beside this",
        "page has every row; `make accuracy` writes both. A test fails when the model moves a row",
        "and the file stays.",
        "",
    ]
    columns = ["measured", "figures", "median error", "90 % below", "within 5 %", "within 10 %"]
    lines += [*table([*columns, "policies in order"], measured), ""]
    if claims:
        lines += table(["claims that hold", *KINDS], claims)
    return "\n".join(lines).rstrip() + "\n"


def _sums(rows: Mapping[str, Sequence[float]]) -> list[object]:
    """Return the number of figures and the sums of their errors."""
    errors = [100.0 * abs(simulated / given - 1.0) for given, simulated in rows.values()]
    within = [f"{sum(error <= bound for error in errors)} / {len(errors)}" for bound in (5.0, 10.0)]
    largest = float(np.percentile(errors, 90))
    return [len(errors), f"{median(errors):.1f} %", f"{largest:.1f} %", *within, _in_order(rows)]


def _in_order(rows: Mapping[str, Sequence[float]]) -> str:
    """Return how many pairs of policies are in the measured order, of those that are apart."""
    alike: dict[str, list[Sequence[float]]] = {}
    for name, row in rows.items():
        case, bar, _ = name.partition(" | ")
        if bar:
            alike.setdefault(case, []).append(row)
    pairs = [
        (one[0] < other[0]) == (one[1] < other[1])
        for cases in alike.values()
        for one, other in combinations(cases, 2)
        if abs(one[0] - other[0]) > APART * max(one[0], other[0])
    ]
    return f"{sum(pairs)} / {len(pairs)}" if pairs else ""


def _counts(verdicts: Sequence[str]) -> list[str]:
    """Return how many claims of each kind hold."""
    found = []
    for kind in KINDS:
        own = [text for text in verdicts if text.startswith(f"{kind} ")]
        found.append(f"{sum(text.startswith(f'{kind} holds') for text in own)} / {len(own)}")
    return found


class Recorder:
    """Compares sections with the file, or puts them there."""

    def __init__(self, renews: bool) -> None:
        self.renews = renews

    def __call__(self, name: str, section: Section) -> None:
        """Compare or renew a section."""
        if self.renews:
            renew(name, section)
        assert differences(name, section) == [], "if the model has changed: make accuracy"

    def part(self, name: str, section: Section) -> None:
        """Compare some rows of a section; none is renewed."""
        recorded = read().get(name, {})
        assert kept(section) == {row: recorded.get(row) for row in kept(section)}

    def curves(self, name: str, compared: Mapping[str, Iterable[Compared]]) -> None:
        """Compare or renew a section of points of curves, by the label of their machine."""
        section: dict[str, Figure] = {}
        for label, rows in compared.items():
            section |= predicted(label, rows)
        self(name, section)
