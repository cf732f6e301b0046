"""Duels: candidates, and what is found on them."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.experiment.duel import Budget, Candidate, Found, _Contest, find_duel
from simsched.experiment.duel_machines import CHOICES, Rig, changed_rig, random_rig
from simsched.experiment.duel_programs import MOST_TASKS, UPDATE, Draws, Sketch, Step
from simsched.files.errors import ConfigurationError, GraphError
from simsched.machine.load import load_machine
from simsched.policy import make_policy
from simsched.workload.graph_files import read_graph_file

LOCK_US = 10


def contest(first: str, second: str, factor: float = 2.0) -> _Contest:
    return _Contest((first, second), factor, None)


def candidates(number: int) -> list[Candidate]:
    rng = np.random.default_rng(1)
    draws = Draws(rng)
    return [Candidate(draws.program(), random_rig(rng)) for _ in range(number)]


def flat(tasks: int, work_us: float) -> Sketch:
    return Sketch(tuple(Step(work_us) for _ in range(tasks)))


def test_the_lock_of_a_central_queue() -> None:
    # n tasks of length d on n cores: the lock of the queue lets one begin every L, so the last one
    # ends after n L + d; where every core has its own tasks from the start there is no lock.
    tasks = 8
    candidate = Candidate(flat(tasks, 10), Rig(cores=tasks, lock_us=LOCK_US))
    expected = (tasks * LOCK_US + 10) / 10
    assert contest("work_sharing", "openmp_static").ratio(candidate) == pytest.approx(expected)
    assert contest("openmp_static", "work_sharing").ratio(candidate) == pytest.approx(1 / expected)


def test_a_lock_is_found_and_read_back(tmp_path: Path) -> None:
    found = duel("work_sharing", "cilk", tmp_path)
    assert found.ratio >= found.least_ratio >= 2.0
    machine, program = load_machine(tmp_path / "machine.yaml"), tmp_path / "program.dot"
    first, second = (
        sum(
            simulate(machine, read_graph_file(program, {}), make_policy(name), seed=n).makespan_s
            for n in range(3)
        )
        for name in ("work_sharing", "cilk")
    )
    assert first / second == pytest.approx(found.ratio)


def duel(first: str, second: str, output: Path, seed: int = 3, tries: int = 1000) -> Found:
    return find_duel((first, second), seed=seed, budget=Budget(0.0, tries), output=output)


def test_the_same_is_found_again(tmp_path: Path) -> None:
    first, second = (duel("work_sharing", "cilk", tmp_path / name) for name in "ab")
    assert first.makespan_s == second.makespan_s
    texts = [[path.read_bytes() for path in found.files] for found in (first, second)]
    assert texts[0] == texts[1]


def test_what_is_found_is_as_simple_as_can_be() -> None:
    fight = contest("work_sharing", "openmp_static")
    large = Candidate(
        replace(flat(12, 10), block_kib=(64,)).with_step(3, uses=((0, UPDATE),), priority=2),
        Rig(cores=8, lock_us=LOCK_US, steal_us=10, hbm_gb_per_s=50, domains=2),
    )
    assert fight.ratio(large) >= 2.0
    small = fight.shrunken(large)
    assert fight.ratio(small) >= 2.0
    assert all(fight.ratio(simpler) < 2.0 for simpler in small.simpler())
    assert len(small.sketch.steps) < 12
    assert not small.sketch.block_kib
    assert (small.rig.steal_us, small.rig.hbm_gb_per_s, small.rig.domains) == (0, 0, 1)


def test_nobody_is_slower_than_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="found one and the same policy"):
        duel("cilk", "cilk", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_policies_of_other_programs_are_refused(tmp_path: Path) -> None:
    message = r"duel: late: found none of 30 .* mostly: needs MapReduce jobs"
    with pytest.raises(ConfigurationError, match=message):
        duel("cilk", "late", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_candidates_are_read_back_as_they_are(tmp_path: Path) -> None:
    for candidate in candidates(12):
        machine, program = candidate.things()
        try:
            program.validate()
        except GraphError:
            continue
        candidate.write(tmp_path, ("work_sharing", "eager"))
        again = (
            load_machine(tmp_path / "machine.yaml"),
            read_graph_file(tmp_path / "program.dot", {}),
        )
        policy = make_policy("work_sharing")
        first, second = (
            simulate(*things, policy, events=True, seed=2) for things in ((machine, program), again)
        )
        assert first.decisions == second.decisions
        assert first.summary.n_events == second.summary.n_events


def test_neighbours_are_candidates() -> None:
    rng = np.random.default_rng(5)
    draws = Draws(rng)
    for candidate in candidates(20):
        sketch, rig = candidate.sketch, candidate.rig
        for _ in range(20):
            sketch, rig = draws.changed(sketch), changed_rig(rng, rig)
        assert 1 <= len(sketch.steps) <= MOST_TASKS
        changed = Candidate(sketch, rig)
        for each in (changed, *islice(changed.simpler(), 200)):
            assert all(getattr(each.rig, name) in values for name, values in CHOICES.items())
            for task, step in enumerate(each.sketch.steps):
                assert all(before < task for before in (step.parent, *step.after))
                assert all(block < len(each.sketch.block_kib) for block, _ in step.uses)


def test_children_of_what_is_dropped_stay() -> None:
    tree = Sketch(tuple(Step(parent=parent) for parent in (-1, 0, 1, 2, 2)))
    assert [step.parent for step in tree.without(1, 2).steps] == [-1, 0, 0]
    chain = Sketch((Step(), Step(after=(0,)), Step(after=(0, 1))))
    assert [step.after for step in chain.without(1, 1).steps] == [(), (0,)]


def test_the_simplest_values_are_the_first() -> None:
    assert {name: values[0] for name, values in CHOICES.items()} == vars(Rig())
