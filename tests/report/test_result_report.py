"""The report of an experiment: one file that has everything and loads nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import simsched
from benchmarks.policies import CentralQueue
from simsched import Result
from simsched.cli.app import main
from simsched.experiment.cells import Cell
from simsched.experiment.single_run import simulate_cell
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import read_document
from simsched.report import result_pictures, result_report
from simsched.trace.run import Run

EXPERIMENT = """\
name: small
description: Stealing <fast> & "slow".
machines: [amd_4x_opteron8380]
workloads: [{name: "fork_join[depth=4]", label: forks}]
policies: [cilk_a, {name: work_sharing, label: "sharing <b>"}]
seeds: 2
"""
#: One seed, of which differences are no chance.
HEAT = EXPERIMENT.replace("fork_join[depth=4]", "heat[rows=512]").replace("seeds: 2", "seeds: 1")
VOID = {"meta", "link", "img", "br", "source", "hr", "input", "wbr"}


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    return file


@pytest.fixture
def result(experiment: Path) -> Result:
    return simsched.run(experiment, jobs=1)


@pytest.fixture
def explained(experiment: Path) -> Result:
    """A result whose difference has an explanation."""
    experiment.write_text(HEAT)
    found = simsched.run(experiment, jobs=1)
    assert found.remarks
    return found


def test_runs_are_simulated_once_for_the_pictures_of_their_bandwidth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They once were three times: to know whether there is a picture, light and dark."""
    calls: list[str] = []

    def counted(cell: Cell, row: dict[str, Any]) -> Run:
        calls.append(cell.policy)
        return simulate_cell(cell, row)

    monkeypatch.setattr("simsched.report.plots.iterations.simulate_cell", counted)
    program = "heat_small[iterations=1]"
    result = simsched.run("knl_snc4_flat", program, ["cilk", "bats"], jobs=1, seeds=2)
    result.report(tmp_path / "one.pdf", figures=["makespan"])
    assert calls == []
    result.report(tmp_path / "report.html")
    assert calls == ["cilk", "bats"]  # of two seeds the first


def test_cells_are_broken_in_names_and_not_in_numbers() -> None:
    pieces = result_report._pieces
    assert pieces("heat[rows=1024,columns=8]") == ["heat[", "rows=1024,", "columns=8]"]
    assert pieces("work_sharing [1]") == ["work_", "sharing [1]"]
    assert pieces("3,580 ± 250") == ["3,580 ±\N{NO-BREAK SPACE}250"]


