"""Small machines on which two policies meet: every value is one of a few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from simsched.experiment.duel_choices import (
    Choices,
    changed_value,
    random_values,
    simpler_values,
)
from simsched.machine.load import machine_from
from simsched.machine.model import Machine

#: What a machine for task graphs may have.
CHOICES: Choices = {
    "domains": (1, 2, 4),
    "cores": (1, 2, 3, 4, 8),
    "slow_cores": (0, 1, 2, 3),
    "slow_speed": (0.5, 0.25, 0.1),
    "threads": (1, 2),
    "dram_gb_per_s": (100, 20, 5),
    "core_gb_per_s": (20, 5),
    "remote_share": (1.0, 0.5, 0.1),
    "remote_us": (0.1, 1, 5),
    "fabric_gb_per_s": (200, 20, 2),
    "hbm_gb_per_s": (0, 50, 400),
    "hbm_mib": (1024, 16, 1),
    "cache_mib": (0, 16, 1),
    "devices": (0, 1, 2),
    "device_speed": (10, 100, 1),
    "pcie_gb_per_s": (10, 1),
    "launch_us": (0, 10, 100),
    "spawn_us": (0, 0.1, 1, 10),
    "queue_us": (0, 0.1, 1, 10),
    "probe_us": (0, 0.1, 1, 10),
    "steal_us": (0, 0.1, 1, 10),
    "lock_us": (0, 0.1, 1, 10),
    "switch_us": (0, 1, 10, 100),
    "page_us": (0, 1, 10),
}
WHY = "assumed: one of a few values that were tried"


@dataclass(frozen=True)
class Rig:
    """A machine; times and rates are in the units of their names.

    Slow cores are beside the others in every domain; slow domains, the last ones, have as many
    cores, all of them slow. Every domain has a node of DRAM and, if there is a bandwidth, one of
    HBM; a cache is in front of DRAM, four times as fast. `remote_share` is the part of a core's
    bandwidth that it gets from other domains. Devices are at the first domain, behind PCIe. With
    queues a device takes so many kernels at a time, and there are copy engines beside the devices,
    which take as many copies.
    """

    domains: int = 1
    cores: int = 1
    slow_cores: int = 0
    slow_speed: float = 0.5
    threads: int = 1
    dram_gb_per_s: float = 100
    core_gb_per_s: float = 20
    remote_share: float = 1.0
    remote_us: float = 0.1
    fabric_gb_per_s: float = 200
    hbm_gb_per_s: float = 0
    hbm_mib: int = 1024
    cache_mib: int = 0
    devices: int = 0
    device_speed: float = 10
    pcie_gb_per_s: float = 10
    launch_us: float = 0
    spawn_us: float = 0
    queue_us: float = 0
    probe_us: float = 0
    steal_us: float = 0
    lock_us: float = 0
    switch_us: float = 0
    page_us: float = 0
    slow_domains: int = 0
    device_queues: int = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of processors."""
        return ("cpu", *(["gpu"] if self.devices else []), *self._engines)

    @property
    def _engines(self) -> tuple[str, ...]:
        return ("copy_in", "copy_out") if self.devices and self.device_queues else ()

    def machine(self, name: str) -> Machine:
        """Return the machine itself."""
        return _machine(self, name)

    def simpler(self, choices: Choices) -> Iterator[Rig]:
        """Yield machines with one value that is simpler, the simplest ones first."""
        for value in simpler_values(choices, vars(self)):
            yield replace(self, **value)

    def document(self) -> dict[str, Any]:
        """Return the content of a machine file."""
        return {
            "description": "Machine on which one policy takes far longer than another",
            "sources": {
                "assumed": {"kind": "assumed", "reference": "found by a search for a contrast"}
            },
            "cores": self._kinds_of_cores(),
            "sockets": self._sockets(),
            "memory": self._memory(),
            **({"links": links} if (links := self._links()) else {}),
            "paths": self._paths(),
            "costs": self._costs(),
        }

    def _kinds_of_cores(self) -> dict[str, Any]:
        def cores(speed: float, **more: Any) -> dict[str, Any]:
            clock = {"clock": _given("1 GHz"), "ops_per_cycle": _given(speed)}
            return {**clock, **{key: _given(value) for key, value in more.items()}}

        smt = {"smt_throughput": [1.0, 1.3]} if self.threads > 1 else {}
        found = {"core": cores(1, **smt)} if self.slow_domains < self.domains else {}
        if self.slow_cores or self.slow_domains:
            found["slow"] = cores(self.slow_speed, **smt)
        if self.devices:
            found["device"] = {"processor": "gpu", **cores(self.device_speed)}
        return {**found, **{name: {"processor": name, **cores(1)} for name in self._engines}}

    def _sockets(self) -> list[dict[str, Any]]:
        def sockets(count: int, **cores: int) -> dict[str, Any]:
            return {
                "count": _given(count),
                "domains": _given(1),
                "cores": {kind: _given(number) for kind, number in cores.items() if number},
            }

        slow, queues = min(self.slow_domains, self.domains), max(1, self.device_queues)
        found = [
            (self.domains - slow, {"core": self.cores, "slow": self.slow_cores}),
            (slow, {"slow": self.cores + self.slow_cores}),
            (self.devices, {"device": queues}),
            *((1, {name: queues}) for name in self._engines),
        ]
        return [sockets(count, **cores) for count, cores in found if count]

    def _memory(self) -> dict[str, Any]:
        def memory(kind: str, at: range, size: str, rate: float, **more: Any) -> dict[str, Any]:
            return {
                "kind": kind,
                "at": list(at),
                **more,
                "capacity": _given(size),
                "bandwidth": _given(f"{rate:g} GB/s"),
                "page": _given("4 KiB"),
            }

        hosts = range(self.domains)
        cache = {"cache": self._cache()} if self.cache_mib else {}
        found = {"dram": memory("DRAM", hosts, "4 GiB", self.dram_gb_per_s, **cache)}
        if self.hbm_gb_per_s:
            found["hbm"] = memory("HBM", hosts, f"{self.hbm_mib} MiB", self.hbm_gb_per_s)
        if self.devices:
            found["gddr"] = memory("GPU", self._device_domains, "4 GiB", 200, managed_by="driver")
        return found

    def _cache(self) -> dict[str, Any]:
        return {
            "capacity": _given(f"{self.cache_mib} MiB"),
            "granule": _given("64 KiB"),
            "bandwidth": _given(f"{4 * self.dram_gb_per_s:g} GB/s"),
            "hit_latency": _given("0.1 us"),
            "miss_latency": _given("0.2 us"),
        }

    @property
    def _device_domains(self) -> range:
        return range(self.domains, self.domains + self.devices)

    @property
    def _behind_pcie(self) -> range:
        return range(self.domains, self.domains + self.devices + len(self._engines))

    def _links(self) -> dict[str, Any]:
        def link(pairs: list[list[int]], rate: float) -> dict[str, Any]:
            return {"connects": _given(pairs), "bandwidth": _given(f"{rate:g} GB/s")}

        found = {}
        if self.domains > 1:
            pairs = [[a, b] for b in range(self.domains) for a in range(b)]
            found["fabric"] = link(pairs, self.fabric_gb_per_s)
        if self.devices:
            found["pcie"] = link([[0, at] for at in self._behind_pcie], self.pcie_gb_per_s)
        return found

    def _paths(self) -> dict[str, Any]:
        def path(rate: float, latency: float | None = None, **chosen: Any) -> dict[str, Any]:
            time = {} if latency is None else {"latency": _given(f"{latency:g} us")}
            return {**chosen, "core_cap": _given(f"{rate:g} GB/s"), **time}

        far = self.core_gb_per_s * self.remote_share
        found = {"all": path(far, self.remote_us)}
        found["local"] = path(self.core_gb_per_s, 0.1, hops=[0])
        if self.devices:
            found["device"] = path(200, hops=[0], domains=list(self._device_domains))
        return found

    def _costs(self) -> dict[str, Any]:
        queue, probe, steal = self.queue_us, self.probe_us, self.steal_us
        costs: dict[str, float | list[float]] = {
            "spawn_child_first": self.spawn_us,
            "spawn_parent_first": self.spawn_us,
            "pop": queue,
            "push": queue,
            "steal_probe": [probe],
            "steal": [steal],
            "lock_hold": self.lock_us,
            "barrier": 0,
            "context_switch": self.switch_us,
            "page_migration": self.page_us,
            "page_fault": self.page_us,
            "page_move": self.page_us,
            "hotness_sample": self.page_us,
            "counter_read": 0,
        }
        if self.devices:
            costs["kernel_launch"] = self.launch_us
        return {
            name: _given([_us(one) for one in cost] if isinstance(cost, list) else _us(cost))
            for name, cost in costs.items()
        }


def _given(value: Any) -> list[Any]:
    """Return a value with its source."""
    return [value, WHY]


def _us(time: float) -> str:
    return f"{time:g} us"


@lru_cache(256)
def _machine(rig: Rig, name: str) -> Machine:
    return machine_from(rig.document(), name)


def random_rig(rng: np.random.Generator, choices: Choices) -> Rig:
    """Return a random machine, simple in about half of its values."""
    return Rig(**random_values(rng, choices, ["cores"]))


def changed_rig(rng: np.random.Generator, rig: Rig, choices: Choices) -> Rig:
    """Return a machine with another value of one field."""
    return replace(rig, **changed_value(rng, choices, vars(rig)))
