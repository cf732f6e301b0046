"""Homes of blocks: first touch, pools of memory, footprint; docs/semantics.md, rules BP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Problem
from simsched.engine.reference.caches import Caches
from simsched.engine.reference.record import Record
from simsched.engine.replication import AT_ACCESSES
from simsched.engine.room import no_room_message
from simsched.files.errors import ModelError
from simsched.trace.schema import NONE, EventKind


@dataclass(eq=False)
class Spare:
    """Memory in a pool: the block that has had it, as long as that has no other."""

    block: int | None


class Homes:
    """Where blocks are, what nodes hold, and what pools have to give."""

    def __init__(self, problem: Problem, record: Record, caches: Caches) -> None:
        self._problem = problem
        self._caches = caches
        self._record = record
        self._is_active = False  # whether tasks allocate and free
        self.node: NDArray[np.int32] = problem.home.copy()
        self.used_bytes = np.zeros(problem.n_nodes, np.int64)
        # Memory that waits in each pool, by (node, class); last is next.
        self._spare: dict[tuple[int, int], list[Spare]] = {}
        self._spare_of: dict[int, Spare] = {}  # by the block that has had it
        self.replicas = [[node for node in row if node >= 0] for row in problem.replica.tolist()]
        for block in np.flatnonzero(self.node >= 0).tolist():
            for node in (int(self.node[block]), *self.replicas[block]):
                self.take(node, block)

    def reached(self, block: int, domain: int, *, writes: bool) -> int:
        """Return the node that an access goes to; a write leaves only the home."""
        home = int(self.node[block])
        if writes:
            for node in self.replicas[block]:
                self.give_back(node, block)
            self.replicas[block] = []
        rank = self._problem.node_rank[domain].tolist()
        return int(min((home, *self.replicas[block]), key=rank.__getitem__))

    def start_iteration(self, number: int) -> None:
        """Let tasks allocate and free in every iteration but the initialisation."""
        self._is_active = number > 0

    def has_room(self, node: int, block: int) -> bool:
        """Return whether a node can take a block."""
        size = int(self._problem.taken_bytes[block])
        return int(self.used_bytes[node]) + size <= int(self._problem.node_capacity_bytes[node])

    def take(self, node: int, block: int) -> None:
        """Take memory for a block from the system."""
        self.used_bytes[node] += int(self._problem.taken_bytes[block])
        peak = self._record.node_peak_bytes
        peak[node] = max(peak[node], int(self.used_bytes[node]))
        self._record.peak_bytes = max(self._record.peak_bytes, int(self.used_bytes.sum()))

    def give_back(self, node: int, block: int) -> None:
        """Give the memory of a block back to the system."""
        self.used_bytes[node] -= int(self._problem.taken_bytes[block])

    def wants_home(self, block: int, written: int) -> bool:
        """Return whether an access gives a block a home; a block that follows it loses its own."""
        follows = self._problem.follows[block]
        if self.node[block] >= 0 and (follows == AT_ACCESSES or (follows and written > 0)):
            self.give_back(int(self.node[block]), block)
            self.node[block] = -1
        return bool(self.node[block] < 0)

    def touch(self, block: int, worker: int, task: int, now: int) -> None:
        """Give a block its home at its first touch."""
        pools = self._problem.pooling
        if pools is not None and pools.size_class[block] >= 0:
            found = self._from_pool(block, worker, self._near_node(worker))
        else:
            found = self._from_system(block, worker)
        self.node[block] = found
        self._record.event(now, EventKind.FIRST_TOUCH, worker, task, block, found)

    def allocate_for(self, task: int, worker: int, now: int) -> None:
        """Allocate what is allocated when a worker creates a task."""
        pools = self._problem.pooling
        if pools is None or not self._is_active:
            return
        for block in pools.allocate[pools.allocate_ptr[task] : pools.allocate_ptr[task + 1]]:
            if self.node[block] >= 0:
                continue
            near = int(pools.allocate_near[block])
            wanted = int(self.node[near]) if near >= 0 else -1
            pool = self._near_node(worker) if wanted < 0 else wanted
            self.node[block] = found = self._from_pool(int(block), worker, pool)
            self._record.event(now, EventKind.ALLOCATE, worker, task, int(block), found)

    def free_after(self, task: int, worker: int, now: int) -> None:
        """Give the blocks back that are freed when a task has ended on a worker."""
        pools = self._problem.pooling
        if pools is None or not self._is_active:
            return
        for block in pools.release[pools.release_ptr[task] : pools.release_ptr[task + 1]]:
            home = int(self.node[block])
            if home < 0:
                continue
            spare = self._spare_of[int(block)] = Spare(int(block))
            self._spare.setdefault((home, int(pools.size_class[block])), []).append(spare)
            self.node[block] = -1
            self._record.event(now, EventKind.FREE, worker, task, int(block), home)

    def _near_node(self, worker: int) -> int:
        """Return the node whose pool a worker uses."""
        return int(self._problem.touch_order[self._problem.worker_domain[worker], 0])

    def _from_pool(self, block: int, worker: int, pool: int) -> int:
        """Return the node of memory that a pool gives a block: freed one, else the system's."""
        assert self._problem.pooling is not None
        spare = self._spare.get((pool, int(self._problem.pooling.size_class[block])))
        if spare:
            self._record.recycled_blocks += 1
            self._change_memory(block, spare.pop().block)
            return pool
        node = self._from_system(block, worker, pool)
        self._change_memory(block, None)
        return node

    def _from_system(self, block: int, worker: int, first: int = NONE) -> int:
        """Take memory of a node, or else of those that the worker touches; return its node."""
        problem = self._problem
        domain = int(problem.worker_domain[worker])
        order = problem.touch_order[domain].tolist()
        candidates = order if first == NONE else [first, *order]
        found = next((node for node in candidates if self.has_room(node, block)), None)
        if found is None:
            size = int(problem.taken_bytes[block])
            raise ModelError(no_room_message(problem, block, size, domain, self.used_bytes))
        self.take(found, block)
        return int(found)

    def _change_memory(self, block: int, before: int | None) -> None:
        """Give a block memory that another one has had last, or nobody: caches hold that of it.

        If memory that it has had itself still waits, the other block's name goes there.
        """
        if before is not None:
            del self._spare_of[before]
        if before == block:
            return
        own = self._spare_of.pop(block, None)
        if own is not None:
            own.block = before
            if before is not None:
                self._spare_of[before] = own
        if before is None:
            self._caches.forget(block)
        else:
            self._caches.exchange(block, before)
