"""Calibration of a host: what is measured and what is made of it; times need only be there."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import simsched.hardware.calibrate as module
import simsched.hardware.calibrate_costs as costs_module
import simsched.hardware.calibrate_memory as memory
import simsched.hardware.calibrate_probes as probes
from simsched.errors import ConfigurationError, HardwareError
from simsched.experiment.check import check_file
from simsched.hardware.calibrate import Usage, calibrate_machine
from simsched.hardware.calibrate_costs import barrier_cost, smt_throughput, time_empty
from simsched.hardware.calibrate_document import machine_document, machine_yaml
from simsched.hardware.calibrate_host import Host, HostCache, available_bytes, read_host
from simsched.hardware.calibrate_memory import STATED, Effort, effective_capacities
from simsched.hardware.calibrate_probes import (
    ITEM_BYTES,
    TRANSFER_KINDS,
    Measured,
    best_time,
    chase_time,
    median_time,
    stream_rate,
    transfer_rate,
    upgrade_rate,
)
from simsched.hardware.calibrate_report import measured_rows
from simsched.hardware.mode import Mode
from simsched.hardware.native import _runtime
from simsched.hardware.topology import allowed_cores

from .calibrations import GB, measured, small, two_nodes
from .support import needs_linux

pytestmark = needs_linux

FIRST = allowed_cores()[0]
TINY = Effort(2, 0, 2**21, 2**20, 2**14)


def is_plausible(value: float, most: float) -> bool:
    return 0 < value < most and math.isfinite(value)


@pytest.mark.parametrize("operation", list(ITEM_BYTES))
@pytest.mark.parametrize("total", [2**12, 2**27])
def test_every_sweep_has_some_bandwidth(operation: str, total: int) -> None:
    for threads in ([FIRST], [FIRST, allowed_cores()[-1]]):
        rate = stream_rate(threads, operation, total, rounds=2)
        assert is_plausible(rate.value, 10e12)
        assert rate.spread >= 0
        assert rate.rounds in ({2} if total == 2**12 else {6, 8})  # of 32 MiB
        assert rate.how.startswith(f"{operation} of ")


def test_bandwidth_counts_the_bytes_of_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    class Binding:
        def measure_stream(self, cpus, kind, node, items, parts, sweeps, rounds):
            asked.append((cpus.tolist(), kind, node, items, parts, sweeps, rounds))
            return np.array([4_000_000, 2_000_000, 3_000_000])

    monkeypatch.setattr("simsched.hardware.calibrate_probes.compiled_runtime", Binding)
    rate = stream_rate([0, 1], "triad", 3 * 2**26, node=5, rounds=7)
    assert asked == [([0, 1], 3, 5, 2**22, 6, 1, 42)]
    assert rate.value == pytest.approx(3 * 2**26 / 6 / 2e-3)
    assert rate.spread == pytest.approx(0.5)
    rate = stream_rate([0], "copy", 2**20, rounds=7)
    assert asked[1] == ([0], 2, -1, 2**16, 1, 32, 7)
    assert rate.value == pytest.approx(32 * 2**20 / 2e-3)


def test_lines_are_cached_or_displaced_before(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    class Binding:
        def measure_chase(self, cpus, *numbers):
            asked.append((cpus.tolist(), *numbers))
            return np.array([40_000, 20_000])

    monkeypatch.setattr("simsched.hardware.calibrate_probes.compiled_runtime", Binding)
    assert chase_time([1], 2**16, rounds=7).value == pytest.approx(1e-9)
    chase_time([1, 0], 2**16, node=3, rounds=7, evict_bytes=2**20, load_bytes=2400)
    assert asked == [
        ([1], -1, 1024, 1024, 20_000, 35, 0, 16),
        ([1, 0], 3, 1024, 0, 20_000, 35, 2**20, 100),
    ]


def test_more_threads_never_make_a_core_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([2e9, 3e9, 1e9])
    monkeypatch.setattr(costs_module, "stream_rate", lambda *a, **k: measured(next(rates)))
    assert [way.value for way in smt_throughput([0, 1, 2], 7, 2**15)] == [1, 1.5, 1.5]


def test_memory_answers_later_than_a_small_cache() -> None:
    near = chase_time([FIRST], 8192, rounds=3)
    far = chase_time([FIRST], 2**26, rounds=1, evict_bytes=2**26)
    assert is_plausible(near.value, 1e-3)
    assert near.value <= far.value < 1e-3
    assert not near.is_median


def test_latency_under_load_is_that_of_the_middle_round() -> None:
    cores = [FIRST, allowed_cores()[-1]]
    time = chase_time(cores, 2**20, rounds=1, evict_bytes=2**20, load_bytes=2**20)
    assert is_plausible(time.value, 1)
    assert time.is_median
    assert time.how == "dependent loads in 1 MiB while 1 core streams"


def test_best_and_middle_rounds() -> None:
    best = best_time([3.0, 2.0, 4.0, 5.0], "x")
    assert (best.value, best.spread, best.rounds) == (2.0, 0.75, 4)
    middle = median_time([1.0, 2.0, 3.0, 4.0, 9.0], "x")
    assert (middle.value, middle.spread, middle.rounds) == (3.0, pytest.approx(2 / 3), 5)
    assert middle.note == "x, median of 5, spread 66.7%"


@pytest.mark.parametrize("wrong", [{"kind": 9}, {"items": 0}, {"parts": 17}, {"sweeps": 0}])
def test_probes_refuse_numbers_out_of_range(wrong: dict[str, int]) -> None:
    numbers = {"kind": 0, "node": -1, "items": 16, "parts": 1, "sweeps": 1, "rounds": 1, **wrong}
    with pytest.raises(ValueError, match="stream: a number is out of range"):
        _runtime.measure_stream(np.array([FIRST], np.int32), **numbers)
    with pytest.raises(ValueError, match="chase: a number is out of range"):
        _runtime.measure_chase(np.array([], np.int32), -1, 2, 0, 1, 1, 0, 1)


def test_costs_of_scheduling_take_some_time() -> None:
    timed = time_empty(FIRST, 1)
    assert is_plausible(timed(Mode(), "independent").value, 1)
    for cores in ([FIRST], allowed_cores()):
        barrier = barrier_cost(cores, 1)
        assert is_plausible(barrier.value, 1)
        assert barrier.is_median
    ways = smt_throughput([FIRST, FIRST], 2, 2**15)
    assert ways[0].value == 1
    assert ways[1].value >= 1


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Two sockets, a node each, of two cores of two threads: 0 and 4 are siblings; node 2 alone."""
    for thread in range(8):
        core, folder = thread % 4, tmp_path / "cpu" / f"cpu{thread}"
        siblings, socket = f"{core},{core + 4}", core // 2
        write(folder / "topology" / "thread_siblings_list", siblings)
        write(folder / "topology" / "physical_package_id", str(socket))
        shared = f"{2 * socket}-{2 * socket + 1},{2 * socket + 4}-{2 * socket + 5}"
        levels = [(1, "Data", "32K", siblings), (1, "Instruction", "64K", siblings)]
        levels.append((3, "Unified", "8192K", shared))
        for index, (level, kind, size, threads) in enumerate(levels):
            for name, text in (("level", level), ("type", kind), ("size", size)):
                write(folder / "cache" / f"index{index}" / name, str(text))
            if level > 1:
                write(folder / "cache" / f"index{index}" / "ways_of_associativity", "16")
            write(folder / "cache" / f"index{index}" / "shared_cpu_list", threads)
    write(tmp_path / "cpu" / "online", "0-7")
    for node, cpus in enumerate(["0-1,4-5", "2-3,6-7", ""]):
        write(tmp_path / "node" / f"node{node}" / "cpulist", cpus)
        write(tmp_path / "node" / f"node{node}" / "distance", " ".join(["10", "21", "28"]))
        write(tmp_path / "node" / f"node{node}" / "meminfo", f"Node {node} MemTotal: {node + 1} kB")
    write(tmp_path / "node" / "has_memory", "0-2")
    write(tmp_path / "cpuinfo", "processor : 0\ncpu MHz\t\t: 2600.5\ncpu MHz : 1")
    return tmp_path


