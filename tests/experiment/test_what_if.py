"""What-if: gains that follow from arithmetic on paper, and unchanged runs that do not drift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import simsched
from simsched.experiment import alterations, unused
from simsched.experiment import what_if as module
from simsched.experiment.alterations import Alteration, Missing, Setting
from simsched.experiment.cell_run import repeated_run
from simsched.experiment.study import Study
from simsched.experiment.what_if import Gain, WhatIf, what_if
from simsched.files.errors import ConfigurationError, ModelError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.workload.builder import adjacency, build_graph, listed_accesses
from simsched.workload.graph import TaskGraph, Workload

MB = 10**6


def found(machine: Any, workload: Any, policy: str = "work_sharing", **changes: Any) -> WhatIf:
    from simsched.experiment.overrides import Change, Origin

    made = [Change(key.replace("__", "."), each, Origin("")) for key, each in changes.items()]
    return what_if(Study.from_objects(machine, workload, policy, made).cells)


def gain(of: WhatIf, what: str, to: str) -> Gain:
    (one,) = (each for each in of.gains if (each.what, each.to) == (what, to))
    return one


def expected(of: WhatIf, what: str, to: str) -> float:
    """Return the makespan that is predicted with a change over that without."""
    one = gain(of, what, to)
    return one.predicted_ps[0] / one.before_ps[0]


def times(of: WhatIf, what: str, to: str) -> float:
    """Return the makespan with a change over that without."""
    one = gain(of, what, to)
    return one.after_ps[0] / one.before_ps[0]


def chain(tasks: int, classes: tuple[str, ...] = ("a",), ops: float = 1e6) -> TaskGraph:
    return build_graph(
        [ops] * tasks,
        task_class=[task % len(classes) for task in range(tasks)],
        class_names=classes,
        successors=adjacency(range(tasks - 1), range(1, tasks), tasks),
    )


def readers(tasks: int, read_bytes: int = 100 * MB) -> TaskGraph:
    """Return independent tasks that read a block each and compute nothing."""
    rows = [(task, task, read_bytes, 0, 0) for task in range(tasks)]
    return build_graph(
        [0.0] * tasks, accessed=listed_accesses(rows, tasks), block_bytes=[read_bytes] * tasks
    )


def test_twice_the_bandwidth_halves_what_is_bound_by_it() -> None:
    made = found(make_machine(domains=1, cores_per_domain=4), readers(8))
    assert times(made, "DRAM bandwidth", "twice") == 0.5
    assert times(made, "DRAM bandwidth", "unbounded") < 1e-3
    assert expected(made, "DRAM bandwidth", "twice") == pytest.approx(0.5, abs=1e-3)
    assert expected(made, "DRAM bandwidth", "unbounded") < 1e-3
    assert times(made, "speed of cores core", "twice") == 1.0
    (name,) = {each.what for each in made.gains if each.what.startswith("tasks")}
    assert times(made, name, "half") == 0.5


def test_where_cores_draw_no_more_bandwidth_gains_nothing() -> None:
    machine = make_machine(domains=1, cores_per_domain=4, core_cap_bytes_per_s=1e9)
    made = found(machine, readers(8))
    assert times(made, "DRAM bandwidth", "twice") == 1.0
    assert times(made, "what a core draws from DRAM", "twice") == 0.5
    assert expected(made, "DRAM bandwidth", "twice") == 1.0
    assert expected(made, "what a core draws from DRAM", "twice") == 0.5


def test_latency_is_paid_once_for_each_access() -> None:
    machine = make_machine(domains=1, cores_per_domain=1, local_latency_ps=1000)
    made = found(machine, readers(5))
    before = made.unchanged.before_ps[0]
    assert before - gain(made, "DRAM latency", "half").after_ps[0] == 5 * 500
    assert before - gain(made, "DRAM latency", "none").after_ps[0] == 5 * 1000
    assert before - gain(made, "DRAM latency", "half").predicted_ps[0] == 5 * 500


def test_a_chain_gains_nothing_from_more_workers() -> None:
    machine = make_machine(domains=1, cores_per_domain=8)
    made = found(machine, chain(10), machines__0__workers=2)
    assert gain(made, "workers", "4").gain_s == 0.0
    assert gain(made, "workers", "8").gain_s == 0.0
    wide = found(machine, "independent[tasks=800]", machines__0__workers=2)
    assert times(wide, "workers", "4") == pytest.approx(0.5)
    assert times(wide, "workers", "8") == pytest.approx(0.25)
    assert gain(wide, "workers", "8").predicted_ps == ()
    assert gain(wide, "workers", "8").row()["predicted_percent"] is None
    (why,) = (each.why for each in found(machine, chain(2)).missing if "workers" in each.what)
    assert why == "every hardware thread has one"


def test_a_class_that_is_half_of_the_critical_path() -> None:
    made = found(make_machine(domains=1, cores_per_domain=2), chain(10, ("a", "b")))
    assert times(made, "tasks a", "none") == 0.5
    assert times(made, "tasks b", "half") == 0.75
    assert times(made, "speed of cores core", "twice") == 0.5
    assert expected(made, "tasks a", "none") == 0.5
    assert expected(made, "tasks b", "half") == 0.75
    assert expected(made, "speed of cores core", "twice") == 0.5


def test_costs_of_the_runtime() -> None:
    # A worker takes all tasks, each after a lock that it holds for 1 us.
    machine = make_machine(
        domains=1, cores_per_domain=1, costs=RuntimeCosts(lock_hold_ps=1_000_000)
    )
    made = found(machine, "independent[tasks=50]")
    free = gain(made, "cost lock_hold", "none")
    assert free.gain_s > 0.0
    assert gain(made, "cost lock_hold", "half").gain_s == pytest.approx(free.gain_s / 2)
    assert free.gain_s == pytest.approx(gain(made, "runtime", "none").gain_s)
    assert free.gain_s == pytest.approx(50e-6, rel=0.05)
    assert free.predicted_ps == free.after_ps
    half = gain(made, "cost lock_hold", "half")
    assert half.predicted_ps == half.after_ps
    (nothing,) = (each for each in made.missing if each.why == "they are 0")
    assert "steal" in nothing.what
    assert "lock_hold" not in nothing.what


def test_all_data_near() -> None:
    # One worker reads two blocks of 100 MB: 10 ms for the near one, 100 ms over the link.
    machine = make_machine(
        domains=2, cores_per_domain=1, link_bandwidth_bytes_per_s=1e9, remote_latency_ps=1000
    )
    made = found(machine, readers(2), "work_sharing[placement=interleave]", machines__0__workers=1)
    assert made.unchanged.before_ps[0] == pytest.approx(110e9, rel=1e-6)
    assert gain(made, "remote accesses", "local").after_ps[0] == pytest.approx(20e9, rel=1e-6)
    link = gain(made, "bandwidth of links crossbar", "twice")
    assert link.after_ps[0] == pytest.approx(60e9, rel=1e-6)
    assert link.predicted_ps[0] == pytest.approx(60e9, rel=1e-6)
    near = gain(made, "remote accesses", "local")
    assert near.predicted_ps[0] == pytest.approx(20e9, rel=1e-6)


@pytest.mark.parametrize("backend", ["native", "simpy"])
@pytest.mark.parametrize(
    ("machine", "workload", "policy"),
    [
        ("amd_4x_opteron8380", "fork_join[depth=4, durations=lognormal 0.5]", "cilk"),
        ("knl_snc4_flat", "heat[rows=64, leaf_bytes=64 KiB, iterations=2]", "bats"),
        ("mirage", "cholesky[tiles=3, tile_size=960, element_bytes=4, costs=measured]", "dmda"),
    ],
)
def test_unchanged_runs_do_not_drift(
    backend: str, machine: str, workload: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alterations, "SOURCES", [alterations.near_data])
    made = found(machine, workload, policy, backend=backend, seeds=2)
    assert made.drift_ps == 0
    assert made.unchanged.before_ps == made.unchanged.after_ps
    assert made.seeds == (0, 1)


HEAT = "heat[rows=64, leaf_bytes=64 KiB, iterations={}]"


def test_of_many_iterations_the_first_ones_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alterations, "SOURCES", [alterations.near_data])
    whole, short = (found("knl_snc4_flat", HEAT.format(count), "bats") for count in (5, 3))
    assert whole.iterations == (5, 5)
    cells = Study.from_objects("knl_snc4_flat", HEAT.format(5), "bats", []).cells
    asked = what_if(cells, iterations=3)
    assert asked.iterations == (3, 5)
    assert asked.rows() == short.rows()
    events = repeated_run(cells[0], events=False).summary.n_events
    for runs, count in ((0, 2), (1, 2), (3, 3), (6, 5)):  # of 3 runs of 5 iterations each
        monkeypatch.setitem(module.MOST_EVENTS, "native", runs * events * 3 // 5 + 10)
        assert what_if(cells).iterations == (count, 5)


def test_runs_with_many_events_are_simulated_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alterations, "SOURCES", [alterations.near_data])
    monkeypatch.setattr(module, "MOST_PREDICTED", 10)
    made = found("amd_4x_opteron8380", "fork_join[depth=4]", "cilk")
    assert [each.predicted_ps for each in made.gains] == [()]
    assert made.rows()[0]["predicted_percent"] is None


def test_who_divides_the_work_gets_all_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alterations, "SOURCES", [alterations.near_data])
    monkeypatch.setitem(module.MOST_EVENTS, "native", 1)
    words = "e5620_m2090", "divisible[units=1000, iterations=4]", "hats"
    assert what_if(Study.from_objects(*words, []).cells, iterations=1).iterations == (4, 4)


def test_how_many_run_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    for cores in (1, 4):
        monkeypatch.setattr(module, "available_cores", lambda cores=cores: cores)
        rows.append(found("amd_4x_opteron8380", "fork_join[depth=5]", "cilk", seeds=2).rows())
    assert rows[0] == rows[1]


def test_gains_are_ranked_and_paired_by_seed() -> None:
    made = found("amd_4x_opteron8380", "fork_join[depth=4]", "cilk", seeds=3)
    gains = [row["gain_s"] for row in made.rows()]
    assert gains == sorted(gains, reverse=True)
    assert [row["change"] for row in made.rows()].count("nothing") == 1
    one = made.gains[0]
    pairs = list(zip(one.before_ps, one.after_ps, strict=True))
    assert len(pairs) == 3
    mean = sum(100 * (1 - after / before) for before, after in pairs) / 3
    assert one.shorter_percent.mean == pytest.approx(mean)
    assert one.shorter_percent.count == 3


def test_a_change_that_cannot_be_simulated_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(setting: Setting) -> Setting:
        raise ModelError("found nothing")

    def source(setting: Setting) -> Iterator[Alteration | Missing]:
        yield Alteration("all", "better", broken)

    monkeypatch.setattr(alterations, "SOURCES", [source])
    made = found(make_machine(domains=1, cores_per_domain=1), chain(2))
    assert made.rows()[-1]["impossible"] == "found nothing"
    assert made.rows()[-1]["makespan_s"] is None
    assert made.drift_ps == 0


@pytest.mark.parametrize(
    ("machine", "workload", "policy"),
    [
        ("knl_snc4_cache", "fork_join[depth=3]", "cilk"),
        ("odroid_xu3", "fork_join[depth=3]", "work_sharing"),
        ("e5620_m2090", "divisible[units=1000]", "hats"),
        ("mirage", "cholesky[tiles=3, tile_size=960, element_bytes=4, costs=measured]", "dmda"),
        ("xeon_max_9480_flat", "fork_join[depth=3]", "cilk"),
    ],
)
def test_every_change_can_be_simulated(machine: str, workload: str, policy: str) -> None:
    made = found(machine, workload, policy)
    assert made.drift_ps == 0
    assert [(each.what, each.to) for each in made.gains if each.impossible] == []
    keys = [(each.what, each.to) for each in made.gains]
    assert len(keys) == len(set(keys))


def test_policies_see_that_memory_is_faster() -> None:
    machine = simsched.load_machine("knl_snc4_flat")
    for factor in (alterations.TWICE, alterations.FREE):
        made = alterations._faster_memory(machine, "HBM", factor)
        for before, after in zip(machine.nodes, made.nodes, strict=True):
            grows = after.peak_bandwidth_bytes_per_s > before.peak_bandwidth_bytes_per_s
            assert grows == (before.kind == "HBM")


def test_paths_of_copies_stay() -> None:
    machine: Machine = simsched.load_machine("k40_server")
    near = alterations.all_near(machine)
    for domain, row in enumerate(machine.paths):
        for node, path in enumerate(row):
            if not machine.uses_in_place(domain, node):
                assert near.paths[domain][node] == path


def test_from_python() -> None:
    workload = Workload("chain", chain(10, ("a", "b")))
    result = simsched.run(
        make_machine(domains=1, cores_per_domain=2), workload, ["work_sharing", "cilk_a"], jobs=1
    )
    frame = result.what_if("work_sharing")
    assert frame.attrs["drift_ps"] == 0
    assert frame.attrs["units"]["gain_s"] == "s"
    assert "more workers" in frame.attrs["missing"]
    row = frame[(frame.change == "tasks a") & (frame.to == "none")].iloc[0]
    assert row.shorter_percent == 50.0
    assert frame.attrs["iterations"] == (1, 1)
    with pytest.raises(ConfigurationError, match="what_if: iterations: found 0"):
        result.what_if("work_sharing", iterations=0)
    with pytest.raises(ConfigurationError, match="found runs with policy work_sharing, cilk_a"):
        result.what_if()


def test_changes_of_what_is_not_used_are_simulated_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = "knl_snc4_flat", "fork_join[depth=4]", "cilk"
    cells = Study.from_objects(*words, []).cells
    runs: list[Any] = []
    varied = module.varied_run
    monkeypatch.setattr(module, "varied_run", lambda cell: runs.append(cell) or varied(cell))
    together = what_if(cells)
    few = len(runs)
    monkeypatch.setattr(module, "unused_changes", lambda *_: [])
    assert what_if(cells).rows() == together.rows()  # one by one they have no effect either
    alone = [gain for gain in together.gains if not gain.has_effect]
    names = {f"{gain.what} {gain.to}" for gain in alone}
    assert {"HBM bandwidth twice", "HBM latency none", "cost page_fault none"} <= names
    assert len(runs) - few >= few + 15


def test_what_changes_the_run_after_all_is_simulated_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The counters are read wrongly: L1 serves, and whatever changes it is no more "unused" then.
    monkeypatch.setattr(unused, "serves_nothing", lambda run, level: True)
    monkeypatch.setattr(alterations, "serves_nothing", lambda run, level: True)
    monkeypatch.setattr(alterations, "SOURCES", [alterations.caches])
    made = found("amd_4x_opteron8380", "jacobi", "cilk")
    assert any(gain.has_effect for gain in made.gains if gain.what != "hits in caches")


def test_one_of_iterations_that_last_alike_is_enough() -> None:
    machine, events = make_machine(domains=1, cores_per_domain=2), 10**9
    alike = Workload("chain", chain(10), iterations=5)
    (cell,) = Study.from_objects(machine, alike, "work_sharing", []).cells
    assert module.iterations_for(cell, events) == 1
    # Data are placed and caches filled in the first iteration.
    words = "knl_snc4_flat", HEAT.format(5), "bats"
    (cell,) = Study.from_objects(*words, []).cells
    assert module.iterations_for(cell, events) == 2


def test_classes_without_work_do_not_apply() -> None:
    graph = build_graph([0.0, 1e6], task_class=[0, 1], class_names=("empty", "full"))
    made = found(make_machine(domains=1, cores_per_domain=1), Workload("two", graph))
    (why,) = (each.why for each in made.missing if each.what == "tasks empty")
    assert why == "they neither compute nor access anything"
    assert times(made, "tasks full", "none") == 0.0


def test_tasks_that_compute_nothing_and_memory_that_nobody_waits_for() -> None:
    # A task computes for 2 ms while it reads for 5 ms, another one the other way round.
    rows = [(task, task, read, 0, 0) for task, read in enumerate((50 * MB, 20 * MB))]
    graph = build_graph(
        [2e6, 5e6],
        accessed=listed_accesses(rows, 2),
        block_bytes=[50 * MB, 20 * MB],
        successors=adjacency([0], [1], 2),
    )
    machine = make_machine(
        domains=1,
        cores_per_domain=1,
        dram_bandwidth_bytes_per_s=1e11,
        core_cap_bytes_per_s=1e10,
    )
    made = found(machine, Workload("two", graph))
    assert made.unchanged.before_ps[0] == pytest.approx(10e9, rel=1e-3)
    for what, left in (("computation of tasks", 7e9), ("memory", 7e9)):
        assert gain(made, what, "none").after_ps[0] == pytest.approx(left, rel=1e-3)
        assert gain(made, what, "none").predicted_ps[0] == pytest.approx(left, rel=1e-3)
    assert gain(made, "computation of tasks", "none").removes == ("compute",)
    assert gain(made, "memory", "none").removes == ("memory",)


def test_ready_tasks_for_whoever_is_free() -> None:
    # Eight tasks of 1 ms for four workers, of which one may take them.
    machine, graph = make_machine(domains=1, cores_per_domain=4), build_graph([1e6] * 8)
    made = found(machine, Workload("eight", graph), "single_thread")
    assert times(made, "ready tasks", "to whoever is free") == 0.25
    assert expected(made, "ready tasks", "to whoever is free") == 0.25
    # A chain has nothing for anybody else.
    made = found(machine, chain(10), "single_thread")
    assert times(made, "ready tasks", "to whoever is free") == 1.0
    assert expected(made, "ready tasks", "to whoever is free") == 1.0
    # Where others execute a task, its data lie elsewhere.
    made = found(machine, readers(8), "single_thread")
    assert gain(made, "ready tasks", "to whoever is free").predicted_ps == ()


def test_hits_behind_flows_are_hidden_by_computation_once_there_are_no_flows() -> None:
    # A MB is read in 1 ms and kept; then two are, of which one hits in 1 ms behind the other one's
    # flow of 1 ms, while the task computes for 1.5 ms.
    graph = build_graph(
        [0.0, 1.5e6],
        accessed=listed_accesses([(0, 0, MB, 0, 0), (1, 0, 2 * MB, 0, 0)], 2),
        block_bytes=[2 * MB],
        successors=adjacency([0], [1], 2),
    )
    machine = make_machine(
        domains=1,
        cores_per_domain=1,
        dram_bandwidth_bytes_per_s=1e9,
        caches=[("L1", 8 * MB, 1e9, 0, 1)],
    )
    made = found(machine, Workload("two", graph))
    assert made.unchanged.before_ps[0] == pytest.approx(3e9, rel=1e-3)
    free = gain(made, "memory", "none")
    assert free.after_ps[0] == pytest.approx(1.5e9, rel=1e-3)
    assert free.predicted_ps[0] == pytest.approx(1.5e9, rel=1e-3)
