"""Checks of plans against the graph and the machine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import PolicyError
from simsched.policy.contract.base import Update
from simsched.policy.contract.blocks import LARGEST_PAGE_BYTES
from simsched.policy.contract.plan import AcquireStep, Plan, Uniform, Weighted
from simsched.policy.contract.records import MAX_INDEX, check, check_record, check_word
from simsched.policy.contract.runtime import PARTS, POOLS, RULES, Runtime
from simsched.workload.graph import TaskGraph


def validate_plan(
    plan: Plan, graph: TaskGraph, instances: dict[str, int], n_workers: int, n_nodes: int
) -> None:
    """Check a plan against the graph and the machine."""
    sizes = {
        "tasks": graph.n_tasks,
        "workers": n_workers,
        "blocks": graph.n_blocks,
        "nodes": n_nodes,
    }
    groups: object = getattr(plan, "pool_groups", None)
    if isinstance(groups, tuple | list):
        sizes["groups"] = len(groups)
    check(plan, Plan, sizes=sizes)
    _validate_groups(plan)
    _validate_devices(plan, graph)
    validate_acquire(plan, instances, n_workers)
    balancing = plan.balancing
    if balancing is not None and balancing.page_bytes & (balancing.page_bytes - 1):
        raise PolicyError(
            f"balancing: page_bytes: found {balancing.page_bytes}, accepted powers of two up to "
            f"{LARGEST_PAGE_BYTES}"
        )
    _validate_pools(plan, graph, instances)
    if plan.active_workers is not None and not plan.active_workers.any():
        raise PolicyError("active_workers: found none, accepted one or more")
    if plan.runtime is not None:
        _validate_runtime(plan, plan.runtime, graph)


def validate_acquire(plan: Plan, instances: Mapping[str, int], n_workers: int) -> None:
    """Check the acquire order of a plan."""
    names = [group.name for group in plan.pool_groups]
    scope_of = {group.name: group.scope for group in plan.pool_groups}
    device_of = {group.name: group.device for group in plan.pool_groups}
    for number, step in enumerate(plan.acquire):
        where = f"acquire[{number}]"
        check_word(f"{where}: pool group", step.group, names)
        scope = scope_of[step.group]
        check_record(step, where, {"workers": n_workers, "instances": instances[scope]})
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
        _validate_choice(where, step)


def check_update(update: Update, n_nodes: int, n_blocks: int) -> None:
    """Refuse an update whose blocks or nodes do not exist, or that moves a block twice."""
    check(update, Update, sizes={"blocks": n_blocks, "nodes": n_nodes})
    blocks, nodes = update.move_block, update.move_node
    if len(blocks) != len(nodes):
        raise PolicyError(
            f"found {len(blocks)} blocks and {len(nodes)} nodes to move, accepted equal numbers"
        )
    moved, times = np.unique(blocks, return_counts=True)
    if len(moved) < len(blocks):
        raise PolicyError(
            f"move_block: found block {int(moved[times > 1][0])} more than once, "
            "accepted one move of a block"
        )


def _validate_runtime(plan: Plan, runtime: Runtime, graph: TaskGraph) -> None:
    """Check that a runtime has pools, rows for all kinds of workers, and what its rule needs."""
    scopes = [group.scope for group in plan.pool_groups[: len(POOLS)]]
    if scopes != ["worker"] * len(POOLS):
        raise PolicyError(
            f"runtime: found pool groups with scopes {', '.join(scopes)}, accepted "
            f"{len(POOLS)} with scope 'worker' first: {', '.join(POOLS)}"
        )
    if len(graph.child):
        raise PolicyError("runtime: found tasks that spawn others, accepted dataflow graphs")
    if (np.diff(runtime.is_device[runtime.members].astype(np.int8)) > 0).any():
        raise PolicyError("runtime: members: found a device behind a core, accepted devices first")
    n_rows, row = len(runtime.able), runtime.row
    if not len(runtime.members) or (len(row) and int(row.max()) >= n_rows):
        raise PolicyError(
            f"runtime: found {len(runtime.members)} members and rows up to {int(row.max())}, "
            f"accepted one or more, and rows below {n_rows}"
        )
    stuck = np.flatnonzero(~runtime.able[row[runtime.members]].any(axis=0))
    if len(stuck):
        raise PolicyError(
            f"runtime: able: task {int(stuck[0])}: found no member that can execute it, accepted "
            "one or more"
        )
    given, needed = [p for p in PARTS if getattr(runtime, p) is not None], RULES[runtime.rule]
    if given != [needed] * (needed is not None):
        raise PolicyError(
            f"runtime: found {', '.join(given) or 'no part'} with the rule {runtime.rule!r}, "
            f"accepted {needed or 'none'}"
        )
    expected = runtime.expected
    if expected is not None and len(expected.cost_ps) != n_rows:
        raise PolicyError(
            f"runtime: expected: cost_ps: found {len(expected.cost_ps)} rows, accepted {n_rows}"
        )


def _validate_groups(plan: Plan) -> None:
    """Check the pool groups."""
    names = [group.name for group in plan.pool_groups]
    if not names or plan.pool_groups[0].scope != "worker" or len(set(names)) != len(names):
        found = ", ".join(f"{one.name} ({one.scope})" for one in plan.pool_groups) or "none"
        raise PolicyError(
            f"pool_groups: found {found}, accepted unique names, the first with scope 'worker'"
        )
    for group in plan.pool_groups:
        if group.prefetches and group.scope != "worker":
            raise PolicyError(
                f"pool group {group.name}: found prefetches with scope {group.scope!r}, "
                "accepted scope 'worker'"
            )


def _validate_devices(plan: Plan, graph: TaskGraph) -> None:
    """Check devices, who leads to them, and that every task fits on each."""
    names = [device.name for device in plan.devices]
    if len(set(names)) != len(names):
        raise PolicyError(f"devices: found {names}, accepted unique names")
    most = 1 if graph.occupancy is None else int(graph.occupancy.max(initial=0))
    for device in plan.devices:
        if most > device.capacity:
            task = 0 if graph.occupancy is None else int(graph.occupancy.argmax())
            raise PolicyError(
                f"device {device.name}: task {task} occupies {most}, "
                f"accepted at most its capacity, {device.capacity}"
            )
    scope_of: dict[str, str] = {}
    for group in plan.pool_groups:
        if group.device is None:
            continue
        check_word(f"pool group {group.name}: device", group.device, names)
        scope = scope_of.setdefault(group.device, group.scope)
        if scope != group.scope:
            raise PolicyError(
                f"device {group.device}: found pool groups with scopes {scope!r} and "
                f"{group.scope!r}, accepted one scope"
            )


def _validate_pools(plan: Plan, graph: TaskGraph, instances: dict[str, int]) -> None:
    """Check that every task's pool exists."""
    if plan.instance_of is not None:
        limits = np.array([instances[group.scope] for group in plan.pool_groups])
        limits = limits[groups_of(plan, graph.n_tasks)]
        bad = np.flatnonzero(plan.instance_of >= limits)
        if len(bad):
            task = int(bad[0])
            raise PolicyError(
                f"instance_of: task {task}: found {int(plan.instance_of[task])}, "
                f"accepted -1 to {int(limits[task]) - 1}"
            )


def groups_of(plan: Plan, n_tasks: int) -> NDArray[np.int8]:
    """Return the group that each task enters."""
    return np.full(n_tasks, 0 if plan.group_of is None else plan.group_of, np.int8)


def _validate_choice(where: str, step: AcquireStep) -> None:
    """Check how a step chooses an instance."""
    choice = step.choice
    if step.where == "own" and (not isinstance(choice, Uniform) or choice.attempts > 0):
        raise PolicyError(
            f"{where}: found ranks, weights or attempts, accepted none of them for where 'own'"
        )
    if isinstance(choice, Weighted):
        total = choice.weight.sum(axis=1, dtype=np.int64)
        if total.max(initial=0) > MAX_INDEX:
            worker = int(total.argmax())
            raise PolicyError(
                f"{where}: weight: the weights of worker {worker} sum to {int(total[worker])}, "
                f"accepted up to {MAX_INDEX}"
            )
