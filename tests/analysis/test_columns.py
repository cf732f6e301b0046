"""Every column of results has a description, and every description a column."""

from __future__ import annotations

import re

import simsched
from simsched.analysis.columns import COLUMNS
from simsched.analysis.metrics import metric_names, run_metrics
from simsched.engine.run import simulate
from simsched.experiment.cells import MEASURED
from simsched.machine import list_machines, load_machine
from simsched.policy import make_policy
from simsched.workload.registry import generate_workload


def measured() -> set[str]:
    """Return the columns that are single numbers on any machine, and the lists of one run."""
    names = {name for machine in list_machines() for name in metric_names(load_machine(machine))}
    machine = load_machine("amd_4x_opteron8380")
    workload = generate_workload("heat", {"rows": 64, "columns": 64, "leaf_bytes": 4096})
    run = simulate(machine, workload, make_policy("cilk_a"))
    row = run_metrics(run.summary, machine, run.workload, run.worker_thread)
    mix = {"critical": "pos", "batch": "pf", "queries": 2, "batch_s": 0.1}
    for machine_name, name, params in (
        ("k40_server", "accelerator_mix", mix),
        ("samr_cluster_slow", "sort_mapreduce", {"splits": 2, "reduces": 1}),
    ):
        (result,) = simsched.run(machine_name, generate_workload(name, params), "mps", jobs=1).rows
        names |= {key for key, value in result.items() if isinstance(value, list)}
        names |= {"misfits", "decisions_hash"} & result.keys()
    return names | set(row) | set(MEASURED)


def test_columns_and_descriptions_belong_together() -> None:
    names = measured()
    expressions = [
        re.sub("<[a-z]+>", "[a-z0-9]+", pattern) for group in COLUMNS.values() for pattern in group
    ]
    described = {name for name in names for one in expressions if re.fullmatch(one, name)}
    assert names == described
    for expression in expressions:
        assert any(re.fullmatch(expression, name) for name in names), expression
