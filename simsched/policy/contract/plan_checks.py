"""Checks of plans against the graph and the machine."""

from __future__ import annotations

import numpy as np

from simsched.files.errors import PolicyError, unknown_name
from simsched.policy.contract.blocks import check_balancing
from simsched.policy.contract.plan import (
    CONDITIONS,
    ROOTS,
    SCOPES,
    TAKES,
    WHERES,
    AcquireStep,
    Int32Array,
    Plan,
    Ranked,
    Uniform,
    Weighted,
)
from simsched.workload.graph import TaskGraph

MAX_INT32 = 2**31 - 1


def validate_plan(plan: Plan, graph: TaskGraph, instances: dict[str, int], n_workers: int) -> None:
    """Check a plan against the graph and the machine."""
    _validate_groups(plan)
    _validate_devices(plan, graph)
    validate_acquire(plan, instances, n_workers)
    if plan.balancing is not None:
        check_balancing(plan.balancing)
    if plan.roots not in ROOTS:
        raise PolicyError(f"plan: {unknown_name('roots', plan.roots, ROOTS)}")
    for what, array, length in (
        ("spawn_order", plan.spawn_order, graph.n_tasks),
        ("group_of", plan.group_of, graph.n_tasks),
        ("instance_of", plan.instance_of, graph.n_tasks),
        ("counter_group", plan.counter_group, graph.n_tasks),
        ("active_workers", plan.active_workers, n_workers),
    ):
        if array is not None and not isinstance(array, int) and len(array) != length:
            raise PolicyError(f"plan: {what}: found length {len(array)}, accepted {length}")
    _validate_pools(plan, graph, instances)
    if plan.active_workers is not None and not plan.active_workers.any():
        raise PolicyError("plan: active_workers: no worker is active")


def validate_acquire(plan: Plan, instances: dict[str, int], n_workers: int) -> None:
    """Check the acquire order of a plan; parameters and errors as for `validate_plan`."""
    names = [group.name for group in plan.pool_groups]
    scope_of = {group.name: group.scope for group in plan.pool_groups}
    device_of = {group.name: group.device for group in plan.pool_groups}
    for number, step in enumerate(plan.acquire):
        where = f"plan: acquire step {number}"
        for what, value, accepted in (
            ("pool group", step.group, names),
            ("where", step.where, WHERES),
            ("take", step.take, TAKES),
            *(("condition", condition, CONDITIONS) for condition in step.when),
        ):
            if value not in accepted:
                raise PolicyError(f"{where}: {unknown_name(what, value, accepted)}")
        scope = scope_of[step.group]
        if scope == "class" and step.where != "anywhere":
            raise PolicyError(
                f"{where}: found where {step.where!r} for a group with scope 'class', "
                "accepted 'anywhere'"
            )
        if device_of[step.group] is not None and (step.where != "own" or step.when):
            raise PolicyError(
                f"{where}: pool group {step.group} leads to a device, "
                "accepted where 'own' without conditions"
            )
        _validate_choice(where, step, (n_workers, instances[scope]))


def _validate_groups(plan: Plan) -> None:
    """Check the pool groups."""
    names = [group.name for group in plan.pool_groups]
    if not names or plan.pool_groups[0].scope != "worker" or len(set(names)) != len(names):
        raise PolicyError(
            "plan: pool groups need unique names and the first must have scope 'worker'"
        )
    for group in plan.pool_groups:
        if group.scope not in SCOPES:
            raise PolicyError(
                f"plan: pool group {group.name}: {unknown_name('scope', group.scope, SCOPES)}"
            )
        if group.prefetches and group.scope != "worker":
            raise PolicyError(
                f"plan: pool group {group.name}: found prefetches with scope {group.scope!r}, "
                "accepted scope 'worker'"
            )


