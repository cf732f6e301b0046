"""Metrics of one run: a flat row with units in its names, and series over time.

Everything in the row follows from the :class:`~simsched.trace.schema.Summary` that every run
records; bandwidth over time inside an iteration needs the event trace. Worker times add up:
busy + spawn + acquire + migrate + idle = makespan times workers. (A worker that is still paying for
the release of a successor when the last task ends is counted with the whole payment.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.bounds import lower_bounds, traffic_bound_s
from simsched.analysis.columns import BOUNDS, JOB_METRICS, SERVICE_METRICS
from simsched.engine.ways import ways_of
from simsched.files.units import PER_PS
from simsched.machine.model import Machine
from simsched.machine.resources import Resources
from simsched.trace.schema import Summary
from simsched.workload.division import Division
from simsched.workload.graph import Workload

#: Columns that hold one value per iteration, worker or distance class instead of one number.
SERIES = (
    "iteration_s",
    "iteration_local_bytes",
    "iteration_remote_bytes",
    "worker_busy_s",
    "worker_acquire_s",
    "worker_idle_s",
    "steals_by_distance",
    "domain_local_bytes",
    "domain_remote_bytes",
    "node_footprint_bytes",
    "link_name",
    "link_bytes",
    "link_percent",
    "iteration_partition_variance",
)

#: Bytes of a cache line, which turn bytes into what hardware counts: misses and memory accesses.
#: All processors that machines are described of have lines of this size.
LINE_BYTES = 64

CACHE_COUNTS = ("cache_hits", "cache_misses", "cache_hit_bytes", "cache_missing_bytes")
_PARTS = ("busy", "spawn", "acquire", "migrate")
N_KEPT = 32  #: machines of which something is kept


def run_metrics(
    summary: Summary,
    machine: Machine,
    workload: Workload,
    worker_thread: NDArray[np.int32],
    *,
    program: Workload | None = None,
    moved: bool = False,
) -> dict[str, Any]:
    """Return the metrics of a run as one row, in a fixed order.

    Columns that depend on the machine are named after its memory kinds (`local_hbm_bytes`) and
    cache levels (`l2_hits`); those of `SERIES`, `iteration_<kind>_bytes` and
    `domain_<level>_missing_lines` are lists. `workload` is what the policy's runtime executed,
    `program` what the policy was given, if it has changed it; `moved` says whether it can move
    running tasks.
    """
    return {
        **_times(summary, machine),
        **_worker_times(summary),
        **_traffic(summary, machine),
        **_links(summary, machine, worker_thread),
        **_caches(summary, machine),
        **_straggler(summary, machine),
        **_footprint(summary),
        **_scheduling(summary),
        **_division(summary, workload.division),
        **_bounds(summary, machine, workload if program is None else program, worker_thread),
        "bound_own_traffic_s": traffic_bound_s(summary, machine, moved=moved),
    }


def metric_names(machine: Machine) -> list[str]:
    """Return the names of the metrics of runs on a machine that are single numbers."""
    shapes = {
        "node_bytes": (1, machine.n_domains, len(machine.nodes)),
        "node_hit_bytes": (1, len(machine.nodes)),
        "managed_bytes": (2,),
        "part_units": (0, 0),
        "part_ps": (0, 0),
        **dict.fromkeys(CACHE_COUNTS, (1, machine.n_domains, len(machine.caches))),
    }
    values: dict[str, Any] = {
        f.name: 0 if f.type == "int" else np.zeros(shapes.get(f.name, (1,)), np.int64)
        for f in fields(Summary)
    }
    nothing = Summary(**values)
    found = {
        **_times(nothing, machine),
        **_worker_times(nothing),
        **_traffic(nothing, machine),
        "busiest_link_percent": 0.0,
        **_caches(nothing, machine),
        **_straggler(nothing, machine),
        **_footprint(nothing),
        **_scheduling(nothing),
        **_division(nothing, None),
    }
    names = [name for name, value in found.items() if not isinstance(value, list)]
    services = SERVICE_METRICS if "copy_in" in machine.kinds else ()
    return [*names, *BOUNDS, *services, *JOB_METRICS]


def _times(summary: Summary, machine: Machine) -> dict[str, Any]:
    """Return makespan, iterations and what passes between them.

    `policy_decision_s` is the sum over decisions that took time while tasks ran, each of which
    holds back a task (a kernel's launch, for instance). Other tasks may be running meanwhile, so it
    is time spent, not time lost: the makespan can be longer by less, and by more where what is held
    back keeps others waiting. `migration_overhead_s` is what the mean worker spends on moving data
    inside iterations, and what passes between them besides barriers and the policy's own work.
    """
    length = (summary.iteration_end_ps - summary.iteration_start_ps) * PER_PS
    real = summary.iteration > 0
    barriers = machine.costs.barrier_ps * max(0, len(summary.iteration) - 1)
    between = int(summary.iteration_overhead_ps.sum())
    overhead = max(0, between - barriers)
    inside = (summary.move_ps + summary.page_fault_ps) / len(summary.worker_busy_ps)
    migration = overhead - summary.policy_ps + inside
    overhead += summary.decision_ps
    work = summary.policy_ps + summary.decision_ps
    whole = max(1, summary.makespan_ps)
    kept = length[real]
    return {
        "makespan_s": summary.makespan_ps * PER_PS,
        "tasks": summary.n_tasks,
        "events": summary.n_events,
        "iterations": len(kept),
        "initialisation_s": float(length[~real].sum()),
        "iteration_mean_s": float(kept.mean()) if len(kept) else 0.0,
        "iteration_first_s": float(kept[0]) if len(kept) else 0.0,
        "iteration_last_s": float(kept[-1]) if len(kept) else 0.0,
        "iteration_s": length.tolist(),
        "between_iterations_s": between * PER_PS,
        "policy_overhead_s": overhead * PER_PS,
        "policy_overhead_percent": 100.0 * overhead / whole,
        "policy_work_s": work * PER_PS,
        "policy_work_percent": 100.0 * work / whole,
        "policy_decisions": summary.decisions,
        "policy_decision_s": summary.decision_ps * PER_PS,
        "migration_overhead_s": migration * PER_PS,
        "migration_overhead_percent": 100.0 * migration / whole,
        "iterations_to_amortise": iterations_to_amortise(summary, machine.costs.barrier_ps),
    }


def iterations_to_amortise(summary: Summary, barrier_ps: int) -> int:
    """Return after how many iterations a run has made up for its overhead; -1 is never.

    It is the first iteration, counted from 1, from whose end on the time since the start of
    iteration 1, with everything between the iterations, is no longer than if all had taken as long
    as the first one, with nothing but barriers in between.
    """
    real = summary.iteration > 0
    elapsed = summary.iteration_end_ps[real] - summary.iteration_start_ps[real][:1]
    count = np.arange(1, len(elapsed) + 1)
    behind = np.flatnonzero(elapsed > elapsed[:1] * count + barrier_ps * (count - 1))
    last = int(behind[-1]) + 1 if len(behind) else 0
    return last + 1 if last < len(elapsed) or not len(elapsed) else -1


def _worker_times(summary: Summary) -> dict[str, Any]:
    """Return where the workers' time went, in total, as shares and per worker.

    Workers that no task can run on, such as cores without a cost for any class, and those that a
    policy leaves out, such as the cores that drive devices, are idle all the time. Time for moving
    data is no part of `busy_s`; waits for pages are not counted per worker: `worker_busy_s` has
    them.
    """
    used = np.array([getattr(summary, f"worker_{name}_ps") for name in _PARTS])
    idle = np.maximum(summary.makespan_ps - used.sum(axis=0), 0)
    table = np.vstack([used, idle])
    total = max(1, summary.makespan_ps * len(idle))
    row: dict[str, Any] = {"workers": len(idle)}
    sums: dict[str, int] = dict(zip((*_PARTS, "idle"), table.sum(axis=1).tolist(), strict=True))
    sums["migrate"] += summary.page_fault_ps
    sums["busy"] = max(0, sums["busy"] - summary.page_fault_ps)
    row |= {f"{name}_s": part * PER_PS for name, part in sums.items()}
    row |= {f"{name}_percent": 100.0 * part / total for name, part in sums.items()}
    busy = summary.worker_busy_ps
    longest = busy.max()
    row["busy_imbalance"] = float(longest / busy.mean()) if longest > 0 else 1.0
    of_worker = dict(zip(sums, (table * PER_PS).tolist(), strict=True))
    row |= {f"worker_{name}_s": of_worker[name] for name in ("busy", "acquire", "idle")}
    return row


@lru_cache(maxsize=N_KEPT)
def memory_kinds(machine: Machine) -> Mapping[str, tuple[int, ...]]:
    """Return the nodes of each memory kind, kinds in order of first appearance."""
    kinds: dict[str, tuple[int, ...]] = {}
    for index, node in enumerate(machine.nodes):
        kinds[node.kind] = (*kinds.get(node.kind, ()), index)
    return MappingProxyType(kinds)


@lru_cache(maxsize=N_KEPT)
def local_nodes(machine: Machine) -> NDArray[np.bool_]:
    """Return which nodes are local to which domain; shape (n_domains, n_nodes).

    A node that belongs to no domain is equally far from all and counts as local.
    """
    home = np.array([-1 if node.domain is None else node.domain for node in machine.nodes])
    domains = np.arange(machine.n_domains)[:, None]
    local: NDArray[np.bool_] = (home[None, :] == domains) | (home[None, :] < 0)
    local.flags.writeable = False
    return local


@lru_cache(maxsize=N_KEPT)
def _domains_of_sockets(machine: Machine) -> NDArray[np.int64]:
    """Return 1 for each domain that a socket has; shape (n_sockets, n_domains)."""
    sockets = np.arange(machine.n_sockets)[:, None]
    found: NDArray[np.int64] = (sockets == machine.domain_socket[None, :]).astype(np.int64)
    return found


def _traffic(summary: Summary, machine: Machine) -> dict[str, Any]:
    """Return bytes moved between domains and memory nodes and the bandwidth that this means.

    Where bytes are counted by domain, those that memory-side caches answer are among them: the
    block's node is where the access goes. Rates of a kind, and its bytes by iteration, are what the
    nodes themselves move.

    `local_percent` is R_loc^HW of Drebes et al., *Scalable Task Parallelism for NUMA: A Uniform
    Abstraction for Coordinated Scheduling and Memory Management*, PACT 2016, section 5.
    """
    of_node = summary.node_bytes.sum(axis=1)  # by iteration
    moved = summary.node_bytes.sum(axis=0)
    near_moved = np.where(local_nodes(machine), moved, 0)
    near_by_iteration = np.where(local_nodes(machine), summary.node_bytes, 0).sum(axis=(1, 2))
    by_iteration, by_domain = of_node.sum(axis=1), moved.sum(axis=1)
    near_by_domain = near_moved.sum(axis=1)
    all_bytes, near = int(by_domain.sum()), int(near_by_domain.sum())
    row: dict[str, Any] = {
        "requested_bytes": summary.requested_bytes,
        "memory_bytes": all_bytes,
        "local_bytes": near,
        "remote_bytes": all_bytes - near,
        "remote_percent": 100.0 * (all_bytes - near) / max(1, all_bytes),
        "local_percent": 100.0 * near / max(1, all_bytes),
        "iteration_local_bytes": near_by_iteration.tolist(),
        "iteration_remote_bytes": (by_iteration - near_by_iteration).tolist(),
        "domain_local_bytes": near_by_domain.tolist(),
        "domain_remote_bytes": (by_domain - near_by_domain).tolist(),
    }
    seconds = max(1, summary.makespan_ps) * PER_PS
    whole, close = moved.sum(axis=0).tolist(), near_moved.sum(axis=0).tolist()
    moved_itself = of_node - summary.node_hit_bytes
    for kind, nodes in memory_kinds(machine).items():
        name = kind.lower()
        part, own_part = sum(whole[node] for node in nodes), sum(close[node] for node in nodes)
        row[f"local_{name}_bytes"] = own_part
        row[f"remote_{name}_bytes"] = part - own_part
        row[f"{name}_percent"] = 100.0 * part / max(1, all_bytes)
        own = moved_itself[:, nodes].sum(axis=1)
        row[f"{name}_bytes_per_s"] = int(own.sum()) / seconds
        row[f"iteration_{name}_bytes"] = own.tolist()
    return row


def _links(summary: Summary, machine: Machine, worker_thread: NDArray[np.int32]) -> dict[str, Any]:
    """Return the bytes on each link, messages too, and what that is of its bandwidth."""
    crossed = np.zeros(len(machine.links))
    if machine.links:
        first = Resources(machine).first_link
        loads = ways_of(machine, worker_thread).loads(summary.path_bytes)
        crossed = loads[first : first + len(machine.links)]
    rates = np.array([link.bandwidth_bytes_per_s for link in machine.links])
    percent = 100.0 * crossed / (rates * max(1, summary.makespan_ps) * PER_PS)
    return {
        "link_name": [link.name for link in machine.links],
        "link_bytes": crossed.tolist(),
        "link_percent": percent.tolist(),
        "busiest_link_percent": float(percent.max(initial=0.0)),
    }


def _caches(summary: Summary, machine: Machine) -> dict[str, Any]:
    """Return hits and misses of every cache level, in lines of `LINE_BYTES`, rounded down."""
    row: dict[str, Any] = {}
    for index, level in enumerate(machine.caches):
        name = level.name.lower()
        missing = summary.cache_missing_bytes[:, :, index].sum(axis=0)
        lines = int(missing.sum()) // LINE_BYTES
        row[f"{name}_hits"] = int(summary.cache_hits[:, :, index].sum())
        row[f"{name}_misses"] = int(summary.cache_misses[:, :, index].sum())
        row[f"{name}_hit_bytes"] = int(summary.cache_hit_bytes[:, :, index].sum())
        row[f"{name}_missing_lines"] = lines
        row[f"{name}_counted_misses"] = round(lines * level.counted_per_line)
        row[f"domain_{name}_missing_lines"] = (missing // LINE_BYTES).tolist()
    row["memory_side_hit_bytes"] = summary.memory_side_hit_bytes
    row["write_back_bytes"] = summary.write_back_bytes
    return row


def _footprint(summary: Summary) -> dict[str, Any]:
    """Return what memory blocks took, memory that waits in pools too, and how local those were.

    `managed_local_percent` is R_loc^RT of the source of :func:`_traffic`, which knows neither
    caches nor global arrays.
    """
    near, far = summary.managed_bytes.tolist()
    return {
        "footprint_bytes": summary.peak_bytes,
        "footprint_largest_node_bytes": int(summary.node_peak_bytes.max()),
        "node_footprint_bytes": summary.node_peak_bytes.tolist(),
        "recycled_blocks": summary.recycled_blocks,
        "managed_bytes": near + far,
        "managed_local_percent": 100.0 * near / max(1, near + far),
    }


def _straggler(summary: Summary, machine: Machine) -> dict[str, Any]:
    """Return what the socket has done whose cores moved the fewest bytes from and to own memory.

    The initialisation does not count, nor do sockets that move nothing; of equals it is the lowest.
    Its accesses end last, so its counts stand for the program's: Chen, Guo, Guan, *LAWS:
    Locality-Aware Work-Stealing for Multi-socket Multi-core Architectures*, ICS 2014, section 5.
    """
    real = summary.iteration > 0
    moved = summary.node_bytes[real].sum(axis=0)
    near = np.where(local_nodes(machine), moved, 0).sum(axis=1)
    missing = summary.cache_missing_bytes[real].sum(axis=0)
    of_socket = _domains_of_sockets(machine)
    local, total = of_socket @ near, of_socket @ moved.sum(axis=1)
    takes_part = total > 0
    found = int(np.where(takes_part, local, np.iinfo(np.int64).max).argmin())
    row: dict[str, Any] = {
        "straggler_socket": found if takes_part.any() else -1,
        "straggler_local_accesses": int(local[found]) // LINE_BYTES,
        "straggler_memory_accesses": int(total[found]) // LINE_BYTES,
    }
    for index, level in enumerate(machine.caches):
        lines = int((of_socket @ missing[:, index])[found]) // LINE_BYTES
        row[f"straggler_{level.name.lower()}_missing_lines"] = lines
    return row


def _scheduling(summary: Summary) -> dict[str, Any]:
    """Return steals, probes, migrations and what executions without result have taken.

    A policy that itself moves tasks between pools, as work pushing and messages between clusters
    do, has `transfers`; they are steals, too, where it names a thief.
    """
    steals = summary.steals.tolist()
    return {
        "steals": sum(steals),
        "steals_same_core": sum(steals[:1]),
        "steals_same_domain": sum(steals[1:2]),
        "steals_remote": sum(steals[2:]),
        "steals_by_distance": steals,
        "transfers": summary.transfers,
        "transferred_tasks": summary.transferred_tasks,
        "failed_probes": int(summary.failed_probes.sum()),
        "migrations": summary.migrations,
        "migrated_bytes": summary.migrated_bytes,
        "page_faults": summary.page_faults,
        "page_fault_s": summary.page_fault_ps * PER_PS,
        "duplicates": summary.duplicates,
        "kills": summary.kills,
        "wasted_s": summary.wasted_ps * PER_PS,
        "exchanges": summary.exchanges,
    }


def _division(summary: Summary, division: Division | None) -> dict[str, Any]:
    """Return how divided work was divided.

    The iterations before the last one of an invocation are its profiling steps. The imbalance
    degree is ``(T_max - T_min) / T_max`` of the times that the parts take. A part without work
    takes no time, so the degree is 1 wherever one idles while others work; the equation excepts
    neither loops that one side executes by definition nor parts that are too slow for a unit. The
    variance is that of the share of the parts after the first between each iteration and the next.

    Chen, Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017, Eq. 6.5
    and section 6.5.4.
    """
    units, times = summary.part_units, summary.part_ps
    if division is None or not units.size:
        names = ("profiling_steps", "profiled_percent", "imbalance_degree", "imbalance_degree_sum")
        return {**dict.fromkeys(names, 0.0), "iteration_partition_variance": []}
    step, share = units.sum(axis=1), units[:, 1:].sum(axis=1) / units.sum(axis=1)
    last = np.cumsum(step) % division.units == 0
    worked = np.where(units > 0, times, 0)
    degrees = [_imbalance(each) for each in worked[last]]
    return {
        "profiling_steps": int((~last).sum()) / len(degrees),
        "profiled_percent": 100.0 * int(step[~last].sum()) / int(step.sum()),
        "imbalance_degree": sum(degrees) / len(degrees),
        "imbalance_degree_sum": _imbalance(worked.sum(axis=0)),
        "iteration_partition_variance": (np.diff(share) ** 2 / 2).tolist(),
    }


def _imbalance(times: NDArray[np.int64]) -> float:
    """Return the difference of the longest and the shortest time, relative to the longest."""
    longest = int(times.max())
    return (longest - int(times.min())) / longest if longest > 0 else 0.0


def _bounds(
    summary: Summary, machine: Machine, program: Workload, worker_thread: NDArray[np.int32]
) -> dict[str, Any]:
    """Return lower bounds and how far above the best of them the run is.

    They are the same under every policy, so that `makespan_over_bound` ranks policies as the
    makespan does.
    """
    bounds = lower_bounds(machine, program, worker_thread)
    makespan = summary.makespan_ps * PER_PS
    over = math.nan if makespan > 0 else 1.0  # a program of no length is as short as it can be
    if bounds.best_s > 0:
        over = makespan / bounds.best_s
    return {
        "bound_critical_path_s": bounds.critical_path_s,
        "bound_work_s": bounds.work_s,
        "bound_bandwidth_s": bounds.bandwidth_s,
        "bound_s": bounds.best_s,
        "makespan_over_bound": over,
    }
