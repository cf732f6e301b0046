"""Dynamic priority: users pay for slots."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from simsched.policy import HookView, Kill, param, register
from simsched.policy.parts.mapreduce_shares import SharedPolicy, held
from simsched.policy.parts.mapreduce_tracker import Tracker
from simsched.workload.mapreduce_job import MAP, REDUCE


@dataclass(eq=False)
class Accounts(Tracker):
    """A tracker that knows what users have spent."""

    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # by user


@register("dynamic_priority")
@dataclass(frozen=True, kw_only=True)
class DynamicPriority(SharedPolicy[Accounts]):
    """Dynamic priority: users pay for slots; who offers more gets more, until the budget is spent.

    Parameters
    ----------
    budget : float
        What each user has to spend.

    Notes
    -----
    Slots are divided in proportion to `shares`, what each user offers per slot and second; every
    heartbeat charges a user that for each slot that he holds. Who has spent his budget is served
    when nobody else wants the slot. Readings: docs/sources/mapreduce.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2. T. Sandholm, K. Lai, *Dynamic proportional share
    scheduling in Hadoop*, JSSPP 2010.
    """

    tracker = Accounts

    budget: float = param(1e6, low=0.0)

    def kills(self, view: HookView, state: Accounts) -> tuple[Kill, ...]:
        """Charge the users for a heartbeat; nothing is killed."""
        for kind in (MAP, REDUCE):
            for user, count in held(state, kind).items():
                state.spent[user] += count * self.share(state, user) * self.heartbeat_s
        return ()

    def need(self, state: Accounts, kind: int, user: str) -> tuple[float, ...]:
        """Return whether the budget is spent, and the part of the share that the user holds."""
        is_broke = state.spent[user] >= self.budget
        return float(is_broke), held(state, kind)[user] / self.share(state, user)
