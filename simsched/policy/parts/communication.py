"""What the tasks of a program exchange, and how much farther other sockets' memory is."""

from __future__ import annotations

import numpy as np
import scipy

from simsched.machine.model import Machine
from simsched.workload.graph import FloatArray, Int64Array, TaskGraph


def messages(graph: TaskGraph) -> scipy.sparse.csr_array:
    """Return the messages that each task sends to each other one; shape (n_tasks, n_tasks).

    One for each edge, and one for each block that it writes and the other one touches; of several
    writers of a block the first counts.
    """
    n = graph.n_tasks
    source = np.repeat(np.arange(n), np.diff(graph.succ_ptr))
    task = np.repeat(np.arange(n), np.diff(graph.access_ptr))
    writer = block_writer(graph)[graph.access_block]
    foreign = (writer >= 0) & (writer != task)
    row = np.concatenate([source, writer[foreign]])
    column = np.concatenate([graph.succ.astype(np.int64), task[foreign]])
    return scipy.sparse.csr_array((np.ones(len(row)), (row, column)), shape=(n, n))


def block_writer(graph: TaskGraph) -> Int64Array:
    """Return the first task that writes each block, -1 for none; shape (n_blocks,)."""
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    writes = graph.written_bytes > 0
    first = np.full(graph.n_blocks, graph.n_tasks, np.int64)
    np.minimum.at(first, graph.access_block[writes], task[writes])
    return np.where(first < graph.n_tasks, first, -1)


def numa_factors(machine: Machine) -> FloatArray:
    """Return the latency of reads from each domain's node by that of the reader's own node."""
    node = machine.touch_order[:, 0]
    latency = np.array(
        [[machine.paths[d][n].latency_ps for n in node.tolist()] for d in range(machine.n_domains)],
        dtype=np.float64,
    )
    own = np.diag(latency)[:, None]
    factors: FloatArray = np.where(own > 0, latency / np.where(own > 0, own, 1.0), 1.0)
    return factors
