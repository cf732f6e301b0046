"""Controlled PDF: supernodes one after another on one socket."""

from collections import Counter

import numpy as np

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.parts.footprint import UPPER, Tiers, cut_by_footprint, exact_footprint
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload
from simsched.workload.spawn_tree import equal_parts, grow

#: Two domains of four cores; 2000 bytes for each core, 8000 shared by the four of a domain.
MACHINE = make_machine(
    domains=2,
    cores_per_domain=4,
    caches=[("L1", 2000, 50e9, 0, 1), ("L2", 8000, 30e9, 0, 4)],
)
TREE = grow(32, equal_parts(2, 2))
GRAPH = build_graph(
    np.full(TREE.n_tasks, 1e3),
    children=TREE.children,
    accessed=accesses(TREE.leaves, np.arange(32), 1000, 0, TREE.n_tasks),
    block_bytes=np.full(32, 1000),
)
LARGE = cut_by_footprint(GRAPH, exact_footprint(GRAPH), 8000)
SMALL = cut_by_footprint(GRAPH, exact_footprint(GRAPH), 2000)


def run() -> Run:
    workload = Workload("tree", GRAPH)
    return simulate(MACHINE, workload, make_policy("controlled_pdf"), events=True)


def starts(done: Run) -> list[tuple[int, int]]:
    """Return the tasks and their workers in the order of their start."""
    assert done.trace is not None
    events = done.trace.events
    chosen = events["kind"] == EventKind.TASK_START
    return list(
        zip(events["task"][chosen].tolist(), events["worker"][chosen].tolist(), strict=True)
    )


def test_the_cuts() -> None:
    assert (len(LARGE.roots), len(SMALL.roots)) == (4, 16)


def test_one_socket_works() -> None:
    assert {worker for _, worker in starts(run())} == {0, 1, 2, 3}


def test_supernodes_of_the_shared_cache_follow_each_other_in_the_order_of_the_tree() -> None:
    inside = [int(LARGE.root_of[task]) for task, _ in starts(run()) if LARGE.of_task[task] != UPPER]
    assert inside == sorted(inside)
    assert Counter(inside) == dict.fromkeys(LARGE.roots.tolist(), 15)


def test_supernodes_of_a_private_cache_stay_on_one_worker() -> None:
    workers: dict[int, set[int]] = {}
    for task, worker in starts(run()):
        if SMALL.root_of[task] >= 0:
            workers.setdefault(int(SMALL.root_of[task]), set()).add(worker)
    assert all(len(found) == 1 for found in workers.values())
    # Those of one supernode of the shared cache run side by side.
    for root in LARGE.roots.tolist():
        of_root = [small for small in workers if LARGE.root_of[small] == root]
        assert len(of_root) == 4
        assert len(set.union(*(workers[small] for small in of_root))) > 1


def largest(tiers: Tiers) -> int:
    return int(exact_footprint(GRAPH)[tiers.roots].max())


def test_supernodes_fit() -> None:
    assert (largest(LARGE), largest(SMALL)) == (8000, 2000)


def test_a_program_that_fits_one_core_is_shared_by_the_socket() -> None:
    empty = Workload("empty", build_graph(np.full(TREE.n_tasks, 1e3), children=TREE.children))
    done = simulate(MACHINE, empty, make_policy("controlled_pdf"), events=True)
    assert {worker for _, worker in starts(done)} == {0, 1, 2, 3}
