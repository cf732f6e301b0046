"""Small pieces of HTML for notebooks, all text escaped; how wide plain text may be."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

#: Characters, more than any line has: text for files and programs is not broken into lines.
UNBROKEN = 100_000


def facts(title: str, rows: Iterable[tuple[str, object]], text: str = "") -> str:
    """Return a heading, a paragraph, unless `text` is empty, and a table of names and values.

    >>> facts("a < b", [("x", 1)])[:40]
    '<div><b>a &lt; b</b><table><tr><th style'
    """
    return f"<div><b>{escape(title)}</b>{_paragraph(text)}{table((), rows)}</div>"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table, with or without a head; the first cell of each row is its heading."""
    names = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in head)
    lines = [f"<tr>{names}</tr>"] if names else []
    for row in rows:
        first, *rest = (escape(str(cell)) for cell in row)
        cells = "".join(f'<td style="text-align:left">{cell}</td>' for cell in rest)
        lines.append(f'<tr><th style="text-align:left">{first}</th>{cells}</tr>')
    return f"<table>{''.join(lines)}</table>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>" if text else ""
