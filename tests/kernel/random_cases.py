"""Random problems for both backends: graphs, machines, plans and hooks, from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.plans import resolve_plan
from simsched.engine.problem import make_problem
from simsched.files.errors import SimschedError
from simsched.machine.caches import CacheInstance, MemorySideCache
from simsched.machine.model import CoreGroup, Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import Choice, Placement, Ranked, Uniform, Weighted
from simsched.policy.contract.blocks import BlockPools, PageBalancing, size_classes
from simsched.policy.contract.plan import (
    CONDITIONS,
    ROOTS,
    AcquireStep,
    Device,
    Monitor,
    Plan,
    PoolGroup,
)
from simsched.workload.graph import TaskGraph, Workload

from .random_hooks import HOOKS, WAKING, RandomHooks

COST_PS = (0, 0, 1, 7, 100, 1000)


@dataclass(frozen=True, eq=False)
class RandomCase:
    """Everything that one run needs; problems are made anew because runs consume their streams."""

    seed: int
    machine: Machine
    workload: Workload
    placement: Placement
    worker_thread: np.ndarray
    timer_period_ps: int
    hooks: frozenset[str]

    def problem(self) -> Problem:
        made = make_problem(
            self.machine, self.workload, self.placement, self.worker_thread, seed=self.seed
        )
        return replace(made, timer_period_ps=self.timer_period_ps)


def random_case(seed: int) -> RandomCase:
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    machine = random_machine(rng)
    n_workers = int(rng.integers(1, machine.n_threads + 1))
    threads = machine.place_workers(n_workers, str(rng.choice(["scatter", "compact"])))
    kinds = machine.kinds
    blocks = random_blocks(rng)
    graph = random_graph(rng, blocks, kinds)
    init = random_graph(rng, blocks, kinds) if rng.random() < 0.3 else None
    workload = Workload("random", graph, iterations=int(rng.integers(1, 4)), init=init)
    workload.validate()
    timer = int(rng.choice([0, 0, 40_000, 300_000]))
    hooks = [name for name in HOOKS if rng.random() < 0.25]
    if np.random.default_rng([seed, 8]).random() < 0.5:
        hooks.append(WAKING)
    return RandomCase(
        seed,
        machine,
        workload,
        random_placement(rng, machine, blocks, workload.graph.n_tasks),
        threads,
        timer,
        frozenset(hooks),
    )


def _slices(rng: np.random.Generator, capacity: int) -> tuple[int, ...]:
    """Return capacities of slices of a cache, mostly none."""
    n_slices = int(rng.integers(2, 5)) if rng.random() < 0.4 else 0
    return tuple(int(capacity * rng.uniform(0.4, 1.8)) for _ in range(n_slices))


def _first_differs(
    rng: np.random.Generator, level: tuple[Any, ...], slices: tuple[int, ...]
) -> dict[int, CacheInstance]:
    """Return what the first instance of a level has instead, mostly nothing."""
    if rng.random() >= 0.4:
        return {}
    _, capacity, bandwidth, latency, _ = level
    return {
        0: CacheInstance(
            int(capacity * rng.uniform(0.2, 2.0)),
            bandwidth * rng.uniform(0.3, 1.5),
            int(latency * rng.integers(1, 4)),
            tuple(int(each * rng.uniform(0.2, 1.5)) for each in slices),
        )
    }


def random_caches(rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Return up to three levels of caches, one of which may pass blocks on to its peers."""
    levels = [("L1", 3000, 8e10, 4, 1), ("L2", 20_000, 3e10, 12, 2), ("L3", 90_000, 2e10, 40, 4)]
    n_levels = int(rng.integers(0, 4))
    passing = int(rng.integers(-1, 3))
    slices = [_slices(rng, level[1]) for level in levels]
    caches = [
        (
            *level,
            *((7e9, 33, float(rng.choice([0.0, 4e9]))) if i == passing else (0.0, 0, 0.0)),
            float(rng.choice([1.0, 0.4])),
            slices[i],
            1.0,
            "evictions" if i > 0 and i != passing and rng.random() < 0.4 else "misses",
            float(rng.choice([0.0, 9e9])) if i == passing else 0.0,
            _first_differs(rng, level, slices[i]),
        )
        for i, level in enumerate(levels)
    ]
    return caches[:n_levels]


