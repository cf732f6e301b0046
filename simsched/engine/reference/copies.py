"""Copies of blocks in the memories of processors and devices; docs/semantics.md, "Copied data"."""

from __future__ import annotations

from dataclasses import dataclass
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


class Copies:
    """Where blocks are valid, what is wanted where, and the engines that copy.

    Engine ``2 node`` copies into a node and ``2 node + 1`` out of it; its flows and timers are
    those of entity ``n_workers + engine``.
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
        self._wanted: list[tuple[int, int, bool]] = []  # block, node, whether to copy it
        self._running: dict[int, Copy] = {}  # by engine
        self._busy: set[int] = set()  # engines of devices
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

    def prefetch(self, graph: TaskGraph, task: int, worker: int) -> None:
        """Want the data of a task's body on the node of a worker."""
        node = int(self._problem.worker_node[worker])
        first, last = int(graph.access_ptr[task]), int(graph.join_access[task])
        for block, reads, _ in _blocks(graph, first, last):
            if reads and self.valid[block]:
                self._want(block, node, is_copy=True)
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
        self._admit(node)
        self.start()

    # -------------------------------------------------------------------------------------------
    # copying

    def start(self) -> None:
        """Start the wanted copies that can start, in the order in which they were wanted."""
        index = 0
        while index < len(self._wanted):  # making room may add to it
            block, node, is_copy = self._wanted[index]
            begin = self._try_start if is_copy and self.valid[block] else self._try_room
            if node in self.valid[block] or begin(block, node):
                del self._wanted[index]
            else:
                index += 1

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
        self._busy -= {2 * copy.target, 2 * copy.source + 1}
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

    def _want(self, block: int, node: int, *, is_copy: bool) -> None:
        """Ask for a block, or only for room for it, if it is not there and not asked for."""
        place = (block, node)
        if node not in self.valid[block] and not self._is_coming(place):
            self._wanted.append((block, node, is_copy))

    def _is_coming(self, place: Place) -> bool:
        """Return whether a block is wanted or on its way to a node."""
        return any((block, node) == place for block, node, _ in self._wanted) or any(
            (copy.block, copy.target) == place and not copy.is_stale
            for copy in self._running.values()
        )

    def _try_start(self, block: int, target: int) -> bool:
        """Start a copy if engines and room are free; return whether it has started."""
        sim, problem = self._sim, self._problem
        source = self._nearest(block, target)
        engines = [2 * target] * self._is_device[target]
        engines += [2 * source + 1] * self._is_device[source]
        engine = engines[0] if engines else 2 * target
        if engine in self._running or not self._busy.isdisjoint(engines):
            return False
        size = int(problem.block_bytes[block])
        if not self._make_room(size, target):
            return False
        self._homes.take(target, block)
        self._running[engine] = Copy(block, source, target)
        self._busy.update(engines)
        self._readers[block, source] = self._readers.get((block, source), 0) + 1
        sim.record.event(sim.now, EventKind.MIGRATE_START, NONE, NONE, block, target)
        path = int(problem.paths.copy[source, target])
        sim.timers[problem.n_workers + engine] = sim.now + int(problem.paths.latency_ps[path])
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
