"""Measures one run of one case in a process of its own: ``python -m benchmarks.child CASE SIZE``.

The clock covers `simulate` as a whole: validation, resolution of machine and plan in Python, and
the engine. A tiny run of the same case comes first, so that loading modules is no part of it. The
result is printed as one line of JSON.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, Case, Size
from benchmarks.instances import Instance
from simsched.engine import run as engine_run
from simsched.engine.run import simulate
from simsched.experiment.measure import peak_rss_bytes, reset_peak_rss
from simsched.trace.parquet import event_file
from simsched.trace.run import Run
from simsched.workload.graph import TaskGraph

_STATUS = Path("/proc/self/status")


class EngineClock:
    """CPU time that backends spend in iterations and migrations, the rest being set-up in Python.

    While it is in use, backends that the driver makes report here, also what is resident after the
    last iteration, when the engine has all it needs and validation has given back what it took.
    """

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.resident_bytes = 0
        self._make = engine_run.make_backend

    def __enter__(self) -> EngineClock:
        engine_run.make_backend = self._make_timed
        return self

    def __exit__(self, *exception: object) -> None:
        engine_run.make_backend = self._make

    def _make_timed(self, *arguments: Any, **options: Any) -> _TimedBackend:
        return _TimedBackend(self._make(*arguments, **options), self)


class _TimedBackend:
    """A backend whose running time is counted."""

    def __init__(self, backend: Any, clock: EngineClock) -> None:
        self._backend, self._clock = backend, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def run_iteration(self, *arguments: Any, last: bool) -> None:
        self._timed(self._backend.run_iteration, *arguments, last=last)
        if last:
            self._clock.resident_bytes = resident_bytes()

    def migrate(self, *arguments: Any) -> None:
        self._timed(self._backend.migrate, *arguments)

    def _timed(self, function: Callable[..., None], *arguments: Any, **options: Any) -> None:
        begin = time.process_time()
        function(*arguments, **options)
        self._clock.cpu_s += time.process_time() - begin


def measure(case: Case, size: Size, backend: str) -> dict[str, Any]:
    """Return what one run costs and what came out of it.

    Parameters
    ----------
    case : Case
        What to run.
    size : Size
        At which size.
    backend : {"native", "simpy"}
        On which engine.

    Returns
    -------
    dict
        Times in seconds, memory in bytes, and results; `peak_rss_bytes` is the largest resident
        size of the process, building of the workload included, `run_rss_bytes` by how much the run
        exceeded what was resident before it, `engine_rss_bytes` by how much it still did after the
        last iteration.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "events.parquet" if case.trace else None
        _run(case.build(case.warm), backend, target)
        instance = case.build(size.value)
        building_peak = peak_rss_bytes()
        gc.collect()
        _give_back()
        reset_peak_rss()
        resident = resident_bytes()
        with EngineClock() as clock:
            wall, cpu = time.perf_counter(), time.process_time()
            run = _run(instance, backend, target)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = peak_rss_bytes()
        trace_bytes = target.stat().st_size if target else None
    return {
        "cpu_s": cpu,
        "wall_s": wall,
        "engine_cpu_s": clock.cpu_s,
        "peak_rss_bytes": max(peak, building_peak),
        "run_rss_bytes": peak - resident,
        "engine_rss_bytes": clock.resident_bytes - resident,
        "input_bytes": input_bytes(instance),
        "graph_tasks": sum(graph.n_tasks for graph in _graphs(instance)),
        "graph_edges": sum(graph.n_edges for graph in _graphs(instance)),
        "tasks": int(run.summary.n_tasks),
        "events": int(run.summary.n_events),
        "makespan_s": run.makespan_s,
        "trace_bytes": trace_bytes,
    }


def _run(instance: Instance, backend: str, target: Path | None) -> Run:
    """Simulate; write the event trace if there is a file for it."""
    if target is None:
        return simulate(*instance, backend=backend)
    with event_file(target) as sink:
        return simulate(*instance, backend=backend, events=sink)


def input_bytes(instance: Instance) -> int:
    """Return the bytes of the arrays of a workload's graphs."""
    return sum(
        value.nbytes
        for graph in _graphs(instance)
        for value in vars(graph).values()
        if hasattr(value, "nbytes")
    )


def _graphs(instance: Instance) -> list[TaskGraph]:
    """Return the initialisation, if there is one, and the graph of an iteration."""
    init, graph = instance.workload.init, instance.workload.graph
    return [graph] if init is None else [init, graph]


def resident_bytes() -> int:
    """Return the present resident size of this process; its peak where the system has no such."""
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return peak_rss_bytes()


def _give_back() -> None:
    """Return freed memory to the system, lest the run finds it there."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def main(arguments: list[str]) -> int:
    """Measure the named case at the named size on the named backend."""
    name, size, backend = arguments
    case = next(case for case in CASES if case.name == name)
    json.dump(measure(case, case.full if size == "full" else case.small, backend), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
