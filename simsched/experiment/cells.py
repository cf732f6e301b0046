"""Cells: the single runs that an experiment consists of, checked and with their keys."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import simsched
from simsched.analysis.metrics import metric_names
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.experiment.blame import NO_MEMORY
from simsched.experiment.fingerprint import (
    code_digest,
    content_key,
    machine_digest,
    policy_digest,
)
from simsched.experiment.inputs import (
    GivenWorkload,
    WorkloadSource,
    build_machine,
    build_policy,
    check_executable,
    check_fits,
    workload_source,
)
from simsched.experiment.overrides import assign, changed, validate_data
from simsched.experiment.schema import (
    Experiment,
    MachineEntry,
    PolicyEntry,
    WorkloadEntry,
    labels,
)
from simsched.experiment.tile_sizes import naming_tile_sizes
from simsched.files.errors import ConfigurationError, ModelError, SimschedError, unknown_name
from simsched.files.yaml_reader import Document, KeyPath, key_path, validate_document
from simsched.machine.model import Machine
from simsched.policy import Policy
from simsched.policy.contract.registry import called
from simsched.policy.parts.placement import PlacedPolicy

MAX_CELLS = 1_000_000
#: Columns of rows that say how a run was, not what it simulated.
MEASURED = ("wall_s", "peak_rss_bytes", "simulated_per_wall_s")


@dataclass(frozen=True)
class Cell:
    """One run.

    Parameters
    ----------
    machine, workload, policy : str
        Labels.
    sweep : dict
        Value of every swept key.
    seed : int
        Seed of the run.
    backend : str
        Engine.
    machine_model, workload_source, policy_model
        What is simulated.
    workers : int or None
        Number of workers; None for one per hardware thread.
    pinning : str
        Where fewer workers go.
    policy_content : str
        Hash of the policy's class and parameters.
    progress_limit_s : float
        When a run in which no task ends is given up; changes no result that there is.
    key : str
        Hash of everything that determines the result.
    """

    machine: str
    workload: str
    policy: str
    sweep: dict[str, Any]
    seed: int
    backend: str
    machine_model: Machine = field(repr=False)
    workload_source: WorkloadSource | GivenWorkload = field(repr=False)
    policy_model: Policy = field(repr=False)
    workers: int | None = None
    pinning: str = "scatter"
    policy_content: str = ""
    progress_limit_s: float = PROGRESS_LIMIT_S
    key: str = ""

    def with_key(self, machine_content: str) -> Cell:
        """Return the cell with its key.

        Parameters
        ----------
        machine_content : str
            Hash of the machine.
        """
        parts = {
            "code": code_digest(),
            "machine": machine_content,
            "workers": self.workers,
            "pinning": self.pinning,
            "backend": self.backend,
            "workload": self.workload_source.content,
            "policy": self.policy_content,
            "seed": self.seed,
        }
        return replace(self, key=content_key(parts))

    @property
    def label(self) -> str:
        """What progress and messages call the cell."""
        swept = "".join(f" {key}={value}" for key, value in self.sweep.items())
        return f"{self.machine} {self.workload} {self.policy}{swept} seed {self.seed}"

    def identity(self) -> dict[str, Any]:
        """Return the columns that say which run a row describes."""
        return {
            "machine": self.machine,
            "workload": self.workload,
            "policy": self.policy,
            "backend": self.backend,
            "seed": self.seed,
            **{f"sweep.{key}": value for key, value in self.sweep.items()},
            "information": self.policy_model.information,
            "policy_parameters": json.dumps(self.policy_model.parameters(), default=str),
            "key": self.key,
            "version": simsched.__version__,
        }


@dataclass
class WorkloadUse:
    """A workload on a machine, which is tried before the first run.

    Parameters
    ----------
    source : WorkloadSource
        The workload, for one of its seeds.
    machine : Machine
        The machine.
    workers : int or None
        Number of workers; None for one per hardware thread.
    pinning : str
        Where fewer workers go.
    document : Document
        The experiment, at the point of its sweep.
    position : int
        Of the workload among the experiment's.
    entry : WorkloadEntry
        The workload as the experiment has it.
    keys : set of str
        Cells that use it.
    """

    source: WorkloadSource
    machine: Machine
    workers: int | None
    pinning: str
    document: Document
    position: int
    entry: WorkloadEntry
    keys: set[str]

    def check(self) -> None:
        """Build the workload and check that it can be run on the machine.

        Raises
        ------
        SimschedError
            It cannot; the message has the place in the experiment.
        """
        try:
            workload = self.source.build()
            workload.validate()
            check_fits(self.machine, workload)
            check_executable(self.machine, workload, self.workers, self.pinning)
        except SimschedError as error:
            named = naming_tile_sizes(error, self.machine, self.source)
            _fail(self.document, ("workloads", self.position), self.entry, named)
        except MemoryError:
            _fail(self.document, ("workloads", self.position), self.entry, ModelError(NO_MEMORY))


@dataclass(frozen=True)
class PlannedExperiment:
    """An experiment with its cells.

    Parameters
    ----------
    experiment : Experiment
        The experiment without its sweep applied.
    cells : list of Cell
        In the order of sweep, machine, workload, policy, seed.
    uses : list of WorkloadUse
        Every workload with the machines and workers it is used on, seeds left aside.
    document : Document, optional
        What it was read from; none for things that exist in memory only.
    """

    experiment: Experiment
    cells: list[Cell]
    uses: list[WorkloadUse]
    document: Document | None = None


def plan_experiment(document: Document, backend: str | None = None) -> PlannedExperiment:
    """Check an experiment and return its cells.

    Every machine and policy is made once, so that whatever is wrong with one of them is known
    before the first run; for the rest see :func:`simsched.experiment.rehearsal.check_runs`.

    Parameters
    ----------
    document : Document
        The experiment's plain data.
    backend : str, optional
        Engine to use instead of the one in the file.

    Raises
    ------
    SimschedError
        When anything is wrong; the message names file, line and key.
    """
    experiment = validate_document(document, Experiment)
    builder = _Builder(document, backend or experiment.backend)
    builder.check_metrics(experiment)
    cells: list[Cell] = []
    for values, swept, builder.document in _sweep_points(document, experiment):
        cells += builder.cells(swept, values)
        if len(cells) > MAX_CELLS:
            document.fail(("sweep",), f"found more than {MAX_CELLS} runs, accepted: at most that")
    return PlannedExperiment(experiment, cells, list(builder.uses.values()), document)


def _sweep_points(
    document: Document, experiment: Experiment
) -> Iterator[tuple[dict[str, Any], Experiment, Document]]:
    """Yield swept values, the experiment and the document with them, for every point."""
    sweep = experiment.sweep
    if sweep is None:
        yield {}, experiment, document
        return
    zipped = list(zip(*sweep.zip.values(), strict=True)) if sweep.zip else [()]
    for combination in itertools.product(*sweep.product.values()):
        for together in zipped:
            keys = [*sweep.product, *sweep.zip]
            values = dict(zip(keys, [*combination, *together], strict=True))
            data = copy.deepcopy(document.data)
            data.pop("sweep")
            assigned: dict[KeyPath, str] = {}
            for key, value in values.items():
                part = "product" if key in sweep.product else "zip"
                where = f"{document.where(('sweep', part, key))}: sweep.{part}.{key}"
                if key.split(".")[0] not in ("machines", "workloads", "policies"):
                    accepted = "a key below machines, workloads or policies"
                    raise ConfigurationError(f"{where}: found {key!r}, accepted: {accepted}")
                loc = assign(data, key, value, where)
                for earlier in assigned:
                    if earlier[: len(loc)] == loc:
                        also = f"found a value that {assigned[earlier]} sets"
                        raise ConfigurationError(f"{where}: {also}, accepted: one key for a value")
                assigned[loc] = where
                _keep_labels(data, experiment)
                validate_data(data, where)
            point = changed(document, data, assigned)
            yield values, validate_data(data, document.where(("sweep",))), point


def _keep_labels(data: dict[str, Any], experiment: Experiment) -> None:
    """Give swept entries the labels that they have without the sweep."""
    for what in ("machines", "workloads", "policies"):
        entries = data[what]
        if not isinstance(entries, list):
            continue
        for position, label in enumerate(labels(getattr(experiment, what))):
            if isinstance(entries[position], dict):
                entries[position].setdefault("label", label)


class _Builder:
    """Makes machines, policies and workloads of an experiment, each once."""

    def __init__(self, document: Document, backend: str) -> None:
        self.document = document
        self.base = document.path.parent if document.path is not None else Path()
        self.backend = backend
        self._policies: dict[str, tuple[Policy, str]] = {}
        self._machines: dict[str, tuple[Machine, str]] = {}
        self._workloads: dict[str, WorkloadSource] = {}
        self.uses: dict[tuple[Any, ...], WorkloadUse] = {}

    def check_metrics(self, experiment: Experiment) -> None:
        """Check that every metric that the experiment names is a column of some machine's runs."""
        machines = self._made("machines", experiment, self._machine)
        known = dict.fromkeys(name for machine, _ in machines for name in metric_names(machine))
        known |= dict.fromkeys(MEASURED)
        for position, name in enumerate(experiment.metrics):
            if name not in known:
                self.document.fail(("metrics", position), unknown_name("metric", name, known))

    def cells(self, experiment: Experiment, values: dict[str, Any]) -> list[Cell]:
        """Return the cells of an experiment without sweep."""
        machines = self._made("machines", experiment, self._machine)
        policies = self._made("policies", experiment, self._policy)
        found: list[Cell] = []
        machine_names, workload_names = labels(experiment.machines), labels(experiment.workloads)
        policy_names = labels(experiment.policies)
        self._check_memory(experiment, machines, policies)
        for m, w in itertools.product(range(len(machines)), range(len(experiment.workloads))):
            machine, machine_content = machines[m]
            entry = experiment.machines[m]
            use = self._use(experiment.workloads[w], w, machine, entry, machine_content)
            sources = [use.source.seeded(self._seed(use, seed)) for seed in experiment.seeds]
            use.source = sources[0]
            for name, (policy, content) in zip(policy_names, policies, strict=True):
                for seed, source in zip(experiment.seeds, sources, strict=True):
                    cell = Cell(
                        machine_names[m],
                        workload_names[w],
                        name,
                        values,
                        seed,
                        self.backend,
                        machine,
                        source,
                        policy,
                        entry.workers,
                        entry.pinning,
                        content,
                        experiment.progress_limit_s,
                    ).with_key(machine_content)
                    use.keys.add(cell.key)
                    found.append(cell)
        return found

    def _check_memory(
        self, experiment: Experiment, machines: list[Any], policies: list[Any]
    ) -> None:
        """Check that every machine has the kinds of memory that policies place data in."""
        for (machine, _), (position, (policy, _)) in itertools.product(
            machines, enumerate(policies)
        ):
            if isinstance(policy, PlacedPolicy):
                entry = experiment.policies[position]
                try:
                    with called(type(policy), entry.name):
                        policy.check_memory(machine)
                except ModelError as error:
                    _fail(self.document, ("policies", position), entry, error)

    def _seed(self, use: WorkloadUse, seed: int) -> int:
        """Return the seed of the workload in a run."""
        return seed if use.entry.seed is None else use.entry.seed

    def _made(self, what: str, experiment: Experiment, make: Any) -> list[Any]:
        """Return what the entries of one kind stand for; errors name their place."""
        made = []
        for position, entry in enumerate(getattr(experiment, what)):
            try:
                made.append(make(entry))
            except SimschedError as error:
                _fail(self.document, (what, position), entry, error)
        return made

    def _machine(self, entry: MachineEntry) -> tuple[Machine, str]:
        key = content_key({"entry": entry.model_dump()})
        if key not in self._machines:
            machine = build_machine(entry, self.base)
            self._machines[key] = machine, machine_digest(machine)
        return self._machines[key]

    def _policy(self, entry: PolicyEntry) -> tuple[Policy, str]:
        key = content_key({"entry": entry.model_dump()})
        if key not in self._policies:
            policy = build_policy(entry)
            self._policies[key] = policy, policy_digest(policy)
        return self._policies[key]

    def _use(
        self, entry: WorkloadEntry, position: int, machine: Machine, on: MachineEntry, content: str
    ) -> WorkloadUse:
        """Return the use of a workload on a machine of that content."""
        variant = content_key({"entry": entry.model_dump()})
        key = variant, content, on.workers, on.pinning
        if key not in self.uses:
            try:
                if variant not in self._workloads:
                    self._workloads[variant] = workload_source(entry, self.base)
            except SimschedError as error:
                _fail(self.document, ("workloads", position), entry, error)
            source, document = self._workloads[variant], self.document
            self.uses[key] = WorkloadUse(
                source, machine, on.workers, on.pinning, document, position, entry, set()
            )
        return self.uses[key]


