"""METG: granularities that follow from arithmetic on paper, and how they are searched."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simsched.experiment.metg import TRIED_S, Metg, Trial, _search, find_metg, with_workers
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, ModelError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine

LOCK_S = 1e-6


def metg(
    machine: Machine, workload: str, policy: str, target: float = 0.5, workers: int | None = None
) -> Metg:
    cells = Study.from_objects(machine, workload, policy).cells
    (cell,) = with_workers(cells, [] if workers is None else [workers])
    return find_metg(cell, target)


def locked(cores: int) -> Machine:
    """Return a machine on which taking a task from a central queue holds its lock for 1 us."""
    costs = RuntimeCosts(lock_hold_ps=round(LOCK_S * 1e12))
    return make_machine(domains=1, cores_per_domain=cores, costs=costs)


@pytest.mark.parametrize("workers", [2, 8, 32])
@pytest.mark.parametrize("target", [0.5, 0.9])
def test_a_lock_decides(workers: int, target: float) -> None:
    # W workers take a task each L from a queue, so that a task of length d takes
    # W max(L, (L + d) / W) of their time: the lock is the limit up to d = (W - 1) L.
    found = metg(locked(32), "independent[tasks=20000]", "work_sharing", target, workers)
    limited = target * workers * LOCK_S
    alone = target / (1 - target) * LOCK_S
    expected = limited if limited < (workers - 1) * LOCK_S else alone
    best = found.smallest
    assert best is not None
    assert found.workers == workers
    assert best.task_s == pytest.approx(expected, rel=0.02)
    assert best.granularity_s == pytest.approx(best.task_s / best.efficiency)
    assert target <= best.efficiency < target * 1.02
    assert found.is_monotone
    assert not found.is_bound
    if expected == limited:  # half of the time is lost when the task is as long as what serialises
        assert best.granularity_s == pytest.approx(workers * LOCK_S, rel=0.02)


def test_without_costs_every_granularity_is_efficient() -> None:
    machine = make_machine(domains=1, cores_per_domain=4)
    found = metg(machine, "task_bench[pattern=no_comm, width=8, output_bytes=0]", "work_sharing")
    efficiencies = [trial.efficiency for trial in found.trials]
    assert efficiencies == pytest.approx([1.0] * len(efficiencies), abs=1e-6)
    assert found.is_bound
    assert found.row()["metg_s"] == pytest.approx(TRIED_S[0], rel=0.01)
    assert found.row()["at_most"]


def test_what_has_no_parallelism_is_never_efficient() -> None:
    machine = make_machine(domains=1, cores_per_domain=4)
    found = metg(machine, "chain[tasks=50]", "work_sharing")
    assert found.smallest is None
    assert found.row()["metg_s"] is None
    assert found.row()["best_efficiency"] == pytest.approx(0.25)
    assert found.row()["at_most"] is False


def test_work_in_memory_grows_and_messages_do_not() -> None:
    # Four workers copy within blocks of their own at the whole rate of the memory; 1 us for each
    # task is lost to the lock, behind which they wait for each other.
    program = "task_bench[pattern=trivial, width=4, steps=500, kernel=memory, output_bytes=0]"
    found = metg(locked(4), program, "work_sharing")
    best = found.smallest
    assert best is not None
    assert best.efficiency == pytest.approx(0.5, rel=0.02)
    assert found.trials[-1].efficiency > 0.9
    message = "task_bench[pattern=no_comm, width=4, steps=20, output_bytes=1 MB]"
    found = metg(locked(4), message, "work_sharing")
    fine, best = found.trials[0], found.smallest
    assert best is not None
    assert fine.efficiency < 0.1  # what is handed on is no work
    assert best.granularity_s > 1e-4


def curve(efficiency: Callable[[float], float]) -> Callable[[float], Trial]:
    return lambda task_s: Trial(task_s, task_s / efficiency(task_s), efficiency(task_s))


def test_search_takes_few_runs_and_finds_the_crossing() -> None:
    trials = _search(curve(lambda task_s: task_s / (task_s + 3.3e-6)), 0.5)
    first = next(trial for trial in trials if trial.efficiency >= 0.5)
    assert first.task_s == pytest.approx(3.3e-6, rel=0.01)
    assert len(trials) <= 16
    assert [t.task_s for t in trials] == sorted(t.task_s for t in trials)


def test_an_efficiency_that_falls_again_is_said() -> None:
    trials = _search(curve(lambda task_s: 0.8 if 1e-7 < task_s < 1e-5 else 0.3), 0.5)
    cell = Study.from_objects(
        make_machine(domains=1, cores_per_domain=1), "chain", "work_sharing"
    ).cells[0]
    found = Metg(cell, 1, 0.5, trials)
    assert not found.is_monotone
    assert found.smallest is not None
    assert found.smallest.task_s == pytest.approx(1e-7, rel=0.02)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ("task_bench[kernel=empty, width=2, steps=2]", "found tasks without work"),
        ("divisible", "found work that policies divide"),
    ],
)
def test_programs_without_tasks_to_make_longer(workload: str, message: str) -> None:
    from simsched.machine import load_machine

    with pytest.raises(ConfigurationError, match=message):
        metg(load_machine("toy_1fast_3slow"), workload, "work_sharing")


def test_more_workers_than_threads() -> None:
    with pytest.raises(ModelError, match="5"):
        metg(locked(4), "chain", "work_sharing", workers=5)
