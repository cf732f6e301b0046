"""Programs that run on hardware: a task graph with real data and a check of the result.

The same :class:`~simsched.workload.graph.Workload` is executed by the task runtime and replayed by
the simulator. A program is one module in `simsched.hardware.programs` and the C file of the same
name, whose functions compute what the task classes stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.names.docstrings import parameter_texts
from simsched.names.registry import Entry, Registry
from simsched.workload.graph import Workload
from simsched.workload.registry import Parameter, parameters_of


@dataclass(frozen=True, eq=False)
class Program:
    """A program that is ready to be run once.

    Parameters
    ----------
    name : str
        Name of the program, also of its functions in C.
    workload : Workload
        Graphs, costs, accesses and blocks. `ops` of a task count what its class calls an operation
        (an element updated, an edge visited, ...); calibration measures how long each takes.
    args, init_args : ndarray of int64, shape (n_tasks, n_args)
        Arguments of each task of the graph, and of the initialisation.
    arrays : tuple of ndarray
        The data, C-contiguous. Freshly made ones are not touched before the run, so that pages are
        placed by the tasks that initialise them.
    block_array, block_offset_bytes : ndarray of int32 and int64, shape (n_blocks,)
        Where each block of the workload lies: index into `arrays`, offset in it.
    check : callable
        Returns the error of the result after the run, as a share of `tolerance`: at most 1 when the
        result is right. It computes the result in another way (NumPy, SciPy, NetworkX).
    params : tuple of int
        Integers for all tasks.
    constants : tuple of float
        Doubles for all tasks.
    """

    name: str
    workload: Workload
    args: NDArray[np.int64]
    init_args: NDArray[np.int64]
    arrays: tuple[NDArray[Any], ...]
    block_array: NDArray[np.int32]
    block_offset_bytes: NDArray[np.int64]
    check: Callable[[], float]
    params: tuple[int, ...] = ()
    constants: tuple[float, ...] = ()


@dataclass(frozen=True)
class ProgramBuilder(Entry[Callable[..., Program]]):
    """A registered program.

    Parameters
    ----------
    name : str
        Its name.
    function : callable
        Makes the program from keyword arguments.
    small : dict
        Arguments for a run of some milliseconds, for tests.
    """

    small: Mapping[str, Any] = field(default_factory=dict)


_programs: Registry[ProgramBuilder] = Registry("program", "simsched.hardware.programs")


def program(name: str, *, small: Mapping[str, Any]) -> Callable[[Callable[..., Program]], Any]:
    """Register a function that builds a program.

    Parameters
    ----------
    name : str
        Name in experiments and of the C file.
    small : mapping
        Arguments for a run of some milliseconds.

    Raises
    ------
    ValueError
        The name is taken.
    """

    def register(build: Callable[..., Program]) -> Callable[..., Program]:
        _programs.add(ProgramBuilder(name, build, small))
        return build

    return register


def program_names() -> list[str]:
    """Return the names of all programs, ascending."""
    return list(_programs.all())


def make_program(name: str, params: Mapping[str, Any]) -> Program:
    """Return a program by name.

    Raises
    ------
    ConfigurationError
        The name or an argument is unknown or not accepted.
    """
    build = _programs.find(name).function
    try:
        return build(**params)
    except TypeError as error:
        raise ConfigurationError(f"program {name}: {error}") from error


def program_parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a program, each with its default and what it accepts.

    Raises
    ------
    ConfigurationError
        The name is unknown.
    """
    return parameters_of(_programs.find(name).function)


def program_texts(name: str) -> dict[str, str]:
    """Return what is said about the parameters of a program."""
    return parameter_texts(_programs.find(name).function)


def small_params(name: str) -> Mapping[str, Any]:
    """Return arguments for a run of some milliseconds."""
    return _programs.find(name).small
