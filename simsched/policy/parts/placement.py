"""Data placements: which memory node each block lives on, a choice beside the scheduling.

A placement is a function from a :class:`~simsched.policy.contract.views.PlanView` to a
:class:`~simsched.policy.contract.base.Placement`, registered under a name with :func:`placement`.
Policies that leave the choice to the user derive from :class:`PlacedPolicy` and have a parameter
`placement`.

Memory of devices (kind ``"GPU"``) is never used: an operating system does not hand it out. Where
data are copied nothing is placed by a touch: programs register what they have allocated in the
host's memory, and from there it is copied to whoever uses it. So placements by first touch put all
blocks there at the start, into the first of their nodes that have room. What tasks write without
reading it, those of an initialisation too, is then where they ran and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError, ModelError
from simsched.machine.model import Machine
from simsched.policy.contract.base import (
    Placement,
    PlanView,
    Policy,
    S,
    own_name,
    param,
    view_before,
)
from simsched.policy.contract.placements import PlacementRule as PlacementRule
from simsched.policy.contract.placements import list_placements as list_placements
from simsched.policy.contract.placements import placement as placement
from simsched.policy.contract.placements import placement_rule as placement_rule
from simsched.policy.parts.subgraphs import preorder
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class PlacedPolicy(Policy[S]):
    """Base of policies that leave the placement of data to the user.

    Parameters
    ----------
    placement : str
        Name of a registered placement, or a file with one: ``path.py`` or ``path.py:NAME``.
    """

    placement: str = param("first_touch")

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            self.chosen_placement()
        except ConfigurationError as error:
            name = own_name(type(self))
            raise ConfigurationError(f"policy {name}: parameter placement: {error}") from error

    def chosen_placement(self) -> PlacementRule:
        """Return the chosen placement.

        Returns
        -------
        callable
            Takes a view and returns a `Placement`.
        """
        return placement_rule(self.placement, type(self))

    def check_memory(self, machine: Machine) -> None:
        """Check that a machine has the kind of memory that the placement asks for.

        Parameters
        ----------
        machine : Machine
            That the policy is to run on.
        """
        program = Workload("one task", build_graph([0.0]))
        view = view_before(machine, program, machine.place_workers(1))
        self._placed(view)

    def place(self, view: PlanView, state: S) -> Placement:
        """Return what the chosen placement says."""
        return self._placed(view)

    def _placed(self, view: PlanView) -> Placement:
        """Return what the chosen placement says; an error names the parameter."""
        try:
            return self.chosen_placement()(view)
        except ModelError as error:  # the machine has no such memory
            name = own_name(type(self))
            raise ModelError(
                f"policy {name}: parameter placement: {self.placement!r} does not fit: {error}"
            ) from error


@placement("first_touch")
def first_touch(view: PlanView) -> Placement:
    """Put each block where it is first touched, spilling to the next node in the system's order.

    Notes
    -----
    The order is `Machine.touch_order`: what the operating system does when nobody asks for anything
    else. Where data are copied all blocks are in the host's memory at the start.
    """
    return _touched(view, host_nodes(view.machine))


@placement("all_dram")
def all_dram(view: PlanView) -> Placement:
    """Put each block where it is first touched, on DRAM nodes only.

    References
    ----------
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, section 2 (the default on Knights Landing in
    flat mode).
    """
    return _touched(view, view.machine.nodes_of_kind("DRAM"))


@placement("cached_dram")
def cached_dram(view: PlanView) -> Placement:
    """Put each block where it is first touched, on nodes behind a memory-side cache only.

    Notes
    -----
    What Knights Landing's cache mode leaves to software. On a machine without such a cache it is an
    error, so that nobody takes another mode's figures for this one's.

    References
    ----------
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, section 9 (Cilk-C, LAWS-C).
    """
    nodes = [i for i, node in enumerate(view.machine.nodes) if node.memory_side_cache is not None]
    if not nodes:
        raise ModelError(f"machine {view.machine.name}: no memory node has a memory-side cache")
    return _touched(view, nodes)


@placement("membind_hbm")
def membind_hbm(view: PlanView) -> Placement:
    """Put each block where it is first touched, on HBM nodes only.

    Notes
    -----
    ``numactl --membind=4-7`` allows the nodes 4 to 7 and takes the one nearest to the toucher that
    has room. Data that do not fit are an error.
    """
    return _touched(view, view.machine.nodes_of_kind("HBM"))


@placement("membind_nvm")
def membind_nvm(view: PlanView) -> Placement:
    """Put each block where it is first touched, on NVM nodes only: memory behind CXL, for instance.

    Notes
    -----
    As :func:`membind_hbm`.
    """
    return _touched(view, view.machine.nodes_of_kind("NVM"))


@placement("prefer_hbm")
def prefer_hbm(view: PlanView) -> Placement:
    """Put each block where it is first touched, on HBM nodes first, on others when they are full.

    Notes
    -----
    Both parts keep the order of the operating system (``numactl --preferred-many``).
    """
    hbm = view.machine.nodes_of_kind("HBM")
    rest = [node for node in host_nodes(view.machine) if node not in hbm]
    return _touched_in(view, np.hstack([_order_of(view, hbm), _order_of(view, rest)]))


@placement("interleave")
def interleave(view: PlanView) -> Placement:
    """Deal blocks out to all nodes in turn, leaving out full ones.

    Notes
    -----
    ``numactl --interleave`` deals out pages; here the unit is the block. The shares of the nodes
    are the same as long as there are many more blocks than nodes, but one access to a block uses
    one node instead of all.
    """
    nodes = host_nodes(view.machine)
    sizes = view.workload.graph.block_bytes
    room = _room(view.machine)
    home = np.array(nodes, np.int32)[np.arange(len(sizes)) % len(nodes)]
    if np.all(_bytes_on(home, sizes, len(room)) <= room):
        return Placement(home, view.machine.touch_order)
    turn = 0
    for block, size in enumerate(sizes.tolist()):
        tries = [nodes[(turn + i) % len(nodes)] for i in range(len(nodes))]
        fitting = [i for i, node in enumerate(tries) if size <= room[node]]
        skipped = fitting[0] if fitting else 0  # nothing fits: the engine's check names the node
        home[block] = tries[skipped]
        room[home[block]] -= size
        turn += skipped + 1
    return Placement(home, view.machine.touch_order)


@placement("weighted")
def weighted(view: PlanView) -> Placement:
    """Give each node one contiguous part of the data, in proportion to its peak bandwidth.

    Notes
    -----
    Node i gets the blocks that leaves s_i to s_(i+1) - 1 of the initialisation touch first, leaves
    being numbered in the order of the spawn tree; s_i = ceil(n * (B_1 + ... + B_(i-1)) / (B_1 + ...
    + B_k)) of n leaves. Blocks that no leaf touches, and all blocks when there is no
    initialisation, are divided in the same way by their index. What finds no room on its node goes
    to the DRAM nodes with room, again in proportion to bandwidth; then to any node with room.

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


