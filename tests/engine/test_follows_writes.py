"""Blocks that go where they are written or accessed: homes, memory in use, costs of reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Placement, Plan, PlanView
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

SIZE = 10_000  # bytes: 1 us at 10 GB/s, the rate of a node


@dataclass(frozen=True, kw_only=True)
class Bound(CentralQueue):
    """Task t runs on worker `instance[t]`; block 0 follows writes, or all accesses."""

    instance: tuple[int, ...] = ()
    follows: tuple[bool, ...] = (True,)
    at_reads: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        pass

    def place(self, view: PlanView, state: Any) -> Placement:
        order = view.machine.touch_order
        return Placement(
            np.full(1, -1, np.int32),
            order,
            follows_writes=np.array(self.follows),
            follows_accesses=None if self.at_reads is None else np.array(self.at_reads),
        )

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            instance_of=np.array(self.instance, np.int32),
        )


def run(backend: str, policy: Bound, iterations: int = 1) -> Run:
    """Run task 0 (writes), 1 (writes), 2 (reads) and 3 (reads), one after the other."""
    every = np.arange(4)
    graph = build_graph(
        np.zeros(4),
        successors=adjacency(every[:-1], every[1:], 4),
        accessed=accesses(every, np.zeros(4, int), [0, 0, SIZE, SIZE], [SIZE, SIZE, 0, 0], 4),
        block_bytes=[SIZE],
    )
    machine = make_machine(domains=2, cores_per_domain=1, remote_latency_ps=7_000_000)
    workload = Workload("w", graph, iterations)
    return simulate(machine, workload, policy, workers=2, backend=backend, events=True)


def touches(result: Run) -> list[tuple[int, int]]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == EventKind.FIRST_TOUCH
    return list(zip(events["task"][chosen].tolist(), events["arg1"][chosen].tolist(), strict=True))


def test_every_write_brings_the_block_to_the_writer(backend: str) -> None:
    result = run(backend, Bound(instance=(0, 1, 1, 0)), iterations=2)
    assert touches(result) == [(0, 0), (1, 1)] * 2
    # Three local accesses of 1 us; the last one waits for the way to the other node.
    assert result.summary.makespan_ps == 2 * (4 * 10**6 + 7 * 10**6)
    assert result.summary.node_peak_bytes.tolist() == [SIZE, SIZE]
    assert result.summary.peak_bytes == SIZE


def test_other_blocks_stay_where_they_were_touched_first(backend: str) -> None:
    result = run(backend, Bound(instance=(0, 1, 1, 0), follows=(False,)), iterations=2)
    assert touches(result) == [(0, 0)]
    assert result.summary.makespan_ps == 2 * (4 * 10**6 + 2 * 7 * 10**6)


def test_what_follows_accesses_is_always_local(backend: str) -> None:
    policy = Bound(instance=(0, 1, 1, 0), follows=(False,), at_reads=(True,))
    result = run(backend, policy, iterations=2)
    assert touches(result) == [(0, 0), (1, 1), (2, 1), (3, 0)] * 2
    assert result.summary.makespan_ps == 2 * 4 * 10**6
    assert result.summary.peak_bytes == SIZE


def test_one_value_per_block(backend: str) -> None:
    with pytest.raises(
        PolicyError, match=r"follows_writes: found shape \(2,\), accepted \(1,\) \(blocks\)"
    ):
        run(backend, Bound(instance=(0, 1, 1, 0), follows=(True, False)))
    with pytest.raises(PolicyError, match=r"follows_accesses: found shape \(2,\), accepted"):
        run(backend, Bound(instance=(0, 1, 1, 0), at_reads=(True, False)))
