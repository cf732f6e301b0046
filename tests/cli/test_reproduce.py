"""``simsched reproduce``: runs what claims need once, prints verdicts, continues after Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from simsched.experiment.runner import RunOptions
from simsched.experiment.store import Store
from simsched.report.plots.published import redrawn
from simsched.reproduction.claims import load_family, reproduce

from .conftest import Command

EXPERIMENT = """\
name: small
machines: [{name: amd_4x_opteron8380, workers: 4}]
workloads: [{name: fork_join, depth: 3}]
policies: [cilk_a, work_sharing]
seeds: 2
backend: simpy
"""
CLAIMS = """\
sources: {Book: A book about tasks}
claims:
  - id: count
    source: Book §1
    kind: absolute
    experiment: small.yaml
    metric: tasks
    policy: cilk_a
    value: 15
  - id: wrong
    source: Book Fig 2
    kind: ordering
    experiment: small.yaml
    metric: tasks
    order: cilk_a < work_sharing
    diagnosis: both run the same tasks
  - {id: cores, source: Book §3, kind: constant, probe: machine_count,
     arguments: {machine: amd_4x_opteron8380, what: cores}, value: 16, calibrated_on: true}
  - {id: lost, source: Book Fig 4, kind: absolute, value: 3, not_evaluable: the figure is lost}