def random_memory_side_cache(rng: np.random.Generator) -> MemorySideCache | None:
    """Return a cache in front of the memory, mostly none."""
    if rng.random() >= 0.3:
        return None
    return MemorySideCache(
        capacity_bytes=int(rng.choice([16, 64])) * 512,
        granule_bytes=512,
        bandwidth_bytes_per_s=30e9,
        hit_latency_ps=15,
        miss_latency_ps=90,
        mapping=str(rng.choice(["random", "contiguous"])),
    )


def random_costs(rng: np.random.Generator) -> RuntimeCosts:
    """Return what scheduling costs, often nothing."""
    plain = (
        *("spawn_child_first_ps", "spawn_parent_first_ps", "pop_ps", "push_ps"),
        *("lock_hold_ps", "context_switch_ps"),
    )
    cost = {name: int(rng.choice(COST_PS)) for name in plain}
    return RuntimeCosts(
        **cost,
        barrier_ps=int(rng.choice([0, 500, 10_000])),
        steal_probe_ps=tuple(rng.choice(COST_PS, size=int(rng.integers(1, 4))).tolist()),
        steal_ps=tuple(rng.choice(COST_PS, size=int(rng.integers(1, 4))).tolist()),
        page_migration_ps=int(rng.choice([0, 50, 1000])),
        page_fault_ps=int(rng.choice([0, 3, 200])),
        page_move_ps=int(rng.choice([0, 11, 5000])),
    )


def random_machine(rng: np.random.Generator) -> Machine:
    """Return a small machine with any mix of features."""
    smt = ((1.0,), (1.0, 1.3), (1.0, 1.2, 1.3, 1.4))[int(rng.integers(3))]
    caches = random_caches(rng)
    memory_side_cache = random_memory_side_cache(rng)
    costs = random_costs(rng)
    caps = (None, 2e9, (4e9, 5e9, 5e9, 6e9))[int(rng.integers(3))]
    machine = make_machine(
        domains=int(rng.integers(1, 5)),
        cores_per_domain=int(rng.integers(1, 4)),
        domains_per_socket=int(rng.integers(1, 3)),
        smt_throughput=smt,
        ops_per_s=float(rng.choice([1e9, 1.3e9])),
        dram_bandwidth_bytes_per_s=float(rng.choice([1e9, 7.7e9])),
        dram_capacity_bytes=2**18,
        hbm_per_domain=bool(rng.random() < 0.4),
        hbm_bandwidth_bytes_per_s=21.3e9,
        hbm_capacity_bytes=2**14,
        core_cap_bytes_per_s=caps,
        remote_weight=float(rng.choice([1.0, 1.7])),
        link_bandwidth_bytes_per_s=(None, 3e9)[int(rng.integers(2))],
        local_latency_ps=int(rng.choice([0, 80])),
        remote_latency_ps=int(rng.choice([0, 150])),
        caches=caches,
        memory_side_cache=memory_side_cache,
        page_bytes=512,
        costs=costs,
    )
    if rng.random() < 0.3:  # a second kind of cores
        little = CoreGroup("little", "little", 0.4e9, smt)
        group = np.arange(machine.n_cores, dtype=np.int32) % np.int32(2)
        machine = replace(machine, core_groups=(*machine.core_groups, little), core_group=group)
    if rng.random() < 0.3:
        nodes = tuple(
            replace(node, bandwidth_curve=(0.5e9, 0.8e9, node.bandwidth_bytes_per_s))
            for node in machine.nodes
        )
        machine = replace(machine, nodes=nodes)
    elif rng.random() < 0.4:
        nodes = tuple(
            replace(
                node,
                ceiling_bytes_per_s=1.1 * node.bandwidth_bytes_per_s,
                latency_under_load=(0.4, 0.7),
            )
            for node in machine.nodes
        )
        links = tuple(
            replace(link, ceiling_bytes_per_s=link.bandwidth_bytes_per_s) for link in machine.links
        )
        machine = replace(machine, nodes=nodes, links=links)
    return machine


