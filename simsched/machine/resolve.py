"""From a validated machine file to indices and plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.files.limits import DOMAINS, WORKERS
from simsched.files.yaml_reader import FieldError, key_path
from simsched.machine import schema
from simsched.machine.caches import CacheInstance, CacheLevel, MemorySideCache
from simsched.machine.controllers import with_controllers
from simsched.machine.model import (
    Change,
    CodeletTime,
    CoreGroup,
    IntArray,
    KernelTime,
    Machine,
    MemoryNode,
    Path,
    RuntimeCosts,
    cost_name,
    node_name,
)
from simsched.machine.saturation import gradual_links, gradual_nodes
from simsched.machine.schema_caches import Cache, CacheOfCores
from simsched.machine.topology import default_touch_order, number_threads
from simsched.machine.users import users_in_place
from simsched.machine.values import Sourced, expanded, value_or
from simsched.machine.wires import Wires, check_domains, find_wires, link_graph

if TYPE_CHECKING:
    import networkx as nx  # takes longer to import than a machine to resolve

_PATH_VALUES = (
    "latency",
    "core_cap",
    "thread_cap",
    "node_weight",
    "write_latency",
    "write_core_cap",
    "write_weight",
    "os_distance",
    "links",
)


@dataclass(frozen=True)
class _Layout:
    """Cores, domains and sockets as index arrays."""

    groups: list[str]
    core_group: IntArray
    core_domain: IntArray
    domain_socket: IntArray
    #: Hardware threads of the largest module.
    most_mates: int

    def module_cores(self, groups: list[CoreGroup]) -> list[IntArray]:
        """Return by domain, of each core, the number of those that draw together with it."""
        size = np.array([group.module_cores for group in groups], np.int32)[self.core_group]
        return [size[self.core_domain == d] for d in range(len(self.domain_socket))]

    def kinds(self, groups: list[CoreGroup]) -> list[frozenset[str]]:
        """Return the kinds of processors of each domain."""
        kind = [groups[group].kind for group in self.core_group]
        return [
            frozenset(kind[core] for core in np.flatnonzero(self.core_domain == domain))
            for domain in range(len(self.domain_socket))
        ]


def resolve(file: schema.MachineFile, name: str) -> Machine:
    """Return the machine that a file describes; a :class:`FieldError` names what does not fit."""
    _check_amounts(file)
    layout = _lay_out(file)
    n_domains = len(layout.domain_socket)
    graph = link_graph(file, n_domains)
    hops = _hops(file, graph, n_domains)
    wires = find_wires(file, graph, int(layout.domain_socket[-1]) + 1)
    entries, nodes = _nodes(file, n_domains)
    nodes, controllers = with_controllers(file, nodes)
    paths, distance, origin = _paths(file, layout, hops, entries, nodes, wires)
    groups = [_core_group(group, file.cores[group]) for group in layout.groups]
    cores = layout.module_cores(groups)
    nodes = list(gradual_nodes(file, entries, nodes, paths, cores))
    sources = {key_path(loc): item.source for loc, item in schema.sourced_values(file)}
    sources |= origin
    sources |= {f"sources.{key}": _explain(source) for key, source in file.sources.items()}
    return Machine(
        name=name,
        description=file.description,
        core_groups=tuple(groups),
        thread_core=number_threads(
            [len(groups[index].smt_throughput) for index in layout.core_group]
        ),
        core_group=layout.core_group,
        core_domain=layout.core_domain,
        domain_socket=layout.domain_socket,
        domain_hops=hops,
        nodes=tuple(nodes),
        links=tuple(gradual_links(file, wires, paths, cores)),
        paths=paths,
        touch_order=default_touch_order(nodes, hops)
        if distance is None
        else np.argsort(distance, axis=1, kind="stable").astype(np.int32),
        caches=tuple(_caches(file, layout)),
        costs=_costs(file.costs),
        in_place=users_in_place(file, layout.kinds(groups), entries, nodes),
        shares_by_latency=file.copy_shares == "by_latency",
        kernels={
            kernel: {kind: _kernel_time(time.value) for kind, time in times.items()}
            for kernel, times in file.kernels.items()
        },
        exposures={kernel: share.value for kernel, share in file.exposures.items()},
        timings=_timings(file),
        sources=sources,
        os_distance=distance,
        changes=tuple(_changes(file, layout)),
        controllers=controllers,
    )


def _changes(file: schema.MachineFile, layout: _Layout) -> list[Change]:
    """Return what happens to cores, in the order of time."""
    n_domains = len(layout.domain_socket)
    found = []
    for position, change in enumerate(file.changes):
        for place, domain in enumerate(change.domains):
            if domain >= n_domains:
                raise FieldError(
                    ("changes", position, "domains", place),
                    f"found {domain}, accepted 0 to {n_domains - 1}",
                )
        cores = np.flatnonzero(np.isin(layout.core_domain, change.domains)).tolist()
        found.append(Change(change.at.value, tuple(cores), change.speed.value))
    return sorted(found, key=lambda change: change.at_ps)


def _kernel_time(points: list[tuple[int, float]]) -> KernelTime:
    sizes, seconds = zip(*points, strict=True)
    return KernelTime(sizes, seconds)


def _timings(file: schema.MachineFile) -> dict[str, dict[str, dict[int, CodeletTime]]]:
    """Return how long measured tasks last, by codelet, processor kind and size."""
    found: dict[str, dict[str, dict[int, CodeletTime]]] = {}
    for codelet, sizes in file.timings.items():
        for size, times in sizes.items():
            for kind, time in times.items():
                by_size = found.setdefault(codelet, {}).setdefault(kind, {})
                by_size[size] = CodeletTime(*time.value)
    return found


def _explain(source: schema.Source) -> str:
    """Return a source as ``kind: reference``."""
    calibration = f"; calibrated on {source.calibrated_on}" if source.calibrated_on else ""
    return f"{source.kind}: {source.reference}{calibration}"


def _check_amounts(file: schema.MachineFile) -> None:
    """Compare cores, domains and memory nodes with the limits before anything is laid out."""
    domains = cores = 0
    for block in file.sockets:
        here = block.count.value * block.domains.value
        domains += here
        cores += here * sum(count.value for count in block.cores.values())
    nodes = 0
    for memory in file.memory.values():
        nodes += {"each domain": domains, "machine": 1}.get(str(memory.at)) or len(memory.at)
    for loc, found, limit in (
        (("sockets",), domains, DOMAINS),
        (("sockets",), cores, WORKERS),
        (("memory",), nodes, DOMAINS),
    ):
        if found > limit.value:
            raise FieldError(loc, limit.message(found))


def _lay_out(file: schema.MachineFile) -> _Layout:
    groups = list(file.cores)
    core_group: list[int] = []
    core_domain: list[int] = []
    domain_socket: list[int] = []
    socket = 0
    for block in file.sockets:
        for _ in range(block.count.value):
            for _ in range(block.domains.value):
                for group, count in block.cores.items():
                    _check_modules(group, file.cores[group], count)
                    core_group += [groups.index(group)] * count.value
                    core_domain += [len(domain_socket)] * count.value
                domain_socket.append(socket)
            socket += 1
    for index, group in enumerate(groups):
        if index not in core_group:
            raise FieldError(
                ("cores", group), "found no socket with such cores, accepted: kinds in use"
            )
    return _Layout(
        groups,
        np.array(core_group, dtype=np.int32),
        np.array(core_domain, dtype=np.int32),
        np.array(domain_socket, dtype=np.int32),
        max(
            len(value_or(cores.smt_throughput, [1.0])) * value_or(cores.module, 1)
            for cores in file.cores.values()
        ),
    )


def _check_modules(name: str, cores: schema.Cores, count: Sourced[int]) -> None:
    size = value_or(cores.module, 1)
    if count.value % size:
        raise FieldError(
            ("cores", name, "module", 0),
            f"found {size} with {count.value} such cores in a domain, accepted: what divides them",
        )


def _core_group(name: str, cores: schema.Cores) -> CoreGroup:
    return CoreGroup(
        name=name,
        kind=cores.processor,
        ops_per_s=cores.clock.value * cores.ops_per_cycle.value,
        smt_throughput=tuple(map(float, value_or(cores.smt_throughput, [1.0]))),
        module_cores=value_or(cores.module, 1),
        includes_accesses=cores.accesses == "in_costs",
        ops_per_cycle=cores.ops_per_cycle.value,
    )


def _hops(file: schema.MachineFile, graph: nx.DiGraph[int], n_domains: int) -> IntArray:
    """Return the hop matrix: as given, or over the links, or one hop between any two domains."""
    if file.hops is not None:
        rows = file.hops.value
        loc = ("hops", 0)
        if len(rows) != n_domains or any(len(row) != n_domains for row in rows):
            raise FieldError(
                loc, f"accepted: {n_domains} rows of {n_domains} numbers, one per domain"
            )
        for one in range(n_domains):
            for other in range(n_domains):
                if (rows[one][other] == 0) != (one == other):
                    message = "accepted: zero on the diagonal and nowhere else"
                    raise FieldError((*loc, one, other), f"found {rows[one][other]}, {message}")
                if rows[one][other] != rows[other][one]:
                    message = f"found {rows[one][other]} there and {rows[other][one]} back"
                    raise FieldError((*loc, one, other), f"{message}, accepted: a symmetric matrix")
        return np.array(rows, dtype=np.int32)
    if graph.number_of_edges() == 0:
        return np.array(1 - np.eye(n_domains), dtype=np.int32)
    import networkx as nx

    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for domain in range(n_domains):
        if domain not in lengths[0]:
            raise FieldError(("links",), f"found no way from domain 0 to domain {domain}")
    rows = [[lengths[one][other] for other in range(n_domains)] for one in range(n_domains)]
    return np.array(rows, dtype=np.int32)


def _nodes(file: schema.MachineFile, n_domains: int) -> tuple[list[str], list[MemoryNode]]:
    """Return the memory entry and the model of every node, in operating-system numbering."""
    entries: list[str] = []
    nodes: list[MemoryNode] = []
    for entry, memory in file.memory.items():
        domains: list[int | None] = [None]
        if memory.at == "each domain":
            domains = list(range(n_domains))
        elif memory.at != "machine":
            check_domains(memory.at, n_domains, ("memory", entry, "at"))
            domains = list(memory.at)
        for domain in domains:
            name = node_name(entry, domain)
            if any(node.name == name for node in nodes):
                raise FieldError(
                    ("memory", entry), f"found a second node {name!r}, accepted: unique names"
                )
            entries.append(entry)
            nodes.append(_node(name, memory, domain))
    return entries, nodes


def _node(name: str, memory: schema.Memory, domain: int | None) -> MemoryNode:
    peak = memory.peak_bandwidth or memory.bandwidth
    cache = memory.cache
    return MemoryNode(
        name=name,
        kind=memory.kind,
        capacity_bytes=memory.capacity.value,
        bandwidth_bytes_per_s=memory.bandwidth.value,
        peak_bandwidth_bytes_per_s=peak.value,
        domain=domain,
        bandwidth_curve=expanded(memory.bandwidth_by_flows),
        page_bytes=memory.page.value,
        latency_under_load=value_or(memory.latency_under_load, None),
        has_driver=memory.managed_by == "driver",
        memory_side_cache=None
        if cache is None
        else MemorySideCache(
            capacity_bytes=cache.capacity.value,
            granule_bytes=cache.granule.value,
            bandwidth_bytes_per_s=cache.bandwidth.value,
            hit_latency_ps=cache.hit_latency.value,
            miss_latency_ps=cache.miss_latency.value,
            mapping=cache.mapping,
        ),
    )


def _paths(
    file: schema.MachineFile,
    layout: _Layout,
    hops: IntArray,
    entries: list[str],
    nodes: list[MemoryNode],
    wires: Wires,
) -> tuple[tuple[tuple[Path, ...], ...], IntArray | None, dict[str, str]]:
    """Return the paths, the given operating-system distances, and the source of every value."""
    _check_rules(file, layout, hops, entries, nodes, wires)
    distances: list[int] = []
    origin: dict[str, str] = {}
    rows = []
    for domain in range(len(hops)):
        row = []
        for index, node in enumerate(nodes):
            found: dict[str, Sourced[Any]] = {}
            for rule in file.paths.values():
                if _selects(rule, domain, entries[index], node, hops, layout.domain_socket):
                    given = {key: getattr(rule, key) for key in _PATH_VALUES}
                    if rule.core_cap is not None or rule.thread_cap is not None:
                        found.pop("core_cap", None)
                        found.pop("thread_cap", None)
                    found.update({key: value for key, value in given.items() if value is not None})
            for keys in (("latency",), ("core_cap", "thread_cap")):
                if not any(key in found for key in keys):
                    raise FieldError(
                        ("paths",),
                        f"no rule gives {' or '.join(keys)} from domain {domain} to {node.name}",
                    )
            for key, value in found.items():
                origin[path_source_key(domain, node.name, key)] = value.source
            if "os_distance" in found:
                distances.append(found["os_distance"].value)
            row.append(_path(found, domain, node, layout, wires))
        rows.append(tuple(row))
    if distances and len(distances) != len(hops) * len(nodes):
        raise FieldError(("paths",), "found os_distance for some paths, accepted: for all or none")
    shape = len(hops), len(nodes)
    distance = np.array(distances, np.int32).reshape(shape) if distances else None
    return tuple(rows), distance, origin


def _path(
    found: dict[str, Sourced[Any]], domain: int, node: MemoryNode, layout: _Layout, wires: Wires
) -> Path:
    """Return the path from a domain to a node, of which rules give some values."""
    links = wires.crossed_by_all
    loads: tuple[tuple[int, float], ...] = ()
    if node.domain is not None:
        if node.domain != domain:
            links += wires.crossed_by_remote
        links += wires.routes.get((node.domain, domain), ())
        links += wires.between(*layout.domain_socket[[node.domain, domain]].tolist())
        loads = wires.message_loads(domain, node.domain)
    listed = value_or(found.get("links"), ())
    cap = found.get("write_core_cap")
    return Path(
        latency_ps=found["latency"].value,
        core_cap_bytes_per_s=tuple(found["core_cap"].value)
        if "core_cap" in found
        else _of_threads(found["thread_cap"].value, layout.most_mates),
        links=links + tuple(wires.listed[name] for name in listed),
        node_weight=float(value_or(found.get("node_weight"), 1.0)),
        write_latency_ps=value_or(found.get("write_latency"), None),
        write_core_cap_bytes_per_s=None if cap is None else tuple(cap.value),
        write_node_weight=value_or(found.get("write_weight"), None),
        message_loads=loads,
    )


def _of_threads(caps: list[float], most: int) -> tuple[float, ...]:
    """Return what 1, 2, ... threads draw together that draw so much each; the last value holds."""
    return tuple(caps[min(busy, len(caps)) - 1] * busy for busy in range(1, most + 1))


def path_source_key(domain: int, node: str, value: str) -> str:
    """Return the key in :attr:`Machine.sources` of a value of one path.

    >>> path_source_key(0, "dram1", "latency")
    'path.0.dram1.latency'
    """
    return f"path.{domain}.{node}.{value}"


def _check_rules(
    file: schema.MachineFile,
    layout: _Layout,
    hops: IntArray,
    entries: list[str],
    nodes: list[MemoryNode],
    wires: Wires,
) -> None:
    """Refuse rules with unknown names or domains, and rules that select nothing."""
    names = {node.kind for node in nodes} | {node.name for node in nodes} | set(entries)
    for key, rule in file.paths.items():
        for position, name in enumerate(rule.to or []):
            schema.check_known(("paths", key, "to", position), "memory", name, names)
        check_domains(rule.domains or [], len(hops), ("paths", key, "domains"))
        for position, name in enumerate(value_or(rule.links, ())):
            loc = ("paths", key, "links", 0, position)
            schema.check_known(loc, "link crossed_by listed", name, wires.listed)
        if not any(
            _selects(rule, domain, entry, node, hops, layout.domain_socket)
            for domain in range(len(hops))
            for entry, node in zip(entries, nodes, strict=True)
        ):
            message = f"selects no path, accepted: hops 0 to {int(hops.max())} and existing nodes"
            raise FieldError(("paths", key), message)


def _selects(
    rule: schema.PathRule,
    domain: int,
    entry: str,
    node: MemoryNode,
    hops: IntArray,
    domain_socket: IntArray,
) -> bool:
    """Return whether a rule holds for the path from a domain to a node."""
    home = domain if node.domain is None else node.domain
    distance = int(hops[domain, home])
    wanted_hops = rule.hops is None or (
        distance > 0 if rule.hops == "remote" else distance in rule.hops
    )
    same_socket = bool(domain_socket[domain] == domain_socket[home])
    return (
        wanted_hops
        and (rule.to is None or not {node.kind, node.name, entry}.isdisjoint(rule.to))
        and (rule.domains is None or domain in rule.domains)
        and (rule.socket is None or same_socket == (rule.socket == "same"))
    )


def _cache_users(name: str, cache: Cache, layout: _Layout) -> list[tuple[str | None, int]]:
    """Return, for each instance of a level in order, its kind of core and how many share it.

    The kind is None for instances as the level describes them. Cores that share one are consecutive
    ones of a socket.
    """
    core_socket = layout.domain_socket[layout.core_domain].tolist()
    names = [layout.groups[group] for group in layout.core_group.tolist()]
    kinds = [kind if kind in cache.cores else None for kind in names]
    found: list[tuple[str | None, int]] = []
    for (socket, kind), run in groupby(zip(core_socket, kinds, strict=True)):
        cores = len(list(run))
        if kind is not None and cache.cores[kind].is_absent:
            found.append((kind, cores))
            continue
        own = None if kind is None else cache.cores[kind].shared_by
        share = (own or cache.shared_by).value
        if cores % share:
            which = f"{cores} cores of socket {socket}"
            if cache.cores:
                others = "others" if kind is None else kind
                which = f"{cores} cores ({others}) that follow one another in socket {socket}"
            at = () if own is None else ("cores", kind)
            message = f"found {share}, accepted: a divisor of the {which}"
            raise FieldError(("caches", name, *at, "shared_by", 0), message)
        found += [(kind, share)] * (cores // share)
    return found


def _cache_instance(cache: Cache, own: CacheOfCores) -> CacheInstance:
    """Return the instance of a kind of core, which has what it does not name from its level."""
    slices = value_or(own.effective_capacities or cache.effective_capacities, ())
    return CacheInstance(
        capacity_bytes=(own.capacity or cache.capacity).value,
        bandwidth_bytes_per_s=(own.bandwidth or cache.bandwidth).value,
        latency_ps=(own.latency or cache.latency).value,
        effective_capacities_bytes=tuple(0 if own.is_absent else size for size in slices),
    )


def _caches(file: schema.MachineFile, layout: _Layout) -> list[CacheLevel]:
    """Return the levels; a victim cache takes whole instances of the level before."""
    found = [_cache(name, cache, layout) for name, cache in file.caches.items()]
    for inner, outer in pairwise(found):
        whole = dict(zip(inner.core_instance.tolist(), outer.core_instance.tolist(), strict=True))
        for core, near in enumerate(inner.core_instance.tolist()):
            if outer.filled_by == "misses" or whole[near] == outer.core_instance[core]:
                continue
            kind = layout.groups[layout.core_group[core]]
            own = file.caches[outer.name].cores.get(kind)
            at = ("cores", kind) if own is not None and own.shared_by is not None else ()
            share = np.count_nonzero(outer.core_instance == outer.core_instance[core])
            together = np.count_nonzero(inner.core_instance == near)
            raise FieldError(
                ("caches", outer.name, *at, "shared_by", 0),
                f"found {share} in a level filled by evictions, accepted: a multiple of the"
                f" {together} cores that share an instance of the level before",
            )
    return found


def _cache(name: str, cache: Cache, layout: _Layout) -> CacheLevel:
    users = _cache_users(name, cache, layout)
    of_kind = {kind: _cache_instance(cache, own) for kind, own in cache.cores.items()}
    shares = [share for _, share in users]
    return CacheLevel(
        name=name,
        capacity_bytes=cache.capacity.value,
        bandwidth_bytes_per_s=cache.bandwidth.value,
        latency_ps=cache.latency.value,
        core_instance=np.repeat(np.arange(len(shares), dtype=np.int32), shares),
        transfer_bandwidth_bytes_per_s=value_or(cache.transfer_bandwidth, 0.0),
        transfer_latency_ps=value_or(cache.transfer_latency, 0),
        upgrade_bandwidth_bytes_per_s=value_or(cache.upgrade_bandwidth, 0.0),
        overlap=value_or(cache.overlap, 1.0),
        effective_capacities_bytes=tuple(value_or(cache.effective_capacities, ())),
        counted_per_line=value_or(cache.counted_per_line, 1.0),
        filled_by=value_or(cache.filled_by, "misses"),
        displacement_bandwidth_bytes_per_s=value_or(cache.displacement_bandwidth, 0.0),
        differing={i: of_kind[kind] for i, (kind, _) in enumerate(users) if kind is not None},
    )


def _costs(costs: schema.Costs) -> RuntimeCosts:
    def values() -> Iterator[tuple[str, int | tuple[int, ...]]]:
        for item in fields(RuntimeCosts):
            given = getattr(costs, cost_name(item.name))
            if given is not None:
                value = given.value
                yield item.name, tuple(value) if isinstance(value, list) else value

    return RuntimeCosts(**dict(values()))  # type: ignore[arg-type]  # each as its field says
