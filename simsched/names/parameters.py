"""Parameters of what has a name: their types, defaults, accepted values, and the one check of them.

Policies, generators of workloads, measured programs, probes and file formats declare parameters in
one of two ways; both are read by :func:`parameters_of`. A function annotates its keyword-only
parameters, ``tasks: Annotated[int, Bounds(low=1)] = 8``; a frozen dataclass has fields with a
default and, in their metadata, `low`, `high` and `choices`.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Literal

from simsched.files.errors import ConfigurationError, unknown_name, with_article
from simsched.files.units import SIZE, SPEED, Dimension, parse_size, parse_speed
from simsched.names.arguments import plain

MIB = 2**20
REQUIRED: Any = inspect.Parameter.empty  #: in place of a default: a value has to be given
MAX_FLOAT = 2**1023  #: whole numbers from there on may be no float
_SWITCHES = {"yes": True, "true": True, "no": False, "false": False}
#: What a number may be as text with a unit, by the last word of the parameter's name.
_DIMENSIONS = {"bytes": SIZE, "speed": SPEED}
_PARSERS: dict[Dimension | None, Callable[[object], float]] = {
    SIZE: parse_size,
    SPEED: parse_speed,
}
_WORDS = {bool: "true or false", str: "text", list: "a list", dict: "a mapping", object: "a value"}


@dataclass(frozen=True)
class Bounds:
    """Smallest and largest accepted value of a parameter, both included; None for no limit."""

    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None:
            return f"at most {self.high}"
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"

    def holds(self, value: float) -> bool:
        """Whether `value` is accepted."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


Whole = Annotated[int, Bounds(0)]
Count = Annotated[int, Bounds(1, 2**31 - 1)]
Size = Annotated[int, Bounds(1, 2**50)]
SizeOrZero = Annotated[int, Bounds(0, 2**50)]
Cost = Annotated[float, Bounds(0)]
#: Operations per second. Text has a unit; a number below is one of GHz or MHz that lacks its unit.
OpsPerS = Annotated[float | str, Bounds(10**6)]
Fraction = Annotated[float, Bounds(0, 1)]


@dataclass(frozen=True)
class Parameter:
    """One parameter."""

    name: str
    type: type  # a whole number is accepted for ``float``
    default: object  # `REQUIRED` when a value has to be given
    bounds: Bounds = Bounds()  # infinity is accepted only where it is the default
    choices: tuple[Any, ...] = ()  # the only accepted values; empty when there are others
    optional: bool = False  # whether None is accepted
    item: Any = None  # type of the entries of a list
    #: whether a mapping with a value for each kind of processor is accepted in place of one value
    by_kind: bool = False
    words: str = ""  # what a message says of a text that has a form of its own
    is_file: bool = False  # whether the text names a file

    @property
    def dimension(self) -> Dimension | None:
        """What a number may be as text with a unit: of ``_bytes`` a size, of ``_speed`` a speed."""
        return _dimension(self.name) if self.type in (int, float) else None

    @property
    def accepted(self) -> str:
        """What a message says is accepted."""
        if self.words or self.choices:
            text = self.words or ", ".join(map(str, self.choices))
        elif self.type in (int, float):
            kind = "a whole" if self.type is int else "a" if self._is_unlimited else "a finite"
            text = f"{kind} number" + (f", {self.bounds}" if self.bounds != Bounds() else "")
            if self.dimension is not None:
                text += f", or text with a unit such as '{self.dimension.example}'"
        else:
            text = _WORDS.get(self.type) or with_article(self.type)
        return f"{text}, or null" if self.optional else text

    @property
    def mistake(self) -> str | None:
        """What is wrong with the declaration: limits, or a default that is not accepted."""
        low, high = self.bounds.low, self.bounds.high
        for name, limit in (("low", low), ("high", high)):
            if limit is not None and type(limit) not in (int, float):
                return f"{name}: found {limit!r}, accepted a number"
        if low is not None and high is not None and not low <= high:
            return f"low: found {low}, accepted at most high, {high}"
        if self.default is REQUIRED or (self.default is None and self.optional):
            return None
        if self.bounds != Bounds() and not (self.choices or self.type in (int, float)):
            return f"default: found {self.default!r}, accepted a number, {self.bounds}"
        try:
            self.checked(self.default, "default")
        except ConfigurationError as error:
            return str(error)
        return None

    def checked(self, value: object, where: str) -> Any:
        """Return a value as who declares the parameter takes it; messages begin with `where`."""
        if value is None and self.optional:
            return None
        if self.by_kind and isinstance(value, Mapping):
            one = replace(self, optional=False, by_kind=False)
            return {kind: one.checked(value[kind], f"{where}.{kind}") for kind in value}
        if self.type in (int, float, bool):
            value = plain(value)
        parse = _PARSERS.get(self.dimension)
        if parse is not None and isinstance(value, str):
            try:
                value = parse(value)
            except ValueError as error:
                raise ConfigurationError(f"{where}: {error}") from error
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            if abs(value) >= MAX_FLOAT:
                raise ConfigurationError(f"{where}: found a number too large, {self._accepted}")
            value = float(value)
        if self.choices and isinstance(value, str) and value not in self.choices:
            known = unknown_name("value", value, map(str, self.choices))
            raise ConfigurationError(f"{where}: {known}")
        if not self._admits(value):
            raise ConfigurationError(f"{where}: found {value!r}, {self._accepted}")
        if self.item is not None and isinstance(value, list):
            entry = Parameter(self.name, self.item, REQUIRED)
            return [entry.checked(one, f"{where}[{at}]") for at, one in enumerate(value)]
        return value

    def read(self, text: str, where: str) -> Any:
        """Return the value that a text stands for where all values are written as text."""
        value: object = text
        if self.optional and text == "null" and self.type is not str:
            value = None
        elif self.type is bool:
            value = _SWITCHES.get(text.lower(), text)
        elif self.type in (int, float):
            try:
                value = self.type(text)
            except ValueError:
                value = text
        return self.checked(value, where)

    @property
    def _accepted(self) -> str:
        return f"accepted {self.accepted}"

    @property
    def _is_unlimited(self) -> bool:
        return isinstance(self.default, float) and math.isinf(self.default)

    def _admits(self, value: object) -> bool:
        """Return whether a value has the type and is one of the choices or within bounds."""
        if self.choices:
            return value in self.choices
        if self.type not in (int, float):
            return isinstance(value, self.type)
        if not isinstance(value, self.type) or isinstance(value, bool):
            return False
        finite = self.type is int or math.isfinite(value)
        return (finite or (self._is_unlimited and value == value)) and self.bounds.holds(value)


