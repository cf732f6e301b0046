"""Descriptions as HTML, for notebooks and reports; all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from simsched.report.description import Description

#: Columns of a table of parameters, and what they are called.
PARAMETERS = {
    "name": "parameter",
    "value": "value",
    "default": "default",
    "accepted": "accepted",
    "description": "meaning",
}


def html(described: Description) -> str:
    """Return a heading, facts that have a value, tables and a drawing."""
    return f"<div>{''.join(_pieces(described))}</div>"


def _pieces(described: Description) -> Iterator[str]:
    yield f"<b>{escape(described.title)}</b>"
    yield from _paragraphs([described.gloss] if described.gloss else [])
    yield _table((), ((fact.label, fact.value) for fact in described.facts if fact.value))
    if described.parameters:
        keys = [key for key in PARAMETERS if key in described.parameters[0]]
        rows = ([row[key] for key in keys] for row in described.parameters)
        yield _table([PARAMETERS[key] for key in keys], rows)
    for table in described.tables:
        yield _table(table.rows[0] if table.rows else (), (row.values() for row in table.rows))
        yield from _paragraphs(table.notes)
    if described.drawing is not None:
        yield described.drawing()


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    yield from (f"<p>{escape(text)}</p>" for text in texts)


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table; the first cell of each row is its heading."""
    names = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in head)
    lines = [f"<tr>{names}</tr>"] if names else []
    for row in rows:
        first, *rest = (escape(str(cell)) for cell in row)
        cells = "".join(f'<td style="text-align:left">{cell}</td>' for cell in rest)
        lines.append(f'<tr><th style="text-align:left">{first}</th>{cells}</tr>')
    return f"<table>{''.join(lines)}</table>"
