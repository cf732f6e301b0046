"""Where the blocks of a program lie on hosts with several memory nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import HardwareError
from simsched.hardware.program import Program
from simsched.policy.parts.placement_by_share import range_starts


def block_nodes(placement: str, n_blocks: int, nodes: Sequence[int]) -> NDArray[np.int32] | None:
    """Return the node that each block is put on, None when its first toucher decides.

    ``interleave`` and ``bind`` are the simulator's placements ``interleave`` and, blocks taken in
    order of their index, ``even``.
    """
    if placement == "first_touch":
        return None
    every = np.arange(n_blocks)
    if placement == "interleave":
        turn = every % len(nodes)
    else:
        starts = range_starts([1.0] * len(nodes), n_blocks)
        turn = np.searchsorted(starts, every, side="right") - 1
    return np.array(nodes, np.int32)[turn]


def place_blocks(
    program: Program, placement: str, nodes: Sequence[int], binding: Any
) -> dict[str, Any]:
    """Put the blocks of a program where a placement says; return what was done, for the record.

    Memory is placed by the page. A page belongs to the block in which it begins; blocks in which
    none begins are where their neighbours are. Interleaved blocks may go elsewhere when their node
    is full, bound ones may not.
    """
    about: dict[str, Any] = {"policy": placement, "nodes": list(nodes), "applied": False}
    if len(nodes) < 2:
        return {**about, "reason": "the host has one memory node"}
    home = block_nodes(placement, len(program.block_array), nodes)
    if home is None:
        return {**about, "applied": True}
    pages = 0
    size = program.workload.graph.block_bytes
    columns = home, program.block_array, program.block_offset_bytes, size
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for block, (node, number, first, length) in enumerate(rows):
        array, last = program.arrays[number], first + length
        try:
            pages += binding.bind_pages(array, first, last, node, placement == "bind")
        except OSError as error:
            raise HardwareError(f"placement {placement}: block {block}: {error}") from error
    return {**about, "applied": True, "pages": pages}


def blocks_on_nodes(program: Program, nodes: Sequence[int], binding: Any) -> dict[str, int]:
    """Return how many blocks begin on each node, "untouched" for those that nobody has touched.

    Nothing on hosts with one node, and where the system does not tell.
    """
    if len(nodes) < 2:
        return {}
    found: dict[str, int] = {}
    for i, array in enumerate(program.arrays):
        inside = (program.block_array == i) & (program.block_offset_bytes < array.nbytes)
        try:
            places = binding.locate_pages(array, program.block_offset_bytes[inside])
        except OSError:
            return {}
        for node, count in zip(*np.unique(places, return_counts=True), strict=True):
            name = f"node{node}" if node >= 0 else "untouched"
            found[name] = found.get(name, 0) + int(count)
    return found
