"""Copies of blocks in the memory spaces of hosts and devices; docs/semantics.md, rules CD."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from simsched.engine.reference.drivers import Copy, Drivers, Place, Round
from simsched.engine.reference.engine import Engine
from simsched.engine.reference.rooms import Rooms
from simsched.engine.room import too_large_message
from simsched.files.errors import ModelError
from simsched.trace.schema import NONE, EventKind
from simsched.workload.graph import TaskGraph


@dataclass(order=True)
class Want:
    """A block that is wanted in a space. `rank`: (1, -priority) of a prefetch, or one of below."""

    rank: tuple[int, int]
    number: int
    block: int = field(compare=False)
    space: int = field(compare=False)
    near: int = field(compare=False)  # domain whose touch order finds a node
    is_copy: bool = field(compare=False)  # not only room
    lane: int = field(compare=False)


URGENT, BRING_BACK = (0, 0), (2, 0)
#: copies that may be handed over between two spaces at a time when the next one is urgent, a
#: prefetch, or brought back
MOST_HANDED = (5, 2, 1)


class Lanes:
    """What keeps a copy back: those that have been handed over before it and have not ended."""

    def __init__(self, is_device: list[bool]) -> None:
        self._is_device = is_device
        self._pairs: set[tuple[int, int]] = set()
        self._targets: set[int] = set()
        self._ends: set[int] = set()  # of copies between two devices

    def exclude(self, source: int, target: int) -> bool:
        """Return whether a copy has to wait."""
        if (source, target) in self._pairs or target in self._ends:
            return True
        return self._is_between(source, target) and not self._targets.isdisjoint({source, target})

    def add(self, source: int, target: int) -> None:
        """Note a copy."""
        self._pairs.add((source, target))
        self._targets.add(target)
        if self._is_between(source, target):
            self._ends |= {source, target}

    def _is_between(self, source: int, target: int) -> bool:
        return self._is_device[source] and self._is_device[target]


class Copies:
    """Where blocks are valid, what is wanted where, and the copies on their way.

    Lane ``source * n_spaces + target`` copies from one space to another; its flows and timers are
    those of entity ``n_workers + lane``. What wants room alone is in the lane from its space to
    itself.
    """

    def __init__(self, sim: Engine) -> None:
        self._sim = sim
        self._problem = problem = sim.problem
        self._homes = sim.memory.homes
        self._is_device = problem.space_is_device.tolist()
        self._rooms = Rooms(problem, self._homes)
        self.valid: list[set[int]] = [set() for _ in problem.home]
        for block in np.flatnonzero(problem.home >= 0).tolist():
            home = int(problem.home[block])
            space = int(problem.node_space[home])
            self.valid[block].add(space)
            self._rooms.node[block, space] = home
        reaches = problem.domain_reaches[problem.worker_domain].astype(bool)
        self._reached = [np.flatnonzero(row).tolist() for row in reaches]  # by worker: spaces
        self._used_in: list[dict[int, int]] = [{} for _ in reaches]  # by worker: spaces of blocks
        self._claims: dict[Place, int] = {}
        self._readers: dict[Place, int] = {}  # copies that are being read from here
        self._used: dict[Place, int] = {}  # number of the last use
        self._n_uses = 0
        n = len(self._is_device)
        self._wanted: list[list[Want]] = [[] for _ in range(n * n)]  # by lane, in their order
        self._wanted_at: dict[Place, Want] = {}
        self._n_wants = 0
        self._has_more = False  # whether something has become wanted since lanes were gone through
        self._rounds = [Round() for _ in range(n)]
        self._visits = [list(self._visits_of(node)) for node in range(n)]
        # by space: copies that have ended and that its driver has not noticed; blocks that have
        # become valid in this round
        self._ended: list[list[Copy]] = [[] for _ in range(n)]
        self._fresh: list[dict[int, None]] = [{} for _ in range(n)]
        self._n_handed = [0] * (n * n)  # copies of each lane that have been handed over
        self._handed: list[Copy] = []  # those that have not begun, in their order
        self._running: dict[int, Copy] = {}  # by lane
        self._coming: dict[Place, int] = {}  # copies that have been handed over and are not stale
        self._waiting: dict[Place, list[int]] = {}  # workers
        self._missing: dict[int, int] = {}  # blocks that a worker waits for, 1 for its turn
        self._gathering: set[int] = set()  # workers that wait
        self._turns: list[list[tuple[int, list[tuple[int, bool, bool]]]]] = [
            [] for _ in self._is_device
        ]
        self._claimed_bytes = [0] * len(self._is_device)
        self._saving: dict[int, int] = {}  # space -> block that is copied away to make room
        self._drivers = Drivers(sim)
        # by space: what has become urgent while its driver prepares copies: block, near, is_copy
        self._deferred: list[list[tuple[int, int, bool]]] = [[] for _ in self._is_device]

    # -------------------------------------------------------------------------------------------
    # what tasks do

    def prefetch(
        self, graph: TaskGraph, task: int, worker: int, *, is_urgent: bool, by_priority: bool
    ) -> None:
        """Want the data of a task's body for a worker, or room for what is not read."""
        first, last = int(graph.access_ptr[task]), int(graph.join_access[task])
        priority = 0
        if by_priority and graph.priority is not None:
            priority = int(graph.priority[task])
        rank = URGENT if is_urgent else (1, -priority)
        near = int(self._problem.worker_domain[worker])
        for block, reads, _ in _blocks(graph, first, last):
            is_copy = reads and bool(self.valid[block])
            self._want(block, self._space_for(block, worker), near, is_copy=is_copy, rank=rank)
        self.start()

    def claim(self, graph: TaskGraph, first: int, last: int, worker: int) -> bool:
        """Claim the blocks of accesses for a worker; return whether it has to wait."""
        space = int(self._problem.worker_space[worker])
        blocks = _blocks(graph, first, last)
        here = [b for b, _, _ in blocks if self._space_for(b, worker) == space]
        self._check_size(here, space)
        self._missing[worker] = 1  # its turn
        self._turns[space].append((worker, blocks))
        self._admit(space)
        self.start()
        if self._missing[worker] > 0:
            self._gathering.add(worker)
        return self._missing[worker] > 0

    def _admit(self, space: int) -> None:
        """Let those whose turn it is claim their blocks, as long as all claimed ones fit."""
        sizes, turns = self._problem.block_bytes, self._turns[space]
        capacity = self._rooms.capacity_bytes[space]
        while turns:
            worker, blocks = turns[0]
            places = [(block, self._space_for(block, worker)) for block, _, _ in blocks]
            fresh = [
                b for b, place in places if place == space and not self._claims.get((b, space))
            ]
            more = sum(int(sizes[block]) for block in fresh)
            if self._claimed_bytes[space] + more > capacity:
                return
            del turns[0]
            self._used_in[worker] = dict(places)
            near = int(self._problem.worker_domain[worker])
            for place, (block, reads, _) in zip(places, blocks, strict=True):
                if not self._claims.get(place):
                    self._claimed_bytes[place[1]] += int(sizes[block])
                self._claims[place] = self._claims.get(place, 0) + 1
                self._use(place)
                is_valid = place[1] in self.valid[block]
                if not is_valid:
                    self._want(block, place[1], near, is_copy=reads and bool(self.valid[block]))
                if not is_valid or block in self._fresh[place[1]]:
                    self._waiting.setdefault(place, []).append(worker)
                    self._missing[worker] += 1
            self._has_come(worker)

    def _space_for(self, block: int, worker: int) -> int:
        """Return the space where a worker uses a block: where it is if it may, else its own."""
        own = int(self._problem.worker_space[worker])
        if own in self.valid[block]:
            return own
        return next((s for s in self._reached[worker] if s in self.valid[block]), own)

    def node_for(self, block: int, worker: int) -> int:
        """Return the node whose copy of a block a worker uses that has claimed it."""
        return self._rooms.node[block, self._used_in[worker][block]]

    def write(self, graph: TaskGraph, first: int, last: int, worker: int) -> None:
        """Make blocks that are written valid where the worker uses them and where others do."""
        for block, _, writes in _blocks(graph, first, last):
            if not writes:
                continue
            space = self._used_in[worker][block]
            for other in sorted(self.valid[block] - {space}):
                if not self._claims.get((block, other)):
                    self._drop(block, other)
            self._homes.node[block] = self._rooms.node[block, space]
            includes = self._problem.worker_includes
            if includes is not None and includes[worker]:
                self._sim.memory.caches.forget(block)
            under_way = (self._running.values(), self._handed, *self._ended)
            for copy in chain(*under_way, self._drivers.preparing.values()):
                is_of_block = copy.block == block and not copy.is_stale
                if is_of_block and not self._claims.get((block, copy.target)):
                    copy.is_stale = True
                    self._coming[block, copy.target] -= 1

    def await_kernel(self, graph: TaskGraph, task: int, worker: int, change: int) -> None:
        """Let the driver of a worker's device wait for one more, or one less, kernel of a task."""
        space = int(self._problem.worker_space[worker])
        if graph.synchronous is not None and graph.synchronous[task] and self._is_device[space]:
            self._drivers.n_awaited[space] += change

    def release(self, graph: TaskGraph, first: int, last: int, worker: int) -> None:
        """Give claims back."""
        for place in self._used_in[worker].items():
            self._claims[place] -= 1
            if self._claims[place] == 0:
                self._claimed_bytes[place[1]] -= int(self._problem.block_bytes[place[0]])
        host = self._host(NONE)
        if graph.access_final is not None and host != NONE:
            span, near = slice(first, last), int(self._problem.worker_domain[worker])
            for block in graph.access_block[span][graph.access_final[span]].tolist():
                self._want(block, host, near, is_copy=True, rank=BRING_BACK)
        for space in self._reached[worker]:
            self._admit(space)
        self.start()

    # -------------------------------------------------------------------------------------------
    # copying

    def start(self) -> None:
        """Hand over what lanes have place for, and start what nothing before it keeps back."""
        self._has_more = True
        self._go_rounds()

    def _go_rounds(self) -> None:
        """Let all spaces go round while something has become wanted or valid; start copies."""
        while self._has_more:
            self._has_more = False
            for space in range(len(self._is_device)):
                self._go_round(space)
        lanes = Lanes(self._is_device)
        for copy in self._running.values():
            lanes.add(copy.source, copy.target)
        left = []
        for copy in self._handed:
            if lanes.exclude(copy.source, copy.target):
                left.append(copy)
            else:
                self._begin(copy)
            lanes.add(copy.source, copy.target)
        self._handed = left

    def _visits_of(self, space: int) -> Iterator[tuple[int, int]]:
        """Yield the lanes that a space serves, with what of them, in the order of its rounds."""
        n, kinds = len(self._is_device), range(len(MOST_HANDED))
        for kind in kinds:
            for source in range(n):
                if self._is_device[space] or not self._is_device[source]:
                    yield kind, source * n + space
        for target in range(n):
            for kind in kinds:
                if self._is_device[space] and not self._is_device[target]:
                    yield kind, space * n + target

    def _go_round(self, space: int) -> None:
        """Go through the lanes of a space until there is nothing to do, or its driver is busy."""
        now, visits = self._rounds[space], self._visits[space]
        while space not in self._drivers.preparing and not now.is_looking:
            if now.visit == len(visits):
                is_over = not (now.has_served or self._deferred[space] or self._ended[space])
                self._rounds[space] = now = Round()
                self._end_round(space)
                if is_over:
                    return
            if now.visit == 0 and now.left == NONE:
                if self._drivers.n_awaited[space] > 0:
                    return
                if not now.has_looked and self._drivers.looks(space):
                    if not self._ended[space] and not any(self._wanted[lane] for _, lane in visits):
                        return
                    now.is_looking = True
                    self._drivers.look(space)
                    return
                ended, self._ended[space] = self._ended[space], []
                for copy in ended:
                    self._notice(copy)
            if not self._visit(now, *visits[now.visit]):
                now.go_on()

    def _end_round(self, space: int) -> None:
        """Let tasks use what has become valid, and want what has become urgent."""
        fresh, self._fresh[space] = self._fresh[space], {}
        for block in fresh:
            for worker in self._waiting.pop((block, space), []):
                self._has_come(worker)
        deferred, self._deferred[space] = self._deferred[space], []
        for block, near, is_copy in deferred:
            self._want(block, space, near, is_copy=is_copy)

    def _visit(self, now: Round, kind: int, lane: int) -> bool:
        """Hand over the next thing that is wanted of a lane; return whether more may follow."""
        source, target = divmod(lane, len(self._is_device))
        wants = [want for want in self._wanted[lane] if want.rank[0] == kind]
        if now.left == NONE:
            n_handed = 0 if source == target else self._n_handed[lane]
            now.left = min(MOST_HANDED[kind] - n_handed, len(wants))
        is_full = now.is_full and kind > 0 and self._is_device[target]
        if now.left <= 0 or now.passed >= len(wants) or is_full:
            return False
        want = wants[now.passed]
        now.left -= 1
        is_done, is_here = self._serve(want, source)
        if is_done or not is_here:
            self._wanted[lane].remove(want)
        if is_done:
            del self._wanted_at[want.block, want.space]
            now.has_served = True
        elif not is_here:
            self._add(want.rank, want.block, want.space, want.near, is_copy=True)
        else:
            now.passed += 1
            now.is_full = True
        return True

    def _serve(self, want: Want, source: int) -> tuple[bool, bool]:
        """Do what is wanted if it can be done.

        Return whether it is wanted no longer, and whether its source has the block.
        """
        block, space = want.block, want.space
        if space in self.valid[block]:
            return True, True
        if not want.is_copy:
            return self._try_room(block, space, want.near), True
        if source not in self.valid[block]:
            return False, False
        return self._try_copy(block, source, space, want.near), True

    def timer(self, entity: int) -> None:
        """Handle the end of a copy's latency: its bytes begin to move.

        The timer of a lane from a device to itself ends what its driver prepares.
        """
        sim, problem = self._sim, self._problem
        source, target = divmod(entity - problem.n_workers, len(self._is_device))
        if source == target:
            self._end_preparing(source)
            return
        copy = self._running[entity - problem.n_workers]
        size = int(problem.block_bytes[copy.block])
        if size == 0:
            self.arrive(entity)
            return
        path = int(problem.paths.copy[copy.source_node, copy.target_node])
        levels = size / float(problem.paths.share[path])
        sim.sharing.start(entity, path * problem.n_mates, levels, sim.now, sim.lag)

    def _end_preparing(self, device: int) -> None:
        """Hand over what a driver has prepared; let it go on, or see what is urgent by now."""
        now = self._rounds[device]
        if now.is_looking:
            now.is_looking, now.has_looked = False, True
            self._go_round(device)  # not all nodes: their looks would keep each other going
            self._go_rounds()
            return
        copy = self._drivers.preparing.pop(device)
        if copy.source == copy.target and copy.is_stale:
            self._homes.give_back(copy.target_node, copy.block)
        elif copy.source == copy.target:
            self._coming[copy.block, device] -= 1
            self._appear_anew(copy.block, device, copy.target_node)
        else:
            self._handed.append(copy)
        self.start()

    def arrive(self, entity: int) -> None:
        """Handle the end of a copy."""
        sim, problem = self._sim, self._problem
        copy = self._running.pop(entity - problem.n_workers)
        size = int(problem.block_bytes[copy.block])
        sim.record.event(sim.now, EventKind.MIGRATE_END, NONE, NONE, copy.block, copy.target_node)
        sim.record.migrations += 1
        sim.record.migrated_bytes += size
        sim.record.path_bytes[problem.paths.copy[copy.source_node, copy.target_node]] += size
        domain = int(problem.node_domain[copy.target_node])
        sim.record.node_bytes[-1][max(domain, 0), copy.source_node] += size
        driver = self._drivers.of(copy.source, copy.target)
        self._ended[copy.target if driver == NONE else driver].append(copy)
        self.start()

    def _notice(self, copy: Copy) -> None:
        """Make the block of a copy that has ended valid."""
        place = copy.block, copy.target
        self._readers[copy.block, copy.source] -= 1
        self._n_handed[copy.source * len(self._is_device) + copy.target] -= 1
        if copy.is_stale:
            self._homes.give_back(copy.target_node, copy.block)
        else:
            self._coming[place] -= 1
            self._appear(place, copy.target_node)

    def _appear(self, place: Place, node: int) -> None:
        """Make a block valid in a space; tasks may use it when the space's round has ended."""
        self.valid[place[0]].add(place[1])
        self._rooms.node[place] = node
        self._use(place)
        self._fresh[place[1]][place[0]] = None
        self._has_more = True

    def _has_come(self, worker: int) -> None:
        """Note that a worker has one thing less to wait for."""
        self._missing[worker] -= 1
        if self._missing[worker] == 0 and worker in self._gathering:
            self._gathering.discard(worker)
            self._sim.let_go_on(worker)

    def _want(
        self, block: int, space: int, near: int, *, is_copy: bool, rank: tuple[int, int] = URGENT
    ) -> None:
        """Ask for a block, or only for room for it, if it is not there and not asked for."""
        place = (block, space)
        if rank == URGENT and space in self._drivers.preparing:
            self._deferred[space].append((block, near, is_copy))
            return
        known = self._wanted_at.get(place)
        if known is not None:
            if rank[0] < known.rank[0]:
                self._wanted[known.lane].remove(known)
                self._add(rank, block, space, near, is_copy=known.is_copy, lane=known.lane)
        elif space not in self.valid[block] and not self.is_coming(place):
            self._add(rank, block, space, near, is_copy=is_copy)

    def _add(
        self,
        rank: tuple[int, int],
        block: int,
        space: int,
        near: int,
        *,
        is_copy: bool,
        lane: int = NONE,
    ) -> None:
        """Put something that is wanted into its place in a lane, by default the nearest one."""
        if lane == NONE:
            source = self._nearest(block, space, near) if is_copy else space
            lane = source * len(self._is_device) + space
        want = Want(rank, self._n_wants, block, space, near, is_copy, lane)
        self._n_wants += 1
        self._wanted_at[block, space] = want
        insort(self._wanted[lane], want)
        self._has_more = True

    def holds(self, node: int, block: int) -> bool:
        """Return whether a block is valid on a node."""
        space = int(self._problem.node_space[node])
        return space in self.valid[block] and self._rooms.node[block, space] == node

    def is_coming(self, place: Place) -> bool:
        """Return whether a block is wanted in a space or on its way there."""
        return place in self._wanted_at or self._coming.get(place, 0) > 0

    def driver_until_ps(self, space: int) -> int:
        """Return when the driver of a space will have prepared a copy, 0 when it prepares none."""
        return self._drivers.until_ps(space)

    def has_place(self, place: Place) -> bool:
        """Return whether a block has been handed over to a space, or has kept its place there."""
        return self._coming.get(place, 0) > 0 or self._drivers.has_place(place)

    def _try_copy(self, block: int, source: int, target: int, near: int) -> bool:
        """Hand a copy over if room is free; return whether it has been handed over."""
        node = self._make_room(block, target, near)
        if node == NONE:
            return False
        self._homes.take(node, block)
        copy = Copy(block, source, target, self._rooms.node[block, source], node)
        if not self._drivers.prepare(copy):
            self._handed.append(copy)
        self._n_handed[source * len(self._is_device) + target] += 1
        self._readers[block, source] = self._readers.get((block, source), 0) + 1
        self._coming[block, target] = self._coming.get((block, target), 0) + 1
        return True

    def _begin(self, copy: Copy) -> None:
        """Start a copy."""
        sim, problem = self._sim, self._problem
        lane = copy.source * len(self._is_device) + copy.target
        self._running[lane] = copy
        ends = (copy.source_node << 32) + copy.target_node
        sim.record.event(sim.now, EventKind.MIGRATE_START, NONE, NONE, copy.block, ends)
        path = int(problem.paths.copy[copy.source_node, copy.target_node])
        sim.timers[problem.n_workers + lane] = sim.now + int(problem.paths.latency_ps[path])

    def _try_room(self, block: int, space: int, near: int) -> bool:
        """Make a block valid that needs nothing but room; return whether there is any."""
        node = self._make_room(block, space, near)
        if node == NONE:
            return False
        self._homes.take(node, block)
        if self._drivers.prepare(Copy(block, space, space, node, node)):
            self._coming[block, space] = self._coming.get((block, space), 0) + 1
        else:
            self._appear_anew(block, space, node)
        return True

    def _appear_anew(self, block: int, space: int, node: int) -> None:
        """Make a block valid in a space that needed nothing but room there."""
        if not self.valid[block]:
            self._homes.node[block] = node
            self._sim.record.event(self._sim.now, EventKind.FIRST_TOUCH, NONE, NONE, block, node)
        self._appear((block, space), node)

    def _nearest(self, block: int, target: int, near: int) -> int:
        """Return the space from which a block would come first if it were alone."""
        paths, size = self._problem.paths, int(self._problem.block_bytes[block])
        best, least = NONE, 0.0
        to = self._rooms.order((block, target), near)[0]
        for space in sorted(self.valid[block]):
            path = int(paths.copy[self._rooms.node[block, space], to])
            rate = float(paths.cap[path, 0]) * float(paths.share[path])
            duration = float(paths.latency_ps[path]) + size / rate
            if best == NONE or duration < least:
                best, least = space, duration
        return best

    # -------------------------------------------------------------------------------------------
    # room

    def _make_room(self, block: int, space: int, near: int) -> int:
        """Drop least recently used copies until a node has room; return it, NONE if none has."""
        while (node := self._rooms.find((block, space), near)) == NONE:
            idle = [
                other
                for other, spaces in enumerate(self.valid)
                if space in spaces
                and not self._claims.get((other, space))
                and not self._readers.get((other, space))
            ]
            idle.sort(key=lambda other: self._used.get((other, space), 0))
            spare = [other for other in idle if len(self.valid[other]) > 1]
            if spare:
                self._drop(spare[0], space)
                self._drivers.free_place(spare[0], space)
                continue
            host = self._host(space)
            is_saving = space in self._saving and self.is_coming((self._saving[space], host))
            if idle and host != NONE and not is_saving:
                self._saving[space] = idle[0]
                self._want(idle[0], host, near, is_copy=True)
            return NONE
        return node

    def _host(self, space: int) -> int:
        """Return the first space that is no device, other than a given one."""
        hosts = [n for n, device in enumerate(self._is_device) if not device and n != space]
        return hosts[0] if hosts else NONE

    def _drop(self, block: int, space: int) -> None:
        """Forget a copy."""
        node = self._rooms.node[block, space]
        self.valid[block].discard(space)
        self._fresh[space].pop(block, None)
        self._homes.give_back(node, block)
        if int(self._homes.node[block]) == node and self.valid[block]:
            self._homes.node[block] = self._rooms.node[block, min(self.valid[block])]

    def _check_size(self, blocks: list[int], space: int) -> None:
        """Refuse blocks that do not fit into a space together."""
        total = int(self._problem.block_bytes[blocks].sum()) if blocks else 0
        if total > self._rooms.capacity_bytes[space]:
            raise ModelError(too_large_message(self._problem, total, space))

    def _use(self, place: Place) -> None:
        self._n_uses += 1
        self._used[place] = self._n_uses


def _blocks(graph: TaskGraph, first: int, last: int) -> list[tuple[int, bool, bool]]:
    """Return (block, read, written) of every block that accesses touch, in their order."""
    found: dict[int, tuple[bool, bool]] = {}
    for access in range(first, last):
        block = int(graph.access_block[access])
        reads, writes = found.get(block, (False, False))
        found[block] = (
            reads or bool(np.int64(graph.read_bytes[access]) > 0),
            writes or bool(np.int64(graph.written_bytes[access]) > 0),
        )
    return [(block, reads, writes) for block, (reads, writes) in found.items()]
