"""Bandwidth sharing: the kernel against plain water-filling in doubles and in exact fractions."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction

import numpy as np
import pytest

from simsched.engine.reference.sharing import NEVER

from .sharing_engines import Instance, KernelFlows, Lockstep, build_driver

QUICK, MANY, CHUNK = 300, 12_300, 600
INF = math.inf


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_driver(tmp_path_factory.mktemp("flows"))


def random_instance(rng: np.random.Generator) -> Instance:
    """Return up to 20 paths over up to 10 resources; every other time numbers are round: ties."""
    n_resources, n_paths = int(rng.integers(1, 11)), int(rng.integers(1, 21))
    n_mates, most_crossed = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    is_round, is_weighted = rng.random() < 0.5, rng.random() < 0.5

    def rate() -> float:
        return float(2.0 ** -rng.integers(1, 7) if is_round else rng.uniform(0.01, 1.0))

    def weight() -> float:
        heavy = rng.choice([1.25, 2.0, 3.0]) if is_round else rng.uniform(1.0, 3.0)
        return float(heavy) if is_weighted and rng.random() < 0.5 else 1.0

    def path() -> list[tuple[int, float]]:
        n_crossed = min(int(rng.integers(1, most_crossed + 1)), n_resources)
        return [(r, weight()) for r in rng.permutation(n_resources)[:n_crossed].tolist()]

    curved, capped = rng.choice([0.0, 0.5], 2)
    return Instance(
        n_workers=int(rng.integers(1, 20)),
        n_mates=n_mates,
        loads=[path() for _ in range(n_paths)],
        caps=[rate() if rng.random() < capped else INF for _ in range(n_paths * n_mates)],
        capacity=[4.0 * rate() for _ in range(n_resources)],
        curves=[
            [2.0 * rate() for _ in range(rng.integers(1, 6))] if rng.random() < curved else []
            for _ in range(n_resources)
        ],
    )


def play(library: ctypes.CDLL, seed: int, n_steps: int) -> None:
    """Start, stop, move and end flows at random."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng)
    n_classes = len(instance.caps)
    used = rng.permutation(n_classes)[: rng.integers(1, n_classes + 1)].tolist()

    def a_class() -> int:
        return int(rng.choice(used))

    def n_bytes() -> float:
        return float(rng.choice([0, 1, 64, 1000, 4096, rng.integers(1, 10000)]))

    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance, follows=bool(rng.integers(2)))
        for _ in range(n_steps):
            for worker in rng.integers(0, instance.n_workers, rng.integers(0, 5)).tolist():
                if flows.class_of(worker) is None:
                    flows.start(worker, a_class(), n_bytes())
                elif rng.random() < 0.3:
                    left = flows.stop(worker)
                    if rng.random() < 0.6:
                        flows.start(worker, a_class(), left)
            other, lag = NEVER, 0.0
            if rng.random() < 0.3 or not flows.exact.flows:
                other = flows.now + int(rng.choice([0, 1, 100, 10000]))
                lag = float(rng.choice([0.0, 0.5, rng.random()]))
            before = flows.exact.flows.copy()
            worker = flows.advance(other, lag)
            assert kernel.is_sound()
            if worker is not None and rng.random() < 0.6:
                c = before[worker].flow_class if rng.random() < 0.5 else a_class()
                flows.start(worker, c, n_bytes())


@pytest.mark.parametrize("seed", range(QUICK))
def test_random_flows(library: ctypes.CDLL, seed: int) -> None:
    play(library, seed, 40)


@pytest.mark.parametrize("seed", [1384, 2094, 3838, 4481, 4521, 8822])
def test_others_go_on_while_an_end_is_noticed_late(library: ctypes.CDLL, seed: int) -> None:
    play(library, seed, 30)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, MANY, CHUNK))
def test_many_random_flows(library: ctypes.CDLL, start: int) -> None:
    for seed in range(start, start + CHUNK):
        try:
            play(library, seed, 30)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


def simple(
    caps: list[float], loads: list[list[tuple[int, float]]], capacity: list[float]
) -> Instance:
    """Return ten workers, one class per path and resources without curves."""
    return Instance(10, 1, loads, caps, capacity, [[] for _ in capacity])


