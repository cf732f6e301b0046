"""What runs have in common is made once, and no run can tell."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from simsched import load_machine, make_policy, simulate
from simsched.engine import common, setup
from simsched.files.errors import SimschedError
from simsched.machine import Machine
from simsched.policy import Policy, list_policies
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import Placement, Plan, PlanView
from simsched.trace.run import Run
from simsched.workload import Workload, generate_workload
from simsched.workload.registry import make_small_workload

MACHINE = load_machine("amd_4x_opteron8380")
#: With an initialisation and several iterations, dataflow edges, spawn trees.
PROGRAMS = ("heat", "cholesky", "fork_join")
SOME = [info.name for info in list_policies()][::9]


@pytest.fixture(autouse=True)
def nothing_is_kept() -> None:
    common._kept.cache_clear()


def told(run: Run) -> dict[str, Any]:
    values = {f.name: getattr(run.summary, f.name) for f in fields(run.summary)}
    values = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}
    return {**values, "decisions": run.decisions, "misfits": run.misfits}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("machine", [MACHINE, load_machine("knl_a2a_cache")], ids=["amd", "knl"])
def test_runs_are_what_they_are_alone(machine: Machine, name: str, program: str) -> None:
    """On one of the machines the seed decides where data lie in the cache of the memory."""
    policy, workload = make_policy(name), make_small_workload(program)

    def outcome(seed: int) -> object:
        try:
            return told(simulate(machine, workload, policy, workers=6, seed=seed))
        except SimschedError as error:
            return str(error)

    together = [outcome(seed) for seed in (3, 0, 3, 7)]
    alone = []
    for seed in (3, 0, 3, 7):
        common._kept.cache_clear()
        alone.append(outcome(seed))
    assert together == alone


@dataclass(frozen=True, kw_only=True)
class Counting(RandomStealing):
    """Leaves out one worker more each time that it is asked, in one array."""

    def plan(self, view: Any, state: Any, graph: Any) -> Plan:
        STAYING[: len(ASKED)] = False
        ASKED.append(graph)
        return replace(super().plan(view, state, graph), active_workers=STAYING)


STAYING, ASKED = np.ones(6, bool), []


@dataclass(frozen=True, kw_only=True)
class Lengthening(RandomStealing):
    """Runs a program of its own that it makes longer each time."""

    def prepare(self, view: Any) -> Workload:
        LONGER.graph.ops[:] += 1e6
        return LONGER


@dataclass(frozen=True, kw_only=True)
class Wandering(RandomStealing):
    """Places all data on another node each time that it is asked."""

    def place(self, view: Any, state: Any) -> Placement:
        PLACES.append(len(PLACES) % 4)
        home = np.full(view.workload.graph.n_blocks, PLACES[-1], np.int32)
        return replace(super().place(view, state), home=home)


PLACES: list[int] = []


def test_another_place_for_the_data_is_another_answer() -> None:
    policy, workload = Wandering(), make_small_workload("heat")
    for _ in range(4):
        run = simulate(MACHINE, workload, policy, workers=6)
        used = run.summary.node_bytes.sum(axis=(0, 1)) > 0
        assert np.flatnonzero(used).tolist() == PLACES[-1:]


LONGER = generate_workload("fork_join", {"depth": 4})
object.__setattr__(LONGER.graph, "ops", LONGER.graph.ops.copy())


def test_a_program_of_a_policy_that_it_changes_is_not_kept() -> None:
    policy, workload = Lengthening(), generate_workload("fork_join", {"depth": 4})
    runs = [simulate(MACHINE, workload, policy, workers=1, seed=0) for _ in range(3)]
    assert runs[0].makespan_s < runs[1].makespan_s < runs[2].makespan_s
    assert common.common_to(MACHINE, workload, policy, 1, "scatter").ground is None


def test_a_pinning_that_is_no_text_is_refused() -> None:
    with pytest.raises(SimschedError, match="pinning"):
        simulate(MACHINE, make_small_workload("heat"), make_policy("cilk_a"), pinning=["compact"])


def test_an_array_that_a_policy_changes_is_another_answer() -> None:
    policy, workload = Counting(), generate_workload("fork_join", {"depth": 7})
    for left_out in range(4):
        run = simulate(MACHINE, workload, policy, workers=6, seed=left_out)
        assert np.flatnonzero(run.summary.tasks_per_worker == 0).tolist() == [*range(left_out)]


def counted(monkeypatch: pytest.MonkeyPatch, workload: Workload) -> int:
    """Return how often plans are resolved in three runs."""
    calls = []
    real = setup.resolve_plan
    monkeypatch.setattr(setup, "resolve_plan", lambda *given: calls.append(1) or real(*given))
    policy = make_policy("cilk_a")
    for seed in range(3):
        simulate(MACHINE, workload, policy, workers=6, seed=seed)
    return len(calls)


def test_equal_answers_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted(monkeypatch, make_small_workload("fork_join")) == 2  # and its initialisation


SINGLE, SEVERAL = generate_workload("fork_join", {"depth": 4}), make_small_workload("heat")


@dataclass(frozen=True, kw_only=True)
class OfAUser(RandomStealing):
    """Random stealing that is not the package's own."""


