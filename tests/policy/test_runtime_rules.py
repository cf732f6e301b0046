"""Rules of runtimes with queues: the kernel decides as the policies' hooks do, event for event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine import load_machine
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.list_scheduling.deque_model import DequeModel
from simsched.policy.contract.base import HookView, Placement, Plan, PlanView, Policy, view_before
from simsched.policy.contract.plan_checks import validate_plan
from simsched.policy.parts.runtime_state import RuntimeState
from simsched.trace.run import Run
from simsched.workload.builder import accesses, adjacency, build_graph, last_writes
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload
from tests.engine.test_copies import MB, device_machine
from tests.engine.test_drivers import driven

RULED = (
    "dm",
    "dmda",
    "dmdar",
    "dmdas",
    "modular_heft",
    "eager",
    "prio",
    "random",
    "ws",
    "lws",
    "heteroprio",
)
SEEDS = 8
NOWHERE = float("inf")


def random_machine(rng: np.random.Generator) -> Machine:
    """Return cores alone, or cores and devices, whose drivers may take time and lack room."""
    cores = int(rng.integers(1, 5))
    made = {
        0: lambda: make_machine(domains=int(rng.integers(1, 4)), cores_per_domain=cores),
        1: lambda: device_machine(devices=int(rng.integers(1, 4)), cores=cores),
        2: lambda: device_machine(capacity_bytes=40 * MB),
        3: lambda: driven(hand_over_us=10, allocation_us=175, chunk=10 * MB),
        4: lambda: driven(hand_over_us=3, look_us=1, capacity_bytes=50 * MB),
        5: lambda: load_machine(str(rng.choice(["mirage", "sirocco"]))),
    }
    return made[int(rng.integers(len(made)))]()


def random_graph(
    rng: np.random.Generator, kinds: tuple[str, ...], sizes: np.ndarray[Any, Any]
) -> TaskGraph:
    """Return tasks of two classes with edges, data, priorities and what runtimes are told."""
    n = int(rng.integers(1, 70))
    source, target = np.nonzero(np.triu(rng.random((n, n)) < rng.choice([0.5, 2.0]) / n, 1))
    task_class = rng.integers(0, 2, n)
    cost = rng.choice([0.0, 1e5, 4e6, 7e8], 2)[task_class] * rng.uniform(0.5, 2.0, n)
    ops = np.tile(cost, (len(kinds), 1))
    if len(kinds) > 1:
        ops[1:] *= rng.choice([0.3, 4.0])
        only = np.flatnonzero(rng.random(n) < 0.2)
        ops[rng.integers(0, len(kinds), len(only)), only] = NOWHERE
    task, block = np.nonzero(rng.random((n, len(sizes))) < 1.5 / len(sizes))
    use = rng.integers(0, 3, len(task))
    accessed = accesses(
        task, block, np.where(use == 1, 0, sizes[block]), np.where(use == 0, 0, sizes[block]), n
    )
    made = build_graph(
        ops,
        kinds=kinds,
        successors=adjacency(source, target, n),
        accessed=accessed,
        block_bytes=sizes,
        task_class=task_class.astype(np.int32),
        class_names=("a", "b"),
        priority=rng.integers(-3, 4, n).tolist() if rng.random() < 0.6 else None,
    )
    told: dict[str, Any] = {}
    if rng.random() < 0.5:
        told["access_final"] = last_writes(accessed)
    if rng.random() < 0.4:
        told["synchronous"] = rng.random(n) < 0.3
    return replace(made, **told)


def random_program(rng: np.random.Generator, machine: Machine) -> Workload:
    sizes = rng.choice([0, 1000, MB, 10 * MB], int(rng.integers(1, 8))).astype(np.int64)
    first = random_graph(rng, machine.kinds, sizes) if rng.random() < 0.3 else None
    graph = random_graph(rng, machine.kinds, sizes)
    return Workload("random", graph, iterations=int(rng.integers(1, 4)), init=first)


def random_parameters(rng: np.random.Generator) -> dict[str, Any]:
    costs = ("push_s", "look_s", "fetch_s", "release_s")
    found: dict[str, Any] = {name: float(rng.choice([0.0, 1e-6])) for name in costs}
    found["cores_per_device"] = int(rng.integers(0, 3))
    found["device_pipeline"] = int(rng.integers(1, 3))
    found["information"] = str(rng.choice(["exact", "class_mean", "blind"]))
    return found


def own_parameters(name: str, rng: np.random.Generator) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if name.startswith("dm") or name == "modular_heft":
        found["alpha"] = float(rng.choice([0.0, 0.5, 1.0]))
        found["beta"] = float(rng.choice([0.0, 1.0, 1.7]))
        found["bus_slowdown"] = float(rng.choice([0.0, 1.0, 3.3]))
    if name == "modular_heft":
        found["most_queued"] = int(rng.choice([1, 3, 30]))
    if name == "heteroprio":
        found["ordering_interval"] = int(rng.choice([1, 3, 32]))
        found["min_samples"] = int(rng.choice([0, 2, 16]))
        found["max_taken"] = int(rng.choice([1, 2, 5]))
    return found


def assert_same(native: Run, reference: Run, about: str) -> None:
    assert native.trace is not None
    assert reference.trace is not None
    for name, column in native.trace.events.items():
        assert np.array_equal(column, reference.trace.events[name]), f"{about}: {name}"
    assert native.summary.transfers == reference.summary.transfers, about


@pytest.mark.parametrize("name", RULED)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_kernel_decides_as_the_hooks_do(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = random_machine(rng)
    workload, parameters = random_program(rng, machine), random_parameters(rng)
    policy = make_policy(name, parameters | own_parameters(name, rng))
    native, reference = (
        simulate(machine, workload, policy, seed=seed, backend=backend, events=True)
        for backend in ("native", "simpy")
    )
    assert_same(native, reference, f"{name}, seed {seed}")


def plan_of(policy: Policy, machine: Machine, graph: TaskGraph) -> Plan:
    view = view_before(machine, Workload("tasks", graph), policy=policy)
    return policy.plan(view, policy.start(view), graph)


@pytest.mark.parametrize("name", RULED)
def test_the_kernel_calls_no_hooks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("a hook is called")

    policy, graph = make_policy(name), build_graph(np.full(9, 1000.0))
    machine, workload = make_machine(), Workload("tasks", graph)
    assert plan_of(policy, machine, graph).runtime is not None
    for base in type(policy).__mro__:
        if "on_wake" in vars(base) and base is not Policy:
            monkeypatch.setattr(base, "on_wake", refuse)
    assert simulate(machine, workload, policy).summary.n_tasks == 9
    with pytest.raises(AssertionError, match="a hook is called"):
        simulate(machine, workload, policy, backend="simpy")


def test_a_class_that_decides_otherwise_has_hooks() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Last(DequeModel):
        """Gives every task to the last worker."""

        def best_worker(
            self, view: HookView, state: RuntimeState, task: int, now: int, released: set[int]
        ) -> tuple[int, int]:
            return state.order[-1], 0

    machine, graph = make_machine(), build_graph(np.full(9, 1000.0))
    assert plan_of(Last(), machine, graph).runtime is None
    executed = simulate(machine, Workload("tasks", graph), Last()).summary.tasks_per_worker
    assert executed.tolist() == [0, 0, 0, 9]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rule": "nobody"}, "runtime: unknown rule 'nobody'"),
        ({"members": np.array([4], np.int32)}, "members.*found 4, accepted 0 to 3"),
        ({"members": np.empty(0, np.int32)}, "found 0 members"),
        ({"row": np.array([0, 0, 0, 1], np.int32)}, "rows up to 1, accepted one or more, and rows"),
        ({"able": np.zeros((1, 2), bool)}, "task 0: found no member that can execute it"),
        ({"is_device": np.arange(4) == 2}, "found a device behind a core, accepted devices first"),
        ({"expected": None}, "found no part with the rule 'expected_ends', accepted expected"),
        ({"rule": "central"}, "found expected with the rule 'central', accepted none"),
        ({"pipeline": 3}, "pipeline: found 3, accepted an integer from 1 to 2"),
        ({"byte_ps": np.full((2, 2), np.nan)}, "byte_ps.*found nan"),
        ({"byte_ps": np.full((2, 2), 1)}, "byte_ps.*accepted an array of numbers"),
        ({"cost_ps": np.zeros((2, 2), np.int64)}, "cost_ps: found 2 rows, accepted 1"),
    ],
)
def test_rules_that_mean_nothing_are_refused(changed: dict[str, Any], message: str) -> None:
    machine, graph = make_machine(), build_graph(np.full(2, 1000.0))
    plan = plan_of(make_policy("dmda"), machine, graph)
    assert plan.runtime is not None
    assert plan.runtime.expected is not None
    expected = plan.runtime.expected
    if next(iter(changed)) in ("byte_ps", "cost_ps"):
        changed = {"expected": replace(expected, **changed)}
    bad = replace(plan, runtime=replace(plan.runtime, **changed))
    instances = {"worker": 4, "domain": 2, "socket": 2, "machine": 1, "class": 1}
    with pytest.raises(PolicyError, match=message):
        validate_plan(bad, graph, instances, 4, 2)


def test_a_runtime_needs_its_pools() -> None:
    machine, graph = make_machine(), build_graph(np.full(2, 1000.0))
    plan = plan_of(make_policy("dmda"), machine, graph)
    bad = replace(plan, pool_groups=plan.pool_groups[:3])
    instances = {"worker": 4, "domain": 2, "socket": 2, "machine": 1, "class": 1}
    with pytest.raises(PolicyError, match="accepted 4 with scope 'worker' first: own, queued"):
        validate_plan(bad, graph, instances, 4, 2)


def test_a_runtime_stands_for_hooks_of_the_policy_and_no_others() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Silent(Policy):
        """Plans as dm does, without its hooks."""

        def place(self, view: PlanView, state: Any) -> Placement:
            return Placement(np.empty(0, np.int32), view.machine.touch_order)

        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return plan_of(make_policy("dm"), view.machine, graph)

    class Timed(Silent):
        """With a hook that the kernel would not call."""

        timer_period_s = 1.0

        def on_timer(self, view: HookView, state: Any) -> tuple[()]:
            return ()

    workload = Workload("tasks", build_graph(np.full(9, 1000.0)))
    for policy, found in ((Silent(), "no hooks"), (Timed(), "on_timer")):
        for backend in ("native", "simpy"):
            with pytest.raises(PolicyError, match=f"runtime: found one with {found}, accepted one"):
                simulate(make_machine(), workload, policy, backend=backend)


@pytest.mark.parametrize(("name", "tiles"), [("cholesky", 10), ("lu", 7)])
def test_the_kernel_learns_orders_of_buckets(name: str, tiles: int) -> None:
    parameters = {"tiles": tiles, "tile_size": 960, "costs": "measured"}
    single = {"element_bytes": 4} if name == "cholesky" else {"precision": "single"}
    workload = generate_workload(name, parameters | single)
    policy = make_policy("heteroprio", {"ordering_interval": 1, "min_samples": 2})
    native, reference = (
        simulate(load_machine("mirage"), workload, policy, backend=backend, events=True)
        for backend in ("native", "simpy")
    )
    assert_same(native, reference, name)
