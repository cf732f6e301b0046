"""Executes programs on this host and returns recordings of what happened."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError, HardwareError
from simsched.files.units import PER_PS
from simsched.hardware.conversion import to_trace
from simsched.hardware.mode import Mode
from simsched.hardware.outcome import Job, Outcome
from simsched.hardware.placement import blocks_on_nodes, place_blocks
from simsched.hardware.preparation import prepare, record_bound
from simsched.hardware.program import Program
from simsched.hardware.topology import (
    allowed_cores,
    described_host,
    distance_classes,
    read_topology,
)
from simsched.trace.recording import Recording

MAX_WORKERS = 4096


def execute(
    program: Program,
    mode: Mode | None = None,
    *,
    workers: int | None = None,
    cores: Sequence[int] | None = None,
    seed: int = 0,
    trace: bool = True,
) -> Recording:
    """Run a program once on this host.

    By default child first with random stealing, on all hardware threads that this process may use,
    and with a worker for each of `cores`, to which workers are pinned in turn. Without `trace` only
    iterations and counters are recorded. `details` of the recording say how the run was made.

    The graph is executed as the simulator does (``docs/semantics.md``, rules L);
    ``docs/decisions/hardware.md`` says what is ignored and which events are lacking.
    """
    mode = mode or Mode()
    binding = compiled_runtime()
    pinned = _pinned(workers, cores)
    if not 0 <= seed < 2**64:
        raise ConfigurationError(f"seed: found {seed}, accepted 0 to 2**64 - 1")
    topology = read_topology()
    init, graph = prepare(program, binding.program_classes())
    n_records = record_bound(program) if trace else 0
    placed = place_blocks(program, mode.placement, topology.nodes, binding)
    job = Job(
        program=program,
        init=init,
        graph=graph,
        mode=mode,
        cpu=np.array(pinned, np.int32),
        seed=seed,
        n_records=n_records,
        # The bound is seldom reached; what exceeds this is paid with page faults.
        n_expected=min(n_records, n_records * 3 // (4 * len(pinned))),
    )
    outcome = binding.run(job)
    placed["blocks"] = blocks_on_nodes(program, topology.nodes, binding)
    about = {
        "mode": {**asdict(mode), "victims": "random"},
        "seed": seed,
        "placement": placed,
        "host": described_host(topology),
        "worker_sites": [asdict(topology.sites[core]) for core in pinned],
    }
    return _recording(program, mode, pinned, about, outcome, distance_classes(topology, pinned))


def compiled_runtime() -> Any:
    """Return the compiled runtime."""
    if sys.platform != "linux":
        raise HardwareError(f"the task runtime needs Linux, found {sys.platform}")
    return import_module("simsched.hardware.native._runtime")


def _pinned(workers: int | None, cores: Sequence[int] | None) -> list[int]:
    allowed = allowed_cores()
    chosen = allowed if cores is None else list(cores)
    wrong = sorted(set(chosen) - set(allowed))
    if wrong or not chosen:
        raise ConfigurationError(f"cores: found {wrong or 'none'}, accepted {allowed}")
    count = len(chosen) if workers is None else workers
    if not 1 <= count <= MAX_WORKERS:
        raise ConfigurationError(f"workers: found {count}, accepted 1 to {MAX_WORKERS}")
    return [chosen[w % len(chosen)] for w in range(count)]


def _recording(
    program: Program,
    mode: Mode,
    pinned: list[int],
    about: dict[str, Any],
    outcome: Outcome,
    distance: NDArray[np.int32],
) -> Recording:
    """Return the outcome of a run as a recording."""
    workload = program.workload
    seconds = outcome.ps_per_tick * PER_PS
    details = {
        **about,
        "clock": "tsc" if outcome.is_tsc else "clock_monotonic",
        "lost_events": sum(each.lost_records for each in outcome.workers),
        "iteration_s": (np.diff(outcome.iteration_ticks, axis=1)[:, 0] * seconds).tolist(),
        "tasks": [each.tasks for each in outcome.workers],
        "steals": [each.steals for each in outcome.workers],
        "failed_probes": [each.empty_probes for each in outcome.workers],
        "lost_races": [each.lost_races for each in outcome.workers],
        "idle_s": [each.idle_ticks * seconds for each in outcome.workers],
        "cpu_s": [each.cpu_ns * 1e-9 for each in outcome.workers],
        "present_s": [each.present_ns * 1e-9 for each in outcome.workers],
        "processor_events": [each.events for each in outcome.workers],
        "processor_events_error": outcome.workers[0].events_error,
    }
    central = mode.pools == "central"
    return Recording(
        name=program.name,
        trace=to_trace(outcome, workload, central=central, distance=distance),
        task_class=workload.graph.task_class,
        class_names=workload.graph.class_names,
        worker_names=tuple(f"worker {w}" for w in range(len(pinned))),
        worker_core=np.array(pinned, np.int32),
        workload=workload,
        details=details,
    )
