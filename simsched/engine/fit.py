"""Why a run may mean little: its policy has nothing to decide, falls back, leaves workers out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.plans import homes_of
from simsched.engine.processors import machine_of_workers, threads_for
from simsched.engine.setup import Setup, set_up
from simsched.engine.watch import watched
from simsched.files.errors import PolicyError
from simsched.machine.model import Machine
from simsched.policy.contract.base import Plan, Policy, view_before
from simsched.policy.contract.compiled import OBSERVING, is_compiled
from simsched.policy.contract.fit import MACHINE_NEEDS, UNIFORM
from simsched.policy.contract.plan import ROOTS
from simsched.policy.contract.records import said_of, told
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer[Any]]

MAX_STEPS = 10_000  #: of a search along chains of tasks
#: Hooks whose answers may put any task into any pool.
MOVING_HOOKS = (
    "on_ready",
    "on_idle",
    "on_start",
    "on_finish",
    "on_landing",
    "on_timer",
    "on_wake",
)


def machine_kinds(machine: Machine) -> tuple[str, ...]:
    """Return what a machine is: several of `MACHINE_KINDS`, or uniform."""
    view = view_before(machine, Workload("one task", build_graph([0.0])))
    found = tuple(need.machine_kind for need in MACHINE_NEEDS if not need.lacking(view))
    return found or (UNIFORM,)


def rehearse(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    *,
    workers: int | None = None,
    pinning: str = "scatter",
    seed: int = 0,
) -> tuple[str, ...]:
    """Do everything that comes before the first event of a run, so that what is wrong is found.

    Parameters
    ----------
    machine, workload, policy, workers, pinning, seed
        As for :func:`simsched.engine.run.simulate`.

    Returns
    -------
    tuple of str
        Why the run says little of its policy, see :func:`misfits`.
    """
    with watched(policy):
        setup = set_up(machine, workload, policy, workers=workers, pinning=pinning, seed=seed)
        executed = setup.view.workload
        first = executed.graph if executed.init is None else executed.init
        plan, resolved = setup.planned(policy, first)
        return misfits(setup, policy, plan, resolved, first)


def stated(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    *,
    workers: int | None = None,
    pinning: str = "scatter",
) -> tuple[str, ...]:
    """Return what a policy needs and does not find, without asking it for any decision.

    Parameters
    ----------
    machine, workload, policy, workers, pinning
        As for :func:`simsched.engine.run.simulate`.
    """
    placed = machine.place_workers(workers, pinning)
    threads, _ = threads_for(machine, workload, placed, chooses=policy.chooses_processors)
    machine = machine_of_workers(machine, threads)
    view = view_before(machine, workload, threads, policy=policy)
    return Policy.fits(policy, view)


def misfits(
    setup: Setup, policy: Policy, plan: Plan, resolved: ResolvedPlan, graph: TaskGraph
) -> tuple[str, ...]:
    """Return why a run says little of its policy.

    Parameters
    ----------
    setup : Setup
        The run before its first event.
    policy : Policy
        Whose decisions the run is about.
    plan, resolved : Plan, ResolvedPlan
        The first one of the run.
    graph : TaskGraph
        What it is for: the initialisation or the first iteration.

    Returns
    -------
    tuple of str
        Reasons, none where the policy fits.
    """
    known = None if setup.ground is None else setup.ground.planned.get(graph)
    if known is not None and known.resolved is not resolved:
        known = None  # of another run, meanwhile
    if known is not None and known.misfits is not None:
        return known.misfits
    with said_of("fits"):
        said: object = policy.fits(replace(setup.view, machine=setup.machine))
        if not isinstance(said, tuple | list) or not all(isinstance(one, str) for one in said):
            raise PolicyError(f"found {told(said)}, accepted a tuple of texts")
    found = (*said, *dict.fromkeys(_derived(setup, policy, plan, resolved, graph)))
    if known is not None:
        known.misfits = found
    return found


def _derived(
    setup: Setup, policy: Policy, plan: Plan, resolved: ResolvedPlan, graph: TaskGraph
) -> Iterator[str]:
    if setup.left_out:
        kinds = ", ".join(setup.left_out)
        yield f"leaves out the workers on {kinds}: they cannot execute every task"
    if any(_decides(policy, hook) for hook in MOVING_HOOKS):
        return
    if plan.group_of is None and plan.instance_of is None and not plan.devices:
        yield from _never_called(policy, setup.view.workload)
    able = _Search(setup, plan, resolved, graph).reached()
    most = int(resolved.active.sum())
    chosen = able.sum() > 1 and bool((resolved.instance_of >= 0).all())  # by a schedule
    if able.sum() < most and not chosen and able.sum() < width(graph, most):
        yield f"no task ever reaches {int((~able).sum())} of {len(able)} workers"
    for device in plan.devices:
        groups = [n for n, group in enumerate(plan.pool_groups) if group.device == device.name]
        if not np.isin(resolved.group_of, groups).any():
            yield f"no task enters its device {device.name}"


def _never_called(policy: Policy, workload: Workload) -> Iterator[str]:
    """Yield when a policy decides whose plan decides nothing, if a program never gets there."""
    graphs = [graph for graph in (workload.init, workload.graph) if graph is not None]
    if _decides(policy, "on_iteration") and len(graphs) - 1 + workload.iterations == 1:
        yield "decides between iterations: found one iteration"
    if _decides(policy, "on_spawn") and not any(len(graph.child) for graph in graphs):
        yield "decides when tasks are created: found none that create others"


def _decides(policy: Policy, hook: str) -> bool:
    """Return whether a policy defines a hook, and not to observe only: to return None."""
    if is_compiled(type(policy), hook):
        return hook not in OBSERVING
    returned = getattr(getattr(type(policy), hook), "__annotations__", {}).get("return", ...)
    return policy.overrides(hook) and returned not in (None, "None")


def width(graph: TaskGraph, most: int) -> int:
    """Return how many tasks without children have equally long chains of tasks before them.

    That is the largest number of any length; the first that is at least `most`, if there is one.
    Lengths beyond `MAX_STEPS` are not looked at.

    Parameters
    ----------
    graph : TaskGraph
        Whose tasks they are.
    most : int
        Larger numbers need not be told apart.
    """
    n, widest = graph.n_tasks, 0
    is_leaf = np.diff(graph.child_ptr) == 0
    awaited = np.bincount(graph.succ, minlength=n) + (graph.parent >= 0)
    front = np.flatnonzero(awaited == 0)
    for _ in range(MAX_STEPS):
        if not len(front) or widest >= most:
            break
        widest = max(widest, int(is_leaf[front].sum()))
        after = np.append(
            _rows(graph.succ_ptr, graph.succ, front), _rows(graph.child_ptr, graph.child, front)
        )
        awaited -= np.bincount(after, minlength=n)
        front = np.unique(after[awaited[after] == 0])
    return widest


def _rows(ptr: IntArray, values: IntArray, chosen: IntArray) -> IntArray:
    """Return the values of some rows, one row after the other."""
    length = ptr[chosen + 1] - ptr[chosen]
    begin = np.repeat(ptr[chosen] - np.append(0, np.cumsum(length))[:-1], length)
    return values[begin + np.arange(len(begin))]


class _Search:
    """Which workers find tasks that enter pools as a plan says."""

    def __init__(self, setup: Setup, plan: Plan, resolved: ResolvedPlan, graph: TaskGraph) -> None:
        problem = setup.problem
        self._plan, self._resolved, self._graph = plan, resolved, graph
        self._homes = homes_of(problem)
        counts = problem.instances()
        self._scopes = [group.scope for group in plan.pool_groups]
        self._filled = [np.zeros(counts[scope], bool) for scope in self._scopes]

    def reached(self) -> BoolArray:
        """Return which workers find a task in some pool sooner or later; shape (n_workers,)."""
        graph, group, sent = self._graph, self._resolved.group_of, self._resolved.instance_of
        for number, filled in enumerate(self._filled):
            filled[sent[(group == number) & (sent >= 0)]] = True
        loose, is_root = sent < 0, graph.parent < 0
        first = np.flatnonzero(self._resolved.active)
        if self._resolved.roots == ROOTS.index("first"):
            first = first[:1]
        self._fill(group[loose & is_root], first)
        follows = np.ones(graph.n_tasks, bool) if len(graph.succ) else ~is_root
        left = group[loose & follows]
        if len(graph.child):  # others may go on with what has created tasks
            left = np.append(left, 0)
        able = self._able()
        while True:
            self._fill(left, np.flatnonzero(able))
            more = able | self._able()
            if (more == able).all():
                return able
            able = more

    def _fill(self, groups: IntArray, workers: IntArray) -> None:
        """Let tasks enter the workers' own pools of some groups."""
        for group in np.unique(groups).tolist():
            own = self._homes.own[self._scopes[group]][workers]
            self._filled[group][own[own >= 0]] = True

    def _able(self) -> BoolArray:
        """Return which active workers have a step that leads to a pool in which tasks are."""
        order = self._resolved.order
        able = np.zeros(len(self._resolved.active), bool)
        for number, step in enumerate(self._plan.acquire):
            group = int(order.step_group[number])
            scope, filled = self._scopes[group], self._filled[group]
            own, domain = self._homes.own[scope], self._homes.domain[scope]
            mine = (own >= 0) & filled[own]
            listed = int(order.victims.step_list[number])
            if step.where == "own":
                able |= mine
            elif listed >= 0:
                ptr = order.victims.list_ptr[listed * len(able) :][: len(able) + 1]
                # Other lists are of instances of other groups.
                victims = order.victims.list_instance[ptr[0] : ptr[-1]]
                held = np.append(0, np.cumsum(filled[victims]))
                able |= held[ptr[1:] - ptr[0]] > held[ptr[:-1] - ptr[0]]
            else:
                near = np.bincount(domain[filled], minlength=self._homes.worker_domain.max() + 1)
                own_near = mine & (domain[own] == self._homes.worker_domain)
                beside = near[self._homes.worker_domain] - own_near
                others = filled.sum() - mine - beside
                found = {"same_domain": beside, "other_domains": others}
                able |= found.get(step.where, beside + others) > 0
        able &= self._resolved.active.astype(bool)
        return able
