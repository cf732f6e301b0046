"""Makespans that others give for the same programs: read, simulated, compared.

A file of references is a table of comma-separated values with a head. Lines that begin with ``#``,
blanks before it or not, are comments. Columns are ``machine``, ``policy``, ``tiles_per_side`` and
``makespan_ms``; others, such as ``gflops``, are not used. Policies have StarPU's names: its `heft`
is `dmda`.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, SimschedError, unknown_name
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.policy import make_policy
from simsched.policy.contract.base import Policy, own_name
from simsched.reproduction.tables import read_table
from simsched.workload.builder import LAST_ARRIVAL_S
from simsched.workload.registry import generate_workload

COLUMNS = ("machine", "policy", "tiles_per_side", "makespan_ms")
#: Parameters of the programs whose tiles per side a file gives, besides the number of tiles.
PROGRAMS: dict[str, dict[str, object]] = {
    "cholesky": {"tile_size": 960, "element_bytes": 4, "costs": "measured"},
    "lu": {"tile_size": 960, "precision": "single", "costs": "measured"},
    "gemm": {"tile_size": 960, "precision": "single", "costs": "measured"},
}
#: What others call a policy that has another name here: StarPU takes `heft` for `dmda`.
OTHER_NAMES = {"heft": "dmda", "modular-heft": "modular_heft"}
#: What they call their number of tiles per side, which is the file's.
SIZES = ("tiles", "tiles_x", "tiles_y")
MAX_TILES = 1000
#: Makespans in ms: from a picosecond to the end of simulated time.
SHORTEST_MS, LONGEST_MS = 1e-9, LAST_ARRIVAL_S * 1e3
MAX_PROBLEMS = 10  #: rows whose problems are told


@dataclass(frozen=True)
class Reference:
    """A makespan that somebody else gives; None is what the file does not give as a number."""

    machine: str
    policy: str
    #: Tiles in a row of the matrix.
    tiles: int | None
    makespan_s: float | None
    #: File and line.
    where: str
    #: What is wrong with the numbers; empty if nothing is.
    problem: str = ""


@dataclass(frozen=True)
class Row:
    """A reference with what the simulation says."""

    reference: Reference
    #: By seed; none if there is a problem.
    makespans_s: tuple[float, ...]
    #: Time that one simulation took.
    wall_s: float
    #: Why the row cannot be simulated; empty if it can.
    problem: str = ""

    @property
    def makespan_s(self) -> float:
        """The mean over the seeds."""
        return statistics.fmean(self.makespans_s)

    @property
    def deviation_s(self) -> float | None:
        """Standard deviation over the seeds; None for a single one."""
        return statistics.stdev(self.makespans_s) if len(self.makespans_s) > 1 else None

    @property
    def error_percent(self) -> float:
        """How much longer the simulated run is."""
        assert self.reference.makespan_s is not None
        return 100.0 * (self.makespan_s / self.reference.makespan_s - 1.0)

    def document(self) -> dict[str, Any]:
        """Return the row as plain data; None stands for what is not known."""
        known, given_s = bool(self.makespans_s), self.reference.makespan_s
        return {
            "machine": self.reference.machine,
            "policy": self.reference.policy,
            "tiles_per_side": self.reference.tiles,
            "simulated_ms": self.makespan_s * 1e3 if known else None,
            "deviation_ms": None if self.deviation_s is None else self.deviation_s * 1e3,
            "shortest_ms": min(self.makespans_s) * 1e3 if known else None,
            "longest_ms": max(self.makespans_s) * 1e3 if known else None,
            "seeds": len(self.makespans_s),
            "reference_ms": None if given_s is None else given_s * 1e3,
            "error_percent": self.error_percent if known else None,
            "wall_s": self.wall_s,
            "problem": self.problem,
        }


def read_references(path: Path) -> list[Reference]:
    """Return the makespans in a file.

    Refused is what is no such table; a value that is no number or out of range is the problem of
    its row.
    """
    return [_reference(values, where) for where, values in read_table(path, COLUMNS)]


def _reference(values: dict[str, str], where: str) -> Reference:
    """Return what a line says, with a problem where a number is none."""
    problems = []
    tiles, makespan_ms = _tiles(values["tiles_per_side"]), _makespan_ms(values["makespan_ms"])
    if tiles is None:
        found = values["tiles_per_side"]
        problems.append(f"tiles_per_side: found {found!r}, accepted 1 to {MAX_TILES}")
    if makespan_ms is None:
        found = values["makespan_ms"]
        accepted = f"{SHORTEST_MS:g} to {LONGEST_MS:.3g} ms"
        problems.append(f"makespan_ms: found {found!r}, accepted {accepted}")
    return Reference(
        values["machine"],
        values["policy"],
        tiles,
        None if makespan_ms is None else makespan_ms / 1e3,
        where,
        "; ".join(problems),
    )


def _tiles(text: str) -> int | None:
    """Return a number of tiles, None for anything else; spreadsheets write ``20`` as ``20.0``."""
    if not re.fullmatch(r"[0-9]{1,9}(\.0*)?", text):
        return None
    value = int(text.partition(".")[0])
    return value if 1 <= value <= MAX_TILES else None


def _makespan_ms(text: str) -> float | None:
    """Return a makespan, None for anything else."""
    if not re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    value = float(text)
    return value if SHORTEST_MS <= value <= LONGEST_MS else None


def compare_references(
    references: list[Reference],
    *,
    program: str = "cholesky",
    parameters: dict[str, object] | None = None,
    seeds: int = 1,
    progress: Callable[[Reference], None] | None = None,
) -> Iterator[Row]:
    """Yield each reference with the mean of its simulations, in their order.

    The program is cholesky, lu or gemm, in tiles of 960 x 960 single-precision elements unless
    `parameters` say otherwise; the number of tiles is the file's. `progress` is called before each
    simulation. What cannot be simulated is the problem of its row.
    """
    if program not in PROGRAMS:
        raise ConfigurationError(unknown_name("program", program, PROGRAMS))
    for name in SIZES:
        if name in (parameters or {}):
            message = f"parameter {name}: found a value, accepted that of the column tiles_per_side"
            raise ConfigurationError(f"program {program}: {message}")
    named, unnamed = _named(references)
    for reference in references:
        if progress is not None:
            progress(reference)
        problem = "; ".join(filter(None, (reference.problem, unnamed.get(reference))))
        if problem:
            yield Row(replace(reference, problem=problem), (), 0.0, problem)
            continue
        tiles: dict[str, object] = {"tiles": reference.tiles}
        if program == "gemm":
            tiles = {"tiles_x": reference.tiles, "tiles_y": reference.tiles}
        given = {**PROGRAMS[program], **(parameters or {}), **tiles}
        machine, policy = named[reference.machine, reference.policy]
        try:
            workload = generate_workload(program, given)
            begin = time.perf_counter()
            runs = [simulate(machine, workload, policy, seed=seed) for seed in range(seeds)]
        except SimschedError as error:
            what = str(error).removeprefix(f"policy {own_name(type(policy))}: ")
            about = f"policy {reference.policy} on {reference.machine}"
            yield Row(reference, (), 0.0, f"{about}: {what}")
            continue
        wall_s = (time.perf_counter() - begin) / seeds
        yield Row(reference, tuple(run.makespan_s for run in runs), wall_s)


def _named(
    references: list[Reference],
) -> tuple[dict[tuple[str, str], tuple[Machine, Policy]], dict[Reference, str]]:
    """Return what the names of machines and policies stand for, and why some stand for nothing."""
    named: dict[tuple[str, str], tuple[Machine, Policy]] = {}
    unnamed: dict[Reference, str] = {}
    for reference in references:
        names = (reference.machine, reference.policy)
        if names in named:
            continue
        try:
            machine = load_machine(reference.machine)
            policy = make_policy(OTHER_NAMES.get(reference.policy, reference.policy))
        except SimschedError as error:
            unnamed[reference] = str(error)
        else:
            named[names] = machine, policy
    return named, unnamed


def policies_of(rows: list[Row]) -> list[tuple[str, Policy]]:
    """Return the policies that could be simulated, with what the references call them."""
    names = dict.fromkeys(row.reference.policy for row in rows if not row.problem)
    return [(name, make_policy(OTHER_NAMES.get(name, name))) for name in names]


def problems_of(rows: list[Row]) -> str:
    """Return a message about all rows that cannot be simulated; empty if there are none."""
    wrong = [row for row in rows if row.problem]
    told = [f"{row.reference.where}: {row.problem}" for row in wrong[:MAX_PROBLEMS]]
    more = len(wrong) - len(told)
    if more:
        told.append(f"and {more} more")
    if len(wrong) > 1:
        told.insert(0, f"{len(wrong)} of {len(rows)} rows cannot be simulated")
    return "\n  ".join(told)


def by_policy(rows: list[Row]) -> list[dict[str, Any]]:
    """Return for each policy how many rows could be simulated and how large their errors are."""
    simulated = [row for row in rows if not row.problem]
    names = dict.fromkeys(row.reference.policy for row in simulated)
    found = []
    for name in names:
        errors = [abs(row.error_percent) for row in simulated if row.reference.policy == name]
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
