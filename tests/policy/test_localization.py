"""Trying subgraphs on sockets until they are settled."""

import numpy as np

from simsched.policy.parts.localization import UNSETTLED, Localization


def counters(*rows: tuple[int, int]) -> np.ndarray:
    """Return (local, remote) bytes of one memory kind."""
    return np.array(rows, np.int64).reshape(len(rows), 1, 2)


def test_contiguous_subgraphs_start_on_different_sockets_and_rotate() -> None:
    found = Localization(8, 4)
    seen = []
    for _ in range(4):
        seen.append(found.targets().tolist())
        found.record(counters(*[(0, 1)] * 8))
    assert seen[0] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert seen[1] == [1, 1, 2, 2, 3, 3, 0, 0]
    assert seen[3] == [3, 3, 0, 0, 1, 1, 2, 2]
    assert found.is_complete


def test_as_many_local_as_remote_bytes_settle_a_subgraph_for_good() -> None:
    found = Localization(2, 2)
    found.record(counters((5, 5), (4, 5)))
    assert found.socket.tolist() == [0, UNSETTLED]
    assert found.targets().tolist() == [0, 0]
    found.record(counters((0, 9), (9, 0)))
    assert found.socket.tolist() == [0, 0]
    assert found.is_high.all()


def test_the_others_go_where_most_was_local() -> None:
    found = Localization(2, 3)
    for row in ([(1, 9), (3, 9)], [(4, 9), (1, 9)], [(4, 9), (2, 9)]):
        assert not found.is_complete
        found.record(counters(*row))
    assert found.is_complete
    assert not found.is_high.any()
    # Subgraph 0 was tried on 0, 1, 2 (the first of two equal ones counts), subgraph 1 on 1, 2, 0.
    assert found.socket.tolist() == [1, 1]


def test_all_kinds_of_memory_count() -> None:
    found = Localization(1, 2)
    found.record(np.array([[[3, 5], [4, 1]]]))
    assert found.socket.tolist() == [0]


def test_no_traffic_settles_at_once() -> None:
    found = Localization(3, 4)
    found.record(counters((0, 0), (0, 0), (0, 0)))
    assert found.is_complete
