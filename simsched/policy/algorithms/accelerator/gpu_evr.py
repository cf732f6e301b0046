"""GPU-EvR: multiprocessors of a GPU are handed out anew whenever a kernel begins or ends."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simsched.files.units import PS_PER_S
from simsched.policy import (
    HookView,
    Pace,
    Plan,
    PlanView,
    param,
    register,
    seconds_to_ps,
)
from simsched.policy.parts.accelerator import FIRST, FULL, lay_out, with_device
from simsched.policy.parts.accelerator_pool import Asked, PoolState, Release, ReorderingPolicy
from simsched.policy.parts.gpu_sharing import MULTIPROCESSORS
from simsched.workload.graph import FloatArray, Int64Array, TaskGraph


@dataclass
class Kernel:
    """A running kernel, as the GPU manager sees it."""

    priority: int  # the higher, the more important
    needed: int  # multiprocessors with which it meets its timing, 1 or more
    usable: int  # multiprocessors that it fills
    held: int = 0  # multiprocessors that it has; 0 for one that begins


def reallocate(kernels: Sequence[Kernel], multiprocessors: int, *, spare: bool = True) -> None:
    """Hand out the multiprocessors of a device anew.

    1. If a kernel has fewer than it needs, those of kernels of lower priority can be given to
       others, but one of each: a kernel that has begun cannot be stopped. So can free ones.
    2. In the order of priority, each kernel gets what it lacks or, if that is not there, all that
       is left.
    3. What is left then goes to kernels that can use more, in the order of priority.

    A critical kernel that needs 6 of 15 comes to two others, of which the first ends:

    >>> kernels = [Kernel(1, 6, 8), Kernel(0, 1, 10, held=10), Kernel(0, 1, 5, held=5)]
    >>> reallocate(kernels, 15)
    >>> [kernel.held for kernel in kernels]
    [8, 6, 1]
    >>> del kernels[1]
    >>> reallocate(kernels, 15)
    >>> [kernel.held for kernel in kernels]
    [8, 5]
    """
    short = max((k.priority for k in kernels if k.held < k.needed), default=None)
    for kernel in kernels:
        if short is not None and kernel.priority < short:
            kernel.held = min(1, kernel.held)
    free = multiprocessors - sum(kernel.held for kernel in kernels)
    for kernel in kernels:
        free -= _raise(kernel, kernel.needed, free)
    for kernel in kernels if spare else ():
        free -= _raise(kernel, kernel.usable, free)


def _raise(kernel: Kernel, most: int, free: int) -> int:
    """Give a kernel up to so many multiprocessors of free ones; return how many."""
    given = min(max(0, most - kernel.held), free)
    kernel.held += given
    return given


@dataclass
class EvrState(PoolState):
    """What GPU-EvR remembers of a run."""

    #: shape (n_tasks,): multiprocessors that each kernel fills when it is alone
    usable: FloatArray = field(default_factory=lambda: np.zeros(0))
    #: shape (n_tasks,): multiprocessors that each kernel needs to meet its timing
    needed: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    #: kernels that have been passed on, in that order
    held: dict[int, Kernel] = field(default_factory=dict)
    worker: dict[int, int] = field(default_factory=dict)  # who executes them, from their begin
    #: part of its speed at which each worker computes, unless that is 1
    pace: dict[int, float] = field(default_factory=dict)
    #: when kernels were submitted that wait
    arrived_ps: dict[int, int] = field(default_factory=dict)
    threshold_s: float = 0.0  # how close to its latest start a kernel is urgent
    n_queues: int = 1  # kernels that the device takes at the same time


@register("gpu_evr")
@dataclass(frozen=True, kw_only=True)
class GpuEvr(ReorderingPolicy[EvrState]):
    """Critical kernels get the multiprocessors their deadline needs, anew at each begin and end.

    Parameters
    ----------
    multiprocessors : int
        Of the device.
    response_s : float
        Response deadline of a query; 0 for the target of the workload.
    batch_response_s : float
        Response deadline of a batch kernel, from its submission; 0 for ten times that of a query.
    urgent_s : float
        How long before its latest start a batch kernel is urgent; 0: the mean duration of kernels.

    Notes
    -----
    A kernel begins when a multiprocessor is free: urgent ones first, then critical, then batch. A
    batch kernel is urgent from ``T_resp - E - urgent_s`` after its submission on, E being its
    duration (equation 8.1). Readings: docs/sources/accelerators.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 8.2.2 (GPU-EvR).
    """

    kernel_group: ClassVar[int] = FIRST
    remembers = EvrState

    multiprocessors: int = param(MULTIPROCESSORS, low=2, high=1024)
    response_s: float = param(0.0, low=0.0, high=1e6)
    batch_response_s: float = param(0.0, low=0.0, high=1e6)
    urgent_s: float = param(0.0, low=0.0, high=1e6)

    def plan(self, view: PlanView, state: EvrState, graph: TaskGraph) -> Plan:
        """Return the plan of the base class with a device on which this policy makes room."""
        plan = super().plan(view, state, graph)
        now, share = lay_out(view, graph), FULL if graph.occupancy is None else graph.occupancy
        filled = np.broadcast_to(share, (graph.n_tasks,)) / FULL * self.multiprocessors
        state.usable = np.maximum(filled, 1e-3)
        state.needed = self._needed(state, graph)
        kernels = state.seconds[now.is_kernel & np.isfinite(state.seconds)]
        state.threshold_s = self.urgent_s or float(kernels.mean() if len(kernels) else 0.0)
        domains = now.domain[now.is_kernel]
        home = int(domains[0]) if len(domains) and domains[0] >= 0 else int(view.worker_domain[0])
        state.n_queues = min(self.multiprocessors, int((view.worker_domain == home).sum()))
        return with_device(plan, "multiprocessors", plan.devices[0].capacity * view.n_workers)

    def _needed(self, state: EvrState, graph: TaskGraph) -> Int64Array:
        """Return the multiprocessors that each kernel needs to meet its timing."""
        now, most = state.now, self.multiprocessors
        mine = now.query >= 0
        of_query = np.full(int(now.query.max(initial=-1)) + 1, most, np.int64)
        if now.applications is not None:
            deadline_s = self.response_s or now.applications.target_s
            for number in range(most - 1, 0, -1):
                slowed = np.where(now.is_kernel, np.maximum(1.0, state.usable / number), 1.0)
                taken_s = np.bincount(now.query[mine], (state.seconds * slowed)[mine])
                of_query[taken_s <= deadline_s] = number
        needed = np.ones(graph.n_tasks, np.int64)
        needed[mine] = of_query[now.query[mine]]
        return np.minimum(needed, np.ceil(state.usable).astype(np.int64))

    def note_loss(self, state: EvrState, task: int) -> None:
        state.held.pop(task, None)
        state.pace.pop(state.worker.pop(task, -1), None)

    def note_ready(self, view: HookView, state: EvrState, task: int) -> None:
        if self.is_managed(state, task):
            state.arrived_ps[task] = view.live.now_ps()

    def note_finish(self, view: HookView, state: EvrState, task: int) -> None:
        """Free the multiprocessors of a kernel."""
        state.held.pop(task, None)

    def chosen(self, view: HookView, state: EvrState) -> Iterator[Release]:
        """Yield kernels while there is a multiprocessor for them; hand out all of these anew."""
        self._hand_out(state, spare=False)
        while state.waiting and len(state.held) < state.n_queues:
            task = self._next(view, state)
            if task is None:
                break
            del state.arrived_ps[task]
            critical, most = bool(state.now.is_critical[task]), math.ceil(state.usable[task])
            state.held[task] = Kernel(int(critical), int(state.needed[task]), most)
            self._hand_out(state)
            yield Release(task, seconds_to_ps(self.decision_s))
        self._hand_out(state)

    def _next(self, view: HookView, state: EvrState) -> int | None:
        """Return the waiting kernel that begins next, None if none may."""
        running = state.held.values()
        if self.multiprocessors > sum(kernel.held for kernel in running):
            return min(state.waiting, key=lambda task: self._rank(view, state, task))
        critical = (task for task in state.waiting if state.now.is_critical[task])
        first = next(critical, None)
        if first is None:
            return None
        return first if any(k.held > 1 and k.priority == 0 for k in running) else None

    def _rank(self, view: HookView, state: EvrState, task: int) -> int:
        """Return which queue a waiting kernel is in: urgent, critical, batch."""
        if state.now.is_critical[task]:
            return 1
        known = state.now.applications
        target_s = self.response_s or (0.0 if known is None else known.target_s)
        response_s = self.batch_response_s or 10.0 * target_s
        margin_s = response_s - float(state.seconds[task])
        waited_ps = view.live.now_ps() - state.arrived_ps[task]
        return 0 if waited_ps >= (margin_s - state.threshold_s) * PS_PER_S else 2

    def _hand_out(self, state: EvrState, *, spare: bool = True) -> None:
        """Let kernels that have been passed on have the multiprocessors that are now theirs."""
        kernels = sorted(state.held.values(), key=lambda k: -k.priority)
        reallocate(kernels, self.multiprocessors, spare=spare)

    def on_start(self, view: HookView, state: EvrState, task: int, worker: int) -> tuple[Pace, ...]:
        """Let a kernel begin at the pace that its multiprocessors allow."""
        if task not in state.held:
            return ()
        state.worker[task] = worker
        return tuple(self._paces(state))

    def on_finish(
        self, view: HookView, state: EvrState, task: int, worker: int
    ) -> tuple[Asked, ...] | None:
        """Hand out what a kernel had; its worker is at full speed for other tasks."""
        state.worker.pop(task, None)
        decisions = super().on_finish(view, state, task, worker) or ()
        if worker in state.pace and worker not in state.worker.values():
            del state.pace[worker]
            return *decisions, Pace(worker, 1.0)
        return decisions

    def _releases(self, view: HookView, state: EvrState) -> Iterator[Asked]:
        """Yield the transfers of kernels that begin and the paces of those that run."""
        yield from super()._releases(view, state)
        yield from self._paces(state)

    def _paces(self, state: EvrState) -> Iterator[Pace]:
        """Yield the paces that have changed."""
        for task, worker in state.worker.items():
            part = min(1.0, state.held[task].held / float(state.usable[task]))
            if state.pace.get(worker, 1.0) != part:
                state.pace[worker] = part
                yield Pace(worker, part)
