"""Fork-join: counts, phases, joins and bytes."""

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload import generate_workload


@pytest.mark.parametrize(("degree", "depth"), [(2, 0), (2, 1), (2, 5), (3, 4), (10, 2), (1000, 1)])
@pytest.mark.parametrize("phases", [1, 3])
def test_a_phase_is_a_complete_tree(degree: int, depth: int, phases: int) -> None:
    workload = generate_workload(
        "fork_join", {"degree": degree, "depth": depth, "phases": phases, "leaf_bytes": 64}
    )
    workload.validate()
    graph = workload.graph
    per_phase = (degree ** (depth + 1) - 1) // (degree - 1)
    leaves = degree**depth
    assert graph.n_tasks == phases * per_phase
    assert len(graph.leaves) == phases * leaves
    assert set(np.diff(graph.child_ptr).tolist()) <= {0, degree}
    roots = np.flatnonzero(graph.parent < 0)
    assert roots.tolist() == [phase * per_phase for phase in range(phases)]
    assert graph.n_edges == phases - 1
    assert graph.succ.tolist() == roots[1:].tolist()
    assert np.flatnonzero(np.diff(graph.succ_ptr)).tolist() == roots[:-1].tolist()
    assert graph.access_block.tolist() == list(range(leaves)) * phases
    assert graph.access_bytes == 2 * 64 * leaves * phases
    assert workload.init is not None
    assert workload.init.written_bytes.tolist() == [64] * leaves


def test_work_before_and_after_the_children() -> None:
    graph = generate_workload(
        "fork_join", {"degree": 3, "depth": 2, "leaf_ops": 5, "inner_ops": 2, "join_ops": 7}
    ).graph
    graph.validate()
    assert graph.ops.sum() == 9 * 5 + 4 * 2
    assert graph.join_ops.sum() == 4 * 7
    assert graph.n_blocks == 0


def test_children_come_in_the_order_of_their_numbers() -> None:
    graph = generate_workload("fork_join", {"degree": 3, "depth": 2}).graph
    assert graph.child[graph.child_ptr[0] : graph.child_ptr[1]].tolist() == [1, 5, 9]
    assert graph.child[graph.child_ptr[5] : graph.child_ptr[6]].tolist() == [6, 7, 8]


def test_too_many_leaves_are_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"workload fork_join: found 2e\+20 tasks, accepted"
    ):
        generate_workload("fork_join", {"degree": 10, "depth": 20})
