"""Descriptions as HTML, for notebooks and reports."""

from __future__ import annotations

from simsched.names.markup import facts, table
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
    shown = [(fact.label, fact.value) for fact in described.facts if fact.value]
    pieces = [facts(described.title, shown, described.gloss)]
    if described.parameters:
        keys = [key for key in PARAMETERS if key in described.parameters[0]]
        rows = [[row[key] for key in keys] for row in described.parameters]
        pieces.append(table([PARAMETERS[key] for key in keys], rows))
    filled = [each.rows for each in described.tables if each.rows]
    pieces += [table(rows[0], (row.values() for row in rows)) for rows in filled]
    if described.drawing is not None:
        pieces.append(described.drawing())
    return "".join(pieces)
