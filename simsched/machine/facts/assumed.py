"""What is assumed where no file says anything, and by which rule.

Each rule is a value, and the words that a machine file gives as its source. The rules stand for
processors of today; the bandwidth of memory is the first thing to measure.
"""

from __future__ import annotations

LINE_BYTES = 64
#: Lines that one core keeps in flight: 10 to 16 buffers of the first level, more by prefetching;
#: one core of measured processors draws what 13 to 33 lines at its idle latency would.
LINES_IN_FLIGHT = 20
CORE_CAP = f"{LINES_IN_FLIGHT} lines of {LINE_BYTES} bytes in flight at the latency of the path"

#: Idle latency of a node at the local distance of 10, and of each unit beyond: two processors of
#: two sockets measured 89 to 143 ns at distances 10 to 20 or 21.
LOCAL_NS, UNIT_NS = 89.0, 5.0
LATENCY = "89 ns locally, 5 ns more for each unit of distance beyond 10"
LATENCY_UNDER_LOAD = (0.3, 0.6)
LATENCY_GROWTH = "slope and bend of nine processors from 2013 to 2024"
NEAR_DISTANCE, FAR_DISTANCE = 12, 21
DISTANCE = "10 locally, 12 within a package, 21 between packages"

#: Sustained bandwidth of a node for each core of its domain, by kind of memory.
NODE_BYTES_PER_S = {"DRAM": 5e9, "HBM": 20e9, "NVM": 1.5e9}
NODE = "{} for each core of the domain, as servers of 2015 to 2023 have it"
#: A memory-side cache: HBM in front of DRAM up to 32 GiB, beyond that DRAM in front of NVM.
LARGEST_HBM_BYTES = 32 << 30
BEHIND = "5 GB/s for each core of the domain behind HBM, 1.5 GB/s behind DRAM"
GRANULE_BYTES = 64 << 10
GRANULE = "between the line of 64 bytes and speed"
#: KNL, Xeon Phi 7210: 100 ns more; Optane in memory mode: 305 ns idle against 85 of DRAM.
MISS_NS = {"DRAM": 100.0, "NVM": 220.0}
MISS = "{:g} ns more than what is found"
LINK_SHARE = 0.45
LINK = "45 % of what the node sustains, as one socket reads from another"

#: A written line is fetched, and taken back later; the mixes of Intel's generator, and copies,
#: triads and updates of eight processors from 2013 to 2020 give 2.1 to 2.8 read lines for it.
WRITE_WEIGHT = 2.4
WRITE = "a fetch, and 1.4 read lines for taking it back, as of processors from 2013 to 2020"
WRITE_SHARE = 0.8
WRITE_CAP = "80 % of what it reads, the middle of eight processors from 2013 to 2020"
#: A rate that falls by more than this part with more threads is no noise.
FALLS = 0.05

CLOCK_HZ = 2.5e9
CLOCK = "no file names a clock"
OPS_PER_CYCLE = "costs of tasks in cycles"
#: Throughput of a core with 1, 2, 3, 4, ... busy hardware threads.
SMT = (1.0, 1.25, 1.35, 1.4, 1.4, 1.4, 1.4, 1.4)
SMT_RULE = "25 % more with a second thread, hardly more with others"
CAPACITY_BYTES = 4 << 30
CAPACITY = "4 GiB for each core of the domain"
PAGE = "base page of the architecture"

#: Of levels 1, 2, 3 and beyond: bytes per cycle of one core, and cycles of a hit.
CACHE_BYTES_PER_CYCLE = (64, 32, 16, 16)
CACHE_CYCLES = (5, 14, 50, 60)
CACHE_RATE = "{} bytes per cycle"
CACHE_LATENCY = "{} cycles"

#: One-way latency of a line between two cores of a domain, of a package, of two packages.
ONE_WAY_NS = (25.0, 40.0, 60.0)
ONE_WAY = "one-way latency of a line: 25 ns in a domain, 40 in a package, 60 between packages"
#: How often a line goes one way for a probe, for a steal, and while a lock is handed over.
PROBE_TRIPS, STEAL_TRIPS, LOCK_TRIPS = 2, 4, 2

#: Costs that no file of this kind has: as measured on hosts with a work-stealing runtime.
COSTS = {
    "spawn_child_first": "20 ns",
    "spawn_parent_first": "40 ns",
    "pop": "10 ns",
    "push": "10 ns",
    "barrier": "5 us",
    "context_switch": "2 us",
    "page_migration": "1.5 us",
    "page_fault": "1 us",
    "page_move": "1 us",
    "hotness_sample": "3 us",
    "counter_read": "1 us",
}
COST = "order of magnitude on hosts with a work-stealing runtime"


def core_rate(latency_ns: float) -> float:
    """Return what one core draws over a path, in bytes per second."""
    return LINES_IN_FLIGHT * LINE_BYTES / (latency_ns * 1e-9)


def latency_ns(distance: float) -> float:
    """Return the idle latency at a distance of the operating system, in nanoseconds."""
    return LOCAL_NS + UNIT_NS * max(0.0, distance - 10.0)


#: Of a device that no file describes further: a GPU of 2017 to 2020 in a server.
DEVICE_BYTES_PER_S, DEVICE_LINK_BYTES_PER_S, PEER_BYTES_PER_S = 900e9, 12e9, 25e9
DEVICE = "a GPU of 2017 to 2020 in a server: 7 TFLOP/s, 16 GiB, 900 GB/s"
DEVICE_LINK = "PCIe 3.0 x16, of which 12 of 15.75 GB/s are reached in each direction"
PEER = "25 GB/s for each link between two devices, in each direction"
COPY = "a copy that is asked for; the system has no table of it"
COPY_CAP = "a copy fills its link"
LAUNCH = "launch of a kernel and the notice of its end"
