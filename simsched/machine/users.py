"""Who uses the data of which memory node in place, from a machine file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simsched.files.errors import unknown_name
from simsched.files.yaml_reader import FieldError, KeyPath
from simsched.machine.model import BoolArray, MemoryNode
from simsched.machine.schema import MachineFile
from simsched.machine.spaces import number_spaces

ALL, OWN = "all", "own"


def users_in_place(
    file: MachineFile,
    domain_kinds: Sequence[frozenset[str]],
    entries: Sequence[str],
    nodes: Sequence[MemoryNode],
) -> BoolArray | None:
    """Return which domains use which nodes in place, None when all use all.

    `domain_kinds` are the kinds of processors of each domain, `entries` the memory entry of each
    node. A :class:`FieldError` names a key that does not fit.
    """
    kinds = frozenset[str]().union(*domain_kinds)
    users = np.zeros((len(domain_kinds), len(nodes)), bool)
    for index, (entry, node) in enumerate(zip(entries, nodes, strict=True)):
        names, loc = file.memory[entry].used_by, ("memory", entry, "used_by")
        if names == [OWN]:
            if node.domain is None:
                raise FieldError(loc, "found 'own' for a node of no domain, accepted: processors")
            users[node.domain, index] = True
            continue
        chosen = kinds if names == [ALL] else _known(names, kinds, loc)
        for domain, present in enumerate(domain_kinds):
            users[domain, index] = bool(present & chosen)
            if users[domain, index] and not present <= chosen:
                rest = ", ".join(sorted(present - chosen))
                raise FieldError(
                    loc, f"found only some processors of domain {domain}, accepted: also {rest}"
                )
    _check_managers(users, nodes)
    for domain, row in enumerate(users):
        if not row.any():
            what = ", ".join(sorted(domain_kinds[domain]))
            raise FieldError(
                ("memory",), f"found no memory that domain {domain} ({what}) uses in place"
            )
    return None if users.all() else users


def _check_managers(users: BoolArray, nodes: Sequence[MemoryNode]) -> None:
    """Refuse nodes of one space of which only some are managed by a driver, if data are copied."""
    if users.all():
        return
    space = number_spaces(users).tolist()
    for index, node in enumerate(nodes):
        other = nodes[space.index(space[index])]
        if node.has_driver != other.has_driver:
            raise FieldError(
                ("memory",),
                f"found {node.name} and {other.name} with the same users, one managed by a driver, "
                "accepted: both or neither",
            )


def _known(names: Sequence[str], kinds: frozenset[str], loc: KeyPath) -> frozenset[str]:
    """Return processors by name; "all" and "own" stand alone."""
    for position, name in enumerate(names):
        if name not in kinds:
            known = [*sorted(kinds), ALL, OWN]
            raise FieldError((*loc, position), unknown_name("processor", name, known))
    return frozenset(names)
