"""Reordering on the CPU side: submissions wait in host memory until a policy passes them on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from simsched.policy.contract.base import (
    HookView,
    Pace,
    Plan,
    PlanView,
    Pool,
    Transfer,
    Wake,
    param,
)
from simsched.policy.parts.accelerator import (
    HELD,
    QUEUE,
    AcceleratorPolicy,
    Layout,
    lay_out,
    pinned_nodes,
)
from simsched.policy.parts.schedules import worker_rows
from simsched.workload.graph import FloatArray, TaskGraph

#: What a reordering policy decides when a task is submitted or ends.
Asked: TypeAlias = Transfer | Pace | Wake


class Release(NamedTuple):
    """A waiting task that goes to the device."""

    task: int  # the task
    decision_ps: int = 0  # what the decision takes; the policy's overhead
    sleep_ps: int = 0  # how long the task sleeps before it goes


@dataclass
class PoolState:
    """What a reordering policy remembers of a run."""

    now: Layout = field(init=False, repr=False)  # what the tasks of the present graph are
    #: shape (n_tasks,): durations as the policy expects them
    seconds: FloatArray = field(default_factory=lambda: np.zeros(0))
    #: tasks in the host's pool, in the order of their submission
    waiting: list[int] = field(default_factory=list)
    #: kernels that have been passed on and have not ended, with their expected durations
    issued: dict[int, float] = field(default_factory=dict)


P = TypeVar("P", bound=PoolState)


@dataclass(frozen=True, kw_only=True)
class ReorderingPolicy(AcceleratorPolicy[P]):
    """Base of policies that hold kernels back in host memory.

    Parameters
    ----------
    decision_s : float
        Time from the decision about a kernel until the device has it.
    """

    #: Group of pools that kernels are passed on to.
    kernel_group: ClassVar[int] = QUEUE

    remembers: ClassVar[type[PoolState]] = PoolState  #: the class P

    decision_s: float = param(0.0, low=0.0, high=1.0, is_cost=True)

    def start(self, view: PlanView) -> P:
        return cast(P, self.remembers())

    def plan(self, view: PlanView, state: P, graph: TaskGraph) -> Plan:
        """Return the plan; kernels are held back by `on_ready`."""
        state.now = lay_out(view, graph)
        state.seconds = self.expected_s(view, state.now, graph)
        return super().plan(view, state, graph)

    def expected_s(self, view: PlanView, layout: Layout, graph: TaskGraph) -> FloatArray:
        """Return the durations of all tasks as the policy expects them, alone on the device."""
        return known_seconds(view, layout, graph)

    def is_managed(self, state: P, task: int) -> bool:
        """Return whether a task is held back until it is released; kernels by default."""
        return bool(state.now.is_kernel[task])

    def on_ready(
        self, view: HookView, state: P, task: int, worker: int
    ) -> Pool | tuple[Pool | Asked, ...] | None:
        """Hold kernels back, then release what may go."""
        if state.issued.pop(task, None) is not None:
            self.note_loss(state, task)
        self.note_ready(view, state, task)
        if not self.is_managed(state, task):
            return None
        state.waiting.append(task)
        return (Pool(HELD, 0), *self._releases(view, state))

    def on_finish(
        self, view: HookView, state: P, task: int, worker: int
    ) -> tuple[Asked, ...] | None:
        """Note the end, then release what may go."""
        state.issued.pop(task, None)
        self.note_finish(view, state, task)
        return tuple(self._releases(view, state))

    def note_loss(self, state: P, task: int) -> None:
        """Forget a kernel that comes back, since the worker that was to execute it has failed."""

    def note_ready(self, view: HookView, state: P, task: int) -> None:
        """Observe the submission of any task."""

    def note_finish(self, view: HookView, state: P, task: int) -> None:
        """Observe the end of any task."""

    def chosen(self, view: HookView, state: P) -> Iterator[Release]:
        """Yield the waiting tasks to release now; each is issued at once."""
        raise NotImplementedError

    def _releases(self, view: HookView, state: P) -> Iterator[Asked]:
        """Yield the transfers of the tasks that may go."""
        for task, decision_ps, sleep_ps in self.chosen(view, state):
            state.waiting.remove(task)
            group = QUEUE
            if state.now.is_kernel[task]:
                state.issued[task] = float(state.seconds[task])
                group = self.kernel_group
            domain = int(state.now.domain[task])
            to = domain if domain >= 0 else int(view.worker_domain[0])
            delay_ps = decision_ps + sleep_ps
            yield Transfer(HELD, 0, group, to, 1, delay_ps, task=task, decision_ps=decision_ps)


def known_seconds(view: PlanView, layout: Layout, graph: TaskGraph) -> FloatArray:
    """Return the duration of each task alone on its fastest processor, as the view knows it.

    The bytes of a task go over its domain's path to the memory in which they are.
    """
    machine = view.machine
    known = view.estimated_ops(graph)
    rate: dict[str, float] = {}
    for group in worker_rows(view)[0]:
        rate[group.kind] = max(group.ops_per_s, rate.get(group.kind, 0.0))
    rows = [known[graph.kinds.index(kind)] / speed for kind, speed in rate.items()]
    seconds: FloatArray = np.min(rows, axis=0)
    moved = (graph.read_bytes + graph.written_bytes).astype(np.float64)
    owner = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    pinned, node = np.zeros(graph.n_blocks, bool), pinned_nodes(machine)
    if layout.applications is not None:
        pinned = layout.applications.pinned
    first = int(machine.touch_order[0, 0])
    for is_pinned in (False, True):
        place = node[0] if is_pinned and node else first
        mine = pinned[graph.access_block] == is_pinned
        domain = np.maximum(layout.domain[owner[mine]], 0)
        cap = np.array([row[place].core_cap_bytes_per_s[0] for row in machine.paths])[domain]
        seconds = seconds + np.bincount(owner[mine], moved[mine] / cap, graph.n_tasks)
    return seconds
