"""Caches of one level that differ, as those of large and small cores do: closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.bounds import capability
from simsched.engine.run import simulate
from simsched.machine.caches import CacheInstance
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Plan
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

N_BYTES = 4000
FETCHED_PS = 400_000  # of all bytes, from memory with 10 GB/s


class OnWorkers(CentralQueue):
    """A chain whose tasks run on given workers."""

    def __init__(self, workers: Sequence[int]) -> None:
        super().__init__()
        self._workers = np.array(workers, np.int32)

    def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
        return Plan(acquire=(AcquireStep("worker"),), instance_of=self._workers)


def chain_ps(
    backend: str,
    workers: Sequence[int],
    *levels: tuple[object, ...],
    domains: int = 1,
) -> int:
    """Return how long a chain takes whose tasks read one block and compute nothing.

    There are two workers, on the first core of each of two domains or on those of one.
    """
    machine = make_machine(domains=domains, cores_per_domain=2, caches=levels)
    n = len(workers)
    graph = build_graph(
        np.zeros(n),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(range(n), [0] * n, N_BYTES, 0, n),
        block_bytes=[N_BYTES],
    )
    workload = Workload("chain", graph)
    run = simulate(machine, workload, OnWorkers(workers), backend=backend, workers=2)
    return run.summary.makespan_ps


def level(
    name: str,
    cores: int,
    other: CacheInstance,
    effective: tuple[int, ...] = (),
    filled_by: str = "misses",
    number: int = 1,
) -> tuple[object, ...]:
    """Return 10,000 bytes at 100 GB/s and 2 ns, and what one instance has instead."""
    plain = (0.0, 0, 0.0, 1.0, effective, 1.0, filled_by, 0.0)
    return (name, 10_000, 100e9, 2000, cores, *plain, {number: other})


def test_a_small_cache_does_not_hold_what_a_large_one_does(backend: str) -> None:
    own = level("L1", 1, CacheInstance(3000, 100e9, 2000))
    assert chain_ps(backend, [0, 0, 0], own) == FETCHED_PS + 2 * 42_000
    assert chain_ps(backend, [1, 1, 1], own) == 3 * FETCHED_PS
    assert chain_ps(backend, [0, 1, 0, 1], own) == 3 * FETCHED_PS + 42_000


def test_hits_take_as_long_as_the_own_cache_says(backend: str) -> None:
    own = level("L1", 1, CacheInstance(10_000, 50e9, 7000))
    assert chain_ps(backend, [0, 0], own) == FETCHED_PS + 42_000
    assert chain_ps(backend, [1, 1], own) == FETCHED_PS + 87_000


def test_a_worker_uses_the_cache_of_its_core(backend: str) -> None:
    # Cores 1 and 3 have no workers.
    own = level("L1", 1, CacheInstance(10_000, 50e9, 7000), number=2)
    assert chain_ps(backend, [1, 1], own, domains=2) == FETCHED_PS + 87_000
    own = level("L1", 1, CacheInstance(10_000, 50e9, 7000), number=1)
    assert chain_ps(backend, [1, 1], own, domains=2) == FETCHED_PS + 42_000


def test_slices_have_room_of_their_own(backend: str) -> None:
    # Half of the block is in a slice for 1500 bytes, of the other cache for 2500.
    own = level("L1", 1, CacheInstance(10_000, 100e9, 2000, (3000, 5000)), (10_000, 5000))
    assert chain_ps(backend, [0, 0], own) == FETCHED_PS + 42_000
    assert chain_ps(backend, [1, 1], own) == FETCHED_PS + FETCHED_PS // 2 + 22_000


def test_a_small_victim_cache_keeps_less(backend: str) -> None:
    # The first level has no room for the block, so all of it goes to the victim cache, or past it.
    first = ("L1", 1000, 100e9, 0, 1)
    second = level("L2", 1, CacheInstance(3000, 100e9, 2000), filled_by="evictions")
    assert chain_ps(backend, [0, 0], first, second) == FETCHED_PS + 42_000
    assert chain_ps(backend, [1, 1], first, second) == 2 * FETCHED_PS


@pytest.mark.parametrize(
    ("cores", "largest", "together"), [([0], 10, 10), ([1], 30, 30), ([0, 1], 30, 40)]
)
def test_bounds_know_what_the_caches_in_use_hold(
    cores: list[int], largest: int, together: int
) -> None:
    own = level("L1", 1, CacheInstance(30_000, 100e9, 2000))
    machine = make_machine(domains=1, cores_per_domain=2, caches=[own])
    found = capability(machine, np.array(cores, np.int32))
    assert (found.cache_bytes, found.all_cache_bytes) == (largest * 1000, together * 1000)
