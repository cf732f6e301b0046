"""The binding of the kernel: arguments, hooks, errors, signals, threads."""

from __future__ import annotations

import _thread
import gc
import threading
import time
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.interface.decisions import record_of
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.native import NativeBackend, build_config, version
from simsched.engine.plans import resolve_plan
from simsched.engine.problem import make_problem, run_streams
from simsched.engine.run import BACKENDS, simulate
from simsched.files.errors import GraphError, ModelError, PolicyError, StalledError
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Placement, Plan, PlanView
from simsched.policy.contract.decisions import Preempt, Transfer, Wake
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

HOOKS = (
    *("on_ready", "on_idle", "on_finish", "on_timer", "on_spawn", "on_acquire", "on_start"),
    *("on_landing", "on_wake"),
)
STEALING = Plan(acquire=(AcquireStep("worker"), AcquireStep("worker", "anywhere", "oldest")))


class Hooks:
    """Hooks that do what a test puts into them."""

    def __init__(self, **functions: Any) -> None:
        for name in HOOKS:
            setattr(self, f"wants_{name}", name in functions)
        self.__dict__.update(functions)
        self.compiled: dict[str, Any] = {}
        self.state: Any = None

    def attach(self, state: Any) -> None:
        self.state = state


def small_graph(n: int = 8, block_bytes: int = 1000) -> TaskGraph:
    every = np.arange(n)
    accessed = accesses(every, every, block_bytes, 10, n)
    return build_graph(np.full(n, 1000.0), accessed=accessed, block_bytes=np.full(n, block_bytes))


def prepare(
    graph: TaskGraph, plan: Plan = STEALING, **machine: Any
) -> tuple[Problem, ResolvedPlan]:
    model = make_machine(**machine)
    home = np.full(graph.n_blocks, -1, np.int32)
    problem = make_problem(
        model,
        Workload("small", graph),
        Placement(home, model.touch_order),
        model.place_workers(),
        seed=1,
    )
    return problem, resolve_plan(plan, graph, problem)


def run(
    graph: TaskGraph, problem: Problem, plan: ResolvedPlan, hooks: Hooks | None = None
) -> NativeBackend:
    backend = NativeBackend(problem, hooks or Hooks(), events=True)
    backend.run_iteration(1, graph, plan, last=True)
    return backend


def test_a_backend_that_is_stopped_runs_again_and_not_before_it_is_restarted() -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    backend = NativeBackend(problem, Hooks(), events=False)
    seen = []
    for seed in (1, 5, 1):
        streams = run_streams(seed)
        backend.restart(problem.drawing(**streams), Hooks())
        backend.run_iteration(1, graph, plan, last=True)
        seen.append((backend.summary().makespan_ps, streams["victim_stream"].state))
        backend.stop()
        with pytest.raises(RuntimeError, match="not ready"):
            backend.run_iteration(1, graph, plan, last=True)
    alone = NativeBackend(problem, Hooks(), events=False)
    alone.run_iteration(1, graph, plan, last=True)
    assert seen[0] == seen[2] == (alone.summary().makespan_ps, problem.victim_stream.state)


def test_build_is_described() -> None:
    config = build_config()
    assert config["version"] == version()
    assert "-ffp-contract=off" in str(config["flags"])
    assert isinstance(config["debug"], bool)
    assert config["compiler"] != "unknown"


@pytest.mark.filterwarnings("error")
def test_steps_of_another_type_are_refused_without_being_counted() -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    victims = replace(
        plan.order.victims, step_list=plan.order.victims.step_list.astype(np.complex128)
    )
    wrong = replace(plan, order=replace(plan.order, victims=victims))
    with pytest.raises(ValueError, match="step_list: found type"):
        run(graph, problem, wrong)


@pytest.mark.parametrize(
    "name",
    [
        "worker_core",
        "worker_rate",
        "node_capacity_bytes",
        "block_bytes",
        "home",
        "touch_order",
        "granule_ptr",
    ],
)
def test_arrays_of_problems_are_checked(name: str) -> None:
    graph = small_graph()
    problem, _ = prepare(graph)
    array = getattr(problem, name)
    wrong = [
        array.astype(np.float32),
        np.concatenate((array, array)),
        array.tolist(),
        np.repeat(array, 2, axis=-1)[..., ::2],
    ]
    for bad in wrong:
        with pytest.raises(ValueError, match=r"(Problem|Paths)\.\w+: "):
            NativeBackend(replace(problem, **{name: bad}), Hooks(), events=False)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("worker_core", -5),
        ("worker_domain", -1),
        ("home", 99),
        ("touch_order", -1),
        ("block_bytes", -1),
        ("worker_rate", 0.0),
        ("resource_capacity", np.nan),
        ("node_kind", -1),
    ],
)
def test_values_of_problems_are_checked(name: str, bad: float) -> None:
    problem, _ = prepare(small_graph())
    array = getattr(problem, name).copy()
    array.flat[0] = bad
    with pytest.raises(ValueError, match=name):
        NativeBackend(replace(problem, **{name: array}), Hooks(), events=False)


