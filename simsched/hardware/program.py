"""Programs that run on hardware: a task graph with real data and a check of the result.

The same :class:`~simsched.workload.graph.Workload` is executed by the task runtime and replayed by
the simulator. A program is a function in `simsched.hardware.programs`, or a row of a table there,
and a line ``..._PROGRAM(NAME, ...)`` in a C file, whose functions compute what the task classes
stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.names.parameters import checked
from simsched.names.registry import Entry, Registry
from simsched.workload.graph import Workload


@dataclass(frozen=True, eq=False)
class Program:
    """A program that is ready to be run once."""

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
    #: Number of blocks of each array: they follow each other from its begin, array by array.
    blocks: tuple[int, ...]
    #: Returns the error of the result after the run, as a share of `tolerance`: at most 1 when the
    #: result is right. It computes the result in another way (NumPy, SciPy, NetworkX).
    check: Callable[[], float]
    params: tuple[int, ...] = ()
    constants: tuple[float, ...] = ()

    @cached_property
    def block_array(self) -> NDArray[np.int32]:
        """Array of each block; shape (n_blocks,)."""
        return np.repeat(np.arange(len(self.blocks), dtype=np.int32), self._counts)

    @cached_property
    def block_offset_bytes(self) -> NDArray[np.int64]:
        """Where each block begins in its array; shape (n_blocks,)."""
        size = self.workload.graph.block_bytes
        begin = np.append(np.cumsum(size) - size, 0)
        first: NDArray[np.int64] = begin[np.cumsum(self._counts) - self._counts]
        return begin[:-1] - np.repeat(first, self._counts)

    @property
    def _counts(self) -> NDArray[np.int64]:
        return np.array(self.blocks, np.int64)


Builder = Callable[..., Program]


@dataclass(frozen=True)
class ProgramBuilder(Entry[Builder]):
    """A registered program."""

    #: Arguments for a run of some milliseconds, for tests.
    small: Mapping[str, Any] = field(default_factory=dict)


_programs: Registry[ProgramBuilder] = Registry("program", "simsched.hardware.programs")


def program(*, small: Mapping[str, Any]) -> Callable[[Builder], Builder]:
    """Register a function that builds a program; `small` are arguments for some milliseconds."""

    def register(build: Builder) -> Builder:
        _programs.add(ProgramBuilder(build.__name__, build, small))
        return build

    return register


def programs() -> dict[str, ProgramBuilder]:
    """Return all programs by name, in alphabetical order."""
    return _programs.all()


def make_program(name: str, params: Mapping[str, Any]) -> Program:
    """Return a program by name; its parameters are noted in its workload."""
    found = _programs.find(name)
    given = checked(f"program {name}", found.parameters, params)
    made: Program = found.function(**given)
    parameters = {"program": name, **given}
    return replace(made, workload=replace(made.workload, parameters=parameters))