def random_blocks(rng: np.random.Generator) -> np.ndarray:
    """Return block sizes."""
    count = int(rng.integers(1, 12))
    return rng.choice([0, 64, 512, 1000, 2048, 5000], size=count).astype(np.int64)


def random_placement(
    rng: np.random.Generator, machine: Machine, blocks: np.ndarray, n_tasks: int
) -> Placement:
    """Return homes of which some are left to first touch, and pools now and then."""
    home = rng.integers(-1, machine.n_domains, size=len(blocks)).astype(np.int32)
    if rng.random() < 0.3:
        home[:] = -1
    pools = None
    if rng.random() < 0.4:
        classes = np.where(rng.random(len(blocks)) < 0.7, size_classes(blocks, 7), -1)
        task = np.where(
            (classes >= 0) & (rng.random((2, len(blocks))) < 0.7),
            rng.integers(0, n_tasks, (2, len(blocks))),
            -1,
        ).astype(np.int32)
        home[classes >= 0] = -1
        pools = BlockPools(
            classes.astype(np.int32),
            task[0],
            task[1],
            rng.integers(-1, len(blocks), len(blocks)).astype(np.int32),
        )
    return Placement(home, np.ascontiguousarray(machine.touch_order), pools)


def random_graph(rng: np.random.Generator, blocks: np.ndarray, kinds: tuple[str, ...]) -> TaskGraph:
    """Return a forest of spawn trees with forward edges between leaves, arrivals and accesses."""
    n = int(rng.integers(1, 40))
    parent = np.full(n, -1)
    if rng.random() < 0.7:
        for task in range(1, n):
            if rng.random() < 0.8:
                parent[task] = rng.integers(max(0, task - 6), task)
    children = [np.flatnonzero(parent == task) for task in range(n)]
    leaf = np.array([len(c) == 0 for c in children])
    succ: list[list[int]] = [[] for _ in range(n)]
    if rng.random() < 0.6:
        for task in np.flatnonzero(leaf):
            later = np.flatnonzero(leaf & (np.arange(n) > task))
            picked = later[rng.random(len(later)) < 0.15]
            succ[task] = picked.tolist()
    access_ptr, join_access = [0], []
    block, read, written = [], [], []
    for task in range(n):
        for part in range(2):
            count = int(rng.integers(0, 4)) if part == 0 or not leaf[task] else 0
            for _ in range(count if rng.random() < 0.7 else 0):
                block.append(int(rng.integers(len(blocks))))
                read.append(int(rng.choice([0, 64, 300, 1000, 4000])))
                written.append(int(rng.choice([0, 0, 64, 1000])))
            if part == 0:
                join_access.append(len(block))
        access_ptr.append(len(block))
    scale = rng.choice([1.0, 300.0, 300.0, 2000.5], size=(len(kinds), n))
    ops = np.round(rng.random((len(kinds), n)) * scale) * (rng.random(n) < 0.8)
    join_ops = np.where(leaf, 0.0, np.round(rng.random((len(kinds), n)) * 100))
    if rng.random() < 0.2:
        ops[:] = 500.0  # many ties
    detached = (parent >= 0) & (rng.random(n) < rng.choice([0.0, 0.4]))
    arrival = np.where((parent < 0) & (rng.random(n) < 0.3), rng.integers(0, 4, n) * 900_000, 0)
    return TaskGraph(
        ops=np.ascontiguousarray(ops, np.float64),
        join_ops=np.ascontiguousarray(join_ops, np.float64),
        kinds=kinds,
        task_class=np.zeros(n, np.int32),
        class_names=("task",),
        child_ptr=_ptr(children),
        child=np.concatenate(children).astype(np.int32),
        succ_ptr=_ptr(succ),
        succ=np.array([t for targets in succ for t in targets], np.int32),
        access_ptr=np.array(access_ptr, np.int64),
        join_access=np.array(join_access, np.int64),
        access_block=np.array(block, np.int32),
        read_bytes=np.array(read, np.int64),
        written_bytes=np.array(written, np.int64),
        block_bytes=blocks,
        creation_ops=np.round(rng.random(n) * rng.choice([0.0, 20.0])),
        arrival_ps=arrival.astype(np.int64),
        detached=detached,
        occupancy=random_occupancy(n, int(scale[0, 0]) + len(access_ptr)),
        exposure=random_exposure(n, 1 + int(scale[0, 0]) + len(access_ptr)),
        synchronous=np.random.default_rng(n + len(access_ptr)).random(n) < 0.2,
    )


