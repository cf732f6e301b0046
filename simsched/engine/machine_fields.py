"""What of a problem depends on the machine, its workers and the kinds of costs alone."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Paths
from simsched.engine.paths import make_paths, most_mates
from simsched.engine.processors import worker_speeds
from simsched.engine.replication import node_ranks
from simsched.files.units import PER_PS
from simsched.machine.caches import CacheInstance, CacheLevel, MemorySideCache
from simsched.machine.model import Controller, IntArray, Link, Machine, MemoryNode

Int32Array = NDArray[np.int32]
FloatArray = NDArray[np.float64]

#: Studies run many small programs on few machines; a table takes up to some megabytes.
N_KEPT = 32


def machine_fields(
    machine: Machine, worker_thread: IntArray, kinds: tuple[str, ...]
) -> dict[str, Any]:
    """Return the fields of a problem that are the same in all runs of a machine's workers.

    They are made once, kept for the next runs, and read-only.

    Parameters
    ----------
    machine : Machine
        Also which of them it is counts: one that is equal has fields of its own.
    worker_thread : ndarray of int32, shape (n_workers,)
        The hardware thread of each worker.
    kinds : tuple of str
        Kinds of processors for which the program has costs.

    Returns
    -------
    dict
        By names of fields of :class:`~simsched.engine.interface.problem.Problem`.
    """
    return _fields(machine, np.asarray(worker_thread, np.int32).tobytes(), kinds)


def paths_of(machine: Machine, worker_thread: IntArray) -> Paths:
    """Return the paths of a run; their numbers are those in its trace."""
    paths: Paths = machine_fields(machine, worker_thread, machine.kinds)["paths"]
    return paths


def path_nodes(machine: Machine, worker_thread: IntArray) -> IntArray:
    """Return the memory node that each path of a run leads to, -1 for copies between nodes."""
    paths = paths_of(machine, worker_thread)
    node = np.full(len(paths.latency_ps), -1, np.int32)
    for table in (paths.access, paths.hit, paths.write):
        for index in range(table.shape[1]):
            used = table[:, index]
            node[used[used >= 0]] = index
    return node


@lru_cache(maxsize=N_KEPT)
def _fields(machine: Machine, threads: bytes, kinds: tuple[str, ...]) -> dict[str, Any]:
    worker_thread = np.frombuffer(threads, np.int32)
    core_of_worker = machine.thread_core[worker_thread]
    _, worker_core, per_core = np.unique(core_of_worker, return_inverse=True, return_counts=True)
    _, worker_module = np.unique(machine.core_module[core_of_worker], return_inverse=True)
    n_smt, n_mates = int(per_core.max()), most_mates(machine, worker_thread)
    worker_kind, worker_rate = worker_speeds(machine, kinds, core_of_worker, n_smt)
    capacity, curve_ptr, curve, gradual = _resources(machine)
    fields: dict[str, Any] = {
        "n_smt": n_smt,
        "n_mates": n_mates,
        "worker_core": worker_core.astype(np.int32),
        "worker_module": worker_module.astype(np.int32),
        "worker_domain": machine.core_domain[core_of_worker].astype(np.int32),
        "worker_kind": worker_kind,
        "worker_rate": worker_rate,
        "domain_hops": np.ascontiguousarray(machine.domain_hops, np.int32),
        "domain_socket": np.ascontiguousarray(machine.domain_socket, np.int32),
        "paths": make_paths(machine, n_mates),
        "resource_capacity": capacity,
        "curve_ptr": curve_ptr,
        "curve": curve,
        "resource_gradual": gradual,
        **_latency_under_load(machine, len(capacity)),
        **_nodes(machine),
        **_caches(machine.caches, core_of_worker),
        **_transfers(machine),
        "costs": machine.costs,
        "copies_data": machine.copies_data,
        **_spaces(machine, core_of_worker),
        **_changes(machine, core_of_worker),
    }
    for value in (*fields.values(), *vars(fields["paths"]).values()):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return fields


def _nodes(machine: Machine) -> dict[str, Any]:
    nodes = machine.nodes
    kinds = list(dict.fromkeys(node.kind for node in nodes))
    return {
        "node_capacity_bytes": np.array([node.capacity_bytes for node in nodes], np.int64),
        "node_domain": np.array([-1 if n.domain is None else n.domain for n in nodes], np.int32),
        "node_kind": np.array([kinds.index(node.kind) for node in nodes], np.int32),
        "node_rank": node_ranks(machine),
    }


def _spaces(machine: Machine, core_of_worker: Int32Array) -> dict[str, Any]:
    """Return the memory spaces, and which of them workers use."""
    space, domains = machine.node_space, range(machine.n_domains)
    reaches = np.zeros((machine.n_domains, machine.n_spaces), np.uint8)
    for domain, node in np.ndindex(machine.n_domains, len(machine.nodes)):
        reaches[domain, space[node]] = machine.uses_in_place(domain, node)
    is_device = np.zeros(machine.n_spaces, np.uint8)
    is_device[space] = [node.has_driver for node in machine.nodes]
    own = np.array([space[machine.own_node(domain)] for domain in domains], np.int32)
    groups = machine.core_group[core_of_worker]
    includes = np.array([group.includes_accesses for group in machine.core_groups])
    return {
        "node_space": space,
        "worker_space": own[machine.core_domain[core_of_worker]],
        "worker_includes": includes[groups].astype(np.uint8) if includes.any() else None,
        "domain_reaches": reaches,
        "space_is_device": is_device,
    }


def _resources(
    machine: Machine,
) -> tuple[FloatArray, Int32Array, FloatArray, NDArray[np.uint8] | None]:
    """Return the capacities of all resources, those by the number of flows, and who is gradual."""
    caches = [
        node.memory_side_cache for node in machine.nodes if node.memory_side_cache is not None
    ]
    resources: tuple[MemoryNode | MemorySideCache | Link | Controller, ...]
    resources = (*machine.nodes, *caches, *machine.links, *machine.controllers)
    curves = [getattr(each, "bandwidth_curve", ()) for each in resources]
    ceilings = [getattr(each, "ceiling_bytes_per_s", None) for each in resources]
    rates = [
        each.bandwidth_bytes_per_s if ceiling is None else ceiling
        for each, ceiling in zip(resources, ceilings, strict=True)
    ]
    is_gradual = np.array([ceiling is not None for ceiling in ceilings], np.uint8)
    ptr = np.zeros(len(rates) + 1, np.int32)
    np.cumsum([len(curve) for curve in curves], out=ptr[1:])
    flat = [value * PER_PS for curve in curves for value in curve]
    capacity = np.array(rates, np.float64) * PER_PS
    return capacity, ptr, np.array(flat, np.float64), is_gradual if is_gradual.any() else None


def _latency_under_load(machine: Machine, n_resources: int) -> dict[str, Any]:
    """Return how latencies grow with the load of nodes, nothing where they do not."""
    table = np.zeros((2, n_resources))
    for index, node in enumerate(machine.nodes):
        table[:, index] = node.latency_under_load or (0.0, 0.0)
    slope, bend = table if table.any() else (None, None)
    return {"latency_slope": slope, "latency_bend": bend}


def _changes(machine: Machine, core_of_worker: Int32Array) -> dict[str, Any]:
    """Return what happens to the cores that carry workers."""
    used = np.unique(core_of_worker)
    cores = [np.isin(used, change.cores) for change in machine.changes]
    return {
        "change_ps": np.array([change.at_ps for change in machine.changes], np.int64),
        "change_core": np.array(cores, np.uint8).reshape(len(cores), len(used)),
        "change_speed": np.array([change.speed for change in machine.changes], np.float64),
    }


def _caches(levels: tuple[CacheLevel, ...], core_of_worker: Int32Array) -> dict[str, Any]:
    """Return the fields about levels of caches, and who uses which of their instances."""
    instances = [
        np.unique(level.core_instance[core_of_worker], return_inverse=True) for level in levels
    ]
    of_worker = np.array([inverse for _, inverse in instances], np.int32)
    caches = [
        level.instance(number)
        for level, (found, _) in zip(levels, instances, strict=True)
        for number in found.tolist()
    ]
    return {
        "cache_slices": np.array(
            [len(level.effective_capacities_bytes) or 1 for level in levels], np.int32
        ),
        "cache_slice_bytes": np.array([n for cache in caches for n in _slices(cache)], np.int64),
        "cache_latency_ps": np.array([cache.latency_ps for cache in caches], np.int64),
        "cache_rate": np.array([each.bandwidth_bytes_per_s * PER_PS for each in caches], float),
        "cache_wait": np.array([1.0 - level.overlap for level in levels], np.float64),
        "cache_is_victim": np.array([each.filled_by == "evictions" for each in levels], np.uint8),
        "cache_instance": of_worker.reshape(-1, len(core_of_worker)),
        "n_cache_instances": np.array([len(found) for found, _ in instances], np.int32),
    }


def _slices(cache: CacheInstance) -> list[int]:
    """Return the capacities of the slices of a cache."""
    capacities = cache.effective_capacities_bytes or (cache.capacity_bytes,)
    return [capacity // len(capacities) for capacity in capacities]


def _transfers(machine: Machine) -> dict[str, Any]:
    """Return the level of caches whose instances pass on what they have written."""
    for number, level in enumerate(machine.caches):
        if level.transfer_bandwidth_bytes_per_s > 0:
            return {
                "transfer_level": number,
                "transfer_latency_ps": level.transfer_latency_ps,
                "transfer_rate": level.transfer_bandwidth_bytes_per_s * PER_PS,
                "displacement_rate": level.displacement_bandwidth_bytes_per_s * PER_PS,
                "upgrade_rate": level.upgrade_bandwidth_bytes_per_s * PER_PS,
            }
    return {
        "transfer_level": -1,
        "transfer_latency_ps": 0,
        "transfer_rate": 0.0,
        "displacement_rate": 0.0,
        "upgrade_rate": 0.0,
    }
