"""Ranks, weights and least numbers of entries; every figure follows from the law."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.problem import random_stream
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError, StalledError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireStep,
    Plan,
    PlanView,
    PoolGroup,
    Ranked,
    Uniform,
    Weighted,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
COSTS = RuntimeCosts(push_ps=3, steal_probe_ps=(1, 31, 70), steal_ps=(10, 20, 50), lock_hold_ps=7)
NEVER = -1


@dataclass(frozen=True, kw_only=True)
class Given(CentralQueue):
    """Task t enters pool group `group[t]`, instance `instance[t]`.

    Group 0 is searched by the given steps, group 1 by owners only, so that a task there runs where
    it is put.
    """

    steps: tuple[AcquireStep, ...] = ()
    group: tuple[int, ...] = ()
    instance: tuple[int, ...] = ()
    locked: bool = False
    scope: str = "worker"
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("fixed", "own"), *self.steps),
            pool_groups=(
                PoolGroup("shared", "worker", self.locked),
                PoolGroup("fixed"),
                PoolGroup("far", "domain"),
            ),
            group_of=np.array(self.group, np.int8),
            instance_of=np.array(self.instance, np.int32),
            **self.options,
        )


def one_domain(cores: int = 4) -> Machine:
    return make_machine(domains=1, cores_per_domain=cores, costs=COSTS)


def run(
    backend: str,
    policy: Given,
    us: list[float],
    arrival_us: list[float],
    machine: Machine | None = None,
    seed: int = 0,
) -> Run:
    """Run tasks of so many microseconds that arrive then."""
    graph = build_graph(
        np.array(us) * 1000.0, arrival_ps=(np.array(arrival_us) * US).astype(np.int64)
    )
    chosen = machine or one_domain()
    return simulate(
        chosen, Workload("given", graph), policy, backend=backend, seed=seed, events=True
    )


def starts(result: Run) -> dict[int, tuple[int, int]]:
    """Return (worker, time of start) of every task."""
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == EventKind.TASK_START
    columns = (events[name][chosen].tolist() for name in ("task", "worker", "time_ps"))
    return {task: (worker, time) for task, worker, time in zip(*columns, strict=True)}


def table(row: list[int], other: int, worker: int = 0, n: int = 4) -> np.ndarray:
    """Return ranks or weights of which only one worker's admit anything."""
    values = np.full((n, n), other, np.int32)
    values[worker] = row
    return values


# -------------------------------------------------------------------------------------------
# ranks and weights


