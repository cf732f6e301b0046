"""What may be changed about a program: shorter tasks, and nothing that they wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simsched.analysis.idle import AWAITING
from simsched.analysis.supply import ARRIVALS, DEPENDENCIES, UNFOLDING
from simsched.analysis.waterfall import COMPUTE, IDLE, SPAWN
from simsched.experiment.alterations import (
    FREE,
    TIME,
    TWICE,
    Alteration,
    Missing,
    Setting,
    faster_codelet,
    kinds_of,
    source,
)
from simsched.workload.arrays import BoolArray
from simsched.workload.graph import TaskGraph, Workload


def _graphs(workload: Workload) -> list[TaskGraph]:
    return [workload.graph, *filter(None, [workload.init])]


@source
def creation(setting: Setting) -> Iterator[Alteration]:
    """Yield tasks that are created sooner: by the program, and without what the runtime takes."""
    graphs = _graphs(setting.workload)
    if any(graph.creation_ops.any() for graph in graphs):
        for factor in (TWICE, FREE):
            made = partial(_with_creation, factor=factor)
            yield Alteration("creation of tasks by the program", TIME[factor], made)
    if any(len(graph.child) or len(graph.succ) for graph in graphs):
        gone = SPAWN, IDLE.format(UNFOLDING)
        yield Alteration("creation and release of tasks", TIME[FREE], _all_made, gone)


def _with_creation(setting: Setting, factor: float) -> Setting:
    def sooner(graph: TaskGraph) -> TaskGraph:
        return replace(graph, creation_ops=graph.creation_ops / factor)

    return _with_graphs(setting, sooner)


def _all_made(setting: Setting) -> Setting:
    """Return a run in which creating and releasing tasks takes no time."""
    costs = replace(
        setting.machine.costs, spawn_child_first_ps=0, spawn_parent_first_ps=0, push_ps=0
    )
    machine = replace(setting.machine, costs=costs)
    return _with_creation(replace(setting, machine=machine), FREE)


@source
def waits_for_tasks(setting: Setting) -> Iterator[Alteration]:
    """Yield programs in which tasks do not wait for each other, nor to arrive."""
    graphs = _graphs(setting.workload)
    for what, needed, change, gone in (
        ("dependences", _has_edges, _without_edges, DEPENDENCIES),
        ("waits inside tasks", _has_awaits, _without_awaits, AWAITING),
        ("arrivals of tasks", _has_arrivals, _without_arrivals, ARRIVALS),
    ):
        if any(map(needed, graphs)):
            made = partial(_with_graphs, change=change)
            yield Alteration(what, TIME[FREE], made, (IDLE.format(gone),))


def _has_edges(graph: TaskGraph) -> bool:
    return len(graph.succ) > 0 or len(graph.child) > 0


def _without_edges(graph: TaskGraph) -> TaskGraph:
    """Return a graph without edges, whose parents wait for no child."""
    children = np.zeros(graph.n_tasks, bool)
    children[graph.child] = True
    return replace(
        graph,
        succ_ptr=np.zeros_like(graph.succ_ptr),
        succ=graph.succ[:0],
        detached=children if children.any() else None,
    )


def _has_awaits(graph: TaskGraph) -> bool:
    return graph.access_after is not None


def _without_awaits(graph: TaskGraph) -> TaskGraph:
    return replace(graph, access_after=None)


def _has_arrivals(graph: TaskGraph) -> bool:
    return bool(graph.arrival_ps.any())


def _without_arrivals(graph: TaskGraph) -> TaskGraph:
    return replace(graph, arrival_ps=np.zeros_like(graph.arrival_ps))


def _with_graphs(setting: Setting, change: Callable[[TaskGraph], TaskGraph]) -> Setting:
    init = setting.workload.init
    workload = setting.workload.changed(change, init=init and change(init))
    return replace(setting, workload=workload)


@source
def computation(setting: Setting) -> Iterator[Alteration]:
    """Yield tasks that compute nothing."""
    if any(_computes(graph) for graph in _graphs(setting.workload)):
        yield Alteration("computation of tasks", TIME[FREE], _without_computation, (COMPUTE,))


def _computes(graph: TaskGraph) -> bool:
    timed = graph.codelets is not None
    return timed or any((ops[np.isfinite(ops)] > 0).any() for ops in (graph.ops, graph.join_ops))


def _without_computation(setting: Setting) -> Setting:
    """Return a run in which tasks access their data only."""
    timings = {
        codelet: {kind: faster_codelet(sizes, FREE) for kind, sizes in by.items()}
        for codelet, by in setting.machine.timings.items()
    }

    def idle(graph: TaskGraph) -> TaskGraph:
        everybody = np.ones(graph.n_tasks, bool)
        ops, joins = (_divided(each, everybody, FREE) for each in (graph.ops, graph.join_ops))
        return replace(graph, ops=ops, join_ops=joins)

    made = _with_graphs(replace(setting, machine=replace(setting.machine, timings=timings)), idle)
    division = made.workload.division
    if division is not None:
        every = np.ones(made.workload.graph.n_tasks, bool)
        division = replace(
            division,
            fixed_ops=_divided(division.fixed_ops, every, FREE),
            unit_ops=_divided(division.unit_ops, every, FREE),
        )
    return replace(made, workload=replace(made.workload, division=division))


@source
def task_classes(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield tasks of each class that take less time: operations, and bytes of their accesses."""
    used = (
        graph.class_names[number]
        for graph in _graphs(setting.workload)
        for number in np.unique(graph.task_class).tolist()
    )
    for name in kinds_of(used):
        if not _has_work(setting, name):
            yield Missing(f"tasks {name}", "they neither compute nor access anything")
            continue
        for factor in (TWICE, FREE):
            made = partial(_shorter_tasks, name=name, factor=factor)
            yield Alteration(f"tasks {name}", TIME[factor], made)


