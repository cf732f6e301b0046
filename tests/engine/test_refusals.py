"""Whatever a policy answers, both backends take it alike, or refuse it in the same words.

A refusal says the policy's name, the method, what was found and what is accepted, on one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.interface.decisions import HOOKS
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError, SimschedError
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import (
    AcquireOrder,
    AcquireStep,
    BlockPools,
    Device,
    Duplicate,
    Exchange,
    Kill,
    Monitor,
    Pace,
    PageBalancing,
    PlacedPolicy,
    Placement,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Preempt,
    Ranked,
    Transfer,
    Uniform,
    Update,
    Wake,
    Weighted,
)
from simsched.policy.contract.base import EngineState, Policy
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

#: A task with three children; everything takes some microseconds.
GRAPH = build_graph(
    np.full(4, 5000.0),
    children=adjacency([0, 0, 0], [1, 2, 3], 4),
    accessed=accesses(np.arange(4), np.array([0, 1, 0, 1]), 64, 64, 4),
    block_bytes=[4096, 4096],
)
MACHINE = make_machine(domains=2, cores_per_domain=1)
#: The same without spawns: tasks of it can be executed twice, and occupy a device.
FLAT = build_graph(
    np.full(4, 5000.0),
    accessed=accesses(np.arange(4), np.array([0, 1, 0, 1]), 64, 64, 4),
    block_bytes=[4096, 4096],
)
US = 10**6
GROUPS = PoolGroup("worker"), PoolGroup("all", "machine"), PoolGroup("gpu", device="gpu")
PLAN = Plan(
    acquire=(
        AcquireStep("worker"),
        AcquireStep("worker", "anywhere", choice=Ranked(np.zeros((2, 2), np.int32))),
        AcquireStep("worker", "anywhere", choice=Weighted(np.ones((2, 2), np.int32))),
        AcquireStep("all", choice=Uniform()),
        AcquireStep("gpu"),
    ),
    pool_groups=GROUPS,
    monitor=Monitor(10 * US, np.zeros((2, 1), np.int64)),
    balancing=PageBalancing(1e-3),
    devices=(Device("gpu"),),
)
PLACEMENT = Placement(np.zeros(2, np.int32), np.array([[0, 1], [1, 0]], np.int32))
POOLED = Placement(
    np.full(2, -1, np.int32),
    PLACEMENT.touch_order,
    BlockPools(np.full(2, 12, np.int32), np.full(2, -1, np.int32), np.full(2, -1, np.int32)),
)
#: What no hook may return.
NO_ANSWERS = [5, 2.5, "text", True, object(), Wake, np.zeros(2), np.array(1), np.float64(1), {1: 2}]
NO_DECISIONS = [5, "text", None, 1.5, Wake, object()]
#: For every field; some are right in one or the other.
VALUES: list[Any] = [
    *(0, 1, 2, 9, -1, -3, 2**31, 2**63, 10**30, True, np.int64(1), np.int8(1), np.uint64(2**63)),
    *(1.0, 0.5, 1e300, float("nan"), float("inf"), np.float32(1), np.float64(0.5)),
    *(None, "x", "", "own", "newest", "worker", b"x", object(), int, (), [], {}, (1,), ["x"]),
    *(Uniform, Uniform(), "ranked", AcquireStep("worker"), (AcquireStep("worker"),), PLAN),
    *(np.zeros(4, np.int32), np.ones(4), np.full(4, 9), np.full(4, 2**40), np.full(4, -3)),
    *(np.zeros(3, int), np.ones(2, bool), np.zeros(2, bool), np.zeros((2, 2)), np.array(["x"] * 4)),
    *(np.array([2**64] * 4, object), np.array(1), np.zeros(2, np.int32), np.full((2, 2), -1)),
    *(np.full((4, 2), 2**63, np.uint64), np.full((2, 1), 2), [0, 1], [0.5], [[0], [0, 1]]),
]


class Plain(PlacedPolicy):
    """Follows `PLAN`."""

    timer_period_s = 2e-6

    def start(self, view: PlanView) -> list[int]:
        return []

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return PLAN


def answering(hook: str, answer: Any, **others: Any) -> Policy:
    """Return a policy of the name Wrong, a method of which always gives one answer."""
    methods = {hook: lambda self, *_: answer, **others}
    made: Policy = type("Wrong", (Plain,), methods)()
    return made


def deciding(hook: str, answer: Any) -> Policy:
    """Return one whose fine hook gives the answer once, and is sure to be called."""

    def on_ready(self: Any, view: Any, state: Any, task: int, worker: int) -> Any:
        first = task == 0
        if hook == "on_wake":
            return (Wake(view.live.now_ps() + US),) if first else None
        return (Transfer(0, 0, 0, 1, 1, US),) if first else None

    def once(self: Any, view: Any, state: list[int], *operands: Any) -> Any:
        state.append(0)
        return answer if len(state) == 1 else None

    ready = {} if hook == "on_ready" else {"on_ready": on_ready}
    return answering(hook, answer, **ready, **{hook: once})


def verdict(
    backend: str, policy: Policy, graph: TaskGraph = GRAPH, machine: Machine = MACHINE
) -> str:
    """Return how a run ends."""
    try:
        iterations = 1 + policy.overrides("on_iteration")
        result = simulate(machine, Workload("w", graph, iterations), policy, backend=backend)
    except SimschedError as error:
        return f"{type(error).__name__}: {error}"
    return f"{result.summary.makespan_ps} ps"


def agreed(policy: Policy, graph: TaskGraph = GRAPH) -> str:
    """Return how a run ends on both backends."""
    first, second = (verdict(backend, policy, graph) for backend in ("simpy", "native"))
    assert first == second
    return first


def assert_refused(said: str, method: str) -> None:
    """Check the form of a refusal."""
    assert said.startswith(f"PolicyError: policy Wrong: {method}: "), said
    assert re.search("found|unknown| is not ", said), said
    assert "accepted" in said, said
    assert "\n" not in said, said


FINE_HOOKS = ["on_spawn", "on_acquire", *HOOKS]


@pytest.mark.parametrize("hook", FINE_HOOKS)
def test_what_is_no_answer_of_a_hook_is_refused(hook: str) -> None:
    for answer in NO_ANSWERS:
        if not (hook == "on_spawn" and answer is True):
            assert_refused(agreed(deciding(hook, answer)), hook)
    if hook not in ("on_spawn", "on_acquire"):
        for decision in NO_DECISIONS:
            assert_refused(agreed(deciding(hook, (decision,))), hook)


@pytest.mark.parametrize("hook", ["on_start", "on_finish", "on_landing", "on_timer", "on_wake"])
def test_a_decision_alone_is_no_tuple(hook: str) -> None:
    said = agreed(deciding(hook, Pace(0, 0.5)))
    assert_refused(said, hook)
    assert "found Pace(worker=0, part=0.5), accepted a tuple of" in said


@pytest.mark.parametrize("method", ["prepare", "place", "plan", "on_iteration"])
def test_what_is_no_answer_of_another_method_is_refused(method: str) -> None:
    for answer in [5, "text", (), object(), np.zeros(3), None]:
        if not (answer is None and method == "on_iteration"):
            assert_refused(agreed(answering(method, answer)), method)


DECISIONS = [
    Pool(0, 0),
    Preempt(0, 1),
    Duplicate(0, 1),
    Kill(0),
    Transfer(0, 0, 0, 1, 1, US, "oldest", 1, 5),
    Exchange(0, 1),
    Pace(0, 0.5),
    Wake(10 * US, 1, 1),
    AcquireOrder((AcquireStep("worker"),)),
]


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("hook", ["on_ready", "on_idle", "on_wake"])
def test_fields_of_decisions(hook: str, decision: Any) -> None:
    is_known = type(decision) in HOOKS[hook] or (hook == "on_ready" and isinstance(decision, Pool))
    refused = 0
    for one in fields(decision):
        for value in VALUES[:26] if is_known else VALUES[:1]:
            wrong = replace(decision, **{one.name: value})
            policy = deciding(hook, wrong if hook == "on_idle" else (wrong,))
            if hook != "on_wake":
                type(policy).on_wake = lambda self, *_: None  # type: ignore[assignment]
            said = agreed(policy, FLAT)
            refused += "Error" in said
            if "Error" in said:
                assert_refused(said, hook)
    assert refused > (10 if is_known else 0)


def changed(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield a record with each of its fields replaced by each value."""
    for one in fields(thing):
        for value in VALUES:
            yield one.name, replace(thing, **{one.name: value})


