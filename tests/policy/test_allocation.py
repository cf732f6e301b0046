"""Exact allocation of spawn trees to sockets."""

from fractions import Fraction

import numpy as np
import pytest

from simsched.policy.parts.allocation import STRADDLES, allocate
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph
from simsched.workload.spawn_tree import equal_parts, grow, unbalanced


def tree_graph(items: int, degree: int = 2) -> TaskGraph:
    tree = grow(items, equal_parts(degree, 2))
    return build_graph(np.ones(tree.n_tasks), children=tree.children)


def child_ranges(start: Fraction, end: Fraction, branching: int) -> list[tuple[Fraction, Fraction]]:
    """Return the data ranges of the children of a task: equation 1 of the paper."""
    width = (end - start) / branching
    return [(start + i * width, start + (i + 1) * width) for i in range(branching)]


def part_of_range(start: Fraction, end: Fraction, n_parts: int) -> int:
    """Return which of equal parts of [0, 1) holds a range, `STRADDLES` if none does."""
    first = int(start * n_parts)
    return first if end * n_parts <= first + 1 else STRADDLES


def test_the_published_example_two_sockets_a_third_to_a_half() -> None:
    # Figure 4 of the paper: the third child of the left half has the range [D/3, D/2) and belongs
    # to the first of two sockets, whose data are [0, D/2).
    left, right = child_ranges(Fraction(0), Fraction(1), 2)
    third = child_ranges(*left, 3)[2]
    assert third == (Fraction(1, 3), Fraction(1, 2))
    assert part_of_range(*third, 2) == 0
    assert part_of_range(*right, 2) == 1
    children = adjacency(np.array([0, 0, 1, 1, 1]), np.array([1, 2, 3, 4, 5]), 6)
    part = allocate(build_graph(np.ones(6), children=children), 2)
    assert part.tolist() == [STRADDLES, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("n_parts", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("shape", ["binary", "ternary", "irregular", "flat"])
def test_every_task_has_the_part_that_its_range_lies_in(shape: str, n_parts: int) -> None:
    split = {
        "binary": equal_parts(2, 2),
        "ternary": equal_parts(3, 2),
        "irregular": unbalanced(4),
        "flat": equal_parts(50, 50),
    }[shape]
    tree = grow(50, split)
    graph = build_graph(np.ones(tree.n_tasks), children=tree.children)
    part = allocate(graph, n_parts)
    expected = {0: (Fraction(0), Fraction(1))}
    for task in range(graph.n_tasks):  # numbered in preorder: parents first
        children = graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]].tolist()
        if children:
            ranges = child_ranges(*expected[task], len(children))
            expected.update(zip(children, ranges, strict=True))
    for task, (start, end) in expected.items():
        found, belongs = int(part[task]), part_of_range(start, end, n_parts)
        if belongs != STRADDLES or task not in set(graph.leaves.tolist()):
            assert found == belongs
            continue
        shares = [
            min(end, Fraction(i + 1, n_parts)) - max(start, Fraction(i, n_parts))
            for i in range(n_parts)
        ]
        assert found == shares.index(max(shares))


def test_four_sockets_of_a_binary_tree_own_its_quarters() -> None:
    graph = tree_graph(64)
    part = allocate(graph, 4)
    assert int((part == STRADDLES).sum()) == 3  # the root and both halves
    assert np.bincount(part[part >= 0]).tolist() == [31, 31, 31, 31]


def test_halves_of_thirds_are_not_rounded() -> None:
    # 3^12 leaves in 12 levels: every border of three parts is one of the top level's.
    part = allocate(tree_graph(3**7, 3), 3)
    assert int((part == STRADDLES).sum()) == 1


def test_parentless_tasks_divide_the_data_among_themselves() -> None:
    assert allocate(build_graph(np.ones(6)), 3).tolist() == [0, 0, 1, 1, 2, 2]
    # The middle one of three lies half in each of two parts and goes to the first.
    assert allocate(build_graph(np.ones(3)), 2).tolist() == [0, 0, 1]


def test_a_leaf_across_borders_goes_to_the_larger_share() -> None:
    # Two leaves, three parts: [0, 1/2) holds all of part 0 and half of part 1.
    assert allocate(build_graph(np.ones(2)), 3).tolist() == [0, 2]
