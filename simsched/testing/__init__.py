"""Checks that every policy has to pass, for the shipped ones and for yours."""

from simsched.testing.battery import check_policy
from simsched.testing.cases import Case, small_cases, small_machines, small_workloads
from simsched.testing.rehearsal import Rehearsal, rehearse

__all__ = [
    "Case",
    "Rehearsal",
    "check_policy",
    "rehearse",
    "small_cases",
    "small_machines",
    "small_workloads",
]
