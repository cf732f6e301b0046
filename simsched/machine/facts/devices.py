"""Devices beside the host in a machine file: a socket, a memory and a link for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simsched.files.errors import ConfigurationError
from simsched.files.units import format_bandwidth
from simsched.machine.facts import assumed
from simsched.machine.facts.content import Content
from simsched.machine.facts.contents import Device
from simsched.machine.facts.gathered import Stated

NAME = "device"


def add_devices(content: Content, document: dict[str, Any]) -> None:
    """Add what stands for the devices of a topology to the content of a machine file.

    A ConfigurationError names a device that is near a memory node or a package that is not there.
    """
    devices = content.gathered.devices
    if not devices:
        return
    n_hosts = content.gathered.topology.n_domains
    near = [_domain(content, device) for device in devices]
    own = list(range(n_hosts, n_hosts + len(devices)))
    document["cores"][NAME] = _core(content)
    document["sockets"].append(
        {
            "count": [len(devices), content.key],
            "domains": [1, content.key],
            "cores": {NAME: [1, content.key]},
        }
    )
    for entry in document["memory"].values():
        entry["used_by"] = ["cpu"]
    document["memory"][NAME] = _memory(content, own)
    for level in document.get("caches", {}).values():
        level.setdefault("cores", {})[NAME] = {
            "capacity": ["0 B", "assumed: caches of devices are left out"]
        }
    links = document.setdefault("links", {})
    _add_host_links(content, links, near, own)
    _add_peers(content, links, own)
    _add_hops(document, near)
    document["paths"] |= _paths(content, own, document["memory"][NAME]["bandwidth"][0])
    document["costs"]["kernel_launch"] = content.assume(
        "5 us", assumed.LAUNCH, "cost kernel_launch"
    )


def _add_host_links(
    content: Content, links: dict[str, Any], near: list[int], own: list[int]
) -> None:
    """Add the links between host and devices, those of the same rate together."""
    into, out = content.gathered.mapped("copy_in"), content.gathered.mapped("copy_out")
    by_rate: dict[tuple[str, str], list[list[int]]] = {}
    for device, pair in enumerate(zip(near, own, strict=True)):
        measured = [found[device] for found in (into, out) if device in found]
        best = max(measured, key=lambda rate: rate.value, default=None)
        key = ("", "") if best is None else (format_bandwidth(best.value), best.source)
        by_rate.setdefault(key, []).append(list(pair))
    assumed_rate = format_bandwidth(assumed.DEVICE_LINK_BYTES_PER_S)
    for number, ((rate, source), pairs) in enumerate(by_rate.items()):
        name = "to_devices" if number == 0 else f"to_devices_{number + 1}"
        links[name] = {
            "connects": [pairs, content.key],
            "bandwidth": [rate, source]
            if rate
            else content.assume(
                assumed_rate, assumed.DEVICE_LINK, "bandwidth between host and device"
            ),
        }


def _domain(content: Content, device: Device) -> int:
    """Return the domain of the host that a device is near."""
    topology = content.gathered.topology
    if device.node is not None:
        found = [node.domain for node in topology.nodes if node.number == device.node]
        if not found:
            listed = ", ".join(str(node.number) for node in topology.nodes)
            files = content.gathered.files.values()
            path = next(path for path, facts in files if device in facts.devices)
            raise ConfigurationError(
                f"{path}: device {device.name}: found memory node {device.node}, accepted one of "
                f"the topology: {listed}"
            )
        return found[0] or 0
    packages = {core.package: core.domain for core in reversed(topology.cores)}
    return packages.get(device.package or 0, 0)


def _core(content: Content) -> dict[str, Any]:
    return {
        "processor": "gpu",
        "clock": content.assume("1.4 GHz", assumed.DEVICE, f"clock of {NAME}"),
        "ops_per_cycle": content.assume(5000, assumed.DEVICE, f"operations per cycle of {NAME}"),
    }


def _memory(content: Content, own: list[int]) -> dict[str, Any]:
    own_rates = content.gathered.mapped("own_rate").values()
    least = min(own_rates, key=lambda rate: rate.value, default=None)
    rate = format_bandwidth(assumed.DEVICE_BYTES_PER_S if least is None else least.value)
    return {
        "kind": "HBM",
        "at": own,
        "used_by": "own",
        "managed_by": "driver",
        "capacity": content.assume("16 GiB", assumed.DEVICE, f"capacity of {NAME}"),
        "bandwidth": [rate, f"{least.source}, copies within a device"]
        if least is not None
        else content.assume(rate, assumed.DEVICE, f"bandwidth of {NAME}"),
        "page": content.assume("4 KiB", assumed.PAGE, "size of pages"),
    }


def _add_peers(content: Content, links: dict[str, Any], own: list[int]) -> None:
    """Add links between devices, those of the same width together."""
    measured: dict[Any, Stated[float]] = content.gathered.mapped("copy_between")
    width_of = _peers(content.gathered.devices)
    without = [pair for pair in measured if tuple(sorted(pair)) not in width_of]
    if without:
        content.warnings.append(
            f"{len(without)} rates between devices are left out: no file says that they have links "
            "of their own"
        )
    for width in sorted(set(width_of.values())):
        pairs = [pair for pair in width_of if width_of[pair] == width]
        both = [*pairs, *(pair[::-1] for pair in pairs)]
        rates = [measured[pair] for pair in both if pair in measured]
        least = min(rates, key=lambda rate: rate.value, default=None)
        text = format_bandwidth(width * assumed.PEER_BYTES_PER_S if least is None else least.value)
        ends = [[own[one], own[other]] for one, other in pairs]
        links[f"peers_{width}"] = {
            "connects": [ends, f"{content.key}: links between devices"],
            "bandwidth": [text, f"{least.source}, the least of these"]
            if least is not None
            else content.assume(text, assumed.PEER, "bandwidth between devices"),
        }


def _peers(devices: Sequence[Device]) -> dict[tuple[int, ...], int]:
    """Return how many links pairs of devices have, the lower number of a pair first."""
    number = {device.name: place for place, device in enumerate(devices)}
    found: dict[tuple[int, ...], int] = {}
    for device in devices:
        for other, width in device.peers.items():
            if other.lower() in number:
                pair = tuple(sorted((number[device.name], number[other.lower()])))
                found[pair] = max(width, found.get(pair, 0))
    return found


def _add_hops(document: dict[str, Any], near: list[int]) -> None:
    """Extend a matrix of hops: a device is one hop beyond the domain that it is near."""
    if "hops" not in document:
        return
    rows, source = document["hops"]
    beyond = [*([n, 0] for n in range(len(rows))), *([domain, 1] for domain in near)]
    document["hops"] = [
        [
            [
                0 if i == j else rows[one][other] + extra + more
                for j, (other, more) in enumerate(beyond)
            ]
            for i, (one, extra) in enumerate(beyond)
        ],
        source,
    ]


def _paths(content: Content, own: list[int], inside: str) -> dict[str, Any]:
    """Return the rules of paths into and out of devices, and within them."""
    apart = content.assume(255, assumed.COPY, "distances of devices")
    latency = content.assume("10 us", assumed.COPY, "latency of copies")
    into, out = content.gathered.mapped("copy_in"), content.gathered.mapped("copy_out")
    rules: dict[str, Any] = {
        "into_devices": {"domains": own, "latency": latency, "os_distance": apart},
        "out_of_devices": {"to": NAME, "latency": latency, "os_distance": apart},
    }
    fastest = [rate.value for found in (into, out) for rate in found.values()]
    usual = format_bandwidth(max([assumed.DEVICE_LINK_BYTES_PER_S, *fastest]))
    for rule in rules.values():
        rule["core_cap"] = content.assume(usual, assumed.COPY_CAP, "rate of copies")
    for number, domain in enumerate(own):
        if number in into:
            rate = [format_bandwidth(into[number].value), into[number].source]
            rules[f"into_{NAME}{domain}"] = {"domains": domain, "core_cap": rate}
        if number in out:
            rate = [format_bandwidth(out[number].value), out[number].source]
            rules[f"out_of_{NAME}{domain}"] = {"to": f"{NAME}{domain}", "core_cap": rate}
    return rules | {
        "in_devices": {
            "to": NAME,
            "hops": 0,
            "latency": content.assume("400 ns", assumed.DEVICE, "latency in devices"),
            "core_cap": content.assume(inside, assumed.DEVICE, f"bandwidth of {NAME}"),
            "os_distance": content.assume(10, assumed.COPY, "distances of devices"),
        },
    }
