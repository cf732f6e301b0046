"""Experiments of things made in Python: machines, workloads and policies as objects or names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from simsched.analysis.metrics import metric_names
from simsched.experiment.cells import MEASURED, Cell, PlannedExperiment
from simsched.experiment.fingerprint import machine_digest, policy_digest
from simsched.experiment.inputs import (
    GivenWorkload,
    WorkloadSource,
    check_fits,
    given_workload,
    machine_named,
    workload_source,
)
from simsched.experiment.schema import (
    DEFAULT_METRICS,
    Experiment,
    WorkloadEntry,
    workload_named,
)
from simsched.files.errors import ConfigurationError, SimschedError, unknown_name
from simsched.files.yaml_reader import Document, validate_document
from simsched.machine.model import Machine
from simsched.names.specs import format_spec
from simsched.policy import Policy, changed_policy, policy_from_spec, spec_of
from simsched.workload.graph import TaskGraph, Workload

Thing = TypeVar("Thing")
Source = WorkloadSource | GivenWorkload


@dataclass(frozen=True)
class Given:
    """What is combined with what; labels are what tables call it.

    Parameters
    ----------
    machines : mapping of str to Machine
        Machines by label.
    workloads : mapping of str to WorkloadSource or GivenWorkload
        Workloads by label.
    policies : mapping of str to Policy
        Policies by label.
    """

    machines: Mapping[str, Machine]
    workloads: Mapping[str, Source]
    policies: Mapping[str, Policy]


def given(machine: Any, workload: Any, policy: Any) -> Given:
    """Return what somebody means by machines, workloads and policies.

    Parameters
    ----------
    machine : Machine, str, Path, or several
        Objects, names or YAML files.
    workload : Workload, TaskGraph, str, Path, or several
        Objects, names of presets or generators, or task graph files (as paths).
    policy : Policy, type, str, or several
        Objects, classes (with default parameters), or specs such as ``bats[sample_pages=8]``.

    Several are a list, or a mapping of labels; anything else that can be called without arguments
    stands for what it returns.

    Raises
    ------
    ConfigurationError
        Nothing, an unknown name, a wrong type, or one label twice.
    """
    return Given(
        _labelled("machine", machine, _machine),
        _labelled("workload", workload, _workload),
        _labelled("policy", policy, _policy),
    )


def _labelled(
    what: str, things: Any, resolve: Callable[[Any], tuple[str, Thing]]
) -> dict[str, Thing]:
    """Return things by label."""
    if isinstance(things, Mapping):
        pairs = [(str(label), resolve(thing)[1]) for label, thing in things.items()]
    else:
        single = isinstance(things, str | PathLike) or not isinstance(things, Iterable)
        pairs = [resolve(thing) for thing in ([things] if single else things)]
    if not pairs:
        raise ConfigurationError(f"{what}: found none, accepted at least one")
    found: dict[str, Thing] = {}
    for label, thing in pairs:
        if label in found:
            raise ConfigurationError(
                f"{what}: found {label!r} twice, accepted: different labels, such as "
                f"{{'{label} a': ..., '{label} b': ...}}"
            )
        found[label] = thing
    return found


def _machine(thing: Any) -> tuple[str, Machine]:
    if isinstance(thing, Machine):
        return thing.name, thing
    if isinstance(thing, str | PathLike):
        name = str(thing)
        machine = machine_named(name, Path())
        return Path(name).stem if name.endswith((".yaml", ".yml")) else name, machine
    raise ConfigurationError(
        f"machine: found {_kind(thing)}, accepted a Machine, a name or a YAML file"
    )


def _workload(thing: Any) -> tuple[str, Source]:
    thing = _named(thing)
    if callable(thing):
        thing = thing()
    if isinstance(thing, TaskGraph):
        thing = Workload("task graph", thing)
    if isinstance(thing, Workload):
        return thing.name, given_workload(thing)
    if isinstance(thing, PathLike):
        entry = WorkloadEntry(file=str(thing))
        return Path(thing).name.partition(".")[0], workload_source(entry, Path())
    if isinstance(thing, str):
        return thing, workload_source(workload_named(thing), Path())
    raise ConfigurationError(
        f"workload: found {_kind(thing)}, accepted a Workload, a TaskGraph, a name or a Path"
    )


def _policy(thing: Any) -> tuple[str, Policy]:
    thing = _named(thing)
    if isinstance(thing, str):
        return thing, policy_from_spec(thing)
    if callable(thing):
        thing = thing()
    if not isinstance(thing, Policy):
        raise ConfigurationError(
            f"policy: found {_kind(thing)}, accepted an object or class derived from "
            "simsched.Policy, or a name such as 'bats[sample_pages=8]'"
        )
    _check_decorated(type(thing))
    return policy_label(thing), thing


def sweep(policy: Any, **values: Iterable[Any]) -> list[Policy]:
    """Return a policy with every combination of some values for its parameters.

    Parameters
    ----------
    policy : Policy, type or str
        An object, a class, or a name; parameters that are not swept stay as they are.
    **values : iterable of object
        Values by parameter.

    Returns
    -------
    list of Policy
        The last parameter varies fastest. In a result, each is labelled with its parameters, and
        ``result.runs`` has a column ``policy.NAME`` per parameter.

    Raises
    ------
    ConfigurationError
        Unknown policy or parameter, or a value that is not accepted.

    Examples
    --------
    >>> [policy.sample_pages for policy in sweep("bats", sample_pages=[4, 8, 16])]
    [4, 8, 16]
    """
    base = _policy(policy)[1]
    return [
        changed_policy(base, dict(zip(values, combination, strict=True)))
        for combination in itertools.product(*values.values())
    ]


def _kind(thing: Any) -> str:
    return f"{thing!r:.60} of type {type(thing).__name__}"


def _named(thing: Any) -> Any:
    """Return the name that an entry of a catalogue stands for; anything else as it is."""
    spec = getattr(thing, "spec", None)
    return spec if isinstance(spec, str) else thing


def _check_decorated(cls: type[Policy]) -> None:
    """Raise ConfigurationError when a class declares parameters and is no dataclass."""
    bare = [name for name, value in vars(cls).items() if isinstance(value, Field)]
    if bare:
        raise ConfigurationError(
            f"policy {cls.__name__}: parameter {bare[0]}: found on a class that is no dataclass, "
            "accepted: @dataclass(frozen=True, kw_only=True) above the class"
        )


def policy_label(policy: Policy) -> str:
    """Return what tables call a policy.

    Examples
    --------
    >>> from simsched.policy import make_policy
    >>> policy_label(make_policy("bats", {"sample_pages": 8, "balancer": False}))
    'bats[balancer=false,sample_pages=8]'
    """
    return format_spec(*spec_of(policy))


def plan_given(
    what: Given,
    name: str = "notebook",
    *,
    seeds: int | Sequence[int] = 1,
    workers: int | None = None,
    pinning: str = "scatter",
    backend: str = "native",
    baseline: str | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> PlannedExperiment:
    """Check an experiment of given things and return its cells.

    Parameters
    ----------
    what : Given
        Machines, workloads and policies; every combination is run.
    name : str
        Name of the experiment.
    seeds : int or sequence of int
        Number of seeds, or the seeds.
    workers, pinning
        See :meth:`Machine.place_workers`.
    backend : {"native", "simpy"}
        Engine.
    baseline : str, optional
        Label of the policy that others are compared with; the first by default.
    metrics : sequence of str
        Columns of the comparison.

    Raises
    ------
    SimschedError
        Something is wrong or does not fit together.
    """
    for machine in what.machines.values():
        machine.place_workers(workers, pinning)
    data = _plain(what, name, workers, pinning) | {
        "seeds": seeds if isinstance(seeds, int) else list(seeds),
        "baseline": baseline,
        "backend": backend,
        "metrics": list(metrics),
    }
    experiment = validate_document(Document(None, data), Experiment)
    known = dict.fromkeys(n for m in what.machines.values() for n in metric_names(m))
    for metric in metrics:
        if metric not in known and metric not in MEASURED:
            raise ConfigurationError(unknown_name("metric", metric, [*known, *MEASURED]))
    cells = []
    contents = {label: machine_digest(machine) for label, machine in what.machines.items()}
    policies = {label: policy_digest(policy) for label, policy in what.policies.items()}
    for m, w in itertools.product(what.machines, what.workloads):
        machine, workload = what.machines[m], what.workloads[w]
        sources = [workload.seeded(seed) for seed in experiment.seeds]
        try:
            check_fits(machine, sources[0].build())
        except SimschedError as error:
            raise type(error)(f"{w} on {m}: {error}") from error
        for (p, content), (seed, source) in itertools.product(
            policies.items(), zip(experiment.seeds, sources, strict=True)
        ):
            cell = Cell(
                m,
                w,
                p,
                {},
                seed,
                experiment.backend,
                machine,
                source,
                what.policies[p],
                workers,
                pinning,
                content,
            )
            cells.append(cell.with_key(contents[m]))
    return PlannedExperiment(experiment, cells, [])


def _plain(what: Given, name: str, workers: int | None, pinning: str) -> dict[str, Any]:
    """Return the entries of an experiment's file that stand for given things."""
    policies = []
    for label, policy in what.policies.items():
        spec = spec_of(policy)
        policies.append({**spec.params, "name": spec.name, "label": label})
    return {
        "name": re.sub(r"[^A-Za-z0-9_.-]+", "_", name) or "notebook",
        "machines": [
            {"name": machine.name, "label": label, "workers": workers, "pinning": pinning}
            for label, machine in what.machines.items()
        ],
        "workloads": [{"name": label, "label": label} for label in what.workloads],
        "policies": policies,
    }