def random_exposure(n: int, seed: int) -> np.ndarray | None:
    """Return exposures of tasks, or none."""
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 0.3, 1.0], n) if rng.random() < 0.4 else None


def random_occupancy(n: int, seed: int) -> np.ndarray | None:
    """Return shares of devices of capacity 10, or none."""
    rng = np.random.default_rng(seed)
    return None if rng.random() < 0.3 else rng.integers(0, 11, n).astype(np.int32)


def _ptr(lists: list[Any]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum([len(items) for items in lists]))).astype(np.int64)


def random_victims(
    rng: np.random.Generator, step: AcquireStep, n_workers: int, n_instances: int
) -> AcquireStep:
    """Return the step with ranks, weights or a least number of entries now and then."""
    least = int(rng.choice([1, 1, 2, 3]))
    if step.where == "own":
        return replace(step, choice=Uniform(least=least))
    shape = (n_workers, n_instances)
    kind = int(rng.integers(4))
    rng.integers(4)  # discarded: other choices stay those of recorded instances
    choice: Choice = Uniform(least=least)
    if kind == 0:
        choice = Ranked(rng.integers(-1, 3, shape).astype(np.int32), least=least)
    if kind == 1:
        choice = Weighted(rng.integers(0, 4, shape).astype(np.int32), least=least)
    return replace(step, choice=choice)


def random_devices(
    rng: np.random.Generator, groups: tuple[PoolGroup, ...], steps: list[AcquireStep]
) -> tuple[tuple[PoolGroup, ...], list[AcquireStep], tuple[Device, ...]]:
    """Return the plan's parts with some groups that lead to a device, those of one scope."""
    if rng.random() < 0.5:
        return groups, steps, ()
    scope = groups[int(rng.integers(len(groups)))].scope
    chosen = {g.name for g in groups if g.scope == scope and rng.random() < 0.8}
    kept = [
        replace(step, when=()) if step.group in chosen else step
        for step in steps
        if step.group not in chosen or step.where == "own"
    ]
    devices = (Device("other", 99), Device("device", int(rng.choice([10, 14, 40]))))
    marked = tuple(replace(g, device="device") if g.name in chosen else g for g in groups)
    return marked, kept, devices


