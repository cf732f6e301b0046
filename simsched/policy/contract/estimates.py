"""What a policy knows about the durations of tasks: the information modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import MAX_NAMES, ConfigurationError, nearest
from simsched.workload.graph import TaskGraph

INFORMATION_MODES = ("exact", "class_mean", "user", "blind")


def parse_user_ops(text: str) -> dict[str, float]:
    """Return the operations of task classes that a user gives as ``class:operations ...``.

    >>> parse_user_ops("potrf:2.4e9 gemm:1e9")
    {'potrf': 2400000000.0, 'gemm': 1000000000.0}
    """
    table: dict[str, float] = {}
    for item in text.split():
        name, colon, number = item.rpartition(":")
        try:
            ops = float(number)
        except ValueError:
            ops = -1.0
        if not colon or not name or name in table or not 0.0 <= ops < float("inf"):
            raise ConfigurationError(
                f"found {item!r}, accepted class:operations, each class once, operations from 0 on"
            )
        table[name] = ops
    return table


def estimate_ops(
    graph: TaskGraph, information: str, user_ops: Mapping[str, float]
) -> NDArray[np.float64]:
    """Return the operations of every task body in an information mode; shape (n_kinds, n_tasks)."""
    if information == "exact":
        return graph.ops
    impossible = np.isinf(graph.ops)
    if information == "blind":
        return np.where(impossible, np.inf, 1.0)
    if information == "user":
        _check_classes(graph.class_names, user_ops)
        by_class = np.array([user_ops[name] for name in graph.class_names])
        return np.where(impossible, np.inf, by_class[graph.task_class])
    n_classes = len(graph.class_names)
    rows = []
    for row, cannot in zip(graph.ops, impossible, strict=True):
        classes = graph.task_class[~cannot]
        counts = np.bincount(classes, minlength=n_classes)
        total = np.bincount(classes, weights=row[~cannot], minlength=n_classes)
        rows.append(np.where(cannot, np.inf, (total / np.maximum(counts, 1))[graph.task_class]))
    return np.array(rows)


def _check_classes(names: Sequence[str], user_ops: Mapping[str, float]) -> None:
    """Refuse a table that lacks a class; its names that are no class may be those misspelt."""
    missing = [name for name in names if name not in user_ops]
    if not missing:
        return
    message = (
        f"user_ops: found no operations of {_listed(missing)}, accepted class:operations for each "
        f"of {_listed(sorted(names))}"
    )
    for name in user_ops:
        if name not in names:
            close = nearest(name, missing)
            hint = f", did you mean {close!r}?" if close else ""
            message += f"; {name!r} is none of them{hint}"
    raise ConfigurationError(message)


def _listed(names: Sequence[str]) -> str:
    """Return names, not too many of them."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
