"""Policies by name: registration, presets, and the text forms used in YAML and on the command line.

A policy is found in one of three places:

* a module of the package :mod:`simsched.policy.algorithms` (every module is looked at; there is
  no list to extend),
* a distribution that offers an entry point in the group ``simsched.policies``,
* a file of the user: ``my_policy.py``, or ``my_policy.py:NAME`` with the name of a class, or the
  one under which the file registers a class or a preset; these names are not known elsewhere (see
  :mod:`simsched.names.user_code`).

A *preset* is a named set of parameters of a registered class. Published systems that differ only in
parameters are presets of one class.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from types import NoneType
from typing import Any, Self, TypeVar

from simsched.files.errors import (
    ConfigurationError,
    PolicyError,
    SimschedError,
    expect,
    unknown_name,
)
from simsched.names.docstrings import section
from simsched.names.extensions import blamed
from simsched.names.loading import USER_MODULE, module_named
from simsched.names.registry import Entry, Registry
from simsched.names.specs import Spec, parse_spec
from simsched.names.user_code import is_file_spec, load_user_file, name_in_file, split_file_spec
from simsched.policy.contract.base import Policy, own_name
from simsched.policy.contract.placements import placements
from simsched.policy.contract.user_file import policy_classes

ALGORITHMS = "simsched.policy.algorithms"  #: what ships: a folder per family

PolicyClass = TypeVar("PolicyClass", bound=type[Policy])


@dataclass(frozen=True)
class PolicyInfo(Entry[type[Policy]]):
    """What the registry knows about a name.

    Parameters
    ----------
    name : str
        Name under which :func:`make_policy` finds it.
    function : type
        Class that is instantiated.
    params : dict
        Parameters of the preset; empty for the class itself.
    description : str
        One sentence.
    family : str
        Folder of a shipped class, module of another one.
    source : str
        Module or file that holds the class.
    """

    params: Mapping[str, Any]
    description: str
    family: str
    source: str

    @property
    def cls(self) -> type[Policy]:
        """Class that is instantiated."""
        return self.function

    @property
    def references(self) -> str:
        """Where the policy was published, from the docstring's section References."""
        return " ".join(" ".join(section(self.cls.__doc__ or "", "References")).split())

    @property
    def is_preset(self) -> bool:
        """Whether the name stands for parameters of a class that has another name."""
        return self.name != self.cls.name

    def replaces(self, known: Self) -> bool:
        """Return whether it is what has its name already, from a module that runs again.

        Parameters
        ----------
        known : PolicyInfo
            What has the name.
        """
        is_same = (self.params, self.description) == (known.params, known.description)
        return super().replaces(known) and (is_same or self.cls is not known.cls)


def register(name: str) -> Callable[[PolicyClass], PolicyClass]:
    """Return a class decorator that makes a policy known under a name.

    Parameters
    ----------
    name : str
        Lower case, digits and underscores; the decorated class gets it as attribute `name`.

    Returns
    -------
    callable
        Takes the class and returns it.

    Raises
    ------
    PolicyError
        When the name is malformed or taken by something else.
    """

    def decorate(cls: PolicyClass) -> PolicyClass:
        cls.name = name
        policies.add(_info(name, cls, {}, _first_sentence(cls)))
        return cls

    return decorate


def preset(name: str, cls: type[Policy], description: str, **params: Any) -> None:
    """Make a named set of parameters of a policy class known.

    Parameters
    ----------
    name : str
        As for :func:`register`.
    cls : type
        Registered policy class.
    description : str
        One sentence that says what the preset stands for.
    **params : object
        Parameters that differ from the defaults; checked at once.

    Raises
    ------
    PolicyError
        When the name is malformed or taken.
    ConfigurationError
        When the class does not accept the parameters.
    """
    info = _info(name, cls, params, description)
    rule, home = params.get("placement"), info.home
    if home.__name__.startswith(USER_MODULE) and rule in placements.of_file(home):
        # The class may be of another file, which does not know placements of this one.
        params["placement"] = f"{home.__file__}:{rule}"
    _build(name, cls, params)
    policies.add(info)


def make_policy(name: str, params: Mapping[str, Any] | None = None) -> Policy:
    """Return a policy by name.

    Parameters
    ----------
    name : str
        Name of a policy or preset, or a file ``path.py`` or ``path.py:NAME``, also with parameters
        (``bats[sample_pages=8, balancer=false]``).
    params : mapping, optional
        Further parameters; they override those of a preset. An int is accepted for a float.

    Returns
    -------
    Policy
        With its parameters checked.

    Raises
    ------
    ConfigurationError
        For an unknown name or parameter, or a value that is not accepted.

    Examples
    --------
    >>> make_policy("cilk_h").placement
    'membind_hbm'
    >>> make_policy("batz")
    Traceback (most recent call last):
    ...
    simsched.files.errors.ConfigurationError: unknown policy 'batz'; did you mean 'bats'? accepted:
    ...
    """
    expect("policy", name, str, "a name, or a file path.py or path.py:NAME")
    expect("policy: params", params, (Mapping, NoneType), "a mapping of names to values")
    if "[" in name:
        name, given = parse_spec("policy", name)
        params = {**given, **(params or {})}
    info = policy_info(name)
    return _build(name, info.cls, {**info.params, **(params or {})})


