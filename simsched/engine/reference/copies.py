"""Copies of blocks in the memories of processors and devices; docs/semantics.md, "Copied data"."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import ModelError
from simsched.trace.schema import NONE, EventKind
from simsched.workload.graph import TaskGraph

if TYPE_CHECKING:
    from simsched.engine.reference.backend import SimpyBackend

Place = tuple[int, int]  #: a block and a node


@dataclass
class Copy:
    """A copy on its way. `is_stale`: the block has been written since it began."""

    block: int
    source: int
    target: int
    is_stale: bool = False


@dataclass(order=True)
class Want:
    """A block that is wanted on a node. `rank`: (1, -priority) of a prefetch, or one of below."""

    rank: tuple[int, int]
    number: int
    block: int = field(compare=False)
    node: int = field(compare=False)
    is_copy: bool = field(compare=False)  # not only room


URGENT, BRING_BACK = (0, 0), (2, 0)


class Lanes:
    """What keeps a copy back: copies that are running, and those before it that are kept back."""

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
    those of entity ``n_workers + lane``.
    """

    def __init__(self, sim: SimpyBackend) -> None:
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
        self._wanted: list[Want] = []  # in their order
        self._wanted_at: dict[Place, Want] = {}
        self._added: list[Want] | None = None  # what becomes wanted while others are served
        self._n_wants = 0
        self._running: dict[int, Copy] = {}  # by lane
        self._waiting: dict[Place, list[int]] = {}  # workers
        self._missing: dict[int, int] = {}  # blocks that a worker waits for, 1 for its turn
        self._gathering: set[int] = set()  # workers that wait
        self._turns: list[list[tuple[int, list[tuple[int, bool, bool]]]]] = [
            [] for _ in self._is_device
        ]
        self._claimed_bytes = [0] * len(self._is_device)
        self._saving: dict[int, int] = {}  # node -> block that is copied away to make room

    # -------------------------------------------------------------------------------------------
    # what tasks do

    def prefetch(
        self, graph: TaskGraph, task: int, worker: int, *, is_urgent: bool, by_priority: bool
    ) -> None:
        """Want the data of a task's body on the node of a worker."""
        node = int(self._problem.worker_node[worker])
        first, last = int(graph.access_ptr[task]), int(graph.join_access[task])
        priority = 0
        if by_priority and graph.priority is not None:
            priority = int(graph.priority[task])
        rank = URGENT if is_urgent else (1, -priority)
        for block, reads, _ in _blocks(graph, first, last):
            if reads and self.valid[block]:
                self._want(block, node, is_copy=True, rank=rank)
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
                if node not in self.valid[block]:
                    self._want(block, node, is_copy=reads and bool(self.valid[block]))
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
            for copy in self._running.values():
                if copy.block == block and not self._claims.get((block, copy.target)):
                    copy.is_stale = True

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
        """Start the wanted copies that can start, in their order."""
        lanes = Lanes(self._is_device)
        for copy in self._running.values():
            lanes.add(copy.source, copy.target)
        self._added = []
        self._wanted = [want for want in self._wanted if not self._serve(want, lanes)]
        left = [want for want in self._added if not self._serve(want, lanes)]  # grows meanwhile
        self._added = None
        for want in left:
            insort(self._wanted, want)

    def _serve(self, want: Want, lanes: Lanes) -> bool:
        """Do what is wanted if it can be done; return whether it is wanted no longer."""
        block, node = want.block, want.node
        is_done = node in self.valid[block]
        if not is_done and want.is_copy and self.valid[block]:
            is_done = self._try_start(block, node, lanes)
        elif not is_done:
            is_done = self._try_room(block, node)
        if is_done:
            del self._wanted_at[block, node]
        return is_done

    def timer(self, entity: int) -> None:
        """Handle the end of a copy's latency: its bytes begin to move."""
        sim, problem = self._sim, self._problem
        copy = self._running[entity - problem.n_workers]
        size = int(problem.block_bytes[copy.block])
        if size == 0:
            self.arrive(entity)
            return
        path = int(problem.paths.copy[copy.source, copy.target])
        sim.sharing.start(entity, path * problem.n_smt, size, sim.now, sim.lag)

    def arrive(self, entity: int) -> None:
        """Handle the end of a copy."""
        sim, problem = self._sim, self._problem
        copy = self._running.pop(entity - problem.n_workers)
        block, place = copy.block, (copy.block, copy.target)
        size = int(problem.block_bytes[block])
        self._readers[block, copy.source] -= 1
        sim.record.event(sim.now, EventKind.MIGRATE_END, NONE, NONE, block, copy.target)
        sim.record.migrations += 1
        sim.record.migrated_bytes += size
        domain = int(problem.node_domain[copy.target])
        sim.record.node_bytes[-1][max(domain, 0), copy.source] += size
        if copy.is_stale:
            self._homes.give_back(copy.target, block)
        else:
            self._appear(place)
        self.start()

    def _appear(self, place: Place) -> None:
        """Make a block valid on a node and let workers go on that have waited for it."""
        self.valid[place[0]].add(place[1])
        self._use(place)
        for worker in self._waiting.pop(place, []):
            self._has_come(worker)

    def _has_come(self, worker: int) -> None:
        """Note that a worker has one thing less to wait for."""
        sim = self._sim
        self._missing[worker] -= 1
        if self._missing[worker] == 0 and worker in self._gathering:
            self._gathering.discard(worker)
            sim.workers[worker].lag = sim.lag
            sim.timers[worker] = sim.now

    def _want(
        self, block: int, node: int, *, is_copy: bool, rank: tuple[int, int] = URGENT
    ) -> None:
        """Ask for a block, or only for room for it, if it is not there and not asked for."""
        place = (block, node)
        known = self._wanted_at.get(place)
        if known is not None and rank[0] < known.rank[0] and self._added is None:
            self._wanted.remove(known)
            self._add(Want(rank, self._n_wants, block, node, known.is_copy))
        elif node not in self.valid[block] and not self._is_coming(place):
            self._add(Want(rank, self._n_wants, block, node, is_copy))

    def _add(self, want: Want) -> None:
        """Put something that is wanted into its place in the order."""
        self._n_wants += 1
        self._wanted_at[want.block, want.node] = want
        if self._added is None:
            insort(self._wanted, want)
        else:
            self._added.append(want)

    def _is_coming(self, place: Place) -> bool:
        """Return whether a block is wanted or on its way to a node."""
        return place in self._wanted_at or any(
            (copy.block, copy.target) == place and not copy.is_stale
            for copy in self._running.values()
        )

    def _try_start(self, block: int, target: int, lanes: Lanes) -> bool:
        """Start a copy if no other excludes it and room is free; return whether it has started."""
        sim, problem = self._sim, self._problem
        source = self._nearest(block, target)
        if lanes.exclude(source, target):
            lanes.add(source, target)
            return False
        size = int(problem.block_bytes[block])
        if not self._make_room(size, target):
            return False
        lanes.add(source, target)
        lane = source * len(self._is_device) + target
        self._homes.take(target, block)
        self._running[lane] = Copy(block, source, target)
        self._readers[block, source] = self._readers.get((block, source), 0) + 1
        sim.record.event(sim.now, EventKind.MIGRATE_START, NONE, NONE, block, target)
        path = int(problem.paths.copy[source, target])
        sim.timers[problem.n_workers + lane] = sim.now + int(problem.paths.latency_ps[path])
        return True

    def _try_room(self, block: int, node: int) -> bool:
        """Make a block valid that needs nothing but room; return whether there is any."""
        size = int(self._problem.block_bytes[block])
        if not self._make_room(size, node):
            return False
        self._homes.take(node, block)
        if not self.valid[block]:
            self._homes.node[block] = node
            self._sim.record.event(self._sim.now, EventKind.FIRST_TOUCH, NONE, NONE, block, node)
        self._appear((block, node))
        return True

    def _nearest(self, block: int, target: int) -> int:
        """Return the node from which a block would come first if it were alone."""
        paths, size = self._problem.paths, int(self._problem.block_bytes[block])
        best, least = NONE, 0.0
        for node in sorted(self.valid[block]):
            path = int(paths.copy[node, target])
            duration = float(paths.latency_ps[path]) + size / float(paths.cap[path, 0])
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
                continue
            host = self._host(node)
            is_saving = node in self._saving and self._is_coming((self._saving[node], host))
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
