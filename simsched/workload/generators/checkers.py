"""Checkers, a game tree searched to a number of plies and cut off at a depth.

* *Tasks.* A position's children are what its moves lead to. Positions down to `task_depth` plies
  are tasks; those below the deepest ones, down to `depth` plies, are part of these.
* *Shape.* The number of moves of a position is drawn uniformly from 1 to ``2 moves - 1``, with the
  mean `moves`. Checkers has about 2.8.
* *Operations.* `ops_per_position` per position. A task at `task_depth` costs its own position and
  all below it.
* *Blocks.* None.

The Cilk program cuts branches that cannot matter and aborts what it has begun on them, so that it
searches other positions in every run; here the whole tree is searched.

References
----------
Schaeffer et al., *Checkers is solved*, Science 317, 2007 (number of moves). Frigo et al., PLDI
1998, and its program ``ck``. Book of docs/sources, section 3.8 (program ``Ck``, CPU-bound; no size
is stated).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.draws import stream
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, generator
from simsched.workload.spawn_tree import cut_tree

MAX_POSITIONS = 50_000_000


@generator("checkers", small={"moves": 2, "depth": 5, "task_depth": 4, "iterations": 2})
def checkers(
    seed: int,
    *,
    moves: Annotated[int, Bounds(1, 100)] = 3,
    depth: Annotated[int, Bounds(0, 64)] = 12,
    task_depth: Annotated[int, Bounds(0, 64)] = 6,
    ops_per_position: Cost = 500.0,
    iterations: Count = 1,
) -> Workload:
    """Checkers: a drawn game tree, with a task for every position of the first plies.

    Parameters
    ----------
    seed : int
        Seed of the tree.
    moves : int
        Mean number of moves of a position.
    depth : int
        Plies searched.
    task_depth : int
        Plies whose positions are tasks; the others are searched within the deepest tasks.
    ops_per_position : float
        Operations of a position: generating its moves, or evaluating it.
    iterations : int
        How often the tree is searched.
    """
    degrees = _game_tree(seed, moves, depth)
    shown = min(task_depth, depth)
    positions = np.ones(len(degrees[-1]), dtype=np.int64)
    for degree in reversed(degrees[shown:-1]):
        last = np.cumsum(degree)
        before = np.concatenate(([0], np.cumsum(positions)))
        positions = 1 + before[last] - before[last - degree]
    graph = cut_tree(degrees[:shown], positions, ("move", "search"), ops_per_position)
    return Workload("checkers", graph, iterations)


def _game_tree(seed: int, moves: int, depth: int) -> list[Int64Array]:
    """Return the number of moves of every position, level by level; none in the last one."""
    random = stream(seed, "moves")
    degrees: list[Int64Array] = []
    size = total = 1
    for _ in range(depth):
        degrees.append(random.integers(1, 2 * moves, size))
        size = int(degrees[-1].sum())
        total += size
        if total > MAX_POSITIONS:
            raise ConfigurationError(
                f"workload checkers: found more than {MAX_POSITIONS} positions, accepted fewer; "
                "fewer moves or plies make fewer"
            )
    return [*degrees, np.zeros(size, dtype=np.int64)]
