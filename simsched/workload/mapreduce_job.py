"""MapReduce jobs as task graphs, and what a job tracker reads from one.

A job with S splits and R reduce tasks has S map tasks, then R reduce tasks. A reduce task may start
when the first ``E = ceil(slowstart * S)`` map tasks have ended (``E R`` edges; a job tracker takes
any E for that, see :mod:`simsched.policy.parts.mapreduce_waiting`); it then copies the outputs one
after the other in the order in which the map tasks end.

* *Map task*: phase 1 reads its split and writes what the map function spills, phase 2 (reorder)
  writes the sorted output, which has one part for each reduce task.
* *Reduce task*: the copy phase reads its part of every map output, one access each, into a buffer
  in memory; whenever that is full, it becomes a sorted file on the node's disk. The sort phase
  writes what is still in memory and merges files until one pass can read them all
  (:func:`files_of_reduce`); the reduce phase reads the files and writes the result.
* *Blocks*: S splits, S spills, S map outputs, R copied files, R results. Only splits exist before
  the job; the others are where their task is executed.
* *Operations*: the map function takes place while the split is read. Copying computes nothing; the
  sort phase and the reduce phase divide a reduce task's operations by the bytes that each moves,
  those of the sort phase times `sort_ops_ratio`.

The files of a reduce task are one block. Writes of the copy phase are as many as copies, each after
one of them; there are none if the buffer never fills. The phases follow the documented shuffle of
Hadoop 0.19 (docs/sources/mapreduce.md).

Classes are named ``user/application.map`` and ``user/application.reduce``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import accesses, adjacency, build_graph, check_size
from simsched.workload.draws import draw_costs, stream
from simsched.workload.graph import BoolArray, Int32Array, Int64Array, TaskGraph, Workload
from simsched.workload.registry import MIB, Cost, Count, Fraction, Size

MAP, REDUCE = 0, 1  #: kinds of tasks
ENDINGS = (".map", ".reduce")  #: of the names of their classes
_ENDS_OF_MAP = (2, 3)  # of its phases, as accesses: read, spill; output
_LAST_OF_REDUCE = 3  # accesses of a reduce task after the copy phase: sort, read, write

BUFFER_BYTES = int(200 * MIB * 0.70 * 0.66)  #: copied bytes that become one file, Hadoop 0.19
MERGE_FACTOR = 10  #: files that are merged at a time, Hadoop 0.19
MOST_FILES = 1000  #: that a reduce task may have


@dataclass(frozen=True)
class JobShape:
    """Sizes and costs of a job."""

    splits: int
    reduces: int
    split_bytes: int
    #: Bytes of map output over bytes of input.
    map_output_ratio: float
    #: Bytes of the result over bytes of map output.
    output_ratio: float
    #: Operations per byte of input of a map task, and per copied byte of a reduce task.
    map_ops_per_byte: float
    reduce_ops_per_byte: float
    #: Standard deviation over mean of the operations of single tasks (lognormal).
    task_noise: float
    #: Standard deviation over mean of the parts that reduce tasks get (lognormal).
    skew: float
    #: Part of the map tasks that have ended when reduce tasks may start.
    slowstart: float = 1.0
    #: Copied bytes that a reduce task keeps in memory until it writes them to a file.
    buffer_bytes: int = BUFFER_BYTES
    #: Operations per byte that the sort phase moves, over those of the reduce phase.
    sort_ops_ratio: float = 1.0

    @property
    def early(self) -> int:
        """Number of map tasks for whose end reduce tasks wait before they start."""
        return math.ceil(self.slowstart * self.splits - 1e-9)


@dataclass(frozen=True)
class Job:
    """A job: what it is, whose it is, when it arrives."""

    application: str
    user: str
    arrival_ps: int
    shape: JobShape


class _Part(NamedTuple):
    """One job's share of a graph, its own tasks and blocks counted from 0."""

    ops: np.ndarray
    rows: np.ndarray  # (task, block, read, written, task to wait for or -1) of each access
    share: np.ndarray  # of the operations of its task, of each access
    block_bytes: np.ndarray


