"""Why workers were idle: every picosecond of their idle time has one cause.

What a worker lacks while it is parked follows from what the pools hold of the tasks that its kind
of processor can run (:class:`~simsched.analysis.supply.Supply`). A worker that waits inside a task
for the end of another one, one that has failed, and one that executes nothing in a whole iteration
have causes of their own.

Only the trace tells; a worker that still pays for something when the run ends, or when it fails, is
not idle, though its counters hold the whole payment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.supply import (
    ARRIVALS,
    BETWEEN,
    DEPENDENCIES,
    ON_ITS_WAY,
    TAIL,
    UNFOLDING,
    Supply,
    rows_of,
)
from simsched.files.units import PER_PS
from simsched.policy.contract.plan import PoolGroup
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Loss, Trace

IntArray = NDArray[np.int64]
Key = tuple[str, str]
Lacks = dict[Key, list[tuple["_Spans", int]]]

KEPT, NOT_GIVEN, AWAITING, FAILED = "kept", "none given", "awaiting", "failed"
#: What each cause means, in the order of tables.
CAUSES = {
    DEPENDENCIES: "no task is ready; the next one is when another task ends",
    UNFOLDING: "no task is ready; the next one is when a worker has created it",
    ARRIVALS: "no task is ready; the next one arrives later",
    KEPT: "tasks are ready, in pools from which the policy lets this worker take nothing now",
    ON_ITS_WAY: "no task is ready; who makes the next one so still pays for a probe, a lock or a "
    "steal, waits for copies of data, or the task is sent between pools",
    TAIL: "no task of the iteration is left to be taken",
    NOT_GIVEN: "the worker executes nothing in this iteration",
    AWAITING: "the worker waits inside a task for the end of another one",
    FAILED: "the worker has failed",
    BETWEEN: "barrier, the policy's work, waiting for migrations of others",
}

#: Whose pools are: of others, and of those that are near.
_WHOSE = {
    "worker": ("of other domains", "of its domain"),
    "domain": ("of other domains", "of its domain"),
    "socket": ("of other sockets", "of its socket"),
    "machine": ("of the machine", "of the machine"),
    "class": ("of task classes", "of task classes"),
}

_PARKED, _AWAITS, _HAS_FAILED, _MARK = 1, 2, 3, -1
_STATES = {
    EventKind.PARK: _PARKED,
    EventKind.MIGRATE_END: _PARKED,  # or it looks for work in the same instant
    EventKind.TASK_AWAIT: _AWAITS,
    EventKind.FAILURE: _HAS_FAILED,
}
_BUSY = (
    EventKind.ACQUIRE,
    EventKind.DUPLICATE,
    EventKind.TASK_START,
    EventKind.TASK_RESUME,
    EventKind.PREEMPT,
    EventKind.KILL,
    EventKind.MIGRATE_START,
)
_TAKING = (EventKind.ACQUIRE, EventKind.DUPLICATE, EventKind.TASK_START, EventKind.TASK_RESUME)


@dataclass(frozen=True, eq=False)
class IdleCauses:
    """The idle time of every worker of a run by cause, in picoseconds."""

    #: By cause and detail, each of shape (n_workers,). The detail of `kept` is which pools, and
    #: whose; of `on its way` what takes so long; of `none given` what other workers lack then.
    ps: dict[Key, IntArray]
    #: Idle time of each worker: the sum of all.
    idle_ps: IntArray
    #: Workers that execute nothing in each iteration; shape (n_iterations,).
    not_given: IntArray

    def mean_s(self) -> dict[Key, float]:
        """Return the seconds of the mean worker by cause and detail."""
        return {key: float(time.mean()) * PER_PS for key, time in self.ps.items()}

    def by_cause(self) -> dict[str, IntArray]:
        """Return the time of every worker by cause, those that occur, in a fixed order."""
        found = dict.fromkeys(CAUSES, np.zeros(len(self.idle_ps), np.int64))
        for (cause, _), time in self.ps.items():
            found[cause] = found[cause] + time
        return {cause: time for cause, time in found.items() if time.any()}


class _Spans:
    """Spans of time that do not overlap, ascending."""

    def __init__(self, begin_ps: IntArray, end_ps: IntArray) -> None:
        self.begin_ps, self.end_ps = begin_ps, end_ps

    @cached_property
    def _sum(self) -> IntArray:
        return np.append(0, np.cumsum(self.end_ps - self.begin_ps))

    @property
    def whole_ps(self) -> int:
        """Their length together."""
        return int(self._sum[-1])

    def _before(self, time: IntArray) -> IntArray:
        """Return how much of them lies before times."""
        place = np.searchsorted(self.begin_ps, time, side="right") - 1
        at = np.maximum(place, 0)
        inside = np.minimum(time, self.end_ps[at]) - self.begin_ps[at]
        found: IntArray = np.where(place < 0, 0, self._sum[at] + inside)
        return found

    def shared_ps(self, other: _Spans) -> int:
        """Return the length of what lies in both."""
        few, many = sorted((self, other), key=lambda spans: len(spans.begin_ps))
        if not len(few.begin_ps):
            return 0
        return int((many._before(few.end_ps) - many._before(few.begin_ps)).sum())


@dataclass(frozen=True, eq=False)
class IdleSpans:
    """Spans of idle time, by worker, then by time."""

    worker: IntArray
    begin_ps: IntArray
    end_ps: IntArray
    state: IntArray
    #: Place of the iteration in or after which it lies.
    iteration: IntArray

    def of(self, rows: slice) -> IdleSpans:
        """Return some of them."""
        return IdleSpans(**{name: column[rows] for name, column in vars(self).items()})

    def spans(self, chosen: NDArray[np.bool_]) -> _Spans:
        """Return the spans of one worker that are chosen."""
        return _Spans(self.begin_ps[chosen], self.end_ps[chosen])


def idle_causes(run: Run) -> IdleCauses:
    """Return why the workers of a run were idle.

    Parameters
    ----------
    run : Run
        A run with its event trace.

    Returns
    -------
    IdleCauses
        Causes that add up to the idle time of each worker.

    Raises
    ------
    ValueError
        The run has no trace.
    """
    trace, machine = run.trace, run.machine
    if trace is None:
        raise ValueError("run: found no event trace, accepted: a run with events=True")
    n_workers = len(run.worker_thread)
    domain = machine.thread_domain[run.worker_thread]
    nodes = range(len(machine.nodes))
    in_place = np.array([[machine.uses_in_place(d, n) for n in nodes] for d in domain.tolist()])
    supply = Supply(trace, run.graph_of, in_place)
    idle, given = idle_spans(trace, n_workers, run.summary.makespan_ps)
    borders = np.searchsorted(idle.worker, np.arange(n_workers + 1))
    core_kind = np.array([group.kind for group in machine.core_groups])[machine.core_group]
    kinds = core_kind[machine.thread_core[run.worker_thread]]
    found: dict[Key, IntArray] = {}
    for kind in dict.fromkeys(kinds.tolist()):
        lacks = _Lacks(run, supply, _runnable(run, supply, kind))
        for worker in np.flatnonzero(kinds == kind).tolist():
            own = idle.of(slice(borders[worker], borders[worker + 1]))
            for key, time in _of_worker(own, given[:, worker], lacks.of(worker)):
                found.setdefault(key, np.zeros(n_workers, np.int64))[worker] += time
    length = np.zeros(n_workers, np.int64)
    np.add.at(length, idle.worker, idle.end_ps - idle.begin_ps)
    found = {key: time for key, time in found.items() if time.any()}
    return IdleCauses(found, length, (~given).sum(axis=1))


def _of_worker(
    idle: IdleSpans, given: NDArray[np.bool_], lacks: Lacks
) -> Iterator[tuple[Key, int]]:
    """Yield the causes of a worker's idle time with the time of each, several times perhaps."""
    parked = idle.state == _PARKED
    has_task = given[idle.iteration]
    between = lacks[BETWEEN, ""][0][0]
    for state, cause in ((_AWAITS, AWAITING), (_HAS_FAILED, FAILED)):
        spans = idle.spans(idle.state == state)
        outside = spans.shared_ps(between)
        yield (BETWEEN, ""), outside
        yield (cause, ""), spans.whole_ps - outside
    for chosen, was_given in ((parked & has_task, True), (parked & ~has_task, False)):
        spans = idle.spans(chosen)
        if not spans.whole_ps:
            continue
        for key, parts in lacks.items():
            time = sum(sign * spans.shared_ps(part) for part, sign in parts)
            yield (key if was_given or key[0] == BETWEEN else (NOT_GIVEN, _said(key))), time


