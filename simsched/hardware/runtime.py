"""Executes programs on this host and returns recordings of what happened."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.errors import ConfigurationError, HardwareError, unknown_name
from simsched.hardware.conversion import ready_roots, to_trace
from simsched.hardware.mode import Mode
from simsched.hardware.outcome import Job, Outcome, PreparedGraph
from simsched.hardware.program import Program
from simsched.hardware.topology import allowed_cores
from simsched.trace.recording import Recording
from simsched.workload.graph import TaskGraph

MAX_WORKERS = 4096


def execute(
    program: Program,
    mode: Mode | None = None,
    *,
    workers: int | None = None,
    cores: Sequence[int] | None = None,
    seed: int = 0,
    trace: bool = True,
) -> Recording:
    """Run a program once on this host.

    Parameters
    ----------
    program : Program
        What is run; its arrays are changed by it.
    mode : Mode, optional
        How it is scheduled; child first with random stealing by default.
    workers : int, optional
        Number of workers, one thread each; by default one for each core of `cores`.
    cores : sequence of int, optional
        Hardware threads for the workers, which are pinned to them in turn; by default all that this
        process may use.
    seed : int
        Seed of the victims that workers draw.
    trace : bool
        Whether every event is recorded, or only the iterations and counters.

    Returns
    -------
    Recording
        Its `details` say how the run was made and hold the counters of the workers.

    Raises
    ------
    ConfigurationError
        The number of workers, a core or the seed is not accepted.
    GraphError
        A graph of the workload is malformed.
    HardwareError
        The program does not fit together or to its functions in C, or the host refuses to run it.

    Notes
    -----
    The graph is executed as the simulator does (``docs/semantics.md``, life of a task), except that
    `arrival_ps` and `creation_ops` are ignored: roots are created at the start of the iteration,
    and creating a task costs what it costs here. Trace events that the runtime cannot measure
    (ACCESS, FLOW_END, FIRST_TOUCH) are not made up; the accesses are in the recording's graph.
    """
    mode = mode or Mode()
    binding = _binding()
    pinned = _pinned(workers, cores)
    if not 0 <= seed < 2**64:
        raise ConfigurationError(f"seed: found {seed}, accepted 0 to 2**64 - 1")
    init, graph = _prepared(program, binding.program_classes())
    n_records = _record_bound(program) if trace else 0
    victims = _victims(pinned)
    job = Job(
        program=program.name,
        arrays=program.arrays,
        params=np.array(program.params, np.int64),
        constants=np.array(program.constants, np.float64),
        init=init,
        graph=graph,
        iterations=program.workload.iterations,
        cpu=np.array(pinned, np.int32),
        group_ptr=victims[0],
        victim_ptr=victims[1],
        victim=victims[2],
        order=mode.number("order"),
        pools=mode.number("pools"),
        own_take=mode.number("own_take"),
        seed=seed,
        n_records=n_records,
        n_expected=min(n_records, n_records * 5 // (4 * len(pinned))),
    )
    return _recording(program, mode, pinned, seed, binding.run(job))


def _binding() -> Any:
    """Return the compiled runtime."""
    if sys.platform != "linux":
        raise HardwareError(f"the task runtime needs Linux, found {sys.platform}")
    from simsched.hardware.native import _runtime

    return _runtime


def _pinned(workers: int | None, cores: Sequence[int] | None) -> list[int]:
    """Return the core of each worker."""
    allowed = allowed_cores()
    chosen = allowed if cores is None else list(cores)
    wrong = sorted(set(chosen) - set(allowed))
    if wrong or not chosen:
        raise ConfigurationError(f"cores: found {wrong or 'none'}, accepted {allowed}")
    count = len(chosen) if workers is None else workers
    if not 1 <= count <= MAX_WORKERS:
        raise ConfigurationError(f"workers: found {count}, accepted 1 to {MAX_WORKERS}")
    return [chosen[w % len(chosen)] for w in range(count)]


def _victims(
    pinned: list[int],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the victims of all workers in groups; see :class:`Job`."""
    n = len(pinned)
    group_ptr = np.arange(n + 1, dtype=np.int32)
    victim_ptr = np.arange(n + 1, dtype=np.int32) * np.int32(n - 1)
    victim = np.array([v for w in range(n) for v in range(n) if v != w], np.int32)
    return group_ptr, victim_ptr, victim


def _prepared(
    program: Program, classes: dict[str, tuple[str, ...]]
) -> tuple[PreparedGraph | None, PreparedGraph]:
    """Check a program and return its graphs for the runtime."""
    workload = program.workload
    workload.validate()
    if program.name not in classes:
        raise HardwareError(unknown_name("program in C", program.name, classes))
    _check_arrays(program)
    known = classes[program.name]
    init = None
    if workload.init is not None:
        init = _prepared_graph(program.name, "init_args", workload.init, program.init_args, known)
    return init, _prepared_graph(program.name, "args", workload.graph, program.args, known)


