"""Finding, reading and checking machine files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any

import numpy as np

from simsched.files.errors import ConfigurationError, expect, nearest, unknown_name
from simsched.files.resources import shipped
from simsched.files.units import (
    PS_PER_S,
    format_bandwidth,
    format_frequency,
    format_size,
    format_time,
    parse_bandwidth,
)
from simsched.files.yaml_reader import Document, FieldError, read_document, validate_document
from simsched.machine.model import (
    Controller,
    Link,
    Machine,
    MemoryNode,
    RuntimeCosts,
    cost_name,
)
from simsched.machine.resolve import resolve
from simsched.machine.schema import MachineFile, source_key, sourced_values
from simsched.machine.topology import FIRST_TOUCH_KINDS
from simsched.names.arguments import as_path, plain

STORAGE = "storage"  #: what an experiment sets to have files on a disk
#: Of which nobody knows more than its rate: larger than any workflow, with pages of a file system.
DISK = {"capacity": "1000000 TiB", "page": "4 KiB"}
DISK_LATENCY = "100 us"
BY_EXPERIMENT = {"experiment": {"kind": "assumed", "reference": "set by an experiment"}}


def list_machines() -> list[str]:
    """Return the names of the machines that ship with simsched, sorted.

    Returns
    -------
    list of str
        Names that :func:`load_machine` takes.
    """
    return list(shipped("machines"))


def load_machine(name_or_path: str | Path, changes: Mapping[str, Any] | None = None) -> Machine:
    """Return a machine.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a shipped machine, or a YAML file (a path that ends in ``.yaml`` or ``.yml``).
    changes : mapping of str to object, optional
        Other values than the file's, without sources, by their keys and positions from the top,
        joined by dots: ``memory.hbm.capacity``. Also ``storage``, the rate of a disk that takes the
        place of all memory: what tasks read and write lies there.

    Returns
    -------
    Machine
        Checked and complete, in bytes, seconds and hertz.

    Raises
    ------
    ConfigurationError
        When there is no such machine or its file is wrong; the message names file, line and key.
    """
    expect("machine: changes", changes, (Mapping, NoneType), "a mapping of keys to values")
    return _load(_find(name_or_path), plain(changes or {}))[2]


def machine_from(content: Mapping[str, Any], name: str) -> Machine:
    """Return the machine that the content of a file describes.

    Parameters
    ----------
    content : mapping of str to object
        As in a machine file that does not extend another one.
    name : str
        What the machine is called.

    Returns
    -------
    Machine
        Checked and complete, as from :func:`load_machine`.

    Raises
    ------
    ConfigurationError
        When the content is wrong.
    """
    return _resolved(Document(None, plain(content)), name)[1]


def check_machine(name_or_path: str | Path) -> list[str]:
    """Return warnings about a machine file: what is allowed but looks like a mistake.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a shipped machine, or a YAML file.

    Returns
    -------
    list of str
        One line each; empty for a file without any.

    Raises
    ------
    ConfigurationError
        When the file is wrong.
    """
    document, file, machine = _load(_find(name_or_path))
    return [
        *_unused_sources(document, file),
        *_unreachable_bandwidth(machine),
        *_idle_links(file, machine),
        *_odd_curves(machine),
        *_odd_latencies(machine),
        *_odd_kinds(document, file),
        *_odd_sizes(document, file),
        *_missing_costs(file),
    ]


def _find(name_or_path: str | Path) -> Path:
    path = as_path("machine", name_or_path, "a name, or the path of a .yaml file")
    if isinstance(name_or_path, Path) or path.suffix in {".yaml", ".yml"}:
        return path
    known = shipped("machines")
    if name_or_path not in known:
        message = unknown_name("machine", name_or_path, known)
        raise ConfigurationError(f"{message}, or the path of a .yaml file")
    return known[name_or_path]


def _load(
    path: Path, changes: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Document, MachineFile, Machine]:
    document = _read_extended(path, ())
    file, machine = _resolved(document, path.stem)
    if changes:
        try:
            if STORAGE in changes:
                document = _on_storage(document, machine, changes[STORAGE])
                file, machine = _resolved(document, path.stem)
            rest = {key: value for key, value in changes.items() if key != STORAGE}
            document = _changed(document, file, rest)
            file, machine = _resolved(document, path.stem)
        except ConfigurationError as error:
            raise ConfigurationError(f"machine {path.stem}: set: {error}") from error
    return document, file, machine


def _changed(document: Document, file: MachineFile, changes: Mapping[str, Any]) -> Document:
    """Return the content of a machine file with values that an experiment changes.

    >>> load_machine("knl_snc4_flat", {"memory.hbm.capacity": "8 GiB"}).nodes[4].capacity_bytes
    8589934592
    """
    known = {".".join(map(str, loc)): loc for loc, _ in sourced_values(file)}
    known_names = [*known, STORAGE]
    data = deepcopy(document.data)
    for key, value in changes.items():
        if key not in known:
            raise ConfigurationError(unknown_name("key", key, known_names))
        *way, last = known[key]
        holder = data
        for step in way:
            holder = holder[step]
        holder[last] = [value, "experiment"]
    data["sources"] = {**data["sources"], **BY_EXPERIMENT}
    return Document(None, data)


def _on_storage(document: Document, machine: Machine, rate: object) -> Document:
    """Return the content of a machine file with one disk, as far from all, in place of memory.

    >>> load_machine("knl_snc4_flat", {"storage": "500 MB/s"}).nodes[0].kind
    'STORAGE'
    """
    if machine.copies_data:
        raise ConfigurationError(
            f"{STORAGE}: found devices with memory of their own, accepted a machine whose "
            "processors use one memory"
        )
    try:
        parse_bandwidth(rate)
    except ValueError as error:
        raise ConfigurationError(f"{STORAGE}: {error}") from error
    given = [rate, "experiment"]
    disk = {"kind": STORAGE.upper(), "at": "machine", "bandwidth": given}
    disk |= {key: [value, "experiment"] for key, value in DISK.items()}
    path = {"latency": [DISK_LATENCY, "experiment"], "core_cap": given}
    data = {**document.data, "memory": {STORAGE: disk}, "paths": {STORAGE: path}}
    data.pop("controllers", None)
    data["sources"] = {**data["sources"], **BY_EXPERIMENT}
    return Document(None, data)


def _resolved(document: Document, name: str) -> tuple[MachineFile, Machine]:
    file = validate_document(document, MachineFile)
    try:
        return file, resolve(file, name)
    except FieldError as error:
        document.fail(error.loc, str(error))


def _read_extended(path: Path, below: tuple[Path, ...]) -> Document:
    """Return a file laid over the one it extends.

    Each top-level section of the file replaces that section of its base; only `sources` are merged,
    because the inherited sections still refer to the base's. Inherited kinds of cores that the
    file's own sockets do not use are left out.
    """
    document = read_document(path)
    if not isinstance(document.data, dict) or "extends" not in document.data:
        return document
    base_name = document.data.pop("extends")
    if not isinstance(base_name, str):
        document.fail(
            ("extends",), f"found {base_name!r}, accepted: a machine name or a .yaml file"
        )
    seen = (*below, path.resolve())
    try:
        base_path = _find(base_name)
    except ConfigurationError as error:
        document.fail(("extends",), str(error))
    if base_path.suffix and not base_path.is_absolute():
        base_path = path.parent / base_path
    if base_path.resolve() in seen:
        document.fail(
            ("extends",), f"found {base_name!r}, accepted: a machine that does not extend this one"
        )
    base = _read_extended(base_path, seen)
    if not isinstance(base.data, dict):
        base.fail((), "accepted: a mapping of keys to values")
    data = {**base.data, **document.data}
    kept = {
        loc: place
        for loc, place in base.places.items()
        if loc and (loc[0] == "sources" or loc[0] not in document.data)
    }
    sources = (base.data.get("sources"), document.data.get("sources"))
    if all(isinstance(part, dict) for part in sources):
        data["sources"] = {**base.data["sources"], **document.data["sources"]}
    if "sockets" in document.data and "cores" not in document.data:
        data["cores"] = _used_kinds(data.get("cores"), document.data["sockets"])
    if "caches" not in document.data:
        data["caches"] = _caches_of_kinds(data.get("caches", {}), data.get("cores"))
    return Document(path, data, {**kept, **document.places})


def _used_kinds(cores: Any, sockets: Any) -> Any:
    """Return the kinds of cores that some socket names; all if the sockets are malformed."""
    if not isinstance(cores, dict) or not isinstance(sockets, list):
        return cores
    named = [group.get("cores") for group in sockets if isinstance(group, dict)]
    used = {kind for kinds in named if isinstance(kinds, dict) for kind in kinds}
    return {kind: value for kind, value in cores.items() if kind in used} or cores


def _caches_of_kinds(caches: Any, cores: Any) -> Any:
    """Return inherited caches without what they have for kinds of cores that are not there."""
    if not isinstance(caches, dict) or not isinstance(cores, dict):
        return caches
    kept = {}
    for name, level in caches.items():
        others = level.get("cores") if isinstance(level, dict) else None
        if isinstance(others, dict):
            there = {kind: value for kind, value in others.items() if kind in cores}
            kept[name] = {**level, "cores": there}
        else:
            kept[name] = level
    return kept


def _unused_sources(document: Document, file: MachineFile) -> Iterator[str]:
    used = {source_key(item.source) for _, item in sourced_values(file)}
    for key in file.sources:
        place = document.places[("sources", key)]
        if key not in used and place[0] == document.path:
            yield f"{place[0]}:{place[1]}: sources.{key}: not used by any value"


def _unreachable_bandwidth(machine: Machine) -> Iterator[str]:
    modules = [
        len(np.unique(machine.core_module[machine.core_domain == domain]))
        for domain in range(machine.n_domains)
    ]
    for index, node in enumerate(machine.nodes):
        reach = math.fsum(
            count * max(machine.paths[domain][index].core_cap_bytes_per_s)
            for domain, count in enumerate(modules)
        )
        if reach < node.bandwidth_bytes_per_s:
            yield (
                f"{machine.name}: {node.name}: all cores together draw {format_bandwidth(reach)},"
                f" less than its {format_bandwidth(node.bandwidth_bytes_per_s)}"
            )


def _idle_links(file: MachineFile, machine: Machine) -> Iterator[str]:
    crossed = {link for row in machine.paths for path in row for link, _ in path.link_loads}
    for index, link in enumerate(machine.links):
        spec = file.links.get(link.name)
        if spec is not None and spec.crossed_by == "listed" and index not in crossed:
            yield f"{machine.name}: {link.name}: no rule of paths lists this link"


def _odd_curves(machine: Machine) -> Iterator[str]:
    """Warn of a bandwidth that is none of those by the number of flows."""
    things: list[MemoryNode | Link | Controller]
    things = [*machine.nodes, *machine.links, *machine.controllers]
    for thing in things:
        curve, rate = thing.bandwidth_curve, thing.bandwidth_bytes_per_s
        if curve and not min(curve) <= rate * (1 + 1e-9) <= max(curve) * (1 + 1e-6):
            yield (
                f"{machine.name}: {thing.name}: bandwidth {format_bandwidth(rate)} is outside "
                f"bandwidth_by_flows, {format_bandwidth(min(curve))} to "
                f"{format_bandwidth(max(curve))}"
            )


def _odd_latencies(machine: Machine) -> Iterator[str]:
    for inner, outer in pairwise(machine.caches):
        if any(
            outer.instance(far).latency_ps < inner.instance(near).latency_ps
            and outer.instance(far).capacity_bytes > 0
            for near, far in sorted(
                set(zip(inner.core_instance.tolist(), outer.core_instance.tolist(), strict=True))
            )
        ):
            yield f"{machine.name}: cache {outer.name} answers sooner than {inner.name} inside it"
    odd = list(_nearer_than_own(machine))
    if odd:
        more = f" (and {len(odd) - 1} more paths)" if len(odd) > 1 else ""
        yield f"{machine.name}: {odd[0]}{more}"


def _nearer_than_own(machine: Machine) -> Iterator[str]:
    """Say of which nodes of other domains the latency is less than of a domain's own."""
    for domain, row in enumerate(machine.paths):
        for node, path in zip(machine.nodes, row, strict=True):
            if node.domain is None or node.domain == domain:
                continue
            own = [
                mine.latency_ps
                for near, mine in zip(machine.nodes, row, strict=True)
                if near.domain == domain and near.kind == node.kind
            ]
            if own and path.latency_ps < min(own):
                yield (
                    f"domain {domain} reaches {node.name} in {format_time(path.latency_ps)},"
                    f" its own {node.kind} in {format_time(min(own))}"
                )


