"""Memory and links that saturate gradually: the ceilings that their rates near.

With cores that could draw d bytes/s together, a node or link does not sustain ``min(d, b)``:
queues form before it is full. What it sustains is

    d / (1 + (d / b)**4)**(1/4)

with the ceiling b at which all cores that use it get what has been measured for them. The
measurements that the exponent comes from are in docs/sources/memory-laws.md, what runs make of it
is rule F7 of docs/semantics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from simsched.machine.model import IntArray, Link, MemoryNode, Path
from simsched.machine.schema import MachineFile
from simsched.machine.wires import Wires

GRADUALLY = "gradually"


def ceiling(drawn: float, full: float) -> float | None:
    """Return what a rate nears that is `full` when cores could draw `drawn` together.

    None where they cannot fill what it sustains.

    >>> ceiling(5.0, 4.0) == 5.0 / ((5.0 / 4.0) ** 4 - 1.0) ** 0.25
    True
    """
    return drawn / math.sqrt(math.sqrt((drawn / full) ** 4 - 1.0)) if drawn > full else None


def drawn_by(path: Path, module_cores: IntArray) -> float:
    """Return what cores with one busy thread each could draw over a path together.

    Of each core the number of those that draw together with it is given.
    """
    caps = path.core_cap_bytes_per_s
    sizes, counts = np.unique(module_cores, return_counts=True)
    each = [
        caps[min(size, len(caps)) - 1] / size * count
        for size, count in zip(sizes.tolist(), counts.tolist(), strict=True)
    ]
    return math.fsum(each)


def gradual_nodes(
    file: MachineFile,
    entries: Sequence[str],
    nodes: Sequence[MemoryNode],
    paths: Sequence[Sequence[Path]],
    cores: Sequence[IntArray],
) -> Iterator[MemoryNode]:
    """Yield the nodes, with ceilings where they saturate gradually with their domain's cores.

    `cores` are those of each domain, as :func:`drawn_by` takes them.
    """
    for index, (entry, node) in enumerate(zip(entries, nodes, strict=True)):
        if file.memory[entry].saturates != GRADUALLY:
            yield node
            continue
        domain = 0 if node.domain is None else node.domain
        here = np.concatenate(cores) if node.domain is None else cores[domain]
        path = paths[domain][index]
        drawn = drawn_by(path, here) * path.node_weight
        yield replace(node, ceiling_bytes_per_s=ceiling(drawn, node.bandwidth_bytes_per_s))


def gradual_links(
    file: MachineFile,
    wires: Wires,
    paths: Sequence[Sequence[Path]],
    cores: Sequence[IntArray],
) -> Iterator[Link]:
    """Yield the links, with ceilings where they saturate gradually with the cores across them."""
    for index, (link, entry) in enumerate(zip(wires.links, wires.entries, strict=True)):
        if file.links[entry].saturates != GRADUALLY:
            yield link
            continue
        drawn = [
            drawn_by(path, cores[domain])
            for domain, row in enumerate(paths)
            for path in row
            if index in path.links
        ]
        most = max(drawn, default=0.0)
        yield replace(link, ceiling_bytes_per_s=ceiling(most, link.bandwidth_bytes_per_s))
