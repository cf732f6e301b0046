"""Versions of a generated workload that differ in some parameters of its generator."""

from __future__ import annotations

from dataclasses import replace

from simsched.workload.graph import Workload
from simsched.workload.registry import generated, generator_of


def variant(workload: Workload, **wanted: str) -> Workload:
    """Return another version of a generated workload, with the wanted parameters that it has."""
    maker = generator_of(workload)
    if maker is None:
        return workload
    known = maker.parameters
    changes = {
        key: value
        for key, value in wanted.items()
        if key in known and workload.parameters.get(key) != value
    }
    if not changes:
        return workload
    given = {key: value for key, value in workload.parameters.items() if key in known}
    seed = workload.parameters.get("seed", 0)
    made = generated(maker, {**given, **changes}, seed if isinstance(seed, int) else 0)
    return replace(made, name=workload.name)
