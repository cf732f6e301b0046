"""Checking a Python file of the user: what it defines, and whether it can be made."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from simsched.engine.fit import rehearse
from simsched.experiment.blame import explained, missing_method
from simsched.files.errors import (
    ConfigurationError,
    GraphError,
    ModelError,
    PolicyError,
    SimschedError,
    unknown_name,
)
from simsched.names.specs import parse_spec
from simsched.names.user_code import is_file_spec, load_user_file, split_file_spec
from simsched.policy import Policy, make_policy
from simsched.policy.contract.base import own_name
from simsched.policy.contract.placements import placements
from simsched.policy.contract.records import said_of
from simsched.policy.contract.registry import policies
from simsched.policy.contract.user_file import policy_classes
from simsched.testing.cases import small_cases
from simsched.workload.registry import generate_workload, generators, make_small_workload

WHAT = "policy or workload"
KINDS = {"policies": "policy", "workloads": "workload", "placements": "placement"}


def is_code(text: str) -> bool:
    """Return whether a text names a Python file, or something in one, parameters aside."""
    return is_file_spec(text.partition("[")[0].strip())


def check_code(text: str) -> list[str]:
    """Load a Python file and make what it defines; return what it contains.

    Of workloads small instances are made. The text is ``FILE.py``, or one thing in it:
    ``FILE.py:NAME``, also with parameters.
    """
    spec, parameters = parse_spec(WHAT, text)
    file, name = split_file_spec(spec)
    defined = _defined(load_user_file(WHAT, spec))
    names = [known for several in defined.values() for known in several]
    if not names:
        raise ConfigurationError(
            f"{file}: found no policy, workload or placement, accepted: a class derived from "
            "simsched.policy.Policy, or a function below @generator or @placement"
        )
    if name and name not in names:
        raise ConfigurationError(f"{file}: {unknown_name('name', name, names)}")
    if parameters and not name and len(names) > 1:
        accepted = f"accepted them for one of {sorted(names)} ({file.name}:NAME)"
        raise ConfigurationError(f"{file}: found parameters, {accepted}")
    chosen = {
        kind: [known for known in several if known == name or not name]
        for kind, several in defined.items()
    }
    for policy in chosen["policies"]:
        _check_policy(file, policy, parameters)
    for workload in chosen["workloads"]:
        _check_workload(file, workload, parameters)
    found = [
        f"{KINDS[kind] if len(several) == 1 else kind} {', '.join(several)}"
        for kind, several in chosen.items()
        if several
    ]
    return [f"{file}: {'; '.join(found)}: correct"]


def _defined(module: ModuleType) -> dict[str, list[str]]:
    """Return the names of what a file defines, by kind.

    A class goes by its own name, one that a function has made by that under which it is registered.
    """
    classes = policy_classes(module)
    named = policies.of_file(module).items()
    others = [name for name, one in named if one.is_preset or one.cls not in classes.values()]
    return {
        "policies": [*classes, *others],
        "workloads": list(generators.of_file(module)),
        "placements": list(placements.of_file(module)),
    }


def _check_policy(file: Path, name: str, parameters: Mapping[str, Any]) -> None:
    """Make a policy, look whether it has the methods that every policy needs, and try these."""
    policy = make_policy(f"{file}:{name}", parameters)
    cls = type(policy)
    for method in ("place", "plan"):
        if getattr(cls, method) is getattr(Policy, method):
            linecache.checkcache()
            line = inspect.getsourcelines(cls)[1]
            raise PolicyError(f"{file}:{line}: {missing_method(cls, method)}")
    _try_policy(file, policy, name)


def _try_policy(file: Path, policy: Policy, name: str) -> None:
    """Ask a policy for its first decisions on small programs, and check what it returns.

    One that is made for some program or machine may fail with others, but not with all of them.
    """
    crash: PolicyError | None = None
    works = False
    for case in small_cases():
        try:
            with explained(policy, name), said_of(f"policy {own_name(type(policy))}"):
                rehearse(case.machine, case.workload, policy, workers=case.workers)
                works = True
        except PolicyError as error:
            if not isinstance(error.__cause__, SimschedError):
                crash = crash or error  # its own code has failed
                continue
            raise PolicyError(f"{file}: {error}") from error
        except ModelError:
            continue  # a machine without its kind of memory
    if crash is not None and not works:
        raise crash


def _check_workload(file: Path, name: str, parameters: Mapping[str, Any]) -> None:
    """Make a workload: with parameters, or the small instance that its file declares."""
    spec = f"{file}:{name}"
    workload = generate_workload(spec, parameters) if parameters else make_small_workload(spec)
    try:
        workload.validate()
    except GraphError as error:
        raise GraphError(f"{file}: workload {name}: {error}") from error
