"""What handing copies over costs the drivers of devices; docs/semantics.md, rules CD."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.engine.reference.engine import Engine
from simsched.trace.schema import NONE

Place = tuple[int, int]  #: a block and a memory space

#: a block that is larger than this part of a chunk is allocated alone
LARGEST_IN_CHUNK = 8


@dataclass
class Copy:
    """A copy between spaces that has been handed over, and its nodes.

    `is_stale`: the block has been written since.
    """

    block: int
    source: int
    target: int
    source_node: int
    target_node: int
    is_stale: bool = False


@dataclass
class Round:
    """How far a node has gone through the lanes that it serves.

    `visit` is a place in its order of visits, `left` what it may still hand over there, NONE before
    it has come there, `passed` what has lacked room there; `has_served` and `is_full` say whether
    anything has been handed over in this round, or has lacked room on the node; `is_looking` and
    `has_looked`, whether the driver looks at what is wanted, or has done so.
    """

    visit: int = 0
    left: int = NONE
    passed: int = 0
    has_served: bool = False
    is_full: bool = False
    is_looking: bool = False
    has_looked: bool = False

    def go_on(self) -> None:
        """Go on to the next lane."""
        self.visit, self.left, self.passed = self.visit + 1, NONE, 0


class Drivers:
    """What the driver of each device is preparing, and where blocks have places.

    `preparing` has, by device, the copy that its driver prepares, from a space to itself where a
    block wants room alone: what lasts until the timer of the lane from the device to itself.
    `n_awaited` counts, by device, the kernels whose end its driver waits for.
    """

    def __init__(self, sim: Engine) -> None:
        self._sim = sim
        self._costs = sim.problem.costs
        self._is_device = sim.problem.space_is_device.tolist()
        self._has_place: set[Place] = set()
        self._left_bytes = [0] * len(self._is_device)  # of the last chunk of each device
        self._freed_bytes = [0] * len(self._is_device)  # of blocks that have made room
        self._allocates_until = 0
        self.preparing: dict[int, Copy] = {}
        self.n_awaited = [0] * len(self._is_device)

    def of(self, source: int, target: int) -> int:
        """Return the device whose driver hands a copy over, NONE when there is none."""
        if self._is_device[target]:
            return target
        return source if self._is_device[source] else NONE

    def prepare(self, copy: Copy) -> bool:
        """Let the driver prepare a copy, or room for a block; return whether that takes time."""
        driver = self.of(copy.source, copy.target)
        if driver == NONE:
            return False
        cost_ps = self._costs.copy_hand_over_ps if copy.source != copy.target else 0
        if driver == copy.target:
            cost_ps += self._find_place(copy.block, copy.target)
        if cost_ps == 0:
            return False
        self.preparing[driver] = copy
        self._set_timer(driver, cost_ps)
        return True

    def looks(self, node: int) -> bool:
        """Return whether a node has a driver that takes time to look at what is wanted."""
        return self._is_device[node] and self._costs.driver_look_ps > 0

    def look(self, driver: int) -> None:
        """Let a driver look at what is wanted."""
        self._set_timer(driver, self._costs.driver_look_ps)

    def _set_timer(self, driver: int, delay_ps: int) -> None:
        self._sim.timers[self._entity(driver)] = self._sim.now + delay_ps

    def until_ps(self, driver: int) -> int:
        """Return when a driver will have prepared the copy that it prepares, 0 without one."""
        return self._sim.timers[self._entity(driver)] if driver in self.preparing else 0

    def _entity(self, driver: int) -> int:
        """Return whose timer that of a driver is: the lane from a device to itself."""
        return self._sim.problem.n_workers + driver * len(self._is_device) + driver

    def has_place(self, place: Place) -> bool:
        """Return whether a block has a place on a device."""
        return place in self._has_place

    def free_place(self, block: int, node: int) -> None:
        """Note that a block has made room for others."""
        if (block, node) in self._has_place:
            self._has_place.discard((block, node))
            self._freed_bytes[node] += int(self._sim.problem.block_bytes[block])

    def _find_place(self, block: int, node: int) -> int:
        """Find a place for a block unless it has one; return what that takes, in picoseconds."""
        chunk, size = self._costs.device_chunk_bytes, int(self._sim.problem.block_bytes[block])
        if chunk == 0 or (block, node) in self._has_place:
            return 0
        self._has_place.add((block, node))
        if self._freed_bytes[node] >= size:
            self._freed_bytes[node] -= size
            return 0
        if size > chunk // LARGEST_IN_CHUNK:
            return self._allocate()
        cost_ps = 0
        if self._left_bytes[node] < size:
            self._left_bytes[node] = chunk
            cost_ps = self._allocate()
        self._left_bytes[node] -= size
        return cost_ps

    def _allocate(self) -> int:
        """Allocate after all allocations that have begun; return how long that takes."""
        now = self._sim.now
        begin = max(self._allocates_until, now)
        self._allocates_until = begin + self._costs.device_allocation_ps
        return self._allocates_until - now
