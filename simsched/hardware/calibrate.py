"""Measures this host for a machine model: caches, memory, scheduling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from simsched.files.errors import ConfigurationError
from simsched.hardware.calibrate_costs import (
    barrier_cost,
    contended_lock,
    pairs_by_distance,
    smt_throughput,
    steal_costs,
    task_costs,
    time_empty,
)
from simsched.hardware.calibrate_host import Host, read_host
from simsched.hardware.calibrate_memory import (
    CHOSEN,
    QUICK,
    THOROUGH,
    Effort,
    Progress,
    measure_caches,
    measure_latencies,
    measure_streams,
    measure_sweep,
    memory_bytes,
)
from simsched.hardware.calibrate_probes import stream_rate
from simsched.hardware.calibrate_report import measured_rows
from simsched.hardware.calibration import Calibration
from simsched.hardware.host import Load, sample
from simsched.hardware.runtime import compiled_runtime
from simsched.hardware.topology import allowed_cores

#: Shares of the cores' time above which others disturb.
BUSY, STOLEN = 0.05, 0.01
#: A spread above this share is worth a warning.
LOOSE = 0.25
MOST_NAMED = 8
#: What is taken for the first-level cache where the system states none.
USUAL_L1_BYTES = 32 * 1024


def calibrate_machine(
    cores: Sequence[int] | None = None, *, quick: bool = False, progress: Progress | None = None
) -> Calibration:
    """Measure this host, by default on all hardware threads that this process may use."""
    compiled_runtime()  # or say why there is none
    allowed = allowed_cores()
    chosen = sorted(allowed if cores is None else set(cores))
    wrong = sorted(set(chosen) - set(allowed))
    if wrong or not chosen:
        more = f" and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        found_cores = f"{wrong[:MOST_NAMED] or 'none'}{more}"
        raise ConfigurationError(f"cores: found {found_cores}, accepted {allowed}")
    started, before = datetime.now(UTC), sample(chosen)
    host = read_host(chosen)
    found = _measure(host, QUICK if quick else THOROUGH, progress or (lambda _: None))
    load = before.until(sample(chosen))
    return replace(
        found,
        started=started.strftime("%Y-%m-%d %H:%M UTC"),
        duration_s=load.elapsed_s,
        is_quick=quick,
        warnings=(*found.warnings, *_disturbed(load, len(chosen)), *_loose(found)),
    )


def _measure(host: Host, effort: Effort, progress: Progress) -> Calibration:
    """Measure everything."""
    warnings: list[str] = []
    thread, rounds = host.threads[0], effort.rounds
    total = memory_bytes(host, effort, warnings)
    progress("scheduling")
    costs, checks = task_costs(time_empty(thread, rounds))
    cores = [core[0] for domain in host.domains for core in domain.cores]
    if len(cores) > 1:
        costs["lock_hold"] = contended_lock(cores[:2], rounds)
    costs["barrier"] = barrier_cost(host.threads, rounds)
    by_distance, steps = steal_costs(pairs_by_distance(host), costs["pop"], rounds)
    progress("caches and memory")
    sweep = measure_sweep(thread, effort)
    latencies = measure_latencies(host, effort, total, progress)
    streams = measure_streams(host, effort, total, progress)
    memory = latencies[0].time, streams[0].rate
    caches = measure_caches(host, effort, sweep, memory, warnings)
    cached = caches[0].capacity_bytes if caches else USUAL_L1_BYTES
    core = host.domains[0].cores[0]
    return Calibration(
        host=host,
        streams=streams,
        siblings=tuple(
            stream_rate(core[: k + 1], CHOSEN, total, rounds=rounds) for k in range(len(core))
        ),
        latencies=latencies,
        sweep=sweep,
        caches=caches,
        smt=smt_throughput(core, rounds, cached),
        costs=costs,
        by_distance=by_distance,
        steps=steps,
        checks=checks,
        warnings=tuple(warnings),
    )


def _loose(found: Calibration) -> list[str]:
    """Return a warning of values that were hard to repeat."""
    loose = [row.name for row in measured_rows(found) if row.spread > LOOSE]
    if not loose:
        return []
    more = f" and {len(loose) - 6} more" if len(loose) > 6 else ""
    return [f"spread above {LOOSE:.0%}: {'; '.join(loose[:6])}{more}"]


def _disturbed(load: Load, n_cores: int) -> list[str]:
    """Return what others did on the cores meanwhile, if it was much."""
    others, stolen = load.others_cores / n_cores, load.stolen_cores / n_cores
    found = []
    if others > BUSY:
        found.append(f"host: other programs used {others:.0%} of the cores meanwhile")
    if stolen > STOLEN:
        found.append(f"host: the hypervisor took away {stolen:.0%} of the cores' time meanwhile")
    return found
