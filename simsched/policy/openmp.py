"""OpenMP ports: the program as a parallel loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.base import AcquireStep, Plan, View, param
from simsched.policy.loop import flatten
from simsched.policy.placement import PlacedPolicy
from simsched.policy.registry import preset, register
from simsched.workload.graph import TaskGraph, Workload


def static_chunks(n_items: int, n_workers: int) -> NDArray[np.int32]:
    """Return the worker of each loop item: contiguous parts, the first ones one item larger.

    Parameters
    ----------
    n_items, n_workers : int
        Items to divide, and among how many.

    Examples
    --------
    >>> static_chunks(7, 3).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    share, larger = divmod(n_items, n_workers)
    sizes = np.full(n_workers, share)
    sizes[:larger] += 1
    return np.repeat(np.arange(n_workers, dtype=np.int32), sizes)


@register("openmp_static")
@dataclass(frozen=True, kw_only=True)
class OpenmpStatic(PlacedPolicy):
    """Parallel loop over the leaves of the program with a fixed assignment of leaves to workers.

    Parameters
    ----------
    schedule : {"block", "cyclic"}
        Contiguous parts of the loop (``schedule(static)``), or single items in turn
        (``schedule(static, 1)``).

    Notes
    -----
    The program is rewritten: a spawn tree becomes a loop over its leaves in the order of the tree,
    which is the order of the data (see :func:`simsched.policy.loop.flatten` for joins that access
    data). The initialisation is rewritten and divided in the same way, so that first touch puts
    data where they are used. Dataflow graphs keep their edges and are divided by task index. A
    worker runs its own items only, in the order in which they become ready, and waits at the end of
    the iteration.

    References
    ----------
    OpenMP Application Programming Interface 4.0, section 2.7.1 (loop construct, static schedule).
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, section 9 (the OpenMP baseline).
    """

    schedule: str = param("block", choices=("block", "cyclic"))

    def prepare(self, view: View) -> Workload:
        """Return the program as loops."""
        workload = view.workload
        init = None if workload.init is None else flatten(workload.init)
        return replace(workload, graph=flatten(workload.graph), init=init)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return the fixed assignment."""
        if self.schedule == "block":
            owner = static_chunks(graph.n_tasks, view.n_workers)
        else:
            owner = np.arange(graph.n_tasks, dtype=np.int32) % np.int32(view.n_workers)
        return Plan(acquire=(AcquireStep("worker", "own", "oldest"),), instance_of=owner)


preset(
    "openmp_static_h",
    OpenmpStatic,
    "OpenMP static with all data on HBM nodes.",
    placement="membind_hbm",
)
