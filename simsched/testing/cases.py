"""Small machines and programs that between them have every feature a policy can meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simsched.machine.caches import MemorySideCache
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.workload.builder import accesses, adjacency, build_graph, first_touch_loop
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.spawn_tree import equal_parts, first_touch_tree, grow

BLOCK_BYTES = 3 * 4096 + 100
COSTS = RuntimeCosts(
    spawn_child_first_ps=100_000,
    spawn_parent_first_ps=150_000,
    pop_ps=20_000,
    push_ps=30_000,
    steal_probe_ps=(10_000, 20_000, 50_000),
    steal_ps=(100_000, 200_000, 400_000),
    lock_hold_ps=40_000,
    barrier_ps=1_000_000,
    context_switch_ps=500_000,
    page_migration_ps=1_000_000,
    hotness_sample_ps=200_000,
)


@dataclass(frozen=True, eq=False)
class Case:
    """A program on a machine with some workers.

    Parameters
    ----------
    name : str
        Workload, machine and workers, for messages.
    machine, workload : Machine, Workload
        What runs where.
    workers : int or None
        Number of workers; None for one per hardware thread.
    """

    name: str
    machine: Machine
    workload: Workload
    workers: int | None


def small_machines() -> dict[str, Machine]:
    """Return machines by name: one domain; two behind memory-side caches; four with HBM and SMT.

    Returns
    -------
    dict of str to Machine
        Of a few cores each.
    """
    return {
        "one_domain": make_machine(domains=1, cores_per_domain=2, costs=COSTS),
        "two_domains": make_machine(
            domains=2,
            cores_per_domain=2,
            costs=COSTS,
            core_cap_bytes_per_s=6e9,
            memory_side_cache=MemorySideCache(64 * 1024, 4096, 20e9, 80_000, 150_000),
        ),
        "four_domains_hbm": make_machine(
            domains=4,
            cores_per_domain=2,
            domains_per_socket=2,
            smt_throughput=(1.0, 1.3),
            hbm_per_domain=True,
            remote_weight=1.3,
            local_latency_ps=100_000,
            remote_latency_ps=150_000,
            caches=[
                ("L1", 8 * 1024, 50e9, 1_000, 1),
                ("L2", 64 * 1024, 30e9, 10_000, 2, 12e9, 40_000, 8e9, 0.5, (48 * 1024, 96 * 1024)),
            ],
            costs=COSTS,
        ),
    }


def small_workloads() -> dict[str, Workload]:
    """Return programs by name.

    Single task, chain, fork-join, dataflow, spawn trees, a mixture, tasks that create tasks.

    Returns
    -------
    dict of str to Workload
        Of some tens of tasks at most.
    """
    return {
        "single": Workload("single", build_graph([1e6])),
        "chain": Workload("chain", _chain(), iterations=2),
        "fork_join": Workload("fork_join", _fork_join(), iterations=3),
        "dataflow": _dataflow(),
        "tree": _tree(iterations=7),
        "tree_once": _tree(iterations=1),
        "mixed": Workload("mixed", _mixed(), iterations=6),
        "control": Workload("control", _control(), iterations=2),
    }


def small_cases() -> Iterator[Case]:
    """Yield every program on every machine, with one worker, a few, or all hardware threads.

    Yields
    ------
    Case
        Machine, program and number of workers.
    """
    workers_of = {"one_domain": (1, None), "two_domains": (3,), "four_domains_hbm": (3, None)}
    workloads = small_workloads()
    for machine_name, machine in small_machines().items():
        for workers in workers_of[machine_name]:
            for name, workload in workloads.items():
                text = f"{name} on {machine_name} with {workers or machine.n_threads} workers"
                yield Case(text, machine, workload, workers)


def _chain() -> TaskGraph:
    """Return four tasks in a row that update one block."""
    every = np.arange(4)
    return build_graph(
        np.full(4, 2e6),
        successors=adjacency(every[:-1], every[1:], 4),
        accessed=accesses(every, np.zeros(4, int), 4096, 4096, 4),
        block_bytes=[BLOCK_BYTES],
    )


def _fork_join() -> TaskGraph:
    """Return a task with 30 children and a join that reads what they have written."""
    children = np.arange(1, 31)
    tasks = np.append(children, np.zeros(30, int))
    return build_graph(
        np.append(1e5, np.full(30, 3e6)),
        join_ops=np.append(1e6, np.zeros(30)),
        children=adjacency(np.zeros(30, int), children, 31),
        accessed=accesses(
            tasks,
            np.append(children - 1, children - 1),
            np.repeat([0, 2000], 30),
            np.repeat([BLOCK_BYTES, 0], 30),
            31,
            in_join=tasks == 0,
        ),
        block_bytes=np.full(30, BLOCK_BYTES),
    )


def _dataflow() -> Workload:
    """Return a wavefront over 6 x 6 blocks with a flat initialisation."""
    width = 6
    n = width * width
    cell = np.arange(n).reshape(width, width)
    source = np.concatenate([cell[:, :-1].ravel(), cell[:-1, :].ravel()])
    target = np.concatenate([cell[:, 1:].ravel(), cell[1:, :].ravel()])
    blocks = np.full(n, BLOCK_BYTES)
    every = np.arange(n)
    graph = build_graph(
        np.linspace(1e6, 3e6, n),
        successors=adjacency(source, target, n),
        accessed=accesses(
            np.append(every, target),
            np.append(every, source),
            5000,
            np.append(np.full(n, 5000), np.zeros(len(source), int)),
            n,
        ),
        block_bytes=blocks,
    )
    return Workload("dataflow", graph, iterations=3, init=first_touch_loop(blocks, 1e5))


def _tree(iterations: int) -> Workload:
    """Return a binary spawn tree over 64 items in 32 blocks, initialised by a tree of its own."""
    items, per_block = 64, 2
    bounds = np.arange(0, items + 1, per_block)
    blocks = np.full(len(bounds) - 1, BLOCK_BYTES)
    tree = grow(items, equal_parts(2, 2))
    leaves = tree.leaves
    block = tree.first[leaves] // per_block
    graph = build_graph(
        np.where(tree.is_leaf, 5e5, 1e4),
        task_class=tree.task_class,
        class_names=("divide", "leaf"),
        children=tree.children,
        accessed=accesses(leaves, block, 4000, 2000, tree.n_tasks),
        block_bytes=blocks,
    )
    init = first_touch_tree(grow(items, equal_parts(2, 8)), bounds, blocks, 1e4)
    return Workload("tree", graph, iterations=iterations, init=init)


def _mixed() -> TaskGraph:
    """Return a spawn tree with dataflow edges between leaves, a late task and a second root."""
    tree = grow(32, equal_parts(2, 2))
    n = tree.n_tasks + 2
    leaves = tree.leaves
    arrival_ps = np.zeros(n, np.int64)
    arrival_ps[n - 1] = 3_000_000
    return build_graph(
        np.append(np.where(tree.is_leaf, 1e6, 1e5), [2e6, 2e6]),
        children=adjacency(
            np.repeat(np.arange(tree.n_tasks), np.diff(tree.children.ptr)), tree.children.target, n
        ),
        successors=adjacency(np.append(leaves[:16], 0), np.append(leaves[16:], n - 2), n),
        accessed=accesses(leaves, np.arange(32) % 8, 3000, 1000, n),
        block_bytes=np.full(8, BLOCK_BYTES),
        arrival_ps=arrival_ps,
    )


def _control() -> TaskGraph:
    """Return six steps of eight cells; a task creates that of its cell two steps later."""
    steps, cells = 6, 8
    n = steps * cells + 1
    task = np.arange(n - 1).reshape(steps, cells)
    root = n - 1
    later = task[1:].ravel()
    left, right = task[1:, :-1].ravel(), task[1:, 1:].ravel()
    creator = np.append(np.full(2 * cells, root), task[:-2].ravel())
    detached = np.ones(n, bool)
    detached[root] = detached[0] = False
    return build_graph(
        np.append(np.full(n - 1, 1e6), 1e4),
        join_ops=np.append(np.zeros(n - 1), 1e4),
        children=adjacency(creator, task.ravel(), n),
        successors=adjacency(
            np.concatenate([task[:-1].ravel(), task[:-1, :-1].ravel(), task[:-1, 1:].ravel()]),
            np.concatenate([later, right, left]),
            n,
        ),
        accessed=accesses(task.ravel(), np.tile(np.arange(cells), steps), 4000, 4000, n),
        block_bytes=np.full(cells, BLOCK_BYTES),
        detached=detached,
    )
