"""Block caches; docs/semantics.md, "Segments", items 2 to 4."""

from __future__ import annotations

import math
from collections import OrderedDict

from simsched.engine.problem import Problem
from simsched.engine.reference.record import Record


class Caches:
    """Processor caches.

    Each instance is an ordered map from block to resident bytes, most recent last.
    """

    def __init__(self, problem: Problem, record: Record) -> None:
        self._problem = problem
        self._record = record
        self._content: list[list[OrderedDict[int, int]]] = [
            [OrderedDict() for _ in range(count)] for count in problem.n_cache_instances.tolist()
        ]

    def access(self, worker: int, block: int, n_bytes: int) -> tuple[int, int]:
        """Return (bytes that no level holds, time that the hits take in ps)."""
        problem = self._problem
        want, hit_ps = n_bytes, 0
        for level, instances in enumerate(self._content):
            if want == 0:
                break
            content = instances[int(problem.cache_instance[level, worker])]
            capacity = int(problem.cache_capacity_bytes[level])
            footprint = min(want, int(problem.block_bytes[block]))
            missing = want
            if footprint <= capacity:
                resident = content.pop(block, 0)
                missing = footprint - min(footprint, resident)
                content[block] = max(resident, footprint)
                while sum(content.values()) > capacity:
                    content.popitem(last=False)
            hit = want - missing
            if hit > 0:
                hit_ps += int(problem.cache_latency_ps[level])
                hit_ps += math.ceil(hit / float(problem.cache_rate[level]))
            self._record.count_cache(level, hit, missing)
            want = missing
        return want, hit_ps

    def invalidate(self, worker: int, block: int) -> None:
        """Drop the block from all instances that the worker does not use."""
        for level, instances in enumerate(self._content):
            own = int(self._problem.cache_instance[level, worker])
            for index, content in enumerate(instances):
                if index != own:
                    content.pop(block, None)


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
