"""Slots that users of a MapReduce cluster share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from simsched.files.errors import ConfigurationError
from simsched.policy.contract.base import PlanView, param
from simsched.policy.parts.mapreduce import MapReducePolicy
from simsched.policy.parts.mapreduce_cluster import T
from simsched.policy.parts.mapreduce_tracker import Tracker


@dataclass(frozen=True, kw_only=True)
class SharedPolicy(MapReducePolicy[T]):
    """Base of policies that divide slots among users.

    Parameters
    ----------
    shares : str
        Shares of the users, numbers separated by commas, in the order of the users' first jobs;
        from the beginning again for further ones. More shares than users are refused.
    """

    shares: str = param("1")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._numbers() or any(not 0 < share < 1e9 for share in self._numbers()):
            raise ConfigurationError(
                f"policy {type(self).name}: parameter shares: found {self.shares!r}, accepted "
                "numbers above 0, separated by commas"
            )

    def start(self, view: PlanView) -> T:
        """Return the tracker, if there is a user for every share."""
        tracker = super().start(view)
        known, given = users(tracker), len(self._numbers())
        if given > len(known):
            raise ConfigurationError(
                f"policy {type(self).name}: parameter shares: found {given} shares, accepted at "
                f"most {len(known)}, one for each user of workload {view.workload.name}"
            )
        return tracker

    def _numbers(self) -> list[float]:
        """Return the shares as numbers; none if they are not."""
        try:
            return [float(text) for text in self.shares.split(",")]
        except ValueError:
            return []

    def share(self, state: T, user: str) -> float:
        """Return the share of a user."""
        numbers = self._numbers()
        return numbers[users(state).index(user) % len(numbers)]

    def need(self, state: T, kind: int, user: str) -> tuple[float, ...]:
        """Return the key of a user; the smallest is served first: slots held over the share."""
        return (held(state, kind)[user] / self.share(state, user),)

    def job_order(self, state: T, kind: int, jobs: list[int]) -> list[int]:
        """Return the jobs of the neediest user first; of one user in the order of arrival."""
        names = state.tasks.names
        return sorted(jobs, key=lambda job: (*self.need(state, kind, names[job][0]), job))


def users(state: Tracker) -> list[str]:
    """Return the users in the order of their first jobs."""
    return list(dict.fromkeys(user for user, _ in state.tasks.names))


def user_of(state: Tracker, task: int) -> str:
    """Return whose task it is."""
    return state.tasks.names[int(state.tasks.job[task])][0]


def held(state: Tracker, kind: int) -> Counter[str]:
    """Return how many slots of a kind each user holds."""
    return Counter(user_of(state, attempt.task) for attempt in state.running(kind))


def wanted_slots(state: Tracker, kind: int) -> Counter[str]:
    """Return how many tasks of a kind each user has waiting."""
    counts: Counter[str] = Counter()
    for job in state.waiting.jobs(kind):
        counts[state.tasks.names[job][0]] += len(state.waiting.of_job(kind, job))
    return counts
