"""Random durations laid over programs: what is drawn, for whom, and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import simsched
from simsched.engine.conformance import run_conformance
from simsched.engine.run import simulate
from simsched.files.errors import SimschedError
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.workload import Workload
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.durations import parse_durations
from simsched.workload.importers import from_networkx, to_networkx
from simsched.workload.presets import make_workload

MANY = 20_000


def many(classes: tuple[str, ...] = ("a", "b"), **more: object) -> Workload:
    ops = np.full(MANY, 1e6)
    graph = build_graph(ops, task_class=np.arange(MANY) % len(classes), class_names=classes)
    return Workload("many", graph, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "mean", "deviation", "low", "high"),
    [
        ("constant", 1.0, 0.0, 1.0, 1.0),
        ("uniform 0.3", 1.0, 0.3 / 3**0.5, 0.7, 1.3),
        ("exponential", 1.0, 1.0, 0.0, np.inf),
        ("lognormal 0.5", 1.0, 0.5, 0.0, np.inf),
        ("spikes 0.1 11", 2.0, 3.0, 1.0, 11.0),
        ("spikes 0.1 11 + uniform 0.3", 2.0, 3.04, 0.7, 14.3),
    ],
)
def test_factors_have_the_distribution(
    given: str, mean: float, deviation: float, low: float, high: float
) -> None:
    drawn = many().with_durations(given, seed=7).drawn().graph
    factors = drawn.ops[0] / 1e6
    assert factors.mean() == pytest.approx(mean, rel=0.05)
    assert factors.std() == pytest.approx(deviation, rel=0.05, abs=1e-12)
    assert low <= factors.min() <= factors.max() <= high
    if "spikes" in given:
        assert (factors > 2).mean() == pytest.approx(0.1, abs=0.01)


def test_classes_have_their_own() -> None:
    drawn = many().with_durations({"b": "exponential"}).drawn().graph
    assert (drawn.ops[0, ::2] == 1e6).all()
    assert len(np.unique(drawn.ops[0, 1::2])) == MANY // 2


def test_seeds_and_iterations_draw_other_ones() -> None:
    program = many(iterations=3)
    one, again, other = (
        program.with_durations("exponential", seed=seed).drawn() for seed in (1, 1, 2)
    )
    assert (one.graph.ops == 1e6).all(), "what a policy plans with before the run are the means"
    for number in (1, 2, 3):
        assert (one.graph_of(number).ops == again.graph_of(number).ops).all()
        assert (one.graph_of(number).ops != other.graph_of(number).ops).any()
    assert (one.graph_of(1).ops != one.graph_of(2).ops).any()


def test_body_and_join_are_of_one_execution() -> None:
    graph = build_graph([1.0, 1.0], join_ops=[2.0, 0.0], children=adjacency([0], [1], 2))
    drawn = Workload("w", graph).with_durations("exponential").drawn().graph
    assert drawn.join_ops[0, 0] == pytest.approx(2 * drawn.ops[0, 0])
    assert drawn.ops[0, 0] != drawn.ops[0, 1]


@pytest.mark.parametrize(
    "policy", ["heft", "manual_static", "dmda", "cilk", "laws", "openmp_static"]
)
def test_policies_take_programs_whose_iterations_differ(policy: str) -> None:
    program = make_workload("fork_join[depth=3, durations=exponential, iterations=2]")
    if policy in ("heft", "dmda", "manual_static"):
        program = make_workload("layered_random[layers=3, width=4, durations=exponential]")
        program = dataclasses.replace(program, iterations=2)
    result = simulate(load_machine("toy_1fast_3slow"), program, make_policy(policy))
    assert result.makespan_s > 0


def test_tasks_that_cannot_run_somewhere_still_cannot() -> None:
    graph = build_graph([[1.0, np.inf], [np.inf, 1.0]], kinds=("cpu", "gpu"))
    drawn = Workload("w", graph).with_durations("spikes 1 0").drawn().graph
    assert drawn.ops.tolist() == [[0.0, np.inf], [np.inf, 0.0]]


def test_both_engines_execute_what_is_drawn() -> None:
    graph = build_graph([1e9, 1e9], successors=adjacency([0], [1], 2))
    program = Workload("w", graph, iterations=2).with_durations("spikes 1 3")
    machine, policy = load_machine("toy_1fast_3slow"), make_policy("heft")
    found = [simulate(machine, program, policy, backend=b).makespan_s for b in ("native", "simpy")]
    assert found == pytest.approx([12.0, 12.0])  # of 2 iterations of 2 tasks of 3 s


def test_engines_agree_on_trees_whose_iterations_differ() -> None:
    case = {"workloads": ["heat[durations=exponential]"], "machines": ["toy_1fast_3slow"]}
    (found,) = run_conformance(policies=["cilk"], **case)
    assert (found.difference, found.refused, found.left_out) == ("", "", "")
    assert found.events > 0


def test_an_imported_program_in_an_experiment(tmp_path: Path) -> None:
    (tmp_path / "g.dot").write_text("digraph { a [s=1, c=x] b [s=1, c=y] a -> b }")
    (tmp_path / "study.yaml").write_text(
        "name: noise\nmachines: [toy_1fast_3slow]\npolicies: [heft, eager]\nseeds: 2\nworkloads:\n"
        "  - {file: g.dot, cost: s, cost_unit: s, task_class: c, label: all,"
        " durations: exponential}\n"
        "  - {file: g.dot, cost: s, cost_unit: s, task_class: c, label: x,"
        " durations: {x: spikes 1 5}}\n"
        "  - {name: 'cholesky[tiles=3, durations.potrf=lognormal 0.4]', label: generated}\n"
    )
    runs = simsched.run(tmp_path / "study.yaml", jobs=1).runs
    makespans = runs.pivot(index=["workload", "policy"], columns="seed", values="makespan_s")
    assert makespans.loc["x"].to_numpy() == pytest.approx(np.full((2, 2), 6.0), rel=1e-3)
    for name in ("all", "generated"):
        assert (makespans.loc[name, 0] != makespans.loc[name, 1]).all()
    # Both policies execute the same draws: a chain on the fastest core.
    both = makespans.loc["all"].to_numpy()
    assert both[0] == pytest.approx(both[1], rel=1e-3)


def test_a_program_made_in_python_draws_for_every_seed() -> None:
    program = many(iterations=1).with_durations("exponential")
    runs = simsched.run("toy_1fast_3slow", program, ["work_sharing"], seeds=3, jobs=1).runs
    assert runs["makespan_s"].nunique() == 3


def test_what_is_exported_is_what_is_drawn() -> None:
    program = make_workload("cholesky[tiles=3, durations=exponential]", seed=4)
    again = from_networkx(to_networkx(program))
    assert (again.graph.ops == program.drawn().graph.ops).all()
    assert program.parameters["durations"] == "exponential"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("durations=normal 1", "durations: found 'normal 1', accepted a distribution such as"),
        ("durations=5", "durations: found 5, accepted a distribution"),
        ("durations=lognormal", "durations: found 'lognormal', accepted a distribution"),
        ("durations=uniform 1.5", "found 'uniform 1.5', accepted a spread from 0 to 1"),
        ("durations=lognormal nan", "found 'lognormal nan', accepted a spread from 0 to 10"),
        ("durations=spikes 2 3", "found 'spikes 2 3', accepted spikes SHARE FACTOR"),
        ("durations=spikes 0.1 -3", "found 'spikes 0.1 -3', accepted spikes SHARE FACTOR"),
        ("durations=uniform 1 + exponential", "accepted a distribution"),
        ("durations.potr=exponential", "durations.potr: unknown class of tasks 'potr'; did you"),
        ("durations=exponential, durations.potrf=exponential", "durations: found beside durations"),
    ],
)
def test_what_is_no_distribution_is_refused(spec: str, message: str) -> None:
    with pytest.raises(SimschedError) as caught:
        make_workload(f"cholesky[tiles=3, {spec}]")
    assert message in str(caught.value)
    assert str(caught.value).startswith("workload cholesky: durations")


def test_divided_work_has_no_durations() -> None:
    found = parse_durations("exponential", "x")
    assert found.spreads[""].distribution == "exponential"
    program = make_workload("divisible")
    assert program.division is not None
    with pytest.raises(SimschedError, match="durations: found work that policies divide"):
        program.with_durations("exponential")