def fail_at_policy(document: Document, cell: Cell, error: SimschedError) -> NoReturn:
    """Raise an error about a run again, with the place of its policy in the experiment's file.

    Parameters
    ----------
    document : Document
        The experiment.
    cell : Cell
        The run.
    error : SimschedError
        What is wrong with it.

    Raises
    ------
    SimschedError
        Always.
    """
    for values, swept, point in _sweep_points(document, validate_document(document, Experiment)):
        if values == cell.sweep:
            position = labels(swept.policies).index(cell.policy)
            _fail(point, ("policies", position), swept.policies[position], error)
    raise error


def _fail(document: Document, loc: KeyPath, entry: Any, error: SimschedError) -> NoReturn:
    """Raise an error again, with the place in the experiment's file."""
    text = str(error)
    is_machine = isinstance(entry, MachineEntry)
    inside: list[KeyPath] = [(key,) for key in (() if is_machine else entry.parameters)]
    if is_machine:
        inside = [*(("set", key) for key in entry.set), ("workers",), ("pinning",)]
    # Names that are suggested or accepted come behind the one that is wrong.
    found = {keys: _mentioned(str(keys[-1]), text) for keys in inside}
    wrong = min(found, key=lambda keys: found[keys], default=())
    if wrong and found[wrong] < len(text):
        loc = (*loc, *wrong)
    elif repr(entry.name) in text and document.where((*loc, "name")) != document.where(loc):
        loc = (*loc, "name")
    parts = [document.where(loc), key_path(loc), text]
    raise type(error)(": ".join(part for part in parts if part)) from error


def _mentioned(key: str, text: str) -> int:
    """Return where a message first speaks of a key, its length where it does not."""
    places = [f" {text}".find(f" {key}{end}") for end in ":["] + [text.find(f"'{key}'")]
    return min((place for place in places if place >= 0), default=len(text))
