"""What runs of a machine, a program and a policy have in common, made once.

Studies run small programs many times, with other seeds. The policy is asked anew for each run,
unless it can only answer the same. What its answers become is made again where they differ from the
ones before: checks, and arrays for the backends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.processors import machine_of_workers, threads_for
from simsched.engine.timings import timed
from simsched.machine.model import IntArray, Machine
from simsched.policy.contract.base import Placement, Plan, Policy
from simsched.workload.graph import TaskGraph, Workload

#: How much is kept: so many, of programs of so many tasks at most.
N_KEPT, MOST_TASKS = 32, 20_000
_PLAIN = (type(None), bool, int, float, str, np.generic)
T = TypeVar("T")


class Answer:
    """What a policy has answered, to be compared with what it answers later."""

    def __init__(self, record: Any) -> None:
        self._type = type(record)
        self._fields = [(f.name, _noted(getattr(record, f.name))) for f in fields(record)]

    def is_again(self, record: object) -> bool:
        """Return whether a record has the same content, which nobody has changed since."""
        return type(record) is self._type and all(
            _is_again(noted, getattr(record, name)) for name, noted in self._fields
        )


def _noted(value: Any) -> Any:
    """Return a value of which nothing changes any more."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        return tuple(map(_noted, value))
    return Answer(value) if is_dataclass(value) else Answer  # equal to no value


def _is_again(noted: Any, value: Any) -> bool:
    if isinstance(noted, Answer):
        return noted.is_again(value)
    if type(noted) is not type(value):
        return False
    if isinstance(noted, np.ndarray):
        same_kind = noted.dtype == value.dtype and noted.shape == value.shape
        return same_kind and bool((noted == value).all())
    if isinstance(noted, tuple):
        return len(noted) == len(value) and all(map(_is_again, noted, value))
    return bool(noted == value)


def own_arrays(record: T) -> T:
    """Return a record of arrays of its own, where others may write to them."""

    def own(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.flags.writeable:
            return value.copy()
        return own_arrays(value) if is_dataclass(value) and not isinstance(value, type) else value

    changed = {f.name: own(getattr(record, f.name)) for f in fields(record)}  # type: ignore[arg-type]
    return replace(record, **changed)  # type: ignore[type-var]


@dataclass(eq=False)
class Planned:
    """A plan, its content when it was given, and what it has become."""

    given: Plan
    answer: Answer
    resolved: ResolvedPlan
    #: Why a run that begins with it says little of its policy; None before anybody asks.
    misfits: tuple[str, ...] | None = None


@dataclass(eq=False)
class Ground:
    """The problem that a program and where its data are placed have become."""

    program: Workload
    placement: Answer
    #: Arguments of :func:`~simsched.engine.problem.make_problem` in seconds.
    times: dict[str, float]
    problem: Problem
    #: What was planned last for a graph.
    planned: dict[TaskGraph, Planned] = field(default_factory=dict)
    #: Setup of a finished run that all others of these are like, but for what engines draw.
    settled: Any = None


@dataclass(eq=False)
class Common:
    """What is known before the policy is asked, and what its last answers have become."""

    #: The program with the machine's timings.
    program: Workload
    #: The machine as its workers see it.
    machine: Machine
    #: Hardware threads with workers.
    threads: IntArray
    #: Kinds of processors without workers, since the policy does not choose processors.
    left_out: tuple[str, ...]
    #: Whether later runs are told.
    keeps: bool
    ground: Ground | None = None

    def ground_of(self, program: Workload, placement: Placement) -> Ground | None:
        """Return what a program and where its data are placed have become before, if they have."""
        known = self.ground
        if known is None or known.program is not program or not known.placement.is_again(placement):
            return None
        return known

    def settled(self, progress_limit_s: float) -> Any:
        """Return the setup of a run that those with this limit are like, None without one."""
        known = self.ground
        if known is None or known.times["progress_limit_s"] != progress_limit_s:
            return None
        return known.settled

    def keep(
        self, program: Workload, placement: Placement, times: dict[str, float], problem: Problem
    ) -> Ground | None:
        """Note for later runs what has become of this one; None where there is nothing to keep.

        Where memory has caches in front, the seed decides where data lie.
        """
        if not (self.keeps and is_fixed(program)) or len(problem.granule_frame):
            return None
        self.ground = Ground(program, Answer(placement), times, own_arrays(problem))
        return self.ground


class _This:
    """An object as itself, whatever it is equal to."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and self.policy is other.policy

    def __hash__(self) -> int:
        return id(self.policy)


def common_to(
    machine: Machine, workload: Workload, policy: Policy, workers: int | None, pinning: str
) -> Common:
    """Return what runs have in common; programs that are small and that nobody can change, kept.

    Parameters
    ----------
    machine, workload, policy, workers, pinning
        As for :func:`simsched.engine.run.simulate`.

    Returns
    -------
    Common
        With answers of the last run of these.
    """
    n_tasks = workload.graph.n_tasks + (workload.init.n_tasks if workload.init else 0)
    if n_tasks > MOST_TASKS or not is_fixed(workload) or not isinstance(pinning, str):
        return _made(machine, workload, policy, workers, pinning, keeps=False)
    return _kept(machine, workload, _This(policy), workers, pinning)


def is_fixed(workload: Workload) -> bool:
    """Return whether nobody can write to the arrays of a program."""
    return workload.graph.is_fixed and (workload.init is None or workload.init.is_fixed)


@lru_cache(maxsize=N_KEPT)
def _kept(
    machine: Machine, workload: Workload, this: _This, workers: int | None, pinning: str
) -> Common:
    return _made(machine, workload, this.policy, workers, pinning, keeps=True)


def _made(
    machine: Machine,
    workload: Workload,
    policy: Policy,
    workers: int | None,
    pinning: str,
    *,
    keeps: bool,
) -> Common:
    workload.validate()
    program = timed(machine, workload)
    placed = machine.place_workers(workers, pinning)
    chooses = policy.chooses_processors
    threads, left_out = threads_for(machine, program, placed, chooses=chooses)
    threads.flags.writeable = False
    return Common(program, machine_of_workers(machine, threads), threads, left_out, keeps)
