"""Code blocks of Markdown pages and what is to be done with them.

Blocks of a page run in their order, in one Python process and one empty directory:

* ``python`` is executed, all blocks of a page in one namespace;
* ``sh`` is executed line by line, and every line has to succeed;
* ``yaml``, ``toml``, ``json`` and ``csv`` have to be well formed;
* blocks without a language, and indented ones, show outputs, trees and formulas.

A comment before a block, ``<!-- example: WORD, TEXT -->``, says what differs:

* ``file, NAME``: the block is a file in that directory from the beginning, and ``simsched check``
  accepts it if it is YAML;
* ``slow, WHY``: it takes long, so the page is run by the slow tests;
* ``shown, WHY``: it is not run; this is for excerpts and for what needs what tests do not have;
* ``by, TEST``: that test runs it.

``<!-- examples: by, TEST -->`` says so of all blocks that follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("decisions", "sources", "validation")
# All that people write; the pages of docs/reference are written by a program.
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *(page for room in ROOMS for page in sorted((ROOT / "docs" / room).rglob("*.md"))),
]
RUN = ("python", "sh")
PARSED = ("yaml", "toml", "json", "csv")
MARK = re.compile(r"<!-- (examples?): (file|slow|shown|by), (.+?) -->")


@dataclass(frozen=True)
class Block:
    """One code block: where it is, what it is written in, what is to be done with it."""

    line: int
    language: str
    text: str
    mark: str
    argument: str


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page with what the comments before them say."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    found = []
    rest = ("", "")
    once: tuple[str, str] | None = None
    for token in tokens:
        if token.type == "html_block" and (said := MARK.search(token.content)):
            once = (said[2], " ".join(said[3].split()))
            if said[1] == "examples":
                rest = once
        elif token.type in ("fence", "code_block"):
            assert token.map is not None
            mark = once or rest
            found.append(Block(token.map[0] + 1, token.info.strip(), token.content, *mark))
            once = None
        elif token.level == 0 and token.nesting >= 0 and token.type != "html_block":
            once = None
    return found


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
