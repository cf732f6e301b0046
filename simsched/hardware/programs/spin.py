"""Tasks that keep a core busy for a given time and touch no data."""

from __future__ import annotations

from typing import Annotated

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import checked
from simsched.hardware.programs._shapes import Degree, Shape, shape_program
from simsched.workload.registry import Bounds, Count


@program("spin", small={"tasks": 200, "work_ns": 5000})
@checked
def spin(
    *,
    shape: Shape = "tree",
    tasks: Count = 1000,
    degree: Degree = 2,
    work_ns: Annotated[int, Bounds(0, 10**12)] = 20000,
    iterations: Count = 1,
) -> Program:
    """Spin for the same time in every task.

    Parameters
    ----------
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
    return shape_program("spin", shape, tasks, degree, iterations, work_ns)
