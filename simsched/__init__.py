"""simsched: simulate task schedulers on machines with heterogeneous memory.

>>> import simsched
>>> result = simsched.run("knl_snc4_flat", "heat", ["cilk", "bats"])  # doctest: +SKIP
>>> result.table()  # doctest: +SKIP
>>> result["bats"].plot.gantt()  # doctest: +SKIP

``simsched.machines``, ``workloads``, ``policies`` and ``experiments`` have what there is by name;
docs/python-api.md is the guide.
"""

from __future__ import annotations

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, str]] = {}


def _homes() -> dict[str, tuple[str, str]]:
    """Return the module of each public name, and its name there, from what type checkers read."""
    if not _HOMES:
        import ast
        from pathlib import Path

        lines = ast.parse(Path(__file__).with_suffix(".pyi").read_bytes()).body
        imports = [line for line in lines if isinstance(line, ast.ImportFrom)]
        _HOMES.update(
            (name.asname or name.name, (line.module or "", name.name))
            for line in imports
            for name in line.names
        )
    return _HOMES


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name == "__all__":
        return __dir__()
    if name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, original = _homes()[name]
    value = getattr(import_module(module), original)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return sorted([*_homes(), "__version__"])