def in_plan(place: int, field: str = "pool_groups") -> Callable[[Any], Plan]:
    """Return what puts a record in its place in the plan."""

    def put(record: Any) -> Plan:
        several = list(getattr(PLAN, field))
        several[place] = record
        return replace(PLAN, **{field: tuple(several)})

    return put


def in_step(place: int) -> Callable[[Any], Plan]:
    """Return what puts a choice in its place in the plan."""
    step = PLAN.acquire[place]
    return lambda choice: in_plan(place, "acquire")(replace(step, choice=choice))


RECORDS: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {
    "Plan": ("plan", PLAN, lambda plan: plan),
    "PoolGroup": ("plan", GROUPS[0], in_plan(0)),
    "PoolGroup on a device": ("plan", GROUPS[2], in_plan(2)),
    "Device": ("plan", PLAN.devices[0], in_plan(0, "devices")),
    "AcquireStep": ("plan", PLAN.acquire[3], in_plan(3, "acquire")),
    "Ranked": ("plan", PLAN.acquire[1].choice, in_step(1)),
    "Weighted": ("plan", PLAN.acquire[2].choice, in_step(2)),
    "Uniform": ("plan", PLAN.acquire[3].choice, in_step(3)),
    "Monitor": ("plan", PLAN.monitor, lambda monitor: replace(PLAN, monitor=monitor)),
    "PageBalancing": ("plan", PLAN.balancing, lambda one: replace(PLAN, balancing=one)),
    "Placement": ("place", PLACEMENT, lambda placement: placement),
    "BlockPools": ("place", POOLED.pools, lambda pools: replace(POOLED, pools=pools)),
    "Update": (
        "on_iteration",
        Update(None, np.array([0, 1], np.int32), np.array([1, 0], np.int32), 2, 5),
        lambda update: update,
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_fields_of_records(name: str) -> None:
    method, record, put = RECORDS[name]
    assert "Error" not in agreed(answering(method, put(record)))
    refused: set[str] = set()
    for field, wrong in changed(record):
        said = agreed(answering(method, put(wrong)))
        if "Error" in said and "StalledError" not in said:
            assert_refused(said, method)
            refused.add(field)
    assert refused == {one.name for one in fields(record)}


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("plan", replace(PLAN, acquire=())),
        ("on_iteration", Update(replace(PLAN, acquire=()))),
    ],
    ids=["plan", "on_iteration"],
)
def test_a_plan_under_which_nobody_takes_a_task(method: str, answer: Any) -> None:
    """Runs stalled; only what rehearses a run refused it, though a wake may bring an order."""
    assert agreed(answering(method, answer)) == (
        f"PolicyError: policy Wrong: {method}: acquire: found no step, accepted at least one: "
        "nobody takes a task"
    )
    wake = {"on_wake": lambda self, *_: ()}
    assert agreed(answering(method, answer, **wake)).startswith("StalledError")


