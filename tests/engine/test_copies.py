"""Copied data: closed forms, and both engines event for event, also where devices are full."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ModelError, PolicyError
from simsched.machine.model import CoreGroup, Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import (
    AcquireStep,
    HookView,
    Placement,
    Plan,
    PlanView,
    Policy,
    Pool,
    PoolGroup,
    Preempt,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import Accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

MB = 1_000_000
RATE = 10e9  # bytes per second of every path


def device_machine(
    devices: int = 2,
    capacity_bytes: int = 100 * MB,
    latency_ps: int = 5_000_000,
    cores: int = 2,
    dram_bytes_per_s: float = 1e12,
) -> Machine:
    """A host with some cores, and devices with a core each and memory of their own."""
    machine = make_machine(
        domains=1 + devices,
        cores_per_domain=cores,
        core_cap_bytes_per_s=RATE,
        dram_bandwidth_bytes_per_s=dram_bytes_per_s,
        remote_latency_ps=latency_ps,
    )
    nodes = tuple(
        replace(node, kind="GPU", has_driver=True, capacity_bytes=capacity_bytes) if i > 0 else node
        for i, node in enumerate(machine.nodes)
    )
    host = replace(machine.core_groups[0], includes_accesses=True)
    groups = (host, CoreGroup("device", "gpu", 4e9, includes_accesses=True))
    group = (machine.core_domain > 0).astype(np.int32)
    own = np.eye(1 + devices, dtype=bool)
    return replace(machine, nodes=nodes, core_groups=groups, core_group=group, in_place=own)


def program(
    tasks: list[list[tuple[int, int, int]]],
    edges: list[tuple[int, int]] = [],  # noqa: B006 - never changed
    ops: float = 1e6,
    block_bytes: int = 10 * MB,
) -> Workload:
    """Tasks with accesses (block, bytes read, bytes written)."""
    flat = [access for task in tasks for access in task]
    counts = [len(task) for task in tasks]
    pick = [np.array([access[i] for access in flat], np.int64) for i in range(3)]
    owner = np.repeat(np.arange(len(tasks)), counts)
    from simsched.workload.builder import accesses

    n_blocks = 1 + max((access[0] for access in flat), default=0)
    accessed: Accesses = accesses(owner, pick[0], pick[1], pick[2], len(tasks))
    graph = build_graph(
        np.full((2, len(tasks)), ops),
        kinds=("cpu", "gpu"),
        successors=adjacency([e[0] for e in edges], [e[1] for e in edges], len(tasks)),
        accessed=accessed,
        block_bytes=np.full(n_blocks, block_bytes, dtype=np.int64),
    )
    return Workload("program", graph)


class _Assigned(Policy):
    """Every task on a worker that is named before the run."""

    name = "assigned"

    def __init__(self, worker: list[int], *, prefetches: bool = False, home: int = 0) -> None:
        object.__setattr__(self, "worker", np.array(worker, np.int32))
        object.__setattr__(self, "prefetches", prefetches)
        object.__setattr__(self, "home", home)
        object.__setattr__(self, "information", "exact")

    def place(self, view: PlanView, state: Any) -> Placement:
        n = view.workload.graph.n_blocks
        return Placement(np.full(n, self.home, np.int32), view.machine.touch_order)  # type: ignore[attr-defined]

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            pool_groups=(PoolGroup("worker", prefetches=self.prefetches),),  # type: ignore[attr-defined]
            instance_of=self.worker,  # type: ignore[attr-defined]
        )


def both(machine: Machine, workload: Workload, policy: Policy) -> Run:
    """Return the native run after comparing its events with the reference."""
    native = simulate(machine, workload, policy, events=True)
    reference = simulate(machine, workload, policy, backend="simpy", events=True)
    assert native.trace is not None
    assert reference.trace is not None
    for name, column in native.trace.events.items():
        assert np.array_equal(column, reference.trace.events[name]), name
    for name, value in vars(native.summary).items():
        assert np.array_equal(value, getattr(reference.summary, name)), name
    return native


COPY_S = 5e-6 + 10 * MB / RATE
HOST, FIRST, SECOND = 0, 2, 4  # workers of host, first and second device


def test_a_task_waits_for_the_copy_of_what_it_reads() -> None:
    run = both(device_machine(), program([[(0, MB, 0)]]), _Assigned([FIRST]))
    assert run.makespan_s == pytest.approx(COPY_S + 1e6 / 4e9, rel=1e-9)
    assert run.summary.worker_migrate_ps[FIRST] == pytest.approx(COPY_S * 1e12, rel=1e-9)
    assert run.summary.migrated_bytes == 10 * MB


def test_what_is_only_written_is_not_copied() -> None:
    run = both(device_machine(), program([[(0, 0, MB)]]), _Assigned([FIRST]))
    assert run.makespan_s == pytest.approx(1e6 / 4e9, rel=1e-9)
    assert run.summary.migrations == 0


def test_a_copy_serves_later_tasks_until_another_node_writes() -> None:
    tasks = [[(0, MB, 0)], [(0, MB, 0)], [(0, MB, MB)], [(0, MB, 0)]]
    chain = [(0, 1), (1, 2), (2, 3)]
    run = both(device_machine(), program(tasks, chain), _Assigned([FIRST, FIRST, HOST, FIRST]))
    assert run.summary.migrations == 2  # before task 0, and again before task 3
    assert run.makespan_s == pytest.approx(2 * COPY_S + 3 * 1e6 / 4e9 + 1e6 / 1e9, rel=1e-9)


def test_between_two_nodes_one_copy_at_a_time_moves_in_each_direction() -> None:
    inward = both(device_machine(), program([[(0, MB, 0), (1, MB, 0)]]), _Assigned([FIRST]))
    assert inward.makespan_s == pytest.approx(2 * COPY_S + 1e6 / 4e9, rel=1e-9)
    # To two devices copies go side by side; the host's memory serves both at full speed.
    apart = both(
        device_machine(), program([[(0, MB, 0)], [(1, MB, 0)]]), _Assigned([FIRST, SECOND])
    )
    assert apart.makespan_s == pytest.approx(COPY_S + 1e6 / 4e9, rel=1e-9)


WRITE_S = 0.5e6 / 4e9
THIRD = 6


@pytest.mark.parametrize(
    ("reads", "together"),
    [
        # (worker, block): block 1 has been written on the first device, others are on the host.
        ([(HOST, 1), (FIRST, 0)], True),  # back and forth between two nodes
        ([(HOST, 1), (SECOND, 1)], True),  # from one device to the host and to another device
        ([(SECOND, 1), (THIRD, 1)], True),  # from one device to two others
        ([(SECOND, 1), (FIRST, 0)], False),  # a copy between devices, and one into its source
        ([(SECOND, 1), (SECOND + 1, 0)], False),  # ... and into its target
        ([(SECOND, 1), (THIRD, 0)], True),  # ... and into a third one
    ],
)
def test_copies_between_devices_exclude_those_into_either(
    reads: list[tuple[int, int]], together: bool
) -> None:
    tasks = [[(1, 0, MB)], *[[(block, MB, 0)] for _, block in reads]]
    workload = program(tasks, [(0, i + 1) for i in range(len(reads))], ops=0.5e6)
    run = both(device_machine(devices=3), workload, _Assigned([FIRST, *[w for w, _ in reads]]))
    assert run.trace is not None
    kind, time = run.trace.events["kind"], run.trace.events["time_ps"]
    starts, ends = (
        time[kind == k].tolist() for k in (EventKind.MIGRATE_START, EventKind.MIGRATE_END)
    )
    begin = round(WRITE_S * 1e12)
    expected = [begin + i * round(COPY_S * 1e12) * (not together) for i in range(len(starts))]
    assert starts == expected
    assert ends == [start + round(COPY_S * 1e12) for start in expected]


class _Queueing(_Assigned):
    """Prefetches the data of all tasks but one, which the device gets at once."""

    by_priority = True

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "oldest"),
                AcquireStep("queued", "own", "oldest"),
            ),
            pool_groups=(
                PoolGroup("worker", prefetches=True),
                PoolGroup("queued", prefetches=True, prefetches_by_priority=self.by_priority),
            ),
        )

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool:
        return Pool(int(task not in self.worker), FIRST)  # type: ignore[attr-defined]


class _QueueingInOrder(_Queueing):
    """The same, whatever the program says about priorities."""

    by_priority = False


# The first two are handed over before anything else is wanted; then the task that its worker takes.
@pytest.mark.parametrize(
    ("policy", "copied"),
    [(_Queueing, [0, 1, 3, 4, 5, 2]), (_QueueingInOrder, [0, 1, 3, 2, 4, 5])],
)
def test_what_is_urgent_comes_before_prefetches_and_these_by_priority_or_in_order(
    policy: type[_Queueing], copied: list[int]
) -> None:
    workload = program([[(block, MB, 0)] for block in range(6)])
    graph = replace(workload.graph, priority=np.array([0, 5, 1, 5, 7, 2], np.int32))
    run = both(device_machine(), replace(workload, graph=graph), policy([3]))
    assert run.trace is not None
    begun = run.trace.events["kind"] == EventKind.MIGRATE_START
    assert run.trace.events["arg0"][begun].tolist() == copied


def test_data_come_from_the_node_that_would_be_fastest() -> None:
    machine = device_machine()
    far = [list(row) for row in machine.paths]
    far[2][0] = replace(far[2][0], latency_ps=10**9)  # the host is far from the second device
    machine = replace(machine, paths=tuple(tuple(row) for row in far))
    tasks, chain = [[(0, MB, 0)], [(0, MB, 0)]], [(0, 1)]
    run = both(machine, program(tasks, chain), _Assigned([FIRST, SECOND]))
    assert run.makespan_s == pytest.approx(2 * COPY_S + 2 * 1e6 / 4e9, rel=1e-9)


@pytest.mark.parametrize(("by_latency", "first_s"), [(False, 2e-3), (True, 1.5e-3)])
def test_copies_share_equally_or_in_inverse_proportion_to_their_latency(
    by_latency: bool, first_s: float
) -> None:
    # Two copies of 10 MB at 10 GB/s each together draw 10 GB/s from the host; the latency of the
    # second one is twice that of the first. Either each gets half and both take 2 ms, or the first
    # gets two thirds, takes 1.5 ms, and the second one the whole rest of the time. It begins 10 us
    # later, in which the first one has moved 0.1 MB alone.
    machine = device_machine(dram_bytes_per_s=RATE, latency_ps=10_000_000)
    far = [list(row) for row in machine.paths]
    far[2][0] = replace(far[2][0], latency_ps=20_000_000)
    machine = replace(machine, paths=tuple(tuple(row) for row in far), shares_by_latency=by_latency)
    run = both(machine, program([[(0, MB, 0)], [(1, MB, 0)]]), _Assigned([FIRST, SECOND]))
    assert run.trace is not None
    events = run.trace.events
    ends = events["time_ps"][events["kind"] == EventKind.MIGRATE_END] * 1e-12
    early_s = 10e-6  # that the first one is alone
    assert ends[0] == pytest.approx(20e-6 + (first_s - early_s * first_s / 1e-3), rel=1e-9)
    assert ends[1] == pytest.approx(10e-6 + 2e-3, rel=1e-9)


class _Behind(_QueueingInOrder):
    """Every task on its worker, the last one behind the others."""

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool:
        is_last = task == view.workload.graph.n_tasks - 1
        return Pool(int(is_last), int(self.worker[task]))  # type: ignore[attr-defined]


def test_copies_from_another_node_do_not_wait_for_those_of_a_full_lane() -> None:
    # Blocks 0 to 2 are on the host, block 3 has been written on the first device. While the second
    # one computes for 250 us and more they are prefetched in this order: two of them are handed
    # over from the host, then block 3, then block 2 when block 0 has come; it waits for block 3.
    tasks: list[list[tuple[int, int, int]]] = [
        [(3, 0, MB)],
        [],
        [(0, MB, 0), (1, MB, 0), (2, MB, 0), (3, MB, 0)],
    ]
    workload = program(tasks, [(0, 2)], ops=1e6)
    ops = workload.graph.ops * np.array([1.0, 40.0, 1.0])
    workload = replace(workload, graph=replace(workload.graph, ops=ops))
    run = both(device_machine(), workload, _Behind([FIRST, SECOND, SECOND]))
    assert run.trace is not None
    begun = run.trace.events["kind"] == EventKind.MIGRATE_START
    assert run.trace.events["arg0"][begun].tolist() == [0, 1, 3, 2]


def test_prefetching_overlaps_copies_with_computation() -> None:
    tasks = [[(0, MB, 0)], [(1, MB, 0)]]
    late = both(device_machine(), program(tasks, ops=8e6), _Assigned([FIRST, FIRST]))
    early = both(
        device_machine(), program(tasks, ops=8e6), _Assigned([FIRST, FIRST], prefetches=True)
    )
    assert late.makespan_s == pytest.approx(2 * COPY_S + 2 * 2e-3, rel=1e-9)
    assert early.makespan_s == pytest.approx(COPY_S + 2 * 2e-3, rel=1e-9)


def test_the_least_recently_used_copy_makes_room() -> None:
    machine = device_machine(capacity_bytes=20 * MB)
    tasks = [[(b, MB, 0)] for b in (0, 1, 0, 2, 0, 1)]
    chain = [(i, i + 1) for i in range(5)]
    run = both(machine, program(tasks, chain), _Assigned([FIRST] * 6))
    # Block 2 displaces block 1, which has to come again; block 0 stays.
    assert run.summary.migrations == 4


def test_prefetches_wait_behind_one_that_lacks_room() -> None:
    # Block 1 does not fit beside block 0 until task 0 has ended. Block 2 would, but comes later.
    workload = program([[(block, MB, 0)] for block in range(3)])
    sizes = np.array([10, 30, 10]) * MB
    workload = replace(workload, graph=replace(workload.graph, block_bytes=sizes))
    run = both(device_machine(capacity_bytes=30 * MB), workload, _QueueingInOrder([0]))
    assert run.trace is not None
    begun = run.trace.events["kind"] == EventKind.MIGRATE_START
    assert run.trace.events["arg0"][begun].tolist() == [0, 1, 2]


def test_the_only_copy_is_saved_before_it_makes_room() -> None:
    machine = device_machine(capacity_bytes=10 * MB)
    tasks, chain = [[(0, MB, MB)], [(1, MB, 0)], [(0, MB, 0)]], [(0, 1), (1, 2)]
    run = both(machine, program(tasks, chain), _Assigned([FIRST, FIRST, HOST]))
    assert run.trace is not None
    ends = run.trace.events["kind"] == EventKind.MIGRATE_END
    moved = list(zip(run.trace.events["arg0"][ends], run.trace.events["arg1"][ends], strict=True))
    assert moved == [(0, 1), (0, 0), (1, 1)]


def final(workload: Workload, *last: int) -> Workload:
    """Return the program that says of some accesses, by number, that they are the last writes."""
    is_final = np.isin(np.arange(workload.graph.n_accesses), last)
    return replace(workload, graph=replace(workload.graph, access_final=is_final))


def test_what_nobody_writes_any_more_is_brought_back() -> None:
    # Task 0 writes block 0 on the first device, then task 1 computes there for 250 us. The copy to
    # the host begins when 0 has ended and takes longer. Task 2 reads the block on the host.
    tasks = [[(0, 0, MB)], [(1, 0, MB)], [(0, MB, 0)]]
    workload = program(tasks, [(0, 1), (1, 2)])
    assigned = _Assigned([FIRST, FIRST, HOST])
    silent, told = (both(device_machine(), w, assigned) for w in (workload, final(workload, 0)))
    step = 1e6 / 4e9
    assert silent.makespan_s == pytest.approx(2 * step + COPY_S + 1e-3, rel=1e-9)
    assert told.makespan_s == pytest.approx(step + COPY_S + 1e-3, rel=1e-9)
    assert told.summary.migrations == 1
    # What has been written on the host is there.
    at_home = both(device_machine(), final(program([[(0, 0, MB)]]), 0), _Assigned([HOST]))
    assert at_home.summary.migrations == 0


def test_what_is_brought_back_is_in_nobodys_way() -> None:
    # Blocks 0 and 1 are to be brought back from the first device when 1 has ended; the host then
    # wants block 2 from there. Block 0, whose task has ended first, is on its way by then; block 1
    # comes after block 2.
    tasks = [[(0, 0, MB), (2, 0, MB)], [(1, 0, MB)], [(2, MB, 0)], [(1, MB, 0)]]
    workload = final(program(tasks, [(0, 1), (1, 2), (1, 3)]), 0, 2)
    run = both(device_machine(), workload, _Assigned([FIRST, FIRST, HOST, HOST + 1]))
    assert run.trace is not None
    events = run.trace.events
    blocks = events["arg0"][events["kind"] == EventKind.MIGRATE_END].tolist()
    assert blocks == [0, 2, 1]


def test_what_cannot_work_is_said() -> None:
    small = device_machine(capacity_bytes=15 * MB)
    for backend in ("native", "simpy"):
        with pytest.raises(ModelError, match="blocks of one task have 20000000 bytes"):
            simulate(
                small,
                program([[(0, MB, 0), (1, MB, 0)]]),
                _Assigned([FIRST]),
                backend=backend,
            )
        with pytest.raises(PolicyError, match="cannot be moved"):
            simulate(device_machine(), program([[(0, MB, 0)], []]), _Snatching(), backend=backend)


class _Snatching(_Assigned):
    """Takes the running task off its worker."""

    def __init__(self) -> None:
        super().__init__([HOST, FIRST])

    def on_idle(self, view: HookView, state: Any, worker: int) -> Preempt | None:
        assert view.live is not None
        return Preempt(HOST, worker) if view.live.running_task(HOST) >= 0 else None


class _Scattering(_Assigned):
    """Sends every ready task to a random worker."""

    def __init__(self, *, prefetches: bool, by_priority: bool) -> None:
        super().__init__([], prefetches=prefetches)
        object.__setattr__(self, "by_priority", by_priority)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "oldest"),
                AcquireStep("queued", "own", "oldest"),
            ),
            pool_groups=(
                PoolGroup("worker", prefetches=self.prefetches),  # type: ignore[attr-defined]
                PoolGroup("queued", prefetches=True, prefetches_by_priority=self.by_priority),  # type: ignore[attr-defined]
            ),
        )

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool | None:
        assert view.live is not None
        view.live.holds(0, 0)
        return Pool(int(view.rng.integers(2)), int(view.rng.integers(view.n_workers)))


@pytest.mark.parametrize("seed", range(40))
def test_engines_agree_on_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, blocks = int(rng.integers(1, 40)), int(rng.integers(1, 12))
    tasks = [
        [
            (int(rng.integers(blocks)), int(rng.integers(0, 3)) * MB, int(rng.integers(0, 2)) * MB)
            for _ in range(int(rng.integers(0, 4)))
        ]
        for _ in range(n)
    ]
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 2 / n]
    size = int(rng.integers(0, 3)) * 5 * MB
    machine = device_machine(
        devices=int(rng.integers(1, 4)),
        capacity_bytes=int(rng.integers(3, 12)) * max(size, MB),
        latency_ps=int(rng.integers(0, 3)) * 1_000_000,
        cores=int(rng.integers(1, 3)),
        dram_bytes_per_s=float(rng.choice([1e12, 1.5 * RATE])),
    )
    slow = [list(row) for row in machine.paths]
    slow[-1][0] = replace(slow[-1][0], latency_ps=int(rng.integers(0, 3)) * 1_500_000)
    machine = replace(
        machine,
        paths=tuple(tuple(row) for row in slow),
        shares_by_latency=bool(rng.integers(2)),
        costs=replace(
            machine.costs,
            driver_look_ps=int(rng.integers(0, 2)) * 2_000_000,
            copy_hand_over_ps=int(rng.integers(0, 3)) * 5_000_000,
            device_allocation_ps=int(rng.integers(0, 2)) * 175_000_000,
            device_chunk_bytes=int(rng.choice([0, 16 * MB, 64 * MB])),
        ),
    )
    workload = program(tasks, edges, ops=float(rng.integers(0, 5)) * 1e6, block_bytes=size)
    priority = rng.integers(-2, 3, n).astype(np.int32)
    workload = replace(workload, graph=replace(workload.graph, priority=priority))
    policy = _Scattering(prefetches=bool(rng.integers(2)), by_priority=bool(rng.integers(2)))
    failures = [_failure(machine, workload, policy, name) for name in ("native", "simpy")]
    assert failures[0] == failures[1]
    if not failures[0]:
        both(machine, workload, policy)


def _failure(machine: Machine, workload: Workload, policy: Policy, backend: str) -> str:
    """Return why a run is impossible, nothing when it is possible."""
    try:
        simulate(machine, workload, policy, backend=backend)
    except ModelError as error:
        return str(error)
    return ""


def test_machines_without_copies_are_not_concerned() -> None:
    machine = replace(device_machine(), in_place=None)
    run = both(machine, program([[(0, MB, 0)]]), make_policy("work_sharing"))
    assert run.summary.migrations == 0


def test_saving_that_has_become_needless_does_not_keep_others_waiting() -> None:
    # The block that was to be saved got to the host otherwise; room was waited for ever after.
    tasks = [
        [(4, 0, 1000), (1, 10 * MB, 0)],
        [(3, 0, 0), (5, 10 * MB, 0), (1, 1000, 10 * MB)],
        [(2, 0, 0), (4, 0, 0)],
        [],
        [(5, 0, 10 * MB), (4, 1000, 0), (0, 0, 0)],
    ]
    workload = replace(program(tasks, [(1, 3), (1, 4)]), iterations=3)
    machine = device_machine(devices=3, capacity_bytes=35 * MB, cores=1)
    assert both(machine, workload, make_policy("laws")).summary.n_tasks == 15