def _has_work(setting: Setting, name: str) -> bool:
    """Return whether tasks of a class have anything to do."""
    if setting.workload.division is not None:
        return True
    for graph in _graphs(setting.workload):
        mine, owner = _members(graph, name)
        timed = graph.codelets is not None and mine.any()
        moved = graph.read_bytes[owner].any() or graph.written_bytes[owner].any()
        computed = any((of[:, mine] != 0).any() for of in (graph.ops, graph.join_ops))
        if timed or moved or computed:
            return True
    return False


def _shorter_tasks(setting: Setting, name: str, factor: float) -> Setting:
    """Return a run in which tasks of a class have less to do, wherever that is said."""
    machine, before = setting.machine, setting.workload
    for graph in _graphs(before):
        if graph.codelets is not None and name in graph.class_names:
            codelet = graph.codelets[graph.class_names.index(name)]
            by = machine.timings.get(codelet, {})
            shorter = {kind: faster_codelet(sizes, factor) for kind, sizes in by.items()}
            machine = replace(machine, timings={**machine.timings, codelet: shorter})
    change = partial(_shorter_class, name=name, factor=factor)
    workload = before.changed(change, init=before.init and change(before.init))
    division = before.division
    if division is not None:
        mine, owner = _members(before.graph, name)
        division = replace(
            division,
            fixed_ops=_divided(division.fixed_ops, mine, factor),
            unit_ops=_divided(division.unit_ops, mine, factor),
            unit_read_bytes=np.where(
                owner, division.unit_read_bytes / factor, division.unit_read_bytes
            ),
            unit_written_bytes=np.where(
                owner, division.unit_written_bytes / factor, division.unit_written_bytes
            ),
        )
    return replace(setting, machine=machine, workload=replace(workload, division=division))


def _members(graph: TaskGraph, name: str) -> tuple[BoolArray, BoolArray]:
    """Return which tasks are of a class, and which accesses are theirs."""
    known = graph.class_names.index(name) if name in graph.class_names else -1
    mine = graph.task_class == known
    return mine, np.repeat(mine, np.diff(graph.access_ptr))


def _divided(ops: Any, mine: BoolArray, factor: float) -> Any:
    """Return fewer operations for some tasks; what cannot run stays so."""
    return np.where(mine & np.isfinite(ops), np.where(np.isfinite(ops), ops, 0.0) / factor, ops)


def _shorter_class(graph: TaskGraph, name: str, factor: float) -> TaskGraph:
    """Return a graph in which tasks of a class have less to do.

    Of what they access at least a byte is left, so that data lie where they did.
    """
    mine, owner = _members(graph, name)

    def fewer(moved: Any) -> Any:
        left = np.maximum(1, np.rint(moved / factor).astype(np.int64))
        return np.where(owner & (moved > 0), left, moved)

    return replace(
        graph,
        ops=_divided(graph.ops, mine, factor),
        join_ops=_divided(graph.join_ops, mine, factor),
        read_bytes=fewer(graph.read_bytes),
        written_bytes=fewer(graph.written_bytes),
    )
