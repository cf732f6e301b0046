"""Data of programs: memory that nobody has touched, numbers that C draws alike, class tables."""

from __future__ import annotations

import math
import mmap
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simsched.errors import ConfigurationError
from simsched.workload.graph import FloatArray, TaskGraph

DOUBLE_BYTES = 8


def fresh_array(*shape: int) -> FloatArray:
    """Return doubles in pages that the operating system has not provided yet.

    Parameters
    ----------
    *shape : int
        Shape of the array, which begins with a page.

    Raises
    ------
    ConfigurationError
        More than the machine provides.

    Notes
    -----
    NumPy's own allocation may return pages that another array has left, which then stay where they
    are, whoever touches them first.
    """
    size = math.prod(shape)
    try:
        pages = mmap.mmap(-1, max(size, 1) * DOUBLE_BYTES)
    except (OSError, OverflowError, ValueError) as error:
        raise ConfigurationError(
            f"found {size * DOUBLE_BYTES} bytes of data, more than this machine provides"
        ) from error
    return np.frombuffer(pages, dtype=np.float64, count=size).reshape(shape)


def uniform(seed: int, index: NDArray[np.int64]) -> FloatArray:
    """Return numbers from 0 to 1 that look random, those of ``hw_uniform`` in C.

    Parameters
    ----------
    seed : int
        At least 0.
    index : ndarray of int64
        Which numbers; the result has this shape.

    References
    ----------
    Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014.
    """
    start = np.uint64((seed + 1) * 0xD1B54A32D192ED03 % 2**64)
    mixed = start + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def with_classes(graph: TaskGraph, classes: tuple[str, ...]) -> TaskGraph:
    """Return a graph whose classes are numbered as in the program's table.

    Parameters
    ----------
    graph : TaskGraph
        Its classes all occur in `classes`.
    classes : tuple of str
        Names in the order of the table in C.
    """
    numbers = np.array([classes.index(name) for name in graph.class_names], dtype=np.int32)
    return replace(graph, task_class=numbers[graph.task_class], class_names=classes)


def largest_error(found: FloatArray, expected: FloatArray) -> float:
    """Return the largest difference; infinity where a number is not finite.

    Parameters
    ----------
    found, expected : ndarray of float64
        Of the same shape.
    """
    error = float(np.abs(found - expected).max(initial=0.0))
    return error if math.isfinite(error) else math.inf
