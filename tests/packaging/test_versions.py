"""One version everywhere, and files about it that other programs can read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML

import simsched
from simsched.cli.app import main

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
# Title and body of each version.
RELEASES = re.findall(
    r"^## (.*?)\n(.*?)(?=^## |\Z)",
    (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_versions_agree(capsys: pytest.CaptureFixture[str]) -> None:
    build = re.search(r"^  version: '(.*)',", (ROOT / "meson.build").read_text(), re.MULTILINE)
    assert build is not None
    assert main(["--version"]) == 0
    found = {
        "package": simsched.__version__,
        "installed": metadata.version("simsched"),
        "command": capsys.readouterr().out.removeprefix("simsched ").strip(),
        "meson.build": build[1],
        "CITATION.cff": CITATION["version"],
        "CHANGELOG.md": RELEASES[0][0].split(",")[0],
    }
    assert found == dict.fromkeys(found, PROJECT["version"])


def test_every_version_says_whether_it_changes_results() -> None:
    assert RELEASES
    for title, body in RELEASES:
        said = re.findall(r"^### Changes simulated results\n\n(.+)$", body, re.MULTILINE)
        assert len(said) == 1, title


def test_the_license_is_one() -> None:
    assert CITATION["license"] == PROJECT["license"]
    assert (ROOT / PROJECT["license-files"][0]).read_text().startswith("BSD 3-Clause License")


def test_what_is_installed_is_what_is_asked_for() -> None:
    for need in map(Requirement, PROJECT["dependencies"]):
        assert len(need.specifier) == 1, f"{need}: not one lower bound"
        assert need.specifier.contains(metadata.version(need.name)), need


@pytest.mark.slow
def test_the_citation_is_valid() -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        pytest.skip("uv runs the checker in an environment of its own")
    words = ["tool", "run", "--from", "cffconvert", "cffconvert", "--validate", "--infile"]
    done = subprocess.run(
        [uv, *words, str(ROOT / "CITATION.cff")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