@pytest.mark.parametrize(
    ("row", "probes"),
    [
        ([0, 0, 1, 2], 2),  # 1, then 2, then the filled one
        ([9, 0, 0, 1], 2),  # 1 and 2 in some order
        ([0, 2, 1, 0], 0),
        ([0, 2, -1, 2], None),  # 3 at once, or 1 before it
        ([0, -1, 0, 1], 1),
    ],
)
def test_smaller_ranks_are_tried_first_and_each_once(
    backend: str, row: list[int], probes: int | None
) -> None:
    # Task 0 is put into the pool of worker 3 at 1 us; only worker 0 may take it.
    step = AcquireStep("shared", "anywhere", "oldest", choice=Ranked(table(row, NEVER)))
    counts = set()
    for seed in range(20):
        policy = Given(steps=(step,), group=(0,), instance=(3,))
        result = run(backend, policy, [5], [1], seed=seed)
        worker, time = starts(result)[0]
        assert worker == 0
        assert (time - US - 20) % 31 == 0
        counts.add((time - US - 20) // 31)
        assert result.summary.failed_probes.tolist() == [0, (time - US - 20) // 31]
    assert counts == ({0, 1} if probes is None else {probes})


@pytest.mark.parametrize(("attempts", "in_vain"), [(0, 2), (1, 1), (2, 2), (3, 2), (9, 2)])
@pytest.mark.parametrize("by", ["rank", "weight"])
def test_a_step_gives_up_after_so_many_attempts(
    backend: str, by: str, attempts: int, in_vain: int
) -> None:
    # Worker 0 tries workers 1 and 2 before 3, which alone has a task. What it does not find with
    # the attempts of the first step it finds with the second one, which knows worker 3 only.
    row = [0, 2**30, 2**20, 1] if by == "weight" else [0, 0, 1, 2]
    other = 0 if by == "weight" else NEVER
    kind = {"rank": Ranked, "weight": Weighted}[by]
    choice = kind(table(row, other), attempts=attempts)
    limited = AcquireStep("shared", "anywhere", "oldest", choice=choice)
    sure = AcquireStep(
        "shared", "anywhere", "oldest", choice=Ranked(table([NEVER] * 3 + [0], NEVER))
    )
    result = run(backend, Given(steps=(limited, sure), group=(0,), instance=(3,)), [5], [1])
    assert starts(result)[0] == (0, US + 20 + in_vain * 31)
    assert result.summary.failed_probes.tolist() == [0, in_vain]


def test_uniform_draws_are_limited_too(backend: str) -> None:
    # Worker 0 looks for work at 9 us, all others are busy; worker 3 has a task in its pool.
    limited = AcquireStep("shared", "anywhere", "oldest", choice=Uniform(attempts=1))
    sure = AcquireStep(
        "shared", "anywhere", "oldest", choice=Ranked(table([NEVER] * 3 + [0], NEVER))
    )
    policy = Given(steps=(limited, sure), group=(1, 1, 1, 1, 0), instance=(0, 1, 2, 3, 3))
    in_vain = set()
    for seed in range(10):
        result = run(backend, policy, [9, 50, 50, 50, 5], [0, 0, 0, 0, 1], seed=seed)
        drawn = 1 + ((int(random_stream(seed, "victim").random_raw()) >> 32) * 3 >> 32)
        assert starts(result)[4] == (0, 9 * US + 20 + 31 * (drawn != 3))
        in_vain.add(drawn != 3)
    assert in_vain == {True, False}


def test_what_has_no_rank_is_never_taken(backend: str) -> None:
    step = AcquireStep("shared", "anywhere", "oldest", choice=Ranked(table([0, 0, 0, -1], NEVER)))
    with pytest.raises(StalledError, match="group 0 instance 3, from which no worker may take"):
        run(backend, Given(steps=(step,), group=(0,), instance=(3,)), [5], [1])


def test_ranks_narrow_where(backend: str) -> None:
    # Worker 0 of domain 0 prefers worker 3 but may only look at its own domain.
    machine = make_machine(domains=2, cores_per_domain=2, costs=COSTS)
    rank = table([0, 2, 1, 0], NEVER)
    near = AcquireStep("shared", "same_domain", "oldest", choice=Ranked(rank))
    policy = Given(steps=(near,), group=(1, 0), instance=(0, 1))
    # Task 0 keeps worker 0 busy until 2 us, task 1 waits for it from 1 us on.
    assert starts(run(backend, policy, [2, 5], [0, 1], machine))[1] == (0, 2 * US + 20)
    policy = Given(steps=(near,), group=(1, 0), instance=(0, 3))
    with pytest.raises(StalledError):
        run(backend, policy, [2, 5], [0, 1], machine)


@pytest.mark.parametrize("row", [[0, 3, 1, 0], [7, 1, 1, 2], [0, 0, 5, 1]])
def test_victims_are_drawn_in_proportion_to_their_weights(backend: str, row: list[int]) -> None:
    # Worker 0 is busy until 9 us; at 1 us every other pool gets a task, which only it may take.
    step = AcquireStep("shared", "anywhere", "oldest", choice=Weighted(table(row, 0)))
    untouchable = [w for w in (1, 2, 3) if row[w] == 0]
    chosen = [w for w in (1, 2, 3) if row[w] > 0]
    for seed in range(25):
        policy = Given(steps=(step,), group=(1, *(0 for _ in chosen)), instance=(0, *chosen))
        n = 1 + len(chosen)
        result = run(backend, policy, [9, *[1] * (n - 1)], [0, *[1] * (n - 1)], seed=seed)
        x = (int(random_stream(seed, "victim").random_raw()) >> 32) * sum(row[1:]) >> 32
        first = next(w for w in (1, 2, 3) if sum(row[1 : w + 1]) > x)
        assert starts(result)[1 + chosen.index(first)] == (0, 9 * US + 20)
        assert result.summary.steals.tolist() == [0, len(chosen)]
    if untouchable:
        policy = Given(steps=(step,), group=(0,), instance=(untouchable[0],))
        with pytest.raises(StalledError):
            run(backend, policy, [1], [0])


# -------------------------------------------------------------------------------------------
# least


def test_too_few_entries_count_as_none(backend: str) -> None:
    # Worker 0 is woken by the second push only, and cannot take the entry that it leaves behind;
    # worker 3 can, once it has finished at 50 us.
    steps = (
        AcquireStep(
            "shared", "anywhere", "oldest", choice=Ranked(table([0, 0, 1, 1], NEVER), least=2)
        ),
        AcquireStep("shared", "anywhere", "oldest", choice=Ranked(table([1, 0, 1, 0], NEVER, 3))),
    )
    policy = Given(steps=steps, group=(1, 0, 0), instance=(3, 1, 1))
    result = run(backend, policy, [50, 5, 5], [0, 1, 2])
    assert result.trace is not None
    events = result.trace.events
    woken = (events["kind"] == EventKind.WAKE) & (events["worker"] == 0)
    assert events["time_ps"][woken].tolist() == [2 * US]
    began = starts(result)
    assert began[1] == (0, 2 * US + 20)
    # The first step of worker 3 has no candidates and costs nothing.
    assert began[2] == (3, 50 * US + 20)


def test_the_own_pool_may_need_several_entries_too(backend: str) -> None:
    policy = Given(
        steps=(AcquireStep("shared", "own", "oldest", choice=Uniform(least=2)),),
        group=(0, 0),
        instance=(1, 1),
    )
    with pytest.raises(StalledError, match="1 task left: task 1 is in pool group 0 instance 1"):
        run(backend, policy, [5, 5], [1, 2])


# -------------------------------------------------------------------------------------------
# conditions and checks


def test_all_but_heads(backend: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=2, costs=COSTS)
    steps = (AcquireStep("far", "own", "oldest", ("not_head_worker",)),)
    policy = Given(steps=steps, group=(2,) * 4, instance=(0, 1, 0, 1))
    began = starts(run(backend, policy, [5] * 4, [0] * 4, machine))
    assert {task: worker for task, (worker, _) in began.items()} == {0: 1, 1: 3, 2: 1, 3: 3}
    # The lowest active worker is the head.
    active = np.array([False, True, True, True])
    policy = Given(steps=steps, group=(2,), instance=(0,), options={"active_workers": active})
    with pytest.raises(StalledError):
        run(backend, policy, [5], [0], machine)


ANY = np.zeros((4, 4), np.int32)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            AcquireStep("shared", "own", choice=Ranked(ANY)),
            r"acquire\[1\]: found ranks, weights or attempts, accepted none",
        ),
        (
            AcquireStep("far", "anywhere", choice=Ranked(ANY)),
            r"acquire\[1\]: choice: rank: found shape \(4, 4\), accepted \(4, 1\) \(workers",
        ),
        (
            AcquireStep("shared", "anywhere", choice=Ranked(table([0, 0, -2, 0], 0))),
            r"acquire\[1\]: choice: rank\[0, 2\]: found -2, accepted -1 to 2147483647",
        ),
        (
            AcquireStep("shared", "anywhere", choice=Weighted(table([0, -1, 0, 0], 0))),
            r"acquire\[1\]: choice: weight\[0, 1\]: found -1, accepted 0 to 2147483647",
        ),
        (
            AcquireStep("shared", "anywhere", choice=Weighted(table([0, 2**30, 2**30, 0], 0))),
            r"acquire\[1\]: weight: the weights of worker 0 sum to 2147483648, accepted up to",
        ),
        (
            AcquireStep("shared", "anywhere", choice=Weighted(np.ones((4, 4)))),
            r"acquire\[1\]: choice: weight: found an array of float64 .* accepted an array of i",
        ),
        (
            AcquireStep("shared", choice=Uniform(least=0)),
            r"acquire\[1\]: choice: least: found 0, accepted an integer from 1 to",
        ),
        (
            AcquireStep("shared", "anywhere", choice=Uniform(attempts=-1)),
            r"acquire\[1\]: choice: attempts: found -1, accepted an integer from 0 to",
        ),
        (
            AcquireStep("shared", choice=Uniform(attempts=1)),
            r"acquire\[1\]: found ranks, weights or attempts, accepted none",
        ),
        (
            AcquireStep("shared", when=("not_head",)),
            r"acquire\[1\]: .*not_head.*not_head_worker",
        ),
    ],
)
def test_malformed_steps_are_refused(step: AcquireStep, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        run("native", Given(steps=(step,), group=(0,), instance=(0,)), [1], [0])
