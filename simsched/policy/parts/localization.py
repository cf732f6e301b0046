"""Finding the socket where each subgraph has most of its data, by trying one after the other."""

from __future__ import annotations

import numpy as np

from simsched.workload.graph import Int32Array, Int64Array

UNSETTLED = -1


class Localization:
    """Record of the sockets on which subgraphs have been tried, and what was found there.

    In round r, subgraph g of n is tried on socket (home + r) mod M with home = floor(g * M / n)
    (Zhao et al., TACO 2018, section 7).
    """

    def __init__(self, n_subgraphs: int, n_sockets: int) -> None:
        self.socket = np.full(n_subgraphs, UNSETTLED, np.int32)
        self.is_high = np.zeros(n_subgraphs, bool)
        self._home = np.arange(n_subgraphs, dtype=np.int64) * n_sockets // max(n_subgraphs, 1)
        self._n_sockets = n_sockets
        self._round = 0
        self._best_bytes = np.full(n_subgraphs, -1, np.int64)
        self._best_socket = np.zeros(n_subgraphs, np.int32)

    @property
    def is_complete(self) -> bool:
        """Whether every subgraph has been settled."""
        return bool(np.all(self.socket != UNSETTLED))

    def targets(self) -> Int32Array:
        """Return the socket of each subgraph in this round: the settled one, or the next to try."""
        turn = (self._home + self._round) % self._n_sockets
        return np.where(self.socket == UNSETTLED, turn, self.socket).astype(np.int32)

    def record(self, group_bytes: Int64Array) -> None:
        """Take in the counters of a round."""
        local, remote = group_bytes.sum(axis=1).T
        tried = self.targets()
        is_open = self.socket == UNSETTLED
        better = is_open & (local > self._best_bytes)
        self._best_bytes[better] = local[better]
        self._best_socket[better] = tried[better]
        settled = is_open & (local >= remote)
        self.socket[settled] = tried[settled]
        self.is_high |= settled
        self._round += 1
        if self._round == self._n_sockets:
            rest = self.socket == UNSETTLED
            self.socket[rest] = self._best_socket[rest]
