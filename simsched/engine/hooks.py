"""The fine hooks of a policy as backends call them."""
# ruff: noqa: D102  what hooks do is said in Hooks

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from simsched.engine.backend import NOBODY, ReadyAnswer
from simsched.engine.compiled import Callees, asked_for, compiled_hooks
from simsched.engine.division import Account
from simsched.engine.interface.decisions import HOOKS, KIND, Record, record_of
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.moves import check_move
from simsched.engine.plans import resolve_order
from simsched.engine.replication import refuse_copied
from simsched.files.errors import PolicyError
from simsched.policy.contract.base import (
    CHILD_FIRST,
    FINE_HOOKS,
    PARENT_FIRST,
    AcquireOrder,
    EngineState,
    Exchange,
    HookView,
    Move,
    Plan,
    PlanView,
    Policy,
    Pool,
    Preempt,
    Transfer,
    Wake,
)
from simsched.policy.contract.compiled import Compiled
from simsched.policy.contract.executions import Duplicate
from simsched.policy.contract.plan import PoolGroup
from simsched.policy.contract.records import NO_SIZES, check_record, said_of, told

#: So many wakes an instant may have, beside some for each task and worker: a policy that always
#: asks for now would never end.
MORE_WAKES, WAKES_EACH = 1000, 10
SPAWN_ORDERS = (CHILD_FIRST, PARENT_FIRST)
NO_RECORDS: Sequence[Record] = ()
CHECKED = (Transfer, Exchange, Wake, Move)  #: what means something only in a run, or together


#: What a runtime stands for.
OF_RUNTIMES = ("on_ready", "on_start", "on_idle", "on_finish", "on_wake")


