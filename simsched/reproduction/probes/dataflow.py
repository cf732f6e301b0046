"""Data-flow programs: shares of buffers and where they are written; runs without times."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.policy import make_policy
from simsched.policy.parts.dataflow_buffers import find_buffers
from simsched.reproduction.probes import machine_of, probe, workload_of
from simsched.reproduction.probes._events import each_event, run_of
from simsched.trace.schema import EventKind
from simsched.workload import TaskGraph, Workload, generate_workload
from simsched.workload.presets import list_presets, load_preset
from simsched.workload.registry import find_workload


@probe("largest_input_percent")
def largest_input_percent(*, workloads: list[str]) -> list[float]:
    """Return the share of the largest input buffer in a task's input bytes, per workload.

    Notes
    -----
    The smallest share among the tasks of the class that reads most: those with all neighbours. Two
    sweeps or rounds are enough to see all of them.
    """
    return [_largest_input_percent(_short(name).graph) for name in workloads]


def _short(name: str) -> Workload:
    """Return a workload with two sweeps or rounds, where it has such."""
    generator = load_preset(name).generator if name in list_presets() else name
    known = find_workload(generator).parameters
    return workload_of(name, {key: 2 for key in ("sweeps", "rounds") if key in known})


def _largest_input_percent(graph: TaskGraph) -> float:
    consumer = find_buffers(graph).consumer
    read = np.flatnonzero(consumer >= 0)
    total, largest = np.zeros(graph.n_tasks), np.zeros(graph.n_tasks)
    np.add.at(total, consumer[read], graph.block_bytes[read])
    np.maximum.at(largest, consumer[read], graph.block_bytes[read])
    by_class = np.bincount(graph.task_class, weights=total)
    chosen = (graph.task_class == by_class.argmax()) & (total > 0)
    return float(100.0 * (largest[chosen] / total[chosen]).min()) if chosen.any() else 100.0


@probe("local_output_percent")
def local_output_percent(
    *, machine: str, workload: str, policy: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return the share of the bytes written into private buffers that stay on the writer's node."""
    run = run_of(machine, workload, policy, parameters)
    graph = run.workload.graph
    producer = find_buffers(graph).producer
    domain = run.machine.thread_domain[run.worker_thread]
    place = np.array([-1 if n.domain is None else n.domain for n in run.machine.nodes])
    home = np.full(graph.n_blocks, -1)
    near = far = 0
    columns = ("kind", "worker", "task", "arg0", "arg1")
    for kind, worker, task, block, value in each_event(run, *columns):
        if kind in (EventKind.FIRST_TOUCH, EventKind.ALLOCATE):
            home[block] = value
        elif kind == EventKind.ACCESS and producer[block] == task:
            size = int(graph.block_bytes[block])
            local = place[home[block]] in (-1, domain[worker])
            near, far = near + size * local, far + size * (not local)
    return 100.0 * near / max(1, near + far)


@probe("idle_while_ready_percent")
def idle_while_ready_percent(
    *, machine: str, workload: str, policy: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return the share of all workers' time in which one is parked while a task waits in a pool.

    Notes
    -----
    With p parked workers and q waiting tasks, min(p, q) workers are counted. A task that goes from
    one pool to another is ready twice, but waits once.
    """
    run = run_of(machine, workload, policy, parameters)
    parked = set(range(len(run.worker_thread)))
    waiting: set[int] = set()
    total = last = 0
    for time, kind, worker, task in each_event(run, "time_ps", "kind", "worker", "task"):
        total += min(len(waiting), len(parked)) * (time - last)
        last = time
        if kind == EventKind.TASK_READY:
            waiting.add(task)
        elif kind == EventKind.ACQUIRE:
            waiting.discard(task)
            parked.discard(worker)
        elif kind == EventKind.PARK:
            parked.add(worker)
        elif kind == EventKind.WAKE:
            parked.discard(worker)
    return 100.0 * total / max(1, last * len(run.worker_thread))


@probe("live_buffers")
def live_buffers(*, policy: str, tasks: int, base: str = "", control: str = "parallel") -> float:
    """Return how many buffers of a chain of tasks take memory at the same time at most.

    Parameters
    ----------
    policy : str
        A policy that allocates buffers.
    tasks : int
        Tasks of the chain, at least 3: the first one reads, the last one writes a global array.
    base : str
        Policy whose number is subtracted.
    control : {"parallel", "sequential"}
        Who creates tasks, for both.
    """
    size = 2**16
    params = {"size_x": size, "block_x": size, "sweeps": tasks - 2, "control": control}
    found = []
    for name in (policy, base) if base else (policy,):
        scheduler = make_policy(name, {"control": control})
        run = simulate(machine_of("opteron64"), generate_workload("jacobi", params), scheduler)
        blocks = run.summary.peak_bytes // (8 * size)
        found.append(float(blocks - 1))  # one is the global array
    return found[0] - sum(found[1:])
