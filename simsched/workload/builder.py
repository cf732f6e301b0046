"""Arrays in, :class:`~simsched.workload.graph.TaskGraph` out.

Generators and importers produce lists of edges and accesses. What sorts them into compressed sparse
row form stands in :mod:`simsched.workload.listed`, what fills in the rest in `TaskGraph.build`;
all of it is imported from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simsched.files.errors import ConfigurationError
from simsched.files.limits import EDGES, TASKS
from simsched.workload.graph import BoolArray, Int64Array, TaskGraph
from simsched.workload.listed import MAX_INDEX as MAX_INDEX
from simsched.workload.listed import Accesses as Accesses
from simsched.workload.listed import Adjacency as Adjacency
from simsched.workload.listed import accesses as accesses
from simsched.workload.listed import adjacency as adjacency
from simsched.workload.listed import listed_accesses as listed_accesses

MAX_TASKS = 2**28
MAX_DATA_BYTES = 2**60
LAST_ARRIVAL_S = 2**62 * 1e-12  #: simulated time ends there

build_graph = TaskGraph.build  # what generators and importers call it


class Overlaps(NamedTuple):
    """Pieces of item ranges, one per part that a range touches."""

    #: Which range a piece comes from, ascending.
    owner: Int64Array
    #: Which part it lies in, ascending for each owner.
    part: Int64Array
    first: Int64Array
    #: Number of items in the piece, at least 1.
    items: Int64Array


def edges(pairs: Iterable[tuple[NDArray[Any], ...]], n_tasks: int) -> Adjacency:
    """Return the edges between the tasks of pairs of arrays, those of one pair after another's."""
    source, target = (
        np.concatenate([array.ravel() for array in ends]) for ends in zip(*pairs, strict=True)
    )
    return adjacency(source, target, n_tasks)


def merge_accesses(
    task: Int64Array,
    block: Int64Array,
    read_bytes: Int64Array,
    written_bytes: Int64Array,
    n_tasks: int,
) -> Accesses:
    """Return accesses by ascending block with at most one per task and block, bytes added up."""
    keys, where = np.unique((task << 32) | block, return_inverse=True)
    read = np.zeros(len(keys), dtype=np.int64)
    written = np.zeros(len(keys), dtype=np.int64)
    np.add.at(read, where, read_bytes)
    np.add.at(written, where, written_bytes)
    return accesses(keys >> 32, keys & 0xFFFFFFFF, read, written, n_tasks)


def overlaps(first: Int64Array, last: Int64Array, bounds: Int64Array) -> Overlaps:
    """Return how half-open ranges of items are spread over consecutive parts.

    A range holds the items `first` to `last` - 1, none if it is empty; part p holds those from
    ``bounds[p]`` to ``bounds[p + 1] - 1``, which ascend strictly.

    The pieces of a range add up to ``last - first`` when the range lies within the bounds.
    """
    lowest = np.searchsorted(bounds, first, side="right") - 1
    highest = np.searchsorted(bounds, last, side="left")
    counts = np.where(last > first, highest - lowest, 0)
    owner = np.repeat(np.arange(len(first), dtype=np.int64), counts)
    part = lowest[owner] + ranks(counts)
    begin = np.maximum(first[owner], bounds[part])
    return Overlaps(owner, part, begin, np.minimum(last[owner], bounds[part + 1]) - begin)


def entries(ptr: Int64Array, rows: NDArray[np.integer]) -> Int64Array:
    """Return where the lists of some rows stand in an array of all lists, one after the other.

    List r is in the places ``ptr[r]`` to ``ptr[r + 1] - 1``.

    >>> entries(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    counts = ptr[rows + 1] - ptr[rows]
    return np.repeat(ptr[rows], counts) + ranks(counts)


def ranks(counts: Int64Array) -> Int64Array:
    """Return 0, 1, ..., count - 1 for each count, one after the other.

    >>> ranks(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) - np.repeat(ends - counts, counts)


def distinct(keys: Int64Array) -> Int64Array:
    """Return sorted keys, each once.

    np.unique hashes such keys, which takes ten times as long as to sort them.
    """
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=keys[:1] - 1) > 0]


