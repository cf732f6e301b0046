"""Hooks that are compiled functions decide, on both engines, what the same hooks in Python do."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.conformance import compare
from simsched.engine.fit import rehearse
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, PolicyError
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireStep,
    Compiled,
    HookView,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Preempt,
    compiled,
    get_include,
)
from simsched.testing import small_workloads
from simsched.trace.run import Run
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload
from tests.compiling import DEFAULT, STRICT

SOURCE = r"""
#include "simsched_hooks.h"

#include <stddef.h>

typedef struct {
    int64_t n_workers, snatches_left;
    uint64_t seen;
} memory_t;

static void note(memory_t *m, int64_t number)
{
    m->seen = m->seen * 31 + (uint64_t)number;
}

int32_t on_spawn(const simsched_view_t *view, memory_t *m, int32_t parent, int32_t child,
                 int32_t worker)
{
    static const int orders[] = {SIMSCHED_CHILD_FIRST, SIMSCHED_PARENT_FIRST, SIMSCHED_AS_PLANNED};
    note(m, view->now_ps + parent * 7 + worker);
    return orders[child % 3];
}

int64_t on_ready(const simsched_view_t *view, memory_t *m, int32_t task, int32_t worker)
{
    note(m, worker);
    if (task % 5 == 4)
        return SIMSCHED_AS_PLANNED;
    if (view->queue_length(view, 1, 0) < 2)
        return SIMSCHED_POOL(1, 0);
    return SIMSCHED_POOL(0, task % m->n_workers);
}

void on_acquire(const simsched_view_t *view, memory_t *m, int32_t task, int32_t worker,
                int32_t group, int32_t instance)
{
    note(m, view->now_ps + task * 3 + worker * 5 + group * 7 + instance);
}

void on_start(const simsched_view_t *view, memory_t *m, int32_t task, int32_t worker)
{
    note(m, view->block_home(view, 0) * 3 + task + worker);
}

int32_t on_idle(const simsched_view_t *view, memory_t *m, int32_t worker)
{
    note(m, worker);
    for (int32_t other = 0; other < m->n_workers && m->snatches_left > 0; other++) {
        if (other != worker && view->running_task(view, other) >= 0) {
            m->snatches_left--;
            return other;
        }
    }
    return SIMSCHED_AS_PLANNED;
}

void on_finish(const simsched_view_t *view, memory_t *m, int32_t task, int32_t worker)
{
    for (int32_t other = 0; other < m->n_workers; other++)
        note(m, view->is_waiting(view, other));
    note(m, task * 11 + worker);
}

int64_t answer(const simsched_view_t *view, int64_t *m)
{
    return view->now_ps < 0 ? 0 : m[0];
}

int32_t next_worker(const simsched_view_t *view, int64_t *m, int32_t worker)
{
    return (worker + 1) % (int32_t)m[0];
}

