"""What a reference run records: events and counters."""

from __future__ import annotations

from dataclasses import astuple, fields

import numpy as np

from simsched.engine.interface.problem import Problem
from simsched.trace.schema import (
    EVENT_COLUMNS,
    NONE,
    EventKind,
    RunCounters,
    Summary,
    Trace,
    WorkerCounters,
    by_worker,
)
from simsched.trace.sink import EventSink, KeptEvents, make_sink


class Record(RunCounters):
    """Events and counters of one run; see `simsched.trace.schema` for their meaning."""

    def __init__(self, problem: Problem, *, events: bool | EventSink) -> None:
        super().__init__()
        self._sink = make_sink(events)
        self._rows: list[tuple[int, ...]] = []  # not handed over yet
        self._domain = problem.worker_domain  # changes when workers swap threads
        self._shape = (problem.n_domains, problem.n_nodes)
        self._cache_shape = (problem.n_domains, problem.n_levels)
        self.iteration = 0
        self.iterations: list[int] = []
        self.start_ps: list[int] = []
        self.end_ps: list[int] = []
        self.node_bytes: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        self.node_hit_bytes: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        self.path_bytes = np.zeros(len(problem.paths.latency_ps), np.int64)
        self.workers = [WorkerCounters() for _ in range(problem.n_workers)]
        self.cache_hits: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        self.cache_misses: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        self.cache_hit_bytes: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        self.cache_missing_bytes: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
        self.steals = [0] * problem.n_distances
        self.failed_probes = [0] * problem.n_distances
        self.node_peak_bytes = [0] * problem.n_nodes
        self.managed_bytes = [0, 0]

    def event(
        self, now: int, kind: EventKind, worker: int, task: int, arg0: int = 0, arg1: int = 0
    ) -> None:
        """Record one event."""
        self.n_events += 1
        if self._sink is not None:
            self._rows.append((now, int(kind), worker, task, self.iteration, arg0, arg1))
            if len(self._rows) == self._sink.capacity:
                self._hand_over(self._sink)

    def repeat(self, times: range, kind: EventKind) -> None:
        """Record an event of nobody at each of some times."""
        if self._sink is None:
            self.n_events += len(times)
            return
        for now in times:
            self.event(now, kind, NONE, NONE)

    def start_iteration(self, number: int, now: int) -> None:
        """Open the counters of an iteration."""
        self.iteration = number
        self.iterations.append(number)
        self.start_ps.append(now)
        self.node_bytes.append(np.zeros(self._shape, np.int64))
        self.node_hit_bytes.append(np.zeros(self._shape[1], np.int64))
        for counts in self._cache_counts():
            counts.append(np.zeros(self._cache_shape, np.int64))

    def _cache_counts(self) -> list[list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]]:
        return [self.cache_hits, self.cache_misses, self.cache_hit_bytes, self.cache_missing_bytes]

    def count_cache(
        self, worker: int, level: int, hit_bytes: int, missing_bytes: int, moved_bytes: int
    ) -> None:
        """Count one look-up in a cache level; what other instances pass on is missing there."""
        place = int(self._domain[worker]), level
        self.cache_hit_bytes[-1][place] += hit_bytes + moved_bytes
        self.cache_missing_bytes[-1][place] += missing_bytes
        (self.cache_hits if missing_bytes == 0 else self.cache_misses)[-1][place] += 1

    def trace(self) -> Trace | None:
        """Hand over the events that are left; return all of them if they are kept in memory."""
        if self._sink is not None and self._rows:
            self._hand_over(self._sink)
        return self._sink.trace() if isinstance(self._sink, KeptEvents) else None

    def _hand_over(self, sink: EventSink) -> None:
        """Let the sink take the rows."""
        columns = zip(*self._rows, strict=True)
        self._rows = []
        sink.append(
            {
                name: np.array(column, dtype=dtype)
                for (name, dtype), column in zip(EVENT_COLUMNS.items(), columns, strict=True)
            }
        )

    def summary(self) -> Summary:
        """Return the counters."""
        starts = np.array(self.start_ps, np.int64)
        ends = np.array(self.end_ps, np.int64)
        overhead = np.zeros(len(ends), np.int64)
        overhead[:-1] = starts[1:] - ends[:-1]
        hits, misses, hit_bytes, missing_bytes = (
            np.array(counts, np.int64).reshape(len(starts), *self._cache_shape)
            for counts in self._cache_counts()
        )
        self.n_tasks = sum(counters.tasks for counters in self.workers)
        return Summary(
            makespan_ps=self.end_ps[-1],
            iteration=np.array(self.iterations, np.int32),
            iteration_start_ps=starts,
            iteration_end_ps=ends,
            iteration_overhead_ps=overhead,
            **by_worker(np.array([astuple(counters) for counters in self.workers], np.int64)),
            node_bytes=np.array(self.node_bytes, np.int64).reshape(-1, *self._shape),
            node_hit_bytes=np.array(self.node_hit_bytes, np.int64).reshape(-1, self._shape[1]),
            path_bytes=self.path_bytes,
            cache_hits=hits,
            cache_misses=misses,
            cache_hit_bytes=hit_bytes,
            cache_missing_bytes=missing_bytes,
            steals=np.array(self.steals, np.int64),
            failed_probes=np.array(self.failed_probes, np.int64),
            node_peak_bytes=np.array(self.node_peak_bytes, np.int64),
            managed_bytes=np.array(self.managed_bytes, np.int64),
            **{item.name: getattr(self, item.name) for item in fields(RunCounters)},
        )
