"""simsched: simulate task schedulers on machines with heterogeneous memory.

>>> import simsched
>>> result = simsched.run("knl_snc4_flat", "heat", ["cilk", "bats"])  # doctest: +SKIP
>>> result.table()  # doctest: +SKIP
>>> result["bats"].plot.gantt()  # doctest: +SKIP

``simsched.machines``, ``workloads``, ``policies`` and ``experiments`` have what there is by name;
docs/python-api.md is the guide.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, tuple[str, str]]:
    """Return the module of each public name, and its name there, from what type checkers read."""
    lines = ast.parse(Path(__file__).with_suffix(".pyi").read_bytes()).body
    imports = [line for line in lines if isinstance(line, ast.ImportFrom)]
    return {
        name.asname or name.name: (line.module or "", name.name)
        for line in imports
        for name in line.names
    }


_HOMES = _homes()  # modules are imported when a name of theirs is first used
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _HOMES[name]
    value = getattr(importlib.import_module(module), original)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return sorted(__all__)
