"""The guide to importing says what the command line does."""

from __future__ import annotations

import json
import re
import shlex
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


def test_options_name_tracks(simsched):
    """The thread is busy for 3 us, then the stream for 4; nothing but their order says so."""
    times = {1: ("main", [(0, 1), (1, 2)]), 2: ("stream 7", [(3, 1), (4, 3)])}
    arrow = {"cat": "c", "name": "n", "id": 1, "pid": 1}
    events = [{"ph": "s", "ts": 2, "tid": 1, **arrow}, {"ph": "f", "ts": 3, "tid": 2, **arrow}]
    for tid, (name, spans) in times.items():
        place = {"pid": 1, "tid": tid}
        events.append({"ph": "M", "name": "thread_name", "args": {"name": name}, **place})
        events += [{"ph": "X", "name": "k", "ts": ts, "dur": dur, **place} for ts, dur in spans]
    Path("step.json").write_text(json.dumps(events))
    imported, validated = re.search(
        r"```sh\nsimsched (.*step.*)\nsimsched (.*)\n```", GUIDE
    ).groups()
    code, output, _ = simsched(*shlex.split(imported))
    assert code == 0
    assert "graph 3 edges, 0 spawns, 0 blocks, 0 accesses, kinds cpu, gpu" in output
    code, output, _ = simsched(*validated.split())
    assert code == 0
    assert re.search(r"makespan \[s\] +7e-06 +7e-06 +\+0.00%", output)
