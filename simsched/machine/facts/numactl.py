"""Output of ``numactl --hardware``: threads, memory and distances of NUMA nodes."""

from __future__ import annotations

import re
from pathlib import Path

from simsched.files.errors import shown
from simsched.machine.facts._lines import Lines
from simsched.machine.facts.contents import Core, Facts, Node, Topology
from simsched.machine.facts.registry import fact_format

MIB = 1 << 20
_CPUS = re.compile(r"node (\d+) cpus:(.*)")
_SIZE = re.compile(r"node (\d+) size: (\d+) ([KMGT]?)B")
_UNITS = {"": 1, "K": 1 << 10, "M": MIB, "G": 1 << 30, "T": 1 << 40}
ASSUMED_THREADS = "numactl does not say which hardware threads share a core: each is taken for one"


@fact_format("numactl", recognises=lambda head: b"node distances:" in head and b" cpus:" in head)
def read_numactl(path: Path) -> Facts:
    """Return what ``numactl --hardware`` says."""
    lines = Lines(path)
    cpus: dict[str, list[int]] = {}
    sizes: dict[str, int] = {}
    for number, text in enumerate(lines.lines, 1):
        if match := _CPUS.match(text.strip()):
            words = match[2].split()
            wrong = next((word for word in words if not re.fullmatch(r"[0-9]{1,6}", word)), None)
            if wrong is not None:
                raise lines.fail(number, f"cpu: found {shown(wrong)}, accepted a number")
            cpus[match[1]] = [int(word) for word in words]
            known = {cpu for label, own in cpus.items() if label != match[1] for cpu in own}
            if twice := sorted(known.intersection(cpus[match[1]])):
                raise lines.fail(number, f"found cpu {twice[0]} on two nodes, accepted one")
        elif match := _SIZE.match(text.strip()):
            sizes[match[1]] = int(match[2]) * _UNITS[match[3]]
    heading = lines.find("node distances:")
    assert heading is not None  # recognised by it
    labels = [word for word in lines.fields(heading + 1) if word != "node"]
    if set(labels) != cpus.keys():
        raise lines.fail(
            heading + 1,
            f"distances: found nodes {', '.join(labels) or 'none'}, accepted those with cpus: "
            f"{', '.join(cpus)}",
        )
    distances = lines.matrix(heading + 2, labels, "distance")
    with_cpus = [label for label in labels if cpus[label]]
    if not with_cpus:
        raise lines.fail(1, "found no node with cpus, accepted at least one")
    cores = [
        Core(0, domain, (thread,))
        for domain, label in enumerate(with_cpus)
        for thread in cpus[label]
    ]
    nodes = []
    for row, label in zip(distances.values, labels, strict=True):
        near = min(with_cpus, key=lambda other: row[labels.index(other)])
        kind = "DRAM" if cpus[label] else "NVM"
        nodes.append(Node(int(label), with_cpus.index(near), sizes.get(label), kind))
    topology = Topology(tuple(cores), (), tuple(nodes))
    return Facts(
        "numactl",
        "numactl --hardware",
        topology=topology,
        distances=distances,
        warnings=(ASSUMED_THREADS,),
    )