class Page(HTMLParser):
    """What a page has: tags that are open, addresses, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "srcset", "href")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_a_report_has_everything_and_loads_nothing(result: Result, tmp_path: Path) -> None:
    page = Page((result.report(tmp_path / "report.html")).read_text("utf-8"))
    assert page.open == []
    assert page.tags.count("script") == 1  # it sorts tables
    assert all(address.startswith(("data:image/png;base64,", "#")) for address in page.addresses)
    assert 'Stealing <fast> & "slow".' in page.text
    assert "sharing <b>" in page.text
    for row in result.text().splitlines()[3:-1]:
        for cell in filter(None, re.split(r" {2,}", row.strip())):
            assert cell in page.text
    assert "seeds 0, 1" in page.text
    assert f"simsched {simsched.__version__}" in page.text
    assert "4 sockets, 4 NUMA domains, 16 cores" in page.text
    assert re.search(r"depth\s*4", page.text)
    assert "work_sharing" in page.text


def test_a_report_says_what_policies_charge(experiment: Path, tmp_path: Path) -> None:
    experiment.write_text(EXPERIMENT.replace("policies: [cilk_a", "policies: [laws"))
    found = simsched.run(experiment, jobs=1)
    said = "besides the machine's costs, laws: profile 200 ns, spawn 100 ns"
    assert said in Page(found.report(tmp_path / "report.html").read_text("utf-8")).words


def test_a_report_says_where_the_time_went(
    explained: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = explained.report(tmp_path / "report.html")
    words = Page(file.read_text("utf-8")).words
    for said in ("Where the time went", "idle", "parallel efficiency", "makespan"):
        assert said in [word.strip() for word in words]
    assert not {*explained.remarks} & {*words}  # they know no traces
    ((found,),) = result_pictures.differences(explained)
    assert " ".join(found.remarks) in words
    for sentence in found.remarks:
        assert sentence in words
    monkeypatch.setattr(result_pictures, "MAX_EVENTS", 0)
    explained.report(file)
    assert "Where the time went" not in Page(file.read_text("utf-8")).words


def test_a_report_says_how_to_repeat_it(result: Result, tmp_path: Path) -> None:
    text = result.report(tmp_path / "report.html").read_text("utf-8")
    blocks = re.findall(r"<pre>(name: .*?)</pre>", text, re.DOTALL)
    assert len(blocks) == 1
    file = tmp_path / "again.yaml"
    file.write_text(
        blocks[0]
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("&#34;", '"')
        .replace("&#39;", "'")
    )
    assert read_document(file).data["name"] == "small"
    again = simsched.run(file, jobs=1, output=tmp_path / "again")
    assert [row["makespan_s"] for row in again.rows] == [row["makespan_s"] for row in result.rows]


def test_what_only_a_program_has_cannot_be_repeated_from_a_file(tmp_path: Path) -> None:
    found = simsched.run("amd_4x_opteron8380", "fork_join[depth=3]", CentralQueue(), jobs=1)
    text = found.report(tmp_path / "report.html").read_text("utf-8")
    assert "run from Python" in text
    assert "<pre>name:" not in text


def test_the_command_writes_the_command(
    experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(experiment), "--quiet", "--set", "seeds=1", "-p", "cilk_a"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == Path("results/small/report.html")
    text = Page(path.read_text("utf-8")).text
    assert f"simsched report {experiment} --policy cilk_a --set seeds=1" in text
    assert "1 run;" in text


def test_runs_of_another_output_are_found(
    experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were simulated a second time."""
    assert main(["run", str(experiment), "--quiet", "-o", "my/first"]) == 0
    capsys.readouterr()
    stored = sorted((tmp_path / "my/first/cells").iterdir())
    times = [file.stat().st_mtime_ns for file in stored]
    assert main(["report", str(experiment), "--quiet"]) == 0
    assert capsys.readouterr().out == "my/first/report.html\n"
    (tmp_path / "my").rename(tmp_path / "deep")
    (tmp_path / "my").mkdir()
    (tmp_path / "deep").rename(tmp_path / "my/deep")  # too deep to be looked for
    words = ["--runs", "my/deep/first"]
    assert main(["report", str(experiment), "--quiet", *words]) == 0
    assert capsys.readouterr().out == "my/deep/first/report.html\n"
    page = Page((tmp_path / "my/deep/first/report.html").read_text("utf-8"))
    assert "--runs my/deep/first" in page.text
    stored = sorted((tmp_path / "my/deep/first/cells").iterdir())
    assert [file.stat().st_mtime_ns for file in stored] == times
    # Other runs, some of which are stored there, go to the experiment's own directory.
    assert main(["report", str(experiment), "--quiet", "--set", "seeds=1"]) == 0
    assert capsys.readouterr().out == "results/small/report.html\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["small.yaml", "--runs", "nowhere"], "--runs: nowhere: found no runs.parquet, accepted"),
        (["small.yaml", "-o", "report.txt"], "--output: found 'report.txt', accepted: a name that"),
        (["small.yaml", "-o", "nowhere/report.html"], "nowhere"),
        (["smal.yaml"], "did you mean 'small.yaml'"),
        (["small.yaml", "-p", "cilk_b"], "unknown policy 'cilk_b'"),
    ],
)
def test_wrong_words_are_refused_before_anything_runs(
    experiment: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    del experiment
    assert main(["report", *words]) == 2
    assert message in capsys.readouterr().err
    assert not Path("results").exists()


def test_figures_are_pages_of_a_pdf_with_fonts_that_publishers_take(
    experiment: Path, explained: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three figures here: makespans, what makes the difference, bandwidths (there are none)."""
    file = explained.report(tmp_path / "figures.pdf")
    pages = file.read_bytes()
    assert pages.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", pages)) == 3  # makespans, what differs, bytes
    assert b"/Subtype /CIDFontType2" in pages  # TrueType
    assert b"/Subtype /Type3" not in pages
    assert explained.report(tmp_path / "again.pdf").read_bytes() == pages
    assert f"/Title ({explained.experiment.name})".encode() in pages
    assert main(["report", str(experiment), "--quiet", "-o", "command.pdf"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "command.pdf"
    assert printed[1:]
    assert (tmp_path / "command.pdf").read_bytes() == pages


def test_policies_that_are_marked_are_not_explained(explained: Result) -> None:
    assert [len(each) for each in result_pictures.differences(explained)] == [1]
    for row in explained.rows:
        if row["policy"] != explained.baseline:
            row["misfits"] = "has nothing to decide"
    assert [*result_pictures.differences(explained)] == []


def test_each_policy_that_differs_has_a_panel_as_long_as_there_are_few_events(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAT
    experiment.write_text(text.replace("policies: [cilk_a", "policies: [cilk_a, manual_static"))
    found = simsched.run(experiment, jobs=1)
    (three,) = result_pictures.differences(found)
    assert [each.names[2] for each in three] == ["manual_static", "sharing <b>"]
    page = found.report(tmp_path / "r.html").read_text("utf-8")
    title = "amd_4x_opteron8380 forks: cilk_a, manual_static and sharing &lt;b&gt;"
    assert page.count(f'alt="{title}"') == 1
    events: dict[str, int] = {}
    for row in found.rows:
        events[row["policy"]] = events.get(row["policy"], 0) + row["events"]
    most = events["cilk_a"] + events["manual_static"]
    monkeypatch.setattr(result_pictures, "MAX_EVENTS", most)
    assert [len(each) for each in result_pictures.differences(found)] == [1]
    monkeypatch.setattr(result_pictures, "MAX_EVENTS", most - 1)
    assert [*result_pictures.differences(found)] == []


def test_sentences_on_several_places_name_them(
    experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEAT
    text = text.replace("workloads: [", 'workloads: [{name: "heat[rows=1024]", label: large}, ')
    experiment.write_text(text)
    assert main(["report", str(experiment), "--quiet", "-o", str(tmp_path / "f.pdf")]) == 0
    sentences = capsys.readouterr().out.splitlines()[1:]
    assert sentences
    for sentence in sentences:
        assert re.match(r"amd_4x_opteron8380 (forks|large): cilk_a and sharing <b>: ", sentence)


def test_other_names_are_refused(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"accepted: a name in \.html or \.pdf"):
        result.report(tmp_path / "report.txt")


def test_the_command_says_what_the_marks_of_a_pdf_mean(
    experiment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment.write_text(EXPERIMENT.replace("cilk_a,", "cilk_a, gpu_only,"))
    assert main(["report", str(experiment), "-o", "r.pdf", "--figure", "makespan"]) == 0
    path, *said = capsys.readouterr().out.splitlines()
    assert path == "r.pdf"
    assert [line for line in said if re.match(r"\[\d\] needs ", line)]
