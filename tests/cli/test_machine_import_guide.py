"""The guide to machines from their own files says what the command line does."""

from __future__ import annotations

import re
from pathlib import Path

from simsched.machine.facts import fact_formats
from tests.machine.facts import samples

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "importing-machines.md").read_text()


def test_the_example(simsched):
    Path("topology.xml").write_text(samples.hwloc_2())
    Path("mlc.txt").write_text(samples.MLC)
    shown = re.search(r"```\n(topology\.xml.*?)```", GUIDE, re.DOTALL)
    for number, command in enumerate(re.findall(r"^simsched (.*?)$", GUIDE, re.MULTILINE)):
        code, output, messages = simsched(*command.split())
        assert (code, messages) == (0, "")
        if number == 0:
            assert output == shown[1]


def test_every_format_has_its_row():
    assert re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE) != []
    assert set(re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)) == set(fact_formats())