def _dimension(name: str) -> Dimension | None:
    """Return what a number may be as text with a unit by the name of its parameter."""
    return _DIMENSIONS.get(name.rpartition("_")[2])


def parameters_of(
    thing: Callable[..., object] | type, *, lenient: bool = False
) -> dict[str, Parameter]:
    """Return the parameters that a function or the class of a policy declares, by name.

    A function's keyword-only parameters have defaults and are typed ``int``, ``float``, ``bool``,
    ``str`` or ``Literal``, each possibly ``| None``, numbers also ``Annotated`` with
    :class:`Bounds`; others are a ValueError unless `lenient`, which also allows lists, mappings and
    no defaults. The fields of a dataclass have the types of their defaults. A ValueError says also
    what is wrong with a function's limits or defaults.
    """
    if is_dataclass(thing):
        return {field.name: of_field(field.name, field) for field in fields(thing)}
    hints = typing.get_type_hints(thing, include_extras=True)
    found = {}
    for name, item in inspect.signature(thing).parameters.items():
        if item.kind is item.KEYWORD_ONLY:
            found[name] = parameter = of_hint(name, hints[name], item.default)
            if parameter.type in (list, dict) and not lenient:
                raise ValueError(f"parameter {name}: type {hints[name]} is not supported")
            if parameter.default is REQUIRED and not lenient:
                raise ValueError(f"{thing.__qualname__}: parameter {name} has no default")
            if parameter.mistake:
                raise ValueError(f"{thing.__qualname__}: parameter {name}: {parameter.mistake}")
    return found


def checked(
    what: str,
    parameters: Mapping[str, Parameter],
    given: Mapping[str, Any],
    option: bool = False,
) -> dict[str, Any]:
    """Return the values of all parameters: the given ones checked, the others by default.

    `what` is kind and name of what has the parameters, for messages; with `option` they call them
    options, and text stands for a value of any type. ConfigurationError where one is unknown,
    missing or not accepted.
    """
    noun, values = "option" if option else "parameter", {}
    for key, value in given.items():
        if key not in parameters:
            raise ConfigurationError(f"{what}: {unknown_name(noun, str(key), parameters)}")
        where = f"{what}: {noun} {key}"
        is_text = option and isinstance(value, str)
        check = parameters[key].read if is_text else parameters[key].checked
        values[key] = check(value, where)
    for key, parameter in parameters.items():
        if values.setdefault(key, parameter.default) is REQUIRED:
            raise ConfigurationError(f"{what}: {noun} {key}: missing, accepted a value for it")
    return {key: values[key] for key in parameters}


def of_field(name: str, field: Field[Any]) -> Parameter:
    """Return a parameter of a dataclass; one without a default, or with None, takes any value."""
    low, high, choices = (field.metadata.get(key) for key in ("low", "high", "choices"))
    default = REQUIRED if field.default is MISSING else field.default
    kind = object if default is REQUIRED or default is None else type(default)
    is_file = bool(field.metadata.get("is_file"))
    return Parameter(name, kind, default, Bounds(low, high), tuple(choices or ()), is_file=is_file)


def of_hint(name: str, hint: Any, default: object = REQUIRED) -> Parameter:
    """Return a parameter as its type hint describes it."""
    bounds, optional, item, by_kind = Bounds(), False, None, False
    choices: tuple[str, ...] = ()
    words = ""
    for _ in range(3):
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            bounds = next((extra for extra in arguments[1:] if isinstance(extra, Bounds)), bounds)
            words = next((extra for extra in arguments[1:] if isinstance(extra, str)), words)
            hint = arguments[0]
        elif origin in (types.UnionType, typing.Union):
            mapping = [kind for kind in arguments if typing.get_origin(kind) is Mapping]
            kinds = [kind for kind in arguments if kind not in (types.NoneType, *mapping)]
            if float in kinds and str in kinds and _dimension(name) is not None:
                kinds.remove(str)
            optional, by_kind = optional or types.NoneType in arguments, by_kind or bool(mapping)
            hint = kinds[0] if len(kinds) == 1 else hint
        elif origin is Literal:
            choices, hint = arguments, str
        elif origin in (list, dict):
            item, hint = arguments[0] if origin is list else None, origin
    if hint not in (int, float, bool, str, list, dict):
        raise ValueError(f"parameter {name}: type {hint} is not supported")
    return Parameter(name, hint, default, bounds, choices, optional, item, by_kind, words)
