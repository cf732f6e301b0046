"""Block caches; docs/semantics.md, "Segments", items 2 to 4."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from simsched.engine.problem import Problem
from simsched.engine.reference.record import Record


class Caches:
    """Processor caches.

    Each instance is an ordered map from block to resident bytes, most recent last. For the level
    whose instances pass on what they have written, the instance that holds a block so is known.
    """

    def __init__(self, problem: Problem, record: Record) -> None:
        self._problem = problem
        self._record = record
        self._content: list[list[OrderedDict[int, int]]] = [
            [OrderedDict() for _ in range(count)] for count in problem.n_cache_instances.tolist()
        ]
        self._writer: dict[int, int] = {}

    def access(
        self, worker: int, block: int, n_bytes: int, missing_of_group: NDArray[np.int64] | None
    ) -> tuple[int, int, int]:
        """Return (bytes that no level holds, time that hits take, time of a transfer), in ps.

        What each level does not hold is added to `missing_of_group`.
        """
        problem = self._problem
        want, hit_ps, transfer_ps = n_bytes, 0, 0
        for level in range(len(self._content)):
            if want == 0:
                break
            missing = self._look_up(level, worker, block, want)
            hit = want - missing
            if hit > 0:
                hit_ps += int(problem.cache_latency_ps[level])
                hit_ps += math.ceil(hit / float(problem.cache_rate[level]))
            moved = self._transfer(level, worker, block, missing)
            if moved > 0:
                transfer_ps += problem.transfer_latency_ps
                transfer_ps += math.ceil(moved / problem.transfer_rate)
            self._record.count_cache(worker, level, hit, missing, moved)
            if missing_of_group is not None:
                missing_of_group[level] += missing
            want = missing - moved
        return want, hit_ps, transfer_ps

    def _look_up(self, level: int, worker: int, block: int, want: int) -> int:
        """Return the bytes that the own instance of a level lacks; they are there afterwards."""
        own = int(self._problem.cache_instance[level, worker])
        content = self._content[level][own]
        capacity = int(self._problem.cache_capacity_bytes[level])
        footprint = min(want, int(self._problem.block_bytes[block]))
        if footprint > capacity:
            return want
        resident = content.pop(block, 0)
        content[block] = max(resident, footprint)
        while sum(content.values()) > capacity:
            dropped, _ = content.popitem(last=False)
            if level == self._problem.transfer_level and self._writer.get(dropped) == own:
                del self._writer[dropped]
        return footprint - min(footprint, resident)

    def _transfer(self, level: int, worker: int, block: int, missing: int) -> int:
        """Return the bytes that come from another instance, which has written them."""
        if level != self._problem.transfer_level or missing == 0 or block not in self._writer:
            return 0
        if self._writer[block] == int(self._problem.cache_instance[level, worker]):
            return 0
        there = self._content[level][self._writer[block]][block]
        if missing >= there:
            del self._writer[block]
        return min(missing, there)

    def write(self, worker: int, block: int) -> None:
        """Note that a worker has written a block; drop it from instances it does not use."""
        for level, instances in enumerate(self._content):
            own = int(self._problem.cache_instance[level, worker])
            for index, content in enumerate(instances):
                if index != own:
                    content.pop(block, None)
            if level == self._problem.transfer_level:
                self._writer.pop(block, None)
                if block in instances[own]:
                    self._writer[block] = own


class MemorySideCaches:
    """Direct-mapped caches in front of memory nodes: which frame each slot holds."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._frame_in_slot: list[dict[int, int]] = [{} for _ in range(problem.n_nodes)]

    def access(self, node: int, block: int, n_bytes: int) -> int:
        """Return the bytes that hit; afterwards all granules of the block are resident."""
        slots = int(self._problem.node_slots[node])
        span = self._problem.granule_ptr[block], self._problem.granule_ptr[block + 1]
        frames = self._problem.granule_frame[span[0] : span[1]].tolist()
        hits = 0
        for frame in frames:
            if self._frame_in_slot[node].get(frame % slots) == frame:
                hits += 1
            self._frame_in_slot[node][frame % slots] = frame
        return n_bytes * hits // len(frames) if frames else 0
