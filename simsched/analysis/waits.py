"""What held back memory flows that shared their way: a controller, a link or a cache.

A trace says how long a flow took, not where it was held back. That is told by what else was moved
meanwhile: of what the flow crosses, the resource with the largest part of its bandwidth in use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.engine.ways import ways_of
from simsched.files.units import PER_PS
from simsched.machine.resources import Resources
from simsched.trace.flows import Ways, copies_of, flows_of, passing
from simsched.trace.run import Run

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

CONTROLLER, LINK, CACHE = WAIT_CAUSES = ("controller", "link", "cache")
BINS = 400  #: of time, over which use is averaged at the least


class Bottlenecks:
    """How much of what flows cross is in use over a run."""

    def __init__(self, run: Run) -> None:
        assert run.trace is not None
        machine = run.machine
        self._ways = ways = ways_of(machine, run.worker_thread)
        flows = flows_of(run.trace)
        flows = flows.beside(copies_of(run.trace, ways, run.workload.graph.block_bytes))
        self._edges = np.linspace(0.0, max(1.0, float(run.summary.makespan_ps)), BINS + 1)
        self._paths, self._passed = np.zeros(0, np.int64), np.zeros((0, BINS))
        if len(flows):
            self._paths, self._passed = passing(flows, ways, self._edges)
        self._used = self._use(ways, self._paths)
        n_nodes, first_link = len(machine.nodes), Resources(machine).first_link
        cause = np.zeros(len(ways.names), np.int64)
        cause[n_nodes:first_link] = WAIT_CAUSES.index(CACHE)
        cause[first_link : first_link + len(machine.links)] = WAIT_CAUSES.index(LINK)
        self._cause = cause

    def _use(self, ways: Ways, paths: IntArray, eased: FloatArray | None = None) -> FloatArray:
        """Return how full each resource was until each edge, times bins, if flows took paths.

        `eased` is which part of that counts, of each resource in each bin.
        """
        weights = np.array([ways.weights(r)[paths] for r in range(len(ways.names))])
        width_s = (self._edges[1] - self._edges[0]) * PER_PS
        full = weights.reshape(len(ways.names), -1) @ self._passed
        full /= ways.bytes_per_s[:, None] * width_s
        if eased is not None:
            full *= eased
        return np.pad(np.cumsum(full, axis=1), ((0, 0), (1, 0)))

    def fullest(
        self,
        path: IntArray,
        begin_ps: FloatArray,
        end_ps: FloatArray,
        ways: Ways,
        other: IntArray,
        eased: FloatArray | None = None,
    ) -> FloatArray:
        """Return how full the fullest resource would be that flows cross, 1 being all it sustains.

        That is so for the bytes of the run in their time, where paths cross what `ways` say, and
        each path of the run is the one in `other`; `eased` is which part of it counts, of each
        resource in each bin of time.
        """
        used = self._use(ways, other[self._paths], eased)
        low, high = self._bins(begin_ps, end_ps)
        path = other[path]
        count = np.diff(ways.ptr)[path]
        flow = np.repeat(np.arange(len(path)), count)
        first = np.cumsum(count) - count
        crossed = ways.resource[np.repeat(ways.ptr[path] - first, count) + np.arange(len(flow))]
        share = (used[crossed, high[flow]] - used[crossed, low[flow]]) / (high - low)[flow]
        found: FloatArray = np.maximum.reduceat(share, first) if len(path) else np.zeros(0)
        return found

    def passed_ps(
        self, begin_ps: FloatArray, end_ps: FloatArray, ways: Ways, other: IntArray
    ) -> FloatArray:
        """Return how long what has passed each resource between times takes it at the least.

        `ways` and `other` are those of :meth:`fullest`; shape (n_resources, n_times).
        """
        used, width = self._use(ways, other[self._paths]), self._edges[1] - self._edges[0]
        until, since = (
            np.array([np.interp(time, self._edges, row) for row in used])
            for time in (end_ps, begin_ps)
        )
        return np.asarray((until - since) * width, np.float64)

    def causes(self, path: IntArray, begin_ps: FloatArray, end_ps: FloatArray) -> IntArray:
        """Return what held back flows: places in `WAIT_CAUSES`."""
        low, high = self._bins(begin_ps, end_ps)
        best, found = np.full(len(path), -1.0), np.zeros(len(path), np.int64)
        for resource in range(len(self._ways.names)):
            crosses = self._ways.weights(resource)[path] > 0
            used = self._used[resource]
            share = np.where(crosses, (used[high] - used[low]) / (high - low), -1.0)
            better = share > best * (1.0 + 1e-9)
            best = np.where(better, share, best)
            found = np.where(better, self._cause[resource], found)
        return found

    def _bins(self, begin_ps: FloatArray, end_ps: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the bins in which flows lie, from the first to before the second."""
        # The use of a bin in which all of a flow lies says most about it.
        first, last = (np.interp(t, self._edges, np.arange(BINS + 1.0)) for t in (begin_ps, end_ps))
        low, high = np.floor(first), np.maximum(np.ceil(last), np.floor(first) + 1)
        low, high = low.astype(np.int64), np.minimum(high.astype(np.int64), BINS)
        return np.minimum(low, BINS - 1), high

    def bins_of(self, begin_ps: FloatArray) -> IntArray:
        """Return in which of some spans, given their ascending begins, each bin begins."""
        found: IntArray = np.searchsorted(begin_ps, self._edges[:-1], side="right") - 1
        return np.maximum(found, 0)
