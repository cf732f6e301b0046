"""Figures as wide as a column of a paper, and which of them are written."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import simsched
from simsched.cli.app import main
from simsched.files.errors import ConfigurationError
from simsched.report.plots.common import save
from simsched.report.plots.widths import fit, parse_width
from simsched.report.result import Result

PT_PER_MM = 72 / 25.4
EXPERIMENT = """\
name: three
machines: [toy_1fast_3slow]
workloads: ["heat[rows=64, iterations=2]", "fork_join[depth=2]", "fork_join[depth=3]"]
policies: [cilk, "cilk[placement=interleave]", work_sharing]
seeds: 1
"""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("three") / "three.yaml"
    file.write_text(EXPERIMENT)
    return simsched.run(file)


def widths_mm(pdf: bytes) -> list[float]:
    found = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) [\d.]+ \]", pdf)
    return [float(width) / PT_PER_MM for width in found]


def sizes(pdf: bytes) -> list[float]:
    """Return the sizes of fonts in what pages say, in points."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    found = []
    for stream in streams:
        try:
            text = zlib.decompress(stream)
        except zlib.error:
            continue
        found += [float(size) for size in re.findall(rb"/F\d+ ([\d.]+) Tf", text)]
    return found


@pytest.mark.parametrize(("width", "mm"), [("single_column", 85.0), ("180 mm", 180.0)])
def test_pages_are_as_wide_as_asked_for_with_text_of_six_points(
    three: Result, tmp_path: Path, width: str, mm: float
) -> None:
    pdf = three.report(tmp_path / "figures.pdf", width=width).read_bytes()
    found = widths_mm(pdf)
    assert len(found) >= 5
    assert found == pytest.approx([mm] * len(found), abs=0.05)
    assert min(sizes(pdf)) >= 6.0
    assert b"/Subtype /CIDFontType2" in pdf
    assert b"/Subtype /Type3" not in pdf


def test_text_that_cannot_be_read_is_refused(three: Result, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"width of .*: found 40 mm, accepted: \d+ mm or"):
        three.report(tmp_path / "narrow.pdf", width="40 mm")
    assert not list(tmp_path.iterdir())


def test_the_width_that_is_named_does() -> None:
    def figure() -> Figure:
        made = Figure(figsize=(12.0, 3.0), layout="constrained")
        axes = made.subplots()
        for place in range(20):
            axes.text(place, 0.0, "-12.3", fontsize=8, ha="center")
        axes.set_xlim(-0.5, 19.5)
        return made

    with pytest.raises(ConfigurationError) as refused:
        fit(figure(), 60.0, "here")
    found = re.search(r"here: found 60 mm, accepted: (\d+) mm or more", str(refused.value))
    assert found is not None
    least = float(found[1])
    assert 60.0 < least < 12 * 25.4
    fit(figure(), least, "here")
    with pytest.raises(ConfigurationError):
        fit(figure(), least - 10.0, "here")


@pytest.mark.parametrize(
    ("text", "mm"), [("85 mm", 85.0), ("8.5cm", 85.0), ("3.5 in", 88.9), ("double_column", 180.0)]
)
def test_widths(text: str, mm: float) -> None:
    assert parse_width(text, "here") == pytest.approx(mm)


@pytest.mark.parametrize(
    "text", ["", "85", "8 mm", "1e3 mm", "85 px", "-85 mm", "nan mm", "2 m", "singel_column"]
)
def test_other_widths_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"here: found .*accepted: 40 mm to 1000 mm"):
        parse_width(text, "here")


def test_figures_are_chosen_by_name(
    three: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pdf = three.report(tmp_path / "m.pdf", figures=["matrix"]).read_bytes()
    assert len(widths_mm(pdf)) == 1
    assert b"/Title (Policies of three, by machine and workload)" in pdf
    both = three.report(tmp_path / "b.pdf", figures=["matrix", "makespan"]).read_bytes()
    assert len(widths_mm(both)) == 2
    assert b"/Title (three)" in both
    page = three.report(tmp_path / "m.html", figures=["matrix"]).read_text()
    assert "Policies of three, by machine" in page
    assert "Makespans of three" not in page
    with pytest.raises(ConfigurationError, match=r"no figure matrix of three, accepted: make"):
        three["policy=cilk"].report(tmp_path / "x.pdf", figures=["matrix"])
    for words, message in (
        (["--figure", "waterfal"], "unknown figure 'waterfal'; did you mean 'waterfall'?"),
        (["-o", "x.pdf", "--width", "singel_column"], "did you mean 'single_column'?"),
        (["--width", "85 mm"], "width: found without a PDF"),
    ):
        assert main(["report", "quickstart", "-q", *words]) == 2
        assert message in capsys.readouterr().err


def test_single_figures_have_their_title(tmp_path: Path) -> None:
    figure = Figure()
    figure.subplots().set_title("Makespan,\nby policy", loc="left")
    save(figure, tmp_path / "f.pdf")
    assert b"/Title (Makespan, by policy)" in (tmp_path / "f.pdf").read_bytes()
    save(Figure(), tmp_path / "without.pdf")
    assert b"/Title (without)" in (tmp_path / "without.pdf").read_bytes()
    machine = tmp_path / "machine.pdf"
    assert main(["show", "machine", "toy_1fast_3slow", "--draw", str(machine)]) == 0
    pdf = machine.read_bytes()
    assert b"/Title (toy_1fast_3slow)" in pdf
    assert b"/Subtype /Type3" not in pdf
