"""What every backend offers to the driver in `simsched.engine.run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.decisions import Record
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.policy.contract.base import EngineState
from simsched.policy.contract.compiled import Compiled
from simsched.trace.schema import Summary, Trace
from simsched.trace.sink import EventSink
from simsched.workload.graph import TaskGraph

NOBODY = -1  #: worker argument of hooks when no worker is concerned

#: group (NOBODY: as the plan says), instance, transfers, paces and wakes after the push
ReadyAnswer = tuple[int, int, Sequence[Record]]


class Hooks(Protocol):
    """The fine hooks of a policy, as indices. `wants_*` tells which ones the policy overrides."""

    wants_on_spawn: bool
    wants_on_ready: bool
    wants_on_acquire: bool
    wants_on_start: bool
    wants_on_idle: bool
    wants_on_finish: bool
    wants_on_landing: bool
    wants_on_timer: bool
    wants_on_wake: bool
    #: functions instead of methods, by hook, for the iteration that begins next; None until then
    compiled: dict[str, Compiled | None]
    orders: list[ResolvedPlan]  #: those that the last decisions name by their numbers

    def attach(self, state: EngineState) -> None:
        """Receive the backend's live state, before the first event."""

    def refuse(self, hook: str, answer: int, *given: int) -> None:
        """Raise the error for the answer of a compiled hook to some numbers, which is wrong."""

    def on_spawn(self, parent: int, child: int, worker: int) -> int | None:
        """Return the spawn order of a child, or None to follow the plan."""

    def on_acquire(self, task: int, worker: int, group: int, instance: int) -> None:
        """Observe that a worker takes a task from a pool."""

    def on_ready(self, task: int, worker: int) -> ReadyAnswer | None:
        """Return where the task goes and what follows, or None to follow the plan."""

    def on_start(self, task: int, worker: int) -> Sequence[Record]:
        """Observe that a body begins to execute; return transfers, paces and wakes."""

    def on_idle(self, worker: int) -> Record | None:
        """Return what happens for a worker that found nothing, or None."""

    def on_finish(self, task: int, worker: int) -> Sequence[Record]:
        """Observe the end of a task; return transfers, paces and wakes, in order."""

    def on_landing(self, group: int, instance: int) -> Sequence[Record]:
        """Observe that a delayed transfer to a pool has landed; return what on_finish may."""

    def on_timer(self) -> Sequence[Record]:
        """Return decisions, carried out in order."""

    def on_wake(self, tag: int) -> Sequence[Record]:
        """Return decisions, carried out in order."""


@dataclass(frozen=True, eq=False)
class IterationCounters:
    """Measurements of the iteration that has just ended.

    Shapes are those of `simsched.policy.contract.base.Counters`.
    """

    start_ps: int
    end_ps: int
    group_bytes: NDArray[np.int64]
    group_missing_bytes: NDArray[np.int64]
    samples: NDArray[np.int64]
    block_home: NDArray[np.int32]
    node_used_bytes: NDArray[np.int64]
    executed_by: NDArray[np.int32]
    executed_ps: NDArray[np.int64]
    #: Of the run so far; shape (n_paths,).
    path_bytes: NDArray[np.int64]


class Backend(Protocol):
    """An engine that executes one run, iteration by iteration."""

    def __init__(self, problem: Problem, hooks: Hooks, *, events: bool | EventSink) -> None:
        """Prepare a run; `events` keeps the event trace or is a sink that gets it."""

    def run_iteration(
        self, number: int, graph: TaskGraph, plan: ResolvedPlan, *, last: bool
    ) -> None:
        """Start an iteration; return when it has ended and, unless `last`, its barrier is over."""

    def counters(self) -> IterationCounters:
        """Return what the last iteration has measured."""

    def migrate(
        self, overhead_ps: int, blocks: NDArray[np.int32], nodes: NDArray[np.int32], workers: int
    ) -> None:
        """Wait for the policy's overhead, carry out migrations, return after the last copy."""

    def summary(self) -> Summary:
        """Return the counters of the whole run."""

    def trace(self) -> Trace | None:
        """Hand the events that are left to the sink; return the trace if it is kept in memory."""


class RestartableBackend(Backend, Protocol):
    """An engine that executes one run after the other."""

    def restart(self, problem: Problem, hooks: Hooks) -> None:
        """Prepare another run, of a problem that differs in what it draws from."""

    def stop(self) -> None:
        """Let go of the memory of a run that is over."""

    def tallies(
        self,
        streams: Sequence[tuple[Any, ...]],
        parts: list[tuple[TaskGraph, ResolvedPlan]],
        order: Sequence[int],
        first: int,
    ) -> NDArray[np.int64]:
        """Return the rows of runs that no hook hears of, up to the first that fails.

        Each run draws from its streams and has the same iterations, numbered from `first` on, which
        execute the parts with these indices. See :data:`simsched.engine.tallies.TALLIED`.
        """
