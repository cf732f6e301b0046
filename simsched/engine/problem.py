"""What both backends execute, as plain arrays in picoseconds and bytes.

Names are resolved here, once; backends see indices only. Rates are per picosecond.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Problem
from simsched.engine.paths import make_paths, most_mates
from simsched.engine.pooling import resolve_pooling, taken_bytes
from simsched.engine.processors import worker_speeds
from simsched.engine.replication import followed, make_replicas, node_ranks
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.files.errors import ModelError
from simsched.files.units import PER_PS, seconds_to_ps
from simsched.machine.caches import CacheInstance, CacheLevel, MemorySideCache
from simsched.machine.model import Controller, Link, Machine, MemoryNode
from simsched.policy.contract.base import Placement
from simsched.workload.graph import Workload

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def random_stream(seed: int, purpose: str) -> np.random.PCG64:
    """Return the bit generator of one purpose; see docs/semantics.md, rule T5."""
    return np.random.PCG64(np.random.SeedSequence([seed, zlib.crc32(purpose.encode())]))


def make_problem(
    machine: Machine,
    workload: Workload,
    placement: Placement,
    worker_thread: Int32Array,
    *,
    seed: int,
    timer_period_s: float = 0.0,
    progress_limit_s: float = PROGRESS_LIMIT_S,
) -> Problem:
    """Return the arrays for one run; refuse data that do not fit into memory.

    The policy has no timer when its period is 0. A run in which no task ends for `progress_limit_s`
    simulated seconds is given up.
    """
    core_of_worker = machine.thread_core[worker_thread]
    _, worker_core, per_core = np.unique(core_of_worker, return_inverse=True, return_counts=True)
    n_smt = int(per_core.max())
    _, worker_module = np.unique(machine.core_module[core_of_worker], return_inverse=True)
    n_mates = most_mates(machine, worker_thread)
    graph = workload.graph
    worker_kind, worker_rate = worker_speeds(machine, graph.kinds, core_of_worker, n_smt)
    capacity, curve_ptr, curve, gradual = _resources(machine)
    check_capacity(machine, workload, placement)
    granule_ptr, frames, slots = _memory_side_granules(machine, graph.block_bytes, seed)
    return Problem(
        n_smt=n_smt,
        n_mates=n_mates,
        worker_core=worker_core.astype(np.int32),
        worker_module=worker_module.astype(np.int32),
        worker_domain=machine.core_domain[core_of_worker].astype(np.int32),
        worker_kind=worker_kind,
        worker_rate=worker_rate,
        domain_hops=np.ascontiguousarray(machine.domain_hops, np.int32),
        domain_socket=np.ascontiguousarray(machine.domain_socket, np.int32),
        paths=make_paths(machine, n_mates),
        resource_capacity=capacity,
        curve_ptr=curve_ptr,
        curve=curve,
        resource_gradual=gradual,
        **_latency_under_load(machine, len(capacity)),
        **_nodes(machine),
        **_caches(machine.caches, core_of_worker),
        **_transfers(machine),
        granule_ptr=granule_ptr,
        granule_frame=frames,
        node_slots=slots,
        block_bytes=np.ascontiguousarray(graph.block_bytes, np.int64),
        taken_bytes=taken_bytes(placement, graph.block_bytes),
        pooling=resolve_pooling(placement, graph.n_tasks),
        home=np.ascontiguousarray(placement.home, np.int32),
        touch_order=np.ascontiguousarray(placement.touch_order, np.int32),
        follows=followed(placement),
        replica=make_replicas(placement),
        costs=machine.costs,
        timer_period_ps=seconds_to_ps(timer_period_s),
        progress_limit_ps=seconds_to_ps(progress_limit_s),
        n_classes=_n_classes(workload),
        copies_data=machine.copies_data,
        **_spaces(machine, core_of_worker),
        **_changes(machine, core_of_worker),
        victim_stream=random_stream(seed, "victim"),
        wake_stream=random_stream(seed, "wake"),
    )


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


def _n_classes(workload: Workload) -> int:
    """Return the number of task classes of a workload, at least 1."""
    graphs = [workload.graph] if workload.init is None else [workload.init, workload.graph]
    return max(1, *(len(graph.class_names) for graph in graphs))


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


def _slices(cache: CacheInstance) -> list[int]:
    """Return the capacities of the slices of a cache."""
    capacities = cache.effective_capacities_bytes or (cache.capacity_bytes,)
    return [capacity // len(capacities) for capacity in capacities]


def _memory_side_granules(
    machine: Machine, block_bytes: Int64Array, seed: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return granules of blocks, their frames, and the slots of each memory-side cache.

    Frames are numbered through all memory, so that blocks on different nodes never share one.
    """
    caches = [node.memory_side_cache for node in machine.nodes]
    present: list[MemorySideCache] = [cache for cache in caches if cache is not None]
    ptr = np.zeros(len(block_bytes) + 1, np.int64)
    slots = np.zeros(len(caches), np.int64)
    if not present:
        return ptr, np.zeros(0, np.int64), slots
    granule = present[0].granule_bytes
    if any(cache.granule_bytes != granule for cache in present):
        raise ModelError(f"machine {machine.name}: memory-side caches must share one granule size")
    slots[:] = [0 if cache is None else max(1, cache.capacity_bytes // granule) for cache in caches]
    np.cumsum(-(-block_bytes // granule), out=ptr[1:])
    total = int(ptr[-1])
    if present[0].mapping == "contiguous":
        return ptr, np.arange(total, dtype=np.int64), slots
    frames = max(total, sum(node.capacity_bytes for node in machine.nodes) // granule)
    rng = np.random.Generator(random_stream(seed, "memory-side-cache"))
    return ptr, rng.choice(frames, total, replace=False).astype(np.int64), slots


def check_capacity(machine: Machine, workload: Workload, placement: Placement) -> None:
    """Raise ModelError when blocks cannot fit on the nodes that the placement allows."""
    sizes = workload.graph.block_bytes
    capacity = [node.capacity_bytes for node in machine.nodes]
    used = np.zeros(len(capacity), np.int64)
    placed = placement.home >= 0
    np.add.at(used, placement.home[placed], sizes[placed])
    if placement.replicas is not None:
        held = placement.replicas >= 0
        np.add.at(used, placement.replicas[held], np.repeat(sizes, held.sum(axis=1)))
    for node, (need, have) in enumerate(zip(used.tolist(), capacity, strict=True)):
        if need > have:
            raise ModelError(
                f"workload {workload.name}: memory node {machine.nodes[node].name} of machine "
                f"{machine.name}: found {need} bytes placed, accepted at most {have}"
            )
    room = sum(
        capacity[node] - int(used[node]) for node in np.unique(placement.touch_order).tolist()
    )
    lasting = ~placed if placement.pools is None else ~placed & ~placement.pools.is_pooled
    need = int(sizes[lasting].sum())
    if need > room:
        raise ModelError(
            f"workload {workload.name}: found {need} bytes for first touch, accepted at most "
            f"{room}: the free memory of machine {machine.name} that the placement allows"
        )
