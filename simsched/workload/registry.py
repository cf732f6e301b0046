"""Workload generators by name, with checked parameters.

A generator is a plain function in a module of :mod:`simsched.workload.generators`, or one that
another package names in its entry-point group ``simsched.workloads``, or one in a file of the user,
which is named by its path: ``my_workload.py``, or ``my_workload.py:NAME`` when there are several::

    @generator("name")
    def name(seed: int, *, tasks: Count = 1000, leaf_bytes: Size = 2 * MIB) -> Workload: ...

* Its first parameter is the seed; same seed and parameters, same arrays.
* Its keyword-only parameters are the workload's: typed ``int``, ``float``, ``bool``, ``str`` or
  ``Literal``, each possibly ``| None``, all with defaults. ``Annotated[..., Bounds(low, high)]``
  gives the accepted range.
* Parameters whose names end in ``_bytes`` also accept text such as ``"2 MiB"``.
* It returns a :class:`~simsched.workload.graph.Workload`, whose `parameters` are filled in here.

Programs that differ in defaults only share a function; each is a :func:`variant` of it.
"""

from __future__ import annotations

import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial, wraps
from importlib.metadata import entry_points
from typing import Annotated, Any, Literal, TypeVar

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.units import parse_size
from simsched.names.registry import blamed, check_returned, import_modules, place_of, summary_of
from simsched.names.typed_in import has_file, parts_of, was_read
from simsched.names.user_code import (
    is_file_spec,
    load_user_file,
    name_in_file,
    names_for,
    offering_packages,
)
from simsched.workload.graph import Workload

ENTRY_POINT_GROUP = "simsched.workloads"
MIB = 2**20
_SWITCHES = {"yes": True, "true": True, "no": False, "false": False}

Generator = Callable[..., Workload]
Function = TypeVar("Function", bound=Generator)


@dataclass(frozen=True)
class Bounds:
    """Smallest and largest accepted value of a parameter, both included; None for no limit."""

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None:
            return "any number" if self.high is None else f"at most {self.high}"
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"

    def holds(self, value: float) -> bool:
        """Whether `value` is accepted."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


Count = Annotated[int, Bounds(1, 2**31 - 1)]
Size = Annotated[int, Bounds(1, 2**50)]
SizeOrZero = Annotated[int, Bounds(0, 2**50)]
Cost = Annotated[float, Bounds(0)]
Fraction = Annotated[float, Bounds(0, 1)]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a generator."""

    name: str
    #: ``int``, ``float``, ``bool`` or ``str``.
    type: type
    default: object
    bounds: Bounds = Bounds()
    #: Accepted words; empty when any text is.
    choices: tuple[str, ...] = ()
    #: Whether None is accepted.
    optional: bool = False

    @property
    def accepted(self) -> str:
        """What a message says is accepted."""
        if self.choices:
            text = ", ".join(self.choices)
        elif self.type in (int, float):
            text = f"{'a whole' if self.type is int else 'a finite'} number, {self.bounds}"
            text += ", or text such as '2 MiB'" if self.name.endswith("_bytes") else ""
        else:
            text = {bool: "true or false", str: "text"}[self.type]
        return f"{text}, or null" if self.optional else text

    def check(self, value: object) -> object:
        """Return the value as the generator takes it.

        Raises
        ------
        ValueError
            When it is not accepted; the message is for the user.
        """
        if value is None and self.optional:
            return None
        if isinstance(value, str) and self.name.endswith("_bytes"):
            value = parse_size(value)
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value) if abs(value) < 2**1023 else math.inf
        if type(value) is not self.type or (self.choices and value not in self.choices):
            raise ValueError(f"found {value!r}, accepted {self.accepted}")
        if isinstance(value, int | float) and not self._admits(value):
            raise ValueError(f"found {value!r}, accepted {self.accepted}")
        return value

    def _admits(self, number: float) -> bool:
        """Return whether a number, or a truth value, is finite and within bounds."""
        finite = isinstance(number, int) or math.isfinite(number)
        return finite and self.bounds.holds(number)

    def read(self, text: str) -> object:
        """Return the value that a text stands for where all values are written as text."""
        if self.type is str:
            return self.check(text)
        if self.optional and text == "null":
            return None
        value = _SWITCHES.get(text.lower()) if self.type is bool else _number(self.type, text)
        return self.check(text if value is None else value)