def test_blocks_without_bytes_have_no_granules() -> None:
    """The kernel divides the bytes of a block among its granules."""
    problem, _ = prepare(small_graph())
    sizes = problem.block_bytes.copy()
    sizes[0] = 0
    granules = np.arange(len(sizes) + 1, dtype=np.int64)
    frames = np.zeros(len(sizes), np.int64)
    broken = replace(problem, block_bytes=sizes, granule_ptr=granules, granule_frame=frames)
    with pytest.raises(ValueError, match="granule_ptr is malformed at entry 0"):
        NativeBackend(broken, Hooks(), events=False)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("succ_ptr", 7),
        ("access_block", 10**6),
        ("read_bytes", -1),
        ("join_access", 10**6),
        ("ops", np.nan),
        ("arrival_ps", -1),
    ],
)
def test_values_of_graphs_are_checked(name: str, bad: float) -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    array = getattr(graph, name).copy()
    array.flat[-1] = bad
    with pytest.raises(ValueError, match=name):
        run(replace(graph, **{name: array}), problem, plan)


@pytest.mark.parametrize(
    ("name", "bad"), [("group_of", 5), ("instance_of", 99), ("step_where", 4), ("spawn_order", 2)]
)
def test_values_of_plans_are_checked(name: str, bad: int) -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    part = plan.order if name.startswith("step_") else plan
    array = getattr(part, name).copy()
    array[0] = bad
    changed = replace(part, **{name: array})
    with pytest.raises(ValueError, match=name):
        run(graph, problem, changed if part is plan else replace(plan, order=changed))


def test_lengths_of_graph_and_plan_are_checked() -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    with pytest.raises(ValueError, match=r"ResolvedPlan.spawn_order: found shape \(8,\)"):
        run(small_graph(9), problem, plan)
    with pytest.raises(ValueError, match="moves"):
        run(graph, problem, plan).migrate(0, np.zeros(2, np.int32), np.zeros(1, np.int32), 1)


def test_arrays_stay_alive_while_the_backend_needs_them() -> None:
    graph = small_graph(64)
    problem, plan = prepare(graph)
    backend = NativeBackend(problem, Hooks(), events=True)
    del problem
    gc.collect()
    backend.run_iteration(1, graph, plan, last=False)
    del graph, plan
    gc.collect()
    moves = np.arange(64, dtype=np.int32)
    backend.migrate(10, moves, np.zeros(64, np.int32), 2)
    backend.verify()
    assert (backend.counters().block_home == 0).all()


def test_results_are_copies() -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    backend = run(graph, problem, plan)
    backend.counters().block_home[:] = 77
    assert (backend.counters().block_home < 77).all()


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("hook", [name for name in HOOKS if name != "on_spawn"])
def test_exceptions_of_hooks_come_out_unchanged(hook: str, error: BaseException) -> None:
    def fail(*arguments: int) -> None:
        raise error

    graph = small_graph()
    problem, plan = prepare(graph)
    problem = replace(problem, timer_period_ps=10)
    hooks = {hook: fail}
    if hook == "on_landing":
        delayed = record_of(Transfer(0, 0, 0, 0, 1, 100))
        hooks["on_ready"] = lambda *_: (-1, 0, [delayed])
    if hook == "on_wake":
        hooks["on_ready"] = lambda *_: (-1, 0, [record_of(Wake(5))])
    backend = NativeBackend(problem, Hooks(**hooks), events=True)
    with pytest.raises(type(error)) as caught:
        backend.run_iteration(1, graph, plan, last=True)
    assert caught.value is error
    with pytest.raises(RuntimeError):
        backend.run_iteration(1, graph, plan, last=True)


@pytest.mark.parametrize("answer", [(1,), ("a", "b", []), (2**40, 0, []), 5])
def test_answers_of_hooks_that_make_no_sense(answer: Any) -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        run(graph, problem, plan, Hooks(on_ready=lambda task, worker: answer))


def test_a_pool_that_does_not_exist() -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    with pytest.raises(PolicyError, match="on_ready: a decision means nothing to the engine"):
        run(graph, problem, plan, Hooks(on_ready=lambda task, worker: (3, 0, [])))


def test_a_victim_that_does_nothing() -> None:
    graph = small_graph(1)
    problem, plan = prepare(graph, domains=2)
    with pytest.raises(PolicyError, match="on_idle: worker 99 is not executing a task"):
        run(graph, problem, plan, Hooks(on_idle=lambda worker: record_of(Preempt(99, worker))))


def test_hooks_cannot_run_the_backend_they_are_called_from() -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    hooks = Hooks(
        on_finish=lambda task, worker: hooks.state.run_iteration(2, graph, plan, last=True)
    )
    with pytest.raises(RuntimeError, match="not ready"):
        run(graph, problem, plan, hooks)


