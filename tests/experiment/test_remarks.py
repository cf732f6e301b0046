"""Sentences that explain a comparison: each rule by itself, and which of them speak."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simsched.experiment.facts import Facts, Pair, facts_of
from simsched.experiment.remarks import (
    RULES,
    WITHOUT_TASK,
    against_baseline,
    explained,
    remarks,
)

WORKERS = {"workers": 4.0}


def facts(label: str, seconds: dict[str, float], idle: Any = None, **metrics: float) -> Facts:
    """Facts whose makespan is the sum of the parts."""
    return Facts(label, sum(seconds.values()), seconds, {**WORKERS, **metrics}, idle or {})


def pair(part: str, *, idle: Any = None, **metrics: tuple[float, float]) -> Pair:
    """Two sides that differ in one part, 4 s instead of 10 s, and in some columns."""
    first, second = ({name: both[side] for name, both in metrics.items()} for side in (0, 1))
    return Pair(
        facts("A", {"compute" if part != "compute" else "other": 2.0, part: 8.0}, **first),
        facts("B", {"compute" if part != "compute" else "other": 2.0, part: 2.0}, idle, **second),
    )


HEAD = "B is 60 % shorter than A because its workers "
WHILE = "75 % less (2 instead of 8 s)"
IDLE = "50 instead of 80 % of the time (2 instead of 8 s)"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            pair("memory", remote_percent=(73.0, 0.5)),
            f"wait {WHILE} for memory: 0.5 instead of 73 % of bytes are remote",
        ),
        (
            pair("memory", dram_percent=(90.0, 10.0), hbm_percent=(10.0, 90.0)),
            f"wait {WHILE} for memory: 90 instead of 10 % of bytes come from HBM",
        ),
        (
            pair("memory", memory_bytes=(8e9, 2e9)),
            f"wait {WHILE} for memory: 2 instead of 8 GB come from memory",
        ),
        (
            pair("wait DRAM: link"),
            f"wait {WHILE} for memory: queues at the link of DRAM make most of it",
        ),
        (
            pair("tasks", remote_percent=(73.0, 0.5)),
            f"spend {WHILE} in tasks: 0.5 instead of 73 % of bytes are remote",
        ),
        (
            pair("compute", wasted_s=(3.0, 0.0)),
            f"compute {WHILE}: 0 instead of 3 s go into executions without result",
        ),
        (pair("cache"), f"wait {WHILE} for caches"),
        (
            pair("idle", busy_imbalance=(2.0, 1.0)),
            f"are idle {IDLE}: 1 instead of 2 times the mean",
        ),
        (
            pair("steal", steals=(1000.0, 100.0)),
            f"spend {WHILE} on steals: 100 instead of 1,000 steals",
        ),
        (pair("pools"), f"spend {WHILE} on taking tasks"),
        (pair("spawn"), f"spend {WHILE} on creating tasks"),
        (
            pair("migration", migrated_bytes=(8e9, 2e9)),
            f"spend {WHILE} on moving data: 2 instead of 8 GB are moved",
        ),
        (
            pair("between iterations", policy_work_s=(3.0, 1.0)),
            f"wait {WHILE} between iterations: 1 instead of 3 s are the policy's work",
        ),
    ],
)
def test_each_rule_says_what_differs(found: Pair, sentence: str) -> None:
    (said,) = remarks(found)
    assert said.startswith(HEAD + sentence)
    assert said.endswith(".")


@pytest.mark.parametrize(
    "found",
    [
        pair("memory", remote_percent=(0.0132, 44.5)),
        pair("memory", hbm_percent=(90.0, 10.0), dram_percent=(10.0, 90.0)),
        pair("memory", nvm_percent=(10.0, 90.0), dram_percent=(90.0, 10.0)),
        pair("memory", memory_bytes=(2e9, 8e9)),
        pair("tasks", remote_percent=(0.5, 73.0)),
        pair("compute", wasted_s=(0.0, 3.0)),
        pair("steal", steals=(0.0, 65.0), steals_remote=(0.0, 6.0)),
        pair("pools", steals=(0.0, 65.0)),
        pair("migration", migrated_bytes=(2e9, 8e9)),
        pair("between iterations", policy_work_s=(1.0, 3.0)),
    ],
)
def test_what_goes_the_other_way_is_no_reason(found: Pair) -> None:
    """A run waited less for memory: 44.5 instead of 0.0132 % of bytes were remote."""
    (said,) = remarks(found)
    assert "(2 instead of 8 s)" in said
    assert ":" not in said
    (said,) = remarks(Pair(found.second, found.first))
    assert "(8 instead of 2 s)" in said
    assert ":" not in said


def test_queues_and_causes_go_the_way_of_their_part() -> None:
    first = facts("A", {"compute": 1.0, "memory": 9.0, "wait DRAM: link": 1.0})
    second = facts("B", {"compute": 1.0, "memory": 1.0, "wait DRAM: link": 5.5})
    (said,) = remarks(Pair(first, second))
    assert said.endswith("wait 35 % less (6.5 instead of 10 s) for memory.")
    idle = {("tail", ""): 9.0, ("kept", "pool of others"): 1.0, ("kept", "own pool"): 3.0}
    first = facts("A", {"compute": 1.0, "idle": 13.0}, idle)
    idle = {("tail", ""): 1.0, ("kept", "pool of others"): 13.0, ("kept", "own pool"): 1.0}
    second = facts("B", {"compute": 1.0, "idle": 15.0}, idle)
    assert remarks(Pair(first, second)) == [
        "B is 14 % longer than A because its workers are idle 87.5 instead of 28.6 % of the time "
        "(14 instead of 4 s) while tasks are kept in pools from which they take nothing "
        "(pool of others).",
        "Against that, they are idle 6.25 instead of 64.3 % of the time (1 instead of 9 s) in the "
        "tail of iterations, after the last task has been taken.",
    ]


def test_idle_time_of_runs_without_traces_has_no_cause() -> None:
    found = pair("idle", busy_imbalance=(1.0, 2.0))
    assert remarks(found) == [f"{HEAD}are idle {IDLE}: simsched compare says why."]
    first = facts("A", {"tasks": 6.0, "idle": 4.0})
    second = facts("B", {"tasks": 10.0, "idle": 5.0})  # idle for longer, but less of the time
    assert remarks(Pair(first, second))[1] == (
        "Against that, they are idle 33.3 instead of 40 % of the time (5 instead of 4 s): "
        "simsched compare says why."
    )


def test_every_rule_is_tested() -> None:
    sides = test_each_rule_says_what_differs.pytestmark[0].args[1]
    spoken = {each.__name__ for found, _ in sides for each in RULES if each(found) is not None}
    assert spoken == {each.__name__ for each in RULES}


def test_numbers_of_workers_without_task_are_said_if_they_differ() -> None:
    first, idle = facts("A", {"compute": 4.0}), {("none given", "tail"): 4.0}
    for mean, said in ((3.0, ": up to 3 instead of 0 of 4 workers get none."), (0.4, " (tail).")):
        second = facts("B", {"compute": 4.0, "idle": 4.0}, idle, **{WITHOUT_TASK: mean})
        assert remarks(Pair(first, second))[0].endswith(said)


def test_what_is_said_to_contribute_adds_up() -> None:
    """Times that are not idle count as their mean worker is busy, and the rest is idle shares."""
    first = facts("A", {"compute": 1.0, "memory": 2.0, "idle": 5.0}, {("tail", ""): 5.0})
    idle = {("tail", ""): 3.0, ("kept", ""): 0.5}
    second = facts("B", {"compute": 1.5, "memory": 1.0, "idle": 3.5}, idle)
    found = [remark for each in RULES for remark in each(Pair(first, second))]
    assert sum(remark.seconds for remark in found) == pytest.approx(-2.0)
    # T from 8 to 6 has the logarithmic mean 6.952, the work from 3 to 2.5 has 2.742.
    assert found[0].seconds == pytest.approx(-6.952 / 2.742, rel=1e-3)  # memory
    nothing = facts("C", {"compute": 0.0, "idle": 5.0}, {("tail", ""): 5.0})
    assert remarks(Pair(first, nothing))


def test_idle_time_with_the_same_share_only_follows() -> None:
    first = facts("A", {"memory": 2.0, "idle": 30.0}, {("tail", ""): 30.0})
    second = facts("B", {"memory": 1.0, "idle": 15.0}, {("tail", ""): 15.0})
    assert remarks(Pair(first, second)) == [
        "B is 50 % shorter than A because its workers wait 50 % less (1 instead of 2 s) for "
        "memory.",
        "Idle time is 93.8 % of the time in both; it is shorter only because the run is.",
    ]
    assert remarks(Pair(second, first))[1:] == [
        "Idle time is 93.8 % of the time in both; it is longer only because the run is."
    ]
    third = facts("C", {"memory": 1.0, "idle": 14.0}, {("tail", ""): 14.0})
    assert remarks(Pair(first, third))[1:] == [
        "Idle time is 93.3 instead of 93.8 % of the time; it is shorter only because the run is."
    ]


def test_the_largest_parts_come_first_and_what_goes_the_other_way_last() -> None:
    first = facts("A", {"memory": 10.0, "steal": 5.0, "spawn": 3.0, "idle": 0.0, "cache": 2.0})
    second = facts("B", {"memory": 1.0, "steal": 2.0, "spawn": 1.0, "idle": 4.0, "cache": 1.9})
    said = remarks(Pair(first, second))
    assert [sentence.split(" (")[0].rpartition("workers ")[2] for sentence in said] == [
        "wait 90 % less",
        "They also spend 60 % less",
        "Against that, they are idle 40.4 instead of 0 % of the time",
    ]


def test_nothing_is_said_where_nothing_stands_out() -> None:
    first = facts("A", {"compute": 100.0})
    assert remarks(Pair(first, facts("B", {"compute": 99.5}))) == []
    assert remarks(Pair(first, first)) == []
    many = {f"part {n}": 1.0 for n in range(20)}
    assert remarks(Pair(facts("A", many), facts("B", dict.fromkeys(many, 0.5)))) == []


def test_runs_without_length_are_compared() -> None:
    nothing = facts("A", {"compute": 0.0})
    assert remarks(Pair(nothing, nothing)) == []
    assert remarks(Pair(nothing, facts("B", {"compute": 1.0}))) == []  # of which there is no part


def row(
    policy: str,
    makespan: float,
    remote: float,
    workload: str = "w",
    machine: str = "m",
    seed: int = 0,
) -> dict[str, Any]:
    """A row of results of two workers that are in tasks all the time."""
    return {
        "machine": machine,
        "workload": workload,
        "policy": policy,
        "seed": seed,
        "workers": 2,
        "makespan_s": makespan,
        "busy_s": 2 * makespan,
        "remote_percent": remote,
    }


def test_results_are_explained_by_policies_beside_the_baseline() -> None:
    rows = [row("base", 1.0, 73.0), row("near", 0.5, 1.0), row("far", 2.0, 90.0)]
    assert explained(rows, "base") == [
        "near is 50 % shorter than base because its workers spend 50 % less (0.5 instead of 1 s) "
        "in tasks: 1 instead of 73 % of bytes are remote.",
        "far is 2 times as long as base because its workers spend 2 times as long (2 instead of "
        "1 s) in tasks: 90 instead of 73 % of bytes are remote.",
    ]
    assert explained([rows[2]], "base", rows[:2])[0].startswith("far is 2 times as long as base")
    assert explained([rows[1]], "base") == []
    both = [*rows, row("base", 1.0, 73.0, "v"), row("near", 0.4, 1.0, "v")]
    assert [said.partition(" is ")[0] for said in explained(both, "base")] == [
        "v on m: near",
        "w on m: near",
        "w on m: far",
    ]


def seeds(policy: str, *makespans: float) -> list[dict[str, Any]]:
    return [row(policy, makespan, 1.0, seed=seed) for seed, makespan in enumerate(makespans)]


def test_what_seeds_alone_may_make_is_not_explained() -> None:
    """Of 2 +- 13 % it was said why."""
    base = seeds("base", 1.0, 2.0)
    # 10 and 12 % shorter: 11 +- 12.7 (t(0.975, 1) = 12.706, s / sqrt(2) = 1); 10 and 11: +- 6.4.
    assert explained([*base, *seeds("a", 0.9, 1.76)], "base") == []
    (said,) = explained([*base, *seeds("a", 0.9, 1.78)], "base")
    assert said.startswith("a is 10 % shorter than base")  # 10.5, of the means 10.7
    # Other seeds are in no pair, so that no interval is known.
    (said,) = explained([*base, row("a", 1.2, 1.0, seed=7)], "base")
    assert said.startswith("a is 20 % shorter than base")


def test_percentages_are_those_of_the_table() -> None:
    base, other = seeds("base", 1.0, 10.0, 1.0), seeds("a", 0.5, 9.0, 0.5)
    # 50, 10 and 50 %; of the means, 12 instead of 10, it would be 17 %: here 37 +- 57 is silent.
    assert explained([*base, *other], "base") == []
    (said,) = explained([*base, *seeds("a", 0.5, 7.0, 0.5)], "base")
    assert said.startswith("a is 43 % shorter than base")  # 50, 30, 50 +- 29; of the means, 33
    # Nine of ten are 10 % shorter: 7 +- 6.8. One is longer by more than they gain together.
    base, other = seeds("base", *[1.0] * 9, 5.0), seeds("a", *[0.9] * 9, 6.0)
    pair = Pair(facts_of("base", base), facts_of("a", other))
    assert pair.reduction_percent.mean > pair.reduction_percent.half_width
    assert pair.second.makespan_s > pair.first.makespan_s
    assert remarks(pair) == []


def test_what_stands_out_is_explained_wherever_it_is_and_the_rest_is_counted() -> None:
    """Of two machines only the first one's places were explained."""
    makespans = {"m": {"u": 1.1, "v": 0.8, "w": 1.2}, "n": {"u": 1.005, "v": 3.0, "w": 0.3}}
    rows = [
        each
        for machine, places in makespans.items()
        for place, makespan in places.items()
        for each in (
            row("base", 1.0, 73.0, place, machine),
            row("a", makespan, 1.0, place, machine),
        )
    ]
    *said, last = explained(rows, "base")
    assert [each.partition(" is ")[0] for each in said] == ["w on n: a", "v on n: a", "v on m: a"]
    assert last == "2 more differ from base: simsched compare A B says why."
    known: dict[tuple[str, ...], list[str]] = {("n", "v", "{}", "a"): ["Known.", "Too."]}
    known["n", "w", "{}", "a"] = []
    assert explained(rows, "base", known=known)[0] == "v on n: Known. Too."
    few = [each for each in rows if each["machine"] == "m"]
    assert len(explained(few, "base")) == 3  # and nothing is left to count


