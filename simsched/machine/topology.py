"""Index arrays that follow from counts: thread numbering and the order of first touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simsched.machine.model import IntArray, MemoryNode

#: Kinds of memory that a processor addresses, in the order in which an operating system without a
#: table of distances offers them to first touch.
FIRST_TOUCH_KINDS = ("DRAM", "HBM", "NVM", "GPU")


def number_threads(ways: Sequence[int]) -> IntArray:
    """Return the core of every hardware thread, given how many each core has.

    The first thread of every core comes before the second thread of any core; inside a rank, by
    core.

    >>> number_threads([2, 1]).tolist()
    [0, 1, 0]
    """
    cores = [core for rank in range(max(ways)) for core, count in enumerate(ways) if rank < count]
    return np.array(cores, dtype=np.int32)


def default_touch_order(nodes: Sequence[MemoryNode], domain_hops: IntArray) -> IntArray:
    """Return the order in which first touch tries the nodes, shape (n_domains, n_nodes).

    By kind (DRAM, HBM, NVM, GPU), then by hops, then by node number; a node of no domain counts as
    0 hops away.
    """

    def key(domain: int, node: int) -> tuple[int, int, int]:
        home = nodes[node].domain
        hops = 0 if home is None else int(domain_hops[domain, home])
        return FIRST_TOUCH_KINDS.index(nodes[node].kind), hops, node

    rows = [
        sorted(range(len(nodes)), key=lambda node: key(domain, node))
        for domain in range(len(domain_hops))
    ]
    return np.array(rows, dtype=np.int32).reshape(len(domain_hops), len(nodes))
