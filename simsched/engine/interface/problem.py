"""What stays the same during a run: machine, blocks and where they are at the start."""

from __future__ import annotations

import math
from copy import copy

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
    Range,
    Rising,
    array,
    index,
    index_or_none,
    interface,
    largest,
    length,
    number,
    of_c,
    part,
    stream,
)
from simsched.machine.model import RuntimeCosts
from simsched.policy.contract.blocks import LARGEST_CLASS

ByteArray = NDArray[np.uint8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]

WITH_TRANSFERS = Range(0.0, "transfer_level == SSK_NONE ? 0.0 : INFINITY")


@interface("ssk_paths_t")
class Paths:
    """Ways for bytes: from each domain to each node, through memory-side caches, between nodes.

    Ways with the same latency, caps and loads are one path. Flow class c is
    ``path * n_mates + (k - 1)`` for k busy threads on the module of the flow, or more if k is
    `n_mates`.
    """

    n_paths = length("latency_ps", Range(1, "(1 << 28) / n_mates"))
    n_crossings = length("resource", LENGTH, "resources on all paths")
    latency_ps: Int64Array = array("n_paths", DURATION_PS)
    share: FloatArray = array(
        "n_paths",
        Range(1e-300, 1.0),
        "bytes per ps at a level of 1: the part of what flows compete for grows with it",
    )
    cap: FloatArray = array(
        "n_paths, n_mates",
        RATE,
        "level that one thread reaches at most when k threads of its module are busy",
    )
    resource_ptr: Int32Array = array("n_paths + 1", Rising("n_crossings"))
    resource: Int32Array = array(
        "n_crossings", index("n_resources"), "resources crossed, ascending"
    )
    weight: FloatArray = array("n_crossings", FINITE_RATE, "load on each of them at a level of 1")
    access: Int32Array = array(
        "n_domains, n_nodes",
        index("n_paths"),
        "path of accesses; of misses, where the node has a memory-side cache",
    )
    hit: Int32Array = array(
        "n_domains, n_nodes",
        index_or_none("n_paths"),
        "path of hits in memory-side caches; -1 where the node has none",
    )
    write: Int32Array = array(
        "n_domains, n_nodes", index("n_paths"), "path of written bytes that `hit` does not take"
    )
    copy: Int32Array = array(
        "n_nodes, n_nodes", index("n_paths"), "path of migrations from the first to the second node"
    )


@interface("ssk_pooling_t")
class Pooling:
    """Pools of blocks with what happens at the creation and the end of each task."""

    n_tasks = length("allocate_ptr", gloss="of the iterated graph; 0: there are no pools", plus=-1)
    n_allocate = length("allocate", LENGTH)
    n_release = length("release", LENGTH)
    size_class: Int32Array = array(
        "n_blocks",
        Range("SSK_NONE", LARGEST_CLASS),
        "log2 of the bytes that the block takes; -1 for blocks of no pool",
    )
    allocate_near: Int32Array = array(
        "n_blocks",
        index_or_none("n_blocks"),
        "block on whose node the block is allocated; -1 for the node of the creator",
    )
    allocate_ptr: Int64Array = array("n_tasks + 1", Rising("n_allocate"))
    allocate: Int32Array = array(
        "n_allocate", index("n_blocks"), "blocks allocated when a task is created, ascending"
    )
    release_ptr: Int64Array = array("n_tasks + 1", Rising("n_release"))
    release: Int32Array = array(
        "n_release", index("n_blocks"), "blocks freed when a task has ended, ascending"
    )


