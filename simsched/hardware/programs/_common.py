"""What dense programs share: checked parameters and classes numbered as in C."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np

from simsched.hardware.program import Program
from simsched.names.parameters import Bounds, parameters_of
from simsched.names.parameters import checked as check_parameters
from simsched.workload.graph import TaskGraph

DOUBLE_BYTES = 8
Seed = Annotated[int, Bounds(0, 2**30 - 1)]


def checked(build: Callable[..., Program]) -> Callable[..., Program]:
    """Return `build` with checked parameters, as those of generators, noted in its workload."""
    name, accepted = build.__name__, parameters_of(build)

    @functools.wraps(build)
    def build_checked(**params: object) -> Program:
        given = check_parameters(f"program {name}", accepted, params)
        made = build(**given)
        workload = replace(made.workload, parameters={"program": name, **given})
        return replace(made, workload=workload)

    build_checked.__signature__ = inspect.signature(build)  # type: ignore[attr-defined]
    return build_checked


def with_classes(graph: TaskGraph, classes: tuple[str, ...]) -> TaskGraph:
    """Return a graph whose classes are numbered as in the table of the program in C."""
    numbers = np.array([classes.index(name) for name in graph.class_names], dtype=np.int32)
    return replace(graph, task_class=numbers[graph.task_class], class_names=classes)
