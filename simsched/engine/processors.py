"""Whether the processors of a machine can execute a program, and how fast they are."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simsched.engine.paths import held
from simsched.files.errors import ModelError, nearest
from simsched.files.units import PER_PS
from simsched.machine.model import CoreGroup, IntArray, Machine
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generator_of

MEASURED = "measured"  #: value of a program's `costs` with which its tasks name codelets


def check_processors(
    machine: Machine, workload: Workload, worker_thread: NDArray[np.int32]
) -> None:
    """Refuse a program that the workers of a machine cannot execute.

    That is one without costs for a worker's kind of processor, with a task that no worker can run,
    or with an initialisation that has costs for other kinds than the iterations.
    """
    cores = machine.thread_core[worker_thread]
    used = dict.fromkeys(machine.core_group[cores].tolist())
    kinds = list(dict.fromkeys(machine.core_groups[group].kind for group in used))
    where = f"workload {workload.name}"
    known = workload.graph.kinds
    for kind in kinds:
        if kind not in known:
            raise ModelError(
                f"{where}: costs for processor kind {kind!r} of machine {machine.name} are "
                f"missing; found costs for {', '.join(known)}{_misspelt(kind, known, kinds)}"
                f"{_remedy(machine, workload)}"
            )
    if workload.init is not None and workload.init.kinds != known:
        raise ModelError(
            f"{where}: initialisation: found costs for processor kinds "
            f"{', '.join(workload.init.kinds)}; accepted those of the iterations: "
            f"{', '.join(known)}"
        )
    for graph in (workload.graph, workload.init):
        if graph is not None and len(kinds) < len(known):  # else every task runs somewhere
            _check_classes(graph, kinds, f"{where} on machine {machine.name}")


def _misspelt(kind: str, known: tuple[str, ...], kinds: list[str]) -> str:
    """Return which costs may be meant for a kind that has none, empty where none seem to be."""
    meant = nearest(kind, [name for name in known if name not in kinds])
    return "" if meant is None else f"; did you mean {kind!r} by {meant!r}?"


def _remedy(machine: Machine, workload: Workload) -> str:
    """Return where costs can come from, empty where nothing has them."""
    maker = generator_of(workload)
    known = {} if maker is None else maker.parameters
    measured = "costs" in known and MEASURED in known["costs"].choices
    if not machine.timings or not measured:
        return ""
    return f"; costs={MEASURED} takes those that have been measured on the machine"


def _check_classes(graph: TaskGraph, kinds: list[str], where: str) -> None:
    """Refuse a graph with a task that no worker of the given processor kinds can run."""
    rows = [graph.kinds.index(kind) for kind in kinds]
    for costs in (graph.ops, graph.join_ops):
        stuck = np.flatnonzero(np.isinf(costs[rows]).all(axis=0))
        if len(stuck):
            task = int(stuck[0])
            able = np.array(graph.kinds)[np.isfinite(costs[:, task])]
            raise ModelError(
                f"{where}: class {graph.class_names[graph.task_class[task]]!r} has no cost for any "
                f"kind of processor with workers: found costs for {', '.join(able)} "
                f"({graph.called(task)}), "
                f"accepted for {' or '.join(kinds)}"
            )


def used_threads(machine: Machine, workload: Workload, worker_thread: IntArray) -> IntArray:
    """Return the hardware threads without those of devices for which a program has no costs.

    All of them are returned where data are not copied, where the machine has timings, which the
    program may take, or where the program has costs for processors that no worker has: one of these
    may be the device's.
    """
    if not machine.copies_data or machine.timings:
        return worker_thread
    known = workload.graph.kinds
    idle = np.zeros(len(worker_thread), bool)
    for place, thread in enumerate(worker_thread.tolist()):
        group = machine.core_groups[machine.thread_group[thread]]
        node = machine.own_node(int(machine.thread_domain[thread]))
        idle[place] = group.kind not in known and machine.nodes[node].has_driver
    kinds = {machine.core_groups[machine.thread_group[t]].kind for t in worker_thread[~idle]}
    unused = [name for name in known if name not in kinds]
    return worker_thread if idle.all() or unused else worker_thread[~idle]


def whole_program_threads(
    machine: Machine, workload: Workload, worker_thread: IntArray
) -> IntArray:
    """Return the hardware threads on kinds of processors that can execute every task.

    All of them are returned where no kind can.
    """
    graphs = [workload.graph] if workload.init is None else [workload.graph, workload.init]
    able = np.ones(len(workload.graph.kinds), bool)
    for graph in graphs:
        able &= np.isfinite(graph.ops).all(axis=1) & np.isfinite(graph.join_ops).all(axis=1)
    if able.all():
        return worker_thread
    groups = _groups(machine, machine.thread_core[worker_thread])
    kept = able[[workload.graph.kinds.index(group.kind) for group in groups]]
    return worker_thread[kept] if kept.any() else worker_thread


def kinds_without(machine: Machine, every: IntArray, kept: IntArray) -> tuple[str, ...]:
    """Return the kinds of processors that some hardware threads have and the kept ones have not."""
    before, after = (
        dict.fromkeys(group.kind for group in _groups(machine, machine.thread_core[threads]))
        for threads in (every, kept)
    )
    return tuple(kind for kind in before if kind not in after)


def threads_for(
    machine: Machine, program: Workload, placed: IntArray, *, chooses: bool
) -> tuple[IntArray, tuple[str, ...]]:
    """Return the hardware threads with workers, and the kinds of processors that get none.

    These are kinds that cannot execute the whole program, unless the policy chooses processors.

    Parameters
    ----------
    machine, program : Machine, Workload
        What is to run; refused where the workers cannot execute the program.
    placed : ndarray of int32, shape (n_workers,)
        Where workers would go.
    chooses : bool
        Whether the policy chooses processors.
    """
    used = used_threads(machine, program, placed)
    check_processors(machine, program, used)
    if chooses:
        return used, ()
    threads = whole_program_threads(machine, program, used)
    return threads, kinds_without(machine, used, threads)


def machine_of_workers(machine: Machine, worker_thread: IntArray) -> Machine:
    """Return a machine as its workers see it: nothing is copied if all use one memory space."""
    if machine.in_place is None:
        return machine
    domains = np.unique(machine.thread_domain[worker_thread]).tolist()
    spaces = {int(machine.node_space[machine.own_node(domain)]) for domain in domains}
    return _without_copies(machine) if len(spaces) == 1 else machine


@lru_cache(maxsize=32)  # what is known of a machine belongs to the object
def _without_copies(machine: Machine) -> Machine:
    return replace(machine, in_place=None)


def worker_speeds(
    machine: Machine, kinds: tuple[str, ...], core_of_worker: NDArray[np.int32], n_smt: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return each worker's row of the costs and speed, the latter of shape (n_workers, n_smt).

    Speeds are operations per ps when k workers of its core are busy.
    """
    groups = _groups(machine, core_of_worker)
    rates = [
        [g.ops_per_s * PER_PS * held(g.smt_throughput, k) / (k + 1) for k in range(n_smt)]
        for g in groups
    ]
    return np.array([kinds.index(g.kind) for g in groups], np.int32), np.array(rates)


def _groups(machine: Machine, cores: NDArray[np.int32]) -> list[CoreGroup]:
    return [machine.core_groups[machine.core_group[core]] for core in cores]
