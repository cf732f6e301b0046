"""What dense programs share: checked parameters and classes numbered as in C."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.hardware.program import Program
from simsched.workload.graph import TaskGraph
from simsched.workload.registry import Bounds, parameters_of

DOUBLE_BYTES = 8
Seed = Annotated[int, Bounds(0, 2**30 - 1)]


def checked(build: Callable[..., Program]) -> Callable[..., Program]:
    """Return `build` with checked parameters, as those of generators, noted in its workload."""
    name, accepted = build.__name__, parameters_of(build)
    defaults = {key: parameter.default for key, parameter in accepted.items()}

    @functools.wraps(build)
    def build_checked(**params: object) -> Program:
        given = dict(defaults)
        for key, value in params.items():
            if key not in accepted:
                raise ConfigurationError(
                    unknown_name(f"parameter of program {name}", key, accepted)
                )
            try:
                given[key] = accepted[key].check(value)
            except ValueError as error:
                raise ConfigurationError(f"program {name}: {key}: {error}") from error
        made = build(**given)
        workload = replace(made.workload, parameters={"program": name, **given})
        return replace(made, workload=workload)

    build_checked.__signature__ = inspect.signature(build)  # type: ignore[attr-defined]
    return build_checked


def with_classes(graph: TaskGraph, classes: tuple[str, ...]) -> TaskGraph:
    """Return a graph whose classes are numbered as in the table of the program in C."""
    numbers = np.array([classes.index(name) for name in graph.class_names], dtype=np.int32)
    return replace(graph, task_class=numbers[graph.task_class], class_names=classes)
