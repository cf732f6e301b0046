"""Descriptions as text for terminals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from io import StringIO
from itertools import pairwise
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text
from rich.tree import Tree

from simsched.report.description import Description, Fact, Row

#: Characters, more than any line has: text for files and programs is not broken into lines.
UNBROKEN = 100_000


def text(described: Description, width: int = 120) -> str:
    """Return a description as lines.

    Facts below others make it a tree, of which longer lines than `width` are wrapped.
    """
    title = f"{described.title}: {described.gloss}" if described.gloss else described.title
    if any(fact.below for fact in described.facts):
        tree = Tree(Text(title))
        _grow(tree, described.facts, ": ")
        return printed(width, tree)
    lines = [title, *(_line(fact, ": ") for fact in described.facts)]
    if described.text:
        lines += ["", described.text]
    if described.parameters:
        lines += ["", "parameters", *_parameters(described.parameters)]
    if described.figures:
        lines += ["", "figures"]
        lines += [f"  {name} = {value:.4g}" for name, value in described.figures.items()]
    tables = [printed(width, table(each.rows)) for each in described.tables]
    return "\n".join([*lines, *tables])


def table(rows: Iterable[Row], title: str = "name") -> RichTable:
    """Return rows as a table with lines of the terminal's width; `title` is that of names."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["name"]
    heads = {name: title if name == "name" else name for name in names}
    words = [name for name in names if not any(isinstance(row.get(name), int) for row in rows)]
    return plain_table(
        list(heads.values()),
        ([str(row.get(name, "")) for name in names] for row in rows),
        left=[heads[name] for name in words],
        fold=[heads[name] for name in names if name != "name"],
        whole=[title],
    )


def plain_table(
    columns: Sequence[str],
    rows: Iterable[Iterable[str]],
    *,
    left: Collection[str],
    fold: Collection[str] = (),
    whole: Collection[str] = (),
    title: str = "",
    pad_edge: bool = True,
) -> RichTable:
    """Return text as a table; ``[s]`` is no style, neither in its cells nor in its title.

    Columns that are not among the `left` ones hold numbers. Where there is little room, those of
    `fold` are broken anywhere, those of `whole` are not broken.
    """
    head = Text(title, "table.title") if title else None
    made = RichTable(title=head, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=pad_edge)
    for name in columns:
        made.add_column(
            Text(name),
            justify="left" if name in left else "right",
            overflow="fold" if name in fold else "ellipsis",
            no_wrap=name in whole,
        )
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def with_sections(made: RichTable, groups: Sequence[object]) -> RichTable:
    """Separate the rows of a table where the group changes that they belong to; return it."""
    for row, (group, following) in zip(made.rows, pairwise(groups), strict=False):
        row.end_section = group != following
    return made


def _parameters(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        accepted = f"  ({row['accepted']})" if "accepted" in row else ""
        yield f"  {row['name']} = {row['value']!r}{accepted}"
        if row.get("description"):
            yield f"      {row['description']}"


def _grow(branch: Tree, facts: Iterable[Fact], between: str = " ") -> None:
    for fact in facts:
        _grow(branch.add(Text(_line(fact, between))), fact.below)


def _line(fact: Fact, between: str) -> str:
    """Return a fact, its source in brackets."""
    said = f"{fact.label}{between}{fact.value}" if fact.value else fact.label
    return f"{said}  [{fact.source}]" if fact.source else said


def printed(width: int, *shown: Any) -> str:
    """Return what a console of that width prints, without colours and blanks at the end."""
    console = Console(file=StringIO(), width=width, color_system=None, markup=False, emoji=False)
    with console.capture() as capture:
        for each in shown:
            console.print(each)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())
