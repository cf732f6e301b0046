"""What docs/architecture.md sends its readers to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .blocks import ROOT

PACKAGE = ROOT / "simsched"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILE = r"`([\w/]*\w+\.(?:py|c|h|pxi))`"


def files_called(name: str) -> list[Path]:
    """Files with a path below the package, an engine or the project."""
    rooms = (PACKAGE, PACKAGE / "engine", PACKAGE / "engine" / "native", ROOT)
    return [room / name for room in rooms if (room / name).is_file()]


def test_files_exist() -> None:
    names = set(re.findall(FILE, TEXT))
    assert len(names) > 60
    assert [name for name in sorted(names) if not files_called(name)] == []


def test_every_room_is_described() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    table = TEXT.partition("| room | has |")[2].partition("\n\n")[0]
    first = "".join(line.split("|")[1] for line in table.splitlines()[2:])
    assert set(re.findall(r"`(\w+)`", first)) == rooms
    drawn = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    named = set(re.findall(r'class="name"[^>]*>(\w+)<', drawn))
    assert rooms - named == {"testing"}


@pytest.mark.parametrize("line", [line for line in TEXT.splitlines() if re.search(FILE, line)])
def test_functions_are_in_the_files_of_their_line(line: str) -> None:
    texts = [
        path.read_text(encoding="utf-8")
        for name in re.findall(FILE, line)
        for path in files_called(name)
    ]
    for name in re.findall(r"`((?:[A-Z]\w+\.)?_?[a-z]\w+)`", line):
        word = name.rpartition(".")[2]
        is_function = "_" in word and word not in ("on_iteration", "check_policy", "ssk_plan_t")
        assert not is_function or any(re.search(rf"\b{word}\(", text) for text in texts), name


def test_it_is_read_in_one_sitting() -> None:
    assert len(TEXT.split()) <= 1_500
