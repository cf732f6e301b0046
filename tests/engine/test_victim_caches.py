"""Levels of caches that are filled by evictions: stack distances, sharing, closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Plan
from simsched.trace.schema import Summary
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

BLOCK = 1000  # bytes
Access = tuple[int, int, int, int]  # worker, block, bytes read, bytes written


class Turns(CentralQueue):
    """A chain whose tasks run on given workers."""

    def __init__(self, workers: Sequence[int]) -> None:
        super().__init__()
        self._workers = np.array(workers, np.int32)

    def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
        return Plan(acquire=(AcquireStep("worker"),), instance_of=self._workers)


def level(
    name: str, n_bytes: int, share: int, by: str, effective: tuple[int, ...] = ()
) -> tuple[object, ...]:
    """Return a level for `make_machine` whose hits take one byte per 10 ps and nothing else."""
    return (name, n_bytes, 100e9, 0, share, 0.0, 0, 0.0, 1.0, effective, 1.0, by)


def summary_of(
    backend: str,
    levels: list[tuple[object, ...]],
    steps: list[Access],
    block_bytes: list[int],
    cores: int | None = None,
) -> Summary:
    """Return the counts when one access follows the other, on as many cores as have any."""
    n = len(steps)
    workers, blocks, read, written = (list(column) for column in zip(*steps, strict=True))
    graph = build_graph(
        np.zeros(n),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(range(n), blocks, read, written, n),
        block_bytes=block_bytes,
    )
    machine = make_machine(domains=1, cores_per_domain=cores or max(workers) + 1, caches=levels)
    return simulate(machine, Workload("chain", graph), Turns(workers), backend=backend).summary


def missing(
    backend: str, levels: list[tuple[object, ...]], steps: list[Access], block_bytes: list[int]
) -> list[int]:
    """Return the bytes that each level lacks when one access follows the other."""
    summary = summary_of(backend, levels, steps, block_bytes)
    return [int(each) for each in summary.cache_missing_bytes.sum(axis=(0, 1))]


def reads(worker: int, *blocks: int) -> list[Access]:
    """Return accesses that read whole blocks of `BLOCK` bytes."""
    return [(worker, block, BLOCK, 0) for block in blocks]


def last_round(backend: str, levels: list[tuple[object, ...]], n_blocks: int) -> list[int]:
    """Return what each level lacks in the last of several sweeps over blocks."""
    sweep = reads(0, *range(n_blocks))
    before, after = (
        missing(backend, levels, sweep * rounds, [BLOCK] * n_blocks) for rounds in (3, 4)
    )
    return [a - b for a, b in zip(after, before, strict=True)]


@pytest.mark.parametrize(
    ("by", "n_blocks", "hits"),
    [
        (["misses", "misses"], 20, True),
        (["misses", "misses"], 21, False),
        (["misses", "evictions"], 21, True),
        (["misses", "evictions"], 30, True),
        (["misses", "evictions"], 31, False),
        (["misses", "evictions", "evictions"], 45, True),
        (["misses", "evictions", "evictions"], 46, False),
        (["misses", "evictions", "misses"], 30, True),
        (["misses", "misses", "evictions"], 35, True),
        (["misses", "misses", "evictions"], 36, False),
    ],
)
def test_a_sweep_finds_what_fits_into_a_level_and_the_one_before(
    backend: str, by: list[str], n_blocks: int, hits: bool
) -> None:
    sizes = [10 * BLOCK, 20 * BLOCK, 15 * BLOCK]
    levels = [
        level(f"L{i}", n, 1, kind) for i, (n, kind) in enumerate(zip(sizes, by, strict=False))
    ]
    assert last_round(backend, levels, n_blocks)[-1] == (0 if hits else n_blocks * BLOCK)


@pytest.mark.parametrize("seed", range(4))
def test_hits_follow_from_the_number_of_other_blocks_in_between(backend: str, seed: int) -> None:
    # Mattson: least recently used, a stack of blocks whose first ones are in the first level, the
    # next ones in the next level. Where every level holds whole blocks, nothing else matters.
    rng = np.random.default_rng(seed)
    room = [3, 4, 2]
    drawn = rng.integers(0, 14, 300).tolist()
    stack: list[int] = []
    expected = [0, 0, 0]
    for block in drawn:
        place = stack.index(block) if block in stack else len(drawn)
        for number in range(3):
            expected[number] += BLOCK * (place >= sum(room[: number + 1]))
        stack = [block, *(other for other in stack if other != block)]
    kinds = ["misses", "evictions", "evictions"]
    levels = [
        level(f"L{i}", n * BLOCK, 1, kind)
        for i, (n, kind) in enumerate(zip(room, kinds, strict=True))
    ]
    assert missing(backend, levels, reads(0, *drawn), [BLOCK] * 14) == expected


def private_and_shared(first: int = 1, second: int = 4) -> list[tuple[object, ...]]:
    return [
        level("L1", first * BLOCK, 1, "misses"),
        level("L2", second * BLOCK, 2, "evictions"),
    ]


def test_what_one_core_uses_moves_back_to_it(backend: str) -> None:
    # Core 0 drops block 0 for block 1; core 1 takes it out of L2; then core 0 finds it nowhere.
    steps = reads(0, 0, 1) + reads(1, 0) + reads(0, 0)
    assert missing(backend, private_and_shared(), steps, [BLOCK] * 2) == [4 * BLOCK, 3 * BLOCK]


def test_what_several_cores_read_stays_for_all_of_them(backend: str) -> None:
    # Both read block 0, then others instead: it is in L2, and there for both of them.
    steps = reads(0, 0) + reads(1, 0, 1) + reads(0, 2)
    before = missing(backend, private_and_shared(), steps, [BLOCK] * 3)
    after = missing(backend, private_and_shared(), steps + reads(0, 0) + reads(1, 0), [BLOCK] * 3)
    assert before == [4 * BLOCK, 4 * BLOCK]
    assert after == [6 * BLOCK, 4 * BLOCK]


def test_a_block_that_has_left_all_caches_is_shared_no_more(backend: str) -> None:
    # As before; then other blocks drive block 0 out of the caches, and it moves again.
    steps = reads(0, 0) + reads(1, 0, 1, 2, 3, 4) + reads(0, 5, 6, 7, 8, 9)
    more = reads(0, 0, 1) + reads(1, 0) + reads(0, 0)
    before = missing(backend, private_and_shared(), steps, [BLOCK] * 10)
    after = missing(backend, private_and_shared(), steps + more, [BLOCK] * 10)
    # Block 0 is new, block 1 is gone, core 1 gets block 0 out of L2, core 0 finds it nowhere.
    assert after[1] - before[1] == 3 * BLOCK


def test_writing_drops_copies_but_not_the_rest_of_a_block(backend: str) -> None:
    shared = reads(0, 0) + reads(1, 0, 1) + reads(0, 2, 0)  # core 0 has block 0, L2 a copy
    written = [*shared, (0, 0, 0, BLOCK)]
    found = missing(backend, private_and_shared(), written + reads(1, 0), [BLOCK] * 3)
    assert found[1] == 5 * BLOCK
    assert missing(backend, private_and_shared(), shared + reads(1, 0), [BLOCK] * 3)[1] == 4 * BLOCK
    # A write of 400 of 1000 bytes, of which L2 had all: 600 are left there.
    alone = [*reads(0, 0, 1), (0, 0, 0, 400), *reads(0, 0)]
    assert missing(backend, private_and_shared(), alone, [BLOCK] * 2) == [
        2 * BLOCK + 400 + 600,
        2 * BLOCK,
    ]


@pytest.mark.parametrize("effective", [(), (2000, 9000)])
def test_what_has_no_room_before_passes_through(backend: str, effective: tuple[int, ...]) -> None:
    # Block 0 is larger than L1, or one of its slices holds half of it: all is there afterwards.
    levels = [level("L1", 3000, 1, "misses", effective), level("L2", 9000, 1, "evictions")]
    twice = [(0, 0, 4000, 0)] * 2
    lacking = 8000 if not effective else 6000
    assert missing(backend, levels, twice, [4000]) == [lacking, 4000]
    # What is read and then written in one go is fetched once; of what is too large nothing stays.
    assert missing(backend, levels, [(0, 0, 4000, 4000)], [4000])[1] == 4000
    assert missing(backend, levels, [(0, 1, 12_000, 0)] * 2, [10, 12_000])[1] == 24_000


def test_what_is_passed_on_drops_blocks_all_the_same(backend: str) -> None:
    # L1 transfers what another core has written: block 1 comes from there, and what core 0 drops
    # for it, block 0, enters L2 although that has not been asked for anything.
    passing = ("L1", BLOCK, 100e9, 0, 1, 8e9, 0, 0.0, 1.0, (), 1.0, "misses")
    levels = [passing, level("L2", 4 * BLOCK, 2, "evictions")]
    steps = [*reads(0, 0), (1, 1, 0, BLOCK), *reads(0, 1, 0)]
    assert missing(backend, levels, steps, [BLOCK] * 2) == [4 * BLOCK, 2 * BLOCK]
