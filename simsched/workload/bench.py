"""The number generator of the benchmarks with known makespans, and what is drawn from it.

All benchmarks start from one 64-bit xorshift state, so that other simulators can be fed the same
numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simsched.workload.graph import FloatArray, Int32Array

START = 88172645463325252
CONTROLLERS = 8
OWN_CONTROLLER = -1
_LANES = 1024

_States = NDArray[np.uint64]


class BenchFlows(NamedTuple):
    """Flows in the order in which they are issued."""

    size_bytes: FloatArray
    #: Memory controller of each flow; `OWN_CONTROLLER` for that of the worker it is issued to,
    #: worker number modulo 8; shape (n_tasks,).
    controller: Int32Array


def bench_rng(count: int) -> FloatArray:
    """Return the first numbers of the benchmark generator, uniform in [0, 1).

    ``x ^= x << 13; x ^= x >> 7; x ^= x << 17`` on 64 bits from `START`; each number is ``(x >> 11)
    / 2**53``. The step is linear over the field of two elements: blocks of numbers start at states
    found with powers of its matrix and advance together.

    Marsaglia, *Xorshift RNGs*, Journal of Statistical Software 8(14), 2003.
    """
    if count == 0:
        return np.zeros(0)
    steps = -(-count // _LANES)
    state = _spaced_states(steps)
    table = np.empty((steps, _LANES))
    for row in table:
        state = _advance(state)
        row[:] = (state >> np.uint64(11)).astype(np.float64)
    return np.ascontiguousarray(table.T).ravel()[:count] / 2.0**53


def bench_costs(count: int) -> FloatArray:
    """Return costs of ``(0.5 + rnd()) * 1e6`` operations, one number each."""
    return (0.5 + bench_rng(count)) * 1e6


def bench_flows(n_tasks: int, *, remote: bool) -> BenchFlows:
    """Return the flows of the benchmarks of memory controllers in the order of issue.

    With `remote` some flows go to other controllers than the worker's own.

    Local flows draw one number each: ``(0.5 + rnd()) * 1e6`` bytes. Remote ones draw ``u = rnd()``;
    if u < 0.3 the controller is ``floor(rnd() * 8)``, otherwise the worker's own; then ``floor((0.5
    + rnd()) * 1e6)`` bytes. How many workers there are has no influence.
    """
    own = np.full(n_tasks, OWN_CONTROLLER, dtype=np.int32)
    if not remote:
        return BenchFlows(bench_costs(n_tasks), own)
    numbers = bench_rng(3 * n_tasks)
    leaves_home = (numbers < 0.3).tolist()
    first = np.empty(n_tasks, dtype=np.int64)
    position = 0
    for task in range(n_tasks):
        first[task] = position
        position += 3 if leaves_home[position] else 2
    away = numbers[first] < 0.3
    own[away] = np.floor(numbers[first[away] + 1] * CONTROLLERS).astype(np.int32)
    return BenchFlows(np.floor((0.5 + numbers[first + 1 + away]) * 1e6), own)


def _advance(state: _States) -> _States:
    state = state ^ (state << np.uint64(13))
    state = state ^ (state >> np.uint64(7))
    return state ^ (state << np.uint64(17))


def _apply(columns: _States, states: _States) -> _States:
    """Return a 64 x 64 bit matrix, given by its columns, times each state."""
    result = np.zeros_like(states)
    for bit, column in enumerate(columns):
        result ^= ((states >> np.uint64(bit)) & np.uint64(1)) * column
    return result


def _spaced_states(steps: int) -> _States:
    """Return `_LANES` states, `steps` steps apart, the first being `START`."""
    square = _advance(np.uint64(1) << np.arange(64, dtype=np.uint64))
    jump = np.uint64(1) << np.arange(64, dtype=np.uint64)
    while steps:
        if steps & 1:
            jump = _apply(square, jump)
        square = _apply(square, square)
        steps >>= 1
    states = np.array([START], dtype=np.uint64)
    while len(states) < _LANES:
        states = np.concatenate((states, _apply(jump, states)))
        jump = _apply(jump, jump)
    return states
