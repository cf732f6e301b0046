"""Data placements: which memory node each block lives on, a choice beside the scheduling.

A placement is a function from a :class:`~simsched.policy.contract.views.PlanView` to a
:class:`~simsched.policy.contract.base.Placement`, registered under a name with :func:`placement`.
Policies that leave the choice to the user derive from :class:`PlacedPolicy`.

Memory of devices is never used: an operating system does not hand it out. Where data are copied,
programs register what they have allocated in the host's memory: placements by first touch put all
blocks there at the start, into the first of their nodes that have room. If the host has several,
what an initialisation writes is where that touches it. What tasks write without reading it is then
where they ran and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
from simsched.policy.parts.host_memory import host_nodes, room_of
from simsched.policy.parts.placement_by_share import even as even
from simsched.policy.parts.placement_by_share import weighted as weighted
from simsched.workload.builder import build_graph
from simsched.workload.graph import Int32Array, Workload


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
    As ``numactl --preferred-many``.
    """
    hbm = view.machine.nodes_of_kind("HBM")
    rest = [node for node in host_nodes(view.machine) if node not in hbm]
    return _touched_in(view, np.hstack([_order_of(view, hbm), _order_of(view, rest)]))


@placement("interleave")
def interleave(view: PlanView) -> Placement:
    """Deal blocks out to all nodes in turn, leaving out full ones.

    Notes
    -----
    ``numactl --interleave`` deals out pages; here the unit is the block, so that one access to a
    block uses one node.
    """
    nodes = host_nodes(view.machine)
    sizes, room = view.workload.graph.block_bytes, room_of(view.machine)
    home = np.array(nodes, np.int32)[np.arange(len(sizes)) % len(nodes)]
    used = np.zeros(len(room), np.int64)
    np.add.at(used, home, sizes)
    if np.all(used <= room):
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
    nodes, room = touch_order[0].tolist(), room_of(view.machine).tolist()
    registered = np.ones(len(sizes), bool)
    if len(nodes) > 1 and (init := view.workload.init) is not None:
        registered[init.access_block[init.written_bytes > 0]] = False
    for block in np.flatnonzero(registered).tolist():
        # What fits nowhere gets the first node: the engine's check names it.
        node = next((node for node in nodes if sizes[block] <= room[node]), nodes[0])
        room[node] -= int(sizes[block])
        home[block] = node
    return Placement(home, touch_order)
