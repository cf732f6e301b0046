"""What programs share: blocks, accesses, random data, checks.

Array 0 of each program that uses :class:`ProgramData` counts how often each task has run. A missing
task and one that ran twice are found in this way even where the result hides them (sorting twice
sorts). The counters, 8 bytes per task, are outside of the blocks and not modelled.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from simsched.files.errors import ConfigurationError
from simsched.hardware.program import Program
from simsched.names.parameters import Bounds
from simsched.workload.builder import Accesses, accesses, build_graph
from simsched.workload.graph import Int64Array, TaskGraph, Workload

DOUBLE_BYTES = 8
INFINITE_ERROR = math.inf
Seed = Annotated[int, Bounds(0, 2**30 - 1)]


def untouched(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array in pages that nobody has touched yet; NumPy's own may have been others'.

    More than the machine provides is refused.
    """
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    try:
        pages = mmap.mmap(-1, max(count * kind.itemsize, 1))
    except (OSError, OverflowError, ValueError) as error:
        raise ConfigurationError(
            f"found {count * kind.itemsize} bytes of data, more than this machine provides"
        ) from error
    return np.frombuffer(pages, dtype=kind, count=count).reshape(shape)


def refusal(program: str, parameter: str, found: object, accepted: str) -> ConfigurationError:
    """Return the error for a parameter that does not fit to the others."""
    return ConfigurationError(
        f"program {program}: {parameter}: found {found!r}, accepted {accepted}"
    )


class AccessList:
    """Accesses in the order of their execution, collected piece by piece."""

    def __init__(self) -> None:
        self._parts: list[list[NDArray[Any]]] = []

    def add(
        self,
        task: ArrayLike,
        block: ArrayLike,
        *,
        read: ArrayLike = 0,
        written: ArrayLike = 0,
        in_join: bool = False,
    ) -> None:
        """Append accesses of tasks to blocks; arguments are broadcast against each other."""
        part = np.broadcast_arrays(task, block, read, written, in_join)
        self._parts.append([np.ravel(values) for values in part])

    def grouped(self, n_tasks: int) -> Accesses:
        """Return the accesses grouped by task, each task's in the order of their addition."""
        task, block, read, written, in_join = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        return accesses(task, block, read, written, n_tasks, in_join=in_join)


class ProgramData:
    """Arrays of a program and their division into blocks, in the order in which they are added.

    The runs of all tasks are counted in array 0, those of the initialisation first.
    """

    def __init__(self, n_init_tasks: int, n_tasks: int) -> None:
        self.counts = np.zeros(n_init_tasks + n_tasks, dtype=np.int64)
        self._n_init_tasks = n_init_tasks
        self._arrays: list[NDArray[Any]] = [self.counts]
        self._sizes: list[Int64Array] = [np.zeros(0, dtype=np.int64)]

    def add(self, array: NDArray[Any], block_ends_bytes: ArrayLike | None = None) -> Int64Array:
        """Append an array and return the numbers of its blocks.

        Blocks end at `block_ends_bytes`, and the first begins at 0; one block by default.
        """
        ends = np.asarray([array.nbytes] if block_ends_bytes is None else block_ends_bytes)
        first = sum(map(len, self._sizes))
        self._arrays.append(array)
        self._sizes.append(np.diff(ends, prepend=0))
        return np.arange(first, first + len(ends), dtype=np.int64)

    @property
    def block_bytes(self) -> Int64Array:
        """Size of each block."""
        return np.concatenate(self._sizes)

    def graph(self, ops: ArrayLike, accessed: AccessList, **given: Any) -> TaskGraph:
        """Return a graph whose tasks access the blocks; see :func:`build_graph`."""
        ops = np.asarray(ops, dtype=np.float64)
        grouped = accessed.grouped(len(ops))
        return build_graph(ops, accessed=grouped, block_bytes=self.block_bytes, **given)

    def program(
        self,
        workload: Workload,
        *,
        args: Int64Array,
        init_args: Int64Array,
        functions: tuple[frozenset[str], frozenset[str]],
        result_error: Callable[[], float],
        params: Iterable[int] = (),
        constants: Iterable[float] = (),
    ) -> Program:
        """Return the program; its check is infinite unless every task ran as often as it should.

        `functions` are the classes that have a body in C, and those that have a join. The number of
        tasks of the initialisation precedes `params`.
        """
        expected = _expected_runs(workload, functions)

        def check() -> float:
            if not np.array_equal(self.counts, expected):
                return INFINITE_ERROR
            return result_error()

        return Program(
            name=workload.name,
            workload=workload,
            args=np.ascontiguousarray(args, dtype=np.int64),
            init_args=np.ascontiguousarray(init_args, dtype=np.int64),
            arrays=tuple(self._arrays),
            blocks=tuple(map(len, self._sizes)),
            check=check,
            params=(self._n_init_tasks, *params),
            constants=tuple(constants),
        )


def _expected_runs(
    workload: Workload, functions: tuple[frozenset[str], frozenset[str]]
) -> Int64Array:
    """Return how many functions of each task run, those of the initialisation first."""
    bodies, joins = functions

    def per_run(graph: TaskGraph) -> Int64Array:
        names = graph.class_names
        own = np.array([name in bodies for name in names], dtype=np.int64)
        late = np.array([name in joins for name in names], dtype=np.int64)
        spawns = np.diff(graph.child_ptr) > 0
        return own[graph.task_class] + late[graph.task_class] * spawns

    assert workload.init is not None
    return np.concatenate((per_run(workload.init), per_run(workload.graph) * workload.iterations))


def exact(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    """Return 0 when both arrays are equal, infinity otherwise."""
    return 0.0 if np.array_equal(found, wanted) else INFINITE_ERROR


def largest_error(found: NDArray[Any], wanted: NDArray[Any], tolerance: float) -> float:
    """Return the largest relative difference as a share of `tolerance`; infinite if not finite."""
    if not np.all(np.isfinite(found)):
        return INFINITE_ERROR
    scale = float(np.max(np.abs(wanted)))
    return float(np.max(np.abs(found - wanted))) / (tolerance * scale)


def hashed_units(seed: int, count: int) -> NDArray[np.float64]:
    """Return `count` numbers in [0, 1) of a seed, as `hashed_unit` in programs/counted.h."""
    key = np.uint64(seed << 32) + np.arange(count, dtype=np.uint64)
    mixed = key + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
