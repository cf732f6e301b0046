"""Measures this host for a machine model: caches, memory, scheduling."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from simsched.files.errors import ConfigurationError
from simsched.hardware.calibrate_costs import (
    Check,
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
    CacheLevelValues,
    Effort,
    Latency,
    Progress,
    Stream,
    measure_caches,
    measure_latencies,
    measure_streams,
    measure_sweep,
    memory_bytes,
    moved,
)
from simsched.hardware.calibrate_probes import Measured, stream_rate
from simsched.hardware.calibrate_report import measured_rows
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


@dataclass(frozen=True)
class Calibration:
    """What has been measured on a host.

    Parameters
    ----------
    host : Host
        The host, as far as it was calibrated.
    streams : tuple of Stream
        Bandwidth by domain, node, operation and number of threads.
    siblings : tuple of Measured
        Bandwidth of 1, 2, ... hardware threads of one core on its own node; one entry without SMT.
    latencies : tuple of Latency
        Latency by domain, node and number of cores that stream meanwhile.
    sweep : tuple of (int, Measured)
        Latency by the size of the buffer.
    caches : tuple of CacheLevelValues
        From the core outwards.
    smt : tuple of Measured
        Throughput of a core with 1, 2, ... busy hardware threads.
    costs : dict of str to Measured
        Costs that do not depend on distance, by their names in a machine file.
    by_distance : dict of str to dict of int to Measured
        ``steal`` and ``steal_probe`` by distance class.
    steps : dict of str to Measured
        Single steps of scheduling, from which steals are derived.
    checks : tuple of Check
        What the costs amount to in runs without data.
    started : str
        When, in UTC.
    duration_s : float
        How long it took.
    is_quick : bool
        Whether less was measured.
    warnings : tuple of str
        What makes values less trustworthy.
    """

    host: Host
    streams: tuple[Stream, ...]
    siblings: tuple[Measured, ...]
    latencies: tuple[Latency, ...]
    sweep: tuple[tuple[int, Measured], ...]
    caches: tuple[CacheLevelValues, ...]
    smt: tuple[Measured, ...]
    costs: dict[str, Measured]
    by_distance: dict[str, dict[int, Measured]]
    steps: dict[str, Measured] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    started: str = ""
    duration_s: float = 0.0
    is_quick: bool = False
    warnings: tuple[str, ...] = ()

    def stream(self, domain: int, node: int, operation: str = CHOSEN) -> dict[int, Measured]:
        """Return the bytes that move per second, by the number of threads."""
        return {
            s.n_threads: moved(s.rate, operation)
            for s in self.streams
            if (s.domain, s.node, s.operation) == (domain, node, operation)
        }

    def latency(self, domain: int, node: int) -> dict[int, Measured]:
        """Return latency by the number of cores that stream meanwhile."""
        return {
            each.n_loading: each.time
            for each in self.latencies
            if (each.domain, each.node) == (domain, node)
        }


def calibrate_machine(
    cores: Sequence[int] | None = None, *, quick: bool = False, progress: Progress | None = None
) -> Calibration:
    """Measure this host.

    Parameters
    ----------
    cores : sequence of int, optional
        Hardware threads; by default all that this process may use.
    quick : bool
        Fewer rounds and smaller buffers.
    progress : callable, optional
        Is told what is measured next.

    Returns
    -------
    Calibration
        Topology, and times and bandwidths with how far repetitions differ.

    Raises
    ------
    ConfigurationError
        A core is not one that this process may use.
    HardwareError
        The system refuses to pin threads, or to put memory on a node.
    """
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
