"""Where the time of a run went: parts of the makespan that add up to it.

Every worker spends the whole makespan on something. What is known exactly (time inside tasks, on
creating and on finding them, on copies, between iterations, idle) comes from the run's counters.
Time inside tasks is divided segment by segment with the event trace:

* *compute*: what the segment's operations take with all workers of the core busy, at most the
  segment; also all time inside tasks without accesses. A worker that changes its core, its pace, or
  whose core changes its speed, takes as long as it does (:class:`~simsched.analysis.rates.Rates`).
* What is left was spent waiting for data. It is divided in proportion to what the data would have
  taken without computation: bytes at the cap of the local path (*memory*, the price of having
  missed the caches), the longer latency and lower cap of the path really taken (*remote*), the rest
  of each flow's duration (*wait KIND: CAUSE*: the controller, a link or a cache on the way to
  memory of that kind was shared; :mod:`simsched.analysis.waits`),
  and, as long as what did not come from memory can take, hits in caches (*cache*). What none of
  these explains, such as the cost of a swap of threads, is compute, too.
* A segment that a worker loses in the middle (preempted or killed) has a flow whose path is not
  known, because the trace only names it at its end: what is left is *memory* then.

Before that, what an access waited for page faults and for pages to move is taken out: *migration*,
with the time of workers that copy blocks. Faults cost what the machine says. The rest of the run's
`page_fault_ps` is what moves took; it is divided among the accesses that moved their block, in
proportion to what they lasted longer than faults, flows and operations explain.

Idle time has the causes of :mod:`simsched.analysis.idle`, exactly.

Parts are seconds of the mean worker, so that runs with different numbers of workers compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.analysis.idle import CAUSES, IdleCauses, idle_causes
from simsched.analysis.segments import (
    Segments,
    UndisturbedModel,
    accesses_of,
    per_segment,
    share_of_moves,
    stalls,
)
from simsched.analysis.supply import BETWEEN
from simsched.analysis.waits import WAIT_CAUSES
from simsched.files.units import PER_PS
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.graph import TaskGraph

COMPUTE, CACHE, MEMORY, REMOTE = "compute", "cache", "memory", "remote"
WAIT = "wait {}: {}"  #: kind of the memory node, and one of `WAIT_CAUSES`
SPAWN, STEAL, POOLS = "spawn", "steal", "pools"
MIGRATION = "migration"
IDLE = "idle: {}"  #: one of `CAUSES`


def group_of(part: str) -> str:
    """Return what a part belongs to: idle time, waiting for a kind of memory, or itself.

    >>> group_of("wait DRAM: link"), group_of("compute")
    ('wait DRAM', 'compute')
    """
    return part.partition(": ")[0]


@dataclass(frozen=True)
class TimeParts:
    """The makespan of a run in parts."""

    makespan_s: float
    #: Parts in a fixed order; their sum is `makespan_s` up to rounding.
    seconds: dict[str, float]
    #: Why workers were idle, in more detail.
    idle: IdleCauses


def time_parts(run: Run) -> TimeParts:
    """Return the parts of a run's makespan; the run has its trace."""
    if run.trace is None:
        raise ValueError("run: found no event trace, accepted: a run with events=True")
    model = UndisturbedModel(run, run.trace)
    waits = [WAIT.format(kind, cause) for kind in model.kinds for cause in WAIT_CAUSES]
    waiting = dict.fromkeys([CACHE, MEMORY, REMOTE, *waits, MIGRATION], 0.0)
    share = share_of_moves(run, model)
    for graph, segments in accesses_of(run):
        _add_waiting(waiting, model, graph, segments, waits, share)
    return _assemble(run, waiting, _steal_ps(run.trace), idle_causes(run))


