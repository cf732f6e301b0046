"""A host of several memory nodes beside devices: closed forms, and both engines event for event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine.load import load_machine
from simsched.machine.model import CoreGroup, Machine
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Placement, Plan, PlanView, Policy
from simsched.trace.schema import EventKind
from simsched.workload.graph import TaskGraph
from simsched.workload.presets import make_workload
from tests.engine.test_copies import MB, _Assigned, _Scattering, both, program

RATE = 10e9  # bytes per second that a core draws, and a copy
NODE_RATE = 15e9  # of every memory controller
OPS_PER_S, DEVICE_OPS_PER_S = 1e9, 4e9
LATENCY_PS = 2_000_000
SIZE = 10 * MB


def mixed_machine(
    hosts: int = 2,
    devices: int = 1,
    capacity_bytes: int = 100 * MB,
    *,
    coherent: bool = False,
    **more: Any,
) -> Machine:
    """Host domains with a node each that all of them use, and devices with memory of their own.

    Devices have `capacity_bytes`; they use the host's memory in place, too, if it is `coherent`.
    """
    machine = make_machine(
        domains=hosts + devices,
        cores_per_domain=2,
        core_cap_bytes_per_s=RATE,
        dram_bandwidth_bytes_per_s=NODE_RATE,
        remote_latency_ps=LATENCY_PS,
        ops_per_s=OPS_PER_S,
        **more,
    )
    nodes = tuple(
        replace(node, capacity_bytes=capacity_bytes, has_driver=True) if i >= hosts else node
        for i, node in enumerate(machine.nodes)
    )
    users = np.eye(hosts + devices, dtype=bool)
    users[:hosts, :hosts] = True
    if coherent:
        users[:, :hosts] = True
    return replace(
        machine,
        nodes=nodes,
        core_groups=(machine.core_groups[0], CoreGroup("device", "gpu", DEVICE_OPS_PER_S)),
        core_group=(machine.core_domain >= hosts).astype(np.int32),
        in_place=users,
    )


NEAR, FAR, DEVICE = 0, 2, 4  # a worker of each host domain, and of the device


class _Touched(_Assigned):
    """No block has a home at the start."""

    def place(self, view: PlanView, state: Any) -> Placement:
        placed = super().place(view, state)
        return replace(placed, home=np.full_like(placed.home, -1))


def test_a_host_uses_what_is_on_another_of_its_nodes_in_place() -> None:
    run = both(mixed_machine(), program([[(0, SIZE, 0)]], ops=0.0), _Assigned([NEAR], home=1))
    assert run.summary.migrations == 0
    assert run.makespan_s == pytest.approx(SIZE / RATE + LATENCY_PS * 1e-12, rel=1e-9)
    assert run.summary.node_bytes[0, 0, 1] == SIZE


def test_a_device_computes_on_a_copy_from_the_node_that_has_the_block() -> None:
    run = both(mixed_machine(), program([[(0, SIZE, 0)]], ops=0.0), _Assigned([DEVICE], home=1))
    assert run.summary.migrated_bytes == SIZE
    copied_s, used_s = SIZE / RATE + LATENCY_PS * 1e-12, SIZE / RATE
    assert run.makespan_s == pytest.approx(copied_s + used_s, rel=1e-9)
    bytes_by_node = run.summary.node_bytes[0]
    assert bytes_by_node[2, 1] == SIZE  # copied from node 1 to the device's domain
    assert bytes_by_node[2, 2] == SIZE  # and used there


def test_copies_and_accesses_share_the_controller_of_the_node() -> None:
    tasks = [[(0, 3 * SIZE, 0)], [(1, SIZE, 0)]]
    machine = mixed_machine()
    run = both(
        replace(
            machine,
            paths=tuple(tuple(replace(p, latency_ps=0) for p in row) for row in machine.paths),
        ),
        program(tasks, ops=0.0, block_bytes=3 * SIZE),
        _Assigned([NEAR, DEVICE]),
    )
    # Both move 3 * SIZE at half of the controller's rate, then the device uses SIZE of its copy.
    assert run.makespan_s == pytest.approx(3 * SIZE / (NODE_RATE / 2) + SIZE / RATE, rel=1e-9)


def test_a_block_returns_to_the_node_where_it_has_been() -> None:
    tasks = [[(0, 0, SIZE)], [(0, SIZE, SIZE)], [(0, SIZE, 0)]]
    run = both(
        mixed_machine(), program(tasks, [(0, 1), (1, 2)], ops=0.0), _Touched([FAR, DEVICE, NEAR])
    )
    assert run.trace is not None
    kinds = run.trace.events["kind"]
    first = run.trace.events["arg1"][kinds == EventKind.FIRST_TOUCH].tolist()
    targets = run.trace.events["arg1"][kinds == EventKind.MIGRATE_END].tolist()
    assert (first, targets) == ([1], [2, 1])


def test_a_device_that_writes_takes_the_block_out_of_the_caches_of_the_host() -> None:
    cache = ("L2", 4 * SIZE, 1e12, 0, 2)
    tasks = [[(0, SIZE, 0)], [(0, SIZE, 0)], [(0, 0, SIZE)], [(0, SIZE, 0)]]
    chain = [(0, 1), (1, 2), (2, 3)]
    workers = [NEAR, NEAR, DEVICE, NEAR]
    for includes in (False, True):  # whether the device's costs include what accesses take
        machine = mixed_machine(caches=[cache])
        group = replace(machine.core_groups[1], includes_accesses=includes)
        machine = replace(machine, core_groups=(machine.core_groups[0], group))
        run = both(machine, program(tasks, chain, ops=0.0), _Assigned(workers))
        # Of the host's three readings the second one hits, the third one misses.
        assert run.summary.node_bytes[0, 0, 0] == 2 * SIZE


def test_a_coherent_device_uses_the_memory_of_the_host_in_place() -> None:
    tasks = [[(0, SIZE, 0)], [(1, 0, SIZE)], [(1, SIZE, 0)]]
    run = both(
        mixed_machine(coherent=True),
        program(tasks, [(0, 1), (1, 2)], ops=0.0),
        _Touched([DEVICE, DEVICE, NEAR]),
    )
    # Block 0 has no home; its reader, the device, is the first to touch it. Block 1 is copied to
    # the host, which does not use the device's memory in place.
    assert run.summary.migrated_bytes == SIZE
    homed = both(mixed_machine(coherent=True), program(tasks[:1], ops=0.0), _Assigned([DEVICE]))
    assert homed.summary.migrations == 0
    assert homed.makespan_s == pytest.approx(SIZE / RATE + LATENCY_PS * 1e-12, rel=1e-9)


def test_what_fits_into_no_space_is_refused_alike() -> None:
    machine, workload = mixed_machine(capacity_bytes=SIZE), program([[(0, 1, 0), (1, 1, 0)]])
    errors = [_failure(machine, workload, _Assigned([DEVICE]), b) for b in ("native", "simpy")]
    assert errors[0] == errors[1]
    assert "the blocks of one task have 20000000 bytes, accepted at most 10000000" in errors[0]


@pytest.mark.parametrize("seed", range(60))
def test_engines_agree_on_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, blocks = int(rng.integers(1, 40)), int(rng.integers(1, 12))
    size = int(rng.integers(0, 3)) * 5 * MB
    most = max(1, size // MB)
    tasks = [
        [
            (
                int(rng.integers(blocks)),
                int(rng.integers(0, most + 1)) * MB,
                int(rng.integers(0, 2)) * MB,
            )
            for _ in range(int(rng.integers(0, 4)))
        ]
        for _ in range(n)
    ]
    edges = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 2 / n]
    caches = [("L2", int(rng.integers(1, 4)) * 5 * MB, 1e11, 1000, 2)] if rng.integers(2) else []
    machine = mixed_machine(
        hosts=int(rng.integers(1, 4)),
        devices=int(rng.integers(1, 3)),
        capacity_bytes=int(rng.integers(3, 12)) * max(size, MB),
        coherent=bool(rng.integers(2)),
        caches=caches,
        smt_throughput=(1.0, 1.3)[: int(rng.integers(1, 3))],
    )
    groups = [
        replace(group, includes_accesses=bool(rng.integers(3) == 0))
        for group in machine.core_groups
    ]
    machine = replace(
        machine,
        core_groups=tuple(groups),
        costs=replace(
            machine.costs,
            driver_look_ps=int(rng.integers(0, 2)) * 2_000_000,
            copy_hand_over_ps=int(rng.integers(0, 3)) * 5_000_000,
        ),
    )
    workload = program(tasks, edges, ops=float(rng.integers(0, 5)) * 1e6, block_bytes=size)
    policy = _Spread(prefetches=bool(rng.integers(2)), by_priority=bool(rng.integers(2)))
    failures = [_failure(machine, workload, policy, name) for name in ("native", "simpy")]
    assert failures[0] == failures[1]
    if not failures[0]:
        run = both(machine, workload, policy)
        if machine.n_spaces == 1:
            assert run.summary.migrations == 0


class _PanelsOnHost(Policy):
    """Panels on the first core of the host, updates on the device, the initialisation in turn."""

    name = "panels_on_host"
    chooses_processors = True

    def __post_init__(self) -> None:
        pass

    def place(self, view: PlanView, state: Any) -> Placement:
        hosts = np.array(list(range(8)) * 9, np.int32).reshape(9, 8)
        hosts[:8] = view.machine.touch_order[:8, :8]
        return Placement(np.full(view.workload.graph.n_blocks, -1, np.int32), hosts)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        if graph is view.workload.init:
            first = [int(np.argmax(view.worker_domain == domain)) for domain in range(8)]
            worker = np.array(first, np.int32)[np.arange(graph.n_tasks) % 8]
        else:
            device = int(np.argmax(view.worker_domain == 8))
            is_panel = np.isin(np.array(graph.class_names)[graph.task_class], ["geqrt", "tsqrt"])
            worker = np.where(is_panel, 0, device).astype(np.int32)
        return Plan(acquire=(AcquireStep("worker", "own", "oldest"),), instance_of=worker)


def test_bytes_over_the_link_of_a_device_are_those_counted_by_hand() -> None:
    machine = load_machine("epyc_7543_a100")
    workload = make_workload("qr[tiles=3, tile_size=960, inner_block=32]")
    run = both(machine, workload, _PanelsOnHost())
    tile, factor, below = 960 * 960 * 8, 960 * 32 * 8, 960 * 959 // 2 * 8
    # To the device go, in step 0, the reflectors of tile (0, 0) and their factor, tiles (0, 1) and
    # (0, 2); tiles (1, 0) and (2, 0) with theirs, and what they are applied to: tiles (1, 1),
    # (1, 2), (2, 1) and (2, 2). In step 1 the reflectors of tile (1, 1) with their factor, and tile
    # (2, 1) with its factor, once more. Back come what the host factorises next: tiles (1, 1),
    # (2, 1) and (2, 2).
    there, back = 9 * tile + 2 * below + 5 * factor, 3 * tile
    moved = run.summary.node_bytes.sum(axis=0)
    assert moved[8, :8].sum() == there
    assert moved[:8, 8].sum() == back
    assert run.summary.migrated_bytes == there + back
    # Block b of the matrix is on node b % 8, where it has been initialised; factors are where they
    # are written, on node 0. Tiles come back to where they have been. Blocks 0, 4 and 8 are upper
    # triangles, 9, 10 and 11 what is below.
    above = tile - below
    expected = np.zeros(8, np.int64)
    for block, size in [(1, tile), (2, tile), (3, tile), (5, tile), (6, tile), (7, 2 * tile)]:
        expected[block] += size
    for block, size in [(4, above), (8, above), (9, below), (10, 2 * below), (11, below)]:
        expected[block % 8] += size
    expected[0] += 5 * factor
    assert moved[8, :8].tolist() == expected.tolist()
    # All of it crosses the slot in quadrant 1, that of other nodes the fabric or the other socket.
    names = [link.name for link in machine.links]
    crossed = dict.fromkeys(names, 0)
    for node, n_bytes in enumerate(expected.tolist()):
        for link in machine.paths[8][node].links:
            crossed[names[link]] += n_bytes
    assert crossed["pcie1>8"] == there
    assert crossed["fabric0>1"] == expected[0]
    assert sum(crossed[f"xgmi{i}>{i - 4}"] for i in range(4, 8)) == expected[4:].sum()


class _Spread(_Scattering):
    """Some blocks on nodes of the host, others without a home."""

    def place(self, view: PlanView, state: Any) -> Placement:
        n = view.workload.graph.n_blocks
        hosts = [i for i, node in enumerate(view.machine.nodes) if not node.has_driver]
        home = (np.arange(n) % (len(hosts) + 1) - 1).astype(np.int32)
        order = view.machine.touch_order
        if n % 2:  # leaves nodes out, those of devices among them
            order = np.tile(np.array(hosts[::-1], np.int32), (len(order), 1))
        return Placement(home, order)


def _failure(machine: Machine, workload: Any, policy: Policy, backend: str) -> str:
    """Return why a run is impossible, nothing when it is possible."""
    try:
        simulate(machine, workload, policy, backend=backend)
    except ModelError as error:
        return str(error)
    return ""
