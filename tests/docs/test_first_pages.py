"""What README.md and the site's first page say of results stands where they say."""

from __future__ import annotations

import re

import pytest

from simsched.report.result_plots import Plots

from .blocks import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def quotations() -> list[object]:
    part = README.partition("## How far to trust it")[2].partition("\n\nTwo backends")[0]
    items = re.split(r"^\* ", part, flags=re.MULTILINE)[1:]
    return [pytest.param(item, id=item[:20].strip("*. ")) for item in items]


@pytest.mark.parametrize("item", quotations())
def test_figures_stand_on_the_page_that_is_named(item: str) -> None:
    target = re.findall(r"\]\((.*?)\)", item)[-1]
    page = (ROOT / target).read_text(encoding="utf-8")
    said = item[: item.rindex("([")]
    figures = re.findall(r"\d+(?:\.\d+)? %|\d+ of \d+", said)
    assert figures
    for figure in figures:
        assert re.sub(r" of ", " / ", figure) in page, figure


def test_both_first_pages_show_the_picture_of_the_command() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "quickstart.png").read_bytes().startswith(b"\x89PNG")
    for page, picture in ((README, "docs/quickstart.png"), (index, "quickstart.png")):
        assert f"]({picture})" in page
        assert "simsched compare cilk bats -e quickstart" in page
        assert "61.7 %" in page


def test_the_gallery_has_every_plot() -> None:
    tool = (ROOT / "tools" / "executed_pages.py").read_text(encoding="utf-8")
    drawn = set(re.findall(r"\w\.plot\.(\w+)\(", tool))
    returning_axes = {
        name
        for name, value in vars(Plots).items()
        if not name.startswith("_") and value.__annotations__.get("return", "").startswith("Axes")
    }
    assert len(returning_axes) >= 6
    assert drawn == returning_axes
