"""Simulated runs as recordings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.ways import ways_of
from simsched.files.errors import ConfigurationError
from simsched.machine.model import Machine, ranks
from simsched.policy.contract.base import own_name
from simsched.trace.recording import Recording
from simsched.trace.run import Run
from simsched.trace.schema import Trace
from simsched.workload.graph import Workload


def recording_of(run: Run) -> Recording:
    """Return a simulated run as a recording.

    Parameters
    ----------
    run : Run
        A run with its events.

    Returns
    -------
    Recording
        Named by workload, policy and seed. Its details hold machine, policy, backend and seed, the
        domain of each worker, the names of the memory nodes, and what paths cross
        (:meth:`simsched.trace.flows.Ways.details`).

    Raises
    ------
    ConfigurationError
        The run was simulated without events.
    """
    if run.trace is None:
        raise ConfigurationError("run: found no event trace, accepted a run with events=True")
    policy = own_name(type(run.policy))
    return simulated_recording(
        f"{run.workload.name} {policy} seed {run.seed}",
        run.trace,
        run.machine,
        run.workload,
        run.worker_thread,
        {"policy": policy, "backend": run.backend, "seed": run.seed},
    )


def simulated_recording(
    name: str,
    trace: Trace,
    machine: Machine,
    workload: Workload,
    worker_thread: NDArray[np.int32],
    details: Mapping[str, Any],
) -> Recording:
    """Return events of a simulated run, or none if they are kept elsewhere, as a recording.

    The workload is the program as the policy's runtime ran it; for what is added to the details see
    :func:`recording_of`.
    """
    core = machine.thread_core[worker_thread]
    places = core.tolist(), ranks(machine.thread_core)[worker_thread].tolist()
    return Recording(
        name,
        trace,
        workload.graph.task_class,
        workload.graph.class_names,
        tuple(f"core {core}, thread {rank}" for core, rank in zip(*places, strict=True)),
        core.astype(np.int32),
        workload,
        {
            "machine": machine.name,
            **details,
            "worker_domain": machine.core_domain[core].tolist(),
            "memory_nodes": [node.name for node in machine.nodes],
            **ways_of(machine, worker_thread).details(),
        },
    )
