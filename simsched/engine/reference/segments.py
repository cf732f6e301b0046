"""Segments: one access and its share of the computation; docs/semantics.md, rules S."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.reference.balancing import Balancing
from simsched.engine.reference.caches import Caches, MemorySideCaches
from simsched.engine.reference.homes import Homes
from simsched.engine.reference.record import Record
from simsched.engine.reference.sharing import Sharing
from simsched.trace.schema import EventKind
from simsched.workload.graph import TaskGraph

#: Ways of a flow: bytes read (and written, where these do not have a path of their own), hits in a
#: memory-side cache, bytes written.
READ, HIT, WRITE = range(3)


def path_of(problem: Problem, domain: int, node: int, way: int) -> int:
    """Return the path of a flow."""
    paths = problem.paths
    return int((paths.access, paths.hit, paths.write)[way][domain, node])


@dataclass
class Segment:
    """What a worker is executing.

    `ops_left` operations remain at time `since` and go on at `rate`; `flows` are the memory flows
    still to be run, the first one running while `flowing`; after them the segment lasts at least
    until `tail_end_ps`. It is number `phase` of its body or join and has `n_bytes` and
    `total_ops` in all.
    """

    task: int
    ops_left: float
    rate: float
    since: int
    start_ps: int
    flows: list[tuple[int, int, int]] = field(default_factory=list)  # (node, way, bytes)
    tail_ps: int = 0
    flowing: bool = False
    tail_end_ps: int = 0
    since_lag: float = 0.0
    phase: int = 0
    n_bytes: int = 0
    total_ops: float = field(init=False)

    def __post_init__(self) -> None:
        self.total_ops = self.ops_left

    def left_at(self, now: int, lag: float) -> float:
        """Return the operations that remain at `now - lag`."""
        done = self.rate * ((now - self.since) + (self.since_lag - lag))
        return max(0.0, self.ops_left - done)

    def settle(self, now: int, lag: float) -> None:
        """Subtract the operations done until `now - lag` since the last change of rate."""
        self.ops_left = self.left_at(now, lag)
        self.since, self.since_lag = now, lag

    def wait(self, wait_ps: int) -> None:
        """Let the core wait: whatever ends last ends later by so much."""
        self.ops_left += wait_ps * self.rate
        self.tail_ps += wait_ps
        self.tail_end_ps += wait_ps

    def compute_end_ps(self) -> int:
        """Return when the end of the computation is noticed, at the present rate."""
        if self.ops_left <= 0.0:
            return self.since
        return self.since + math.ceil(self.ops_left / self.rate - self.since_lag)

    def lag_at_end(self, lag: float) -> float:
        """Return the lag with which the segment ends, `lag` being that of its last flow."""
        compute_end, compute_lag = self.compute_end_ps(), self.since_lag
        if self.ops_left > 0.0:
            exact = self.ops_left / self.rate - self.since_lag
            compute_lag = math.ceil(exact) - exact
        if compute_end == self.tail_end_ps:
            return min(lag, compute_lag)
        return compute_lag if compute_end > self.tail_end_ps else lag

    def end_ps(self) -> int:
        """Return when the segment ends, once its flows are over."""
        return max(self.tail_end_ps, self.compute_end_ps())


@dataclass(frozen=True)
class Remaining:
    """Accesses of a body or join that have not begun.

    `access` to `last` - 1 are their places; which access comes at the places of a row is found
    when it begins. `count`, `total_bytes` and `ops` are those of all accesses.
    """

    access: int
    last: int
    count: int
    total_bytes: int
    ops: float


class Memory:
    """Homes of blocks, caches and the counters that accesses feed."""

    def __init__(self, problem: Problem, record: Record, sharing: Sharing) -> None:
        self._problem = problem
        self._record = record
        self._sharing = sharing
        self.caches = Caches(problem, record)
        self._memory_side = MemorySideCaches(problem)
        self.homes = Homes(problem, record, self.caches)
        self._balancing = Balancing(problem, record, self.homes)
        self.start_iteration(None, 0)

    def start_iteration(self, plan: ResolvedPlan | None, now: int) -> None:
        """Reset the counters that a plan asks for."""
        groups = 0 if plan is None else plan.n_counter_groups
        self.group_bytes = np.zeros((groups, int(self._problem.node_kind.max()) + 1, 2), np.int64)
        levels = self._problem.n_levels
        self.group_missing_bytes = np.zeros((groups, levels), np.int64)
        shape = (
            (len(self._problem.block_bytes), 0) if plan is None else plan.sample_offset_bytes.shape
        )
        self.samples = np.zeros(shape, np.int64)
        self._last_period = np.full(shape, -1, np.int64)
        self._plan = plan
        self._balancing.start_iteration(plan)
        self._start_ps = now

    def begin(
        self,
        graph: TaskGraph,
        segment: Segment,
        access: int,
        worker: int,
        now: int,
        node: int | None,
    ) -> None:
        """Resolve the access of a segment: first touch, caches, flows, counting.

        Where data are copied, `node` has the block for the worker.
        """
        problem = self._problem
        block = int(graph.access_block[access])
        written = int(graph.written_bytes[access])
        n_bytes = int(graph.read_bytes[access]) + written
        domain = int(problem.worker_domain[worker])
        if self.homes.wants_home(block, written):
            self.homes.touch(block, worker, segment.task, now)
            self._balancing.note_first_touch(block, now)
            stall_ps = 0
        else:
            stall_ps = self._balancing.access(block, n_bytes, worker, segment.task, now)
            segment.ops_left += stall_ps * segment.rate
        if node is None:
            node = self.homes.reached(block, domain, writes=written > 0)
        assert self._plan is not None
        group = int(self._plan.counter_group[segment.task])
        of_group = self.group_missing_bytes[group] if group >= 0 else None
        exposure = 1.0 if graph.exposure is None else float(graph.exposure[segment.task])
        missing, tail, wait_ps = self.caches.access(
            worker, block, n_bytes, written, exposure, of_group
        )
        tail += stall_ps
        if wait_ps > 0:
            segment.ops_left += wait_ps * segment.rate
        moved, dirtied, writes_apart = missing, 0, self._writes_apart(domain, node)
        if written > 0:
            dirtied = min(written, int(problem.block_bytes[block]))
            dirtied -= self.caches.write(worker, block, n_bytes, written)
            paid = missing - min(missing, n_bytes - written)
            if writes_apart:  # their path is that of lines that are fetched and written back
                paid = min(missing, written)
            moved += max(0, dirtied - paid)
            self._record.write_back_bytes += moved - missing
        hit = 0
        if moved > 0 and problem.node_slots[node] > 0:
            footprint = min(n_bytes, int(problem.block_bytes[block]))
            begin = footprint - min(moved, footprint)
            hit = self._memory_side.access(node, block, range(begin, footprint), moved)
        behind = moved - hit
        passing = max(0, missing - min(n_bytes, int(problem.block_bytes[block])))
        apart = min(behind, missing, written, dirtied + passing) if writes_apart else 0
        segment.flows = [
            (node, way, size)
            for way, size in ((HIT, hit), (READ, behind - apart), (WRITE, apart))
            if size > 0
        ]
        for _, way, _ in segment.flows:
            tail += self._sharing.latency_ps(path_of(problem, domain, node, way))
        segment.tail_ps = tail
        self._record.requested_bytes += n_bytes
        self._record.node_hit_bytes[-1][node] += hit
        self._count(segment.task, domain, node, moved)
        self._count_managed(block, domain, node, n_bytes)
        self._sample(block, n_bytes, now)
        self._record.event(now, EventKind.ACCESS, worker, segment.task, block, moved)

    def _writes_apart(self, domain: int, node: int) -> bool:
        """Return whether written bytes take another path than read ones."""
        paths = self._problem.paths
        return bool(paths.write[domain, node] != paths.access[domain, node])

    def _count_managed(self, block: int, domain: int, node: int, n_bytes: int) -> None:
        """Count the bytes of an access to a block of a pool, hits included."""
        pools = self._problem.pooling
        if pools is not None and pools.size_class[block] >= 0:
            remote = int(self._problem.node_domain[node]) not in (-1, domain)
            self._record.managed_bytes[int(remote)] += n_bytes

    def _count(self, task: int, domain: int, node: int, n_bytes: int) -> None:
        """Count bytes by domain and node, and per counter group by memory kind and locality."""
        assert self._plan is not None
        self._record.node_bytes[-1][domain, node] += n_bytes
        group = int(self._plan.counter_group[task])
        if group >= 0:
            remote = int(self._problem.node_domain[node]) not in (-1, domain)
            self.group_bytes[group, int(self._problem.node_kind[node]), int(remote)] += n_bytes

    def _sample(self, block: int, n_bytes: int, now: int) -> None:
        """Set the access bits of sampled pages."""
        assert self._plan is not None
        if self._plan.monitor_period_ps > 0:
            period = (now - self._start_ps) // self._plan.monitor_period_ps
            touched = self._plan.sample_offset_bytes[block] < n_bytes
            fresh = touched & (self._last_period[block] != period)
            self.samples[block][fresh] += 1
            self._last_period[block][fresh] = period
