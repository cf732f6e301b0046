"""What policies plan, as arrays of codes for backends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.plan import BY_PRIORITY, IN_ORDER, ResolvedOrder, ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.interface.runtime import ResolvedRuntime
from simsched.engine.replication import refuse_copied
from simsched.engine.victims import Homes, list_victims
from simsched.files.errors import ModelError, PolicyError
from simsched.files.units import seconds_to_ps
from simsched.policy.contract.blocks import THREAD_GROUPS
from simsched.policy.contract.plan import CONDITIONS, ROOTS, SCOPES, TAKES, WHERES, Choice, Plan
from simsched.policy.contract.plan_checks import groups_of, validate_acquire, validate_plan
from simsched.policy.contract.runtime import PARTS, RULES, Runtime
from simsched.workload.builder import Adjacency, adjacency
from simsched.workload.graph import TaskGraph

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]


def resolve_plan(plan: Plan, graph: TaskGraph, problem: Problem) -> ResolvedPlan:
    """Return the plan as arrays; refuse one that does not fit the graph or the machine."""
    validate_plan(plan, graph, problem.instances(), problem.n_workers, problem.n_nodes)
    _refuse_combinations(plan, graph, problem)
    n, counter_group = graph.n_tasks, plan.counter_group
    devices = [device.name for device in plan.devices]
    held = _held(graph) if plan.awaits_successors else adjacency((), (), n)
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
        order=_order(plan, problem, active),
        spawn_order=np.full(n, plan.spawn_order, np.uint8),
        group_of=groups_of(plan, n),
        instance_of=_instance_of(plan, graph),
        counter_group=np.full(n, -1 if counter_group is None else counter_group, np.int32),
        active=active.astype(np.uint8),
        roots=ROOTS.index(plan.roots),
        monitor_period_ps=0 if monitor is None else int(monitor.period_ps),
        sample_offset_bytes=np.zeros((graph.n_blocks, 0), np.int64)
        if monitor is None
        else np.ascontiguousarray(monitor.sample_offset_bytes, np.int64),
        balance_period_ps=0 if balancing is None else seconds_to_ps(balancing.scan_period_s),
        balance_page_bytes=1 if balancing is None else int(balancing.page_bytes),
        balance_faults=1 if balancing is None else int(balancing.faults_to_move),
        balance_group=0 if balancing is None else THREAD_GROUPS.index(balancing.thread_group),
        held_ptr=held.ptr,
        held=held.target,
        times_tasks=bool(plan.times_tasks),
        runtime=None if plan.runtime is None else _runtime(plan.runtime),
    )


def _runtime(runtime: Runtime) -> ResolvedRuntime:
    """Return a runtime with codes for names."""
    expected, draw, theft, buckets = (getattr(runtime, part) for part in PARTS)
    return ResolvedRuntime(
        rule=tuple(RULES).index(runtime.rule),
        main_space=int(runtime.main_space),
        by_priority=bool(runtime.by_priority),
        pipeline=int(runtime.pipeline),
        push_ps=int(runtime.push_ps),
        look_ps=int(runtime.look_ps),
        fetch_ps=int(runtime.fetch_ps),
        release_ps=int(runtime.release_ps),
        members=_array(runtime.members, np.int32),
        is_device=_array(runtime.is_device, np.uint8),
        node=_array(runtime.node, np.int32),
        row=_array(runtime.row, np.int32),
        able=_array(runtime.able, np.uint8),
        space=_array(runtime.space, np.int32),
        alpha=float(expected.alpha) if expected else 0.0,
        beta=float(expected.beta) if expected else 0.0,
        data_aware=bool(expected and expected.data_aware),
        pops_ready=bool(expected and expected.pops_ready),
        cost_ps=_array(expected.cost_ps, np.int64) if expected else None,
        latency_ps=_array(expected.latency_ps, np.int64) if expected else None,
        byte_ps=_array(expected.byte_ps, np.float64) if expected else None,
        most_queued=int(expected.most_queued) if expected else 0,
        weight=_array(draw.weight, np.float64) if draw else None,
        draws=draw.rng.bit_generator if draw else None,
        in_turn=bool(theft and theft.in_turn),
        victims=_array(theft.victims, np.int32) if theft else None,
        n_likes=int(buckets.like.max()) + 1 if buckets else 0,
        ordering_interval=int(buckets.ordering_interval) if buckets else 0,
        min_samples=int(buckets.min_samples) if buckets else 0,
        max_taken=int(buckets.max_taken) if buckets else 0,
        like=_array(buckets.like, np.int32) if buckets else None,
    )


def _array(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Return an array as kernels read it."""
    return np.ascontiguousarray(array, dtype)


