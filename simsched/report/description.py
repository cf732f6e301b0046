"""What there is to say about a thing or a kind of things, before it is known where it is read.

`simsched.report.show` says it; `terminal`, `html`, `markdown` and `json_document` beside this file
render it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simsched.names.registry import Entry

Row = dict[str, Any]


class Code(str):
    """A name that is typed as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Fact:
    """A value with a label and its source, and what belongs below it."""

    label: str
    value: str = ""
    source: str = ""
    below: Sequence[Fact] = ()


@dataclass(frozen=True)
class Table:
    """Rows of cells by the name of their column."""

    rows: Sequence[Row]
    #: What `name` is the name of.
    noun: str = ""
    title: str = ""
    gloss: str = ""
    #: Paragraphs below it.
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Description:
    """What is said; a renderer leaves out what does not fit where it writes."""

    title: str
    #: A sentence or paragraph.
    gloss: str = ""
    facts: Sequence[Fact] = ()
    #: Further documentation.
    text: str = ""
    #: Parameters with `name`, `value` and what :func:`parameter_rows` adds.
    parameters: Sequence[Row] = ()
    #: Numbers that a thing gives about itself.
    figures: Mapping[str, float] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    #: Makes a drawing in SVG.
    drawing: Callable[[], str] | None = None
    #: What programs read; units are in the names of keys.
    data: Any = None


def parameter_rows(entry: Entry[Any], values: Mapping[str, object]) -> list[Row]:
    """Return the parameters of a policy or workload with their values."""
    from simsched.names.docstrings import parameter_texts
    from simsched.names.parameters import REQUIRED

    texts = parameter_texts(entry.function)
    rows = []
    for name, parameter in entry.parameters.items():
        default = None if parameter.default is REQUIRED else parameter.default
        rows.append(
            {
                "name": name,
                "value": values.get(name, default),
                "default": default,
                "type": parameter.type.__name__,
                "choices": [*parameter.choices] or None,
                "low": parameter.bounds.low,
                "high": parameter.bounds.high,
                "accepted": parameter.accepted,
                "description": texts.get(name, ""),
            }
        )
    return rows
