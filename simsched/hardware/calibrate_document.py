"""A calibration as a machine file.

The machine has the calibrated hardware threads and nothing else. Every value says how it was
measured; what cannot be measured is `assumed`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from simsched.files.units import format_bandwidth, format_frequency, format_size
from simsched.hardware.calibrate_host import Host
from simsched.hardware.calibrate_memory import CHOSEN, MOVED, STATED, CacheLevelValues
from simsched.hardware.calibrate_probes import Measured
from simsched.hardware.calibrate_report import bandwidth_text, rounded, time_text
from simsched.hardware.calibration import Calibration
from simsched.hardware.kernels import PROCESSOR, Kernel
from simsched.hardware.measurements import Measurement, specs

Pair = list[Any]

#: Costs that no probe measures: those of the other machine files.
ASSUMED_COSTS = {
    "context_switch": ("2 us", "nothing here preempts tasks"),
    "page_migration": ("1.5 us", "1 to 2 us per 4 KiB page"),
    "page_fault": ("1 us", "a fault without transfer"),
    "page_move": ("1 us", "beside the copy"),
    "hotness_sample": ("3 us", "as published for Knights Landing (BATS)"),
    "counter_read": ("1 us", "a system call"),
}


def machine_document(
    found: Calibration, kernels: Sequence[Kernel] = (), runs: Sequence[Measurement] = ()
) -> dict[str, Any]:
    """Return the content of a machine file, whose values are texts with their units."""
    document: dict[str, Any] = {
        "description": _description(found),
        "sources": {
            "probe": {"kind": "measured", "reference": _reference(found)},
            "system": {"kind": "measured", "reference": "what Linux states about this host"},
            "assumed": {"kind": "assumed", "reference": "not measured; change it where it matters"},
        },
        "cores": _cores(found),
        "sockets": _sockets(found.host),
        "caches": _caches(found),
        "memory": _memory(found),
        "links": _links(found),
        "hops": _hops(found.host),
        "paths": _paths(found),
        "costs": _costs(found),
    }
    if kernels and runs:
        document["sources"]["kernels"] = {
            "kind": "measured",
            "reference": f"what computing takes in runs on one core, accesses taken off, of: "
            f"{'; '.join(specs(runs))}",
        }
        document["kernels"] = {kernel.name: {PROCESSOR: _kernel(kernel)} for kernel in kernels}
        text = "kernels: with this, compute times differ least between sizes of the data"
        document["exposures"] = {
            kernel.name: [kernel.exposure, text] for kernel in kernels if kernel.exposure < 1.0
        }
    return {key: value for key, value in document.items() if value}


def _kernel(kernel: Kernel) -> Pair:
    runs = "1 run" if kernel.runs == 1 else f"{kernel.runs} runs"
    text = f"kernels: {runs}, simulated within {kernel.residual:.1%}"
    points = zip(kernel.time.data_bytes, kernel.time.seconds, strict=True)
    times = {f"{size} B": f"{seconds * 1e9:.6g} ns" for size, seconds in points}
    return [times if len(times) > 1 else next(iter(times.values())), text]


def _description(found: Calibration) -> str:
    host = found.host
    threads = sum(len(core) for domain in host.domains for core in domain.cores)
    numbers = ", ".join(str(t) for d in host.domains for core in d.cores for t in core)
    return f"{host.processor}, {threads} hardware threads ({numbers}), calibrated {found.started}"


def _reference(found: Calibration) -> str:
    effort = "quick, " if found.is_quick else ""
    return (
        f"simsched calibrate on {found.host.processor}, {found.started}, {effort}"
        f"{found.duration_s:.0f} s; spread: middle round over best round, less 1"
    )


def _probe(value: str | float | list[str], measured: Measured, remark: str = "") -> Pair:
    """Return a pair of a value and how it was measured."""
    return [value, f"probe: {measured.note}{remark}"]


def _rate(measured: Measured, remark: str = "") -> Pair:
    return _probe(bandwidth_text(measured.value), measured, remark)


def _time(measured: Measured, remark: str = "") -> Pair:
    return _probe(time_text(measured.value), measured, remark)


def _kinds(host: Host) -> list[int]:
    """Return the numbers of hardware threads that cores have, most first."""
    return sorted({len(core) for d in host.domains for core in d.cores}, reverse=True)


def _kind(host: Host, n_threads: int) -> str:
    """Return the name of the cores with some number of hardware threads."""
    return "cpu" if len(_kinds(host)) == 1 else f"cpu_{n_threads}t"


def _cores(found: Calibration) -> dict[str, Any]:
    clock = found.host.clock_hz
    remark = "only a unit: kernels are times"
    kinds = {}
    for n_threads in _kinds(found.host):
        kind: dict[str, Any] = {
            "processor": "cpu",
            "clock": [format_frequency(clock), f"system: /proc/cpuinfo, {remark}"]
            if clock
            else ["1 GHz", f"assumed: {remark}"],
            "ops_per_cycle": [1, f"assumed: {remark}"],
        }
        ways = found.smt[:n_threads]
        if len(ways) > 1:
            throughput = [round(way.value, 3) for way in ways]
            kind["smt_throughput"] = _probe(throughput, ways[-1])  # type: ignore[arg-type]
        kinds[_kind(found.host, n_threads)] = kind
    return kinds


def _sockets(host: Host) -> list[dict[str, Any]]:
    """Return a group per socket with equal domains, otherwise one per domain."""
    by_socket: dict[int, list[dict[str, int]]] = {}
    for domain in host.domains:
        counts = Counter(_kind(host, len(core)) for core in domain.cores)
        by_socket.setdefault(domain.socket, []).append(dict(counts))
    groups: list[dict[str, Any]] = []
    for domains in by_socket.values():
        is_even = all(counts == domains[0] for counts in domains)
        source = "system" if is_even else "assumed: domains of a socket with different cores"
        groups += (
            {
                "count": [1, source],
                "domains": [len(domains) if is_even else 1, source],
                "cores": {name: [count, "system"] for name, count in counts.items()},
            }
            for counts in (domains[:1] if is_even else domains)
        )
    return groups


def _caches(found: Calibration) -> dict[str, Any]:
    outer = [level.latency for level in found.caches[1:]] + [found.latencies[0].time]
    levels = zip(found.caches, outer, strict=False)
    return {level.name: _cache(level, beyond) for level, beyond in levels}


def _cache(level: CacheLevelValues, beyond: Measured) -> dict[str, Any]:
    """Return the entry of a level; `beyond` is the latency of the next one."""

    def sourced(value: Any, how: str) -> Pair:
        probed = how if how.startswith("assumed") else f"probe: {how}"
        return [value, "system" if how == STATED else probed]

    entry: dict[str, Any] = {
        "capacity": sourced(format_size(level.capacity_bytes), level.capacity_how),
        "bandwidth": _rate(level.bandwidth),
        "latency": _time(level.latency),
        "shared_by": sourced(level.shared_by, level.shared_how),
    }
    for name, rate in level.passing.items():
        entry[f"{name}_bandwidth"] = _rate(rate)
        if name == "transfer":
            text = "assumed: as that of the next level"
            entry["transfer_latency"] = [time_text(beyond.value), text]
    if level.overlap is not None:
        entry["overlap"] = _probe(float(f"{level.overlap.value:.3g}"), level.overlap)
    if level.effective_bytes:
        sizes = [format_size(round(each / 1024) * 1024) for each in level.effective_bytes]
        entry["effective_capacities"] = [sizes, f"system: {level.effective_how}"]
    return entry


def _entry(host: Host, node: int) -> str:
    """Return the name of a node's entry; the machine appends the domain: ``dram0``."""
    if len(host.nodes) == 1:
        return "dram"
    number = host.nodes[node].number
    return f"node{number}" if host.nodes[node].domain is None else f"node{number}_at"


