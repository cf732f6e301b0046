"""Probes: what is asked of the host and counted; times need only be there."""

from __future__ import annotations

import numpy as np
import pytest

import simsched.hardware.calibrate_probes as module
from simsched.files.errors import HardwareError
from simsched.hardware.calibrate_host import read_host
from simsched.hardware.calibrate_probes import (
    ITEM_BYTES,
    TRANSFER_KINDS,
    best_time,
    chase_time,
    median_time,
    stream_rate,
    transfer_rate,
    upgrade_rate,
)
from simsched.hardware.native import _runtime
from simsched.hardware.topology import allowed_cores

from .calibrations import is_plausible
from .support import needs_linux

pytestmark = needs_linux

FIRST = allowed_cores()[0]


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

    monkeypatch.setattr(module, "compiled_runtime", Binding)
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

    monkeypatch.setattr(module, "compiled_runtime", Binding)
    assert chase_time([1], 2**16, rounds=7).value == pytest.approx(1e-9)
    chase_time([1, 0], 2**16, node=3, rounds=7, evict_bytes=2**20, load_bytes=2400)
    assert asked == [
        ([1], -1, 1024, 1024, 20_000, 35, 0, 16),
        ([1, 0], 3, 1024, 0, 20_000, 35, 2**20, 100),
    ]


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


def test_transfers_are_what_takes_longer_than_in_the_own_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[object, ...]] = []
    ns = {"read": 50, "own_read": 10, "overwrite": 80, "own_overwrite": 20, "upgrade": 41}

    class Runtime:
        def measure_transfer(self, kind, thread, other, items, filler, rounds):
            asked.append((thread, other, items, filler, rounds))
            return np.full(rounds, ns.get(TRANSFER_KINDS[kind], 40))

    monkeypatch.setattr(module, "compiled_runtime", Runtime)
    # Read in 40 ns and overwritten in 60 ns more, 800 bytes each.
    rate = transfer_rate(0, 1, 800, filler_bytes=1600, rounds=3)
    assert rate.value == pytest.approx(1600 / 100e-9)
    assert set(asked) == {(0, 1, 100, 200, 3)}
    assert "in full caches" in rate.how
    # One more nanosecond is noise: at least a twentieth of what it takes.
    rate = upgrade_rate(0, 1, 800, rounds=3)
    assert asked[-1] == (0, 1, 100, 0, 3)
    assert rate.value == pytest.approx(800 / (0.05 * 41e-9))


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
