"""Checks that a task graph is well formed and can be executed to its end."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from simsched.files.errors import GraphError
from simsched.files.units import MAX_BYTES
from simsched.workload.arrays import GraphArrays, Int64Array

_SHOWN = 8
_AT_ONCE = 2**15  #: tasks whose edges fit into a cache


def validate_graph(graph: GraphArrays) -> None:
    """Check that the arrays of a graph are consistent and that every task can end.

    The first thing that is wrong is named with the number of its task, edge, access or block.

    A deadlock is a cycle among the starts and ends of tasks: a task starts before it ends; a parent
    starts before its children start, and they end before it ends; the first task of an edge ends
    before the second starts. Edges from a task to its own descendants, or from them to it, are such
    cycles. The same edge may occur twice. A detached child may end after its parent and may follow
    its end.
    """
    _check_shapes(graph)
    _check_costs(graph)
    _check_links(graph)
    _check_accesses(graph)
    _check_order(graph)


def _check_shapes(graph: GraphArrays) -> None:
    if graph.ops.ndim != 2 or graph.ops.shape[1] == 0:
        raise GraphError("no tasks: a graph has at least one")
    tasks, by_kind = (graph.n_tasks,), (len(graph.kinds), graph.n_tasks)
    if not graph.kinds or len(set(graph.kinds)) != len(graph.kinds):
        raise GraphError(f"kinds: found {graph.kinds}, accepted one or more different names")
    expected: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
        "ops": (by_kind, np.float64),
        "join_ops": (by_kind, np.float64),
        "task_class": (tasks, np.int32),
        "child_ptr": ((graph.n_tasks + 1,), np.int64),
        "child": (graph.child.shape[:1], np.int32),
        "succ_ptr": ((graph.n_tasks + 1,), np.int64),
        "succ": (graph.succ.shape[:1], np.int32),
        "access_ptr": ((graph.n_tasks + 1,), np.int64),
        "join_access": (tasks, np.int64),
        "access_block": (graph.access_block.shape[:1], np.int32),
        "read_bytes": (graph.access_block.shape[:1], np.int64),
        "written_bytes": (graph.access_block.shape[:1], np.int64),
        "block_bytes": (graph.block_bytes.shape[:1], np.int64),
        "creation_ops": (tasks, np.float64),
        "arrival_ps": (tasks, np.int64),
    }
    per_access = graph.access_block.shape
    optional: dict[str, tuple[tuple[int, ...], type[np.generic]]] = {
        "detached": (tasks, np.bool_),
        "occupancy": (tasks, np.int32),
        "synchronous": (tasks, np.bool_),
        "priority": (tasks, np.int32),
        "exposure": (tasks, np.float64),
        "access_share": (per_access, np.float64),
        "access_after": (per_access, np.int32),
        "alternate_block": (graph.block_bytes.shape, np.int32),
        "access_final": (per_access, np.bool_),
        "device_efficiency": ((len(graph.class_names),), np.float64),
    }
    expected |= {name: what for name, what in optional.items() if getattr(graph, name) is not None}
    for name, (shape, dtype) in expected.items():
        array = getattr(graph, name)
        if array.dtype != dtype:
            raise GraphError(f"{name}: found type {array.dtype}, accepted {np.dtype(dtype)}")
        if array.shape != shape:
            raise GraphError(f"{name}: found shape {array.shape}, accepted {shape}")
    names = graph.task_names
    if names is not None and len(names) != graph.n_tasks:
        raise GraphError(
            f"task_names: found {len(names)}, accepted one for each of the {graph.n_tasks} tasks"
        )
    task = None if names is None else _first(np.array([type(name) is not str for name in names]))
    if names is not None and task is not None:
        raise GraphError(f"task {task}: task_names: found {names[task]!r}, accepted text")


def _check_costs(graph: GraphArrays) -> None:
    for name, costs in (("ops", graph.ops), ("join_ops", graph.join_ops)):
        for kind, row in zip(graph.kinds, costs, strict=True):
            task = _first(~(row >= 0))
            if task is not None:
                raise GraphError(
                    f"{graph.called(task)}: {name} on {kind}: found {row[task]}, "
                    "accepted 0 or more, infinity where it cannot run"
                )
        task = _first(np.isinf(costs).all(axis=0))
        if task is not None:
            raise GraphError(f"{graph.called(task)}: {name}: no processor kind can run it")
    task = _first((graph.join_ops != 0).any(axis=0) & _childless(graph))
    if task is not None:
        raise GraphError(
            f"{graph.called(task)}: join_ops: found {graph.join_ops[0, task]}, "
            "accepted 0 without children"
        )
    creation = graph.creation_ops
    task = _first(~((creation >= 0) & np.isfinite(creation)))
    if task is not None:
        raise GraphError(
            f"{graph.called(task)}: creation_ops: found {creation[task]}, accepted 0 or more"
        )
    _check_sign("task", "arrival_ps", graph.arrival_ps)
    if graph.occupancy is not None:
        _check_sign("task", "occupancy", graph.occupancy.astype(np.int64))
    if graph.exposure is not None:
        task = _first(~((graph.exposure >= 0) & (graph.exposure <= 1)))
        if task is not None:
            raise GraphError(
                f"{graph.called(task)}: exposure: found {graph.exposure[task]}, accepted 0 to 1"
            )
    reached = graph.device_efficiency
    if reached is not None and not bool(((reached >= 0) & (reached <= 1)).all()):
        raise GraphError(f"device_efficiency: found {reached.tolist()}, accepted 0 to 1 each")
    _check_range("task", graph.task_class, len(graph.class_names), "class")
    if graph.codelets is not None and len(graph.codelets) != len(graph.class_names):
        raise GraphError(
            f"codelets: found {len(graph.codelets)}, accepted one for each of the "
            f"{len(graph.class_names)} classes"
        )


def _check_links(graph: GraphArrays) -> None:
    """Check that spawn tree and dataflow edges point to tasks and that parents are unique."""
    _check_ptr("child_ptr", graph.child_ptr, len(graph.child))
    _check_ptr("succ_ptr", graph.succ_ptr, len(graph.succ))
    for what, ptr, index in (
        ("child entry", graph.child_ptr, graph.child),
        ("edge", graph.succ_ptr, graph.succ),
    ):
        _check_range(what, index, graph.n_tasks, "task", ptr)
        entry = None if _ascends(ptr, index) else _first(index == _sources(ptr))
        if entry is not None:
            raise GraphError(f"{what} {entry}: from task {index[entry]} to itself")
    parents = np.bincount(graph.child, minlength=graph.n_tasks)
    task = _first(parents > 1)
    if task is not None:
        found = ", ".join(map(str, _sources(graph.child_ptr)[graph.child == task][:_SHOWN]))
        raise GraphError(f"task {task}: found parents {found}, accepted at most one")
    task = None if graph.detached is None else _first(graph.detached & (parents == 0))
    if task is not None:
        raise GraphError(f"task {task}: detached: found true, accepted false without a parent")
    task = _first((graph.arrival_ps != 0) & (parents > 0))
    if task is not None:
        raise GraphError(
            f"task {task}: arrival_ps: found {graph.arrival_ps[task]}, accepted 0 with a parent"
        )


def _check_accesses(graph: GraphArrays) -> None:
    """Check blocks, bytes and the border between body and join."""
    _check_ptr("access_ptr", graph.access_ptr, graph.n_accesses)
    _check_range("access", graph.access_block, graph.n_blocks, "block", graph.access_ptr)
    _check_bytes("access", "read_bytes", graph.read_bytes)
    _check_bytes("access", "written_bytes", graph.written_bytes)
    _check_bytes("block", "block_bytes", graph.block_bytes)
    join, begin, end = graph.join_access, graph.access_ptr[:-1], graph.access_ptr[1:]
    task = _first((join < begin) | (join > end))
    if task is not None:
        raise GraphError(
            f"task {task}: join_access: found {join[task]}, accepted {begin[task]} to {end[task]}"
        )
    task = _first((join < end) & _childless(graph))
    if task is not None:
        raise GraphError(
            f"task {task}: join_access: found {end[task] - join[task]} accesses of the join, "
            "accepted none without children"
        )
    if graph.access_share is not None:
        _check_shares(graph, graph.access_share)
    if graph.access_after is not None:
        _check_awaited(graph, graph.access_after)
    if graph.alternate_block is not None:
        _check_alternates(graph.alternate_block, graph.block_bytes)
    if graph.access_final is not None:
        access = _first(graph.access_final & (graph.written_bytes == 0))
        if access is not None:
            raise GraphError(
                f"access {access}: access_final: found true, "
                "accepted false where nothing is written"
            )


def _check_alternates(other: NDArray[np.int32], size: NDArray[np.int64]) -> None:
    """Check that blocks change places in pairs of one size."""
    block = _first((other < 0) | (other >= len(size)))
    if block is not None:
        raise GraphError(
            f"block {block}: alternate_block: found {other[block]}, accepted 0 to {len(size) - 1}"
        )
    block = _first(other[other] != np.arange(len(size)))
    if block is not None:
        raise GraphError(
            f"block {block}: alternate_block: found {other[block]}, whose own is "
            f"{other[other[block]]}, accepted blocks that change places"
        )
    block = _first(size[other] != size)
    if block is not None:
        raise GraphError(
            f"block {block}: alternate_block: found block {other[block]} of "
            f"{size[other[block]]} bytes, accepted one of {size[block]}"
        )


def _check_awaited(graph: GraphArrays, after: NDArray[np.int32]) -> None:
    """Check that accesses wait for other tasks than their own."""
    access = _first((after < -1) | (after >= graph.n_tasks))
    if access is not None:
        raise GraphError(
            f"access {access}: access_after: found {after[access]}, "
            f"accepted -1 to {graph.n_tasks - 1}"
        )
    access = _first(after == _sources(graph.access_ptr))
    if access is not None:
        raise GraphError(
            f"access {access} of task {after[access]}: access_after: found its own task"
        )


def _check_shares(graph: GraphArrays, share: NDArray[np.float64]) -> None:
    """Check that the operations of every body and join with accesses are given out."""
    access = _first(~((share >= 0) & (share <= 1)))
    if access is not None:
        raise GraphError(f"access {access}: access_share: found {share[access]}, accepted 0 to 1")
    before = np.concatenate([[0.0], np.cumsum(share)])
    for what, first, last in (
        ("body", graph.access_ptr[:-1], graph.join_access),
        ("join", graph.join_access, graph.access_ptr[1:]),
    ):
        total = before[last] - before[first]
        task = _first((first < last) & (np.abs(total - 1) > 1e-6))
        if task is not None:
            raise GraphError(
                f"task {task}: access_share: found parts of the {what} that sum to {total[task]}, "
                "accepted a sum of 1"
            )


def _check_order(graph: GraphArrays) -> None:
    """Check that nothing has to wait for itself."""
    if graph.access_after is not None:
        _check_acyclic(graph)
        return
    if graph.n_edges == 0 and _ascends(graph.child_ptr, graph.child):
        return
    if len(graph.child) == 0 and _ascends(graph.succ_ptr, graph.succ):
        return
    _check_acyclic(graph)


def _check_acyclic(graph: GraphArrays) -> None:
    """Check that there is no cycle among starts and ends."""
    constraints = _constraints(graph, _sources(graph.succ_ptr), _sources(graph.child_ptr))
    count, component = scipy.sparse.csgraph.connected_components(
        constraints, directed=True, connection="strong"
    )
    if count < len(component):
        raise GraphError(f"cycle: {_describe_cycle(graph, constraints, component)}")


def _constraints(
    graph: GraphArrays, source: Int64Array, spawner: Int64Array
) -> scipy.sparse.csr_matrix:
    """Return which start (node 2 t) or end (node 2 t + 1) of a task must precede which other."""
    tasks = np.arange(graph.n_tasks, dtype=np.int32)
    parent, child = spawner.astype(np.int32), graph.child
    joined = graph.is_joined[child]
    inner, outer = 2 * child[joined] + 1, 2 * parent[joined] + 1
    awaited, waiting = _awaited(graph)
    before = np.concatenate(
        (2 * tasks, 2 * parent, inner, 2 * source.astype(np.int32) + 1, 2 * awaited + 1)
    )
    after = np.concatenate((2 * tasks + 1, 2 * child, outer, 2 * graph.succ, 2 * waiting + 1))
    present = np.ones(len(before), dtype=np.int8)
    return scipy.sparse.csr_matrix((present, (before, after)), shape=(2 * graph.n_tasks,) * 2)


def _awaited(graph: GraphArrays) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the tasks that accesses wait for, and the tasks of these accesses."""
    if graph.access_after is None:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    waits = graph.access_after >= 0
    return graph.access_after[waits], _sources(graph.access_ptr)[waits].astype(np.int32)


