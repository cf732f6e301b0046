"""Parts of a study: machines, workloads and policies that exist, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar

from simsched.experiment.blame import NO_MEMORY
from simsched.experiment.inputs import (
    GivenWorkload,
    WorkloadSource,
    check_executable,
    check_fits,
)
from simsched.experiment.schema import MachineEntry, PolicyEntry, WorkloadEntry
from simsched.experiment.tile_sizes import naming_tile_sizes
from simsched.files.errors import ModelError, SimschedError
from simsched.files.yaml_reader import Document, KeyPath
from simsched.machine.model import Machine
from simsched.policy import Policy

Thing = TypeVar("Thing")
Entry = TypeVar("Entry", MachineEntry, WorkloadEntry, PolicyEntry)
Workloads = WorkloadSource | GivenWorkload


@dataclass(frozen=True)
class Part(Generic[Thing, Entry]):
    """A machine, workload or policy of a study."""

    #: What tables call it.
    label: str
    thing: Thing
    #: Hash of what determines results, for a workload also of its entry.
    content: str
    #: What the experiment says of it.
    entry: Entry
    #: The experiment, at the point of its sweep.
    document: Document = field(repr=False)
    #: Keys and positions of the entry.
    loc: KeyPath

    def fail(self, error: SimschedError) -> NoReturn:
        """Raise an error about it again, after where it comes from."""
        fail(self.document, self.loc, self.entry, error)


MachinePart = Part[Machine, MachineEntry]
WorkloadPart = Part[Workloads, WorkloadEntry]
PolicyPart = Part[Policy, PolicyEntry]


@dataclass(frozen=True)
class Point:
    """What is combined at one point of a sweep: all of each kind with all of the others."""

    #: Value of every swept key.
    values: dict[str, Any]
    machines: list[MachinePart]
    workloads: list[WorkloadPart]
    policies: list[PolicyPart]


@dataclass
class WorkloadUse:
    """A workload on a machine, which is tried before the first run."""

    machine: MachinePart
    workload: WorkloadPart
    #: The workload, for one of its seeds.
    source: Workloads
    #: Cells that use it.
    keys: set[str]

    def check(self) -> None:
        """Build the workload and check that it can be run on the machine; errors have the place."""
        machine, entry = self.machine.thing, self.machine.entry
        try:
            workload = self.source.build()
            workload.validate()
            check_fits(machine, workload)
            check_executable(machine, workload, entry.workers, entry.pinning)
        except SimschedError as error:
            if isinstance(self.source, WorkloadSource):
                error = naming_tile_sizes(error, machine, self.source)
            self.workload.fail(error)
        except MemoryError:
            self.workload.fail(ModelError(NO_MEMORY))


def fail(
    document: Document,
    loc: KeyPath,
    entry: MachineEntry | WorkloadEntry | PolicyEntry,
    error: SimschedError,
) -> NoReturn:
    """Raise an error about an entry again, after where the entry or the wrong key comes from."""
    text = str(error)
    inside: list[KeyPath]
    if isinstance(entry, MachineEntry):
        inside = [*(("set", key) for key in entry.set), ("workers",), ("pinning",)]
    else:
        inside = [(key,) for key in entry.parameters]
    # Names that are suggested or accepted come behind the one that is wrong.
    found = {keys: _mentioned(str(keys[-1]), text) for keys in inside}
    wrong = min(found, key=lambda keys: found[keys], default=())
    if wrong and found[wrong] < len(text):
        loc = (*loc, *wrong)
    elif repr(entry.name) in text and document.where((*loc, "name")) != document.where(loc):
        loc = (*loc, "name")
    raise type(error)(document.located(loc, text)) from error


def _mentioned(key: str, text: str) -> int:
    """Return where a message first speaks of a key, its length where it does not."""
    places = [f" {text}".find(f" {key}{end}") for end in ":["] + [text.find(f"'{key}'")]
    return min((place for place in places if place >= 0), default=len(text))
