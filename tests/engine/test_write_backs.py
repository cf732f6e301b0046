"""What is written in caches goes to memory: closed forms, and a cache that writes back."""

from __future__ import annotations

import random
from collections import OrderedDict

import pytest

from simsched.trace.schema import Summary
from tests.engine.test_victim_caches import Access, level, summary_of

BLOCK = 1000  # bytes
CORE = level("L1", 20 * BLOCK, 1, "misses")


def counted(
    backend: str,
    levels: list[tuple[object, ...]],
    steps: list[Access],
    block_bytes: int | list[int] = BLOCK,
    cores: int = 2,
) -> Summary:
    """Return the counts of a chain of accesses: what moves has missed or is written back."""
    if isinstance(block_bytes, int):
        block_bytes = [block_bytes] * (1 + max(block for _, block, _, _ in steps))
    found = summary_of(backend, levels, steps, block_bytes, cores)
    hit = int(found.cache_hit_bytes.sum())
    assert found.node_bytes.sum() == found.requested_bytes - hit + found.write_back_bytes
    return found


def moved(backend: str, levels: list[tuple[object, ...]], steps: list[Access]) -> int:
    """Return the bytes between cores and memory."""
    return int(counted(backend, levels, steps).node_bytes.sum())


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([(0, 0, 1000, 0), (0, 0, 0, 1000)], 2000, id="read, then written"),
        pytest.param([(0, 0, 1000, 1000)], 2000, id="updated"),
        pytest.param([(0, 0, 1000, 1000)] * 3, 2000, id="updated again and again"),
        pytest.param([(0, 0, 0, 1000)], 1000, id="written only"),
        pytest.param([(0, 0, 0, 400), (0, 0, 0, 1000)], 1000, id="a part, then all"),
        pytest.param([(0, 0, 0, 400), (0, 0, 1000, 0)], 1000, id="a part, then the rest is read"),
        pytest.param([(0, 0, 500, 500)], 1000, id="one half read, the other written"),
        pytest.param([(0, 0, 3000, 2000)], 2000, id="in several passes"),
        pytest.param([(0, 0, 0, 1000), (1, 0, 0, 1000), (0, 0, 0, 1000)], 3000, id="by others"),
        pytest.param(
            [(0, 0, 1000, 1000), (1, 0, 1000, 1000), (0, 0, 1000, 1000)],
            4000,
            id="taken over modified",
        ),
        pytest.param(
            [(0, 0, 0, 400), (1, 0, 1000, 0), (1, 0, 0, 1000)], 2000, id="taken over in part"
        ),
        pytest.param(
            [
                (0, 0, 0, 1000),
                (1, 0, 1000, 1000),
                *[(1, other, 1000, 0) for other in range(1, 21)],
                (1, 0, 1000, 1000),
            ],
            24000,
            id="taken over, then evicted",
        ),
        pytest.param(
            [(0, 0, 0, 1000), (1, 0, 1000, 0), (0, 0, 0, 1000)], 2000, id="read by others"
        ),
    ],
)
def test_what_is_written_moves_once(backend: str, steps: list[Access], expected: int) -> None:
    assert moved(backend, [CORE], steps) == expected


