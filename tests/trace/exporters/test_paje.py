"""Paje files, read by a small validator that knows the format only, and what they conserve."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.analysis.recordings import recording_of
from simsched.files.errors import ConfigurationError
from simsched.trace.exporters import export_recording
from simsched.trace.schema import EVENT_COLUMNS, EventKind, Trace

from .runs import busy_s, hides_a_cost, random_run, small_recording, small_run, task_times

TYPES = {"date", "string", "double", "int", "hex", "color"}
WORD = re.compile(r'"([^"]*)"|(\S+)')


@dataclass
class Paje:
    """A Paje trace that is checked while it is read."""

    events: dict[str, tuple[str, list[tuple[str, str]]]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=lambda: {"0": "0"})
    kinds: dict[str, str] = field(default_factory=dict)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    container: dict[str, str] = field(default_factory=dict)
    alive: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    links: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    arrows: list[tuple[str, str, str]] = field(default_factory=list)
    began: list[tuple[str, float]] = field(default_factory=list)
    states: dict[str, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))
    variables: dict[str, list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    of_type: dict[tuple[str, str], list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    moments: list[str] = field(default_factory=list)
    now: float = 0.0

    def read(self, path: Path) -> Paje:
        name, number, columns = "", "", []
        for line in path.read_text().splitlines():
            if line.startswith("%"):
                words = line[1:].split()
                if words[0] == "EventDef":
                    name, number, columns = words[1], words[2], []
                    assert number not in self.events
                elif words[0] == "EndEventDef":
                    self.events[number] = name, columns
                else:
                    assert words[1] in TYPES
                    columns.append((words[0], words[1]))
            elif line and not line.startswith("#"):
                self.record([a or b for a, b in WORD.findall(line)])
        assert self.alive == set()
        assert self.links == {}
        return self

    def record(self, words: list[str]) -> None:
        name, columns = self.events[words[0]]
        assert len(words) == 1 + len(columns), words
        row = {key: word for (key, _), word in zip(columns, words[1:], strict=True)}
        for (key, kind), word in zip(columns, words[1:], strict=True):
            if kind in ("date", "double"):
                float(word)
            if key == "Time":
                assert float(word) >= self.now
                self.now = float(word)
        getattr(self, name.removeprefix("Paje"))(row)

    def define(self, row: dict[str, str], kind: str) -> None:
        assert row["Alias"] not in self.kinds
        assert row["Type"] == "0" or self.kinds[row["Type"]] == "container"
        self.kinds[row["Alias"]], self.parents[row["Alias"]] = kind, row["Type"]

    def DefineContainerType(self, row: dict[str, str]) -> None:  # noqa: N802
        self.define(row, "container")

    def DefineStateType(self, row: dict[str, str]) -> None:  # noqa: N802
        self.define(row, "state")

    def DefineVariableType(self, row: dict[str, str]) -> None:  # noqa: N802
        self.define(row, "variable")

    def DefineLinkType(self, row: dict[str, str]) -> None:  # noqa: N802
        self.define(row, "link")
        self.ends[row["Alias"]] = row["StartContainerType"], row["EndContainerType"]

    def DefineEntityValue(self, row: dict[str, str]) -> None:  # noqa: N802
        assert row["Type"] in self.kinds
        assert row["Alias"] not in self.values
        assert len([float(part) for part in row["Color"].split()]) == 3
        self.values[row["Alias"]], self.names[row["Alias"]] = row["Type"], row["Name"]

    def CreateContainer(self, row: dict[str, str]) -> None:  # noqa: N802
        assert row["Alias"] not in self.container
        parent = row["Container"]
        assert self.parents[row["Type"]] == ("0" if parent == "0" else self.container[parent])
        self.container[row["Alias"]], self.names[row["Alias"]] = row["Type"], row["Name"]
        self.alive.add(row["Alias"])

    def DestroyContainer(self, row: dict[str, str]) -> None:  # noqa: N802
        assert self.container[row["Name"]] == row["Type"]
        self.alive.remove(row["Name"])

    def fits(self, row: dict[str, str], kind: str) -> None:
        assert self.kinds[row["Type"]] == kind
        assert row["Container"] in self.alive
        assert self.container[row["Container"]] == self.parents[row["Type"]]

    def SetState(self, row: dict[str, str]) -> None:  # noqa: N802
        self.fits(row, "state")
        assert self.values[row["Value"]] == row["Type"]
        self.states[row["Container"]].append((self.now, row["Value"]))

    def DefineEventType(self, row: dict[str, str]) -> None:  # noqa: N802
        self.define(row, "event")

    def NewEvent(self, row: dict[str, str]) -> None:  # noqa: N802
        self.fits(row, "event")
        assert self.values[row["Value"]] == row["Type"]
        self.moments.append(row["Value"])

    def SetVariable(self, row: dict[str, str]) -> None:  # noqa: N802
        self.fits(row, "variable")
        self.variables[row["Container"]].append((self.now, float(row["Value"])))
        self.of_type[row["Type"], row["Container"]].append((self.now, float(row["Value"])))

    def StartLink(self, row: dict[str, str]) -> None:  # noqa: N802
        self.fits(row, "link")
        assert self.container[row["StartContainer"]] == self.ends[row["Type"]][0]
        assert row["Key"] not in self.keys
        self.keys.add(row["Key"])
        self.links[row["Type"], row["Key"]] = self.now, row["StartContainer"]

    def EndLink(self, row: dict[str, str]) -> None:  # noqa: N802
        self.fits(row, "link")
        assert self.container[row["EndContainer"]] == self.ends[row["Type"]][1]
        began, source = self.links.pop((row["Type"], row["Key"]))
        assert began <= self.now
        self.arrows.append((row["Type"], source, row["EndContainer"]))
        self.began.append((source, began))

    def seconds_in(self, worker: int, kind: str) -> float:
        steps = self.states[f"W{worker}"]
        ends = [*(time for time, _ in steps[1:]), self.now]
        return sum(b - a for (a, v), b in zip(steps, ends, strict=True) if v.startswith(kind))


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), backend=st.sampled_from(["native", "simpy"]))
def test_random_runs_are_valid_and_keep_busy_times(
    seed: int, backend: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = random_run(seed, backend)
    if run is None:
        return
    path = tmp_path_factory.mktemp("random") / "x.paje"
    export_recording(recording_of(run), path)
    found = Paje().read(path)
    if not hides_a_cost(run):
        busy = [found.seconds_in(worker, "C") for worker in range(len(run.worker_thread))]
        assert busy == pytest.approx(busy_s(run).tolist(), rel=1e-9, abs=1e-14)


def test_a_run_has_states_links_and_variables(tmp_path: Path) -> None:
    run = small_run("cholesky")
    export_recording(recording_of(run), tmp_path / "x.paje", bins=20)
    found = Paje().read(tmp_path / "x.paje")
    workload = run.workload
    assert {n for a, n in found.names.items() if a.startswith("C")} == {
        "initialise",
        *workload.graph.class_names,
    }
    kinds = [kind for kind, _, _ in found.arrows]
    assert kinds.count("LD") == workload.graph.n_edges * workload.iterations
    assert 0 < kinds.count("LS") <= run.summary.steals.sum()
    for index, node in enumerate(run.machine.nodes):
        container = next(a for a in found.variables if found.names[a] == node.name)
        times, rates = (np.array(c) for c in zip(*found.variables[container], strict=True))
        moved = run.summary.node_bytes[:, :, index].sum()
        assert (np.diff(times) * rates[:-1]).sum() == pytest.approx(moved, 1e-6)
        assert rates[-1] == 0
    ends = {(f"W{w1}", end / 1e12) for _, _, w1, _, end in task_times(recording_of(run)).values()}
    starts = [moment for moment, kind in zip(found.began, kinds, strict=True) if kind == "LD"]
    assert set(starts) <= ends
    assert found.now == pytest.approx(run.makespan_s)


def test_the_parent_goes_on_after_a_spawn(tmp_path: Path) -> None:
    recording = small_recording("heat")
    rows = [
        (0, EventKind.TASK_START, 0, 0, 0, 0),
        (10, EventKind.SPAWN, 0, 0, 1, 1),
        (15, EventKind.TASK_READY, 0, 1, 0, 0),
        (18, EventKind.ACCESS, 0, 0, 0, 64),
        (30, EventKind.TASK_END, 0, 0, 0, 0),
        (40, EventKind.ITERATION_END, -1, -1, 0, 0),
    ]
    table = np.array([(t * 10**9, k, w, task, 1, a, b) for t, k, w, task, a, b in rows])
    columns = {n: table[:, i].astype(d) for i, (n, d) in enumerate(EVENT_COLUMNS.items())}
    export_recording(replace(recording, trace=Trace(columns)), tmp_path / "x.paje")
    found = Paje().read(tmp_path / "x.paje")
    values = [(round(time * 1e3), value) for time, value in found.states["W0"]]
    assert values[1:] == [(0, "C0"), (10, "R1"), (18, "C0"), (30, "I")]


def test_what_is_left_out_is_said_in_the_file(tmp_path: Path) -> None:
    remarks = export_recording(small_recording(), tmp_path / "x.paje", dependences=3)
    assert any("the first 3 of" in remark for remark in remarks)
    lines = (tmp_path / "x.paje").read_text().splitlines()
    assert [line for line in lines if line.startswith("# ")] == [f"# {it}" for it in remarks]
    kinds = [kind for kind, _, _ in Paje().read(tmp_path / "x.paje").arrows]
    assert kinds.count("LD") == 3


def test_names_with_quotes_stay_one_word(tmp_path: Path) -> None:
    recording = small_recording("heat")
    recording.details.pop("memory_nodes")
    object.__setattr__(recording, "name", 'a "b"\nc')
    export_recording(recording, tmp_path / "x.paje")
    Paje().read(tmp_path / "x.paje")
    assert "\"a 'b' c\"" in (tmp_path / "x.paje").read_text()


@pytest.mark.parametrize(("option", "value"), [("dependences", -1), ("bins", 0)])
def test_wrong_options(option: str, value: int, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=f"format paje: option {option}: found {value}, accepted"
    ):
        export_recording(small_recording("heat"), tmp_path / "x.paje", **{option: value})