def _held(graph: TaskGraph) -> Adjacency:
    """Return for each task the predecessors that wait for its creation.

    They are all but its creator, the creator of that, and so on, which come before it in any case.
    """
    before = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    waits, above = np.ones(len(before), bool), graph.parent[graph.succ]
    while (above >= 0).any():
        waits &= above != before
        above = np.where(above >= 0, graph.parent[above], -1)
    return adjacency(graph.succ[waits], before[waits], graph.n_tasks)


def _refuse_combinations(plan: Plan, graph: TaskGraph, problem: Problem) -> None:
    """Raise where plan, graph and machine each are right but do not go together."""
    balancing = plan.balancing
    if balancing is not None and problem.copies_data:
        refuse_copied("balancing", "moves pages to whoever uses them")
    if balancing is not None and problem.replica.size:
        raise PolicyError("balancing: found some, accepted none where blocks have replicas")
    fail = (problem.change_speed == 0.0).any()
    if fail and (len(graph.child) or problem.copies_data):
        raise ModelError(
            "machine: found cores that fail, accepted none with tasks that spawn others or where "
            "data are copied"
        )
    if fail and plan.runtime is not None:
        raise ModelError(
            "machine: found cores that fail, accepted none under a task runtime: it gives tasks to "
            "workers that have failed"
        )
    if fail and plan.active_workers is not None:
        failing = problem.change_core[problem.change_speed == 0.0].any(axis=0)
        used = np.flatnonzero(plan.active_workers)
        if len(used) < problem.n_workers and failing[problem.worker_core[used]].all():
            raise ModelError(
                f"machine: found cores that fail, all {len(used)} whose workers the policy lets "
                "take tasks, accepted one that stays: no other worker takes over"
            )
    if graph.access_after is not None and problem.copies_data:
        raise ModelError("graph: access_after: accepted none where data are copied")
    if balancing is not None and problem.touch_order.shape[1] == 0:
        raise PolicyError("balancing: found a touch order without nodes, accepted some")


def resolve_order(plan: Plan, resolved: ResolvedPlan, problem: Problem) -> ResolvedPlan:
    """Return a resolved plan with the acquire order of another plan that has the same pools."""
    validate_acquire(plan, problem.instances(), problem.n_workers)
    return replace(resolved, order=_order(plan, problem, resolved.active.astype(bool)))


def _order(plan: Plan, problem: Problem, active: NDArray[np.bool_]) -> ResolvedOrder:
    names, steps = [group.name for group in plan.pool_groups], plan.acquire
    when = [sum(1 << CONDITIONS.index(c) for c in set(step.when)) for step in steps]
    return ResolvedOrder(
        step_group=np.array([names.index(step.group) for step in steps], np.int32),
        step_where=np.array([WHERES.index(step.where) for step in steps], np.int32),
        step_take=np.array([TAKES.index(step.take) for step in steps], np.int32),
        step_when=np.array(when, np.int32),
        step_least=np.array([step.choice.least for step in steps], np.int32),
        step_attempts=np.array([step.choice.attempts for step in steps], np.int32),
        step_rank=tuple(_table(step.choice, "rank") for step in steps),
        step_weight=tuple(_table(step.choice, "weight") for step in steps),
        victims=list_victims(plan, homes_of(problem), active),
    )


def homes_of(problem: Problem) -> Homes:
    """Return what belongs where, as far as the search for work is concerned.

    Parameters
    ----------
    problem : Problem
        Whose workers and pools they are.
    """
    sockets = problem.domain_socket.tolist()
    return Homes(
        worker_domain=problem.worker_domain,
        own={
            "worker": np.arange(problem.n_workers),
            "domain": problem.worker_domain,
            "socket": problem.domain_socket[problem.worker_domain],
            "machine": np.zeros(problem.n_workers, np.int32),
            "class": np.full(problem.n_workers, -1, np.int32),
        },
        domain={
            "worker": problem.worker_domain,
            "domain": np.arange(problem.n_domains),
            "socket": np.array([sockets.index(s) for s in range(max(sockets) + 1)]),
            "machine": np.zeros(1, np.int32),
            "class": np.zeros(problem.n_classes, np.int32),
        },
    )


def _instance_of(plan: Plan, graph: TaskGraph) -> Int32Array:
    """Return the pool instance of each task: what the plan says, or its class's."""
    n = graph.n_tasks
    instance = np.full(n, -1, np.int32)
    if plan.instance_of is not None:
        instance = plan.instance_of.astype(np.int32)
    by_class = np.array([group.scope == "class" for group in plan.pool_groups])
    if by_class.any():
        open_ = by_class[groups_of(plan, n)] & (instance < 0)
        instance[open_] = graph.task_class[open_]
    return instance


def _table(choice: Choice, name: str) -> Int32Array | None:
    """Return the ranks or weights of a choice that has them."""
    array = getattr(choice, name, None)
    return None if array is None else np.ascontiguousarray(array, np.int32)
