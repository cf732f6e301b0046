"""Moves of blocks while tasks run: who carries them out, when, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireStep,
    Exchange,
    HookView,
    Move,
    Placement,
    Plan,
    PlanView,
    Policy,
    Wake,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
DRAM, HBM = 0, 1
Asks = Callable[[str, int], tuple[Any, ...]]


@dataclass(eq=False)
class Seen:
    """What the policy has been told."""

    wakes: list[tuple[int, int, int]] = field(default_factory=list)  # time, tag, home of block 0


@dataclass(frozen=True, kw_only=True)
class Moving(Policy[Seen]):
    """All blocks begin in DRAM; `asks` says what each call of a hook decides."""

    asks: Asks
    replicas: Any = None
    follows: Any = None

    def __post_init__(self) -> None:
        pass

    def start(self, view: PlanView) -> Seen:
        return Seen()

    def place(self, view: PlanView, state: Seen) -> Placement:
        home = np.full(view.workload.graph.n_blocks, DRAM, np.int32)
        order = view.machine.touch_order
        return Placement(home, order, replicas=self.replicas, follows_writes=self.follows)

    def plan(self, view: PlanView, state: Seen, graph: TaskGraph) -> Plan:
        return Plan(acquire=(AcquireStep("worker", "own", "oldest"),), roots="first")

    def on_ready(self, view: HookView, state: Seen, task: int, worker: int) -> tuple[Any, ...]:
        return self.asks("on_ready", task)

    def on_finish(self, view: HookView, state: Seen, task: int, worker: int) -> tuple[Any, ...]:
        return self.asks("on_finish", task)

    def on_wake(self, view: HookView, state: Seen, tag: int) -> tuple[Any, ...]:
        state.wakes.append((view.live.now_ps(), tag, view.live.block_home(0)))
        return self.asks("on_wake", tag)


def machine(**options: Any) -> Machine:
    """DRAM and HBM; a thread draws 10 GB/s: 10,000 bytes take 1 us to read and 1 us to write."""
    return make_machine(
        **{
            "domains": 1,
            "cores_per_domain": 2,
            "hbm_per_domain": True,
            "dram_bandwidth_bytes_per_s": 1e12,
            "hbm_bandwidth_bytes_per_s": 1e12,
            "core_cap_bytes_per_s": 10e9,
            "costs": RuntimeCosts(),
            **options,
        }
    )


def run(
    backend: str,
    asks: Asks,
    us: list[float],
    sizes: list[int],
    made: Machine | None = None,
    iterations: int = 1,
    **more: Any,
) -> Run:
    """Tasks without accesses, which take `us` microseconds, and blocks."""
    graph = build_graph(np.array(us) * 1000.0, block_bytes=np.array(sizes))
    policy = Moving(asks=asks, **more)
    workload = Workload("w", graph, iterations)
    return simulate(made or machine(), workload, policy, backend=backend, events=True)


def by_call(decisions: dict[tuple[str, int], tuple[Any, ...]]) -> Asks:
    """Decide so at these calls, and nothing at any other."""
    return lambda hook, number: decisions.get((hook, number), ())


def on(hook: str, number: int, *decisions: Any) -> Asks:
    """Decide so at one call, and nothing at any other."""
    return by_call({(hook, number): decisions})


def times(found: Run, kind: EventKind) -> list[tuple[int, int]]:
    """Return worker and time in nanoseconds of all events of a kind."""
    assert found.trace is not None
    events = found.trace.events
    chosen = events["kind"] == kind
    return [
        (w, t // 1000)
        for w, t in zip(
            events["worker"][chosen].tolist(), events["time_ps"][chosen].tolist(), strict=True
        )
    ]


def test_a_worker_that_waits_moves_at_once(backend: str) -> None:
    # By hand: worker 1 waits; 3 us of cost, then 10,000 bytes are read in 1 us and written in 1 us.
    found = run(backend, on("on_ready", 0, Move(1, 0, HBM, 3 * US, 7)), [20.0], [10_000])
    assert times(found, EventKind.MIGRATE_START) == [(1, 0)]
    assert times(found, EventKind.MIGRATE_END) == [(1, 5000)]
    assert found.state.wakes == [(5 * US, 7, HBM)]
    summary = found.summary
    assert (summary.migrations, summary.migrated_bytes, summary.move_ps) == (1, 10_000, 5 * US)
    assert summary.worker_migrate_ps.tolist() == [0, 5 * US]
    assert summary.node_bytes[0, 0].tolist() == [10_000, 10_000]
    assert summary.node_peak_bytes.tolist() == [10_000, 10_000]


def test_a_busy_worker_moves_before_its_next_task(backend: str) -> None:
    # By hand: task 0 ends at 4 us, blocks 0 and 1 take 2 us each, task 1 begins at 8 us.
    moves = Move(0, 0, HBM, 0, 1), Move(0, 1, HBM, 0, 2)
    found = run(backend, on("on_ready", 0, *moves), [4.0, 4.0], [10_000, 10_000])
    # Worker 0 waits when task 0 is ready: it moves first.
    assert times(found, EventKind.TASK_START) == [(0, 4000), (0, 8000)]
    found = run(backend, on("on_finish", 0, *moves), [4.0, 4.0], [10_000, 10_000])
    assert times(found, EventKind.TASK_START) == [(0, 0), (0, 8000)]
    assert times(found, EventKind.MIGRATE_END) == [(0, 6000), (0, 8000)]
    assert [tag for _, tag, _ in found.state.wakes] == [1, 2]


def test_an_iteration_lasts_until_all_blocks_are_moved(backend: str) -> None:
    # By hand: the only task ends at 1 us, its block is back at 1 + 2 us.
    found = run(backend, on("on_finish", 0, Move(1, 0, HBM)), [1.0], [10_000])
    assert found.summary.makespan_ps == 3 * US


def test_what_follows_a_move_is_decided_when_it_is_over(backend: str) -> None:
    # By hand: there by 2 us, back by 4 us.
    there, back = Move(1, 0, HBM, 0, 1), Move(1, 0, DRAM, 0, 2)
    asks = by_call({("on_ready", 0): (there,), ("on_wake", 1): (back,)})
    found = run(backend, asks, [1.0], [10_000])
    assert found.state.wakes == [(2 * US, 1, HBM), (4 * US, 2, DRAM)]


def test_a_move_to_where_the_block_is_takes_no_time(backend: str) -> None:
    found = run(backend, on("on_ready", 0, Move(1, 0, DRAM, 3 * US, 5)), [1.0], [10_000])
    assert found.state.wakes == [(0, 5, DRAM)]
    assert found.summary.migrations == 0


def test_who_moves_shares_its_core(backend: str) -> None:
    # By hand: alone a thread computes 1000 operations in 1 us and draws 10 GB/s, two on one core
    # half as much each. So the move takes 2 + 2 us beside a task of 2,500 operations; 2,000 are
    # done by then, the last 500 take 0.5 us.
    shared = machine(
        cores_per_domain=1, smt_throughput=(1.0, 1.0), core_cap_bytes_per_s=(10e9, 10e9)
    )
    found = run(backend, on("on_ready", 0, Move(1, 0, HBM)), [2.5], [10_000], shared)
    assert times(found, EventKind.MIGRATE_END) == [(1, 4000)]
    assert times(found, EventKind.TASK_END) == [(0, 4500)]
    # 1,000 operations take 2 us beside the move. By then the block is read; it is written in 1 us.
    found = run(backend, on("on_ready", 0, Move(1, 0, HBM)), [1.0], [10_000], shared)
    assert times(found, EventKind.TASK_END) == [(0, 2000)]
    assert times(found, EventKind.MIGRATE_END) == [(1, 3000)]
    # 500 operations end at 1 us, in the middle of reading: 5,000 bytes at 5 GB/s, then 5,000 at 10.
    found = run(backend, on("on_ready", 0, Move(1, 0, HBM)), [0.5], [10_000], shared)
    assert times(found, EventKind.MIGRATE_END) == [(1, 2500)]


def test_what_is_written_goes_at_the_rate_of_writes(backend: str) -> None:
    # By hand: 1 us to read 10,000 bytes from DRAM, at 5 GB/s 2 us to write them to HBM.
    made = machine()
    slow = tuple(
        tuple(replace(path, write_core_cap_bytes_per_s=(5e9,)) for path in row)
        for row in made.paths
    )
    asks = on("on_ready", 0, Move(1, 0, HBM))
    found = run(backend, asks, [1.0], [10_000], replace(made, paths=slow))
    assert times(found, EventKind.MIGRATE_END) == [(1, 3000)]


def two_domains(cores: int) -> Machine:
    """Domains with DRAM of their own; a thread draws 10 GB/s from it, 5 GB/s from the other's."""
    made = machine(domains=2, cores_per_domain=cores, hbm_per_domain=False)
    caps = [[10e9, 5e9], [5e9, 10e9]]
    paths = tuple(
        tuple(
            replace(path, core_cap_bytes_per_s=(cap,), write_core_cap_bytes_per_s=(cap,))
            for path, cap in zip(row, of_domain, strict=True)
        )
        for row, of_domain in zip(made.paths, caps, strict=True)
    )
    return replace(made, paths=paths)


