"""The shape of an experiment file.

::

    name: quickstart
    machines: [knl_snc4_flat]
    workloads:
      - {name: heat, iterations: 10, label: HEAT}
      - "heat[rows=1024]"
      - {file: montage.json}
    policies: [cilk, "bats[sample_pages=8]", {name: bats, balancer: false, label: bats_nb}]
    seeds: 3
    baseline: cilk

Workloads and policies carry their parameters beside their name; what these accept is checked when
they are made.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from simsched.engine.stall import MAX_PROGRESS_LIMIT_S, PROGRESS_LIMIT_S
from simsched.files.errors import ConfigurationError, shown, unknown_name
from simsched.files.yaml_reader import FieldError, Section
from simsched.names.specs import format_spec, from_spec, gather
from simsched.names.user_code import is_file_spec
from simsched.names.yaml_fields import FileName, Several, refuse_repeats
from simsched.policy.contract.registry import policy_info
from simsched.workload.graph_files import graph_file_spec, is_graph_file
from simsched.workload.presets import is_preset_file

COMBINED = ("machines", "workloads", "policies")
EACH_ONCE = "each value once"
DEFAULT_METRICS = ("makespan_s", "remote_percent", "steals", "idle_percent", "makespan_over_bound")


def machine_entry(data: object) -> object:
    """Accept a bare name for a machine."""
    data = {"name": data} if isinstance(data, str) else data
    if not isinstance(data, Mapping):
        raise ValueError(f"found {shown(data)}, accepted: a name, or a mapping with the key name")
    return data


def workload_entry(data: object) -> object:
    """Accept ``name`` and ``name[key=value]`` for a workload, and parameters beside its name.

    A name that ends as task graph files do is a file.
    """
    data = {"name": data} if isinstance(data, str) else data
    gathered = gather(data, ("name", "file", "format", "label", "seed"), "name or file")
    if "name" not in gathered and is_preset_file(str(gathered.get("file"))):
        gathered = {**gathered, "name": str(gathered["file"])}
        del gathered["file"]
    name = gathered.get("name")
    if not isinstance(name, str) or "file" in gathered or not is_graph_file(name):
        return _with_label(from_spec("workload", gathered), gathered)
    found = from_spec("workload", gathered, graph_file_spec)
    options = dict(found["parameters"])
    if "format" in options and "format" in found:
        raise ValueError("parameter format: found in the name and beside it")
    kept = {"format": options.pop("format", None), **found, "parameters": options}
    kept = _with_label(kept, gathered)
    file = kept.pop("name")
    return {**kept, "file": file}


def _with_label(entry: dict[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workload's entry with the parameters of its name in its label.

    Tables have to say which of several sizes of a program is meant. `written` is the entry without
    these parameters.
    """
    beside = written["parameters"]
    in_name = {key: value for key, value in entry["parameters"].items() if key not in beside}
    if not in_name:
        return entry
    return {"label": format_spec(short_name(entry["name"]), in_name), **entry}


def policy_entry(data: object) -> object:
    """Accept ``name`` and ``name[key=value]`` for a policy, and parameters beside its name."""
    data = {"name": data} if isinstance(data, str) else data
    return from_spec("policy", gather(data, ("name", "label"), "name"))


class MachineEntry(Section):
    """A machine of an experiment.

    Parameters
    ----------
    name : str
        A shipped machine or a YAML file.
    label : str, optional
        What tables call it; by default its name, of a file without directory and ending.
    workers : int, optional
        Number of workers; one per hardware thread by default.
    pinning : {"scatter", "compact"}
        Where fewer workers than threads go.
    set : dict of str to value
        Values that differ from the file's: costs of the runtime, such as ``costs.steal: [1 us, 2
        us]``, and others that the file states, such as ``paths.remote_dram.node_weight: 1.5``. With
        ``storage: 500 MB/s`` all data lie on a disk of that rate instead of memory.
    """

    name: Annotated[str, Field(min_length=1)]
    label: str | None = None
    workers: Annotated[int, Field(ge=1)] | None = None
    pinning: Literal["scatter", "compact"] = "scatter"
    set: dict[str, Any] = Field(default_factory=dict)


