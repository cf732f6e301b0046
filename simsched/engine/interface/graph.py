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
    OfC,
    Range,
    Rising,
    array,
    describe,
    index,
    length,
)
from simsched.workload.graph import TaskGraph

describe(
    TaskGraph,
    "ssk_graph_t",
    {
        "n_kinds": length("ops", within=COUNT),
        "n_tasks": length("ops", axis=1, within=COUNT),
        "n_children": length("child", within=LENGTH),
        "n_edges": length("succ", within=Range(0, "INT32_MAX - 1")),
        "n_accesses": length("access_block", within=LENGTH),
        "ops": array("n_kinds", "n_tasks", within=Range(0.0, math.inf)),
        "join_ops": array("n_kinds", "n_tasks", within=Range(0.0, math.inf)),
        "child_ptr": array("n_tasks + 1", within=Rising("n_children")),
        "child": array("n_children", within=index("n_tasks")),
        "succ_ptr": array("n_tasks + 1", within=Rising("n_edges")),
        "succ": array("n_edges", within=index("n_tasks")),
        "access_ptr": array("n_tasks + 1", within=Rising("n_accesses")),
        "join_access": array("n_tasks"),
        "access_block": array("n_accesses", within=index("n_blocks")),
        "read_bytes": array("n_accesses", within=BYTES),
        "written_bytes": array("n_accesses", within=BYTES),
        "creation_ops": array("n_tasks", within=Range(0.0, 1e300)),
        "arrival_ps": array("n_tasks", within=Range(0, "SSK_NEVER / 2")),
        "detached": array("n_tasks", within=FLAG),
        "occupancy": array("n_tasks", within=NATURAL),
        "exposure": array("n_tasks", within=SHARE),
        "priority": array("n_tasks"),
        "access_share": array("n_accesses", within=SHARE),
        "access_after": array("n_accesses", within=index("n_tasks", none=True)),
        "access_final": array("n_accesses", within=FLAG),
    },
    OfC("unchanged", "these are the arrays of the iteration before, holding the same", "int32_t"),
)
