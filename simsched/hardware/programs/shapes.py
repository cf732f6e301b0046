"""Programs without data that measure the runtime itself: graphs of simple shapes."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from simsched.hardware.program import Program, program
from simsched.workload.builder import adjacency, build_graph, check_size
from simsched.workload.family import Member
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import Bounds, Count

Shape = Literal["independent", "loop", "tree", "chain"]
Degree = Annotated[int, Bounds(2, 2**31 - 1)]


def shape_program(
    name: str,
    *,
    shape: Shape = "tree",
    tasks: Count = 1000,
    degree: Degree = 2,
    work_ns: Annotated[int, Bounds(0, 10**12)] = 0,
    iterations: Count = 1,
) -> Program:
    """Return a program without data; all tasks are of the class `name` and have one argument.

    Parameters
    ----------
    name : str
        Name of the program.
    shape : {"independent", "loop", "tree", "chain"}
        Tasks that are ready at the start; one task that spawns all others; a tree of given degree,
        level by level; tasks that follow each other.
    tasks : int
        Number of tasks.
    degree : int
        Children of each task of a tree, except at its end.
    work_ns : int
        How long each task is busy, in nanoseconds; those of a tree or loop that spawn as well.
    iterations : int
        How often all tasks run.
    """
    graph = _shape_graph(name, shape, tasks, degree)
    return Program(
        name=name,
        workload=Workload(name, graph, iterations),
        args=np.full((graph.n_tasks, 1), work_ns, np.int64),
        init_args=np.zeros((0, 1), np.int64),
        arrays=(),
        blocks=(),
        check=lambda: 0.0,
    )


def _shape_graph(program: str, shape: Shape, tasks: int, degree: int) -> TaskGraph:
    check_size(f"of program {program}", tasks=tasks)
    children, successors, n = None, None, tasks
    if shape == "tree":
        children = adjacency((np.arange(1, n) - 1) // degree, np.arange(1, n), n)
    elif shape == "loop":
        children = adjacency(np.zeros(n - 1, np.int64), np.arange(1, n), n)
    elif shape == "chain":
        successors = adjacency(np.arange(n - 1), np.arange(1, n), n)
    return build_graph(np.ones(n), children=children, successors=successors, class_names=(program,))


_ANY = "shape tasks degree iterations"

for _member, _small in (
    (Member(name="empty", summary="Do nothing in every task.", takes=_ANY), {"tasks": 1000}),
    (
        Member(
            name="spin",
            summary="Spin for the same time in every task.",
            takes=f"{_ANY} work_ns",
            defaults={"work_ns": 20000},
        ),
        {"tasks": 200, "work_ns": 5000},
    ),
):
    globals()[_member.name] = program(small=_small)(
        _member.of(shape_program, _member.name, module=__name__)
    )
