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

import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from simsched.files.errors import ConfigurationError, PolicyError, SimschedError, unknown_name
from simsched.names.registry import blamed
from simsched.names.specs import Spec, parse_spec
from simsched.names.user_code import (
    USER_MODULE,
    is_file_spec,
    load_user_file,
    name_in_file,
    names_for,
    split_file_spec,
)
from simsched.policy.contract.base import Policy
from simsched.policy.contract.user_file import policy_classes

ALGORITHMS = "simsched.policy.algorithms"  #: what ships: a folder per family
ENTRY_POINT_GROUP = "simsched.policies"
MAX_FLOAT = 2**1023  #: whole numbers from there on may be no float

PolicyClass = TypeVar("PolicyClass", bound=type[Policy])


@dataclass(frozen=True)
class PolicyInfo:
    """What the registry knows about a name.

    Parameters
    ----------
    name : str
        Name under which :func:`make_policy` finds it.
    cls : type
        Class that is instantiated.
    params : dict
        Parameters of the preset; empty for the class itself.
    family : str
        Folder of a shipped class, module of another one.
    description : str
        One sentence.
    references : str
        Where the policy was published, from the docstring's section References.
    source : str
        Module or file that holds the class.
    """

    name: str
    cls: type[Policy]
    params: Mapping[str, Any]
    family: str
    description: str
    references: str
    source: str

    @property
    def is_preset(self) -> bool:
        """Whether the name stands for parameters of a class that has another name."""
        return self.name != self.cls.name


_known: dict[str, PolicyInfo] = {}
_discovered: list[bool] = []


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
    known = names_for("policies", sys._getframe(1).f_globals, _known)

    def decorate(cls: PolicyClass) -> PolicyClass:
        cls.name = name
        _add(known, name, cls, {}, _first_sentence(cls.__doc__ or ""))
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
    names = sys._getframe(1).f_globals
    known, shipped = names_for("policies", names, _known), dict[str, object]()
    rules = names_for("placements", names, shipped)
    if params.get("placement") in rules and names["__name__"].startswith(USER_MODULE):
        # The class may be of another file, which does not know placements of this one.
        params["placement"] = f"{names['__file__']}:{params['placement']}"
    _build(name, cls, params)
    _add(known, name, cls, params, description)


