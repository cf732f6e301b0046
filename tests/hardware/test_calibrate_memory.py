"""Memories and caches of a host: which sizes are measured, and what is made of the values."""

from __future__ import annotations

import numpy as np
import pytest

import simsched.hardware.calibrate_memory as module
from simsched.hardware.calibrate_host import Host, HostCache
from simsched.hardware.calibrate_memory import STATED, Effort, effective_capacities
from simsched.hardware.calibrate_probes import ITEM_BYTES, Measured

from .calibrations import GB, TINY, measured, small, two_nodes
from .support import needs_linux

pytestmark = needs_linux


def test_numbers_of_threads() -> None:
    assert [module.thread_counts(n) for n in (1, 2, 5)] == [[1], [1, 2], [1, 2, 3, 4, 5]]
    assert module.thread_counts(64)[-4:] == [24, 32, 48, 64]


def test_arrays_exceed_the_caches_unless_there_is_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warnings: list[str] = []
    effort = Effort(7, 2.0, 2**20, 2**20, 2**20)
    monkeypatch.setattr(module, "available_bytes", lambda: 2**32)
    assert module.memory_bytes(small(), effort, warnings) == 2 * 8 * 2**20
    assert module.memory_bytes(two_nodes(), effort, warnings) == 2 * 2 * 8 * 2**20
    assert module.memory_bytes(small(caches=()), effort, warnings) == 2**20
    assert warnings == []
    monkeypatch.setattr(module, "available_bytes", lambda: 2**24)
    assert module.memory_bytes(small(), effort, warnings) == 2**22
    assert "arrays of 4 MiB for caches of 8 MiB" in warnings[0]