def random_plan(
    rng: np.random.Generator, graph: TaskGraph, problem: Problem
) -> tuple[ResolvedPlan, list[int]]:
    """Return a plan and the sizes of its pool groups."""
    scopes = [
        "worker",
        *rng.choice(["worker", "domain", "socket", "machine"], int(rng.integers(0, 3))),
    ]
    groups = tuple(
        PoolGroup(f"g{i}", str(scope), bool(rng.random() < 0.3), bool(rng.random() < 0.3))
        for i, scope in enumerate(scopes)
    )
    wheres = ["own", "same_domain", "other_domains", "anywhere"]
    steps = []
    choose = np.random.default_rng(rng.bit_generator.random_raw())
    for group in groups:
        for where in wheres:
            if rng.random() < 0.6:
                when = tuple(c for c in CONDITIONS if rng.random() < 0.15)
                take = str(rng.choice(["newest", "oldest"]))
                step = AcquireStep(group.name, where, take, when)
                size = problem.instances()[group.scope]
                steps.append(random_victims(choose, step, problem.n_workers, size))
    groups, steps, devices = random_devices(choose, groups, steps)
    rng.shuffle(steps)  # type: ignore[arg-type]
    if rng.random() < 0.9:  # make most runs end
        for group in groups:
            steps.append(AcquireStep(group.name, "own", "newest"))
            if group.device is None:
                steps.append(AcquireStep(group.name, "anywhere", "oldest"))
    sizes = [problem.instances()[str(scope)] for scope in scopes]
    n = graph.n_tasks
    group_of = rng.integers(0, len(groups), n).astype(np.int8)
    instance = np.array(
        [rng.integers(-1, sizes[g]) if rng.random() < 0.4 else -1 for g in group_of]
    )
    active = rng.random(problem.n_workers) < 0.8
    active[int(rng.integers(problem.n_workers))] = True
    monitor = None
    if rng.random() < 0.3:
        offsets = rng.integers(0, 5000, size=(graph.n_blocks, 3)).astype(np.int64)
        monitor = Monitor(int(rng.choice([1000, 200_000])), offsets)
    balancing = PageBalancing(
        float(rng.choice([1e-9, 1e-7, 1.0])), int(rng.choice([64, 1024, 4096])), 1 + rng.integers(2)
    )
    plan = Plan(
        acquire=tuple(steps),
        pool_groups=groups,
        spawn_order=rng.integers(0, 2, n).astype(np.uint8)
        if rng.random() < 0.6
        else int(rng.integers(2)),
        group_of=group_of,
        instance_of=instance.astype(np.int32) if rng.random() < 0.5 else None,
        roots=str(rng.choice(ROOTS)),
        active_workers=active if rng.random() < 0.3 else None,
        counter_group=rng.integers(-1, 3, n).astype(np.int32) if rng.random() < 0.4 else None,
        monitor=monitor,
        balancing=balancing if rng.random() < 0.3 else None,
        devices=devices,
    )
    return resolve_plan(plan, graph, problem), sizes


def movable_blocks(problem: Problem) -> list[int]:
    """Return the blocks that workers may move (rule MV6)."""
    if problem.copies_data or (len(problem.change_speed) and problem.change_speed.min() <= 0.0):
        return []
    stays = np.ones(problem.n_blocks, bool)
    if problem.pooling is not None:
        stays &= problem.pooling.size_class < 0
    if problem.follows.size:
        stays &= problem.follows == 0
    return np.flatnonzero(stays).tolist()


def execute(case: RandomCase, make: Any, check: Any = None) -> Iterator[tuple[str, Any]]:
    """Run a case on the backend that `make` builds; yield what can be compared, in order.

    `check` is called with the backend after every iteration and migration.
    """
    problem = case.problem()
    rng = np.random.default_rng(case.seed + 1)
    hooks = RandomHooks(case.seed, case.hooks, problem.n_workers)
    hooks.n_nodes = problem.n_nodes
    hooks.movable = movable_blocks(problem)
    backend = make(problem, hooks, events=True)
    first = 0 if case.workload.init is not None else 1
    try:
        for number in range(first, case.workload.iterations + 1):
            graph = case.workload.init if number == 0 else case.workload.graph
            assert graph is not None
            last = number == case.workload.iterations
            plan, hooks.group_sizes = random_plan(rng, graph, problem)
            backend.run_iteration(number, graph, plan, last=last)
            if check is not None:
                check(backend)
            counters = backend.counters()
            for name, value in vars(counters).items():
                yield f"{number} {name}", value
            if not last and rng.random() < 0.7:
                blocks = np.flatnonzero(rng.random(graph.n_blocks) < 0.5).astype(np.int32)
                nodes = rng.integers(0, problem.n_domains, len(blocks)).astype(np.int32)
                overhead = int(rng.choice([0, 1000]))
                backend.migrate(overhead, blocks, nodes, int(rng.integers(1, 6)))
                if check is not None:
                    check(backend)
    except SimschedError as error:
        yield "error", f"{type(error).__name__}: {error}"
        yield "now", hooks.state.now_ps()
    trace = backend.trace()
    yield "n_events", len(trace)
    for name, column in trace.events.items():
        yield f"trace {name}", column
    yield "seen", hooks.seen
    if not _has_open_iteration(backend):
        summary = backend.summary()
        for name, value in vars(summary).items():
            yield name, value


def _has_open_iteration(backend: Any) -> bool:
    """Return whether a run has failed inside an iteration, whose end is then unknown."""
    kinds = backend.trace().events["kind"]
    return int((kinds == 0).sum()) != int((kinds == 1).sum())