#: Memory of these kinds that is slower is out of the ordinary.
ODD_NODE_BYTES_PER_S = 0.5e9
_RATES = (1e5, 1e14, format_bandwidth, "from a slow link to all stacks of a large device")
_TIMES = (50, PS_PER_S // 10, format_time, "from less than a cycle to a network of continents")
#: What values of a name lie between, how they are written, and why.
PLAUSIBLE: dict[str, tuple[float, float, Callable[[Any], str], str]] = {
    "clock": (1e7, 8e9, format_frequency, "from a microcontroller to more than any core has"),
    **dict.fromkeys(("bandwidth", "peak_bandwidth", "transfer_bandwidth"), _RATES),
    **dict.fromkeys(("core_cap", "thread_cap", "write_core_cap"), _RATES),
    **dict.fromkeys(("latency", "write_latency"), _TIMES),
    "capacity": (64, 2**50, format_size, "from a line of a cache to 1 PiB"),
}


def _odd_sizes(document: Document, file: MachineFile) -> Iterator[str]:
    """Warn of values that are likely to be in another unit."""
    for loc, item in sourced_values(file):
        if loc[-1] not in PLAUSIBLE:
            continue
        low, high, text, why = PLAUSIBLE[str(loc[-1])]
        for value in np.ravel([] if item.value is None else item.value).tolist():
            if value and math.isfinite(value) and not low <= value <= high:
                found = f"found {text(value)}, plausible: {text(low)} to {text(high)}, {why}"
                yield document.located(loc, found)
    for name, memory in file.memory.items():
        rate = memory.bandwidth.value
        if memory.kind in ("DRAM", "HBM") and rate < ODD_NODE_BYTES_PER_S:
            found = f"found {format_bandwidth(rate)}, less than any {memory.kind} has"
            yield document.located(("memory", name, "bandwidth"), found)


def _odd_kinds(document: Document, file: MachineFile) -> Iterator[str]:
    """Warn of kinds of memory that look like one that placements ask for."""
    for name, memory in file.memory.items():
        meant = nearest(memory.kind, FIRST_TOUCH_KINDS)
        if meant is not None and memory.kind not in FIRST_TOUCH_KINDS:
            found = f"found {memory.kind!r}, a kind of its own; did you mean {meant!r}?"
            yield document.located(("memory", name, "kind"), found)


#: costs that are not missed: timings of kernels usually include a launch, the others are for
#: machines whose data are copied
OF_DEVICES = (
    "kernel_launch",
    "driver_look",
    "copy_hand_over",
    "device_allocation",
    "device_chunk",
)


def _missing_costs(file: MachineFile) -> Iterator[str]:
    names = [cost_name(item.name) for item in fields(RuntimeCosts)]
    zero = [name for name in names if getattr(file.costs, name) is None]
    if missing := [name for name in zero if name not in OF_DEVICES]:
        yield f"costs: taken as zero: {', '.join(missing)}"
