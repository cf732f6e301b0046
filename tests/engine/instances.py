"""Random small machines, workloads and policies, each from one integer seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simsched.machine.caches import MemorySideCache
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireOrder,
    AcquireStep,
    Choice,
    Counters,
    Exchange,
    HookView,
    Monitor,
    Move,
    Pace,
    Placement,
    Plan,
    PlanView,
    Policy,
    Pool,
    PoolGroup,
    Preempt,
    Ranked,
    Transfer,
    Uniform,
    Update,
    Wake,
    Weighted,
    param,
)
from simsched.policy.contract.blocks import BlockPools, PageBalancing, size_classes
from simsched.policy.contract.plan import ROOTS
from simsched.workload.builder import Accesses, Adjacency, accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds in a microsecond
CONDITIONS_TRIED = (
    (),
    ("head_worker",),
    ("domain_inactive",),
    ("not_head_worker",),
    ("domain_supplied",),
)


def random_costs(rng: np.random.Generator) -> RuntimeCosts:
    """Costs of zero to a few microseconds."""

    def cost() -> int:
        return int(rng.choice([0, 0, 1, US // 3, 2 * US]))

    return RuntimeCosts(
        spawn_child_first_ps=cost(),
        spawn_parent_first_ps=cost(),
        pop_ps=cost(),
        push_ps=cost(),
        steal_probe_ps=tuple(cost() for _ in range(int(rng.integers(1, 4)))),
        steal_ps=tuple(cost() for _ in range(int(rng.integers(1, 4)))),
        lock_hold_ps=cost(),
        barrier_ps=cost(),
        context_switch_ps=cost(),
        page_migration_ps=cost(),
        page_fault_ps=cost(),
        page_move_ps=cost(),
    )


#: Effective capacities of caches, as parts of what they hold.
SLICES = ((), (), (0.5, 1.5), (0.25, 0.25, 2.0))


def random_machine(seed: int) -> Machine:
    """A machine of 1 to 3 domains with caches, SMT, links and costs switched on at random."""
    rng = np.random.default_rng(seed)
    cores = int(rng.integers(1, 5))
    caches = [
        ("L1", int(rng.choice([4096, 20000])), 50e9, int(rng.choice([0, 3000])), 1),
        ("L2", int(rng.choice([30000, 200000])), 20e9, 9000, int(rng.integers(1, cores + 1))),
    ]
    # A generator of its own: the other choices stay what they were.
    more = np.random.default_rng([seed, 1])
    passing = int(more.integers(-1, 2))
    filled = 1 if passing != 1 and np.random.default_rng([seed, 2]).integers(3) == 0 else None
    caches = [
        (
            *level,
            *((5e9, 20_000, float(more.choice([0.0, 3e9]))) if i == passing else (0.0, 0, 0.0)),
            float(more.choice([1.0, 0.3])),
            tuple(int(level[1] * part) for part in SLICES[int(more.integers(len(SLICES)))]),
            1.0,
            "misses" if i != filled else "evictions",
            float(more.choice([0.0, 7e9])) if i == passing else 0.0,
        )
        for i, level in enumerate(caches)
    ]
    side = MemorySideCache(
        int(rng.choice([20000, 100000])),
        int(rng.choice([1000, 4096])),
        30e9,
        int(rng.choice([0, 500])),
        2000,
        str(rng.choice(["random", "contiguous"])),
    )
    domains = int(rng.integers(1, 4))
    machine = make_machine(
        domains=domains,
        domains_per_socket=int(rng.integers(1, domains + 1)),
        cores_per_domain=cores,
        smt_throughput=((1.0,), (1.0, 1.3), (1.0, 1.5, 1.6))[int(rng.integers(3))],
        ops_per_s=float(rng.choice([1e9, 1.3e9])),
        dram_bandwidth_bytes_per_s=float(rng.choice([1e9, 10e9])),
        dram_capacity_bytes=int(rng.choice([150_000, 10**9])),
        hbm_per_domain=bool(rng.integers(2)),
        core_cap_bytes_per_s=(None, 2e9, (3e9, 4e9))[int(rng.integers(3))],
        remote_weight=float(rng.choice([1.0, 1.25])),
        link_bandwidth_bytes_per_s=(None, 3e9)[int(rng.integers(2))],
        local_latency_ps=int(rng.choice([0, 1000])),
        remote_latency_ps=int(rng.choice([0, 1500])),
        caches=caches[: int(rng.integers(3))],
        memory_side_cache=side if rng.integers(4) == 0 else None,
        costs=random_costs(rng),
    )
    machine = with_modules(machine, np.random.default_rng([seed, 3]))
    return with_write_paths(machine, np.random.default_rng([seed, 2]))


def with_modules(machine: Machine, rng: np.random.Generator) -> Machine:
    """Return every third machine with all cores of a domain as one module."""
    if rng.integers(3):
        return machine
    size = machine.n_cores // machine.n_domains
    groups = tuple(replace(group, module_cores=size) for group in machine.core_groups)
    return replace(machine, core_groups=groups)


def with_write_paths(machine: Machine, rng: np.random.Generator) -> Machine:
    """Return the machine with other costs for written bytes on every second one, on some paths."""
    if rng.integers(2) == 0:
        return machine
    slow = [
        {},
        {"write_latency_ps": 2500},
        {"write_core_cap_bytes_per_s": (0.7e9, 0.9e9)},
        {"write_latency_ps": 0, "write_core_cap_bytes_per_s": (4e9,)},
    ]
    paths = tuple(
        tuple(replace(path, **slow[int(rng.integers(len(slow)))]) for path in row)
        for row in machine.paths
    )
    return replace(machine, paths=paths)


def random_accesses(rng: np.random.Generator, has_join: np.ndarray, n_blocks: int) -> Accesses:
    """Up to three accesses per task, some of them in the join, some of no bytes."""
    n = len(has_join)
    task = np.sort(rng.integers(0, n, int(rng.integers(0, 3 * n))))
    sizes = np.array([0, 64, 1000, 5000, 30000])
    return accesses(
        task,
        rng.integers(0, n_blocks, len(task)),
        rng.choice(sizes, len(task)),
        rng.choice(sizes, len(task)) * rng.integers(0, 2, len(task)),
        n,
        in_join=(rng.integers(0, 4, len(task)) == 0) & has_join[task],
    )


def random_graph(rng: np.random.Generator, block_bytes: np.ndarray) -> TaskGraph:
    """A forest of spawned tasks with dataflow edges among roots and leaves."""
    n = int(rng.integers(1, 40))
    shape = int(rng.integers(3))  # 0 only edges, 1 only a tree, 2 both
    parents = np.full(n, -1)
    if shape > 0:
        parents[1:] = [int(rng.integers(-1 if rng.integers(5) == 0 else 0, t)) for t in range(1, n)]
    child = np.flatnonzero(parents >= 0)
    children: Adjacency = adjacency(parents[child], child, n)
    source, target = np.zeros(0, int), np.zeros(0, int)
    if shape == 0:
        pairs = {tuple(sorted(rng.integers(0, n, 2).tolist())) for _ in range(2 * n)}
        edges = sorted((u, v) for u, v in pairs if u != v)
        source, target = np.array([u for u, _ in edges], int), np.array([v for _, v in edges], int)
    elif shape == 2:  # siblings in spawn order: never a deadlock
        siblings = [
            (int(a), int(b))
            for t in range(n)
            for a, b in zip(
                children.target[children.ptr[t] : children.ptr[t + 1] - 1],
                children.target[children.ptr[t] + 1 : children.ptr[t + 1]],
                strict=False,
            )
            if rng.integers(3) == 0
        ]
        source, target = (
            np.array([a for a, _ in siblings], int),
            np.array([b for _, b in siblings], int),
        )
    ops = rng.choice([0.0, 100.0, 3000.0, 20000.5], n)
    has_children = np.diff(children.ptr) > 0
    accessed = random_accesses(rng, has_children, len(block_bytes))
    arrival = rng.choice([0, 0, 5 * US], n) if rng.integers(3) == 0 else np.zeros(n, int)
    detached = (parents >= 0) & (rng.integers(0, 3, n) == 0) if rng.integers(3) == 0 else None
    return build_graph(
        ops,
        join_ops=np.where(has_children, rng.choice([0.0, 500.0], n), 0.0),
        children=children,
        successors=adjacency(source, target, n),
        accessed=accessed,
        block_bytes=block_bytes,
        creation_ops=rng.choice([0.0, 0.0, 50.0], n),
        arrival_ps=np.where(parents < 0, arrival, 0),
        detached=detached,
        task_class=np.random.default_rng([n, 7]).integers(0, 3, n),
        class_names=("a", "b", "c"),
    )


def random_workload(seed: int) -> Workload:
    """One to three iterations of a random graph, with an initialisation now and then."""
    rng = np.random.default_rng(seed)
    blocks = rng.choice([64, 3000, 9000, 40000], int(rng.integers(1, 9)))
    graph = random_graph(rng, blocks)
    init = random_graph(rng, blocks) if rng.integers(2) else None
    return Workload(f"random{seed}", graph, int(rng.integers(1, 4)), init)


def random_victims(
    rng: np.random.Generator, step: AcquireStep, shape: tuple[int, int]
) -> AcquireStep:
    """The step with ranks, weights or a least number of entries, now and then."""
    least = int(rng.choice([1, 1, 2, 4]))
    kind = int(rng.integers(4))
    if step.where == "own":
        return replace(step, choice=Uniform(least=least))
    rng.integers(4)  # discarded: other choices stay those of recorded instances
    limits = {"least": least, "attempts": int(rng.choice([0, 0, 1, 2]))}
    choice: Choice = Uniform(**limits)
    if kind == 0:
        choice = Ranked(rng.integers(-1, 3, shape).astype(np.int32), **limits)
    if kind == 1:
        choice = Weighted(rng.integers(0, 2**20, shape).astype(np.int32), **limits)
    return replace(step, choice=choice)


def random_balancing(rng: np.random.Generator) -> PageBalancing:
    """Pages of different sizes that follow accesses after scans of different periods."""
    return PageBalancing(
        float(rng.choice([1e-6, 7e-6, 1e-3])),
        int(rng.choice([512, 4096, 2**21])),
        1 + rng.integers(2),
    )


def random_pools(rng: np.random.Generator, graph: TaskGraph) -> BlockPools:
    """Return pools from which some blocks come, at creations or first touch, and some go back."""
    n, tasks = graph.n_blocks, graph.n_tasks
    classes = np.where(rng.integers(0, 4, n) > 0, size_classes(graph.block_bytes, 12), -1)
    at = [
        np.where((classes >= 0) & (rng.integers(0, 3, n) > 0), rng.integers(0, tasks, n), -1)
        for _ in range(2)
    ]
    return BlockPools(
        classes.astype(np.int32),
        at[0].astype(np.int32),
        at[1].astype(np.int32),
        rng.integers(-1, n, n).astype(np.int32) if rng.integers(2) else None,
    )


def instance_counts(view: PlanView) -> dict[str, int]:
    """Number of pool instances of each scope."""
    graphs = (view.workload.graph, view.workload.init or view.workload.graph)
    return {
        "worker": view.n_workers,
        "domain": view.machine.n_domains,
        "socket": view.machine.n_sockets,
        "machine": 1,
        "class": max(len(graph.class_names) for graph in graphs),
    }


def random_order(
    rng: np.random.Generator,
    groups: tuple[PoolGroup, ...],
    workers: int,
    instances: dict[str, int],
) -> tuple[AcquireStep, ...]:
    """Return up to three steps of any kind, then some that reach all pools."""
    steps = []
    for _ in range(int(rng.integers(4))):
        group = groups[int(rng.integers(3))]
        where = str(rng.choice(["own", "same_domain", "other_domains", "anywhere"]))
        step = AcquireStep(
            group.name,
            "anywhere" if group.scope == "class" else where,
            str(rng.choice(["newest", "oldest"])),
            CONDITIONS_TRIED[int(rng.integers(len(CONDITIONS_TRIED)))],
        )
        steps.append(random_victims(rng, step, (workers, instances[group.scope])))
    for group in groups:
        if group.scope != "class":
            rng.integers(1, 4)  # discarded: other choices stay those of recorded instances
        last = AcquireStep(group.name, "anywhere", "oldest")
        steps += [last] if group.scope == "class" else [AcquireStep(group.name), last]
    return tuple(steps)


class Dice(np.random.Generator):
    """Random numbers, and the plan that has been made with them last."""

    plan: Plan
    # those of wakes and moves: the other choices stay what they are without
    wakes: np.random.Generator
    n_wakes: int
    n_moves: int
    movable: list[int]  # blocks that workers may move


@dataclass(frozen=True, kw_only=True)
class RandomPolicy(Policy):
    """Plans, migrations, monitors, inactive workers from `choice`; all tasks are reachable."""

    choice: int = param(0, low=0)

    def start(self, view: PlanView) -> Dice:
        return Dice(np.random.PCG64(self.choice))

    def place(self, view: PlanView, state: Dice) -> Placement:
        n, nodes = view.workload.graph.n_blocks, len(view.machine.nodes)
        home = np.where(state.integers(0, 2, n) > 0, -1, state.integers(0, nodes, n))
        pools = random_pools(state, view.workload.graph) if state.integers(3) == 0 else None
        if pools is not None:
            home[pools.is_pooled] = -1
        follows = state.integers(0, 2, n) > 0 if pools is None and state.integers(2) else None
        everywhere = None if follows is None else follows & (np.arange(n) % 3 == 0)
        order = view.machine.touch_order
        stays = np.ones(n, bool) if follows is None else ~follows
        stays &= True if pools is None else ~pools.is_pooled
        state.movable = np.flatnonzero(stays).tolist()
        return Placement(home.astype(np.int32), order, pools, follows, follows_accesses=everywhere)

    def plan(self, view: PlanView, state: Dice, graph: TaskGraph) -> Plan:
        state.plan = self._plan(view, state, graph)
        return state.plan

    def _plan(self, view: PlanView, state: Dice, graph: TaskGraph) -> Plan:
        n, workers = graph.n_tasks, view.n_workers
        scopes = ["worker", *state.choice(["worker", "domain", "socket", "machine", "class"], 2)]
        groups = tuple(
            PoolGroup(f"g{i}", str(s), bool(state.integers(3) == 0), bool(i and state.integers(2)))
            for i, s in enumerate(scopes)
        )
        instances = instance_counts(view)
        steps = random_order(state, groups, workers, instances)
        group_of = state.integers(0, 3, n)
        limit = np.array([instances[g.scope] for g in groups])[group_of]
        active = state.integers(0, 4, workers) > 0
        active[0] = True
        named = np.array([g.scope != "worker" for g in groups])[group_of] & (
            state.integers(0, 2, n) > 0
        )
        samples = state.integers(0, 5000, (graph.n_blocks, 3))
        return Plan(
            acquire=steps,
            pool_groups=groups,
            spawn_order=state.integers(0, 2, n).astype(np.uint8),
            group_of=group_of.astype(np.int8),
            instance_of=np.where(named, state.integers(0, 1 << 30, n) % limit, -1).astype(np.int32),
            roots=str(state.choice(ROOTS)),
            active_workers=active,
            counter_group=state.integers(-1, 3, n).astype(np.int32),
            monitor=Monitor(3 * US, samples) if state.integers(2) else None,
            balancing=random_balancing(state) if state.integers(3) == 0 else None,
            times_tasks=bool(state.integers(2)),
            awaits_successors=bool(state.integers(3) == 0),
        )

    def on_iteration(self, view: PlanView, state: Dice, counters: Counters) -> Update | None:
        if state.integers(3) == 0:
            return None
        # What the counters say must be the same on both backends: let it steer the next draws.
        digest = int(
            counters.group_bytes.sum()
            + 3 * counters.samples.sum()
            + 7 * counters.block_home.sum()
            + 11 * counters.executed_by.sum()
            + 13 * counters.group_missing_bytes.sum()
            + 17 * counters.executed_ps.sum()
            + counters.node_used_bytes[0]
        )
        rng = np.random.default_rng(digest + 10**9)
        room = np.array([n.capacity_bytes for n in view.machine.nodes]) - counters.node_used_bytes
        moves = []
        for block in rng.permutation(len(counters.block_home))[:3].tolist():
            node = int(rng.integers(len(room)))
            size = int(view.workload.graph.block_bytes[block])
            if size <= room[node]:
                room[node] -= size
                moves.append((block, node))
        return Update(
            plan=self.plan(view, state, view.workload.graph) if rng.integers(2) else None,
            move_block=np.array([b for b, _ in moves], np.int32),
            move_node=np.array([n for _, n in moves], np.int32),
            migrating_workers=int(rng.integers(1, 4)),
            overhead_ps=int(rng.choice([0, US])),
        )


@dataclass(frozen=True, kw_only=True)
class HookPolicy(RandomPolicy):
    """The same with fine hooks that redirect, snatch and preempt at random."""

    timer_period_s = 4e-6

    def on_ready(self, view: HookView, state: Dice, task: int, worker: int) -> Pool | None:
        if state.integers(3) > 0:
            return None
        return Pool(0, worker if worker >= 0 else 0)

    def on_spawn(
        self, view: HookView, state: Dice, parent: int, child: int, worker: int
    ) -> int | None:
        return (None, 0, 1)[int(state.integers(3))]

    def on_acquire(
        self,
        view: HookView,
        state: Dice,
        task: int,
        worker: int,
        group: int,
        instance: int,
    ) -> None:
        assert view.live is not None
        state.integers(1 + view.live.queue_length(group, instance))

    def on_idle(self, view: HookView, state: Dice, worker: int) -> Preempt | Transfer | None:
        if state.integers(4) == 0:
            return self._transfer(view, state)
        return self._preempt(view, state, worker) if state.integers(2) else None

    def on_start(self, view: HookView, state: Dice, task: int, worker: int) -> tuple[Pace, ...]:
        return self._paces(view, state)

    def on_finish(self, view: HookView, state: Dice, task: int, worker: int) -> tuple[Pace, ...]:
        return self._paces(view, state)

    @staticmethod
    def _paces(view: PlanView, state: Dice) -> tuple[Pace, ...]:
        if state.integers(4):
            return ()
        workers = state.integers(0, view.n_workers, 2).tolist()
        return tuple(Pace(w, float(state.choice([1.0, 1 / 3, 0.7]))) for w in workers)

    def on_timer(
        self, view: HookView, state: Dice
    ) -> tuple[Preempt | Transfer | Exchange | Pace | AcquireOrder, ...]:
        assert view.live is not None
        if view.live.now_ps() > 400 * US or state.integers(2):
            return ()
        if state.integers(4) == 0:
            paces = self._paces(view, state)
            return self._transfer(view, state), *paces, self._transfer(view, state)
        if state.integers(6) == 0:
            groups = state.plan.pool_groups
            order = random_order(state, groups, view.n_workers, instance_counts(view))
            return (AcquireOrder(order),)
        if view.n_workers > 1 and state.integers(2):
            pair = state.choice(view.n_workers, 2, replace=False).tolist()
            return (Exchange(*pair, int(state.choice([0, 2 * US]))),)
        waiting = [w for w in range(view.n_workers) if view.live.is_waiting(w)]
        decision = self._preempt(view, state, waiting[0] if waiting and state.integers(2) else None)
        return () if decision is None else (decision,)

    @staticmethod
    def _transfer(view: PlanView, state: Dice) -> Transfer:
        source, target = state.integers(0, view.n_workers, 2).tolist()
        end = str(state.choice(["oldest", "newest"]))
        delay_ps = int(state.choice([1000, US, 10 * US]))
        graphs = (view.workload.graph, view.workload.init or view.workload.graph)
        n_tasks = min(graph.n_tasks for graph in graphs)  # either may be executed now
        task = int(state.integers(n_tasks)) if state.integers(2) else None
        return Transfer(0, source, 0, target, int(state.integers(1, 4)), delay_ps, end, task)

    @staticmethod
    def _preempt(view: HookView, state: Any, to: int | None) -> Preempt | None:
        assert view.live is not None
        running = [w for w in range(view.n_workers) if view.live.running_task(w) >= 0]
        if not running or view.live.now_ps() > 400 * US:
            return None
        return Preempt(running[int(state.integers(len(running)))], to)


@dataclass(frozen=True, kw_only=True)
class WakingPolicy(HookPolicy):
    """The same, woken at random times and after moves, where it does what the timer does."""

    def start(self, view: PlanView) -> Dice:
        state = super().start(view)
        state.wakes = np.random.default_rng([self.choice, 5])
        state.n_wakes = 100
        state.n_moves = 30
        return state

    def on_ready(
        self, view: HookView, state: Dice, task: int, worker: int
    ) -> Pool | tuple[Pool | Wake | Move, ...] | None:
        pool = super().on_ready(view, state, task, worker)
        wakes = (*self._wakes(view, state), *self._moves(view, state))
        return (*([] if pool is None else [pool]), *wakes) if wakes else pool

    def on_idle(self, view: HookView, state: Dice, worker: int) -> Preempt | Transfer | Wake | None:
        return super().on_idle(view, state, worker) or next(iter(self._wakes(view, state)), None)

    def on_finish(self, view: HookView, state: Dice, task: int, worker: int) -> tuple[Any, ...]:
        wakes = (*self._wakes(view, state), *self._moves(view, state))
        return *super().on_finish(view, state, task, worker), *wakes

    def on_timer(self, view: HookView, state: Dice) -> tuple[Any, ...]:
        wakes = (*self._wakes(view, state), *self._moves(view, state))
        return *super().on_timer(view, state), *wakes

    def on_wake(self, view: HookView, state: Dice, tag: int) -> tuple[Any, ...]:
        assert view.live is not None
        state.wakes.integers(5 + tag)  # which wake this is must be the same on both backends
        decisions = super().on_timer(view, state) if state.wakes.integers(2) else ()
        return *decisions, *self._wakes(view, state), *self._moves(view, state)

    @staticmethod
    def _moves(view: HookView, state: Dice) -> tuple[Move, ...]:
        """None, or up to two moves, of one block maybe, by any workers."""
        rng = state.wakes
        if state.n_moves <= 0 or not state.movable or view.machine.copies_data or rng.integers(2):
            return ()
        number = int(rng.integers(1, 3))
        state.n_moves -= number
        return tuple(
            Move(
                int(rng.integers(view.n_workers)),
                int(rng.choice(state.movable)),
                int(rng.integers(len(view.machine.nodes))),
                int(rng.choice([0, 1000, 2 * US])),
                int(rng.integers(-4, 9)),
            )
            for _ in range(number)
        )

    @staticmethod
    def _wakes(view: HookView, state: Dice) -> tuple[Wake, ...]:
        """None, or up to three at the present instant or later."""
        assert view.live is not None
        rng, now = state.wakes, view.live.now_ps()
        if state.n_wakes <= 0 or rng.integers(3) == 0:
            return ()
        number = int(rng.integers(1, 4))
        state.n_wakes -= number
        delays = rng.choice([0, 0, 1000, US, 7 * US], number).tolist()
        return tuple(
            Wake(now + delay, int(rng.integers(-4, 9)), int(rng.integers(-1, 2)))
            for delay in delays
        )