def test_a_stall_says_what_tasks_wait_for() -> None:
    graph = small_graph(2)
    problem, plan = prepare(graph)
    active = plan.active.copy()
    active[1:] = 0
    plan = replace(plan, active=active, instance_of=np.array([1, 1], np.int32))
    backend = NativeBackend(problem, Hooks(), events=True)
    with pytest.raises(
        StalledError, match="task 0 is in pool group 0 instance 1, from which no worker"
    ):
        backend.run_iteration(1, graph, plan, last=True)
    waiting = backend.waiting_state()
    assert waiting["pool_instance"].tolist() == [1, 1]
    assert waiting["pending"].tolist() == [0, 0]
    assert waiting["started"].tolist() == [0, 0]


def test_memory_that_runs_out() -> None:
    graph = small_graph(8)
    problem, plan = prepare(graph, domains=1)
    problem = replace(problem, node_capacity_bytes=np.array([3500], np.int64))
    with pytest.raises(
        ModelError, match=r"block . of 1000 bytes finds no room .* 2.92969 KiB of the"
    ):
        run(graph, problem, plan)


def test_a_task_without_processor() -> None:
    graph = small_graph(4)
    problem, plan = prepare(graph)
    graph = replace(graph, ops=np.full_like(graph.ops, np.inf))
    with pytest.raises(ModelError, match="no cost for processor kind 'cpu'"):
        run(graph, problem, plan)


def run_and_wait(backend: NativeBackend, graph: TaskGraph, plan: ResolvedPlan) -> None:
    """Run, and wait for a signal that may come after the end on a fast machine."""
    backend.run_iteration(1, graph, plan, last=True)
    time.sleep(5)


def test_ctrl_c_stops_a_long_run() -> None:
    n = 3_000_000
    graph = build_graph(np.full(n, 1000.0))
    problem, plan = prepare(graph)
    backend = NativeBackend(problem, Hooks(), events=False)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        run_and_wait(backend, graph, plan)
    assert backend.events_handled() <= n + 10


def test_other_threads_run_meanwhile() -> None:
    n = 1_000_000
    graph = build_graph(np.full(n, 1000.0))
    problem, plan = prepare(graph)
    backend = NativeBackend(problem, Hooks(), events=False)
    seen: list[int] = []
    thread = threading.Thread(
        target=backend.run_iteration, args=(1, graph, plan), kwargs={"last": True}
    )
    thread.start()
    while thread.is_alive():
        seen.append(backend.events_handled())
        time.sleep(0.001)
    thread.join()
    assert len(set(seen)) > 2


def test_backends_are_freed_with_their_hooks() -> None:
    class Weak(NativeBackend):
        pass

    graph = small_graph()
    problem, plan = prepare(graph)
    hooks = Hooks()
    backend = Weak(problem, hooks, events=True)  # hooks keep the backend, the backend its hooks
    backend.run_iteration(1, graph, plan, last=True)
    gone = weakref.ref(backend)
    del backend, hooks
    gc.collect()
    assert gone() is None


def test_trace_is_kept_on_request_only() -> None:
    graph = small_graph()
    problem, plan = prepare(graph)
    kept = run(graph, problem, plan)
    problem, plan = prepare(graph)
    counted = NativeBackend(problem, Hooks(), events=False)
    counted.run_iteration(1, graph, plan, last=True)
    trace = kept.trace()
    assert trace is not None
    assert counted.trace() is None
    assert len(trace) == kept.summary().n_events == counted.summary().n_events > 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", [500_000_000, 5])
def test_a_graph_that_changes_is_refused(backend: str, target: int) -> None:
    # A chain whose edges are a view of an array that somebody makes writable again.
    n = 10
    chain = build_graph(np.ones(n), successors=adjacency(np.arange(n - 1), np.arange(1, n), n))
    mine = np.array([*chain.succ, 0], np.int32)
    graph = replace(chain, succ=mine[: n - 1])
    assert graph.is_fixed
    with pytest.raises(ValueError, match="read-only"):
        mine[5] = target
    mine.flags.writeable = True
    assert not graph.is_fixed

    class Spoiler(CentralQueue):
        def on_iteration(self, view: PlanView, state: Any, counters: Any) -> None:
            mine[5] = target

    with pytest.raises(GraphError):
        simulate(make_machine(), Workload("w", graph, iterations=3), Spoiler(), backend=backend)


def test_the_kernel_checks_a_graph_anew_unless_it_is_fixed_and_the_same() -> None:
    good = small_graph()
    problem, plan = prepare(good)
    backend = NativeBackend(problem, Hooks(), events=False)
    for graph in (good, good, replace(good, ops=good.ops * 2)):
        backend.run_iteration(1, graph, plan, last=False)
        backend.verify()
    assert backend.summary().n_tasks == 3 * good.n_tasks
    bad = replace(good, ops=np.full_like(good.ops, np.nan))
    with pytest.raises(ValueError, match="ops"):
        backend.run_iteration(2, bad, plan, last=False)