def test_the_whole_host(system: Path) -> None:
    host = read_host(range(8), system, system / "cpuinfo")
    assert [(d.node, d.socket, d.cores) for d in host.domains] == [
        (0, 0, ((0, 4), (1, 5))),
        (1, 1, ((2, 6), (3, 7))),
    ]
    assert [(n.number, n.capacity_bytes, n.domain) for n in host.nodes] == [
        (0, 1024, 0),
        (1, 2048, 1),
        (2, 3072, None),
    ]
    assert host.clock_hz == 2600.5e6
    assert host.threads == [0, 1, 2, 3]
    assert host.caches == (HostCache(1, 2**15, 1), HostCache(3, 2**23, 2, ways=16))
    assert host.distance[0, 2] == 28


def test_only_the_threads_that_may_be_used(system: Path) -> None:
    host = read_host([5, 2, 3, 1], system, system / "no such file")
    assert [d.cores for d in host.domains] == [((1, 5),), ((2,), (3,))]
    assert host.clock_hz is None
    # One core of the first socket and two of the second: no number fits both but 1.
    assert host.caches[1] == HostCache(3, 2**23, 1, is_even=False, ways=16)


def test_hosts_that_tell_nothing(tmp_path: Path) -> None:
    write(tmp_path / "cpu" / "cpu0" / "online", "1")
    write(tmp_path / "meminfo", "MemTotal: 2048 kB\nMemAvailable: 1024 kB")
    host = read_host([0], tmp_path, tmp_path / "none", tmp_path / "meminfo")
    assert host.caches == ()
    assert host.nodes[0].capacity_bytes == 2 * 2**20
    assert host.hops() == [[0]]
    assert available_bytes(tmp_path / "meminfo") == 2**20
    assert available_bytes(tmp_path / "none") == 2**30


