"""Multi-threaded shepherds: one stack of tasks per socket, whole batches stolen between sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.policy.base import PARENT_FIRST, AcquireStep, Plan, PoolGroup, View, param
from simsched.policy.placement import PlacedPolicy
from simsched.policy.registry import preset, register
from simsched.workload.graph import TaskGraph


@register("mts")
@dataclass(frozen=True, kw_only=True)
class Mts(PlacedPolicy):
    """Multi-threaded shepherds (MTS): workers of a socket share one last-in first-out queue.

    Parameters
    ----------
    victim : {"random", "nearest"}
        Whether a thief tries other sockets in random order or the nearest ones first.
    thief : {"first_worker", "head_worker"}
        Who steals for a socket whose queue is empty: the worker that notices first, or the first
        worker of the socket.
    batch : int
        Most tasks that are stolen at a time; 0 for one for every worker of a socket.

    Notes
    -----
    Workers take the newest task of their socket's queue, which stays close to the serial order;
    thieves take the oldest ones of another socket's queue. The first stolen task is run by the
    thief, the others enter the queue of its socket, where they end the wait of its other workers.
    Every operation on a queue takes its lock.

    Interpretations. The sockets are the NUMA domains that have workers. Tasks are spawned parent
    first: nothing is said about it, and a shared queue of new tasks suggests it. The source gives
    two conditions for stealing, that the first worker finds the queue empty and that all cores of
    the socket are free and its head core steals; the second is modelled without waiting for all
    cores. With domains of different size a batch serves the largest.

    References
    ----------
    S. L. Olivier, A. K. Porterfield, K. B. Wheeler, M. Spiegel, J. F. Prins, *OpenMP task
    scheduling strategies for multicore NUMA systems*, IJHPCA 26(2), 2012. Q. Chen, M. Guo, *Task
    Scheduling for Multi-core and Parallel Architectures*, Springer 2017, section 3.2.
    """

    victim: str = param("random", choices=("random", "nearest"))
    thief: str = param("first_worker", choices=("first_worker", "head_worker"))
    batch: int = param(0, low=0, high=2**31 - 1)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return one and the same plan for every graph, but for its number of tasks."""
        hops = view.machine.domain_hops[view.worker_domain].astype(np.int32)
        steal = AcquireStep(
            "shepherd",
            "other_domains",
            "oldest",
            ("head_worker",) if self.thief == "head_worker" else (),
            rank=hops if self.victim == "nearest" else None,
            batch=self.batch or int(np.bincount(view.worker_domain).max()),
        )
        return Plan(
            acquire=(AcquireStep("shepherd", "own", "newest"), steal),
            pool_groups=(PoolGroup("worker"), PoolGroup("shepherd", scope="domain", locked=True)),
            spawn_order=PARENT_FIRST,
            group_of=np.ones(graph.n_tasks, np.int8),
        )


preset("mts_random", Mts, "MTS that steals from sockets in random order.")
preset(
    "mts_nearest", Mts, "MTS that steals from the nearest socket that has work.", victim="nearest"
)
