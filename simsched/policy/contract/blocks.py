"""What a policy says about the memory of blocks: pools they come from, pages that move them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import PolicyError
from simsched.machine.model import Machine
from simsched.policy.contract.records import MAX_INDEX, accepts

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]

LARGEST_PAGE_BYTES, HUGE_PAGE_BYTES = 2**30, 2**21  #: of x86-64
#: Which threads are a group, whose shared pages are spread: none; those that have had a fault on a
#: page after another thread; all from the beginning.
THREAD_GROUPS = ("none", "sharing", "start")
LARGEST_ROUNDED = 21  #: log2 of the bytes of the largest blocks that are rounded up
LARGEST_CLASS = 40  #: log2 of the bytes of the largest blocks of a pool


@dataclass(frozen=True, eq=False)
class BlockPools:
    """Blocks that a runtime allocates and frees while the program runs, from pools per memory node.

    Parameters
    ----------
    size_class : ndarray of int32, shape (n_blocks,)
        log2 of the bytes that a block takes in its pool; -1 for blocks that are no pool's business
        (global arrays), which stay where they are.
    allocate_at : ndarray of int32, shape (n_blocks,)
        Task at whose creation a block is allocated (*immediate* allocation); -1 for allocation at
        the first touch (*deferred* allocation).
    free_at : ndarray of int32, shape (n_blocks,)
        Task at whose end a block goes back to a pool; -1 for never.
    allocate_near : ndarray of int32, shape (n_blocks,), optional
        For a block that is allocated at the creation of a task: the block on whose node it is
        allocated, if that has one by then; -1, the default, for the creator's node.

    Notes
    -----
    The tasks are those of the iterated graph; during the initialisation blocks are allocated by
    first touch only, and nothing is freed. Blocks of one class of one pool are interchangeable: a
    pool gives out the memory that was freed last, and memory of the system on its own node when it
    has none. Memory goes back to the pool of its node, never to the system.

    References
    ----------
    A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA: A
    Uniform Abstraction for Coordinated Scheduling and Memory Management*, PACT 2016, section 3.

    Examples
    --------
    Two blocks of 3000 bytes, allocated when task 1 is created and freed when it has ended:

    >>> one = np.array([1, 1], np.int32)
    >>> BlockPools(size_classes(np.array([3000, 3000])), one, one).size_class.tolist()
    [12, 12]
    """

    size_class: Int32Array = field(metadata=accepts(-1, LARGEST_CLASS, shape=("blocks",)))
    allocate_at: Int32Array = field(metadata=accepts(-1, of="tasks", shape=("blocks",)))
    free_at: Int32Array = field(metadata=accepts(-1, of="tasks", shape=("blocks",)))
    allocate_near: Int32Array | None = field(
        default=None, metadata=accepts(-1, of="blocks", shape=("blocks",))
    )

    @property
    def is_pooled(self) -> NDArray[np.bool_]:
        """Which blocks come from a pool; shape (n_blocks,)."""
        pooled: NDArray[np.bool_] = self.size_class >= 0
        return pooled


@dataclass(frozen=True)
class PageBalancing:
    """Pages that the operating system moves to where they are accessed (`balancenuma`).

    Parameters
    ----------
    scan_period_s : float
        Time between two scans, each of which marks all pages; the first scan is at the start of the
        run. The first access to a page after a scan faults.
    page_bytes : int
        Size of a page: 4 KiB by default, or of huge pages. A block has pages of its own. A power of
        two up to 1 GiB.
    faults_to_move : int
        How many faulting accesses in a row must come from the same domain before a block moves,
        unless it is the first one of the block at all: 1 lets every one pass, 2 is what Linux
        does against pages that two nodes share.
    thread_group : {"none", "sharing", "start"}
        Whose faults on a block after another worker's, or on one without a fault before, move it
        only to a node with fewer faults, as Linux does with the threads that share pages: nobody's,
        those of workers that have had a fault after another worker's before, or everybody's.

    Notes
    -----
    A fault costs the machine's ``page_fault``. A block whose home is on another domain moves to the
    worker's node with the access if at least half of its pages fault, there is room, and the filter
    agrees; every page costs ``page_move``, and its bytes what the machine's ``page_migration``
    says. The access waits for all of that. Blocks are the unit because a block has one home.

    Where a group decides, a block moves if ``4 F(target) < 3 F(home)``; F(n) are the faults of all
    workers on pages of node n up to the last scan, those of each earlier period counting half as
    much as those of the next one. All nodes with workers count as used by the group.

    References
    ----------
    A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA: A
    Uniform Abstraction for Coordinated Scheduling and Memory Management*, PACT 2016, section 6.
    Linux, ``kernel/sched/fair.c``, `should_numa_migrate_memory` and `task_numa_group`, which are
    the same in 3.18 and in 4.4.
    """

    scan_period_s: float = field(metadata=accepts(1e-9, 1e6))
    page_bytes: int = field(default=4096, metadata=accepts(1, LARGEST_PAGE_BYTES))
    faults_to_move: int = field(default=1, metadata=accepts(1, MAX_INDEX))
    thread_group: str = field(default="none", metadata=accepts(words=THREAD_GROUPS))


def system_pages(
    machine: Machine,
    scan_period_s: float,
    page_bytes: int,
    faults_to_move: int,
    thread_group: str,
) -> PageBalancing:
    """Return the page balancing of the operating system of a machine.

    The study has pages of 4 KiB and of 2 MiB; 1 GiB is the largest page of x86-64. Other sizes
    between are those of other processors.
    """
    own = max(node.page_bytes for node in machine.nodes)
    if page_bytes % own or page_bytes & (page_bytes - 1) or page_bytes > LARGEST_PAGE_BYTES:
        raise PolicyError(
            f"page_bytes: found {page_bytes}, accepted powers of two from {own} (a page of machine "
            f"{machine.name}) to {LARGEST_PAGE_BYTES}, such as {HUGE_PAGE_BYTES} for huge pages"
        )
    return PageBalancing(scan_period_s, page_bytes, faults_to_move, thread_group)


def size_classes(block_bytes: Int64Array, smallest: int = 6) -> Int32Array:
    """Return the class of each block: its size rounded up to a power of two.

    >>> size_classes(np.array([8, 64, 65, 400_000, 2**21, 2**21 + 1])).tolist()
    [6, 6, 7, 19, 21, -1]
    """
    powers = np.int64(1) << np.arange(smallest, LARGEST_ROUNDED + 1, dtype=np.int64)
    found = np.searchsorted(powers, block_bytes)
    return np.where(found < len(powers), found + smallest, -1).astype(np.int32)


def check_pools(
    pools: BlockPools,
    home: Int32Array,
    touch_order: Int32Array,
    block_bytes: Int64Array,
) -> None:
    """Check pools against the blocks of a workload."""
    pooled = pools.is_pooled
    if touch_order.shape[1] == 0:
        raise PolicyError("pools: found a touch order without nodes, accepted one or more")
    taken = np.int64(1) << np.maximum(pools.size_class, 0).astype(np.int64)
    for wrong, text in (
        (pooled & (taken < block_bytes), "size_class: found one smaller than the block"),
        (pooled & (home >= 0), "found a home for a block of a pool"),
        (~pooled & (pools.allocate_at >= 0), "allocate_at: found a task for a block of no pool"),
        (~pooled & (pools.free_at >= 0), "free_at: found a task for a block of no pool"),
    ):
        if wrong.any():
            raise PolicyError(f"pools: block {int(wrong.argmax())}: {text}, accepted others")
