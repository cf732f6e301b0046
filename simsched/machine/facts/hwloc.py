"""Topologies as hwloc's ``lstopo`` writes them in XML, versions 1, 2 and 3.

Version 1 has memory nodes above cores; later ones have them beside, each with the set of hardware
threads near it. Both give sets of threads, and those decide here what belongs together.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simsched.files.errors import ConfigurationError, shown
from simsched.files.limits import WORKERS
from simsched.machine.facts._xml import xml_root
from simsched.machine.facts.contents import (
    CacheInstance,
    Core,
    Device,
    Fact,
    Facts,
    Matrix,
    Node,
    Topology,
)
from simsched.machine.facts.registry import fact_format

UNIFIED, INSTRUCTIONS = "0", "2"
PACKAGES = ("Package", "Socket")
LOCAL_DISTANCE = 10
_CLOCK = re.compile(r"@\s*([\d.]+)\s*GHz")
#: names of accelerators in CUDA, ROCm, Level Zero and OpenCL
_INTERFACES = (r"cuda\d+", r"rsmi\d+", r"ze\d+", r"opencl\d+d\d+")


@dataclass(frozen=True)
class _Object:
    """An object with its set of threads, and what lies around it."""

    element: ET.Element
    threads: int
    above: tuple[_Object, ...]

    @property
    def type(self) -> str:
        return self.element.get("type", "")

    def info(self, name: str) -> str | None:
        """Return an entry of the object's information."""
        found = (i.get("value") for i in self.element.findall("info") if i.get("name") == name)
        return next(found, None)


@fact_format("hwloc", recognises=lambda head: b"<topology" in head and b"<object" in head)
def read_hwloc(path: Path) -> Facts:
    """Return the topology of an XML file of hwloc, with the distances and clocks that it has."""
    root = xml_root(path, "topology", "hwloc")
    objects = list(_objects(path, root, ()))
    cores = [item for item in objects if item.type == "Core"]
    cores = cores or [item for item in objects if item.type == "PU"]  # as virtual machines have it
    if not cores:
        raise ConfigurationError(f"{path}: found no object of type Core or PU, accepted some")
    if len(cores) > WORKERS.value:
        WORKERS.refuse(len(cores), path, ConfigurationError)
    packages = [item for item in objects if item.type in PACKAGES]
    topology = _topology(path, root, objects, cores, packages)
    model = next((m for p in packages for m in [p.info("CPUModel")] if m), None)
    warnings = []
    if len(topology.nodes) < 2 and len(packages) > 1:
        warnings.append(
            f"{path}: {len(packages)} packages and one memory node: the topology may come from "
            "CPUID alone, which does not say where memory is"
        )
    return Facts(
        "hwloc",
        f"hwloc topology{f' of {model.strip()}' if model else ''}",
        model=None if model is None else " ".join(model.split()),
        clock_hz=_clock(root, model),
        topology=topology,
        distances=_distances(path, root, len(topology.nodes)),
        warnings=tuple(warnings),
    )


def _objects(path: Path, parent: ET.Element, above: tuple[_Object, ...]) -> Iterator[_Object]:
    """Yield the objects below an element, outer ones first."""
    for element in parent.findall("object"):
        item = _Object(element, _set(path, element), above)
        yield item
        yield from _objects(path, element, (*above, item))


def _set(path: Path, element: ET.Element) -> int:
    """Return a set of threads as bits: 32 at a time, the highest first, nothing for zero."""
    text = element.get("cpuset") or "0x0"
    try:
        found = 0
        for part in text.split(","):
            found = (found << 32) | (int(part, 16) if part else 0)
    except ValueError:
        kind = element.get("type")
        raise ConfigurationError(
            f"{path}: object {kind}: cpuset: found {shown(text)}, accepted hexadecimal words"
        ) from None
    return found


def _whole(path: Path, item: _Object, key: str) -> int:
    text = item.element.get(key, "")
    if not text.isdecimal() or len(text) > 18:
        raise ConfigurationError(
            f"{path}: object {item.type}: {key}: found {shown(text)}, accepted a whole number"
        )
    return int(text)


def _bits(threads: int) -> tuple[int, ...]:
    return tuple(bit for bit in range(threads.bit_length()) if threads >> bit & 1)


def _topology(
    path: Path,
    root: ET.Element,
    objects: list[_Object],
    cores: list[_Object],
    packages: list[_Object],
) -> Topology:
    """Return what belongs together."""
    nodes = sorted(
        (item for item in objects if item.type == "NUMANode"),
        key=lambda item: _whole(path, item, "os_index"),
    )
    everything = 0
    for core in cores:
        everything |= core.threads
    near = [_near(node, everything) for node in nodes] or [everything]
    domains = _domains(near, [core.threads for core in cores])
    order = sorted(
        range(len(cores)),
        key=lambda i: (
            _holder(packages, cores[i].threads),
            _place(domains, cores[i].threads),
            min(_bits(cores[i].threads), default=0),
        ),
    )
    kinds = _kinds(path, root, cores)
    first: dict[int, int] = {}  # domains in the order of their first cores
    for index in order:
        first.setdefault(_place(domains, cores[index].threads), len(first))
    found = [
        Core(
            _holder(packages, cores[i].threads),
            first[_place(domains, cores[i].threads)],
            _bits(cores[i].threads),
            kinds[i],
        )
        for i in order
    ]
    position = {index: place for place, index in enumerate(order)}
    caches = list(_caches(path, objects, cores, position))
    listed = [_node(path, node, domains, first, everything) for node in nodes]
    listed = listed or [Node(0, None if len(first) > 1 else 0, None)]
    devices = tuple(_devices(objects, packages))
    return Topology(tuple(found), tuple(caches), tuple(listed), devices)


