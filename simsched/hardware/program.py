"""Programs that run on hardware: a task graph with real data and a check of the result.

The same :class:`~simsched.workload.graph.Workload` is executed by the task runtime and replayed by
the simulator. A program is a function in `simsched.hardware.programs`, or a row of a table there,
and a line ``..._PROGRAM(NAME, ...)`` in a C file, whose functions compute what the task classes
stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.names.registry import Entry, Registry
from simsched.workload.graph import Workload


@dataclass(frozen=True, eq=False)
class Program:
    """A program that is ready to be run once."""

    #: Name of the program, also of its functions in C.
    name: str
    #: Graphs, costs, accesses and blocks. `ops` of a task count what its class calls an operation
    #: (an element updated, an edge visited, ...); calibration measures how long each takes.
    workload: Workload
    #: Arguments of each task of the graph, and of the initialisation; shape (n_tasks, n_args).
    args: NDArray[np.int64]
    init_args: NDArray[np.int64]
    #: The data, C-contiguous. Freshly made ones are not touched before the run, so that pages are
    #: placed by the tasks that initialise them.
    arrays: tuple[NDArray[Any], ...]
    #: Where each block of the workload lies: index into `arrays`, offset in it; shape (n_blocks,).
    block_array: NDArray[np.int32]
    block_offset_bytes: NDArray[np.int64]
    #: Returns the error of the result after the run, as a share of `tolerance`: at most 1 when the
    #: result is right. It computes the result in another way (NumPy, SciPy, NetworkX).
    check: Callable[[], float]
    #: Integers for all tasks.
    params: tuple[int, ...] = ()
    #: Doubles for all tasks.
    constants: tuple[float, ...] = ()


@dataclass(frozen=True)
class ProgramBuilder(Entry[Callable[..., Program]]):
    """A registered program."""

    #: Arguments for a run of some milliseconds, for tests.
    small: Mapping[str, Any] = field(default_factory=dict)


_programs: Registry[ProgramBuilder] = Registry("program", "simsched.hardware.programs")


def program(name: str, *, small: Mapping[str, Any]) -> Callable[[Callable[..., Program]], Any]:
    """Register a function that builds a program; `small` are arguments for some milliseconds."""

    def register(build: Callable[..., Program]) -> Callable[..., Program]:
        _programs.add(ProgramBuilder(name, build, small))
        return build

    return register


def programs() -> dict[str, ProgramBuilder]:
    """Return all programs by name, in alphabetical order."""
    return _programs.all()


def program_names() -> list[str]:
    """Return the names of all programs, ascending."""
    return list(_programs.all())


def make_program(name: str, params: Mapping[str, Any]) -> Program:
    """Return a program by name."""
    build = _programs.find(name).function
    try:
        return build(**params)
    except TypeError as error:
        raise ConfigurationError(f"program {name}: {error}") from error


def small_params(name: str) -> Mapping[str, Any]:
    """Return arguments for a run of some milliseconds."""
    return _programs.find(name).small
