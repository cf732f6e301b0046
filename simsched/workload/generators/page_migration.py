"""Threads that change their data from time to time: the benchmark of page migration.

There are T threads, N nodes and A changes of affinity; for each change there is a set of T buffers.
Buffer i of every set starts on node i mod N. After change a, thread i traverses buffer i of set a
`traversals` times, updating one word of every line; a barrier comes before each change.

* *Tasks.* A T, task (a, i) for thread i after change a, and A barriers, of which the first one
  opens the program. All tasks of a change wait for its barrier, which waits for all tasks of the
  change before.
* *Blocks.* Each buffer is divided into pieces of `piece_bytes`; block (a, piece, i) has the number
  ``(a p + piece) T + i`` with p pieces per buffer, so that blocks dealt out to N nodes in turn put
  buffer i on node i mod N if N divides T.
* *Bytes.* A traversal reads and writes its buffer in place, piece after piece.
* *Operations.* ``ops_per_line`` per line of 64 bytes: a load, an addition and a store.

Run it with a policy that keeps thread i on worker i (``pinned_threads``).

References
----------
Drebes et al., PACT 2016 (docs/sources/dataflow.md), section 6.1. The number of sets is not stated
there; one per change is taken.
"""

from __future__ import annotations

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import accesses, build_graph, check_size, edges
from simsched.workload.graph import Workload
from simsched.workload.registry import MIB, Cost, Count, Size, generator

LINE_BYTES = 64


@generator(
    "page_migration",
    small={
        "threads": 4,
        "changes": 2,
        "buffer_bytes": 8192,
        "piece_bytes": 4096,
        "traversals": 2,
    },
)
def page_migration(
    *,
    threads: Count = 64,
    changes: Count = 8,
    buffer_bytes: Size = 64 * MIB,
    piece_bytes: Size = 2 * MIB,
    traversals: Count = 10,
    ops_per_line: Cost = 3.0,
) -> Workload:
    """Threads that traverse buffers, other ones after every change of affinity.

    Parameters
    ----------
    threads : int
        Threads T, one per worker.
    changes : int
        Changes of affinity A.
    buffer_bytes, piece_bytes : int
        Size of a buffer, and of the blocks of data it is divided into, which migrate as a whole.
    traversals : int
        Traversals of a buffer between two changes (the paper's iterations I).
    ops_per_line : float
        Operations per line of 64 bytes.
    """
    if buffer_bytes % piece_bytes:
        raise ConfigurationError(
            f"workload page_migration: piece_bytes: found {piece_bytes}, accepted a divisor of "
            f"buffer_bytes = {buffer_bytes}"
        )
    pieces = buffer_bytes // piece_bytes
    check_size(
        "page_migration",
        tasks=changes * (threads + 1),
        edges=float(changes) * threads * pieces * traversals,
        data_bytes=float(changes) * threads * buffer_bytes,
    )
    n = changes * (threads + 1)
    number = np.arange(n, dtype=np.int64).reshape(changes, threads + 1)  # barrier, then threads
    barrier, work = number[:, :1], number[:, 1:]
    barriers = np.repeat(barrier, threads, axis=1)
    block = np.arange(changes * pieces * threads, dtype=np.int64).reshape(changes, pieces, threads)
    order = np.tile(block.transpose(0, 2, 1), (1, 1, traversals))  # change, thread, piece
    lines = traversals * (buffer_bytes // LINE_BYTES)
    ops = np.zeros(number.shape)
    ops[:, 1:] = lines * ops_per_line
    is_work = np.ones(number.shape, np.int64)
    is_work[:, 0] = 0
    graph = build_graph(
        ops.ravel(),
        task_class=is_work.ravel(),
        class_names=("barrier", "traverse"),
        successors=edges([(barriers, work), (work[:-1], barriers[1:])], n),
        accessed=accesses(
            np.repeat(work.ravel(), pieces * traversals),
            order.ravel(),
            piece_bytes,
            piece_bytes,
            n,
        ),
        block_bytes=np.full(block.size, piece_bytes, np.int64),
    )
    return Workload("page_migration", graph)
