"""Numbers that stand for words on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simsched.engine.interface.decisions import DECISIONS, HOOKS, Reason, word_of
from simsched.engine.interface.plan import BY_PRIORITY, CHOICES, IN_ORDER
from simsched.engine.replication import FOLLOWS
from simsched.policy.contract.blocks import THREAD_GROUPS
from simsched.policy.contract.decisions import WHOLE_PACE
from simsched.policy.contract.plan import (
    CHILD_FIRST,
    CONDITIONS,
    PARENT_FIRST,
    ROOTS,
    SCOPES,
    TAKES,
    WHERES,
)
from simsched.policy.contract.runtime import POOLS, RANKS, RULES
from simsched.trace.schema import EventKind, Loss


class Codes(NamedTuple):
    """What some words are about, what is before them in C, and their numbers."""

    gloss: str
    prefix: str
    words: Mapping[str, int]


def _numbered(words: Sequence[str]) -> dict[str, int]:
    return {word: number for number, word in enumerate(words)}


CODES = (
    Codes("Kinds of trace events, with the meaning of (arg0, arg1).", "", EventKind.__members__),
    Codes("Why a worker loses a task without result.", "LOSS_", Loss.__members__),
    Codes("What owns the pools of a group.", "SCOPE_", _numbered(SCOPES)),
    Codes("Which pools a step searches.", "", _numbered(WHERES)),
    Codes("Which entry leaves a pool.", "", _numbered(TAKES)),
    Codes("Conditions of a step.", "WHEN_", {word: 1 << i for i, word in enumerate(CONDITIONS)}),
    Codes("How a step chooses among its candidates.", "", _numbered(CHOICES)),
    Codes("To whom tasks without a pusher go.", "", _numbered(ROOTS)),
    Codes("Which workers share pages.", "GROUP_", _numbered(THREAD_GROUPS)),
    Codes("Which accesses give a block a new home.", "", _numbered(FOLLOWS)),
    Codes("What is copied first.", "", {"in_order": IN_ORDER, "by_priority": BY_PRIORITY}),
    Codes(
        "Which of parent and child goes on.",
        "",
        {"child_first": CHILD_FIRST, "parent_first": PARENT_FIRST},
    ),
    Codes(
        "Who gets a task from a runtime with queues of its own.", "RULE_", _numbered(tuple(RULES))
    ),
    Codes("The pool groups of such a runtime.", "POOL_", _numbered(POOLS)),
    Codes("Who comes round first of those who do at one time.", "RANK_", RANKS),
    Codes("Hooks that decide.", "", _numbered(tuple(HOOKS))),
    Codes("Kinds of decisions.", "DECIDE_", _numbered([word_of(cls) for cls in DECISIONS])),
    Codes("Why a decision is not allowed.", "REASON_", Reason.__members__),
    Codes("The pace of a worker at its whole speed.", "", {"whole_pace": WHOLE_PACE}),
)
