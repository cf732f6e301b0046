"""simsched: simulate task schedulers on machines with heterogeneous memory.

>>> import simsched
>>> result = simsched.run("experiments/quickstart.yaml")  # doctest: +SKIP
>>> result.table()  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Where each public name lives; modules are imported when a name is first used. Type checkers and
# editors read __init__.pyi.
_HOMES = {
    "Machine": "simsched.machine",
    "Policy": "simsched.policy",
    "Result": "simsched.api",
    "Run": "simsched.engine.run",
    "SimschedError": "simsched.errors",
    "TaskGraph": "simsched.workload",
    "Workload": "simsched.workload",
    "import_workload": "simsched.workload.importers",
    "list_experiments": "simsched.api",
    "list_machines": "simsched.machine",
    "list_policies": "simsched.policy",
    "list_workloads": "simsched.workload",
    "load_machine": "simsched.machine",
    "make_policy": "simsched.policy",
    "make_workload": "simsched.workload.presets:resolve_workload",
    "run": "simsched.api",
    "simulate": "simsched.engine.run",
}

__all__ = [
    "Machine",
    "Policy",
    "Result",
    "Run",
    "SimschedError",
    "TaskGraph",
    "Workload",
    "__version__",
    "import_workload",
    "list_experiments",
    "list_machines",
    "list_policies",
    "list_workloads",
    "load_machine",
    "make_policy",
    "make_workload",
    "run",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, original = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(module), original or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return sorted({*globals(), *__all__})
