"""What several files say together, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from simsched.files.errors import ConfigurationError
from simsched.files.limits import DOMAINS
from simsched.machine.facts.contents import Device, Fact, Facts, Matrix, Topology

Value = TypeVar("Value")

#: Which topology is taken if several files have one: the one that says most.
DETAIL = ("hwloc", "lscpu", "numactl")
#: A latency that is smaller by this part, at a larger distance, contradicts the distances.
TOLERANCE = 0.1
CONTRADICTION = "latencies contradict the distances of the system"


@dataclass(frozen=True)
class Stated(Fact[Value]):
    """A fact with the key of its file."""

    key: str

    @property
    def source(self) -> str:
        """What a machine file says of the value."""
        return f"{self.key}: {self.place}"


@dataclass(frozen=True)
class Gathered:
    """The facts of all files by key, and the topology that is taken."""

    files: dict[str, tuple[Path, Facts]]
    topology: Topology
    topology_key: str
    warnings: tuple[str, ...]

    def stated(self, name: str) -> Stated[object] | None:
        """Return a matrix or a fact that some file has, the first one."""
        for key, (_, facts) in self.files.items():
            found = getattr(facts, name)
            if isinstance(found, Matrix):
                return Stated(found, found.place, key)
            if isinstance(found, Fact):
                return Stated(found.value, found.place, key)
        return None

    def matrix(self, name: str) -> Stated[Matrix] | None:
        """Return a matrix that some file has."""
        found = self.stated(name)
        if found is None or not isinstance(found.value, Matrix):
            return None
        return Stated(found.value, found.place, found.key)

    def mapped(self, name: str) -> dict[object, Stated[float]]:
        """Return what all files have in a mapping; the first file that has a key counts."""
        found: dict[object, Stated[float]] = {}
        for key, (_, facts) in self.files.items():
            for item, fact in getattr(facts, name).items():
                found.setdefault(item, Stated(fact.value, fact.place, key))
        return found

    def capacity(self, number: int) -> tuple[int, str] | None:
        """Return the bytes of a memory node and the key of the file that states them.

        It is the topology that is taken, or else the first one that has them.
        """
        for key in dict.fromkeys((self.topology_key, *self.files)):
            topology = self.files[key][1].topology
            for node in () if topology is None else topology.nodes:
                if node.number == number and node.capacity_bytes:
                    return node.capacity_bytes, key
        return None

    @property
    def model(self) -> str | None:
        """Name of the processor."""
        return next((facts.model for _, facts in self.files.values() if facts.model), None)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Devices that a file about them has, or else the topology."""
        for _, facts in self.files.values():
            if facts.devices:
                return facts.devices
        return self.topology.devices


def gather(found: Sequence[tuple[Path, Facts]]) -> Gathered:
    """Return what files say together; what they contradict each other in is refused.

    Parameters
    ----------
    found : sequence of (Path, Facts)
        Files and what they say.

    Returns
    -------
    Gathered
        One topology, and the facts by the name of their format.

    Raises
    ------
    ConfigurationError
        No file has a topology, or files do not fit each other.
    """
    files: dict[str, tuple[Path, Facts]] = {}
    for path, facts in found:
        key = facts.format
        if key in files and facts.topology is not None:
            raise ConfigurationError(
                f"{path}: found a second topology of format {key}, accepted one: "
                f"{files[key][0]} has it"
            )
        number = 2
        while key in files:
            key, number = f"{facts.format}{number}", number + 1
        files[key] = path, facts
    have = [key for key in DETAIL if key in files and files[key][1].topology is not None]
    if not have:
        listed = ", ".join(str(path) for path, _ in files.values())
        raise ConfigurationError(
            f"{listed}: found no topology, accepted one file of hwloc, lscpu or numactl with them"
        )
    topology = files[have[0]][1].topology
    assert topology is not None
    if max(topology.n_domains, len(topology.nodes)) > DOMAINS.value:
        n_domains = max(topology.n_domains, len(topology.nodes))
        DOMAINS.refuse(n_domains, files[have[0]][0], ConfigurationError)
    for other in have[1:]:
        _compare(files[have[0]], files[other])
    warnings = [text for key in have[:1] for text in files[key][1].warnings]
    warnings += [
        text for key, (_, facts) in files.items() if key not in have for text in facts.warnings
    ]
    gathered = Gathered(files, topology, have[0], tuple(warnings))
    _check_sizes(gathered, files[have[0]][0])
    _check_devices(gathered)
    return Gathered(files, topology, have[0], (*warnings, *_contradictions(gathered)))