@pytest.mark.parametrize(
    ("policy", "program", "times"),
    [
        (make_policy("random_stealing"), SINGLE, 1),
        (make_policy("random_stealing"), SEVERAL, 2),  # and its initialisation
        (make_policy("bats"), SINGLE, 1),  # decides between iterations only
        (make_policy("bats"), SEVERAL, 8),
        (make_policy("dm"), make_small_workload("cholesky"), 8),  # decides when tasks are ready
        (OfAUser(), SINGLE, 4),
    ],
    ids=["stealing", "stealing several", "bats", "bats several", "dm", "of a user"],
)
def test_who_can_only_answer_the_same_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, policy: Policy, program: Workload, times: int
) -> None:
    calls, real = [], type(policy).plan
    monkeypatch.setattr(type(policy), "plan", lambda *given: calls.append(1) or real(*given))
    for seed in range(4):
        simulate(MACHINE, program, policy, workers=6, seed=seed)
    assert len(calls) == times


def test_who_draws_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, workload = RandomStealing(), generate_workload("fork_join", {"depth": 7})
    real = RandomStealing.plan

    def drawing(self: RandomStealing, view: PlanView, state: Any, graph: Any) -> Plan:
        staying = np.ones(6, bool)
        staying[view.rng.integers(6)] = False
        return replace(real(self, view, state, graph), active_workers=staying)

    monkeypatch.setattr(RandomStealing, "plan", drawing)
    runs = [simulate(MACHINE, workload, policy, workers=6, seed=seed) for seed in range(8)]
    assert len({int(run.summary.tasks_per_worker.argmin()) for run in runs}) > 1
    for seed, run in enumerate(runs):
        common._kept.cache_clear()
        assert told(simulate(MACHINE, workload, policy, workers=6, seed=seed)) == told(run)


def test_threads_do_not_share_an_engine() -> None:
    policy, workload = make_policy("cilk_a"), generate_workload("fork_join", {"depth": 10})

    def outcome(seed: int) -> dict[str, Any]:
        return told(simulate(MACHINE, workload, policy, workers=6, seed=seed))

    alone = [outcome(seed) for seed in range(24)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(outcome, range(24))) == alone


def test_runs_after_one_that_was_given_up() -> None:
    policy, workload = make_policy("cilk_a"), generate_workload("fork_join", {"depth": 4})
    runs = []
    for limit_s in (1e5, 1e5, 1e-9, 1e5, 1e-9, 1e5):
        try:
            run = simulate(MACHINE, workload, policy, workers=6, progress_limit_s=limit_s)
            runs.append(told(run))
        except SimschedError:
            runs.append({})
    assert runs[2] == runs[4] == {}
    assert runs[0] == runs[1] == runs[3] == runs[5] != {}


def test_events_of_a_later_run() -> None:
    policy, workload = make_policy("cilk_a"), make_small_workload("heat")
    runs = [
        simulate(MACHINE, workload, policy, workers=6, seed=seed, events=kept, backend=backend)
        for seed, kept, backend in [
            (0, False, "native"),
            (0, False, "native"),
            (0, True, "native"),
            (0, True, "simpy"),
        ]
    ]
    assert runs[2].trace is not None
    assert runs[3].trace is not None
    assert len(runs[2].trace) == runs[0].summary.n_events == len(runs[3].trace)
    for name, column in runs[2].trace.events.items():
        assert (column == runs[3].trace.events[name]).all()


def test_large_programs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "MOST_TASKS", 10)
    assert counted(monkeypatch, make_small_workload("fork_join")) == 6


def test_programs_that_somebody_can_change_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = generate_workload("fork_join", {"depth": 4})
    object.__setattr__(workload.graph, "ops", workload.graph.ops.copy())
    assert not workload.graph.is_fixed
    assert counted(monkeypatch, workload) == 3
    policy = make_policy("cilk_a")
    simulate(MACHINE, workload, policy)
    workload.graph.ops[...] = -1.0
    with pytest.raises(SimschedError, match="ops"):
        simulate(MACHINE, workload, policy)


def test_where_the_seed_decides_where_data_lie_nothing_is_kept() -> None:
    machine, workload = load_machine("knl_a2a_cache"), make_small_workload("heat")
    policy = make_policy("cilk_a")
    simulate(machine, workload, policy, workers=6)
    assert common.common_to(machine, workload, policy, 6, "scatter").ground is None


def test_another_policy_machine_or_number_of_workers_has_answers_of_its_own() -> None:
    workload, policy = make_small_workload("heat"), make_policy("cilk_a")
    for workers in (6, 5):
        for machine in (MACHINE, load_machine("opteron48")):
            for chosen in (policy, make_policy("cilk_a"), make_policy("work_sharing")):
                run = simulate(machine, workload, chosen, workers=workers)
                assert len(run.summary.tasks_per_worker) == workers
                assert (run.machine, run.policy) == (machine, chosen)
    assert common._kept.cache_info().currsize == 12
