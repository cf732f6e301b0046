"""No bin of a plot shows more than a node or link sustains, whatever a run does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import SimschedError
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.report.plots.bandwidth import rates
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.registry import make_small_workload

from .instances import HookPolicy, RandomPolicy, random_machine, random_workload

WITHIN = 1.0011


def with_other_laws(machine: Machine, seed: int) -> Machine:
    """Return the machine with a node that saturates gradually, or one with a curve."""
    node = machine.nodes[0]
    rate = node.bandwidth_bytes_per_s
    laws = ({}, {"ceiling_bytes_per_s": 1.5 * rate}, {"bandwidth_curve": (0.5 * rate, 1.2 * rate)})
    return replace(machine, nodes=(replace(node, **laws[seed % 3]), *machine.nodes[1:]))


def check(run: Run) -> int:
    """Check all bins of a run; return how many hold something."""
    assert run.trace is not None
    machine, filled = run.machine, 0
    limits = {}
    for each in (*machine.nodes, *machine.links):
        curve = each.bandwidth_curve or (each.ceiling_bytes_per_s or each.bandwidth_bytes_per_s,)
        limits[each.name] = max(curve)
    for node in machine.nodes:
        if node.memory_side_cache is not None:
            name = f"cache of {node.name}"
            limits[name] = node.memory_side_cache.bandwidth_bytes_per_s
    whole = 0.0
    for by in ("node", "link") if machine.links else ("node",):
        edges, used = rates(run, by, 40)
        for name, each in used.items():
            assert each.bytes_per_s.max() <= limits[name] * WITHIN, name
            assert each.sustained == limits[name]
            filled += int(np.count_nonzero(each.bytes_per_s))
            if by == "node":
                whole += float((each.bytes_per_s * np.diff(edges)).sum())
    kinds = set(run.trace.events["kind"].tolist())
    if not kinds & {EventKind.MIGRATE_END, EventKind.PREEMPT, EventKind.EXCHANGE, EventKind.KILL}:
        assert whole == pytest.approx(float(run.summary.node_bytes.sum()), rel=2e-3)
    return filled


@pytest.mark.parametrize("policy", [RandomPolicy, HookPolicy])
def test_random_runs(backend: str, policy: type[RandomPolicy]) -> None:
    filled = 0
    for seed in range(30):
        machine = with_other_laws(random_machine(seed), seed)
        try:
            run = simulate(
                machine,
                random_workload(seed),
                policy(choice=seed),
                seed=seed,
                events=True,
                backend=backend,
            )
        except SimschedError:  # what it draws may not be allowed
            continue
        filled += check(run)
    assert filled > 500


@pytest.mark.parametrize("policy", ["cilk", "work_sharing", "slaw"])
@pytest.mark.parametrize("workload", ["heat", "cholesky", "pagerank"])
def test_programs_on_saturated_memory(backend: str, policy: str, workload: str) -> None:
    machine = make_machine(
        domains=2,
        cores_per_domain=4,
        dram_bandwidth_bytes_per_s=1e9,
        link_bandwidth_bytes_per_s=0.5e9,
        core_cap_bytes_per_s=0.7e9,
        remote_weight=1.25,
    )
    run = simulate(
        machine, make_small_workload(workload), make_policy(policy), events=True, backend=backend
    )
    assert check(run) > 20
