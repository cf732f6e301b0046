"""A platform of SimGrid: hosts and links of zones, and the routes between hosts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from simsched.files.errors import ConfigurationError, shown, unknown_name
from simsched.files.limits import DOMAINS
from simsched.machine.facts._xml import xml_root

ZONES, ROUTES = ("zone", "AS"), ("zoneRoute", "ASroute")
BYPASSES = ("bypassRoute", "bypassZoneRoute", "bypassASroute")
SHORTEST, GIVEN = ("Floyd", "Dijkstra", "DijkstraCache"), ("Full", "None", "Cluster")
SPLIT, FAT = "SPLITDUPLEX", "FATPIPE"
UP, DOWN, BOTH = "UP", "DOWN", "NONE"
TURNED = {UP: DOWN, DOWN: UP, BOTH: BOTH}
#: Attributes with bandwidth, latency and sharing policy.
LINK = "bandwidth", "latency", "sharing_policy"
CARD, BACKBONE = ("bw", "lat", "sharing_policy"), ("bb_bw", "bb_lat", "bb_sharing_policy")
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_PREFIXES |= {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
UNITS = {
    "speed": {f"{prefix}f": factor for prefix, factor in _PREFIXES.items()},
    "bandwidth": {f"{prefix}Bps": factor for prefix, factor in _PREFIXES.items()}
    | {f"{prefix}bps": factor / 8 for prefix, factor in _PREFIXES.items()},
    "latency": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "m": 60.0, "h": 3600.0},
}
_QUANTITY = re.compile(
    r"\s*([0-9]{1,18}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,3})?)\s*([A-Za-z]*)\s*"
)
#: What values of a platform may be, in f, B/s and s.
LIMITS = {"speed": (1.0, 1e15), "bandwidth": (1.0, 1e15), "latency": (1e-12, 1e3)}

Crossing = tuple[str, str]  #: link and direction
Way = list[Crossing]


@dataclass(frozen=True)
class Host:
    """A computer: operations per second of each of its cores."""

    name: str
    ops_per_s: float
    n_cores: int


@dataclass(frozen=True)
class Wire:
    """A link; `sharing` says whether both directions share it, or nobody does."""

    name: str
    bytes_per_s: float
    latency_s: float
    sharing: str


@dataclass
class Zone:
    """A part of a platform: its own hosts and routers, parts of its own, and ways between them."""

    name: str
    routing: str = "Full"
    points: set[str] = field(default_factory=set)
    zones: dict[str, Zone] = field(default_factory=dict)
    ways: dict[tuple[str, str], Way] = field(default_factory=dict)
    #: Between zones: gateways at both ends, and the way between these.
    between: dict[tuple[str, str], tuple[str, str, Way]] = field(default_factory=dict)

    def holds(self, point: str) -> bool:
        """Say whether a point is in the zone or in one inside it."""
        return point in self.points or any(zone.holds(point) for zone in self.zones.values())


class Platform:
    """What a file of SimGrid says, versions 3 and 4."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hosts: dict[str, Host] = {}
        self.wires: dict[str, Wire] = {}
        self.root = self._zone(xml_root(path, "platform", "SimGrid"), "platform")
        if not self.hosts:
            raise self._fail("found no host, accepted some: <host> or <cluster>")

    def route(self, source: str, target: str) -> Way:
        """Return the links from one host to another, in order."""
        return self._within(self.root, source, target)

    def _within(self, zone: Zone, source: str, target: str) -> Way:
        if source == target:
            return []
        inside = [
            next((inner for inner in zone.zones.values() if inner.holds(point)), None)
            for point in (source, target)
        ]
        first, last = inside
        if first is None and last is None:
            return self._direct(zone, source, target)
        if first is not None and first is last:
            return self._within(first, source, target)
        here = source if first is None else first.name
        there = target if last is None else last.name
        if (here, there) not in zone.between:
            raise self._fail(f"{zone.name}: found no route from {here} to {there}")
        out, into, way = zone.between[here, there]
        before = [] if first is None else self._within(first, source, out)
        return before + way + ([] if last is None else self._within(last, into, target))

    def _direct(self, zone: Zone, source: str, target: str) -> Way:
        """Return the way between two points of a zone itself."""
        if zone.routing in SHORTEST and (source, target) not in zone.ways:
            import networkx as nx

            graph: nx.DiGraph[str] = nx.DiGraph()
            graph.add_nodes_from(sorted(zone.points))
            for (one, other), way in zone.ways.items():
                graph.add_edge(one, other, weight=len(way))
            try:
                points = nx.shortest_path(graph, source, target, weight="weight")
            except nx.NetworkXNoPath:
                points = []
            zone.ways[source, target] = [
                link for step in pairwise(points) for link in zone.ways[step]
            ]
        way = zone.ways.get((source, target), [])
        if not way:
            raise self._fail(f"{zone.name}: found no route from {source} to {target}")
        return way

    # -------------------------------------------------------------------------------------------

    def _zone(self, element: ET.Element, name: str) -> Zone:
        zone = Zone(name, element.get("routing", "Full"))
        accepted = (*GIVEN, *SHORTEST)
        if zone.routing not in accepted:
            raise self._fail(f"{name}: routing: {unknown_name('routing', zone.routing, accepted)}")
        for item in element:
            self._item(zone, item)
        for item in element:
            if item.tag == "route":
                self._route(zone, item)
            elif item.tag in ROUTES:
                self._zone_route(zone, item)
        return zone

    def _item(self, zone: Zone, item: ET.Element) -> None:
        """Read what is in a zone, but routes."""
        if item.tag in BYPASSES:
            raise self._fail(f"{zone.name}: found <{item.tag}>, accepted routes without bypass")
        if item.tag in ZONES:
            name = self._text(item, "id")
            if name in zone.zones:
                raise self._fail(f"zone {name}: found a second one")
            zone.zones[name] = self._zone(item, name)
        elif item.tag == "cluster":
            inner = self._cluster(item)
            zone.zones[inner.name] = inner
        elif item.tag == "host":
            name = self._text(item, "id")
            self._host(name, item, "power" if item.get("speed") is None else "speed")
            zone.points.add(name)
        elif item.tag == "router":
            zone.points.add(self._text(item, "id"))
        elif item.tag == "link":
            self._wire(self._text(item, "id"), item, LINK)

    def _host(self, name: str, item: ET.Element, speed: str) -> None:
        if name in self.hosts:
            raise self._fail(f"host {name}: found a second one")
        first = self._text(item, speed).split(",")[0]  # of the states of its clock
        n_cores = self._whole(item, "core", 1)
        self.hosts[name] = Host(name, self._quantity(f"host {name}", "speed", first), n_cores)

    def _wire(
        self,
        name: str,
        item: ET.Element,
        attributes: tuple[str, str, str],
        usual: str = "SHARED",
    ) -> None:
        bandwidth, latency, policy = attributes
        if name in self.wires:
            raise self._fail(f"link {name}: found a second one")
        sharing = item.get(policy, usual).replace("FULLDUPLEX", SPLIT)
        accepted = ("SHARED", SPLIT, FAT)
        if sharing not in accepted:
            raise self._fail(f"link {name}: {unknown_name('sharing policy', sharing, accepted)}")
        rate = self._text(item, bandwidth).split(",")[0]
        self.wires[name] = Wire(
            name,
            self._quantity(f"link {name}", "bandwidth", rate),
            self._quantity(f"link {name}", "latency", item.get(latency, "0")),
            sharing,
        )

    def _cluster(self, item: ET.Element) -> Zone:
        """Read computers at a switch: a link each, and optionally a backbone."""
        name = self._text(item, "id")
        topology = item.get("topology", "FLAT")
        if topology != "FLAT":
            raise self._fail(f"cluster {name}: found topology {topology}, accepted FLAT")
        prefix, suffix = item.get("prefix", ""), item.get("suffix", "")
        numbers = list(self._radical(name, self._text(item, "radical")))
        router = item.get("router_id", f"{prefix}{name}_router{suffix}")
        zone = Zone(name, "Cluster", {router})
        backbone: Way = []
        if item.get("bb_bw") is not None:
            wire = f"{name}_backbone"
            self._wire(wire, item, BACKBONE)
            backbone = [(wire, BOTH)]
        own = []
        for number in numbers:
            host = f"{prefix}{number}{suffix}"
            self._host(host, item, "power" if item.get("speed") is None else "speed")
            self._wire(f"{host}_link", item, CARD, SPLIT)
            zone.points.add(host)
            own.append(host)
        for host in own:
            up, down = [(f"{host}_link", UP)], [(f"{host}_link", DOWN)]
            zone.ways[host, router] = up + backbone
            zone.ways[router, host] = backbone + down
            for other in own:
                if other != host:
                    zone.ways[host, other] = up + backbone + [(f"{other}_link", DOWN)]
        return zone

    def _radical(self, name: str, text: str) -> Iterator[int]:
        for part in text.split(","):
            match = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
            if match is None or int(match[2] or match[1]) < int(match[1]):
                raise self._fail(
                    f"cluster {name}: radical: found {shown(text)}, accepted ranges such as 0-15,20"
                )
            last = int(match[2] or match[1])
            if len(self.hosts) + last - int(match[1]) >= DOMAINS.value:
                DOMAINS.refuse(
                    len(self.hosts) + last - int(match[1]) + 1, self.path, ConfigurationError
                )
            yield from range(int(match[1]), last + 1)

    def _way(self, place: str, item: ET.Element) -> Way:
        way = []
        for step in item.iter("link_ctn"):
            name = self._text(step, "id")
            if name not in self.wires:
                raise self._fail(f"{place}: {unknown_name('link', name, self.wires)}")
            direction = step.get("direction", BOTH)
            if direction not in TURNED:
                raise self._fail(f"{place}: {unknown_name('direction', direction, list(TURNED))}")
            way.append((name, direction))
        return way

    def _route(self, zone: Zone, item: ET.Element) -> None:
        source, target = self._text(item, "src"), self._text(item, "dst")
        place = f"route from {source} to {target}"
        for point in (source, target):
            if point not in zone.points:
                raise self._fail(f"{place}: {unknown_name('host', point, zone.points)}")
        way = self._way(place, item)
        zone.ways[source, target] = way
        if _is_symmetrical(item):
            zone.ways.setdefault((target, source), _turned(way))

    def _zone_route(self, zone: Zone, item: ET.Element) -> None:
        source, target = self._text(item, "src"), self._text(item, "dst")
        out, into = self._text(item, "gw_src"), self._text(item, "gw_dst")
        place = f"route from {source} to {target}"
        for name, gateway in ((source, out), (target, into)):
            if name not in zone.zones:
                raise self._fail(f"{place}: {unknown_name('zone', name, zone.zones)}")
            if not zone.zones[name].holds(gateway):
                raise self._fail(f"{place}: found gateway {shown(gateway)}, accepted one of {name}")
        way = self._way(place, item)
        zone.between[source, target] = out, into, way
        if _is_symmetrical(item):
            zone.between.setdefault((target, source), (into, out, _turned(way)))

    def _text(self, item: ET.Element, name: str) -> str:
        value = item.get(name)
        if value is None:
            which = item.get("id") or item.get("src") or ""
            raise self._fail(f"{item.tag} {which}: found no attribute {name}, accepted one")
        return value

    def _whole(self, item: ET.Element, name: str, usual: int) -> int:
        text = item.get(name, str(usual))
        if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) == 0:
            raise self._fail(
                f"{item.tag} {item.get('id')}: {name}: found {shown(text)}, accepted 1 or more"
            )
        return int(text)

    def _quantity(self, place: str, what: str, text: str) -> float:
        """Return a value in the unit without prefix; numbers alone are in it."""
        match = _QUANTITY.fullmatch(text)
        units = {"": 1.0, **UNITS[what]}
        if match is None or match[2] not in units:
            accepted = ", ".join(UNITS[what])
            raise self._fail(
                f"{place}: {what}: found {shown(text)}, accepted a number with a unit: {accepted}"
            )
        value = float(match[1]) * units[match[2]]
        least, most = LIMITS[what]
        if not least <= value <= most and not (what == "latency" and value == 0.0):
            unit = next(iter(UNITS[what]))
            raise self._fail(
                f"{place}: {what}: found {shown(text)}, accepted {least:g} to {most:g} {unit}"
            )
        return value

    def _fail(self, message: str) -> ConfigurationError:
        return ConfigurationError(f"{self.path}: {message}")


def _is_symmetrical(item: ET.Element) -> bool:
    return item.get("symmetrical", "YES").upper() in ("YES", "TRUE", "1")


def _turned(way: Way) -> Way:
    return [(name, TURNED.get(direction, BOTH)) for name, direction in reversed(way)]