def _near(node: _Object, everything: int) -> int:
    """Return the threads near a memory node; one without any has those of the object around it."""
    if node.threads:
        return node.threads
    return next((item.threads for item in reversed(node.above) if item.threads), everything)


def _domains(near: list[int], cores: list[int]) -> list[int]:
    """Return sets of threads with the same memory nodes, in the order of their first core."""
    found: dict[tuple[bool, ...], int] = {}
    for threads in cores:
        key = tuple(bool(threads & node) for node in near)
        found[key] = found.get(key, 0) | threads
    return list(found.values())


def _place(sets: list[int], threads: int) -> int:
    return next(i for i, members in enumerate(sets) if threads & members)


def _holder(packages: list[_Object], threads: int) -> int:
    """Return the package of some threads, 0 where none is known."""
    return next((i for i, item in enumerate(packages) if item.threads & threads), 0)


def _kinds(path: Path, root: ET.Element, cores: list[_Object]) -> list[str]:
    """Return the kind of each core: empty, or ``kind0`` (the least efficient one) and so on."""
    sets: list[tuple[int, int]] = []
    for element in root.iter("cpukind"):
        rank = element.get("forced_efficiency", "0")
        sets.append((int(rank) if rank.lstrip("-").isdecimal() else 0, _set(path, element)))
    sets.sort()
    if len(sets) < 2:
        return [""] * len(cores)
    return [
        next((f"kind{i}" for i, (_, members) in enumerate(sets) if core.threads & members), "")
        for core in cores
    ]


def _caches(
    path: Path, objects: list[_Object], cores: list[_Object], position: dict[int, int]
) -> Iterator[CacheInstance]:
    """Yield data and unified caches."""
    for item in objects:
        match = re.fullmatch(r"L(\d)(i?)Cache|Cache", item.type)
        if match is None or item.element.get("cache_type", UNIFIED) == INSTRUCTIONS:
            continue
        level = int(match[1]) if match[1] else _whole(path, item, "depth")
        size = _whole(path, item, "cache_size")
        sharing = [position[i] for i, core in enumerate(cores) if core.threads & item.threads]
        if size and sharing and match[2] != "i":
            yield CacheInstance(level, size, frozenset(sharing))


def _node(
    path: Path, item: _Object, domains: list[int], first: dict[int, int], everything: int
) -> Node:
    """Return a memory node; one that is near to several domains belongs to none of them."""
    near = _near(item, everything)
    places = [first[i] for i, members in enumerate(domains) if members & near]
    text = item.element.get("local_memory")
    capacity = int(text) if text and text.isdecimal() and int(text) else None
    subtype = item.element.get("subtype") or item.info("Type") or ""
    kind = {"MCDRAM": "HBM", "HBM": "HBM", "NVM": "NVM", "CXL": "NVM", "SPM": "HBM"}.get(
        subtype.split("-")[0], "DRAM"
    )
    side = [above for above in item.above if above.type == "MemCache"]
    bytes_in_front = _whole(path, side[-1], "cache_size") if side else None
    return Node(
        _whole(path, item, "os_index"),
        places[0] if len(places) == 1 else None,
        capacity,
        kind,
        bytes_in_front,
    )


def _devices(objects: list[_Object], packages: list[_Object]) -> Iterator[Device]:
    """Yield accelerators; where several interfaces show them, those of the first one."""
    devices = [item for item in objects if item.type == "OSDev"]
    for prefix in _INTERFACES:
        shown = [d for d in devices if re.fullmatch(prefix, d.element.get("name", ""))]
        for item in shown:
            around = [above for above in item.above if above.type in PACKAGES]
            package = packages.index(around[-1]) if around else None
            yield Device(item.element.get("name", ""), package)
        if shown:
            return


def _clock(root: ET.Element, model: str | None) -> Fact[float] | None:
    """Return the highest clock that is given."""
    given = [
        float(info.get("value", "0"))
        for info in root.iter("info")
        if info.get("name") == "FrequencyMaxMHz" and info.get("value", "").isdecimal()
    ]
    if given and max(given) > 0:
        return Fact(max(given) * 1e6, "FrequencyMaxMHz")
    match = _CLOCK.search(model or "")
    return Fact(float(match[1]) * 1e9, "name of the model") if match else None


def _distances(path: Path, root: ET.Element, n_nodes: int) -> Matrix | None:
    """Return the distances between memory nodes as the operating system gives them."""
    for table in root.iter("distances2"):
        if table.get("type") == "NUMANode" and table.get("name", "NUMALatency") == "NUMALatency":
            words = " ".join(e.text or "" for e in table.findall("u64values")).split()
            return _square(path, words, n_nodes, 1.0)
    for table in root.iter("distances"):
        base = float(table.get("latency_base", LOCAL_DISTANCE))
        words = [e.get("value", "") for e in table.findall("latency")]
        if len(words) == n_nodes * n_nodes:
            return _square(path, words, n_nodes, base)
    return None


def _square(path: Path, words: list[str], n: int, scale: float) -> Matrix:
    """Return numbers in rows."""
    try:
        values = [float(word) * scale for word in words]
    except ValueError as error:
        raise ConfigurationError(f"{path}: distances: found no number: {error}") from error
    if len(values) != n * n:
        raise ConfigurationError(
            f"{path}: distances: found {len(values)} values, accepted {n * n}: {n} memory nodes"
        )
    rows = tuple(tuple(values[row * n : (row + 1) * n]) for row in range(n))
    return Matrix(rows, "distances between memory nodes")