def _validate_devices(plan: Plan, graph: TaskGraph) -> None:
    """Check devices, who leads to them, and that every task fits on each."""
    names = [device.name for device in plan.devices]
    if len(set(names)) != len(names):
        raise PolicyError("plan: devices need unique names")
    most = 1 if graph.occupancy is None else int(graph.occupancy.max(initial=0))
    for device in plan.devices:
        if not (type(device.capacity) is int and 1 <= device.capacity <= MAX_INT32):
            raise PolicyError(
                f"plan: device {device.name}: capacity: found {device.capacity!r}, "
                f"accepted an integer from 1 to {MAX_INT32}"
            )
        if most > device.capacity:
            task = 0 if graph.occupancy is None else int(graph.occupancy.argmax())
            raise PolicyError(
                f"plan: device {device.name}: task {task} occupies {most}, "
                f"accepted at most its capacity, {device.capacity}"
            )
    scope_of: dict[str, str] = {}
    for group in plan.pool_groups:
        if group.device is None:
            continue
        if group.device not in names:
            what = unknown_name("device", group.device, names)
            raise PolicyError(f"plan: pool group {group.name}: {what}")
        scope = scope_of.setdefault(group.device, group.scope)
        if scope != group.scope:
            raise PolicyError(
                f"plan: device {group.device}: found pool groups with scopes {scope!r} and "
                f"{group.scope!r}, accepted one scope"
            )


def _validate_pools(plan: Plan, graph: TaskGraph, instances: dict[str, int]) -> None:
    """Check that every task's pool exists."""
    group_of = np.zeros(graph.n_tasks, np.int8) if plan.group_of is None else plan.group_of
    if group_of.size and not 0 <= group_of.min() <= group_of.max() < len(plan.pool_groups):
        raise PolicyError(f"plan: group_of: accepted 0 to {len(plan.pool_groups) - 1}")
    if plan.instance_of is not None:
        limits = np.array([instances[group.scope] for group in plan.pool_groups])[group_of]
        bad = np.flatnonzero((plan.instance_of < -1) | (plan.instance_of >= limits))
        if len(bad):
            task = int(bad[0])
            raise PolicyError(
                f"plan: instance_of: task {task}: found {int(plan.instance_of[task])}, "
                f"accepted -1 to {int(limits[task]) - 1}"
            )


def _validate_choice(where: str, step: AcquireStep, shape: tuple[int, int]) -> None:
    """Check how a step chooses an instance."""
    choice = step.choice
    for name, value, least in (("least", choice.least, 1), ("attempts", choice.attempts, 0)):
        if not (type(value) is int and least <= value <= MAX_INT32):
            raise PolicyError(
                f"{where}: {name}: found {value!r}, accepted an integer from {least} on"
            )
    if step.where == "own" and (not isinstance(choice, Uniform) or choice.attempts > 0):
        raise PolicyError(f"{where}: ranks, weights and attempts are not for where 'own'")
    if isinstance(choice, Ranked):
        _validate_table(f"{where}: rank", choice.rank, -1, shape)
    if isinstance(choice, Weighted):
        _validate_table(f"{where}: weight", choice.weight, 0, shape)
        total = choice.weight.sum(axis=1, dtype=np.int64)
        if total.max(initial=0) > MAX_INT32:
            worker = int(total.argmax())
            raise PolicyError(
                f"{where}: weight: the weights of worker {worker} sum to {int(total[worker])}, "
                f"accepted up to {MAX_INT32}"
            )


def _validate_table(what: str, array: Int32Array, lowest: int, shape: tuple[int, int]) -> None:
    """Check a table of ranks or weights by worker and instance."""
    if getattr(array, "dtype", np.dtype(float)).kind not in "iu":
        raise PolicyError(f"{what}: accepted an array of integers")
    if array.shape != shape:
        raise PolicyError(
            f"{what}: found shape {array.shape}, accepted {shape} (workers, instances)"
        )
    wrong = np.argwhere((array < lowest) | (array > MAX_INT32))
    if len(wrong):
        worker, instance = wrong[0].tolist()
        raise PolicyError(
            f"{what}[{worker}, {instance}]: found {array[worker, instance]}, "
            f"accepted {lowest} to {MAX_INT32}"
        )