@dataclass(frozen=True)
class WorkloadGenerator:
    """A registered generator."""

    #: What YAML files call it.
    name: str
    #: Takes the seed and the parameters as keywords, returns a Workload.
    function: Generator
    parameters: dict[str, Parameter]
    summary: str
    #: Parameters of a small instance, for checks that run every generator.
    small: dict[str, object]
    #: Where it has got its name.
    place: str
    #: Global names of the module that has registered it.
    namespace: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    #: What the line was compiled from that has registered it.
    file: str = ""

    @property
    def in_files(self) -> bool:
        """Whether all its code was read from files, see :mod:`simsched.names.typed_in`."""
        registered = not self.namespace or was_read(self.namespace["__name__"], self.file)
        return registered and all(map(has_file, parts_of(self.function)))


_registered: dict[str, WorkloadGenerator] = {}


def generator(
    name: str, *, small: Mapping[str, object] | None = None
) -> Callable[[Function], Function]:
    """Register a function under a name; see the module's description for what it must look like.

    Parameters
    ----------
    name : str
        What YAML files call it.
    small : mapping of str to object, optional
        Parameters of an instance with some tens of tasks, used where every workload is tried; the
        defaults when it is not given.

    Returns
    -------
    callable
        Takes the function and returns it.

    Raises
    ------
    ValueError
        The name is taken, or a parameter has no default or a type that is not supported.
    """
    caller = sys._getframe(1)

    def register(function: Function) -> Function:
        _register(name, function, summary_of(function), small, place_of(function), caller)
        return function

    return register


def variant(
    name: str,
    function: Callable[..., Workload],
    summary: str,
    *bound: object,
    small: Mapping[str, object] | None = None,
    **defaults: object,
) -> None:
    """Register a function that several workloads share, with defaults of its own.

    It is like a generator, but before the seed it takes the name and `bound`, which sets the
    workload apart and nobody else can choose.
    """
    made = partial(function, name, *bound, **defaults)

    @wraps(function)
    def program(seed: int, **parameters: object) -> Workload:
        return made(seed, **parameters)

    program.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
    caller = sys._getframe(1)  # the function is the same for all its variants
    place = f"{caller.f_globals['__name__']}, line {caller.f_lineno}"
    _register(name, program, summary, small, place, caller)


def _register(
    name: str,
    function: Generator,
    summary: str,
    small: Mapping[str, object] | None,
    place: str,
    caller: types.FrameType,
) -> None:
    """Add a generator to those that are known; the same one again when its module is reloaded.

    What a file of a user defines is known by the path of the file only, see
    :mod:`simsched.names.user_code`.
    """
    names = caller.f_globals
    known = names_for("generators", names, _registered)
    taken = known.get(name)
    if taken is not None and taken.place != place:
        raise ValueError(f"workload {name!r}: registered twice, by {taken.place} and by {place}")
    known[name] = WorkloadGenerator(
        name,
        function,
        parameters_of(function),
        summary,
        dict(small or {}),
        place,
        names,
        caller.f_code.co_filename,
    )


def list_workloads() -> list[WorkloadGenerator]:
    """Return every generator, sorted by name.

    Returns
    -------
    list of WorkloadGenerator
        With their parameters and defaults.
    """
    _discover()
    return [_registered[name] for name in sorted(_registered)]


def find_workload(name: str) -> WorkloadGenerator:
    """Return the generator of a registered name, or of a file ``path.py`` or ``path.py:NAME``."""
    _discover()
    if is_file_spec(name):
        return _of_file(name)
    if name not in _registered:
        raise ConfigurationError(unknown_name("workload", name, _registered))
    return _registered[name]


def _of_file(spec: str) -> WorkloadGenerator:
    found = names_for("generators", vars(load_user_file("workload", spec)), _registered)
    accepted = 'a function below @simsched.workload.registry.generator("NAME")'
    return found[name_in_file(spec, "workload", found, accepted)]


def is_found_anywhere(name: str) -> bool:
    """Return whether another process finds a generator by its name or file, as this one does.

    What a script or a notebook has registered is known to its process only, also when it is a
    variant of a function that ships.
    """
    if is_file_spec(name):
        return True
    chosen = find_workload(name)
    package = str(chosen.namespace.get("__name__", "")).partition(".")[0]
    return chosen.in_files and package in {"simsched", *offering_packages()}


