"""Graphs of recordings in the time that their tasks took, on any machine."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.files.units import PER_PS, PS_PER_S
from simsched.hardware.pricing import price, without_accesses
from simsched.hardware.timeline import Timeline
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy.algorithms.static.recorded import Recorded
from simsched.trace.recording import Recording
from simsched.workload.builder import adjacency
from simsched.workload.graph import FloatArray, Int64Array, TaskGraph, Workload

#: Of machines made for a recording: one operation is one picosecond, so that times stay exact.
EXACT_OPS_PER_S = float(PS_PER_S)
TRANSFER = "transfer"


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is simulated in place of a recorded run."""

    #: The graph in operations of the machine; transfers are tasks after those of the recording.
    workload: Workload
    #: Worker of each transfer, from 0, beyond those of the recording.
    slots: tuple[int, ...] = ()
    #: What the operations come from, as sentences.
    used: list[str] = field(default_factory=list)

    @property
    def n_slots(self) -> int:
        """Workers that transfers need."""
        return max(self.slots, default=-1) + 1


def plain_machine(n_workers: int) -> Machine:
    """Return a machine with nothing but cores, on which the runtime costs nothing."""
    return make_machine(
        name="plain", domains=1, cores_per_domain=n_workers, ops_per_s=EXACT_OPS_PER_S
    )


def prepare(
    recording: Recording, workload: Workload, timeline: Timeline, machine: Machine, *, own: bool
) -> Prepared:
    """Return the recorded graph in operations of a machine.

    `own` says whether every task will run on the worker that ran it in the record.

    How long tasks take comes, in this order, from the events (every task has a start and an end and
    spawns nothing; `own`, or the graph states no speed), from the speed that the graph states
    (``reference_speed``), from the machine's kernels.
    In the first two cases accesses and initialisation are dropped.
    """
    graph = workload.graph
    speed = stated_speed(workload)
    flat = len(graph.child) == 0 and workload.iterations == 1
    if flat and timeline.placed.all() and (own or speed is None):
        took_ps = timeline.took_ps.astype(np.float64)
        rows = np.tile(took_ps, (len(machine.kinds), 1))
        timed = replace(graph, ops=rows, join_ops=np.zeros_like(rows), kinds=machine.kinds)
        used = [
            "Duration of each task: end minus start in the record, less that of tasks inside it."
        ]
    elif speed is not None:
        timed = _scaled(graph, PS_PER_S / speed, PS_PER_S / speed)
        # On the kinds that cannot run a task its work is infinite.
        total = float((timed.ops + timed.join_ops).min(axis=0).sum()) * PER_PS
        text = "Work of each task, before and after it waits: from the record"
        used = [f"{text} ({total:.4g} s in all)."]
        if timed.creation_ops.any():
            total = float(timed.creation_ops.sum()) * PER_PS
            used.append(
                f"Creation of each task: what its parent paid for it in the record "
                f"({total:.4g} s in all)."
            )
    elif machine.kernels:
        sentence = f"Duration of each task: its operations at the kernels of {machine.name}."
        return Prepared(price(workload, machine), used=[sentence, *_access_sentences(graph, True)])
    else:
        raise ConfigurationError(
            f"{recording.name}: nothing says how long the operations of its graph take; accepted: "
            "reference_speed in the graph's parameters, a start and an end of every task of a "
            "graph without spawns that runs once, or a machine with kernels for its classes"
        )
    timed = without_accesses(_at_speed_of(timed, machine))
    timed = replace(timed, block_bytes=graph.block_bytes[:0], alternate_block=None)
    used += _access_sentences(graph, False)
    if workload.init is not None:
        used.append("Initialisation: not simulated, nor part of the measured makespan.")
    prepared = Prepared(replace(workload, graph=timed, init=None), used=used)
    messages = recording.details.get("transfers", [])
    return _with_transfers(prepared, messages, machine) if own and messages else prepared


def stated_speed(workload: Workload) -> float | None:
    """Return the operations per second at which the graph's operations take what was measured."""
    stated = workload.parameters.get("reference_speed")
    return float(stated) if isinstance(stated, int | float) and stated > 0 else None


def schedule(timeline: Timeline, slots: tuple[int, ...], *, overtake: bool) -> Recorded:
    """Return the policy that repeats who ran what after what.

    `slots` are the workers of the transfers that follow the tasks, from 0.

    A task has to wait for the last one on its worker that had ended when it started; both are told
    by the order of the events, so that tasks of no length keep theirs. Transfers wait for nothing
    but the tasks before them and a free slot.
    """
    n_tasks, n_workers = len(timeline.worker), len(timeline.busy_ps)
    after = np.full(n_tasks, -1, dtype=np.int64)
    for worker in range(n_workers):
        own = np.flatnonzero(timeline.worker == worker)
        by_end = own[np.argsort(timeline.end_event[own])]
        ended = np.searchsorted(timeline.end_event[by_end], timeline.start_event[own])
        after[own[ended > 0]] = by_end[ended[ended > 0] - 1]
    return Recorded(
        worker=(*timeline.worker.tolist(), *(n_workers + slot for slot in slots)),
        after=(*after.tolist(), *(-1 for _ in slots)),
        overtake=overtake,
    )


