"""Fast Fourier transform, radix 2, by decimation in frequency: the butterfly as a dataflow graph.

With n points in B = 2^S blocks of m = n / B points:

* *Tasks.* Step s = 0 .. S - 1 pairs each block with the one ``D = B / 2^(s + 1)`` further on:
  ``combine(s, i)`` replaces the points of both by their sums and by their differences times roots
  of unity, for the B / 2 lower blocks i. Then ``transform(i)`` transforms block i to the end: ``S B
  / 2 + B`` tasks, numbered in this order. The first step reads the signal, the others work in
  place, so that each iteration transforms the same signal.
* *Edges.* From the task that wrote a block last: 2 to each combine but those of the first step, 1
  to each transform if S > 0: ``(S - 1) B + B``, or ``S B``.
* *Blocks.* B of the signal, of the points and of the roots, which another array holds beforehand
  for the initialisation to copy: ``16 m`` bytes each.
* *Bytes.* A combine reads and writes two blocks of points (the first step reads the signal instead)
  and reads one block of roots: the roots for transforms of n points lie at n / 2 to n - 1 of their
  table. A transform reads and writes one block of points and reads the first of the roots.
* *Operations.* Butterflies (6 additions and 4 multiplications): m in a combine, ``m / 2 log2(m)``
  in a transform; ``n / 2 log2(n)`` in all.
* *Initialisation.* One independent task per block draws the signal and copies the roots.

The result is in bit-reversed order.

References
----------
Cooley and Tukey, *An algorithm for the machine calculation of complex Fourier series*, Mathematics
of Computation 19, 1965. Gentleman and Sande, *Fast Fourier transforms: for fun and profit*, AFIPS
1966 (decimation in frequency). Topcuoglu, Hariri and Wu, *Performance-effective and low-complexity
task scheduling for heterogeneous computing*, IEEE TPDS 13(3), 2002 (this graph).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    AccessList,
    ProgramData,
    Seed,
    hashed_units,
    largest_error,
    refusal,
    untouched,
)
from simsched.workload.builder import adjacency
from simsched.workload.graph import Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds

CLASSES = ("initialise", "combine", "transform")
_INITIALISE, _COMBINE, _TRANSFORM = range(3)
POINT_BYTES = 16
TOLERANCE = 1e-13  # of the largest result, for each of log2(n) steps


@program(small={"points": 2048, "block_points": 128, "iterations": 2})
def fft(
    *,
    points: Annotated[int, Bounds(2, 2**30)] = 2**20,
    block_points: Annotated[int, Bounds(1, 2**30)] = 2**14,
    iterations: Annotated[int, Bounds(1, 10**6)] = 10,
    seed: Seed = 0,
) -> Program:
    """Fast Fourier transform of a random signal.

    Parameters
    ----------
    points : int
        Length of the signal, a power of two from 2.
    block_points : int
        Points of a block, a power of two, at most all.
    iterations : int
        How often the signal is transformed.
    seed : int
        Seed of the signal.
    """
    _check_power("points", points, 2, 2**30)
    _check_power("block_points", block_points, max(1, points >> 14), points)
    tasks = _enumerate(points // block_points)
    n_blocks = points // block_points
    data = ProgramData(n_blocks, len(tasks.low))
    found_points, given = untouched(points, np.complex128), _roots(points)
    ends = POINT_BYTES * block_points * np.arange(1, n_blocks + 1, dtype=np.int64)
    signal, roots = (untouched(points, np.complex128) for _ in range(2))
    arrays = (signal, found_points, given, roots)
    blocks = _Blocks(*(data.add(array, ends) for array in arrays))
    graph = _graph(tasks, block_points, data, blocks)
    init = _init(n_blocks, block_points, data, blocks)

    def result_error() -> float:
        signal = hashed_units(seed, 2 * points).view(np.complex128) - (0.5 + 0.5j)
        wanted = np.fft.fft(signal)[_bit_reversed(points)]
        return largest_error(
            found_points.view(np.float64), wanted.view(np.float64), TOLERANCE * math.log2(points)
        )

    init_args = np.zeros((n_blocks, 4), dtype=np.int64)
    init_args[:, 0] = block_points * np.arange(n_blocks)
    args = block_points * np.stack((tasks.low, tasks.distance, tasks.root, tasks.first), axis=1)
    return data.program(
        Workload("fft", graph, iterations, init),
        args=args,
        init_args=init_args,
        functions=(frozenset(CLASSES), frozenset()),
        result_error=result_error,
        params=(block_points, seed),
    )


def _check_power(parameter: str, found: int, low: int, high: int) -> None:
    """Refuse what is not a power of two or out of bounds."""
    if found & (found - 1) or not low <= found <= high:
        raise refusal("fft", parameter, found, f"a power of two, {low} to {high}")


@dataclass(frozen=True)
class _Blocks:
    """Blocks of each array."""

    signal: Int64Array
    work: Int64Array
    given: Int64Array
    roots: Int64Array


@dataclass(frozen=True)
class _Tasks:
    """All tasks in order: lower block, distance to the upper one (0 for none), block of roots.

    `first` is 1 where the signal is read, and `edges` are pairs of numbers of tasks.
    """

    low: Int64Array
    distance: Int64Array
    root: Int64Array
    first: Int64Array
    source: Int64Array
    target: Int64Array


def _enumerate(n_blocks: int) -> _Tasks:
    """Return the tasks of all steps."""
    every = np.arange(n_blocks, dtype=np.int64)
    writer = np.full(n_blocks, -1, dtype=np.int64)
    tasks, edges = [], []
    begin = 0
    for distance in (n_blocks >> step for step in range(1, n_blocks.bit_length() + 1)):
        low = every[every & distance == 0]
        touched = np.concatenate((low, low + distance)) if distance else low
        number = np.resize(begin + np.arange(len(low), dtype=np.int64), len(touched))
        edges.append((writer[touched], number))
        writer[touched] = number
        root = distance + low % max(distance, 1)
        tasks.append((low, np.full_like(low, distance), root, np.full_like(low, begin == 0)))
        begin += len(low)
    source, target = (np.concatenate(part) for part in zip(*edges, strict=True))
    lows, distances, roots, firsts = (np.concatenate(part) for part in zip(*tasks, strict=True))
    return _Tasks(lows, distances, roots, firsts, source[source >= 0], target[source >= 0])


def _graph(tasks: _Tasks, block_points: int, data: ProgramData, blocks: _Blocks) -> TaskGraph:
    n_tasks = len(tasks.low)
    every = np.arange(n_tasks, dtype=np.int64)
    pairs = np.flatnonzero(tasks.distance)
    size = POINT_BYTES * block_points
    accessed = AccessList()
    for task, block in ((every, tasks.low), (pairs, (tasks.low + tasks.distance)[pairs])):
        fresh = tasks.first[task] == 1
        accessed.add(task[fresh], blocks.signal[block[fresh]], read=size)
        accessed.add(task, blocks.work[block], read=size * ~fresh, written=size)
    accessed.add(every, blocks.roots[tasks.root], read=size)
    last_ops = block_points / 2 * np.log2(block_points)
    is_pair = tasks.distance > 0
    return data.graph(
        np.where(is_pair, float(block_points), last_ops),
        accessed,
        task_class=np.where(is_pair, _COMBINE, _TRANSFORM),
        class_names=CLASSES,
        successors=adjacency(tasks.source, tasks.target, n_tasks),
    )


def _init(n_blocks: int, block_points: int, data: ProgramData, blocks: _Blocks) -> TaskGraph:
    every = np.arange(n_blocks, dtype=np.int64)
    size = POINT_BYTES * block_points
    accessed = AccessList()
    accessed.add(every, blocks.given, read=size)
    for own in (blocks.signal, blocks.work, blocks.roots):
        accessed.add(every, own, written=size)
    return data.graph(
        np.full(n_blocks, 3.0 * block_points),
        accessed,
        task_class=np.full(n_blocks, _INITIALISE),
        class_names=CLASSES,
    )


def _roots(points: int) -> NDArray[np.complex128]:
    """Return ``exp(-2 pi i k / n)`` for k < n / 2 at n / 2 + k, for all powers of two n."""
    roots = np.zeros(points, dtype=np.complex128)
    half = points // 2
    roots[half:] = np.exp(-1j * np.pi / half * np.arange(half))
    while half > 1:
        roots[half // 2 : half] = roots[half : 2 * half : 2]
        half //= 2
    return roots


def _bit_reversed(points: int) -> Int64Array:
    """Return the numbers below a power of two with their bits in reverse."""
    order = np.zeros(1, dtype=np.int64)
    while len(order) < points:
        order = np.concatenate((2 * order, 2 * order + 1))
    return order