def job_graph(jobs: Sequence[Job], random: np.random.Generator) -> TaskGraph:
    """Return the graph of several jobs, one after another in the numbering."""
    parts = [_part(job.shape, random) for job in jobs]
    classes = list(dict.fromkeys(f"{j.user}/{j.application}{end}" for j in jobs for end in ENDINGS))
    rows, source, target, kind, arrival = [], [], [], [], []
    n_tasks = n_blocks = 0
    for job, part in zip(jobs, parts, strict=True):
        shape = job.shape
        waits = part.rows[:, 4:] >= 0
        rows.append(part.rows + np.array([n_tasks, n_blocks, 0, 0, 0]))
        rows[-1][:, 4:][waits] += n_tasks
        maps = n_tasks + np.arange(shape.early)
        reduces = n_tasks + shape.splits + np.arange(shape.reduces)
        source.append(np.repeat(maps, shape.reduces))
        target.append(np.tile(reduces, shape.early))
        name = f"{job.user}/{job.application}"
        kind += [classes.index(f"{name}.map")] * shape.splits
        kind += [classes.index(f"{name}.reduce")] * shape.reduces
        arrival.append(np.full(len(part.ops), job.arrival_ps))
        n_tasks += len(part.ops)
        n_blocks += len(part.block_bytes)
    task, block, read, written, after = np.concatenate(rows).T
    by_task = np.argsort(task, kind="stable")
    return build_graph(
        np.concatenate([part.ops for part in parts]),
        task_class=np.array(kind, np.int32),
        class_names=tuple(classes),
        successors=adjacency(np.concatenate(source), np.concatenate(target), n_tasks),
        accessed=accesses(task, block, read, written, n_tasks),
        access_share=np.concatenate([part.share for part in parts])[by_task],
        block_bytes=np.concatenate([part.block_bytes for part in parts]),
        arrival_ps=np.concatenate(arrival),
        access_after=after[by_task] if (after >= 0).any() else None,
    )


def files_of_reduce(copied: int, buffer_bytes: int) -> tuple[int, int]:
    """Return the bytes that a reduce task writes while it copies, and that its sort phase merges.

    Every full buffer becomes a file, the rest another one in the sort phase. As long as there are
    more than `MERGE_FACTOR` files, the smallest ones become one: in the first pass as many as leave
    `MERGE_FACTOR` files to every later pass. A pass reads and writes what it merges.

    >>> files_of_reduce(250, 100)
    (200, 0)
    >>> files_of_reduce(1200, 100)  # twelve files: three of them are merged
    (1200, 300)
    """
    full, rest = divmod(copied, buffer_bytes)
    if full >= MOST_FILES:
        raise ConfigurationError(
            f"buffer_bytes: found {buffer_bytes} for a reduce task that copies {copied} bytes, "
            f"accepted {copied // MOST_FILES + 1} or more: at most {MOST_FILES} files"
        )
    files = sorted([buffer_bytes] * full + [rest] * (rest > 0))
    merged = 0
    while len(files) > MERGE_FACTOR:
        extra = (len(files) - 1) % (MERGE_FACTOR - 1)
        count = extra + 1 if extra else MERGE_FACTOR
        merged += sum(files[:count])
        files = sorted([*files[count:], sum(files[:count])])
    return full * buffer_bytes, merged