def _scaled(graph: TaskGraph, factor: float | FloatArray, creation_factor: float) -> TaskGraph:
    """Return a graph in another unit of work."""
    return replace(
        graph,
        ops=graph.ops * factor,
        join_ops=graph.join_ops * factor,
        creation_ops=graph.creation_ops * creation_factor,
    )


def _at_speed_of(graph: TaskGraph, machine: Machine) -> TaskGraph:
    """Return a graph in picoseconds as one in operations of the first core group of each kind."""
    speeds: dict[str, float] = {}
    for group in machine.core_groups:
        speeds.setdefault(group.kind, group.ops_per_s * PER_PS)
    factor = np.array([[speeds.get(kind, 1.0)] for kind in graph.kinds])
    return _scaled(graph, factor, machine.core_groups[0].ops_per_s * PER_PS)


def _access_sentences(graph: TaskGraph, kept: bool) -> list[str]:
    """Say what becomes of the accesses, if there are any."""
    if not graph.n_accesses:
        return []
    if kept:
        return ["Accesses of the tasks: simulated on the memory of the machine."]
    return [
        "Accesses of the tasks: not simulated, the time that they took is in that of the tasks."
    ]


def _with_transfers(
    prepared: Prepared, messages: list[dict[str, Any]], machine: Machine
) -> Prepared:
    """Return the graph with a task for each message between nodes."""
    workload = prepared.workload
    graph = workload.graph.with_classes((*workload.graph.class_names, TRANSFER))
    n_old, n_new = graph.n_tasks, len(messages)
    begin = np.array([each["start_ps"] for each in messages], np.int64)
    end = np.array([each["end_ps"] for each in messages], np.int64)
    first = [task for each in messages for task in each["after"]]
    second = [task for each in messages for task in each["before"]]
    into = np.repeat(np.arange(n_new) + n_old, [len(each["after"]) for each in messages])
    out_of = np.repeat(np.arange(n_new) + n_old, [len(each["before"]) for each in messages])
    own_edges = np.repeat(np.arange(n_old), np.diff(graph.succ_ptr))
    succ_ptr, succ = adjacency(
        np.concatenate([own_edges, np.array(first, np.int64), out_of]),
        np.concatenate([graph.succ.astype(np.int64), into, np.array(second, np.int64)]),
        n_old + n_new,
    )
    alone = np.array([not each["after"] for each in messages], dtype=bool)
    rate = machine.core_groups[0].ops_per_s * PER_PS
    ops = np.tile((end - begin) * rate, (len(graph.kinds), 1))
    longer = replace(
        graph,
        ops=np.hstack([graph.ops, ops]),
        join_ops=np.hstack([graph.join_ops, np.zeros_like(ops)]),
        task_class=np.append(graph.task_class, [len(graph.class_names) - 1] * n_new).astype(
            np.int32
        ),
        child_ptr=np.append(graph.child_ptr, np.full(n_new, len(graph.child), np.int64)),
        succ_ptr=succ_ptr,
        succ=succ,
        access_ptr=np.zeros(n_old + n_new + 1, np.int64),
        join_access=np.zeros(n_old + n_new, np.int64),
        creation_ops=np.append(graph.creation_ops, np.zeros(n_new)),
        priority=None
        if graph.priority is None
        else np.append(graph.priority, np.zeros(n_new, np.int32)),
        # One that follows no task is sent when it was sent.
        arrival_ps=np.append(graph.arrival_ps, np.where(alone, begin, 0)),
    )
    n_bytes = sum(int(each["bytes"]) for each in messages)
    sentence = (
        f"Messages between nodes: {n_new} ({n_bytes / 1e6:.4g} MB), each as long as in the record, "
        "begun when the tasks before it have ended; they do not slow each other down any further."
    )
    return Prepared(replace(workload, graph=longer), _slots(begin, end), [*prepared.used, sentence])


def _slots(begin_ps: Int64Array, end_ps: Int64Array) -> tuple[int, ...]:
    """Return a slot for each transfer, so that none has two at a time in the record.

    Of free slots the one that has been free for the longest time is taken: where the simulation
    shifts transfers, they seldom meet.
    """
    slots = [0] * len(begin_ps)
    busy: list[tuple[int, int]] = []  # (end, slot)
    count = 0
    for index in np.lexsort((end_ps, begin_ps)).tolist():
        if busy and busy[0][0] <= begin_ps[index]:
            slots[index] = heapq.heappop(busy)[1]
        else:
            slots[index] = count
            count += 1
        heapq.heappush(busy, (int(end_ps[index]), slots[index]))
    return tuple(slots)
