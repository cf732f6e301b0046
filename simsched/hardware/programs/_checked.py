"""What all programs do with their parameters: check them and write them down."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace

from simsched.errors import ConfigurationError, unknown_name
from simsched.hardware.program import Program
from simsched.workload.registry import parameters_of


def checked(build: Callable[..., Program]) -> Callable[..., Program]:
    """Return `build` with parameters that are checked and become those of its workload.

    Parameters
    ----------
    build : callable
        Makes the program of the same name; its signature says what is accepted, in the same way as
        that of a workload generator.
    """
    name, accepted = build.__name__, parameters_of(build)
    defaults = {key: parameter.default for key, parameter in accepted.items()}

    @functools.wraps(build)
    def build_checked(**params: object) -> Program:
        given = dict(defaults)
        for key, value in params.items():
            if key not in accepted:
                what = f"parameter of program {name}:"
                raise ConfigurationError(unknown_name(what, key, accepted))
            try:
                given[key] = accepted[key].check(value)
            except ValueError as error:
                raise ConfigurationError(f"program {name}: {key}: {error}") from error
        made = build(**given)
        workload = replace(made.workload, parameters={"program": name, **given})
        return replace(made, workload=workload)

    build_checked.__signature__ = inspect.signature(build)  # type: ignore[attr-defined]
    return build_checked