class PolicyHooks:
    """The policy's fine hooks as backends call them."""

    def __init__(self, policy: Policy, view: PlanView, state: Any, account: Account | None) -> None:
        self._policy, self._before, self._state = policy, view, state
        self._account = account
        self._asked: Any = policy  # with compiled hooks as methods
        named = compiled_hooks(policy)
        heard_here = () if account is None else ("on_finish",)
        self._has_compiled = bool(named)
        self.compiled: dict[str, Compiled | None] = dict.fromkeys(named.difference(heard_here))
        self._finishes = policy.overrides("on_finish")
        self._resolve_order: Callable[[AcquireOrder], ResolvedPlan] | None = None
        self.wants_on_spawn = policy.overrides("on_spawn")
        self.wants_on_ready = policy.overrides("on_ready")
        self.wants_on_acquire = policy.overrides("on_acquire")
        self.wants_on_start = policy.overrides("on_start")
        self.wants_on_idle = policy.overrides("on_idle")
        self.wants_on_finish = self._finishes or account is not None
        self.wants_on_landing = policy.overrides("on_landing")
        self.wants_on_timer = policy.overrides("on_timer")
        self.wants_on_wake = policy.overrides("on_wake")
        self.pool_groups: list[tuple[PoolGroup, ...]] = []  # of each iteration
        self.decisions = 0
        self.decision_ps = 0
        self.orders: list[ResolvedPlan] = []
        self._woken, self._woken_ps = 0, -1

    @property
    def reading_ps(self) -> int:
        """Time that reading loads has taken."""
        if "_view" not in vars(self):
            return 0
        return self._view.readings.number * self._view.machine.costs.counter_read_ps

    @cached_property
    def _view(self) -> HookView:
        return self._before.during(self._engine)

    def attach(self, state: EngineState) -> None:
        self._engine = state

    def begin_iteration(self, plan: Plan, resolved: ResolvedPlan, problem: Problem) -> None:
        """Receive the plan to whose tasks and pools decisions refer."""
        self._resolve_order = lambda decision: resolve_order(
            replace(plan, acquire=decision.acquire), resolved, problem
        )
        self._problem = problem
        if plan.runtime is not None:
            self._refuse_other_hooks()
        if self._has_compiled:
            functions = asked_for(self._policy, self._before, self._state)
            self.compiled = {hook: functions[hook] for hook in self.compiled}
            self._asked = Callees(self._policy, functions, self._engine)
        n_tasks, n_workers = len(resolved.group_of), problem.n_workers
        instances = problem.instances()
        self.pool_groups.append(plan.pool_groups)
        self._counts = [instances[group.scope] for group in plan.pool_groups]
        self._scopes = [group.scope for group in plan.pool_groups]
        self._sizes = {
            "worker": n_workers,
            "task": n_tasks,
            "group": len(self._counts),
            "instance": self._counts,
            "block": len(problem.block_bytes),
            "node": problem.n_nodes,
        }
        self._most_wakes = MORE_WAKES + WAKES_EACH * (n_tasks + n_workers)

    def _refuse_other_hooks(self) -> None:
        """Refuse a runtime whose decisions are not those of the policy's hooks, and no others."""
        own = {hook for hook in (*FINE_HOOKS, "divide") if self._policy.overrides(hook)}
        if own != set(OF_RUNTIMES):
            raise PolicyError(
                f"plan: runtime: found one with {', '.join(sorted(own)) or 'no hooks'}, accepted "
                f"one with {', '.join(OF_RUNTIMES)}, which say the same"
            )

    def refuse(self, hook: str, answer: int, *given: int) -> None:
        """Raise the error for the answer of a compiled hook to some numbers, which is wrong."""
        self._asked.answer(hook, answer)
        getattr(self, hook)(*given)

    def on_spawn(self, parent: int, child: int, worker: int) -> int | None:
        order: Any = self._asked.on_spawn(self._view, self._state, parent, child, worker)
        if order is None:
            return None
        if isinstance(order, int | np.integer) and order in SPAWN_ORDERS:
            return int(order)
        accepted = "CHILD_FIRST, PARENT_FIRST or None"
        raise PolicyError(f"on_spawn: task {child}: found {told(order)}, accepted {accepted}")

    def on_acquire(self, task: int, worker: int, group: int, instance: int) -> None:
        observe: Callable[..., object] = self._asked.on_acquire
        answer = observe(self._view, self._state, task, worker, group, instance)
        if answer is not None:
            raise PolicyError(f"on_acquire: found {told(answer)}, accepted None")

    def on_ready(self, task: int, worker: int) -> ReadyAnswer | None:
        answer = self._asked.on_ready(self._view, self._state, task, worker)
        if answer is None:
            return None
        if isinstance(answer, Pool):
            group, instance, counts = answer.group, answer.instance, self._counts
            plain = type(group) is type(instance) is int
            if plain and -1 < group < len(counts) and -1 < instance < counts[group]:
                return group, instance, NO_RECORDS  # as in nearly every call
            group, instance = self._pool(answer)
            return group, instance, NO_RECORDS
        group, instance, rest = NOBODY, 0, self._several(answer, "on_ready")
        if rest and isinstance(rest[0], Pool):
            (group, instance), rest = self._pool(rest[0]), rest[1:]
        return group, instance, self._records(rest, "on_ready")

    def on_start(self, task: int, worker: int) -> Sequence[Record]:
        decisions = self._asked.on_start(self._view, self._state, task, worker)
        return NO_RECORDS if decisions is None else self._records(decisions, "on_start")

    def on_idle(self, worker: int) -> Record | None:
        decision = self._asked.on_idle(self._view, self._state, worker)
        if decision is None:
            return None
        record = self._record(decision, "on_idle")
        if isinstance(decision, Preempt | Duplicate):
            name = type(decision).__name__
            if decision.worker == worker:
                raise PolicyError(
                    f"on_idle: {name}: worker: found {worker}, which is the one that asks, "
                    "accepted another one"
                )
            if decision.to != worker:
                raise PolicyError(
                    f"on_idle: {name}: to: found {decision.to}, "
                    f"accepted {worker}, the worker that asks"
                )
        return record

    def on_finish(self, task: int, worker: int) -> Sequence[Record]:
        if self._account is not None:
            self._account.note_end(task, self._engine.now_ps())
        if not self._finishes:
            return NO_RECORDS
        decisions = self._asked.on_finish(self._view, self._state, task, worker)
        return NO_RECORDS if decisions is None else self._records(decisions, "on_finish")

    def on_landing(self, group: int, instance: int) -> Sequence[Record]:
        decisions = self._policy.on_landing(self._view, self._state, group, instance)
        return self._records(decisions, "on_landing")

    def on_timer(self) -> Sequence[Record]:
        return self._records(self._policy.on_timer(self._view, self._state), "on_timer")

    def on_wake(self, tag: int) -> Sequence[Record]:
        now_ps = self._engine.now_ps()
        self._woken = self._woken + 1 if now_ps == self._woken_ps else 1
        self._woken_ps = now_ps
        if self._woken > self._most_wakes:
            raise PolicyError(
                f"on_wake: found more than {self._most_wakes} wakes at {now_ps} ps, accepted up to "
                f"{WAKES_EACH} for each task and worker and {MORE_WAKES} more"
            )
        return self._records(self._policy.on_wake(self._view, self._state, tag), "on_wake")

    def _pool(self, pool: Pool) -> Sequence[int]:
        """Return group and instance of a pool that exists."""
        try:
            return pool.numbers(self._sizes)
        except PolicyError as error:
            raise PolicyError(f"on_ready: {error}") from None

    def _several(self, decisions: object, hook: str) -> Sequence[Any]:
        """Return decisions, of which a hook may return any number."""
        if not isinstance(decisions, Iterable) or isinstance(decisions, str | np.ndarray):
            accepted = f"{'a Pool, ' * (hook == 'on_ready')}a tuple of {_listed(hook)}, or None"
            raise PolicyError(f"{hook}: found {told(decisions)}, accepted {accepted}")
        return tuple(decisions)

    def _records(self, decisions: object, hook: str) -> Sequence[Record]:
        """Return decisions as backends take them."""
        if decisions is None or (type(decisions) is tuple and not decisions):  # as nearly always
            return NO_RECORDS
        several = self._several(decisions, hook)
        if not several:
            return NO_RECORDS
        if AcquireOrder in HOOKS[hook]:  # hooks that others of its decisions call leave them
            self.orders = []
        return [self._record(decision, hook) for decision in several]

    def _record(self, decision: Any, hook: str) -> Record:
        """Return a decision as backends take it; count what it took to make it."""
        kind = type(decision)
        if kind not in HOOKS[hook]:
            raise PolicyError(f"{hook}: found {told(decision)}, accepted {_listed(hook)}")
        try:
            if kind is AcquireOrder:
                return KIND[kind], self._number_of(decision)
            record = record_of(decision, self._sizes)
            if kind in CHECKED:
                self._check(decision, hook)
        except PolicyError as error:
            raise PolicyError(f"{hook}: {error}") from None
        return record

    def _number_of(self, order: AcquireOrder) -> int:
        """Return the number of an acquire order among those of this call."""
        assert self._resolve_order is not None
        with said_of("AcquireOrder"):
            check_record(order, "", NO_SIZES)
            self.orders.append(self._resolve_order(order))
        return len(self.orders) - 1

    def _check(self, decision: Any, hook: str) -> None:
        """Refuse numbers that mean nothing here, or together; count the policy's overhead."""
        if isinstance(decision, Wake):
            now_ps = self._engine.now_ps()
            if not self.wants_on_wake:
                raise PolicyError("found a Wake, accepted none: there is no on_wake")
            if decision.at_ps < now_ps:
                raise PolicyError(
                    f"Wake: at_ps: found {decision.at_ps}, accepted {now_ps} (now) or more"
                )
        elif isinstance(decision, Move):
            if not self.wants_on_wake:
                raise PolicyError("found a Move, accepted none: there is no on_wake")
            check_move(self._problem, decision.block)
        elif isinstance(decision, Exchange):
            if self._view.machine.copies_data:
                refuse_copied("Exchange", "moves threads to other cores while they run")
            if decision.worker == decision.other:
                raise PolicyError(
                    f"Exchange: other: found {decision.other}, accepted another worker"
                )
        else:
            self._check_transfer(decision, hook)

    def _check_transfer(self, transfer: Transfer, hook: str) -> None:
        """Refuse what a transfer may not have together; count the policy's overhead."""
        scope = self._scopes[transfer.group]
        if not transfer.decision_ps <= transfer.delay_ps:
            raise PolicyError(
                f"Transfer: decision_ps: found {transfer.decision_ps}, "
                f"accepted 0 to its delay_ps, {transfer.delay_ps}"
            )
        if transfer.thief is not None and scope != "worker":
            raise PolicyError(
                f"Transfer: thief: found {transfer.thief} for a pool of a {scope}, "
                "accepted one for a worker's pool"
            )
        if hook == "on_idle" and transfer.delay_ps == 0:
            raise PolicyError("Transfer: delay_ps: found 0, accepted 1 or more")
        if transfer.decision_ps > 0:
            self.decisions += 1
            self.decision_ps += transfer.decision_ps


def _listed(hook: str) -> str:
    """Return in words what a hook may decide."""
    *names, last = (kind.__name__ for kind in HOOKS[hook])
    return f"{'a Pool, then ' * (hook == 'on_ready')}{', '.join(names)} or {last}"
