"""Every code block of the documentation runs, or is at least well formed, or says why not."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from .blocks import PAGES, PARSED, ROOT, RUN, Block, blocks_of, name_of

# What readers bring along: inputs that a page names and does not make.
GIVEN = Path(__file__).parent / "given"
BLOCKS = {page: blocks_of(page) for page in PAGES}


def runnable(page: Path) -> list[Block]:
    return [
        block
        for block in BLOCKS[page]
        if block.mark not in ("shown", "by") and (block.language in RUN or block.mark == "file")
    ]


def marked(page: Path) -> object:
    slow = any(block.mark == "slow" for block in BLOCKS[page])
    marks = [pytest.mark.slow, pytest.mark.timeout(1200)] if slow else []
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.mark.parametrize("page", [marked(page) for page in PAGES if runnable(page)])
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    for name in ("experiments", "machines", "workloads", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    given = GIVEN / page.stem
    if given.exists():
        shutil.copytree(given, tmp_path, dirs_exist_ok=True)
    blocks = [dataclasses.asdict(block) for block in runnable(page)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("run_blocks.py"), name_of(page)],
        input=json.dumps(blocks),
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def all_blocks() -> list[object]:
    return [
        pytest.param(block, id=f"{name_of(page)}:{block.line}")
        for page, blocks in BLOCKS.items()
        for block in blocks
        if block.language
    ]


@pytest.mark.parametrize("block", all_blocks())
def test_block_is_well_formed(block: Block) -> None:
    if block.language == "python":
        compile(block.text, "block", "exec")
    elif block.language in ("yaml", "json"):
        assert YAML(typ="safe").load(block.text) is not None
    elif block.language == "toml":
        assert tomllib.loads(block.text)
    elif block.language == "csv":
        assert len({len(row) for row in csv.reader(block.text.splitlines())}) == 1
    else:
        assert block.language in ("sh", "c") or block.language.startswith("{")
    if block.mark == "by":
        assert (ROOT / block.argument).is_file(), f"no test {block.argument}"
    elif block.mark in ("slow", "shown"):
        assert len(block.argument.split()) > 2, "says why"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_in_blocks_that_run(page: Path) -> None:
    for block in BLOCKS[page]:
        if not block.language and not block.mark:
            first = {line.split()[0] for line in block.text.splitlines() if line.strip()}
            assert not first & {"simsched", "dask", "python", "pip", "import", "from"}, block


def test_blocks_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- example: slow, takes a minute -->\n```sh\nexit 3\n```\ntext\n\n```python\n1\n```\n"
        "<!-- examples: by, tests/x.py -->\n\n```yaml\na: 1\n```\n\n    indented\n"
    )
    found = [(block.line, block.language, block.mark, block.argument) for block in blocks_of(page)]
    assert found == [
        (2, "sh", "slow", "takes a minute"),
        (7, "python", "", ""),
        (12, "yaml", "by", "tests/x.py"),
        (16, "", "by", "tests/x.py"),
    ]
    assert set(PARSED) & set(RUN) == set()


def test_a_wrong_block_is_noticed(tmp_path: Path) -> None:
    for language, text in (("python", "x = 1 +"), ("python", "1 / 0"), ("sh", "false\ntrue\n")):
        block = {"line": 7, "language": language, "text": text, "mark": "", "argument": ""}
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("run_blocks.py"), "page.md"],
            input=json.dumps([block]),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0
        assert language == "sh" or 'File "page.md", line 8' in done.stderr
