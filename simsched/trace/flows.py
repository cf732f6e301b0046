"""Memory flows and copies in a trace, and what of them passes where in bins of time.

A trace says when flows begin and end, not how fast they are in between. Their bytes are spread over
their time as evenly as what they cross allows: in no bin does more pass a memory node, a cache in
front of one, a link or a controller than it sustains, within a thousandth. The rates of the run
itself are such a distribution, so there is one. Only a flow whose worker has changed threads is
known by its last path alone; what cannot have passed there is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.trace.schema import EventKind, Trace

Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]

CACHE_OF = "cache of {}"  #: name of the memory-side cache in front of a node
ROUNDS = 300  #: of moving bytes between bins, at most
EXCESS = 1e-4  #: how much more than what is sustained ends them, as a part of it
MOST_EXCESS = 1e-3  #: what more there is after the last round is cut off


@dataclass(frozen=True, eq=False)
class Ways:
    """What the bytes of a run cross, by path.

    Path p crosses the entries `ptr[p]` to `ptr[p + 1]` - 1 of `resource`, at least one; a byte
    loads each with its `weight`. Memory nodes are the first resources, then the caches in front of
    them, in their order.
    """

    #: Of resources; shape (R,).
    names: tuple[str, ...]
    #: Most that each sustains; shape (R,).
    bytes_per_s: FloatArray
    #: Shape (P + 1,).
    ptr: Int64Array
    resource: Int64Array
    weight: FloatArray
    #: Path of copies between nodes; shape (N, N).
    copy: Int64Array
    #: Time before bytes of a copy move; shape (P,).
    latency_ps: Int64Array

    def weights(self, resource: int) -> FloatArray:
        """Return the load of a byte on a resource, by path; shape (P,)."""
        here = self.resource == resource
        path = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))[here]
        found = np.bincount(path, self.weight[here], len(self.ptr) - 1)
        return np.asarray(found, np.float64)

    def loads(self, path_bytes: Int64Array) -> FloatArray:
        """Return what bytes on paths, of shape (P,), come to on each resource; shape (R,)."""
        crossing = np.repeat(path_bytes, np.diff(self.ptr)) * self.weight
        found = np.bincount(self.resource, crossing, len(self.names))
        return np.asarray(found, np.float64)

    @property
    def n_nodes(self) -> int:
        """Number of memory nodes."""
        return len(self.copy)

    def moved(self, node: int) -> FloatArray:
        """Return the bytes that a node itself moves for a byte, by path; shape (P,).

        0 where a cache in front of it answers; a copy within the node reads and writes.
        """
        weights = self.weights(node)
        is_copy = np.isin(np.arange(len(weights)), self.copy)
        moved: FloatArray = np.where(is_copy, weights, np.minimum(weights, 1.0))
        return moved

    def cache_of(self, node: int) -> int | None:
        """Return the cache in front of a node."""
        name = CACHE_OF.format(self.names[node])
        return self.names.index(name) if name in self.names else None

    def answered(self, node: int) -> FloatArray:
        """Return the bytes that the cache in front of a node gives for a byte, by path."""
        cache = self.cache_of(node)
        if cache is None:
            return np.zeros(len(self.ptr) - 1)
        hits = (self.weights(cache) > 0) & (self.weights(node) == 0)
        return np.asarray(hits, np.float64)

    def details(self) -> dict[str, Any]:
        """Return what a recording keeps of it: see `simsched.trace.exporters._bandwidth`."""
        return {
            "resources": list(self.names),
            "resource_bytes_per_s": self.bytes_per_s.tolist(),
            "path_ptr": self.ptr.tolist(),
            "path_resource": self.resource.tolist(),
            "path_weight": self.weight.tolist(),
            "path_latency_ps": self.latency_ps.astype(float).tolist(),
            "copy_path": self.copy.ravel().tolist(),
        }


@dataclass(frozen=True, eq=False)
class Flows:
    """Flows of a trace: begin and end in ps, path, bytes; each of shape (n,)."""

    begin_ps: Int64Array
    end_ps: Int64Array
    path: Int64Array
    n_bytes: Int64Array

    def __len__(self) -> int:
        return len(self.path)

    def beside(self, other: Flows) -> Flows:
        """Return these flows and others."""
        columns = [item.name for item in fields(self)]
        return Flows(*(np.append(getattr(self, c), getattr(other, c)) for c in columns))


@dataclass(frozen=True, eq=False)
class CopyRows:
    """Copies of blocks in the order in which they begin: rows of the trace, and their ends."""

    first: Int64Array
    last: Int64Array
    source: Int64Array
    target: Int64Array

    def of(self, chosen: NDArray[np.bool_]) -> CopyRows:
        """Return some of the copies."""
        return CopyRows(*(getattr(self, item.name)[chosen] for item in fields(self)))


def flows_of(trace: Trace) -> Flows:
    """Return the flows of accesses.

    A worker's flow starts when its access starts or, for a later flow of an access, when the one
    before has ended.
    """
    events = trace.events
    chosen = np.isin(events["kind"], [EventKind.ACCESS, EventKind.FLOW_END, EventKind.TASK_RESUME])
    order = np.flatnonzero(chosen)
    order = order[np.argsort(events["worker"][order], kind="stable")]
    time, kind = events["time_ps"][order].astype(np.int64), events["kind"][order]
    ends = np.flatnonzero(kind == EventKind.FLOW_END)
    path, moved = (events[name][order][ends].astype(np.int64) for name in ("arg0", "arg1"))
    begin = time[np.maximum(ends - 1, 0)]
    return Flows(np.minimum(begin, time[ends]), time[ends], path, moved)


def copy_ends(trace: Trace) -> tuple[Int64Array, Int64Array]:
    """Return source and target of each row about a copy; the source of ends is not known: -1."""
    arg1 = trace.events["arg1"].astype(np.int64)
    begins = trace.events["kind"] == EventKind.MIGRATE_START
    return np.where(begins, arg1 >> 32, -1), np.where(begins, arg1 & 0xFFFFFFFF, arg1)


def copy_rows(trace: Trace) -> CopyRows:
    """Return the copies that have ended; a block goes to a node once at a time."""
    events = trace.events
    rows = np.flatnonzero(np.isin(events["kind"], [EventKind.MIGRATE_START, EventKind.MIGRATE_END]))
    source, target = copy_ends(trace)
    rows = rows[np.lexsort((rows, target[rows], events["arg0"][rows]))]
    begins = events["kind"][rows] == EventKind.MIGRATE_START
    follows = np.zeros(len(rows), bool)
    follows[:-1] = begins[:-1] & ~begins[1:]
    for column in (events["arg0"], target):
        follows[:-1] &= np.diff(column[rows]) == 0
    first, last = rows[follows], rows[np.flatnonzero(follows) + 1]
    order = np.argsort(first)
    first, last = first[order], last[order]
    return CopyRows(first, last, source[first], target[first])


def copies_of(trace: Trace, ways: Ways, block_bytes: NDArray[np.integer]) -> Flows:
    """Return the flows of copies between nodes; their bytes move after the latency."""
    rows = copy_rows(trace)
    block = trace.events["arg0"][rows.first].astype(np.int64)
    known = (np.maximum(rows.source, rows.target) < ways.n_nodes) & (block < len(block_bytes))
    rows, block = rows.of(known & (block >= 0)), block[known & (block >= 0)]
    time = trace.events["time_ps"].astype(np.int64)
    path = ways.copy[rows.source, rows.target]
    begin, end = time[rows.first] + ways.latency_ps[path], time[rows.last]
    return Flows(np.minimum(begin, end), end, path, block_bytes[block].astype(np.int64))


def passing(flows: Flows, ways: Ways | None, edges_ps: FloatArray) -> tuple[Int64Array, FloatArray]:
    """Return the paths that flows take, ascending, and the bytes on each in each bin.

    Shapes (n,) and (n, bins). Bins are equal, `edges_ps` are one more than bins and cover all
    flows. Where nothing is known of what paths cross, bytes are spread evenly.
    """
    paths, number = np.unique(flows.path, return_inverse=True)
    bins, n_bytes = len(edges_ps) - 1, flows.n_bytes.astype(np.float64)
    width = (edges_ps[-1] - edges_ps[0]) / bins
    begin = (flows.begin_ps - edges_ps[0]) / width
    end = (flows.end_ps - edges_ps[0]) / width
    first = np.clip(begin.astype(np.int64), 0, bins - 1)
    last = np.clip(np.ceil(end).astype(np.int64) - 1, first, bins - 1)
    found: FloatArray = np.zeros((len(paths), bins))
    one = np.flatnonzero(first == last)
    np.add.at(found, (number[one], first[one]), n_bytes[one])
    several = np.flatnonzero(first < last)
    if not len(several):
        return paths, found
    counts = (last - first + 1)[several]
    flow = np.repeat(np.arange(len(several)), counts)
    place = np.arange(len(flow)) - np.repeat(np.cumsum(counts) - counts, counts)
    place += first[several][flow]
    whole = several[flow]
    overlap = np.minimum(end[whole], place + 1) - np.maximum(begin[whole], place)
    amount = n_bytes[whole] * overlap / (end - begin)[whole]
    if ways is not None:
        room = ways.bytes_per_s[:, None] * (width * 1e-12) * np.ones(bins)
        _fit(amount, flow, place, number[whole], _crossings(ways, paths), found, room)
    np.add.at(found, (number[whole], place), amount)
    return paths, found


@dataclass(frozen=True, eq=False)
class _Crossings:
    """What some paths cross, as in :class:`Ways`; every path crosses something."""

    ptr: Int64Array
    resource: Int64Array
    weight: FloatArray


def _crossings(ways: Ways, paths: Int64Array) -> _Crossings:
    counts = np.diff(ways.ptr)[paths]
    ptr = np.append(0, np.cumsum(counts))
    place = np.arange(ptr[-1]) + np.repeat(ways.ptr[paths] - ptr[:-1], counts)
    return _Crossings(ptr, ways.resource[place], ways.weight[place])


def _fit(
    amount: FloatArray,
    flow: Int64Array,
    place: Int64Array,
    path: Int64Array,
    crossings: _Crossings,
    fixed: FloatArray,
    room: FloatArray,
) -> None:
    """Move bytes of flows between the bins that they last in until they fit into what is left.

    `amount` are the bytes of `flow` in bin `place`, flows ascending; `fixed` those of other flows,
    by path and bin; `room` what resources sustain, by bin. In turns, all flows of a bin with too
    much give up the same part of what they have there, and each flow gets its bytes back in
    proportion. They give up twice what is too much, which takes half as many rounds.
    """
    n_paths, bins = fixed.shape
    of_path = np.repeat(np.arange(n_paths), np.diff(crossings.ptr))
    left = room.copy()
    np.add.at(left, crossings.resource, -fixed[of_path] * crossings.weight[:, None])
    least = 1e-6 * room
    left = np.maximum(left, least).ravel()
    counts = np.diff(crossings.ptr)[path]
    start = np.cumsum(counts) - counts
    entry = np.repeat(np.arange(len(path)), counts)
    crossing = np.arange(len(entry)) - np.repeat(start - crossings.ptr[path], counts)
    cell = crossings.resource[crossing] * bins + place[entry]
    weight = crossings.weight[crossing]
    first = np.flatnonzero(np.append(True, flow[1:] != flow[:-1]))
    whole = np.add.reduceat(amount, first)
    enough = left + EXCESS * room.ravel()
    for _ in range(ROUNDS):
        load = np.bincount(cell, amount[entry] * weight, len(left))
        if np.all(load <= enough):
            return
        share = (left / np.maximum(load, left)) ** 2
        amount *= np.minimum.reduceat(share[cell], start)
        amount *= (whole / np.maximum(np.add.reduceat(amount, first), 1e-300))[flow]
    load = np.bincount(cell, amount[entry] * weight, len(left))
    most = left + MOST_EXCESS * room.ravel()
    amount *= np.minimum.reduceat((most / np.maximum(load, most))[cell], start)
