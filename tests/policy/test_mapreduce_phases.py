"""Where the tasks of a MapReduce job compute, against hand calculations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.schema import EventKind
from simsched.workload.registry import generate_workload

#: One split of 4 MB and one reduce task: 10 million operations to map it, 12 million to reduce it.
TOY = {
    "splits": 1,
    "reduces": 1,
    "split_bytes": 4_000_000,
    "map_ops_per_byte": 2.5,
    "reduce_ops_per_byte": 3.0,
    "task_noise": 0.0,
    "skew": 0.0,
}


def times_of_accesses(backend: str, **params: Any) -> list[float]:
    """Return how long each access takes, of the map task, then of the reduce task, in seconds.

    One node computes a million operations and moves 4 MB per second, so that each access of 4 MB
    takes a second or its computation, whichever is longer.
    """
    machine = make_machine(
        domains=1, cores_per_domain=4, ops_per_s=1e6, dram_bandwidth_bytes_per_s=4e6
    )
    workload = generate_workload("sort_mapreduce", {**TOY, **params})
    result = simulate(machine, workload, make_policy("hadoop_ns"), backend=backend, events=True)
    assert result.trace is not None
    columns = result.trace.events
    found: list[float] = []
    for task in (0, 1):
        wanted = np.isin(columns["kind"], (EventKind.ACCESS, EventKind.TASK_END))
        ps = columns["time_ps"][wanted & (columns["task"] == task)]
        found += (np.diff(np.sort(ps)) * 1e-12).tolist()
    return found


@pytest.mark.parametrize("backend", ["simpy", "native"])
def test_functions_take_place_in_their_phases(backend: str) -> None:
    # Map: 10 s for the function while 4 MB are read (1 s), then 1 s to spill, 1 s to write. Reduce:
    # 1 s to copy without any computation; everything fits in memory, so that sorting writes 4 MB
    # and reducing reads and writes 4 MB each: a third of 12 s in each of the three.
    expected = [10.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0]
    assert times_of_accesses(backend) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("ratio", "reduce"),
    [
        (0.0, [1.0, 1.0, 6.0, 6.0]),  # all in the reduce phase
        (2.0, [1.0, 6.0, 3.0, 3.0]),  # 2 to 2: half of it in each
    ],
)
def test_sort_and_reduce_share_operations_by_a_ratio(ratio: float, reduce: list[float]) -> None:
    found = times_of_accesses("native", sort_ops_ratio=ratio)
    assert found == pytest.approx([10.0, 1.0, 1.0, *reduce], rel=1e-6)


def test_what_is_written_while_copying_is_not_sorted_again() -> None:
    # A buffer of 3 MB: 3 MB become a file while copying, 1 MB in the sort phase. By bytes 1 : 4 : 4
    # of 12 s; the copy takes 1 s, the file 0.75 s.
    found = times_of_accesses("native", buffer_bytes=3_000_000)
    expected = [10.0, 1.0, 1.0, 1.0, 0.75, 12 / 9, 48 / 9, 48 / 9]
    assert found == pytest.approx(expected, rel=1e-6)