def _describe_cycle(
    graph: GraphArrays, constraints: scipy.sparse.csr_matrix, component: NDArray[np.int32]
) -> str:
    """Return the waiting tasks of a cycle in the smallest component that has one."""
    sizes = np.bincount(component)
    worst = int(np.argmin(np.where(sizes > 1, sizes, len(component) + 1)))
    node = int(np.flatnonzero(component == worst)[0])
    seen: dict[int, int] = {}
    while node not in seen:
        seen[node] = len(seen)
        below = constraints.indices[constraints.indptr[node] : constraints.indptr[node + 1]]
        node = int(below[component[below] == worst][0])
    cycle = [step for step, order in seen.items() if order >= seen[node]]
    steps = [
        _describe_step(graph, before, after)
        for before, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        if before // 2 != after // 2
    ]
    more = f" and {len(steps) - _SHOWN} more" if len(steps) > _SHOWN else ""
    return ", ".join(steps[:_SHOWN]) + more


def _describe_step(graph: GraphArrays, before: int, after: int) -> str:
    """Return in words why one start or end has to come before another."""
    first, second = before // 2, after // 2
    if before % 2 == 0 and graph.parent[second] == first:
        return f"task {first} spawns task {second}"
    if after % 2 == 1 and graph.parent[first] == second:
        return f"task {second} ends after its child {first}"
    if after % 2 == 1 and before % 2 == 1:
        return f"task {second} accesses what task {first} must have ended for"
    return f"task {second} starts after task {first}"


