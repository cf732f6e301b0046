"""What policies plan, as arrays of codes for backends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.problem import Problem
from simsched.engine.replication import refuse_copied
from simsched.engine.victims import VictimLists, list_victims
from simsched.files.errors import PolicyError
from simsched.machine.paths import PER_PS
from simsched.policy.contract.blocks import THREAD_GROUPS
from simsched.policy.contract.plan import CONDITIONS, ROOTS, SCOPES, TAKES, WHERES, Plan
from simsched.policy.contract.plan_checks import validate_acquire, validate_plan
from simsched.workload.graph import TaskGraph

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]

IN_ORDER, BY_PRIORITY = 1, 2  #: what comes first of the data that tasks in a pool group want


@dataclass(frozen=True, eq=False)
class ResolvedPlan:
    """A plan with names replaced by codes, defaults filled in.

    Parameters
    ----------
    group_scope : ndarray of int32, shape (n_groups,)
        Index into SCOPES.
    group_locked, group_marks_active : ndarray of uint8, shape (n_groups,)
    group_prefetches : ndarray of uint8, shape (n_groups,)
        0, IN_ORDER or BY_PRIORITY.
    group_device : ndarray of int32, shape (n_groups,)
        Device that tasks from the group occupy; -1 for none.
    device_capacity : ndarray of int32, shape (n_devices,)
    step_group, step_where, step_take : ndarray of int32, shape (n_steps,)
        Group index; index into WHERES; index into TAKES.
    step_when : ndarray of int32, shape (n_steps,)
        Bit i set when condition CONDITIONS[i] is required.
    step_batch, step_least, step_attempts : ndarray of int32, shape (n_steps,)
        Most entries taken in one go; fewest entries of an instance that is not empty.
    step_rank, step_weight : tuple of ndarray of int32 or None, one per step
        Shape (n_workers, n_instances), as in the plan.
    victims : VictimLists
        The candidates of the steps with ranks or weights, in the order in which they are tried.
    spawn_order : ndarray of uint8, shape (n_tasks,)
    group_of : ndarray of int8, shape (n_tasks,)
    instance_of : ndarray of int32, shape (n_tasks,)
    counter_group : ndarray of int32, shape (n_tasks,)
    n_counter_groups : int
    active : ndarray of uint8, shape (n_workers,)
    roots : int
        Index into ROOTS.
    monitor_period_ps : int
        0 without a monitor.
    sample_offset_bytes : ndarray of int64, shape (n_blocks, n_samples)
    balance_period_ps, balance_page_bytes, balance_faults, balance_group : int
        Page balancing; the period is 0 without, the group an index into THREAD_GROUPS.
    times_tasks : bool
    """

    group_scope: Int32Array
    group_locked: NDArray[np.uint8]
    group_marks_active: NDArray[np.uint8]
    group_prefetches: NDArray[np.uint8]
    group_device: Int32Array
    device_capacity: Int32Array
    step_group: Int32Array
    step_where: Int32Array
    step_take: Int32Array
    step_when: Int32Array
    step_batch: Int32Array
    step_least: Int32Array
    step_attempts: Int32Array
    step_rank: tuple[Int32Array | None, ...]
    step_weight: tuple[Int32Array | None, ...]
    victims: VictimLists
    spawn_order: NDArray[np.uint8]
    group_of: NDArray[np.int8]
    instance_of: Int32Array
    counter_group: Int32Array
    n_counter_groups: int
    active: NDArray[np.uint8]
    roots: int
    monitor_period_ps: int
    sample_offset_bytes: Int64Array
    balance_period_ps: int
    balance_page_bytes: int
    balance_faults: int
    balance_group: int
    times_tasks: bool


def resolve_plan(plan: Plan, graph: TaskGraph, problem: Problem) -> ResolvedPlan:
    """Return the plan as arrays.

    Raises
    ------
    PolicyError
        When the plan does not fit the graph or the machine.
    """
    validate_plan(plan, graph, problem.instances(), problem.n_workers)
    _refuse_combinations(plan, graph, problem)
    n = graph.n_tasks
    devices = [device.name for device in plan.devices]
    order = plan.spawn_order
    counter_group = (
        np.full(n, -1, np.int32)
        if plan.counter_group is None
        else plan.counter_group.astype(np.int32)
    )
    active = (
        np.ones(problem.n_workers, bool) if plan.active_workers is None else plan.active_workers
    )
    monitor, balancing = plan.monitor, plan.balancing
    return ResolvedPlan(
        group_scope=np.array([SCOPES.index(group.scope) for group in plan.pool_groups], np.int32),
        group_locked=np.array([group.locked for group in plan.pool_groups], np.uint8),
        group_marks_active=np.array([group.marks_active for group in plan.pool_groups], np.uint8),
        group_prefetches=np.array(
            [
                group.prefetches and (BY_PRIORITY if group.prefetches_by_priority else IN_ORDER)
                for group in plan.pool_groups
            ],
            np.uint8,
        ),
        group_device=np.array(
            [-1 if g.device is None else devices.index(g.device) for g in plan.pool_groups],
            np.int32,
        ),
        device_capacity=np.array([device.capacity for device in plan.devices], np.int32),
        **_steps(plan, problem, active),
        spawn_order=np.full(n, order, np.uint8)
        if isinstance(order, int)
        else order.astype(np.uint8),
        group_of=np.zeros(n, np.int8) if plan.group_of is None else plan.group_of.astype(np.int8),
        instance_of=_instance_of(plan, graph),
        counter_group=counter_group,
        n_counter_groups=int(counter_group.max(initial=-1)) + 1,
        active=active.astype(np.uint8),
        roots=ROOTS.index(plan.roots),
        monitor_period_ps=0 if monitor is None else monitor.period_ps,
        sample_offset_bytes=np.zeros((graph.n_blocks, 0), np.int64)
        if monitor is None
        else np.ascontiguousarray(monitor.sample_offset_bytes, np.int64),
        balance_period_ps=0 if balancing is None else round(balancing.scan_period_s / PER_PS),
        balance_page_bytes=1 if balancing is None else balancing.page_bytes,
        balance_faults=1 if balancing is None else balancing.faults_to_move,
        balance_group=0 if balancing is None else THREAD_GROUPS.index(balancing.thread_group),
        times_tasks=plan.times_tasks,
    )


def _refuse_combinations(plan: Plan, graph: TaskGraph, problem: Problem) -> None:
    """Raise where plan, graph and machine each are right but do not go together."""
    balancing = plan.balancing
    if balancing is not None and problem.copies_data:
        refuse_copied("moves pages to whoever uses them (plan: balancing)")
    if balancing is not None and problem.replica.size:
        raise PolicyError("plan: balancing: accepted none where blocks have replicas")
    if (problem.change_speed == 0.0).any() and (len(graph.child) or problem.copies_data):
        raise PolicyError(
            "machine: found cores that fail, accepted none with tasks that spawn others or where "
            "data are copied"
        )
    if graph.access_after is not None and problem.copies_data:
        raise PolicyError("graph: access_after: accepted none where data are copied")
    if balancing is not None and problem.touch_order.shape[1] == 0:
        raise PolicyError("plan: balancing: found a touch order without nodes, accepted some")


def resolve_order(plan: Plan, resolved: ResolvedPlan, problem: Problem) -> ResolvedPlan:
    """Return a resolved plan with the acquire order of another plan that has the same pools.

    Raises
    ------
    PolicyError
        When the order does not fit the pools or the machine.
    """
    validate_acquire(plan, problem.instances(), problem.n_workers)
    return replace(resolved, **_steps(plan, problem, resolved.active.astype(bool)))


def _steps(plan: Plan, problem: Problem, active: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the fields of a resolved plan that describe its acquire order."""
    names, steps = [group.name for group in plan.pool_groups], plan.acquire
    when = [sum(1 << CONDITIONS.index(c) for c in step.when) for step in steps]
    return {
        "step_group": np.array([names.index(step.group) for step in steps], np.int32),
        "step_where": np.array([WHERES.index(step.where) for step in steps], np.int32),
        "step_take": np.array([TAKES.index(step.take) for step in steps], np.int32),
        "step_when": np.array(when, np.int32),
        "step_batch": np.array([step.batch for step in steps], np.int32),
        "step_least": np.array([step.least for step in steps], np.int32),
        "step_attempts": np.array([step.attempts for step in steps], np.int32),
        "step_rank": tuple(_int32(step.rank) for step in steps),
        "step_weight": tuple(_int32(step.weight) for step in steps),
        "victims": list_victims(plan, problem.homes(), active),
    }


def _instance_of(plan: Plan, graph: TaskGraph) -> Int32Array:
    """Return the pool instance of each task: what the plan says, or its class's."""
    n = graph.n_tasks
    instance = np.full(n, -1, np.int32)
    if plan.instance_of is not None:
        instance = plan.instance_of.astype(np.int32)
    by_class = np.array([group.scope == "class" for group in plan.pool_groups])
    if by_class.any():
        group_of = np.zeros(n, np.int8) if plan.group_of is None else plan.group_of
        open_ = by_class[group_of] & (instance < 0)
        instance[open_] = graph.task_class[open_]
    return instance


def _int32(array: Int32Array | None) -> Int32Array | None:
    """Return a contiguous array of int32."""
    return None if array is None else np.ascontiguousarray(array, np.int32)
