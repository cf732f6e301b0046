"""Latencies that grow with the load of a node, in both engines, against the closed form of F13."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from simsched.machine.synthetic import make_machine
from simsched.trace.schema import EventKind
from tests.engine.test_controllers import _Homes
from tests.engine.test_copies import MB, both, program

CAP, NODE, IDLE_PS, LINE = 10e9, 40e9, 100_000, 64
SLOPE, BEND = 0.3, 0.6


def chase_ps(growth: tuple[float, float] | None, streams: int) -> int:
    """Return how long a task takes that reads a line while others stream.

    Each of them draws a quarter of what the node sustains, or less if they are many. The reader
    comes after a task that computes, when the streams have their rates.
    """
    machine = make_machine(
        domains=1,
        cores_per_domain=8,
        core_cap_bytes_per_s=CAP,
        dram_bandwidth_bytes_per_s=NODE,
        local_latency_ps=IDLE_PS,
    )
    machine = replace(machine, nodes=(replace(machine.nodes[0], latency_under_load=growth),))
    streaming = [[(worker, 100 * MB, 0)] for worker in range(streams)]
    workload = program(
        [*streaming, [], [(streams, LINE, 0)]],
        [(streams, streams + 1)],
        ops=10.0,
        block_bytes=100 * MB,
    )
    policy = _Homes([*range(streams), streams, streams], np.zeros(streams + 1, np.int32))
    trace = both(machine, workload, policy).trace
    assert trace is not None
    events = trace.events
    own = events["task"] == streams + 1
    times = [
        int(events["time_ps"][own & (events["kind"] == kind)][0])
        for kind in (EventKind.TASK_START, EventKind.TASK_END)
    ]
    return times[1] - times[0]


@pytest.mark.parametrize(("streams", "load"), [(0, 0.0), (1, 0.25), (3, 0.75), (4, 1.0), (6, 1.0)])
def test_a_line_waits_as_the_load_of_the_node_says(streams: int, load: float) -> None:
    grown = IDLE_PS + math.ceil(IDLE_PS * SLOPE * load / (1 - BEND * load))
    line_ps = LINE * (streams + 1) / NODE * 1e12 if streams > 3 else LINE / CAP * 1e12
    assert chase_ps((SLOPE, BEND), streams) == pytest.approx(grown + line_ps, abs=2)


def test_without_the_law_a_line_takes_the_idle_latency_at_any_load() -> None:
    assert chase_ps(None, 3) == pytest.approx(IDLE_PS + LINE / CAP * 1e12, abs=2)
