"""Bytes of flows and copies in bins of time, on traces written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.trace.flows import Flows, Ways, copies_of, flows_of, passing
from simsched.trace.schema import EVENT_COLUMNS, EventKind, Trace

K = EventKind
#: Three nodes; paths 0 and 1 lead to node 0, path 2 copies from node 1 to node 2 after 3 ps.
WAYS = Ways(
    names=("near", "far", "device", "cache of near", "wire"),
    bytes_per_s=np.array([42e12, 42e12, 42e12, 90e12, 21e12]),
    ptr=np.array([0, 1, 3, 6, 7]),
    resource=np.array([0, 0, 4, 1, 2, 4, 3]),
    weight=np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    copy=np.array([[-1, -1, -1], [-1, -1, 2], [-1, -1, -1]]),
    latency_ps=np.array([0, 0, 3, 0]),
)


def trace(*rows: tuple[int, ...]) -> Trace:
    """Return a trace of rows as in `EVENT_COLUMNS`."""
    columns = np.array(rows, np.int64).T
    return Trace(
        {
            name: column.astype(dtype)
            for column, (name, dtype) in zip(columns, EVENT_COLUMNS.items(), strict=True)
        }
    )


def flows(*rows: tuple[int, int, int, int]) -> Flows:
    return Flows(*np.array(rows, np.int64).T)


@pytest.mark.parametrize("ways", [None, WAYS])
def test_one_flow_is_spread_evenly(ways: Ways | None) -> None:
    paths, found = passing(flows((50, 250, 3, 8)), ways, np.linspace(0.0, 400.0, 5))
    assert paths.tolist() == [3]
    assert found.tolist() == [pytest.approx([2.0, 4.0, 2.0, 0.0])]


def test_flows_that_fill_a_node_have_the_rates_that_it_allows() -> None:
    """The first has the node to itself for 50 ps and moves half of its bytes, then they share it.

    Spread evenly, both would have 28 + 21 bytes per ps from then on, of 42.
    """
    both = flows((0, 150, 0, 4200), (50, 150, 3, 2100))
    ways = replace(WAYS, resource=np.array([0, 0, 4, 1, 2, 4, 0]))
    _, even = passing(both, None, np.linspace(0.0, 150.0, 4))
    assert even.sum(axis=0).tolist() == pytest.approx([1400.0, 2450.0, 2450.0])
    _, found = passing(both, ways, np.linspace(0.0, 150.0, 4))
    expected = [[2100.0, 1050.0, 1050.0], [0.0, 1050.0, 1050.0]]
    assert found == pytest.approx(np.array(expected), rel=2e-3)


def test_a_link_bounds_what_crosses_it_and_nothing_else() -> None:
    """Over the wire 21 bytes pass per ps: what the second flow cannot have moved at once."""
    both = flows((0, 200, 1, 3150), (0, 100, 1, 1050), (0, 200, 3, 18000))
    _, found = passing(both, WAYS, np.linspace(0.0, 200.0, 3))
    assert found[0].tolist() == pytest.approx([2100.0, 2100.0], rel=1e-3)
    assert found[1].tolist() == pytest.approx([9000.0, 9000.0])


def test_what_does_not_fit_its_last_path_is_left_out() -> None:
    _, found = passing(flows((0, 200, 0, 84000)), WAYS, np.linspace(0.0, 200.0, 3))
    assert found[0].tolist() == pytest.approx([4200.0 * 1.001] * 2)


def test_flows_of_accesses_begin_where_the_one_before_has_ended() -> None:
    found = flows_of(
        trace(
            (10, K.ACCESS, 1, 0, 1, 5, 300),
            (20, K.ACCESS, 0, 1, 1, 6, 70),
            (30, K.FLOW_END, 1, 0, 1, 3, 100),
            (50, K.FLOW_END, 1, 0, 1, 0, 200),
            (60, K.FLOW_END, 0, 1, 1, 1, 70),
        )
    )
    rows = zip(found.begin_ps, found.end_ps, found.path, found.n_bytes, strict=True)
    assert sorted(map(tuple, rows)) == [(10, 30, 3, 100), (20, 60, 1, 70), (30, 50, 0, 200)]


def test_copies_name_their_source_and_move_after_their_latency() -> None:
    start = (K.MIGRATE_START, -1, -1, 1, 4, (1 << 32) + 2)
    end = (K.MIGRATE_END, -1, -1, 1, 4, 2)
    found = copies_of(trace((5, *start), (28, *end), (40, *start)), WAYS, np.arange(5) * 100)
    assert [found.begin_ps.tolist(), found.end_ps.tolist()] == [[8], [28]]
    assert [found.path.tolist(), found.n_bytes.tolist()] == [[2], [400]]
    paths, n_bytes = passing(found, WAYS, np.array([8.0, 18.0, 28.0]))
    per_node = [(WAYS.moved(node)[paths] @ n_bytes).tolist() for node in range(3)]
    assert per_node == [[0.0, 0.0], [200.0, 200.0], [200.0, 200.0]]


def test_what_a_cache_answers_is_not_moved_by_the_node_behind() -> None:
    assert WAYS.moved(0).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert WAYS.answered(0).tolist() == [0.0, 0.0, 0.0, 1.0]
    assert WAYS.answered(1).tolist() == [0.0] * 4
