"""Machines, workloads and policies as notebooks and terminals show them."""

from __future__ import annotations

from functools import singledispatch

from simsched.machine.model import Machine
from simsched.policy.contract.base import Policy
from simsched.report.show.machine import machine_html
from simsched.report.show.policy import policy_html
from simsched.report.show.workload import graph_html, workload_html
from simsched.workload.graph import TaskGraph, Workload


@singledispatch
def html(shown: object) -> str:
    """Return an object for notebooks."""
    raise TypeError(f"found {type(shown).__name__}, accepted a machine, workload or policy")


html.register(Machine, machine_html)
html.register(TaskGraph, graph_html)
html.register(Workload, workload_html)
html.register(Policy, policy_html)
