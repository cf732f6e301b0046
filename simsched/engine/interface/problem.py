"""What stays the same during a run: machine, blocks and where they are at the start."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.table import (
    BYTES,
    COUNT,
    DURATION_PS,
    FEW,
    FINITE_RATE,
    FLAG,
    INSTANT_PS,
    LENGTH,
    MANY_BYTES,
    NATURAL,
    RATE,
    SHARE,
    OfC,
    Range,
    Rising,
    array,
    index,
    interface,
    largest,
    length,
    number,
    part,
    stream,
)
from simsched.machine.model import RuntimeCosts
from simsched.policy.blocks import LARGEST_CLASS

ByteArray = NDArray[np.uint8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]

WITH_TRANSFERS = Range(0.0, "transfer_level == SSK_NONE ? 0.0 : INFINITY")


@interface("ssk_paths_t")
class Paths:
    """Ways for bytes: from each domain to each node, through memory-side caches, between nodes.

    Ways with the same latency, caps and loads are one path. Flow class c is
    ``path * n_smt + (k - 1)`` for k busy threads on the core of the flow.
    """

    n_paths = length("latency_ps", within=Range(1, "(1 << 28) / n_smt"))
    n_crossings = length("resource", within=LENGTH, gloss="resources on all paths")
    latency_ps: Int64Array = array("n_paths", within=DURATION_PS)
    share: FloatArray = array(
        "n_paths",
        within=Range(1e-300, 1.0),
        gloss="bytes per ps at a level of 1: the part of what flows compete for grows with it",
    )
    cap: FloatArray = array(
        "n_paths",
        "n_smt",
        within=RATE,
        gloss="level that one thread reaches at most when k threads of its core are busy",
    )
    resource_ptr: Int32Array = array("n_paths + 1", within=Rising("n_crossings"))
    resource: Int32Array = array(
        "n_crossings", within=index("n_resources"), gloss="resources crossed, ascending"
    )
    weight: FloatArray = array(
        "n_crossings", within=FINITE_RATE, gloss="load on each of them at a level of 1"
    )
    access: Int32Array = array(
        "n_domains",
        "n_nodes",
        within=index("n_paths"),
        gloss="path of accesses; of misses, where the node has a memory-side cache",
    )
    hit: Int32Array = array(
        "n_domains",
        "n_nodes",
        within=index("n_paths", none=True),
        gloss="path of hits in memory-side caches; -1 where the node has none",
    )
    write: Int32Array = array(
        "n_domains",
        "n_nodes",
        within=index("n_paths"),
        gloss="path of written bytes that `hit` does not take",
    )
    copy: Int32Array = array(
        "n_nodes",
        "n_nodes",
        within=index("n_paths"),
        gloss="path of migrations from the first to the second node",
    )


@interface("ssk_pooling_t")
class Pooling:
    """Pools of blocks with what happens at the creation and the end of each task."""

    n_tasks = length("allocate_ptr", plus=-1, gloss="of the iterated graph; 0: there are no pools")
    n_allocate = length("allocate", within=LENGTH)
    n_release = length("release", within=LENGTH)
    size_class: Int32Array = array(
        "n_blocks",
        within=Range("SSK_NONE", LARGEST_CLASS),
        gloss="log2 of the bytes that the block takes; -1 for blocks of no pool",
    )
    allocate_near: Int32Array = array(
        "n_blocks",
        within=index("n_blocks", none=True),
        gloss="block on whose node the block is allocated; -1 for the node of the creator",
    )
    is_fresh: ByteArray = array(
        "n_blocks", within=FLAG, gloss="the first touch takes memory of the system"
    )
    is_untracked: ByteArray = array("n_blocks", within=FLAG)
    allocate_ptr: Int64Array = array("n_tasks + 1", within=Rising("n_allocate"))
    allocate: Int32Array = array(
        "n_allocate",
        within=index("n_blocks"),
        gloss="blocks allocated when a task is created, ascending",
    )
    release_ptr: Int64Array = array("n_tasks + 1", within=Rising("n_release"))
    release: Int32Array = array(
        "n_release", within=index("n_blocks"), gloss="blocks freed when a task has ended, ascending"
    )


@interface("ssk_problem_t", OfC("recorder", "where trace events go", "ssk_recorder_t"))
class Problem:
    """Everything that stays the same during a run."""

    n_smt: int = number(COUNT, gloss="most workers on one core")
    n_workers = length("worker_core", within=COUNT)
    n_cores = largest("worker_core")
    n_domains = length("domain_socket", within=COUNT)
    n_sockets = largest("domain_socket")
    n_nodes = length("node_capacity_bytes", within=COUNT)
    n_node_kinds = largest("node_kind")
    n_distances = largest("domain_hops", plus=2, gloss="distance classes that can occur")
    n_resources = length(
        "resource_capacity", within=COUNT, gloss="nodes, their memory-side caches, then links"
    )
    n_curve = length("curve", within=LENGTH)
    n_blocks = length("block_bytes")
    n_granules = length("granule_frame", within=LENGTH)
    n_levels = length("n_cache_instances", gloss="of processor caches")
    n_caches = length("cache_latency_ps", gloss="instances of all levels")
    n_cache_slices = length("cache_slice_bytes", gloss="slices of all instances")
    n_allowed = length("touch_order", axis=1, gloss="nodes in a touch order")
    n_replicas = length("replica", axis=1, gloss="most of a block")
    n_changes = length("change_ps", gloss="of the speed of cores")
    n_classes: int = number(FEW, gloss="task classes of the workload, each with its pool")
    copies_data: bool = number(gloss="blocks are copied to the node of the worker that uses them")

    worker_core: Int32Array = array(
        "n_workers", within=index("n_cores"), gloss="numbers of the cores that carry workers"
    )
    worker_domain: Int32Array = array("n_workers", within=index("n_domains"))
    worker_kind: Int32Array = array(
        "n_workers", within=NATURAL, gloss="row of the graphs' `ops` that holds for each worker"
    )
    worker_rate: FloatArray = array(
        "n_workers",
        "n_smt",
        within=FINITE_RATE,
        gloss="operations per ps when k workers of its core are busy",
    )
    domain_hops: Int32Array = array("n_domains", "n_domains", within=Range(0, "n_distances - 2"))
    domain_socket: Int32Array = array("n_domains", within=index("n_sockets"))
    resource_capacity: FloatArray = array("n_resources", within=RATE, gloss="bytes per ps")
    curve_ptr: Int32Array = array("n_resources + 1", within=Rising("n_curve"))
    curve: FloatArray = array(
        "n_curve",
        within=FINITE_RATE,
        gloss="capacity with 1, 2, ... flows; of most resources empty",
    )
    paths: Paths = part("path_")
    node_capacity_bytes: Int64Array = array("n_nodes", within=MANY_BYTES)
    node_domain: Int32Array = array(
        "n_nodes",
        within=index("n_domains", none=True),
        gloss="-1 for a node that is local to all domains",
    )
    node_kind: Int32Array = array(
        "n_nodes",
        within=index("n_node_kinds"),
        gloss="kinds of memory in the order of their first appearance",
    )
    node_slots: Int64Array = array(
        "n_nodes",
        within=Range(0, "INT64_MAX / 16"),
        gloss="slots of the memory-side cache; 0 without one",
    )
    cache_slices: Int32Array = array(
        "n_levels", within=Range(1, "SSK_MAX_SLICES"), gloss="of each instance of the level"
    )
    n_cache_instances: Int32Array = array(
        "n_levels", within=Range(1, "INT32_MAX / SSK_MAX_SLICES / (n_levels + 1)")
    )
    cache_slice_bytes: Int64Array = array(
        "n_cache_slices",
        within=MANY_BYTES,
        gloss="capacities, by level, then instance, then slice",
    )
    cache_latency_ps: Int64Array = array(
        "n_caches", within=DURATION_PS, gloss="of a hit, by level, then instance"
    )
    cache_rate: FloatArray = array("n_caches", within=RATE, gloss="bytes per ps of a hit, likewise")
    cache_wait: FloatArray = array(
        "n_levels", within=SHARE, gloss="share of the time of hits for which the core waits"
    )
    cache_is_victim: ByteArray = array(
        "n_levels",
        within=FLAG,
        optional=True,
        gloss="filled by what the level before evicts; never the first level",
    )
    cache_instance: Int32Array = array("n_levels", "n_workers", gloss="that each worker uses")
    transfer_level: int = number(
        index("n_levels", none=True),
        gloss="cache level whose instances pass on what they have written, -1 for none",
    )
    transfer_latency_ps: int = number(DURATION_PS)
    transfer_rate: float = number(
        Range("transfer_level == SSK_NONE ? 0.0 : 1e-300", math.inf), gloss="bytes per ps"
    )
    displacement_rate: float = number(
        WITH_TRANSFERS, gloss="of what displaces others there, in addition; 0: at once"
    )
    upgrade_rate: float = number(
        WITH_TRANSFERS, gloss="of what others give up to be written; 0: at once"
    )
    granule_ptr: Int64Array = array(
        "n_blocks + 1",
        within=Rising("n_granules"),
        gloss="granules of each block for memory-side caches; none without such caches",
    )
    granule_frame: Int64Array = array(
        "n_granules", within=LENGTH, gloss="physical frame; its slot is ``frame % slots``"
    )
    block_bytes: Int64Array = array("n_blocks", within=BYTES)
    taken_bytes: Int64Array = array(
        "n_blocks",
        within=BYTES,
        optional=True,
        gloss="what each block takes on its node: its own bytes, or those of its class in a pool",
    )
    pooling: Pooling | None = part("pooling.", gloss="pools of blocks")
    home: Int32Array = array(
        "n_blocks", within=index("n_nodes", none=True), gloss="at the start; -1 for first touch"
    )
    touch_order: Int32Array = array("n_domains", "n_allowed", within=index("n_nodes"))
    follows: ByteArray = array(
        "n_blocks",
        within=Range("SSK_STAYS", "SSK_AT_ACCESSES"),
        optional=True,
        gloss="which accesses give a block a new home",
    )
    replica: Int32Array = array(
        "n_blocks",
        "n_replicas",
        within=index("n_nodes", none=True),
        needs="n_replicas",
        gloss="nodes that hold the block at the start besides its home; -1 for none",
    )
    node_rank: Int32Array = array(
        "n_domains",
        "n_nodes",
        within=index("n_nodes"),
        needs="n_replicas",
        gloss="how near each node is to a domain, 0 the nearest",
    )
    worker_node: Int32Array = array(
        "n_workers",
        within=index("n_nodes"),
        needs="copies_data",
        gloss="node on which each worker computes: its domain's own",
    )
    node_is_device: ByteArray = array(
        "n_nodes",
        within=FLAG,
        needs="copies_data",
        gloss="copies of the node use engines, one in each direction",
    )
    costs: RuntimeCosts = part("costs.", gloss="what the runtime charges")
    timer_period_ps: int = number(INSTANT_PS, gloss="of the policy's timer; 0 for none")
    progress_limit_ps: int = number(
        Range(1, "SSK_NEVER"), gloss="a run in which no task ends for so long is given up"
    )
    change_ps: Int64Array = array(
        "n_changes", within=INSTANT_PS, gloss="when the speed of cores changes, ascending"
    )
    change_core: ByteArray = array(
        "n_changes", "n_cores", within=FLAG, gloss="which cores each change concerns"
    )
    change_speed: FloatArray = array(
        "n_changes", within=SHARE, gloss="what is left of `worker_rate`; 0 when the cores fail"
    )
    victim_stream: np.random.PCG64 = stream("draws victims")
    wake_stream: np.random.PCG64 = stream("draws who is woken")

    def instances(self) -> dict[str, int]:
        """Return the number of pool instances of each scope."""
        return {
            "worker": self.n_workers,
            "domain": self.n_domains,
            "socket": self.n_sockets,
            "machine": 1,
            "class": self.n_classes,
        }
