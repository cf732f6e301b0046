"""Tasks on the K40 server given by hand, and when they begin and end."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.machine.load import load_machine
from simsched.policy import make_policy
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.applications import Applications
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

KINDS = ("cpu", "gpu", "copy_in", "copy_out")
GPU, IN, OUT = 1, 2, 3
MIX: dict[str, object] = {
    "critical": "pos ner",
    "batch": "hw pf hs",
    "queries": 2,
    "batch_s": 0.1,
    "chunk_bytes": 16 * 2**20,
}
MS = 1e6  # operations of 1 ms on the GPU
MB = 10**6


def programs(tasks: list[dict[str, Any]], target_s: float = 0.1) -> Workload:
    """Return tasks given as kind, ms or MB, application (0 critical), after, pinned, share, at."""
    n = len(tasks)
    kind = np.array([task["kind"] for task in tasks])
    ops = np.full((4, n), np.inf)
    ops[kind, np.arange(n)] = [task.get("ms", 0.0) * MS for task in tasks]
    moved = np.array([int(task.get("mb", 0) * MB) for task in tasks])
    pinned = np.array([task.get("pinned", False) for task in tasks])
    copies = np.flatnonzero(moved)
    edges = [(task["after"], i) for i, task in enumerate(tasks) if "after" in task]
    sources, targets = zip(*edges, strict=True) if edges else ((), ())
    graph = build_graph(
        ops,
        kinds=KINDS,
        successors=adjacency(sources, targets, n),
        accessed=accesses(copies, pinned[copies].astype(int), moved[copies], 0, n),
        block_bytes=[1000 * MB, 1000 * MB],
        arrival_ps=np.array([task.get("at", 0) for task in tasks]) * 10**9,
        occupancy=[task.get("share", 1000) for task in tasks],
    )
    application = np.array([task.get("app", 1) for task in tasks], np.int32)
    about = Applications(
        ("lc", "b1", "b2", "b3"),
        np.array([True, False, False, False]),
        target_s,
        application,
        np.array([task.get("query", -int(task.get("app", 1) > 0)) for task in tasks], np.int32),
        ("size", "out", "pinned"),
        np.column_stack([moved, kind == OUT, pinned]).astype(float),
        np.array([False, True]),
    )
    return Workload("programs", graph, applications=about)


def run(backend: str, policy: str, workload: Workload, **parameters: Any) -> Run:
    chosen = make_policy(policy, parameters)
    return simulate(load_machine("k40_server"), workload, chosen, backend=backend, events=True)


def times_ms(result: Run, kind: EventKind = EventKind.TASK_START) -> list[float]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    order = np.argsort(events["task"][chosen], kind="stable")
    found: list[float] = (events["time_ps"][chosen][order] / 1e9).tolist()
    return found


def ends_ms(result: Run) -> list[float]:
    return times_ms(result, EventKind.TASK_END)
