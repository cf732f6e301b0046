"""A machine as text for the terminal, every number with its source, and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from io import StringIO

import numpy as np
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from simsched.files.units import format_bandwidth, format_size, format_time
from simsched.machine.caches import CacheLevel
from simsched.machine.draw import draw_machine, machine_svg
from simsched.machine.model import Machine, MemoryNode, Path, cost_name
from simsched.machine.resolve import path_source_key
from simsched.names.markup import facts

__all__ = ["describe_machine", "draw_machine", "machine_html"]


def machine_html(machine: Machine) -> str:
    """Return a machine for notebooks: its sizes and a drawing."""
    kinds = dict.fromkeys(node.kind for node in machine.nodes)
    rows = [
        ("processors", ", ".join(_sizes(machine))),
        *(
            (kind, _memory_of([node for node in machine.nodes if node.kind == kind]))
            for kind in kinds
        ),
    ]
    return facts(machine.name, rows, machine.description) + machine_svg(machine)


def _memory_of(nodes: list[MemoryNode]) -> str:
    """Return what the memory nodes of a kind have together."""
    capacity = format_size(sum(node.capacity_bytes for node in nodes))
    bandwidth = format_bandwidth(sum(node.bandwidth_bytes_per_s for node in nodes))
    return f"{_counted(len(nodes), 'node')}, {capacity}, {bandwidth}"


def _sizes(machine: Machine) -> list[str]:
    """Return how many of each a machine has."""
    return [
        _counted(machine.n_sockets, "socket"),
        _counted(machine.n_domains, "NUMA domain"),
        _counted(machine.n_cores, "core"),
        _counted(machine.n_threads, "hardware thread"),
        _counted(len(machine.nodes), "memory node"),
    ]


def describe_machine(machine: Machine, width: int = 120) -> str:
    """Return a machine as a tree of text.

    Parameters
    ----------
    machine : Machine
        The machine.
    width : int
        Columns; longer lines are wrapped.

    Returns
    -------
    str
        Cores, domains, caches, memory, links, paths and costs; the source of a number follows it in
        brackets, and the references of the sources come last.
    """
    tree = Tree(Text(f"{machine.name}: {machine.description}"))
    tree.add(", ".join(_sizes(machine)))
    if machine.copies_data:
        tree.add("data: copied to the memory of the processor that uses them")
        how = "in inverse proportion to their latency" if machine.shares_by_latency else "equally"
        tree.add(f"copies share links {how}")
    _add_cores(tree.add("cores"), machine)
    _add_domains(tree.add("domains"), machine)
    if machine.caches:
        branch = tree.add("caches")
        for level in machine.caches:
            _add_cache(branch, machine, level)
    _add_memory(tree.add("memory"), machine)
    if machine.links:
        _add_links(tree.add("links"), machine)
    _add_paths(tree.add("paths"), machine)
    _add_costs(tree.add("costs"), machine)
    if machine.kernels:
        _add_kernels(tree.add("kernels, per operation"), machine)
    if machine.timings:
        _add_timings(tree.add("timings of codelets"), machine)
    references = {key: text for key, text in machine.sources.items() if key.startswith("sources.")}
    if references:
        branch = tree.add("sources")
        for key, text in references.items():
            branch.add(Text(f"{key.removeprefix('sources.')} = {text}"))
    console = Console(file=StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(tree)
    return capture.get()


def memory_entry(node: MemoryNode) -> str:
    """Return the name of the file's entry that a node was made from.

    Examples
    --------
    >>> memory_entry(MemoryNode("dram3", "DRAM", 1, 1.0, 1.0, domain=3))
    'dram'
    """
    return node.name if node.domain is None else node.name.removesuffix(str(node.domain))


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers with runs shortened.

    Examples
    --------
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


def _add_value(branch: Tree, machine: Machine, label: str, value: str, *keys: str) -> None:
    """Add a line with a value and the sources found under the keys."""
    found = dict.fromkeys(machine.sources[key] for key in keys if key in machine.sources)
    brackets = f"  [{'; '.join(found)}]" if found else ""
    branch.add(Text(f"{label} {value}{brackets}"))


def _add_cores(branch: Tree, machine: Machine) -> None:
    for index, group in enumerate(machine.core_groups):
        count = int(np.count_nonzero(machine.core_group == index))
        ways = len(group.smt_throughput)
        threads = f", {ways} hardware threads each" if ways > 1 else ""
        below = branch.add(Text(f"{group.name} ({group.kind}): {_counted(count, 'core')}{threads}"))
        where = f"cores.{group.name}"
        speed = f"{group.ops_per_s / 1e9:g} G operations/s"
        _add_value(below, machine, "speed", speed, f"{where}.clock", f"{where}.ops_per_cycle")
        if ways > 1:
            throughput = ", ".join(f"{value:g}" for value in group.smt_throughput)
            label = "throughput with 1, 2, ... busy threads"
            _add_value(below, machine, label, throughput, f"{where}.smt_throughput")


def _add_domains(branch: Tree, machine: Machine) -> None:
    """Add one line per run of equal domains."""
    kinds: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for domain in range(machine.n_domains):
        groups = machine.core_group[machine.core_domain == domain]
        counts = tuple(
            (group, groups.tolist().count(group)) for group in sorted(set(groups.tolist()))
        )
        kinds.setdefault(counts, []).append(domain)
    for counts, domains in kinds.items():
        cores = ", ".join(f"{count} {machine.core_groups[group].name}" for group, count in counts)
        sockets = sorted({int(machine.domain_socket[domain]) for domain in domains})
        text = f"{ranges(domains)} on socket {ranges(sockets)}: {cores} cores each"
        _add_value(branch, machine, "domain", text, *_keys_under(machine, "sockets["))
    if machine.n_domains > 1:
        far = int(machine.domain_hops.max())
        _add_value(branch, machine, "hops between domains: at most", str(far), "hops")


def _keys_under(machine: Machine, prefix: str) -> list[str]:
    return [key for key in machine.sources if key.startswith(prefix)]


def _add_cache(branch: Tree, machine: Machine, level: CacheLevel) -> None:
    share = level.shared_by
    instances = int(level.core_instance.max()) + 1
    where = f"caches.{level.name}"
    below = branch.add(Text(f"{level.name}: {_counted(instances, 'instance')}"))
    _add_value(below, machine, "capacity", format_size(level.capacity_bytes), f"{where}.capacity")
    bandwidth = f"{format_bandwidth(level.bandwidth_bytes_per_s)} per core"
    _add_value(below, machine, "bandwidth", bandwidth, f"{where}.bandwidth")
    _add_value(below, machine, "latency", format_time(level.latency_ps), f"{where}.latency")
    _add_value(below, machine, "shared by", _counted(share, "core"), f"{where}.shared_by")
    if level.filled_by != "misses":
        _add_value(below, machine, "filled by", level.filled_by, f"{where}.filled_by")
    if level.counted_per_line != 1.0:
        counted = f"{level.counted_per_line:g}"
        _add_value(below, machine, "counted per line", counted, f"{where}.counted_per_line")
    if level.overlap < 1.0:
        _add_value(below, machine, "overlap", f"{level.overlap:g}", f"{where}.overlap")
    if level.effective_capacities_bytes:
        sizes = ", ".join(map(format_size, level.effective_capacities_bytes))
        _add_value(below, machine, "effective", sizes, f"{where}.effective_capacities")
    _add_other_caches(below, machine, level)
    for name, rate in (
        ("transfer", level.transfer_bandwidth_bytes_per_s),
        ("displacement", level.displacement_bandwidth_bytes_per_s),
        ("upgrade", level.upgrade_bandwidth_bytes_per_s),
    ):
        if rate > 0.0:
            key = f"{where}.{name}_bandwidth"
            _add_value(below, machine, f"{name} bandwidth", format_bandwidth(rate), key)


def _add_other_caches(branch: Tree, machine: Machine, level: CacheLevel) -> None:
    """Add what a level has for kinds of core that have something else there."""
    for kind, number in machine.other_caches(level).items():
        cache, where = level.differing[number], f"caches.{level.name}.cores.{kind}"
        cores = np.count_nonzero(level.core_instance == number)
        below = branch.add(Text(f"of {kind} cores"))
        bandwidth = f"{format_bandwidth(cache.bandwidth_bytes_per_s)} per core"
        effective = ", ".join(map(format_size, cache.effective_capacities_bytes))
        for name, text, key in (
            ("capacity", format_size(cache.capacity_bytes), "capacity"),
            ("bandwidth", bandwidth, "bandwidth"),
            ("latency", format_time(cache.latency_ps), "latency"),
            ("shared by", _counted(int(cores), "core"), "shared_by"),
            ("effective", effective, "effective_capacities"),
        ):
            if f"{where}.{key}" in machine.sources:
                _add_value(below, machine, name, text, f"{where}.{key}")


def _add_memory(branch: Tree, machine: Machine) -> None:
    entries: dict[str, list[int]] = {}
    for index, node in enumerate(machine.nodes):
        entries.setdefault(memory_entry(node), []).append(index)
    for entry, indices in entries.items():
        node = machine.nodes[indices[0]]
        number = "node" if len(indices) == 1 else "nodes"
        place = "of the whole machine" if node.domain is None else "one in each domain"
        if node.domain is not None and len(indices) < machine.n_domains:
            place = f"in domain {ranges(machine.nodes[index].domain or 0 for index in indices)}"
        below = branch.add(Text(f"{entry} ({node.kind}): {number} {ranges(indices)}, {place}"))
        _add_node(below, machine, f"memory.{entry}", node)


def _add_node(branch: Tree, machine: Machine, where: str, node: MemoryNode) -> None:
    _add_value(branch, machine, "capacity", format_size(node.capacity_bytes), f"{where}.capacity")
    bandwidth = format_bandwidth(node.bandwidth_bytes_per_s)
    _add_value(branch, machine, "bandwidth", bandwidth, f"{where}.bandwidth")
    if node.peak_bandwidth_bytes_per_s != node.bandwidth_bytes_per_s:
        peak = format_bandwidth(node.peak_bandwidth_bytes_per_s)
        _add_value(branch, machine, "peak bandwidth", peak, f"{where}.peak_bandwidth")
    if node.bandwidth_curve:
        curve = _bandwidths(node.bandwidth_curve)
        label = "bandwidth with 1, 2, ... flows"
        _add_value(branch, machine, label, curve, f"{where}.bandwidth_by_flows")
    _add_value(branch, machine, "page", format_size(node.page_bytes), f"{where}.page")
    cache = node.memory_side_cache
    if cache is None:
        return
    below = branch.add(Text(f"direct-mapped cache in front, {cache.mapping} mapping"))
    where = f"{where}.cache"
    _add_value(below, machine, "capacity", format_size(cache.capacity_bytes), f"{where}.capacity")
    _add_value(below, machine, "granule", format_size(cache.granule_bytes), f"{where}.granule")
    bandwidth = format_bandwidth(cache.bandwidth_bytes_per_s)
    _add_value(below, machine, "bandwidth", bandwidth, f"{where}.bandwidth")
    hit, miss = format_time(cache.hit_latency_ps), format_time(cache.miss_latency_ps)
    _add_value(below, machine, "latency of a hit", hit, f"{where}.hit_latency")
    _add_value(below, machine, "latency of a miss", miss, f"{where}.miss_latency")


def _bandwidths(values: tuple[float, ...]) -> str:
    return ", ".join(format_bandwidth(value) for value in values)


def _add_links(branch: Tree, machine: Machine) -> None:
    """Add one line per file entry; its links are named after it and the domains they join."""
    entries: dict[tuple[str, float], list[str]] = {}
    for link in machine.links:
        entry = link.name.rstrip("0123456789").rstrip(">-").rstrip("0123456789")
        entries.setdefault((entry, link.bandwidth_bytes_per_s), []).append(link.name)
    for (entry, bandwidth), names in entries.items():
        where = f"links.{entry}"
        each = (
            f"{format_bandwidth(bandwidth)} each" if len(names) > 1 else format_bandwidth(bandwidth)
        )
        label = entry if names == [entry] else f"{entry} ({', '.join(names)})"
        _add_value(branch, machine, f"{label}:", each, f"{where}.bandwidth", f"{where}.connects")


def _add_paths(branch: Tree, machine: Machine) -> None:
    """Add one entry per group of equal paths to the nodes of one entry over the same hops."""
    groups: dict[tuple[str, int, Path], list[tuple[int, int]]] = {}
    for domain, row in enumerate(machine.paths):
        for index, path in enumerate(row):
            node = machine.nodes[index]
            home = domain if node.domain is None else node.domain
            hops = int(machine.domain_hops[domain, home])
            messages = round(sum(load for _, load in path.message_loads), 9)
            like = replace(path, links=(0,) * len(path.links), message_loads=((0, messages),))
            groups.setdefault((memory_entry(node), hops, like), []).append((domain, index))
    for (entry, hops, path), pairs in sorted(groups.items(), key=lambda item: item[1][0][::-1]):
        domain, index = pairs[0]
        node_name = machine.nodes[index].name
        crossed = f", crossing {_counted(len(path.links), 'link')}" if path.links else ""
        title = f"to {entry}, {_counted(hops, 'hop')}{crossed} ({_counted(len(pairs), 'path')})"
        below = branch.add(Text(title))
        for label, value, key in (
            ("latency", format_time(path.latency_ps), "latency"),
            ("a core draws at most", _bandwidths(path.core_cap_bytes_per_s), "core_cap"),
            ("load per byte on the controller", f"{path.node_weight:g}", "node_weight"),
            *_written(path),
        ):
            _add_value(below, machine, label, value, path_source_key(domain, node_name, key))
        if messages := path.message_loads[0][1]:
            keys = [
                key for key in machine.sources if key.startswith("links.") and ".snooping" in key
            ]
            label = "bytes of messages per byte of data, all links together"
            _add_value(below, machine, label, f"{messages:.4g}", *keys)


def _written(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield label, value and key of what differs for writes."""
    if path.write_latency_ps is not None:
        yield "latency of writes", format_time(path.write_latency_ps), "write_latency"
    if path.write_core_cap_bytes_per_s is not None:
        caps = _bandwidths(path.write_core_cap_bytes_per_s)
        yield "a core writes at most", caps, "write_core_cap"


