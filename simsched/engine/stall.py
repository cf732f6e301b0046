"""The explanation of a run that cannot go on, or does not get on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import PER_PS, plural
from simsched.policy.contract.base import EngineState
from simsched.workload.graph import TaskGraph

NOT_STARTED, STARTED, ENDED = 0, 1, 2
#: Simulated seconds after which a run in which no task ends is given up: a day.
PROGRESS_LIMIT_S = 86_400.0
MAX_PROGRESS_LIMIT_S = 4e6  #: beyond which the simulated time itself would end
TOO_LONG = "the simulated time exceeds 2**62 ps (53 days)"
SHOWN = 5  #: tasks that a message names
#: Events at one instant without an end of a task after which time stands still, beside as many for
#: each task and access as there are workers and `EVENTS_OF_TASK`.
MOST_AT_ONCE = 10_000
EVENTS_OF_TASK = 64


def explain_stall(
    state: EngineState,
    n_workers: int,
    graph: TaskGraph,
    pending: NDArray[np.int32],
    outstanding: NDArray[np.int32],
    started: NDArray[np.uint8],
    pool_group: NDArray[np.int32],
    pool_instance: NDArray[np.int32],
    *,
    limit_ps: int | None = None,
) -> str:
    """Return a message that names tasks and what each waits for, and who has failed.

    `pending` counts unfinished predecessors and awaited creations of successors, plus 1 for a task
    that is not created, `outstanding` joined children that have not ended; the pool that holds a
    task is -1 when none does. Something still happens where `limit_ps` says for how long no task
    has ended; 0 where time stands still.
    """
    executed = _executed(state, n_workers)
    waiting = np.flatnonzero(started != ENDED)
    # Tasks in pools explain most, then tasks that run into unfinished predecessors, then parents;
    # but where something still happens, tasks that are being executed come first.
    is_executed = np.isin(waiting, [*executed]) & (limit_ps is not None)
    keys = waiting, started[waiting] == STARTED, pool_group[waiting] < 0, ~is_executed
    unfinished = set(waiting.tolist())
    reasons = _failed(state, n_workers)
    for task in waiting[np.lexsort(keys)][:SHOWN].tolist():
        awaited, me = _awaited_inside(graph, task, unfinished), graph.called(task)
        if pool_group[task] >= 0:
            taken = ", from which no worker may take" if limit_ps is None else ""
            place = f"pool group {int(pool_group[task])} instance {int(pool_instance[task])}"
            reasons.append(f"{me} is in {place}{taken}")
        elif started[task] == STARTED and awaited is not None:
            reasons.append(f"{me} waits before an access for the end of {graph.called(awaited)}")
        elif task in executed:
            worker, began_ps = executed[task]
            reasons.append(f"worker {worker} executes {me} since {_seconds(began_ps)}")
        else:
            has_child = bool(started[task] == STARTED and outstanding[task] > 0)
            reasons.append(_awaited_outside(graph, task, unfinished, has_child, int(pending[task])))
    more = f" (and {len(waiting) - SHOWN} more)" if len(waiting) > SHOWN else ""
    return f"{_begin(state, len(waiting), limit_ps)}: {'; '.join(reasons)}{more}"


def _awaited_outside(
    graph: TaskGraph, task: int, unfinished: set[int], has_child: bool, pending: int
) -> str:
    """Return what a task waits for that is in no pool and not being executed."""
    me = graph.called(task)
    if has_child:
        children = graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]
        joined = children[graph.is_joined[children]].tolist()
        child = next(c for c in joined if c in unfinished)
        return f"{me} waits for its child {_number(graph, child)}"
    source_of = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    before = [int(u) for u in source_of[graph.succ == task] if int(u) in unfinished]
    if before:
        return f"{me} waits for predecessor {_number(graph, before[0])}"
    after = graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]].tolist()
    later = [s for s in after if int(graph.parent[s]) in unfinished]
    if later and graph.parent[task] not in unfinished and pending > 0:
        return f"{me} waits for the creation of its successor {_number(graph, later[0])}"
    if graph.parent[task] >= 0:
        return f"{me} waits for its creation by {graph.called(int(graph.parent[task]))}"
    if pending == 0:
        return f"{me} is in no pool and has not begun: it is being taken by a worker or moved"
    return f"{me} has {pending} unmet conditions"


def _number(graph: TaskGraph, task: int) -> str:
    """Return number and name of a task behind a word that says what it is."""
    return graph.called(task).removeprefix("task ")


def _begin(state: EngineState, n_left: int, limit_ps: int | None) -> str:
    now = f"at {_seconds(state.now_ps())} with {plural(n_left, 'task')} left"
    if limit_ps is None:
        return f"the run has stalled {now}"
    if limit_ps == 0:
        return (
            f"the run is given up {now}, since the policy decides without end and time stands still"
        )
    return (
        f"the run is given up {now}, since no task ends for {_seconds(limit_ps)} "
        "(progress_limit_s; a larger one lets it go on)"
    )


def _executed(state: EngineState, n_workers: int) -> dict[int, tuple[int, int]]:
    """Return who executes each task that is being executed, and since when."""
    found = {worker: state.progress(worker) for worker in range(n_workers)}
    return {p.task: (worker, p.began_ps) for worker, p in found.items() if p is not None}


def _failed(state: EngineState, n_workers: int) -> list[str]:
    """Return which workers have failed, in words; nothing when all are alive."""
    failed = [worker for worker in range(n_workers) if state.has_failed(worker)]
    if len(failed) == n_workers:
        return [f"all {n_workers} workers have failed"]
    names = ", ".join(map(str, failed[:SHOWN])) + (", ..." if len(failed) > SHOWN else "")
    return [f"{len(failed)} of {n_workers} workers have failed ({names})"] if failed else []


def _seconds(time_ps: int) -> str:
    return f"{time_ps * PER_PS:.12g} s"


def _awaited_inside(graph: TaskGraph, task: int, unfinished: set[int]) -> int | None:
    """Return the first unfinished task that an access of a task waits for."""
    if graph.access_after is None:
        return None
    after = graph.access_after[graph.access_ptr[task] : graph.access_ptr[task + 1]].tolist()
    return next((other for other in after if other in unfinished), None)
