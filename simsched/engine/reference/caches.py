"""Block caches; docs/semantics.md, "Segments", items 2 to 4."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simsched.engine.problem import Problem
from simsched.engine.reference.record import Record


class Lru:
    """A slice, which drops the least recently used blocks: an ordered map, most recent last."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._bytes: OrderedDict[int, int] = OrderedDict()

    def __contains__(self, block: int) -> bool:
        return block in self._bytes

    def resident(self, block: int) -> int:
        """Return the bytes of a block that are here."""
        return self._bytes.get(block, 0)

    def enter(self, block: int, footprint: int) -> list[int]:
        """Take a block in and return those that were dropped for it."""
        self._bytes[block] = max(self._bytes.pop(block, 0), footprint)
        dropped = []
        while sum(self._bytes.values()) > self.capacity:
            dropped.append(self._bytes.popitem(last=False)[0])
        return dropped

    def drop(self, block: int) -> None:
        """Forget a block, if it is here."""
        self._bytes.pop(block, None)


class Instance:
    """A cache whose slices each hold a part of every block."""

    def __init__(self, capacities: Sequence[int]) -> None:
        self._slices = [Lru(capacity) for capacity in capacities]

    def __contains__(self, block: int) -> bool:
        return any(block in each for each in self._slices)

    def resident(self, block: int) -> int:
        """Return the bytes of a block that are here."""
        return sum(each.resident(block) for each in self._slices)

    def take(self, block: int, want: int, footprint: int) -> tuple[int, list[int]]:
        """Return the bytes of those wanted that are not here, and the blocks dropped for them.

        What inner levels hold of the footprint is here, too, if as much is here.
        """
        lacking, touched = 0, set()
        for each, whole, part in zip(
            self._slices, self._parts(max(want, footprint)), self._parts(footprint), strict=True
        ):
            if part > each.capacity:
                lacking += whole
                continue
            lacking += part - min(part, each.resident(block))
            touched.update(each.enter(block, part))
        return min(want, lacking), [other for other in sorted(touched) if other not in self]

    def _parts(self, n_bytes: int) -> list[int]:
        n = len(self._slices)
        return [n_bytes * (i + 1) // n - n_bytes * i // n for i in range(n)]

    def drop(self, block: int) -> None:
        """Forget a block, if it is here."""
        for each in self._slices:
            each.drop(block)


class Caches:
    """Processor caches.

    For the level whose instances pass on what they have written, the instance that holds a block so
    is known.
    """

    def __init__(self, problem: Problem, record: Record) -> None:
        self._problem = problem
        self._record = record
        self._content = [
            [Instance(_slices(problem, level)) for _ in range(count)]
            for level, count in enumerate(problem.n_cache_instances.tolist())
        ]
        self._writer: dict[int, int] = {}

    def access(
        self,
        worker: int,
        block: int,
        n_bytes: int,
        written: int,
        exposure: float,
        missing_of_group: NDArray[np.int64] | None,
    ) -> tuple[int, int, int]:
        """Return (bytes that no level holds, tail of hits, time that the core waits), in ps.

        What each level does not hold is added to `missing_of_group`. For hits the core waits
        `exposure` times as long as the level says.
        """
        problem = self._problem
        footprint = min(n_bytes, int(problem.block_bytes[block]))
        want, tail_ps, wait_ps = n_bytes, 0, 0
        passed = lacked = 0
        for level in range(len(self._content)):
            if want == 0:
                break
            missing = self._look_up(level, worker, block, want, footprint)
            hit = want - missing
            if hit > 0:
                hit_ps = int(problem.cache_latency_ps[level])
                hit_ps += math.ceil(hit / float(problem.cache_rate[level]))
                waited_ps = math.ceil(hit_ps * (float(problem.cache_wait[level]) * exposure))
                wait_ps += waited_ps
                tail_ps += hit_ps - waited_ps
            moved = self._transfer(level, worker, block, missing)
            if level == problem.transfer_level:
                passed, lacked = moved, missing
            if moved > 0:
                wait_ps += problem.transfer_latency_ps
                wait_ps += math.ceil(moved / problem.transfer_rate)
            self._record.count_cache(worker, level, hit, missing, moved)
            if missing_of_group is not None:
                missing_of_group[level] += missing
            want = missing - moved
        if written > 0 and problem.upgrade_rate > 0.0:
            wait_ps += self._upgrade_ps(worker, block, n_bytes, written, lacked, passed)
        return want, tail_ps, wait_ps

    def _upgrade_ps(
        self, worker: int, block: int, n_bytes: int, written: int, lacked: int, passed: int
    ) -> int:
        """Return the time in which others give up what is read and then written here."""
        footprint = min(n_bytes, int(self._problem.block_bytes[block]))
        updated, had = min(written, n_bytes - footprint), max(0, footprint - lacked)
        if passed > 0:
            had += int(passed * (updated / footprint))
        upgraded = min(updated, had, self._elsewhere(worker, block))
        if upgraded == 0:
            return 0
        return self._problem.transfer_latency_ps + math.ceil(upgraded / self._problem.upgrade_rate)

    def _look_up(self, level: int, worker: int, block: int, want: int, footprint: int) -> int:
        """Return the bytes that the own instance of a level lacks; it has taken the block in."""
        own = int(self._problem.cache_instance[level, worker])
        missing, gone = self._content[level][own].take(block, want, footprint)
        for dropped in gone:
            if level == self._problem.transfer_level and self._writer.get(dropped) == own:
                del self._writer[dropped]
        return missing

    def _transfer(self, level: int, worker: int, block: int, missing: int) -> int:
        """Return the bytes that come from another instance, which has written them."""
        if level != self._problem.transfer_level or missing == 0 or block not in self._writer:
            return 0
        if self._writer[block] == int(self._problem.cache_instance[level, worker]):
            return 0
        there = self._content[level][self._writer[block]].resident(block)
        if missing >= there:
            del self._writer[block]
        return min(missing, there)

    def _elsewhere(self, worker: int, block: int) -> int:
        """Return the bytes of a block in other instances of the level that passes on."""
        level = self._problem.transfer_level
        own = int(self._problem.cache_instance[level, worker])
        instances = enumerate(self._content[level])
        return sum(content.resident(block) for i, content in instances if i != own)

    def write(self, worker: int, block: int) -> None:
        """Note that a worker has written a block; drop it from instances it does not use."""
        for level, instances in enumerate(self._content):
            own = int(self._problem.cache_instance[level, worker])
            for index, content in enumerate(instances):
                if index != own:
                    content.drop(block)
            if level == self._problem.transfer_level:
                self._writer.pop(block, None)
                if block in instances[own]:
                    self._writer[block] = own


def _slices(problem: Problem, level: int) -> list[int]:
    """Return the capacities of the slices of an instance of a level."""
    begin, end = problem.cache_slice_ptr[level], problem.cache_slice_ptr[level + 1]
    return [int(n_bytes) for n_bytes in problem.cache_slice_bytes[begin:end]]


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
