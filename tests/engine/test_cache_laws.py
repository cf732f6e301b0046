"""Waiting for hits, slices of caches, and giving up what another core writes: closed forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Plan
from simsched.trace.run import Run
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

OPS_PS = 1000  # of an operation


def one_domain(cores: int, **options):  # type: ignore[no-untyped-def]
    return make_machine(domains=1, cores_per_domain=cores, **options)


class Turns(CentralQueue):
    """A chain whose tasks run on given workers."""

    def __init__(self, workers: Sequence[int]) -> None:
        super().__init__()
        self._workers = np.array(workers, np.int32)

    def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
        return Plan(acquire=(AcquireStep("worker"),), instance_of=self._workers)


def chain(workers: Sequence[int], read: object, written: object, ops: float = 0.0) -> Workload:
    """Return a chain of tasks that access block 0 of 4000 bytes."""
    n = len(workers)
    graph = build_graph(
        np.full(n, ops),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(range(n), [0] * n, read, written, n),
        block_bytes=[4000],
    )
    return Workload("chain", graph)


def run_chain(
    backend: str, cache: tuple[object, ...], workers: Sequence[int], *load: object
) -> Run:
    machine = one_domain(2, caches=[("L1", 10_000, 100e9, 0, 1, *cache)])
    workload = chain(workers, *load)  # type: ignore[arg-type]
    return simulate(machine, workload, Turns(workers), backend=backend)


@pytest.mark.parametrize(
    ("overlap", "exposure", "waited_ps"),
    [
        (1.0, None, 0),
        (0.25, None, 30_000),
        (0.0, None, 40_000),
        (0.25, 0.5, 15_000),
        (0.0, 0.0, 0),
        (0.0, 1.0, 40_000),
    ],
)
def test_a_core_waits_for_a_share_of_hits(
    backend: str, overlap: float, exposure: float | None, waited_ps: int
) -> None:
    # The first access takes 400 ns of memory; the hit 40 ns, of which a share goes on beside 100 ns
    # of computing, and so does what the second task hides of the rest.
    machine = one_domain(2, caches=[("L1", 10_000, 100e9, 0, 1, 0.0, 0, 0.0, overlap)])
    workload = chain([0, 0], 4000, 0, 100.0)
    shown = None if exposure is None else np.array([1.0, exposure])
    workload = replace(workload, graph=replace(workload.graph, exposure=shown))
    found = simulate(machine, workload, Turns([0, 0]), backend=backend)
    assert found.summary.makespan_ps == 400_000 + 100 * OPS_PS + waited_ps


def test_what_others_have_is_given_up_before_it_is_written(backend: str) -> None:
    # Worker 0 reads 400 ns from memory, 1 likewise: nobody has written. Then 0 updates 3000 of the
    # bytes, which it has and 1 has, too: 20 ns and 3000 B at 5 GB/s beside the hit of 70 ns.
    cache = (8e9, 20_000, 5e9)
    load = [4000, 4000, 4000], [0, 0, 3000]
    found = run_chain(backend, cache, [0, 1, 0], *load)
    assert found.summary.makespan_ps == 2 * 400_000 + 620_000
    # Nothing is given up for what is written without being read, nor when nobody else has it. The
    # 3000 bytes go to memory in 300 ns, unless the waiting above takes longer.
    load = [4000, 4000, 1000], [0, 0, 3000]
    alone_ps = 300_000 + 40_000
    assert run_chain(backend, cache, [0, 1, 0], *load).summary.makespan_ps == 2 * 400_000 + alone_ps
    load = [4000, 4000, 4000], [0, 0, 3000]
    alone_ps = 300_000 + 40_000 + 70_000
    assert run_chain(backend, cache, [0, 0, 0], *load).summary.makespan_ps == 400_000 + alone_ps


def test_what_is_passed_on_to_be_read_is_given_up_to_be_written(backend: str) -> None:
    # 1 gets 4000 B of 0 at 8 GB/s, and then 3000 of them at 5 GB/s, 20 ns before either.
    found = run_chain(backend, (8e9, 20_000, 5e9), [0, 1], [0, 4000], [4000, 3000])
    hit = 3000 // 100 * 1000  # of the 7000 bytes, 4000 were not there
    assert found.summary.makespan_ps == 400_000 + 520_000 + 620_000 + max(0, hit - 1_140_000)


@pytest.mark.parametrize("workers", [[0, 0], [0, 0, 1]])
def test_levels_hold_the_same_part_of_a_block(backend: str, workers: list[int]) -> None:
    # Worker 0 reads 1000 bytes, then all 4000: 3000 are new to both of its levels. Worker 1 shares
    # the second level and finds all of them there.
    machine = one_domain(2, caches=[("L1", 10_000, 100e9, 0, 1), ("L2", 20_000, 50e9, 0, 2)])
    workload = chain(workers, [1000, 4000, 4000][: len(workers)], 0)
    summary = simulate(machine, workload, Turns(workers), backend=backend).summary
    by_level = summary.cache_missing_bytes.sum(axis=(0, 1)).tolist()
    assert by_level == [4000 * len(set(workers)), 4000]


def swept(backend: str, n_bytes: list[int], effective: tuple[int, ...], rounds: int = 6) -> float:
    """Return the share of hits in the last sweep over blocks; the capacity is 20,000 bytes."""
    machine = one_domain(1, caches=[("L1", 20_000, 100e9, 0, 1, 0.0, 0, 0.0, 1.0, effective)])
    n = len(n_bytes)
    graph = build_graph(
        np.zeros(n),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(range(n), range(n), n_bytes, 0, n),
        block_bytes=n_bytes,
    )
    before, after = (
        simulate(machine, Workload("sweep", graph, count), CentralQueue(), backend=backend).summary
        for count in (rounds - 1, rounds)
    )
    return float(after.cache_hit_bytes.sum() - before.cache_hit_bytes.sum()) / sum(n_bytes)


@pytest.mark.parametrize(
    ("n_blocks", "effective", "share"),
    [
        (20, (), 1.0),
        (21, (), 0.0),  # least recently used: all or nothing
        (10, (10_000, 20_000, 30_000), 1.0),
        (11, (10_000, 20_000, 30_000), 2 / 3),
        (21, (10_000, 20_000, 30_000), 1 / 3),
        (31, (10_000, 20_000, 30_000), 0.0),
        (21, (30_000, 10_000, 20_000), 1 / 3),  # in any order
    ],
)
def test_a_sweep_stays_in_slices_that_have_room(
    backend: str, n_blocks: int, effective: tuple[int, ...], share: float
) -> None:
    # Blocks of 999 bytes are three parts of 333; so slices for 10,000 bytes hold 10 of them.
    assert swept(backend, [999] * n_blocks, effective) == pytest.approx(share)


def test_parts_of_a_block_are_the_whole_block(backend: str) -> None:
    # 1000 bytes in three slices are 333, 333 and 334: all are there the second time.
    assert swept(backend, [1000, 1, 2], (20_000,) * 3) == 1.0
    # A slice for 2000 bytes is too small for half of 4000; the other one holds its half.
    assert swept(backend, [4000], (2000, 9000)) == 0.5


def test_a_slice_passes_on_what_it_still_has(backend: str) -> None:
    # Worker 0 writes block 0, then block 1: the smaller slice of its cache loses half of block 0.
    cache = ("L1", 8000, 100e9, 0, 1, 8e9, 20_000, 0.0, 1.0, (6000, 10_000))
    graph = build_graph(
        np.zeros(3),
        successors=adjacency(range(2), range(1, 3), 3),
        accessed=accesses(range(3), [0, 1, 0], [0, 0, 4000], [4000, 4000, 0], 3),
        block_bytes=[4000, 4000],
    )
    turns = Turns([0, 0, 1])
    found = simulate(
        one_domain(2, caches=[cache]), Workload("chain", graph), turns, backend=backend
    )
    # 400 ns of memory for each block; then 2000 bytes at 8 GB/s after 20 ns, the rest of memory.
    assert found.summary.makespan_ps == 2 * 400_000 + 20_000 + 250_000
    assert found.summary.cache_hit_bytes.sum() == 2000


@pytest.mark.parametrize(
    ("own_bytes", "displacing_ps"),
    [
        ([2000], 0),  # as much room as the block needs
        ([2500], 156_250),
        ([3000, 3000], 250_000),  # 6000 leave for 4000
    ],
)
def test_what_is_passed_on_displaces_others(
    backend: str, own_bytes: list[int], displacing_ps: int
) -> None:
    """Worker 0 writes a block; worker 1 fills its cache of 6000 bytes, then reads the block."""
    cache = ("L1", 6000, 100e9, 0, 1, 8e9, 20_000, 0.0, 1.0, (), 1.0, "misses", 16e9)
    n = len(own_bytes) + 2
    graph = build_graph(
        np.zeros(n),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(
            range(n), [*range(n - 1), 0], [0, *own_bytes, 4000], [4000, *[0] * (n - 1)], n
        ),
        block_bytes=[4000, *own_bytes],
    )
    turns = Turns([0] + [1] * (n - 1))
    machine = one_domain(2, caches=[cache])
    found = simulate(machine, Workload("chain", graph), turns, backend=backend)
    # Memory takes 100 ps a byte; the transfer 20 ns and 4000 bytes at 8 GB/s.
    memory_ps = 100 * (4000 + sum(own_bytes))
    assert found.summary.makespan_ps == memory_ps + 20_000 + 500_000 + displacing_ps


def test_by_default_hits_overlap_and_the_least_recent_leave() -> None:
    (level,) = make_machine(caches=[("L1", 1000, 1e9, 0, 1)]).caches
    assert (level.overlap, level.effective_capacities_bytes) == (1.0, ())
    assert level.upgrade_bandwidth_bytes_per_s == level.displacement_bandwidth_bytes_per_s == 0.0