def policy_info(name: str) -> PolicyInfo:
    """Return what is known about a policy or preset.

    Parameters
    ----------
    name : str
        Name of a policy or preset, or a file ``path.py`` or ``path.py:NAME``.

    Returns
    -------
    PolicyInfo
        Class, family, parameters and sources.

    Raises
    ------
    ConfigurationError
        For an unknown name, or a file that is wrong.
    """
    return _info_of_file(name) if is_file_spec(name) else policies.find(name)


def _info_of_file(spec: str) -> PolicyInfo:
    """Return what is known about a policy or preset of a file."""
    policies.all()  # what ships does not count as what the file imports first
    module = load_user_file("policy", spec)
    classes, named = policy_classes(module), policies.of_file(module)
    offered = [*classes, *named] if split_file_spec(spec)[1] else list(classes or named)
    accepted = "a class derived from simsched.policy.Policy, or a preset"
    name = name_in_file(spec, "policy", offered, accepted, also=" class or preset")
    if name in named:
        return replace(named[name], name=spec, family="")
    cls = classes[name]
    return PolicyInfo(spec, cls, {}, _first_sentence(cls), "", spec)


def list_policies() -> list[PolicyInfo]:
    """Return all policies and presets, by family and name, each class before its presets.

    Returns
    -------
    list of PolicyInfo
        Those of simsched and those of installed packages.
    """
    known = policies.all().values()
    return sorted(known, key=lambda i: (i.family, i.cls.__name__, i.is_preset, i.name))


def changed_policy(policy: Policy, params: Mapping[str, Any]) -> Policy:
    """Return a policy with other values for some of its parameters.

    Parameters
    ----------
    policy : Policy
        An object; it stays as it is.
    params : mapping
        New values by name. An int is accepted for a float.

    Returns
    -------
    Policy
        Another object of the same class.

    Raises
    ------
    ConfigurationError
        For an unknown parameter, or a value that is not accepted.
    """
    cls = type(policy)
    return _build(own_name(cls), cls, {**policy.parameters(), **params})


def spec_of(policy: Policy) -> Spec:
    """Return the shortest way to write a policy.

    Parameters
    ----------
    policy : Policy
        Any instance, also of a class that nobody has registered.

    Returns
    -------
    Spec
        The preset that has just these parameters, if there is one; otherwise the name under which
        the class is registered, or its own name, and the parameters that differ from the defaults.

    Examples
    --------
    >>> spec_of(make_policy("cilk_h"))
    Spec(name='cilk_h', params={})
    >>> spec_of(make_policy("bats", {"sample_pages": 8}))
    Spec(name='bats', params={'sample_pages': 8})
    """
    cls, values = type(policy), policy.parameters()
    known = policies.known_to(module_named(cls.__module__))
    differing = {f.name: values[f.name] for f in fields(cls) if f.default != values[f.name]}
    name = vars(cls).get("name") or cls.__name__
    if known.get(name) is None or known[name].cls is not cls:
        return Spec(cls.__name__, differing)
    for _, info in sorted(known.items()):
        if info.cls is cls and info.is_preset and _build(info.name, cls, info.params) == policy:
            return Spec(info.name, {})
    return Spec(name, differing)


@contextmanager
def called(cls: type[Policy], name: str) -> Iterator[None]:
    """Let errors of a policy name it as the user has; the class knows no name but its own."""
    try:
        yield
    except SimschedError as error:
        what = str(error).removeprefix(f"policy {own_name(cls)}: ")
        if what == str(error):
            raise
        raise type(error)(f"policy {name}: {what}") from error


def _build(name: str, cls: type[Policy], params: Mapping[str, Any]) -> Policy:
    """Return an instance."""
    declared = [f.name for f in fields(cls)]
    for key in params:
        if key not in declared:
            raise ConfigurationError(f"policy {name}: {unknown_name('parameter', key, declared)}")
    with called(cls, name), blamed(f"policy {name}", cls):
        return cls(**params)


def _info(name: str, cls: type[Policy], params: Mapping[str, Any], description: str) -> PolicyInfo:
    """Return what is to be known about a name."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise PolicyError(
            f"policy {name!r}: accepted names consist of lower-case letters, digits and underscores"
        )
    if not description.strip():
        raise PolicyError(f"policy {name!r}: a description is missing")
    of_file = cls.__module__.startswith(USER_MODULE)
    source = inspect.getfile(cls) if of_file else cls.__module__
    above, _, module = cls.__module__.rpartition(".")
    family = above.rpartition(".")[2] if above.startswith(f"{ALGORITHMS}.") else module
    return PolicyInfo(name, cls, params, description, family, source)


def _register_offered(name: str, found: object) -> None:
    """Register what an entry point offers."""
    if isinstance(found, type) and issubclass(found, Policy):
        register(name)(found)


def _first_sentence(cls: type) -> str:
    """Return the first paragraph of a class's own docstring on one line."""
    return " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())


policies: Registry[PolicyInfo] = Registry(
    "policy",
    ALGORITHMS,
    group="simsched.policies",
    offered=_register_offered,
    error=PolicyError,
)
