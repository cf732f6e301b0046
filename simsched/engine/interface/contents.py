"""All that is described: what engines are given, and codes in it and in what they give back."""

from __future__ import annotations

from simsched.engine.interface import costs, graph
from simsched.engine.interface.codes import CODES
from simsched.engine.interface.counters import COUNTED
from simsched.engine.interface.plan import ResolvedOrder, ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.workload.graph import TaskGraph

__all__ = ["CODES", "COUNTED", "GIVEN", "costs", "graph"]

#: what is handed over, by its name, with the names of what its sizes may come from
GIVEN: dict[str, tuple[type, tuple[str, ...]]] = {
    "problem": (Problem, ()),
    "graph": (TaskGraph, ("problem",)),
    "order": (ResolvedOrder, ("plan", "problem")),
    "plan": (ResolvedPlan, ("graph", "problem")),
}
