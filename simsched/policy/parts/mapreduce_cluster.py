"""A MapReduce cluster: which slots its nodes have, and which disks hold the files of its jobs.

A node is a domain of the machine; its workers are its slots, the first ones for map tasks, the
others for reduce tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar, cast

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    Placement,
    Plan,
    PlanView,
    Policy,
    PoolGroup,
    param,
)
from simsched.policy.contract.fit import Need
from simsched.policy.parts.mapreduce_tracker import Tracker
from simsched.policy.parts.mapreduce_waiting import CountedWorkload, without_slowstart
from simsched.policy.parts.placement import first_touch
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.mapreduce_job import MAP, REDUCE, JobTasks, has_jobs

OWN, WAITING = 0, 1  #: pool groups: of a slot; of the tracker
HADOOP_MAP_SLOTS = 2  #: default of ``mapred.tasktracker.map.tasks.maximum``

T = TypeVar("T", bound=Tracker)

JOBS = Need(
    "MapReduce jobs",
    lambda view: "" if has_jobs(view.workload.graph) else "none",
)


@dataclass(frozen=True, kw_only=True)
class MapReduceCluster(Policy[T]):
    """Nodes with slots and disks, and the tracker that knows them.

    Parameters
    ----------
    map_slots : int
        Slots for map tasks on each node, fewer than it has workers: the others are slots for reduce
        tasks. By default, 0, two as in Hadoop; a node with no more than two workers then uses all
        for both. Programs without either kind of tasks use all workers for the other.
    replication : int
        Copies of each split, on different nodes drawn at random. With fewer nodes each has one: as
        in HDFS, a block may have fewer replicas than wanted.
    """

    needs: ClassVar[tuple[Need, ...]] = (JOBS,)

    chooses_processors: ClassVar[bool] = True

    tracker: ClassVar[type[Tracker]] = Tracker  #: the class T

    map_slots: int = param(0, low=0)
    replication: int = param(3, low=1)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program whose reduce tasks the tracker counts map tasks for."""
        return without_slowstart(view.workload)

    @staticmethod
    def least(workload: Workload) -> Iterator[Workload]:
        """Yield the program in which reduce tasks start after any of the map tasks."""
        yield without_slowstart(workload)

    def start(self, view: PlanView) -> T:
        """Return the tracker; where splits are does not depend on the policy."""
        graph = view.workload.graph
        tasks, domains = JobTasks(graph), np.unique(view.worker_domain).tolist()
        members = [np.flatnonzero(view.worker_domain == d).tolist() for d in domains]
        slots = members, members
        if (tasks.kind == REDUCE).any() and (tasks.kind == MAP).any():
            n_maps = self._map_slots(min(map(len, members)))
            slots = [m[:n_maps] for m in members], [m[n_maps:] or m for m in members]
        storage = [view.machine.own_node(d) for d in domains]
        replicas = replicas_of(view, tasks, len(domains), self.replication)
        early = np.zeros(graph.n_tasks, np.int32)
        if isinstance(view.workload, CountedWorkload):
            early = view.workload.early_maps
        return cast(T, self.tracker(tasks, slots, storage, replicas, early))

    def _map_slots(self, fewest: int) -> int:
        """Return the number of map slots, given the slots of the smallest node."""
        if self.map_slots >= max(1, fewest):
            most = f"0 to {fewest - 1}" if fewest > 1 else "0"
            raise ConfigurationError(
                f"policy {self.name}: parameter map_slots: found {self.map_slots}, accepted "
                f"{most}: a node has {fewest} slots, and reduce tasks need one; 0 stands for two, "
                "or for all slots for both kinds where there are no more"
            )
        return self.map_slots or HADOOP_MAP_SLOTS

    def place(self, view: PlanView, state: T) -> Placement:
        """Return where files are; with an initialisation, where it touches them first."""
        if view.workload.init is not None:
            return first_touch(view)
        return place_files(view, state, self.replication)

    def plan(self, view: PlanView, state: T, graph: TaskGraph) -> Plan:
        """Return a pool per slot and the tracker's; the initialisation is dealt out."""
        state.is_tracking = tracked = graph is view.workload.graph
        return Plan(
            acquire=(AcquireStep("slot", "own", "oldest"),),
            pool_groups=(PoolGroup("slot"), PoolGroup("tracker", scope="machine")),
            spawn_order=PARENT_FIRST,
            group_of=np.full(graph.n_tasks, WAITING if tracked else OWN, np.int8),
        )


def replicas_of(
    view: PlanView, tasks: JobTasks, n_nodes: int, replication: int
) -> list[tuple[int, ...]]:
    """Return the nodes that hold the split of each task, drawn at random; none without a split."""
    rng = np.random.default_rng(view.rng.integers(2**63))
    count = min(replication, n_nodes)
    of_block = {
        int(block): tuple(rng.choice(n_nodes, count, replace=False).tolist())
        for block in np.flatnonzero(tasks.is_input).tolist()
    }
    return [of_block.get(int(block), ()) for block in tasks.input_block.tolist()]


def place_files(view: PlanView, state: Tracker, replication: int) -> Placement:
    """Return splits where they were stored, all other blocks where they are written."""
    holds = np.full((view.workload.graph.n_blocks, max(2, replication)), -1, np.int32)
    for task, nodes in enumerate(state.replicas):
        disks = list(dict.fromkeys(state.storage[node] for node in nodes))  # some share one
        if disks:
            holds[state.tasks.input_block[task], : len(disks)] = disks
    return Placement(
        holds[:, 0].copy(),
        view.machine.touch_order,
        follows_writes=~state.tasks.is_input,
        follows_accesses=state.tasks.is_private,
        replicas=holds[:, 1:].copy(),
    )
