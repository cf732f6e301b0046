"""Things with parameters as one short text: ``bats[sample_pages=8, balancer=false]``.

Policies, workloads and programs are written so on the command line, in YAML files and in sweeps::

    SPEC  = NAME [ "[" [ PARAMETER "=" VALUE { "," PARAMETER "=" VALUE } ] "]" ]
    VALUE = true | false | null | a whole number | a number | "text" | 'text' | other text

Other text ends at the next comma or bracket. In quotes everything is text, ``'8'`` too; a quote
inside quotes of its own kind is written twice. A parameter may be one of several values of one
name, as the costs of a task for several kinds of processors are: ``cost.gpu=ms``.

In YAML files parameters may also stand beside the name: ``{name: bats, sample_pages: 8}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from simsched.files.errors import ConfigurationError, shown
from simsched.files.yaml_reader import FieldError

_NAME = re.compile(r"[^\[\]]+")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z][A-Za-z0-9_.-]*)?")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")
_PLAIN = re.compile(r"[^,\[\]]+")
_SPACE = re.compile(r"\s*")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)", re.ASCII)
_WORDS = {"true": True, "false": False, "null": None}
_MAX_SHOWN = 60


class Spec(NamedTuple):
    """A name with parameters that differ from the defaults, as a user writes it."""

    name: str
    params: dict[str, Any]


def parse_spec(what: str, text: str, name_length: int | None = None) -> Spec:
    """Return name and parameters of a text.

    A name of `name_length` may hold brackets, as those of files may; by default it ends at the
    first one. A ConfigurationError says at which character the text of a `what` is wrong.

    >>> parse_spec("workload", "heat[rows=1024, leaf_bytes=2 MiB]")
    Spec(name='heat', params={'rows': 1024, 'leaf_bytes': '2 MiB'})
    >>> parse_spec("policy", "bats[sample_pages=8")
    Traceback (most recent call last):
    ...
    simsched.files.errors.ConfigurationError: policy 'bats[sample_pages=8': character 20: ...
    """
    return _Reader(what, text).spec(name_length)


def format_spec(name: str, params: Mapping[str, Any]) -> str:
    """Return name and parameters as a text that means them.

    >>> format_spec("heat", {"rows": 8, "leaf_bytes": "2 MiB", "note": "8"})
    "heat[rows=8,leaf_bytes=2 MiB,note='8']"
    """
    if not params:
        return name
    return f"{name}[{','.join(f'{key}={_shown(value)}' for key, value in params.items())}]"


def split_outside(text: str, separator: str, most: int = -1) -> list[str]:
    """Return the parts of a text between separators that are not inside brackets.

    >>> split_outside("policies.a[x=1.5].x", ".")
    ['policies', 'a[x=1.5]', 'x']
    """
    parts, depth = [""], 0
    for character in text:
        depth = max(0, depth + {"[": 1, "]": -1}.get(character, 0))
        if character == separator and depth == 0 and most != 0:
            parts.append("")
            most -= 1
        else:
            parts[-1] += character
    return parts


def gather(data: object, own: tuple[str, ...], what: str) -> dict[str, Any]:
    """Move the keys of a mapping that are not its `own` into `parameters`."""
    if not isinstance(data, Mapping):
        accepted = f"a name, or a mapping with the key {what}"
        raise ValueError(f"found {shown(data)}, accepted: {accepted}")
    if "parameters" in data:
        message = "unknown key 'parameters'; parameters stand beside the name"
        raise FieldError(("parameters",), message)
    kept = {key: value for key, value in data.items() if key in own}
    rest = {key: value for key, value in data.items() if key not in own}
    for key in rest:
        if not isinstance(key, str):
            raise FieldError((key,), f"found the key {key!r}, accepted: the name of a parameter")
    return {**kept, "parameters": rest}


def from_spec(
    what: str, gathered: dict[str, Any], parse: Callable[[str], Spec] | None = None
) -> dict[str, Any]:
    """Return an entry whose name may be a spec, with its parameters beside the others."""
    name = gathered.get("name")
    if not isinstance(name, str) or not {"[", "]"} & set(name):
        return gathered
    try:
        spec = parse_spec(what, name) if parse is None else parse(name)
    except ConfigurationError as error:
        raise FieldError((), str(error)) from error
    twice = spec.params.keys() & gathered["parameters"].keys()
    if twice:
        raise ValueError(f"parameter {min(twice)}: found in the name and beside it")
    return {**gathered, "name": spec.name, "parameters": spec.params | gathered["parameters"]}


class _Reader:
    """Reads one spec from left to right."""

    def __init__(self, what: str, text: str) -> None:
        self.what = what
        self.text = text
        self.at = 0

    def spec(self, name_length: int | None) -> Spec:
        """Return the whole text as a spec."""
        if name_length is None:
            name = (self._take(_NAME) or "").strip()
        else:
            name, self.at = self.text[:name_length].strip(), name_length
        if not name:
            self.at = 0
            self._fail(f"the name of a {self.what}")
        if self._ends():
            return Spec(name, {})
        self._expect("[")
        params: dict[str, Any] = {}
        while not self._is("]"):
            self._parameter(params)
            if not self._is("]"):
                self._expect(",")
        self._expect("]")
        if not self._ends():
            self._fail("the end")
        return Spec(name, params)

    def _parameter(self, params: dict[str, Any]) -> None:
        self._take(_SPACE)
        begin = self.at
        key = self._take(_PARAMETER)
        if key is None:
            self._fail("PARAMETER=VALUE" if params else "PARAMETER=VALUE or ']'")
        if key in params:
            self.at = begin
            self._fail("each parameter once", found=f"{key!r} a second time")
        self._expect("=", "'=' and a value")
        params[key] = self._value()

    def _value(self) -> Any:
        self._take(_SPACE)
        if self.text[self.at : self.at + 1] in ("'", '"'):
            begin, quote = self.at, self.text[self.at]
            quoted = self._take(_QUOTED)
            if quoted is None:
                self.at = begin
                self._fail(f"another {quote} that ends it", found="a quote")
            return quoted[1:-1].replace(quote * 2, quote)
        plain = (self._take(_PLAIN) or "").strip()
        if not plain:
            self._fail("a value")
        return _scalar(plain)

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        """Return what fits here and go on behind it."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def _is(self, character: str) -> bool:
        """Whether a character comes next, spaces left aside."""
        self._take(_SPACE)
        return self.text.startswith(character, self.at)

    def _ends(self) -> bool:
        """Whether nothing but space is left."""
        self._take(_SPACE)
        return self.at == len(self.text)

    def _expect(self, character: str, accepted: str = "") -> None:
        """Go on behind a character that has to come next."""
        if not self._is(character):
            alternatives = {",": "',' or ']'"}
            self._fail(accepted or alternatives.get(character, repr(character)))
        self.at += 1

    def _fail(self, accepted: str, *, found: str = "") -> NoReturn:
        """Say what was found here."""
        if not found:
            rest = self.text[self.at : self.at + 20].split(",")[0].rstrip()
            found = repr(rest or self.text[self.at]) if self.at < len(self.text) else "the end"
        text = self.text if len(self.text) <= _MAX_SHOWN else f"{self.text[: _MAX_SHOWN - 3]}..."
        raise ConfigurationError(
            f"{self.what} {text!r}: character {self.at + 1}: found {found}, accepted {accepted}"
        )


def _scalar(text: str) -> Any:
    """Return the value that a text without quotes stands for."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        if _WHOLE.fullmatch(text):
            return int(text)
        if _NUMBER.fullmatch(text):
            return float(text)
    except ValueError:  # more digits than Python reads
        return text
    return text


def _shown(value: object) -> str:
    """Return a value as specs spell it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    plain = _PLAIN.fullmatch(value) and value == value.strip() and value[0] not in "'\""
    if plain and _scalar(value) == value:
        return value
    return "'{}'".format(value.replace("'", "''"))
