"""Checks that every policy has to pass, for the shipped ones and for yours."""

from simsched.testing.battery import check_policy
from simsched.testing.cases import Case, small_cases, small_machines, small_workloads
from simsched.testing.rehearsal import Rehearsal, rehearse
from simsched.testing.rests import restless

__all__ = [
    "Case",
    "Rehearsal",
    "check_policy",
    "rehearse",
    "restless",
    "small_cases",
    "small_machines",
    "small_workloads",
]
