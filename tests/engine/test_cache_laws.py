"""Waiting for hits, shares of full caches, and giving up what another core writes: closed forms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import Run, simulate
from simsched.hardware.calibrate_memory import BEYOND, admission_of
from simsched.machine.synthetic import make_machine
from simsched.policy.base import AcquireStep, Plan
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


@pytest.mark.parametrize(("overlap", "waited_ps"), [(1.0, 0), (0.25, 30_000), (0.0, 40_000)])
def test_a_core_waits_for_a_share_of_hits(backend: str, overlap: float, waited_ps: int) -> None:
    # The first access takes 400 ns of memory; the hit 40 ns, of which a share goes on beside 100 ns
    # of computing and the rest does not.
    found = run_chain(backend, (0.0, 0, 0.0, overlap), [0, 0], 4000, 0, 100.0)
    assert found.summary.makespan_ps == 400_000 + 100 * OPS_PS + waited_ps


def test_what_others_have_is_given_up_before_it_is_written(backend: str) -> None:
    # Worker 0 reads 400 ns from memory, 1 likewise: nobody has written. Then 0 updates 3000 of the
    # bytes, which it has and 1 has, too: 20 ns and 3000 B at 5 GB/s beside the hit of 70 ns.
    cache = (8e9, 20_000, 5e9)
    load = [4000, 4000, 4000], [0, 0, 3000]
    found = run_chain(backend, cache, [0, 1, 0], *load)
    assert found.summary.makespan_ps == 2 * 400_000 + 620_000
    # Nothing is given up for what is written without being read, nor when nobody else has it.
    load = [4000, 4000, 1000], [0, 0, 3000]
    assert run_chain(backend, cache, [0, 1, 0], *load).summary.makespan_ps == 2 * 400_000 + 40_000
    load = [4000, 4000, 4000], [0, 0, 3000]
    assert run_chain(backend, cache, [0, 0, 0], *load).summary.makespan_ps == 400_000 + 110_000


def test_what_is_passed_on_to_be_read_is_given_up_to_be_written(backend: str) -> None:
    # 1 gets 4000 B of 0 at 8 GB/s, and then 3000 of them at 5 GB/s, 20 ns before either.
    found = run_chain(backend, (8e9, 20_000, 5e9), [0, 1], [0, 4000], [4000, 3000])
    hit = 3000 // 100 * 1000  # of the 7000 bytes, 4000 were not there
    assert found.summary.makespan_ps == 400_000 + 520_000 + 620_000 + max(0, hit - 1_140_000)


def swept(
    backend: str, blocks: int, admission: float, rounds: int = 30, block_bytes: int = 1000
) -> float:
    """Return the share of hits in the last third of sweeps over blocks; 20,000 bytes fit."""
    machine = one_domain(1, caches=[("L1", 20_000, 100e9, 0, 1, 0.0, 0, 0.0, 1.0, admission)])
    graph = build_graph(
        np.zeros(blocks),
        successors=adjacency(range(blocks - 1), range(1, blocks), blocks),
        accessed=accesses(range(blocks), range(blocks), block_bytes, 0, blocks),
        block_bytes=[block_bytes] * blocks,
    )
    done = [
        simulate(machine, Workload("sweep", graph, n), CentralQueue(), backend=backend).summary
        for n in (rounds * 2 // 3, rounds)
    ]
    hits = [float(summary.cache_hit_bytes.sum()) for summary in done]
    return (hits[1] - hits[0]) / (rounds - rounds * 2 // 3) / (block_bytes * blocks)


def test_a_cache_with_shares_keeps_what_fits(backend: str) -> None:
    assert swept(backend, 20, 1.0) == 1.0
    assert swept(backend, 21, 0.0) == 0.0  # least recently used: all or nothing
    assert 0.7 < swept(backend, 21, 1.0) < 1.0


@pytest.mark.parametrize("admission", [1.0, 0.5, 0.1])
def test_a_swept_cache_keeps_its_steady_share(backend: str, admission: float) -> None:
    # s = (s + q (1 - s)) exp(-q (1 - s) 1.5), in the limit of small blocks.
    share = swept(backend, 30, admission)
    entering = admission * (1 - share)
    assert share == pytest.approx((share + entering) * math.exp(-entering * 1.5), rel=0.03)
    # Calibration finds the admission again.
    assert admission_of(share) == pytest.approx(admission, rel=0.15)


def test_admissions_of_what_a_sweep_shows() -> None:
    assert BEYOND == 1.5
    assert admission_of(0.1) == 0.0
    assert admission_of(0.3) == 1.0  # less than random replacement keeps
    assert admission_of(0.7) == pytest.approx(0.05)  # more than fits
    assert 0.05 < admission_of(0.6) < admission_of(0.5) < 1.0


def test_shares_survive_long_runs(backend: str) -> None:
    # Every block halves what was there: without care nothing would be left after 180 sweeps.
    long = swept(backend, 6, 1.0, rounds=240, block_bytes=10_000)
    assert long == pytest.approx(swept(backend, 6, 1.0, block_bytes=10_000), rel=1e-3)
    assert long > 0.0


def test_by_default_hits_overlap_and_the_least_recent_leave() -> None:
    (level,) = make_machine(caches=[("L1", 1000, 1e9, 0, 1)]).caches
    assert (level.overlap, level.admission, level.upgrade_bandwidth_bytes_per_s) == (1.0, 0.0, 0.0)
