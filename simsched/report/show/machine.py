"""What there is to say about a machine, every number with its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import count, pairwise

import numpy as np

from simsched.files.units import format_bandwidth, format_size, format_time
from simsched.machine.caches import CacheLevel
from simsched.machine.model import Machine, MemoryNode, Path, cost_name, entry_of
from simsched.machine.resolve import path_source_key
from simsched.report.description import Description, Fact, Row

#: Label, value, and the keys of its sources where they are not that of the label.
Line = tuple[str, str] | tuple[str, str, str]


def machine_description(machine: Machine) -> Description:
    """Return cores, domains, caches, memory, links, paths, costs, and references of the sources."""
    references = [
        Fact(f"{key.removeprefix('sources.')} = {text}")
        for key, text in machine.sources.items()
        if key.startswith("sources.")
    ]
    parts = {
        "cores": _cores(machine),
        "domains": _domains(machine),
        "caches": [_cache(machine, level) for level in machine.caches],
        "memory": _memory(machine),
        "controllers": _controllers(machine),
        "links": _links(machine),
        "paths": _paths(machine),
        "costs": _costs(machine),
        "kernels, per operation": _kernels(machine),
        "timings of codelets": _timings(machine),
        "sources": references,
    }
    trees = [Fact(label, below=below) for label, below in parts.items() if below]
    return Description(
        machine.name,
        machine.description,
        [*_totals(machine), *trees],
        drawing=partial(_drawing, machine),
        data=_data(machine),
    )


def _drawing(machine: Machine) -> str:
    from simsched.machine.draw import machine_svg  # with matplotlib, which takes half a second

    return machine_svg(machine)


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers with runs shortened.

    >>> ranges([0, 1, 2, 5])
    '0-2, 5'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _fact(machine: Machine, label: str, value: str, *keys: str) -> Fact:
    """Return a value with the sources found under the keys."""
    found = dict.fromkeys(machine.sources[key] for key in keys if key in machine.sources)
    return Fact(label, value, "; ".join(found))


def _facts(machine: Machine, where: str, *lines: Line) -> list[Fact]:
    """Return values of one part of the file; those without a text are left out."""
    return [
        _fact(machine, label, value, f"{where}.{(key or [label.replace(' ', '_')])[0]}")
        for label, value, *key in lines
        if value
    ]


def _totals(machine: Machine) -> Iterator[Fact]:
    """Yield how much of each a machine has."""
    counts = {
        "socket": machine.n_sockets,
        "NUMA domain": machine.n_domains,
        "core": machine.n_cores,
        "hardware thread": machine.n_threads,
        "memory node": len(machine.nodes),
    }
    yield Fact("processors", ", ".join(_counted(count, noun) for noun, count in counts.items()))
    for kind in dict.fromkeys(node.kind for node in machine.nodes):
        nodes = [node for node in machine.nodes if node.kind == kind]
        capacity = format_size(sum(node.capacity_bytes for node in nodes))
        bandwidth = format_bandwidth(sum(node.bandwidth_bytes_per_s for node in nodes))
        yield Fact(kind, f"{_counted(len(nodes), 'node')}, {capacity}, {bandwidth}")
    if machine.copies_data:
        yield Fact("data", "copied to the memory of the processor that uses them")
        how = "in inverse proportion to their latency" if machine.shares_by_latency else "equally"
        yield Fact("links", f"shared by copies {how}")


def _cores(machine: Machine) -> list[Fact]:
    found = []
    for index, group in enumerate(machine.core_groups):
        count = int(np.count_nonzero(machine.core_group == index))
        ways = len(group.smt_throughput)
        threads = f", {ways} hardware threads each" if ways > 1 else ""
        where = f"cores.{group.name}"
        speed = f"{group.ops_per_s / 1e9:g} G operations/s"
        below = [_fact(machine, "speed", speed, f"{where}.clock", f"{where}.ops_per_cycle")]
        if ways > 1:
            label = "throughput with 1, 2, ... busy threads"
            throughput = ", ".join(f"{value:g}" for value in group.smt_throughput)
            below += _facts(machine, where, (label, throughput, "smt_throughput"))
        if group.module_cores > 1:
            below += _facts(
                machine, where, ("cores that draw together", f"{group.module_cores}", "module")
            )
        title = f"{group.name} ({group.kind}): {_counted(count, 'core')}{threads}"
        found.append(Fact(title, below=below))
    return found


def _domains(machine: Machine) -> list[Fact]:
    """Return one line per run of equal domains."""
    kinds: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for domain in range(machine.n_domains):
        groups = machine.core_group[machine.core_domain == domain].tolist()
        counts = tuple((group, groups.count(group)) for group in sorted(set(groups)))
        kinds.setdefault(counts, []).append(domain)
    keys = [key for key in machine.sources if key.startswith("sockets[")]
    found = []
    for counts, domains in kinds.items():
        cores = ", ".join(f"{count} {machine.core_groups[group].name}" for group, count in counts)
        sockets = sorted({int(machine.domain_socket[domain]) for domain in domains})
        text = f"{ranges(domains)} on socket {ranges(sockets)}: {cores} cores each"
        found.append(_fact(machine, "domain", text, *keys))
    if machine.n_domains > 1:
        far = int(machine.domain_hops.max())
        found.append(_fact(machine, "hops between domains: at most", str(far), "hops"))
    return found


def _cache(machine: Machine, level: CacheLevel) -> Fact:
    where = f"caches.{level.name}"
    lines: list[Line] = [
        ("capacity", format_size(level.capacity_bytes)),
        ("bandwidth", f"{format_bandwidth(level.bandwidth_bytes_per_s)} per core"),
        ("latency", format_time(level.latency_ps)),
        ("shared by", _counted(level.shared_by, "core")),
        ("filled by", level.filled_by if level.filled_by != "misses" else ""),
        ("counted per line", f"{level.counted_per_line:g}" * (level.counted_per_line != 1.0)),
        ("overlap", f"{level.overlap:g}" * (level.overlap < 1.0)),
        ("effective", _sizes(level.effective_capacities_bytes), "effective_capacities"),
    ]
    rates: list[Line] = [
        (f"{name} bandwidth", format_bandwidth(rate))
        for name, rate in (
            ("transfer", level.transfer_bandwidth_bytes_per_s),
            ("displacement", level.displacement_bandwidth_bytes_per_s),
            ("upgrade", level.upgrade_bandwidth_bytes_per_s),
        )
        if rate > 0.0
    ]
    others = [_other_cache(machine, level, *item) for item in machine.other_caches(level).items()]
    instances = _counted(int(level.core_instance.max()) + 1, "instance")
    below = [*_facts(machine, where, *lines), *others, *_facts(machine, where, *rates)]
    return Fact(f"{level.name}: {instances}", below=below)


def _other_cache(machine: Machine, level: CacheLevel, kind: str, number: int) -> Fact:
    """Return what a level has for a kind of core that has something else there."""
    cache, where = level.differing[number], f"caches.{level.name}.cores.{kind}"
    if cache.capacity_bytes == 0:
        return Fact(f"of {kind} cores", below=_facts(machine, where, ("capacity", "none")))
    below = _facts(
        machine,
        where,
        ("capacity", format_size(cache.capacity_bytes)),
        ("bandwidth", f"{format_bandwidth(cache.bandwidth_bytes_per_s)} per core"),
        ("latency", format_time(cache.latency_ps)),
        ("shared by", _counted(int(np.count_nonzero(level.core_instance == number)), "core")),
        ("effective", _sizes(cache.effective_capacities_bytes), "effective_capacities"),
    )
    return Fact(f"of {kind} cores", below=[fact for fact in below if fact.source])


def _memory(machine: Machine) -> list[Fact]:
    entries: dict[str, list[int]] = {}
    for index, node in enumerate(machine.nodes):
        entries.setdefault(entry_of(node), []).append(index)
    found = []
    for entry, indices in entries.items():
        node = machine.nodes[indices[0]]
        number = "node" if len(indices) == 1 else "nodes"
        place = "of the whole machine" if node.domain is None else "one in each domain"
        if node.domain is not None and len(indices) < machine.n_domains:
            place = f"in domain {ranges(machine.nodes[index].domain or 0 for index in indices)}"
        title = f"{entry} ({node.kind}): {number} {ranges(indices)}, {place}"
        found.append(Fact(title, below=_node(machine, f"memory.{entry}", node)))
    return found


def _node(machine: Machine, where: str, node: MemoryNode) -> list[Fact]:
    peak = node.peak_bandwidth_bytes_per_s
    found = _facts(
        machine,
        where,
        ("capacity", format_size(node.capacity_bytes)),
        ("bandwidth", format_bandwidth(node.bandwidth_bytes_per_s)),
        ("peak bandwidth", format_bandwidth(peak) * (peak != node.bandwidth_bytes_per_s)),
        ("bandwidth by flows", _curve(node.bandwidth_curve)),
        ("latency under load", _growth(node), "latency_under_load"),
        ("page", format_size(node.page_bytes)),
    )
    if (cache := node.memory_side_cache) is None:
        return found
    below = _facts(
        machine,
        f"{where}.cache",
        ("capacity", format_size(cache.capacity_bytes)),
        ("granule", format_size(cache.granule_bytes)),
        ("bandwidth", format_bandwidth(cache.bandwidth_bytes_per_s)),
        ("latency of a hit", format_time(cache.hit_latency_ps), "hit_latency"),
        ("latency of a miss", format_time(cache.miss_latency_ps), "miss_latency"),
    )
    return [*found, Fact(f"direct-mapped cache in front, {cache.mapping} mapping", below=below)]


def _growth(node: MemoryNode) -> str:
    """Return how latencies grow with the share of the bandwidth that is in use."""
    slope, bend = node.latency_under_load or (0.0, 0.0)
    return f"1 + {slope:g} u / (1 - {bend:g} u) times the idle one" * (slope > 0.0)


def _controllers(machine: Machine) -> list[Fact]:
    """Return the controllers that several nodes share."""
    found = []
    for index, controller in enumerate(machine.controllers):
        behind = [node.name for node in machine.nodes if node.controller == index]
        where, peak = f"controllers.{controller.name}", controller.peak_bandwidth_bytes_per_s
        below = _facts(
            machine,
            where,
            ("bandwidth", format_bandwidth(controller.bandwidth_bytes_per_s)),
            ("peak bandwidth", format_bandwidth(peak) * (peak > 0)),
            ("bandwidth by flows", _curve(controller.bandwidth_curve)),
        )
        found.append(Fact(f"{controller.name}: of {', '.join(behind)}", below=below))
    return found


def _curve(rates: Sequence[float]) -> str:
    """Return the points of a curve between which it is straight.

    >>> _curve([4e9, 4e9, 3e9, 2e9])
    '2: 4 GB/s, 4: 2 GB/s'
    """
    most = max(rates, default=0.0)
    slopes = [0.0, *(after - before for before, after in pairwise(rates)), 0.0]
    bends = [abs(after - before) > 1e-6 * most for before, after in pairwise(slopes)]
    if not any(bends):
        bends[0] = True
    points = zip(count(1), rates, bends, strict=False)
    return ", ".join(f"{n}: {format_bandwidth(rate)}" for n, rate, bend in points if bend)


def _bandwidths(values: Iterable[float]) -> str:
    return ", ".join(map(format_bandwidth, values))


def _sizes(values: Iterable[int]) -> str:
    return ", ".join(map(format_size, values))


def _links(machine: Machine) -> list[Fact]:
    """Return one line per file entry; its links are named after it and the domains they join."""
    entries: dict[tuple[str, float], list[str]] = {}
    for link in machine.links:
        entry = link.name.rstrip("0123456789").rstrip(">-").rstrip("0123456789")
        entries.setdefault((entry, link.bandwidth_bytes_per_s), []).append(link.name)
    found = []
    for (entry, bandwidth), names in entries.items():
        where, each = f"links.{entry}", format_bandwidth(bandwidth) + " each" * (len(names) > 1)
        label = entry if names == [entry] else f"{entry} ({', '.join(names)})"
        keys = f"{where}.bandwidth", f"{where}.connects"
        found.append(_fact(machine, f"{label}:", each, *keys))
    return found


def _paths(machine: Machine) -> list[Fact]:
    """Return one entry per group of equal paths to the nodes of one entry over the same hops."""
    groups: dict[tuple[str, int, Path], list[tuple[int, int]]] = {}
    for domain, row in enumerate(machine.paths):
        for index, path in enumerate(row):
            node = machine.nodes[index]
            home = domain if node.domain is None else node.domain
            hops = int(machine.domain_hops[domain, home])
            messages = round(sum(load for _, load in path.message_loads), 9)
            like = replace(path, links=(0,) * len(path.links), message_loads=((0, messages),))
            groups.setdefault((entry_of(node), hops, like), []).append((domain, index))
    found = []
    for (entry, hops, path), pairs in sorted(groups.items(), key=lambda item: item[1][0][::-1]):
        domain, index = pairs[0]
        crossed = f", crossing {_counted(len(path.links), 'link')}" if path.links else ""
        title = f"to {entry}, {_counted(hops, 'hop')}{crossed} ({_counted(len(pairs), 'path')})"
        where = path_source_key(domain, machine.nodes[index].name, "").removesuffix(".")
        found.append(Fact(title, below=_path(machine, where, path)))
    return found


def _path(machine: Machine, where: str, path: Path) -> list[Fact]:
    slow, caps = path.write_latency_ps, path.write_core_cap_bytes_per_s
    weight, caps_of = path.write_node_weight, enumerate(path.core_cap_bytes_per_s, 1)
    by_thread = dict.fromkeys(format_bandwidth(cap / busy) for busy, cap in caps_of)
    each = ", ".join(by_thread) * (f"{where}.thread_cap" in machine.sources)
    found = _facts(
        machine,
        where,
        ("latency", format_time(path.latency_ps)),
        ("a core draws at most", _bandwidths(path.core_cap_bytes_per_s) * (not each), "core_cap"),
        ("a thread draws at most", each, "thread_cap"),
        ("load per byte on the controller", f"{path.node_weight:g}", "node_weight"),
        ("latency of writes", "" if slow is None else format_time(slow), "write_latency"),
        ("a core writes at most", _bandwidths(caps or ()), "write_core_cap"),
        ("load per written byte", f"{weight:g}" if weight else "", "write_weight"),
    )
    if messages := path.message_loads[0][1]:
        keys = [key for key in machine.sources if key.startswith("links.") and ".snooping" in key]
        label = "bytes of messages per byte of data, all links together"
        found.append(_fact(machine, label, f"{messages:.4g}", *keys))
    return found


def _costs(machine: Machine) -> list[Fact]:
    found, zero = [], []
    for item in fields(machine.costs):
        name = cost_name(item.name)
        value = getattr(machine.costs, item.name)
        times = value if isinstance(value, tuple) else (value,)
        if not any(times) and f"costs.{name}" not in machine.sources:
            zero.append(name)
            continue
        form = format_size if item.name.endswith("_bytes") else format_time
        found.append(_fact(machine, name, ", ".join(map(form, times)), f"costs.{name}"))
    return [*found, Fact(f"zero: {', '.join(zero)}")] if zero else found


def _kernels(machine: Machine) -> list[Fact]:
    found = []
    for kernel, times in machine.kernels.items():
        for kind, time in times.items():
            points = zip(time.data_bytes, time.seconds, strict=True)
            texts = [(format_size(size), f"{seconds * 1e9:.4g} ns") for size, seconds in points]
            text = ", ".join(f"{text} for {size}" for size, text in texts)
            text = texts[0][1] if len(texts) == 1 else text
            found.append(_fact(machine, f"{kernel} on {kind}", text, f"kernels.{kernel}.{kind}"))
        if kernel in machine.exposures:
            text = f"{machine.exposures[kernel]:g}"
            found.append(_fact(machine, f"{kernel}: exposure", text, f"exposures.{kernel}"))
    return found


def _timings(machine: Machine) -> list[Fact]:
    found = []
    for codelet, times in machine.timings.items():
        sizes = sorted({size for by_size in times.values() for size in by_size})
        found.append(Fact(f"{codelet} on {', '.join(times)}: {', '.join(map(str, sizes))} bytes"))
    return found


def _data(machine: Machine) -> Row:
    """Return what programs read: cores, domains, caches, memory nodes."""
    groups = np.bincount(machine.core_group, minlength=len(machine.core_groups)).tolist()
    return {
        "name": machine.name,
        "description": machine.description,
        "sockets": machine.n_sockets,
        "domains": machine.n_domains,
        "cores": machine.n_cores,
        "threads": machine.n_threads,
        "core_groups": [
            {
                "name": group.name,
                "processor": group.kind,
                "cores": count,
                "ops_per_s": group.ops_per_s,
                "smt_throughput": list(group.smt_throughput),
                "module_cores": group.module_cores,
            }
            for group, count in zip(machine.core_groups, groups, strict=True)
        ],
        "caches": [_cache_data(machine, level) for level in machine.caches],
        "nodes": [
            _values(node, "name kind domain capacity_bytes bandwidth_bytes_per_s page_bytes")
            for node in machine.nodes
        ],
        "links": [_values(link, "name bandwidth_bytes_per_s") for link in machine.links],
        "sources": dict(machine.sources),
    }


def _cache_data(machine: Machine, level: CacheLevel) -> Row:
    kept = "capacity_bytes bandwidth_bytes_per_s latency_ps effective_capacities_bytes shared_by"
    return {
        "name": level.name,
        "instances": len(np.unique(level.core_instance)),
        **_values(level, kept),
        "cores": {
            kind: {
                **asdict(level.differing[number]),
                "shared_by": int(np.count_nonzero(level.core_instance == number)),
            }
            for kind, number in machine.other_caches(level).items()
        },
    }


def _values(thing: object, names: str) -> Row:
    """Return some attributes by name."""
    return {name: getattr(thing, name) for name in names.split()}
