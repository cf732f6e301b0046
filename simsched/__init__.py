"""simsched: simulate task schedulers on machines with heterogeneous memory.

>>> import simsched
>>> result = simsched.run("knl_snc4_flat", "heat", ["cilk", "bats"])  # doctest: +SKIP
>>> result.table()  # doctest: +SKIP
>>> result["bats"].plot.gantt()  # doctest: +SKIP

``simsched.machines``, ``workloads``, ``policies`` and ``experiments`` have what there is by name;
docs/python-api.md is the guide.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Where each public name lives; modules are imported when a name is first used. Type checkers and
# editors read __init__.pyi.
_HOMES = {
    "CalibratedHost": "simsched.hardware.session",
    "Catalogue": "simsched.report.catalogue",
    "Machine": "simsched.machine",
    "PlacedPolicy": "simsched.policy",
    "Policy": "simsched.policy",
    "Result": "simsched.report.result",
    "Run": "simsched.trace.run",
    "SimschedError": "simsched.files.errors",
    "TaskGraph": "simsched.workload",
    "Workload": "simsched.workload",
    "calibrate": "simsched.hardware.session",
    "experiments": "simsched.report.catalogue",
    "import_workload": "simsched.workload.importers",
    "list_experiments": "simsched.api",
    "list_machines": "simsched.machine",
    "list_policies": "simsched.policy",
    "list_workloads": "simsched.workload",
    "load_machine": "simsched.machine",
    "machines": "simsched.report.catalogue",
    "make_policy": "simsched.policy",
    "make_workload": "simsched.workload.presets:resolve_workload",
    "measure": "simsched.hardware.session",
    "param": "simsched.policy",
    "policies": "simsched.report.catalogue",
    "query": "simsched.experiment.query",
    "results": "simsched.experiment.query",
    "run": "simsched.api",
    "simulate": "simsched.engine.run",
    "sweep": "simsched.experiment.given",
    "validate": "simsched.hardware.session",
    "workloads": "simsched.report.catalogue",
}

__all__ = [
    "CalibratedHost",
    "Catalogue",
    "Machine",
    "PlacedPolicy",
    "Policy",
    "Result",
    "Run",
    "SimschedError",
    "TaskGraph",
    "Workload",
    "__version__",
    "calibrate",
    "experiments",
    "import_workload",
    "list_experiments",
    "list_machines",
    "list_policies",
    "list_workloads",
    "load_machine",
    "machines",
    "make_policy",
    "make_workload",
    "measure",
    "param",
    "policies",
    "query",
    "results",
    "run",
    "simulate",
    "sweep",
    "validate",
    "workloads",
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
