"""The fine hooks of a policy as backends call them."""
# ruff: noqa: D102  what hooks do is said in Hooks

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simsched.engine.backend import NOBODY, ReadyAnswer
from simsched.engine.division import Account
from simsched.engine.interface.decisions import HOOKS, KIND, Record, record_of
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.plans import resolve_order
from simsched.engine.replication import refuse_copied
from simsched.files.errors import PolicyError
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireOrder,
    EngineState,
    Exchange,
    Pace,
    Plan,
    PlanView,
    Policy,
    Pool,
    Transfer,
    Wake,
)

MAX_WAKES = 1_000_000  #: of one instant; a policy that always asks for now would never end
NO_RECORDS: Sequence[Record] = ()
CHECKED = (Transfer, Exchange, Pace, Wake)  #: what means something only in a run, or together


class PolicyHooks:
    """The policy's fine hooks as backends call them."""

    def __init__(self, policy: Policy, view: PlanView, state: Any, account: Account | None) -> None:
        self._policy, self._before, self._state = policy, view, state
        self._account = account
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
        self.decisions = 0
        self.decision_ps = 0
        self.orders: list[ResolvedPlan] = []
        self._woken, self._woken_ps = 0, -1

    def attach(self, state: EngineState) -> None:
        self._view = self._before.during(state)
        self._engine = state

    def begin_iteration(self, plan: Plan, resolved: ResolvedPlan, problem: Problem) -> None:
        """Receive the plan to whose pools acquire orders refer."""
        self._resolve_order = lambda decision: resolve_order(
            replace(plan, acquire=decision.acquire), resolved, problem
        )

    def on_spawn(self, parent: int, child: int, worker: int) -> int | None:
        order = self._policy.on_spawn(self._view, self._state, parent, child, worker)
        if order not in (None, CHILD_FIRST, PARENT_FIRST):
            raise PolicyError(
                f"on_spawn: task {child}: found {order!r}, "
                "accepted CHILD_FIRST, PARENT_FIRST or None"
            )
        return order

    def on_acquire(self, task: int, worker: int, group: int, instance: int) -> None:
        self._policy.on_acquire(self._view, self._state, task, worker, group, instance)

    def on_ready(self, task: int, worker: int) -> ReadyAnswer | None:
        answer = self._policy.on_ready(self._view, self._state, task, worker)
        if answer is None:
            return None
        if isinstance(answer, Pool):
            return answer.group, answer.instance, NO_RECORDS
        group, instance, rest = NOBODY, 0, tuple(answer)
        if rest and isinstance(rest[0], Pool):
            group, instance, rest = rest[0].group, rest[0].instance, rest[1:]
        return group, instance, self._records(rest, "on_ready")

    def on_start(self, task: int, worker: int) -> Sequence[Record]:
        decisions = self._policy.on_start(self._view, self._state, task, worker)
        return self._records(decisions, "on_start") if decisions else NO_RECORDS

    def on_idle(self, worker: int) -> Record | None:
        decision = self._policy.on_idle(self._view, self._state, worker)
        return None if decision is None else self._record(decision, "on_idle")

    def on_finish(self, task: int, worker: int) -> Sequence[Record]:
        if self._account is not None:
            self._account.note_end(task, self._engine.now_ps())
        if not self._finishes:
            return NO_RECORDS
        decisions = self._policy.on_finish(self._view, self._state, task, worker)
        return self._records(decisions, "on_finish") if decisions else NO_RECORDS

    def on_landing(self, group: int, instance: int) -> Sequence[Record]:
        decisions = self._policy.on_landing(self._view, self._state, group, instance)
        return self._records(decisions, "on_landing")

    def on_timer(self) -> Sequence[Record]:
        return self._records(self._policy.on_timer(self._view, self._state), "on_timer")

    def on_wake(self, tag: int) -> Sequence[Record]:
        now_ps = self._engine.now_ps()
        self._woken = self._woken + 1 if now_ps == self._woken_ps else 1
        self._woken_ps = now_ps
        if self._woken > MAX_WAKES:
            raise self._error("on_wake", f"more than {MAX_WAKES} wakes at {now_ps} ps")
        return self._records(self._policy.on_wake(self._view, self._state, tag), "on_wake")

    def _records(self, decisions: Sequence[object] | None, hook: str) -> Sequence[Record]:
        """Return decisions as backends take them."""
        if not decisions:
            return NO_RECORDS
        if AcquireOrder in HOOKS[hook]:  # hooks that others of its decisions call leave them
            self.orders = []
        return [self._record(decision, hook) for decision in decisions]

    def _record(self, decision: Any, hook: str) -> Record:
        """Return a decision as backends take it; count what it took to make it."""
        kind = type(decision)
        if kind not in HOOKS[hook]:
            accepted = "a Pool, then " * (hook == "on_ready") + _listed(HOOKS[hook])
            raise self._error(hook, f"found {decision!r}, accepted {accepted}")
        if kind is AcquireOrder:
            assert self._resolve_order is not None
            self.orders.append(self._resolve_order(decision))
            return KIND[kind], len(self.orders) - 1
        try:
            record = record_of(decision)
        except PolicyError as error:
            raise self._error(hook, str(error)) from None
        if kind in CHECKED:
            self._check(decision, hook)
        return record

    def _check(self, decision: Any, hook: str) -> None:
        """Refuse numbers that mean nothing here, or together; count the policy's overhead."""
        if isinstance(decision, Wake):
            if not self.wants_on_wake:
                raise self._error(hook, "found a Wake, accepted none: there is no on_wake")
            if decision.at_ps < self._engine.now_ps():
                now_ps = self._engine.now_ps()
                raise self._error(
                    hook, f"Wake: at_ps: found {decision.at_ps}, accepted {now_ps} (now) or more"
                )
        elif isinstance(decision, Pace):
            last = self._view.n_workers - 1
            if not 0 <= decision.worker <= last:
                raise self._error(
                    hook, f"Pace: worker: found {decision.worker}, accepted 0 to {last}"
                )
        elif isinstance(decision, Exchange):
            if self._view.machine.copies_data:
                refuse_copied(f"moves threads to other cores while they run ({hook}: Exchange)")
        elif not decision.decision_ps <= decision.delay_ps:
            raise self._error(
                hook,
                f"Transfer: decision_ps: found {decision.decision_ps}, "
                f"accepted 0 to its delay_ps, {decision.delay_ps}",
            )
        elif hook == "on_idle" and decision.delay_ps == 0:
            raise self._error(hook, "Transfer: delay_ps: found 0, accepted 1 or more")
        elif decision.decision_ps > 0:
            self.decisions += 1
            self.decision_ps += decision.decision_ps

    def _error(self, hook: str, wrong: str) -> PolicyError:
        """Return the error for a decision of the policy."""
        name = self._policy.name or type(self._policy).__name__
        return PolicyError(f"policy {name}: {hook}: {wrong}")


def _listed(kinds: Sequence[type]) -> str:
    """Return the names of kinds of decisions in words."""
    *names, last = (kind.__name__ for kind in kinds)
    return f"{', '.join(names)} or {last}"
