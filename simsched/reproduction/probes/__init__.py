"""Probes: quantities of claims that need no run.

A probe is a function in a module of this package. It looks at a machine model, a workload's task
graph or a formula of a policy; a run that it makes is one without numbers (does it run at all, in
which order), never one whose times are the answer::

    @probe("cores")
    def cores(*, machine: str) -> float:
        '''Return the number of cores of a machine.'''
        return float(machine_of(machine).n_cores)

Its parameters are keyword-only and typed ``str``, ``int``, ``float``, ``bool``, ``list`` or
``dict``; it returns a number, a list of numbers or a text. Some are the same everywhere: `machine`
is a shipped one or a YAML file, `workload` a preset or generator with the `parameters`, `policy`
one that may have parameters in brackets.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from simsched.experiment.inputs import machine_named, workload_source
from simsched.experiment.schema import WorkloadEntry
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.machine.model import Machine
from simsched.names.parameters import Parameter, checked, parameters_of
from simsched.names.registry import Entry, Registry
from simsched.workload.graph import Workload

Answer = float | list[float] | str
Function = TypeVar("Function", bound=Callable[..., Answer])
Value = TypeVar("Value")


class _Probe(Entry[Callable[..., Answer]]):
    """A function that claims call by name; lists and mappings can be given to it, too."""

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """What can be given, by name."""
        found = parameters_of(self.function, lenient=True)
        for key in inspect.signature(self.function).parameters:
            if key not in found:
                raise ValueError(f"probe {self.name!r}: parameter {key}: accepted keyword-only")
        return found


_probes: Registry[_Probe] = Registry("probe", __name__)


def probe(name: str) -> Callable[[Function], Function]:
    """Register a function under a name; ValueError where it is taken or a parameter is wrong."""

    def register(function: Function) -> Function:
        _probes.add(_Probe(name, function))
        return function

    return register


def probes() -> dict[str, str]:
    """Return the first line of every probe's documentation by name, sorted."""
    return _probes.summaries()


def ask(name: str, arguments: Mapping[str, Any]) -> Answer:
    """Return what a probe says; ConfigurationError for unknown names and wrong arguments."""
    found = _probes.find(name)
    return found.function(**checked(f"probe {name}", found.parameters, arguments))


def machine_of(name: str) -> Machine:
    """Return a machine, for probes; each is read once."""
    return machine_named(name, Path())


def workload_of(name: str, parameters: Mapping[str, Any] | None = None) -> Workload:
    """Return a preset or generator with the seed 0, for probes."""
    entry = WorkloadEntry(name=name, parameters=dict(parameters or {}))
    return workload_source(entry, Path()).seeded(0).build()


def finite(value: int | float, where: str) -> float:
    """Return a number as probes calculate with it; ConfigurationError if it is too large."""
    try:
        return float(value)
    except OverflowError:
        raise ConfigurationError(
            f"{where}: found a whole number beyond 1.8e308, accepted smaller ones"
        ) from None


def number_of(what: str, name: str, known: Mapping[str, Any]) -> float:
    """Return an entry that is a number, for probes."""
    value = chosen(what, name, known)
    if not isinstance(value, int | float):
        raise ConfigurationError(f"{name}: found {value!r}, accepted: a number")
    return finite(value, name)


def chosen(what: str, name: str, known: Mapping[str, Value]) -> Value:
    """Return an entry; the error for an unknown name lists the accepted ones."""
    if name not in known:
        raise ConfigurationError(unknown_name(what, name, known))
    return known[name]
