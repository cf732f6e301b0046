"""Task Bench: steps of points whose dependences follow a pattern, with a kernel in each task.

Step t = 0 .. T - 1 has points i in an interval of 0 .. W - 1, one task each. Tasks are numbered
step by step, points ascending.

* *Points.* All W of them, except in step t of ``tree`` the first min(W, 2^t), and of ``dom``, a
  diagonal sweep, min(W, t + 1, T - t) from max(0, t + W - T) on.
* *Edges.* Task (t, i) starts after those tasks (t - 1, j) that exist, with r = `radix` and s = t
  mod `period`:

  ======================= =======================================================================
  ``trivial``             none
  ``no_comm``             j = i
  ``stencil_1d``          j = i - 1, i, i + 1
  ``stencil_1d_periodic`` the same around a ring
  ``dom``                 j = i - 1, i
  ``tree``                j = floor(i / 2)
  ``fft``                 j = i - 2^k, i, i + 2^k with k = (t - 1) mod ceil(log2 W)
  ``all_to_all``          every j
  ``nearest``             r neighbours, j = i - floor(r / 2) .. i + floor((r - 1) / 2)
  ``spread``              j = i, and i + floor(n W / r) + s mod W for n = 1 .. r - 1
  ``random_nearest``      j = i, and each other one of ``nearest`` with probability
                          `fraction_connected`, drawn for each s
  ======================= =======================================================================

  Successors of a task ascend.
* *Operations.* `task_ops` (``compute``), times 1 + (u - 1/2) `imbalance` with u uniform in [0, 1)
  (``imbalance``), none otherwise.
* *Blocks.* One of `output_bytes` per task, none if that is 0. With ``memory`` then one of
  `scratch_bytes` per point.
* *Bytes.* A task copies one half of its point's scratch block to the other (``memory``), reads the
  blocks of those it starts after and writes its own.

References
----------
E. Slaughter et al., *Task Bench: a parameterized benchmark for evaluating parallel runtime
performance*, SC 2020, section II and Table II (patterns, kernels); task-bench/core (numbers of the
patterns, their defaults).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import Accesses, accesses, adjacency, build_graph, check_size
from simsched.workload.draws import stream
from simsched.workload.graph import FloatArray, Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Fraction, Size, SizeOrZero, generator

Pattern = Literal[
    "trivial",
    "no_comm",
    "stencil_1d",
    "stencil_1d_periodic",
    "dom",
    "tree",
    "fft",
    "all_to_all",
    "nearest",
    "spread",
    "random_nearest",
]
Kernel = Literal["compute", "memory", "imbalance", "empty"]


class Dependences(NamedTuple):
    """Which points depend on which, whether these exist or not, by point; one pair each."""

    point: Int64Array
    before: Int64Array


@dataclass(frozen=True)
class Shape:
    """What patterns depend on."""

    width: int
    steps: int
    radix: int
    period: int
    fraction: float
    seed: int


@generator(
    "task_bench",
    small={"width": 6, "steps": 5, "task_ops": 2e4, "iterations": 2},
    random_if=lambda given: given["kernel"] == "imbalance" or given["pattern"] == "random_nearest",
)
def task_bench(
    seed: int,
    *,
    pattern: Pattern = "stencil_1d",
    width: Count = 64,
    steps: Count = 100,
    radix: Annotated[int, Bounds(0, 2**31 - 1)] = 3,
    period: Count = 3,
    fraction_connected: Fraction = 0.25,
    kernel: Kernel = "compute",
    task_ops: Cost = 1e6,
    imbalance: Annotated[float, Bounds(0, 2)] = 1.0,
    scratch_bytes: Size = 65536,
    output_bytes: SizeOrZero = 16,
    iterations: Count = 1,
) -> Workload:
    """Task Bench: steps of points with a pattern of dependences and a kernel.

    Parameters
    ----------
    seed : int
        Seed of ``random_nearest`` and ``imbalance``.
    pattern : {"trivial", "no_comm", "stencil_1d", ...}
        Which tasks of the step before a task starts after.
    width, steps : int
        Points of a step at most, and steps.
    radix : int
        Dependences of a task of ``nearest`` and ``spread``, at most of ``random_nearest``.
    period : int
        Steps after which ``spread`` and ``random_nearest`` repeat.
    fraction_connected : float
        Probability of a dependence of ``random_nearest``.
    kernel : {"compute", "memory", "imbalance", "empty"}
        What a task does.
    task_ops : float
        Mean operations of ``compute`` and ``imbalance``.
    imbalance : float
        Width of the distribution of ``imbalance``, relative to its mean.
    scratch_bytes : int
        What a task of ``memory`` copies within, one block per point.
    output_bytes : int
        What a task hands on to each that starts after it.
    iterations : int
        How often the graph is repeated.
    """
    shape = Shape(width, steps, radix, period, fraction_connected, seed)
    n_tasks = steps * width
    edges = n_tasks * _most_dependences(pattern, shape)
    moved = edges * output_bytes + n_tasks * (output_bytes + scratch_bytes)
    check_size("task_bench", tasks=n_tasks, edges=edges, data_bytes=moved)
    first, count = _points(pattern, shape)
    start = np.append(0, np.cumsum(count))
    before, after = _edges(pattern, shape, first, count, start)
    n_tasks = int(start[-1])
    point = np.concatenate([np.arange(f, f + n) for f, n in zip(first, count, strict=True)])
    scratch = scratch_bytes if kernel == "memory" else 0
    sizes = ([output_bytes] * bool(output_bytes), n_tasks), ([scratch] * bool(scratch), width)
    graph = build_graph(
        _operations(kernel, n_tasks, task_ops, imbalance, seed),
        class_names=(kernel,),
        successors=adjacency(before, after, n_tasks),
        accessed=_accesses(point, before, after, output_bytes, scratch),
        block_bytes=np.concatenate([np.repeat(np.array(s, np.int64), n) for s, n in sizes]),
    )
    return Workload("task_bench", graph, iterations)


def _operations(
    kernel: Kernel, n_tasks: int, mean: float, imbalance: float, seed: int
) -> FloatArray:
    """Return the operations of all tasks."""
    if kernel == "imbalance":
        return mean * (1.0 + (stream(seed, "imbalance").random(n_tasks) - 0.5) * imbalance)
    return np.full(n_tasks, mean if kernel == "compute" else 0.0)


def _accesses(
    point: Int64Array, before: Int64Array, after: Int64Array, output: int, scratch: int
) -> Accesses:
    """Return what tasks copy within their scratch, then read of others, then write."""
    every = np.arange(len(point), dtype=np.int64)
    parts = []
    if scratch:
        first = len(point) if output else 0
        parts.append((every, first + point, scratch // 2, scratch - scratch // 2))
    if output:
        parts += [(after, before, output, 0), (every, every, 0, output)]
    task, block, read, written = (
        np.concatenate([np.broadcast_to(part[at], part[0].shape) for part in parts] or [every[:0]])
        for at in range(4)
    )
    return accesses(task, block, read, written, len(point))


def _points(pattern: Pattern, shape: Shape) -> tuple[Int64Array, Int64Array]:
    """Return the first point of each step and their number."""
    step = np.arange(shape.steps, dtype=np.int64)
    first, count = np.zeros_like(step), np.full_like(step, shape.width)
    if pattern == "tree":
        count = np.minimum(count, 1 << np.minimum(step, 62))
    elif pattern == "dom":
        first = np.maximum(0, step + shape.width - shape.steps)
        count = np.minimum(count, np.minimum(step + 1, shape.steps - step))
    return first, count


def _edges(
    pattern: Pattern, shape: Shape, first: Int64Array, count: Int64Array, start: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Return the tasks at both ends of all edges, by ascending task that waits."""
    make = _PATTERNS[pattern]
    sets = _sets(pattern, shape)
    known = [make(shape, number) for number in range(sets)]
    shift = 1 if pattern == "fft" else 0
    sources, targets = [start[:0]], [start[:0]]
    for step in range(1, shape.steps):
        point, before = known[(step - shift) % sets]
        here, there = point - first[step], before - first[step - 1]
        exists = (here >= 0) & (here < count[step]) & (there >= 0) & (there < count[step - 1])
        sources.append(start[step - 1] + there[exists])
        targets.append(start[step] + here[exists])
    return np.concatenate(sources), np.concatenate(targets)


