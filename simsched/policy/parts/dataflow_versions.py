"""Versions of data-flow programs: private buffers or shared arrays, created by one task or many."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import get_args

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.dataflow_program import Control, Version
from simsched.workload.graph import Workload
from simsched.workload.registry import generator_of
from simsched.workload.variants import variant

CHOICES = {"version": get_args(Version), "control": get_args(Control)}


def least_versions(workload: Workload) -> Iterator[Workload]:
    """Yield the versions of a data-flow program that take the least, any other one as it is.

    With sequential control, no task waits for the one that creates it, but for the root. A program
    that has been changed since it was generated is taken as it is.
    """
    maker = generator_of(workload)
    known = {} if maker is None else maker.parameters
    has = {key for key, item in known.items() if item.choices == CHOICES.get(key)}
    wanted = {"control": "sequential"} if "control" in has else {}
    own = workload.parameters.get("version")
    try:
        found = {
            version: variant(workload, version=str(version), **wanted)
            for version in (CHOICES["version"] if "version" in has else [own])
        }
    except ConfigurationError:
        found = {}
    yield from found.values() if _is_same(workload, found.get(own)) else [workload]


def _is_same(program: Workload, again: Workload | None) -> bool:
    """Return whether a program does what its generator makes of its parameters."""
    if again is None:
        return False
    pairs = [
        (program.graph.ops, again.graph.ops),
        (program.graph.read_bytes, again.graph.read_bytes),
        (program.graph.written_bytes, again.graph.written_bytes),
    ]
    return all(
        math.isclose(own[np.isfinite(own)].sum(), made[np.isfinite(made)].sum(), rel_tol=1e-9)
        for own, made in pairs
    )
