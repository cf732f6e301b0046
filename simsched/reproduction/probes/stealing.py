"""What stealing policies promise whatever a program costs: bounds, who works, what is measured.

These probes make small runs, of which they report counts and whether bounds hold, never a time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.numa.cab import ABOVE, SUBTREE, BiTierStealing, CabState
from simsched.policy.algorithms.numa.cab_gto import CabGtoProfile
from simsched.policy.algorithms.work_stealing.hws import GLOBAL, Hws
from simsched.policy.contract.base import PARENT_FIRST, Counters, PlanView, Update, view_before
from simsched.policy.parts.footprint import ROOT, UPPER, Tiers, exact_footprint, private_level
from simsched.policy.parts.subgraphs import levels, subtree_sums
from simsched.reproduction.probes import machine_of, probe, workload_of
from simsched.reproduction.probes._events import each_event, events_of, run_of
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.spawn_tree import equal_parts, grow

UNIT_OPS = 1e3  #: operations of a task: 1 us on synthetic machines
UNIT_PS = 1_000_000
SHAPES = ((2, 2), (4, 2), (4, 4))  #: sockets and cores of each
LEAVES = (16, 64, 256)
COLUMNS = ("kind", "task", "arg0", "arg1")


@probe("most_frames")
def most_frames(*, policy: str, depth: int = 400) -> float:
    """Return the most tasks that one worker nests in a chain of spawns, each with a leaf beside it.

    Parameters
    ----------
    policy : str
        The policy; it runs on one core, where nobody takes a part of the chain away.
    depth : int
        Length of the chain.
    """
    above = np.arange(depth)
    tops = 2 * above  # the chain; odd numbers are the leaves
    tree = adjacency(np.repeat(tops, 2), np.stack([tops + 1, tops + 2], 1).ravel(), 2 * depth + 1)
    frames = {0: 1}
    run = _run(policy, _unit(tree, 2 * depth + 1), 1, 1)
    for kind, task, child, order in each_event(run, *COLUMNS):
        if kind == EventKind.SPAWN:
            frames[child] = 1 if order == PARENT_FIRST else frames[task] + 1
        elif kind == EventKind.STEAL:
            frames[task] = 1
    return float(max(frames.values()))


@probe("most_fresh_tasks")
def most_fresh_tasks(*, policy: str, children: int = 400) -> float:
    """Return the most tasks that are created parent first and not started, of a task's children.

    Parameters
    ----------
    policy : str
        The policy; it runs on two sockets of two cores.
    children : int
        Number of children.
    """
    tree = adjacency([0] * children, range(1, children + 1), children + 1)
    fresh: set[int] = set()
    most = 0
    run = _run(policy, _unit(tree, children + 1), 2, 2)
    for kind, task, child, order in each_event(run, *COLUMNS):
        if kind == EventKind.SPAWN and order == PARENT_FIRST:
            fresh.add(child)
            most = max(most, len(fresh))
        elif kind == EventKind.ACQUIRE:
            fresh.discard(task)
    return float(most)


@probe("global_tasks")
def global_tasks(*, limit: int, machine: str) -> float:
    """Return how many tasks of a program with a full binary recursion are global under HWS.

    Parameters
    ----------
    limit : int
        Highest level of global tasks; the program has level 0, the root of the recursion level 1.
    """
    model = machine_of(machine)
    recursion = grow(2 ** (limit + 2), equal_parts(2, 2))
    parent = np.repeat(np.arange(recursion.n_tasks), np.diff(recursion.children.ptr))
    tree = adjacency(
        np.append(0, parent + 1), np.append(1, recursion.children.target + 1), recursion.n_tasks + 1
    )
    workload = _unit(tree, recursion.n_tasks + 1)
    view = view_before(model, workload)
    group_of = Hws(limit=limit, root_level=0).plan(view, None, workload.graph).group_of
    assert group_of is not None
    return float(np.count_nonzero(group_of == GLOBAL))


@probe("exceeded_bounds")
def exceeded_bounds(*, policy: str, bound: str) -> float:
    """Return in how many of nine small cases a policy needs more time or space than its bound.

    Parameters
    ----------
    policy : str
        A variant of CAB, which has bounds for two tiers, or any other policy, which is held to
        those of random stealing.
    bound : {"time", "space"}
        The bound: with unit tasks of full binary trees, and without any costs of scheduling.
    """
    if bound not in ("time", "space"):
        raise ConfigurationError(unknown_name("bound", bound, ("time", "space")))
    exceeded = 0
    for sockets, cores in SHAPES:
        for leaves in LEAVES:
            workload = _binary(leaves)
            run = _run(policy, workload, sockets, cores)
            tiers = _tiers(policy, run)
            if bound == "time":
                found: float = run.summary.makespan_ps / UNIT_PS
                most = _time_bound(workload.graph, tiers, sockets, cores)
            else:
                serial = _alive(_run("cilk_a", workload, 1, 1))
                found = _alive(run)
                most = max(0 if tiers is None else len(tiers.roots), sockets * cores) * serial
            exceeded += found > most
    return float(exceeded)


@probe("workers_in_subtrees")
def workers_in_subtrees(
    *,
    policy: str,
    machine: str,
    workload: str,
    what: str,
    parameters: dict[str, Any] | None = None,
) -> float:
    """Return how many sockets, or workers of a socket at most, start tasks of CAB's subtrees.

    Parameters
    ----------
    policy, machine, workload : str
        A variant of CAB, and where it runs what.
    what : {"sockets", "workers_per_socket"}
        What is counted.
    """
    if what not in ("sockets", "workers_per_socket"):
        raise ConfigurationError(unknown_name("what", what, ("sockets", "workers_per_socket")))
    run = run_of(machine, workload, policy, parameters)
    tiers = _tiers(policy, run)
    if tiers is None:
        raise ConfigurationError(f"policy {policy}: found no subtrees in {workload}")
    last = run.workload.iterations
    domain = run.machine.thread_domain[run.worker_thread]
    events = events_of(run)
    chosen = (events["kind"] == EventKind.TASK_START) & (events["iteration"] == last)
    below = tiers.of_task[events["task"][chosen]] != UPPER
    per_socket = np.bincount(domain[np.unique(events["worker"][chosen][below])])
    return float(np.count_nonzero(per_socket) if what == "sockets" else per_socket.max())


@probe("upper_tier_percent")
def upper_tier_percent(
    *, policy: str, machine: str, workload: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return the share of the workers' time, in percent, that CAB spends above its subtrees.

    Parameters
    ----------
    policy, machine, workload : str
        A variant of CAB, and where it runs what.
    """
    run = run_of(machine, workload, policy, parameters)
    tiers = _tiers(policy, run)
    if tiers is None:
        return 0.0
    begins = (EventKind.TASK_START, EventKind.TASK_RESUME)
    ends = (EventKind.TASK_SUSPEND, EventKind.TASK_END)
    total, since = 0, {}
    for time, kind, task, iteration in each_event(run, "time_ps", "kind", "task", "iteration"):
        if iteration == 0 or task < 0 or tiers.of_task[task] != UPPER:
            continue
        if kind in begins:
            since[task] = time
        elif kind in ends and task in since:
            total += time - since.pop(task)
    length = run.summary.iteration_end_ps - run.summary.iteration_start_ps
    real = int(length[run.summary.iteration > 0].sum())
    return 100.0 * total / (real * len(run.worker_thread))


