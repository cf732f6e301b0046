"""Simulated runs for the tests, and what is known about them beforehand."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from simsched.analysis.recordings import recording_of
from simsched.engine.run import simulate
from simsched.files.errors import SimschedError
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.recording import Recording
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.registry import make_small_workload
from tests.engine.instances import HookPolicy, RandomPolicy, random_machine, random_workload

PS = 1e-12


def random_run(seed: int, backend: str) -> Run | None:
    """A random run with events, None where the machine's memory is too small."""
    policy = (HookPolicy if seed % 2 else RandomPolicy)(choice=seed)
    try:
        return simulate(
            random_machine(seed * 7),
            random_workload(seed * 3 + 1),
            policy,
            backend=backend,
            events=True,
        )
    except SimschedError:
        return None


def small_run(workload: str = "cholesky", policy: str = "cilk_a", **options: object) -> Run:
    """A run of a small workload on a machine of two domains."""
    costs = RuntimeCosts(pop_ps=50_000, push_ps=30_000, steal_ps=(300_000,))
    machine = make_machine(domains=2, domains_per_socket=1, cores_per_domain=3, costs=costs)
    return simulate(
        machine, make_small_workload(workload), make_policy(policy), events=True, **options
    )


def small_recording(workload: str = "cholesky", policy: str = "cilk_a") -> Recording:
    return recording_of(small_run(workload, policy))


def task_times(recording: Recording) -> dict[tuple[int, int], tuple[str, int, int, int, int]]:
    """Class, first and last worker, start and end in ps of each (iteration, task)."""
    events = recording.trace.events
    found: dict[tuple[int, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    columns = (events[name].tolist() for name in ("kind", "iteration", "task", "worker", "time_ps"))
    for kind, iteration, task, worker, time in zip(*columns, strict=True):
        if kind in (EventKind.TASK_START, EventKind.TASK_END):
            found[iteration, task][kind] = worker, time
    init = recording.workload.init if recording.workload is not None else None
    result = {}
    for (iteration, task), rows in found.items():
        (w0, start), (w1, end) = rows[EventKind.TASK_START], rows[EventKind.TASK_END]
        if iteration == 0 and init is not None:
            name = init.class_names[init.task_class[task]]
        else:
            name = recording.class_names[recording.task_class[task]]
        result[iteration, task] = name, w0, w1, start, end
    return result


def hides_a_cost(run: Run) -> bool:
    """Whether a join may follow a spawn or a wait for a lock without any event in between."""
    assert run.trace is not None
    events = run.trace.events
    last: dict[int, list[tuple[int, int]]] = defaultdict(list)
    wanted = (EventKind.SPAWN, EventKind.TASK_READY, EventKind.TASK_END, EventKind.PREEMPT)
    wanted += (EventKind.TASK_SUSPEND, EventKind.ACCESS)
    columns = (events[name].tolist() for name in ("kind", "worker", "task"))
    for kind, worker, task in zip(*columns, strict=True):
        if kind not in wanted:
            continue
        before = last[worker][-2:]
        ways = [EventKind.SPAWN, EventKind.TASK_READY], [EventKind.SPAWN]
        if kind in (EventKind.TASK_END, EventKind.PREEMPT):
            for way in ways:
                rows = before[-len(way) :]
                if [k for k, _ in rows] == way and rows[0][1] == task:
                    return True
        last[worker].append((kind, task))
    return False


def busy_s(run: Run) -> np.ndarray:
    """Busy time of each worker in seconds."""
    return run.summary.worker_busy_ps * PS
