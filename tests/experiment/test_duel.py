"""Duels: candidates, and what is found on them."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.experiment.duel import SEEDS, Budget, Found, _Contest, _write, find_duel
from simsched.experiment.duel_generated import Generated
from simsched.experiment.duel_kinds import KINDS, Candidate, CandidateDraws, Kind
from simsched.experiment.duel_machines import CHOICES, Rig
from simsched.experiment.duel_programs import MOST_TASKS, UPDATE, Sketch, Step
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError, GraphError, SimschedError
from simsched.files.yaml_reader import read_document
from simsched.machine.load import load_machine
from simsched.policy import make_policy
from simsched.workload.graph_files import read_graph_file

LOCK_US = 10


def contest(first: str, second: str, factor: float = 2.0) -> _Contest:
    return _Contest((first, second), factor, None)


GRAPHS, JOBS, LOOPS, MATRICES, SHARED = KINDS


def candidates(number: int, kind: Kind = GRAPHS) -> list[Candidate]:
    draws = CandidateDraws(kind, np.random.default_rng(1))
    return [draws.candidate() for _ in range(number)]


def flat(tasks: int, work_us: float) -> Sketch:
    return Sketch(tuple(Step(work_us) for _ in range(tasks)))


def test_the_lock_of_a_central_queue() -> None:
    # n tasks of length d on n cores: the lock of the queue lets one begin every L, so the last one
    # ends after n L + d; where every core has its own tasks from the start there is no lock.
    tasks = 8
    candidate = Candidate(GRAPHS, flat(tasks, 10), Rig(cores=tasks, lock_us=LOCK_US))
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
        GRAPHS,
        replace(flat(12, 10), block_kib=(64,)).with_step(3, uses=((0, UPDATE),), priority=2),
        Rig(cores=8, lock_us=LOCK_US, steal_us=10, hbm_gb_per_s=50, domains=2),
    )
    assert fight.ratio(large) >= 2.0
    small = fight.shrunken(large, Budget(0.0, 1))
    assert fight.ratio(small) >= 2.0
    assert all(fight.ratio(simpler) < 2.0 for simpler in small.simpler())
    assert isinstance(small.program, Sketch)
    assert len(small.program.steps) < 12
    assert not small.program.block_kib
    assert (small.rig.steal_us, small.rig.hbm_gb_per_s, small.rig.domains) == (0, 0, 1)


def test_a_quarter_of_the_time_is_for_making_it_simpler(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("simsched.experiment.duel.time.monotonic", lambda: now_s[0])
    timed, counted = (Budget(40.0, tries, _begin=100.0) for tries in (None, 2))
    said = []
    for passed_s in (29, 31, 39, 41):
        now_s[0] = 100.0 + passed_s
        said.append((timed.take(), timed.used, timed.may_simplify()))
        assert counted.may_simplify()
    assert said == [(True, 1, True), (False, 1, True), (False, 1, True), (False, 1, False)]
    assert [counted.take() for _ in range(3)] == [True, True, False]


def test_what_is_found_stays_as_it_is_without_time() -> None:
    fight = contest("work_sharing", "openmp_static")
    large = Candidate(GRAPHS, flat(12, 10), Rig(cores=8, lock_us=LOCK_US, steal_us=10))
    assert fight.shrunken(large, Budget(0.0)) is large
    assert fight.shrunken(large, Budget(60.0)).rig.steal_us == 0


def test_a_cache_in_front_of_dram() -> None:
    rig = Rig(cache_mib=16, dram_gb_per_s=5)
    cache = rig.machine("machine").nodes[0].memory_side_cache
    assert cache is not None
    assert (cache.capacity_bytes, cache.bandwidth_bytes_per_s) == (16 * 2**20, 20e9)
    assert any(simpler.cache_mib == 0 for simpler in rig.simpler(CHOICES))
    assert contest("laws", "charm_cache_mode").kind(0) is GRAPHS


def test_decisions_that_take_longer_than_kernels() -> None:
    # A step of 8 kernels after 1 MB in and before 0.5 MB out. Baymax takes 50 us for what is ready
    # together, MPS nothing. Copies take 0.15 ms at 10 GB/s, kernels 8.2 ms in all, or 8.2 us.
    values = {"critical": "", "batch": "md", "batch_s": 0.01, "chunk_bytes": 2**28}
    step = Generated("accelerator_mix", {}, {**values, "deviation": 0.0})
    rig = Rig(devices=1, device_queues=16)
    speeds = SHARED.machines["device_speed"]
    slow, fast = (
        Candidate(SHARED, step, replace(rig, device_speed=s)) for s in (min(speeds), max(speeds))
    )
    fight = contest("baymax", "mps")
    assert 1.0 < fight.ratio(slow) < 1.1
    assert fight.ratio(fast) == pytest.approx((150 + 8.2 + 3 * 50) / (150 + 8.2), rel=0.01)


def test_nobody_is_slower_than_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="found one and the same policy"):
        duel("cilk", "cilk", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_policies_that_meet_nowhere_are_refused(tmp_path: Path) -> None:
    message = (
        r"duel: late, mps: found none of 60 small programs .* MapReduce jobs or .* mostly: needs "
        "MapReduce jobs: found none; needs applications that share a device: found one program"
    )
    with pytest.raises(ConfigurationError, match=message):
        duel("late", "mps", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("cilk", "cab", GRAPHS),
        ("cilk", "late", JOBS),
        ("hats", "cpu_only", LOOPS),
        ("eager", "finepar", MATRICES),
        ("mps", "eager", SHARED),
    ],
)
def test_the_first_kind_that_fits_both_counts(first: str, second: str, kind: Kind) -> None:
    assert contest(first, second).kind(0) is kind


def test_a_device_ten_times_as_fast() -> None:
    # 1000 units of 100 us on a core or 10 us on the device, without bytes to move.
    values = {"units": 1000, "cpu_ops": 1e5, "gpu_ops": 1e5, "saturation_units": 0.0}
    loop = Generated("divisible", {}, {**values, "input_bytes": 0, "output_bytes": 0})
    candidate = Candidate(LOOPS, loop, Rig(devices=1, device_speed=10))
    assert contest("cpu_only", "gpu_only").ratio(candidate) == pytest.approx(10.0, rel=1e-3)


def test_kernels_that_fit_side_by_side() -> None:
    # Queries of nine kernels of 5.8 ms that take 519 thousandths of the device, and of six of 3.8
    # ms that take 331: one after the other, or side by side. Sizes of inputs differ by 20 %.
    rig = Rig(devices=1, device_speed=1, device_queues=16)
    fight = contest("accelerator_fcfs", "mps")
    given = {"batch": "", "queries": 1, "gap_s": 0.0, "chunk_bytes": 2**28, "deviation": 0.0}
    one = Generated("accelerator_mix", {}, {**given, "critical": "ner"})
    two = replace(one, values={**given, "critical": "ner pos"})
    assert fight.ratio(Candidate(SHARED, one, rig)) == pytest.approx(1.0)
    assert 1.2 < fight.ratio(Candidate(SHARED, two, rig)) < (9 * 5.8 + 6 * 3.8) / (9 * 5.8) * 1.1


def test_a_backup_on_a_fast_node() -> None:
    # Two nodes with two slots, one a tenth as fast; two splits with 67 s of work on the fast one.
    # Without backups the map task on the slow node is the last one. A task is judged after a
    # minute at a heartbeat, one every 3 s, of which the job takes two more.
    job = {"splits": 2, "reduces": 1, "split_bytes": 16 * 2**20, "map_output_ratio": 0.0}
    program = Generated("sort_mapreduce", {}, {**job, "task_noise": 0.0, "skew": 0.0})
    rig = Rig(domains=2, cores=2, slow_domains=1, slow_speed=0.1)
    ratio = contest("hadoop_ns", "hadoop_default").ratio(Candidate(JOBS, program, rig))
    one_s = 16 * 2**20 * 4000 / 1e9
    assert 10 * one_s / (63 + 6 + one_s) < ratio < (10 * one_s + 6) / (60 + one_s)


@pytest.mark.parametrize(
    ("first", "second", "factor"),
    [
        ("hadoop_ns", "late", 1.5),
        ("cpu_only", "gpu_only", 2.0),
        ("row_split", "finepar", 2.0),
        ("accelerator_fcfs", "mps", 1.5),
    ],
)
def test_what_is_found_of_each_kind_runs(
    first: str, second: str, factor: float, tmp_path: Path
) -> None:
    found = find_duel((first, second), factor=factor, budget=Budget(0.0, 150), output=tmp_path)
    assert [path.name for path in found.files] == ["machine.yaml", "duel.yaml"]
    assert found.ratio == pytest.approx(found.least_ratio) or found.ratio > found.least_ratio
    assert found.least_ratio >= factor
    assert 1 <= found.tasks <= MOST_TASKS
    study = Study.from_yaml(read_document(tmp_path / "duel.yaml"))
    makespans = [
        simulate(
            cell.machine_model, cell.workload_source.build(), cell.policy_model, seed=cell.seed
        ).makespan_s
        for cell in study.cells
    ]
    assert sum(makespans[:SEEDS]) / sum(makespans[SEEDS:]) == pytest.approx(found.ratio)


def test_a_program_with_too_many_tasks_is_none() -> None:
    for tasks, ratio in ((MOST_TASKS, 1.0), (MOST_TASKS + 1, 0.0)):
        loop = Generated("divisible", {}, {"chunks": tasks, "units": 1000})
        candidate = Candidate(LOOPS, loop, Rig(devices=1))
        assert contest("eager", "prio").ratio(candidate) == pytest.approx(ratio)


def test_candidates_are_read_back_as_they_are(tmp_path: Path) -> None:
    for candidate in candidates(12):
        machine, program = candidate.things()
        try:
            program.validate()
        except GraphError:
            continue
        _write(candidate, ("work_sharing", "eager"), tmp_path)
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


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_neighbours_are_candidates(kind: Kind) -> None:
    draws = CandidateDraws(kind, np.random.default_rng(5))
    for changed in candidates(20, kind):
        for _ in range(20):
            changed = draws.changed(changed)
        for each in (changed, *islice(changed.simpler(), 200)):
            values = kind.machines.items()
            assert all(getattr(each.rig, name) in accepted for name, accepted in values)
            assert each != changed or each is changed
            if isinstance(each.program, Sketch):
                _check_sketch(each.program)


def _check_sketch(sketch: Sketch) -> None:
    assert len(sketch.steps) <= MOST_TASKS
    for task, step in enumerate(sketch.steps):
        assert all(before < task for before in (step.parent, *step.after))
        assert all(block < len(sketch.block_kib) for block, _ in step.uses)


@pytest.mark.parametrize("kind", KINDS[1:], ids=lambda kind: kind.name)
def test_many_generated_candidates_are_accepted(kind: Kind) -> None:
    made = 0
    for candidate in candidates(40, kind):
        try:
            made += bool(candidate.things())
        except SimschedError:
            continue
    assert made >= 10


def test_children_of_what_is_dropped_stay() -> None:
    tree = Sketch(tuple(Step(parent=parent) for parent in (-1, 0, 1, 2, 2)))
    assert [step.parent for step in tree.without(1, 2).steps] == [-1, 0, 0]
    chain = Sketch((Step(), Step(after=(0,)), Step(after=(0, 1))))
    assert [step.after for step in chain.without(1, 1).steps] == [(), (0,)]


def test_the_simplest_values_are_the_first() -> None:
    first = {name: values[0] for name, values in CHOICES.items()}
    assert Rig(**first) == Rig()
