"""Fibonacci numbers by two recursive calls, the usual measure of what a task costs.

* *Tasks.* fib(n) spawns fib(n - 1) and fib(n - 2), and waits for both. Numbers up to `cutoff` are
  computed by one task each, with all the calls below. With `cutoff` 1 there are 2 F(n + 1) - 1
  tasks, F being the Fibonacci numbers: 7,049,155 for n = 32.
* *Operations.* `ops_per_call` for every call.
* *Blocks.* None.

References
----------
Frigo, Leiserson, Randall, *The implementation of the Cilk-5 multithreaded language*, PLDI 1998,
section 5 (program ``fib``).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.workload.builder import build_graph, check_size
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, generator
from simsched.workload.spawn_tree import DIVIDE, LEAF, number_levels


def calls(n: int) -> int:
    """Return how many calls compute fib(n), this one included.

    >>> [calls(n) for n in range(7)]
    [1, 1, 3, 5, 9, 15, 25]
    """
    one, other = 1, 1
    for _ in range(n - 1):
        one, other = other, one + other + 1
    return other


@generator("fibonacci", small={"n": 9, "cutoff": 2, "iterations": 2})
def fibonacci(
    *,
    n: Annotated[int, Bounds(0, 64)] = 22,
    cutoff: Annotated[int, Bounds(1, 64)] = 1,
    ops_per_call: Cost = 10.0,
    iterations: Count = 1,
) -> Workload:
    """Fibonacci numbers by recursive calls: a tree of tasks that do next to nothing.

    Parameters
    ----------
    n : int
        Which number.
    cutoff : int
        Largest number that is computed without further tasks.
    ops_per_call : float
        Operations of each call.
    iterations : int
        How often it is computed.
    """
    check_size("fibonacci", tasks=calls(max(0, n - cutoff + 1)))
    number = np.array([n], np.int64)
    degrees, numbers = [], []
    while len(number):
        divides = number > cutoff
        degrees.append(np.where(divides, 2, 0).astype(np.int64))
        numbers.append(number)
        number = (number[divides][:, None] - np.array([1, 2])).ravel()
    ids, children = number_levels(degrees)
    value = np.empty(len(children.ptr) - 1, np.int64)
    value[np.concatenate(ids)] = np.concatenate(numbers)
    of_number = np.array([calls(k) for k in range(max(n, cutoff) + 1)], np.float64)
    is_leaf = value <= cutoff
    graph = build_graph(
        np.where(is_leaf, of_number[value], 1.0) * ops_per_call,
        task_class=np.where(is_leaf, LEAF, DIVIDE),
        class_names=("divide", "leaf"),
        children=children,
    )
    return Workload("fibonacci", graph, iterations)
