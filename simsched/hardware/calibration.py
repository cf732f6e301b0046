"""What a calibration has found."""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.hardware.calibrate_costs import Check
from simsched.hardware.calibrate_host import Host
from simsched.hardware.calibrate_memory import CHOSEN, CacheLevelValues, Latency, Stream, moved
from simsched.hardware.calibrate_probes import Measured


@dataclass(frozen=True)
class Calibration:
    """What has been measured on a host, as far as it was calibrated."""

    host: Host
    streams: tuple[Stream, ...]
    #: Bandwidth of 1, 2, ... hardware threads of one core on its own node; one entry without SMT.
    siblings: tuple[Measured, ...]
    latencies: tuple[Latency, ...]
    #: Latency by the size of the buffer.
    sweep: tuple[tuple[int, Measured], ...]
    #: From the core outwards.
    caches: tuple[CacheLevelValues, ...]
    #: Throughput of a core with 1, 2, ... busy hardware threads.
    smt: tuple[Measured, ...]
    #: Costs that do not depend on distance, by their names in a machine file.
    costs: dict[str, Measured]
    #: ``steal`` and ``steal_probe`` by distance class.
    by_distance: dict[str, dict[int, Measured]]
    steps: dict[str, Measured] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    started: str = ""
    duration_s: float = 0.0
    is_quick: bool = False
    warnings: tuple[str, ...] = ()

    def stream(self, domain: int, node: int, operation: str = CHOSEN) -> dict[int, Measured]:
        """Return the bytes that move per second, by the number of threads."""
        return {
            s.n_threads: moved(s.rate, operation)
            for s in self.streams
            if (s.domain, s.node, s.operation) == (domain, node, operation)
        }

    def latency(self, domain: int, node: int) -> dict[int, Measured]:
        """Return latency by the number of cores that stream meanwhile."""
        return {
            each.n_loading: each.time
            for each in self.latencies
            if (each.domain, each.node) == (domain, node)
        }
