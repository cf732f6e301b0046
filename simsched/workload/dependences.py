"""Dataflow edges from what tasks do with data, in the order of the program.

As runtimes derive them (StarPU, OmpSs, the ``depend`` clauses of OpenMP): who reads follows who
wrote, and who writes follows all that have used the data since.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from simsched.files.errors import GraphError, shown, unknown_name
from simsched.files.units import MAX_BYTES
from simsched.names.arguments import plain
from simsched.workload.listed import Accesses, Adjacency, adjacency, listed_accesses

#: What a task may do with a block, and whether it reads, whether it writes.
MODES = {
    "read": (True, False),
    "write": (False, True),
    "update": (True, True),
    "commute": (True, True),
}
PAIR = (Hashable, str)  #: of a block and a use
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
    is_table = isinstance(block_bytes, Mapping)
    _expect(is_table, "block_bytes", block_bytes, "a mapping of blocks to their sizes")
    _expect(_is_list(uses), "uses", uses, "a list for each task of the blocks that it uses")
    sizes = {name: _size(name, size) for name, size in block_bytes.items()}
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
            size = sizes[name]
            rows.append((task, number[name], size * reads, size * writes, 0))
        before += sorted(followed)
        after += [task] * len(followed)
    return Dependences(
        successors=adjacency(before, after, len(uses)),
        accessed=listed_accesses(rows, len(uses)),
    )


def _expect(holds: bool, where: str, value: object, accepted: str) -> None:
    """Refuse a value of another form."""
    if not holds:
        raise GraphError(f"{where}: found {shown(plain(value))}, accepted {accepted}")


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _size(name: str, value: Any) -> int:
    """Return the size of a block."""
    number = plain(value)
    is_size = isinstance(number, int | float) and 0 <= number <= MAX_BYTES
    _expect(is_size and number == int(number), f"block_bytes: {name!r}", value, "whole bytes")
    return int(number)


def _check_uses(task: int, used: Sequence[tuple[str, str]], users: Mapping[str, _Users]) -> None:
    """Refuse blocks and modes that do not exist, and blocks that a task names twice."""
    pairs = "pairs of a block and a use, such as ('a', 'read')"
    _expect(_is_list(used), f"task {task}", used, pairs)
    for use in used:
        is_pair = _is_list(use) and len(use) == len(PAIR) and all(map(isinstance, use, PAIR))
        _expect(is_pair, f"task {task}", use, pairs)
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
