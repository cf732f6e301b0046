"""Probes of MapReduce claims, on figures that follow from their definitions."""

from __future__ import annotations

import pytest

from simsched.files.errors import ConfigurationError
from simsched.reproduction.probes import ask

SLOW = "samr_cluster_slow"


@pytest.mark.parametrize(
    ("machine", "domain", "rate"),
    [
        (SLOW, 0, 2.87),
        (SLOW, 1, 1.4),
        (SLOW, 2, 1.4),
        (SLOW, 6, 1.34),
        (SLOW, 7, 3.43),
        ("samr_cluster_fast", 1, 2.87),
        ("samr_cluster_fast", 7, 1.4),
        ("samr_cluster_fast", 8, 3.43),
    ],
)
def test_write_rates_are_those_of_the_table(machine: str, domain: int, rate: float) -> None:
    found = ask("node_write_rate_bytes_per_s", {"machine": machine, "domain": domain})
    assert found == pytest.approx(rate * 1e6)


def test_there_are_eight_nodes() -> None:
    with pytest.raises(ConfigurationError, match="domain: found 8, accepted 0 to 7"):
        ask("node_write_rate_bytes_per_s", {"machine": SLOW, "domain": 8})


def test_locality_decides_which_straggler_is_backed_up_first() -> None:
    scores = [0.4, 0.08, *[0.912] * 10]
    assert ask("first_backup", {"scores": scores, "local": 1}) == 1
    assert ask("first_backup", {"scores": scores, "local": 2}) == 2
    assert ask("first_backup", {"scores": scores, "local": 3}) == 2


def test_the_same_policy_starts_the_same_backups() -> None:
    case = {"machine": SLOW, "workload": "wordcount"}
    assert ask("same_backups", {"policy": "late", "versus": "late", **case}) == 1
    assert ask("same_backups", {"policy": "late", "versus": "hadoop_ns", **case}) == 0
    assert ask("most_backups_of_a_task", {"policy": "late", **case}) == 1
    assert ask("most_backups_of_a_task", {"policy": "hadoop_ns", **case}) == 0


def test_errors_of_weights_are_small_where_tasks_are_alike() -> None:
    small = {"splits": 16, "reduces": 8, "task_noise": 0.0, "skew": 0.0}
    case = {"machine": SLOW, "workload": "sort_mapreduce", "parameters": small}
    errors = ask("phase_weight_errors", {**case, "kind": "map"})
    assert isinstance(errors, list)
    assert len(errors) in range(2, 2 * 8 + 1, 2)
    assert max(errors) < 20
