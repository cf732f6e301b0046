"""Bandwidth of each memory node over time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.files.units import PER_PS
from simsched.trace.exporters._source import detail, events_of
from simsched.trace.flows import CACHE_OF, Ways, copies_of, flows_of, passing
from simsched.trace.recording import Recording

ALL_MEMORY = "memory"  #: the one series of a recording that does not know where its paths lead

HALF_A_BYTE = 0.5
MOST = 1e18  #: bytes per second, or ps


def node_bandwidth(
    recording: Recording, bins: int
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
    """Return edges of equal time bins (ps), and the bytes per second at each memory node in each.

    Details of the recording say what paths cross; without them all flows count as one series,
    `ALL_MEMORY`. What caches in front of nodes answer are series of their own. Nodes where nothing
    passes are left out.
    """
    trace = events_of(recording)
    flows, ways = flows_of(trace), _ways(recording)
    if ways is not None and recording.workload is not None:
        flows = flows.beside(copies_of(trace, ways, recording.workload.graph.block_bytes))
    last = int(recording.trace.events["time_ps"].max())
    # The last times of int64 are doubles that it cannot hold.
    edges = np.minimum(np.linspace(0, max(last, 1), bins + 1), np.nextafter(2.0**63, 0))
    if not len(flows):
        return edges.astype(np.int64), {}
    if ways is not None and not 0 <= flows.path.min() <= flows.path.max() < len(ways.ptr) - 1:
        ways = None
    paths, passed = passing(flows, ways, edges)
    series = {ALL_MEMORY: np.ones(len(paths))}
    if ways is not None:
        nodes = range(ways.n_nodes)
        series = {ways.names[node]: ways.moved(node)[paths] for node in nodes}
        series |= {CACHE_OF.format(ways.names[n]): ways.answered(n)[paths] for n in nodes}
    result = {}
    for name, weights in series.items():
        if weights.any():
            n_bytes = weights @ passed
            n_bytes[n_bytes < HALF_A_BYTE] = 0.0  # what rounding has left
            result[name] = np.rint(n_bytes / (np.diff(edges) * PER_PS)).astype(np.int64)
    return edges.astype(np.int64), result


def _ways(recording: Recording) -> Ways | None:
    """Return what paths cross, None where the recording does not know."""
    found = {
        key: detail(recording, key, kind)
        for key, kind in (
            ("resources", str),
            ("resource_bytes_per_s", float),
            ("path_ptr", int),
            ("path_resource", int),
            ("path_weight", float),
            ("path_latency_ps", float),
            ("copy_path", int),
        )
    }
    if any(values is None for values in found.values()):
        return None
    rates, weight, latency = (
        np.array(found[key], np.float64)
        for key in ("resource_bytes_per_s", "path_weight", "path_latency_ps")
    )
    ptr, resource, copy = (
        np.array(found[key], np.int64) for key in ("path_ptr", "path_resource", "copy_path")
    )
    names, n_nodes = found["resources"] or [], math.isqrt(len(copy))
    if not (
        len(copy) == n_nodes**2
        and n_nodes <= len(names) == len(rates)
        and len(ptr) == len(latency) + 1
        and ptr[0] == 0
        and ptr[-1] == len(resource) == len(weight)
        and np.all(np.diff(ptr) > 0)
        and _within(resource, len(names) - 1)
        and _within(copy, len(latency) - 1)
        and all(_within(values, MOST) and np.all(values > 0) for values in (rates, weight))
        and _within(latency, MOST)
    ):
        raise ConfigurationError(
            f"recording {recording.name!r}: details: found what paths cross in parts that do not "
            "fit together, accepted: as simsched run --events writes them"
        )
    copies = copy.reshape(n_nodes, n_nodes)
    return Ways(tuple(names), rates, ptr, resource, weight, copies, latency.astype(np.int64))


def _within(values: NDArray[np.int64] | NDArray[np.float64], most: float) -> bool:
    """Return whether all values are 0 to `most`; no number is neither."""
    return bool(np.all((values >= 0) & (values <= most)))
