"""The dm family, eager, prio, random, ws and lws: schedules derived by hand.

The machine has two cores of 1 Gop/s and a device of 4 Gop/s with a link of 10 GB/s and 5 us; blocks
have 10 MB. So a task of 4 Mop takes 4 ms on a core and 1 ms on the device, and a copy 1.005 ms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.list_scheduling.deque_model import DequeModel, Model
from simsched.policy.contract.base import HookView, Policy
from simsched.policy.parts.runtime_state import RuntimeState
from simsched.policy.parts.task_queue import TaskQueue
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload
from tests.engine.test_copies import MB, device_machine
from tests.engine.test_drivers import driven

CORE_0, CORE_1, DEVICE = 0, 1, 2
COPY_MS = 1.005
NOWHERE = float("inf")


def graph(
    cores_ms: list[float],
    reads: list[list[int]] | None = None,
    priority: list[int] | None = None,
    edges: tuple[tuple[int, int], ...] = (),
    *,
    device_ms: list[float] | None = None,
) -> TaskGraph:
    """Tasks by their time on a core; the device takes a quarter unless it is given."""
    n = len(cores_ms)
    device = [t / 4 for t in cores_ms] if device_ms is None else device_ms
    pairs = [(t, b) for t, blocks in enumerate(reads or []) for b in blocks]
    task, block = ([p[i] for p in pairs] for i in range(2))
    return build_graph(
        [[t * 1e6 for t in cores_ms], [t * 4e6 for t in device]],
        kinds=("cpu", "gpu"),
        successors=adjacency([e[0] for e in edges], [e[1] for e in edges], n),
        accessed=accesses(task, block, 10 * MB, 0, n),
        block_bytes=np.full(1 + max(block, default=-1), 10 * MB, np.int64),
        priority=priority,
    )


def run(
    policy: Policy, tasks: TaskGraph, machine: Machine | None = None, *, workers: int = 3
) -> Run:
    """Return the native run of some workers after comparing its events with the reference."""
    machine, workload = machine or device_machine(devices=1), Workload("tasks", tasks)
    native, reference = (
        simulate(
            machine, workload, policy, workers=workers, pinning="compact", backend=b, events=True
        )
        for b in ("native", "simpy")
    )
    assert native.trace is not None
    assert reference.trace is not None
    for name, column in native.trace.events.items():
        assert np.array_equal(column, reference.trace.events[name]), name
    return native


def of_kind(result: Run, kind: EventKind) -> list[tuple[int, int, float]]:
    """Return (task, worker, time in ms) of events in their order."""
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    columns = (events[name][chosen].tolist() for name in ("task", "worker", "time_ps"))
    return [(t, w, time * 1e-9) for t, w, time in zip(*columns, strict=True)]


def workers_of(result: Run) -> list[int]:
    return [w for _, w, _ in sorted(of_kind(result, EventKind.TASK_END))]


def alone(name: str, **params: Any) -> Policy:
    """Return a policy that lets both cores execute tasks, and whose own steps take no time."""
    steps = dict.fromkeys(("push_s", "look_s", "fetch_s", "release_s"), 0.0)
    return make_policy(name, {"cores_per_device": 0, **steps, **params})


def test_dm_gives_each_task_to_the_worker_that_ends_it_first() -> None:
    # Expected ends on the device after each task: 1, 2, 3, 4 ms; the fourth ties with a core, and
    # devices come first. The fifth would end there after 5 ms, on a core after 4, the sixth alike.
    result = run(alone("dm"), graph([4.0] * 6))
    assert workers_of(result) == [DEVICE] * 4 + [CORE_0, CORE_1]
    assert result.makespan_s == pytest.approx(4e-3, rel=1e-9)


def test_dmda_counts_what_must_be_copied() -> None:
    # dm: 1 ms on the device against 4 ms. dmda expects the copy to take 0.005 + 2 ms, so an end
    # after 3.005 ms and a fitness of 2.005 against 4 - 3.005 = 0.995 on a core.
    tasks = graph([4.0], reads=[[0]])
    copied = run(alone("dm"), tasks)
    assert workers_of(copied) == [DEVICE]
    assert copied.makespan_s == pytest.approx((COPY_MS + 1) * 1e-3, rel=1e-9)
    assert workers_of(run(alone("dmda"), tasks)) == [CORE_0]
    # With beta = 0 only the ends count; with half the slowdown 2.005 ms and 1.005 against 1.995.
    assert workers_of(run(alone("dmda", beta=0.0), tasks)) == [DEVICE]
    assert workers_of(run(alone("dmda", bus_slowdown=1.0), tasks)) == [DEVICE]


def test_data_of_queued_tasks_are_fetched_while_others_compute() -> None:
    # Only the device can execute them. Block 0 is there after 1.005 ms, block 1 after 2.010 ms,
    # while task 0 computes until 2.005; task 1 waits for 5 us.
    result = run(alone("dm"), graph([NOWHERE] * 2, reads=[[0], [1]], device_ms=[1.0, 1.0]))
    ends = [time for _, _, time in of_kind(result, EventKind.TASK_END)]
    assert ends == pytest.approx([COPY_MS + 1, 2 * COPY_MS + 1], rel=1e-9)


@pytest.mark.parametrize(
    ("name", "order", "ends_ms"),
    [
        # Task 0 is taken at once. When it starts, after its copy, block 0 is there but not block 1.
        ("dmda", [0, 1, 2], [COPY_MS + 1, 2 * COPY_MS + 1, 2 * COPY_MS + 2]),
        ("dmdar", [0, 2, 1], [COPY_MS + 1, COPY_MS + 2, COPY_MS + 3]),
        ("dmdas", [0, 1, 2], [COPY_MS + 1, 2 * COPY_MS + 1, 2 * COPY_MS + 2]),  # 1 is more urgent
    ],
)
def test_the_dm_family_takes_tasks_in_different_orders(
    name: str, order: list[int], ends_ms: list[float]
) -> None:
    tasks = graph(
        [NOWHERE] * 3, reads=[[0], [1], [0]], priority=[9, 7, 3], device_ms=[1.0, 1.0, 1.0]
    )
    ends = of_kind(run(alone(name), tasks), EventKind.TASK_END)
    assert [task for task, _, _ in ends] == order
    assert [time for _, _, time in ends] == pytest.approx(ends_ms, rel=1e-9)


def test_dmdas_takes_the_ready_one_of_the_most_urgent() -> None:
    # After 0, 1 and 2 are as urgent, and the data of 2 are there; so are those of 3, the least one.
    tasks = graph(
        [NOWHERE] * 4, reads=[[0], [1], [0], [0]], priority=[9, 7, 7, 3], device_ms=[1.0] * 4
    )
    ends = of_kind(run(alone("dmdas"), tasks), EventKind.TASK_END)
    assert [task for task, _, _ in ends] == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("name", "capacity_mb", "order", "ends_ms"),
    [
        # Two blocks fill the device: 0 and 2 are handed over at once, and room for 1 is left to be
        # made. Task 0 lacks 20 MB, 1 and 2 lack 10 that are on their way; but 1 also lacks a place
        # for what it writes, so 2 comes first. At its end nobody claims block 0, which makes room
        # for 1, and comes again when block 2 is there and has made room. So 1 ends after three
        # copies. Before 0 block 1 is saved and block 2 comes again: two copies more.
        ("dmdar", 20, [2, 1, 0], [COPY_MS + 1, 3 * COPY_MS + 1, 5 * COPY_MS + 2]),
        ("dmdas", 20, [2, 1, 0], [COPY_MS + 1, 3 * COPY_MS + 1, 5 * COPY_MS + 2]),
        # With room for all, block 1 has its place at once, and 1 comes before 2.
        ("dmdar", 100, [1, 2, 0], [COPY_MS + 1, COPY_MS + 2, COPY_MS + 3]),
    ],
)
def test_of_tasks_with_equal_data_those_come_first_whose_data_have_places(
    name: str, capacity_mb: int, order: list[int], ends_ms: list[float]
) -> None:
    # Tasks 0, 1 and 2 read block 0, 0 also reads block 2, and 1 writes block 1.
    tasks = build_graph(
        [[NOWHERE] * 3, [4e6] * 3],
        kinds=("cpu", "gpu"),
        accessed=accesses(
            [0, 0, 1, 1, 2], [0, 2, 0, 1, 0], [10 * MB] * 3 + [0, 10 * MB], [0, 0, 0, 10 * MB, 0], 3
        ),
        block_bytes=np.full(3, 10 * MB, np.int64),
    )
    machine = device_machine(devices=1, capacity_bytes=capacity_mb * MB)
    ends = of_kind(run(alone(name), tasks, machine), EventKind.TASK_END)
    assert [task for task, _, _ in ends] == order
    assert [time for _, _, time in ends] == pytest.approx(ends_ms, rel=1e-9)


@pytest.mark.parametrize("name", ["dm", "dmda", "dmdar", "dmdas"])
def test_tasks_that_are_pushed_at_the_same_time_are_decided_without_each_other(name: str) -> None:
    # 0 and 1 begin a microsecond after each other, and so end. 2 is pushed first and goes to the
    # first core, where it would end first. The next microsecond brings 3 and 4: either alone would
    # end first on the second core, so both go there, and 5 to the first one. In StarPU 1.4 over
    # SimGrid tasks with several successors each do the same.
    edges = ((0, 2), (0, 3), (1, 4), (1, 5))
    tasks = graph([4.0] * 6, edges=edges, device_ms=[NOWHERE] * 6)
    result = run(alone(name, push_s=1e-6), tasks)
    assert workers_of(result) == [CORE_0, CORE_1, CORE_0, CORE_1, CORE_1, CORE_0]


def test_eager_workers_take_the_next_task_whatever_it_is() -> None:
    # 0, 1 and 2 go to the device and the cores. The device asks again whenever a task starts.
    result = run(alone("eager"), graph([4.0] * 6))
    assert workers_of(result) == [DEVICE, CORE_0, CORE_1, DEVICE, DEVICE, DEVICE]
    assert result.makespan_s == pytest.approx(4e-3, rel=1e-6)


@pytest.mark.parametrize(
    ("pipeline", "end_ms"),
    [
        (1, 2 * (COPY_MS + 1)),  # copy, compute, copy, compute
        (2, 2 * COPY_MS + 1),  # the second copy begins when task 0 starts, and takes longer
    ],
)
def test_the_pipeline_fetches_the_next_task(pipeline: int, end_ms: float) -> None:
    tasks = graph([NOWHERE] * 2, reads=[[0], [1]], device_ms=[1.0, 1.0])
    result = run(alone("eager", device_pipeline=pipeline), tasks)
    assert result.makespan_s == pytest.approx(end_ms * 1e-3, rel=1e-8)


def test_eager_skips_what_a_worker_cannot_execute() -> None:
    # 0 goes to the device; 1 and 2, which only the device executes, stay; 3 and 4 pass them.
    tasks = graph([NOWHERE, NOWHERE, NOWHERE, 4.0, 4.0], device_ms=[8.0] * 5)
    result = run(alone("eager"), tasks)
    assert workers_of(result) == [DEVICE, DEVICE, DEVICE, CORE_0, CORE_1]


@pytest.mark.parametrize(("name", "order"), [("eager", [0, 1, 2, 3]), ("prio", [2, 3, 0, 1])])
def test_prio_takes_the_most_urgent_task(name: str, order: list[int]) -> None:
    tasks = graph([NOWHERE] * 4, priority=[1, 1, 5, 5], device_ms=[1.0] * 4)
    result = run(alone(name, device_pipeline=1), tasks)
    assert [task for task, _, _ in of_kind(result, EventKind.TASK_START)] == order


def on_cores(policy: Policy, tasks: TaskGraph, cores: int = 3) -> Run:
    machine = make_machine(domains=1, cores_per_domain=cores)
    return simulate(machine, Workload("tasks", tasks), policy, backend="native", events=True)


def fan(n: int) -> TaskGraph:
    """Task 0, then n tasks after it."""
    return build_graph(
        np.full(n + 1, 1000.0), successors=adjacency([0] * n, list(range(1, n + 1)), n + 1)
    )


@pytest.mark.parametrize("name", ["ws", "lws"])
def test_thieves_take_from_the_worker_that_makes_tasks_ready(name: str) -> None:
    # The first task of nobody goes to the second worker. Its successors join its queue, one after
    # the other. The two others, called by the first one, come when the second one is there, and
    # steal what came last; the third one is left for the owner.
    result = on_cores(make_policy(name), fan(3))
    assert workers_of(result) == [1, 2, 0, 1]
    assert [(task, worker) for task, worker, _ in of_kind(result, EventKind.STEAL)] == [
        (2, 0),
        (1, 2),
    ]
    assert result.summary.steals.sum() == 2


def test_lws_robs_the_nearest_worker_if_the_host_tells_who_that_is() -> None:
    # Tasks 0 and 1 go to workers 1 and 2, one in each domain, and make two tasks each ready. The
    # two others sleep; each steals what came last from the worker of its own domain.
    tasks = build_graph(np.full(6, 1000.0), successors=adjacency([0, 0, 1, 1], [2, 3, 4, 5], 6))
    machine = make_machine(domains=2, cores_per_domain=2)
    result = run(make_policy("lws"), tasks, machine, workers=4)
    assert workers_of(result) == [1, 2, 1, 0, 2, 3]
    # All cores of attila are in one domain: as StarPU without a topology, lws is ws there.
    workload = generate_workload(
        "cholesky", {"tiles": 6, "tile_size": 960, "element_bytes": 4, "costs": "measured"}
    )
    ws, lws = (
        simulate(load_machine("attila"), workload, make_policy(name), events=True).trace
        for name in ("ws", "lws")
    )
    assert ws is not None
    assert lws is not None
    assert all(np.array_equal(lws.events[name], ws.events[name]) for name in ws.events)


def test_tasks_of_nobody_go_to_workers_in_turn() -> None:
    # Nobody is busy when they come, so nobody is robbed: 1, 2, 0, 1, ... execute their own.
    result = on_cores(make_policy("ws"), build_graph(np.full(6, 1000.0)))
    assert workers_of(result) == [1, 2, 0, 1, 2, 0]


def test_owners_and_thieves_take_the_most_urgent_task() -> None:
    tasks = build_graph(np.full(5, 1000.0), priority=[0, 1, 3, 2, 3])
    policy = make_policy("ws", {"push_s": 0.0})
    starts = of_kind(on_cores(policy, tasks, cores=1), EventKind.TASK_START)
    assert [task for task, _, _ in starts] == [2, 4, 3, 1, 0]


@pytest.mark.parametrize(
    ("n", "workers"),
    [
        # The core that ends 0 is back 2 us later; the device, called after 1 us, looks after two
        # memories and comes after 3.
        (1, [CORE_0, CORE_0]),
        # The device comes after 3 us and takes 1. The push of 2, after 2 us, finds it on its way
        # and calls the other core, which comes after 3 us too. 3 is left for who ends 0.
        (3, [CORE_0, DEVICE, CORE_1, CORE_0]),
    ],
)
def test_who_ends_a_task_comes_round_when_all_is_pushed(n: int, workers: list[int]) -> None:
    tasks = graph(
        [4.0] * (n + 1),
        edges=tuple((0, i) for i in range(1, n + 1)),
        device_ms=[NOWHERE] + [1.0] * n,
    )
    assert workers_of(run(alone("eager", push_s=1e-6, look_s=1e-6), tasks)) == workers


def test_a_push_calls_one_device_or_all_cores() -> None:
    # 0 goes to the device; so does 1, because it asks for a second one before that is pushed. Then
    # nothing else sleeps but the cores, which are called for 2: the first of them gets it.
    result = run(alone("eager", push_s=10e-6, look_s=1e-6), graph([4.0] * 3))
    assert workers_of(result) == [DEVICE, DEVICE, CORE_0]


@pytest.mark.parametrize("name", ["eager", "prio", "heteroprio"])
def test_a_chain_stays_on_its_core(name: str) -> None:
    # The other core, which the push has called, asks at the same time and comes after it.
    tasks = graph([1.0] * 4, edges=((0, 1), (1, 2), (2, 3)), device_ms=[NOWHERE] * 4)
    policy = alone(name, push_s=1e-6, look_s=1e-6)
    assert workers_of(run(policy, tasks)) == [CORE_0] * 4


@pytest.mark.parametrize("name", ["eager", "prio", "heteroprio"])
def test_a_chain_goes_back_and_forth_between_two_devices(name: str) -> None:
    # Who ends a task pushes the next one, which takes 1 us and calls the other device. Both then
    # look after two memories, 2 us, and the one that has been called comes first. StarPU 1.4 over
    # SimGrid gives a chain of five to devices 0 1 0 1 0, with three devices as with two.
    edges = tuple((i, i + 1) for i in range(4))
    tasks = graph([NOWHERE] * 5, edges=edges, device_ms=[1.0] * 5)
    policy = make_policy(name, {"cores_per_device": 0})
    assert workers_of(run(policy, tasks, device_machine(devices=2, cores=1))) == [1, 2, 1, 2, 1]


@pytest.mark.parametrize("weight", [0.0, 1.0, 13.33])
def test_random_workers_are_drawn_by_weight(weight: float) -> None:
    # A share p of 3000 draws has a standard deviation below 0.01: 4 of them.
    tasks = graph([0.0] * 3000)
    result = simulate(
        device_machine(devices=1),
        Workload("tasks", tasks),
        alone("random", device_weight=weight),
        workers=3,
        pinning="compact",
    )
    share = result.summary.tasks_per_worker[DEVICE] / 3000
    assert share == pytest.approx(weight / (weight + 2 * 0.5), abs=0.04)


def test_cores_that_drive_devices_execute_nothing() -> None:
    machine = device_machine(devices=1, cores=4)  # workers 0 to 3, those of the device 4 to 7
    tasks = Workload("tasks", graph([4.0] * 40))
    used = simulate(machine, tasks, make_policy("eager"), workers=5, pinning="compact")
    assert np.flatnonzero(used.summary.tasks_per_worker).tolist() == [0, 1, 2, 4]


def test_one_core_drives_all_workers_of_a_device() -> None:
    # Workers 4 and 5 share the device, whose thread drives both as StarPU's does; it once took two
    # cores. In the first 4 ms both do four tasks each, the three cores that are left one each.
    machine = device_machine(devices=1, cores=4)
    tasks = Workload("tasks", graph([4.0] * 11))
    used = simulate(machine, tasks, make_policy("eager"), workers=6, pinning="compact")
    assert used.summary.tasks_per_worker.tolist() == [1, 1, 1, 0, 4, 4]


def test_each_decision_of_dmda_minimises_the_fitness() -> None:
    checked = []

    @dataclass(frozen=True, kw_only=True)
    class Checking(DequeModel):
        """Compares each decision with all others, from the published formula."""

        def best_worker(
            self, view: HookView, state: RuntimeState, task: int, now: int, released: set[int]
        ) -> tuple[int, int]:
            chosen, cost = super().best_worker(view, state, task, now, released)
            model: Model = state.queues
            assert view.live is not None
            assert now == view.live.now_ps()
            span = slice(state.graph.access_ptr[task], state.graph.access_ptr[task + 1])
            blocks = state.graph.access_block[span].tolist()
            ends, copies = {}, {}
            for worker in (DEVICE, CORE_0, CORE_1):
                node = 1 if worker == DEVICE else 0
                missing = [b for b in blocks if not view.live.expects(node, b)]
                copies[worker] = len(missing) * (5e6 + 2 * 10 * MB / 10e9 * 1e12)
                queue = model.workers[worker]
                free = max(queue.start_ps, now) + queue.length_ps
                row, speed = (1, 4e9) if worker == DEVICE else (0, 1e9)
                length = float(state.graph.ops[row, task]) / speed * 1e12
                ends[worker] = max(free, now + copies[worker]) + length
            best = min(ends.values())
            fitness = {w: 1.0 * (ends[w] - best) + 1.0 * copies[w] for w in ends}
            assert fitness[chosen] == pytest.approx(min(fitness.values()), abs=4)  # rounded
            assert cost == pytest.approx(copies[chosen], abs=2)
            checked.append(chosen)
            return chosen, cost

    rng = np.random.default_rng(5)
    n = 60
    edges = tuple((int(rng.integers(t)), t) for t in range(1, n) if rng.random() < 0.7)
    reads = [sorted(set(rng.integers(0, 8, 2).tolist())) for _ in range(n)]
    tasks = graph(rng.uniform(1, 8, n).tolist(), reads=reads, edges=edges)
    simulate(
        device_machine(devices=1),
        Workload("tasks", tasks),
        Checking(cores_per_device=0),
        workers=3,
        pinning="compact",
        backend="simpy",
    )
    assert len(checked) == n
    assert set(checked) == {CORE_0, CORE_1, DEVICE}


@pytest.mark.parametrize("name", ["dm", "eager", "ws", "random"])
def test_spawn_trees_are_refused(name: str) -> None:
    tree = build_graph(np.full(2, 1.0), children=adjacency([0], [1], 2))
    with pytest.raises(ModelError, match="found a spawn tree in workload tasks"):
        on_cores(make_policy(name), tree)


@pytest.mark.parametrize("name", ["dm", "eager", "ws", "random"])
def test_a_task_that_only_a_driving_core_can_run_is_refused(name: str) -> None:
    machine = device_machine(devices=1)
    old = replace(machine.core_groups[0], name="old", kind="old")
    machine = replace(
        machine,
        core_groups=(*machine.core_groups, old),
        core_group=np.where(np.arange(machine.n_cores) == CORE_1, 2, machine.core_group),
    )
    tasks = build_graph(np.array([[1e6, NOWHERE]] * 2 + [[1e6, 1e6]]), kinds=("cpu", "gpu", "old"))
    with pytest.raises(ModelError, match="task 1 of class 'task' has no cost on any worker"):
        simulate(machine, Workload("w", tasks), make_policy(name), workers=3, pinning="compact")


def test_task_queues_keep_the_order_of_equals() -> None:
    queue = TaskQueue()
    for task, priority in enumerate([0, 2, 1, 2]):
        queue.push(task, priority)
    assert queue.pop(lambda task: task != 1) == 3
    assert queue.pop_smallest(lambda task: (5, 0, 0)) == 1
    assert [queue.pop() for _ in range(3)] == [2, 0, None]
    assert queue.pop_smallest(lambda task: (0, 0, 0)) is None


def test_tasks_follow_data_that_are_on_their_way() -> None:
    # As above the device is worth it with half the slowdown: it ends the first task after 2.005 ms.
    # The second one reads the same block, which has been asked for when it is pushed: it would end
    # there after 3.005 ms and nothing is left to copy. If it were, its fitness of 1.005 would be
    # more than the 4 - 3.005 of a core.
    tasks = graph([4.0, 4.0], reads=[[0], [0]])
    policy = alone("dmda", bus_slowdown=1.0, push_s=1e-6)
    assert workers_of(run(policy, tasks)) == [DEVICE, DEVICE]


@pytest.mark.parametrize("final", [False, True])
def test_what_is_brought_back_is_expected_only_by_later_pushes(final: bool) -> None:
    # 1 would end on a core 2.005 ms after 0, with the copy of what 0 has written on the device, and
    # on the device after 1.5. The copy is asked for in any case when 0 has written the block for
    # the last time, but only after 1 has been pushed.
    tasks = graph([NOWHERE, 1.0], reads=[[0], [0]], edges=((0, 1),), device_ms=[1.0, 1.5])
    written, last = np.array([MB, 0]), np.array([final, False])
    tasks = replace(tasks, written_bytes=written, access_final=last)
    assert workers_of(run(alone("dmda", bus_slowdown=1.0), tasks)) == [DEVICE, DEVICE]


@pytest.mark.parametrize(("final", "second"), [(False, CORE_0), (True, DEVICE)])
def test_who_has_written_a_datum_for_the_last_time_comes_round_later(
    final: bool, second: int
) -> None:
    # The core that ends 0 pushes 1 and is back 2 us later, or 5. The device comes after 3.
    tasks = graph([4.0] * 2, reads=[[0]], edges=((0, 1),), device_ms=[NOWHERE, 1.0])
    tasks = replace(tasks, written_bytes=np.array([MB]), access_final=np.array([final]))
    policy = alone("eager", push_s=1e-6, look_s=1e-6, release_s=3e-6)
    assert workers_of(run(policy, tasks)) == [CORE_0, second]


def test_every_datum_of_a_task_is_asked_for() -> None:
    tasks = graph([4.0], reads=[[0, 1]], device_ms=[NOWHERE])
    result = run(alone("eager", fetch_s=1e-6), tasks)
    assert result.makespan_s == pytest.approx(4.002e-3, rel=1e-7)


@pytest.mark.parametrize(("name", "begin_us"), [("dm", 370.0), ("eager", 0.0)])
def test_a_worker_asks_when_its_driver_has_prepared_the_copies_of_a_round(
    name: str, begin_us: float
) -> None:
    # Both blocks of the task are wanted as soon as it is in a queue of dm, and each takes 10 us to
    # hand over after 175 us for its allocation. In eager they are wanted when it has been taken.
    machine = driven(hand_over_us=10, allocation_us=175, chunk=10 * MB)
    tasks = graph([NOWHERE], reads=[[0, 1]], device_ms=[1.0])
    result = run(alone(name), tasks, machine)
    starts = of_kind(result, EventKind.ACQUIRE)
    assert [time for _, _, time in starts] == pytest.approx([begin_us * 1e-3], abs=1e-9)


@pytest.mark.parametrize(("waits", "ends_ms"), [(False, [2.005, 3.010]), (True, [2.005, 4.010])])
def test_a_worker_asks_for_nothing_while_its_driver_waits_for_a_kernel(
    waits: bool, ends_ms: list[float]
) -> None:
    # The device has the data of 0 after 1.005 ms and computes for 1 ms. It asks for 1 when 0 begins
    # and has its data after 2.010 ms, or when 0 ends, and then after 3.010 ms.
    tasks = graph([NOWHERE] * 2, reads=[[0], [1]], device_ms=[1.0, 1.0])
    result = run(alone("eager"), replace(tasks, synchronous=np.array([waits, False])))
    ends = [time for _, _, time in of_kind(result, EventKind.TASK_END)]
    assert ends == pytest.approx(ends_ms, rel=1e-9)


@pytest.mark.parametrize(("waits", "end_ms"), [(False, 7.505), (True, 11.005)])
def test_a_driver_hands_nothing_over_while_it_waits_for_a_kernel(
    waits: bool, end_ms: float
) -> None:
    # The device executes 0 until 2 and 1, whose data have come at 1.005, until 6 ms. A core ends 2
    # after 2.5 ms and takes 3, which reads what 0 has written: the device's driver copies it for
    # 1.005 ms, at once or from 6 ms on, and 3 takes 4 ms.
    tasks = graph(
        [NOWHERE, NOWHERE, 2.5, 4.0],
        reads=[[0], [1], [], [0]],
        edges=((0, 3), (2, 3)),
        device_ms=[2.0, 4.0, NOWHERE, NOWHERE],
    )
    written, read = tasks.read_bytes.copy(), tasks.read_bytes.copy()
    written[1:], read[0] = 0, 0
    tasks = replace(tasks, read_bytes=read, written_bytes=written)
    result = run(alone("eager"), replace(tasks, synchronous=np.arange(4) == 1 if waits else None))
    assert result.makespan_s == pytest.approx(end_ms * 1e-3, rel=1e-9)


@pytest.mark.parametrize(
    ("waits", "workers"), [(False, [DEVICE] * 3), (True, [DEVICE, CORE_0, CORE_1])]
)
def test_nobody_steals_from_a_device_that_has_asked_in_vain(
    waits: bool, workers: list[int]
) -> None:
    # While 0 computes the device asks for another task in vain, unless its driver waits for 0. So
    # it has a task when it pushes 1 and 2, of which the cores that this calls steal one each.
    tasks = graph([NOWHERE, 4.0, 4.0], edges=((0, 1), (0, 2)), device_ms=[1.0, 1.0, 1.0])
    policy = alone("ws", push_s=1e-6)
    result = run(policy, replace(tasks, synchronous=np.arange(3) == 0 if waits else None))
    assert workers_of(result) == workers
