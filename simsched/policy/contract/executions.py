"""Executions of tasks: starting a task once more, giving one up, and seeing how far it is.

A task is executed once, unless a policy starts *duplicates* of it (speculation): then several
workers execute it from its beginning, each for itself; the first one that ends it ends the task,
and the others are killed. See docs/semantics.md, rules DK.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simsched.policy.contract.records import Decision, accepts


@dataclass(frozen=True)
class Duplicate(Decision):
    """Decision of `on_idle`, `on_timer`, `on_wake`: a waiting worker starts a running task too.

    Parameters
    ----------
    worker : int
        Worker that is executing the task, a leaf: one that spawns nothing.
    to : int
        Waiting worker that starts the duplicate; the one that asked in `on_idle`.

    Notes
    -----
    The duplicate begins with the task's first access. How many duplicates a task may have is the
    policy's matter. `on_finish` names the worker that has ended the task; the others lose it at
    that instant, pay a context switch and look for work.
    """

    worker: int = field(metadata=accepts(of="worker"))
    to: int = field(metadata=accepts(of="worker"))


@dataclass(frozen=True)
class Kill(Decision):
    """Decision of `on_timer` and `on_wake`: a worker gives up what it executes; its work is lost.

    Parameters
    ----------
    worker : int
        Worker that is executing a leaf task.

    Notes
    -----
    If nobody else executes the task, it is ready again: `on_ready` is asked for its pool, and it
    starts over.
    """

    worker: int = field(metadata=accepts(of="worker"))


class Progress(NamedTuple):
    """How far a worker is with the task that it executes, as a tracker of progress reports it.

    Parameters
    ----------
    task : int
        The task.
    began_ps : int
        When the worker has started or resumed it.
    phase : int
        Which access of the body (or join) is going on, counted from 0; 0 without accesses.
    fraction : float
        Part of that phase which is done, 0 to 1: of its bytes or of its operations, whichever is
        smaller.
    """

    task: int
    began_ps: int
    phase: int
    fraction: float
