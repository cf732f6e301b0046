"""The guide to importing says what the command line does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from simsched.trace.importers import trace_importers

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "importing-traces.md").read_text()


def test_the_first_example(simsched):
    trace = re.search(r"```csv\n(.*?)```", GUIDE, re.DOTALL)
    shown = re.search(r"```\n(rec\.tasks.*?)```", GUIDE, re.DOTALL)
    Path("rec.tasks.csv").write_text(trace[1])
    words = re.search(r"```sh\nsimsched (.*?)\n```", GUIDE)[1].split()
    code, output, messages = simsched(*words)
    assert (code, output) == (0, shown[1])
    for line in re.findall(r"^simsched: warning: .*$", GUIDE, re.MULTILINE):
        assert line.removesuffix("...") in messages
    python = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1]
    exec(compile(python, "guide", "exec"), {})


def test_what_validates_a_trace_hears_what_its_importer_found(simsched):
    """These warnings were dropped: nothing said that a task of the trace is not in the figures."""
    Path("rec.tasks.csv").write_text(re.search(r"```csv\n(.*?)```", GUIDE, re.DOTALL)[1])
    aside = "rec.tasks.csv:5: EndTime is before StartTime; 1 row set aside"
    code, output, messages = simsched("validate", "rec.tasks.csv")
    assert code == 0
    assert f"simsched: warning: {aside}" in messages
    assert "rec: 3 tasks on 2 workers" in output
    code, output, messages = simsched("validate", "rec.tasks.csv", "--quiet")
    assert (code, messages) == (0, "")
    code, output, _ = simsched("validate", "rec.tasks.csv", "--json")
    document = json.loads(output)
    assert (code, document["warnings"][0], document["inferred"]) == (0, aside, False)


def test_every_format_has_its_row():
    rows = set(re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE))
    assert rows == {*trace_importers(), "starpu_sampling"}
    for importer in trace_importers().values():
        for option in importer.parameters:
            assert f"`{option}`" in GUIDE
