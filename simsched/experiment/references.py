"""Makespans that others give for the same programs: read, simulated, compared.

A file of references is a table of comma-separated values with a head. Lines that begin with ``#``
are comments. Columns are ``machine``, ``policy``, ``tiles_per_side`` and ``makespan_ms``; others,
such as ``gflops``, are not used. Policies have StarPU's names: its `heft` is `dmda`.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.bounded import read_text
from simsched.engine.run import simulate
from simsched.errors import ConfigurationError, SimschedError, unknown_name
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.workload.registry import make_workload

COLUMNS = ("machine", "policy", "tiles_per_side", "makespan_ms")
#: Parameters of the programs whose tiles per side a file gives, besides the number of tiles.
PROGRAMS: dict[str, dict[str, object]] = {
    "cholesky": {"tile_size": 960, "element_bytes": 4, "costs": "measured"},
    "lu": {"tile_size": 960, "precision": "single", "costs": "measured"},
    "gemm": {"tile_size": 960, "precision": "single", "costs": "measured"},
}
#: What others call a policy that has another name here: StarPU takes `heft` for `dmda`.
OTHER_NAMES = {"heft": "dmda"}
MAX_TILES = 1000


@dataclass(frozen=True)
class Reference:
    """A makespan that somebody else gives.

    Parameters
    ----------
    machine, policy : str
        What it was obtained on and with.
    tiles : int
        Tiles in a row of the matrix.
    makespan_s : float
        In seconds.
    where : str
        File and line.
    """

    machine: str
    policy: str
    tiles: int
    makespan_s: float
    where: str


@dataclass(frozen=True)
class Row:
    """A reference with what the simulation says.

    Parameters
    ----------
    reference : Reference
        What was given.
    makespan_s : float
        Simulated; the mean over the seeds.
    wall_s : float
        Time that one simulation took.
    """

    reference: Reference
    makespan_s: float
    wall_s: float

    @property
    def error_percent(self) -> float:
        """How much longer the simulated run is."""
        return 100.0 * (self.makespan_s / self.reference.makespan_s - 1.0)

    def document(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {
            "machine": self.reference.machine,
            "policy": self.reference.policy,
            "tiles_per_side": self.reference.tiles,
            "simulated_ms": self.makespan_s * 1e3,
            "reference_ms": self.reference.makespan_s * 1e3,
            "error_percent": self.error_percent,
            "wall_s": self.wall_s,
        }


def read_references(path: Path) -> list[Reference]:
    """Return the makespans in a file.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ConfigurationError
        A file that cannot be read or holds nothing, a column that is missing, or a value that is
        no positive number; the message names file and line.
    """
    text = read_text(path)
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise ConfigurationError(f"{path}: found no line, accepted a head and rows")
    rows = [_fields(f"{path}:{number}", line) for number, line in lines]
    head = [name.strip() for name in rows[0]]
    for name in COLUMNS:
        if name not in head:
            message = f"found columns {', '.join(head)}, accepted with {name}"
            raise ConfigurationError(f"{path}:{lines[0][0]}: {message}")
    found = []
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        where = f"{path}:{number}"
        if len(row) != len(head):
            raise ConfigurationError(f"{where}: found {len(row)} values, accepted {len(head)}")
        values = dict(zip(head, (value.strip() for value in row), strict=True))
        tiles = _number(values, "tiles_per_side", where)
        if not tiles.is_integer() or tiles > MAX_TILES:
            message = f"found {values['tiles_per_side']!r}, accepted 1 to {MAX_TILES}"
            raise ConfigurationError(f"{where}: tiles_per_side: {message}")
        makespan_s = _number(values, "makespan_ms", where) / 1e3
        found.append(Reference(values["machine"], values["policy"], int(tiles), makespan_s, where))
    if not found:
        raise ConfigurationError(f"{path}: found no row below the head, accepted one or more")
    return found


def _fields(where: str, line: str) -> list[str]:
    """Return the values of a line; text in quotation marks ends with the line."""
    try:
        (fields,) = csv.reader([line], skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise ConfigurationError(f"{where}: not CSV: {error}") from error
    return fields


def _number(values: dict[str, str], name: str, where: str) -> float:
    """Return a positive number."""
    try:
        value = float(values[name])
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        message = f"found {values[name]!r}, accepted a number above 0"
        raise ConfigurationError(f"{where}: {name}: {message}")
    return value


def compare_references(
    references: list[Reference],
    *,
    program: str = "cholesky",
    parameters: dict[str, object] | None = None,
    seeds: int = 1,
    progress: Callable[[Reference], None] | None = None,
) -> Iterator[Row]:
    """Yield each reference with its simulation, in their order.

    Parameters
    ----------
    references : list of Reference
        What others give.
    program : {"cholesky", "lu", "gemm"}
        What was run, in tiles of 960 x 960 single-precision elements unless `parameters` say
        otherwise.
    parameters : dict of str to object, optional
        Other parameters of the program.
    seeds : int
        Number of simulations; their mean counts.
    progress : callable, optional
        Called with each reference before it is simulated.

    Raises
    ------
    ConfigurationError
        An unknown program, machine or policy, or a run that is impossible; the message names file
        and line.
    """
    import time

    if program not in PROGRAMS:
        raise ConfigurationError(unknown_name("program", program, PROGRAMS))
    for reference in references:
        if progress is not None:
            progress(reference)
        tiles: dict[str, object] = {"tiles": reference.tiles}
        if program == "gemm":
            tiles = {"tiles_x": reference.tiles, "tiles_y": reference.tiles}
        given = {**PROGRAMS[program], **(parameters or {}), **tiles}
        try:
            machine = load_machine(reference.machine)
            policy = make_policy(OTHER_NAMES.get(reference.policy, reference.policy))
            workload = make_workload(program, given)
            begin = time.perf_counter()
            runs = [simulate(machine, workload, policy, seed=seed) for seed in range(seeds)]
            wall_s = (time.perf_counter() - begin) / seeds
        except SimschedError as error:
            raise ConfigurationError(f"{reference.where}: {error}") from error
        yield Row(reference, statistics.fmean(run.makespan_s for run in runs), wall_s)


def by_policy(rows: list[Row]) -> list[dict[str, Any]]:
    """Return for each policy how many rows there are and how large their errors.

    Parameters
    ----------
    rows : list of Row
        All of them.
    """
    names = dict.fromkeys(row.reference.policy for row in rows)
    found = []
    for name in names:
        errors = [abs(row.error_percent) for row in rows if row.reference.policy == name]
        found.append(
            {
                "policy": name,
                "rows": len(errors),
                "median_error_percent": statistics.median(errors),
                "largest_error_percent": max(errors),
                "within_5_percent": sum(error <= 5.0 for error in errors),
                "within_10_percent": sum(error <= 10.0 for error in errors),
            }
        )
    return found
