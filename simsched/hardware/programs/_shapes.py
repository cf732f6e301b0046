"""Graphs without data for programs that measure the runtime itself."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from simsched.hardware.program import Program
from simsched.workload.builder import adjacency, build_graph, check_size
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import Bounds

Shape = Literal["independent", "loop", "tree", "chain"]
Degree = Annotated[int, Bounds(2, 2**31 - 1)]


def shape_graph(program: str, shape: Shape, tasks: int, degree: int, task_class: str) -> TaskGraph:
    """Return a graph of a simple shape.

    Parameters
    ----------
    program : str
        Name for messages.
    shape : {"independent", "loop", "tree", "chain"}
        Tasks that are ready at the start; one task that spawns all others; a tree of given degree,
        level by level; tasks that follow each other.
    tasks : int
        Number of tasks.
    degree : int
        Children of each task of a tree, except at its end.
    task_class : str
        Class of the tasks.

    Raises
    ------
    ConfigurationError
        More tasks than fit into memory.
    """
    check_size(f"of program {program}", tasks=tasks)
    children, successors, n = None, None, tasks
    if shape == "tree":
        children = adjacency((np.arange(1, n) - 1) // degree, np.arange(1, n), n)
    elif shape == "loop":
        children = adjacency(np.zeros(n - 1, np.int64), np.arange(1, n), n)
    elif shape == "chain":
        successors = adjacency(np.arange(n - 1), np.arange(1, n), n)
    return build_graph(
        np.ones(n), children=children, successors=successors, class_names=(task_class,)
    )


def shape_program(
    name: str, shape: Shape, tasks: int, degree: int, iterations: int, arg: int
) -> Program:
    """Return a program without data; all tasks are of the class `name` and have one argument.

    Raises
    ------
    ConfigurationError
        As :func:`shape_graph`.
    """
    graph = shape_graph(name, shape, tasks, degree, name)
    nothing = np.zeros(0, np.int64)
    return Program(
        name=name,
        workload=Workload(name, graph, iterations),
        args=np.full((graph.n_tasks, 1), arg, np.int64),
        init_args=np.zeros((0, 1), np.int64),
        arrays=(),
        block_array=nothing.astype(np.int32),
        block_offset_bytes=nothing,
        check=lambda: 0.0,
    )
