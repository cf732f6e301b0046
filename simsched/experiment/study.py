"""A study: machines, workloads and policies that exist, and how they are combined.

A YAML file, the words of a command line and the arguments of a call in Python all become one: each
says which values an experiment has and where these come from, which are checked once and looked up
once. Cells are made of the study.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.analysis.columns import other_part
from simsched.analysis.metrics import metric_names
from simsched.experiment.cells import MEASURED, Cell
from simsched.experiment.fingerprint import content_key, machine_digest, policy_digest
from simsched.experiment.given import given
from simsched.experiment.inputs import build_machine, policy_named, workload_source
from simsched.experiment.overrides import (
    Change,
    Changed,
    Origin,
    changed,
    checked,
    edited,
    labels_in,
    sweep_points,
)
from simsched.experiment.parts import (
    Entry,
    MachinePart,
    Part,
    Point,
    PolicyPart,
    WorkloadPart,
    Workloads,
    WorkloadUse,
    fail,
)
from simsched.experiment.schema import (
    DEFAULT_METRICS,
    Combined,
    Experiment,
    MachineEntry,
    PolicyEntry,
    WorkloadEntry,
    labels,
)
from simsched.files.bounded import noticing_paths
from simsched.files.errors import ConfigurationError, ModelError, SimschedError, unknown_name
from simsched.files.yaml_reader import Document, KeyPath
from simsched.machine.model import Machine
from simsched.policy import Policy
from simsched.policy.contract.registry import called
from simsched.policy.parts.placement import PlacedPolicy

MAX_CELLS = 1_000_000
OPTIONS = {"machines": "--machine", "workloads": "--workload", "policies": "--policy"}


@dataclass(frozen=True, eq=False)
class Study:
    """Machines, workloads and policies, all combined at every point of a sweep."""

    #: Name, seeds, metrics, baseline and what else is said of the whole.
    experiment: Experiment
    #: Where each value comes from.
    document: Document
    #: A single one without a sweep.
    points: list[Point]
    #: Where results go unless somebody asks for another place; None for memory only.
    directory: Path | None
    #: The runs, in the order of sweep, machine, workload, policy, seed.
    cells: list[Cell] = field(default_factory=list, repr=False)
    #: Every workload with the machines and workers it is used on, seeds left aside.
    uses: list[WorkloadUse] = field(default_factory=list, repr=False)

    @classmethod
    def from_yaml(cls, document: Document, changes: Sequence[Change] = ()) -> Study:
        """Return the study of an experiment's file with some values replaced.

        A baseline that is not among other policies is left out, so that the first of them is the
        baseline, and so are metrics that none of other machines has.

        Every machine and policy is made once, so that whatever is wrong with one of them is known
        before the first run; for the rest see :func:`simsched.experiment.rehearsal.check_runs`.
        Messages name file, line and key, or what has set the value.
        """
        return _study(edited(document, changes))

    @classmethod
    def from_words(
        cls,
        document: Document,
        changes: Sequence[Change] = (),
        *,
        machines: Sequence[str] = (),
        workloads: Sequence[str] = (),
        policies: Sequence[str] = (),
    ) -> Study:
        """Return the study of an experiment's file and of words of a command line.

        Words are names, files or specs; where there are none, those of the file stay.
        """
        words = {"machines": machines, "workloads": workloads, "policies": policies}
        other = [
            Change(what, list(names), Origin(OPTIONS[what], with_key=False))
            for what, names in words.items()
            if names
        ]
        return cls.from_yaml(edited(document, other), changes)

    @classmethod
    def from_objects(
        cls, machine: Any, workload: Any, policy: Any, changes: Sequence[Change] = ()
    ) -> Study:
        """Return the study of what Python passes, see :func:`simsched.experiment.given.given`.

        `changes` are values that an experiment has, such as ``seeds``; 1 of these by default.
        """
        things = given(machine, workload, policy)
        entries = {
            what: [{**item.entry, "label": item.label} for item in items]
            for what, items in things.items()
        }
        objects: Objects = {
            (what, position): item.thing
            for what, items in things.items()
            for position, item in enumerate(items)
            if item.thing is not None
        }
        passed: dict[KeyPath, Origin] = {
            (what, position): Origin("", with_key=False)
            for what, items in things.items()
            for position in range(len(items))
        }
        document = changed(Document(None, None), {"name": "notebook", **entries}, passed)
        return _study(edited(document, changes), objects)

    def policy_of(self, cell: Cell) -> PolicyPart:
        """Return the policy of one of the cells, with where it comes from."""
        return next(
            part
            for point in self.points
            if point.values == cell.sweep
            for part in point.policies
            if part.label == cell.policy
        )

    @property
    def is_changed(self) -> bool:
        """Whether anything but the engine differs from what the file says."""
        origins = self.document.origins if isinstance(self.document, Changed) else {}
        return any(loc[0] != "backend" for loc in origins)


Objects = dict[KeyPath, Any]


def _others(document: Document, what: str, depends: str) -> bool:
    """Return whether other things of a kind stand in place of the file's, but not what depends."""
    if not isinstance(document, Changed) or document.origin((depends,)) is not None:
        return False
    places = [loc for loc in document.origins if loc[0] == what]
    return any(len(loc) < 3 or loc[2:] == ("name",) for loc in places)


