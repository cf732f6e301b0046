"""Balancing the traffic of memory nodes: hotness of blocks, and which blocks to migrate.

Equations and algorithms are those of H. Zhao et al., ACM TACO 15(4), article 55, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simsched.workload.graph import FloatArray, Int32Array, Int64Array


def sample_pages(pages: Int64Array, n_samples: int, rng: np.random.Generator) -> Int64Array:
    """Return random pages of each block, all different where the block has enough of them.

    Floyd's sampling (Bentley and Floyd, *A sample of brilliance*, Communications of the ACM 30(9),
    1987). Blocks with fewer pages have all of them sampled, some more than once.
    """
    chosen = np.zeros((len(pages), n_samples), np.int64)
    for i in range(n_samples):
        chosen[:, i] = rng.integers(0, np.maximum(pages - n_samples + i, 0) + 1)
    few = pages < n_samples
    for block in np.flatnonzero(~few).tolist():
        drawn: dict[int, None] = {}
        first = int(pages[block]) - n_samples
        for last, page in enumerate(chosen[block].tolist(), first):
            drawn[last if page in drawn else page] = None
        chosen[block] = list(drawn)
    chosen[few] = np.arange(n_samples) % pages[few, None]
    return chosen


def hotness(touched: Int64Array, pages: Int64Array, n_samples: int) -> FloatArray:
    """Return the estimated traffic of each area: (n_p / b) * (a_1 + ... + a_b) (equation 4)."""
    return np.asarray(pages / n_samples * touched, np.float64)


def node_traffic(hot: FloatArray, home: Int32Array, n_nodes: int) -> FloatArray:
    """Return the added hotness of the blocks of each node; shape (n_nodes,) (equation 3)."""
    traffic = np.zeros(n_nodes)
    np.add.at(traffic, home[home >= 0], hot[home >= 0])
    return traffic


def balanced_traffic(traffic: FloatArray, bandwidth: Sequence[float]) -> FloatArray:
    """Return the traffic each node should have, in proportion to bandwidth; shape (n_nodes,).

    Equations 5 and 6; the numerator of 6 is read as B_i, without which 5 would not follow.
    """
    shares = np.asarray(bandwidth, np.float64)
    # Exact sums: those of NumPy depend on how it adds up.
    return math.fsum(traffic.tolist()) * shares / math.fsum(shares.tolist())


def choose_moves(
    hot: FloatArray,
    home: Int32Array,
    bandwidth: Sequence[float],
    room: Sequence[int],
    block_bytes: Int64Array,
) -> tuple[Int32Array, Int32Array]:
    """Return the blocks to migrate, in this order, and their new nodes (algorithm 1).

    The emptiest node is filled first, from the most congested node first, with the hottest block
    that is colder than both what the one has too much and the other too little. Readings:
    docs/sources/bats.md.
    """
    n_nodes = len(bandwidth)
    traffic = node_traffic(hot, home, n_nodes)
    excess = (traffic - balanced_traffic(traffic, bandwidth)).tolist()
    ranked = sorted(range(n_nodes), key=lambda node: (-excess[node], node))
    n_over = sum(1 for value in excess if value >= 0)
    free = list(room)
    sizes = block_bytes.tolist()
    blocks = {node: _hottest_first(hot, home, node) for node in ranked[:n_over]}
    moves: list[tuple[int, int]] = []
    for under in reversed(ranked[n_over:]):
        for over in ranked[:n_over]:
            kept = []
            for value, block in blocks[over]:
                wanted = value < excess[over] and value < -excess[under]
                if wanted and bandwidth[under] > 0 and sizes[block] <= free[under]:
                    moves.append((block, under))
                    free[under] -= sizes[block]
                    excess[over] -= value
                    excess[under] += value
                else:
                    kept.append((value, block))
            blocks[over] = kept
    chosen = np.array(moves, np.int32).reshape(-1, 2)
    return chosen[:, 0].copy(), chosen[:, 1].copy()


def _hottest_first(hot: FloatArray, home: Int32Array, node: int) -> list[tuple[float, int]]:
    """Return hotness and index of the accessed blocks of a node, hottest first."""
    mine = np.flatnonzero((home == node) & (hot > 0))
    mine = mine[np.lexsort((mine, -hot[mine]))]
    return list(zip(hot[mine].tolist(), mine.tolist(), strict=True))
