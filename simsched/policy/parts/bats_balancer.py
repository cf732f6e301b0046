"""The traffic balancer of BATS: access bits of pages are sampled, then hot blocks migrate."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from simsched.policy.contract.base import Counters, Monitor, PlanView
from simsched.policy.parts.host_memory import host_nodes
from simsched.policy.parts.traffic import choose_moves, hotness, sample_pages
from simsched.workload.graph import Int32Array, Int64Array

PUBLISHED_SAMPLES = 4  #: pages of each block, also of blocks that have fewer


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
    """Return random pages of every block and the length of a polling loop of some threads."""
    pages = pages_of(view)
    most = max(int(pages.max(initial=1)), PUBLISHED_SAMPLES)
    sampled = sample_pages(pages, min(n_samples, most), view.rng)
    loop_ps = -(-sampled.size * view.machine.costs.hotness_sample_ps // max(n_threads, 1))
    return Monitor(max(loop_ps, 1), sampled * _page_bytes(view))


def moves(view: PlanView, counters: Counters) -> tuple[Int32Array, Int32Array]:
    """Return which blocks migrate, and where to."""
    machine = view.machine
    usable = set(host_nodes(machine))
    bandwidth = [
        node.peak_bandwidth_bytes_per_s if i in usable else 0.0
        for i, node in enumerate(machine.nodes)
    ]
    used = counters.node_used_bytes.tolist()
    room = [node.capacity_bytes - taken for node, taken in zip(machine.nodes, used, strict=True)]
    return choose_moves(
        hotness(counters.samples, pages_of(view)),
        counters.block_home,
        bandwidth,
        room,
        view.workload.graph.block_bytes,
    )


def pages_of(view: PlanView) -> Int64Array:
    """Return the number of pages of each block, at least 1."""
    return np.maximum(-(-view.workload.graph.block_bytes // _page_bytes(view)), 1)


def _page_bytes(view: PlanView) -> int:
    """Return the page size; host nodes share one."""
    return view.machine.nodes[host_nodes(view.machine)[0]].page_bytes
