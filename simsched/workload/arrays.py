"""The arrays of a task graph.

Nothing here is one Python object per task: all per-task data are NumPy arrays, adjacency is in
compressed sparse row form (``ptr`` and ``index`` arrays).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import plural
from simsched.names.shown import Shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
SHOWN_NAME = 60  #: characters of a task's name that messages show


def make_read_only(columns: DataclassInstance) -> None:
    """Make the arrays that are fields of an object, and what they are views of, read-only."""
    for item in fields(columns):
        value = getattr(columns, item.name)
        while isinstance(value, np.ndarray):
            value.flags.writeable = False
            value = value.base


@dataclass(frozen=True, eq=False)
class GraphArrays(Shown):
    """Tasks of one iteration with their spawn tree, dataflow edges and accesses.

    A task has a *body* and, if it spawns children, a *join* that runs after all of them have ended.
    A task may start when it has been created (by its parent, or at the start of the iteration when
    it has none), all its dataflow predecessors have ended and its arrival time has come. It ends
    when its body, its children and its join have ended. A *detached* child is created by its parent
    like any other, but its parent does not wait for it: control programs of data-flow runtimes
    create tasks in this way.

    The arrays are taken over: they, and what they are views of, become read-only.

    Parameters
    ----------
    ops : ndarray of float64, shape (n_kinds, n_tasks)
        Operations of the body on each processor kind; infinity where the task cannot run.
    join_ops : ndarray of float64, shape (n_kinds, n_tasks)
        Operations of the join.
    kinds : tuple of str
        Processor kinds, in the order of the rows of `ops`.
    task_class : ndarray of int32, shape (n_tasks,)
        Class of each task, an index into `class_names`.
    class_names : tuple of str
        Names of the task classes.
    child_ptr, child : ndarray of int64, shape (n_tasks + 1,); ndarray of int32
        Children of each task in spawn order.
    succ_ptr, succ : ndarray of int64, shape (n_tasks + 1,); ndarray of int32
        Dataflow successors of each task in edge order.
    access_ptr : ndarray of int64, shape (n_tasks + 1,)
        Accesses of each task, body first.
    join_access : ndarray of int64, shape (n_tasks,)
        Index of the first access that belongs to the join; `access_ptr[t + 1]` when there is none.
    access_block : ndarray of int32, shape (n_accesses,)
        Block of each access.
    read_bytes, written_bytes : ndarray of int64, shape (n_accesses,)
        Bytes moved by each access.
    block_bytes : ndarray of int64, shape (n_blocks,)
        Size of each block, the unit of data placement.
    creation_ops : ndarray of float64, shape (n_tasks,)
        Operations that the parent spends on creating each task, on top of the machine's spawn cost;
        0 when only the machine's cost applies. Measured task graphs carry it.
    arrival_ps : ndarray of int64, shape (n_tasks,)
        Earliest creation of tasks without a parent, from the start of the iteration.
    detached : ndarray of bool, shape (n_tasks,), optional
        Children whose parent does not wait for their end; None when there are none (an array
        without a true entry becomes None).
    occupancy : ndarray of int32, shape (n_tasks,), optional
        Share of a device that each task takes up while it is executed, in units of which a plan
        gives the device's capacity; None is 1 for every task. Only plans with devices use it.
    synchronous : ndarray of bool, shape (n_tasks,), optional
        Tasks for whose kernel the driver of a device waits: until it has ended, the driver hands no
        copies over and its worker asks for nothing. None when there are none (an array without a
        true entry becomes None).
    exposure : ndarray of float64, shape (n_tasks,), optional
        Part, from 0 to 1, of what a core waits for hits in its caches that shows in each task; what
        its computation hides goes on beside it. None is 1 for every task.
    priority : ndarray of int32, shape (n_tasks,), optional
        What the program tells its runtime about urgency: larger is more urgent. None when all have
        the same (an array of zeros becomes None).
    access_share : ndarray of float64, shape (n_accesses,), optional
        Part of the operations of its body (or join) that each access takes; the parts of a body sum
        to 1. By default operations are divided in proportion to bytes.
    access_after : ndarray of int32, shape (n_accesses,), optional
        A task that must have ended before the access begins, -1 for none: a task that has begun
        waits there, and its worker with it. Such accesses that follow each other begin in the order
        in which their tasks end. Programs that start consumers early have them: a reduce task
        copies the output of map tasks one after the other as these end.
    access_final : ndarray of bool, shape (n_accesses,), optional
        Accesses after which, as the program tells its runtime, nobody writes to the block any more.
        Where data are copied, the block is brought back to the host's memory when the copy is in
        nobody's way. None when the program says nothing (an array without a true entry becomes
        None).
    alternate_block : ndarray of int32, shape (n_blocks,), optional
        Block that takes the place of each one in iterations 2, 4, ..., and the other way round:
        arrays that change places after every sweep. Others have their own number. None when all
        iterations use the same blocks.
    device_efficiency : ndarray of float64, shape (n_classes,), optional
        Part, from 0 to 1, of a device's operations per second that tasks of each class reach on
        devices for which neither the graph nor the machine has costs; 0 where they cannot run. None
        when tasks cannot run there.
    codelets : tuple of str, optional
        Measured codelet of each class, in the order of `class_names`: on a machine with timings,
        tasks last as long as these were measured to. None: operations are as given.
    task_names : tuple of str, length n_tasks, optional
        What the program that the graph comes from calls each task, for results, exports and
        messages; engines and policies go by numbers. None, as in every generated graph: tasks have
        no names.
    """

    ops: FloatArray
    join_ops: FloatArray
    kinds: tuple[str, ...]
    task_class: Int32Array
    class_names: tuple[str, ...]
    child_ptr: Int64Array
    child: Int32Array
    succ_ptr: Int64Array
    succ: Int32Array
    access_ptr: Int64Array
    join_access: Int64Array
    access_block: Int32Array
    read_bytes: Int64Array
    written_bytes: Int64Array
    block_bytes: Int64Array
    creation_ops: FloatArray
    arrival_ps: Int64Array
    detached: BoolArray | None = None
    occupancy: Int32Array | None = None
    synchronous: BoolArray | None = None
    exposure: FloatArray | None = None
    priority: Int32Array | None = None
    access_share: FloatArray | None = None
    access_after: Int32Array | None = None
    access_final: BoolArray | None = None
    alternate_block: Int32Array | None = None
    device_efficiency: FloatArray | None = None
    codelets: tuple[str, ...] | None = None
    task_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("detached", "synchronous", "priority", "access_final"):
            values = getattr(self, name)
            if isinstance(values, np.ndarray) and not values.any():
                object.__setattr__(self, name, None)
        make_read_only(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        make_read_only(self)  # what is copied or has travelled to another process, too

    def __repr__(self) -> str:
        counts = (self.n_tasks, "task"), (self.n_edges, "edge"), (self.n_blocks, "block")
        return f"<TaskGraph: {', '.join(plural(*count) for count in counts)}>"

    @property
    def is_fixed(self) -> bool:
        """Whether nobody can write to the arrays; then a graph that is right stays right."""
        return all(map(_is_fixed, _columns(self)))

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return int(self.ops.shape[1])

    @property
    def n_edges(self) -> int:
        """Number of dataflow edges."""
        return len(self.succ)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.block_bytes)

    @property
    def n_accesses(self) -> int:
        """Number of accesses."""
        return len(self.access_block)

    @property
    def access_bytes(self) -> int:
        """Bytes that all accesses of one iteration move."""
        return int(self.read_bytes.sum()) + int(self.written_bytes.sum())

    @cached_property
    def parent(self) -> Int32Array:
        """Parent of each task in the spawn tree, -1 for tasks without one; shape (n_tasks,)."""
        parent = np.full(self.n_tasks, -1, dtype=np.int32)
        counts = np.diff(self.child_ptr)
        parent[self.child] = np.repeat(np.arange(self.n_tasks, dtype=np.int32), counts)
        return parent

    @cached_property
    def is_joined(self) -> BoolArray:
        """Which tasks have a parent that waits for their end; shape (n_tasks,)."""
        joined: BoolArray = self.parent >= 0
        return joined if self.detached is None else joined & ~self.detached

    @cached_property
    def n_joined_children(self) -> Int32Array:
        """Number of children that each task waits for; shape (n_tasks,)."""
        if self.detached is None:
            return np.diff(self.child_ptr).astype(np.int32)
        parents = self.parent[self.is_joined]
        return np.bincount(parents, minlength=self.n_tasks).astype(np.int32)

    @cached_property
    def in_degree(self) -> Int32Array:
        """Number of dataflow predecessors of each task; shape (n_tasks,)."""
        return np.bincount(self.succ, minlength=self.n_tasks).astype(np.int32)

    @cached_property
    def leaves(self) -> Int32Array:
        """Tasks that spawn nothing, ascending."""
        return np.flatnonzero(np.diff(self.child_ptr) == 0).astype(np.int32)

    def called(self, task: int) -> str:
        """Return what messages call a task: its number, and its name if it has one.

        Parameters
        ----------
        task : int
            Number of the task.

        Returns
        -------
        str
            On one line; of a long name the beginning.
        """
        name = "" if self.task_names is None else " ".join(self.task_names[task].split())
        short = name if len(name) <= SHOWN_NAME else f"{name[: SHOWN_NAME - 3]}..."
        return f"task {task} ({short})" if short else f"task {task}"


#: Returns what the fields of a graph hold.
_columns = attrgetter(*(item.name for item in fields(GraphArrays)))


def _is_fixed(value: object) -> bool:
    """Return whether an array and everything that it is a view of are read-only."""
    while value is not None:
        if not isinstance(value, np.ndarray):
            return isinstance(value, (bytes, tuple))
        if value.flags.writeable:
            return False
        value = value.base
    return True