def _prepared_graph(
    name: str, what: str, graph: TaskGraph, args: Any, known: tuple[str, ...]
) -> PreparedGraph:
    """Check the classes and arguments of a graph."""
    for each in graph.class_names:
        if each not in known:
            raise HardwareError(f"program {name}: {unknown_name('class', each, known)}")
    if not isinstance(args, np.ndarray) or args.dtype != np.int64 or args.ndim != 2:
        raise HardwareError(f"program {name}: {what}: accepted an array of int64 with two axes")
    if len(args) != graph.n_tasks:
        raise HardwareError(
            f"program {name}: {what}: found {len(args)} rows, accepted {graph.n_tasks}, "
            "one per task"
        )
    numbers = np.array([known.index(each) for each in graph.class_names], np.int32)
    return PreparedGraph(
        graph, numbers[graph.task_class], ready_roots(graph), np.ascontiguousarray(args)
    )


def _check_arrays(program: Program) -> None:
    """Check the data of a program and that its blocks lie inside of them."""
    each: Any
    for i, each in enumerate(program.arrays):
        where = f"program {program.name}: array {i}"
        if not isinstance(each, np.ndarray) or each.dtype.kind not in "biufc":
            raise HardwareError(f"{where}: accepted an array of numbers")
        if not (each.flags.c_contiguous and each.flags.writeable and each.flags.aligned):
            raise HardwareError(
                f"{where}: accepted a contiguous, aligned array that can be written"
            )
    size = program.workload.graph.block_bytes
    for name, dtype in (("block_array", np.int32), ("block_offset_bytes", np.int64)):
        column = getattr(program, name)
        if column.dtype != dtype or column.shape != size.shape:
            raise HardwareError(
                f"program {program.name}: {name}: found {column.dtype} of shape {column.shape}, "
                f"accepted {np.dtype(dtype)} of shape {size.shape}"
            )
    room = np.array([array.nbytes for array in program.arrays], np.int64)
    array, offset = program.block_array, program.block_offset_bytes
    known = (array >= 0) & (array < len(room))
    inside = known & (offset >= 0)
    if len(room):
        inside &= offset + size <= room[np.where(known, array, 0)]
    if not inside.all():
        block = int(np.argmin(inside))
        raise HardwareError(
            f"program {program.name}: block {block}: {size[block]} bytes at {offset[block]} of "
            f"array {array[block]} are not inside of it"
        )


def _record_bound(program: Program) -> int:
    """Return how many records one worker can make at most, if it executes everything."""

    def bound(graph: TaskGraph) -> int:
        n, spawned = graph.n_tasks, len(graph.child)
        parents = int(np.count_nonzero(np.diff(graph.child_ptr)))
        # Spawned, pushed, taken, started, ended; continuations pushed, taken, resumed; suspended
        # and resumed; idle before what is taken; start and end of the iteration.
        return 5 * n + 3 * spawned + 2 * parents + (n + spawned) + 4

    workload = program.workload
    once = 0 if workload.init is None else bound(workload.init)
    return once + workload.iterations * bound(workload.graph)


def _recording(
    program: Program, mode: Mode, pinned: list[int], seed: int, outcome: Outcome
) -> Recording:
    """Return the outcome of a run as a recording."""
    workload = program.workload
    seconds = outcome.ps_per_tick * 1e-12
    distance = np.ones((len(pinned), len(pinned)), np.int32)
    details = {
        "mode": asdict(mode),
        "seed": seed,
        "host": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
        "clock": "tsc" if outcome.is_tsc else "clock_monotonic",
        "lost_events": sum(each.lost_records for each in outcome.workers),
        "iteration_s": (np.diff(outcome.iteration_ticks, axis=1)[:, 0] * seconds).tolist(),
        "tasks": [each.tasks for each in outcome.workers],
        "steals": [each.steals for each in outcome.workers],
        "failed_probes": [each.empty_probes for each in outcome.workers],
        "lost_races": [each.lost_races for each in outcome.workers],
        "idle_s": [each.idle_ticks * seconds for each in outcome.workers],
        "processor_events": [each.events for each in outcome.workers],
        "processor_events_error": outcome.workers[0].events_error,
    }
    return Recording(
        name=program.name,
        trace=to_trace(outcome, workload, central=mode.pools == "central", distance=distance),
        task_class=workload.graph.task_class,
        class_names=workload.graph.class_names,
        worker_names=tuple(f"worker {w}" for w in range(len(pinned))),
        worker_core=np.array(pinned, np.int32),
        workload=workload,
        details=details,
    )