def make_workload(name: str, params: Mapping[str, object] | None = None, seed: int = 0) -> Workload:
    """Return a generated workload.

    Parameters
    ----------
    name : str
        Name of the generator, or a file ``path.py`` or ``path.py:NAME``.
    params : mapping of str to object, optional
        Parameters that differ from their defaults.
    seed : int
        Seed of everything random in it, 0 by default.

    Returns
    -------
    Workload
        The same for the same seed.

    Raises
    ------
    ConfigurationError
        Unknown generator or parameter, or a value that is not accepted.
    ExtensionError
        The generator has raised an exception, or returned something else.
    """
    return generated(find_workload(name), params or {}, seed, name)


class _Given(dict[str, object]):
    """Parameters of a workload that know its generator, whose name may mean another one elsewhere.

    Copies and other processes have the name only.
    """

    def __init__(self, maker: WorkloadGenerator, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.maker = maker

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def generated(
    chosen: WorkloadGenerator, params: Mapping[str, object], seed: int, name: str = ""
) -> Workload:
    """Return a workload of a generator; `name` is what messages call it, by default its own."""
    given = resolve_parameters(chosen, params)
    what = f"workload {name or chosen.name}"
    if type(seed) is not int or seed < 0:
        raise ConfigurationError(f"{what}: seed: found {seed!r}, accepted 0 or more")
    with blamed(what, chosen.function):
        workload = chosen.function(seed, **given)
    check_returned(what, chosen.function, workload, Workload)
    parameters = _Given(chosen, {"generator": chosen.name, "seed": seed, **given})
    return replace(workload, parameters=parameters)


def generator_of(workload: Workload) -> WorkloadGenerator | None:
    """Return the generator of a workload, None when none is known that it may be from."""
    if isinstance(workload.parameters, _Given):
        return workload.parameters.maker
    name = workload.parameters.get("generator")
    try:
        return find_workload(name) if isinstance(name, str) else None
    except ConfigurationError:
        return None


def make_small_workload(name: str) -> Workload:
    """Return the small instance of a generator."""
    return make_workload(name, find_workload(name).small)


def resolve_parameters(
    chosen: WorkloadGenerator, params: Mapping[str, object]
) -> dict[str, object]:
    """Return all parameters of a generator: the given ones checked, the others by default."""
    given = {key: check_parameter(chosen, key, value) for key, value in params.items()}
    return {name: item.default for name, item in chosen.parameters.items()} | given


def check_parameter(chosen: WorkloadGenerator, key: str, value: object) -> object:
    """Return the value of one parameter, as written, as the generator takes it."""
    if key not in chosen.parameters:
        raise ConfigurationError(
            unknown_name(f"parameter of workload {chosen.name}", str(key), chosen.parameters)
        )
    try:
        return chosen.parameters[key].check(value)
    except ValueError as error:
        raise ConfigurationError(f"workload {chosen.name}: {key}: {error}") from error


def parameters_of(function: Callable[..., object]) -> dict[str, Parameter]:
    """Return the keyword-only parameters of a function as its signature describes them.

    Each needs a default and a type that the description of this module allows.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    found = {}
    for name, item in inspect.signature(function).parameters.items():
        if item.kind is not item.KEYWORD_ONLY:
            continue
        if item.default is item.empty:
            raise ValueError(f"{place_of(function)}: parameter {name} has no default")
        found[name] = _parameter(name, hints[name], item.default)
    return found


def _number(kind: type, text: str) -> int | float | None:
    """Return the number that a text says, None when it says none of that type."""
    try:
        return int(text) if kind is int else float(text)
    except ValueError:
        return None


@cache
def _discover() -> None:
    """Import every module of the generators and every entry point, once."""
    import_modules("simsched.workload.generators")
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            point.load()
        except Exception as error:
            raise ConfigurationError(
                f"entry point {point.name} = {point.value} of group {ENTRY_POINT_GROUP}: {error}"
            ) from error


def _parameter(name: str, hint: Any, default: object) -> Parameter:
    """Return a parameter as its type hint describes it."""
    bounds, optional = Bounds(), False
    choices: tuple[str, ...] = ()
    for _ in range(3):
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            bounds = next((extra for extra in arguments[1:] if isinstance(extra, Bounds)), bounds)
            hint = arguments[0]
        elif origin in (types.UnionType, typing.Union) and type(None) in arguments:
            optional = True
            hint = next(kind for kind in arguments if kind is not type(None))
        elif origin is Literal:
            choices, hint = arguments, str
    if hint not in (int, float, bool, str):
        raise ValueError(f"parameter {name}: type {hint} is not supported")
    return Parameter(name, hint, default, bounds, choices, optional)
