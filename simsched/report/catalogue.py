"""What ships with simsched, by name: ``simsched.machines.``, then the Tab key.

Entries are attributes and keys. A machine is the :class:`~simsched.Machine`; a policy or workload
is called with its parameters and returns the object; an experiment is the path of its file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.resources import data_dir
from simsched.files.yaml_reader import read_document
from simsched.machine import Machine, list_machines, load_machine
from simsched.names.markup import table
from simsched.policy import Policy, PolicyInfo, list_policies, make_policy, policy_info
from simsched.workload import Workload, list_workloads
from simsched.workload.presets import list_presets, load_preset, resolve_workload
from simsched.workload.registry import find_workload

Thing = TypeVar("Thing")


class Catalogue(Generic[Thing]):
    """Things by name, as attributes and as keys.

    Parameters
    ----------
    kind : str
        What a thing is called in messages.
    names : callable
        Returns all names.
    get : callable
        Returns the thing of a name.
    describe : callable
        Returns one sentence about the thing of a name.
    """

    def __init__(
        self,
        kind: str,
        names: Callable[[], list[str]],
        get: Callable[[str], Thing],
        describe: Callable[[str], str],
    ) -> None:
        self._kind, self._names, self._get, self._describe = kind, names, get, describe

    def __getitem__(self, name: str) -> Thing:
        """Return the thing of a name.

        Raises
        ------
        ConfigurationError
            For an unknown name; the message has the nearest one.
        """
        names = self._names()
        if name not in names:
            raise ConfigurationError(unknown_name(self._kind, name, names))
        return self._get(name)

    def __getattr__(self, name: str) -> Thing:
        """Return the thing of a name.

        Raises
        ------
        AttributeError
            For an unknown name; the message has the nearest one.
        """
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

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()

    def __repr__(self) -> str:
        return f"<{len(self)} by name ({self._kind}): {', '.join(self._names())}>"

    def _repr_html_(self) -> str:
        """Return names and descriptions for Jupyter."""
        return table((self._kind, ""), [(name, self._describe(name)) for name in self._names()])


class NamedPolicy:
    """A policy by name; call it with parameters to get one.

    Parameters
    ----------
    info : PolicyInfo
        What the registry knows about it.
    """

    def __init__(self, info: PolicyInfo) -> None:
        self.spec = info.name
        self.__doc__ = f"{info.description}\n\n{inspect.cleandoc(info.cls.__doc__ or '')}"
        self.__signature__ = inspect.Signature(
            [
                _keyword(f.name, info.params.get(f.name, f.default))
                for f in fields(info.cls)
                if f.default is not MISSING
            ],
            return_annotation=Policy,
        )

    def __call__(self, **params: Any) -> Policy:
        """Return the policy.

        Parameters
        ----------
        **params : object
            Parameters that differ from the defaults.

        Raises
        ------
        ConfigurationError
            Unknown parameter, or a value that is not accepted.
        """
        return make_policy(self.spec, params)

    def __repr__(self) -> str:
        return f"<policy {self.spec}{self.__signature__}>"

    def _repr_html_(self) -> str:
        return self()._repr_html_()


class NamedWorkload:
    """A workload by name; call it with parameters to get one.

    Parameters
    ----------
    name : str
        Preset or generator.
    """

    def __init__(self, name: str) -> None:
        self.spec = name
        generator, given = name, {}
        if name in list_presets():
            preset = load_preset(name)
            generator, given = preset.generator, preset.parameters
        chosen = find_workload(generator)
        self.__doc__ = inspect.getdoc(chosen.function)
        self.__signature__ = inspect.Signature(
            [
                *(_keyword(n, given.get(n, p.default)) for n, p in chosen.parameters.items()),
                _keyword("seed", 0),
            ],
            return_annotation=Workload,
        )

    def __call__(self, *, seed: int = 0, **params: Any) -> Workload:
        """Return the workload.

        Parameters
        ----------
        seed : int
            Seed of everything random in it.
        **params : object
            Parameters that differ from the defaults.

        Raises
        ------
        ConfigurationError
            Unknown parameter, or a value that is not accepted.
        """
        return resolve_workload(self.spec, params, seed)

    def __repr__(self) -> str:
        return f"<workload {self.spec}{self.__signature__}>"


def _keyword(name: str, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


def _experiments() -> list[str]:
    return sorted(path.stem for path in data_dir("experiments").glob("*.yaml"))


def _experiment(name: str) -> Path:
    return data_dir("experiments") / f"{name}.yaml"


def _about_experiment(name: str) -> str:
    data = read_document(_experiment(name)).data
    return str(data.get("description", "")).strip() if isinstance(data, dict) else ""


def _about_workload(name: str) -> str:
    if name in list_presets():
        return load_preset(name).description
    return find_workload(name).summary


def _workloads() -> list[str]:
    return [*list_presets(), *(item.name for item in list_workloads())]


machines: Catalogue[Machine] = Catalogue(
    "machine", list_machines, load_machine, lambda name: load_machine(name).description
)
policies: Catalogue[NamedPolicy] = Catalogue(
    "policy",
    lambda: [info.name for info in list_policies()],
    lambda name: NamedPolicy(policy_info(name)),
    lambda name: policy_info(name).description,
)
workloads: Catalogue[NamedWorkload] = Catalogue(
    "workload", _workloads, NamedWorkload, _about_workload
)
experiments: Catalogue[Path] = Catalogue("experiment", _experiments, _experiment, _about_experiment)
