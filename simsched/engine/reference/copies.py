"""Copies of blocks in the memories of processors and devices; docs/semantics.md, rules CD."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from simsched.engine.reference.drivers import Copy, Drivers, Place, Round
from simsched.engine.reference.engine import Engine
from simsched.files.errors import ModelError
from simsched.trace.schema import NONE, EventKind
from simsched.workload.graph import TaskGraph


@dataclass(order=True)
class Want:
    """A block that is wanted on a node. `rank`: (1, -priority) of a prefetch, or one of below."""

    rank: tuple[int, int]
    number: int
    block: int = field(compare=False)
    node: int = field(compare=False)
    is_copy: bool = field(compare=False)  # not only room
    lane: int = field(compare=False)


URGENT, BRING_BACK = (0, 0), (2, 0)
#: copies that may be handed over between two nodes at a time when the next one is urgent, a
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

    Lane ``source * n_nodes + target`` copies from one node to another; its flows and timers are
    those of entity ``n_workers + lane``. What wants room alone is in the lane from its node to
    itself.
    """

    def __init__(self, sim: Engine) -> None:
        self._sim = sim
        self._problem = problem = sim.problem
        self._homes = sim.memory.homes
        self._is_device = problem.node_is_device.tolist()
        self.valid: list[set[int]] = [
            {home} if home >= 0 else set() for home in problem.home.tolist()
        ]
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
        # by node: copies that have ended and that its driver has not noticed; blocks that have
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
        self._saving: dict[int, int] = {}  # node -> block that is copied away to make room
        self._drivers = Drivers(sim)
        # by node: what has become urgent while its driver prepares copies; whether it is a copy
        self._deferred: list[list[tuple[int, bool]]] = [[] for _ in self._is_device]

    # -------------------------------------------------------------------------------------------
    # what tasks do

    def prefetch(
        self, graph: TaskGraph, task: int, worker: int, *, is_urgent: bool, by_priority: bool
    ) -> None:
        """Want the data of a task's body on the node of a worker, or room for what is not read."""
        node = int(self._problem.worker_node[worker])
        first, last = int(graph.access_ptr[task]), int(graph.join_access[task])
        priority = 0
        if by_priority and graph.priority is not None:
            priority = int(graph.priority[task])
        rank = URGENT if is_urgent else (1, -priority)
        for block, reads, _ in _blocks(graph, first, last):
            self._want(block, node, is_copy=reads and bool(self.valid[block]), rank=rank)
        self.start()

    def claim(self, graph: TaskGraph, first: int, last: int, worker: int) -> bool:
        """Claim the blocks of accesses for a worker; return whether it has to wait."""
        node = int(self._problem.worker_node[worker])
        blocks = _blocks(graph, first, last)
        self._check_size([block for block, _, _ in blocks], node)
        self._missing[worker] = 1  # its turn
        self._turns[node].append((worker, blocks))
        self._admit(node)
        self.start()
        if self._missing[worker] > 0:
            self._gathering.add(worker)
        return self._missing[worker] > 0

    def _admit(self, node: int) -> None:
        """Let those whose turn it is claim their blocks, as long as all claimed ones fit."""
        sizes, turns = self._problem.block_bytes, self._turns[node]
        capacity = int(self._problem.node_capacity_bytes[node])
        while turns:
            worker, blocks = turns[0]
            more = sum(int(sizes[b]) for b, _, _ in blocks if not self._claims.get((b, node)))
            if self._claimed_bytes[node] + more > capacity:
                return
            del turns[0]
            self._claimed_bytes[node] += more
            for block, reads, _ in blocks:
                place = (block, node)
                self._claims[place] = self._claims.get(place, 0) + 1
                self._use(place)
                is_valid = node in self.valid[block]
                if not is_valid:
                    self._want(block, node, is_copy=reads and bool(self.valid[block]))
                if not is_valid or block in self._fresh[node]:
                    self._waiting.setdefault(place, []).append(worker)
                    self._missing[worker] += 1
            self._has_come(worker)

    def write(self, graph: TaskGraph, first: int, last: int, worker: int) -> None:
        """Make blocks that are written valid on the worker's node and where others use them."""
        node = int(self._problem.worker_node[worker])
        for block, _, writes in _blocks(graph, first, last):
            if not writes:
                continue
            for other in sorted(self.valid[block] - {node}):
                if not self._claims.get((block, other)):
                    self._drop(block, other)
            self._homes.node[block] = node
            under_way = (self._running.values(), self._handed, *self._ended)
            for copy in chain(*under_way, self._drivers.preparing.values()):
                is_of_block = copy.block == block and not copy.is_stale
                if is_of_block and not self._claims.get((block, copy.target)):
                    copy.is_stale = True
                    self._coming[block, copy.target] -= 1

    def release(self, graph: TaskGraph, first: int, last: int, worker: int) -> None:
        """Give claims back."""
        node = int(self._problem.worker_node[worker])
        for block, _, _ in _blocks(graph, first, last):
            self._claims[block, node] -= 1
            if self._claims[block, node] == 0:
                self._claimed_bytes[node] -= int(self._problem.block_bytes[block])
        host = self._host(NONE)
        if graph.access_final is not None and host != NONE:
            span = slice(first, last)
            for block in graph.access_block[span][graph.access_final[span]].tolist():
                self._want(block, host, is_copy=True, rank=BRING_BACK)
        self._admit(node)
        self.start()

    # -------------------------------------------------------------------------------------------
    # copying

    def start(self) -> None:
        """Hand over what lanes have place for, and start what nothing before it keeps back."""
        self._has_more = True
        self._go_rounds()

    def _go_rounds(self) -> None:
        """Let all nodes go round while something has become wanted or valid; start copies."""
        while self._has_more:
            self._has_more = False
            for node in range(len(self._is_device)):
                self._go_round(node)
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

    def _visits_of(self, node: int) -> Iterator[tuple[int, int]]:
        """Yield the lanes that a node serves, with what of them, in the order of its rounds."""
        n, kinds = len(self._is_device), range(len(MOST_HANDED))
        for kind in kinds:
            for source in range(n):
                if self._is_device[node] or not self._is_device[source]:
                    yield kind, source * n + node
        for target in range(n):
            for kind in kinds:
                if self._is_device[node] and not self._is_device[target]:
                    yield kind, node * n + target

    def _go_round(self, node: int) -> None:
        """Go through the lanes of a node until there is nothing to do, or its driver is busy."""
        now, visits = self._rounds[node], self._visits[node]
        while node not in self._drivers.preparing and not now.is_looking:
            if now.visit == len(visits):
                is_over = not (now.has_served or self._deferred[node] or self._ended[node])
                self._rounds[node] = now = Round()
                self._end_round(node)
                if is_over:
                    return
            if now.visit == 0 and now.left == NONE:
                if not now.has_looked and self._drivers.looks(node):
                    if not self._ended[node] and not any(self._wanted[lane] for _, lane in visits):
                        return
                    now.is_looking = True
                    self._drivers.look(node)
                    return
                ended, self._ended[node] = self._ended[node], []
                for copy in ended:
                    self._notice(copy)
            if not self._visit(now, *visits[now.visit]):
                now.go_on()

    def _end_round(self, node: int) -> None:
        """Let tasks use what has become valid, and want what has become urgent."""
        fresh, self._fresh[node] = self._fresh[node], {}
        for block in fresh:
            for worker in self._waiting.pop((block, node), []):
                self._has_come(worker)
        deferred, self._deferred[node] = self._deferred[node], []
        for block, is_copy in deferred:
            self._want(block, node, is_copy=is_copy)

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
            del self._wanted_at[want.block, want.node]
            now.has_served = True
        elif not is_here:
            self._add(want.rank, want.block, want.node, is_copy=True)
        else:
            now.passed += 1
            now.is_full = True
        return True

    def _serve(self, want: Want, source: int) -> tuple[bool, bool]:
        """Do what is wanted if it can be done.

        Return whether it is wanted no longer, and whether its source has the block.
        """
        block, node = want.block, want.node
        if node in self.valid[block]:
            return True, True
        if not want.is_copy:
            return self._try_room(block, node), True
        if source not in self.valid[block]:
            return False, False
        return self._try_copy(block, source, node), True

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
        path = int(problem.paths.copy[copy.source, copy.target])
        levels = size / float(problem.paths.share[path])
        sim.sharing.start(entity, path * problem.n_smt, levels, sim.now, sim.lag)

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
            self._homes.give_back(device, copy.block)
        elif copy.source == copy.target:
            self._coming[copy.block, device] -= 1
            self._appear_anew(copy.block, device)
        else:
            self._handed.append(copy)
        self.start()

    def arrive(self, entity: int) -> None:
        """Handle the end of a copy."""
        sim, problem = self._sim, self._problem
        copy = self._running.pop(entity - problem.n_workers)
        size = int(problem.block_bytes[copy.block])
        sim.record.event(sim.now, EventKind.MIGRATE_END, NONE, NONE, copy.block, copy.target)
        sim.record.migrations += 1
        sim.record.migrated_bytes += size
        domain = int(problem.node_domain[copy.target])
        sim.record.node_bytes[-1][max(domain, 0), copy.source] += size
        driver = self._drivers.of(copy.source, copy.target)
        self._ended[copy.target if driver == NONE else driver].append(copy)
        self.start()

    def _notice(self, copy: Copy) -> None:
        """Make the block of a copy that has ended valid."""
        place = copy.block, copy.target
        self._readers[copy.block, copy.source] -= 1
        self._n_handed[copy.source * len(self._is_device) + copy.target] -= 1
        if copy.is_stale:
            self._homes.give_back(copy.target, copy.block)
        else:
            self._coming[place] -= 1
            self._appear(place)

    def _appear(self, place: Place) -> None:
        """Make a block valid on a node; tasks may use it when the node's round has ended."""
        self.valid[place[0]].add(place[1])
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
        self, block: int, node: int, *, is_copy: bool, rank: tuple[int, int] = URGENT
    ) -> None:
        """Ask for a block, or only for room for it, if it is not there and not asked for."""
        place = (block, node)
        if rank == URGENT and node in self._drivers.preparing:
            self._deferred[node].append((block, is_copy))
            return
        known = self._wanted_at.get(place)
        if known is not None:
            if rank[0] < known.rank[0]:
                self._wanted[known.lane].remove(known)
                self._add(rank, block, node, is_copy=known.is_copy, lane=known.lane)
        elif node not in self.valid[block] and not self.is_coming(place):
            self._add(rank, block, node, is_copy=is_copy)

    def _add(
        self, rank: tuple[int, int], block: int, node: int, *, is_copy: bool, lane: int = NONE
    ) -> None:
        """Put something that is wanted into its place in a lane, by default the nearest one."""
        if lane == NONE:
            source = self._nearest(block, node) if is_copy else node
            lane = source * len(self._is_device) + node
        want = Want(rank, self._n_wants, block, node, is_copy, lane)
        self._n_wants += 1
        self._wanted_at[block, node] = want
        insort(self._wanted[lane], want)
        self._has_more = True

    def is_coming(self, place: Place) -> bool:
        """Return whether a block is wanted or on its way to a node."""
        return place in self._wanted_at or self._coming.get(place, 0) > 0

    def has_place(self, place: Place) -> bool:
        """Return whether a block has been handed over to a node, or has kept its place there."""
        return self._coming.get(place, 0) > 0 or self._drivers.has_place(place)

    def _try_copy(self, block: int, source: int, target: int) -> bool:
        """Hand a copy over if room is free; return whether it has been handed over."""
        if not self._make_room(int(self._problem.block_bytes[block]), target):
            return False
        self._homes.take(target, block)
        copy = Copy(block, source, target)
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
        sim.record.event(sim.now, EventKind.MIGRATE_START, NONE, NONE, copy.block, copy.target)
        path = int(problem.paths.copy[copy.source, copy.target])
        sim.timers[problem.n_workers + lane] = sim.now + int(problem.paths.latency_ps[path])

    def _try_room(self, block: int, node: int) -> bool:
        """Make a block valid that needs nothing but room; return whether there is any."""
        size = int(self._problem.block_bytes[block])
        if not self._make_room(size, node):
            return False
        self._homes.take(node, block)
        if self._drivers.prepare(Copy(block, node, node)):
            self._coming[block, node] = self._coming.get((block, node), 0) + 1
        else:
            self._appear_anew(block, node)
        return True

    def _appear_anew(self, block: int, node: int) -> None:
        """Make a block valid on a node that needed nothing but room."""
        if not self.valid[block]:
            self._homes.node[block] = node
            self._sim.record.event(self._sim.now, EventKind.FIRST_TOUCH, NONE, NONE, block, node)
        self._appear((block, node))

    def _nearest(self, block: int, target: int) -> int:
        """Return the node from which a block would come first if it were alone."""
        paths, size = self._problem.paths, int(self._problem.block_bytes[block])
        best, least = NONE, 0.0
        for node in sorted(self.valid[block]):
            path = int(paths.copy[node, target])
            rate = float(paths.cap[path, 0]) * float(paths.share[path])
            duration = float(paths.latency_ps[path]) + size / rate
            if best == NONE or duration < least:
                best, least = node, duration
        return best

    # -------------------------------------------------------------------------------------------
    # room

    def _make_room(self, size: int, node: int) -> bool:
        """Drop least recently used copies until there is room; return whether there is."""
        capacity = int(self._problem.node_capacity_bytes[node])
        while int(self._homes.used_bytes[node]) + size > capacity:
            idle = [
                block
                for block, nodes in enumerate(self.valid)
                if node in nodes
                and not self._claims.get((block, node))
                and not self._readers.get((block, node))
            ]
            idle.sort(key=lambda block: self._used.get((block, node), 0))
            spare = [block for block in idle if len(self.valid[block]) > 1]
            if spare:
                self._drop(spare[0], node)
                self._drivers.free_place(spare[0], node)
                continue
            host = self._host(node)
            is_saving = node in self._saving and self.is_coming((self._saving[node], host))
            if idle and host != NONE and not is_saving:
                self._saving[node] = idle[0]
                self._want(idle[0], host, is_copy=True)
            return False
        return True

    def _host(self, node: int) -> int:
        """Return the first node that is no device, other than a given one."""
        hosts = [n for n, device in enumerate(self._is_device) if not device and n != node]
        return hosts[0] if hosts else NONE

    def _drop(self, block: int, node: int) -> None:
        """Forget a copy."""
        self.valid[block].discard(node)
        self._fresh[node].pop(block, None)
        self._homes.give_back(node, block)
        if int(self._homes.node[block]) == node and self.valid[block]:
            self._homes.node[block] = min(self.valid[block])

    def _check_size(self, blocks: list[int], node: int) -> None:
        """Refuse blocks that do not fit into a node's memory together."""
        total = int(self._problem.block_bytes[blocks].sum()) if blocks else 0
        capacity = int(self._problem.node_capacity_bytes[node])
        if total > capacity:
            raise ModelError(
                f"memory: the blocks of one task have {total} bytes, accepted at most {capacity}, "
                f"the capacity of node {node}"
            )

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