@interface("ssk_problem_t", of_c("ssk_recorder_t", "recorder", "where trace events go"))
class Problem:
    """Everything that stays the same during a run."""

    n_smt: int = number(COUNT, "most workers on one core")
    n_mates: int = number(COUNT, "busy workers of a module beyond which none draws less")
    n_workers = length("worker_core", COUNT)
    n_cores = largest("worker_core")
    n_modules = largest("worker_module")
    n_domains = length("domain_socket", COUNT)
    n_sockets = largest("domain_socket")
    n_nodes = length("node_capacity_bytes", COUNT)
    n_node_kinds = largest("node_kind")
    n_distances = largest("domain_hops", gloss="distance classes that can occur", plus=2)
    n_resources = length(
        "resource_capacity",
        COUNT,
        "nodes, their memory-side caches, links, controllers",
    )
    n_curve = length("curve", LENGTH)
    n_blocks = length("block_bytes")
    n_granules = length("granule_frame", LENGTH)
    n_levels = length("n_cache_instances", gloss="of processor caches")
    n_caches = length("cache_latency_ps", gloss="instances of all levels")
    n_cache_slices = length("cache_slice_bytes", gloss="slices of all instances")
    n_allowed = length("touch_order", gloss="nodes in a touch order", axis=1)
    n_replicas = length("replica", gloss="most of a block", axis=1)
    n_changes = length("change_ps", gloss="of the speed of cores")
    n_classes: int = number(FEW, "task classes of the workload, each with its pool")
    n_spaces = length("space_is_device", gloss="memory spaces: nodes that the same domains use")
    copies_data: bool = number(gloss="there are several memory spaces, to which blocks are copied")

    worker_core: Int32Array = array(
        "n_workers", index("n_cores"), "numbers of the cores that carry workers"
    )
    worker_module: Int32Array = array(
        "n_workers", index("n_modules"), "whole cores that draw from memory together"
    )
    worker_domain: Int32Array = array("n_workers", index("n_domains"))
    worker_kind: Int32Array = array(
        "n_workers", NATURAL, "row of the graphs' `ops` that holds for each worker"
    )
    worker_rate: FloatArray = array(
        "n_workers, n_smt", FINITE_RATE, "operations per ps when k workers of its core are busy"
    )
    domain_hops: Int32Array = array("n_domains, n_domains", Range(0, "n_distances - 2"))
    domain_socket: Int32Array = array("n_domains", index("n_sockets"))
    resource_capacity: FloatArray = array("n_resources", RATE, "bytes per ps")
    curve_ptr: Int32Array = array("n_resources + 1", Rising("n_curve"))
    curve: FloatArray = array(
        "n_curve", FINITE_RATE, "capacity with 1, 2, ... flows; of most resources empty"
    )
    resource_gradual: ByteArray | None = array(
        "n_resources",
        FLAG,
        "saturates gradually: its capacity is the ceiling that it nears",
        optional=True,
    )
    latency_slope: FloatArray | None = array(
        "n_resources",
        Range(0.0, 1e6),
        "how latencies over it begin to grow with its load",
        optional=True,
    )
    latency_bend: FloatArray | None = array(
        "n_resources", Range(0.0, 0.999), "how much faster they do near its capacity", optional=True
    )
    paths: Paths = part("path_")
    node_capacity_bytes: Int64Array = array("n_nodes", MANY_BYTES)
    node_domain: Int32Array = array(
        "n_nodes", index_or_none("n_domains"), "-1 for a node that is local to all domains"
    )
    node_kind: Int32Array = array(
        "n_nodes", index("n_node_kinds"), "kinds of memory in the order of their first appearance"
    )
    node_slots: Int64Array = array(
        "n_nodes", Range(0, "INT64_MAX / 16"), "slots of the memory-side cache; 0 without one"
    )
    cache_slices: Int32Array = array(
        "n_levels", Range(1, "SSK_MAX_SLICES"), "of each instance of the level"
    )
    n_cache_instances: Int32Array = array(
        "n_levels", Range(1, "INT32_MAX / SSK_MAX_SLICES / (n_levels + 1)")
    )
    cache_slice_bytes: Int64Array = array(
        "n_cache_slices", MANY_BYTES, "capacities, by level, then instance, then slice"
    )
    cache_latency_ps: Int64Array = array(
        "n_caches", DURATION_PS, "of a hit, by level, then instance"
    )
    cache_rate: FloatArray = array("n_caches", RATE, "bytes per ps of a hit, likewise")
    cache_wait: FloatArray = array(
        "n_levels", SHARE, "share of the time of hits for which the core waits"
    )
    cache_is_victim: ByteArray = array(
        "n_levels",
        FLAG,
        "filled by what the level before evicts; never the first level",
        optional=True,
    )
    cache_instance: Int32Array = array("n_levels, n_workers", None, "that each worker uses")
    transfer_level: int = number(
        index_or_none("n_levels"),
        "cache level whose instances pass on what they have written, -1 for none",
    )
    transfer_latency_ps: int = number(DURATION_PS)
    transfer_rate: float = number(
        Range("transfer_level == SSK_NONE ? 0.0 : 1e-300", math.inf), "bytes per ps"
    )
    displacement_rate: float = number(
        WITH_TRANSFERS, "of what displaces others there, in addition; 0: at once"
    )
    upgrade_rate: float = number(WITH_TRANSFERS, "of what others give up to be written; 0: at once")
    granule_ptr: Int64Array = array(
        "n_blocks + 1",
        Rising("n_granules"),
        "granules of each block for memory-side caches; none without such caches",
    )
    granule_frame: Int64Array = array(
        "n_granules", LENGTH, "physical frame; its slot is ``frame % slots``"
    )
    block_bytes: Int64Array = array("n_blocks", BYTES)
    taken_bytes: Int64Array = array(
        "n_blocks",
        BYTES,
        "what each block takes on its node: its own bytes, or those of its class in a pool",
        optional=True,
    )
    pooling: Pooling | None = part("pooling.", "pools of blocks")
    home: Int32Array = array(
        "n_blocks", index_or_none("n_nodes"), "at the start; -1 for first touch"
    )
    touch_order: Int32Array = array("n_domains, n_allowed", index("n_nodes"))
    follows: ByteArray = array(
        "n_blocks",
        Range("SSK_STAYS", "SSK_AT_ACCESSES"),
        "which accesses give a block a new home",
        optional=True,
    )
    replica: Int32Array = array(
        "n_blocks, n_replicas",
        index_or_none("n_nodes"),
        "nodes that hold the block at the start besides its home; -1 for none",
        needs="n_replicas",
    )
    node_rank: Int32Array = array(
        "n_domains, n_nodes",
        index("n_nodes"),
        "how near each node is to a domain, 0 the nearest",
        needs="n_replicas",
    )
    worker_includes: ByteArray | None = array(
        "n_workers",
        FLAG,
        "operations of the worker's tasks include what their accesses take",
        optional=True,
    )
    node_space: Int32Array = array("n_nodes", index("n_spaces"), needs="copies_data")
    worker_space: Int32Array = array(
        "n_workers",
        index("n_spaces"),
        "to which blocks are copied for each worker",
        needs="copies_data",
    )
    domain_reaches: ByteArray = array(
        "n_domains, n_spaces",
        FLAG,
        "spaces whose blocks the domain's workers use in place",
        needs="copies_data",
    )
    space_is_device: ByteArray = array(
        "n_spaces",
        FLAG,
        "copies of the space use engines, one in each direction",
        needs="copies_data",
    )
    costs: RuntimeCosts = part("costs.", "what the runtime charges")
    timer_period_ps: int = number(INSTANT_PS, "of the policy's timer; 0 for none")
    progress_limit_ps: int = number(
        Range(1, "SSK_NEVER"), "a run in which no task ends for so long is given up"
    )
    change_ps: Int64Array = array(
        "n_changes", INSTANT_PS, "when the speed of cores changes, ascending"
    )
    change_core: ByteArray = array("n_changes, n_cores", FLAG, "which cores each change concerns")
    change_speed: FloatArray = array(
        "n_changes", SHARE, "what is left of `worker_rate`; 0 when the cores fail"
    )
    victim_stream: np.random.PCG64 = stream("draws victims")
    wake_stream: np.random.PCG64 = stream("draws who is woken")

    def drawing(self, **streams: np.random.PCG64) -> Problem:
        """Return the same problem for a run that draws from other streams."""
        other = copy(self)  # a check of a hundred fields that are right takes longer than a run
        vars(other).update(streams)
        return other

    def instances(self) -> dict[str, int]:
        """Return the number of pool instances of each scope."""
        return {
            "worker": self.n_workers,
            "domain": self.n_domains,
            "socket": self.n_sockets,
            "machine": 1,
            "class": self.n_classes,
        }
