"""Checks a program against its functions in C and makes it ready for the runtime."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.files.errors import HardwareError, unknown_name
from simsched.hardware.conversion import ready_roots
from simsched.hardware.outcome import PreparedGraph
from simsched.hardware.program import Program
from simsched.workload.graph import TaskGraph


def prepare(
    program: Program, classes: dict[str, tuple[str, ...]]
) -> tuple[PreparedGraph | None, PreparedGraph]:
    """Check a program and return its initialisation and its graph for the runtime."""
    workload = program.workload
    workload.validate()
    if program.name not in classes:
        raise HardwareError(unknown_name("program in C", program.name, classes))
    _check_arrays(program)
    known = classes[program.name]
    init = None
    if workload.init is not None:
        init = _prepared_graph(program.name, "init_args", workload.init, program.init_args, known)
    return init, _prepared_graph(program.name, "args", workload.graph, program.args, known)


def _prepared_graph(
    name: str, what: str, graph: TaskGraph, args: Any, known: tuple[str, ...]
) -> PreparedGraph:
    """Check the classes and arguments of a graph."""
    for each in graph.class_names:
        if each not in known:
            raise HardwareError(f"program {name}: {unknown_name('class', each, known)}")
    if not isinstance(args, np.ndarray) or args.dtype != np.int64 or args.ndim != 2:
        raise HardwareError(f"program {name}: {what}: accepted an array of int64 with two axes")
    if len(args) != graph.n_tasks:
        raise HardwareError(
            f"program {name}: {what}: found {len(args)} rows, accepted {graph.n_tasks}, "
            "one per task"
        )
    if graph.detached is not None:
        raise HardwareError(
            f"program {name}: task {int(graph.detached.argmax())} is detached, accepted "
            "children that their parents wait for"
        )
    if graph.access_after is not None:
        raise HardwareError(f"program {name}: accepted no accesses that wait for tasks")
    numbers = np.array([known.index(each) for each in graph.class_names], np.int32)
    return PreparedGraph(
        graph, numbers[graph.task_class], ready_roots(graph), np.ascontiguousarray(args)
    )


def _check_arrays(program: Program) -> None:
    """Check the data of a program and that its blocks lie inside of them."""
    each: Any
    for i, each in enumerate(program.arrays):
        where = f"program {program.name}: array {i}"
        if not isinstance(each, np.ndarray) or each.dtype.kind not in "biufc":
            raise HardwareError(f"{where}: accepted an array of numbers")
        if not (each.flags.c_contiguous and each.flags.writeable and each.flags.aligned):
            raise HardwareError(
                f"{where}: accepted a contiguous, aligned array that can be written"
            )
    size = program.workload.graph.block_bytes
    if sum(program.blocks) != len(size) or len(program.blocks) != len(program.arrays):
        raise HardwareError(
            f"program {program.name}: blocks: found {program.blocks}, accepted {len(size)} in all, "
            f"in {len(program.arrays)} arrays"
        )
    room = np.array([array.nbytes for array in program.arrays], np.int64)
    array, offset = program.block_array, program.block_offset_bytes
    outside = np.flatnonzero(offset + size > room[array])
    if len(outside):
        block = int(outside[0])
        raise HardwareError(
            f"program {program.name}: block {block}: {size[block]} bytes at {offset[block]} of "
            f"array {array[block]} are not inside of it"
        )


def record_bound(program: Program) -> int:
    """Return how many records one worker can make at most, if it executes everything."""

    def bound(graph: TaskGraph) -> int:
        n, spawned = graph.n_tasks, len(graph.child)
        parents = int(np.count_nonzero(np.diff(graph.child_ptr)))
        # Spawned, pushed, taken, started, ended; continuations pushed, taken, resumed; suspended
        # and resumed; idle before what is taken; start and end of the iteration.
        return 5 * n + 3 * spawned + 2 * parents + (n + spawned) + 4

    workload = program.workload
    once = 0 if workload.init is None else bound(workload.init)
    return once + workload.iterations * bound(workload.graph)
