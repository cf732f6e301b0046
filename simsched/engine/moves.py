"""Which blocks a policy may let workers move while tasks run; docs/semantics.md, rules MV."""

from __future__ import annotations

from simsched.engine.interface.problem import Problem
from simsched.engine.replication import STAYS, refuse_copied
from simsched.files.errors import PolicyError


def check_move(problem: Problem, block: int) -> None:
    """Raise PolicyError unless a worker may move a block."""
    if problem.copies_data:
        refuse_copied("Move", "moves blocks while tasks run")
    if (problem.change_speed == 0.0).any():
        raise PolicyError("Move: found cores that fail, accepted none where workers move blocks")
    for wrong, text in (
        (problem.replica.size and (problem.replica[block] >= 0).any(), "with replicas"),
        (problem.pooling is not None and problem.pooling.size_class[block] >= 0, "of a pool"),
        (problem.follows[block] != STAYS, "that follows accesses"),
    ):
        if wrong:
            raise PolicyError(f"Move: block {block}: found one {text}, accepted others")
