"""What kernels read of a task graph; its class is in the room of workloads."""

from __future__ import annotations

import math

from simsched.engine.interface.table import (
    BYTES,
    COUNT,
    FLAG,
    LENGTH,
    NATURAL,
    SHARE,
    Range,
    Rising,
    array,
    describe,
    index,
    index_or_none,
    length,
    of_c,
)
from simsched.names.docstrings import parameter_texts
from simsched.workload.graph import TaskGraph

describe(
    TaskGraph,
    "ssk_graph_t",
    {
        "n_kinds": length("ops", COUNT),
        "n_tasks": length("ops", COUNT, axis=1),
        "n_children": length("child", LENGTH),
        "n_edges": length("succ", Range(0, "INT32_MAX - 1")),
        "n_accesses": length("access_block", LENGTH),
        "ops": array("n_kinds, n_tasks", Range(0.0, math.inf)),
        "join_ops": array("n_kinds, n_tasks", Range(0.0, math.inf)),
        "child_ptr": array("n_tasks + 1", Rising("n_children")),
        "child": array("n_children", index("n_tasks")),
        "succ_ptr": array("n_tasks + 1", Rising("n_edges")),
        "succ": array("n_edges", index("n_tasks")),
        "access_ptr": array("n_tasks + 1", Rising("n_accesses")),
        "join_access": array("n_tasks"),
        "access_block": array("n_accesses", index("n_blocks")),
        "read_bytes": array("n_accesses", BYTES),
        "written_bytes": array("n_accesses", BYTES),
        "creation_ops": array("n_tasks", Range(0.0, 1e300)),
        "arrival_ps": array("n_tasks", Range(0, "SSK_NEVER / 2")),
        "detached": array("n_tasks", FLAG),
        "occupancy": array("n_tasks", NATURAL),
        "synchronous": array("n_tasks", FLAG),
        "exposure": array("n_tasks", SHARE),
        "priority": array("n_tasks"),
        "access_share": array("n_accesses", SHARE),
        "access_after": array("n_accesses", index_or_none("n_tasks")),
        "access_final": array("n_accesses", FLAG),
    },
    of_c("int32_t", "unchanged", "these are the arrays of the iteration before, holding the same"),
    texts=parameter_texts(TaskGraph),
)