def test_the_shortest_policy_comes_first_then_those_that_differ_most() -> None:
    makespans = {"a": 1.3, "b": 1.005, "c": 0.9, "d": 1.6, "e": 0.95, "f": 0.95, "g": 3.0}
    rows = {policy: [row(policy, makespan, 1.0)] for policy, makespan in makespans.items()}
    base = [row("base", 1.0, 1.0)]

    def chosen(**others: list[dict[str, Any]]) -> list[str]:
        return [found.second.label for found in against_baseline("base", base, others)]

    assert chosen(**rows) == ["c", "g", "d"]
    assert chosen(b=rows["b"], a=rows["a"]) == ["b", "a"]  # the shortest one, though alike
    assert chosen(a=rows["a"], b=rows["b"], c=rows["c"]) == ["c", "a"]
    same = [rows[policy][0] | {"decisions_hash": "x"} for policy in "ef"]
    assert chosen(e=[same[0]], f=[same[1]], a=rows["a"]) == ["e", "a"]
    assert chosen(e=rows["e"], f=rows["f"]) == ["e", "f"]
    assert chosen(c=[rows["c"][0] | {"misfits": "needs jobs"}], a=rows["a"]) == ["a"]
    assert against_baseline("base", [base[0] | {"misfits": "needs jobs"}], rows) == []
    assert chosen() == []


def test_runs_that_say_little_are_not_explained() -> None:
    """Runs marked with ``needs jobs`` were called the shortest."""
    base, near, far = row("base", 1.0, 73.0), row("near", 0.5, 1.0), row("far", 0.1, 1.0)
    unfit = {"misfits": "needs jobs: found none", "seed": 1}
    (said,) = explained([base, near, far, far | unfit], "base")
    assert said.startswith("near is 50 % shorter")
    assert explained([base, base | unfit, near], "base") == []
    assert explained([near], "base", [base | unfit]) == []


def test_seeds_are_averaged() -> None:
    found = facts_of("near", [row("near", 1.0, 10.0), row("near", 3.0, 30.0)])
    assert (found.makespan_s, found.seconds["tasks"]) == (2.0, 2.0)
    assert replace(found, label="x").metrics["remote_percent"] == 20.0
