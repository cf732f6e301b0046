"""Single measurements for a calibration: bandwidth and latency of chosen cores and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import format_size
from simsched.hardware.runtime import compiled_runtime

#: Bytes that each kind of sweep reads and writes per item of its arrays, in the runtime's order;
#: what a store loads before it overwrites it is not counted, as STREAM does not.
ITEM_BYTES = {"read": 8, "write": 8, "copy": 16, "triad": 24, "compute": 8}
LINE_BYTES = 64
#: Steps of a transfer probe in the runtime's order.
TRANSFER_KINDS = ("read", "overwrite", "upgrade", "own_read", "own_overwrite", "own_update")
#: Data of another core take at least this share of the time longer than own ones.
LEAST_MORE = 0.05
#: What a round moves, and at least per thread: some milliseconds. Longer ones are more often
#: disturbed, shorter ones are no longer than the threads need to begin together.
ROUND_BYTES, THREAD_BYTES = 2**25, 2**23
#: Loads of a round, and rounds per repetition, which are short for the same reason.
ROUND_STEPS, CHASE_ROUNDS = 20_000, 5


@dataclass(frozen=True)
class Measured:
    """A measured value."""

    #: In seconds, bytes per second, or a ratio: that of the best round, because whatever else runs
    #: on the host only adds to times; of the middle one where `is_median`.
    value: float
    #: How far the middle round is from the best one, as a share of the best (of times); the
    #: distance of the quartiles as a share of the middle where `is_median`.
    spread: float
    rounds: int
    how: str
    is_median: bool = False

    @property
    def note(self) -> str:
        """What was measured and how repeatable it was, for the source of a value."""
        which = "median" if self.is_median else "best"
        return f"{self.how}, {which} of {self.rounds}, spread {self.spread:.1%}"


def best_time(times: Sequence[float] | NDArray[np.float64], how: str) -> Measured:
    """Return the shortest of some times, which are above zero."""
    best = float(np.min(times))
    return Measured(best, float(np.median(times)) / best - 1, len(times), how)


def median_time(times: Sequence[float] | NDArray[np.float64], how: str) -> Measured:
    """Return the middle one of some times, for what cannot be told from disturbances."""
    low, middle, high = (float(q) for q in np.quantile(times, [0.25, 0.5, 0.75]))
    return Measured(middle, (high - low) / middle, len(times), how, is_median=True)


def stream_rate(
    threads: Sequence[int], operation: str, total_bytes: int, *, node: int = -1, rounds: int
) -> Measured:
    """Measure the bytes per second of threads that sweep arrays of their own together.

    `total_bytes` are those of all arrays of all threads; with node -1 they are where they are first
    touched.

    Arrays that are larger than a round are swept in parts, a round each; the best part counts.
    """
    item_bytes = ITEM_BYTES[operation] * len(threads)
    items = max(16, total_bytes // item_bytes)
    moved = items * item_bytes
    wanted = max(ROUND_BYTES, THREAD_BYTES * len(threads))
    parts, sweeps = max(1, moved // wanted), max(1, wanted // moved)
    number = list(ITEM_BYTES).index(operation)
    cpus = np.array(threads, np.int32)
    ns = compiled_runtime().measure_stream(cpus, number, node, items, parts, sweeps, rounds * parts)
    size = format_size(round(moved / 2**10) * 2**10)
    who = "1 thread" if len(threads) == 1 else f"{len(threads)} threads"
    best = best_time(ns * 1e-9, f"{operation} of {size}, {who}")
    # Parts differ by an item at most.
    return Measured(sweeps * moved / parts / best.value, best.spread, best.rounds, best.how)


def transfer_rate(
    thread: int, other: int, size_bytes: int, *, filler_bytes: int = 0, rounds: int
) -> Measured:
    """Measure the bytes per second of two cores that use what the other has just updated.

    Each core reads `filler_bytes` before, which what comes has to displace. Half of the bytes are
    read, half are overwritten: the simulator has one rate for both. What the same takes in the own
    array is subtracted.
    """
    how = (
        f"read and overwrite {format_size(size_bytes)} that another core has updated, both at a "
        f"time{' in full caches' if filler_bytes else ''}"
    )
    kinds = (("read", "own_read"), ("overwrite", "own_overwrite"))
    return _beyond_own(thread, other, (size_bytes, filler_bytes), rounds, kinds, how)


def upgrade_rate(thread: int, other: int, size_bytes: int, *, rounds: int) -> Measured:
    """Measure the bytes per second of two cores that update what the other has just read.

    Parameters are those of :func:`transfer_rate`; what updating an array takes that the other core
    has not read is subtracted.
    """
    how = f"update {format_size(size_bytes)} that another core has read, both at a time"
    return _beyond_own(thread, other, (size_bytes, 0), rounds, (("upgrade", "own_update"),), how)


def _beyond_own(
    thread: int,
    other: int,
    sizes_bytes: tuple[int, int],
    rounds: int,
    kinds: Sequence[tuple[str, str]],
    how: str,
) -> Measured:
    """Return the bytes by the time that the first kind of each pair takes more than the second."""
    items, filler = max(16, sizes_bytes[0] // 8), sizes_bytes[1] // 8

    def time_of(kind: str) -> Measured:
        number = TRANSFER_KINDS.index(kind)
        ns = compiled_runtime().measure_transfer(number, thread, other, items, filler, rounds)
        return best_time(ns * 1e-9, how)

    pairs = [(time_of(shared), time_of(own)) for shared, own in kinds]
    more = sum(max(shared.value - own.value, LEAST_MORE * shared.value) for shared, own in pairs)
    widest = max((shared for shared, _ in pairs), key=lambda each: each.spread)
    return replace(widest, value=8 * items * len(pairs) / more, how=f"{how}, beyond own data")


def chase_time(
    threads: Sequence[int],
    size_bytes: int,
    *,
    node: int = -1,
    rounds: int,
    evict_bytes: int = 0,
    load_bytes: int = LINE_BYTES,
) -> Measured:
    """Measure the time of one load of a chain of loads over a buffer.

    The first thread loads, the others stream meanwhile; with node -1 data are where they are first
    touched. `evict_bytes` are written before, so that no line is cached; without, the buffer is
    walked once before.

    Under load the middle round counts: the best one may have been while others paused.
    """
    lines = max(2, size_bytes // LINE_BYTES)
    warm = 0 if evict_bytes else lines
    items = max(16, load_bytes // ITEM_BYTES["triad"])
    cpus = np.array(threads, np.int32)
    ns = compiled_runtime().measure_chase(
        cpus, node, lines, warm, ROUND_STEPS, rounds * CHASE_ROUNDS, evict_bytes, items
    )
    times = ns * 1e-9 / ROUND_STEPS
    how = f"dependent loads in {format_size(lines * LINE_BYTES)}"
    if len(threads) == 1:
        return best_time(times, how)
    busy = "1 core streams" if len(threads) == 2 else f"{len(threads) - 1} cores stream"
    return median_time(times, f"{how} while {busy}")
