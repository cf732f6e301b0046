"""An experiment and made-up rows for tests of claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simsched.experiment.cells import Cell
from simsched.files.yaml_reader import Document
from simsched.reproduction.claims import Family, load_family

EXPERIMENT = """\
name: sizes
machines: [{name: amd_4x_opteron8380, workers: 4, label: opteron}]
workloads:
  - {name: fork_join, depth: 1, label: heat}
  - {name: fork_join, depth: 2, label: sor}
policies: [cilk, cilk_a, work_sharing]
seeds: 2
sweep: {product: {workloads.heat.leaf_ops: [1.0, 2.0, 4.0]}}
"""
MODES = """\
name: modes
machines: [{name: knl_snc4_flat, workers: 4, label: flat}]
workloads: [{name: fork_join, depth: 1, label: heat}]
policies: [bats, cilk_h]
sweep: {product: {workloads.heat.leaf_ops: [1.0, 2.0], workloads.heat.depth: [1, 2]}}
"""
SIZE = "workloads.heat.leaf_ops"
#: Seconds per unit of size, and at size 0.
TIMES = {"cilk": (8.0, 2.0), "cilk_a": (6.0, 4.0), "work_sharing": (9.0, 0.0)}
FACTORS = {"heat": 1.0, "sor": 2.0}


def row(cell: Cell) -> dict[str, Any]:
    """Return a row whose makespan is a line in the size; seeds differ by 1 % around it."""
    if cell.policy not in TIMES:
        return cell.identity() | {
            "makespan_s": {"bats": 1.0, "cilk_h": 4.0}[cell.policy],
            "steals": 0,
        }
    slope, start = TIMES[cell.policy]
    makespan = FACTORS[cell.workload] * (slope * cell.sweep[SIZE] + start)
    return cell.identity() | {
        "makespan_s": makespan * (0.995 + 0.01 * cell.seed),
        "steals": 100,
        "failed_probes": 300,
        "tasks": 50,
        "iteration_s": [3.0, 1.0, 1.0] if cell.policy == "cilk_a" else [2.0, 2.0, 2.0],
    }


Load = Callable[..., Family]


def kind_of(claim: Mapping[str, Any]) -> str:
    """Return the kind that fits what a claim selects."""
    if "order" in claim or "trend" in claim:
        return "ordering"
    if "probe" in claim:
        return "constant"
    return "comparative" if "versus" in claim else "absolute"


def family_of(folder: Path, *claims: Mapping[str, Any]) -> Family:
    """Return a family with the claims that are given, completed where they leave something out."""
    (folder / "sizes.yaml").write_text(EXPERIMENT)
    (folder / "modes.yaml").write_text(MODES)
    (folder / "steps.yaml").write_text(STEPS)
    listed = []
    for number, claim in enumerate(claims):
        base = {"source": "Book §1", "kind": kind_of(claim), "experiment": "sizes.yaml"}
        if "probe" in claim or "not_evaluable" in claim:
            base.pop("experiment")
        listed.append({"id": f"c{number}", **base, **claim})
    data = {"sources": {"Book": "A book"}, "claims": listed}
    return load_family(Document(folder / "claims.yaml", data))


#: Two keys in step.
STEPS = """\
name: steps
machines: [{name: amd_4x_opteron8380, workers: 4, label: opteron}]
workloads: [{name: fork_join, depth: 1, label: heat}]
policies: [cilk, cilk_a, work_sharing]
seeds: 2
sweep: {zip: {workloads.heat.leaf_ops: [1.0, 2.0, 4.0], workloads.heat.depth: [1, 2, 3]}}
"""
AT_ONE = {"workload": "heat", "at": {SIZE: 1.0}, "metric": "makespan_s"}
SERIES = {"workload": "heat", "along": SIZE, "metric": "makespan_s"}
