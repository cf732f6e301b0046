"""Task Bench: every pattern against its definition, kernels, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload import Workload
from simsched.workload.presets import make_workload

Edges = set[tuple[tuple[int, int], tuple[int, int]]]


def named(workload: Workload, firsts: list[int], counts: list[int]) -> Edges:
    """Return the edges between tasks as pairs of step and point."""
    graph = workload.graph
    points = [
        (step, first + at)
        for step, (first, count) in enumerate(zip(firsts, counts, strict=True))
        for at in range(count)
    ]
    assert graph.n_tasks == len(points)
    return {
        (points[task], points[after])
        for task in range(graph.n_tasks)
        for after in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]].tolist()
    }


def before(pattern: str, step: int, i: int, width: int, radix: int, period: int) -> set[int]:
    """Return the points of the step before, as the benchmark defines them."""
    sets = math.ceil(math.log2(width)) if width > 1 else 1
    hop = 2 ** ((step - 1) % sets)
    return {
        "trivial": set(),
        "no_comm": {i},
        "stencil_1d": {i - 1, i, i + 1},
        "stencil_1d_periodic": {(i - 1) % width, i, (i + 1) % width},
        "dom": {i - 1, i},
        "tree": {i // 2},
        "fft": {i - hop, i, i + hop},
        "all_to_all": set(range(width)),
        "nearest": set(range(i - radix // 2, i + (radix - 1) // 2 + 1)),
        "spread": {
            (i + k * width // radix + (k > 0) * (step % period)) % width for k in range(radix)
        },
    }[pattern]


PATTERNS = ["trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "fft", "all_to_all"]
PATTERNS += ["nearest", "spread", "dom", "tree"]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    ("width", "steps", "radix", "period"), [(8, 7, 3, 2), (11, 5, 4, 3), (5, 9, 2, 3), (1, 3, 1, 1)]
)
def test_edges_are_those_of_the_definition(
    pattern: str, width: int, steps: int, radix: int, period: int
) -> None:
    spec = f"task_bench[pattern={pattern},width={width},steps={steps}"
    workload = make_workload(f"{spec},radix={radix},period={period}]")
    workload.validate()
    firsts, counts = [0] * steps, [width] * steps
    if pattern == "tree":
        counts = [min(width, 2**step) for step in range(steps)]
    if pattern == "dom":
        firsts = [max(0, step + width - steps) for step in range(steps)]
        counts = [min(width, step + 1, steps - step) for step in range(steps)]
    expected = {
        ((step - 1, j), (step, i))
        for step in range(1, steps)
        for i in range(firsts[step], firsts[step] + counts[step])
        for j in before(pattern, step, i, width, radix, period)
        if firsts[step - 1] <= j < firsts[step - 1] + counts[step - 1]
    }
    assert named(workload, firsts, counts) == expected
    assert workload.graph.n_edges == len(expected)  # none twice
    graph = workload.graph
    for task in range(graph.n_tasks):
        after = graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]]
        assert (np.diff(after) > 0).all()


def test_random_neighbours_are_drawn_for_each_step_of_the_period() -> None:
    width, steps = 40, 9
    spec = f"task_bench[pattern=random_nearest,width={width},steps={steps},radix=7,period=4"
    workload = make_workload(f"{spec},fraction_connected=0.5]")
    found = named(workload, [0] * steps, [width] * steps)
    window = {(i, j) for i in range(width) for j in range(i - 3, i + 4) if 0 <= j < width}
    by_step = [{(i, j) for (_, j), (t, i) in found if t == step} for step in range(1, steps)]
    for each in by_step:
        assert each <= window
        assert {(i, i) for i in range(width)} <= each
        assert 0.35 < (len(each) - width) / (len(window) - width) < 0.65
    assert by_step[0] == by_step[4]
    assert by_step[0] != by_step[1]
    for fraction, expected in ((0, {(i, i) for i in range(width)}), (1, window)):
        other = make_workload(f"{spec},fraction_connected={fraction}]")
        found = named(other, [0] * steps, [width] * steps)
        assert {(i, j) for (_, j), (t, i) in found if t == 3} == expected


def test_kernels() -> None:
    size = "width=50, steps=40, output_bytes=0"
    assert (make_workload(f"task_bench[{size}, task_ops=7e5]").graph.ops == 7e5).all()
    drawn = make_workload(f"task_bench[{size}, kernel=imbalance, imbalance=1.5, task_ops=100]")
    ops = drawn.graph.ops
    assert ops.min() >= 25.0
    assert ops.max() <= 175.0
    assert ops.mean() == pytest.approx(100.0, rel=0.03)
    assert ops.std() == pytest.approx(150 / 12**0.5, rel=0.05)
    memory = make_workload(f"task_bench[{size}, kernel=memory, scratch_bytes=4096]").graph
    assert not memory.ops.any()
    assert memory.block_bytes.tolist() == [4096] * 50
    assert memory.access_block[:51].tolist() == [*range(50), 0]
    assert set(memory.read_bytes.tolist()) == set(memory.written_bytes.tolist()) == {2048}
    assert not make_workload(f"task_bench[{size}, kernel=empty]").graph.ops.any()
    assert not make_workload(f"task_bench[{size}]").graph.n_accesses


def test_tasks_hand_on_their_output() -> None:
    graph = make_workload("task_bench[width=4, steps=3, output_bytes=100]").graph
    assert graph.block_bytes.tolist() == [100] * 12
    last = slice(graph.access_ptr[9], graph.access_ptr[10])  # point 1 of the last step
    assert graph.access_block[last].tolist() == [4, 5, 6, 9]
    assert graph.read_bytes[last].tolist() == [100, 100, 100, 0]
    assert graph.written_bytes[last].tolist() == [0, 0, 0, 100]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("pattern=spread, width=4, period=3", "period: found 3, accepted 1 to 2"),
        ("pattern=spread, width=4, radix=5", "radix: found 5, accepted 1 to 4"),
        ("pattern=spread, radix=0", "radix: found 0, accepted 1 to 64"),
        ("pattern=stencil", "stencil_1d"),
        ("pattern=all_to_all, width=20000, steps=100", "edges"),
        ("imbalance=2.5", "imbalance: found 2.5"),
    ],
)
def test_what_is_refused(parameters: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_workload(f"task_bench[{parameters}]")
