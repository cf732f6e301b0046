"""Measures this host for a machine model: caches, memory, scheduling."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

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
from simsched.hardware.runtime import compiled_runtime
from simsched.hardware.topology import allowed_cores

STAT = Path("/proc/stat")
#: Shares of the cores' time above which others disturb.
BUSY, STOLEN = 0.05, 0.01
#: A spread above this share is worth a warning.
LOOSE = 0.25
#: Cores that a message names.
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
        raise ConfigurationError(f"cores: found {_shortened(wrong)}, accepted {allowed}")
    started, begin = datetime.now(UTC), time.monotonic()
    before = _usage(chosen)
    host = read_host(chosen)
    found = _measure(host, QUICK if quick else THOROUGH, progress or _silent)
    duration = time.monotonic() - begin
    disturbed = _disturbed(before, _usage(chosen), duration, len(chosen))
    return replace(
        found,
        started=started.strftime("%Y-%m-%d %H:%M UTC"),
        duration_s=duration,
        is_quick=quick,
        warnings=(*found.warnings, *disturbed, *_loose(found)),
    )


def _silent(what: str) -> None:
    """Say nothing."""


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


@dataclass(frozen=True)
class Usage:
    """Seconds that cores were busy and taken away by the hypervisor, and that this process ran."""

    busy_s: float
    stolen_s: float
    own_s: float


def _shortened(cores: list[int]) -> str:
    """Return the first of some cores, and how many more there are."""
    more = len(cores) - MOST_NAMED
    return f"{cores[:MOST_NAMED] or 'none'}" + (f" and {more} more" if more > 0 else "")


def _usage(cores: Sequence[int], stat: Path = STAT) -> Usage | None:
    """Return the use of some cores since the start of the host, None where nothing tells it."""
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    tick = 1 / os.sysconf("SC_CLK_TCK")
    busy = stolen = 0.0
    for line in lines:
        name, *values = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            user, nice, system, _, _, interrupt, soft, taken = (int(v) * tick for v in values[:8])
            busy += user + nice + system + interrupt + soft
            stolen += taken
    own = os.times()
    return Usage(busy, stolen, own.user + own.system)


def _disturbed(
    before: Usage | None, after: Usage | None, duration_s: float, n_cores: int
) -> list[str]:
    """Return what others did on the cores meanwhile, if it was much."""
    if before is None or after is None:
        return []
    room = duration_s * n_cores
    others = (after.busy_s - before.busy_s - (after.own_s - before.own_s)) / room
    stolen = (after.stolen_s - before.stolen_s) / room
    found = []
    if others > BUSY:
        found.append(f"host: other programs used {others:.0%} of the cores meanwhile")
    if stolen > STOLEN:
        found.append(f"host: the hypervisor took away {stolen:.0%} of the cores' time meanwhile")
    return found
