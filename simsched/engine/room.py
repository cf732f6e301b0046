"""Why a block finds no room, in the same words from both backends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Problem
from simsched.files.units import format_size


def no_room_message(
    problem: Problem, block: int, n_bytes: int, domain: int, used_bytes: NDArray[np.int64]
) -> str:
    """Return the message for a block that a worker of a domain finds no room for.

    It says what is wanted, in use and there in all, and what helps.
    """
    nodes = np.unique(problem.touch_order[domain])
    which = f"node {nodes[0]}" if len(nodes) == 1 else f"nodes {', '.join(map(str, nodes))}"
    used = format_size(int(used_bytes[nodes].sum()))
    capacity = format_size(int(problem.node_capacity_bytes[nodes].sum()))
    return (
        f"memory: block {block} of {n_bytes} bytes finds no room on the nodes that domain {domain} "
        f"may touch: {used} of the {capacity} of {which} are in use; what helps: a smaller "
        "workload, a machine with more memory, or a policy that takes more nodes, or memory later"
    )


def too_large_message(problem: Problem, n_bytes: int, space: int) -> str:
    """Say that the blocks of one task do not fit together into a memory space."""
    nodes = np.flatnonzero(problem.node_space == space)
    capacity = sum(problem.node_capacity_bytes[nodes].tolist())
    listed = ", ".join(map(str, nodes.tolist()))
    what = f"node{'s' if len(nodes) > 1 else ''} {listed}"
    return (
        f"memory: the blocks of one task have {n_bytes} bytes, accepted at most {capacity}, "
        f"the capacity of {what}"
    )