def _node_name(host: Host, node: int) -> str:
    """Return the name of a node in the machine."""
    domain = host.nodes[node].domain
    return _entry(host, node) + ("" if domain is None else str(domain))


def _reader(found: Calibration, node: int) -> int:
    """Return the domain whose cores show what a node gives: its own, else the fastest."""
    own = found.host.nodes[node].domain
    if own is not None:
        return own
    domains = range(len(found.host.domains))
    return max(domains, key=lambda d: max(m.value for m in found.stream(d, node).values()))


def _memory(found: Calibration) -> dict[str, Any]:
    """Return an entry per memory node."""
    entries = {}
    for index, node in enumerate(found.host.nodes):
        curve = found.stream(_reader(found, index), index)
        counts = sorted(curve)
        best = max(counts, key=lambda count: curve[count].value)
        every = range(1, counts[-1] + 1)
        rates = np.interp(every, counts, [curve[count].value for count in counts])
        between = "; linear between measured counts" if len(counts) < len(every) else ""
        worst = max(curve.values(), key=lambda rate: rate.spread)
        entry: dict[str, Any] = {
            "kind": "DRAM",
            "at": "machine" if node.domain is None else [node.domain],
            "capacity": [format_size(node.capacity_bytes >> 20 << 20), "system"],
            "bandwidth": _rate(curve[best]),
            "bandwidth_by_flows": [
                [bandwidth_text(rate) for rate in rates],
                f"probe: {CHOSEN} by 1, 2, ... cores{between}, "
                f"{MOVED[CHOSEN]:.3g} bytes moved for each counted, best of {worst.rounds}, "
                f"largest spread {worst.spread:.1%}",
            ],
            "page": [format_size(found.host.page_bytes), "system"],
        }
        entries[_entry(found.host, index)] = entry
    return entries


