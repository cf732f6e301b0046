"""Totals of many runs that differ in their seed: a row of whole numbers for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from simsched.engine.common import common_to
from simsched.engine.hooks import PolicyHooks
from simsched.engine.problem import run_streams
from simsched.engine.run import native_engine, simulate
from simsched.engine.setup import Setup
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.machine.model import Machine
from simsched.policy.contract.base import Policy
from simsched.trace.schema import RunCounters, Summary
from simsched.workload.graph import Workload

#: What a row consists of: totals over workers, distances and memory, then what runs count.
TALLIED = (
    "makespan_ps",
    *(f"{part}_ps" for part in ("busy", "spawn", "acquire", "migrate", "idle")),
    *("steals", "failed_probes", "memory_bytes"),
    *(item.name for item in fields(RunCounters)),
)
#: So many runs the kernel makes one after the other; who waits for Ctrl-C waits for these.
TOGETHER = 64


def tally(summary: Summary) -> NDArray[np.int64]:
    """Return the row of a run."""
    used = np.array(
        [
            summary.worker_busy_ps,
            summary.worker_spawn_ps,
            summary.worker_acquire_ps,
            summary.worker_migrate_ps,
        ]
    )
    idle = np.maximum(summary.makespan_ps - used.sum(axis=0), 0)
    summed = (idle, summary.steals, summary.failed_probes, summary.node_bytes)
    counted = (getattr(summary, item.name) for item in fields(RunCounters))
    totals = [*used.sum(axis=1).tolist(), *(int(each.sum()) for each in summed)]
    return np.array([summary.makespan_ps, *totals, *counted], np.int64)


def tallies(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    seeds: Sequence[int],
    *,
    workers: int | None = None,
    pinning: str = "scatter",
    backend: str = "native",
    progress_limit_s: float = PROGRESS_LIMIT_S,
) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of runs, some at a time, in the order of their seeds.

    Where the policy can only answer the same, the kernel makes :data:`TOGETHER` of them without
    Python in between. A run that fails ends the iteration as :func:`simulate` does.

    Parameters
    ----------
    machine, workload, policy, workers, pinning, backend, progress_limit_s
        As for :func:`simsched.engine.run.simulate`.
    seeds : sequence of int
        One for each run.

    Yields
    ------
    ndarray of int64, shape (n, len(TALLIED))
        One or more rows.
    """
    done = 0
    while done < len(seeds):
        common = common_to(machine, workload, policy, workers, pinning)
        setup: Setup | None = None
        if backend == "native":
            setup = common.settled(progress_limit_s)
        if setup is not None and workload.varying is None:
            rows = _together(setup, policy, seeds[done : done + TOGETHER])
            done += len(rows)
            if len(rows):
                yield rows
                continue
        run = simulate(
            machine,
            workload,
            policy,
            workers=workers,
            pinning=pinning,
            seed=seeds[done],
            backend=backend,
            progress_limit_s=progress_limit_s,
        )
        done += 1
        yield tally(run.summary)[None]


def _together(setup: Setup, policy: Policy, seeds: Sequence[int]) -> NDArray[np.int64]:
    """Return the rows of runs that are like one that is over, up to the first that fails."""
    program = setup.view.workload
    hooks = PolicyHooks(policy, setup.view, setup.state, None)
    engine = native_engine(setup, hooks)

    parts = [
        (graph, setup.planned(policy, planned)[1])
        for graph, planned in (
            (program.graph.in_iteration(2), program.graph),
            (program.graph, program.graph),
            *([] if program.init is None else [(program.init, program.init)]),
        )
    ]
    order = [number % 2 for number in range(1, program.iterations + 1)]
    first = 1
    if program.init is not None:
        order, first = [2, *order], 0
    streams = [tuple(run_streams(seed).values()) for seed in seeds]
    rows = engine.tallies(streams, parts, order, first)
    engine.stop()
    setup.engines.append(engine)
    return rows
