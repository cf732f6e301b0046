"""Latency-critical services and batch jobs that share one accelerator.

Each service is a closed loop (or, with `load`, a Poisson process) of queries; a query is a chain

    copy in, K times (host code, kernel), copy out

so that the next task is submitted when the one before has come back. Each batch job is a loop of
steps per instance:

    copy in, K kernels, copy out

whose kernels are submitted together when the copy in has come back; the next step begins when the
copy out has. `run_ahead` such loops side by side are a job that submits further ahead.

* *Kinds.* ``cpu`` runs host code, ``gpu`` kernels, ``copy_in`` and ``copy_out`` copies.
* *Tasks.* For each query K kernels, K pieces of host code and its copies; a batch job has as many
  steps as take `batch_s` seconds on a free device. A copy from pinned memory is one task, which has
  the copy engine to itself; a copy from pageable memory is a chain of ceil(bytes / `chunk_bytes`)
  tasks of occupancy 1, because the driver stages it through small pinned buffers.
* *Edges.* Along queries and copies; in a closed loop also from the end of a query to the next one.
  In a step from the copy in to every kernel, and from every kernel to the copy out.
* *Operations.* One per nanosecond of solo duration for kernels. Durations and what a runtime sees
  of a task (`Applications.features`) are in :mod:`simsched.workload.accelerator_programs`.
* *Blocks.* Two: buffers in pageable and in pinned memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.workload.accelerator_programs import (
    BATCH,
    CRITICAL,
    FULL,
    Program,
    divergent_duration_s,
    find_programs,
    with_deviation,
)
from simsched.workload.applications import Applications
from simsched.workload.builder import accesses, adjacency, build_graph, check_arrival, check_size
from simsched.workload.draws import stream
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Count, Fraction, Size, generator

KINDS = ("cpu", "gpu", "copy_in", "copy_out")
CPU, GPU, COPY_IN, COPY_OUT = range(4)
CLOCK_HZ = (2.1e9, 1e9, 1e9, 1e9)  #: operations per second of each kind
FEATURES = ("size", "out", "pinned")
PAGEABLE, PINNED_BUFFER = 0, 1

Seconds = Annotated[float, Bounds(0.0, 1e6)]
FloatArray = NDArray[np.float64]


@generator("accelerator_mix", small={"queries": 2, "batch_s": 0.05, "batch": "hw pf"})
def accelerator_mix(
    seed: int,
    *,
    critical: str = "face",
    batch: str = "hw",
    instances: Count = 1,
    run_ahead: Count = 1,
    queries: Count = 400,
    batch_s: Seconds = 60.0,
    load: Annotated[float, Bounds(0.0, 100.0)] = 0.0,
    gap_s: Seconds = 1e-4,
    target_s: Annotated[float, Bounds(1e-9, 1e6)] = 0.15,
    chunk_bytes: Size = 2**20,
    deviation: Fraction = 1.0,
    reading: Annotated[int, Bounds(0, 2**31 - 1)] = 0,
) -> Workload:
    """Latency-critical services and batch jobs on one GPU.

    Parameters
    ----------
    seed : int
        Seed of input sizes, deviations and arrivals.
    critical, batch : str
        Names of services and of batch jobs, separated by blanks; empty for none.
    instances : int
        Instances of each batch job.
    run_ahead : int
        Steps that each instance has submitted at a time.
    queries : int
        Queries of each service.
    batch_s : float
        Work of each instance, in seconds on a free device.
    load : float
        Queries of each service per time that one takes alone, with Poisson arrivals: below 1 the
        part of the time that a service by itself is busy, above 1 overload; 0 for a closed loop
        with one query at a time.
    gap_s : float
        Host code before each kernel of a query, in seconds.
    target_s : float
        Latency target, in seconds.
    chunk_bytes : int
        Piece of a pageable copy that queues up for the copy engine by itself.
    deviation : float
        Scale of the deviations of durations from what the inputs say; 1 as measured, 0 for none.
    reading : int
        Seed of what the source leaves open about the programs.

    Notes
    -----
    *Overload.* `load` is that of one service; several services, and batch jobs, which always have
    work submitted, come on top of it. Queries that arrive faster than the device processes them are
    not refused or dropped: they wait, so latencies grow with the number of queries. Their number is
    finite, so the run ends. `backlog_queries` shows overload: it stays small as `queries` grows
    where the device keeps up, and grows with it where it does not. Queries that begin after the
    batch jobs have ended are not counted but reported as `queries_left_out`; a larger `batch_s`
    makes them fewer.
    """
    services = find_programs(critical, CRITICAL, reading)
    jobs = find_programs(batch, BATCH, reading)
    if not services and not jobs:
        raise ConfigurationError("accelerator_mix: found no programs, accepted at least one")
    per_query = [_copy_tasks(p, chunk_bytes) + p.kernels * (1 + (gap_s > 0)) for p in services]
    per_step = [_copy_tasks(p, chunk_bytes) + p.kernels for p in jobs]
    steps = [_steps(p, run_ahead, batch_s) for p in jobs]
    of_jobs = sum(n * each for n, each in zip(steps, per_step, strict=True))
    check_size("accelerator_mix", tasks=queries * sum(per_query) + instances * of_jobs)
    draw = _Draw(stream(seed, "accelerator"), gap_s, chunk_bytes, deviation)
    for service in services:
        _add_service(draw, service, queries, load)
    for job in jobs:
        for instance in range(instances):
            name = job.name if instances == 1 else f"{job.name}#{instance}"
            _add_job(draw, job, name, run_ahead, batch_s)
    return draw.workload(target_s)


class _Task(NamedTuple):
    """A task of the application that was named last."""

    kind: int
    task_class: str
    seconds: float
    occupancy: int
    size: float
    application: int
    query: int
    moved_bytes: int
    buffer: int


@dataclass
class _Draw:
    """Tasks so far."""

    rng: np.random.Generator
    gap_s: float
    chunk_bytes: int
    deviation: float
    tasks: list[_Task] = field(default_factory=list)
    arrival_s: dict[int, float] = field(default_factory=dict)
    edges: list[tuple[int, int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    critical: list[bool] = field(default_factory=list)
    n_queries: int = 0

    def add(
        self,
        kind: int,
        name: str,
        seconds: float,
        share: int,
        size: float,
        after: Sequence[int],
        query: int,
        moved: tuple[int, int] = (0, PAGEABLE),
    ) -> int:
        """Add a task, which may have bytes to move and their buffer, after others; return it."""
        application = len(self.names) - 1
        self.tasks.append(_Task(kind, name, seconds, share, size, application, query, *moved))
        number = len(self.tasks) - 1
        self.edges.extend((task, number) for task in after)
        return number

    def copy(self, program: Program, kind: int, after: Sequence[int], query: int) -> Sequence[int]:
        """Add a copy; return its last task, or what comes before where nothing is copied."""
        whole = program.copy_in_bytes if kind == COPY_IN else program.copy_out_bytes
        if program.is_pinned:
            piece, share, buffer, ending = whole, FULL, PINNED_BUFFER, "_pinned"
        else:
            piece, share, buffer, ending = self.chunk_bytes, 1, PAGEABLE, "_pageable"
        name = KINDS[kind] + ending
        for start in range(0, whole, piece):
            n_bytes = min(piece, whole - start)
            moved = n_bytes, buffer
            after = (self.add(kind, name, 0.0, share, float(n_bytes), after, query, moved),)
        return after

    def deviate(self, seconds: FloatArray, kind: str) -> FloatArray:
        """Return durations with their deviations."""
        return seconds + self.deviation * (with_deviation(self.rng, seconds, kind) - seconds)

    def workload(self, target_s: float) -> Workload:
        """Return the columns as a workload."""
        n = len(self.tasks)
        columns: Any = _Task._make(map(np.array, zip(*self.tasks, strict=True)))
        kind, moved, buffer = columns.kind, columns.moved_bytes, columns.buffer
        ops = np.full((len(KINDS), n), np.inf)
        ops[kind, np.arange(n)] = columns.seconds * np.array(CLOCK_HZ)[kind]
        names = tuple(dict.fromkeys(task.task_class for task in self.tasks))
        number = {name: i for i, name in enumerate(names)}
        arrival_s = np.zeros(n)
        arrival_s[list(self.arrival_s)] = list(self.arrival_s.values())
        copies = np.flatnonzero(moved > 0)
        into = kind[copies] == COPY_IN
        edges = np.array(self.edges, np.int64).reshape(-1, 2)
        largest = [int(moved[buffer == b].max(initial=0)) for b in (PAGEABLE, PINNED_BUFFER)]
        graph = build_graph(
            ops,
            kinds=KINDS,
            task_class=[number[task.task_class] for task in self.tasks],
            class_names=names,
            successors=adjacency(edges[:, 0], edges[:, 1], n),
            accessed=accesses(
                copies,
                buffer[copies],
                np.where(into, moved[copies], 0),
                np.where(into, 0, moved[copies]),
                n,
            ),
            block_bytes=largest,
            arrival_ps=np.rint(arrival_s * 1e12),
            occupancy=columns.occupancy,
        )
        pinned = buffer == PINNED_BUFFER
        features = np.column_stack([columns.size, kind == COPY_OUT, pinned & (moved > 0)])
        about = Applications(
            tuple(self.names),
            np.array(self.critical, bool),
            target_s,
            columns.application.astype(np.int32),
            columns.query.astype(np.int32),
            FEATURES,
            features.astype(np.float64),
            np.array([False, True]),
        )
        return Workload("accelerator_mix", graph, applications=about)


def _copy_tasks(program: Program, chunk_bytes: int) -> int:
    """Return the tasks that the copies of a query or step consist of."""
    sizes = (program.copy_in_bytes, program.copy_out_bytes)
    if program.is_pinned:
        return sum(size > 0 for size in sizes)
    return sum(-(-size // chunk_bytes) for size in sizes)


def _steps(program: Program, run_ahead: int, batch_s: float) -> int:
    """Return the steps of an instance of a batch job; every loop has one."""
    return max(run_ahead, math.ceil(batch_s / program.step_s))


def _arrivals_s(draw: _Draw, alone_s: float, queries: int, load: float) -> FloatArray:
    """Return when the queries of a service arrive, in seconds."""
    mean_s = alone_s / load
    check_arrival("accelerator_mix", "load", load, mean_s)  # before anything overflows
    arrivals = np.cumsum(draw.rng.exponential(mean_s, queries))
    check_arrival("accelerator_mix", "load", load, float(arrivals[-1]))
    return arrivals


def _add_service(draw: _Draw, program: Program, queries: int, load: float) -> None:
    draw.names.append(program.name)
    draw.critical.append(True)
    weights = draw.rng.uniform(0.5, 1.5, program.kernels)
    weights *= program.kernels / weights.sum()
    alone_s = program.step_s + program.kernels * draw.gap_s
    arrivals = _arrivals_s(draw, float(alone_s), queries, load) if load > 0 else None
    last: Sequence[int] = ()
    for number in range(queries):
        query, first = draw.n_queries, len(draw.tasks)
        draw.n_queries += 1
        sizes = program.kernel_s * weights * draw.rng.uniform(0.8, 1.2)
        seconds = np.where(
            np.arange(program.kernels) % 2 == 0,
            draw.deviate(sizes, "critical"),
            draw.deviate(sizes, "library"),
        )
        last = draw.copy(program, COPY_IN, () if arrivals is not None else last, query)
        if arrivals is not None:
            draw.arrival_s[first] = float(arrivals[number])
        for k in range(program.kernels):
            if draw.gap_s > 0:
                last = (draw.add(CPU, "host", draw.gap_s, 0, draw.gap_s, last, query),)
            name = f"{program.name}.kernel" if k % 2 == 0 else "library"
            took, size = float(seconds[k]), float(sizes[k])
            last = (draw.add(GPU, name, took, program.occupancy, size, last, query),)
        last = draw.copy(program, COPY_OUT, last, query)


def _add_job(draw: _Draw, program: Program, name: str, run_ahead: int, batch_s: float) -> None:
    """Add the steps of one instance of a batch job."""
    draw.names.append(name)
    draw.critical.append(False)
    ends: list[Sequence[int]] = [()] * run_ahead
    for step in range(_steps(program, run_ahead, batch_s)):
        sizes = draw.rng.uniform(0.0, 1.0, program.kernels)
        seconds = draw.deviate(divergent_duration_s(program.kernel_s, sizes), "batch")
        copied = draw.copy(program, COPY_IN, ends[step % run_ahead], -1)
        kernels = [
            draw.add(GPU, f"{program.name}.kernel", took, program.occupancy, size, copied, -1)
            for took, size in zip(seconds.tolist(), sizes.tolist(), strict=True)
        ]
        ends[step % run_ahead] = draw.copy(program, COPY_OUT, kernels, -1)
