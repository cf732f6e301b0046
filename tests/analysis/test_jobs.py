"""Times of MapReduce jobs and where map tasks find their splits, against hand calculations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.analysis.columns import JOB_METRICS
from simsched.analysis.jobs import JobTimes, job_metrics
from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.trace.sink import KeptEvents
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import MAP, Job, JobShape, job_graph
from simsched.workload.registry import generate_workload
from tests.policy.test_mapreduce import cluster

SIX = cluster((1.0,) * 6)  # two map slots each


def two_jobs(iterations: int = 1) -> Workload:
    """Return a job of 48 map tasks of 50 s, and one of six that arrives 10 s later.

    Their reduce tasks and all transfers take no time to speak of.
    """
    jobs = [
        Job("sort", user, arrival_s * 10**12, JobShape(splits, 1, 1000, 0.01, 1.0, 50e3, 1.0, 0, 0))
        for user, arrival_s, splits in (("ann", 0, 48), ("bob", 10, 6))
    ]
    return Workload("two", job_graph(jobs, np.random.default_rng(0)), iterations)


def timed(
    name: str, workload: Workload, backend: str = "native", capacity: int = 2**16, **params: Any
) -> tuple[Run, dict[str, Any], KeptEvents]:
    """Return a run, the columns on its jobs, and its events."""
    kept = KeptEvents(capacity)
    times = JobTimes(SIX, kept)
    run = simulate(SIX, workload, make_policy(name, params), backend=backend, events=times)
    return run, job_metrics(times), kept


@pytest.mark.parametrize("backend", ["simpy", "native"])
def test_a_small_job_waits_for_a_large_one_or_shares_the_slots(backend: str) -> None:
    # The first map task starts at once. Every node gets a task at 3 s and one at 6 s, and when
    # these have ended at the heartbeat after that: slots begin at 0 + 51 k, 3 + 51 k or 6 + 51 k.
    # The 48 tasks are four waves, the last one of which ends at 6 + 3 * 51 + 50 = 209 s. The reduce
    # task starts at 210 s. The second job's map tasks start at 204 s (a slot that is free at 203 s)
    # and 207 s, the end is at 257 s; nobody does anything then, and its reduce task starts at once.
    row = timed("hadoop_fifo", two_jobs(), backend)[1]
    assert {name for name in row if not isinstance(row[name], list)} == set(JOB_METRICS)
    assert row["jobs"] == 2
    assert (row["job_user"], row["job_application"]) == (["ann", "bob"], ["sort", "sort"])
    assert (row["job_iteration"], row["job_arrival_s"]) == ([1, 1], [0.0, 10.0])
    assert row["job_maps_end_s"] == pytest.approx([209.0, 257.0], abs=0.01)
    assert row["job_end_s"] == pytest.approx([210.0, 257.0], abs=0.02)
    assert row["mean_job_s"] == pytest.approx((210 + 247) / 2, abs=0.02)
    assert row["max_job_s"] == pytest.approx(247.0, abs=0.02)
    # With fair shares the second user gets the slot that is free at 51 s, and at 54 s five more
    # while the first one is above his half. At 105 s each node has a slot for a map task, the one
    # task that it gets; at 108 s all but the first, whose slots began at 0 and 3 s, and which gets
    # his reduce task.
    row = timed("fair", two_jobs(), backend)[1]
    assert row["job_maps_end_s"][1] == pytest.approx(104.0, abs=0.01)
    assert row["job_end_s"][1] == pytest.approx(108.0, abs=0.02)


@pytest.mark.parametrize("backend", ["simpy", "native"])
@pytest.mark.parametrize(("name", "replication"), [("hadoop_fifo", 1), ("fair", 3), ("delay", 2)])
def test_local_are_map_tasks_that_end_where_their_split_is(
    name: str, replication: int, backend: str
) -> None:
    workload = two_jobs()
    run, row, kept = timed(name, workload, backend, replication=replication)
    events = kept.trace().events
    ends = events["kind"] == EventKind.TASK_END
    tracker, local = run.state, [0, 0]
    for task, worker in zip(events["task"][ends], events["worker"][ends], strict=True):
        if tracker.tasks.kind[task] == MAP:
            local[tracker.tasks.job[task]] += tracker.is_local(int(task), int(worker) // 4)
    assert (row["job_maps"], row["job_local_maps"]) == ([48, 6], local)
    assert row["map_local_percent"] == pytest.approx(100 * sum(local) / 54)
    assert name == "delay" or 0 < sum(local) < 54
    # Where batches of events end makes no difference.
    assert timed(name, workload, backend, 7, replication=replication)[1] == row


def test_splits_on_no_disk_of_the_node_are_read_from_elsewhere() -> None:
    # One node holds all data; the two tasks of the other one are not local.
    machine = make_machine(domains=2, cores_per_domain=4, ops_per_s=1e6)
    shape = JobShape(4, 1, 1000, 0.01, 1.0, 50e3, 1.0, 0, 0)
    graph = job_graph([Job("sort", "ann", 0, shape)], np.random.default_rng(0))
    workload = Workload("one", graph)
    policy = make_policy("hadoop_fifo", {"replication": 1})
    rows = []
    for seed in range(100):
        times = JobTimes(machine)
        run = simulate(machine, workload, policy, seed=seed, events=times)
        if set(run.state.replicas[:4]) == {(0,)}:
            rows.append(job_metrics(times))
    assert len(rows) > 0  # one in sixteen
    for row in rows:
        assert (row["job_local_maps"], row["map_local_percent"]) == ([2], 50.0)


def test_jobs_of_every_iteration_count() -> None:
    run, row, _ = timed("hadoop_fifo", two_jobs(iterations=2))
    assert (row["jobs"], row["job_iteration"], row["job_maps"]) == (4, [1, 1, 2, 2], [48, 6, 48, 6])
    begin_s = run.summary.iteration_start_ps[1] * 1e-12
    assert row["job_arrival_s"] == pytest.approx([0.0, 10.0, begin_s, begin_s + 10.0])
    assert row["job_end_s"][3] == pytest.approx(run.makespan_s)
    assert row["max_job_s"] == pytest.approx(247.0, abs=0.1)


def test_policies_may_add_tasks_to_programs_with_such_classes() -> None:
    # AATS puts a task before each batch; events have the numbers of the program that it runs.
    machine, program = load_machine("a_2_0_0_14"), generate_workload("batch")
    names = tuple(f"f{number}.map" for number in range(len(program.graph.class_names)))
    program = replace(program, graph=replace(program.graph, class_names=names))
    times = JobTimes(machine)
    run = simulate(machine, program, make_policy("aats"), events=times)
    assert run.workload.graph.n_tasks > program.graph.n_tasks
    assert job_metrics(times)["map_local_percent"] == 100.0
