"""Files that a user names are replaced with `--overwrite` only, whichever command writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Command
from .test_conventions import COMMANDS, options

MAKESPANS = "machine,policy,tiles_per_side,makespan_ms\nmirage,dmda,2,50\n"
CURVE = "machine,kernel,placement,threads,gb_per_s\nopteron48,triad,local,1,3\n"
CLAIMS = """\
sources: {Book: A book}
claims:
  - {id: cores, source: Book §3, kind: constant, probe: machine_count,
     arguments: {machine: amd_4x_opteron8380, what: cores}, value: 16}
"""
#: What writes a file, by the name of the file.
WRITERS = [
    (("calibrate", "--no-kernels", "-o", "host.yaml"), "host.yaml"),
    (("compare", "small.yaml:cilk_a", "small.yaml:work_sharing", "-o", "w.png"), "w.png"),
    (("duel", "cilk", "laws", "--tries", "1", "-o", "out"), "out/duel.yaml"),
    (("export", "fork_join[depth=2]", "g.dot"), "g.dot"),
    (("export", "fork_join[depth=2]", "-o", "g.graphml"), "g.graphml"),
    (("measure", "measure_small", "-o", "set"), "set/measurements.json"),
    (("metg", "task_bench", "-o", "out"), "out/metg_trials.parquet"),
    (("references", "times.csv", "-o", "table.csv"), "table.csv"),
    (("references", "curve.csv", "--plots", "p"), "p/opteron48-triad-local.png"),
    (("report", "small.yaml", "-o", "r.html"), "r.html"),
    (("reproduce", "claims.yaml", "--pages", "p"), "p/index.md"),
    (("reproduce", "claims.yaml", "--pages", "p"), "p/book.md"),
    (("schema", "machine", "-o", "s.json"), "s.json"),
    (("show", "machine", "toy_1fast_3slow", "--draw", "m.svg"), "m.svg"),
    (("validate", "set", "-m", "opteron48", "-o", "out"), "out/validation.md"),
]
#: Of `import` see test_import.py; files of `run` are those of its earlier runs, which it continues.
OTHERS = {("import",), ("run",)}


@pytest.fixture
def there(experiment: Path, tmp_path: Path) -> Path:
    """Return a directory with what commands read."""
    (tmp_path / "times.csv").write_text(MAKESPANS)
    (tmp_path / "curve.csv").write_text(CURVE)
    (tmp_path / "claims.yaml").write_text(CLAIMS)
    return experiment.parent


@pytest.mark.parametrize(("words", "file"), WRITERS)
def test_a_file_that_is_there_is_kept(
    words: tuple[str, ...], file: str, simsched: Command, there: Path
) -> None:
    path = there / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    before = set(there.rglob("*"))
    code, output, messages = simsched(*words)
    assert (code, output) == (2, "")
    wanted = f"{file}: found a file, accepted: a name that is free, or --overwrite to replace it"
    assert messages == f"simsched: error: {wanted}\n"
    assert path.read_text() == "mine"
    assert set(there.rglob("*")) == before


QUICK = {"export", "references", "report", "reproduce", "schema", "show"}


@pytest.mark.parametrize(("words", "file"), [each for each in WRITERS if each[0][0] in QUICK])
def test_and_replaced_where_asked_for(
    words: tuple[str, ...], file: str, simsched: Command, there: Path
) -> None:
    path = there / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    assert simsched(*words, "--overwrite")[0] == 0
    assert path.read_bytes() not in (b"", b"mine")


def test_all_commands_that_write_are_here() -> None:
    naming = {"--output", "--draw", "--pages", "--plots"}
    writing = {words for words, command in COMMANDS.items() if naming & options(command)}
    tested = {words for words in COMMANDS if any(w[: len(words)] == words for w, _ in WRITERS)}
    assert writing == tested | OTHERS
    assert all("--overwrite" in options(COMMANDS[words]) for words in writing - {("run",)})


def test_a_link_to_a_file_counts_and_one_to_nothing_too(simsched: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("mine")
    for target in ("mine.json", "nothing.json"):
        link = tmp_path / f"to_{target}"
        link.symlink_to(target)
        assert f"to_{target}: found a file" in simsched("schema", "-o", link.name)[2]
