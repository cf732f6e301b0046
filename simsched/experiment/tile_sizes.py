"""Which sizes of tiles a machine has timings for, as messages say it."""

from __future__ import annotations

from math import isqrt
from typing import Any

from simsched.engine.timings import timed
from simsched.experiment.inputs import WorkloadSource
from simsched.files.errors import ModelError, SimschedError
from simsched.machine.model import Machine
from simsched.workload.registry import generate_workload

#: Parameters that say how large an element is, with their values and bytes.
ELEMENTS: dict[str, dict[Any, int]] = {
    "element_bytes": {4: 4, 8: 8},
    "precision": {"single": 4, "double": 8},
}
#: Tiles in a row that are enough to have a task of every class.
FEW = 3


def naming_tile_sizes(
    error: SimschedError, machine: Machine, source: WorkloadSource
) -> SimschedError:
    """Return an error about timings with the sizes of tiles that the machine has timings for.

    It is the same one where it is about something else, or where no size of tiles helps.
    """
    given = source.parameters
    if given.get("costs") != "measured" or "tile_size" not in given:
        return error
    if not isinstance(error, ModelError) or _has_timings(machine, source.generator, given):
        return error
    name = next((name for name in ELEMENTS if name in given), "")
    accepted = []
    for value, n_bytes in ELEMENTS.get(name, {}).items():
        sizes = _accepted(machine, source, {name: value}, n_bytes)
        if sizes:
            accepted.append(f"{', '.join(map(str, sizes))} with {name}={value}")
    if not accepted:
        return error
    start, found = f"workload {source.name}", f"{given['tile_size']} with {name}={given[name]}"
    where = f"{start}: tile_size: found {found}, accepted on machine {machine.name}: "
    reason = str(error).removeprefix(f"{start}: ")
    return type(error)(f"{where}{'; '.join(accepted)} ({reason})")


def _accepted(
    machine: Machine, source: WorkloadSource, element: dict[str, Any], n_bytes: int
) -> list[int]:
    """Return the sizes of tiles with timings, for one size of elements."""
    known = {
        size // n_bytes
        for by_kind in machine.timings.values()
        for sizes in by_kind.values()
        for size in sizes
    }
    depth = source.parameters.get("depth", 0)  # of panels that are as wide as a tile
    possible = {isqrt(size) for size in known} | {isqrt(depth**2 + size) - depth for size in known}
    return [
        size
        for size in sorted(possible - {0})
        if _has_timings(
            machine, source.generator, {**source.parameters, **element, "tile_size": size}
        )
    ]


def _has_timings(machine: Machine, generator: str, parameters: dict[str, Any]) -> bool:
    """Return whether a machine has timings for all tasks of a small program with such tiles."""
    rows = {name: min(FEW, parameters[name]) for name in parameters if name.startswith("tiles")}
    try:
        timed(machine, generate_workload(generator, {**parameters, **rows}, 0))
    except SimschedError:
        return False
    return True
