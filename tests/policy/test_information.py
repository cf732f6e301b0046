"""What policies know of durations in each information mode."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.machine.synthetic import make_machine
from simsched.policy import list_policies, make_policy
from simsched.policy.contract.estimates import estimate_ops
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload

GRAPH = build_graph(
    [[4.0, 8.0, 5.0], [np.inf, 2.0, 1.0]],
    kinds=("cpu", "gpu"),
    task_class=[0, 0, 1],
    class_names=("a", "b"),
)
INF = np.inf


@pytest.mark.parametrize(
    ("information", "expected"),
    [
        ("exact", [[4, 8, 5], [INF, 2, 1]]),
        ("class_mean", [[6, 6, 5], [INF, 2, 1]]),
        ("user", [[3, 3, 7], [INF, 3, 7]]),
        ("blind", [[1, 1, 1], [INF, 1, 1]]),
    ],
)
def test_modes(information: str, expected: list[list[float]]) -> None:
    known = estimate_ops(GRAPH, information, {"a": 3.0, "b": 7.0})
    np.testing.assert_array_equal(known, expected)


ALL = "accepted class:operations for each of long, short"


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({}, f"long, short, {ALL}"),
        ({"short": 3.0}, f"long, {ALL}"),
        ({"short": 3.0, "lon": 1.0}, f"long, {ALL}; 'lon' is none of them, did you mean 'long'?"),
        ({"short": 3.0, "xyz": 1.0}, f"long, {ALL}; 'xyz' is none of them"),
    ],
)
def test_the_user_has_to_name_every_class(known: dict[str, float], message: str) -> None:
    graph = build_graph([1.0, 2.0], task_class=[0, 1], class_names=("long", "short"))
    with pytest.raises(ConfigurationError) as found:
        estimate_ops(graph, "user", known)
    assert str(found.value) == f"user_ops: found no operations of {message}"
    table = {"long": 1.0, "short": 2.0, "of_another_program": 3.0}
    assert estimate_ops(graph, "user", table).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("text", ["a", "a:x", ":3", "a:1 a:2", "a:-1", "a:nan"])
def test_malformed_tables_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"policy heft: parameter user_ops: found"):
        make_policy("heft", {"information": "user", "user_ops": text})


def test_a_policy_decides_by_what_the_user_says() -> None:
    # Two workers, tasks of 1, 1 and 2 us: longest first ends after 2 us. Told that the long one is
    # short, HEFT begins with the others and ends after 3 us.
    graph = build_graph(
        [1000.0, 1000.0, 2000.0], task_class=[0, 0, 1], class_names=("short", "long")
    )
    machine = make_machine(domains=1, cores_per_domain=2)

    def makespan_us(**known: str) -> float:
        policy = make_policy("heft", known)
        return simulate(machine, Workload("w", graph), policy).makespan_s * 1e6

    assert makespan_us() == pytest.approx(2.0)
    told = {"information": "user", "user_ops": "short:5 long:1"}
    assert makespan_us(**told) == pytest.approx(3.0)


NO_DURATIONS = ("eager", "prio", "random", "ws", "lws", "heteroprio", "cilk_a", "work_sharing")


@pytest.mark.parametrize("name", NO_DURATIONS)
def test_policies_that_look_at_no_durations_need_no_table(name: str) -> None:
    graph = build_graph([2e4, 1e4, 2e4], task_class=[0, 0, 1], class_names=("short", "long"))
    machine, workload = make_machine(domains=1, cores_per_domain=2), Workload("w", graph)
    known = simulate(machine, workload, make_policy(name), events=True)
    told = simulate(machine, workload, make_policy(name, {"information": "user"}), events=True)
    assert known.trace is not None
    assert told.trace is not None
    for column, values in known.trace.events.items():
        np.testing.assert_array_equal(values, told.trace.events[column])


@pytest.mark.parametrize("name", ["dm", "dmda", "dmdas", "heft"])
def test_policies_that_go_by_durations_need_one(name: str) -> None:
    workload = Workload("w", build_graph([1.0, 2.0], class_names=("only",), task_class=[0, 0]))
    with pytest.raises(ConfigurationError, match="user_ops: found no operations of only"):
        simulate(make_machine(), workload, make_policy(name, {"information": "user"}))


@pytest.mark.parametrize("name", sorted({info.name for info in list_policies()}))
def test_described_modes_are_the_accepted_ones(name: str) -> None:
    text = type(make_policy(name)).__doc__ or ""
    for modes in re.findall(r"^ *information : (\{.*\})", text, re.MULTILINE):
        assert modes == '{"exact", "class_mean", "user", "blind"}'