def _study(document: Document, objects: Objects | None = None) -> Study:
    """Return a study whose parts have been looked up; `objects` are those that exist already."""
    is_other = _others(document, "policies", "baseline")
    if is_other and document.data.get("baseline") not in labels_in(document)["policies"]:
        data = {key: value for key, value in document.data.items() if key != "baseline"}
        document = changed(document, data, {})
    experiment = checked(document)
    builder = _Builder(document, experiment, objects or {})
    builder.check_metrics(leave_out=_others(document, "machines", "metrics"))
    for values, point, combined in sweep_points(document, experiment):
        builder.add(values, point, combined)
        if len(builder.cells) > MAX_CELLS:
            document.fail(("sweep",), f"found more than {MAX_CELLS} runs, accepted: at most that")
    experiment = builder.experiment
    directory = None if objects is not None and not experiment.output else experiment.directory()
    uses = list(builder.uses.values())
    return Study(experiment, document, builder.points, directory, builder.cells, uses)


class _Builder:
    """Looks up machines, policies and workloads of an experiment, each once, and combines them."""

    def __init__(self, document: Document, experiment: Experiment, objects: Objects) -> None:
        self.document, self.experiment = document, experiment
        self.base = document.path.parent if document.path is not None else Path()
        self.points: list[Point] = []
        self.cells: list[Cell] = []
        self.uses: dict[tuple[Any, ...], WorkloadUse] = {}
        self._objects = objects
        self._made: dict[tuple[Any, ...], Any] = {}

    def check_metrics(self, *, leave_out: bool) -> None:
        """Check that every metric that the experiment names is a column of some machine's runs."""
        machines = self._parts("machines", self.document, self.experiment, self._machine)
        known = dict.fromkeys(name for part in machines for name in metric_names(part.thing))
        known |= dict.fromkeys(MEASURED)
        if leave_out:
            kept = [name for name in self.experiment.metrics if name in known]
            update = {"metrics": kept or list(DEFAULT_METRICS)}
            self.experiment = self.experiment.model_copy(update=update)
        for position, name in enumerate(self.experiment.metrics):
            if name not in known:
                problem = unknown_name("metric", name, known)
                part = other_part(name)
                if part:
                    where = ", ".join(machine.label for machine in machines)
                    problem += f"; no machine of the experiment has {part} ({where})"
                self.document.fail(("metrics", position), problem)

    def add(
        self, values: dict[str, Any], document: Document, combined: Combined | Experiment
    ) -> None:
        """Add a point of the sweep with its cells."""
        self._refuse_changed(document)
        point = Point(
            values,
            self._parts("machines", document, combined, self._machine),
            self._parts("workloads", document, combined, self._workload),
            self._parts("policies", document, combined, self._policy),
        )
        self.points.append(point)
        check_memory(point)
        for machine, workload in itertools.product(point.machines, point.workloads):
            use = self._use(machine, workload)
            seeds = self.experiment.seeds
            own = workload.entry.seed
            if own is None and workload.thing.is_random:
                sources = [workload.thing.seeded(seed) for seed in seeds]
            else:
                sources = [workload.thing.seeded(own or 0)] * len(seeds)
            use.source = sources[0]
            for policy in point.policies:
                for seed, source in zip(seeds, sources, strict=True):
                    cell = self._cell(values, machine, workload, policy, seed, source)
                    use.keys.add(cell.key)
                    self.cells.append(cell)

    def _cell(
        self,
        values: dict[str, Any],
        machine: MachinePart,
        workload: WorkloadPart,
        policy: PolicyPart,
        seed: int,
        source: Workloads,
    ) -> Cell:
        return Cell(
            machine.label,
            workload.label,
            policy.label,
            values,
            seed,
            self.experiment.backend,
            machine.thing,
            source,
            policy.thing,
            machine.entry.workers,
            machine.entry.pinning,
            policy.content,
            self.experiment.progress_limit_s,
        ).with_key(machine.content)

    def _use(self, machine: MachinePart, workload: WorkloadPart) -> WorkloadUse:
        """Return the use of a workload on a machine of that content."""
        entry = machine.entry
        key = workload.content, machine.content, entry.workers, entry.pinning
        return self.uses.setdefault(key, WorkloadUse(machine, workload, workload.thing, set()))

    def _parts(
        self,
        what: str,
        document: Document,
        combined: Combined | Experiment,
        make: Callable[[Entry, KeyPath], tuple[Any, str]],
    ) -> list[Part[Any, Entry]]:
        """Return what the entries of one kind stand for; errors name their places."""
        entries: list[Entry] = getattr(combined, what)
        found: list[Part[Any, Entry]] = []
        for position, (label, entry) in enumerate(zip(labels(entries), entries, strict=True)):
            loc = (what, position)
            own = loc if loc in self._objects else None
            key = what, own, content_key({"entry": entry.model_dump()})
            try:
                with noticing_paths(*_named(what, entry)):
                    if key not in self._made:
                        self._made[key] = make(entry, loc)
            except SimschedError as error:
                fail(document, loc, entry, error)
            thing, content = self._made[key]
            found.append(Part(label, thing, content, entry, document, loc))
        return found

    def _machine(self, entry: MachineEntry, loc: KeyPath) -> tuple[Machine, str]:
        machine = build_machine(entry, self.base, self._objects.get(loc))
        return machine, machine_digest(machine)

    def _workload(self, entry: WorkloadEntry, loc: KeyPath) -> tuple[Workloads, str]:
        made: Workloads | None = self._objects.get(loc)
        if made is not None:
            return made, made.content
        return workload_source(entry, self.base), content_key({"entry": entry.model_dump()})

    def _policy(self, entry: PolicyEntry, loc: KeyPath) -> tuple[Policy, str]:
        made: Policy | None = self._objects.get(loc)
        if made is None:
            made = policy_named(entry.name, entry.parameters, self.base)
        return made, policy_digest(made)

    def _refuse_changed(self, document: Document) -> None:
        """Refuse other values for what exists already, other workers left aside."""
        origins: Mapping[KeyPath, Origin] = getattr(document, "origins", {})
        for loc, origin in origins.items():
            own = [at for at in self._objects if at == loc[:2] or loc == at[:1]]
            if own and loc not in self._objects and loc[2:] not in {("workers",), ("pinning",)}:
                raise ConfigurationError(
                    f"{origin.text}: found an object as {'.'.join(map(str, own[0]))}, accepted: a "
                    "key of something that is given by its name"
                )


def _named(what: str, entry: MachineEntry | WorkloadEntry | PolicyEntry) -> tuple[str, str]:
    """Return the name of an entry, and what it is the name of."""
    one = {"machines": "machine", "workloads": "workload", "policies": "policy"}[what]
    name = entry.name or getattr(entry, "file", None) or ""
    return name, f"a {one}, by name or in a file"


def check_memory(point: Point) -> None:
    """Check that every machine has the kinds of memory that policies place data in."""
    for machine, policy in itertools.product(point.machines, point.policies):
        if isinstance(policy.thing, PlacedPolicy):
            try:
                with called(type(policy.thing), policy.entry.name):
                    policy.thing.check_memory(machine.thing)
            except ModelError as error:
                policy.fail(error)
