"""Hooks that decide at random, for the random problems of both backends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simsched.engine.backend import NOBODY, ReadyAnswer
from simsched.engine.interface.decisions import Record, record_of
from simsched.policy.contract.decisions import (
    WHOLE_PACE,
    Exchange,
    Move,
    Pace,
    Preempt,
    Rest,
    Transfer,
    Wake,
)
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.contract.plan import CHILD_FIRST, PARENT_FIRST, TAKES

HOOKS = (
    *("on_ready", "on_idle", "on_finish", "on_timer", "on_spawn", "on_acquire", "on_start"),
    "on_landing",
)
WAKING = "on_wake"  #: drawn apart, so that what has been drawn without it stays


@dataclass
class RandomHooks:
    """Hooks that decide at random from what they see; two instances with one seed decide alike."""

    seed: int
    wanted: frozenset[str]
    n_workers: int
    state: Any = None
    seen: list[tuple[Any, ...]] = field(default_factory=list)
    compiled: dict[str, Any] = field(default_factory=dict)  #: none is

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._wake_rng = np.random.default_rng([self.seed, 9])
        for name in (*HOOKS, WAKING):
            setattr(self, f"wants_{name}", name in self.wanted)
        self.group_sizes: list[int] = []
        self.snatches = 50
        self.transfers = 200
        self.wakes = 200
        self.moves = 60
        self.n_nodes = 0
        self.movable: list[int] = []  #: blocks that workers may move

    def attach(self, state: Any) -> None:
        self.state = state

    def _look(self, name: str, *arguments: int) -> None:
        workers = range(self.n_workers)
        running = [self.state.running_task(w) for w in workers]
        waiting = [self.state.is_waiting(w) for w in workers]
        running += [number for w in workers for number in self.state.progress(w) or ()]
        queues = [
            self.state.queue_length(g, i) for g, n in enumerate(self.group_sizes) for i in range(n)
        ]
        self.seen.append((name, self.state.now_ps(), *arguments, *running, *waiting, *queues))

    def on_spawn(self, parent: int, child: int, worker: int) -> int | None:
        self._look("spawn", parent, child, worker)
        return (None, CHILD_FIRST, PARENT_FIRST)[int(self._rng.integers(3))]

    def on_acquire(self, task: int, worker: int, group: int, instance: int) -> None:
        self._look("acquire", task, worker, group, instance)

    def on_ready(self, task: int, worker: int) -> ReadyAnswer | None:
        self._look("ready", task, worker)
        if self._rng.random() < 0.5:
            return None
        decisions = self._transfers()
        if self._rng.random() < 0.3:
            return NOBODY, 0, decisions
        group = int(self._rng.integers(len(self.group_sizes)))
        return group, int(self._rng.integers(self.group_sizes[group])), decisions

    def _transfers(self) -> list[Record]:
        """None, one or two transfers, of which some land at once, and now and then a pace."""
        number = min(self.transfers, int(self._rng.choice([0, 0, 0, 1, 2])))
        self.transfers -= number
        chosen = [self._transfer(at_once=bool(self._rng.integers(2))) for _ in range(number)]
        return chosen + self._paces() + self._wakes() + self._moves()

    def _wakes(self) -> list[Record]:
        """None, or wakes at the present instant or later, several of them at one time."""
        rng = self._wake_rng
        if WAKING not in self.wanted or self.wakes <= 0 or rng.random() < 0.6:
            return []
        number = int(rng.integers(1, 4))
        self.wakes -= number
        at = self.state.now_ps() + rng.choice([0, 0, 1, 100, 5000, 90_000], number)
        return [
            record_of(
                Wake(
                    int(time),
                    rank=int(rng.integers(-1, 2)),
                    tag=int(rng.integers(5)),
                    step_ps=int(rng.choice([0, 0, 1, 700, 30_000])),
                )
            )
            for time in at
        ]

    def _rests(self) -> list[Record]:
        """None, or a rest, whether it is kept or not."""
        if WAKING not in self.wanted or self._wake_rng.random() < 0.5:
            return []
        return [record_of(Rest(int(self._wake_rng.integers(1, 4))))]

    def _moves(self) -> list[Record]:
        """None, or moves of any blocks by any workers, to where they are already, too."""
        rng = self._wake_rng
        if WAKING not in self.wanted or not self.movable or self.moves <= 0 or rng.random() < 0.6:
            return []
        number = int(rng.integers(1, 4))
        self.moves -= number
        return [
            record_of(
                Move(
                    int(rng.integers(self.n_workers)),
                    int(rng.choice(self.movable)),
                    int(rng.integers(self.n_nodes)),
                    int(rng.choice([0, 1, 5000])),
                    int(rng.integers(5)),
                )
            )
            for _ in range(number)
        ]

    def _paces(self) -> list[Record]:
        """None, or the pace of any worker."""
        if self._rng.random() < 0.7:
            return []
        part = int(self._rng.choice([WHOLE_PACE, WHOLE_PACE // 3, 700_000_000])) / WHOLE_PACE
        return [record_of(Pace(int(self._rng.integers(self.n_workers)), part))]

    def _transfer(self, *, at_once: bool = False) -> Record:
        """Any pools."""
        pools = []
        for _ in range(2):
            group = int(self._rng.integers(len(self.group_sizes)))
            pools += [group, int(self._rng.integers(self.group_sizes[group]))]
        count, delay = int(self._rng.integers(1, 4)), int(self._rng.choice([1, 100, 5000, 90_000]))
        take, entry, thief = (int(self._rng.integers(n)) for n in (3, 40, 2 * self.n_workers))
        steals = self.group_sizes[pools[0]] == self.n_workers > thief
        return record_of(
            Transfer(
                *pools,
                count=count,
                delay_ps=0 if at_once else delay,
                take=(*TAKES, TAKES[0])[take],
                task=entry if take == len(TAKES) else None,
                thief=thief if steals else None,
            )
        )

    def on_idle(self, worker: int) -> Record | None:
        self._look("idle", worker)
        if self.transfers > 0 and self._rng.random() < 0.4:
            self.transfers -= 1
            return self._transfer()
        running = [w for w in range(self.n_workers) if self.state.running_task(w) >= 0]
        if not running or self.snatches == 0 or self._rng.random() < 0.6:
            return next(iter(self._wakes()), None)
        self.snatches -= 1
        return record_of(Preempt(int(self._rng.choice(running)), worker))

    def on_start(self, task: int, worker: int) -> list[Record]:
        self._look("start", task, worker)
        return self._transfers()

    def on_finish(self, task: int, worker: int) -> list[Record]:
        self._look("finish", task, worker)
        return self._transfers()

    def on_landing(self, group: int, instance: int) -> list[Record]:
        self._look("landing", group, instance)
        return self._transfers()

    def on_timer(self) -> list[Record]:
        self._look("timer")
        if rests := self._rests():
            return rests
        return self._decisions_on_workers() + self._wakes() + self._moves() + self._rests()

    def on_wake(self, tag: int) -> list[Record]:
        """What the timer decides, now and then, from numbers of its own."""
        self._look("wake", tag)
        self._rng, self._wake_rng = self._wake_rng, self._rng
        decisions = [] if self._rng.random() < 0.6 else self._decisions_on_workers()
        self._rng, self._wake_rng = self._wake_rng, self._rng
        return decisions + self._wakes() + self._moves()

    def _decisions_on_workers(self) -> list[Record]:
        workers = range(self.n_workers)
        running = [w for w in workers if self.state.running_task(w) >= 0]
        waiting = [w for w in workers if self.state.is_waiting(w)]
        decisions: list[Record] = []
        if self._rng.random() < 0.2:
            decisions.append(self._transfer())
        decisions += self._paces()
        if self.n_workers > 1 and self._rng.random() < 0.5:
            pair = self._rng.choice(self.n_workers, 2, replace=False).tolist()
            decisions.append(record_of(Exchange(*pair, int(self._rng.choice([0, 0, 700])))))
        while running and self._rng.random() < 0.4:
            victim = running.pop(int(self._rng.integers(len(running))))
            taker = -1
            if waiting and self._rng.random() < 0.5:
                taker = waiting.pop(int(self._rng.integers(len(waiting))))
            kind: Any = (Preempt, Preempt, Duplicate, Kill)[int(self._rng.integers(4))]
            if kind is Duplicate and taker < 0:
                continue
            decisions.append(record_of(Kill(victim) if kind is Kill else kind(victim, taker)))
            if taker < 0 or kind is Kill:
                break  # its push may wake one of the waiting workers
        return decisions
