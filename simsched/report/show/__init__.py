"""Descriptions of machines, workloads, policies, and of what there is of each kind."""

from __future__ import annotations

from functools import cache, singledispatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from simsched.report.description import Description


def describe(shown: object) -> Description:
    """Return what there is to say about an object."""
    return _describing()(shown)


def html(shown: object) -> str:
    """Return an object as notebooks show it."""
    from simsched.report import html as pages

    return pages.html(describe(shown))


@cache
def _describing() -> Callable[[object], Description]:
    """Return what describes an object by its type; who only lists names does not import it all."""
    from simsched.machine.model import Machine
    from simsched.policy.contract.base import Policy
    from simsched.report.show.machine import machine_description
    from simsched.report.show.policy import policy_description
    from simsched.report.show.workload import graph_description, workload_description
    from simsched.workload.graph import TaskGraph, Workload

    found = singledispatch(_describe_host)
    found.register(Machine, machine_description)
    found.register(TaskGraph, graph_description)
    found.register(Workload, workload_description)
    found.register(Policy, policy_description)
    return found


def _describe_host(shown: object) -> Description:
    """Return what there is to say about a host that is calibrated."""
    from simsched.hardware.session import CalibratedHost  # with all that runs on hosts
    from simsched.report.show.host import host_description

    if isinstance(shown, CalibratedHost):
        return host_description(shown)
    raise TypeError(f"found {type(shown).__name__}, accepted a machine, workload or policy")
