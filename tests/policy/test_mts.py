"""Multi-threaded shepherds: a stack per socket, batches between sockets."""

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.work_stealing.mts import Mts
from simsched.policy.contract.base import HookView
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload

OPTERON = load_machine("amd_4x_opteron8380")
COSTS = RuntimeCosts(
    push_ps=20_000,
    pop_ps=10_000,
    steal_probe_ps=(100_000, 100_000, 200_000, 300_000),
    steal_ps=(1_000_000, 1_000_000, 3_000_000, 4_000_000),
)
SQUARE = replace(OPTERON, costs=COSTS)
TWO = make_machine(domains=2, cores_per_domain=4, costs=COSTS)
#: t0 starts t1, which spawns t2 and t3; t2 spawns t4 and t5, t3 spawns t6 and t7.
EXAMPLE = Workload(
    "example",
    build_graph(np.full(8, 1e6), children=adjacency([0, 1, 1, 2, 2, 3, 3], np.arange(1, 8), 8)),
)
#: A task with 40 children.
FAN = Workload("fan", build_graph(np.full(41, 1e5), children=adjacency([0] * 40, range(1, 41), 41)))


def run(workload: Workload, machine: Any = OPTERON, **params: Any) -> Run:
    return simulate(machine, workload, make_policy("mts", params), events=True)


def column(done: Run, kind: EventKind, name: str) -> list[int]:
    assert done.trace is not None
    events = done.trace.events
    return events[name][events["kind"] == kind].tolist()


def view_of(machine: Machine) -> HookView:
    """Return what the policy sees of a machine at time 0."""
    threads = machine.place_workers()
    clock: Any = SimpleNamespace(now_ps=lambda: 0)
    return HookView(
        machine,
        FAN,
        threads,
        machine.core_domain[machine.thread_core[threads]],
        np.random.default_rng(0),
        live=clock,
    )


def test_one_worker_goes_depth_first_from_the_last_child() -> None:
    done = run(EXAMPLE, make_machine(domains=1, cores_per_domain=1))
    assert column(done, EventKind.TASK_START, "task") == [0, 1, 3, 7, 6, 2, 5, 4]


def test_the_only_worker_without_work_gets_a_new_task() -> None:
    # One worker in each of two sockets, nothing costs time: of two children of 1 ms each runs one.
    pair = Workload("pair", build_graph([0.0, 1e6, 1e6], children=adjacency([0, 0], [1, 2], 3)))
    done = run(pair, make_machine(domains=2, cores_per_domain=1))
    assert done.summary.makespan_ps < 1.01e9


def test_all_tasks_go_through_the_queues_of_sockets() -> None:
    done = run(FAN)
    assert set(column(done, EventKind.TASK_READY, "arg0")) == {1}
    assert set(column(done, EventKind.TASK_READY, "arg1")) == {0, 1, 2, 3}


@pytest.mark.parametrize(("batch", "most"), [(0, 4), (1, 1), (6, 6)])
def test_thieves_take_tasks_for_all_workers_of_their_socket(batch: int, most: int) -> None:
    assert max(column(run(FAN, batch=batch), EventKind.TRANSFER, "arg1")) == most


def test_thieves_take_the_oldest_tasks() -> None:
    # The children are queued in the order of their numbers, of which socket 0 takes the newest.
    done = run(FAN, TWO)
    tasks = column(done, EventKind.TASK_START, "task")
    workers = column(done, EventKind.TASK_START, "worker")
    stolen = [task for task, worker in zip(tasks, workers, strict=True) if worker >= 4]
    kept = [task for task, worker in zip(tasks, workers, strict=True) if worker < 4]
    assert len(stolen) == sum(column(done, EventKind.TRANSFER, "arg1")) > 10
    assert np.median(stolen) < np.median(kept)


def test_a_batch_serves_the_largest_socket() -> None:
    done = simulate(OPTERON, FAN, make_policy("mts"), workers=6, events=True)
    assert max(column(done, EventKind.TRANSFER, "arg1")) == 2


def test_one_worker_steals_for_its_socket_at_a_time() -> None:
    # All four stole at once, whenever their queue was empty. Here all steals are from socket 0 for
    # socket 1, and take the cost of a steal at least: 3 us.
    done = run(FAN, TWO)
    assert set(column(done, EventKind.TRANSFER, "arg0")) == {1 << 32}
    times = column(done, EventKind.TRANSFER, "time_ps")
    assert len(times) > 3
    assert min(np.diff(times)) >= 3_000_000


def test_a_steal_takes_its_probes_and_pushes() -> None:
    # The thief of socket 1 finds the first of three spare tasks in socket 0, at once or after
    # having looked at one or both of the others; then two more are pushed into its own queue.
    policy = Mts(victim="nearest")
    view = view_of(SQUARE)
    state = policy.start(view)
    steal = policy._steal(view, state, 12, {0: 3, 1: 0, 2: 0, 3: 0}, 1)
    assert steal is not None
    # Two near sockets in vain at 200 ns each, 4 us for two hops, two pushes of 20 ns.
    assert steal.delay_ps == 2 * 200_000 + 4_000_000 + 2 * 20_000
    assert (steal.count, steal.instance, steal.to_instance, steal.take) == (3, 0, 3, "oldest")
    assert state.stealing_until_ps == {3: 4_440_000}
    shared = policy._steal(view, policy.start(view), 12, {0: 3, 1: 0, 2: 0, 3: 0}, 2)
    assert shared is not None
    assert shared.delay_ps == 200_000 + 4_000_000 + 2 * 20_000
    assert policy._steal(view, policy.start(view), 12, {0: 0, 1: 0, 2: 0, 3: 9}, 1) is None


def test_the_nearest_socket_is_tried_first() -> None:
    # A square of sockets: 0 and 3 are two hops apart.
    view = view_of(OPTERON)

    def orders(victim: str) -> set[tuple[int, ...]]:
        policy = Mts(victim=victim)
        return {tuple(policy._victims(view, policy.start(view), 0)) for _ in range(100)}

    assert orders("nearest") == {(1, 2, 3), (2, 1, 3)}
    assert orders("random") == set(permutations((1, 2, 3)))


def test_only_head_workers_steal_if_they_are_said_to() -> None:
    # Children of different length, so that the head worker is not always the first to end.
    ops = np.append(1e5, np.tile([1e6, 1e5, 2e5, 5e5], 10))
    uneven = Workload("uneven", build_graph(ops, children=adjacency([0] * 40, range(1, 41), 41)))

    def head_works(thief: str) -> set[bool]:
        done = run(uneven, TWO, thief=thief)
        head = [
            [
                time
                for time, worker in zip(
                    column(done, kind, "time_ps"), column(done, kind, "worker"), strict=True
                )
                if worker == 4
            ]
            for kind in (EventKind.TASK_START, EventKind.TASK_END)
        ]
        return {
            any(start < time < end for start, end in zip(*head, strict=True))
            for time in column(done, EventKind.TRANSFER, "time_ps")
        }

    assert head_works("head_worker") == {False}
    assert head_works("first_worker") == {False, True}
