"""How the domains and nodes of a topology are written: as equal sockets and equal memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from simsched.machine.facts.contents import Node, Topology


@dataclass(frozen=True)
class Block:
    """Equal packages: how many, domains in each, and cores of each kind in a domain.

    `is_split`: they are parts of one package, whose domains differ.
    """

    count: int
    domains: int
    cores: dict[str, int]
    is_split: bool = False


def blocks(topology: Topology) -> list[Block]:
    """Return the packages in their order; equal ones that follow each other are one block."""
    counts = [Counter[str]() for _ in range(topology.n_domains)]
    for core in topology.cores:
        counts[core.domain][core.kind] += 1
    kinds = core_names(topology)
    domains = [{kind: count[kind] for kind in kinds if count[kind]} for count in counts]
    found: list[Block] = []
    for _, members in groupby(range(len(domains)), key=topology.package_of):
        alike = [list(run) for _, run in groupby(members, key=domains.__getitem__)]
        for run in alike:
            block = Block(1, len(run), domains[run[0]], len(alike) > 1)
            if found and replace(found[-1], count=1) == block:
                found[-1] = replace(found[-1], count=found[-1].count + 1)
            else:
                found.append(block)
    return found


def core_names(topology: Topology) -> dict[str, str]:
    """Return how each kind of core is called; the kind that most cores have comes first."""
    counts = Counter(core.kind for core in topology.cores)
    return {kind: kind or "core" for kind, _ in counts.most_common()}


def entries(nodes: Sequence[Node]) -> Iterator[tuple[str, list[Node]]]:
    """Yield the entries of memory: nodes of a kind that follow each other, with unique names."""
    used: Counter[str] = Counter()
    for kind, run in groupby(nodes, key=lambda node: (node.kind, node.domain is None)):
        for members in _once_a_domain(run):
            name = kind[0].lower()
            used[name] += 1
            yield (name if used[name] == 1 else f"{name}_{used[name]}"), members


def _once_a_domain(nodes: Iterable[Node]) -> Iterator[list[Node]]:
    """Yield runs of nodes of which no two are of one domain."""
    members: list[Node] = []
    for node in nodes:
        if any(other.domain == node.domain for other in members):
            yield members
            members = []
        members.append(node)
    if members:
        yield members