class WorkloadEntry(Section):
    """A workload of an experiment.

    Parameters
    ----------
    name : str, optional
        A preset, a generator, a YAML file with a preset or a Python file with a generator; also
        with parameters, such as ``heat[rows=1024]``. A task graph file, also with options, such as
        ``my.dot[cost=size, cost_unit=ops]``, stands for `file`.
    file : str, optional
        A task graph file instead; relative to the experiment's file.
    format : str, optional
        Format of `file` where its name does not tell.
    label : str, optional
        What tables call it; by default its name, with the parameters that are written in the name.
    seed : int, optional
        Seed of the generator; by default the seed of the run.
    parameters : dict
        Of the generator, or options of the format; written beside the name.
    """

    name: str | None = None
    file: str | None = None
    format: str | None = None
    label: str | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.name is None) == (self.file is None):
            raise ValueError("found both or neither of name and file, accepted: one of them")
        if self.format is not None and self.file is None:
            raise FieldError(("format",), "found without file, accepted: only beside file")
        return self


class PolicyEntry(Section):
    """A policy of an experiment.

    Parameters
    ----------
    name : str
        A policy or a preset, also with parameters, such as ``bats[sample_pages=8]``, or a file.
    label : str, optional
        What tables call it; by default its name with the parameters.
    parameters : dict
        Those that differ from the defaults; written beside the name.
    """

    name: Annotated[str, Field(min_length=1)]
    label: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class Sweep(Section):
    """Values for dotted keys: every combination (`product`), or in step (`zip`), or both.

    Parameters
    ----------
    product : dict of str to list
        Values by key, such as ``policies.bats.sample_pages: [4, 8]``; all combinations are run.
    zip : dict of str to list
        The same, with lists of equal length: the first values together, then the second ones.
    """

    product: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    zip: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        lengths = {key: len(values) for key, values in self.zip.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{key}: {length}" for key, length in lengths.items())
            raise FieldError(("zip",), f"found lists of lengths {found}, accepted: equal lengths")
        twice = self.product.keys() & self.zip.keys()
        if twice:
            key = min(twice)
            message = "found in product too, accepted: in one of them"
            raise FieldError(("zip", key), message, ("product", key))
        for key, values in self.product.items():
            refuse_repeats(("product", key), [_comparable(value) for value in values], EACH_ONCE)
        if self.zip:
            rows = [tuple(map(_comparable, row)) for row in zip(*self.zip.values(), strict=True)]
            names = rows if len(self.zip) > 1 else [name for (name,) in rows]
            refuse_repeats(("zip", next(iter(self.zip))), names, EACH_ONCE)
        return self


def seed_list(data: object) -> object:
    """Turn a number of seeds into the list 0, 1, ..."""
    if isinstance(data, int) and not isinstance(data, bool):
        if not 1 <= data <= 100_000:
            raise ValueError(f"found {data}, accepted: 1 to 100000 seeds, or a list of seeds")
        return list(range(data))
    if not isinstance(data, list) or not data:
        raise ValueError(f"found {shown(data)}, accepted: a number of seeds, or a list of seeds")
    return data


Machines = Several[Annotated[MachineEntry, BeforeValidator(machine_entry)]]
Workloads = Several[Annotated[WorkloadEntry, BeforeValidator(workload_entry)]]
Policies = Several[Annotated[PolicyEntry, BeforeValidator(policy_entry)]]


class Combined(Section):
    """What an experiment combines, at one point of its sweep."""

    machines: Machines
    workloads: Workloads
    policies: Policies

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        refuse_same_labels(self)
        return self


class Experiment(Section):
    """An experiment: every machine with every workload, policy and seed.

    Parameters
    ----------
    name : str
        Name of the experiment and of its directory of results.
    description : str
        What it is for; left out, as is `remark`, where a command or call asks for other runs.
    remark : str
        What a reader of its results has to know; shown below them.
    machines, workloads, policies : list
        What is combined; at least one of each.
    seeds : int or list of int
        Number of seeds, or the seeds.
    baseline : str, optional
        Label of the policy that the others are compared with; the first one by default.
    backend : {"native", "simpy"}
        Engine.
    progress_limit_s : float
        Simulated seconds after which a run is given up in which no task ends; see
        :func:`simsched.engine.run.simulate`.
    metrics : list of str
        Columns of the table.
    output : str, optional
        Directory of the results; ``results/NAME`` by default.
    sweep : Sweep, optional
        Further dimensions.
    """

    name: FileName
    description: str = ""
    remark: str = ""
    machines: Machines
    workloads: Workloads
    policies: Policies
    seeds: Annotated[
        list[Annotated[int, Field(ge=0, lt=2**63)]], BeforeValidator(seed_list), Field(min_length=1)
    ] = Field(default_factory=lambda: [0])
    baseline: str | None = None
    backend: Literal["native", "simpy"] = "native"
    progress_limit_s: Annotated[float, Field(gt=0.0, le=MAX_PROGRESS_LIMIT_S)] = PROGRESS_LIMIT_S
    metrics: Several[str] = Field(default_factory=lambda: list(DEFAULT_METRICS))
    output: Annotated[str, Field(min_length=1)] | None = None
    sweep: Sweep | None = None

    def directory(self) -> Path:
        """Return where its results go, unless somebody asks for another place."""
        return Path(self.output or Path("results") / self.name)

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        refuse_same_labels(self)
        known = labels(self.policies)
        if self.baseline is not None and self.baseline not in known:
            self._check_policies()  # a misspelt policy is the likely reason
            raise FieldError(("baseline",), unknown_name("policy label", self.baseline, known))
        refuse_repeats(("seeds",), self.seeds, "different seeds")
        return self

    def _check_policies(self) -> None:
        """Refuse names that no policy has."""
        for position, entry in enumerate(self.policies):
            if not is_file_spec(entry.name):
                try:
                    policy_info(entry.name)
                except ConfigurationError as error:
                    raise FieldError(("policies", position), str(error)) from error


def refuse_same_labels(combined: Combined | Experiment) -> None:
    """Refuse machines, workloads or policies that tables could not tell apart."""
    for what in COMBINED:
        refuse_repeats((what,), labels(getattr(combined, what)), "different labels (key label)")


def labels(entries: list[Any]) -> list[str]:
    """Return what tables call the machines, workloads or policies of an experiment.

    Files of one name in different directories are called by their paths.
    """
    short = [entry.label or _short_label(entry) for entry in entries]
    return [
        label if short.count(label) == 1 else _label_with_path(entry)
        for entry, label in zip(entries, short, strict=True)
    ]


def short_name(name: str, *, known_file: bool = False) -> str:
    """Return what tables call something by its name: files without directory and ending.

    Keys of sweeps can name them so. Of a Python file, what is chosen in it is named.

    >>> short_name("../runs/my.dot.gz"), short_name("my/machine.yaml"), short_name("bats")
    ('my', 'machine', 'bats')
    >>> short_name("mine.py"), short_name("my/policies.py:Mine")
    ('mine', 'Mine')
    """
    path, _, chosen = name.rpartition(":")
    if path and is_file_spec(name):
        return chosen
    stem = name.replace("\\", "/").rpartition("/")[2].removesuffix(".gz")
    is_file = is_file_spec(stem) or is_graph_file(stem) or stem.endswith((".yaml", ".yml"))
    return (stem.rpartition(".")[0] or stem) if is_file or known_file else name


def _name(entry: MachineEntry | WorkloadEntry | PolicyEntry) -> str:
    return entry.name or str(entry.file) if isinstance(entry, WorkloadEntry) else entry.name


def _short_label(entry: MachineEntry | WorkloadEntry | PolicyEntry) -> str:
    is_file = isinstance(entry, WorkloadEntry) and entry.file is not None
    return _label(entry, short_name(_name(entry), known_file=is_file))


def _label(entry: MachineEntry | WorkloadEntry | PolicyEntry, name: str) -> str:
    """Return the label of an entry that has none: its name, for policies with the parameters."""
    return format_spec(name, entry.parameters) if isinstance(entry, PolicyEntry) else name


def _label_with_path(entry: MachineEntry | WorkloadEntry | PolicyEntry) -> str:
    """Return the label of an entry with the directory of its file, unless another one was given."""
    name = _name(entry)
    if entry.label is None:
        return _label(entry, name)
    parameters = entry.parameters if isinstance(entry, WorkloadEntry) else {}
    derived = entry.label == format_spec(short_name(name), parameters)
    return format_spec(name, parameters) if derived else entry.label


def _comparable(value: object) -> Hashable:
    """Return a swept value such that equal ones are found; 4 and 4.0 are equal."""
    return value if isinstance(value, bool | int | float | str | None) else repr(value)
