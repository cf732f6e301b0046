"""Write the pages of the documentation that nobody writes by hand; docs/conf.py calls it.

Public is what the package and its rooms name in `__all__` and what the guides import. Every class
and function is described once, at the shortest of its names; other names point there.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import simsched
from simsched.policy.contract.registry import list_policies
from simsched.report.claims import published_text, what_text
from simsched.report.markdown import table
from simsched.reproduction.claims import families, load_family
from simsched.reproduction.schema import Claim
from simsched.workload.registry import list_workloads


def write(folder: Path, root: Path) -> None:
    """Write all pages; one that would not change stays as it is, so that Sphinx leaves it alone.

    Parameters
    ----------
    folder : Path
        Where to.
    root : Path
        The checkout, whose guides say what is public.
    """
    folder.mkdir(exist_ok=True)
    pages = {
        "python.rst": python_page(public_names(root)),
        "policies.rst": policies_page(),
        "generators.rst": generators_page(),
        "commands.md": commands_page(),
        "claims.md": claims_page(),
    }
    for name, lines in pages.items():
        text = "\n".join(lines) + "\n"
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def public_names(root: Path) -> dict[str, set[str]]:
    """Return the public names of every module that has some."""
    found: dict[str, set[str]] = {}
    for name in ["simsched", *packages()]:
        if words := getattr(importlib.import_module(name), "__all__", ()):
            found[name] = {word for word in words if not word.startswith("_")}
    for guide in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        for module, word in imports(guide.read_text(encoding="utf-8")):
            if not inspect.ismodule(getattr(importlib.import_module(module), word)):
                found.setdefault(module, set()).add(word)
    return dict(sorted(found.items(), key=lambda item: (item[0].count("."), item[0])))


def packages() -> list[str]:
    """Return the public packages below the root."""
    found = pkgutil.walk_packages(simsched.__path__, "simsched.")
    return [item.name for item in found if item.ispkg and ".native" not in item.name]


def imports(guide: str) -> Iterator[tuple[str, str]]:
    """Return the modules of simsched and the names in them that a guide's programs import."""
    for block in re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("simsched"):
                yield from ((str(node.module), alias.name) for alias in node.names)


def python_page(names: dict[str, set[str]]) -> list[str]:
    """Return the page about what programs and notebooks import."""
    lines = heading("Python interface", "=")
    described: dict[int, str] = {}
    for module_name, words in names.items():
        module = importlib.import_module(module_name)
        lines += heading(module_name, "-")
        lines += [*(inspect.getdoc(module) or "").splitlines()[:1], ""]
        for word in sorted(words, key=str.lower):
            lines += described_once(module, word, described)
    return lines


def described_once(module: ModuleType, word: str, described: dict[int, str]) -> list[str]:
    """Return the description of a name, or where else it is."""
    value = getattr(module, word)
    path = f"{module.__name__}.{word}"
    is_code = inspect.isclass(value) or inspect.isroutine(value)
    if not is_code:
        return [f".. autodata:: {path}", "   :no-value:", ""]
    if id(value) in described:
        return [f"``{word}``", f"   See :py:obj:`{described[id(value)]}`.", ""]
    described[id(value)] = path
    if inspect.isclass(value):
        return [f".. autoclass:: {path}", "   :members:", ""]
    return [f".. autofunction:: {path}", ""]


def policies_page() -> list[str]:
    """Return the page with the docstring of every policy."""
    policies = {info.name: info.cls for info in list_policies() if not info.is_preset}
    return described("Policies and their parameters", "autoclass", policies)


def generators_page() -> list[str]:
    """Return the page with the docstring of every generator of workloads."""
    generators = {item.name: item.function for item in list_workloads()}
    return described("Generators of workloads", "autofunction", generators)


def described(title: str, directive: str, things: Mapping[str, Callable[..., Any]]) -> list[str]:
    """Return a page with one section per class or function, which may have several names."""
    names: dict[str, list[str]] = {}
    for name, thing in things.items():
        names.setdefault(f"{thing.__module__}.{thing.__qualname__}", []).append(name)
    lines = heading(title, "=")
    for place, shared in names.items():
        lines += heading(", ".join(shared), "-")
        lines += [f".. {directive}:: {place}", ""]
    return lines


def commands_page() -> list[str]:
    """Return what the command line says about itself."""
    words = [
        sys.executable,
        "-m",
        "typer",
        "simsched.cli.app",
        "utils",
        "docs",
        "--name",
        "simsched",
    ]
    made = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = made.replace("# `simsched`", "# Commands", 1).splitlines()
    return ["    " + line.strip() if line.startswith("  ") else line for line in spaced(lines)]


def spaced(lines: list[str]) -> Iterator[str]:
    """Return lines with an empty one before each run of indented ones, which are examples."""
    before = ""
    for line in lines:
        if line.startswith("  ") and before and not before.startswith("  "):
            yield ""
        yield line
        before = line


def claims_page() -> list[str]:
    """Return one table of claims per family."""
    lines = ["# Published claims", "", "[claims.md](../claims.md) says how they are checked,"]
    lines += ["[published](../published/index.md) what came of it.", ""]
    for name in families():
        file = load_family(name, ids=()).file  # without planning any, for which probes are asked
        lines += [f"## {name}", "", file.description, ""]
        lines += table(["claim", "where", "what", "published"], map(claim_row, file.claims))
        lines += [""]
    return lines


def claim_row(claim: Claim) -> list[str]:
    """Return the cells of a claim."""
    what, published = what_text(claim), published_text(claim)
    if claim.not_evaluable is not None:
        what, published = claim.not_evaluable, "not evaluable"
    return [f"`{claim.id}`", str(claim.source), what, published]


def heading(text: str, rule: str) -> list[str]:
    """Return a heading in reStructuredText."""
    return [text, rule * len(text), ""]
