"""When MapReduce jobs end, and where their map tasks find their splits.

Only ends of tasks and reads of splits are looked at, while the run goes on, so that no event trace
has to be kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.machine_fields import paths_of
from simsched.files.units import PER_PS
from simsched.machine.model import Machine
from simsched.trace.schema import EventKind
from simsched.trace.sink import Events, EventSink, InformedSink
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import MAP, JobTasks


class JobTimes:
    """A sink that keeps when the map tasks and all tasks of each job have ended.

    The results are by iteration; `local_maps` are map tasks of each job that have read nothing of
    their split from elsewhere. The attempt that ends a task is the one that counts. It is local if
    its split, or what caches did not have of it, came from the memory node of its domain, the disk
    of its node: with several replicas the nearest one is read. Nodes that share a disk find there
    what a tracker takes to be the other one's, too.
    """

    def __init__(self, machine: Machine, others: EventSink | None = None) -> None:
        self.capacity = 2**16 if others is None else others.capacity
        self._others, self._machine = others, machine
        self.start_ps: dict[int, int] = {}
        self.maps_end_ps: dict[int, NDArray[np.int64]] = {}
        self.end_ps: dict[int, NDArray[np.int64]] = {}
        self.local_maps: dict[int, NDArray[np.int64]] = {}
        self._far: set[tuple[int, int, int]] = set()  # (iteration, task, worker)

    def begin(self, workload: Workload, worker_thread: NDArray[np.int32]) -> None:
        """Learn what is executed where; see :meth:`simsched.trace.sink.InformedSink.begin`."""
        self.tasks = JobTasks(workload.graph)
        core = self._machine.thread_core[worker_thread]
        paths = paths_of(self._machine, worker_thread)
        domain = self._machine.core_domain[core]
        own = np.array([self._machine.own_node(d) for d in range(self._machine.n_domains)])[domain]
        self._near = np.stack([paths.access[domain, own], paths.hit[domain, own]])
        self._block = np.full(len(worker_thread), -1, np.int64)
        if isinstance(self._others, InformedSink):
            self._others.begin(workload, worker_thread)

    def append(self, events: Events) -> None:
        """Take the next batch; see :meth:`simsched.trace.sink.EventSink.append`."""
        kind, number = events["kind"], events["iteration"]
        for first in np.flatnonzero((kind == EventKind.ITERATION_START) & (number > 0)).tolist():
            self._start(int(number[first]), int(events["time_ps"][first]))
        self._note_far(events)
        for index in np.flatnonzero((kind == EventKind.TASK_END) & (number > 0)).tolist():
            iteration, task = int(number[index]), int(events["task"][index])
            job, time_ps = self.tasks.job[task], int(events["time_ps"][index])
            self.end_ps[iteration][job] = time_ps
            if self.tasks.kind[task] == MAP:
                self.maps_end_ps[iteration][job] = time_ps
                far = (iteration, task, int(events["worker"][index])) in self._far
                self.local_maps[iteration][job] += not far
        if self._others is not None:
            self._others.append(events)

    def _start(self, iteration: int, time_ps: int) -> None:
        """Begin to count the jobs of an iteration."""
        self.start_ps[iteration] = time_ps
        for counts in (self.maps_end_ps, self.end_ps, self.local_maps):
            counts[iteration] = np.zeros(self.tasks.n_jobs, np.int64)

    def _note_far(self, events: Events) -> None:
        """Note the attempts of a batch that read bytes of their split on another node."""
        wanted = np.isin(events["kind"], (EventKind.ACCESS, EventKind.FLOW_END))
        order = np.flatnonzero(wanted & (events["iteration"] > 0) & (events["worker"] >= 0))
        order = order[np.argsort(events["worker"][order], kind="stable")]
        worker, task = events["worker"][order], events["task"][order]
        is_access = events["kind"][order] == EventKind.ACCESS
        # The access that a flow belongs to is the worker's last one, perhaps of an earlier batch.
        index = np.arange(len(order))
        last = np.maximum.accumulate(np.where(is_access, index, -1))
        first = np.searchsorted(worker, worker, side="left")
        seen = last >= first
        block = np.where(seen, events["arg0"][order][last], self._block[worker])
        self._block[worker[is_access]] = block[is_access]
        mine = ~is_access & (block == self.tasks.input_block[task]) & (block >= 0)
        path = events["arg0"][order]
        mine &= (path != self._near[0, worker]) & (path != self._near[1, worker])
        numbers = (events["iteration"][order][mine], task[mine], worker[mine])
        self._far.update(zip(*(column.tolist() for column in numbers), strict=True))


def job_metrics(times: JobTimes) -> dict[str, Any]:
    """Return columns on the jobs of a run.

    Columns that begin with ``job_`` have one entry per job, iteration by iteration in the order of
    the jobs' first tasks. For `map_local_percent` see :class:`JobTimes`.
    """
    tasks = times.tasks
    arrival_ps = np.full(tasks.n_jobs, np.iinfo(np.int64).max)
    np.minimum.at(arrival_ps, tasks.job, tasks.graph.arrival_ps)
    numbers = sorted(times.start_ps)
    arrival = np.concatenate([times.start_ps[k] + arrival_ps for k in numbers]) * PER_PS
    maps_end = np.concatenate([times.maps_end_ps[k] for k in numbers]) * PER_PS
    end = np.concatenate([times.end_ps[k] for k in numbers]) * PER_PS
    local = np.concatenate([times.local_maps[k] for k in numbers])
    n_maps = np.tile(tasks.counts[MAP], len(numbers))
    users, applications = zip(*tasks.names, strict=True)
    return {
        "jobs": len(end),
        "mean_job_s": float((end - arrival).mean()),
        "max_job_s": float((end - arrival).max()),
        "map_local_percent": 100.0 * int(local.sum()) / max(1, int(n_maps.sum())),
        "job_iteration": np.repeat(numbers, tasks.n_jobs).tolist(),
        "job_user": list(users) * len(numbers),
        "job_application": list(applications) * len(numbers),
        "job_arrival_s": arrival.tolist(),
        "job_maps_end_s": maps_end.tolist(),
        "job_end_s": end.tolist(),
        "job_maps": n_maps.tolist(),
        "job_local_maps": local.tolist(),
    }
