"""Chare programs with explicit moves of data between DDR4 and HBM, as task graphs.

A stay of a block in HBM (:mod:`simsched.policy.parts.residency`) becomes three steps: a *fetch*
that copies the block into a buffer, the tasks that use it there, an *evict* that copies it back.
Moves are tasks of their own, so that whoever executes them spends the time and both memories the
bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simsched.policy.parts.loop import flatten
from simsched.policy.parts.residency import Residency
from simsched.workload.builder import Accesses, Adjacency, accesses, adjacency, build_graph, ranks
from simsched.workload.graph import FloatArray, Int32Array, Int64Array, TaskGraph, Workload

Int8Array = NDArray[np.int8]

COMPUTE, FETCH, EVICT = 0, 1, 2


@dataclass(frozen=True, eq=False)
class MovingWorkload(Workload):
    """A program whose iteration moves its data, with who does what."""

    #: shape (n_tasks,): `COMPUTE`, `FETCH` or `EVICT` for each task of `graph`
    role: Int8Array = field(default_factory=lambda: np.empty(0, np.int8))
    #: shape (n_tasks,): processing element that computes, or for which data are moved
    pe: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))
    n_blocks: int = 0  # blocks of the program; buffers follow


@dataclass(frozen=True)
class MoveCost:
    """What a move costs beside the bandwidth."""

    seconds_per_page: float  # allocating a page of the target and releasing one of the source
    seconds: float  # locks and signals of one move
    page_bytes: int  # size of a page
    chunk_bytes: int  # A copy reads and writes in turn this many bytes; more than any cache holds
    #: shape (n_kinds,): operations per second of the machine's cores, for each kind of the graph
    ops_per_s: FloatArray

    def ops(self, size: Int64Array) -> FloatArray:
        """Return the operations of moves of `size` bytes; shape (n_kinds, n_moves)."""
        pages = -(-size // self.page_bytes)
        seconds = self.seconds + self.seconds_per_page * pages.astype(np.float64)
        ops: FloatArray = self.ops_per_s[:, None] * seconds
        return ops


def with_moves(
    workload: Workload,
    graph: TaskGraph,
    plan: Residency,
    owner: Int32Array,
    cost: MoveCost,
) -> MovingWorkload:
    """Return a program that fetches blocks before use and evicts them afterwards.

    Tasks keep their numbers. Fetch s is task ``n + 2 s``, in the order of stays, and its copy,
    which it spawns as its only child, the next one; evicts follow in the same way. Dependences are:
    fetch before each user, each user before evict, evict before the fetches that take its room or
    fetch its block again, and those of the program.
    """
    n, n_stays = graph.n_tasks, len(plan.stays)
    fetches = n + 2 * np.arange(n_stays, dtype=np.int64)
    evicts = fetches + 2 * n_stays
    n_tasks = n + 4 * n_stays
    sizes = np.concatenate((graph.block_bytes, plan.buffer_bytes))
    moved_bytes = graph.block_bytes[[stay.block for stay in plan.stays]]
    ops = np.zeros((len(graph.kinds), n_tasks))
    ops[:, :n] = graph.ops
    ops[:, fetches] = ops[:, evicts] = cost.ops(moved_bytes)
    fetch_class = len(graph.class_names)
    classes = np.full(n_tasks, fetch_class + 2, np.int32)  # copies
    classes[:n] = graph.task_class
    classes[fetches], classes[evicts] = fetch_class, fetch_class + 1
    parents = np.concatenate((fetches, evicts))
    rewritten = build_graph(
        ops,
        kinds=graph.kinds,
        task_class=classes,
        class_names=(*graph.class_names, "fetch", "evict", "copy"),
        children=adjacency(parents, parents + 1, n_tasks),
        successors=_dependences(graph, plan, fetches, evicts, n_tasks),
        accessed=_accesses(graph, plan, fetches, evicts, cost.chunk_bytes),
        block_bytes=sizes,
        arrival_ps=np.concatenate((graph.arrival_ps, np.zeros(4 * n_stays, np.int64))),
    )
    role = np.full(n_tasks, EVICT, np.int8)
    role[:n], role[n : n + 2 * n_stays] = COMPUTE, FETCH
    pe = np.zeros(n_tasks, np.int32)
    pe[:n] = owner
    pe[fetches] = owner[[stay.fetched_for for stay in plan.stays]]
    pe[evicts] = owner[[stay.users[-1] for stay in plan.stays]]
    pe[parents + 1] = pe[parents]
    init = workload.init
    if init is not None:
        init = replace(flatten(init), block_bytes=sizes)
    return MovingWorkload(
        workload.name,
        rewritten,
        workload.iterations,
        init,
        workload.parameters,
        role,
        pe,
        graph.n_blocks,
        move_classes=(fetch_class, fetch_class + 1, fetch_class + 2),
    )


def _accesses(
    graph: TaskGraph,
    plan: Residency,
    fetches: Int64Array,
    evicts: Int64Array,
    chunk_bytes: int,
) -> Accesses:
    """Return the accesses of tasks, which are redirected to buffers, and of copies."""
    n_stays = len(plan.stays)
    block = np.array([stay.block for stay in plan.stays], np.int64)
    buffer = graph.n_blocks + np.array([stay.buffer for stay in plan.stays], np.int64)
    size = graph.block_bytes[block]
    task, where, read, written = (
        np.concatenate(columns)
        for columns in zip(
            _redirected(graph, plan),
            _copies(fetches + 1, block, buffer, size, chunk_bytes),
            _copies(evicts + 1, buffer, block, size, chunk_bytes),
            strict=True,
        )
    )
    return accesses(task, where, read, written, graph.n_tasks + 4 * n_stays)


def _dependences(
    graph: TaskGraph, plan: Residency, fetches: Int64Array, evicts: Int64Array, n_tasks: int
) -> Adjacency:
    """Return the edges of the program and of its moves."""
    source = [np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))]
    target = [graph.succ.astype(np.int64)]
    users = [stay.users for stay in plan.stays]
    counts = np.array([len(found) for found in users], np.int64)
    user = np.array([task for found in users for task in found], np.int64)
    after = [stay.after for stay in plan.stays]
    waits = np.array([len(found) for found in after], np.int64)
    before = np.array([stay for found in after for stay in found], np.int64)
    source += [np.repeat(fetches, counts), user, evicts[before]]
    target += [user, np.repeat(evicts, counts), np.repeat(fetches, waits)]
    return adjacency(np.concatenate(source), np.concatenate(target), n_tasks)


_Columns = tuple[Int64Array, Int64Array, Int64Array, Int64Array]


def _redirected(graph: TaskGraph, plan: Residency) -> _Columns:
    """Return the accesses of the program, to buffers where its blocks are in HBM."""
    task = np.repeat(np.arange(graph.n_tasks, dtype=np.int64), np.diff(graph.access_ptr))
    block = graph.access_block.astype(np.int64)
    for t, stays in enumerate(plan.stays_of):
        begin, end = graph.access_ptr[t], graph.access_ptr[t + 1]
        own = graph.access_block[begin:end]
        for stay in stays:
            found = plan.stays[stay]
            block[begin:end][own == found.block] = graph.n_blocks + found.buffer
    return task, block, graph.read_bytes, graph.written_bytes


def _copies(
    task: Int64Array, source: Int64Array, target: Int64Array, size: Int64Array, chunk_bytes: int
) -> _Columns:
    """Return accesses that read one block and write another, a chunk at a time."""
    chunks = np.maximum(-(-size // chunk_bytes), 1)
    copy = np.repeat(np.arange(len(task)), chunks)
    moved = np.minimum(size[copy] - ranks(chunks) * chunk_bytes, chunk_bytes)
    none = np.zeros_like(moved)
    return (
        np.repeat(task[copy], 2),
        np.column_stack((source[copy], target[copy])).ravel(),
        np.column_stack((moved, none)).ravel(),
        np.column_stack((none, moved)).ravel(),
    )