def make_policy(name: str, params: Mapping[str, Any] | None = None) -> Policy:
    """Return a policy by name.

    Parameters
    ----------
    name : str
        Name of a policy or preset, or a file ``path.py`` or ``path.py:NAME``.
    params : mapping, optional
        Parameters; they override those of a preset. An int is accepted for a float.

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
    _discover()
    if is_file_spec(name):
        return _info_of_file(name)
    if name not in _known:
        raise ConfigurationError(unknown_name("policy", name, _known))
    return _known[name]


def _info_of_file(spec: str) -> PolicyInfo:
    """Return what is known about a policy or preset of a file."""
    module = load_user_file("policy", spec)
    classes, named = policy_classes(module), names_for("policies", vars(module), _known)
    offered = [*classes, *named] if split_file_spec(spec)[1] else list(classes or named)
    accepted = "a class derived from simsched.policy.Policy, or a preset"
    name = name_in_file(spec, "policy", offered, accepted, also=" class or preset")
    if name in named:
        return replace(named[name], name=spec, family="")
    cls = classes[name]
    doc = cls.__doc__ or ""
    about = _first_sentence(doc), _section(doc, "References"), spec
    return PolicyInfo(spec, cls, {}, "", *about)


def list_policies() -> list[PolicyInfo]:
    """Return all policies and presets, by family and name, each class before its presets.

    Returns
    -------
    list of PolicyInfo
        Those of simsched and those of installed packages.
    """
    _discover()
    return sorted(_known.values(), key=lambda i: (i.family, i.cls.__name__, i.is_preset, i.name))


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
    return _build(cls.name or cls.__name__, cls, {**policy.parameters(), **params})


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
    _discover()
    cls, values = type(policy), policy.parameters()
    module = sys.modules.get(cls.__module__)
    known = _known if module is None else names_for("policies", vars(module), _known)
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
    """Let errors of a policy name it as the user has; the class knows no name but its own.

    Parameters
    ----------
    cls : type
        Class of the policy.
    name : str
        What the user has written: a preset, perhaps with parameters, or a label.

    Raises
    ------
    SimschedError
        What is raised inside, with that name.
    """
    try:
        yield
    except SimschedError as error:
        what = str(error).removeprefix(f"policy {cls.name or cls.__name__}: ")
        if what == str(error):
            raise
        raise type(error)(f"policy {name}: {what}") from error


def parse_policy_spec(text: str) -> Spec:
    """Return name and parameters of a policy written as ``name`` or ``name[key=value, ...]``.

    Parameters
    ----------
    text : str
        For instance ``bats[sample_pages=8,balancer=false]``; see :mod:`simsched.names.specs`.

    Returns
    -------
    Spec
        Name and parameters; nothing is said about whether there is such a policy.

    Raises
    ------
    ConfigurationError
        When the text has another form or names a parameter twice; the message says at which
        character.

    Examples
    --------
    >>> parse_policy_spec("bats[sample_pages=8, allocation=even]")
    Spec(name='bats', params={'sample_pages': 8, 'allocation': 'even'})
    """
    return parse_spec("policy", text)


def policy_from_spec(text: str) -> Policy:
    """Return the policy that a text describes; see :func:`parse_policy_spec`.

    Parameters
    ----------
    text : str
        ``name`` or ``name[key=value, ...]``.

    Returns
    -------
    Policy
        With the parameters of the text, all others at their defaults.
    """
    return make_policy(*parse_policy_spec(text))


def _build(name: str, cls: type[Policy], params: Mapping[str, Any]) -> Policy:
    """Return an instance; unknown parameters raise, ints become floats where declared."""
    declared = {f.name: f for f in fields(cls)}
    values: dict[str, Any] = {}
    for key, value in params.items():
        if key not in declared:
            raise ConfigurationError(f"policy {name}: {unknown_name('parameter', key, declared)}")
        wants_float = declared[key].default is not MISSING and isinstance(
            declared[key].default, float
        )
        is_int = isinstance(value, int) and not isinstance(value, bool)
        if wants_float and is_int and abs(value) >= MAX_FLOAT:
            raise ConfigurationError(f"policy {name}: parameter {key}: found a number too large")
        values[key] = float(value) if wants_float and is_int else value
    with called(cls, name), blamed(f"policy {name}", cls):
        return cls(**values)


def _add(
    known: dict[str, PolicyInfo],
    name: str,
    cls: type[Policy],
    params: Mapping[str, Any],
    description: str,
) -> None:
    """Enter a name; a second time only when the module has been executed again."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise PolicyError(
            f"policy {name!r}: accepted names consist of lower-case letters, digits and underscores"
        )
    source = _source(cls)
    old = known.get(name)
    if old is not None and not _is_reload(old.cls, cls):
        raise PolicyError(f"policy {name!r}: registered twice, by {old.source} and by {source}")
    if not description.strip():
        raise PolicyError(f"policy {name!r}: a description is missing")
    family = _family(cls)
    references = _section(cls.__doc__ or "", "References")
    known[name] = PolicyInfo(name, cls, dict(params), family, description, references, source)


def _family(cls: type) -> str:
    """Return the folder of a shipped policy, the module of another one."""
    above, _, module = cls.__module__.rpartition(".")
    return above.rpartition(".")[2] if above.startswith(f"{ALGORITHMS}.") else module


def _is_reload(old: type, new: type) -> bool:
    """Return whether `new` comes from another execution of the module that has defined `old`."""
    if old is new or _file(old) != _file(new):
        return False
    if old.__qualname__ == new.__qualname__ or "." in old.__qualname__:
        return old.__qualname__ == new.__qualname__
    return getattr(sys.modules.get(old.__module__), old.__name__, None) is not old


def _discover() -> None:
    """Import every module that may define policies, once."""
    if _discovered:
        return
    _discovered.append(True)
    package = importlib.import_module(ALGORITHMS)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    for point in entry_points(group=ENTRY_POINT_GROUP):
        _load_entry_point(point)


def _load_entry_point(point: EntryPoint) -> None:
    """Register what an entry point offers; a broken one is reported and left out."""
    try:
        found = point.load()
        if isinstance(found, type) and issubclass(found, Policy) and point.name not in _known:
            register(point.name)(found)
    except Exception as error:
        warnings.warn(
            f"policy {point.name!r} of entry point {point.value!r} is left out: {error}",
            stacklevel=2,
        )


def _file(cls: type) -> str:
    """Return the file that defines a class, its module when there is none."""
    try:
        return inspect.getfile(cls)
    except (OSError, TypeError):
        return cls.__module__


def _source(cls: type) -> str:
    """Return the module of a class, or the file when the module is not importable by name."""
    return _file(cls) if cls.__module__.startswith("simsched_user_") else cls.__module__


def _first_sentence(docstring: str) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(inspect.cleandoc(docstring).split("\n\n")[0].split())


def _section(docstring: str, title: str) -> str:
    """Return the text of one numpydoc section on one line."""
    text = inspect.cleandoc(docstring) + "\n"
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(match.group(1).split()) if match else ""