void look_beyond(const simsched_view_t *view, int64_t *m)
{
    static const int32_t beyond[] = {-1, 1000000};
    for (int i = 0; i < 2; i++) {
        m[0] += view->queue_length(view, beyond[i], 0) + view->queue_length(view, 0, beyond[i]);
        m[1] += view->is_waiting(view, beyond[i]);
        m[2] += view->running_task(view, beyond[i]) + view->block_home(view, beyond[i]);
    }
    m[3] = sizeof(*view);
    m[4] = offsetof(simsched_view_t, block_home);
}
"""

HOOKS = ("on_spawn", "on_ready", "on_acquire", "on_start", "on_idle", "on_finish")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("hooks")
    return compile_hooks(SOURCE, folder / "hooks")


def compile_hooks(text: str, path: Path) -> ctypes.CDLL:
    source, made = path.with_suffix(".c"), path.with_suffix(".so")
    source.write_text(text)
    flags = [*STRICT, "-O2", "-shared", "-fPIC", "-Wno-unused-parameter", "-I", get_include()]
    subprocess.run([DEFAULT, *flags, str(source), "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


def memory_of(view: PlanView) -> Any:
    return np.array([view.n_workers, 3, 0], np.int64)


class Queues(CentralQueue):
    """Pools of workers and one for all; who finds nothing may snatch."""

    def start(self, view: PlanView) -> Any:
        return memory_of(view)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker"),
                AcquireStep("all", "own", "oldest"),
                AcquireStep("worker", "anywhere", "oldest"),
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("all", "machine")),
            spawn_order=CHILD_FIRST,
        )


def in_c(library: ctypes.CDLL, *hooks: str) -> Any:
    """Return a policy with these hooks in C."""

    def method(name: str) -> Any:
        return compiled(lambda self, view, state: Compiled(getattr(library, name), state))

    cls = type("InC", (Queues,), {name: method(name) for name in hooks or HOOKS})
    return dataclass(frozen=True, kw_only=True)(cls)()


@dataclass(frozen=True, kw_only=True)
class InPython(Queues):
    """The same as the functions in C."""

    @staticmethod
    def note(state: Any, number: int) -> None:
        state[2] = np.uint64((int(state[2]) % 2**64 * 31 + number) % 2**64).astype(np.int64)

    def on_spawn(
        self, view: HookView, state: Any, parent: int, child: int, worker: int
    ) -> int | None:
        self.note(state, view.live.now_ps() + parent * 7 + worker)
        return (CHILD_FIRST, PARENT_FIRST, None)[child % 3]

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool | None:
        self.note(state, worker)
        if task % 5 == 4:
            return None
        if view.live.queue_length(1, 0) < 2:
            return Pool(1, 0)
        return Pool(0, task % view.n_workers)

    def on_acquire(
        self, view: HookView, state: Any, task: int, worker: int, group: int, instance: int
    ) -> None:
        seen = view.live.now_ps() + task * 3 + worker * 5 + group * 7 + instance
        self.note(state, seen)

    def on_start(self, view: HookView, state: Any, task: int, worker: int) -> None:
        home = view.live.block_home(0) if view.workload.graph.n_blocks else -1
        self.note(state, home * 3 + task + worker)

    def on_idle(self, view: HookView, state: Any, worker: int) -> Preempt | None:
        self.note(state, worker)
        for other in range(view.n_workers):
            if state[1] > 0 and other != worker and view.live.running_task(other) >= 0:
                state[1] -= 1
                return Preempt(other, worker)
        return None

    def on_finish(self, view: HookView, state: Any, task: int, worker: int) -> None:
        for other in range(view.n_workers):
            self.note(state, int(view.live.is_waiting(other)))
        self.note(state, task * 11 + worker)


PROGRAMS = {
    "tree": ("fork_join", {"depth": 6, "leaf_costs": "uniform"}),
    "tiles": ("cholesky", {"tiles": 6}),
}


def machine() -> Machine:
    return make_machine(domains=2, cores_per_domain=2)


def program(name: str) -> Workload:
    return generate_workload(*PROGRAMS[name])


def events(run: Run) -> dict[str, list[int]]:
    assert run.trace is not None
    return {name: column.tolist() for name, column in run.trace.events.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_in_c_decide_as_methods_in_python(
    library: ctypes.CDLL, backend: str, name: str
) -> None:
    runs = [
        simulate(machine(), program(name), policy, backend=backend, events=True)
        for policy in (InPython(), in_c(library))
    ]
    assert events(runs[0]) == events(runs[1])
    assert runs[0].state.tolist() == runs[1].state.tolist()
    assert runs[1].state[1] < 3  # somebody has snatched


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook_may_be_the_only_one_in_c(library: ctypes.CDLL, backend: str, hook: str) -> None:
    others = {name: vars(InPython)[name] for name in HOOKS if name != hook}
    one = type(in_c(library, hook))
    mixed = dataclass(frozen=True, kw_only=True)(
        type("Mixed", (one,), {**others, "note": staticmethod(InPython.note)})
    )
    runs = [
        simulate(machine(), program("tree"), policy, backend=backend, events=True)
        for policy in (InPython(), mixed())
    ]
    assert events(runs[0]) == events(runs[1])
    assert runs[0].state.tolist() == runs[1].state.tolist()


@pytest.mark.parametrize("name", sorted(small_workloads()))
def test_engines_agree(library: ctypes.CDLL, name: str) -> None:
    case = compare(machine(), small_workloads()[name], in_c(library))
    assert not case.difference, case
    assert case.events or case.refused


def test_the_comparison_of_engines_calls_functions_directly(library: ctypes.CDLL) -> None:
    # Wrapped in Python the hooks would never reach the kernel as functions.
    from simsched.engine.compiled import compiled_hooks
    from simsched.engine.conformance import bounded

    assert compiled_hooks(bounded(in_c(library))) == set(HOOKS)


def one_function(hook: str, function: Any, memory: Any) -> Any:
    method = compiled(lambda self, view, state: Compiled(function, memory))
    return dataclass(frozen=True, kw_only=True)(type("One", (Queues,), {hook: method}))()


@pytest.mark.parametrize(
    ("hook", "found", "message"),
    [
        ("on_ready", 2 << 32, "on_ready: Pool: group: found 2, accepted 0 to 1"),
        ("on_ready", -2, "on_ready: Pool: group: found -1, accepted 0 to 1"),
        ("on_ready", (1 << 32) + 1, "on_ready: Pool: instance: found 1, accepted 0 to 0"),
        ("on_ready", 300, "on_ready: Pool: instance: found 300, accepted 0 to 3"),
        ("on_spawn", 2, "on_spawn: task 1: found 2, accepted CHILD_FIRST, PARENT_FIRST or None"),
        ("on_idle", 4, "on_idle: Preempt: worker: found 4, accepted 0 to 3"),
        ("on_idle", -7, "on_idle: Preempt: worker: found -7, accepted 0 to 3"),
        ("on_idle", 3, "on_idle: Preempt: worker: found 3, which is the one that asks"),
    ],
)
def test_wrong_answers_are_refused(
    library: ctypes.CDLL, backend: str, hook: str, found: int, message: str
) -> None:
    policy = one_function(hook, library.answer, np.array([found]))
    with pytest.raises(PolicyError) as raised:
        simulate(machine(), program("tree"), policy, backend=backend)
    assert message in str(raised.value)


def test_a_worker_without_a_task_cannot_lose_one(library: ctypes.CDLL) -> None:
    policy = one_function("on_idle", library.next_worker, np.array([4]))
    said = []
    for backend in ("simpy", "native"):
        with pytest.raises(PolicyError, match=r"on_idle: worker \d is not executing") as raised:
            simulate(machine(), small_workloads()["single"], policy, backend=backend)
        said.append(str(raised.value))
    assert said[0] == said[1]


def test_looks_beyond_what_there_is_find_nothing(library: ctypes.CDLL, backend: str) -> None:
    memory = np.zeros(5, np.int64)
    policy = one_function("on_finish", library.look_beyond, memory)
    run = simulate(machine(), program("tiles"), policy, backend=backend)
    n_tasks = run.summary.n_tasks
    # Five fields of eight bytes each; running tasks and homes are -1 each time.
    assert memory.tolist() == [0, 0, -4 * n_tasks, 40, 32]


def test_functions_are_asked_for_before_each_iteration(library: ctypes.CDLL, backend: str) -> None:
    given: list[Any] = []

    def on_finish(self: Any, view: PlanView, state: Any) -> Compiled:
        given.append(memory_of(view))
        return Compiled(library.on_finish, given[-1])

    cls = type("Renewed", (Queues,), {"on_finish": compiled(on_finish)})
    policy = dataclass(frozen=True, kw_only=True)(cls)()
    workload = generate_workload("cholesky", {"tiles": 3})
    thrice = Workload("thrice", workload.graph, iterations=3)
    simulate(machine(), thrice, policy, backend=backend)
    assert len(given) == 3
    assert all(memory[2] for memory in given)


def test_parts_of_divided_work_are_timed_beside_a_function(
    library: ctypes.CDLL, backend: str
) -> None:
    def divide(self: Any, view: PlanView, state: Any, remaining: int, counters: Any) -> Any:
        return np.array([10, 20])

    cls = type(in_c(library, "on_finish"))
    policy = dataclass(frozen=True, kw_only=True)(type("Divided", (cls,), {"divide": divide}))()
    sizes = {"units": 30, "chunks": 2, "cpu_ops": 1e3, "input_bytes": 0, "output_bytes": 0}
    fast = make_machine(domains=1, cores_per_domain=2, ops_per_s=1e9)
    run = simulate(fast, generate_workload("divisible", sizes), policy, backend=backend)
    assert run.summary.part_ps.tolist() == [[10_000_000, 20_000_000]]
    assert run.state[2] != 0  # the function has heard of the ends, too


def test_addresses_and_functions_are_accepted(library: ctypes.CDLL) -> None:
    address = ctypes.cast(library.on_start, ctypes.c_void_p).value
    assert Compiled(library.on_start).address == Compiled(address).address == address

    class Made:
        """What numba.cfunc makes."""

        def __init__(self) -> None:
            self.address = address

    assert Compiled(Made()).address == address


@pytest.mark.parametrize("function", [0, -1, None, "on_ready", 1.5, True, print])
def test_other_functions_are_refused(function: Any) -> None:
    with pytest.raises(PolicyError, match="Compiled: function: found"):
        Compiled(function)


@pytest.mark.parametrize(
    "memory",
    [[1], np.zeros((2, 2))[:, 0], np.array([None]), np.frombuffer(b"constant")],
)
def test_other_memory_is_refused(memory: Any) -> None:
    with pytest.raises(PolicyError, match="Compiled: memory: found"):
        Compiled(1, memory)


def test_a_hook_that_names_no_function_is_refused(backend: str) -> None:
    cls = type("None_", (Queues,), {"on_ready": compiled(lambda self, view, state: None)})
    policy = dataclass(frozen=True, kw_only=True)(cls)()
    with pytest.raises(PolicyError, match="on_ready: found nothing, accepted a Compiled"):
        simulate(machine(), program("tree"), policy, backend=backend)


def test_other_hooks_cannot_be_compiled() -> None:
    method = compiled(lambda self, view, state: Compiled(1))
    cls = type("Timed", (Queues,), {"on_timer": method, "timer_period_s": 1e-6})
    with pytest.raises(ConfigurationError, match="method on_timer: found a compiled hook"):
        dataclass(frozen=True, kw_only=True)(cls)()


def test_a_function_that_observes_decides_nothing(library: ctypes.CDLL) -> None:
    # Tasks stay in the pool of the first worker, where nobody else looks.
    class Own(Queues):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(acquire=(AcquireStep("worker"),), roots="first")

    def of(hook: str) -> Any:
        method = compiled(lambda self, view, state: Compiled(getattr(library, hook), state))
        return dataclass(frozen=True, kw_only=True)(type("One", (Own,), {hook: method}))()

    assert rehearse(machine(), program("tree"), of("on_finish"))
    assert not rehearse(machine(), program("tree"), of("on_ready"))
