"""What is known about this host, and whether something else runs on it."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.hardware.topology import (
    SYSTEM,
    allowed_cores,
    described_host,
    file_text,
    numbered,
    read_topology,
)

STAT = Path("/proc/stat")
#: Fields of a line of /proc/stat that are time spent computing: user, nice, system, irq, softirq.
_BUSY_FIELDS, _STEAL_FIELD = (0, 1, 2, 5, 6), 7
_PROBE_DATA = bytes(range(256)) * 64
_PROBE_ROUNDS = 24


@dataclass(frozen=True)
class Load:
    """What the cores of the host did in some time."""

    elapsed_s: float
    #: CPU time of everything but this process. The system counts in ticks of some milliseconds, so
    #: that a short time has to be added up with others, and may come out negative alone.
    others_s: float
    #: CPU time that the hypervisor kept from cores that had something to do.
    stolen_s: float

    def __add__(self, other: Load) -> Load:
        return Load(
            self.elapsed_s + other.elapsed_s,
            self.others_s + other.others_s,
            self.stolen_s + other.stolen_s,
        )

    @property
    def others_cores(self) -> float:
        """How many cores everything else kept busy."""
        return max(0.0, self.others_s) / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def stolen_cores(self) -> float:
        """How many cores the hypervisor took."""
        return max(0.0, self.stolen_s) / self.elapsed_s if self.elapsed_s > 0 else 0.0


@dataclass(frozen=True)
class Sample:
    """Clocks of the host at one moment, in seconds; differences count."""

    wall_s: float
    busy_s: float
    stolen_s: float
    own_s: float

    def until(self, later: Sample) -> Load:
        """Return what happened between two samples."""
        own = later.own_s - self.own_s
        return Load(
            elapsed_s=later.wall_s - self.wall_s,
            others_s=later.busy_s - self.busy_s - own,
            stolen_s=later.stolen_s - self.stolen_s,
        )


class Host:
    """What asks this host; tests put another in its place."""

    @property
    def threads(self) -> int:
        """Number of hardware threads."""
        return os.cpu_count() or 1

    @property
    def cores(self) -> list[int]:
        """Hardware threads that this process may use."""
        return allowed_cores()

    def sample(self) -> Sample:
        """Return the present state of the clocks."""
        return sample()

    def idle_load(self, seconds: float) -> Load:
        """Return the load while this process waits."""
        before = self.sample()
        time.sleep(seconds)
        return before.until(self.sample())

    def probe(self) -> float:
        """Return how long a fixed computation takes, in seconds: the speed of a core.

        Hashing 400 kB in the first-level cache: below a millisecond, and nothing but the clock rate
        of the core, and what interrupts it, changes that.
        """
        hashlib.sha256(_PROBE_DATA).digest()  # brings code and data into the caches
        begin = time.perf_counter()
        for _ in range(_PROBE_ROUNDS):
            hashlib.sha256(_PROBE_DATA).digest()
        return time.perf_counter() - begin

    def describe(self) -> dict[str, Any]:
        """Return what the host is, as plain data."""
        topology = read_topology()
        return {
            "name": platform.node(),
            **described_host(topology),
            "allowed_threads": self.cores,
            "cores": len({site.core for site in topology.sites.values()}),
            "sockets": len({site.socket for site in topology.sites.values()}),
            "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            "page_bytes": os.sysconf("SC_PAGE_SIZE"),
            "huge_pages": file_text(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
            "frequency_governor": file_text(SYSTEM / "cpu/cpu0/cpufreq/scaling_governor"),
            "caches": caches(SYSTEM / "cpu" / f"cpu{self.cores[0]}" / "cache"),
        }


def caches(folder: Path) -> list[dict[str, Any]]:
    """Return the caches of one hardware thread, as far as the system describes them."""
    names = ("level", "type", "size", "coherency_line_size", "shared_cpu_list")
    return [
        {name: file_text(index / name) for name in names}
        for index in numbered(folder, "index").values()
    ]


def sample(cores: Sequence[int] | None = None) -> Sample:
    """Return the present state of the clocks of some cores, or of all.

    Where the system keeps none, nobody else runs.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    own = usage.ru_utime + usage.ru_stime
    names = {"cpu"} if cores is None else {f"cpu{core}" for core in cores}
    lines = [line.split() for line in file_text(STAT).splitlines()]
    ticks = [line[1:] for line in lines if line[0] in names and len(line) > 1 + _STEAL_FIELD]
    second = os.sysconf("SC_CLK_TCK")
    busy = sum(int(fields[i]) for fields in ticks for i in _BUSY_FIELDS) / second
    stolen = sum(int(fields[_STEAL_FIELD]) for fields in ticks) / second
    return Sample(time.perf_counter(), busy if ticks else own, stolen, own)
