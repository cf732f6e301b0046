"""What a runtime expects of copies: their times, and which ones a task needs where."""

from __future__ import annotations

import numpy as np

from simsched.files.units import PS_PER_S
from simsched.machine.model import Machine
from simsched.policy.contract.base import HookView
from simsched.policy.parts.host_memory import host_nodes
from simsched.workload.graph import FloatArray, Int64Array, TaskGraph


class TransferModel:
    """Expected times of copies between memory nodes, and what copies a task needs."""

    def __init__(self, machine: Machine, slowdown: float) -> None:
        n = len(machine.nodes)
        self._latency_ps = [[0] * n for _ in range(n)]
        self._byte_ps = [[0.0] * n for _ in range(n)]
        self._copies_data = machine.copies_data
        self._is_device = [node.has_driver for node in machine.nodes]
        space = machine.node_space.tolist()
        self._main = space[host_nodes(machine)[0]]
        self._space = space
        self._together = [[n for n in range(len(space)) if space[n] == own] for own in space]
        for target, node in enumerate(machine.nodes):
            for source in range(n):
                if source == target or node.domain is None:
                    continue
                path = machine.paths[node.domain][source]
                self._latency_ps[source][target] = path.latency_ps
                per_byte_s = slowdown / path.core_cap_bytes_per_s[0]
                self._byte_ps[source][target] = per_byte_s * PS_PER_S

    def expectations(self) -> tuple[Int64Array, FloatArray]:
        """Return the latency and the time per byte from each node to each other one."""
        return np.array(self._latency_ps, np.int64), np.array(self._byte_ps, np.float64)

    def missing_bytes(
        self, view: HookView, graph: TaskGraph, task: int, node: int
    ) -> tuple[int, int, int]:
        """Return the bytes of a task's data that lack something on a node.

        Those of what it reads that are not valid there, those of them that are not expected, and
        those of all its data that have no place.
        """
        expects, has_place = view.live.expects, view.live.has_place
        size = graph.block_bytes
        missing = [b for b in read_blocks(graph, task) if not self._is_valid(view, node, b)]
        homeless: list[int] = []
        if self._copies_data and self._space[node] != self._main:
            homeless = [b for b in blocks_of(graph, task) if not has_place(node, b)]
        return (
            sum(int(size[block]) for block in missing),
            sum(int(size[block]) for block in missing if not expects(node, block)),
            sum(int(size[block]) for block in homeless),
        )

    def penalty_ps(
        self, view: HookView, graph: TaskGraph, task: int, node: int, released: set[int]
    ) -> int:
        """Return the expected time of bringing what a task reads to a node, one by one.

        What is already expected there takes no time. What has been `released` only now is not
        expected by the host yet.
        """
        if not self._copies_data:
            return 0
        holds, expects, total = view.live.holds, view.live.expects, 0
        for block in read_blocks(graph, task):
            is_unasked = block in released and not self._is_device[node]
            if self._is_valid(view, node, block) or (expects(node, block) and not is_unasked):
                continue
            size = int(graph.block_bytes[block])
            total += min(
                (
                    self._latency_ps[source][node] + round(size * self._byte_ps[source][node])
                    for source in range(len(self._latency_ps))
                    if holds(source, block)
                ),
                default=0,
            )
        return total

    def _is_valid(self, view: HookView, node: int, block: int) -> bool:
        """Return whether a block is valid in the memory space of a node."""
        return any(view.live.holds(other, block) for other in self._together[node])


def blocks_of(graph: TaskGraph, task: int) -> list[int]:
    """Return the blocks that the body of a task accesses, each once."""
    span = slice(int(graph.access_ptr[task]), int(graph.join_access[task]))
    return list(dict.fromkeys(graph.access_block[span].tolist()))


def read_blocks(graph: TaskGraph, task: int) -> list[int]:
    """Return the blocks that the body of a task reads, each once."""
    span = slice(int(graph.access_ptr[task]), int(graph.join_access[task]))
    blocks = graph.access_block[span][graph.read_bytes[span] > 0]
    return list(dict.fromkeys(blocks.tolist()))
