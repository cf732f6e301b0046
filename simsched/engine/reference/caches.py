"""Block caches; docs/semantics.md, rules C, B, V and M."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Problem
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

    def enter(self, block: int, footprint: int) -> list[tuple[int, int]]:
        """Take a block in and return those that were dropped for it, with their bytes."""
        self._bytes[block] = max(self._bytes.pop(block, 0), footprint)
        dropped = []
        while sum(self._bytes.values()) > self.capacity:
            dropped.append(self._bytes.popitem(last=False))
        return dropped

    def displace(self, block: int) -> list[tuple[int, int]]:
        """Let more of a block pass than there is room for; return the others, now displaced."""
        dropped = [(other, n_bytes) for other, n_bytes in self._bytes.items() if other != block]
        for other, _ in dropped:
            del self._bytes[other]
        return dropped

    def keep(self, block: int, n_bytes: int) -> None:
        """Leave at most so many bytes of a block where they are, none without an entry."""
        if block in self._bytes:
            self._bytes[block] = min(self._bytes[block], n_bytes)
            if self._bytes[block] == 0:
                del self._bytes[block]

    def drop(self, block: int) -> None:
        """Forget a block, if it is here."""
        self._bytes.pop(block, None)

    def exchange(self, names: dict[int, tuple[int, int]]) -> None:
        """Give blocks other names: by the old one, the new one and how many bytes it keeps."""
        self._bytes = OrderedDict(
            (names[block][0] if block in names else block, n_bytes)
            for block, n_bytes in self._bytes.items()
        )
        for block, most in names.values():
            if self.resident(block) > most:
                self.keep(block, most)


@dataclass(frozen=True)
class Found:
    """What looking an access up in an instance has come to."""

    #: Bytes that are not here of those wanted.
    missing: int
    #: Bytes that were not here of the footprint.
    new: int
    #: Bytes of the footprint that there was no room for.
    passing: int
    #: Blocks that have left a slice for it, and their bytes.
    dropped: list[tuple[int, int]]


class Instance:
    """A cache whose slices each hold a part of every block."""

    def __init__(self, capacities: Sequence[int]) -> None:
        self._slices = [Lru(capacity) for capacity in capacities]

    def __contains__(self, block: int) -> bool:
        return any(block in each for each in self._slices)

    def resident(self, block: int) -> int:
        """Return the bytes of a block that are here."""
        return sum(each.resident(block) for each in self._slices)

    def take(self, block: int, want: int, footprint: int) -> Found:
        """Look an access up in an instance that is filled by misses, and fill it.

        What inner levels hold of the footprint is here, too, if as much is here.
        """
        lacking = new = passing = 0
        dropped: list[tuple[int, int]] = []
        for each, whole, part in zip(
            self._slices, self._parts(max(want, footprint)), self._parts(footprint), strict=True
        ):
            fits = part <= each.capacity
            lacks = part - min(part, each.resident(block)) if fits else part
            lacking += lacks if fits else whole
            new += lacks
            passing += 0 if fits else part
            dropped += each.enter(block, part) if fits else each.displace(block)
        return Found(min(want, lacking), new, passing, dropped)

    def give(self, block: int, want: int, before: Found, is_shared: bool) -> Found:
        """Look an access up in an instance that is filled by evictions, which gives up what it has.

        `before` is what the level before has found.
        """
        lacking = new = passing = 0
        for each, whole, part, through in zip(
            self._slices,
            self._parts(max(want, before.new)),
            self._parts(before.new),
            self._parts(before.passing),
            strict=True,
        ):
            fits = through <= each.capacity
            held = each.resident(block)
            found = min(part, held) if fits else 0
            lacking += part - found if fits else whole
            new += part - found
            passing += 0 if fits else through
            if found > 0 and is_shared:
                each.enter(block, held)
            elif found > 0:
                each.keep(block, held - found)
        return Found(min(want, lacking), new, passing, [])

    def put(self, block: int, n_bytes: int, block_bytes: int) -> list[tuple[int, int]]:
        """Take in what the level before has dropped; return what is dropped for it."""
        dropped: list[tuple[int, int]] = []
        parts = zip(self._slices, self._parts(n_bytes), self._parts(block_bytes), strict=True)
        for each, part, whole in parts:
            if part > each.capacity:
                dropped += each.displace(block)
            elif part > 0:
                held = min(each.resident(block) + part, whole, each.capacity)
                dropped += each.enter(block, held)
        return dropped

    def keep(self, block: int, n_bytes: int) -> None:
        """Leave at most so many bytes of a block where they are."""
        for each, part in zip(self._slices, self._parts(n_bytes), strict=True):
            each.keep(block, part)

    def drop(self, block: int) -> None:
        """Forget a block, if it is here."""
        for each in self._slices:
            each.drop(block)

    def exchange(self, a: int, b: int, a_bytes: int, b_bytes: int) -> None:
        """Let what is here of two blocks be the other one's, of the sizes given."""
        parts = zip(self._slices, self._parts(a_bytes), self._parts(b_bytes), strict=True)
        for each, part_of_a, part_of_b in parts:
            if a in each or b in each:
                each.exchange({a: (b, part_of_b), b: (a, part_of_a)})

    def _parts(self, n_bytes: int) -> list[int]:
        n = len(self._slices)
        return [n_bytes * (i + 1) // n - n_bytes * i // n for i in range(n)]


class Caches:
    """Processor caches.

    For the level whose instances pass on what they have written, the instance that holds a block so
    is known; where a level is filled by evictions, which blocks are shared.
    """

    def __init__(self, problem: Problem, record: Record) -> None:
        self._problem = problem
        self._record = record
        self._content = _empty(problem)
        counts = problem.n_cache_instances
        self._first = (np.cumsum(counts) - counts).tolist()  # instance of each level, of all
        self._writer: dict[int, int] = {}
        self._shared: set[int] = set()
        self._dirty: dict[int, tuple[tuple[int, ...], int]] = {}  # the writer's instances, bytes
        self._left: set[int] = set()  # blocks that have left a slice

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
        before = Found(n_bytes, footprint, footprint, [])
        if problem.cache_is_victim.any():
            self._note_sharing(worker, block)
        for level, is_victim in enumerate(problem.cache_is_victim.tolist()):
            if want == 0:
                before = replace(before, passing=0)  # of what has come from another instance
                if not is_victim:
                    break
            before = self._look_up(level, worker, block, want, footprint, before)
            if want == 0:
                continue
            missing = before.missing
            hit = want - missing
            if hit > 0:
                own = self._first[level] + int(problem.cache_instance[level, worker])
                hit_ps = int(problem.cache_latency_ps[own])
                hit_ps += math.ceil(hit / float(problem.cache_rate[own]))
                waited_ps = math.ceil(hit_ps * (float(problem.cache_wait[level]) * exposure))
                wait_ps += waited_ps
                tail_ps += hit_ps - waited_ps
            moved = self._transfer(level, worker, block, missing)
            if level == problem.transfer_level:
                passed, lacked = moved, missing
            if moved > 0:
                wait_ps += problem.transfer_latency_ps
                wait_ps += math.ceil(moved / problem.transfer_rate)
                if problem.displacement_rate > 0.0:
                    displacing = min(moved, sum(n_bytes for _, n_bytes in before.dropped))
                    wait_ps += math.ceil(displacing / problem.displacement_rate)
            self._record.count_cache(worker, level, hit, missing, moved)
            if missing_of_group is not None:
                missing_of_group[level] += missing
            want = missing - moved
        if written > 0 and problem.upgrade_rate > 0.0:
            wait_ps += self._upgrade_ps(worker, block, n_bytes, written, lacked, passed)
        self._settle()
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

    def _look_up(
        self, level: int, worker: int, block: int, want: int, footprint: int, before: Found
    ) -> Found:
        """Look an access up in the own instance of a level, and fill it."""
        own = int(self._problem.cache_instance[level, worker])
        content = self._content[level][own]
        if not self._problem.cache_is_victim[level]:
            found = content.take(block, want, footprint)
        else:
            found = before
            if want > 0:
                found = content.give(block, want, before, block in self._shared)
            dropped = []
            for other, n_bytes in [*before.dropped, (block, before.passing)]:
                dropped += content.put(other, n_bytes, int(self._problem.block_bytes[other]))
            found = replace(found, dropped=dropped)
        self._left.add(block)
        for other, _ in found.dropped:
            self._left.add(other)
            gone = level == self._problem.transfer_level and other not in content
            if gone and self._writer.get(other) == own:
                del self._writer[other]
        return found

    def _note_sharing(self, worker: int, block: int) -> None:
        """Note that a block is shared if an instance holds it that the worker does not use.

        If it is not, only its instances hold what is dirty.
        """
        own = self._problem.cache_instance[:, worker].tolist()
        holders = [
            index == own[level]
            for level, instances in enumerate(self._content)
            for index, content in enumerate(instances)
            if block in content
        ]
        if not holders:
            self._shared.discard(block)
        elif not all(holders):
            self._shared.add(block)
        if block not in self._shared and block in self._dirty:
            own = tuple(self._problem.cache_instance[:, worker].tolist())
            self._dirty[block] = own, self._dirty[block][1]

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

    def write(self, worker: int, block: int, n_bytes: int, written: int) -> int:
        """Note what a worker has written; return how many of these bytes were dirty before.

        The block is dropped from instances that the worker does not use, and what was dirty there
        is taken over.
        """
        self._shared.discard(block)
        inside = 0
        for level, instances in enumerate(self._content):
            own = int(self._problem.cache_instance[level, worker])
            for index, content in enumerate(instances):
                if index != own:
                    content.drop(block)
            if self._problem.cache_is_victim[level]:
                whole = int(self._problem.block_bytes[block])
                instances[own].keep(block, max(0, whole - inside))
                inside += instances[own].resident(block)
            else:
                inside = instances[own].resident(block)
            if level == self._problem.transfer_level:
                self._writer.pop(block, None)
                if block in instances[own]:
                    self._writer[block] = own
        return self._make_dirty(worker, block, n_bytes, written)

    def _make_dirty(self, worker: int, block: int, n_bytes: int, written: int) -> int:
        """Make what has been written dirty; return what of it was so before."""
        once = min(written, n_bytes, int(self._problem.block_bytes[block]))
        _, before = self._dirty.get(block, ((), 0))
        own = tuple(self._problem.cache_instance[:, worker].tolist())
        self._dirty[block] = own, min(max(before, once), self._held(own, block))
        return min(before, once)

    def exchange(self, a: int, b: int) -> None:
        """Note that two blocks change their memory: what is held of one is the other's."""
        level, sizes = self._problem.transfer_level, self._problem.block_bytes
        for instances in self._content:
            for content in instances:
                content.exchange(a, b, int(sizes[a]), int(sizes[b]))
        self._shared = {{a: b, b: a}.get(block, block) for block in self._shared}
        writers = {a: self._writer.pop(b, None), b: self._writer.pop(a, None)}
        dirty = {a: self._dirty.pop(b, None), b: self._dirty.pop(a, None)}
        for block in (a, b):
            owner, known = writers[block], dirty[block]
            if owner is not None and block in self._content[level][owner]:
                self._writer[block] = owner
            if known is not None:
                self._dirty[block] = known[0], min(known[1], self._held(known[0], block))

    def forget(self, block: int) -> None:
        """Note that a block gets memory that no block has had."""
        for instances in self._content:
            for content in instances:
                content.drop(block)
        self._writer.pop(block, None)
        self._dirty.pop(block, None)
        self._shared.discard(block)

    def _settle(self) -> None:
        """Forget dirty bytes that have left the instances which their writer used."""
        for block in self._left & self._dirty.keys():
            own, n_bytes = self._dirty[block]
            self._dirty[block] = own, min(n_bytes, self._held(own, block))
        self._left.clear()

    def _held(self, own: tuple[int, ...], block: int) -> int:
        """Return the bytes of a block in an instance of each level.

        Levels filled by misses hold the same part as those inside them.
        """
        held = 0
        for level, index in enumerate(own):
            here = self._content[level][index].resident(block)
            held = held + here if self._problem.cache_is_victim[level] else max(held, here)
        return min(held, int(self._problem.block_bytes[block]))


def _empty(problem: Problem) -> list[list[Instance]]:
    """Return the instances of each level."""
    capacities = iter(problem.cache_slice_bytes.tolist())
    return [
        [Instance([next(capacities) for _ in range(slices)]) for _ in range(count)]
        for count, slices in zip(
            problem.n_cache_instances.tolist(), problem.cache_slices.tolist(), strict=True
        )
    ]


class MemorySideCaches:
    """Direct-mapped caches in front of memory nodes: which frame each slot holds."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._frame_in_slot: list[dict[int, int]] = [{} for _ in range(problem.n_nodes)]

    def access(self, node: int, block: int, touched: range, n_bytes: int) -> int:
        """Return how many of `n_bytes` hit; the granules touched are resident afterwards.

        They are those in which the bytes `touched` of the block are, at least one.
        """
        slots = int(self._problem.node_slots[node])
        first, end = (int(self._problem.granule_ptr[b]) for b in (block, block + 1))
        if first == end:
            return 0
        per_granule = -(-int(self._problem.block_bytes[block]) // (end - first))
        begin, end = first + touched[0] // per_granule, first + touched[-1] // per_granule + 1
        frames = self._problem.granule_frame[begin:end].tolist()
        hits = 0
        for frame in frames:
            if self._frame_in_slot[node].get(frame % slots) == frame:
                hits += 1
            self._frame_in_slot[node][frame % slots] = frame
        return n_bytes * hits // len(frames)