def _copies(shape: JobShape, part: Int64Array, spilled: Int64Array) -> tuple[Int64Array, ...]:
    """Return the accesses of the copy phases: task, block, read, written, task to wait for.

    A copy and the write after it wait for the same map task, which keeps them together.
    """
    splits, reduces = shape.splits, shape.reduces
    reduce = np.repeat(np.arange(reduces), 2 * splits)
    source = np.tile(np.repeat(np.arange(splits), 2), reduces)
    is_write = np.tile([False, True], splits * reduces)
    written = np.diff(np.arange(splits + 1) * spilled[:, None] // splits, axis=1)
    keep = ~is_write | (spilled > 0)[reduce]
    rows = (
        splits + reduce,
        np.where(is_write, 3 * splits + reduce, 2 * splits + source),
        np.where(is_write, 0, part[reduce]),
        np.where(is_write, written[reduce, source], 0),
        source,
    )
    return tuple(row[keep] for row in rows)


def _part(shape: JobShape, random: np.random.Generator) -> _Part:
    """Return the tasks of one job."""
    splits, reduces = shape.splits, shape.reduces
    every, each = np.arange(splits), np.arange(reduces)
    share = draw_costs(random, reduces, 1.0, "lognormal", shape.skew)
    part = np.maximum(1, shape.split_bytes * shape.map_output_ratio * share / share.sum())
    part = part.astype(np.int64)  # of each map output, by reduce task
    output, copied = int(part.sum()), part * splits
    result = np.maximum(1, copied * shape.output_ratio).astype(np.int64)
    spill, out, run = every + splits, every + 2 * splits, each + 3 * splits
    final, reducer = run + reduces, each + splits
    zero, zeros = np.zeros(splits, np.int64), np.zeros(reduces, np.int64)
    size = np.full(splits, shape.split_bytes)
    written = np.full(splits, output)
    spilled, merged = np.array([files_of_reduce(c, shape.buffer_bytes) for c in copied.tolist()]).T
    sorting = shape.sort_ops_ratio * (copied - spilled + 2 * merged)
    computing = sorting + copied + result  # the operations of reduce tasks, by bytes
    rows: list[tuple[Any, ...]] = [  # the share of the operations comes last
        (every, every, size, zero, -1, 1.0),
        (every, spill, zero, written, -1, 0.0),
        (every, out, zero, written, -1, 0.0),
        (*_copies(shape, part, spilled), 0.0),
        (reducer, run, merged, copied - spilled + merged, -1, sorting / computing),
        (reducer, run, copied, zeros, -1, copied / computing),
        (reducer, final, zeros, result, -1, result / computing),
    ]
    ops = np.append(
        np.full(splits, shape.map_ops_per_byte * shape.split_bytes),
        shape.reduce_ops_per_byte * copied,
    )
    return _Part(
        ops * draw_costs(random, splits + reduces, 1.0, "lognormal", shape.task_noise),
        np.concatenate([np.column_stack(np.broadcast_arrays(*row[:-1])) for row in rows]),
        np.concatenate([np.broadcast_to(row[-1], np.shape(row[0])) for row in rows]),
        np.concatenate([size, written, written, copied, result]),
    )


def single_job(
    name: str,
    application: str,
    seed: int,
    *,
    splits: Count = 64,
    reduces: Count = 16,
    split_bytes: Size = 64 * MIB,
    map_output_ratio: Cost = 1.0,
    output_ratio: Cost = 1.0,
    map_ops_per_byte: Cost = 4000.0,
    reduce_ops_per_byte: Cost = 2000.0,
    task_noise: Cost = 0.1,
    skew: Cost = 0.1,
    slowstart: Fraction = 1.0,
    buffer_bytes: Size = BUFFER_BYTES,
    sort_ops_ratio: Cost = 1.0,
    iterations: Count = 1,
) -> Workload:
    """Return a program that is one MapReduce job.

    Parameters
    ----------
    name : str
        Name of the workload.
    application : str
        Name of the application.
    seed : int
        Seed of noise and skew.
    splits, reduces : int
        Number of map and reduce tasks: four waves and one on eight nodes with two slots each.
    split_bytes : int
        Bytes of a split, one block of the file system.
    map_output_ratio, output_ratio : float
        Bytes of map output over input, and of the result over map output.
    map_ops_per_byte, reduce_ops_per_byte : float
        Operations per byte of input of map tasks, and per copied byte of reduce tasks.
    task_noise, skew : float
        Standard deviation over mean of the operations of tasks, and of the parts of reduce tasks.
    slowstart : float
        Part of the map tasks that have ended when reduce tasks may start; 0.05 in Hadoop. The
        default lets workers that know of no slots run the job: started early, a reduce task holds
        its worker while it waits.
    buffer_bytes : int
        Copied bytes that a reduce task keeps in memory until it writes them to a file.
    sort_ops_ratio : float
        Operations per byte that the sort phase moves, over those per byte of the reduce phase: 0
        leaves all operations of a reduce task to the reduce function.
    iterations : int
        How often the job runs; earlier ones train a scheduler that keeps a history.
    """
    check_size(name, tasks=splits + reduces, edges=splits * reduces)
    shape = JobShape(
        splits,
        reduces,
        split_bytes,
        map_output_ratio,
        output_ratio,
        map_ops_per_byte,
        reduce_ops_per_byte,
        task_noise,
        skew,
        slowstart,
        buffer_bytes,
        sort_ops_ratio,
    )
    graph = job_graph([Job(application, "user0", 0, shape)], stream(seed, "tasks"))
    return Workload(name, graph, iterations)


def has_jobs(graph: TaskGraph) -> bool:
    """Return whether a graph has tasks of a class of this module, and no spawn tree."""
    return len(graph.child) == 0 and any(name.endswith(ENDINGS) for name in graph.class_names)


@dataclass(frozen=True, eq=False)
class JobTasks:
    """A task graph as a job tracker sees it."""

    #: Any graph. Tasks that are not of a class of this module count as map tasks; tasks that edges,
    #: spawning or waiting connect are one job.
    graph: TaskGraph

    @cached_property
    def kind(self) -> Int32Array:
        """`MAP` or `REDUCE` of each task."""
        reduces = [name.endswith(ENDINGS[REDUCE]) for name in self.graph.class_names]
        return np.array(reduces, np.int32)[self.graph.task_class]

    @cached_property
    def job(self) -> Int32Array:
        """Number of each task's job, in the order of their first tasks."""
        graph, n = self.graph, self.graph.n_tasks
        source = np.repeat(np.arange(n), np.diff(graph.succ_ptr))
        parent = np.repeat(np.arange(n), np.diff(graph.child_ptr))
        ends = np.append(source, parent), np.append(graph.succ, graph.child)
        if graph.access_after is not None:
            task = np.repeat(np.arange(n), np.diff(graph.access_ptr))[graph.access_after >= 0]
            awaited = graph.access_after[graph.access_after >= 0]
            ends = np.append(ends[0], awaited), np.append(ends[1], task)
        ones = np.ones(len(ends[0]), np.int8)
        found = scipy.sparse.csgraph.connected_components(
            scipy.sparse.coo_array((ones, ends), shape=(n, n)), directed=False
        )[1]
        _, first = np.unique(found, return_index=True)
        return np.argsort(np.argsort(first)).astype(np.int32)[found]

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """User and application of each job."""
        first = np.unique(self.job, return_index=True)[1]
        classes = [self.graph.class_names[c] for c in self.graph.task_class[first].tolist()]
        split = [name.rpartition(".")[0] or name for name in classes]
        return [(user, application) for user, _, application in (s.rpartition("/") for s in split)]

    @property
    def n_jobs(self) -> int:
        """Number of jobs."""
        return int(self.job.max()) + 1

    @cached_property
    def counts(self) -> Int64Array:
        """Number of tasks of each kind in each job; shape (2, n_jobs)."""
        numbers = np.bincount(2 * self.job + self.kind, minlength=2 * self.n_jobs)
        return numbers.reshape(-1, 2).T

    @cached_property
    def bytes_before(self) -> Int64Array:
        """Bytes of all accesses before each one; shape (n_accesses + 1,)."""
        moved = self.graph.read_bytes + self.graph.written_bytes
        return np.append(0, np.cumsum(moved))

    @cached_property
    def phase_ends(self) -> list[tuple[int, ...]]:
        """For each task the ends of its phases, as accesses counted from the task's first."""
        counts = (self.graph.join_access - self.graph.access_ptr[:-1]).tolist()
        named = [name.endswith(ENDINGS) for name in self.graph.class_names]
        ends: list[tuple[int, ...]] = []
        for count, kind, of_class in zip(
            counts, self.kind.tolist(), self.graph.task_class.tolist(), strict=True
        ):
            if not named[of_class]:
                ends.append((count, count))
            elif kind == MAP:
                ends.append((count - 1, count))
            else:
                ends.append((count - _LAST_OF_REDUCE, count - _LAST_OF_REDUCE + 1, count))
        return ends

    def phase(self, task: int, access: int, fraction: float) -> tuple[int, float]:
        """Return the phase of a task and the part of it that is done.

        `access` is its present one, counted from its first, and `fraction` the part of that which
        is done. Phases go by bytes, the first one of a map task by the part of its split that is
        read.
        """
        ends = self.phase_ends[task]
        if ends[-1] == 0:
            return 0, fraction
        number = next((i for i, end in enumerate(ends) if access < end), len(ends) - 1)
        if number == 0 and ends == _ENDS_OF_MAP:
            return number, fraction if access == 0 else 1.0
        first = int(self.graph.access_ptr[task])
        start = first + (ends[number - 1] if number else 0)
        before = self.bytes_before
        total = int(before[first + ends[number]] - before[start])
        if total <= 0:
            return number, fraction
        here = first + access
        done = int(before[here] - before[start]) + fraction * int(before[here + 1] - before[here])
        return number, done / total

    @cached_property
    def input_block(self) -> Int32Array:
        """Block that each map task reads first, -1 for other tasks; shape (n_tasks,)."""
        graph = self.graph
        block = np.full(graph.n_tasks, -1, np.int32)
        has = (graph.join_access > graph.access_ptr[:-1]) & (self.kind == MAP)
        block[has] = graph.access_block[graph.access_ptr[:-1][has]]
        return block

    @cached_property
    def is_private(self) -> BoolArray:
        """Which blocks a single task accesses, and writes: files that nobody else reads."""
        graph = self.graph
        task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
        lowest = np.full(graph.n_blocks, graph.n_tasks)
        highest = np.full(graph.n_blocks, -1)
        np.minimum.at(lowest, graph.access_block, task)
        np.maximum.at(highest, graph.access_block, task)
        private: BoolArray = (lowest == highest) & ~self.is_input
        return private

    @cached_property
    def is_input(self) -> BoolArray:
        """Which blocks are there before the first task: those that no task writes."""
        written = np.zeros(self.graph.n_blocks, bool)
        written[self.graph.access_block[self.graph.written_bytes > 0]] = True
        return ~written