def test_numbers_of_threads() -> None:
    assert [memory.thread_counts(n) for n in (1, 2, 5)] == [[1], [1, 2], [1, 2, 3, 4, 5]]
    assert memory.thread_counts(64)[-4:] == [24, 32, 48, 64]


def test_arrays_exceed_the_caches_unless_there_is_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warnings: list[str] = []
    effort = Effort(7, 2.0, 2**20, 2**20, 2**20)
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**32)
    assert memory.memory_bytes(small(), effort, warnings) == 2 * 8 * 2**20
    assert memory.memory_bytes(two_nodes(), effort, warnings) == 2 * 2 * 8 * 2**20
    assert memory.memory_bytes(small(caches=()), effort, warnings) == 2**20
    assert warnings == []
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**24)
    assert memory.memory_bytes(small(), effort, warnings) == 2**22
    assert "arrays of 4 MiB for caches of 8 MiB" in warnings[0]


def test_pairs_of_domain_and_node(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def rate(threads, operation, total, *, node=-1, rounds):
        asked.append((operation, tuple(threads), node))
        return measured(1e9)

    monkeypatch.setattr(memory, "stream_rate", rate)
    found = memory.measure_streams(two_nodes(), TINY, 2**20, lambda what: None)
    assert len(found) == len(asked) == 2 * (4 * 2) + 2 * (2 * 2)
    assert ("write", (2, 3), 1) in asked
    assert ("triad", (0, 1), 1) in asked
    assert ("write", (0, 1), 1) not in asked
    asked.clear()
    memory.measure_streams(small(), TINY, 2**20, lambda what: None)
    assert {node for _, _, node in asked} == {-1}  # nothing to bind to


def test_latency_is_measured_idle_and_under_load(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def time(threads, size, *, node, rounds, evict_bytes, load_bytes):
        asked.append((threads, size, node, evict_bytes, load_bytes))
        return measured(1e-7)

    monkeypatch.setattr(memory, "chase_time", time)
    found = memory.measure_latencies(two_nodes(), TINY, 2**22, lambda what: None)
    assert [(each.domain, each.node, each.n_loading) for each in found] == [
        (d, n, k) for d in range(2) for n in range(2) for k in range(2)
    ]
    assert asked[0] == ((0,), 2**20, 0, 2**22, 2**22)
    assert asked[3] == ((0, 1), 2**20, 1, 2**22, 2**21)


def steps(*times: float) -> list[tuple[int, Measured]]:
    return [(1024 << i, measured(time * 1e-9)) for i, time in enumerate(times)]


def test_capacities_from_latencies() -> None:
    sweep = steps(1, 1, 1.1, 4, 4.1, 4.5, 20, 50, 100, 101)
    assert memory.levels_of_sweep(sweep) == [4096, 32768]
    assert memory.levels_of_sweep(steps(1, 1, 1)) == []


@pytest.fixture
def latencies(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Let loads in a buffer take what is put here, in nanoseconds; 1 otherwise."""
    times: dict[int, float] = {}

    def time(threads, size, *, rounds):
        return measured(times.get(size, 1.0) * 1e-9, f"{size}")

    monkeypatch.setattr(memory, "chase_time", time)
    monkeypatch.setattr(
        memory,
        "transfer_rate",
        lambda *a, filler_bytes=0, rounds: measured(GB / (1 + bool(filler_bytes)), f"{a}"),
    )
    monkeypatch.setattr(memory, "upgrade_rate", lambda *a, **k: measured(2 * GB, f"{a}"))
    monkeypatch.setattr(memory, "stream_rate", lambda *a, **k: measured(3 * GB, f"{a[1]} {a[2]}"))
    return times


def caches_of(host, sweep, warnings):
    of_memory = measured(100e-9), measured(3 * GB)
    return memory.measure_caches(host, TINY, sweep, of_memory, warnings)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Let a core read buffers as fast as is put here, in GB/s; return what was not asked for."""
    rates: dict[int, float] = {}

    def rate(threads, operation, total, *, rounds):
        assert (list(threads), rounds) == ([0], TINY.rounds)
        return measured(rates.pop(total) * GB if operation == "read" else 3 * GB, operation)

    monkeypatch.setattr(memory, "stream_rate", rate)
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
        memory,
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
    assert [len(each.effective_bytes) for each in found] == [0, memory.SLICES, 0]
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


def test_transfers_are_what_takes_longer_than_in_the_own_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[object, ...]] = []
    ns = {"read": 50, "own_read": 10, "overwrite": 80, "own_overwrite": 20, "upgrade": 41}

    class Runtime:
        def measure_transfer(self, kind, thread, other, items, filler, rounds):
            asked.append((thread, other, items, filler, rounds))
            return np.full(rounds, ns.get(TRANSFER_KINDS[kind], 40))

    monkeypatch.setattr(probes, "compiled_runtime", Runtime)
    # Read in 40 ns and overwritten in 60 ns more, 800 bytes each.
    rate = transfer_rate(0, 1, 800, filler_bytes=1600, rounds=3)
    assert rate.value == pytest.approx(1600 / 100e-9)
    assert set(asked) == {(0, 1, 100, 200, 3)}
    assert "in full caches" in rate.how
    # One more nanosecond is noise: at least a twentieth of what it takes.
    rate = upgrade_rate(0, 1, 800, rounds=3)
    assert asked[-1] == (0, 1, 100, 0, 3)
    assert rate.value == pytest.approx(800 / (0.05 * 41e-9))


def test_displacing_that_is_less_than_noise_is_none(
    latencies: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rate(*where, filler_bytes=0, rounds):
        return measured(0.96 * GB if filler_bytes else GB, "")

    monkeypatch.setattr(memory, "transfer_rate", rate)
    assert caches_of(small(), steps(1, 1), [])[0].displacement is None


@pytest.mark.parametrize("kind", range(len(TRANSFER_KINDS)))
@pytest.mark.parametrize("filler", [0, 1000])
def test_every_kind_of_transfer_takes_time(kind: int, filler: int) -> None:
    first, *others = sorted(allowed_cores())
    ns = _runtime.measure_transfer(kind, first, (others or [first])[0], 500, filler, 2)
    assert ns.shape == (2,)
    assert (ns > 0).all()


@pytest.mark.parametrize("wrong", [{"kind": 6}, {"items": 0}, {"filler": -1}, {"rounds": 0}])
def test_transfers_out_of_range(wrong: dict[str, int]) -> None:
    numbers = {"kind": 0, "items": 16, "filler": 0, "rounds": 1, **wrong}
    with pytest.raises(ValueError, match="transfer: a number is out of range"):
        _runtime.measure_transfer(
            numbers["kind"], 0, 0, numbers["items"], numbers["filler"], numbers["rounds"]
        )


@pytest.mark.parametrize(
    ("operation", "n_read", "n_written"),
    [("read", 1, 0), ("write", 0, 1), ("copy", 1, 1), ("triad", 2, 1)],
)
def test_written_lines_move_twice(operation: str, n_read: int, n_written: int) -> None:
    assert ITEM_BYTES[operation] == 8 * (n_read + n_written)
    counted = measured(6 * GB, "a sweep")
    found = memory.moved(counted, operation)
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


def test_caches_are_compared_with_memory_as_one_core_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Measured, Measured]] = []

    def caches(host, effort, sweep, of_memory, warnings):
        asked.append(of_memory)
        return ()

    def rate(threads, operation, total, *, node=-1, rounds):
        return measured(GB, f"{operation} {len(threads)} {total}")

    def time(threads, size, *, rounds, evict_bytes=0, **others):
        return measured(1e-9, f"{len(threads)} {evict_bytes > 0}")

    monkeypatch.setattr(memory, "stream_rate", rate)
    monkeypatch.setattr(module, "stream_rate", rate)
    monkeypatch.setattr(memory, "chase_time", time)
    monkeypatch.setattr(module, "measure_caches", caches)
    monkeypatch.setattr(module, "task_costs", lambda timed: ({"pop": measured(1e-9)}, ()))
    monkeypatch.setattr(module, "contended_lock", lambda *a: measured(1e-9))
    monkeypatch.setattr(module, "barrier_cost", lambda *a: measured(1e-9))
    monkeypatch.setattr(module, "steal_costs", lambda *a: ({}, {}))
    monkeypatch.setattr(module, "smt_throughput", lambda *a: (measured(1.0),))
    module._measure(two_nodes(), TINY, lambda what: None)
    ((latency, read),) = asked
    assert latency.how == "1 True"
    assert read.how == f"read 1 {2**21}"


def test_caches_that_nobody_states(latencies: dict[int, float]) -> None:
    found = caches_of(small(caches=()), steps(1, 1, 4, 4, 100), [])
    assert [(c.name, c.capacity_bytes, c.shared_by) for c in found] == [
        ("L1", 2048, 1),
        ("L2", 8192, 1),
    ]
    assert all(c.shared_how.startswith("assumed") for c in found)


def test_disturbances() -> None:
    before = Usage(100, 10, 5)
    assert module._disturbed(before, Usage(104, 10, 8.9), 4, 2) == []
    found = module._disturbed(before, Usage(108, 11, 9), 4, 2)
    assert found == [
        "host: other programs used 50% of the cores meanwhile",
        "host: the hypervisor took away 12% of the cores' time meanwhile",
    ]
    assert module._disturbed(None, None, 1, 1) == []


def test_use_of_chosen_cores(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    values = "100 200 300 999 999 10 20 50 7 7"
    write(stat, f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {values}\ncpu1 {values}\nintr 5")
    tick = 0.01
    usage = module._usage([1], stat)
    assert usage is not None
    assert (usage.busy_s, usage.stolen_s) == (pytest.approx(630 * tick), pytest.approx(50 * tick))
    assert usage.own_s > 0
    assert module._usage([1], tmp_path / "none") is None


@pytest.mark.parametrize("cores", [[10**6], [FIRST, -1], []])
def test_cores_that_may_not_be_used(cores: list[int]) -> None:
    with pytest.raises(ConfigurationError, match=r"cores: found .*, accepted \["):
        calibrate_machine(cores)


def test_this_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All of it, in small: with little effort and caches that need little."""
    real = read_host(allowed_cores())
    caches = (HostCache(1, 2**15, 1), HostCache(2, 2**18, 1))
    monkeypatch.setattr(module, "read_host", lambda cores: replace(real, caches=caches))
    monkeypatch.setattr(module, "QUICK", TINY)
    told: list[str] = []
    found = calibrate_machine(quick=True, progress=told.append)
    assert told[0] == "scheduling"
    assert found.is_quick
    assert found.duration_s > 0
    assert found.started.endswith("UTC")
    rows = {row.name: row for row in measured_rows(found)}
    for row in rows.values():
        if row.name in {"push", "spawn_child_first", "spawn_parent_first", "lock_hold"}:
            assert 0 <= row.value < 1, row  # differences, for which there may be nothing left
        else:
            assert is_plausible(row.value, 10e12 if row.unit == "B/s" else 100), row
        assert row.spread >= 0
        assert row.rounds >= 1
    for operation in ("read", "write", "copy", "triad"):
        assert any(name.startswith(f"{operation} ") for name in rows)
    assert "steal, distance 1" in rows or len(allowed_cores()) == 1
    file = tmp_path / "host.yaml"
    file.write_text(machine_yaml(machine_document(found)), encoding="utf-8")
    lines, _ = check_file(str(file))  # with so little effort, values may look odd
    assert lines[0].startswith(f"{file}: machine, {len(real.threads)} cores")


def test_values_that_are_hard_to_repeat_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from .calibrations import calibration

    found = calibration(small())
    assert module._loose(found) == []
    loose = {name: replace(cost, spread=0.4) for name, cost in found.costs.items()}
    text = module._loose(replace(found, costs={**loose, "pop": found.costs["pop"]}))
    assert text == [
        "spread above 25%: push; spawn_child_first; spawn_parent_first; lock_hold; barrier"
    ]


def test_memory_can_be_asked_for_on_a_node() -> None:
    node = read_host([FIRST]).nodes[0].number
    try:
        rate = stream_rate([FIRST], "read", 2**20, node=node, rounds=1)
        time = chase_time([FIRST], 2**16, node=node, rounds=1)
    except HardwareError as error:  # as in containers, which may not ask for nodes
        pytest.skip(str(error))
    assert is_plausible(rate.value, 10e12)
    assert is_plausible(time.value, 1)
    with pytest.raises(HardwareError, match="refused to put memory on a node"):
        stream_rate([FIRST], "read", 2**20, node=1023, rounds=1)