def last_writes(accessed: Accesses) -> BoolArray:
    """Return which accesses are the last ones, in the order of tasks, that write to their block."""
    writes = np.flatnonzero(accessed.written_bytes > 0)[::-1]
    _, place = np.unique(accessed.block[writes], return_index=True)
    is_last = np.zeros(len(accessed.block), dtype=np.bool_)
    is_last[writes[place]] = True
    return is_last


def updates(
    read: Sequence[tuple[BoolArray, Int64Array]], updated: Int64Array, block_bytes: int
) -> Accesses:
    """Return the accesses of tasks that read whole blocks, then read and write one of their own.

    Blocks that are read are columns, each with the tasks that have it.
    """
    touched = [*read, (np.ones(len(updated), dtype=bool), updated)]
    exists = np.stack([mask for mask, _ in touched], axis=1)
    block = np.stack([column for _, column in touched], axis=1)[exists]
    task, place = np.nonzero(exists)
    written = np.where(place == len(read), block_bytes, 0)
    return accesses(task, block, block_bytes, written, len(updated))


def after_last_writers(accessed: Accesses) -> Adjacency:
    """Return the edges by which each task follows the last writers of all blocks that it accesses.

    A task before it, in the order of numbers, has written the block; tasks access a block once.
    """
    n_tasks = len(accessed.join)
    task = np.repeat(np.arange(n_tasks, dtype=np.int32), np.diff(accessed.ptr))
    order = np.argsort(accessed.block, kind="stable")  # by block, then by task
    block, place = accessed.block[order], np.arange(len(order), dtype=np.int32)
    latest = np.maximum.accumulate(np.where(accessed.written_bytes[order] > 0, place, np.int32(-1)))
    before = np.concatenate(([np.int32(-1)], latest[:-1]))
    follows = (before >= 0) & (block[before] == block)
    writer = np.full(len(order), -1, dtype=np.int32)
    writer[order[follows]] = task[order[before[follows]]]
    return adjacency(writer[writer >= 0], task[writer >= 0], n_tasks)


def first_touch_loop(
    block_bytes: Int64Array, ops: ArrayLike, *, kinds: Sequence[str] = ("cpu",)
) -> TaskGraph:
    """Return an initialisation in which one independent task per block writes the whole block.

    Parameters
    ----------
    block_bytes : ndarray of int64, shape (n_blocks,)
        Sizes of the blocks.
    ops : array_like of float, shape (n_blocks,) or (n_kinds, n_blocks)
        Operations of each task; one number for all is accepted, or a column with one for each kind
        of processor. Infinite where a kind cannot execute it.
    kinds : sequence of str
        Processor kinds, those of the program; ``("cpu",)`` by default.

    Returns
    -------
    TaskGraph
        Its blocks are those of the program.
    """
    n_blocks = len(block_bytes)
    every = np.arange(n_blocks, dtype=np.int64)
    return build_graph(
        np.broadcast_to(np.asarray(ops, dtype=np.float64), (len(kinds), n_blocks)),
        kinds=kinds,
        class_names=("initialise",),
        accessed=accesses(every, every, 0, block_bytes, n_blocks),
        block_bytes=block_bytes,
    )


def check_size(workload: str, *, tasks: int = 0, edges: float = 0, data_bytes: float = 0) -> None:
    """Refuse parameters whose graph could not be held, before anything is allocated.

    Parameters
    ----------
    workload : str
        Name for the message.
    tasks, edges, data_bytes : int or float
        What the graph would have; 0 by default.

    Raises
    ------
    ConfigurationError
        More tasks or edges than the limits of `simsched.files.limits`, or more than
        `MAX_DATA_BYTES`.
    """
    where = f"workload {workload}"
    TASKS.check(tasks, where)
    EDGES.check(edges, where)
    if data_bytes > MAX_DATA_BYTES:
        raise ConfigurationError(
            f"{where}: found {data_bytes:.4g} bytes of data, accepted at most {MAX_DATA_BYTES}"
        )


def check_arrival(workload: str, key: str, value: float, last_s: float) -> None:
    """Refuse a parameter with which tasks arrive after `LAST_ARRIVAL_S`, or that is no number."""
    if not last_s <= LAST_ARRIVAL_S:
        raise ConfigurationError(
            f"workload {workload}: {key}: found {value!r}, with which arrivals go on for "
            f"{last_s:.4g} s, accepted at most {LAST_ARRIVAL_S:.4g} s (2**62 ps)"
        )
