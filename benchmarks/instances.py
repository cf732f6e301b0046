"""What the cases simulate: functions from a size to the objects that a user would pass in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.policies import (
    CentralQueue,
    CompiledQueue,
    FirstTasksFixed,
    HookedQueue,
    policy_of_the_guide,
)
from simsched.machine import Machine, load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import Policy
from simsched.policy.contract.registry import make_policy
from simsched.workload.bench import CONTROLLERS, bench_flows
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload
from simsched.workload.presets import make_workload
from simsched.workload.registry import generate_workload

#: Bytes are integers here, but local flows have fractional ones: count in millionths.
_SCALE = 10**6


class Instance(NamedTuple):
    """Arguments of `simulate`."""

    machine: Machine
    workload: Workload
    policy: Policy


Build = Callable[[int], Instance]


def independent(tasks: int, *, workers: int) -> Instance:
    """Return independent tasks in one queue."""
    return Instance(equal_cores(workers), _bench("independent", tasks=tasks), CentralQueue())


def hooked(tasks: int, *, workers: int) -> Instance:
    """Return independent tasks in a queue that is run by Python hooks."""
    return Instance(equal_cores(workers), _bench("independent", tasks=tasks), HookedQueue())


def hooked_in_c(tasks: int, *, workers: int) -> Instance:
    """Return independent tasks in a queue that is run by hooks in C."""
    return Instance(equal_cores(workers), _bench("independent", tasks=tasks), CompiledQueue())


def stencil(steps: int, *, workers: int, iterations: int = 1) -> Instance:
    """Return steps of a 64 x 64 stencil under list scheduling."""
    workload = _bench("stencil2d", width=64, height=64, steps=steps, iterations=iterations)
    return Instance(equal_cores(workers), workload, CentralQueue())


def watched(steps: int, *, workers: int) -> Instance:
    """Return steps of a 64 x 64 stencil under the guide's policy, which reads loads by a timer."""
    workload = stencil(steps, workers=workers).workload
    return Instance(load_machine("opteron48"), workload, policy_of_the_guide("roomy"))


def scheduled(steps: int, *, workers: int, policy: str) -> Instance:
    """Return steps of a 64 x 64 stencil whose schedule a policy makes before the run."""
    return Instance(*stencil(steps, workers=workers)[:2], make_policy(policy))


def cholesky(tiles: int, *, workers: int) -> Instance:
    """Return a Cholesky factorisation under list scheduling."""
    return Instance(equal_cores(workers), _bench("cholesky", tiles=tiles), CentralQueue())


def runtime(tiles: int, *, workers: int, policy: str) -> Instance:
    """Return an LU factorisation under a policy of a task runtime with queues of its own."""
    workload = generate_workload("lu", {"tiles": tiles, "tile_size": 256})
    return Instance(equal_cores(workers), workload, make_policy(policy))


def stealing(depth: int, *, workers: int) -> Instance:
    """Return a binary spawn tree of the given depth under random stealing."""
    workload = generate_workload("fork_join", {"depth": depth, "leaf_costs": "uniform"})
    return Instance(equal_cores(workers), workload, make_policy("random_stealing"))


def flows(tasks: int, *, workers: int, remote: bool) -> Instance:
    """Return tasks that are one flow each, through 8 controllers and, if remote, a crossbar."""
    drawn = bench_flows(tasks, remote=remote)
    scale = 1 if remote else _SCALE
    size = np.rint(drawn.size_bytes * scale).astype(np.int64)
    machine = make_machine(
        domains=CONTROLLERS,
        cores_per_domain=workers // CONTROLLERS,
        dram_bandwidth_bytes_per_s=90e9 * scale,
        dram_capacity_bytes=10**18,
        core_cap_bytes_per_s=None if remote else 12e9 * scale,
        link_bandwidth_bytes_per_s=360e9 if remote else None,
    )
    every = np.arange(tasks)
    graph = build_graph(
        np.zeros(tasks), accessed=accesses(every, every, size, 0, tasks), block_bytes=size
    )
    workload = Workload("flows", graph, parameters={"home": drawn.controller})
    return Instance(machine, workload, FirstTasksFixed())


def heat(iterations: int, *, policy: str, preset: str = "heat_16gb_coarse") -> Instance:
    """Return HEAT in leaves of 2 MB, of 16 GB if nothing else is said, on Knights Landing."""
    workload = make_workload(preset, {"iterations": iterations})
    return Instance(load_machine("knl_snc4_flat"), workload, make_policy(policy))


def long_task(seconds: int, *, policy: str) -> Instance:
    """Return one task on the fast core of four, under a policy that looks all the time."""
    machine = load_machine("toy_1fast_3slow")
    graph = build_graph([seconds * machine.core_groups[0].ops_per_s])
    return Instance(machine, Workload("long", graph), make_policy(policy))


def with_workers(build: Callable[..., Instance], workers: int, **parameters: object) -> Build:
    """Return a builder whose only open parameter is the size."""
    return partial(build, workers=workers, **parameters)


def equal_cores(workers: int) -> Machine:
    """Return equal cores of 1e9 operations per second without any runtime costs."""
    return make_machine(domains=1, cores_per_domain=workers)


def _bench(generator: str, **parameters: object) -> Workload:
    """Return a workload with the costs of the benchmarks with known makespans."""
    return generate_workload(generator, {**parameters, "costs": "bench"})
