"""The site is built without a warning and describes everything that has a name."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

import simsched
from simsched.policy.contract.registry import list_policies
from simsched.workload.registry import list_workloads

from .blocks import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    words = ["-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--fresh-env"]
    done = subprocess.run(
        [sys.executable, *words, "--builder", "html", ROOT / "docs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def headings(page: Path) -> set[str]:
    found = re.findall(r"<h2>(.*?)<a class", page.read_text(encoding="utf-8"))
    return {html.unescape(re.sub(r"<.*?>", "", title)) for title in found}


def ids(page: Path) -> set[str]:
    return set(re.findall(r'<dt class="sig[^>]* id="([^"]+)"', page.read_text(encoding="utf-8")))


def test_every_public_name_is_described(site: Path) -> None:
    wanted = {f"simsched.{name}" for name in simsched.__all__ if not name.startswith("_")}
    found = ids(site / "reference" / "python.html")
    assert wanted <= found
    assert "simsched.Machine.nodes" in found or "simsched.Machine.n_cores" in found


def test_every_policy_and_generator_is_described(site: Path) -> None:
    policies = {info.name for info in list_policies() if not info.is_preset}
    assert headings(site / "reference" / "policies.html") == policies
    generators = {item.name for item in list_workloads()}
    found = headings(site / "reference" / "generators.html")
    assert {name for title in found for name in title.split(", ")} == generators  # some share one


def test_every_command_is_described(site: Path) -> None:
    words = [sys.executable, "-m", "simsched", "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z]+)  +[A-Z]", shown.partition("Commands:")[2], re.MULTILINE)
    assert "run" in commands
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for command in commands:
        assert f'id="simsched-{command}"' in text


def test_every_page_has_one_title_which_is_its_own(site: Path) -> None:
    pages = [*site.glob("*.html"), *site.glob("[!_]*/**/*.html")]
    for page in pages:
        titles = re.findall(r"<h1>(.*?)<a class", page.read_text(encoding="utf-8"))
        assert len(titles) == 1 or page.name in ("search.html", "genindex.html"), page
        assert not any("yaml-language-server" in title for title in titles)


def test_notebooks_and_plots_are_shown_as_they_ran(site: Path) -> None:
    names = [path.stem for path in (ROOT / "notebooks").glob("*.ipynb")]
    assert len(names) > 6
    for name in names:
        text = (site / "reference" / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
        assert f"_images/{name}_1.png" in text
        assert "<table" in text
    gallery = (site / "reference" / "gallery.html").read_text(encoding="utf-8")
    tool = (ROOT / "tools" / "executed_pages.py").read_text(encoding="utf-8")
    assert gallery.count("_images/gallery_") == len(re.findall(r"\w\.plot\.\w+\(", tool))
