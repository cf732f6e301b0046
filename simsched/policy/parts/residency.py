"""Which blocks are in fast memory: admission of tasks under a limit, while a program runs.

A runtime that moves data between a large and a fast memory admits a task when the blocks that it
needs find room there, and evicts a block when nobody that has been admitted needs it any more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simsched.files.errors import ModelError
from simsched.workload.graph import BoolArray, TaskGraph

OUT, COMING, IN, LEAVING = range(4)


class Residency:
    """Room in fast memory, what is there, and how many admitted tasks need it.

    Parameters
    ----------
    needed : sequence of list of int
        For each task the blocks that it must have in fast memory.
    block_bytes : sequence of int
        Size of each block.
    room_bytes : dict of int to int
        What blocks may take of each node of fast memory.

    Raises
    ------
    ModelError
        For a task whose blocks do not fit even if nothing else is there.
    """

    def __init__(
        self,
        needed: Sequence[list[int]],
        block_bytes: Sequence[int],
        room_bytes: dict[int, int],
    ) -> None:
        self.room_bytes = room_bytes
        self.where = [OUT] * len(block_bytes)
        self.users = [0] * len(block_bytes)  # admitted tasks that have not ended
        self.node: dict[int, int] = {}  # of each block that is not out
        self._size = block_bytes
        self.change(needed)

    def change(self, needed: Sequence[list[int]]) -> None:
        """Take over what tasks need from now on; nothing is in fast memory. Raises as the class."""
        self.needed = needed
        for blocks in needed:
            if self._places(blocks) is None:
                size, total = sum(self._size[b] for b in blocks), sum(self.room_bytes.values())
                raise ModelError(
                    f"fast memory: found a task with {size} bytes of blocks, accepted at most "
                    f"{total} in {len(self.room_bytes)} nodes"
                )

    def admit(self, task: int) -> list[int] | None:
        """Count a task as a user of its blocks and take the room that these need.

        Returns
        -------
        list of int or None
            Blocks that must be fetched, whose nodes are in `node`. None changes nothing: there is
            no room, or a block is just being evicted.
        """
        blocks = self.needed[task]
        if any(self.where[block] == LEAVING for block in blocks):
            return None
        missing = [block for block in blocks if self.where[block] == OUT]
        places = self._places(missing)
        if places is None:
            return None
        for block, node in zip(missing, places, strict=True):
            self.node[block] = node
            self.room_bytes[node] -= self._size[block]
            self.where[block] = COMING
        for block in blocks:
            self.users[block] += 1
        return missing

    def arrive(self, block: int) -> None:
        """Note that a block has been fetched."""
        self.where[block] = IN

    def release(self, task: int) -> list[int]:
        """Note the end of a task; return the blocks that nobody needs any more."""
        for block in self.needed[task]:
            self.users[block] -= 1
        return [block for block in self.needed[task] if self.users[block] == 0]

    def leave(self, block: int) -> bool:
        """Let the eviction of a block begin, unless somebody needs it again or has evicted it."""
        if self.users[block] > 0 or self.where[block] != IN:
            return False
        self.where[block] = LEAVING
        return True

    def give_back(self, block: int) -> None:
        """Note that a block has been evicted."""
        self.where[block] = OUT
        self.room_bytes[self.node.pop(block)] += self._size[block]

    def _places(self, blocks: list[int]) -> list[int] | None:
        """Return nodes for blocks, the emptiest one for each; None if one finds no room."""
        room, places = dict(self.room_bytes), []
        for block in blocks:
            node = max(room, key=room.__getitem__)
            room[node] -= self._size[block]
            if room[node] < 0:
                return None
            places.append(node)
        return places


def blocks_of_tasks(graph: TaskGraph, moved: BoolArray) -> list[list[int]]:
    """Return the different blocks that each task must have in fast memory, in order of access."""
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    found: list[dict[int, None]] = [{} for _ in range(graph.n_tasks)]
    wanted = moved[graph.access_block]
    for t, block in zip(task[wanted].tolist(), graph.access_block[wanted].tolist(), strict=True):
        found[t][block] = None
    return [list(blocks) for blocks in found]