def test_one_flow_ends_at_the_next_picosecond(library: ctypes.CDLL) -> None:
    instance = simple([INF], [[(0, 1.0)]], [0.75])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        flows.start(3, 0, 1000.0)
        assert flows.advance() == 3
        assert (flows.now, flows.lag.exact) == (1334, Fraction(2, 3))
        # Begun a third after 1333, the next one of 1 byte ends at 1334 + 2 / 3.
        flows.start(3, 0, 1.0)
        assert flows.advance() == 3
        assert (flows.now, flows.lag.exact) == (1335, Fraction(1, 3))
        assert flows.advance(2000) is None


def test_ends_in_one_picosecond_come_by_lag_then_worker_then_start(library: ctypes.CDLL) -> None:
    instance = simple([INF] * 4, [[(r, 1.0)] for r in range(4)], [1.0, 0.5, 0.25, 1.0])
    sizes = {7: (0, 10.25), 1: (1, 5.375), 6: (2, 2.6875), 4: (3, 10.5), 2: (3, 10.5)}
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        for worker, (flow_class, n_bytes) in sizes.items():
            flows.start(worker, flow_class, n_bytes)
        ends = []
        while flows.exact.flows:
            ends.append((flows.advance(), flows.now, flows.lag.kernel))
    # 7 ends at 10.25, 1 and 6 at 10.75; 4 and 2 share: 21.
    assert ends == [(7, 11, 0.75), (1, 11, 0.25), (6, 11, 0.25), (4, 21, 0.0), (2, 21, 0.0)]


def test_flows_of_a_class_that_end_together_come_by_start(library: ctypes.CDLL) -> None:
    instance = simple([INF], [[(0, 1.0)]], [1.0])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        for worker in (5, 9, 2, 7, 0):
            flows.start(worker, 0, 64.0)
        assert [flows.advance() for _ in range(5)] == [5, 9, 2, 7, 0]
        assert flows.now == 5 * 64


def test_a_flow_without_bytes_ends_when_it_begins(library: ctypes.CDLL) -> None:
    instance = simple([INF, INF], [[(0, 1.0)], [(0, 1.0)]], [1.0])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        flows.start(0, 0, 100.0)
        assert flows.advance(50, 0.25) is None
        flows.start(1, 1, 0.0)
        flows.start(2, 0, 0.0)
        assert flows.advance() == 2  # its class has a rate already
        assert (flows.now, flows.lag.kernel) == (50, 0.25)
        assert flows.advance() == 1
        assert (flows.now, flows.lag.kernel) == (50, 0.25)
        assert flows.advance() == 0
        assert (flows.now, flows.lag.kernel) == (100, 0.0)


def test_rounding_can_cost_a_flow_without_bytes_its_lag(library: ctypes.CDLL) -> None:
    """What ended less than a picosecond ago may seem to have ended earlier: noticed late."""
    instance = simple([INF], [[(0, 1.0)]], [0.3])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        flows.start(0, 0, 1e5)
        for time, lag, kept in [(9001, 1 - 2.0**-50, 0.0), (9002, 0.999, 0.999)]:
            flows.advance(time, lag)
            flows.start(1, 0, 0.0)
            assert flows.advance() == 1
            assert flows.now == time
            assert flows.lag.kernel == pytest.approx(kept)


def test_a_class_that_empties_and_fills_in_one_instant_changes_nothing(
    library: ctypes.CDLL,
) -> None:
    instance = simple([INF, INF], [[(0, 1.0)], [(0, 1.0), (1, 1.0)]], [1.0, 4.0])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        flows.start(0, 0, 100.25)
        flows.start(1, 1, 300.0)
        assert flows.advance() == 0
        assert (flows.now, flows.lag.kernel) == (201, 0.5)
        flows.start(4, 0, 10.0)
        assert not flows.exact.is_stale()
        assert flows.advance() == 4
        assert (flows.now, flows.lag.kernel) == (221, 0.5)  # 200.5 + 10 / 0.5
        # Emptied for longer: the other one gets all, from 220.5 on.
        assert flows.advance() == 1
        assert flows.now == math.ceil(220.5 + (300 - 220.5 / 2))


