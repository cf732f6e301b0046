"""Tasks that do nothing, so that a run lasts as long as the runtime needs."""

from __future__ import annotations

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import checked
from simsched.hardware.programs._shapes import Degree, Shape, shape_program
from simsched.workload.registry import Count


@program("empty", small={"tasks": 1000})
@checked
def empty(
    *, shape: Shape = "tree", tasks: Count = 1000, degree: Degree = 2, iterations: Count = 1
) -> Program:
    """Do nothing in every task.

    Parameters
    ----------
    shape : {"independent", "loop", "tree", "chain"}
        Tasks that are ready at the start; one task that spawns all others; a tree of given degree,
        level by level; tasks that follow each other.
    tasks : int
        Number of tasks.
    degree : int
        Children of each task of a tree, except at its end.
    iterations : int
        How often all tasks run.
    """
    return shape_program("empty", shape, tasks, degree, iterations, 0)
