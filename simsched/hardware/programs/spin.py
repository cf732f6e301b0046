"""Tasks that keep a core busy for a given time and touch no data."""

from __future__ import annotations

from simsched.errors import ConfigurationError
from simsched.hardware.program import Program, program
from simsched.hardware.programs._shapes import shape_program


@program("spin", small={"tasks": 200, "work_ns": 5000})
def spin(
    *,
    shape: str = "tree",
    tasks: int = 1000,
    degree: int = 2,
    work_ns: int = 20000,
    iterations: int = 1,
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
    if not 0 <= work_ns <= 10**12:
        raise ConfigurationError(f"program spin: work_ns: found {work_ns}, accepted 0 to 10**12")
    return shape_program("spin", shape, tasks, degree, iterations, work_ns)
