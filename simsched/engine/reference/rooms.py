"""Nodes of memory spaces on which blocks find room; docs/semantics.md, rules CD."""

from __future__ import annotations

import numpy as np

from simsched.engine.interface.problem import Problem
from simsched.engine.reference.drivers import Place
from simsched.engine.reference.homes import Homes
from simsched.trace.schema import NONE


class Rooms:
    """On which node of each space a block is, or has been last, and where it finds room."""

    def __init__(self, problem: Problem, homes: Homes) -> None:
        self._homes = homes
        self.node: dict[Place, int] = {}
        spaces = range(len(problem.space_is_device))
        nodes = [np.flatnonzero(problem.node_space == space).tolist() for space in spaces]
        self.capacity_bytes = [int(problem.node_capacity_bytes[of].sum()) for of in nodes]
        touched = problem.touch_order.tolist()
        #: by space and domain
        self._order = [[[n for n in row if n in of] or of for row in touched] for of in nodes]

    def order(self, place: Place, near: int) -> list[int]:
        """Return the nodes that a block tries in a space: where it has been, then those near."""
        order = self._order[place[1]][near]
        last = self.node.get(place)
        return order if last is None else [last, *order]

    def find(self, place: Place, near: int) -> int:
        """Return the first node with room for a block, NONE when there is none."""
        order = self.order(place, near)
        return next((node for node in order if self._homes.has_room(node, place[0])), NONE)
