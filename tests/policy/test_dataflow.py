"""The NUMA dataflow run-time: Algorithm 1, queues, allocation, legal combinations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.dataflow.dataflow import DEQUE, Dataflow
from simsched.policy.contract.base import HookView, Pool
from simsched.policy.parts.dataflow_buffers import block_pools, find_buffers, largest_input
from simsched.policy.parts.dataflow_pushing import Pushing, os_distances, write_read_ratio
from simsched.policy.parts.dataflow_stealing import far_weights, near_ranks
from simsched.trace.schema import EventKind
from simsched.workload import generate_workload
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.variants import variant

KIB = 1024
BIG = 128 * KIB


def gather(sizes_in: list[int], sizes_out: list[int]) -> TaskGraph:
    """Return task 0 with a producer for each input and a consumer for each output.

    Blocks: inputs, then outputs.
    """
    n_in, n_out = len(sizes_in), len(sizes_out)
    n = 1 + n_in + n_out
    producers, consumers = np.arange(1, 1 + n_in), np.arange(1 + n_in, n)
    blocks = np.arange(n_in + n_out)
    sizes = np.array([*sizes_in, *sizes_out])
    source = np.concatenate([producers, np.zeros(n_out, int)])
    target = np.concatenate([np.zeros(n_in, int), consumers])
    nothing = np.zeros_like(sizes)
    return build_graph(
        np.ones(n),
        successors=adjacency(source, target, n),
        accessed=accesses(
            np.concatenate([target, source]),
            np.concatenate([blocks, blocks]),
            np.concatenate([sizes, nothing]),
            np.concatenate([nothing, sizes]),
            n,
        ),
        block_bytes=sizes,
    )


def view_of(machine: Machine, graph: TaskGraph, homes: list[int]) -> HookView:
    """Return what a policy sees when the blocks have these homes."""
    thread = machine.place_workers()
    return HookView(
        machine=machine,
        workload=Workload("w", graph),
        worker_thread=thread,
        worker_domain=machine.core_domain[machine.thread_core[thread]],
        rng=np.random.default_rng(1),
        live=SimpleNamespace(block_home=lambda block: homes[block]),  # type: ignore[arg-type]
    )


def chosen_nodes(
    kind: str,
    sizes_in: list[int],
    homes_in: list[int],
    sizes_out: list[int] = (),  # type: ignore[assignment]
    homes_out: list[int] = (),  # type: ignore[assignment]
    *,
    worker: int = 0,
    machine: str = "opteron64",
    **options: Any,
) -> Counter[int]:
    """Return how often each node gets the task in 300 activations by a worker."""
    graph = gather(list(sizes_in), list(sizes_out))
    view = view_of(load_machine(machine), graph, [*homes_in, *homes_out])
    given: dict[str, Any] = {
        "input_weight": 1.0,
        "output_weight": 1.75,
        "threshold_bytes": 64 * KIB,
        **options,
    }
    pushing = Pushing(view, graph, find_buffers(graph), kind=kind, **given)
    found: Counter[int] = Counter()
    for _ in range(300):
        target = pushing.target(view, 0, worker)
        found[-1 if target is None else int(view.worker_domain[target])] += 1
    return found


def test_distances_are_those_of_the_operating_system() -> None:
    opteron = os_distances(load_machine("opteron64"))
    assert opteron[0].tolist() == [10, 16, 16, 22, 16, 22, 16, 22]
    assert opteron[3].tolist() == [22, 16, 16, 10, 22, 16, 22, 16]
    sgi = os_distances(load_machine("sgi_uv2000_192"))
    assert sgi[0, [0, 1, 2, 10]].tolist() == [10, 50, 65, 79]
    assert os_distances(make_machine(domains=2)).tolist() == [[10, 20], [20, 10]]


def test_weights_default_to_the_ratio_of_writes_to_reads() -> None:
    assert write_read_ratio(load_machine("opteron64")) == pytest.approx(1.75, abs=0.005)
    assert write_read_ratio(load_machine("sgi_uv2000_192")) == pytest.approx(1.40, abs=0.005)
    assert write_read_ratio(make_machine()) == 1.0


def test_a_task_goes_to_the_node_of_its_only_input() -> None:
    assert chosen_nodes("input_only", [BIG], [5]) == {5: 300}
    assert chosen_nodes("input_only", [BIG], [0]) == {-1: 300}


def test_every_worker_of_the_node_is_drawn() -> None:
    graph = gather([BIG], [])
    view = view_of(load_machine("opteron64"), graph, [5])
    options = {"input_weight": 1.0, "output_weight": 1.0, "threshold_bytes": 0}
    pushing = Pushing(view, graph, find_buffers(graph), kind="input_only", **options)  # type: ignore[arg-type]
    found = {pushing.target(view, 0, 0) for _ in range(300)}
    assert found == set(range(40, 48))


def test_small_tasks_are_kept() -> None:
    assert chosen_nodes("input_only", [64 * KIB - 1], [5]) == {-1: 300}
    assert chosen_nodes("input_only", [64 * KIB], [5]) == {5: 300}


def test_the_threshold_counts_buffers_whose_node_is_not_known() -> None:
    """An input without a node adds to s_tot only."""
    assert chosen_nodes("input_only", [20 * KIB, 44 * KIB], [5, -1]) == {5: 300}
    assert chosen_nodes("input_only", [BIG], [-1]) == {-1: 300}


def test_cost_weighs_bytes_with_distances() -> None:
    """Data on nodes 1 and 2 in equal parts: nodes 0 and 3 are one hop from both (32), but 1 and 2
    have one part locally and the other two hops away (10 + 22): all four cost the same."""
    assert chosen_nodes("input_only", [BIG, BIG], [1, 2], worker=63)[-1] == 0
    found = chosen_nodes("input_only", [BIG, BIG], [1, 2], worker=63)
    assert set(found) == {0, 1, 2, 3}
    assert min(found.values()) > 40
    assert chosen_nodes("input_only", [BIG, BIG], [1, 2], worker=0) == {-1: 300}
    assert chosen_nodes("input_only", [BIG, BIG + 64], [1, 2], worker=0) == {2: 300}


def test_the_heuristics_differ_in_what_they_look_at() -> None:
    data = ([BIG], [1], [BIG], [2])
    assert chosen_nodes("input_only", *data, worker=63) == {1: 300}
    assert chosen_nodes("output_only", *data, worker=63) == {2: 300}
    assert chosen_nodes("weighted", *data, worker=63) == {2: 300}
    assert chosen_nodes("weighted", *data, worker=63, output_weight=0.5) == {1: 300}
    assert chosen_nodes("weighted", [BIG], [1], [BIG // 2], [2], worker=63) == {1: 300}


def test_outputs_alone_are_not_enough_for_input_only() -> None:
    assert chosen_nodes("input_only", [], [], [BIG], [3]) == {-1: 300}
    assert chosen_nodes("output_only", [], [], [BIG], [3]) == {3: 300}


def test_the_original_takes_the_largest_input_and_no_threshold() -> None:
    assert chosen_nodes("original", [20_000, 30_000], [1, 2]) == {2: 300}
    assert chosen_nodes("original", [20_000, 30_000], [1, -1]) == {-1: 300}
    assert chosen_nodes("original", [20_000], [0]) == {-1: 300}


def test_buffers_are_what_one_writes_and_another_one_reads() -> None:
    workload = generate_workload("jacobi", {"size_x": 64, "block_x": 16, "sweeps": 2})
    buffers = find_buffers(workload.graph)
    assert buffers.is_buffer.sum() == workload.graph.n_edges
    assert not buffers.is_buffer[:32].any()  # the global matrix: read first, written last
    for workload in (generate_workload("jacobi", {"version": "shared"}), generate_workload("heat")):
        assert not find_buffers(workload.graph).is_buffer.any()


def test_the_largest_input_of_the_producer() -> None:
    graph = gather([30_000, 50_000, 50_000], [BIG, BIG])
    assert largest_input(graph, find_buffers(graph)).tolist() == [-1, -1, -1, 1, 1]


def test_allocation_schemes() -> None:
    graph = gather([30_000, 9_999], [BIG, 3 * 2**20])
    buffers = find_buffers(graph)
    for allocation, at in (
        ("immediate", [0, 0, 3, -1]),
        ("deferred", [-1, -1, -1, -1]),
        ("dependence_aware", [0, 0, 3, -1]),
    ):
        pools = block_pools(graph, buffers, allocation)
        assert pools.size_class.tolist() == [15, 14, 17, -1]  # more than 2 MiB: no pool
        assert pools.allocate_at.tolist() == at
        assert pools.free_at.tolist() == [0, 0, 3, -1]
        aware = allocation == "dependence_aware"
        assert (pools.allocate_near is not None) == aware
        if pools.allocate_near is not None:
            assert pools.allocate_near.tolist() == [-1, -1, 0, 0]


@pytest.mark.parametrize(
    ("allocation", "pushing"),
    [
        ("deferred", "original"),
        ("deferred", "output_only"),
        ("deferred", "weighted"),
        ("dependence_aware", "output_only"),
        ("dependence_aware", "weighted"),
        ("interleaved_static", "original"),
        ("interleaved_static", "input_only"),
        ("interleaved_static", "output_only"),
        ("interleaved_static", "weighted"),
    ],
)
def test_illegal_combinations_are_refused(allocation: str, pushing: str) -> None:
    with pytest.raises(ConfigurationError, match=f"pushing: found '{pushing}'.*{allocation}"):
        make_policy("dataflow", {"allocation": allocation, "pushing": pushing})


def test_migration_needs_static_data() -> None:
    with pytest.raises(ConfigurationError, match="page_migration: found 'balancenuma'"):
        make_policy("dsa_base", {"page_migration": "balancenuma"})


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("dsa_base", ("hierarchical", "none", "immediate", "off")),
        ("ewp_input_only", ("hierarchical", "input_only", "immediate", "off")),
        ("ewp_output_only", ("hierarchical", "output_only", "immediate", "off")),
        ("ewp_weighted", ("hierarchical", "weighted", "immediate", "off")),
        ("work_pushing_original", ("hierarchical", "original", "immediate", "off")),
        ("dfa", ("hierarchical", "none", "deferred", "off")),
        ("deferred_allocation", ("hierarchical", "none", "deferred", "off")),
        ("dsa_opt", ("hierarchical", "input_only", "deferred", "off")),
        ("shm_base", ("hierarchical", "none", "interleaved_static", "off")),
        ("shm_balancenuma", ("hierarchical", "none", "interleaved_static", "balancenuma")),
    ],
)
def test_presets_are_the_published_configurations(name: str, axes: tuple[str, ...]) -> None:
    policy = make_policy(name).parameters()
    found = tuple(policy[key] for key in ("stealing", "pushing", "allocation", "page_migration"))
    assert found == axes


def test_near_victims_first_then_far_ones_by_attempts() -> None:
    """Opteron-64: 1 of the pair, 6 of the die; per round 1/32 + 1/64 one hop, 1/24 + 1/64 two."""
    machine = load_machine("opteron64")
    view = view_of(machine, gather([], [BIG]), [0])
    ranks = near_ranks(view)
    assert [int((ranks[9] == r).sum()) for r in (-1, 0, 1)] == [56, 2, 6]
    weights = far_weights(view)
    assert (weights[9] == 0).sum() == 8
    assert Counter(weights[0].tolist()) == {0: 8, 46_875: 32, 57_292: 24}


def test_versions_of_the_program() -> None:
    workload = replace(generate_workload("jacobi", {"sweeps": 2}), name="mine")
    shared = variant(workload, version="shared", control="parallel")
    assert shared.name == "mine"
    assert shared.parameters["version"] == "shared"
    assert shared.parameters["sweeps"] == 2
    assert variant(workload, version="private") is workload
    heat = generate_workload("heat")
    assert variant(heat, version="shared", control="sequential") is heat


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_the_shared_version_spreads_its_data(backend: str) -> None:
    workload = generate_workload("seidel", {"size_x": 4096, "block_x": 128, "sweeps": 4})
    machine = replace(load_machine("opteron64"), caches=())
    run = simulate(machine, workload, make_policy("shm_base"), workers=16, backend=backend)
    assert run.workload.parameters["version"] == "shared"
    bytes_on = run.summary.node_bytes.sum(axis=(0, 1))
    assert bytes_on.max() - bytes_on.min() <= bytes_on.max() * 0.1


@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_deferred_allocation_writes_locally(backend: str) -> None:
    """Outputs are local whoever executes a task."""
    workload = generate_workload(
        "jacobi", {"size_x": 2**18, "block_x": 2**13, "sweeps": 6, "global_pieces": 8}
    )
    machine = replace(load_machine("opteron64"), caches=())
    run = simulate(machine, workload, make_policy("dfa"), backend=backend, events=True, seed=2)
    assert run.trace is not None
    home = {int(b): b % 8 for b in range(32 * 8)}
    domain = machine.core_domain[machine.thread_core[run.worker_thread]]
    events, graph = run.trace.events, run.workload.graph
    written: dict[tuple[int, int], bool] = {}
    task_of = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    for task, block, size in zip(task_of, graph.access_block, graph.written_bytes, strict=True):
        written[int(task), int(block)] = bool(size)
    owned = set(np.flatnonzero(find_buffers(graph).is_buffer).tolist())
    checked = 0
    for kind, worker, task, block, value in zip(
        *(events[k].tolist() for k in ("kind", "worker", "task", "arg0", "arg1")), strict=True
    ):
        if kind == EventKind.FIRST_TOUCH:
            home[block] = value
        elif kind == EventKind.ACCESS and block in owned and written[task, block]:
            assert home[block] == domain[worker]
            checked += 1
    # Of 32 blocks: 7 centres and a token each; 7 faces towards each of 31 neighbours, both ways.
    assert checked == 32 * 8 + 7 * 2 * 31


def test_pushing_brings_tasks_to_their_data() -> None:
    workload = generate_workload(
        "jacobi",
        {
            "size_x": 2**11,
            "block_x": 2**7,
            "size_y": 2**11,
            "block_y": 2**7,
            "sweeps": 12,
        },
    )
    machine = replace(load_machine("opteron64"), caches=())

    def local_share(policy: str) -> float:
        summary = simulate(machine, workload, make_policy(policy), seed=1).summary
        near, far = summary.managed_bytes.tolist()
        return near / (near + far)

    shares = {name: local_share(name) for name in ("dsa_base", "dfa", "dsa_opt", "ewp_weighted")}
    assert shares["dsa_opt"] > max(shares["dsa_base"], shares["dfa"])
    assert shares["ewp_weighted"] > shares["dsa_base"]
    assert shares["dsa_opt"] > 0.75


def test_a_full_push_queue_keeps_the_task() -> None:
    """With queues of one slot, which stays empty, nothing is ever handed over."""
    workload = generate_workload("jacobi", {"size_x": 2**18, "block_x": 2**13, "sweeps": 6})
    machine = load_machine("opteron64")

    def pushes(slots: int) -> int:
        policy = make_policy("ewp_input_only", {"push_queue_slots": slots, "threshold_bytes": 0})
        run = simulate(machine, workload, policy, events=True)
        assert run.trace is not None
        events = run.trace.events
        acquired = events["kind"] == EventKind.ACQUIRE
        return int((events["arg0"][acquired] >> 32 == 2).sum())

    assert pushes(1) == 0
    assert pushes(128) > 0


def test_sequential_control_creates_on_one_worker() -> None:
    workload = generate_workload("jacobi", {"size_x": 2**16, "block_x": 2**12, "sweeps": 3})
    machine = load_machine("opteron64")
    for control, alone in (("sequential", True), ("parallel", False)):
        run = simulate(
            machine, workload, make_policy("dsa_base", {"control": control}), events=True
        )
        assert run.trace is not None
        events = run.trace.events
        creators = set(events["worker"][events["kind"] == EventKind.SPAWN].tolist())
        assert (len(creators) == 1) == alone


def starts(workers: int, graph: TaskGraph) -> list[tuple[int, int]]:
    """Return (task, worker) in the order in which tasks begin."""
    machine = make_machine(domains=1, cores_per_domain=workers)
    run = simulate(machine, Workload("w", graph), make_policy("dsa_base"), events=True)
    assert run.trace is not None
    events = run.trace.events
    begun = events["kind"] == EventKind.TASK_START
    return list(zip(events["task"][begun].tolist(), events["worker"][begun].tolist(), strict=True))


def test_the_newest_task_displaces_the_one_in_the_slot() -> None:
    """A slot that is occupied is emptied into the deque; thieves take the oldest of the deque.

    OpenStream's run-time: `add_to_local_queue`; the slot cannot be stolen from.
    """
    ops = [1e3, 9e3, 8e3, 7e3]
    alone = build_graph(ops, successors=adjacency([0, 0, 0], [1, 2, 3], 4))
    assert starts(1, alone) == [(0, 0), (3, 0), (2, 0), (1, 0)]
    assert starts(2, alone)[:3] == [(0, 0), (3, 0), (1, 1)]
    two = build_graph(ops[:2], successors=adjacency([0], [1], 2))
    assert starts(2, two) == [(0, 0), (1, 0)]


NAMES = ("root", "a", "D", "c", "L", "p1", "p2", "x")
MS = 1e6  # operations of a millisecond


def handed_over(p2_ms: float, other_ms: float) -> dict[str, tuple[int, float]]:
    """Return (worker, start in ms) of the tasks of a program in which two tasks are pushed.

    Two nodes of one core. `a` on worker 1 writes large inputs of `p1`, `p2` and of `L`, which it
    then executes until 21 ms; `c` on worker 0 has written their small inputs at 5 ms and pushes
    both to worker 1, then executes `D`. `p2` makes `x` ready.
    """
    number = {name: i for i, name in enumerate(NAMES)}
    ms = {"a": 1, "D": other_ms, "c": 5, "L": 20, "p1": 1, "p2": p2_ms, "x": 1}
    large, small = 2**20, 64
    flows = (
        ("a", "p1", large),
        ("a", "p2", large),
        ("a", "L", large),
        ("c", "p1", small),
        ("c", "p2", small),
        ("p2", "x", large),
    )
    source, target = ([number[flow[end]] for flow in flows] for end in (0, 1))
    sizes = np.array([flow[2] for flow in flows])
    blocks, none = np.arange(len(flows)), np.zeros_like(sizes)
    n = len(NAMES)
    children = [number[name] for name in ("p1", "p2", "x", "L", "a", "D", "c")]
    graph = build_graph(
        np.array([1e3, *(ms[name] * MS for name in NAMES[1:])]),
        children=adjacency(np.zeros(len(children), int), np.array(children), n),
        successors=adjacency(np.array(source), np.array(target), n),
        accessed=accesses(
            np.concatenate([target, source]),
            np.concatenate([blocks, blocks]),
            np.concatenate([sizes, none]),
            np.concatenate([none, sizes]),
            n,
        ),
        block_bytes=sizes,
        detached=np.arange(n) > 0,
    )
    machine = make_machine(domains=2, cores_per_domain=1)
    run = simulate(machine, Workload("w", graph), make_policy("dsa_opt"), events=True)
    assert run.trace is not None
    events = run.trace.events
    begun = events["kind"] == EventKind.TASK_START
    rows = zip(*(events[key][begun].tolist() for key in ("task", "worker", "time_ps")), strict=True)
    return {NAMES[task]: (worker, round(time * 1e-9)) for task, worker, time in rows}


def test_pushed_tasks_are_imported_when_their_worker_looks() -> None:
    """Main loop of OpenStream's run-time, step 1: the last one is executed, p1 is in the deque.

    When `p2` ends, `x` enters the slot, which comes before the deque.
    """
    found = handed_over(p2_ms=1, other_ms=50)
    assert [found[name] for name in ("p2", "x", "p1")] == [(1, 21), (1, 22), (1, 23)]


def test_imported_tasks_can_be_stolen_and_those_in_the_push_queue_cannot() -> None:
    assert handed_over(p2_ms=100, other_ms=20)["p1"] == (0, 25)  # imported at 21 ms
    assert handed_over(p2_ms=100, other_ms=10)["p1"] == (0, 21)  # idle from 15 ms, imported at 21


@pytest.mark.parametrize("name", ["opteron64", "sgi_uv2000_192"])
def test_the_first_attempt_at_other_nodes_is_at_the_nearest_ones(name: str) -> None:
    """All deques but those of node 0 are full, so that the first attempt at one hop succeeds."""

    class Full(Dataflow):
        def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Any:
            return Pool(DEQUE, 8 + task % (view.n_workers - 8))

    machine = load_machine(name)
    n_workers = machine.n_cores
    n = 40 * (n_workers - 8)
    run = simulate(machine, Workload("w", build_graph(np.full(n, 2.4e6))), Full(), events=True)
    assert run.trace is not None
    events = run.trace.events
    early = (events["kind"] == EventKind.STEAL) & (events["time_ps"] < run.makespan_s * 0.4e12)
    thief, victim = events["worker"][early], events["arg0"][early]
    domain = machine.core_domain[machine.thread_core[run.worker_thread]]
    hops = machine.domain_hops[domain[thief], domain[victim]]
    assert set(hops[thief < 8].tolist()) == {1}
    assert (thief < 8).sum() > 50


@pytest.mark.parametrize("policy", ["shm_balancenuma", "balancenuma"])
def test_pages_stay_during_the_initialisation(policy: str) -> None:
    """The study blocks migration with `mbind` until the data are initialised."""
    sizes = np.full(64, BIG)
    every, n = np.arange(64), 64
    touching = accesses(every, every, sizes, 0, n)
    init = build_graph(np.full(n, 1e3), accessed=touching, block_bytes=sizes)
    graph = build_graph(np.full(n, 1e3), accessed=touching, block_bytes=sizes)
    workload = Workload("w", graph, init=init)
    # Of a group's pages, none moves at its first fault.
    chosen = make_policy(policy, {"thread_group": "none"})
    run = simulate(load_machine("opteron64"), workload, chosen, events=True)
    assert run.trace is not None
    events = run.trace.events
    moved = events["iteration"][events["kind"] == EventKind.PAGE_MOVE]
    assert set(moved.tolist()) == {1}


@pytest.mark.parametrize(
    ("name", "params"),
    [("bitonic", {"stages": 7, "block_elements": 2**12}), ("cholesky_dataflow", {"tiles": 12})],
)
def test_producers_begin_when_their_consumers_exist(
    name: str, params: dict[str, Any], backend: str
) -> None:
    """PACT 2016, section 2.1; without that, 14 % of the bytes of bitonic are written too early."""
    workload = generate_workload(name, params)
    machine, policy = load_machine("opteron64"), make_policy("dsa_base")
    run = simulate(machine, workload, policy, backend=backend, events=True)
    assert run.trace is not None
    events, graph = run.trace.events, workload.graph
    created, started = np.zeros((2, graph.n_tasks), np.int64)
    spawned, begun = (events["kind"] == kind for kind in (EventKind.SPAWN, EventKind.TASK_START))
    created[events["arg0"][spawned]] = events["time_ps"][spawned]
    started[events["task"][begun]] = events["time_ps"][begun]
    producer = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    assert (started[producer] >= created[graph.succ]).all()
