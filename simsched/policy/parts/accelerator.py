"""An accelerator that applications share: its tasks, its queue, who enters it.

Kernels and copies are tasks that only one kind of processor can run: the hardware queues of the
GPU, or a copy engine. They queue up in first in, first out order for the *engine* of their domain,
of which they take up their occupancy; nothing overtakes what comes next. Host code takes up
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simsched.machine.model import Machine
from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    Device,
    Placement,
    Plan,
    PlanView,
    PoolGroup,
    S,
)
from simsched.policy.contract.fit import SHARED_DEVICE, Need
from simsched.policy.parts.placement import PlacedPolicy
from simsched.workload.applications import Applications
from simsched.workload.graph import BoolArray, Int32Array, TaskGraph, Workload

FULL = 1000  #: occupancy of a whole device
#: Pool groups: continuations; what overtakes the queue; the queue; what the host holds back.
GROUPS = (
    PoolGroup("worker"),
    PoolGroup("first", "domain", device="engine"),
    PoolGroup("queue", "domain", device="engine"),
    PoolGroup("held", "machine"),
)
WORKER, FIRST, QUEUE, HELD = range(4)
COPY_IN, COPY_OUT = "copy_in", "copy_out"


@dataclass(frozen=True, eq=False)
class Layout:
    """What the tasks of a graph are and where they run."""

    #: shape (n_tasks,): domain whose workers can run the task; -1 where several can
    domain: Int32Array
    #: shape (n_tasks,): tasks that compute on the accelerator. Where no processor is a GPU, all
    #: tasks without children
    is_kernel: BoolArray
    #: shape (n_tasks,): 0 for copies into the accelerator, 1 for copies out of it, -1 for other
    #: tasks
    direction: NDArray[np.int8]
    #: shape (n_tasks,): whose task it is; 0 for all where the workload does not say
    application: Int32Array
    #: shape (n_tasks,): query of a latency-critical application; -1 for none
    query: Int32Array
    is_critical: BoolArray  # shape (n_tasks,): tasks of latency-critical applications
    applications: Applications | None  # as the workload has them, for its graph of the iterations


def lay_out(view: PlanView, graph: TaskGraph) -> Layout:
    """Return what the tasks of a graph are on the view's machine."""
    n, machine = graph.n_tasks, view.machine
    groups = machine.thread_group[view.worker_thread]
    kind_of = [machine.core_groups[group].kind for group in groups]
    home = {kind: int(view.worker_domain[kind_of.index(kind)]) for kind in dict.fromkeys(kind_of)}
    runs = {kind: np.isfinite(graph.ops[graph.kinds.index(kind)]) for kind in home}
    domain = np.full(n, -1, np.int32)
    if len(home) > 1:
        for kind in reversed(home):  # the first kind that can run a task counts
            domain[runs[kind]] = home[kind]
    direction = np.full(n, -1, np.int8)
    for number, kind in enumerate((COPY_IN, COPY_OUT)):
        if kind in home:
            direction[runs[kind]] = number
    leaves = np.diff(graph.child_ptr) == 0
    known = view.workload.applications if graph is view.workload.graph else None
    application = np.zeros(n, np.int32) if known is None else known.of_task
    return Layout(
        domain=domain,
        is_kernel=runs["gpu"] & leaves if "gpu" in home else leaves,
        direction=direction,
        application=application,
        query=np.full(n, -1, np.int32) if known is None else known.query,
        is_critical=np.zeros(n, bool) if known is None else known.critical[application],
        applications=known,
    )


@dataclass(frozen=True, kw_only=True)
class AcceleratorPolicy(PlacedPolicy[S]):
    """Base of policies for a shared accelerator.

    Pinned buffers live on the machine's node for pinned memory, if there is one, other buffers of
    applications on the first node of the host; everything else is placed as `placement` says.
    """

    needs: ClassVar[tuple[Need, ...]] = (SHARED_DEVICE,)

    chooses_processors: ClassVar[bool] = True

    critical_first: ClassVar[bool] = False  #: whether critical kernels overtake the queue

    def place(self, view: PlanView, state: S) -> Placement:
        """Return the placement of the base class with pinned buffers in pinned memory."""
        placed = super().place(view, state)
        known, nodes = view.workload.applications, pinned_nodes(view.machine)
        if known is None or not nodes:
            return placed
        home = np.where(known.pinned, np.int32(nodes[0]), np.int32(view.machine.touch_order[0, 0]))
        return Placement(home.astype(np.int32), placed.touch_order)

    def plan(self, view: PlanView, state: S, graph: TaskGraph) -> Plan:
        """Return a plan with one queue per engine, and the group that each task enters."""
        layout = lay_out(view, graph)
        capacity = FULL if graph.occupancy is not None else 1
        first = layout.is_kernel & layout.is_critical & self.critical_first
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "newest"),
                AcquireStep("first", "own", "oldest"),
                AcquireStep("queue", "own", "oldest"),
            ),
            pool_groups=GROUPS,
            spawn_order=PARENT_FIRST,
            group_of=np.where(first, FIRST, QUEUE).astype(np.int8),
            instance_of=layout.domain,
            devices=(Device("engine", capacity),),
        )


def with_device(plan: Plan, name: str, capacity: int) -> Plan:
    """Return a plan in which what overtakes the queue has a device of its own."""
    groups = list(GROUPS)
    groups[FIRST] = replace(groups[FIRST], device=name)
    devices = (*plan.devices, Device(name, capacity))
    return replace(plan, pool_groups=tuple(groups), devices=devices)


def pinned_nodes(machine: Machine) -> list[int]:
    """Return the memory nodes that a machine file calls ``pinned``."""
    return [i for i, node in enumerate(machine.nodes) if node.name.rstrip("0123456789") == "pinned"]


def exclusive_kernels(view: PlanView) -> Workload:
    """Return the view's program with kernels that fill the device."""
    workload = view.workload
    occupancy = workload.graph.occupancy
    if occupancy is None:
        return workload
    kernels = lay_out(view, workload.graph).is_kernel
    full = np.where(kernels, FULL, occupancy).astype(np.int32)
    return workload.changed(lambda graph: replace(graph, occupancy=full), init=workload.init)
