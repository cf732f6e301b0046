"""Facts as the content of a machine file: what is measured, and what is assumed by which rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from simsched.files.units import (
    format_bandwidth,
    format_frequency,
    format_size,
    parse_bandwidth,
)
from simsched.machine.facts import assumed
from simsched.machine.facts.content import Content, Pair
from simsched.machine.facts.contents import Core, Node
from simsched.machine.facts.devices import add_devices
from simsched.machine.facts.gathered import Stated
from simsched.machine.facts.layout import Block, blocks, core_names, entries
from simsched.machine.facts.side_cache import with_side_cache
from simsched.machine.facts.transfers import transfer_ns
from simsched.machine.model import node_name
from simsched.machine.schema import source_key

PAIR = 2  #: of a value and its source
SAME, NEAR, FAR = "local", "near", "far"


class Document(Content):
    """The content of a machine file, section by section."""

    def document(self, description: str) -> dict[str, Any]:
        """Return the content of the file."""
        found: dict[str, Any] = {
            "description": description,
            "sources": self._sources(),
            "cores": self._cores(),
            "sockets": self._sockets(),
            **_if_any("caches", self._caches()),
            "memory": self._memory(),
            **_if_any("links", self._links()),
            **_if_any("hops", self._hops()),
            "paths": self._paths(),
            "costs": self._costs(),
        }
        add_devices(self, found)
        used = {source_key(text) for text in _texts(found)}
        found["sources"] = {key: item for key, item in found["sources"].items() if key in used}
        return found

    # -------------------------------------------------------------------------------------------

    def _sources(self) -> dict[str, Any]:
        found = {
            key: {"kind": "measured", "reference": f"{path.name}: {facts.reference}"}
            for key, (path, facts) in self.gathered.files.items()
            if not facts.devices or key == self.key
        }
        rule = "by the rule that is named with the value; no file says anything"
        return found | {"assumed": {"kind": "assumed", "reference": rule}}

    @property
    def _clock(self) -> float:
        stated = self.gathered.stated("clock_hz")
        return float(stated.value) if stated is not None else assumed.CLOCK_HZ  # type: ignore[arg-type]

    def _cores(self) -> dict[str, Any]:
        stated = self.gathered.stated("clock_hz")
        found = {}
        for kind, name in core_names(self.gathered.topology).items():
            text = format_frequency(self._clock)
            clock = (
                [text, stated.source]
                if stated is not None
                else self.assume(text, assumed.CLOCK, f"clock of {name}")
            )
            found[name] = {
                "clock": clock,
                "ops_per_cycle": self.assume(
                    1, assumed.OPS_PER_CYCLE, f"operations per cycle of {name}"
                ),
            }
            ways = max(len(c.threads) for c in self.gathered.topology.cores if c.kind == kind)
            if ways > 1:
                table = list(assumed.SMT[:ways])
                found[name]["smt_throughput"] = self.assume(
                    table, assumed.SMT_RULE, f"throughput of threads of {name}"
                )
        return found

    def _sockets(self) -> list[dict[str, Any]]:
        names = core_names(self.gathered.topology)
        found: list[Block] = blocks(self.gathered.topology)
        if any(block.is_split for block in found):
            self.warnings.append(
                "domains of a package differ in their cores: they are written as packages of their "
                "own"
            )
        return [
            {
                "count": [block.count, self.key],
                "domains": [block.domains, self.key],
                "cores": {names[kind]: [n, self.key] for kind, n in block.cores.items()},
            }
            for block in found
        ]

    def _caches(self) -> dict[str, Any]:
        """Return the levels; kinds of cores with other instances have their own values."""
        topology = self.gathered.topology
        names = core_names(topology)
        found: dict[str, Any] = {}
        for level in sorted({cache.level for cache in topology.caches}):
            of_kind: dict[str, tuple[int, int] | None] = {}
            for kind in names:
                members = {i for i, core in enumerate(topology.cores) if core.kind == kind}
                shapes = Counter(
                    (cache.capacity_bytes, len(cache.cores))
                    for cache in topology.caches
                    if cache.level == level and cache.cores & members
                )
                if len(shapes) > 1:
                    self.warnings.append(
                        f"L{level}: instances differ in size or cores: the most frequent one counts"
                    )
                of_kind[kind] = shapes.most_common(1)[0][0] if shapes else None
            found[f"L{level}"] = self._level(level, of_kind, names)
        return found

    def _level(
        self, level: int, of_kind: dict[str, tuple[int, int] | None], names: dict[str, str]
    ) -> dict[str, Any]:
        """Return a level by kind of core: capacity and sharing of an instance, if it has any."""
        place = min(level, len(assumed.CACHE_CYCLES)) - 1
        per_cycle, cycles = assumed.CACHE_BYTES_PER_CYCLE[place], assumed.CACHE_CYCLES[place]
        capacity, sharing = usual = next(shape for shape in of_kind.values() if shape)
        rate = format_bandwidth(self._clock * per_cycle)
        latency = f"{cycles / self._clock * 1e9:.3g} ns"
        content: dict[str, Any] = {
            "capacity": [format_size(capacity), self.key],
            "bandwidth": self.assume(
                rate, assumed.CACHE_RATE.format(per_cycle), f"cache L{level}: bandwidth"
            ),
            "latency": self.assume(
                latency, assumed.CACHE_LATENCY.format(cycles), f"cache L{level}: latency"
            ),
            "shared_by": [sharing, self.key],
        }
        differing = {
            names[kind]: {"capacity": [format_size(shape[0]), self.key]}
            | {"shared_by": [shape[1], self.key]}
            if shape
            else {"capacity": ["0 B", self.key]}
            for kind, shape in of_kind.items()
            if shape != usual
        }
        return content | _if_any("cores", differing)

    # -------------------------------------------------------------------------------------------

    def _n_cores(self, domain: int | None) -> int:
        cores: Sequence[Core] = self.gathered.topology.cores
        return sum(domain is None or core.domain == domain for core in cores)

    def _memory(self) -> dict[str, Any]:
        found = {}
        for name, nodes in entries(self.gathered.topology.nodes):
            first = nodes[0]
            stated = [self.gathered.capacity(node.number) for node in nodes]
            known = [each for each in stated if each is not None]
            if known:
                size, key = min(known)
                capacity: Pair = [format_size(size), key]
            else:
                size = assumed.CAPACITY_BYTES * self._n_cores(first.domain)
                capacity = self.assume(format_size(size), assumed.CAPACITY, f"capacity of {name}")
            entry = {
                "kind": first.kind,
                "at": "machine" if first.domain is None else [node.domain for node in nodes],
                "capacity": capacity,
                **self._node_bandwidth(name, nodes),
                "latency_under_load": self._growth(),
                "page": self.assume("4 KiB", assumed.PAGE, "size of pages"),
            }
            found[name] = with_side_cache(
                self, name, nodes, entry, self._own_latency(first), self._n_cores(first.domain)
            )
        return found

    def _growth(self) -> Pair:
        """Return slope and bend of the latency under load."""
        stated = self.gathered.stated("latency_growth")
        if stated is not None:
            return [list(stated.value), stated.source]  # type: ignore[call-overload]
        return self.assume(
            list(assumed.LATENCY_UNDER_LOAD),
            assumed.LATENCY_GROWTH,
            "growth of latency with the load",
        )

    def _own_latency(self, node: Node) -> Pair:
        """Return the latency from a node's own domain."""
        text, source, _, _ = self._path(node.domain or 0, node)
        return [text, source] if source else [text, f"assumed: {assumed.LATENCY}"]

    def node_rate(self, nodes: Sequence[Node]) -> tuple[float, str | None]:
        """Return what some nodes sustain each, and its source if it has been measured."""
        rates = self._rates(nodes[0])
        if rates:
            best = max(rates.values(), key=lambda stated: stated.value)
            return best.value, best.source
        matrix = self.gathered.matrix("bandwidth_bytes_per_s")
        if matrix is not None:
            columns = self._columns(matrix)
            own = [
                matrix.value.values[self._row(matrix, node.domain)][columns[node.number]]
                for node in nodes
                if node.domain is not None and node.number in columns
            ]
            if own:
                return min(own), f"{matrix.source}, the least of local ones"
        rate = assumed.NODE_BYTES_PER_S.get(nodes[0].kind, assumed.NODE_BYTES_PER_S["NVM"])
        return rate * self._n_cores(nodes[0].domain), None

    def _rates(self, node: Node) -> dict[int, Stated[float]]:
        """Return what 1, 2, ... threads draw from a node together, as far as files say it.

        Threads fill the cores of the domains in their order: more than a domain has cores are on
        others, too, and if a table has only such rows, a domain has its part of them.
        """
        found = self.gathered.mapped("rates_bytes_per_s") if node.kind == "DRAM" else {}
        rates = {int(n): stated for n, stated in found.items()}  # type: ignore[call-overload]
        cores = self.gathered.topology.cores
        own = self._n_cores(node.domain)
        is_one = self.gathered.topology.n_domains == 1
        inside = {n: stated for n, stated in rates.items() if is_one or n <= own}
        if not rates or max(inside, default=0) > 1 or max(rates) == 1:
            return inside
        most = max(rates)
        whole = rates[most]
        part = min(own / min(most, len(cores)), 1.0)
        share = replace(whole, value=whole.value * part, place=f"{whole.place}, a domain's part")
        return inside | {own: share}

    def _node_bandwidth(self, name: str, nodes: Sequence[Node]) -> dict[str, Any]:
        rate, source = self.node_rate(nodes)
        text = format_bandwidth(rate)
        gradually = {"saturates": "gradually"}
        if source is None:
            each = assumed.NODE_BYTES_PER_S.get(nodes[0].kind, assumed.NODE_BYTES_PER_S["NVM"])
            rule = assumed.NODE.format(format_bandwidth(each))
            return {"bandwidth": self.assume(text, rule, f"bandwidth of {name}"), **gradually}
        rates = self._rates(nodes[0])
        last = rates[max(rates)].value if rates else rate
        if last >= (1.0 - assumed.FALLS) * rate:
            return {"bandwidth": [text, source], **gradually}
        curve = {n: format_bandwidth(rates[n].value) for n in sorted(rates)}
        return {"bandwidth": [text, source], "bandwidth_by_flows": [curve, source]}

    def _columns(self, matrix: Stated[Any]) -> dict[int, int]:
        """Return the column of a matrix for each node by its number."""
        nodes = self.gathered.topology.nodes
        if matrix.value.shape[1] == len(nodes):
            return {node.number: column for column, node in enumerate(nodes)}
        own = [node for node in nodes if node.kind == "DRAM"]
        return {node.number: column for column, node in enumerate(own[: matrix.value.shape[1]])}

    def _row(self, matrix: Stated[Any], domain: int) -> int:
        """Return the row of a matrix for a domain: that of its own node."""
        columns = self._columns(matrix)
        own = (n.number for n in self.gathered.topology.nodes if n.domain == domain)
        return next((columns[number] for number in own if number in columns), domain)

    # -------------------------------------------------------------------------------------------

    def _reach(self, one: int, other: int | None) -> str:
        """Return whether a domain is the other one, in its package, or elsewhere."""
        if other is None or one == other:
            return SAME
        package = self.gathered.topology.package_of
        return NEAR if package(one) == package(other) else FAR

    def _pairs(self, reach: str) -> list[list[int]]:
        n = self.gathered.topology.n_domains
        return [[i, j] for i in range(n) for j in range(i + 1, n) if self._reach(i, j) == reach]

    def _links(self) -> dict[str, Any]:
        """Return links between the domains of a package, and between those of packages."""
        matrix = self.gathered.matrix("bandwidth_bytes_per_s")
        found: dict[str, Any] = {}
        for name, reach in (("within", NEAR), ("between", FAR)):
            pairs = self._pairs(reach)
            if not pairs:
                continue
            if matrix is not None:
                both = [*pairs, *([j, i] for i, j in pairs)]
                rates = [
                    matrix.value.values[self._row(matrix, i)][self._row(matrix, j)] for i, j in both
                ]
                rate = [format_bandwidth(min(rates)), f"{matrix.source}, the least of these"]
            else:
                node, _ = self.node_rate(self.gathered.topology.nodes[:1])
                text = format_bandwidth(assumed.LINK_SHARE * node)
                rate = self.assume(
                    text, assumed.LINK, f"bandwidth between domains, {name} packages"
                )
            found[name] = {
                "connects": [pairs, self.key],
                "bandwidth": rate,
                "saturates": "gradually",
            }
        return found

    def _hops(self) -> Pair:
        """Return hops where domains of a package are nearer than others."""
        if not (self._pairs(NEAR) and self._pairs(FAR)):
            return []
        n = self.gathered.topology.n_domains
        hops = {SAME: 0, NEAR: 1, FAR: 2}
        rows = [[hops[self._reach(i, j)] for j in range(n)] for i in range(n)]
        return [rows, f"{self.key}: packages"]

    def _paths(self) -> dict[str, Any]:
        """Return a rule for each node and latency."""
        rates = self.gathered.mapped("rates_bytes_per_s")
        alone = rates.get(1)
        found: dict[str, Any] = {}
        for name, nodes in entries(self.gathered.topology.nodes):
            for node in nodes:
                label = node_name(name, node.domain)
                by_value: dict[tuple[str, str, int, str], list[int]] = {}
                for domain in range(self.gathered.topology.n_domains):
                    by_value.setdefault(self._path(domain, node), []).append(domain)
                for (text, source, distance, origin), domains in by_value.items():
                    rule = self._rule(label, domains, node, text, source, alone)
                    rule["os_distance"] = (
                        [distance, origin]
                        if origin
                        else self.assume(distance, assumed.DISTANCE, "distances of the system")
                    )
                    found[f"{label}_from_{'_'.join(map(str, domains))}"] = rule
        return found

    def _path(self, domain: int, node: Node) -> tuple[str, str, int, str]:
        """Return latency and distance from a domain to a node with their sources, if any."""
        latency, distances = (self.gathered.matrix(n) for n in ("latency_ns", "distances"))
        distance = {SAME: 10, NEAR: assumed.NEAR_DISTANCE, FAR: assumed.FAR_DISTANCE}[
            self._reach(domain, node.domain)
        ]
        origin = ""
        if distances is not None:
            columns = self._columns(distances)
            row = self._row(distances, domain)
            distance = round(distances.value.values[row][columns[node.number]])
            origin = distances.source
        if latency is not None and node.number in self._columns(latency):
            row = self._row(latency, domain)
            value = latency.value.values[row][self._columns(latency)[node.number]]
            return f"{value:g} ns", latency.source, distance, origin
        return f"{assumed.latency_ns(distance):g} ns", "", distance, origin

    def _rule(
        self,
        label: str,
        domains: list[int],
        node: Node,
        latency: str,
        source: str,
        alone: Stated[float] | None,
    ) -> dict[str, Any]:
        """Return latency and core cap of the paths from some domains to a node."""
        ns = float(latency.removesuffix(" ns"))
        is_own = node.domain in domains and node.kind == "DRAM"
        if alone is not None and is_own:
            cap = [format_bandwidth(alone.value), alone.source]
        else:
            rate = assumed.core_rate(ns)
            if alone is not None:  # as many lines in flight as one thread has locally
                home = self._path(domains[0], self._home(domains[0]))[0]
                rate = alone.value * float(home.removesuffix(" ns")) / ns
            rule = assumed.CORE_CAP if alone is None else "lines in flight of a local access"
            cap = self.assume(format_bandwidth(rate), rule, "core_cap: what one core draws")
        return {
            "to": label,
            "domains": domains,
            "latency": [latency, source]
            if source
            else self.assume(latency, assumed.LATENCY, "latency of paths"),
            "core_cap": cap,
            **self._writes(parse_bandwidth(cap[0])),
        }

    def _writes(self, core_cap: float) -> dict[str, Any]:
        """Return what one core writes at most, and what a written byte costs the controller.

        Nothing where the node's rate is one of programs that write: it holds for them as it is.
        """
        if any(facts.rates_count_writes for _, facts in self.gathered.files.values()):
            return {}
        weight = self.gathered.stated("write_weight")
        return {
            "write_core_cap": self.assume(
                format_bandwidth(assumed.WRITE_SHARE * core_cap),
                assumed.WRITE_CAP,
                "write_core_cap: what one core writes",
            ),
            "write_weight": [weight.value, weight.source]
            if weight is not None
            else self.assume(assumed.WRITE_WEIGHT, assumed.WRITE, "write_weight: a written byte"),
        }

    def _home(self, domain: int) -> Node:
        nodes = self.gathered.topology.nodes
        return next((node for node in nodes if node.domain == domain), nodes[0])

    # -------------------------------------------------------------------------------------------

    def _costs(self) -> dict[str, Any]:
        """Return steal and lock costs from latencies between cores; the others are assumed."""
        has_near, has_far = bool(self._pairs(NEAR)), bool(self._pairs(FAR))
        reaches = [SAME, SAME, *([NEAR] if has_near else []), *([FAR] if has_far else [])]
        measured = transfer_ns(self.gathered)
        rule = dict(zip((SAME, NEAR, FAR), assumed.ONE_WAY_NS, strict=True))
        known = {reach: measured.get(reach) for reach in dict.fromkeys(reaches)}
        lines = [rule[reach] if known[reach] is None else known[reach].value for reach in reaches]  # type: ignore[union-attr]
        sources = list(dict.fromkeys(s.source for s in known.values() if s is not None))
        costs: dict[str, Any] = {}
        for name, trips in (
            ("steal_probe", assumed.PROBE_TRIPS),
            ("steal", assumed.STEAL_TRIPS),
            ("lock_hold", assumed.LOCK_TRIPS),
        ):
            texts: Any = [f"{trips * ns:.4g} ns" for ns in lines]
            texts = texts[-1] if name == "lock_hold" else texts
            if sources and all(known.values()):
                costs[name] = [texts, f"{'; '.join(sources)}: {trips} times one way"]
            else:
                costs[name] = self.assume(
                    texts, f"{assumed.ONE_WAY}, {trips} times", f"cost {name}"
                )
        for name, text in assumed.COSTS.items():
            costs[name] = self.assume(text, assumed.COST, f"cost {name}")
        return costs


def _if_any(key: str, value: Any) -> dict[str, Any]:
    return {key: value} if value else {}


def _texts(content: Any) -> Iterator[str]:
    """Yield all texts in a document that are sources: those that end a pair."""
    if isinstance(content, dict):
        for value in content.values():
            yield from _texts(value)
    elif isinstance(content, list):
        if len(content) == PAIR and isinstance(content[1], str) and content[1].strip():
            yield content[1]
        for value in content:
            yield from _texts(value)
