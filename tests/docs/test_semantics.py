"""The law is written in short numbered rules; what cites them and what carries them out exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .blocks import ROOT

TEXT = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
RULE = r"[A-Z]{1,2}\d+"
RULES = dict(re.findall(rf"^\* \*\*({RULE})\*\* (.*?)(?=^\* |^#|^$)", TEXT, re.M | re.S))
ENGINES = ("simsched/engine/reference", "simsched/engine/native/kernel")


def letters(rule: str) -> str:
    return rule.rstrip("0123456789")


def sentences(text: str) -> list[str]:
    """Sentences of a rule, a formula counting as one word."""
    words = re.sub(r"`[^`]*`", "x", " ".join(text.split()))
    return re.split(r"(?<=[.!?])\s+(?=[A-Z*])", words)


def test_rules_are_short() -> None:
    assert len(RULES) > 250
    for rule, text in RULES.items():
        assert len(sentences(text)) <= 3, rule
        assert max(len(sentence.split()) for sentence in sentences(text)) <= 40, rule


def test_rules_are_numbered_from_1() -> None:
    by_letters: dict[str, list[int]] = {}
    for rule in re.findall(rf"^\* \*\*({RULE})\*\*", TEXT, re.MULTILINE):
        by_letters.setdefault(letters(rule), []).append(int(rule[len(letters(rule)) :]))
    for numbers in by_letters.values():
        assert numbers == list(range(1, len(numbers) + 1))


def test_cited_rules_exist() -> None:
    own = re.findall(rf"\(({RULE})\)|(?:of|in|by|and|to) ({RULE})\b", TEXT)
    assert {rule for pair in own for rule in pair if rule} <= set(RULES)
    states = TEXT.partition("## States")[2].partition("\n## ")[0]
    assert set(re.findall(rf"\b{RULE}\b", states)) <= set(RULES)
    known = set(RULES) | {letters(rule) for rule in RULES}
    cited = 0
    for room in ("simsched", "tests", "benchmarks"):
        for path in (ROOT / room).rglob("*"):
            if path.suffix not in (".py", ".c", ".h", ".pyx", ".pxi"):
                continue
            text = path.read_text(encoding="utf-8")
            for found in re.findall(r"semantics\.md(?:``)?, rules? ([^;:).\n]+)", text):
                names = re.findall(r"\b[A-Z]{1,2}\d*\b", found)
                assert names, f"{path}: {found}"
                assert set(names) <= known, f"{path}: {found}"
                cited += 1
    assert cited > 40


@pytest.mark.parametrize(("column", "folder"), [*enumerate(ENGINES, start=2)])
def test_every_rule_has_files(column: int, folder: str) -> None:
    table = TEXT.partition("| rules | about |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert {name for row in rows for name in row[0].split(", ")} == set(map(letters, RULES))
    files = {path.name for path in (ROOT / folder).rglob("*")} | engine_files()
    for row in rows:
        named = re.findall(r"`([\w.]+)`", row[column])
        assert named or "the driver" in row[column] or "follows" in row[column], row
        assert set(named) <= files, row


def engine_files() -> set[str]:
    """Names of files that both engines share or that only read what they have done."""
    shared = [*(ROOT / "simsched/engine").glob("*.py"), *(ROOT / "simsched").rglob("services.py")]
    return {Path(path).name for path in shared}
