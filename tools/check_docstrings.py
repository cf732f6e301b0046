"""Print what the docstrings of the API reference lack, and fail if that is anything.

Every public class, method and function, every policy and every generator of workloads documents its
parameters, all of them and no others, with types and descriptions, and what it returns or yields.
numpydoc looks at each; what a base class says of a parameter need not be said again.
"""

import importlib
import inspect
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from reference_pages import public_names  # type: ignore[import-not-found]  # beside this file

from simsched.policy.contract.registry import list_policies
from simsched.workload.registry import list_workloads

ROOT = Path(__file__).resolve().parent.parent
UNDOCUMENTED = "PR01"
CODES = {UNDOCUMENTED, "GL06", "GL07", "GL08", "SS01", "PR02", "PR03", "PR04", "PR07", "PR10"}
RETURNS = {"RT01", "RT02", "RT03", "YD01"}


def main() -> int:
    """Return 1 if a docstring lacks something, 0 otherwise."""
    warnings.simplefilter("ignore")  # of sections that only other names have
    checked = dict(pair for each in public_objects() for pair in with_methods(each))
    checked |= {qualified(info.cls): info.cls for info in list_policies()}
    found = [text for name, value in checked.items() for text in lacks(name, value, RETURNS)]
    generators = {qualified(item.function): item.function for item in list_workloads()}
    for name, value in generators.items():  # return a task graph, all of them
        found += lacks(name, value, set())
    print("\n".join(found) or f"docstrings: ok ({len(checked) + len(generators)})")
    return int(bool(found))


def public_objects() -> Iterator[Any]:
    """Yield the classes and functions that programs and notebooks import."""
    for module, words in public_names(ROOT).items():
        for word in sorted(words):
            value = getattr(importlib.import_module(module), word)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield value


def qualified(value: Any) -> str:
    """Return the name by which numpydoc finds a class or function."""
    return f"{value.__module__}.{value.__qualname__}"


def with_methods(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a function, or a class with the methods that it documents."""
    yield qualified(value), value
    for word, item in vars(value).items() if inspect.isclass(value) else ():
        is_code = inspect.isroutine(item) or isinstance(item, classmethod | staticmethod | property)
        if is_code and not word.startswith("_") and item.__doc__:
            yield f"{qualified(value)}.{word}", item


def lacks(name: str, value: Any, also: set[str]) -> Iterator[str]:
    """Yield what a docstring lacks."""
    for code, message in validate(name)["errors"]:
        if code == UNDOCUMENTED:
            words = message.partition("{")[2].partition("}")[0].split(", ")
            own = {word.strip("'") for word in words if not word.startswith("'_")}
            if own - documented_above(name, value):
                yield f"{name}: {message}"
        elif code in CODES | (set() if overrides(name) else also):
            yield f"{name}: {message}"


def overrides(name: str) -> bool:
    """Return whether a method does what a method of a base class documents."""
    module, _, owner = name.rpartition(".")[0].rpartition(".")
    holder = getattr(sys.modules.get(module), owner, None)
    above = holder.__mro__[1:] if inspect.isclass(holder) else ()
    return any(getattr(each, name.rpartition(".")[2], None) is not None for each in above)


def documented_above(name: str, value: Any) -> set[str]:
    """Return the parameters that the bases of a class document, or the class of a method."""
    module, _, owner = name.rpartition(".")[0].rpartition(".")
    holder = value if inspect.isclass(value) else getattr(sys.modules.get(module), owner, None)
    found: set[str] = set()
    for each in holder.__mro__ if inspect.isclass(holder) else ():
        text = NumpyDocString(inspect.getdoc(each) or "")
        names = [item.name for item in text["Parameters"]] if each is not value else []
        names += [line.partition(" : ")[0] for line in text["Notes"] if " : " in line]
        found |= {word for item in names for word in item.split(", ")}
    return found


if __name__ == "__main__":
    sys.exit(main())
