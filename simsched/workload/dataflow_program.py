"""Data-flow programs with task-private buffers, put together class by class.

A task of such a program reads its input buffers and writes its output buffers; each buffer has one
producer and one consumer. Beside the buffers there are global arrays, for data that exist before
and after the run. Tasks create tasks and do not wait for them.

The same program comes in versions:

* `version` ``"private"``: as described. ``"shared"``: tasks work on the global arrays in place;
  buffers are tokens that carry no data, so that only their edges remain.
* `control` ``"parallel"``: tasks are created as the program says. ``"sequential"``: the first task
  creates all others in the order of their numbers.

References
----------
Drebes et al., PACT 2016 (docs/sources/dataflow.md), sections 2 and 4.3.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import accesses, build_graph, edges
from simsched.workload.graph import Int64Array, TaskGraph
from simsched.workload.registry import Bounds

Version = Literal["private", "shared"]
Control = Literal["parallel", "sequential"]
Extent = Annotated[int, Bounds(1, 2**40)]

#: Order of a task's accesses: global reads (and updates), inputs, outputs, global writes.
_GLOBAL_FIRST, _INPUT, _OUTPUT, _GLOBAL_LAST = range(4)


class DataflowProgram:
    """A program under construction; its first task, the root, exists from the start.

    Its version says whether there are buffers, or updates of global arrays in place; its control
    who creates tasks.
    """

    def __init__(self, version: str, control: str) -> None:
        self.is_private = version == "private"
        self.is_parallel = control == "parallel"
        self._classes: list[str] = []
        self._ops: list[NDArray[np.float64]] = []
        self._class_of: list[Int64Array] = []
        self._n_tasks = 0
        self._creations: list[tuple[NDArray[Any], ...]] = []
        self._edges: list[tuple[NDArray[Any], ...]] = []
        self._block_bytes: list[Int64Array] = []
        self._n_blocks = 0
        #: Task, block, bytes read and written, by the order in which a task has them.
        self._accesses: list[list[tuple[Int64Array, ...]]] = [[] for _ in range(4)]
        self.root = int(self.tasks("root", 1)[0])

    def tasks(self, name: str, count: int, ops: ArrayLike = 0.0) -> Int64Array:
        """Return the numbers of new tasks of a class; `ops` may be one number for all."""
        if name not in self._classes:
            self._classes.append(name)
        self._ops.append(np.broadcast_to(np.asarray(ops, np.float64), (count,)))
        self._class_of.append(np.full(count, self._classes.index(name), np.int64))
        self._n_tasks += count
        return np.arange(self._n_tasks - count, self._n_tasks, dtype=np.int64)

    def create(self, creator: ArrayLike, created: ArrayLike) -> None:
        """Let tasks create tasks at their end, in this order; ignored with sequential control."""
        self._creations.append(np.broadcast_arrays(creator, created))

    def buffer(self, producer: ArrayLike, consumer: ArrayLike, n_bytes: ArrayLike) -> None:
        """Add one private buffer per pair of producer and consumer, and the edge between them."""
        arrays = np.broadcast_arrays(producer, consumer, np.asarray(n_bytes, np.int64))
        source, target, size = (array.ravel() for array in arrays)
        self._edges.append((source, target))
        if self.is_private:
            block = self._blocks(size)
            self._accesses[_INPUT].append((target, block, size, np.zeros_like(size)))
            self._accesses[_OUTPUT].append((source, block, np.zeros_like(size), size))

    def array(self, count: int, n_bytes: int, pieces: int) -> Int64Array:
        """Return the blocks of a global array.

        Parts that tasks work on have `n_bytes` each, in `pieces` blocks of sizes that differ by at
        most one byte; the result has the shape (count, pieces).
        """
        pieces = max(1, min(pieces, n_bytes))
        cuts = np.arange(pieces + 1, dtype=np.int64) * n_bytes // pieces
        return self._blocks(np.tile(np.diff(cuts), count)).reshape(count, pieces)

    def use(
        self, task: Int64Array, blocks: Int64Array, *, read: bool = False, written: bool = False
    ) -> None:
        """Let each task use a part of a global array; pure writes come after the task's buffers."""
        sizes = np.concatenate(self._block_bytes)[blocks]
        none = np.zeros_like(sizes)
        phase = _GLOBAL_FIRST if read else _GLOBAL_LAST
        tasks = np.broadcast_to(task[:, None], blocks.shape)
        moved = (sizes if read else none, sizes if written else none)
        self._accesses[phase].append((tasks, blocks, *moved))

    def look(self, task: Int64Array, block: Int64Array, n_bytes: ArrayLike) -> None:
        """Let each task read some bytes of a block of a global array; shape (n,) each."""
        size = np.broadcast_to(np.asarray(n_bytes, np.int64), task.shape)
        self._accesses[_GLOBAL_FIRST].append((task, block, size, np.zeros_like(size)))

    def graph(self) -> TaskGraph:
        """Return the program."""
        n = self._n_tasks
        creations = self._creations
        if not self.is_parallel:
            creations = [(np.full(n - 1, self.root, np.int64), np.arange(1, n, dtype=np.int64))]
        listed = [access for phase in self._accesses for access in phase]
        task, block, read, written = (
            np.concatenate([access[i].ravel() for access in listed] or [np.empty(0, np.int64)])
            for i in range(4)
        )
        detached = np.ones(n, bool)
        detached[self.root] = False
        return build_graph(
            np.concatenate(self._ops),
            task_class=np.concatenate(self._class_of),
            class_names=self._classes,
            children=edges(creations, n),
            successors=edges(self._edges, n),
            accessed=accesses(task, block, read, written, n),
            block_bytes=np.concatenate(self._block_bytes) if self._block_bytes else (),
            detached=detached,
        )

    def _blocks(self, sizes: Int64Array) -> Int64Array:
        self._block_bytes.append(sizes)
        self._n_blocks += len(sizes)
        return np.arange(self._n_blocks - len(sizes), self._n_blocks, dtype=np.int64)


def group_creation(
    program: DataflowProgram, grid: tuple[int, ...], per_dimension: int
) -> Int64Array | None:
    """Add a creation task for every group of neighbouring blocks; the root creates them.

    Returned is the creation task of each block, in row-major order; None with sequential control.
    """
    if not program.is_parallel:
        return None
    groups = [-(-extent // per_dimension) for extent in grid]
    place = np.unravel_index(np.arange(int(np.prod(grid))), grid)
    group = np.ravel_multi_index([axis // per_dimension for axis in place], groups)
    creators = program.tasks("create", int(np.prod(groups)))
    program.create(program.root, creators)
    return creators[group]


def create_in_stages(
    program: DataflowProgram, creators: Int64Array | None, stages: Int64Array, last: Int64Array
) -> None:
    """Let creation tasks create the first two stages, and each task the one two stages later.

    `stages` has the tasks of each block, one after the other, in the shape (n_stages, n_blocks).
    The root creates `last` besides; creators None change nothing.
    """
    if creators is None:
        return
    program.create(program.root, last)
    program.create(np.repeat(creators, 2), stages[:2].T.ravel())
    program.create(stages[:-2], stages[2:])


def check_divisor(workload: str, parameter: str, found: int, of: str, whole: int) -> None:
    """Check that blocks fill what is divided into them."""
    if whole % found:
        raise ConfigurationError(
            f"workload {workload}: {parameter}: found {found}, accepted a divisor of {of} = {whole}"
        )
