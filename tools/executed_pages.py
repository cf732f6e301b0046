"""Write the pages of the documentation that show what programs print and draw.

Notebooks are executed and become pages; the gallery executes the lines that it shows. What has been
executed is kept beside the pages until a program, the package or a shipped file changes.
"""

import base64
import hashlib
import html
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

#: One cell takes at most so long on a busy host.
CELL_TIMEOUT_S = 800
DECIDES = ("*.py", "*.c", "*.h", "*.pyx", "*.pxi", "*.yaml")

GALLERY_SETUP = """\
import simsched

small = {"workloads": ["heat_small"], "seeds": 2}
result = simsched.run("quickstart", set=small)
sizes = {"product": {"workloads.heat_small.rows": [512, 1024, 2048, 4096, 8192]}}
swept = simsched.run("quickstart", set={**small, "seeds": 1, "sweep": sizes})
programs = ["heat_small", "sten_small", "pagerank_small"]
several = simsched.run("opteron48", programs, ["cilk", "laws"])
"""
#: Question, the line that draws the answer.
GALLERY = (
    ("How long does each policy take?", "result.plot.makespan()"),
    ("How many times as fast as the baseline is each?", "result.plot.speedup()"),
    ("And for how large a problem?", "swept.plot.speedup()"),
    ("Which policy is best for which program?", "several.plot.matrix()"),
    ("Where are data accessed, in the own domain or in others?", "result.plot.locality()"),
    ("How busy are the links between sockets?", "several.plot.links()"),
    ("What makes one policy faster than another?", 'result.plot.waterfall("bats")'),
    ("What does every worker do when?", 'result.plot.gantt("bats", iterations=2)'),
    (
        "How much bandwidth is in use, beside what the memory sustains?",
        'result.plot.bandwidth("bats", iterations=(1, 3))',
    ),
    (
        "And of each memory node?",
        'result.plot.bandwidth("bats", by="node", iterations=(1, 3))',
    ),
    ("What does a machine look like?", "simsched.machines.knl_snc4_flat"),
)


def write(folder: Path, root: Path) -> None:
    """Write the pages of notebooks and the gallery.

    Parameters
    ----------
    folder : Path
        Where to.
    root : Path
        The checkout.
    """
    state = digest_of(root)
    target = folder / "notebooks"
    target.mkdir(parents=True, exist_ok=True)
    notebooks = {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    for old in target.iterdir():
        if not any(old.name.startswith(name) for name in notebooks):
            old.unlink()
    for name, path in notebooks.items():
        about = f"Executed when this page was made; the notebook is `notebooks/{name}.ipynb`."
        write_page(target, name, nbformat.read(path, as_version=4), state, about)
    write_page(folder, "gallery", gallery(), state, "")


def digest_of(root: Path) -> str:
    """Return a digest of everything that decides what programs of the pages show."""
    found = hashlib.sha256(Path(__file__).read_bytes())
    for room in ("simsched", "machines", "workloads", "experiments"):
        for pattern in DECIDES:
            for path in sorted((root / room).rglob(pattern)):
                found.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def gallery() -> Any:
    """Return the gallery as a notebook."""
    cells = [
        nbformat.v4.new_markdown_cell(
            "# Gallery\n\nEvery plot that there is, below the line that draws it. All are drawn by"
            " matplotlib on axes that a notebook can go on drawing on;"
            " `axes.figure.savefig(FILE)` keeps one."
        ),
        nbformat.v4.new_code_cell(GALLERY_SETUP),
    ]
    for question, line in GALLERY:
        cells.append(nbformat.v4.new_markdown_cell(f"## {question}"))
        # An axes object that is assigned is drawn without its repr.
        code = f"axes = {line}" if ".plot." in line else line
        cells.append(nbformat.v4.new_code_cell(code))
    cells.append(
        nbformat.v4.new_markdown_cell(
            "## On the command line\n\n"
            "`simsched run` draws the makespans beside the table, `simsched compare A B -o FILE`"
            " the waterfall, `simsched show machine NAME --draw FILE` the machine,"
            " `simsched report EXPERIMENT` all of them in one HTML file."
        )
    )
    return nbformat.v4.new_notebook(cells=cells)


def write_page(folder: Path, name: str, notebook: Any, state: str, about: str) -> None:
    """Execute a notebook and write its page, unless that is there already."""
    mark = hashlib.sha256((state + nbformat.writes(notebook)).encode()).hexdigest()
    page = folder / f"{name}.md"
    first_line = f"% {mark}"
    if page.exists() and page.read_text(encoding="utf-8").startswith(first_line):
        return
    execute(notebook)
    for old in folder.glob(f"{name}_*.png"):
        old.unlink()
    lines = [first_line, "", *lines_of(notebook, folder, name)]
    if about:
        title = next(index for index, line in enumerate(lines) if line.startswith("# "))
        lines[title + 1 : title + 1] = ["", about]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def execute(notebook: Any) -> None:
    """Execute a notebook in an empty directory, where results and what Jupyter keeps go."""
    with tempfile.TemporaryDirectory() as empty:
        names = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")
        own = {name: str(Path(empty) / "own") for name in names}
        resources = {"metadata": {"path": empty}}
        with patch.dict(os.environ, own, PYDEVD_DISABLE_FILE_VALIDATION="1"):
            NotebookClient(
                notebook,
                timeout=CELL_TIMEOUT_S,
                resources=resources,
                extra_arguments=["--log-level=ERROR"],
            ).execute()


def lines_of(notebook: Any, folder: Path, name: str) -> Iterator[str]:
    """Yield the lines of a notebook's page; its pictures are written beside it."""
    pictures = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield from (*cell.source.splitlines(), "")
            continue
        yield from ("```python", *cell.source.rstrip().splitlines(), "```", "")
        for output in cell.outputs:
            data: Mapping[str, Any] = output.get("data", {})
            if "image/png" in data:
                pictures += 1
                file = f"{name}_{pictures}.png"
                (folder / file).write_bytes(base64.b64decode(data["image/png"]))
                yield from (f"![{html.escape(caption(cell.source))}]({file})", "")
            elif "text/html" in data:
                yield from ("````{raw} html", *data["text/html"].splitlines(), "````", "")
            else:
                text = output.get("text") or data.get("text/plain", "")
                yield from ("````text", *text.rstrip().splitlines(), "````", "")


def caption(source: str) -> str:
    """Return the last line of a cell, which draws its picture, as text in brackets."""
    return re.sub(r"[\[\]]", "", source.strip().splitlines()[-1])
