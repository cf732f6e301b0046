"""Memory and links that saturate gradually: their rate by the number of flows.

With n flows of at most c bytes/s each, a node or link of rate b does not sustain ``min(n c, b)``:
queues form before it is full. What it sustains is

    n c / (1 + (n c / b)**4)**(1/4)

with the ceiling b at which most flows get what has been measured; a single flow gets c. The
measurements that the exponent comes from are in docs/sources/memory-laws.md.
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


def rates_by_flows(each: float, most: int, full: float) -> tuple[float, ...]:
    """Return what 1 to `most` flows of a rate get together, if `most` of them get `full`.

    >>> [round(rate, 2) for rate in rates_by_flows(1.0, 3, 2.0)]
    [1.0, 1.73, 2.0]
    """
    wanted = most * each
    if wanted <= full:
        return ()
    ceiling = wanted / math.sqrt(math.sqrt((wanted / full) ** 4 - 1.0))
    flows = np.arange(1, most + 1) * each
    found = flows / np.sqrt(np.sqrt(1.0 + (flows / ceiling) ** 4))
    return (each, *found[1:-1].tolist(), full)


def gradual_nodes(
    file: MachineFile,
    entries: Sequence[str],
    nodes: Sequence[MemoryNode],
    paths: Sequence[Sequence[Path]],
    core_domain: IntArray,
) -> Iterator[MemoryNode]:
    """Yield the nodes, with curves where they saturate gradually with the cores of their domain."""
    for index, (entry, node) in enumerate(zip(entries, nodes, strict=True)):
        if file.memory[entry].saturates != GRADUALLY:
            yield node
            continue
        domain = 0 if node.domain is None else node.domain
        most = len(core_domain) if node.domain is None else int((core_domain == domain).sum())
        each = paths[domain][index].core_cap_bytes_per_s[0]
        curve = rates_by_flows(each, most, node.bandwidth_bytes_per_s)
        yield replace(node, bandwidth_curve=curve)


def gradual_links(
    file: MachineFile,
    wires: Wires,
    paths: Sequence[Sequence[Path]],
    core_domain: IntArray,
) -> Iterator[Link]:
    """Yield the links, with curves where they saturate gradually with the cores that cross them."""
    for index, (link, entry) in enumerate(zip(wires.links, wires.entries, strict=True)):
        if file.links[entry].saturates != GRADUALLY:
            yield link
            continue
        crossing = [
            (path.core_cap_bytes_per_s[0], int((core_domain == domain).sum()))
            for domain, row in enumerate(paths)
            for path in row
            if index in path.links
        ]
        each, most = max(crossing, default=(0.0, 0))
        yield replace(link, bandwidth_curve=rates_by_flows(each, most, link.bandwidth_bytes_per_s))