def test_an_order_that_a_wake_brings() -> None:
    def on_wake(self: Any, view: Any, state: Any, tag: int) -> Any:
        return (AcquireOrder(PLAN.acquire),)

    def on_ready(self: Any, view: Any, state: Any, task: int, worker: int) -> Any:
        return (Wake(3 * US),) if task == 0 else None

    methods = {"on_wake": on_wake, "on_ready": on_ready}
    late = agreed(answering("plan", replace(PLAN, acquire=()), **methods))
    assert int(late.split()[0]) == 3 * US + int(agreed(Plain()).split()[0])


def test_periods_of_timers() -> None:
    assert "Error" in agreed(answering("on_timer", (), timer_period_s=1e-13))
    for value in VALUES:
        policy = answering("on_timer", (), timer_period_s=value)
        said = agreed(policy)
        if "Error" in said:
            assert said.startswith("PolicyError: policy Wrong: timer_period_s: found"), said


@pytest.mark.parametrize("hook", FINE_HOOKS)
@pytest.mark.parametrize(
    "error", [KeyError("mine"), StopIteration(3), SystemExit(4), GeneratorExit()]
)
def test_what_a_hook_raises_comes_out_as_it_is(
    backend: str, hook: str, error: BaseException
) -> None:
    def fail(self: Any, *operands: Any) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        verdict(backend, raising(hook, fail))
    assert caught.value is error
    assert caught.value not in causes_of(error)