def test_thousands_of_changes_in_one_instant_leave_no_trace(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(5)
    loads = [[(0, 1.0)], [(1, 1.5)], [(0, 1.25), (1, 1.0)], [(1, 1.0), (2, 1.0)]]
    instance = simple([INF, 0.3, INF, INF], loads, [0.7, 1.1, 0.9])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        for worker in range(4):
            flows.start(worker, worker, 1e5 + worker)
        assert flows.advance(1000, 0.375) is None
        rates = kernel.rates().tolist()
        ends = {worker: flow.end() for worker, flow in flows.exact.flows.items()}
        for _ in range(5000):
            worker = int(rng.integers(4, 10))
            if flows.class_of(worker) is None:
                size = float(rng.integers(1, 1000))
                flows.start(worker, int(rng.integers(4)), size)
            else:
                flows.stop(worker)
        for worker in range(4, 10):
            if flows.class_of(worker) is not None:
                flows.stop(worker)
        assert kernel.is_sound()
        assert kernel.rates().tolist() == rates
        first = min(ends, key=ends.__getitem__)
        assert flows.advance() == first
        assert flows.now == math.ceil(ends[first])


@pytest.mark.parametrize("capacity", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("n_bytes", [1.0, 1e15])
def test_tiny_and_huge_flows(library: ctypes.CDLL, n_bytes: float, capacity: float) -> None:
    instance = simple([INF, INF], [[(0, 1.0)], [(0, 3.0)]], [capacity])
    duration = 3 * n_bytes / capacity
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance, tolerance=1e-15 * max(duration, n_bytes) + 1e-9)
        flows.start(0, 0, n_bytes)
        flows.start(1, 0, n_bytes / 3)
        flows.start(2, 1, n_bytes / 7)
        if duration < NEVER:
            assert [flows.advance() for _ in range(3)] == [2, 1, 0]
        else:
            assert kernel.next(0, 0.0, NEVER)[0] == NEVER


def test_a_byte_beside_a_petabyte(library: ctypes.CDLL) -> None:
    """A class counts on while it has flows, so its ends are as exact as what it has moved."""
    instance = simple([INF], [[(0, 1.0)]], [1.0])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance, tolerance=0.5)
        flows.start(0, 0, 1e15)
        flows.advance(10**14 + 1, 0.3)
        flows.start(1, 0, 1.0)
        assert flows.advance() == 1
        assert 0 < abs(flows.errors_ps[-1]) < 2.0**-53 * 1e14 * 4
        flows.stop(0)
        flows.start(1, 0, 1.0)  # the class was empty: exact again
        flows.tolerance = 1e-15
        assert flows.advance() == 1


def test_capacities_of_very_different_size(library: ctypes.CDLL) -> None:
    loads = [[(0, 1.0)], [(1, 1.0)], [(0, 1.0), (1, 1.0)], [(0, 2.0), (2, 1.0)]]
    instance = simple([INF] * 4, loads, [1e3, 1e-3, 1.0])
    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance)
        for worker, n_bytes in enumerate([5e6, 7.0, 9.0, 1e4]):
            flows.start(worker, worker, n_bytes)
        assert flows.advance(100) is None
        assert kernel.rates()[1] == kernel.rates()[2] == 0.5e-3
        assert kernel.rates()[3] == 1.0
        assert kernel.rates()[0] == pytest.approx(1e3 - 2.0 - 0.5e-3, rel=1e-15)
        assert [flows.advance() for _ in range(4)] == [0, 3, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("stays", [True, False])
def test_drift(library: ctypes.CDLL, stays: bool) -> None:
    """Ends stay as exact as a double of the present time, also after 100000 of them.

    With `stays` every worker keeps to its class, so that no class is ever empty and no rate
    changes; without, nearly every end changes rates.
    """
    rng = np.random.default_rng(1)
    loads = [[(0, 1.0)], [(1, 1.0)], [(0, 1.0), (2, 1.3)], [(1, 1.0), (2, 1.3)]]
    instance = simple([INF, 0.0371, INF, INF], loads, [0.0911, 0.1237, 0.0433])
    grid = 1 << 200  # far finer than doubles; without it fractions would grow for ever

    def keep(value: Fraction) -> Fraction:
        return Fraction(round(value * grid), grid)

    with KernelFlows(library, instance) as kernel:
        flows = Lockstep(kernel, instance, keep=keep, follows=True)
        for worker in range(8):
            flows.start(worker, worker % 4, float(rng.integers(64, 10000)))
        for _ in range(100_000):
            before = {worker: flow.flow_class for worker, flow in flows.exact.flows.items()}
            worker = flows.advance()
            assert worker is not None
            assert abs(flows.errors_ps[-1]) <= 1e-9 + 2.0**-50 * flows.now
            flow_class = before[worker] if stays else int(rng.integers(4))
            flows.start(worker, flow_class, float(rng.integers(64, 10000)))
        assert kernel.is_sound()
