"""Looks of the policy that come to nothing are left out; what happens stays the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from simsched.engine.conformance import summary_difference, trace_difference
from simsched.engine.run import Run, simulate
from simsched.files.errors import PolicyError, StalledError
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import AcquireStep, HookView, Plan, PlanView, Policy, Rest, Wake, make_policy
from simsched.policy.parts.placement import PlacedPolicy
from simsched.testing.rests import restless
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph, edges
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
Calls = list[tuple[str, int, int]]


@dataclass(frozen=True, kw_only=True)
class Looking(PlacedPolicy):
    """A timer and wakes that decide what a function says of (hook, tag, time)."""

    says: Callable[[str, int, int], Any]
    timer_period_s = 1e-6

    def __post_init__(self) -> None:
        pass

    def start(self, view: PlanView) -> Calls:
        return []

    def plan(self, view: PlanView, state: Calls, graph: TaskGraph) -> Plan:
        return Plan(acquire=(AcquireStep("worker", "own"),))

    def on_start(self, view: HookView, state: Calls, task: int, worker: int) -> Any:
        return self.says("start", task, view.live.now_ps())

    def on_timer(self, view: HookView, state: Calls) -> Any:
        state.append(("timer", 0, view.live.now_ps()))
        return self.says(*state[-1])

    def on_wake(self, view: HookView, state: Calls, tag: int) -> Any:
        state.append(("wake", tag, view.live.now_ps()))
        return self.says(*state[-1])


def look(backend: str, says: Any, us: list[float], arrives_us: tuple[float, ...] = ()) -> Run:
    arrival = np.array([*arrives_us, *[0] * (len(us) - len(arrives_us))]) * US
    graph = build_graph(np.array(us) * 1000.0, arrival_ps=arrival.astype(np.int64))
    machine = make_machine(domains=1, cores_per_domain=2)
    policy = Looking(says=says)
    return simulate(machine, Workload("w", graph), policy, backend=backend, events=True)


def times(result: Run, hook: str) -> list[float]:
    return [at / US for name, _, at in result.state if name == hook]


def fired(result: Run) -> list[int]:
    assert result.trace is not None
    events = result.trace.events
    return list(events["time_ps"][events["kind"] == EventKind.TIMER])


def rest(hook: str, tag: int, now: int) -> tuple[Rest, ...]:
    return (Rest(),) if hook == "timer" else ()


def test_the_first_and_the_last_look_between_events_are_made(backend: str) -> None:
    result = look(backend, rest, [100.5], ())
    assert times(result, "timer") == [1, 100]
    assert fired(result) == [at * US for at in range(1, 101)]
    result = look(backend, rest, [3, 100.5], (50,))  # on the other worker, from 50 to 53
    assert times(result, "timer") == [1, 49, 50, 52, 53, 100]


def test_looks_are_left_out_in_steps(backend: str) -> None:
    def says(hook: str, tag: int, now: int) -> tuple[Rest, ...]:
        return (Rest(7),) if hook == "timer" and now % (7 * US) == 0 else ()

    result = look(backend, says, [100.5])
    assert times(result, "timer") == [*range(1, 8), 98, 99, 100]
    assert fired(result) == [at * US for at in range(1, 101)]


def test_a_look_that_decides_nothing_promises_nothing(backend: str) -> None:
    result = look(backend, lambda hook, tag, now: (), [20.5])
    assert times(result, "timer") == list(range(1, 21))


def test_wakes_are_put_off_by_their_step(backend: str) -> None:
    def says(hook: str, tag: int, now: int) -> tuple[Any, ...]:
        if hook == "start":
            return (Wake(now + 2 * US, 5, step_ps=3 * US),) if tag == 0 else ()
        return (Wake(now + 3 * US, tag, step_ps=3 * US),) if hook == "wake" else (Rest(),)

    result = look(backend, says, [100.5])
    # Looks of the timer and of wakes do not call for each other.
    assert [call for call in result.state if call[0] == "wake"] == [("wake", 5, 98 * US)]
    assert times(result, "timer") == [1, 100]
    result = look(backend, says, [3, 100.5], (0, 0.5))
    assert times(result, "wake") == [2, 5, 98]


def test_a_wake_that_decides_ends_the_rest_of_the_timer(backend: str) -> None:
    def says(hook: str, tag: int, now: int) -> tuple[Any, ...]:
        if hook == "start":
            return (Wake(50 * US), Wake(60 * US, 1, step_ps=7 * US))
        return rest(hook, tag, now)

    result = look(backend, says, [100.5])
    assert times(result, "timer") == [1, 49, 50, 59, 60, 100]
    assert times(result, "wake") == [50, 60]


def test_a_promise_that_is_not_kept_is_noticed_late_but_alike(backend: str) -> None:
    def says(hook: str, tag: int, now: int) -> tuple[Any, ...]:
        if hook == "timer":
            return (Wake(now),) if now % (50 * US) == 0 else (Rest(),)
        return ()

    assert times(look(backend, says, [100.5]), "wake") == [100]


def test_a_run_without_progress_is_given_up_as_before(backend: str) -> None:
    def says(hook: str, tag: int, now: int) -> tuple[Any, ...]:
        wake = (Wake(now + US, step_ps=US),) if hook in ("start", "wake") else ()
        return wake or (Rest(),)

    graph = build_graph([1e15])
    machine = make_machine(domains=1, cores_per_domain=2)
    for policy in (Looking(says=says), restless(Looking(says=says))):
        with pytest.raises(StalledError, match=r"given up at 0\.000999 s"):
            simulate(machine, Workload("w", graph), policy, backend=backend, progress_limit_s=1e-3)


@pytest.mark.parametrize(
    ("hook", "decided", "message"),
    [
        ("wake", Rest(), "on_wake: found Rest"),
        ("start", Rest(), "on_start: found Rest"),
        ("timer", Rest(0), "on_timer: Rest: looks: found 0, accepted 1 to "),
        ("start", Wake(0, step_ps=-1), "on_start: Wake: step_ps: found -1, accepted 0 to "),
    ],
)
def test_what_cannot_be_is_refused(backend: str, hook: str, decided: Any, message: str) -> None:
    def says(asked: str, tag: int, now: int) -> tuple[Any, ...]:
        if asked == hook:
            return (decided,)
        return (Wake(now + US),) if asked == "start" else ()

    with pytest.raises(PolicyError, match=message):
        look(backend, says, [20.5])


# -------------------------------------------------------------------------------------------
# policies that rest

#: Policies whose looks come to nothing while nothing happens: a machine, and the period in seconds
#: in which they look, 0 where these are no looks of a timer.
RESTING = {
    "camp": ("toy_1fast_3slow", 4e-3),
    "bias_scheduling": ("toy_1fast_3slow", 4e-3),
    "linux_lb": ("toy_1fast_3slow", 4e-3),
    "speed_balancing": ("toy_1fast_3slow", 4e-3),
    "age_ljfcf_predict": ("toy_1fast_3slow", 4e-3),
    "acs": ("toy_1fast_3slow", 4e-3),
    "aats": ("toy_1fast_3slow", 1e-3),
    "aats_ts": ("toy_1fast_3slow", 1e-5),
    "rts": ("a_2_0_0_14", 0.0),
}
#: Those that rest while every worker is busy.
CLUSTERS = ("crs", "chs", "cls")
#: What lets something depend on how often they have looked, in a short run.
PARAMETERS: dict[str, dict[str, Any]] = {"camp": {"amp_boost_ticks": 3}}


def made(name: str) -> Policy:
    return make_policy(name, PARAMETERS.get(name))


@pytest.mark.parametrize("name", RESTING)
def test_a_long_task_costs_few_looks(
    backend: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, period_s = RESTING[name]
    machine, policy = load_machine(place), made(name)
    calls: list[str] = []

    def counted(hook: str) -> Callable[..., Any]:
        asked = getattr(type(policy), hook)

        def call(*given: Any) -> Any:
            calls.append(hook)
            return asked(*given)

        return call

    for hook in ("on_timer", "on_wake"):
        monkeypatch.setattr(type(policy), hook, counted(hook))
    ops_per_s = float(machine.core_groups[0].ops_per_s)
    short = 16 if name == "rts" else 0  # thieves look when they have had something
    workload = Workload("long", build_graph(np.array([5000.0] + [0.5] * short) * ops_per_s))
    summary = simulate(machine, workload, policy, backend=backend).summary
    assert 0 < len(calls) <= 300
    assert summary.makespan_ps >= 4_999 * 10**12
    if period_s > 0.0:
        periods = (summary.makespan_ps - 1) // round(period_s * 1e12)
        assert 0 <= summary.n_events - periods <= 60


def program(rng: np.random.Generator) -> Workload:
    """Return a few tasks of some periods each, of several classes, with edges and arrivals."""
    n = int(rng.integers(1, 9))
    ops = rng.choice([1e7, 3e7, 2.5e8, 1e9], n) * rng.random(n)
    if rng.random() < 0.3:  # what happens just when the policy looks
        ops = np.rint(ops / 4e6) * 4e6
    n_classes = int(rng.integers(1, n + 1))
    task_class = rng.integers(0, n_classes, n)
    arrival = np.where(rng.random(n) < 0.5, 0, rng.integers(0, 10**11, n))
    if rng.random() < 0.3:
        arrival = arrival // (4 * 10**9) * (4 * 10**9)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.2]
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = build_graph(
        ops,
        task_class=task_class,
        class_names=[f"app{i % 2}.thread{i}" for i in range(n_classes)],
        arrival_ps=arrival,
        successors=edges([(first, second)], n),
    )
    return Workload("program", graph, int(rng.integers(1, 3)))


def outcome(policy: Policy, seed: int, backend: str) -> Run:
    workload = program(np.random.default_rng(seed))
    machine, workers = load_machine(("toy_1fast_3slow", "a_2_0_0_14")[seed % 2]), None
    if policy.name in CLUSTERS:
        machine, workers = load_machine("clusters_4x16"), 2 + seed % 3
    return simulate(
        machine, workload, policy, workers=workers, backend=backend, events=True, seed=seed
    )


@pytest.mark.parametrize("name", [*RESTING, *CLUSTERS])
def test_what_happens_does_not_depend_on_rests(name: str) -> None:
    for seed in (0, 1, 2, 3, 7, 9, 12):
        given = outcome(made(name), seed, "native")
        asked = outcome(restless(made(name)), seed, "native")
        assert trace_difference(asked, given) == ""
        assert summary_difference(asked, given) == ""
