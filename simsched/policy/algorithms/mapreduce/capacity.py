"""Capacity scheduling: queues with guaranteed slots that are lent when idle."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import register
from simsched.policy.parts.mapreduce_shares import SharedPolicy
from simsched.policy.parts.mapreduce_tracker import Tracker


@register("capacity")
@dataclass(frozen=True, kw_only=True)
class Capacity(SharedPolicy[Tracker]):
    """Capacity scheduling: a queue for each user with guaranteed slots that are lent when idle.

    Notes
    -----
    `shares` are the capacities. A free slot goes to the queue that uses the smallest part of its
    capacity; nothing is killed. Inside a queue, jobs in the order of arrival.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 7.2 (in words only).
    """
