"""Contiguous parts of the data on all memory nodes, by their shares."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from simsched.policy.contract.base import Placement, PlanView
from simsched.policy.contract.placements import placement
from simsched.policy.parts.host_memory import host_nodes, room_of
from simsched.policy.parts.subgraphs import preorder
from simsched.workload.graph import Int32Array, Int64Array, TaskGraph, Workload


@placement("weighted")
def weighted(view: PlanView) -> Placement:
    """Give each node one contiguous part of the data, in proportion to its peak bandwidth.

    Notes
    -----
    Contiguous leaves of the initialisation, in the order of the spawn tree, and the blocks that
    they touch first belong to a node (:func:`range_starts`). Blocks that no leaf touches, and all
    blocks when there is no initialisation, are divided in the same way by their index. What finds
    no room on its node goes to the DRAM nodes with room; then to any node with room.

    References
    ----------
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, equations 1 and 2 and section 9.3.
    """
    shares = [
        view.machine.nodes[node].peak_bandwidth_bytes_per_s for node in host_nodes(view.machine)
    ]
    return _contiguous(view, shares)


@placement("even")
def even(view: PlanView) -> Placement:
    """Give each node one contiguous part of the data, all of the same size.

    Notes
    -----
    As :func:`weighted` with equal weights.

    References
    ----------
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, section 9 (BATS-NH, -B and -L).
    """
    return _contiguous(view, [1.0] * len(host_nodes(view.machine)))


def range_starts(shares: Sequence[float], n_leaves: int) -> list[int]:
    """Return the first leaf of each node's part; exact, so that rounding shifts no boundary.

    s_i = ceil(n * (B_1 + ... + B_(i-1)) / (B_1 + ... + B_k)), leaves counted from 0 (H. Zhao et
    al., ACM TACO 15(4), article 55, 2018, equation 2).

    >>> range_starts([22.5] * 4 + [96.0] * 4, 8192)
    [0, 389, 778, 1167, 1556, 3215, 4874, 6533]
    """
    exact = [Fraction(share) for share in shares]
    total = sum(exact)
    return [-((-n_leaves * sum(exact[:i])) // total) for i in range(len(exact))]


def leaf_of_block(graph: TaskGraph) -> Int64Array:
    """Return the first leaf of the spawn tree that accesses each block; -1 for none."""
    leaves = graph.leaves
    order = preorder(graph)
    position = np.full(graph.n_tasks, -1, np.int64)
    position[leaves[np.argsort(order[leaves])]] = np.arange(len(leaves))
    leaf = np.repeat(position, np.diff(graph.access_ptr))
    block = graph.access_block
    first = np.full(graph.n_blocks, len(leaves), np.int64)
    np.minimum.at(first, block[leaf >= 0], leaf[leaf >= 0])
    return np.where(first < len(leaves), first, -1)


def _contiguous(view: PlanView, shares: Sequence[float]) -> Placement:
    """Return contiguous parts of the data on all host nodes, sized by `shares`."""
    machine, sizes = view.machine, view.workload.graph.block_bytes
    nodes = host_nodes(machine)
    chunk, n_chunks = chunks(view.workload)
    home = _assign(chunk, n_chunks, nodes, shares)
    room = room_of(machine)
    pending = _keep_what_fits(home, np.arange(len(sizes)), sizes, chunk, room)
    share_of = dict(zip(nodes, shares, strict=True))
    dram = [node for node in nodes if machine.nodes[node].kind == "DRAM"]
    for allowed in (dram, nodes):
        candidates = list(allowed)
        while len(pending) and candidates:
            some = [share_of[node] for node in candidates]
            home[pending] = _assign(np.arange(len(pending)), len(pending), candidates, some)
            left = _keep_what_fits(home, pending, sizes, chunk, room)
            full = set(home[left].tolist())
            candidates = [node for node in candidates if node not in full]
            pending = left
    return Placement(home, machine.touch_order)


def chunks(workload: Workload) -> tuple[Int64Array, int]:
    """Return for each block the leaf that it follows, and the number of leaves.

    Blocks that no leaf touches get the leaf at the same relative position.
    """
    n_blocks = workload.graph.n_blocks
    if workload.init is None:
        return np.arange(n_blocks, dtype=np.int64), n_blocks
    leaf = leaf_of_block(workload.init)
    n_leaves = len(workload.init.leaves)
    untouched = np.flatnonzero(leaf < 0)
    leaf[untouched] = np.arange(len(untouched)) * n_leaves // max(len(untouched), 1)
    return leaf, n_leaves


def _assign(
    chunk: Int64Array, n_chunks: int, nodes: list[int], shares: Sequence[float]
) -> Int32Array:
    """Return the node of each chunk when the nodes get contiguous ranges of chunks."""
    starts = range_starts(shares, n_chunks)
    return np.array(nodes, np.int32)[np.searchsorted(starts, chunk, side="right") - 1]


def _keep_what_fits(
    home: Int32Array, blocks: Int64Array, sizes: Int64Array, chunk: Int64Array, room: Int64Array
) -> Int64Array:
    """Take room for blocks on their homes, earlier chunks first; return those that find none."""
    ordered = blocks[np.lexsort((blocks, chunk[blocks]))]
    left = []
    for node in np.unique(home[ordered]).tolist():
        mine = ordered[home[ordered] == node]
        fits = np.cumsum(sizes[mine]) <= room[node]
        room[node] -= int(sizes[mine[fits]].sum())
        left.append(mine[~fits])
    rest = np.concatenate(left) if left else ordered
    return rest[np.lexsort((rest, chunk[rest]))]
