"""Blocked stencils in one to three dimensions as data-flow programs: jacobi and seidel.

A grid of n_1 x ... x n_d blocks of E elements is swept R times. T(L, c) is the task of sweep L on
block c, I(c) the initial one, F(c) the final one; c - k and c + k are the neighbours along
dimension k, if they exist. ``lo_k`` and ``hi_k`` are the faces of a block towards them, of ``E /
B_k`` elements.

* *jacobi* uses the sweep before: T(L, c) reads the centre C(L-1, c), hi_k(L-1, c-k) and
  lo_k(L-1, c+k) and writes C(L, c), lo_k(L, c), hi_k(L, c).
* *seidel* uses what the present sweep has left on the low side: T(L, c) reads C(L-1, c),
  hi_k(L, c-k) and lo_k(L-1, c+k); hi_k(L, c) goes to T(L, c+k). I(c) writes no hi.
* I(c) reads block c of the global matrix; F(c) reads C(R, c) and the faces of its own block that
  nobody else takes, writes block c of the global matrix and sends 4 bytes to a last task.

* *Creation.* The root creates the last task and one for every group of up to 4 blocks per
  dimension; these create I(c) and T(1, c) of their blocks. I(c) creates T(2, c), T(L, c) creates
  T(L+2, c); who would create a sweep after the last one creates F(c).
* *Operations.* ``2 (2 d + 1) + 1`` per element: a load and an addition for each point of the star
  and a store; 2 in I and F.

In the shared version I and F move nothing, and T(L, c) reads the faces of its neighbours from
their blocks. *jacobi* reads the block in one matrix and writes it in another one, and both change
places after a sweep. *seidel* updates the block in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import check_size
from simsched.workload.dataflow_program import (
    Control,
    DataflowProgram,
    Extent,
    Version,
    check_divisor,
    create_in_stages,
    group_creation,
)
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Cost, Count, Size

GROUP = 4  #: most blocks of a creating task along a dimension
TOKEN_BYTES = 4


@dataclass(frozen=True)
class StencilGrid:
    """Blocks of a matrix."""

    counts: tuple[int, ...]
    #: Elements of a block along each dimension.
    block: tuple[int, ...]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(np.prod(self.counts))

    @property
    def elements(self) -> int:
        """Elements of a block."""
        return int(np.prod(self.block))

    def pairs(self, dimension: int) -> tuple[Int64Array, Int64Array]:
        """Return the pairs of blocks (c, c + k) that are neighbours along a dimension."""
        number = np.arange(self.n_blocks, dtype=np.int64).reshape(self.counts)
        low = np.take(number, range(self.counts[dimension] - 1), axis=dimension)
        high = np.take(number, range(1, self.counts[dimension]), axis=dimension)
        return low.ravel(), high.ravel()


def stencil_grid(
    name: str, sizes: tuple[int | None, ...], blocks: tuple[int | None, ...]
) -> StencilGrid:
    """Return the grid of blocks.

    Sizes and blocks are those along x, y and z, None from the first dimension on that the matrix
    does not have.
    """
    given = [size is not None for size in sizes]
    for axis, size, block in zip("xyz", sizes, blocks, strict=True):
        if (size is None) != (block is None):
            raise ConfigurationError(
                f"workload {name}: size_{axis} and block_{axis}: accepted both or none"
            )
        if size is not None and block is not None:
            check_divisor(name, f"block_{axis}", block, f"size_{axis}", size)
    if given != sorted(given, reverse=True):
        raise ConfigurationError(f"workload {name}: size_z: accepted only with size_y")
    present = [(size, block) for size, block in zip(sizes, blocks, strict=True) if size and block]
    return StencilGrid(
        tuple(size // block for size, block in present), tuple(block for _, block in present)
    )


def grid_sweep(
    name: str,
    in_place: bool,
    *,
    size_x: Extent = 2**22,
    size_y: Extent | None = None,
    size_z: Extent | None = None,
    block_x: Extent = 2**16,
    block_y: Extent | None = None,
    block_z: Extent | None = None,
    sweeps: Count = 10,
    element_bytes: Size = 8,
    ops_per_element: Cost | None = None,
    copy_ops_per_element: Cost = 2.0,
    global_pieces: Count = 8,
    version: Version = "private",
    control: Control = "parallel",
) -> Workload:
    """Return a blocked stencil.

    Parameters
    ----------
    name : str
        Name of the workload.
    in_place : bool
        Whether low sides come from the present sweep (seidel) or from the one before (jacobi).
    size_x, size_y, size_z : int
        Elements of the matrix along each dimension; leave out `size_z`, or it and `size_y`.
    block_x, block_y, block_z : int
        Elements of a block along each dimension.
    sweeps : int
        Sweeps over the matrix (the paper's iterations).
    element_bytes : int
        Bytes of one element.
    ops_per_element, copy_ops_per_element : float
        Operations per element of a sweep, by default two per point of the star and one, and of the
        initial and final copies.
    global_pieces : int
        Blocks of data into which each block of the global matrix is divided, so that a policy can
        interleave it.
    version : {"private", "shared"}
        Private buffers, or global matrices: two (jacobi) or one updated in place (seidel).
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the root creates all.
    """
    grid = stencil_grid(name, (size_x, size_y, size_z), (block_x, block_y, block_z))
    n, dimensions = grid.n_blocks, len(grid.counts)
    check_size(
        name,
        tasks=(sweeps + 4) * n,
        edges=(sweeps + 2) * n * (1.0 + 2 * dimensions),
        data_bytes=(sweeps + 2) * n * grid.elements * element_bytes * 2.0,
    )
    per_element = 2 * (2 * dimensions + 1) + 1 if ops_per_element is None else ops_per_element
    program = DataflowProgram(version, control)
    matrix = program.array(n, grid.elements * element_bytes, global_pieces)
    creators = group_creation(program, grid.counts, GROUP)
    copying = grid.elements * copy_ops_per_element if program.is_private else 0.0
    first = program.tasks("initial", n, copying)
    sweep = program.tasks("sweep", sweeps * n, grid.elements * per_element).reshape(sweeps, n)
    final = program.tasks("final", n, copying)
    last = program.tasks("last", 1)
    stages = np.concatenate([first[None], sweep, final[None]])
    create_in_stages(program, creators, stages, last)
    program.buffer(stages[:-1], stages[1:], grid.elements * element_bytes)
    for dimension in range(dimensions):
        face = grid.elements // grid.block[dimension] * element_bytes
        _exchange(program, stages, grid.pairs(dimension), face, in_place=in_place)
    program.buffer(final, np.broadcast_to(last, (n,)), TOKEN_BYTES)
    if program.is_private:
        program.use(first, matrix, read=True)
        program.use(final, matrix, written=True)
    else:
        other = matrix
        if not in_place:
            other = program.array(n, grid.elements * element_bytes, global_pieces)
        for number, tasks in enumerate(sweep):
            before, after = (matrix, other) if number % 2 == 0 else (other, matrix)
            _sweep_shared(program, grid, tasks, before, after, element_bytes)
    return Workload(name, program.graph())


def _exchange(
    program: DataflowProgram,
    stages: Int64Array,
    pairs: tuple[Int64Array, Int64Array],
    face: int,
    *,
    in_place: bool,
) -> None:
    """Send the sides of blocks to their neighbours along a dimension, from stage to stage."""
    sweep, (low, high) = stages[1:-1], pairs
    program.buffer(stages[:-2, high], sweep[:, low], face)  # lo
    program.buffer(stages[-2, high], stages[-1, high], face)
    ahead = 0 if in_place else 1
    begin = 1 if in_place else 0
    program.buffer(stages[begin : -1 - ahead, low], stages[begin + ahead : -1, high], face)
    if not in_place:
        program.buffer(stages[-2, low], stages[-1, low], face)


def _sweep_shared(
    program: DataflowProgram,
    grid: StencilGrid,
    tasks: Int64Array,
    before: Int64Array,
    after: Int64Array,
    element_bytes: int,
) -> None:
    """Let the tasks of a sweep read sides of other blocks and their own, and write their own."""
    for dimension in range(len(grid.counts)):
        low, high = grid.pairs(dimension)
        face = grid.elements // grid.block[dimension] * element_bytes
        program.look(tasks[low], before[high, 0], face)
        program.look(tasks[high], before[low, -1], face)
    if before is after:
        program.use(tasks, before, read=True, written=True)
    else:
        program.use(tasks, before, read=True)
        program.use(tasks, after, written=True)