def _add_waiting(
    waiting: dict[str, float],
    model: UndisturbedModel,
    graph: TaskGraph,
    segments: Segments,
    waits: list[str],
    share: float,
) -> None:
    """Add what the accesses of one iteration waited for, in picoseconds of all workers.

    `share` is the part of the room of accesses with page moves that these took.
    """
    if not len(segments.length_ps):
        return
    compute = model.compute_ps(graph, segments)
    fault, room = stalls(model, segments, compute)
    stall = fault + np.where(segments.moves_page, share * room, 0.0)
    waiting[MIGRATION] += float(stall.sum())
    length = segments.length_ps - stall
    paths, flow_path = model.problem.paths, segments.flow_path
    core = model.rates.core(segments.worker[segments.flow_segment], segments.flow_row)
    busy = model.cap_level[core]
    local = model.local[flow_path]
    near = segments.flow_bytes / paths.cap[local, busy]
    far = segments.flow_bytes / paths.cap[flow_path, busy]
    latency = (paths.latency_ps[local], paths.latency_ps[flow_path])
    memory = np.minimum(near, segments.flow_ps) + latency[0]
    remote = np.maximum(np.minimum(far, segments.flow_ps) - near, 0.0)
    remote += np.maximum(latency[1] - latency[0], 0)
    wait = np.maximum(segments.flow_ps - far, 0.0)
    taken = per_segment(segments, memory + remote + wait)
    behind = per_segment(segments, segments.flow_ps + latency[1])
    # A flow that has not ended is one that the worker has lost.
    cut = segments.memory_bytes > per_segment(segments, segments.flow_bytes)
    # Flows and hits explain no more than this: a swap of threads may have taken the rest.
    most = np.maximum(behind, compute) + model.most_hit_ps(graph, segments)
    explained = np.where(cut, length, np.minimum(length, most))
    exposed = np.maximum(explained - compute, 0.0)
    cache = np.where(~cut & (exposed > 0), np.maximum(explained - behind, 0.0), 0.0)
    whole = taken + cache
    scale = exposed / np.maximum(np.maximum(whole, exposed), 1e-300)
    waiting[CACHE] += float((cache * scale).sum())
    waiting[MEMORY] += float((exposed - whole * scale)[cut].sum())
    flow_scale = scale[segments.flow_segment]
    waiting[MEMORY] += float((memory * flow_scale).sum())
    waiting[REMOTE] += float((remote * flow_scale).sum())
    end = segments.flow_end_ps.astype(np.float64)
    cause = model.bottlenecks.causes(flow_path, end - segments.flow_ps, end)
    place = model.node_kind[model.node[flow_path]] * len(WAIT_CAUSES) + cause
    sums = np.bincount(place, weights=wait * flow_scale, minlength=len(waits))
    for name, value in zip(waits, sums.tolist(), strict=True):
        waiting[name] += value


def _steal_ps(trace: Trace) -> int:
    """Return what successful steals have cost, probes and locks included."""
    kind = trace.events["kind"]
    steals = np.flatnonzero(kind == EventKind.STEAL)
    taken = steals[kind[np.maximum(steals - 1, 0)] == EventKind.ACQUIRE] - 1
    return int(trace.events["arg1"][taken].sum())


def _assemble(run: Run, waiting: dict[str, float], steal_ps: int, idle: IdleCauses) -> TimeParts:
    """Return all parts for the mean worker."""
    summary = run.summary
    n = len(summary.worker_busy_ps)
    busy, spawn, acquire, copying = (
        int(part.sum())
        for part in (
            summary.worker_busy_ps,
            summary.worker_spawn_ps,
            summary.worker_acquire_ps,
            summary.worker_migrate_ps,
        )
    )
    idle_ps = {cause: int(time.sum()) for cause, time in idle.by_cause().items()}
    # What is still being paid for when the run ends: mostly releases of successors.
    unpaid = busy + spawn + acquire + copying + int(idle.idle_ps.sum()) - summary.makespan_ps * n
    never_spawned = min(unpaid, spawn)
    between = idle_ps.pop(BETWEEN, 0)
    stalls = waiting.pop(MIGRATION)
    compute = busy - stalls - sum(waiting.values())
    parts = {COMPUTE: compute, **waiting, SPAWN: float(spawn - never_spawned)}
    pools = acquire - steal_ps - (unpaid - never_spawned)
    parts |= {STEAL: float(steal_ps), POOLS: float(pools)}
    parts |= {MIGRATION: copying + stalls, BETWEEN: float(between)}
    parts |= {IDLE.format(c): float(idle_ps.get(c, 0)) for c in CAUSES if c != BETWEEN}
    seconds = {name: value * PER_PS / n for name, value in parts.items()}
    return TimeParts(summary.makespan_ps * PER_PS, seconds, idle)
