"""A runtime with queues of its own as engines receive it.

See :mod:`simsched.policy.contract.runtime`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.table import (
    COUNT,
    FLAG,
    INSTANT_PS,
    NATURAL,
    Range,
    array,
    index,
    interface,
    length,
    number,
    stream,
)
from simsched.policy.contract.runtime import RULES

ByteArray = NDArray[np.uint8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]

WEIGHT = Range(0.0, 1e300)


@interface("ssk_rule_t")
class ResolvedRuntime:
    """A task runtime that keeps ready tasks in queues of its own and feeds workers from them."""

    n_members = length("members", COUNT, "0: there is none")
    n_rows = length("able", COUNT, "kinds of workers")
    rule: int = number(Range(0, len(RULES) - 1), "who gets a task: index into RULES")
    main_space: int = number(NATURAL, "memory space of the host")
    by_priority: bool = number(gloss="queues are sorted by the program's priorities")
    pipeline: int = number(Range(1, 2), "tasks that the worker of a device has at a time")
    push_ps: int = number(INSTANT_PS, "of pushing a task")
    look_ps: int = number(INSTANT_PS, "of looking after the copies of a memory")
    fetch_ps: int = number(INSTANT_PS, "of asking for a datum of a task")
    release_ps: int = number(INSTANT_PS, "of having written a datum for the last time")
    members: Int32Array = array(
        "n_members", index("n_workers"), "workers that take part, devices first"
    )
    is_device: ByteArray = array("n_workers", FLAG)
    node: Int32Array = array("n_workers", index("n_nodes"))
    row: Int32Array = array("n_workers", index("n_rows"))
    able: ByteArray = array("n_rows, n_tasks", FLAG, "what each kind of worker can execute")
    space: Int32Array = array("n_nodes", NATURAL, "memory space of each node")
    alpha: float = number(WEIGHT, "of the computation in a fitness")
    beta: float = number(WEIGHT, "of transfers in a fitness")
    data_aware: bool = number(gloss="transfers count")
    pops_ready: bool = number(gloss="workers take the task whose data they lack least")
    cost_ps: Int64Array | None = array(
        "n_rows, n_tasks", INSTANT_PS, "expected times; given for expected_ends and tree"
    )
    latency_ps: Int64Array | None = array(
        "n_nodes, n_nodes", INSTANT_PS, "of a copy from each node to each other one, as expected"
    )
    byte_ps: FloatArray | None = array("n_nodes, n_nodes", WEIGHT, "the same of each byte more")
    most_queued: int = number(NATURAL, "tasks in the queue of a worker, for the rule tree")
    weight: FloatArray | None = array("n_workers", WEIGHT, "of drawing it; for the rule drawn")
    draws: np.random.BitGenerator | None = stream("from which workers are drawn")
    in_turn: bool = number(gloss="thieves begin behind their last victim")
    victims: Int32Array | None = array(
        "n_workers, n_members",
        index("n_workers"),
        "in the order in which they are looked at; given for the rule stealing",
    )
    n_likes: int = number(NATURAL, "numbers of buckets")
    ordering_interval: int = number(NATURAL, "pushes between two orderings of buckets")
    min_samples: int = number(NATURAL, "executions before which a bucket comes first")
    max_taken: int = number(NATURAL, "tasks that a worker takes out of buckets ahead")
    like: Int32Array | None = array(
        "n_tasks",
        index("n_likes"),
        "number of the bucket, 1 for cores and 2 for devices in it; given for the rule buckets",
    )
