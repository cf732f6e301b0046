"""Memory-side caches in a machine file: faster memory in front of larger memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simsched.files.units import format_bandwidth, format_size
from simsched.machine.facts import assumed
from simsched.machine.facts.content import Content, Pair
from simsched.machine.facts.contents import Node


def with_side_cache(
    content: Content,
    name: str,
    nodes: Sequence[Node],
    entry: dict[str, Any],
    latency: Pair,
    n_cores: int,
) -> dict[str, Any]:
    """Return an entry of memory with the cache in front of its nodes, if there is one.

    What has been measured, or is assumed of what programs draw, is the cache's. `latency` is that
    of what is found in the cache, `n_cores` the number of cores of a domain.
    """
    size = min((node.side_cache_bytes or 0 for node in nodes), default=0)
    if size == 0:
        return entry
    kind = "DRAM" if size <= assumed.LARGEST_HBM_BYTES else "NVM"
    behind = format_bandwidth(n_cores * assumed.NODE_BYTES_PER_S[kind])
    granule = min(size, assumed.GRANULE_BYTES)
    size -= size % granule
    rate, source = entry["bandwidth"]
    kept = {key: value for key, value in entry.items() if key != "bandwidth_by_flows"}
    hit_ns = float(str(latency[0]).removesuffix(" ns"))
    extra_ns = assumed.MISS_NS[kind]
    return {
        **kept,
        "kind": kind,
        "bandwidth": content.assume(
            behind, assumed.BEHIND, f"bandwidth of {name} behind its cache"
        ),
        "saturates": "gradually",
        "cache": {
            "capacity": [format_size(size), content.key],
            "granule": content.assume(format_size(granule), assumed.GRANULE, f"granule of {name}"),
            "bandwidth": [rate, source],
            "hit_latency": latency,
            "miss_latency": content.assume(
                f"{hit_ns + extra_ns:g} ns", assumed.MISS.format(extra_ns), f"misses of {name}"
            ),
        },
    }
