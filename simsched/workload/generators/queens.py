"""N queens by exhaustive search, a spawn tree of placements cut off at a depth.

* *Tasks.* A placement of queens in the first j rows, none attacking another, is a node; its
  children are the placements that have one more queen, in the order of columns. Nodes down to
  `task_depth` are tasks; the nodes below the deepest ones are part of these.
* *Operations.* ``queens * ops_per_try`` per node, which tries every column. A task at `task_depth`
  costs its own node and all below it.
* *Nodes below a task.* Counted, if `probes` is 0. Otherwise estimated: a probe descends at random,
  and the product of the numbers of children on its way to a level is, in the mean, the number of
  nodes of that level; `probes` of them are averaged. Whole trees have 2,057 nodes with 8 queens,
  856,189 with 12 and 171,129,072 with 15; with 20 they are out of reach. Probes, too, take time: in
  p placements of d queens they try up to ``p * probes * (queens - d) * queens`` columns, of which
  there may be 2^33, about a minute.
* *Blocks.* None: a task works on its own placement.

References
----------
Knuth, *Estimating the efficiency of backtrack programs*, Mathematics of Computation 29, 1975. Frigo
et al., PLDI 1998 (program ``queens``). Book of docs/sources, section 3.8 (programs ``Queens(20)``
and ``Queens(15)``, CPU-bound; a cut-off is not stated).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import check_size
from simsched.workload.draws import stream
from simsched.workload.graph import FloatArray, Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, generator
from simsched.workload.spawn_tree import cut_tree

MAX_COUNTED = 12
MAX_TRIES = 2**33
SLICE = 2**15  #: descents at a time, so that any number of them takes little memory


@dataclass(frozen=True)
class Placements:
    """Placements of the same number of queens; bit c of a mask stands for column c."""

    #: Columns taken, and columns of the next row that are attacked along either diagonal; shape
    #: (n,).
    columns: Int64Array
    left: Int64Array
    right: Int64Array

    def free(self, queens: int) -> Int64Array:
        """Return the columns of the next row that are not attacked, as masks."""
        return ~(self.columns | self.left | self.right) & ((1 << queens) - 1)

    def placed(self, index: Int64Array, bit: Int64Array) -> Placements:
        """Return the placements `index` with one more queen, at the columns `bit`."""
        return Placements(
            self.columns[index] | bit, (self.left[index] | bit) << 1, (self.right[index] | bit) >> 1
        )

    def children(self, queens: int) -> tuple[Int64Array, Placements]:
        """Return the placements with one more queen, in order, and which each comes from."""
        bits = np.int64(1) << np.arange(queens)
        index, column = np.nonzero(self.free(queens)[:, None] & bits)
        return index, self.placed(index, bits[column])


EMPTY = Placements(*np.zeros((3, 1), dtype=np.int64))


@generator(
    "queens",
    small={"queens": 6, "task_depth": 3, "probes": 0, "iterations": 2},
    random_if=lambda given: given["probes"] > 0,
)
def queens(
    seed: int,
    *,
    queens: Annotated[int, Bounds(1, 32)] = 15,
    task_depth: Annotated[int, Bounds(0, 32)] = 3,
    probes: Annotated[int, Bounds(0, 100_000)] = 32,
    ops_per_try: Cost = 10.0,
    iterations: Count = 1,
) -> Workload:
    """N queens: exhaustive search, with a task for every placement of the first queens.

    Parameters
    ----------
    seed : int
        Seed of the probes.
    queens : int
        Rows and columns of the board.
    task_depth : int
        Queens placed by tasks; the other rows are searched within the deepest tasks.
    probes : int
        Random descents below every deepest task; 0 counts nodes, with up to 12 queens. Many tasks
        (a large `task_depth`) allow fewer.
    ops_per_try : float
        Operations for trying one column.
    iterations : int
        How often the board is searched.
    """
    if probes == 0 and queens > MAX_COUNTED:
        raise ConfigurationError(
            f"workload queens: probes: found 0 with {queens} queens, accepted 1 or more with "
            f"more than {MAX_COUNTED}"
        )
    depth, level = min(task_depth, queens), EMPTY
    degrees: list[Int64Array] = []
    n_tasks = 1
    for _ in range(depth):
        check_size("queens", tasks=n_tasks * queens)
        parent, below = level.children(queens)
        degrees.append(np.bincount(parent, minlength=len(level.columns)))
        level = below
        n_tasks += len(parent)
    tries = len(level.columns) * probes * (queens - depth) * queens
    if tries > MAX_TRIES:
        raise ConfigurationError(
            f"workload queens: probes: found {probes} below each of {len(level.columns)} "
            f"placements of {depth} queens, which try {tries} columns, accepted at most "
            f"{MAX_TRIES}, with fewer probes or another task_depth"
        )
    if probes == 0:
        hidden = count_nodes(level, queens, queens - depth)
    else:
        hidden = estimate_nodes(level, queens, queens - depth, probes, seed)
    graph = cut_tree(degrees, 1.0 + hidden, ("place", "search"), queens * ops_per_try)
    return Workload("queens", graph, iterations)


def count_nodes(placements: Placements, queens: int, rows: int) -> FloatArray:
    """Return the number of nodes below each placement."""
    owner = np.arange(len(placements.columns))
    below = np.zeros(len(owner))
    for _ in range(rows):
        index, placements = placements.children(queens)
        owner = owner[index]
        below += np.bincount(owner, minlength=len(below))
    return below


def estimate_nodes(
    placements: Placements, queens: int, rows: int, probes: int, seed: int
) -> FloatArray:
    """Return estimates of the number of nodes below each placement.

    From each placement `probes` random descents begin; row after row, each one takes a number from
    the stream ``probes``.
    """
    n_descents = len(placements.columns) * probes
    at_once = max(SLICE // probes, 1) * probes
    mean = np.zeros(len(placements.columns))
    for begin in range(0, n_descents, at_once):
        end = min(begin + at_once, n_descents)
        start = np.arange(begin, end) // probes
        weight, below = np.ones(end - begin), np.zeros(end - begin)
        current = Placements(
            placements.columns[start], placements.left[start], placements.right[start]
        )
        for row in range(rows):
            draws = stream(seed, "probes", row * n_descents + begin).random(end - begin)
            n_free, column = draw_columns(current.free(queens), queens, draws)
            weight *= n_free
            below += weight
            current = current.placed(np.arange(end - begin), np.int64(1) << column)
        mean[begin // probes : end // probes] = below.reshape(-1, probes).mean(axis=1)
    return mean


def draw_columns(
    free: Int64Array, queens: int, draws: FloatArray
) -> tuple[NDArray[np.uint8], Int64Array]:
    """Return how many columns are free, and one of them, each as likely; any if none is.

    Free columns are masks, draws in [0, 1).

    >>> masks = np.array([0b10010, 0b10010, 0b01000])
    >>> [array.tolist() for array in draw_columns(masks, 5, np.array([0.4, 0.5, 0.9]))]
    [[2, 2, 1], [1, 4, 3]]
    """
    octets = free.astype("<u4").view(np.uint8).reshape(-1, 4)
    is_free = np.unpackbits(octets, axis=1, bitorder="little")[:, :queens]
    ahead = is_free.cumsum(axis=1, dtype=np.uint8)
    n_free = ahead[:, -1]
    chosen = (draws * n_free).astype(np.uint8)
    column: Int64Array = (ahead <= chosen[:, None]).sum(axis=1)
    return n_free, column
