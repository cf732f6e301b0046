"""Which blocks are in fast memory when: admission of tasks under a limit, planned ahead.

A runtime that moves data between a large and a fast memory admits tasks in the order in which they
wait, as long as the blocks that they need find room, and gives the room back when the last admitted
task that needs a block has ended. :func:`plan_residency` carries that out once, in a fixed order of
ends, and yields for every stay of a block in fast memory who fetches it, who uses it, and whose
room it takes. What it yields are dependences, so that the real order of ends may differ.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from simsched.files.errors import ModelError
from simsched.workload.graph import BoolArray, Int32Array, Int64Array, TaskGraph


@dataclass(eq=False)
class Stay:
    """One stay of a block in fast memory."""

    block: int  # the block
    buffer: int  # buffer that it occupies; buffers of one size are reused by blocks of that size
    fetched_for: int  # task that it is fetched for
    #: tasks admitted to it, in the order of admission
    users: list[int] = field(default_factory=list)
    #: stays that must be over before this one can begin: those whose room it takes, and the block's
    #: last one
    after: list[int] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Residency:
    """A plan of all stays."""

    stays: list[Stay]  # in the order in which blocks are fetched
    stays_of: list[list[int]]  # for each task the stays of the blocks that it accesses
    order: list[int]  # all tasks in the order of admission
    buffer_bytes: Int64Array  # shape (n_buffers,): size of each buffer


def plan_residency(
    graph: TaskGraph,
    moved: BoolArray,
    owner: Int32Array,
    room_bytes: int,
) -> Residency:
    """Return the stays of blocks in fast memory for one iteration that begins and ends without any.

    A task arrives at its processing element's queue when all its predecessors have ended, tasks
    without any in the order of their numbers. The heads of the queues are admitted in turn, a task
    with all its blocks or not at all; one that finds no room lets all others wait. When no task can
    be admitted, the task that was admitted first ends.

    Room is taken from what was never used, then from what was given back first. Sizes that differ
    by less than an eighth share buffers, which keep their size. If more are needed than there is
    room, because the mixture of sizes changes, less room is used, and if that is not enough for the
    largest task, all buffers have the size of the largest block.
    """
    needed = _blocks_of_tasks(graph, moved)
    classed = _classed(graph.block_bytes)
    equal = np.full(graph.n_blocks, int(graph.block_bytes[moved].max(initial=0)))
    for sizes in (classed, equal):
        room, largest = room_bytes, max((int(sizes[b].sum()) for b in needed), default=0)
        while largest <= room:
            plan = _Admission(graph, needed, sizes, owner, room).run()
            taken = int(plan.buffer_bytes.sum())
            if taken <= room_bytes:
                return plan
            room = min(room - 1, room * room_bytes // taken)
    raise ModelError(
        f"fast memory: found a task with {largest} bytes of blocks, accepted at most {room_bytes}"
    )


def _classed(block_bytes: Int64Array) -> Int64Array:
    """Return sizes rounded up to the largest of their class; classes span an eighth.

    >>> _classed(np.array([1000, 1004, 2000, 0])).tolist()
    [1004, 1004, 2000, 0]
    """
    number = np.floor(np.log(np.maximum(block_bytes, 1)) / np.log(1.125)).astype(np.int64)
    _, member = np.unique(number, return_inverse=True)
    largest = np.zeros(len(block_bytes), np.int64)
    np.maximum.at(largest, member, block_bytes)
    classed: Int64Array = largest[member]
    return classed


def _blocks_of_tasks(graph: TaskGraph, moved: BoolArray) -> list[list[int]]:
    """Return the different blocks that each task must have in fast memory, in order of access."""
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    found: list[list[int]] = [[] for _ in range(graph.n_tasks)]
    wanted = moved[graph.access_block]
    for t, block in zip(task[wanted].tolist(), graph.access_block[wanted].tolist(), strict=True):
        if block not in found[t]:
            found[t].append(block)
    return found


class _Admission:
    """The state of the planning: queues, room and what is resident."""

    def __init__(
        self,
        graph: TaskGraph,
        needed: list[list[int]],
        sizes: Int64Array,
        owner: Int32Array,
        room_bytes: int,
    ) -> None:
        self.graph, self.needed = graph, needed
        self.sizes: list[int] = sizes.tolist()
        self.owner: list[int] = owner.tolist()
        self.n_pes = int(owner.max(initial=0)) + 1
        self.queues: list[deque[int]] = [deque() for _ in range(self.n_pes)]
        self.missing: list[int] = graph.in_degree.tolist()
        self.unused = self.free = room_bytes
        self.given_back: deque[list[int]] = deque()  # [stay, bytes], first given back first
        self.idle_buffers: dict[int, deque[int]] = {}
        self.buffers: list[int] = []
        self.resident: dict[int, int] = {}
        self.last_stay: dict[int, int] = {}
        self.users_left: list[int] = []
        self.in_flight: deque[int] = deque()
        self.turn = 0
        self.stays: list[Stay] = []
        self.stays_of: list[list[int]] = [[] for _ in range(graph.n_tasks)]
        self.order: list[int] = []

    def run(self) -> Residency:
        """Return the plan."""
        for task in np.flatnonzero(self.graph.in_degree == 0).tolist():
            self.queues[self.owner[task]].append(task)
        self._admit()
        while self.in_flight:
            self._end(self.in_flight.popleft())
            self._admit()
        return Residency(self.stays, self.stays_of, self.order, np.array(self.buffers, np.int64))

    def _admit(self) -> None:
        """Admit the heads of the queues in turn until one finds no room."""
        empty = 0
        while empty < self.n_pes:
            queue = self.queues[self.turn]
            if queue and not self._fits(queue[0]):
                return
            if queue:
                self._start(queue.popleft())
            empty = 0 if queue else empty + 1
            self.turn = (self.turn + 1) % self.n_pes

    def _fits(self, task: int) -> bool:
        """Return whether there is room for what a task needs and is not resident."""
        blocks = self.needed[task]
        return sum(self.sizes[b] for b in blocks if b not in self.resident) <= self.free

    def _start(self, task: int) -> None:
        """Admit a task: fetch what is missing and count it as a user of its blocks."""
        for block in self.needed[task]:
            if block not in self.resident:
                self._fetch(block, task)
            stay = self.resident[block]
            self.stays[stay].users.append(task)
            self.users_left[stay] += 1
            self.stays_of[task].append(stay)
        self.order.append(task)
        self.in_flight.append(task)

    def _fetch(self, block: int, task: int) -> None:
        """Begin a stay: take room and a buffer."""
        size = self.sizes[block]
        after = self._take_room(size)
        last = self.last_stay.get(block)
        if last is not None and last not in after:
            after.append(last)
        idle = self.idle_buffers.get(size)
        if idle:
            buffer = idle.popleft()
        else:
            buffer = len(self.buffers)
            self.buffers.append(size)
        self.resident[block] = self.last_stay[block] = len(self.stays)
        self.stays.append(Stay(block, buffer, task, [], after))
        self.users_left.append(0)

    def _take_room(self, size: int) -> list[int]:
        """Return the stays whose room is taken."""
        self.free -= size
        fresh = min(size, self.unused)
        self.unused -= fresh
        size -= fresh
        after = []
        while size > 0:
            entry = self.given_back[0]
            part = min(size, entry[1])
            size -= part
            entry[1] -= part
            after.append(entry[0])
            if entry[1] == 0:
                self.given_back.popleft()
        return after

    def _end(self, task: int) -> None:
        """End a task: give back the room of blocks without users and let successors arrive."""
        for stay in self.stays_of[task]:
            self.users_left[stay] -= 1
            if self.users_left[stay] == 0:
                ended = self.stays[stay]
                size = self.sizes[ended.block]
                self.free += size
                if size:
                    self.given_back.append([stay, size])
                self.idle_buffers.setdefault(size, deque()).append(ended.buffer)
                del self.resident[ended.block]
        begin, end = self.graph.succ_ptr[task], self.graph.succ_ptr[task + 1]
        for successor in self.graph.succ[begin:end].tolist():
            self.missing[successor] -= 1
            if self.missing[successor] == 0:
                self.queues[self.owner[successor]].append(successor)
