"""Descriptions of machines, workloads, policies, and of what there is of each kind."""

from __future__ import annotations

from functools import singledispatch

from simsched.machine.model import Machine
from simsched.policy.contract.base import Policy
from simsched.report import html as _html
from simsched.report.description import Description
from simsched.report.show.machine import machine_description
from simsched.report.show.policy import policy_description
from simsched.report.show.workload import graph_description, workload_description
from simsched.workload.graph import TaskGraph, Workload


@singledispatch
def describe(shown: object) -> Description:
    """Return what there is to say about an object."""
    from simsched.hardware.session import CalibratedHost  # with all that runs on hosts
    from simsched.report.show.host import host_description

    if isinstance(shown, CalibratedHost):
        return host_description(shown)
    raise TypeError(f"found {type(shown).__name__}, accepted a machine, workload or policy")


describe.register(Machine, machine_description)
describe.register(TaskGraph, graph_description)
describe.register(Workload, workload_description)
describe.register(Policy, policy_description)


def html(shown: object) -> str:
    """Return an object as notebooks show it."""
    return _html.html(describe(shown))
