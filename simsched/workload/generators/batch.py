"""Batches of independent tasks of a few functions, a batch per iteration.

A main task spawns N children of m functions, whose tasks cost between `heavy_ops` and `light_ops`:

* *Functions.* Function i, counted from 0, costs ``heavy (light / heavy)^(i / (m - 1))`` operations,
  each task of it within `spread` of that; one function alone costs `heavy_ops`. The numbers of
  tasks are

  - ``skew``: in proportion to ``cost^-skew``: 0 gives equal numbers, 1 equal shares of the work; at
    least one each, and the lightest has what rounding down leaves of N;
  - ``alpha``: `alpha` of each function but the lightest, which has the other ``N - (m - 1) alpha``.

* *Order.* Children are spawned in random order, or heavy functions first or last.
* *Blocks.* None: the programs are bound by computation.

References
----------
Book of docs/sources, section 5.10, Table 5.7 and Fig. 5.13 (docs/sources/aats.md).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import adjacency, build_graph, check_size
from simsched.workload.draws import draw_costs, stream
from simsched.workload.graph import FloatArray, Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Fraction, generator

Counts = Literal["skew", "alpha"]


@generator(
    "batch",
    small={"tasks": 24, "functions": 4, "iterations": 3},
    random_if=lambda given: given["order"] == "random" or given["spread"] > 0.0,
)
def batch(
    seed: int,
    *,
    tasks: Count = 144,
    functions: Annotated[int, Bounds(1, 1000)] = 6,
    heavy_ops: Cost = 2.1e7,
    light_ops: Cost = 4.2e5,
    counts: Counts = "skew",
    skew: Annotated[float, Bounds(0, 4)] = 0.5,
    alpha: Count = 10,
    spread: Fraction = 0.05,
    order: Literal["random", "heavy_first", "heavy_last"] = "random",
    iterations: Count = 12,
) -> Workload:
    """Batches of independent tasks of a few functions, spawned one by one by a main task.

    Parameters
    ----------
    seed : int
        Seed of costs and order.
    tasks : int
        Tasks of a batch.
    functions : int
        Number of functions.
    heavy_ops, light_ops : float
        Operations of a task of the heaviest and of the lightest function.
    counts : {"skew", "alpha"}
        How many tasks the functions have.
    skew : float
        With ``skew``: how much rarer heavy tasks are; the default lies between equal numbers and
        equal shares of the work.
    alpha : int
        With ``alpha``: tasks of each function but the lightest.
    spread : float
        Largest deviation of a task from its function, relative to that.
    order : {"random", "heavy_first", "heavy_last"}
        Order in which the tasks are spawned.
    iterations : int
        Number of batches, which are all alike.
    """
    check_size("batch", tasks=tasks + 1)
    costs = costs_of_functions(functions, heavy_ops, light_ops)
    function = np.repeat(np.arange(functions), _counts(costs, tasks, counts, skew, alpha))
    if order == "random":
        stream(seed, "order").shuffle(function)
    elif order == "heavy_last":
        function = function[::-1]
    drawn = draw_costs(stream(seed, "costs"), tasks, 1.0, "uniform", spread)
    graph = build_graph(
        np.concatenate(([0.0], costs[function] * drawn)),
        task_class=np.concatenate(([0], 1 + function)),
        class_names=("main", *(f"f{i}" for i in range(functions))),
        children=adjacency(np.zeros(tasks, int), 1 + np.arange(tasks), tasks + 1),
    )
    return Workload("batch", graph, iterations)


def costs_of_functions(functions: int, heavy_ops: float, light_ops: float) -> FloatArray:
    """Return the operations of a task of each function, falling geometrically."""
    if not 0.0 < light_ops <= heavy_ops:
        raise ConfigurationError(
            f"workload batch: light_ops: found {light_ops:g}, accepted more than 0 and at most "
            f"heavy_ops, {heavy_ops:g}"
        )
    steps = np.arange(functions) / max(1, functions - 1)
    costs: FloatArray = heavy_ops * (light_ops / heavy_ops) ** steps
    return costs


def _counts(costs: FloatArray, tasks: int, counts: Counts, skew: float, alpha: int) -> Int64Array:
    functions = len(costs)
    heavy = functions - 1
    least = alpha * heavy if counts == "alpha" else functions
    if tasks < least:
        raise ConfigurationError(
            f"workload batch: tasks: found {tasks}, accepted {least} or more for {functions} "
            f"functions with counts {counts!r}"
        )
    if counts == "alpha":
        return np.array([alpha] * heavy + [tasks - alpha * heavy], np.int64)
    share = costs**-skew / (costs**-skew).sum()
    some: Int64Array = np.maximum(1, np.floor(share * tasks)).astype(np.int64)
    while some[:-1].sum() >= tasks:
        some[int(some[:-1].argmax())] -= 1
    some[-1] = tasks - some[:-1].sum()
    return some
