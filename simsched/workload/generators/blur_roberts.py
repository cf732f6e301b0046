"""Gaussian blur and Roberts cross on an image, a data-flow program with short dependence paths.

The image is divided into blocks (i, j) of b_x x b_y pixels, j growing downwards.

* blur(i, j) has no input buffer. It reads block (i, j) of the global image with a border of one
  pixel and writes C(i, j), the block, to roberts(i, j); its right column to roberts(i+1, j); its
  top row to roberts(i, j-1); its upper right corner to roberts(i+1, j-1); and a token of 4 bytes to
  the roberts of each of the up to 8 blocks around it, which then may overwrite what it has read.
* roberts(i, j) reads C(i, j), the right column of (i-1, j), the top row of (i, j+1), the corner of
  (i-1, j+1) and its tokens. It writes block (i, j) of the global image and a token of 4 bytes to
  the last task.

* *Creation.* The root creates the last task and one that creates per group of 4 x 4 blocks; these
  create blur and roberts of each of their blocks.
* *Operations.* Per pixel ``blur_ops`` (a load and a multiply-add of 9 points, a store) and
  ``roberts_ops`` (4 loads, 5 operations, a store).

The border is read in four pieces: a row above and one below, with both corners, and a column on
either side.

In the shared version blur writes a second global image, from which roberts reads.

References
----------
Drebes et al., PACT 2016 (docs/sources/dataflow.md), section 4.3, Table 3 and Fig. 4; dependences
and creation as in the benchmark ``ring-roberts`` of the OpenStream distribution, December 2015.
"""

from __future__ import annotations

import numpy as np

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
from simsched.workload.registry import Cost, Count, Size, generator

GROUP, TOKEN_BYTES = 4, 4
_AROUND = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]


@generator(
    "blur_roberts",
    small={"size_x": 64, "size_y": 24, "block_x": 16, "block_y": 8, "global_pieces": 2},
)
def blur_roberts(
    *,
    size_x: Extent = 2**12,
    size_y: Extent = 2**12,
    block_x: Extent = 2**9,
    block_y: Extent = 2**6,
    element_bytes: Size = 8,
    blur_ops: Cost = 19.0,
    roberts_ops: Cost = 10.0,
    global_pieces: Count = 8,
    version: Version = "private",
    control: Control = "parallel",
) -> Workload:
    """Gaussian blur and Roberts cross on blocks of an image, with private buffers.

    Parameters
    ----------
    size_x, size_y : int
        Pixels of the image.
    block_x, block_y : int
        Pixels of a block.
    element_bytes : int
        Bytes of a pixel.
    blur_ops, roberts_ops : float
        Operations per pixel of the two stages.
    global_pieces : int
        Blocks of data into which each block of the image is divided, so that a policy can
        interleave it.
    version : {"private", "shared"}
        Private buffers, or a second global image between the stages.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the root creates all.
    """
    for axis, size, block in (("x", size_x, block_x), ("y", size_y, block_y)):
        check_divisor("blur_roberts", f"block_{axis}", block, f"size_{axis}", size)
    grid = (size_x // block_x, size_y // block_y)
    n, pixels = grid[0] * grid[1], block_x * block_y
    check_size("blur_roberts", tasks=2 * n, data_bytes=3.0 * size_x * size_y * element_bytes)
    program = DataflowProgram(version, control)
    image = program.array(n, pixels * element_bytes, global_pieces)
    creators = group_creation(program, grid, GROUP)
    blur = program.tasks("blur", n, pixels * blur_ops)
    roberts = program.tasks("roberts", n, pixels * roberts_ops)
    last = program.tasks("last", 1)
    create_in_stages(program, creators, np.stack([blur, roberts]), last)
    row, column = block_x * element_bytes, block_y * element_bytes
    parts = (
        ((0, 0), pixels * element_bytes),
        ((1, 0), column),
        ((0, -1), row),
        ((1, -1), element_bytes),
    )
    program.use(blur, image, read=True)
    for shift, size in (
        ((0, -1), row + 2 * element_bytes),
        ((0, 1), row + 2 * element_bytes),
        ((-1, 0), column),
        ((1, 0), column),
    ):
        here, there = _neighbours(grid, shift)
        program.look(blur[here], image[there, 0], size)
    for shift, size in parts:
        here, there = _neighbours(grid, shift)
        program.buffer(blur[here], roberts[there], size)
    for shift in _AROUND:
        here, there = _neighbours(grid, shift)
        program.buffer(blur[here], roberts[there], TOKEN_BYTES)
    program.buffer(roberts, np.broadcast_to(last, (n,)), TOKEN_BYTES)
    if not program.is_private:
        blurred = program.array(n, pixels * element_bytes, global_pieces)
        program.use(blur, blurred, written=True)
        program.use(roberts, blurred, read=True)
        for shift, size in parts[1:]:
            here, there = _neighbours(grid, shift)
            program.look(roberts[there], blurred[here, 0], size)
    program.use(roberts, image, written=True)
    return Workload("blur_roberts", program.graph())


def _neighbours(grid: tuple[int, int], shift: tuple[int, int]) -> tuple[Int64Array, Int64Array]:
    """Return the blocks that have a neighbour at an offset, and these neighbours."""
    x, y = np.unravel_index(np.arange(grid[0] * grid[1], dtype=np.int64), grid)
    to_x, to_y = x + shift[0], y + shift[1]
    exists = (to_x >= 0) & (to_x < grid[0]) & (to_y >= 0) & (to_y < grid[1])
    return np.flatnonzero(exists).astype(np.int64), (to_x * grid[1] + to_y)[exists]
