"""What ships with simsched, by name: ``simsched.machines.``, then the Tab key.

Entries are attributes and keys. A machine is the :class:`~simsched.Machine`; a policy or workload
is called with its parameters and returns the object; an experiment is the path of its file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.resources import shipped
from simsched.machine import Machine, list_machines, load_machine
from simsched.names.registry import Entry
from simsched.policy import Policy, list_policies, make_policy, policy_info
from simsched.workload import Workload, list_workloads
from simsched.workload.presets import list_presets, load_preset, make_workload
from simsched.workload.registry import find_workload

Thing = TypeVar("Thing")


class Catalogue(Generic[Thing]):
    """Things by name, as attributes and as keys.

    Parameters
    ----------
    kind, kinds : str
        What a thing is called in messages, and several of them.
    names : callable
        Returns all names.
    get : callable
        Returns the thing of a name.
    """

    def __init__(
        self,
        kind: str,
        kinds: str,
        names: Callable[[], list[str]],
        get: Callable[[str], Thing],
    ) -> None:
        self._kind, self._kinds, self._names, self._get = kind, kinds, names, get

    def __getitem__(self, name: str) -> Thing:
        """Return the thing of a name; for an unknown one the message has the nearest."""
        names = self._names()
        if name not in names:
            raise ConfigurationError(unknown_name(self._kind, name, names))
        return self._get(name)

    def __getattr__(self, name: str) -> Thing:
        """Return the thing of a name; for an unknown one the message has the nearest."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except ConfigurationError as error:
            if name in self._names():
                raise
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        """Return the names, for tab completion."""
        return self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    _ipython_key_completions_ = __dir__

    def __repr__(self) -> str:
        return f"<{len(self)} by name ({self._kind}): {', '.join(self._names())}>"

    def _repr_html_(self) -> str:
        """Return names and descriptions for Jupyter."""
        from simsched.report.html import html
        from simsched.report.show.kinds import describe_kind

        return html(describe_kind(self._kinds))


class Named(Generic[Thing]):
    """A policy or workload by name; call it with parameters to get one.

    The entry says what it can be given, `values` has defaults that differ from the entry's.
    """

    def __init__(
        self,
        kind: str,
        spec: str,
        gloss: str,
        entry: Entry[Any],
        values: Mapping[str, Any],
        make: Callable[[str, Mapping[str, Any]], Thing],
        result: type[Thing],
    ) -> None:
        self._kind, self.spec, self._make = kind, spec, make
        defaults = {name: item.default for name, item in entry.parameters.items()}
        self.__doc__ = f"{gloss}\n\n{inspect.getdoc(entry.function)}"
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                for name, default in {**defaults, **values}.items()
            ],
            return_annotation=result,
        )

    def __call__(self, **params: Any) -> Thing:
        """Return it with parameters that differ from the defaults; of a workload also ``seed``."""
        return self._make(self.spec, params)

    def __repr__(self) -> str:
        return f"<{self._kind} {self.spec}{self.__signature__}>"

    def _repr_html_(self) -> str:
        from simsched.report.show import html

        return html(self())


def _policy(name: str) -> Named[Policy]:
    info = policy_info(name)
    return Named("policy", name, info.description, info, info.params, make_policy, Policy)


def _workload(name: str) -> Named[Workload]:
    preset = load_preset(name) if name in list_presets() else None
    found = find_workload(name if preset is None else preset.generator)
    gloss, given = (
        (found.summary, {}) if preset is None else (preset.description, preset.parameters)
    )
    return Named("workload", name, gloss, found, {**given, "seed": 0}, _made, Workload)


def _made(name: str, params: Mapping[str, Any]) -> Workload:
    given = dict(params)
    return make_workload(name, given, given.pop("seed", 0))


def _workloads() -> list[str]:
    return [*list_presets(), *(item.name for item in list_workloads())]


machines: Catalogue[Machine] = Catalogue("machine", "machines", list_machines, load_machine)
policies: Catalogue[Named[Policy]] = Catalogue(
    "policy", "policies", lambda: [info.name for info in list_policies()], _policy
)
workloads: Catalogue[Named[Workload]] = Catalogue("workload", "workloads", _workloads, _workload)
experiments: Catalogue[Path] = Catalogue(
    "experiment",
    "experiments",
    lambda: list(shipped("experiments")),
    lambda name: shipped("experiments")[name],
)