def _said(key: Key) -> str:
    return ": ".join(filter(None, key))


def idle_spans(
    trace: Trace, n_workers: int, makespan_ps: int
) -> tuple[IdleSpans, NDArray[np.bool_]]:
    """Return when workers were idle, and which got something to execute in which iteration.

    The latter has shape (n_iterations, n_workers).
    """
    events = trace.events
    starts = rows_of(trace, EventKind.ITERATION_START)
    awaits = len(rows_of(trace, EventKind.TASK_AWAIT)) > 0
    rows = rows_of(trace, *_STATES, *_BUSY, *((EventKind.ACCESS,) if awaits else ()))
    rows = rows[events["worker"][rows] >= 0]
    preempted = rows[events["kind"][rows] == EventKind.PREEMPT]
    taken = preempted[events["arg1"][preempted] >= 0]  # seen from who takes the task
    kind, arg0 = events["kind"][rows], events["arg0"][rows]
    state = np.zeros(len(EventKind), np.int64)
    state[list(_STATES)] = list(_STATES.values())
    code = state[kind]
    code[(kind == EventKind.KILL) & (arg0 == Loss.FAILED)] = _HAS_FAILED
    got = rows[np.isin(kind, _TAKING)]
    given = np.zeros((len(starts), n_workers), bool)
    for row, worker in ((got, events["worker"][got]), (taken, events["arg1"][taken])):
        given[np.searchsorted(starts, row, side="right") - 1, worker] = True
    every = np.arange(n_workers)
    row = np.concatenate([np.repeat(starts, n_workers), rows, taken])
    worker = np.concatenate(
        [np.tile(every, len(starts)), events["worker"][rows], events["arg1"][taken]]
    )
    code = np.concatenate(
        [np.full(len(starts) * n_workers, _MARK), code, np.zeros(len(taken), int)]
    )
    order = np.lexsort((row, worker))
    row, worker, code = row[order], worker[order].astype(np.int64), code[order]
    place = np.arange(len(row))
    last = np.maximum.accumulate(np.where(code == _MARK, -1, place))
    known = last >= np.searchsorted(worker, worker)  # else it has been parked from the start on
    code = np.where(known, code[last], _PARKED)
    time = events["time_ps"][row].astype(np.int64)
    end = np.append(time[1:], makespan_ps)
    end[np.append(worker[1:] != worker[:-1], True)] = makespan_ps
    chosen = (code != 0) & (end > time)
    iteration = np.searchsorted(starts, row[chosen], side="right") - 1
    return IdleSpans(worker[chosen], time[chosen], end[chosen], code[chosen], iteration), given


