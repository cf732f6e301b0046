"""What hooks may decide, in which numbers that reaches engines, and why engines refuse it.

A decision travels as a record: the number of its kind, then those that its dataclass makes of its
fields. An acquire order travels as its number among those of the call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from simsched.files.errors import PolicyError
from simsched.policy.contract.base import AcquireOrder, Consequence, TimedDecision
from simsched.policy.contract.decisions import Exchange, Move, Pace, Preempt, Rest, Transfer, Wake
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.contract.records import NO_SIZES, Decision, numbers_of
from simsched.trace.schema import Word

Record = Sequence[int]

#: every kind, by its number
DECISIONS: tuple[type, ...] = (
    Preempt,
    Transfer,
    Exchange,
    Duplicate,
    Kill,
    AcquireOrder,
    Pace,
    Wake,
    Move,
    Rest,
)
KIND = {decision: number for number, decision in enumerate(DECISIONS)}
#: how long a record is at most
N_NUMBERS = 1 + max(len(numbers_of(decision)) for decision in DECISIONS)

_ALWAYS = get_args(Consequence)
_TIMED = get_args(TimedDecision)
#: what each hook may decide
HOOKS: dict[str, tuple[type, ...]] = {
    "on_ready": _ALWAYS,
    "on_start": _ALWAYS,
    "on_idle": (Preempt, Duplicate, Transfer, Wake),
    "on_finish": _ALWAYS,
    "on_landing": _ALWAYS,
    "on_timer": (*_TIMED, Rest),
    "on_wake": _TIMED,
}


class Reason(Word):
    """Why a decision is not allowed; words in braces are operands of the failure."""

    VICTIM = 1, "worker {worker} is not executing a task, accepted one that is"
    TAKER = 2, "worker {taker} cannot take a task: it is not waiting, accepted one that is"
    KIND = 3, "a decision means nothing to the engine"
    COPIED = 4, "tasks whose data are copied cannot be moved, accepted other machines"
    SPAWNS = 5, "task {task} spawns others, it cannot start over, accepted leaves"
    SEVERAL = 6, "task {task} is executed by several workers, accepted tasks of one"


def refusal(hook: str, reason: int, **operands: int) -> PolicyError:
    """Return the error for a decision that is not allowed."""
    return PolicyError(f"{hook}: {Reason(reason).gloss.format(**operands)}")


def record_of(decision: Decision, sizes: Mapping[str, Any] = NO_SIZES) -> Record:
    """Return the record of a decision that is no acquire order; `sizes` bound its indices."""
    return KIND[type(decision)], *decision.numbers(sizes)


def word_of(decision: type) -> str:
    """Return the name of a kind as codes write it."""
    return re.sub(r"\B([A-Z])", r"_\1", decision.__name__).lower()


def fields_of(record: Record) -> dict[str, int]:
    """Return the numbers of a record by the names of their fields."""
    numbers = numbers_of(DECISIONS[record[0]])
    return {number.name: value for number, value in zip(numbers, record[1:], strict=True)}
