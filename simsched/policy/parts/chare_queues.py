"""Wait queues of chares, and what fetches and evicts their blocks, as a runtime carries it out.

Whoever fetches for a processing element, a helper or the element itself, does one thing at a time:
it admits the oldest chare of a wait queue that finds room, copies its missing blocks one after the
other, and goes on with the next when the chare has entered its run queue. A processing element
evicts block by block; each is looked at when its turn has come, because somebody may need it again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from simsched.policy.contract.decisions import Move, Transfer
from simsched.policy.parts.chares import Team
from simsched.policy.parts.residency import IN, OUT, Residency
from simsched.workload.graph import Int32Array

RUN, WAIT = 0, 1  #: groups of pools, one of each for every processing element

Decisions = Iterator[Transfer | Move]


@dataclass(eq=False)
class ChareQueues:
    """What the runtime remembers; workers are meant where nothing else is said."""

    team: Team
    owner: Int32Array  # shape (n_tasks,): processing element of each chare, its place in the team
    residency: Residency
    cost_ps: list[int]  # shape (n_blocks,): what moving a block takes besides copying it
    is_running: bool = False  # not in the initialisation
    waiting: list[deque[int]] = field(init=False)  # shape (n_pes,): chares, first in, first out
    #: whose queues each fetches for, the next one first
    served: dict[int, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    in_hand: dict[int, int] = field(default_factory=dict)  # the chare that each fetches for
    fetches: dict[int, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    evictions: dict[int, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    #: chares in the run queue of each, and the one that it executes
    n_runnable: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    missing: dict[int, int] = field(default_factory=dict)  # blocks that admitted chares lack
    users: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # who lacks them
    origin: dict[int, int] = field(default_factory=dict)  # where blocks are when not in HBM
    io_of: dict[int, int] = field(init=False)  # who fetches for each that computes

    def __post_init__(self) -> None:
        self.waiting = [deque() for _ in self.team.pe]
        self.io_of = dict(zip(self.team.pe.tolist(), self.team.io.tolist(), strict=True))
        for pe, worker in enumerate(self.team.io.tolist()):
            self.served[worker].append(pe)

    def arrive(self, task: int, home_of: Callable[[int], int]) -> Decisions:
        """Let a ready chare wait; `home_of` tells where its blocks are."""
        pe = self.owner[task]
        if not self.residency.needed[task]:
            yield self._run(task)
            return
        for block in self.residency.needed[task]:
            if self.residency.where[block] == OUT:
                self.origin[block] = home_of(block)
        self.waiting[pe].append(task)
        yield from self._wake(int(self.team.io[pe]))

    def end(self, task: int, worker: int) -> Decisions:
        """Let a processing element evict, where a chare has ended."""
        self.n_runnable[worker] -= 1
        self.evictions[worker].extend(self.residency.release(task))
        yield from self._evict(worker)

    def moved(self, worker: int) -> Decisions:
        """Go on after a worker has fetched or evicted a block."""
        if self.evictions[worker]:
            self.residency.give_back(self.evictions[worker].popleft())
            yield from self._evict(worker)
            return
        block = self.fetches[worker].popleft()
        self.residency.arrive(block)
        yield from self._fetch(worker)
        for task in self.users.pop(block):
            self.missing[task] -= 1
            if self.missing[task] == 0:
                yield from self._complete(task, worker)

    def _complete(self, task: int, worker: int) -> Decisions:
        """All blocks of an admitted chare are in HBM; `worker` has brought the last one."""
        io = int(self.team.io[self.owner[task]])
        del self.missing[task], self.in_hand[io]
        yield self._run(task)
        yield from self._serve(io) if io == worker else self._wake(io)

    def _wake(self, io: int) -> Decisions:
        """Let who fetches look into its wait queues, if it sleeps."""
        if not (self.evictions[io] or self.n_runnable[io]):
            yield from self._serve(io)

    def _serve(self, io: int) -> Decisions:
        """Admit chares that wait, until blocks must be fetched or nobody finds room."""
        while io not in self.in_hand:
            admitted = self._admit(io)
            if admitted is None:
                return
            task, fetched = admitted
            lacking = [b for b in self.residency.needed[task] if self.residency.where[b] != IN]
            if not lacking:
                yield self._run(task)
                continue
            self.in_hand[io], self.missing[task] = task, len(lacking)
            for block in lacking:
                self.users[block].append(task)
            self.fetches[io].extend(fetched)
            yield from self._fetch(io)

    def _admit(self, io: int) -> tuple[int, list[int]] | None:
        """Admit the head of the next wait queue; return it with the blocks that must be fetched."""
        queues = self.served[io]
        for _ in range(len(queues)):
            waiting = self.waiting[queues[0]]
            fetched = self.residency.admit(waiting[0]) if waiting else []
            if fetched is None:
                return None
            queues.rotate(-1)
            if waiting:
                return waiting.popleft(), fetched
        return None

    def _run(self, task: int) -> Transfer:
        """Put a chare into the run queue of its processing element."""
        worker = int(self.team.pe[self.owner[task]])
        self.n_runnable[worker] += 1
        return Transfer(WAIT, worker, RUN, worker, 1, 0, task=task)

    def _fetch(self, io: int) -> Decisions:
        """Let who fetches copy the next block, if there is one."""
        if self.fetches[io]:
            block = self.fetches[io][0]
            yield self._move(io, block, self.residency.node[block])

    def _evict(self, worker: int) -> Decisions:
        """Let a processing element copy back the next block; after the last one others wake."""
        queue = self.evictions[worker]
        while queue and not self.residency.leave(queue[0]):
            queue.popleft()
        if queue:
            yield self._move(worker, queue[0], self.origin[queue[0]])
            return
        own = self.io_of[worker]
        yield from self._serve(own) if own == worker else self._wake(own)
        for io in self.served:
            if io != own:
                yield from self._wake(io)

    def _move(self, worker: int, block: int, node: int) -> Move:
        return Move(worker, block, node, self.cost_ps[block], tag=worker)
