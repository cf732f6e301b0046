"""Notebooks: both files of a pair say the same, nothing is stored that a run has printed, all run.

What a notebook says about its figures it asserts in its cells, so that a run is a test.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = sorted((ROOT / "notebooks").glob("*.py"))
# All are pages of the documentation, which runs them.

jupytext = pytest.importorskip("jupytext")
nbformat = pytest.importorskip("nbformat")


def test_each_text_has_a_notebook_and_each_is_listed() -> None:
    names = [path.stem for path in TEXTS]
    assert names == sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert [name[:2] for name in names] == [f"{number:02}" for number in range(1, 9)]
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    assert re.findall(r"\(\.\./notebooks/(\w+)\.ipynb\)", page) == names


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_text_and_notebook_agree_and_nothing_is_stored(path: Path) -> None:
    text = jupytext.read(path)
    notebook = nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(notebook)
    pairs = [[(cell.cell_type, cell.source) for cell in each.cells] for each in (text, notebook)]
    assert pairs[0] == pairs[1], "run `make notebooks`"
    assert text.metadata.kernelspec == notebook.metadata.kernelspec
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert all(set(cell.metadata) <= {"lines_to_next_cell"} for cell in notebook.cells)
    assert not any(cell.get("attachments") for cell in notebook.cells)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_notebook_asks_answers_and_names_its_sources(path: Path) -> None:
    cells = jupytext.read(path).cells
    assert re.match(rf"# {path.stem[:2]} .+\n\n\*\*Question\.\*\* ", cells[0].source)
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for part in (r"\*\*Answer\.\*\* ", "## What to change next\n", "## Sources\n"):
        assert len(re.findall(rf"^{part}", prose, re.MULTILINE)) == 1, part
    for found in re.findall(r"`((?:docs|simsched|experiments)/[\w./-]+)`", prose):
        assert (ROOT / found).exists(), found


@pytest.mark.timeout(900)  # one measures this host, which takes longer the busier that is
@pytest.mark.slow
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    # What Jupyter and IPython keep goes beside the results, not into the home directory.
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    before = set((ROOT / "notebooks").iterdir())
    notebook = nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    folder = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=800, resources=folder).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
    assert [out.text for out in shown if out.output_type == "stream" and out.name == "stderr"] == []
    assert set((ROOT / "notebooks").iterdir()) == before
    if target := os.environ.get("SIMSCHED_EXECUTED_NOTEBOOKS"):
        nbformat.write(notebook, Path(target) / f"{path.stem}.ipynb")
