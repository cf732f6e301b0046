"""Functions of a family: they share an implementation and take some of its parameters each."""

from __future__ import annotations

import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby
from operator import or_
from typing import Any, TypeVar

from simsched.names.docstrings import described_parameters

Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Member:
    """What sets one function of a family apart."""

    name: str
    summary: str
    #: Names of the keyword-only parameters that it takes, between spaces.
    takes: str
    #: Of its parameters, and of others of the implementation, which nobody can choose then.
    defaults: Mapping[str, object] = field(default_factory=dict)
    #: Types of parameters where they differ from the implementation's.
    hints: Mapping[str, Any] = field(default_factory=dict)
    #: What is said about parameters where it differs from the implementation's docstring; a key may
    #: have several names, as in numpydoc.
    texts: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    references: str = ""

    def of(self, function: Callable[..., Made], *bound: object, module: str) -> Callable[..., Made]:
        """Return the member that calls the implementation with `bound`, as if from a module.

        Its docstring has the parameters that it takes. One whose default is not None does not
        accept None either. What the implementation lacks is a ValueError.
        """
        hints = {**typing.get_type_hints(function, include_extras=True), **self.hints}
        known = inspect.signature(partial(function, *bound, **self.defaults)).parameters
        takes = set(self.takes.split())
        if unknown := sorted(takes - set(known)):
            raise ValueError(f"{self.name}: {function.__name__} has no {', '.join(unknown)}")
        taken = [
            item.replace(annotation=_narrowed(hints[name], item.default))
            for name, item in known.items()
            if item.kind is not item.KEYWORD_ONLY or name in takes
        ]

        def made(*args: object, **given: object) -> Made:
            return function(*bound, *args, **{**self.defaults, **given})

        made.__name__ = made.__qualname__ = self.name
        made.__module__ = module
        made.__annotations__ = {item.name: item.annotation for item in taken}
        made.__annotations__["return"] = hints["return"]
        made.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            taken, return_annotation=hints["return"]
        )
        made.__doc__ = textwrap.indent("\n".join(self._docstring(function, taken)), "    ").strip()
        return made

    def _docstring(
        self, function: Callable[..., object], taken: Iterable[inspect.Parameter]
    ) -> Iterator[str]:
        said = described_parameters(function.__doc__ or "")
        own = {name: text for names, text in self.texts.items() for name in names.split(", ")}
        entries = [
            (
                item.name,
                _type_text(said[item.name][0], item),
                own.get(item.name, said[item.name][1]),
            )
            for item in taken
        ]
        yield from (self.summary, "", "Parameters", "----------")
        for (kind, text), group in groupby(entries, lambda entry: entry[1:]):
            yield from (f"{', '.join(name for name, _, _ in group)} : {kind}", f"    {text}")
        for title, text in (("Notes", self.notes), ("References", self.references)):
            if text:
                paragraphs = (" ".join(each.split()) for each in text.strip().split("\n\n"))
                wrapped = "\n\n".join(textwrap.fill(each, 96) for each in paragraphs)
                yield from ("", title, "-" * len(title), wrapped)


def _narrowed(hint: Any, default: object) -> Any:
    """Return a type hint without None, unless that is the default."""
    if typing.get_origin(hint) not in (types.UnionType, typing.Union) or default is None:
        return hint
    return reduce(or_, (kind for kind in typing.get_args(hint) if kind is not type(None)))


def _type_text(text: str, item: inspect.Parameter) -> str:
    """Return what a docstring says about a parameter's type with another default."""
    return text.removesuffix(", optional") + (", optional" if item.default is None else "")
