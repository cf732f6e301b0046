"""Index arrays that follow from counts: thread numbering and the order of first touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simsched.machine.model import IntArray, MemoryNode

#: Kinds of memory in the order in which an operating system without a table of distances offers
#: them to first touch; others follow by name, and then what drivers of devices manage.
FIRST_TOUCH_KINDS = ("DRAM", "HBM", "NVM")


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

    By kind, then by hops, then by node number; a node of no domain counts as 0 hops away.
    """

    def key(domain: int, node: int) -> tuple[bool, int, str, int, int]:
        kind, home = nodes[node].kind, nodes[node].domain
        is_known = kind in FIRST_TOUCH_KINDS
        rank = FIRST_TOUCH_KINDS.index(kind) if is_known else len(FIRST_TOUCH_KINDS)
        hops = 0 if home is None else int(domain_hops[domain, home])
        return nodes[node].has_driver, rank, "" if is_known else kind, hops, node

    rows = [
        sorted(range(len(nodes)), key=lambda node: key(domain, node))
        for domain in range(len(domain_hops))
    ]
    return np.array(rows, dtype=np.int32).reshape(len(domain_hops), len(nodes))
