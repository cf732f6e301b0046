"""Programs whose iterations differ in what their tasks cost.

All iterations of a program have the same tasks, spawn tree, edges and blocks. Where operations and
accesses differ, a :class:`Varying` makes the graph of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from simsched.files.errors import GraphError
from simsched.workload.arrays import GraphArrays

Graph = TypeVar("Graph", bound=GraphArrays)

#: What all iterations have in common.
ALIKE = ("child_ptr", "child", "succ_ptr", "succ", "block_bytes", "task_class")


@dataclass(frozen=True, eq=False)
class Varying(Generic[Graph]):
    """Makes what each iteration executes.

    Parameters
    ----------
    made : callable
        Returns the graph of an iteration, numbered from 1.
    changes : tuple of callable
        What has been done to the program's graph since, each from graph to graph.
    """

    made: Callable[[int], Graph]
    changes: tuple[Callable[[Graph], Graph], ...] = ()

    def graph(self, number: int) -> Graph:
        """Return what an iteration executes.

        Parameters
        ----------
        number : int
            From 1 on.

        Returns
        -------
        TaskGraph
            A new one.
        """
        graph = self.made(number)
        for change in self.changes:
            graph = change(graph)
        return graph

    def changed(self, change: Callable[[Graph], Graph]) -> Varying[Graph]:
        """Return the same iterations with a change that is made to each.

        Parameters
        ----------
        change : callable
            From graph to graph.

        Returns
        -------
        Varying
            A new one.
        """
        return replace(self, changes=(*self.changes, change))

    def validate(self, graph: Graph, iterations: int) -> None:
        """Check that the first and the last iteration are right and fit the program's graph.

        Parameters
        ----------
        graph : TaskGraph
            The program's.
        iterations : int
            How many it has.

        Raises
        ------
        GraphError
            For other tasks, children, edges, blocks or classes than those of the graph.
        """
        for number in {1, iterations}:
            found = self.graph(number)
            for name in ALIKE:
                if not np.array_equal(getattr(found, name), getattr(graph, name)):
                    raise GraphError(
                        f"iteration {number}: {name}: found other values than in the program's "
                        "graph, accepted the same"
                    )
