"""Dataflow edges from what tasks do with data, in the order of the program.

As runtimes derive them (StarPU, OmpSs, the ``depend`` clauses of OpenMP): who reads follows who
wrote, and who writes follows all that have used the data since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from simsched.files.errors import GraphError, unknown_name
from simsched.workload.listed import Accesses, Adjacency, adjacency, listed_accesses

#: What a task may do with a block, and whether it reads, whether it writes.
MODES = {
    "read": (True, False),
    "write": (False, True),
    "update": (True, True),
    "commute": (True, True),
}
TOGETHER = ("read", "commute")  #: in any order among each other


@dataclass
class _Users:
    """Tasks that have used a block last, all in one mode, and those before them."""

    mode: str = ""
    present: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)

    def follow(self, task: int, mode: str) -> list[int]:
        """Take in the next user; return whom it follows."""
        if mode != self.mode or mode not in TOGETHER:
            self.mode, self.present, self.before = mode, [], self.present
        self.present.append(task)
        return self.before


class Dependences(TypedDict):
    """What follows from the uses of blocks: arguments of `TaskGraph.build`."""

    successors: Adjacency
    accessed: Accesses


def dependences(
    uses: Sequence[Sequence[tuple[str, str]]], block_bytes: Mapping[str, int]
) -> Dependences:
    """Return edges and accesses; parameters and errors are those of `TaskGraph.from_accesses`."""
    number = {name: i for i, name in enumerate(block_bytes)}
    users = {name: _Users() for name in block_bytes}
    rows: list[tuple[int, int, int, int, int]] = []
    before: list[int] = []
    after: list[int] = []
    for task, used in enumerate(uses):
        _check_uses(task, used, users)
        followed: dict[int, None] = {}
        for name, mode in used:
            followed |= dict.fromkeys(users[name].follow(task, mode))
            reads, writes = MODES[mode]
            size = int(block_bytes[name])
            rows.append((task, number[name], size * reads, size * writes, 0))
        before += sorted(followed)
        after += [task] * len(followed)
    return Dependences(
        successors=adjacency(before, after, len(uses)),
        accessed=listed_accesses(rows, len(uses)),
    )


def _check_uses(task: int, used: Sequence[tuple[str, str]], users: Mapping[str, _Users]) -> None:
    """Refuse blocks and modes that do not exist, and blocks that a task names twice."""
    names = [name for name, _ in used]
    for name, mode in used:
        if name not in users:
            raise GraphError(f"task {task}: {unknown_name('block', name, users)}")
        if mode not in MODES:
            raise GraphError(f"task {task}: block {name!r}: {unknown_name('use', mode, MODES)}")
        if names.count(name) > 1:
            raise GraphError(
                f"task {task}: block {name!r}: found twice, accepted once; update reads and writes"
            )
