"""Recursive Fibonacci numbers against the recurrence."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload.registry import generate_workload


@cache
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 17])
@pytest.mark.parametrize("cutoff", [1, 2, 5])
def test_calls_and_operations(n: int, cutoff: int) -> None:
    graph = generate_workload("fibonacci", {"n": n, "cutoff": cutoff, "ops_per_call": 3.0}).graph
    calls = 2 * fib(n + 1) - 1
    assert graph.ops.sum() == 3.0 * calls
    # A tree that stops at `cutoff` has as many tasks as one of a smaller number that stops at 1.
    smaller = max(n - cutoff + 1, 0)
    assert graph.n_tasks == 2 * fib(smaller + 1) - 1


def test_calls_are_in_the_order_of_the_recursion() -> None:
    graph = generate_workload("fibonacci", {"n": 4}).graph
    # fib(4): 0; fib(3): 1; fib(2): 2, with 3 and 4; fib(1): 5; fib(2): 6, with 7 and 8.
    children = np.split(graph.child, graph.child_ptr[1:-1])
    assert [each.tolist() for each in children] == [
        [1, 6],
        [2, 5],
        [3, 4],
        [],
        [],
        [],
        [7, 8],
        [],
        [],
    ]


def test_too_many_calls_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="workload fibonacci: found"):
        generate_workload("fibonacci", {"n": 60})
