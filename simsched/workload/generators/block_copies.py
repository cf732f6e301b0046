"""Block copies: every task reads one block and writes another of the same size.

With n copies of b bytes in pieces of p bytes: n independent tasks, 2 n blocks, ``n b`` bytes read
and as many written; a task has ``2 ceil(b / p)`` accesses, which read a piece and write it in turn.
No operations. Blocks that are read are numbered first, or last with `targets_first`: a placement
that goes by the number puts them on one memory and the others on another.

References
----------
Chandrasekar et al., IPDPS Workshops 2017 (docs/sources/charm.md), section IV-D (64 threads that
copy blocks between two memories at the same time).
"""

from __future__ import annotations

import numpy as np

from simsched.workload.builder import accesses, build_graph, check_size
from simsched.workload.graph import Workload
from simsched.workload.registry import MIB, Count, Size, generator


@generator("block_copies", small={"copies": 6, "block_bytes": 20_000, "piece_bytes": 3000})
def block_copies(
    *,
    copies: Count = 64,
    block_bytes: Size = 128 * MIB,
    piece_bytes: Size = 2 * MIB,
    targets_first: bool = False,
    iterations: Count = 1,
) -> Workload:
    """Independent copies of blocks.

    Parameters
    ----------
    copies : int
        Number of copies.
    block_bytes : int
        Bytes of each block.
    piece_bytes : int
        Bytes that are read, then written, in turn; more than a cache holds keeps caches out of it.
    targets_first : bool
        Whether the blocks that are written have the lower numbers.
    iterations : int
        How often everything is copied.
    """
    pieces = -(-block_bytes // piece_bytes)
    check_size("block_copies", tasks=copies, edges=copies * pieces, data_bytes=copies * block_bytes)
    every = np.arange(copies, dtype=np.int64)
    size = np.minimum(block_bytes - piece_bytes * np.arange(pieces), piece_bytes)
    none = np.zeros_like(size)
    source, target = (copies + every, every) if targets_first else (every, copies + every)
    graph = build_graph(
        np.zeros(copies),
        class_names=("copy",),
        accessed=accesses(
            np.repeat(every, 2 * pieces),
            np.tile(np.column_stack((source, target))[:, None, :], (1, pieces, 1)).ravel(),
            np.tile(np.column_stack((size, none)).ravel(), copies),
            np.tile(np.column_stack((none, size)).ravel(), copies),
            copies,
        ),
        block_bytes=np.full(2 * copies, block_bytes),
    )
    return Workload("block_copies", graph, iterations)
