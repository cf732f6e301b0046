"""Static list scheduling in C; see `schedule.h`."""

from simsched.policy.parts.native._schedule import (
    optimistic_costs,
    schedule_list,
    schedule_pairs,
    upward_ranks,
)

__all__ = ["optimistic_costs", "schedule_list", "schedule_pairs", "upward_ranks"]
