"""The traffic balancer of BATS: access bits of pages are sampled, then hot blocks migrate."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from simsched.policy.contract.base import Counters, Monitor, PlanView
from simsched.policy.parts.host_memory import host_nodes
from simsched.policy.parts.placement_by_share import chunks
from simsched.policy.parts.traffic import choose_moves, hotness, sample_pages
from simsched.workload.builder import ranks
from simsched.workload.graph import Int32Array, Int64Array

PUBLISHED_SAMPLES = 4  #: pages of each area, also of areas that have fewer
NEVER = 2**62  #: offset of a page that no access touches


def monitoring_workers(worker_domain: Int32Array, n_threads: int) -> list[int]:
    """Return the workers that monitor: from the domains in turn, the last ones first, never all.

    >>> monitoring_workers(np.array([0, 0, 0, 1, 1, 1], np.int32), 3)
    [2, 5, 1]
    """
    domains = np.unique(worker_domain)
    turns = zip_longest(*(np.flatnonzero(worker_domain == d)[::-1].tolist() for d in domains))
    order = [worker for turn in turns for worker in turn if worker is not None]
    return order[: min(n_threads, len(worker_domain) - 1)]


def monitor(view: PlanView, n_samples: int, n_threads: int) -> Monitor:
    """Return random pages of every area and the length of a polling loop of some threads."""
    areas = Areas(view)
    sampled = sample_pages(areas.pages, areas.samples(n_samples), view.rng)
    loop_ps = -(-sampled.size * view.machine.costs.hotness_sample_ps // max(n_threads, 1))
    return Monitor(max(loop_ps, 1), areas.offsets(sampled * areas.page_bytes))


def moves(view: PlanView, counters: Counters, n_samples: int) -> tuple[Int32Array, Int32Array]:
    """Return which blocks migrate, and where to: those of an area together."""
    machine, areas = view.machine, Areas(view)
    usable = set(host_nodes(machine))
    bandwidth = [
        node.peak_bandwidth_bytes_per_s if i in usable else 0.0
        for i, node in enumerate(machine.nodes)
    ]
    used = counters.node_used_bytes.tolist()
    room = [node.capacity_bytes - taken for node, taken in zip(machine.nodes, used, strict=True)]
    touched = np.bincount(areas.of_block, counters.samples.sum(axis=1)).astype(np.int64)
    moved, node = choose_moves(
        hotness(touched, areas.pages, areas.samples(n_samples)),
        counters.block_home[areas.blocks[areas.starts]],
        bandwidth,
        room,
        areas.n_bytes,
    )
    of_area = areas.starts[moved], areas.counts[moved]
    blocks = areas.blocks[np.repeat(of_area[0], of_area[1]) + ranks(of_area[1])]
    return blocks.astype(np.int32), np.repeat(node, of_area[1])


class Areas:
    """What one leaf of the initialisation allocates is an area, with all its blocks side by side.

    Without an initialisation every block is an area.

    Attributes
    ----------
    of_block : ndarray of int64, shape (n_blocks,)
        Area of each block.
    blocks : ndarray of int64, shape (n_blocks,)
        Blocks by area.
    starts, counts : ndarray of int64, shape (n_areas,)
        Where the blocks of an area begin in `blocks`, and how many there are.
    n_bytes, pages : ndarray of int64, shape (n_areas,)
        Size of each area, and its pages, at least 1.
    """

    def __init__(self, view: PlanView) -> None:
        size = view.workload.graph.block_bytes
        leaf, _ = chunks(view.workload)
        _, self.of_block = np.unique(leaf, return_inverse=True)
        self.blocks = np.argsort(self.of_block, kind="stable")
        self.counts = np.bincount(self.of_block)
        self.starts = np.cumsum(self.counts) - self.counts
        self.ends = np.cumsum(size[self.blocks])
        self.begins = self.ends - size[self.blocks]
        self.n_bytes = np.bincount(self.of_block, size).astype(np.int64)
        self.page_bytes = view.machine.nodes[host_nodes(view.machine)[0]].page_bytes
        self.pages = np.maximum(-(-self.n_bytes // self.page_bytes), 1)

    def samples(self, wanted: int) -> int:
        """Return how many pages of each area are sampled."""
        return min(wanted, max(int(self.pages.max(initial=1)), PUBLISHED_SAMPLES))

    def offsets(self, sampled: Int64Array) -> Int64Array:
        """Return the offsets of sampled pages in their blocks from those in their areas.

        Parameters
        ----------
        sampled : ndarray of int64, shape (n_areas, n_samples)
            Bytes from the start of an area.

        Returns
        -------
        ndarray of int64, shape (n_blocks, largest number in a block)
            Bytes from the start of a block, NEVER where a block has fewer than others, as all do in
            areas without a byte.
        """
        where = (sampled + self.begins[self.starts][:, None])[self.n_bytes > 0].ravel()
        place = np.searchsorted(self.ends, where, side="right")
        order = np.argsort(place, kind="stable")
        counts = np.bincount(place, minlength=len(self.blocks))
        found = np.full((len(self.blocks), int(counts.max(initial=0))), NEVER)
        found[self.blocks[place[order]], ranks(counts)] = (where - self.begins[place])[order]
        return found