"""


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    path = tmp_path / "claims.yaml"
    path.write_text(CLAIMS)
    return path


def test_the_document_counts_what_holds(simsched: Command, claims: Path) -> None:
    code, output, _ = simsched("reproduce", claims, "--json", "--jobs", 1)
    document = json.loads(output)
    assert code == 0
    counts = {kind: document[kind] for kind in ("ordering", "comparative", "absolute", "constant")}
    assert {kind: (own["holding"], own["evaluable"]) for kind, own in counts.items()} == {
        "ordering": (0, 1),
        "comparative": (0, 0),
        "absolute": (1, 1),
        "constant": (0, 0),
    }
    assert document["undiagnosed"] == 0
    assert document["runs"]["computed"] == 4
    assert document["runs"]["reused"] == 0
    assert document["runs"]["elapsed_s"] > 0.0
    assert document["calibration"]["evaluable"] == document["calibration"]["holding"] == 1
    assert document["by_source"]["Book"]["claims"]["not_evaluable"] == 1
    assert [(c["id"], c["verdict"], c["diagnosis"]) for c in document["claims"]] == [
        ("count", "holds", ""),
        ("wrong", "fails", "both run the same tasks"),
        ("cores", "holds", ""),
    ]
    assert document["claims"][1]["cases"][0]["simulated"] == {
        "cilk_a": [15.0],
        "work_sharing": [15.0],
    }
    assert [(c["id"], c["reason"]) for c in document["not_evaluable"]] == [
        ("lost", "the figure is lost")
    ]


def test_a_second_call_only_evaluates(simsched: Command, claims: Path, tmp_path: Path) -> None:
    assert "4 runs simulated" in simsched("reproduce", claims, "-o", "out", "-j", 1)[1]
    rows = {p: p.stat().st_mtime_ns for p in (tmp_path / "out/small/cells").iterdir()}
    assert len(Store(tmp_path / "out/small/cells").keys()) == 4
    code, output, _ = simsched("reproduce", claims, "-o", "out", "-j", 1)
    assert code == 0
    assert "0 runs simulated" in output
    assert "4 taken from earlier" in output
    assert rows == {p: p.stat().st_mtime_ns for p in (tmp_path / "out/small/cells").iterdir()}


def test_the_tables_show_published_and_simulated_values(simsched: Command, claims: Path) -> None:
    _, output, messages = simsched("reproduce", claims, "--quiet", "-j", 1)
    assert messages == ""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert any(line.startswith("count tasks, cilk_a 15 15 holds") for line in lines)
    assert any("fails by a tie: both run the same tasks" in line for line in lines)
    assert any(line == "lost Book Fig 4 the figure is lost" for line in lines)
    assert any(line.startswith("Book claims 0 / 1 0 / 0 0 / 0") for line in lines)


def test_one_claim_runs_nothing_that_it_does_not_need(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    code, output, _ = simsched("reproduce", claims, "--claim", "cores", "--json")
    assert code == 0
    assert [claim["id"] for claim in json.loads(output)["claims"]] == ["cores"]
    assert not (tmp_path / "results").exists()


def test_only_the_runs_that_a_claim_reads_are_made(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    code, output, _ = simsched("reproduce", claims, "--claim", "count", "-o", "out", "-j", 1)
    assert code == 0
    assert "2 runs simulated" in output
    assert not (tmp_path / "out/small/runs.parquet").exists()
    code, output, _ = simsched("reproduce", claims, "-o", "out", "-j", 1)
    assert "2 runs simulated" in output
    assert (tmp_path / "out/small/runs.parquet").exists()


def test_files_of_one_name_in_different_folders_are_different_experiments(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    deeper = EXPERIMENT.replace("depth: 3", "depth: 4").replace("name: small", "name: deeper")
    (other / "small.yaml").write_text(deeper)
    (other / "more.yaml").write_text(CLAIMS.replace("value: 15", "value: 31"))
    words = ("reproduce", claims, other / "more.yaml", "--claim", "count", "--json", "-j", 1)
    document = json.loads(simsched(*words)[1])
    assert [claim["verdict"] for claim in document["claims"]] == ["holds", "holds"]


def test_the_list_runs_nothing(simsched: Command, claims: Path, tmp_path: Path) -> None:
    code, output, _ = simsched("reproduce", claims, "--list", "--json")
    assert code == 0
    small = str(claims.with_name("small.yaml"))
    assert [(c["id"], c["published"], c["experiments"]) for c in json.loads(output)] == [
        ("count", "15", [small]),
        ("wrong", "cilk_a < work_sharing", [small]),
        ("cores", "16", []),
        ("lost", "3", []),
    ]
    assert not (tmp_path / "results").exists()


def test_pages_have_the_counts_and_the_claims_that_fail(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    claims.write_text(CLAIMS.replace("id: wrong", "id: wrong\n    headline: Are they different?"))
    code, _, _ = simsched("reproduce", claims, "--quiet", "-j", 1, "--pages", "pages")
    index, page = ((tmp_path / "pages" / name).read_text() for name in ("index.md", "book.md"))
    assert code == 0
    assert "| [Book](book.md) | claims | 0 / 1 | 0 / 0 | 0 / 0 |" in index
    assert "Evaluated: claims." in index
    assert " runs simulated in " in index
    assert "| Are they different? | cilk_a < work_sharing |" in page
    assert "| `wrong` | Fig 2 | ordering | tasks | cilk_a < work_sharing |" in page
    assert "* `wrong`: both run the same tasks" in page
    assert "`count`" not in page, "holds"
    assert "`lost`" not in page, "cannot be evaluated"
    assert "A book about tasks" in page


def test_derived_rows_are_shown_and_not_counted(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    claims.write_text(
        CLAIMS.replace("kind: absolute\n    experiment", "kind: derived\n    experiment")
    )
    words = ("reproduce", claims, "--json", "-j", 1, "--pages", "pages")
    document = json.loads(simsched(*words)[1])
    assert document["absolute"]["evaluable"] == 0
    assert document["derived"]["evaluable"] == 1
    assert "| `count` | §1 | derived |" in (tmp_path / "pages/book.md").read_text()


def test_pages_show_headlines_that_compare_as_a_figure(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    compared = CLAIMS.replace(
        "    policy: cilk_a\n    value: 15",
        "    policy: cilk_a\n    versus: work_sharing\n    as: ratio\n    value: 1\n"
        "    headline: As many tasks?",
    ).replace("kind: absolute\n    experiment", "kind: comparative\n    experiment")
    claims.write_text(compared)
    assert simsched("reproduce", claims, "--quiet", "-j", 1, "--pages", "pages")[0] == 0
    assert (tmp_path / "pages/book.png").read_bytes().startswith(b"\x89PNG")
    assert "(book.png)" in (tmp_path / "pages/book.md").read_text()


FIGURE = """\
figures:
  - source: Book Fig 5
    title: so many tasks
    experiment: small.yaml
    metric: tasks
    policy: [cilk_a, work_sharing]
