"""Numbers that stand for words on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simsched.engine.interface.plan import BY_PRIORITY, IN_ORDER, RANKED, UNIFORM, WEIGHTED
from simsched.engine.replication import AT_ACCESSES, AT_WRITES, STAYS
from simsched.policy.blocks import THREAD_GROUPS
from simsched.policy.plan import (
    CHILD_FIRST,
    CONDITIONS,
    PARENT_FIRST,
    ROOTS,
    SCOPES,
    TAKES,
    WHERES,
)
from simsched.trace.schema import EventKind, Loss


@dataclass(frozen=True)
class Codes:
    """Words with their numbers and what they mean."""

    gloss: str
    prefix: str  #: of the names in C
    words: dict[str, int]
    glosses: dict[str, str]
    number: str = ""  #: name in C of how many there are


def _enum(kind: type[EventKind] | type[Loss], gloss: str, prefix: str) -> Codes:
    words = {item.name: int(item) for item in kind}
    return Codes(gloss, prefix, words, {item.name: item.gloss for item in kind})


def _words(
    gloss: str, prefix: str, words: Iterable[str], *, bits: bool = False, number: str = ""
) -> Codes:
    numbers = {word: 1 << at if bits else at for at, word in enumerate(words)}
    return Codes(gloss, prefix, numbers, {}, number)


CODES = (
    _enum(EventKind, "Kinds of trace events, with the meaning of (arg0, arg1).", "SSK_"),
    _enum(Loss, "Why a worker loses a task without result.", "SSK_LOSS_"),
    _words("What owns the instances of a pool group.", "SSK_SCOPE_", SCOPES, number="SSK_N_SCOPES"),
    _words("Which instances a step searches.", "SSK_", WHERES),
    _words("Which entry a step takes; the last one: in decisions only.", "SSK_", (*TAKES, "entry")),
    _words("Bits: conditions of a step.", "SSK_WHEN_", CONDITIONS, bits=True),
    Codes(
        "How a step chooses among its candidates.",
        "SSK_",
        {"UNIFORM": UNIFORM, "RANKED": RANKED, "WEIGHTED": WEIGHTED},
        {},
    ),
    _words("To whom tasks without a pusher go.", "SSK_", ROOTS),
    _words("Which workers share pages.", "SSK_GROUP_", THREAD_GROUPS),
    Codes(
        "Which accesses give a block a new home.",
        "SSK_",
        {"STAYS": STAYS, "AT_WRITES": AT_WRITES, "AT_ACCESSES": AT_ACCESSES},
        {},
    ),
    Codes(
        "What comes first of the data that tasks in a pool group want.",
        "SSK_",
        {"IN_ORDER": IN_ORDER, "BY_PRIORITY": BY_PRIORITY},
        {},
    ),
    Codes(
        "Which of parent and child goes on.",
        "SSK_",
        {"CHILD_FIRST": CHILD_FIRST, "PARENT_FIRST": PARENT_FIRST},
        {},
    ),
)
