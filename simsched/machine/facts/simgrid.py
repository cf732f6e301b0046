"""Platforms of SimGrid in XML: hosts, links and routes become a cluster.

A host is a socket with memory of its own. What a core reads from another host's memory crosses the
links of the route from there, at the least rate and the sum of latencies of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from simsched.files.errors import ConfigurationError
from simsched.files.limits import WORKERS
from simsched.files.units import format_bandwidth, format_size
from simsched.machine.facts import assumed
from simsched.machine.facts._platform import BOTH, FAT, SPLIT, Host, Platform, Wire
from simsched.machine.facts.content import Assumptions
from simsched.machine.facts.contents import Facts, Whole
from simsched.machine.facts.registry import fact_format
from simsched.machine.model import node_name

KEY, MEMORY = "platform", "memory"
#: Routes of more hosts would be more rules than anybody reads; one cluster needs none.
MOST_HOSTS = 64
TRIPS = "within a host as on one machine, between hosts the slowest route there and back"


@fact_format("simgrid", recognises=lambda head: b"<platform" in head)
def read_simgrid(path: Path) -> Facts:
    """Return the cluster of a platform: the whole of a machine file."""
    platform = Platform(path)
    n_cores = sum(host.n_cores for host in platform.hosts.values())
    if n_cores > WORKERS.value:
        WORKERS.refuse(n_cores, path, ConfigurationError)
    is_cluster = _only_cluster(platform)
    if not is_cluster and len(platform.hosts) > MOST_HOSTS:
        raise ConfigurationError(
            f"{path}: found {len(platform.hosts)} hosts, accepted {MOST_HOSTS} with routes between "
            "each two, or one cluster"
        )
    cluster = _Cluster(platform)
    document = cluster.document(is_cluster)
    summary = {
        "hosts": len(platform.hosts),
        "cores": n_cores,
        "links": len(platform.wires),
        "formats": ["simgrid"],
    }
    whole = Whole(document, summary, tuple(cluster.assumed))
    return Facts("simgrid", f"SimGrid platform {path.name}", whole=whole)


def _only_cluster(platform: Platform) -> bool:
    """Say whether a platform is one cluster, at whatever depth, whose cards are full duplex."""
    zone = platform.root
    while zone.routing != "Cluster":
        if zone.points or len(zone.zones) != 1:
            return False
        (zone,) = zone.zones.values()
    first = next(iter(platform.hosts))
    return platform.wires[f"{first}_link"].sharing == SPLIT


class _Cluster(Assumptions):
    """The machine file of a platform under construction."""

    def __init__(self, platform: Platform) -> None:
        super().__init__()
        self._platform = platform
        self._hosts = list(platform.hosts.values())
        self._names: dict[str, str] = {}

    def document(self, is_cluster: bool) -> dict[str, Any]:
        """Return the content of the file."""
        kinds = {rate: f"core_{i}" for i, rate in enumerate(self._distinct("ops_per_s"), 1)}
        links, paths, far_s = self._star() if is_cluster else self._routed()
        return {
            "description": f"{len(self._hosts)} hosts of a SimGrid platform",
            "sources": self._sources(),
            "cores": {
                name: {
                    "clock": [f"{rate:.12g} Hz", f"{KEY}: speed; an operation is a cycle"],
                    "ops_per_cycle": [1, KEY],
                }
                for rate, name in kinds.items()
            },
            "sockets": [
                {
                    "count": [len(list(hosts)), KEY],
                    "domains": [1, KEY],
                    "cores": {kinds[rate]: [n_cores, KEY]},
                }
                for (rate, n_cores), hosts in groupby(
                    self._hosts, key=lambda host: (host.ops_per_s, host.n_cores)
                )
            ],
            "memory": self._memory(),
            **({"links": links} if links else {}),
            "paths": {"own": self._own(), **paths},
            "costs": self._costs(far_s),
        }

    def _distinct(self, attribute: str) -> list[Any]:
        return list(dict.fromkeys(getattr(host, attribute) for host in self._hosts))

    def _sources(self) -> dict[str, dict[str, str]]:
        name = self._platform.path.name
        return {
            KEY: {"kind": "published", "reference": f"SimGrid platform {name}"},
            "assumed": {"kind": "assumed", "reference": "by the rule named with the value"},
        }

    def _entry(self, host: Host) -> str:
        """Return the entry of the memory of hosts with as many cores."""
        sizes = self._distinct("n_cores")
        return MEMORY if len(sizes) == 1 else f"{MEMORY}_of_{host.n_cores}_cores"

    def _memory(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for host in self._hosts:
            entry = self._entry(host)
            if entry in found:
                continue
            at = [i for i, other in enumerate(self._hosts) if self._entry(other) == entry]
            size = format_size(assumed.CAPACITY_BYTES * host.n_cores)
            each = assumed.NODE_BYTES_PER_S["DRAM"]
            rate = format_bandwidth(each * host.n_cores)
            found[entry] = {
                "kind": "DRAM",
                **({} if len(at) == len(self._hosts) else {"at": at}),
                "capacity": self.assume(size, assumed.CAPACITY, f"capacity of {entry}"),
                "bandwidth": self.assume(
                    rate, assumed.NODE.format(format_bandwidth(each)), f"bandwidth of {entry}"
                ),
                "page": self.assume("4 KiB", assumed.PAGE, "size of pages"),
            }
        return found

    def _own(self) -> dict[str, Any]:
        rate = format_bandwidth(assumed.core_rate(assumed.LOCAL_NS))
        return {
            "core_cap": self.assume(rate, assumed.CORE_CAP, "core_cap: what one core draws"),
            "latency": self.assume(
                f"{assumed.LOCAL_NS:g} ns", assumed.LATENCY, "latency of own memory"
            ),
        }

    def _costs(self, far_s: float) -> dict[str, Any]:
        costs = {
            name: self.assume(value, assumed.COST, f"cost {name}")
            for name, value in assumed.COSTS.items()
        }
        hold = f"{assumed.LOCK_TRIPS * assumed.ONE_WAY_NS[0]:g} ns"
        costs["lock_hold"] = self.assume(hold, assumed.COST, "cost lock_hold")
        near = [
            f"{trips * assumed.ONE_WAY_NS[0]:g} ns"
            for trips in (assumed.PROBE_TRIPS, assumed.STEAL_TRIPS)
        ]
        for name, own in zip(("steal_probe", "steal"), near, strict=True):
            trip = f"{2e9 * far_s:.6g} ns"
            costs[name] = self.assume([own, own, trip], TRIPS, f"cost {name}")
        return costs

    def _star(self) -> tuple[dict[str, Any], dict[str, Any], float]:
        """Return links and paths of computers that are all alike, at a switch."""
        source, target = self._hosts[0].name, self._hosts[-1].name
        way = self._platform.route(source, target) if len(self._hosts) > 1 else []
        wires = [self._platform.wires[name] for name, _ in way]
        links: dict[str, Any] = {}
        for wire in (wires[0], *wires[1:-1]) if wires else ():
            if wire.sharing == FAT:
                continue
            is_card = wire is wires[0]
            links["card" if is_card else "backbone"] = {
                "crossed_by": "other sockets" if is_card else "remote",
                "bandwidth": _given(_rate(wire.bytes_per_s), wire),
            }
        return links, {"others": {"socket": "other", **_least(wires)}} if wires else {}, _sum(wires)

    def _routed(self) -> tuple[dict[str, Any], dict[str, Any], float]:
        """Return links and paths of hosts with a route between each two."""
        links: dict[str, Any] = {}
        paths: dict[str, Any] = {}
        slowest = 0.0
        for near, host in enumerate(self._hosts):
            for far, other in enumerate(self._hosts):
                if near == far:
                    continue
                way = self._platform.route(other.name, host.name)  # data come from there
                wires = [self._platform.wires[name] for name, _ in way]
                crossed = []
                for wire, (_, direction) in zip(wires, way, strict=True):
                    if wire.sharing == FAT:
                        continue
                    name = self._link(wire, direction)
                    links[name] = {
                        "crossed_by": "listed",
                        "bandwidth": _given(_rate(wire.bytes_per_s), wire),
                    }
                    crossed.append(name)
                slowest = max(slowest, _sum(wires))
                paths[f"to_{far}_from_{near}"] = {
                    "to": node_name(self._entry(other), far),
                    "domains": near,
                    **_least(wires),
                    **({"links": [crossed, f"{KEY}: from {other.name}"]} if crossed else {}),
                }
        return links, paths, slowest

    def _link(self, wire: Wire, direction: str) -> str:
        """Return the name of a link, of one direction where these are apart."""
        split = wire.sharing == SPLIT
        key = f"{wire.name}_{direction}" if split and direction != BOTH else wire.name
        if key not in self._names:
            name = re.sub(r"[^A-Za-z0-9_.-]", "_", key)[:50]
            name = name if name[:1].isalpha() else f"link_{name}"
            taken = set(self._names.values())
            others = (f"{name}_{number}" for number in count(2))
            self._names[key] = next(n for n in chain([name], others) if n not in taken)
        return self._names[key]


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:.12g} MB/s"


def _given(value: str, wire: Wire) -> list[str]:
    return [value, f"{KEY}: link {wire.name}"]


def _sum(wires: Iterable[Wire]) -> float:
    return sum(wire.latency_s for wire in wires)


def _least(wires: list[Wire]) -> dict[str, Any]:
    """Return latency and core cap of a route."""
    return {
        "latency": [f"{1e9 * _sum(wires):.9g} ns", f"{KEY}: sum of the route"],
        "core_cap": [
            _rate(min(wire.bytes_per_s for wire in wires)),
            f"{KEY}: slowest link of the route",
        ],
    }
