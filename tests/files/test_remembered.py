"""What is kept from one command to the next is what would be made anew."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from simsched.files import remembered as module
from simsched.files.remembered import remembered
from simsched.report.show.kinds import KINDS, describe_kind


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that stands for the package, with a file in it, and keep things elsewhere."""
    monkeypatch.setattr(module, "folder", lambda: tmp_path / "home")
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "a.py").write_text("1", encoding="utf-8")
    monkeypatch.setattr(module, "PACKAGE", folder)
    return folder


def counted(made: list[int]) -> list[int]:
    """Return how often it has been called, as data."""
    made.append(len(made))
    return [len(made)]


def test_nothing_is_made_twice_while_no_file_changes(package: Path) -> None:
    made: list[int] = []
    assert [remembered("x", lambda: counted(made)) for _ in range(3)] == [[1], [1], [1]]
    assert remembered("y", lambda: counted(made)) == [2]
    (package / "a.py").write_text("12", encoding="utf-8")
    assert remembered("x", lambda: counted(made)) == [3]
    (package / "b").mkdir()
    (package / "b" / "new.py").touch()
    assert remembered("x", lambda: counted(made)) == [4]


@pytest.mark.parametrize("damage", ["", "[]", '{"state": 1}', "{", "\0", '{"data": [7]}'])
def test_what_is_kept_may_be_damaged(package: Path, tmp_path: Path, damage: str) -> None:
    made: list[int] = []
    remembered("x", lambda: counted(made))
    (tmp_path / "home" / "x.json").write_text(damage, encoding="utf-8")
    assert [remembered("x", lambda: counted(made)) for _ in range(2)] == [[2], [2]]


@pytest.mark.parametrize("home", [None, Path("/dev/null/simsched")])
def test_a_home_that_cannot_be_written_keeps_nothing(
    package: Path, monkeypatch: pytest.MonkeyPatch, home: Path | None
) -> None:
    monkeypatch.setattr(module, "folder", lambda: home)
    made: list[int] = []
    assert [remembered("x", lambda: counted(made)) for _ in range(2)] == [[1], [2]]


def test_what_others_offer_is_looked_at_each_time(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = importlib.metadata.EntryPoint("name", "a:b", "simsched.policies")
    points = importlib.metadata.EntryPoints([point])
    monkeypatch.setattr(module, "entry_points", lambda: points)
    made: list[int] = []
    assert [remembered("x", lambda: counted(made)) for _ in range(2)] == [[1], [2]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_is_the_same_the_second_time(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "folder", lambda: tmp_path)
    first = describe_kind(kind).data
    monkeypatch.setitem(KINDS, kind, None)  # type: ignore[arg-type]  # called, it fails
    assert describe_kind(kind).data == first