def test_without_caches_and_without_room_everything_moves(backend: str) -> None:
    steps = [(0, 0, 1000, 1000)] * 3
    assert moved(backend, [], steps) == 6000
    assert moved(backend, [level("L1", BLOCK // 2, 1, "misses")], steps) == 6000


def test_dirty_bytes_stay_in_a_level_that_both_writers_use(backend: str) -> None:
    levels = [CORE, level("L2", 40 * BLOCK, 2, "misses")]
    assert moved(backend, levels, [(0, 0, 0, 1000), (1, 0, 0, 1000), (0, 0, 0, 1000)]) == 1000


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([(1, 0, 0, 1000)], 0, id="written"),
        pytest.param([(1, 0, 1000, 0), (1, 0, 0, 1000)], 0, id="read, then written"),
        pytest.param(
            [(1, 0, 1000, 1000), (1, 2, 1000, 0), (0, 0, 1000, 1000)], 1000, id="in turns"
        ),
        pytest.param([(1, 2, 1000, 0), (1, 0, 0, 1000)], 1000, id="after another read"),
    ],
)
def test_what_a_common_victim_cache_gives_to_another_core_stays_dirty(
    backend: str, steps: list[Access], expected: int
) -> None:
    # Worker 0 writes block 0, and reads another one, so that it falls into the common level.
    levels = [level("L1", BLOCK, 1, "misses"), level("L2", 20 * BLOCK, 2, "evictions")]
    found = counted(backend, levels, [(0, 0, 0, BLOCK), (0, 1, BLOCK, 0), *steps])
    assert found.write_back_bytes == 0
    assert found.node_bytes.sum() == 2 * BLOCK + expected


@pytest.mark.parametrize(
    ("levels", "n_blocks"),
    [
        pytest.param([CORE], 20, id="one"),
        pytest.param([CORE, level("L2", 40 * BLOCK, 2, "misses")], 40, id="two"),
        pytest.param([CORE, level("L2", 40 * BLOCK, 2, "evictions")], 60, id="victims"),
        pytest.param(
            [level("L1", 20 * BLOCK, 1, "misses", (20 * BLOCK, 20 * BLOCK))], 20, id="slices"
        ),
    ],
)
def test_a_sweep_in_place_is_written_back_unless_it_is_held(
    backend: str, levels: list[tuple[object, ...]], n_blocks: int
) -> None:
    def of_sweeps(n_blocks: int, rounds: int) -> int:
        accessed = [(BLOCK, 0), (0, BLOCK)]  # is read, then written
        sweep = [(0, block, *each) for block in range(n_blocks) for each in accessed]
        return moved(backend, levels, sweep * rounds)

    assert of_sweeps(n_blocks, 3) == 2 * n_blocks * BLOCK
    assert of_sweeps(n_blocks + 1, 3) == 3 * 2 * (n_blocks + 1) * BLOCK


@pytest.mark.parametrize(
    "levels",
    [
        pytest.param([("L1", 1000, 1, "misses"), ("L2", 20_000, 1, "evictions")], id="one"),
        pytest.param(
            [("L1", 1000, 1, "misses"), ("L2", 2000, 1, "evictions"), ("L3", 9000, 2, "evictions")],
            id="two",
        ),
        pytest.param([("L1", 1000, 1, "misses"), ("L2", 20_000, 1, "misses")], id="misses"),
    ],
)
@pytest.mark.parametrize("n_passes", [1, 3])
def test_a_block_that_only_outer_levels_have_room_for_is_written_back_once(
    backend: str, levels: list[tuple[str, int, int, str]], n_passes: int
) -> None:
    size = 5 * BLOCK
    steps = [(0, 0, size, size)] * n_passes
    summary = counted(backend, [level(*each) for each in levels], steps, size)
    assert int(summary.node_bytes.sum()) == 2 * size


@pytest.mark.parametrize("n_writes", [1, 2, 4])
def test_what_stays_in_an_inner_level_stays_dirty(backend: str, n_writes: int) -> None:
    # Worker 1 makes the common level drop the block, and has it keep a tenth of it again.
    levels = [level("L1", 1500, 1, "misses"), level("L2", 1500, 2, "misses")]
    steps = [(0, 0, BLOCK, 0), (1, 1, BLOCK, 0), (1, 0, 100, 0)]
    assert moved(backend, levels, steps + [(0, 0, 0, BLOCK)] * n_writes) == 2100 + BLOCK


@pytest.mark.parametrize("n_rounds", [1, 3])
def test_a_copy_for_others_does_not_clean_what_the_writer_keeps(
    backend: str, n_rounds: int
) -> None:
    # Worker 1 reads what 0 has written from memory; 0 puts it into the common level and takes it
    # back.
    levels = [level("L1", BLOCK, 1, "misses"), level("L2", 20 * BLOCK, 2, "evictions")]
    others = [(1, 0, BLOCK, 0), (0, 1, BLOCK, 0), (0, 0, BLOCK, 0), (0, 0, 0, BLOCK)]
    found = counted(backend, levels, [(0, 0, 0, BLOCK), *others * n_rounds])
    assert found.write_back_bytes == 0


def random_levels(draw: random.Random) -> list[tuple[object, ...]]:
    """Return levels of which some are filled by evictions, and some have slices."""
    levels, share = [], 1
    for number in range(draw.choice([1, 2, 2, 3])):
        n_bytes = draw.choice([1500, 3000, 7000]) * (number + 1)
        slices = tuple(
            round(n_bytes * draw.choice([0.1, 0.3, 1, 2])) for _ in range(draw.choice([0, 0, 2, 5]))
        )
        by = "evictions" if number and draw.random() < 0.5 else "misses"
        share = draw.choice([each for each in (1, 2, 4) if each >= share])
        levels.append(level(f"L{number}", n_bytes, share, by, slices))
    return levels


@pytest.mark.parametrize("seed", range(12))
def test_both_backends_write_back_alike(seed: int) -> None:
    draw = random.Random(seed)
    levels = random_levels(draw)
    sizes = [draw.choice([1, 7, 64, 1000, 2999, 5000]) for _ in range(8)]
    steps = []
    for _ in range(150):
        block = draw.randrange(len(sizes))
        amounts = [0, 0, sizes[block], sizes[block], sizes[block] // 2, 3 * sizes[block]]
        steps.append((draw.randrange(4), block, draw.choice(amounts), draw.choice(amounts)))
    runs = [counted(each, levels, steps, sizes, cores=4) for each in ("simpy", "native")]
    assert runs[0].node_bytes.sum() <= runs[0].requested_bytes
    assert runs[0].makespan_ps == runs[1].makespan_ps
    assert runs[0].write_back_bytes == runs[1].write_back_bytes


def written_back_on_eviction(steps: list[Access], capacity: int) -> int:
    """Return the traffic of a cache that writes what is dirty when it leaves, or at the end."""
    held: OrderedDict[int, list[int]] = OrderedDict()
    total = 0
    for _, block, read, written in steps:
        n_bytes, n_dirty = held.pop(block, [0, 0])
        total += max(0, read - n_bytes)
        held[block] = [max(n_bytes, read, written), max(n_dirty, written)]
        while sum(each[0] for each in held.values()) > capacity:
            total += held.popitem(last=False)[1][1]
    return total + sum(n_dirty for _, n_dirty in held.values())


@pytest.mark.parametrize("seed", range(5))
def test_charged_early_it_is_what_evictions_would_write(backend: str, seed: int) -> None:
    draw = random.Random(seed)
    kinds = [(BLOCK, 0), (BLOCK // 2, 0), (0, BLOCK), (0, BLOCK // 2), (BLOCK, BLOCK)]
    steps = [(0, draw.randrange(30), *draw.choice(kinds)) for _ in range(600)]
    assert moved(backend, [CORE], steps) == written_back_on_eviction(steps, 20 * BLOCK)


def test_misses_are_those_of_fills(backend: str) -> None:
    found = counted(backend, [CORE], [(0, 0, 1000, 0), (0, 0, 0, 1000), (0, 0, 1000, 1000)])
    assert int(found.cache_missing_bytes.sum()) == 1000
    assert found.write_back_bytes == 1000
