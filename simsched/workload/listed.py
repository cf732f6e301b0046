"""Arrays of task graphs from lists of edges and accesses, without the class that holds them.

Lists are sorted into compressed sparse row form; the order in which edges were listed is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simsched.files.errors import GraphError
from simsched.workload.arrays import FloatArray, Int32Array, Int64Array

MAX_INDEX = 2**31 - 1
Scalar = TypeVar("Scalar", bound=np.generic)


class Adjacency(NamedTuple):
    """Targets of each source in compressed sparse row form."""

    #: Targets of source i are ``target[ptr[i]:ptr[i + 1]]``; shape (n + 1,).
    ptr: Int64Array
    target: Int32Array


class Accesses(NamedTuple):
    """Accesses of every task, grouped by task, the body's before the join's."""

    #: Accesses of task t are entries ``ptr[t]`` to ``ptr[t + 1] - 1``; shape (n_tasks + 1,).
    ptr: Int64Array
    #: First access of the join; ``ptr[t + 1]`` when it has none; shape (n_tasks,).
    join: Int64Array
    block: Int32Array
    read_bytes: Int64Array
    written_bytes: Int64Array


def adjacency(source: ArrayLike, target: ArrayLike, n_tasks: int) -> Adjacency:
    """Return an edge list in compressed sparse row form, keeping the order of each source's edges.

    Parameters
    ----------
    source, target : array_like of int, shape (n_edges,)
        The edges in the order of their creation.
    n_tasks : int
        Number of tasks.

    Returns
    -------
    Adjacency
        Where each source's targets are in one array.

    Raises
    ------
    GraphError
        A source that is not a task or lists of different length. Targets are left to the validation
        of the graph.

    Examples
    --------
    >>> adjacency([1, 0, 1], [2, 3, 0], 4)
    Adjacency(ptr=array([0, 1, 3, 3, 3]), target=array([3, 2, 0], dtype=int32))
    """
    sources = np.asarray(source, dtype=np.int64)
    targets = np.asarray(target, dtype=np.int32)
    if len(sources) != len(targets):
        raise GraphError(f"edges: found {len(sources)} sources and {len(targets)} targets")
    order, ptr = _group(sources, n_tasks, "edge")
    return Adjacency(ptr, targets if order is None else targets[order])


def accesses(
    task: ArrayLike,
    block: ArrayLike,
    read_bytes: ArrayLike,
    written_bytes: ArrayLike,
    n_tasks: int,
    *,
    in_join: ArrayLike | None = None,
) -> Accesses:
    """Return a list of accesses grouped by task, keeping each task's order.

    Parameters
    ----------
    task, block : array_like of int, shape (n_accesses,)
        Who accesses what, in the order of execution.
    read_bytes, written_bytes : array_like of int, shape (n_accesses,)
        Bytes moved; one number for all accesses is accepted.
    n_tasks : int
        Number of tasks.
    in_join : array_like of bool, shape (n_accesses,), optional
        Accesses of the join; they come after those of the body. None by default.

    Returns
    -------
    Accesses
        Those of each task, the body's before the join's.

    Raises
    ------
    GraphError
        A task that does not exist.
    """
    tasks = np.asarray(task, dtype=np.int64)
    joined = (
        np.zeros(len(tasks), dtype=bool) if in_join is None else np.asarray(in_join, dtype=bool)
    )
    part, part_ptr = _group(2 * tasks + joined, 2 * n_tasks, "access", scale=2)
    arrays = (
        np.broadcast_to(np.asarray(values, dtype=dtype), tasks.shape)
        for values, dtype in ((block, np.int32), (read_bytes, np.int64), (written_bytes, np.int64))
    )
    ordered = [values.copy() if part is None else values[part] for values in arrays]
    ptr, join = part_ptr[::2].copy(), part_ptr[1::2].copy()
    return Accesses(ptr, join, ordered[0].astype(np.int32, copy=False), ordered[1], ordered[2])


def listed_accesses(rows: Sequence[tuple[int, ...]], n_tasks: int) -> Accesses:
    """Return accesses: each has task, block, bytes read and written, and 1 for one of the join."""
    task, block, read, written, in_join = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return accesses(task, block, read, written, n_tasks, in_join=in_join)


def _group(
    keys: Int64Array, n_groups: int, what: str, scale: int = 1
) -> tuple[Int64Array | None, Int64Array]:
    """Return the stable order that sorts `keys`, None if they are sorted, and where groups begin.

    Sorting the keys with their positions appended is stable and several times faster than a stable
    argsort.
    """
    wrong = np.flatnonzero((keys < 0) | (keys >= n_groups))
    if len(wrong):
        raise GraphError(
            f"{what} {wrong[0]}: found task {keys[wrong[0]] // scale}, "
            f"accepted 0 to {n_groups // scale - 1}"
        )
    ptr = np.zeros(n_groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=n_groups), out=ptr[1:])
    if len(keys) < 2 or bool(np.all(keys[1:] >= keys[:-1])):
        return None, ptr
    tagged = (keys << 32) | np.arange(len(keys), dtype=np.int64)
    tagged.sort()
    return tagged & 0xFFFFFFFF, ptr


def by_kind(values: ArrayLike) -> FloatArray:
    """Return costs as a contiguous matrix with one row per processor kind."""
    return np.ascontiguousarray(np.atleast_2d(np.asarray(values, dtype=np.float64)))


def filled(values: ArrayLike | None, n_tasks: int, dtype: type[Scalar]) -> NDArray[Scalar]:
    """Return `values` as a contiguous array of `dtype`, zeros when they are not given."""
    if values is None:
        return np.zeros(n_tasks, dtype=dtype)
    return np.ascontiguousarray(values, dtype=dtype)
