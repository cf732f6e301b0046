"""Whether a policy has something to decide: what it needs of program and machine, and what it has.

A policy names its needs in `Policy.needs`, and says beyond them what only it can know in
`Policy.fits`. What follows from its plan and its hooks is in :mod:`simsched.engine.fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.policy.contract.views import PlanView

if TYPE_CHECKING:
    from simsched.policy.contract.base import Policy


@dataclass(frozen=True)
class Need:
    """What a policy cannot do without if it is to decide anything.

    Parameters
    ----------
    what : str
        In words, behind "needs".
    lacking : callable
        Takes a view; returns what is found instead, or nothing where the need is met.
    """

    what: str
    lacking: Callable[[PlanView], str]

    def reason(self, view: PlanView) -> str:
        """Return why a policy with this need does not fit.

        Parameters
        ----------
        view : PlanView
            The program and the machine.

        Returns
        -------
        str
            Empty where it fits.
        """
        found = self.lacking(view)
        return f"needs {self.what}: found {found}" if found else ""


def _speeds(view: PlanView) -> str:
    cores = view.machine.thread_core[view.worker_thread]
    groups = [view.machine.core_groups[view.machine.core_group[core]] for core in cores]
    changing = {core for change in view.machine.changes for core in change.cores}
    same = len({(group.kind, group.ops_per_s) for group in groups}) == 1
    alike = f"{len(set(cores.tolist()))} of one speed"
    return alike if same and not changing & set(cores.tolist()) else ""


def _domains(view: PlanView) -> str:
    several = len(np.unique(view.worker_domain)) > 1
    return "" if several else "all workers in one"


def _memories(view: PlanView) -> str:
    kinds = {node.kind for node in view.machine.nodes if not node.has_driver}
    return "" if len(kinds) > 1 else f"{', '.join(kinds)} only"


def _devices(view: PlanView) -> str:
    groups = view.machine.thread_group[view.worker_thread]
    kinds = {view.machine.core_groups[group].kind for group in groups}
    return "" if len(kinds) > 1 else f"workers on {', '.join(kinds)} only"


def _tree(view: PlanView) -> str:
    return "" if len(view.workload.graph.child) else "none"


def _division(view: PlanView) -> str:
    return "" if view.workload.division is not None else "none"


def _applications(view: PlanView) -> str:
    return "" if view.workload.applications is not None else "one program"


SEVERAL_SPEEDS = Need("cores of different speeds", _speeds)
SEVERAL_DOMAINS = Need("workers in several NUMA domains", _domains)
SEVERAL_MEMORIES = Need("memory of several kinds", _memories)
DEVICE = Need("a device beside the processor", _devices)
SPAWN_TREE = Need("tasks that create others", _tree)
DIVISIBLE_WORK = Need("divisible work", _division)
SHARED_DEVICE = Need("applications that share a device", _applications)


def decides(policy: Policy, hook: str) -> bool:
    """Return whether a policy defines a hook, and not to observe only.

    Parameters
    ----------
    policy : Policy
        Whose class may define it.
    hook : str
        Name of a method of :class:`~simsched.policy.contract.base.Policy`; one that returns None
        by its annotation observes.
    """
    returned: Any = getattr(getattr(type(policy), hook), "__annotations__", {}).get("return", ...)
    return policy.overrides(hook) and returned not in (None, "None")
