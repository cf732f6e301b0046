"""Machines, workloads and policies that somebody passes to Python: objects or names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from simsched.experiment.inputs import given_workload
from simsched.experiment.schema import (
    MachineEntry,
    PolicyEntry,
    WorkloadEntry,
    labels,
    machine_entry,
    policy_entry,
    workload_entry,
)
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import Section
from simsched.machine.model import Machine
from simsched.names.specs import format_spec
from simsched.policy import Policy, changed_policy, make_policy, spec_of
from simsched.workload.graph import TaskGraph, Workload


@dataclass(frozen=True)
class Given:
    """One thing that somebody has passed."""

    #: What tables call it.
    label: str
    #: What the file of an experiment would say of it.
    entry: dict[str, Any]
    #: The object; None for a name, which is looked up as those in files are.
    thing: Any = None


def given(machine: Any, workload: Any, policy: Any) -> dict[str, list[Given]]:
    """Return what somebody means by machines, workloads and policies.

    Each is an object, a name or a file; a workload also the name of a generator, a policy also a
    class or a spec such as ``bats[sample_pages=8]``. Several are a list, or a mapping of labels;
    anything else that can be called without arguments stands for what it returns.
    """
    return {
        "machines": _labelled("machine", machine, _machine),
        "workloads": _labelled("workload", workload, _workload),
        "policies": _labelled("policy", policy, _policy),
    }


def _labelled(what: str, things: Any, resolve: Callable[[Any], Given]) -> list[Given]:
    """Return things with different labels."""
    if isinstance(things, Mapping) and not _is_entry(things):
        found = [replace(resolve(thing), label=str(label)) for label, thing in things.items()]
    else:
        single = isinstance(things, str | PathLike | Mapping) or not isinstance(things, Iterable)
        single = single or _is_networkx(things)
        found = _apart([resolve(thing) for thing in ([things] if single else things)])
    if not found:
        raise ConfigurationError(f"{what}: found none, accepted at least one")
    labels = [item.label for item in found]
    for position, label in enumerate(labels):
        if label in labels[:position]:
            raise ConfigurationError(
                f"{what}: found {label!r} twice, accepted: different labels, such as "
                f"{{'{label} a': ..., '{label} b': ...}}"
            )
    return found


def _apart(found: list[Given]) -> list[Given]:
    """Call files of one name in different directories by their paths."""
    short = [item.label for item in found]
    paths = [item.entry.get("file") or item.entry.get("name") for item in found]
    return [
        item
        if short.count(item.label) == 1 or item.thing is not None
        else replace(item, label=path)
        for item, path in zip(found, map(str, paths), strict=True)
    ]


def _is_entry(thing: Any) -> bool:
    """Return whether something is what an experiment says of it: ``{name: heat, rows: 1024}``."""
    return isinstance(thing, Mapping) and not thing.keys().isdisjoint(("name", "file"))


def _by_entry(entry: Any, model: type[Section], normal: Callable[[Any], Any]) -> Given:
    """Return what an entry of an experiment's file, or its name alone, stands for."""
    data = {"name": entry} if isinstance(entry, str) else dict(entry)
    try:
        (label,) = labels([model.model_validate(normal(data))])
    except ValueError:  # the study, which reads all entries, says what is wrong
        label = str(data.get("label") or data.get("name") or data.get("file"))
    return Given(label, data)


def _machine(thing: Any) -> Given:
    if isinstance(thing, Machine):
        return Given(thing.name, {"name": thing.name}, thing)
    if isinstance(thing, str | PathLike) or _is_entry(thing):
        entry = str(thing) if isinstance(thing, PathLike) else thing
        return _by_entry(entry, MachineEntry, machine_entry)
    raise ConfigurationError(
        f"machine: found {_kind(thing)}, accepted a Machine, a name or a YAML file"
    )


def _workload(thing: Any) -> Given:
    thing = _named(thing)
    if callable(thing):
        thing = thing()
    if isinstance(thing, TaskGraph):
        thing = Workload("task graph", thing)
    if isinstance(thing, Workload):
        return Given(thing.name, {"name": "object"}, given_workload(thing))
    if isinstance(thing, str | PathLike) or _is_entry(thing):
        entry = {"file": str(thing)} if isinstance(thing, PathLike) else thing
        return _by_entry(entry, WorkloadEntry, workload_entry)
    hint = "; simsched.workload.importers.from_networkx returns the Workload of such a graph"
    raise ConfigurationError(
        f"workload: found {_kind(thing)}, accepted a Workload, a TaskGraph, a name or a Path"
        f"{hint * _is_networkx(thing)}"
    )


def _policy(thing: Any) -> Given:
    thing = _named(thing)
    if isinstance(thing, str) or _is_entry(thing):
        return _by_entry(thing, PolicyEntry, policy_entry)
    if callable(thing):
        thing = thing()
    if not isinstance(thing, Policy):
        raise ConfigurationError(
            f"policy: found {_kind(thing)}, accepted an object or class derived from "
            "simsched.Policy, or a name such as 'bats[sample_pages=8]'"
        )
    spec = spec_of(thing)
    return Given(policy_label(thing), {**spec.params, "name": spec.name}, thing)


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
    made = _policy(policy)
    base = made.thing
    if base is None:
        own = {key: value for key, value in made.entry.items() if key not in ("name", "label")}
        base = make_policy(made.entry["name"], own)
    return [
        changed_policy(base, dict(zip(values, combination, strict=True)))
        for combination in itertools.product(*values.values())
    ]


def _kind(thing: Any) -> str:
    return f"{thing!r:.60} of type {type(thing).__name__}"


def _is_networkx(thing: Any) -> bool:
    """Return whether something is a graph of NetworkX, or of a class derived from its own."""
    return any(cls.__module__.startswith("networkx.") for cls in type(thing).__mro__)


def _named(thing: Any) -> Any:
    """Return the name that an entry of a catalogue stands for; anything else as it is."""
    spec = getattr(thing, "spec", None)
    return spec if isinstance(spec, str) else thing


def policy_label(policy: Policy) -> str:
    """Return what tables call a policy.

    >>> from simsched.policy import make_policy
    >>> policy_label(make_policy("bats", {"sample_pages": 8, "balancer": False}))
    'bats[balancer=false,sample_pages=8]'
    """
    return format_spec(*spec_of(policy))
