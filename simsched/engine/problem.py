"""What both backends execute, as plain arrays in picoseconds and bytes.

Names are resolved here, once; backends see indices only. Rates are per picosecond.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Problem
from simsched.engine.machine_fields import machine_fields
from simsched.engine.pooling import resolve_pooling, taken_bytes
from simsched.engine.replication import followed, make_replicas
from simsched.engine.stall import PROGRESS_LIMIT_S
from simsched.files.errors import ModelError
from simsched.files.units import seconds_to_ps
from simsched.machine.caches import MemorySideCache
from simsched.machine.model import Machine
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
    """Return the arrays for one run.

    The policy has no timer when its period is 0. A run in which no task ends for `progress_limit_s`
    simulated seconds is given up.
    """
    graph = workload.graph
    granule_ptr, frames, slots = _memory_side_granules(machine, graph.block_bytes, seed)
    return Problem(
        **machine_fields(machine, worker_thread, graph.kinds),
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
        timer_period_ps=seconds_to_ps(timer_period_s),
        progress_limit_ps=seconds_to_ps(progress_limit_s),
        n_classes=_n_classes(workload),
        **run_streams(seed),
    )


def run_streams(seed: int) -> dict[str, Any]:
    """Return the bit generators from which a run draws, by fields of its problem."""
    return {f"{purpose}_stream": random_stream(seed, purpose) for purpose in ("victim", "wake")}


def _n_classes(workload: Workload) -> int:
    """Return the number of task classes of a workload, at least 1."""
    graphs = [workload.graph] if workload.init is None else [workload.init, workload.graph]
    return max(1, *(len(graph.class_names) for graph in graphs))


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