def host_nodes(machine: Machine) -> list[int]:
    """Return the memory nodes that the operating system hands out: all but those of devices."""
    return [i for i, node in enumerate(machine.nodes) if node.kind != "GPU"]


def range_starts(shares: Sequence[float], n_leaves: int) -> list[int]:
    """Return the first leaf of each node's part; exact, so that rounding shifts no boundary.

    s_i = ceil(n * (B_1 + ... + B_(i-1)) / (B_1 + ... + B_k)), leaves counted from 0; part i ends
    before s_(i+1). The division is exact, so that rounding cannot shift a boundary.

    References
    ----------
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, equation 2.

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
    chunk, n_chunks = _chunks(view.workload)
    home = _assign(chunk, n_chunks, nodes, shares)
    room = _room(machine)
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


def _chunks(workload: Workload) -> tuple[Int64Array, int]:
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


def _touched(view: PlanView, allowed: Sequence[int]) -> Placement:
    """Return first touch restricted to some nodes, in the system's order of distance."""
    return _touched_in(view, _order_of(view, allowed))


def _order_of(view: PlanView, allowed: Sequence[int]) -> Int32Array:
    """Return some nodes in the system's order of distance from each domain."""
    order = view.machine.touch_order
    rows = [[node for node in row if node in allowed] for row in order.tolist()]
    return np.array(rows, np.int32).reshape(len(order), len(allowed))


def _touched_in(view: PlanView, touch_order: Int32Array) -> Placement:
    """Return blocks without a home yet; where data are copied, in the first nodes with room."""
    sizes = view.workload.graph.block_bytes
    home = np.full(len(sizes), -1, np.int32)
    if not view.machine.copies_data:
        return Placement(home, touch_order)
    nodes, room = touch_order[0].tolist(), _room(view.machine).tolist()
    home[:] = nodes[0]  # also what fits nowhere: the engine's check names this node
    for block, size in enumerate(sizes.tolist() if len(nodes) > 1 else ()):
        node = next((node for node in nodes if size <= room[node]), nodes[0])
        room[node] -= size
        home[block] = node
    return Placement(home, touch_order)


def _room(machine: Machine) -> Int64Array:
    return np.array([node.capacity_bytes for node in machine.nodes], np.int64)


def _bytes_on(home: Int32Array, sizes: Int64Array, n_nodes: int) -> Int64Array:
    """Return the bytes of blocks on every node."""
    used = np.zeros(n_nodes, np.int64)
    np.add.at(used, home, sizes)
    return used
