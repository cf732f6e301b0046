"""A calibration as rows for tables and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from simsched.files.units import format_bandwidth, format_size
from simsched.hardware.calibrate_probes import Measured
from simsched.hardware.calibration import Calibration


@dataclass(frozen=True)
class Row:
    """One measured value."""

    name: str
    #: In seconds, bytes per second, or a ratio.
    value: float
    #: ``s``, ``B/s`` or nothing.
    unit: str
    #: See :class:`~simsched.hardware.calibrate_probes.Measured`.
    spread: float
    rounds: int
    how: str

    @property
    def text(self) -> str:
        """The value with its unit."""
        return {"s": time_text, "B/s": bandwidth_text}.get(self.unit, "{:.3g}".format)(self.value)


def time_text(seconds: float) -> str:
    """Return a time with three digits, in nanoseconds or microseconds, whole picoseconds."""
    if seconds >= 1e-6:
        return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.6g} ms"
    return f"{round(float(f'{seconds * 1e9:.3g}'), 3):g} ns"


def rounded(bytes_per_s: float) -> float:
    """Return a bandwidth with the four digits that files and tables show."""
    return float(f"{bytes_per_s:.4g}")


def bandwidth_text(bytes_per_s: float) -> str:
    """Return a bandwidth with four digits."""
    return format_bandwidth(rounded(bytes_per_s))


def measured_rows(found: Calibration) -> list[Row]:
    """Return a row per measured value, memory first."""
    return [Row(name, m.value, unit, m.spread, m.rounds, m.how) for name, unit, m in _values(found)]


def _values(found: Calibration) -> Iterator[tuple[str, str, Measured]]:
    """Yield name, unit and value of everything measured."""
    for stream in found.streams:
        where = _where(found, stream.domain, stream.node)
        yield f"{stream.operation} {where}, threads {stream.n_threads}", "B/s", stream.rate
    for count, rate in enumerate(found.siblings[1:], 2):
        yield f"triad, {count} threads of one core", "B/s", rate
    for latency in found.latencies:
        where = _where(found, latency.domain, latency.node)
        state = f"loaded by {latency.n_loading}" if latency.n_loading else "idle"
        yield f"latency {where}, {state}", "s", latency.time
    for level in found.caches:
        yield f"{level.name} latency", "s", level.latency
        yield f"{level.name} bandwidth", "B/s", level.bandwidth
        yield from ((f"{level.name} {name}", "B/s", rate) for name, rate in level.passing.items())
    for size, time in found.sweep:
        yield f"latency in {format_size(size)}", "s", time
    for count, ratio in enumerate(found.smt[1:], 2):
        yield f"throughput, {count} threads of one core", "", ratio
    for name, cost in found.costs.items():
        yield name, "s", cost
    for name, costs in found.by_distance.items():
        for distance, cost in costs.items():
            yield f"{name}, distance {distance}", "s", cost
    for name, step in found.steps.items():
        yield f"step {name}", "s", step


def _where(found: Calibration, domain: int, node: int) -> str:
    """Return domain and node for a name."""
    number = found.host.nodes[node].number
    return f"node {number}" if len(found.host.domains) == 1 else f"domain {domain}, node {number}"


def calibration_document(found: Calibration) -> dict[str, Any]:
    """Return a calibration as plain data."""
    host = asdict(found.host)
    host["distance"] = [[*nodes, distance] for nodes, distance in found.host.distance.items()]
    return {
        "host": host,
        "values": [asdict(row) for row in measured_rows(found)],
        "caches": [
            {
                "name": level.name,
                "capacity_bytes": level.capacity_bytes,
                "capacity_from": level.capacity_how,
                "shared_by": level.shared_by,
            }
            for level in found.caches
        ],
        "checks": [asdict(check) for check in found.checks],
        "started": found.started,
        "duration_s": found.duration_s,
        "is_quick": found.is_quick,
        "warnings": list(found.warnings),
    }
