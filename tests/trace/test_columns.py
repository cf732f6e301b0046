"""Every column of results has a description, and every description a column."""

from __future__ import annotations

import re

import pytest

from simsched.engine.run import simulate
from simsched.experiment.cells import MEASURED
from simsched.machine import list_machines, load_machine
from simsched.policy import make_policy
from simsched.trace.columns import columns, describe_column
from simsched.trace.metrics import metric_names, run_metrics
from simsched.workload.registry import make_workload


def measured() -> set[str]:
    """Return the columns that are single numbers on any machine, and the lists of one run."""
    names = {name for machine in list_machines() for name in metric_names(load_machine(machine))}
    machine = load_machine("amd_4x_opteron8380")
    workload = make_workload("heat", {"rows": 64, "columns": 64, "leaf_bytes": 4096})
    run = simulate(machine, workload, make_policy("cilk_a"))
    row = run_metrics(run.summary, machine, run.workload, run.worker_thread)
    return names | set(row) | set(MEASURED)


def test_columns_and_descriptions_belong_together() -> None:
    names = measured()
    assert sorted(name for name in names if describe_column(name) is None) == []
    for pattern in columns():
        expression = re.sub("<[a-z]+>", "[a-z0-9]+", pattern)
        assert any(re.fullmatch(expression, name) for name in names), pattern


@pytest.mark.parametrize("name", ["hbm_percents", "remote_bytes_", "", "l2"])
def test_other_names_are_unknown(name: str) -> None:
    assert describe_column(name) is None