"""


def test_pages_draw_figures_of_the_source_anew(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    claims.write_text(CLAIMS + FIGURE)
    assert simsched("reproduce", claims, "--quiet", "-j", 1, "--pages", "pages")[0] == 0
    assert (tmp_path / "pages/book-fig-5.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "pages/book.md").read_text()
    assert "![Fig 5](book-fig-5.png)" in page
    assert "*Fig 5: so many tasks*" in page


def test_a_figure_has_a_bar_per_policy_and_marks_what_is_published(
    claims: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    claims.write_text(CLAIMS + FIGURE)
    found = reproduce([load_family(claims)], RunOptions(jobs=1))
    (axes,) = redrawn(found.drawn[0], found.all).axes
    assert [bar.get_height() for bar in axes.patches] == [15, 15]
    # The claim `count` publishes 15 for cilk_a alone; the other line is that of 0.
    marks = [line.get_ydata() for line in axes.lines if line.get_marker() == "_"]
    assert [list(mark) for mark in marks] == [[15, 15]]
    assert axes.get_legend_handles_labels()[1] == ["cilk_a", "work_sharing"]


def test_no_two_of_many_policies_look_alike_in_a_figure(
    claims: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    claims.write_text(CLAIMS + FIGURE)
    drawn = reproduce([load_family(claims)], RunOptions(jobs=1)).drawn[0]
    first = drawn.values[0][0]
    points = [replace(first.point, policy=f"p{number}") for number in range(20)]
    many = replace(drawn, values=[(replace(first, point=point), 1.0) for point in points])
    bars = redrawn(many, []).axes[0].patches
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == len(bars) == 20


def test_a_figure_beside_several_baselines_has_a_bar_for_each(
    claims: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    both = "policy: cilk_a\n    versus: [work_sharing, pfws]\n    as: ratio"
    (tmp_path / "small.yaml").write_text(EXPERIMENT.replace("sharing]", "sharing, pfws]"))
    claims.write_text(CLAIMS + FIGURE.replace("policy: [cilk_a, work_sharing]", both))
    found = reproduce([load_family(claims)], RunOptions(jobs=1))
    (axes,) = redrawn(found.drawn[0], found.all).axes
    names = axes.get_legend_handles_labels()[1]
    assert names == ["cilk_a beside work_sharing", "cilk_a beside pfws"]
    places = [bar.get_x() for bar in axes.patches]
    assert len(set(places)) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("metric: tasks\n    policy: [", "metric: task\n    policy: [", "unknown metric 'task'"),
        ("[cilk_a, work_sharing]", "[cilk_x]", "'cilk_x'"),
        ("title", "groups: [a, b]\n    title", "found 2 names, accepted: 1, one per group"),
        ("title", "as: ratio\n    title", "versus: missing, accepted: a value beside as"),
        ("Book Fig 5", "Book", "accepted: the source and which figure of it"),
        ("Book Fig 5", "Book!", "accepted: the source and which figure of it"),
        ("Book Fig 5", "Boot Fig 5", "found 'Boot Fig 5', accepted: text that begins with"),
    ],
)
def test_figures_are_checked_before_anything_runs(
    simsched: Command, claims: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    claims.write_text(CLAIMS + FIGURE.replace(old, new))
    code, output, errors = simsched("reproduce", claims)
    assert (code, output) == (2, "")
    assert "figures[0]" in errors
    assert message in errors
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("Atlas: Another book", "accepted: a figure of a source that claims are about"),
        ('"本": Another book', "found '本', accepted: text with a letter of a to z or a digit"),
        ('"book.": Another book', "accepted: sources whose pages differ in name"),
    ],
)
def test_sources_have_pages_of_their_own(
    simsched: Command, claims: Path, more: str, message: str
) -> None:
    figure = FIGURE.replace("Book Fig 5", "Atlas Fig 5" if "Atlas" in more else "Book Fig 5")
    claims.write_text(CLAIMS.replace("{Book: A book", f"{{{more}, Book: A book") + figure)
    code, output, errors = simsched("reproduce", claims)
    assert (code, output) == (2, "")
    assert message in errors


def test_names_that_look_like_formulas_are_drawn_as_they_are(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    claims.write_text(CLAIMS + FIGURE.replace("title", r"groups: ['$\frac$']" + "\n    title"))
    assert simsched("reproduce", claims, "--quiet", "-j", 1, "--pages", "pages")[0] == 0
    assert (tmp_path / "pages/book-fig-5.png").exists()


def test_figures_have_files_of_their_own(simsched: Command, claims: Path) -> None:
    claims.write_text(CLAIMS + FIGURE + FIGURE.removeprefix("figures:\n").replace("Fig", "fig."))
    code, output, errors = simsched("reproduce", claims)
    assert (code, output) == (2, "")
    assert "accepted: different figures (key source)" in errors


def test_pages_that_cannot_be_written_stop_it_before_it_runs(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    for place, message in (("no/pages", "no/pages: cannot be"), (claims, f"{claims}: ")):
        code, output, errors = simsched("reproduce", claims, "--pages", place)
        assert (code, output) == (2, "")
        assert message in errors
        assert errors.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_a_failing_claim_needs_a_diagnosis(simsched: Command, claims: Path) -> None:
    claims.write_text(CLAIMS.replace("    diagnosis: both run the same tasks\n", ""))
    _, output, _ = simsched("reproduce", claims, "--json", "-j", 1)
    document = json.loads(output)
    assert document["undiagnosed"] == 1
    assert document["claims"][1]["diagnosis"] == "undiagnosed"


def test_a_diagnosis_of_a_claim_that_holds_is_reported(simsched: Command, claims: Path) -> None:
    claims.write_text(CLAIMS.replace("cilk_a < work_sharing", "cilk_a ~= work_sharing"))
    _, _, messages = simsched("reproduce", claims, "-j", 1)
    assert "warning: wrong holds but has a diagnosis" in messages


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reproduce", "claims.yaml", "--claim", "cots"), "unknown claim 'cots'; did you mean"),
        (("reproduce", "claim.yaml"), "claim.yaml: no such file; did you mean 'claims.yaml'?"),
        (("reproduce", "nothing"), "unknown claims family 'nothing'"),
        (("reproduce", "claims.yaml", "-j", 0), "--jobs: found 0"),
    ],
)
def test_wrong_words_are_refused(
    simsched: Command, claims: Path, words: tuple[object, ...], message: str
) -> None:
    code, output, messages = simsched(*words)
    assert (code, output) == (2, "")
    assert message in messages
    assert messages.count("\n") == 1


def test_a_wrong_name_is_refused_with_its_line_before_anything_runs(
    simsched: Command, claims: Path, tmp_path: Path
) -> None:
    claims.write_text(CLAIMS.replace("policy: cilk_a", "policy: cilk_b"))
    for command in (("check", "claims.yaml"), ("reproduce", "claims.yaml")):
        code, output, messages = simsched(*command)
        assert (code, output) == (2, "")
        assert "claims.yaml:8: claims[0].policy: unknown policy label 'cilk_b'" in messages
        assert "did you mean 'cilk_a'?" in messages
    assert not (tmp_path / "results").exists()


def test_check_says_what_a_claims_file_contains(simsched: Command, claims: Path) -> None:
    code, output, _ = simsched("check", claims)
    assert (code, output) == (0, f"{claims}: 4 claims, 1 not evaluable: correct\n")


def test_an_interrupted_reproduction_continues(claims: Path, tmp_path: Path) -> None:
    text = EXPERIMENT.replace("seeds: 2", "seeds: 400").replace("depth: 3", "depth: 5")
    (tmp_path / "small.yaml").write_text(text)
    words = [sys.executable, "-m", "simsched", "reproduce", str(claims), "-o", "out", "-j", "1"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    cells = tmp_path / "out" / "small" / "cells"
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(Store(cells).keys()) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"the same command continues" in messages
    stored = {path: path.read_bytes() for path in cells.glob("*.jsonl")}
    assert 3 <= len(Store(cells).keys()) < 800
    (tmp_path / "small.yaml").write_text(text.replace("seeds: 400", "seeds: 3"))
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert {path: path.read_bytes() for path in stored} == stored  # what is missing is elsewhere
    found = re.search(rb"(\d+) runs simulated in .*, (\d+) taken from earlier", done.stdout)
    assert found
    assert int(found[2]) >= 3
    assert int(found[1]) + int(found[2]) == 6