def _links(found: Calibration) -> dict[str, Any]:
    """Return a link per pair of domains that have memory, as wide as what crossed it."""
    at = {node.domain: index for index, node in enumerate(found.host.nodes)}
    links = {}
    for one, other in combinations(range(len(found.host.domains)), 2):
        rates = [
            rate
            for reader, home in ((one, other), (other, one))
            if home in at
            for rate in found.stream(reader, at[home]).values()
        ]
        if rates:
            widest = max(rates, key=lambda rate: rate.value)
            links[f"link{one}_{other}_"] = {
                "bandwidth": _rate(widest, "; the better of both directions"),
                "connects": [[[one, other]], "assumed: every pair of domains has its own link"],
            }
    return links


def _hops(host: Host) -> Pair | None:
    if len(host.domains) < 2:
        return None
    return [host.hops(), "system: classes of the distances that the firmware states"]


def _paths(found: Calibration) -> dict[str, Any]:
    """Return a rule per pair of domain and node."""
    host = found.host
    knows_distances = len(host.nodes) > 1 and all(
        (d.node, n.number) in host.distance for d in host.domains for n in host.nodes
    )
    rules = {}
    for d, domain in enumerate(host.domains):
        for n, node in enumerate(host.nodes):
            latency = found.latency(d, n)
            loaded = max(latency)
            remark = ""
            if loaded:
                cores = "1 core streams" if loaded == 1 else f"{loaded} cores stream"
                remark = f"; {time_text(latency[loaded].value)} while {cores}"
            rule: dict[str, Any] = {
                "to": _node_name(host, n),
                "domains": d,
                "latency": _time(latency[0], remark),
                "core_cap": _core_cap(found, d, n),
            }
            if knows_distances:
                rule["os_distance"] = [host.distance[domain.node, node.number], "system"]
            rules[f"domain{d}_to_node{node.number}"] = rule
    return rules


def _core_cap(found: Calibration, domain: int, node: int) -> Pair:
    """Return what one core draws, also with several busy hardware threads."""
    curve = found.stream(domain, node)
    # A core has drawn its share of what several have drawn together, even if alone it drew less.
    most = max(curve, key=lambda count: rounded(curve[count].value) / count)
    cap = rounded(curve[most].value) / most
    remark = "; per core" if most > 1 else ""
    if len(found.siblings) == 1:
        return _probe(_share_text(cap), curve[most], remark)
    caps = [cap * max(1.0, sibling.value / found.siblings[0].value) for sibling in found.siblings]
    return [
        [_share_text(value) for value in caps],
        f"probe: {curve[most].note}{remark}; more threads of a core as on its own node, "
        f"spread {found.siblings[-1].spread:.1%}",
    ]


def _share_text(bytes_per_s: float) -> str:
    """Return a bandwidth rounded up in its sixth digit, so that shares add up to the whole."""
    digit = 10.0 ** (math.floor(math.log10(bytes_per_s)) - 5)
    # What only the arithmetic has added is not a reason to round up.
    return format_bandwidth(math.ceil(bytes_per_s / digit - 1e-6) * digit)


def _costs(found: Calibration) -> dict[str, Any]:
    costs: dict[str, Any] = {name: _time(cost) for name, cost in found.costs.items()}
    hops = max(map(max, found.host.hops()))
    for name, known in found.by_distance.items():
        costs[name] = _by_distance(known, hops)
    assumed = {name: [text, f"assumed: {why}"] for name, (text, why) in ASSUMED_COSTS.items()}
    return costs | assumed


def _by_distance(known: Mapping[int, Measured], hops: int) -> Pair:
    """Return a list by distance class; a class that was not measured has its neighbour's value."""
    if not known:
        return [["0 ns"], "assumed: no two threads between which it could be measured"]
    classes = range(2 + hops)
    nearest = [min(known, key=lambda k: (abs(k - distance), k)) for distance in classes]
    values = [time_text(known[k].value) for k in nearest]
    notes = "; ".join(known[k].note for k in sorted(set(nearest)))
    missing = ", ".join(str(d) for d in classes if d not in known)
    remark = f"; class {missing} not measured, as its neighbour" if missing else ""
    return [values, f"probe: {notes}{remark}"]