def _runnable(run: Run, supply: Supply, kind: str) -> NDArray[np.bool_]:
    """Return which stays in pools are of tasks that a kind of processor can run."""
    stays = supply.stays
    found = np.ones(len(stays.first), bool)
    for graph, chosen in (
        (run.workload.graph, stays.iteration > 0),
        (run.workload.init, stays.iteration == 0),
    ):
        if graph is not None and kind in graph.kinds:
            ops = graph.ops[graph.kinds.index(kind)]
            found[chosen] = np.isfinite(ops)[stays.task[chosen]]
    return found


class _Lacks:
    """What the workers of one kind of processors lack when they are parked."""

    def __init__(self, run: Run, supply: Supply, runs: NDArray[np.bool_]) -> None:
        machine = run.machine
        self._groups, group_of = _numbered(run.pool_groups)
        self._domain = machine.thread_domain[run.worker_thread]
        self._socket = machine.domain_socket
        pieces = supply.pieces(runs)
        n = len(supply.LACKS)
        spans = partial(_spans_by, pieces.begin_ps, pieces.end_ps)
        self._lacks = {supply.LACKS[i]: each for i, each in spans(pieces.number, range(n)).items()}
        held = np.flatnonzero(pieces.number >= n)
        stay = pieces.number[held] - n
        place, instance = supply.iteration[stay], supply.stays.instance[stay]
        group = group_of[place, supply.stays.group[stay]]
        area, own = instance.copy(), np.zeros(len(held), bool)
        for number, each in enumerate(self._groups):
            chosen = group == number
            if each.scope == "worker":
                area[chosen], own[chosen] = self._domain[instance[chosen]], True
            elif each.scope in ("machine", "class"):
                area[chosen] = 0
        key = np.full(len(pieces.number), -1)
        key[held] = (group << 32) + area
        self._pools = spans(key)
        key[held] = np.where(own, (group << 32) + instance, -1)
        self._own = spans(key)

    def of(self, worker: int) -> Lacks:
        """Return when a worker lacks what: by cause and detail, spans that count or are less."""
        found: Lacks = {key: [(spans, 1)] for key, spans in self._lacks.items()}
        domain = int(self._domain[worker])
        for key, spans in self._pools.items():
            group, area = self._groups[key >> 32], key & 0xFFFFFFFF
            own = self._own.get((key >> 32 << 32) + worker) if group.scope == "worker" else None
            near = area == (self._socket[domain] if group.scope == "socket" else domain)
            parts = found.setdefault(
                (KEPT, f"pool {group.name} {_WHOSE[group.scope][int(near)]}"), []
            )
            parts.append((spans, 1))
            if own is not None and near:
                parts.append((own, -1))
                found[KEPT, f"pool {group.name} of its own"] = [(own, 1)]
        return found


def _numbered(plans: Sequence[Sequence[PoolGroup]]) -> tuple[list[PoolGroup], IntArray]:
    """Return the groups of several plans, and for each plan which of them its groups are."""
    known: dict[tuple[str, str], int] = {}
    groups: list[PoolGroup] = []
    numbers: IntArray = np.zeros((len(plans), max(map(len, plans), default=0)), np.int64)
    for plan, row in zip(plans, numbers, strict=True):
        for place, group in enumerate(plan):
            key = group.name, group.scope
            if key not in known:
                known[key] = len(groups)
                groups.append(group)
            row[place] = known[key]
    return groups, numbers


def _spans_by(
    begin_ps: IntArray, end_ps: IntArray, key: IntArray, keys: Iterable[int] | None = None
) -> dict[int, _Spans]:
    """Return spans by key, of the keys from 0 on, or of all that are asked for."""
    order = np.argsort(key, kind="stable")
    found = np.unique(key[key >= 0]).tolist() if keys is None else keys
    result = {}
    for each in found:
        own = order[slice(*np.searchsorted(key[order], [each, each + 1]).tolist())]
        result[each] = _Spans(begin_ps[own], end_ps[own])
    return result
