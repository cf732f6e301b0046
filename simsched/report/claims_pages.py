"""Claims as pages: one with the counts, and one per source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from simsched.files.atomic import check_writable, naming, refuse_existing, write_text
from simsched.report.claims import (
    COUNTED,
    diagnosis_text,
    published_text,
    runs_text,
    shares,
    simulated_text,
    summary_rows,
    verdict_text,
    what_text,
)
from simsched.report.markdown import paragraph, table
from simsched.reproduction.claims import Drawn, Reproduction, by_kind, by_source, summary
from simsched.reproduction.judge import Verdict
from simsched.reproduction.schema import page_name

INDEX = "index.md"
LEGEND = """\
Bars are simulated, one per case; the band is what is published. Where one number is published for
all, a line marks it, and a dashed one what the cases give together."""
FIGURES = (
    "Bars are simulated; black marks are numbers or ranges that the source has for single bars."
)


def check_pages(directory: Path, sources: Iterable[str], *, overwrite: bool) -> None:
    """Refuse a directory that pages cannot be written to; make it if it is missing."""
    names = [INDEX, *(f"{page_name(source)}.md" for source in sources)]
    refuse_existing([directory / name for name in names], overwrite=overwrite)
    with naming(directory):
        directory.mkdir(exist_ok=True)
    check_writable(directory / INDEX)


def write_pages(directory: Path, reproduction: Reproduction) -> None:
    """Write the page of counts, a page per source, and a figure where a headline has cases."""
    from simsched.report.plots.claims import headlines
    from simsched.report.plots.common import save
    from simsched.report.plots.published import redrawn

    write_text(directory / INDEX, index(reproduction))
    for source, verdicts in by_source(reproduction.all).items():
        name = page_name(source)
        figure = headlines(verdicts)
        if figure is not None:
            save(figure, directory / f"{name}.png")
        for drawn in _drawn(reproduction, source):
            save(redrawn(drawn, verdicts), directory / _picture_file(drawn))
        text = page(reproduction, source, f"{name}.png" if figure is not None else "")
        write_text(directory / f"{name}.md", text)


def index(reproduction: Reproduction) -> str:
    """Return the page with the counts of all sources."""
    counted = summary(reproduction)
    rows = [
        [f"[{source}]({page_name(source)}.md)" if source != "all" else "**all**", *rest]
        for source, *rest in summary_rows(reproduction)
    ]
    lines = [
        "# Published claims beside simulated values",
        "",
        "Written by `simsched reproduce --pages`; [claims](../claims.md) has the rules.",
        f"Evaluated: {', '.join(family.name for family in reproduction.families)}.",
        runs_text(counted["runs"]) + ".",
        "",
        *table(["source", "claims", *COUNTED], rows),
    ]
    return "\n".join(lines) + "\n"


def page(reproduction: Reproduction, source: str, figure: str) -> str:
    """Return the page of a source: its headlines, its counts, and the claims that fail."""
    verdicts = by_source(reproduction.all)[source]
    reference = next(
        f.file.sources[source] for f in reproduction.families if source in f.file.sources
    )
    lines = [f"# {source}", "", paragraph(reference), "", *_headlines(verdicts)]
    if figure:
        lines += [f"![The headlines, case by case]({figure})", ""]
        lines += [paragraph(LEGEND), ""]
    pictures = _drawn(reproduction, source)
    if pictures:
        lines += ["## Figures", "", FIGURES, ""]
    for drawn in pictures:
        picture = drawn.planned.picture
        where = picture.source.removeprefix(source).strip()
        lines += [f"![{where}]({_picture_file(drawn)})", "", f"*{where}: {picture.title}*", ""]
    lines += ["## Counts", "", *table(COUNTED, [shares(by_kind(verdicts))]), ""]
    for family, found in reproduction.verdicts.items():
        own = by_source(found).get(source, [])
        failing = [v for v in own if v.holds is False and v.claim.kind != "derived"]
        if failing:
            lines += [f"## Failing: {family}", "", *_table(source, failing), ""]
            lines += [*_diagnoses(failing), ""]
    derived = [v for v in verdicts if v.holds is not None and v.claim.kind == "derived"]
    if derived:
        lines += [
            "## Derived",
            "",
            "What follows from other rows or a rule; no source prints it.",
            "",
        ]
        lines += [*_table(source, derived), ""]
    return "\n".join(lines).rstrip() + "\n"


def _drawn(reproduction: Reproduction, source: str) -> list[Drawn]:
    """Return the figures of a source."""
    return [drawn for drawn in reproduction.drawn if drawn.planned.source == source]


def _picture_file(drawn: Drawn) -> str:
    return f"{page_name(drawn.planned.picture.source)}.png"


def _headlines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return what a reader of the source wants to know first."""
    rows = [
        [
            verdict.claim.headline,
            published_text(verdict.claim),
            simulated_text(verdict),
            verdict_text(verdict),
            diagnosis_text(verdict),
        ]
        for verdict in verdicts
        if verdict.claim.headline
    ]
    if not rows:
        return []
    return [*table(["question", "published", "simulated", "verdict", "why"], rows), ""]


def _table(source: str, verdicts: Sequence[Verdict]) -> list[str]:
    """Return a table of what is published and simulated."""
    rows = []
    for verdict in verdicts:
        claim = verdict.claim
        where = claim.source.removeprefix(source).strip()
        where += " (calibration)" if claim.calibrated_on else ""
        what = [what_text(claim), published_text(claim), simulated_text(verdict)]
        rows.append([f"`{claim.id}`", where, claim.kind, *what, verdict_text(verdict)])
    columns = ["claim", "where", "kind", "what", "published", "simulated", "verdict"]
    return table(columns, rows)


def _diagnoses(failing: Sequence[Verdict]) -> list[str]:
    """Return what the model lacks, once for all claims that share a diagnosis."""
    shared: dict[str, list[str]] = {}
    for verdict in failing:
        shared.setdefault(diagnosis_text(verdict), []).append(f"`{verdict.claim.id}`")
    return [paragraph(f"{', '.join(ids)}: {text}", "* ") for text, ids in shared.items()]
