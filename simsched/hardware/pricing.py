"""Gives the operations of a program the time that they take on a calibrated machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.machine.model import Machine
from simsched.policy.contract.registry import make_policy
from simsched.trace.schema import Trace
from simsched.workload.graph import TaskGraph, Workload


def price(workload: Workload, machine: Machine) -> Workload:
    """Return a program's workload in operations of the machine's cores.

    An operation of class ``c`` of program ``p`` becomes as many operations as a core of the first
    group of each processor kind does in the time that ``machine.kernels["p.c"]`` states for the
    size of the program's data. Tasks get the exposure of their class.
    """
    init = workload.init
    data_bytes = int(workload.graph.block_bytes.sum())

    def priced(graph: TaskGraph) -> TaskGraph:
        return _priced(graph, workload.name, data_bytes, machine)

    return replace(
        workload, graph=priced(workload.graph), init=None if init is None else priced(init)
    )


def _priced(graph: TaskGraph, program: str, data_bytes: int, machine: Machine) -> TaskGraph:
    """Return a graph of a program in operations of the machine's cores."""
    factor = np.array([_factors(program, graph, kind, data_bytes, machine) for kind in graph.kinds])
    by_task = factor[:, graph.task_class]
    shares = np.array([machine.exposures.get(f"{program}.{c}", 1.0) for c in graph.class_names])
    return replace(
        graph,
        ops=graph.ops * by_task,
        join_ops=graph.join_ops * by_task,
        exposure=shares[graph.task_class] if np.any(shares < 1.0) else None,
    )


def _factors(
    program: str, graph: TaskGraph, kind: str, data_bytes: int, machine: Machine
) -> NDArray[np.float64]:
    """Return per class how many operations of a core one operation of the class is."""
    factors = np.ones(len(graph.class_names))
    group = next((group for group in machine.core_groups if group.kind == kind), None)
    if group is None:
        return factors
    row = graph.kinds.index(kind)
    busy = np.bincount(
        graph.task_class,
        weights=(graph.ops[row] > 0) | (graph.join_ops[row] > 0),
        minlength=len(factors),
    )
    for number, name in enumerate(graph.class_names):
        times = machine.kernels.get(f"{program}.{name}", {})
        if kind in times:
            factors[number] = times[kind].at(data_bytes) * group.ops_per_s
        elif busy[number] > 0:
            found = unknown_name("kernel", f"{program}.{name}", machine.kernels)
            raise ConfigurationError(f"machine {machine.name}: kernels on {kind}: {found}")
    return factors


def simulated_trace(
    workload: Workload, machine: Machine, policy: str, *, workers: int = 1, seed: int = 0
) -> Trace:
    """Return the events of a run of a workload in operations of the machine's cores."""
    chosen = make_policy(policy)
    run = simulate(machine, workload, chosen, workers=workers, seed=seed, events=True)
    assert run.trace is not None
    return run.trace


def without_accesses(graph: TaskGraph) -> TaskGraph:
    """Return a graph whose tasks access nothing."""
    none = np.zeros_like(graph.access_ptr)
    return replace(
        graph,
        access_ptr=none,
        join_access=none[:-1],
        access_block=graph.access_block[:0],
        read_bytes=graph.read_bytes[:0],
        written_bytes=graph.written_bytes[:0],
    )