def _check_ptr(name: str, ptr: Int64Array, length: int) -> None:
    """Check that a pointer array ascends from 0 to the length of its index array."""
    if ptr[0] != 0 or ptr[-1] != length:
        raise GraphError(f"{name}: found {ptr[0]} to {ptr[-1]}, accepted 0 to {length}")
    task = _first(ptr[1:] < ptr[:-1])
    if task is not None:
        raise GraphError(f"{name}: descends at task {task}: {ptr[task]} to {ptr[task + 1]}")


def _check_range(
    what: str, index: NDArray[np.int32], count: int, target: str, ptr: Int64Array | None = None
) -> None:
    """Check that every entry is one of `count` targets."""
    entry = _first((index < 0) | (index >= count))
    if entry is not None:
        owner = "" if ptr is None else f" of task {np.searchsorted(ptr, entry, side='right') - 1}"
        accepted = f"0 to {count - 1}" if count else "none"
        raise GraphError(
            f"{what} {entry}{owner}: found {target} {index[entry]}, accepted {accepted}"
        )


def _check_sign(what: str, name: str, values: Int64Array) -> None:
    entry = _first(values < 0)
    if entry is not None:
        raise GraphError(f"{what} {entry}: {name}: found {values[entry]}, accepted 0 or more")


def _check_bytes(what: str, name: str, values: Int64Array) -> None:
    entry = _first((values < 0) | (values >= MAX_BYTES))
    if entry is not None:
        raise GraphError(
            f"{what} {entry}: {name}: found {values[entry]}, accepted 0 to {MAX_BYTES - 1}"
        )


