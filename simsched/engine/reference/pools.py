"""Task pools and the search for work; docs/semantics.md, rules P to N."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice

import numpy as np

from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.reference.devices import Devices
from simsched.policy.contract.plan import CONDITIONS, ROOTS, SCOPES, TAKES, WHERES
from simsched.policy.contract.records import NOTHING
from simsched.workload.graph import TaskGraph

OWN, SAME_DOMAIN, OTHER_DOMAINS = (WHERES.index(w) for w in ("own", "same_domain", "other_domains"))
NEWEST = TAKES.index("newest")
ROUND_ROBIN, LAST = ROOTS.index("round_robin"), ROOTS.index("last")
HEAD_WORKER, DOMAIN_INACTIVE, NOT_HEAD_WORKER, DOMAIN_SUPPLIED = (
    1 << CONDITIONS.index(c)
    for c in ("head_worker", "domain_inactive", "not_head_worker", "domain_supplied")
)


def draw_below(stream: np.random.PCG64, n: int) -> int:
    """Return a uniform integer in [0, n) from the next 64 bits of a stream."""
    return ((int(stream.random_raw()) >> 32) * n) >> 32


@dataclass(frozen=True)
class Found:
    """A task taken from a pool: where, how far away, and what the search and the taking cost."""

    task: int
    group: int
    instance: int
    distance: int | None  # None: the own instance
    cost_ps: int
    failed_probes: list[int]  # by distance class


class Pools:
    """The pools of one iteration's plan."""

    def __init__(
        self,
        problem: Problem,
        plan: ResolvedPlan,
        graph: TaskGraph,
        home: list[int],
        last_worker: int,
    ) -> None:
        """Lay out the pools.

        `home` is the domain in which each worker has started; `last_worker` ended the last task of
        the iteration before, NONE if there is none.
        """
        self._last_worker = last_worker
        self._problem = problem
        self._plan = plan
        self._order = plan.order
        self._home = home
        scopes = [SCOPES[code] for code in plan.group_scope.tolist()]
        counts = problem.instances()
        self.content: list[list[deque[int]]] = [[deque() for _ in range(counts[s])] for s in scopes]
        self.devices = Devices(plan, graph, self.content)
        self._lock_free = [[0] * counts[s] for s in scopes]
        self._domain_of = [self._instance_domains(s) for s in scopes]
        self._scopes = scopes
        self.active_tasks = [0] * problem.n_domains  # unfinished marked tasks per domain
        supplies = [
            scope == "domain" and bool(marks)
            for scope, marks in zip(scopes, plan.group_marks_active, strict=True)
        ]
        self._expected: list[set[int]] = [set() for _ in range(problem.n_domains)]  # not ready yet
        sent = zip(plan.group_of.tolist(), plan.instance_of.tolist(), strict=True)
        for task, (group, instance) in enumerate(sent):
            if supplies[group] and instance >= 0:
                self._expected[instance].add(task)
        active = plan.active.tolist()
        self.active_workers = [w for w in range(problem.n_workers) if active[w]]
        self._heads = {home[w]: w for w in reversed(self.active_workers)}
        self._candidates = list(self.active_workers)
        self._failed: set[int] = set()
        self._turns = 0

    def worker_in_turn(self) -> int:
        """Return the worker to whose instance a task without a pusher goes."""
        turn, self._turns = self._turns, self._turns + 1
        if self._plan.roots == ROUND_ROBIN:
            return self.active_workers[turn % len(self.active_workers)]
        goes_on = self._plan.roots == LAST and self._last_worker in self.active_workers
        return self._last_worker if goes_on else self.active_workers[0]

    def note_ready(self, task: int) -> int | None:
        """Note that a task is ready; return its domain if that has expected no other one."""
        domain = int(self._plan.instance_of[task])
        expected = self._expected[domain] if 0 <= domain < len(self._expected) else set()
        if task not in expected:
            return None
        expected.remove(task)
        return None if expected else domain

    def deactivate(self, worker: int) -> None:
        """Let a worker take no part any more; its instances stay, and stay empty."""
        self._failed.add(worker)
        self._turns = 0
        if self.active_workers != [worker]:
            self.active_workers = [w for w in self.active_workers if w != worker]
        living = [w for w in self._candidates if w not in self._failed]
        self._heads = {self._home[w]: w for w in reversed(living)}

    def is_dead(self, group: int, instance: int) -> bool:
        """Return whether a pool was the own one of workers of which none is left."""
        if not self._failed:
            return False
        owners = {w for w in self._candidates if self.own_instance(group, w) == instance}
        failed = {w for w in self._failed if self.own_instance(group, w) == instance}
        return bool(failed) and owners <= failed

    def dead_pools(self, worker: int) -> list[deque[int]]:
        """Return, of a failed worker's own pools, those that nobody is left to own, by group."""
        own = [self.own_instance(group, worker) for group in range(len(self.content))]
        return [self.content[g][i] for g, i in enumerate(own) if i >= 0 and self.is_dead(g, i)]

    def heads(self) -> set[int]:
        """Return the head workers."""
        return set(self._heads.values())

    def change_order(self, plan: ResolvedPlan) -> None:
        """Let workers look for work by the steps of another plan for the same pools."""
        self._plan, self._order = plan, plan.order
        self.devices.plan = plan

    def _instance_domains(self, scope: str) -> list[int]:
        """Return the (first) domain of every instance of a scope."""
        problem = self._problem
        sockets = problem.domain_socket.tolist()
        domains: dict[str, list[int]] = {
            "class": [0] * problem.n_classes,
            "worker": self._home,
            "domain": list(range(problem.n_domains)),
            "socket": [sockets.index(s) for s in range(max(sockets) + 1)],
            "machine": [0],
        }
        return domains[scope]

    def own_instance(self, group: int, worker: int) -> int:
        """Return the instance of a group that belongs to a worker; -1 when none does."""
        domain = self._home[worker]
        return {
            "worker": worker,
            "domain": domain,
            "socket": int(self._problem.domain_socket[domain]),
            "machine": 0,
            "class": -1,
        }[self._scopes[group]]

    def leave(
        self, group: int, instance: int, count: int, take: int, entry: int
    ) -> tuple[int, ...]:
        """Take `entry` out of a pool; where that is NOTHING, `count` entries from an end."""
        content = self.content[group][instance]
        if entry != NOTHING:
            if entry not in content:
                return ()
            content.remove(entry)
            return (entry,)
        return tuple(
            content.pop() if take == NEWEST else content.popleft()
            for _ in range(min(count, len(content)))
        )

    def lock(self, group: int, instance: int, at: int) -> int:
        """Wait for a pool's lock from time `at` on and hold it; return when it is free again."""
        start = max(at, self._lock_free[group][instance])
        self._lock_free[group][instance] = start + self._problem.costs.lock_hold_ps
        return self._lock_free[group][instance]

    def is_locked(self, group: int) -> bool:
        """Return whether all operations on the group take the lock."""
        return bool(self._plan.group_locked[group])

    def distance(self, worker: int, group: int, instance: int) -> int:
        """Return the distance class from a worker to a pool instance."""
        problem = self._problem
        if (
            self._scopes[group] == "worker"
            and problem.worker_core[worker] == problem.worker_core[instance]
        ):
            return 0
        other = self._domain_of[group][instance]
        if self._scopes[group] == "worker":
            other = problem.worker_domain[instance]
        return 1 + int(problem.domain_hops[problem.worker_domain[worker], other])

    def conditions_hold(self, step: int, worker: int) -> bool:
        """Return whether a worker may use a step now."""
        when = int(self._order.step_when[step])
        domain = self._home[worker]
        is_head = self._heads.get(domain) == worker
        if (when & HEAD_WORKER and not is_head) or (when & NOT_HEAD_WORKER and is_head):
            return False
        if when & DOMAIN_SUPPLIED and self._expected[domain]:
            return False
        return not (when & DOMAIN_INACTIVE and self.active_tasks[domain] > 0)

    def uses_supply(self, worker: int) -> bool:
        """Return whether a worker may use a step now that asks for a supplied domain."""
        asking = np.flatnonzero(self._order.step_when & DOMAIN_SUPPLIED).tolist()
        return any(self.conditions_hold(step, worker) for step in asking)

    def candidates(self, step: int, worker: int) -> list[int]:
        """Return the instances a step that is not `own` may draw from, by (domain, instance)."""
        group, where = (
            int(self._order.step_group[step]),
            int(self._order.step_where[step]),
        )
        domains = self._domain_of[group]
        own, home = self.own_instance(group, worker), self._home[worker]
        instances = self._candidates if self._scopes[group] == "worker" else range(len(domains))
        rank, weight = self._order.step_rank[step], self._order.step_weight[step]
        return sorted(
            (
                i
                for i in instances
                if i != own
                and (where != SAME_DOMAIN or domains[i] == home)
                and (where != OTHER_DOMAINS or domains[i] != home)
                and (rank is None or rank[worker, i] >= 0)
                and (weight is None or weight[worker, i] > 0)
            ),
            key=lambda i: (domains[i], i),
        )

    def may_take(self, worker: int, group: int, instance: int, *, own: bool) -> bool:
        """Return whether a step lets the worker take from this pool, its own or another one's."""
        for step in range(len(self._order.step_group)):
            if (
                int(self._order.step_group[step]) == group
                and not self._is_empty(step, instance)
                and self.devices.admits(step, instance)
                and self.conditions_hold(step, worker)
                and (int(self._order.step_where[step]) == OWN) is own
            ):
                if own:
                    if self.own_instance(group, worker) == instance:
                        return True
                elif instance in self.candidates(step, worker):
                    return True
        return False

    def search(self, worker: int, now: int, party: int, stream: np.random.PCG64) -> Found | None:
        """Return the task that a worker finds and takes, or None, while `party` workers search."""
        costs = self._problem.costs
        failed = [0] * self._problem.n_distances
        for step in range(len(self._order.step_group)):
            if not self.conditions_hold(step, worker):
                continue
            group = int(self._order.step_group[step])
            if int(self._order.step_where[step]) == OWN:
                instance = self.own_instance(group, worker)
                if self._is_empty(step, instance) or not self.devices.admits(step, instance):
                    continue
                task = self._take(step, instance)
                self.devices.occupy(task, group, instance)
                at = now + self._probe_cost(failed) // party
                if self.is_locked(group):
                    at = self.lock(group, instance, at)
                return Found(task, group, instance, None, at - now + costs.pop_ps, failed)
            victim = self._draw_victim(step, worker, failed, stream)
            if victim is not None:
                return self._steal(step, worker, victim, now, party, failed)
        return None

    def _steal(
        self, step: int, worker: int, victim: int, now: int, party: int, failed: list[int]
    ) -> Found:
        """Take a task from a victim."""
        costs, group = self._problem.costs, int(self._order.step_group[step])
        distance = self.distance(worker, group, victim)
        task = self._take(step, victim)
        at = now + self._probe_cost(failed) // party
        at = self.lock(group, victim, at) - costs.lock_hold_ps + held(costs.steal_ps, distance)
        return Found(task, group, victim, distance, at - now, failed)

    def _draw_victim(
        self, step: int, worker: int, failed: list[int], stream: np.random.PCG64
    ) -> int | None:
        """Return a random candidate that is not empty, None without; count failed probes."""
        group = int(self._order.step_group[step])
        candidates = self.candidates(step, worker)
        if not candidates:
            return None
        if all(self._is_empty(step, i) for i in candidates):
            nearest = 1 if int(self._order.step_where[step]) == SAME_DOMAIN else 2
            failed[min(nearest, len(failed) - 1)] += 1
            return None
        attempts = int(self._order.step_attempts[step]) or None
        for victim in islice(self._drawn(step, worker, candidates, stream), attempts):
            if not self._is_empty(step, victim):
                return victim
            failed[self.distance(worker, group, victim)] += 1
        assert attempts is not None  # otherwise one that is not empty has been found
        return None

    def _drawn(
        self, step: int, worker: int, candidates: list[int], stream: np.random.PCG64
    ) -> Iterator[int]:
        """Yield candidates in random order, as uniform choice, ranks or weights have it."""
        rank, weight = self._order.step_rank[step], self._order.step_weight[step]
        if rank is not None:
            for level in sorted({int(rank[worker, i]) for i in candidates}):
                untried = [i for i in candidates if rank[worker, i] == level]
                while untried:
                    yield _remove(untried, draw_below(stream, len(untried)))
        elif weight is not None:
            untried = list(candidates)
            while untried:
                sums = list(accumulate(int(weight[worker, i]) for i in untried))
                x = draw_below(stream, sums[-1])
                yield _remove(untried, next(k for k, total in enumerate(sums) if total > x))
        else:
            while True:
                yield candidates[draw_below(stream, len(candidates))]

    def _is_empty(self, step: int, instance: int) -> bool:
        """Return whether an instance has too few entries for a step."""
        group = int(self._order.step_group[step])
        return len(self.content[group][instance]) < int(self._order.step_least[step])

    def _probe_cost(self, failed: list[int]) -> int:
        """Return the time that failed probes take."""
        return sum(n * held(self._problem.costs.steal_probe_ps, d) for d, n in enumerate(failed))

    def _take(self, step: int, instance: int) -> int:
        """Take a task from the end that a step names."""
        pool = self.content[int(self._order.step_group[step])][instance]
        return pool.pop() if int(self._order.step_take[step]) == NEWEST else pool.popleft()


def _remove(untried: list[int], place: int) -> int:
    """Remove and return an entry; the last one takes its place."""
    chosen, last = untried[place], untried.pop()
    if place < len(untried):
        untried[place] = last
    return chosen


def held(table: tuple[int, ...], index: int) -> int:
    """Return a cost; the last one holds beyond the table's end."""
    return table[min(index, len(table) - 1)]