def _sets(pattern: Pattern, shape: Shape) -> int:
    """Return after how many steps a pattern repeats."""
    if pattern == "fft":
        return max(1, (shape.width - 1).bit_length())
    if pattern not in ("spread", "random_nearest"):
        return 1
    if pattern == "spread":
        if not 1 <= shape.radix <= shape.width:
            _refuse("radix", shape.radix, f"1 to {shape.width}, the width, with spread")
        most = -(-shape.width // shape.radix)
        if shape.period > most:
            _refuse("period", shape.period, f"1 to {most}, width over radix, with spread")
    return min(shape.period, shape.steps)


def _refuse(name: str, found: int, accepted: str) -> None:
    raise ConfigurationError(
        f"workload task_bench: parameter {name}: found {found}, accepted {accepted}"
    )


def _most_dependences(pattern: Pattern, shape: Shape) -> int:
    """Return how many dependences a task has at most."""
    by_radix = pattern in ("nearest", "spread", "random_nearest")
    few = {"trivial": 0, "no_comm": 1, "tree": 1, "dom": 2, "all_to_all": shape.width}
    return min(shape.width, max(1, shape.radix) if by_radix else few.get(pattern, 3))


def _beside(shape: Shape, *offsets: int) -> Dependences:
    """Return the dependences on points at some distances, where there are such points."""
    point = np.repeat(np.arange(shape.width, dtype=np.int64), len(offsets))
    before = point + np.tile(np.array(offsets, np.int64), shape.width)
    exists = (before >= 0) & (before < shape.width)
    return Dependences(point[exists], before[exists])


def _around(shape: Shape, offsets: list[int]) -> Dependences:
    """Return the dependences on points at some distances around a ring, each once."""
    every = np.arange(shape.width, dtype=np.int64)
    different = sorted({offset % shape.width for offset in offsets})
    before = np.sort((every[:, None] + np.array(different)) % shape.width, axis=1)
    return Dependences(np.repeat(every, len(different)), before.ravel())


def _window(shape: Shape, _: int) -> Dependences:
    reach = range(
        max(-(shape.radix // 2), 1 - shape.width),
        min((shape.radix - 1) // 2, shape.width - 1) + 1,
    )
    return _beside(shape, *reach)


def _spread(shape: Shape, number: int) -> Dependences:
    far = [n * shape.width // shape.radix + number for n in range(1, shape.radix)]
    return _around(shape, [0, *far])


def _drawn(shape: Shape, number: int) -> Dependences:
    point, before = _window(shape, number)
    random = stream(shape.seed, f"edges of step {number}").random(len(point))
    chosen = (random < shape.fraction) | (point == before)
    return Dependences(point[chosen], before[chosen])


def _tree(shape: Shape, _: int) -> Dependences:
    every = np.arange(shape.width, dtype=np.int64)
    return Dependences(every, every // 2)


def _all(shape: Shape, _: int) -> Dependences:
    every = np.arange(shape.width, dtype=np.int64)
    return Dependences(np.repeat(every, shape.width), np.tile(every, shape.width))


#: Dependences of a pattern by the number of the set that is due.
_PATTERNS: dict[Pattern, Callable[[Shape, int], Dependences]] = {
    "trivial": lambda shape, _: _beside(shape),
    "no_comm": lambda shape, _: _beside(shape, 0),
    "stencil_1d": lambda shape, _: _beside(shape, -1, 0, 1),
    "stencil_1d_periodic": lambda shape, _: _around(shape, [-1, 0, 1]),
    "dom": lambda shape, _: _beside(shape, -1, 0),
    "tree": _tree,
    "fft": lambda shape, number: _beside(shape, -(2**number), 0, 2**number),
    "all_to_all": _all,
    "nearest": _window,
    "spread": _spread,
    "random_nearest": _drawn,
}
