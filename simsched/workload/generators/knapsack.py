"""0-1 knapsack by branch and bound, a spawn tree that is cut where nothing better can come.

Items are sorted by value per weight, best first. A node has decided on the first j of them; its
children leave item j and take it, in this order. A node that exceeds the capacity, fills it or has
decided on all items has no children, nor has one that is cut: whose value would stay below the best
value found so far even if item j could fill the remaining capacity.

* *Tasks.* Nodes down to `task_depth` decisions are tasks; the nodes below the deepest are part of
  these.
* *Operations.* `ops_per_node` for every node, cut ones included. A task at `task_depth` costs its
  own node and all below it.
* *Blocks.* None.

The nodes are those of a search on one worker. A parallel one shares the best value and so searches
more or fewer nodes from run to run; a task graph says what is to be done, whoever does it.

Weights and values are drawn uniformly and independently.

References
----------
Martello and Toth, *Knapsack Problems*, Wiley 1990. Frigo et al., PLDI 1998 (program ``knapsack``).
Book of docs/sources, section 3.8 (program ``Knapsack``, CPU-bound; items are not stated).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.call_tree import CallTree
from simsched.workload.draws import stream
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, Fraction, generator

MAX_NODES = 20_000_000


@generator("knapsack", small={"items": 12, "task_depth": 5, "iterations": 2})
def knapsack(
    seed: int,
    *,
    items: Annotated[int, Bounds(1, 60)] = 32,
    most_weight: Annotated[int, Bounds(1, 10**6)] = 100,
    most_value: Annotated[int, Bounds(1, 10**6)] = 100,
    filled: Fraction = 0.5,
    task_depth: Annotated[int, Bounds(0, 60)] = 10,
    ops_per_node: Cost = 50.0,
    iterations: Count = 1,
) -> Workload:
    """0-1 knapsack: branch and bound, with a task for every decision on the first items.

    Parameters
    ----------
    seed : int
        Seed of the items.
    items : int
        Number of items.
    most_weight, most_value : int
        Weights and values are drawn from 1 to this.
    filled : float
        Capacity relative to the weight of all items.
    task_depth : int
        Items that tasks decide on; the others are decided on within the deepest tasks.
    ops_per_node : float
        Operations of a node.
    iterations : int
        How often the search is repeated.
    """
    random = stream(seed, "items")
    weights = random.integers(1, most_weight + 1, items)
    values = random.integers(1, most_value + 1, items)
    order = np.argsort(-values / weights, kind="stable")
    search = Search(weights[order].tolist(), values[order].tolist(), int(filled * weights.sum()))
    calls = search.spawn(min(task_depth, items), ops_per_node)
    return Workload("knapsack", calls.graph(), iterations)


class Search:
    """Branch and bound over items by falling value per weight."""

    def __init__(self, weights: list[int], values: list[int], capacity: int) -> None:
        self.weights, self.values, self.capacity = weights, values, capacity
        self.best = 0
        self.nodes = 0

    def visit(self, item: int, value: int, room: int) -> bool:
        """Count a node and return whether it is divided; `room` is negative beyond the capacity."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ConfigurationError(
                f"workload knapsack: found more than {MAX_NODES} nodes, accepted fewer; "
                "fewer items make fewer"
            )
        if room < 0:
            return False
        if room == 0 or item == len(self.weights):
            self.best = max(self.best, value)
            return False
        weight = self.weights[item]
        return value * weight + room * self.values[item] >= self.best * weight

    def spawn(self, task_depth: int, ops_per_node: float) -> CallTree:
        """Search, and return the tasks: decisions down to `task_depth`."""
        calls = CallTree(("decide", "search"))
        # Caller, next item, value and room; the top of the stack is the next node of the search.
        stack: list[tuple[int | None, int, int, int]] = [(None, 0, 0, self.capacity)]
        while stack:
            caller, item, value, room = stack.pop()
            before = self.nodes
            if item == task_depth:
                self._search(item, value, room)
                calls.call(caller, 1, (self.nodes - before) * ops_per_node)
                continue
            me = calls.call(caller, 0, ops_per_node)
            if self.visit(item, value, room):
                stack.extend((me, *child) for child in self._children(item, value, room))
        return calls

    def _search(self, item: int, value: int, room: int) -> None:
        stack = [(item, value, room)]
        while stack:
            node = stack.pop()
            if self.visit(*node):
                stack.extend(self._children(*node))

    def _children(self, item: int, value: int, room: int) -> list[tuple[int, int, int]]:
        """Return the children of a node, the one to visit first last."""
        taken = (item + 1, value + self.values[item], room - self.weights[item])
        return [taken, (item + 1, value, room)]
