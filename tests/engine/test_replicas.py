"""Blocks with replicas on several nodes: which one is read, and what a write leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.policies import CentralQueue
from simsched.engine.conformance import compare
from simsched.engine.replication import node_ranks
from simsched.engine.run import simulate
from simsched.files.errors import ModelError, PolicyError
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, HookView, Placement, Plan, PlanView
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from tests.engine.invariants import trace_violations

from .instances import RandomPolicy, random_machine, random_workload

US = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Replicated(CentralQueue):
    """Task t belongs to worker `owner[t]`; block b lives on `homes[b]` and `copies[b]`."""

    owner: tuple[int, ...] = ()
    homes: tuple[int, ...] = ()
    copies: tuple[tuple[int, ...], ...] = ()
    seen: Any = None

    def __post_init__(self) -> None:
        pass

    def place(self, view: PlanView, state: Any) -> Placement:
        return Placement(
            np.array(self.homes, np.int32),
            view.machine.touch_order,
            replicas=np.array(self.copies, np.int32),
        )

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            instance_of=np.array(self.owner, np.int32),
        )

    def on_finish(self, view: HookView, state: Any, task: int, worker: int) -> None:
        if self.seen is not None:
            assert view.live is not None
            self.seen.append([view.live.holds(node, 0) for node in range(3)])


def machine(**options: Any) -> Machine:
    """Three domains of a core; a link that all remote flows share halves their speed."""
    return make_machine(
        domains=3,
        cores_per_domain=1,
        dram_bandwidth_bytes_per_s=1e9,
        link_bandwidth_bytes_per_s=0.5e9,
        remote_latency_ps=700,
        **options,
    )


def readers(owner: tuple[int, ...], written: tuple[int, ...] = (0,)) -> TaskGraph:
    """A chain of tasks that read 10 kB of block 0, or write them."""
    n = len(owner)
    bytes_written = np.resize(written, n)
    return build_graph(
        np.zeros(n),
        successors=adjacency(np.arange(n - 1), np.arange(1, n), n),
        accessed=accesses(range(n), [0] * n, 10_000 - bytes_written, bytes_written, n),
        block_bytes=[10_000],
    )


def run(backend: str, graph: TaskGraph, policy: Replicated, on: Machine | None = None) -> Run:
    result = simulate(
        machine() if on is None else on, Workload("w", graph), policy, backend=backend, events=True
    )
    assert trace_violations(result) == []
    return result


def test_the_own_node_is_read_if_it_holds_the_block(backend: str) -> None:
    owner = (0, 1, 2)
    near = Replicated(owner=owner, homes=(0,), copies=((2, -1),))
    result = run(backend, readers(owner), near)
    # Domain 1 has none: both others are as far, the lower one is read.
    assert result.summary.node_bytes.tolist() == [[[10_000, 0, 0], [10_000, 0, 0], [0, 0, 10_000]]]
    assert result.summary.makespan_ps == 40 * US + 700
    alone = Replicated(owner=owner, homes=(0,), copies=((-1, -1),))
    assert run(backend, readers(owner), alone).summary.makespan_ps == 50 * US + 1400


def test_a_write_goes_to_the_home_and_leaves_no_replicas(backend: str) -> None:
    owner = (2, 2, 2)
    seen: list[list[bool]] = []
    policy = Replicated(owner=owner, homes=(0,), copies=((2, 1),), seen=seen)
    result = run(backend, readers(owner, (0, 10_000, 0)), policy)
    assert seen == [[True] * 3, [True, False, False], [True, False, False]]
    assert result.summary.node_bytes.tolist()[0][2] == [20_000, 0, 10_000]
    assert result.summary.makespan_ps == 10 * US + 2 * (20 * US + 700)
    assert result.summary.peak_bytes == 30_000
    assert result.summary.node_peak_bytes.tolist() == [10_000] * 3


def test_nearness_is_by_latency_then_by_cap_then_by_number() -> None:
    plain = machine()
    paths = list(map(list, plain.paths))
    paths[0][2] = replace(paths[0][2], latency_ps=300)
    paths[1][0] = replace(paths[1][0], core_cap_bytes_per_s=(1e9, 8e9))
    paths[1][2] = replace(paths[1][2], core_cap_bytes_per_s=(2e9,))
    ranks = node_ranks(replace(plain, paths=tuple(map(tuple, paths))))
    assert ranks.tolist() == [[0, 2, 1], [2, 0, 1], [1, 2, 0]]


@pytest.mark.parametrize(
    ("homes", "copies", "message"),
    [
        ((0,), ((0,),), "block 0: found a node twice"),
        ((0,), ((1, 1),), "block 0: found a node twice"),
        ((-1,), ((1,),), "block 0: found no home"),
        ((0,), ((3,),), r"replicas\[0, 0\]: found 3, accepted -1 to 2"),
        ((0,), ((1,), (1,)), r"replicas: found shape \(2, 1\), accepted \(1, any\)"),
    ],
)
def test_replicas_that_cannot_be_are_refused(
    backend: str, homes: tuple[int, ...], copies: tuple[tuple[int, ...], ...], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        run(backend, readers((0,)), Replicated(owner=(0,), homes=homes, copies=copies))


def test_replicas_need_room(backend: str) -> None:
    small = machine(dram_capacity_bytes=15_000)
    graph = replace(readers((0,)), block_bytes=np.array([10_000, 10_000]))
    policy = Replicated(owner=(0,), homes=(0, 1), copies=((1,), (-1,)))
    with pytest.raises(ModelError, match="found 20000 bytes placed, accepted at most 15000"):
        run(backend, graph, policy, small)


def test_the_room_of_lost_replicas_is_free_again(backend: str) -> None:
    # The second task finds room for its block next to it only where the replica has been.
    graph = build_graph(
        [0.0, 0.0],
        successors=adjacency([0], [1], 2),
        accessed=accesses([0, 1], [0, 1], 0, [10_000, 10_000], 2),
        block_bytes=[10_000, 10_000],
    )
    policy = Replicated(owner=(0, 1), homes=(0, -1), copies=((1,), (-1,)))
    result = run(backend, graph, policy, machine(dram_capacity_bytes=15_000))
    assert result.trace is not None
    events = result.trace.events
    touches = events["kind"] == EventKind.FIRST_TOUCH
    assert events["arg1"][touches].tolist() == [1]


@dataclass(frozen=True, kw_only=True)
class RandomReplicas(RandomPolicy):
    """Random plans; half of the blocks with a home have replicas on random nodes."""

    def place(self, view: PlanView, state: np.random.Generator) -> Placement:
        placed = super().place(view, state)
        nodes = len(view.machine.nodes)
        rows = np.array([state.permutation(nodes) for _ in placed.home]).reshape(-1, nodes)
        lost = (rows == placed.home[:, None]) | (state.integers(0, 2, rows.shape) == 0)
        lost |= (placed.home < 0)[:, None]
        return replace(placed, replicas=np.where(lost, -1, rows).astype(np.int32))

    def plan(self, view: PlanView, state: np.random.Generator, graph: TaskGraph) -> Plan:
        return replace(super().plan(view, state, graph), balancing=None)

    def on_iteration(self, view: PlanView, state: Any, counters: Any) -> Any:
        update = super().on_iteration(view, state, counters)
        if update is None:
            return None
        empty = np.zeros(0, np.int32)
        plan = None if update.plan is None else replace(update.plan, balancing=None)
        return replace(update, plan=plan, move_block=empty, move_node=empty)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.integers(0, 2**32))
def test_backends_agree_on_random_instances(on: int, workload: int, policy: int) -> None:
    case = compare(random_machine(on), random_workload(workload), RandomReplicas(choice=policy))
    assert case.difference == ""


def test_reads_of_replicas_are_recorded_where_they_go(backend: str) -> None:
    policy = Replicated(owner=(2,), homes=(0,), copies=((2,),))
    result = run(backend, readers((2,)), policy)
    assert result.trace is not None
    assert EventKind.FIRST_TOUCH not in result.trace.events["kind"]
