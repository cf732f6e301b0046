"""What hooks may decide, in which numbers that reaches engines, and why engines refuse it.

A decision travels as a record: the number of its kind, then those that its dataclass makes of its
fields. An acquire order travels as its number among those of the call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simsched.files.errors import PolicyError
from simsched.policy.contract.base import AcquireOrder
from simsched.policy.contract.decisions import Exchange, Pace, Preempt, Transfer, Wake
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.contract.records import Decision, numbers_of
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
)
KIND = {decision: number for number, decision in enumerate(DECISIONS)}
#: how long a record is at most
N_NUMBERS = 1 + max(len(numbers_of(decision)) for decision in DECISIONS)

_ALWAYS = (Transfer, Pace, Wake)
_TIMED = (Preempt, Duplicate, Kill, Transfer, Exchange, Pace, AcquireOrder, Wake)
#: what each hook may decide
HOOKS: dict[str, tuple[type, ...]] = {
    "on_ready": _ALWAYS,
    "on_start": _ALWAYS,
    "on_idle": (Preempt, Duplicate, Transfer, Wake),
    "on_finish": _ALWAYS,
    "on_landing": _ALWAYS,
    "on_timer": _TIMED,
    "on_wake": _TIMED,
}


class Reason(Word):
    """Why a decision is not allowed; words in braces are operands of the failure."""

    POOL = 1, "task {task}: no pool with group {group}, instance {instance}"
    POOLS = 2, "no pool with group {group}, instance {instance}"
    VICTIM = 3, "worker {worker} is not executing a task"
    TAKER = 4, "worker {taker} cannot take a task: it is not waiting"
    ASKER = 5, "worker {worker} asked, found a task for {taker}"
    EXCHANGE = 6, "workers {worker} and {taker} cannot swap threads"
    KIND = 7, "a decision means nothing to the engine"
    COPIED = 8, "tasks whose data are copied cannot be moved"
    SPAWNS = 9, "task {task} spawns others, it cannot start over"
    SEVERAL = 10, "task {task} is executed by several workers"


def refusal(hook: str, reason: int, **operands: int) -> PolicyError:
    """Return the error for a decision that is not allowed."""
    return PolicyError(f"{hook}: {Reason(reason).gloss.format(**operands)}")


def record_of(decision: Decision) -> Record:
    """Return the record of a decision that is no acquire order."""
    return KIND[type(decision)], *decision.numbers()


def word_of(decision: type) -> str:
    """Return the name of a kind as codes write it."""
    return re.sub(r"\B([A-Z])", r"_\1", decision.__name__).lower()


def fields_of(record: Record) -> dict[str, int]:
    """Return the numbers of a record by the names of their fields."""
    numbers = numbers_of(DECISIONS[record[0]])
    return {number.name: value for number, value in zip(numbers, record[1:], strict=True)}