def located(path: Path, place: str) -> str:
    """Return a file and a place in it, as messages have them."""
    line = place.removeprefix("line ")
    return f"{path}:{line}" if line.isdecimal() else f"{path}: {place}"


def _compare(one: tuple[Path, Facts], other: tuple[Path, Facts]) -> None:
    """Refuse two topologies with other numbers of threads or domains."""
    first, second = one[1].topology, other[1].topology
    assert first is not None
    assert second is not None
    threads = [sum(len(core.threads) for core in t.cores) for t in (first, second)]
    for what, left, right in (
        ("hardware threads", *threads),
        ("NUMA domains", first.n_domains, second.n_domains),
    ):
        if left != right:
            raise ConfigurationError(
                f"{other[0]}: found {right} {what}, accepted as many as {one[0]} has: {left}"
            )


def _check_sizes(gathered: Gathered, path: Path) -> None:
    """Refuse matrices of another size than the topology."""
    n_nodes = len(gathered.topology.nodes)
    n_threads = sum(len(core.threads) for core in gathered.topology.cores)
    for name, accepted, what in (
        ("distances", {n_nodes}, "memory nodes"),
        ("latency_ns", {n_nodes, gathered.topology.n_domains}, "memory nodes"),
        ("bandwidth_bytes_per_s", {n_nodes, gathered.topology.n_domains}, "memory nodes"),
        ("one_way_ns", {n_threads, len(gathered.topology.cores)}, "hardware threads"),
    ):
        found = gathered.matrix(name)
        if found is not None and found.value.shape[0] not in accepted:
            where, _ = gathered.files[found.key]
            listed = " or ".join(map(str, sorted(accepted)))
            raise ConfigurationError(
                f"{located(where, found.place)}: found {found.value.shape[0]} rows, "
                f"accepted {listed}: {path} has so many {what}"
            )


def _check_devices(gathered: Gathered) -> None:
    """Refuse files that know other devices."""
    n_devices = len(gathered.devices)
    known = [(path, facts.devices) for path, facts in gathered.files.values() if facts.devices]
    if gathered.topology.devices:
        known.append((gathered.files[gathered.topology_key][0], gathered.topology.devices))
    for path, devices in known:
        if len(devices) != n_devices:
            raise ConfigurationError(
                f"{path}: found {len(devices)} devices, accepted as many as {known[0][0]} has: "
                f"{n_devices}"
            )
    for path, facts in gathered.files.values():
        rates = [*facts.copy_in, *facts.copy_out, *facts.own_rate]
        rates += [device for pair in facts.copy_between for device in pair]
        if max(rates, default=-1) >= n_devices:
            raise ConfigurationError(
                f"{path}: found rates of device {max(rates)}, accepted 0 to {n_devices - 1}"
                if n_devices
                else f"{path}: found rates of devices, accepted with a topology or with nvidia-smi "
                "topo -m that has them"
            )


def _contradictions(gathered: Gathered) -> list[str]:
    """Warn if measured latencies fall where the distances of the system rise."""
    distances, latency = gathered.matrix("distances"), gathered.matrix("latency_ns")
    if distances is None or latency is None:
        return []
    if distances.value.shape != latency.value.shape:
        return []
    worst = 0.0
    for far, ns in zip(distances.value.values, latency.value.values, strict=True):
        for i, one in enumerate(far):
            for j, other in enumerate(far):
                if one > other and ns[i] < ns[j]:
                    worst = max(worst, 1.0 - ns[i] / ns[j])
    if worst <= TOLERANCE:
        return []
    where = gathered.files[latency.key][0]
    return [
        f"{located(where, latency.place)}: {CONTRADICTION} by "
        f"up to {worst:.0%}; the latencies are taken, the distances only order first touch"
    ]
