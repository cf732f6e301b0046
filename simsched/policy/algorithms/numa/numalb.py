"""NUMALB: greedy load balancing that weighs communication by NUMA factors."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from simsched.files.units import PER_PS
from simsched.policy import (
    SEVERAL_DOMAINS,
    Counters,
    HookView,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    Pool,
    Update,
    param,
    register,
    seconds_to_ps,
)
from simsched.policy.parts.communication import block_writer, messages, numa_factors
from simsched.policy.parts.host_memory import nearest_host, room_of
from simsched.policy.parts.loop import flattened, least_of_loop
from simsched.policy.parts.static_order import own_lists
from simsched.workload.graph import FloatArray, Int32Array, Int64Array, TaskGraph, Workload


@dataclass(eq=False)
class NumalbState:
    """What the runtime has measured, and where tasks are."""

    worker_of: Int32Array  # shape (n_tasks,): present worker of each task
    #: shape (n_tasks,): when each task last became ready, and how long it then took
    ready_ps: Int64Array
    duration_ps: Int64Array
    last_end_ps: Int64Array  # shape (n_workers,): when each worker last ended a task


@register("numalb")
@dataclass(frozen=True, kw_only=True)
class Numalb(PlacedPolicy[NumalbState]):
    """Periodic greedy balancing of tasks over cores by load and NUMA-weighted communication.

    Parameters
    ----------
    period_iterations : int
        Iterations between two balancing steps.
    s_per_message : float
        Weight of communication: seconds of load that one message stands for.
    migrate_data : bool
        Whether the blocks that a task writes move with it to the memory of its new socket.
    choice_s_per_pair : float
        Time in seconds that the balancer takes for each pair of task and worker.

    Notes
    -----
    At a balancing step all tasks are given back, the longest one first, each to the worker p with
    the least ``load(p) + s_per_message (sum over receivers u on other sockets of messages from t to
    u, times F(socket of u, socket of p), - messages from t to the socket of p)``; F is the NUMA
    factor. Readings: docs/sources/laws.md.

    References
    ----------
    L. L. Pilla et al., *Improving parallel system performance with a NUMA-aware load balancer*,
    INRIA-Illinois Joint Laboratory, TR-JLPC-11-02, 2011. Q. Chen, M. Guo, Springer 2017, section
    4.3.6.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    period_iterations: int = param(10, low=1)
    s_per_message: float = param(1e-6, low=0.0, high=1e6)
    migrate_data: bool = param(True)
    choice_s_per_pair: float = param(1e-8, low=0.0, high=1e6, is_cost=True)

    least = staticmethod(least_of_loop)

    def prepare(self, view: PlanView) -> Workload:
        return flattened(view.workload)

    def start(self, view: PlanView) -> NumalbState:
        worker_of = contiguous_parts(view.workload.graph.n_tasks, view.n_workers)
        none = np.zeros(len(worker_of), np.int64)
        return NumalbState(worker_of, none, none.copy(), np.zeros(view.n_workers, np.int64))

    def plan(self, view: PlanView, state: NumalbState, graph: TaskGraph) -> Plan:
        """Return the lists of the workers, contiguous parts for the initialisation."""
        if graph is view.workload.init:
            return own_lists(contiguous_parts(graph.n_tasks, view.n_workers))
        return own_lists(state.worker_of)

    def on_ready(self, view: HookView, state: NumalbState, task: int, worker: int) -> Pool | None:
        if task < len(state.ready_ps):
            state.ready_ps[task] = view.live.now_ps()
        return None

    def on_finish(self, view: HookView, state: NumalbState, task: int, worker: int) -> None:
        now = view.live.now_ps()
        if task < len(state.duration_ps):
            begin = max(int(state.ready_ps[task]), int(state.last_end_ps[worker]))
            state.duration_ps[task] = now - begin
        state.last_end_ps[worker] = now

    def on_iteration(self, view: PlanView, state: NumalbState, counters: Counters) -> Update | None:
        if counters.iteration == 0 or counters.iteration % self.period_iterations:
            return None
        graph = view.workload.graph
        before = state.worker_of
        state.worker_of = balance(
            state.duration_ps.astype(np.float64) * PER_PS,
            before,
            view.worker_domain,
            messages(graph),
            numa_factors(view.machine),
            self.s_per_message,
        )
        moves = self._moves(view, state, counters, before)
        return Update(
            plan=own_lists(state.worker_of),
            move_block=moves[0],
            move_node=moves[1],
            migrating_workers=view.n_workers,
            overhead_ps=seconds_to_ps(self.choice_s_per_pair * graph.n_tasks * view.n_workers),
        )

    def _moves(
        self, view: PlanView, state: NumalbState, counters: Counters, before: Int32Array
    ) -> tuple[Int32Array, Int32Array]:
        """Return the blocks of tasks that have changed sockets, and the nodes of these."""
        none = np.empty(0, np.int32)
        if not self.migrate_data:
            return none, none
        domain = view.worker_domain
        writer = block_writer(view.workload.graph)
        moved = domain[before] != domain[state.worker_of]
        blocks = np.flatnonzero((writer >= 0) & moved[writer] & (counters.block_home >= 0))
        machine = view.machine
        nearest = np.array([nearest_host(machine, d) for d in range(machine.n_domains)], np.int32)
        nodes = nearest[domain[state.worker_of[writer[blocks]]]]
        room = room_of(machine) - counters.node_used_bytes
        fits = np.zeros(len(blocks), bool)
        size = view.workload.graph.block_bytes[blocks]
        for node in np.unique(nodes).tolist():
            here = nodes == node
            fits[here] = np.cumsum(size[here]) <= room[node]
        return blocks[fits].astype(np.int32), nodes[fits]


def balance(
    duration_s: FloatArray,
    worker_of: Int32Array,
    worker_domain: Int32Array,
    sent: scipy.sparse.csr_array,
    factor: FloatArray,
    s_per_message: float,
) -> Int32Array:
    """Return the worker of each task after one balancing step.

    All workers of a socket have the same communication term, so that only the least loaded one of
    each socket is compared.
    """
    domains = np.unique(worker_domain)
    idle = {d: [(0.0, w) for w in np.flatnonzero(worker_domain == d).tolist()] for d in domains}
    present = worker_domain[worker_of].astype(np.int64)
    result = worker_of.copy()
    penalty = np.where(np.eye(len(factor), dtype=bool), -1.0, factor)
    for task in np.lexsort((np.arange(len(duration_s)), -duration_s)).tolist():
        entries = slice(sent.indptr[task], sent.indptr[task + 1])
        receiver = present[sent.indices[entries]]
        count = np.bincount(receiver, weights=sent.data[entries], minlength=len(factor))
        communication = s_per_message * (count @ penalty)
        domain = min(
            domains, key=lambda d: (idle[d][0][0] + float(communication[d]), idle[d][0][1])
        )
        load, worker = idle[domain][0]
        heapq.heapreplace(idle[domain], (load + float(duration_s[task]), worker))
        result[task] = worker
        present[task] = domain
    return result


def contiguous_parts(n_tasks: int, n_workers: int) -> Int32Array:
    """Return the worker of each task when all get parts of about the same number of tasks.

    >>> contiguous_parts(5, 2)
    array([0, 0, 0, 1, 1], dtype=int32)
    """
    return (np.arange(n_tasks) * n_workers // n_tasks).astype(np.int32)