def test_pairs_of_domain_and_node(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rate(threads, operation, total, *, node=-1, rounds):
        asked.append((operation, tuple(threads), node))
        return measured(1e9)

    monkeypatch.setattr(module, "stream_rate", rate)
    found = module.measure_streams(two_nodes(), TINY, 2**20, lambda what: None)
    assert len(found) == len(asked) == 2 * (4 * 2) + 2 * (2 * 2)
    assert ("write", (2, 3), 1) in asked
    assert ("triad", (0, 1), 1) in asked
    assert ("write", (0, 1), 1) not in asked
    asked.clear()
    module.measure_streams(small(), TINY, 2**20, lambda what: None)
    assert {node for _, _, node in asked} == {-1}  # nothing to bind to


def test_latency_is_measured_idle_and_under_load(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def time(threads, size, *, node, rounds, evict_bytes, load_bytes):
        asked.append((threads, size, node, evict_bytes, load_bytes))
        return measured(1e-7)

    monkeypatch.setattr(module, "chase_time", time)
    found = module.measure_latencies(two_nodes(), TINY, 2**22, lambda what: None)
    assert [(each.domain, each.node, each.n_loading) for each in found] == [
        (d, n, k) for d in range(2) for n in range(2) for k in range(2)
    ]
    assert asked[0] == ((0,), 2**20, 0, 2**22, 2**22)
    assert asked[3] == ((0, 1), 2**20, 1, 2**22, 2**21)


def steps(*times: float) -> list[tuple[int, Measured]]:
    return [(1024 << i, measured(time * 1e-9)) for i, time in enumerate(times)]


def test_capacities_from_latencies() -> None:
    sweep = steps(1, 1, 1.1, 4, 4.1, 4.5, 20, 50, 100, 101)
    assert module.levels_of_sweep(sweep) == [4096, 32768]
    assert module.levels_of_sweep(steps(1, 1, 1)) == []


@pytest.fixture
def latencies(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Let loads in a buffer take what is put here, in nanoseconds; 1 otherwise."""
    times: dict[int, float] = {}

    def time(threads, size, *, rounds):
        return measured(times.get(size, 1.0) * 1e-9, f"{size}")

    monkeypatch.setattr(module, "chase_time", time)
    monkeypatch.setattr(
        module,
        "transfer_rate",
        lambda *a, filler_bytes=0, rounds: measured(GB / (1 + bool(filler_bytes)), f"{a}"),
    )
    monkeypatch.setattr(module, "upgrade_rate", lambda *a, **k: measured(2 * GB, f"{a}"))
    monkeypatch.setattr(module, "stream_rate", lambda *a, **k: measured(3 * GB, f"{a[1]} {a[2]}"))
    return times


def caches_of(host, sweep, warnings):
    of_memory = measured(100e-9), measured(3 * GB)
    return module.measure_caches(host, TINY, sweep, of_memory, warnings)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Let a core read buffers as fast as is put here, in GB/s; return what was not asked for."""
    rates: dict[int, float] = {}

    def rate(threads, operation, total, *, rounds):
        assert (list(threads), rounds) == ([0], TINY.rounds)
        return measured(rates.pop(total) * GB if operation == "read" else 3 * GB, operation)

    monkeypatch.setattr(module, "stream_rate", rate)
    return rates


def test_caches_are_measured_in_half_of_their_capacity(latencies: dict[int, float]) -> None:
    warnings: list[str] = []
    found = caches_of(small(), steps(1, 1), warnings)
    remark = ", 1.33 bytes moved for each counted"
    assert [(c.name, c.capacity_bytes, c.latency.how, c.bandwidth.how) for c in found] == [
        ("L1", 2**15, f"{2**14}", f"triad {2**14}"),
        ("L3", 2**23, f"{2**22}", f"triad {2**22}{remark}"),
    ]
    # 3 GB/s counted; beyond the first level the written third is also fetched.
    assert [c.bandwidth.value for c in found] == [3 * GB, pytest.approx(4 * GB)]
    # Both cores share the outer level: only what is in the inner one can come from the other.
    assert found[0].transfer is not None
    assert found[0].transfer.how == f"(0, 1, {2**13})"
    # Twice as long in full caches: displacing takes as long again.
    assert found[0].displacement is not None
    assert found[0].displacement.value == pytest.approx(GB)
    assert found[0].upgrade is not None
    assert found[0].upgrade.value == 2 * GB
    assert found[1].transfer is found[1].displacement is found[1].upgrade is None
    # The sweep is as fast as in the first level: nothing to wait for.
    assert found[0].overlap is None
    assert found[1].overlap is not None
    assert found[1].overlap.value == 1.0
    assert found[0].effective_bytes == found[1].effective_bytes == ()  # no level between
    assert warnings == []


def test_overlap_is_the_rate_by_that_of_the_first_level(
    latencies: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {2**14: 24.0, 2**19: 12.0, 2**23: 3.0}
    monkeypatch.setattr(
        module,
        "stream_rate",
        lambda threads, operation, total, *, rounds: measured(rates[total] * GB, operation),
    )
    found = caches_of(three_levels(ways=0), steps(1, 1), [])
    assert [each.overlap and each.overlap.value for each in found] == [None, 0.5, 0.125]


def three_levels(*, ways: int) -> Host:
    inner, outer = HostCache(1, 2**15, 1, ways=8), HostCache(3, 2**24, 2, ways=16)
    return small(caches=(inner, HostCache(2, 2**20, 1, ways=ways), outer))


def test_pages_fill_the_sets_of_levels_between_by_chance(latencies: dict[int, float]) -> None:
    found = caches_of(three_levels(ways=16), steps(1, 1), [])
    assert [len(each.effective_bytes) for each in found] == [0, module.SLICES, 0]
    assert found[1].effective_how == "16 places for pages of 4 KiB, 16 ways, taken by chance"
    # Nothing is known of the sets, or there are as many as a page has lines.
    assert caches_of(three_levels(ways=0), steps(1, 1), [])[1].effective_bytes == ()
    assert caches_of(three_levels(ways=256), steps(1, 1), [])[1].effective_bytes == ()


@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16, 256])
def test_slices_keep_of_sweeps_what_sets_keep(ways: int) -> None:
    """Against pages drawn at random: those stay whose sets have room for all pages there."""
    rng, places = np.random.default_rng(1), 64
    slices = np.array(effective_capacities(ways))
    assert sorted(slices) == list(slices)
    for size in (0.5, 0.75, 1.0, 1.25, 1.5, 2.0):
        kept = []
        for _ in range(100):
            pages = np.bincount(rng.integers(places, size=int(size * ways * places)))
            kept.append(pages[pages <= ways].sum() / pages.sum())
        assert abs(np.mean(slices >= size) - np.mean(kept)) <= 0.5 / len(slices) + 0.02


def test_displacing_that_is_less_than_noise_is_none(
    latencies: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rate(*where, filler_bytes=0, rounds):
        return measured(0.96 * GB if filler_bytes else GB, "")

    monkeypatch.setattr(module, "transfer_rate", rate)
    assert caches_of(small(), steps(1, 1), [])[0].displacement is None


@pytest.mark.parametrize(
    ("operation", "n_read", "n_written"),
    [("read", 1, 0), ("write", 0, 1), ("copy", 1, 1), ("triad", 2, 1)],
)
def test_written_lines_move_twice(operation: str, n_read: int, n_written: int) -> None:
    assert ITEM_BYTES[operation] == 8 * (n_read + n_written)
    counted = measured(6 * GB, "a sweep")
    found = module.moved(counted, operation)
    assert found.value == pytest.approx(6 * GB * (n_read + 2 * n_written) / (n_read + n_written))
    assert (found.spread, found.rounds) == (counted.spread, counted.rounds)
    factor = {"write": "2", "copy": "1.5", "triad": "1.33"}.get(operation)
    remark = f", {factor} bytes moved for each counted" if factor else ""
    assert found.how == f"a sweep{remark}"


def test_a_cache_as_slow_as_memory_is_taken_for_smaller(
    latencies: dict[int, float], reads: dict[int, float]
) -> None:
    warnings: list[str] = []
    latencies[2**22] = 90
    # Halfway between 13 GB/s in 128 KiB and 3 GB/s from memory are 8 GB/s.
    reads |= {2**17: 13, 3 * 2**16: 20, 2**18: 12, 3 * 2**17: 8.1, 2**19: 7.9, 3 * 2**18: 13}
    level = caches_of(small(), [], warnings)[1]
    assert reads.keys() == {3 * 2**18}  # fast buffers beyond a slow one are chance
    assert level.capacity_bytes == 3 * 2**17
    assert "faster than halfway" in level.capacity_how
    assert "the system states 8 MiB" in level.capacity_how
    assert level.latency.how == f"{2**17}"  # four times the 32 KiB of the inner level
    assert level.bandwidth.value == pytest.approx(4 * GB)
    assert "L3: stated as 8 MiB, but loads in half of it take 90 ns" in warnings[0]
    assert "taken as 384 KiB" in warnings[0]


@pytest.mark.parametrize("first", [3.0, 2.5])
def test_a_cache_no_faster_than_memory_is_what_is_stated(
    latencies: dict[int, float], reads: dict[int, float], first: float
) -> None:
    warnings: list[str] = []
    latencies[2**22] = 90
    reads[2**17] = first
    level = caches_of(small(), [], warnings)[1]
    assert reads == {}
    assert (level.capacity_bytes, level.capacity_how) == (2**23, STATED)
    assert level.latency.value == pytest.approx(90e-9)
    assert "taken as 8 MiB" in warnings[0]


def test_a_doubtful_cache_is_never_larger_than_stated(
    latencies: dict[int, float], reads: dict[int, float]
) -> None:
    latencies[2**22] = 90
    sizes = [inner * 2**octave for octave in range(17, 22) for inner in (1, 1.5)]
    reads |= {int(size): 13 for size in sizes}
    reads |= {2**22: 13, 3 * 2**21: 13, 2**23: 13}
    level = caches_of(small(), [], [])[1]
    assert level.capacity_bytes == 3 * 2**21  # the largest buffer below 8 MiB
    assert reads.keys() == {2**23}
    # A cache no larger than four inner ones has no size to try.
    of = small(caches=(HostCache(1, 2**15, 1), HostCache(2, 2**17, 1)))
    latencies[2**16] = 90
    assert caches_of(of, [], [])[1].capacity_bytes == 2**17


def test_loads_in_a_small_cache_take_what_they_do_in_half_of_it(
    latencies: dict[int, float], reads: dict[int, float]
) -> None:
    latencies[2**22] = 90
    reads |= {2**17: 13, 3 * 2**16: 4}
    level = caches_of(small(), [], [])[1]
    assert (level.capacity_bytes, level.latency.how) == (2**17, f"{2**16}")


def test_caches_that_nobody_states(latencies: dict[int, float]) -> None:
    found = caches_of(small(caches=()), steps(1, 1, 4, 4, 100), [])
    assert [(c.name, c.capacity_bytes, c.shared_by) for c in found] == [
        ("L1", 2048, 1),
        ("L2", 8192, 1),
    ]
    assert all(c.shared_how.startswith("assumed") for c in found)