@probe("root_footprint_bytes")
def root_footprint_bytes(
    *, machine: str, workload: str, measured: bool, parameters: dict[str, Any] | None = None
) -> float:
    """Return the data that a program's first root involves: as CAB's counters say, or exactly.

    Parameters
    ----------
    machine, workload : str
        What is profiled where.
    measured : bool
        Whether misses of private caches in iteration 1 are added up; otherwise the truth.
    parameters : dict
        Of the workload; `iterations` is 2.
    """
    built = workload_of(workload, {**(parameters or {}), "iterations": 2})
    root = int(np.flatnonzero(built.graph.parent < 0)[0])
    if not measured:
        return float(exact_footprint(built.graph)[root])
    model = machine_of(machine)
    missing: list[NDArray[np.int64]] = []

    class Profiler(CabGtoProfile):
        """CAB of which the counts are kept."""

        def on_iteration(
            self, view: PlanView, state: CabState, counters: Counters
        ) -> Update | None:
            missing.append(counters.group_missing_bytes)
            return super().on_iteration(view, state, counters)

    simulate(model, built, Profiler(spawn_s=0.0, profile_s=0.0))
    own = missing[-1][:, private_level(model) or 0]
    return float(subtree_sums(built.graph, own)[root])


@probe("lock_wait_percent")
def lock_wait_percent(
    *, policy: str, machine: str, workload: str, parameters: dict[str, Any] | None = None
) -> float:
    """Return the percentage of the workers' time that waits for CAB's locks between sockets.

    Parameters
    ----------
    policy, machine, workload : str
        A variant of CAB, and where it runs what; of the costs of scheduling only that of holding a
        lock is taken over, so that all that it costs to take a task is the wait for its pool.
    """
    model = machine_of(machine)
    model = replace(model, costs=RuntimeCosts(lock_hold_ps=model.costs.lock_hold_ps))
    built = workload_of(workload, parameters)
    run = simulate(model, built, make_policy(policy), events=True)
    waited = sum(
        cost_ps
        for kind, _, pool, cost_ps in each_event(run, *COLUMNS)
        if kind == EventKind.ACQUIRE and pool >> 32 in (ABOVE, SUBTREE)
    )
    return 100 * waited / (run.summary.makespan_ps * len(run.worker_thread))


