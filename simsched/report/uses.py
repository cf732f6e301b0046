"""What a file is, and which command takes it: for who has given it to another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from simsched.files.bounded import is_directory, is_there
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.files.yaml_reader import Document, read_document
from simsched.report.check import EXPERIMENT_KEYS, kind_of
from simsched.workload.graph_files import graph_file_spec

OF_YAML = {
    "machine": "a machine: simsched run EXPERIMENT -m {}",
    "workload": "a workload preset: simsched run EXPERIMENT -w {}",
    "experiment": "an experiment: simsched run {}",
    "measurement": "a measurement: simsched measure {}",
    "claims": "claims: simsched reproduce {}",
}


class Use(NamedTuple):
    """The kind of a file, and a sentence that says what it is for."""

    kind: str
    text: str


def use_of(path: Path) -> Use | None:
    """Return what a file is for, None where that cannot be told."""
    if is_directory(path) or not is_there(path):
        return None
    with suppress(SimschedError):
        if path.suffix in (".yaml", ".yml"):
            kind = kind_of(read_document(path))
            return Use(kind, OF_YAML[kind].format(path))
        return _of_content(path)
    return None


def _of_content(path: Path) -> Use | None:
    """Return what a file that is no YAML is for."""
    from simsched.machine.facts import recognised
    from simsched.trace.importers import recognise
    from simsched.workload.importers import format_of

    if path.suffix == ".py":
        return Use("code", f"Python: simsched run EXPERIMENT -p {path}, or -w {path}")
    if path.suffix == ".parquet":
        text = f"a table, or the recording of a run: simsched export {path} FILE.graphml or .json"
        return Use("recording", text)
    graph = format_of(path)
    if graph is not None:
        return Use("graph", f"a task graph ({graph}): simsched run EXPERIMENT -w {path}")
    facts = recognised(path)
    if facts is not None:
        text = f"facts about a machine ({facts}): simsched import {path} -o FILE.yaml"
        return Use("facts", text)
    trace = recognise(path)
    text = f"a trace ({trace}): simsched import {path}, and simsched export {path} FILE.graphml"
    return Use("trace", f"{text} for its task graph")


@contextmanager
def saying_use(name: str, accepted: str, *kinds: str) -> Iterator[None]:
    """Say of a file of none of some kinds what it is for; other errors stay as they are."""
    try:
        yield
    except SimschedError as error:
        path = Path(name if is_there(Path(name)) else graph_file_spec(name.rstrip()).name)
        found = use_of(path)
        if found is None or found.kind in kinds:
            raise
        raise ConfigurationError(f"{path}: found {found.text}; accepted: {accepted}") from error


def expect_experiment(document: Document) -> None:
    """Refuse a file that has nothing of an experiment and is of another kind."""
    path, data = document.path, document.data
    keys = set(data) if isinstance(data, Mapping) else set()
    if path is None or EXPERIMENT_KEYS & keys:
        return
    found = use_of(path)
    if found is not None and found.kind != "experiment":
        raise ConfigurationError(f"{path}: found {found.text}; accepted: an experiment")