def _sources(ptr: Int64Array) -> Int64Array:
    """Return the source of each entry of an index array."""
    return np.repeat(np.arange(len(ptr) - 1, dtype=np.int64), np.diff(ptr))


def _ascends(ptr: Int64Array, index: NDArray[np.int32]) -> bool:
    """Return whether every entry of an index array is greater than its source.

    Then there is neither a self-loop nor a cycle. Sources are made for some tasks at a time: for
    all of a large graph they cost more than a run.
    """
    n_tasks = len(ptr) - 1
    if len(index) == 0:
        return True
    for first in range(0, n_tasks, _AT_ONCE):
        last = min(first + _AT_ONCE, n_tasks)
        tasks = np.arange(first, last, dtype=np.int32)
        sources = np.repeat(tasks, np.diff(ptr[first : last + 1]))
        if not np.all(index[ptr[first] : ptr[last]] > sources):
            return False
    return True


def _childless(graph: GraphArrays) -> NDArray[np.bool_]:
    childless: NDArray[np.bool_] = graph.child_ptr[1:] == graph.child_ptr[:-1]
    return childless


def _first(wrong: NDArray[np.bool_] | np.bool_) -> int | None:
    """Return the first entry that is true, None when none is."""
    return int(np.argmax(wrong)) if np.any(wrong) else None
