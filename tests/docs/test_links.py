"""Links between the files of the repository lead somewhere, paths exist, lines are wrapped."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from .blocks import PAGES, ROOT, name_of

LONGEST_LINE = 130  #: characters, without where links lead
ROOMS = "benchmarks|docs|experiments|machines|notebooks|simsched|tests|tools|workloads"


def inline(page: Path) -> list:
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    return [child for token in tokens for child in token.children or ()]


def anchors(page: Path) -> set[str]:
    """Return the anchors that a heading gets where Markdown is shown as a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    titles = [
        "".join(child.content for child in after.children or ())
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    ]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [token.attrs["href"] for token in inline(page) if token.type == "link_open"]
    targets += [token.attrs["src"] for token in inline(page) if token.type == "image"]
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        found = page.parent / path if path else page
        assert found.exists(), f"{target}: no such file"
        assert found.resolve().is_relative_to(ROOT), f"{target}: outside the repository"
        if anchor:
            assert anchor in anchors(found), f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_exist(page: Path) -> None:
    for token in inline(page):
        if token.type == "code_inline" and re.fullmatch(rf"({ROOMS})/[\w./-]+\.\w+", token.content):
            assert (ROOT / token.content).exists(), token.content


def test_every_page_is_in_the_index() -> None:
    docs = ROOT / "docs"
    named = re.findall(r"^[\w/*-]+$", (docs / "index.md").read_text(), re.MULTILINE)
    entries = {entry for entry in named if "*" not in entry}
    for pattern in {*named} - entries:
        found = docs.glob(f"{pattern}.md")
        entries |= {path.relative_to(docs).with_suffix("").as_posix() for path in found}
    pages = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")}
    pages = {page for page in pages if not page.startswith("reference/")} - {"index"}
    assert {entry for entry in entries if not entry.startswith("reference/")} == pages


#: Written by a command, as `simsched validate` words them.
GENERATED = {"docs/validation/two_cores/validation.md"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_of_paragraphs_are_wrapped(page: Path) -> None:
    if name_of(page) in GENERATED:
        pytest.skip("written by a command")
    lines = page.read_text(encoding="utf-8").splitlines()
    for token in MarkdownIt("commonmark").enable("table").parse("\n".join(lines)):
        if token.type == "paragraph_open" and token.map is not None:
            for number in range(*token.map):
                text = re.sub(r"\]\([^)]*\)", "]", lines[number])
                assert len(text) <= LONGEST_LINE, f"{name_of(page)}:{number + 1}"