def test_who_is_exchanged_goes_on_from_its_new_place(backend: str) -> None:
    # By hand: worker 1 reads from the other domain; 5,000 bytes are left at 1 us and take 0.5 us
    # from within it. To write to the domain that it has left takes 2 us.
    asks = by_call(
        {
            ("on_ready", 0): (Wake(1 * US, 3), Move(1, 0, 1, 0, 4)),
            ("on_wake", 3): (Exchange(0, 1),),
        }
    )
    found = run(backend, asks, [1.2], [10_000], two_domains(1))
    assert times(found, EventKind.MIGRATE_END) == [(1, 3500)]
    assert found.summary.node_bytes[0].tolist() == [[10_000, 10_000], [0, 0]]


def test_a_whole_domain_that_is_exchanged_while_it_moves(backend: str) -> None:
    # By hand: every worker brings two blocks from node 0 to node 1 and changes its domain at
    # 0.5 us. Those of domain 0 have 5,000 bytes left to read then, 1 us from the other domain, and
    # write for 1 us: the second block takes 2 + 1 us. Those of domain 1 have 7,500 left, 0.75 us,
    # and write for 2 us; the second block takes 1 + 2 us.
    n = 40
    moves = [Move(w, w + n * turn, 1, 0, 9) for w in range(n) for turn in range(2)]
    asks = by_call(
        {
            ("on_ready", 0): (Wake(US // 2, 3), *moves),
            ("on_wake", 3): tuple(Exchange(w, w + n // 2) for w in range(n // 2)),
        }
    )
    found = run(backend, asks, [0.1], [10_000] * (2 * n), two_domains(n // 2))
    ends = times(found, EventKind.MIGRATE_END)
    first, second = range(n // 2), range(n // 2, n)
    by_hand = [*((w, 2500) for w in first), *((w, 3250) for w in second)]
    by_hand += [*((w, 5500) for w in first), *((w, 6250) for w in second)]
    assert ends == by_hand
    n_bytes = 2 * n // 2 * 10_000
    assert found.summary.node_bytes[0].tolist() == [[n_bytes, n_bytes], [n_bytes, n_bytes]]


def test_an_empty_block_takes_no_time_but_the_cost(backend: str) -> None:
    found = run(backend, on("on_ready", 0, Move(1, 0, HBM, 3 * US)), [9.0], [0])
    assert times(found, EventKind.MIGRATE_START) == [(1, 0)]
    assert times(found, EventKind.MIGRATE_END) == [(1, 3000)]


def test_moves_are_forgotten_between_iterations(backend: str) -> None:
    # By hand: 1 us of a task, 3 us of the barrier, 1 us of the task. Looks are at 2 and 4 us.
    @dataclass(frozen=True, kw_only=True)
    class Timed(Moving):
        timer_period_s = 2e-6

        def on_timer(self, view: HookView, state: Seen) -> tuple[Any, ...]:
            return self.asks("on_timer", view.live.now_ps() // US)

    graph = build_graph([1000.0], block_bytes=np.array([10_000]))
    made = machine(costs=RuntimeCosts(barrier_ps=3 * US))

    def moved_at(look: int) -> Run:
        policy = Timed(asks=on("on_timer", look, Move(1, 0, HBM)))
        return simulate(made, Workload("w", graph, 2), policy, backend=backend)

    assert moved_at(2).summary.migrations == 0
    assert moved_at(2).summary.makespan_ps == 5 * US
    # The look at 4 us finds the second iteration begun: there by 6 us.
    assert moved_at(4).summary.migrations == 1
    assert moved_at(4).summary.makespan_ps == 6 * US


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Move(2, 0, HBM), "Move: worker: found 2, accepted 0 to 1"),
        (Move(1, 1, HBM), "Move: block: found 1, accepted 0 to 0"),
        (Move(1, 0, 2), "Move: node: found 2, accepted 0 to 1"),
    ],
)
def test_what_is_not_there_is_refused(backend: str, decision: Move, text: str) -> None:
    with pytest.raises(PolicyError, match=text):
        run(backend, on("on_ready", 0, decision), [1.0], [10_000])


def test_a_block_that_finds_no_room_is_an_error(backend: str) -> None:
    made = machine(hbm_capacity_bytes=9_999)
    asks = on("on_ready", 0, Move(1, 0, HBM))
    with pytest.raises(PolicyError, match=r"block 0 \(10000 bytes\) does not fit on node 1"):
        run(backend, asks, [1.0], [10_000], made)


def test_room_that_a_block_has_left_is_free(backend: str) -> None:
    # By hand: block 0 is there by 2 us and back by 4; block 1, for which there is no room beside
    # it, is there by 6.
    moves = Move(1, 0, HBM), Move(1, 0, DRAM), Move(1, 1, HBM)
    made = machine(hbm_capacity_bytes=10_000)
    found = run(backend, on("on_ready", 0, *moves), [1.0], [10_000, 10_000], made)
    assert found.summary.makespan_ps == 6 * US
    assert found.summary.node_peak_bytes[HBM] == 10_000


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"replicas": np.array([[HBM]], np.int32)}, "block 0: found one with replicas"),
        ({"follows": np.ones(1, bool)}, "block 0: found one that follows accesses"),
    ],
)
def test_blocks_that_change_by_themselves_are_not_moved(
    backend: str, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(PolicyError, match=text):
        run(backend, on("on_ready", 0, Move(1, 0, HBM)), [1.0], [10_000], None, **options)


def test_who_is_not_asked_afterwards_moves_nothing(backend: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Deaf(Moving):
        on_wake = Policy.on_wake

    graph = build_graph([1000.0], block_bytes=np.array([10_000]))
    policy = Deaf(asks=on("on_ready", 0, Move(1, 0, HBM)))
    with pytest.raises(PolicyError, match="found a Move, accepted none: there is no on_wake"):
        simulate(machine(), Workload("w", graph), policy, backend=backend)


def test_a_move_may_wait_for_a_wake(backend: str) -> None:
    asks = by_call({("on_ready", 0): (Wake(5 * US, 3),), ("on_wake", 3): (Move(1, 0, HBM, 0, 4),)})
    found = run(backend, asks, [9.0], [10_000])
    assert found.state.wakes == [(5 * US, 3, DRAM), (7 * US, 4, HBM)]


def test_a_worker_that_moves_first_leaves_what_it_has_made_ready_to_others(backend: str) -> None:
    # Worker 0 ends task 0 at 1 us, has task 1 in its pool and 2 us to move: another one takes it.
    class Stolen(Moving):
        def plan(self, view: PlanView, state: Seen, graph: TaskGraph) -> Plan:
            steal = AcquireStep("worker", "anywhere", "oldest")
            return Plan(acquire=(AcquireStep("worker", "own", "oldest"), steal), roots="first")

    graph = build_graph([1000.0, 1000.0], successors=adjacency([0], [1], 2), block_bytes=[10_000])
    movers: list[int] = []

    def asks(hook: str, number: int) -> tuple[Any, ...]:
        return (Move(movers[0], 0, HBM, 0, 7),) if (hook, number) == ("on_finish", 0) else ()

    for mover in (0, 1):
        movers[:] = [mover]
        found = simulate(
            machine(), Workload("w", graph), Stolen(asks=asks), backend=backend, events=True
        )
        # The moves take until 3 us, whoever makes them; task 1 ends at 2 us.
        assert [end for _, end in times(found, EventKind.TASK_END)] == [1000, 2000]
        assert [end for _, end in times(found, EventKind.MIGRATE_END)] == [3000]