def causes_of(error: BaseException) -> list[BaseException]:
    """Return what an exception was raised from or while handling, without end if in a circle."""
    causes: list[BaseException] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes


#: What a hook may ask, and how many of each operand there are in these tests.
QUERIES = {
    "queue_length": {"group": 3, "instance": 2},
    "load": {"resource": 2},
    "running_task": {"worker": 2},
    "is_waiting": {"worker": 2},
    "progress": {"worker": 2},
    "has_failed": {"worker": 2},
    "block_home": {"block": 2},
    "holds": {"node": 2, "block": 2},
    "expects": {"node": 2, "block": 2},
    "has_place": {"node": 2, "block": 2},
    "driver_until_ps": {"node": 2},
    "executed_ps": {"task": 4},
}


def test_every_query_is_tested() -> None:
    known = {name for name in vars(EngineState) if not name.startswith("_")}
    assert known - {"now_ps"} == set(QUERIES)


@pytest.mark.parametrize("query", QUERIES)
def test_what_hooks_ask_about_exists(query: str) -> None:
    def asking(*operands: Any) -> Policy:
        def on_finish(self: Any, view: Any, *_: Any) -> None:
            getattr(view.live, query)(*operands)

        return answering("on_finish", None, on_finish=on_finish)

    counts = QUERIES[query]
    right = [0] * len(counts)
    assert agreed(asking(*right)).endswith(" ps")
    for place, (operand, count) in enumerate(counts.items()):
        for value in (count - 1, np.int32(0), -1, count, 2**31, 2**70, 0.0, "x"):
            asked: list[Any] = [*right[:place], value, *right[place + 1 :]]
            said = agreed(asking(*asked))
            if isinstance(value, int | np.integer) and 0 <= value < count:
                assert said.endswith(" ps")
            else:
                assert f"{query}: {operand}: found {value!r}, accepted 0 to {count - 1}" in said


class PeculiarError(Exception):
    """Cannot be copied from its arguments."""

    def __init__(self, what: str, *, why: str) -> None:
        super().__init__(f"{what}: {why}")


def raising(hook: str, fail: Callable[..., None]) -> Policy:
    """Return a policy whose hook does not return."""
    policy = deciding(hook, None)
    setattr(type(policy), hook, fail)
    return policy


def test_an_exception_that_cannot_be_copied_comes_out(backend: str) -> None:
    def fail(self: Any, *operands: Any) -> None:
        raise PeculiarError("what", why="why")

    with pytest.raises(PeculiarError, match="what: why"):
        verdict(backend, raising("on_start", fail))


def test_who_asks_cannot_snatch_from_itself(backend: str) -> None:
    with pytest.raises(PolicyError, match="policy Wrong: on_idle: Preempt: worker: found 9, acc"):
        simulate(MACHINE, Workload("w", FLAT), deciding("on_idle", Preempt(9, 0)), backend=backend)
    own = answering("on_idle", None, on_idle=lambda self, view, state, worker: Preempt(worker, 0))
    message = r"on_idle: Preempt: worker: found \d, which is the one that asks, accepted another"
    with pytest.raises(PolicyError, match=message):
        simulate(MACHINE, Workload("w", FLAT), own, backend=backend)
    nobody = answering("on_idle", None, on_idle=lambda self, view, state, n: Preempt(1 - n))
    message = r"on_idle: Preempt: to: found None, accepted \d, the worker that asks"
    with pytest.raises(PolicyError, match=message):
        simulate(MACHINE, Workload("w", FLAT), nobody, backend=backend)


def test_conditions_that_are_named_twice_count_once() -> None:
    once, twice = (
        answering("plan", Plan(acquire=(AcquireStep("worker", when=("head_worker",) * n),)))
        for n in (1, 2)
    )
    assert agreed(once, FLAT) == agreed(twice, FLAT)