def _unit(children: Any, n_tasks: int) -> Workload:
    """Return a spawn tree of unit tasks."""
    return Workload("unit", build_graph(np.full(n_tasks, UNIT_OPS), children=children))


def _binary(leaves: int) -> Workload:
    """Return a full binary tree of unit tasks."""
    tree = grow(leaves, equal_parts(2, 2))
    return _unit(tree.children, tree.n_tasks)


def _run(policy: str, workload: Workload, sockets: int, cores: int) -> Run:
    """Return a run without costs of scheduling."""
    machine = make_machine(domains=sockets, cores_per_domain=cores)
    return simulate(machine, workload, make_policy(policy), events=True)


def _alive(run: Run) -> int:
    """Return the most tasks that have been created and have not ended."""
    kind = events_of(run)["kind"]
    change = (kind == EventKind.SPAWN).astype(int) - (kind == EventKind.TASK_END)
    return 1 + int(np.cumsum(change).max())


def _tiers(policy: str, run: Run) -> Tiers | None:
    """Return the tiers of CAB in a run, None for other policies and without tiers."""
    model = make_policy(policy)
    if not isinstance(model, BiTierStealing):
        return None
    view = view_before(run.machine, run.workload, run.worker_thread)
    return model.tiers(view, run.workload.graph)


def _time_bound(graph: TaskGraph, tiers: Tiers | None, sockets: int, cores: int) -> float:
    """Return the bound in units: of random stealing, or of two tiers (Eq. 3.7, 3.15)."""
    if tiers is None:
        path = int(_longest(graph, np.ones(graph.n_tasks, bool)).max())
        return graph.n_tasks / (sockets * cores) + path
    upper = tiers.of_task == UPPER
    subtrees = _longest(graph, ~upper)[tiers.of_task == ROOT]
    return float(
        upper.sum() / sockets
        + (~upper).sum() / (sockets * cores)
        + subtrees.sum() / sockets
        + _longest(graph, upper).max()
        + subtrees.max()
    )


def _longest(graph: TaskGraph, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the longest chain of chosen tasks down from each task, in tasks."""
    longest = chosen.astype(np.int64)
    for tasks in reversed(levels(graph)[1:]):
        below = np.zeros(graph.n_tasks, np.int64)
        np.maximum.at(below, graph.parent[tasks], longest[tasks])
        longest += below
    return longest