def _add_costs(branch: Tree, machine: Machine) -> None:
    zero = []
    for item in fields(machine.costs):
        name = cost_name(item.name)
        value = getattr(machine.costs, item.name)
        times = value if isinstance(value, tuple) else (value,)
        if not any(times) and f"costs.{name}" not in machine.sources:
            zero.append(name)
            continue
        form = format_size if item.name.endswith("_bytes") else format_time
        _add_value(branch, machine, name, ", ".join(map(form, times)), f"costs.{name}")
    if zero:
        branch.add(Text(f"zero: {', '.join(zero)}"))


def _add_kernels(branch: Tree, machine: Machine) -> None:
    for kernel, times in machine.kernels.items():
        for kind, time in times.items():
            points = zip(time.data_bytes, time.seconds, strict=True)
            texts = [(format_size(size), f"{seconds * 1e9:.4g} ns") for size, seconds in points]
            text = ", ".join(f"{text} for {size}" for size, text in texts)
            text = texts[0][1] if len(texts) == 1 else text
            _add_value(branch, machine, f"{kernel} on {kind}", text, f"kernels.{kernel}.{kind}")
        if kernel in machine.exposures:
            text = f"{machine.exposures[kernel]:g}"
            _add_value(branch, machine, f"{kernel}: exposure", text, f"exposures.{kernel}")


def _add_timings(branch: Tree, machine: Machine) -> None:
    for codelet, times in machine.timings.items():
        sizes = sorted({size for by_size in times.values() for size in by_size})
        branch.add(Text(f"{codelet} on {', '.join(times)}: {', '.join(map(str, sizes))} bytes"))
